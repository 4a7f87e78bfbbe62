//! Carries a run over several machines through NATS JetStream: announces the run, holds leases, passes numbered messages on.
//!
//! * [`Engine`] is a connection to a server that was found fit.
//! * [`ControllerPort`] is the side of the one process that controls a run.
//! * [`MachinePort`] is the side of a machine that serves it, under one lease.
//!
//! Messages are opaque texts here. What they mean, what is run where, and what follows from a lost machine is decided by the
//! runner. Time is the server's: a machine is lost when the server has let its lease expire.

mod address;
mod connection;
mod controller;
mod error;
mod frame;
mod lease;
mod machine;
mod names;
mod publisher;
mod reader;

pub use address::{Access, AddressError, EngineAddress};
pub use connection::{AnnouncedRun, Engine, EngineFacts};
pub use controller::{ControllerEvent, ControllerPort};
pub use error::EngineError;
pub use machine::{LeaseEnd, MachineEvent, MachinePort};
