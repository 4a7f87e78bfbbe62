//! One run over several machines: the controller's side ([`fleet`], [`link`]) and the machine's ([`host`]).
//!
//! The dispatcher stays the only queue. Each machine opens the suites itself, proves that it would run the same thing
//! ([`CodeProof`]), and offers slots; the run gives orders to them as to slots of its own and gets reports back ([`wire`]).
//! What carries the messages is not known here: it is a [`MachineTransport`], which also tells when a machine is lost.

mod fleet;
mod host;
mod link;
mod proof;
pub(crate) mod wire;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;

pub(crate) use self::fleet::{Fleet, FleetAction, FleetInput, Seat};
pub use self::host::{
    HostError, HostEvent, HostPort, HostedRun, MachineConnection, MachineSetup, OpeningHostPort,
    serve_machine,
};
pub(crate) use self::link::MachineLink;
pub use self::proof::CodeProof;

/// What the carrier of messages tells the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineEvent {
    /// A machine says something.
    Message {
        /// Which machine, in which life of it.
        boot: String,
        /// What it says.
        text: String,
    },
    /// A machine is lost; nothing more will come from it.
    Lost {
        /// Which machine, in which life of it.
        boot: String,
    },
    /// No machine can be reached any more, for good.
    Gone {
        /// Why.
        message: String,
    },
}

/// A message to a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineMessage {
    /// Which machine, in which life of it.
    pub boot: String,
    /// What it is told.
    pub text: String,
}

/// The way from a run to its machines and back.
pub struct MachinesPort {
    /// What happens, in order. Closed when nothing more can happen.
    pub events: mpsc::Receiver<MachineEvent>,
    /// What goes out. Everything that was sent when the sender is dropped is still delivered.
    pub messages: mpsc::UnboundedSender<MachineMessage>,
}

/// What a run tells the machines that it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// The seed in force, where the suites use one.
    pub seed: Option<u64>,
}

/// A port that is being opened, or the reason why there is none.
pub type OpeningPort = Pin<Box<dyn Future<Output = Result<MachinesPort, String>> + Send>>;

/// Carries messages between a run and its machines.
pub trait MachineTransport: Send {
    /// Announces the run, once its suites are open.
    fn announce(self: Box<Self>, facts: RunFacts) -> OpeningPort;
}

/// How a run uses machines.
pub struct MachineOptions {
    /// What carries the messages.
    pub transport: Box<dyn MachineTransport>,
    /// What is the same at every machine, but for what the suites themselves tell.
    pub proof: CodeProof,
    /// How many slots a suite uses at most; as many as there are when absent.
    pub most_slots: Option<u32>,
    /// How many slots there must be before the run begins.
    pub wait_for: u32,
    /// How long is waited for them, and for another machine once all are gone.
    pub patience: Duration,
}

impl fmt::Debug for MachineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineOptions").field("proof", &self.proof).finish_non_exhaustive()
    }
}
