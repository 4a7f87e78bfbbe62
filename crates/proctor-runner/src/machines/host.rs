//! A machine's part of a run: it opens the suites, proves that it would run the same thing, and serves slots as it is told.
//!
//! Decides nothing about examples: orders go to the links of its own suites, their reports go back. When the machine is out of the
//! run, because it is thought lost or the run has no controller any more, all that it runs is killed: others run it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::CodeProof;
use super::wire::{self, FromMachine, SuitesEnd, ToMachine};
use crate::run::open_all;
use crate::suite::{OpenedSuite, Suite, SuiteEnd, SuiteEnvironment, SuiteError, leaked_line};
use crate::worker_link::orders::{Order, OrderAction, WIRE_VERSION};
use crate::worker_link::reports::{Report, ReportBatch};
use crate::worker_link::{SlotSeat, WorkerLink};

/// How many batches of reports may wait; workers are held up beyond that.
const INBOX: usize = 256;
/// How long workers may take to end that were killed.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// What the carrier of messages tells a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// The controller says something.
    Message(String),
    /// Whoever uses this machine wants it to leave: what runs is finished, nothing more is begun.
    Leave,
    /// The machine is out of the run.
    Ended {
        /// Why.
        reason: String,
    },
}

/// The way from a machine to the controller and back.
pub struct HostPort {
    /// What happens, in order.
    pub events: mpsc::UnboundedReceiver<HostEvent>,
    /// What goes out. Everything that was sent when the sender is dropped is still delivered.
    pub messages: mpsc::Sender<String>,
}

/// A port that is being opened, or the reason why there is none.
pub type OpeningHostPort = Pin<Box<dyn Future<Output = Result<HostPort, String>> + Send>>;

/// Joins a run, once the suites are open.
pub trait MachineConnection: Send {
    /// Opens the port.
    fn join(self: Box<Self>) -> OpeningHostPort;
}

/// What a machine serves a run with.
pub struct MachineSetup {
    /// What people call the machine.
    pub name: String,
    /// The suites of the run, in the order of the controller.
    pub suites: Vec<Suite>,
    /// Where. Its number of workers is the number of slots that are offered for each suite that leaves it open.
    pub environment: SuiteEnvironment,
    /// What is the same at every machine, but for what the suites themselves tell.
    pub proof: CodeProof,
}

/// How a machine's part of a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostedRun {
    /// The run is over, or the machine has left it; it served so many slots.
    Finished {
        /// How many workers it started for the run.
        workers: u64,
    },
    /// The controller refuses it, because it would not run the same thing.
    Refused {
        /// What differs, each in words.
        differences: Vec<String>,
    },
    /// It was put out of the run; what it ran was killed.
    Dropped {
        /// Why.
        reason: String,
    },
}

/// Why a machine takes no part in a run.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A suite cannot be used.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The run cannot be joined.
    #[error("{0}")]
    Join(String),
    /// The runtime could not be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Takes part in one run, to its end. `welcomed` is called when the controller has accepted the machine.
pub fn serve_machine(
    setup: MachineSetup,
    connection: Box<dyn MachineConnection>,
    welcomed: &mut dyn FnMut(),
) -> Result<HostedRun, HostError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let hosted = runtime.block_on(host(setup, connection, welcomed));
    runtime.shutdown_background();
    hosted
}

async fn host(
    setup: MachineSetup,
    connection: Box<dyn MachineConnection>,
    welcomed: &mut dyn FnMut(),
) -> Result<HostedRun, HostError> {
    let MachineSetup { name, suites, environment, proof } = setup;
    let workers = environment.workers;
    let opened = open_all(&suites, &environment, workers).await?;
    let proof = proof.with_suites(opened.iter().map(|suite| &suite.discovery));
    let offer = opened.iter().map(|suite| suite.slots.unwrap_or(workers)).collect();
    let joined = connection.join().await;
    let mut port = match joined {
        Ok(port) => port,
        Err(why) => {
            end_suites(opened, true).await;
            return Err(HostError::Join(why));
        }
    };
    let join = FromMachine::Join { name, offer, proof };
    // If nobody hears it, the next event tells.
    let _ = port.messages.send(wire::write(&join)).await;
    let (inbox, batches) = mpsc::channel(INBOX);
    let mut host = Host {
        links: links(&opened, workers),
        seats: BTreeMap::new(),
        slots: BTreeMap::new(),
        inbox,
        leave_noted: false,
        served: 0,
    };
    let end = host.run(&mut port, batches, welcomed).await;
    let at_once = !matches!(end, HostEnd::Finish { at_once: false });
    let suites_end = end_suites(opened, at_once).await;
    Ok(match end {
        HostEnd::Finish { .. } => {
            let _ = port.messages.send(wire::write(&FromMachine::Ended(suites_end))).await;
            HostedRun::Finished { workers: host.served }
        }
        HostEnd::Refused(differences) => HostedRun::Refused { differences },
        HostEnd::Dropped(reason) => HostedRun::Dropped { reason },
    })
}

/// The links of all places, numbered over all suites.
fn links(opened: &[OpenedSuite], workers: u32) -> Vec<Arc<dyn WorkerLink>> {
    let of_suite = |suite: &OpenedSuite| {
        let count = suite.slots.unwrap_or(workers);
        (0..count).map(&suite.links).collect::<Vec<_>>()
    };
    opened.iter().flat_map(of_suite).collect()
}

/// Ends all suites, and gathers what they leave.
async fn end_suites(opened: Vec<OpenedSuite>, at_once: bool) -> SuitesEnd {
    let mut all = SuitesEnd::default();
    for suite in opened {
        let SuiteEnd { leaked, errors, output, notes } = (suite.finish)(at_once).await;
        all.output.extend(output);
        all.output.extend(leaked.iter().map(leaked_line));
        all.notes.extend(notes);
        all.errors.extend(errors.into_iter().map(Into::into));
    }
    all
}

/// How the serving ends.
enum HostEnd {
    Finish { at_once: bool },
    Refused(Vec<String>),
    Dropped(String),
}

/// What serves a slot at the moment.
struct LiveSeat {
    generation: u32,
    orders: mpsc::UnboundedSender<Order>,
}

struct Host {
    /// By place.
    links: Vec<Arc<dyn WorkerLink>>,
    /// By the number of the slot in the run.
    seats: BTreeMap<u32, LiveSeat>,
    /// The slots of the run by place.
    slots: BTreeMap<u32, u32>,
    inbox: mpsc::Sender<ReportBatch>,
    /// Whether the run knows that the machine leaves.
    leave_noted: bool,
    served: u64,
}

impl Host {
    async fn run(
        &mut self,
        port: &mut HostPort,
        mut batches: mpsc::Receiver<ReportBatch>,
        welcomed: &mut dyn FnMut(),
    ) -> HostEnd {
        loop {
            if self.leave_noted && self.seats.is_empty() {
                return HostEnd::Finish { at_once: false };
            }
            let end = tokio::select! {
                biased;
                event = port.events.recv() => match event {
                    Some(HostEvent::Message(text)) => self.follow(&text, welcomed),
                    Some(HostEvent::Leave) => {
                        let _ = port.messages.send(wire::write(&FromMachine::Leaving)).await;
                        None
                    }
                    Some(HostEvent::Ended { reason }) => Some(HostEnd::Dropped(reason)),
                    None => Some(HostEnd::Dropped("the connection was closed".to_owned())),
                },
                Some(batch) = batches.recv() => {
                    if let Some(report) = self.forward(batch) {
                        let _ = port.messages.send(wire::write(&report)).await;
                    }
                    None
                }
            };
            if let Some(end) = end {
                if matches!(end, HostEnd::Dropped(_) | HostEnd::Finish { at_once: true }) {
                    self.kill_all(batches).await;
                }
                return end;
            }
        }
    }

    fn follow(&mut self, text: &str, welcomed: &mut dyn FnMut()) -> Option<HostEnd> {
        let message = match wire::read::<ToMachine>(text) {
            Ok(message) => message,
            Err(why) => {
                let reason = format!("the controller sent a message that cannot be read ({why})");
                return Some(HostEnd::Dropped(reason));
            }
        };
        match message {
            ToMachine::Welcome => welcomed(),
            ToMachine::Refused { differences } => return Some(HostEnd::Refused(differences)),
            ToMachine::Serve { slot, generation, place, marks } => {
                self.serve(slot, generation, place, marks.into());
            }
            ToMachine::Order { slot, generation, order } => {
                let seat = self.seats.get(&slot).filter(|seat| seat.generation == generation);
                // One that has just ended has reported its exit.
                let _ = seat.map(|seat| seat.orders.send(order));
            }
            ToMachine::LeaveNoted => self.leave_noted = true,
            ToMachine::Finish { at_once } => return Some(HostEnd::Finish { at_once }),
        }
        None
    }

    fn serve(&mut self, slot: u32, generation: u32, place: u32, marks: Arc<str>) {
        // A place that was never offered is not served; the run waits for it as for one that starts.
        let Some(link) = self.links.get(place as usize).cloned() else { return };
        let (seat, orders) = SlotSeat::new((place, generation), self.inbox.clone(), marks);
        self.slots.insert(place, slot);
        self.seats.insert(slot, LiveSeat { generation, orders });
        self.served += 1;
        tokio::spawn(link.serve(seat));
    }

    /// Gives reports the number that the slot has in the run, and takes note of the last ones.
    fn forward(&mut self, mut batch: ReportBatch) -> Option<FromMachine> {
        let slot = *self.slots.get(&batch.slot)?;
        batch.slot = slot;
        let is_last = batch.reports.iter().any(|report| {
            matches!(
                report,
                Report::Exited { .. } | Report::StartFailed { .. } | Report::Unreachable { .. }
            )
        });
        if is_last && self.seats.get(&slot).is_some_and(|it| it.generation == batch.generation) {
            self.seats.remove(&slot);
        }
        Some(FromMachine::Reports(batch))
    }

    /// Ends all that runs, and waits for it; nobody is told.
    async fn kill_all(&mut self, mut batches: mpsc::Receiver<ReportBatch>) {
        for seat in self.seats.values() {
            let action = OrderAction::Kill { timed_out: false };
            let _ = seat.orders.send(Order { version: WIRE_VERSION, number: u64::MAX, action });
        }
        let deadline = Instant::now() + KILLED_WITHIN;
        while !self.seats.is_empty() {
            match timeout_at(deadline, batches.recv()).await {
                Ok(Some(batch)) => drop(self.forward(batch)),
                Ok(None) | Err(_) => return,
            }
        }
    }
}
