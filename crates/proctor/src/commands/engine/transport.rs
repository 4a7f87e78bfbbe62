//! Between the runner, which knows no network, and the engine, which knows no runs.

use proctor_engine::{
    ControllerEvent, ControllerPort, Engine, LeaseEnd, MachineEvent as EngineMachineEvent,
    MachinePort,
};
use proctor_runner::{
    HostEvent, HostPort, MachineConnection, MachineEvent, MachineMessage, MachineTransport,
    MachinesPort, OpeningHostPort, OpeningPort, RunFacts,
};
use tokio::sync::{mpsc, watch};

use super::announcement::Announcement;
use super::runtime::EngineHandle;
use crate::secrets;

/// How many events wait for their receiver; whoever sends waits beyond that.
const QUEUE: usize = 256;

/// The controller's way to its machines.
pub(crate) struct EngineTransport {
    pub(crate) engine: Engine,
    pub(crate) handle: EngineHandle,
    pub(crate) run: String,
    pub(crate) announcement: Announcement,
}

impl MachineTransport for EngineTransport {
    fn announce(self: Box<Self>, facts: RunFacts) -> OpeningPort {
        let Self { engine, handle, run, announcement } = *self;
        let text = announcement.with_seed(facts.seed).to_text();
        let text = secrets::without(&text).into_owned();
        let tasks = handle.clone();
        Box::pin(async move {
            let opening = handle.spawn(async move { engine.control(&run, text).await });
            let port = opening.await.map_err(|error| error.to_string())?;
            let port = port.map_err(|error| error.to_string())?;
            let (events, received) = mpsc::channel(QUEUE);
            let (messages, to_send) = mpsc::unbounded_channel();
            tasks.spawn(carry_for_controller(port, events, to_send));
            Ok(MachinesPort { events: received, messages })
        })
    }
}

async fn carry_for_controller(
    mut port: ControllerPort,
    events: mpsc::Sender<MachineEvent>,
    mut messages: mpsc::UnboundedReceiver<MachineMessage>,
) {
    loop {
        tokio::select! {
            event = port.next() => {
                let event = match event {
                    Some(ControllerEvent::Message { boot, text }) => {
                        MachineEvent::Message { boot, text }
                    }
                    Some(ControllerEvent::Lost { boot }) => MachineEvent::Lost { boot },
                    Some(ControllerEvent::Gone { message }) => MachineEvent::Gone { message },
                    None => break,
                };
                // Orders go out while the run is behind with what it hears.
                let mut passing_on = std::pin::pin!(events.send(event));
                let passed_on = loop {
                    tokio::select! {
                        sent = &mut passing_on => break sent.is_ok(),
                        message = messages.recv() => match message {
                            Some(MachineMessage { boot, text }) => port.send(&boot, text),
                            None => break false,
                        },
                    }
                };
                if !passed_on {
                    break;
                }
            }
            message = messages.recv() => match message {
                Some(MachineMessage { boot, text }) => port.send(&boot, text),
                None => break,
            },
        }
    }
    while let Ok(MachineMessage { boot, text }) = messages.try_recv() {
        port.send(&boot, text);
    }
    port.close(std::time::Duration::ZERO).await;
}

/// A machine's way to the controller of a run.
pub(crate) struct EngineConnection {
    pub(crate) engine: Engine,
    pub(crate) handle: EngineHandle,
    pub(crate) run: String,
    /// Becomes true when the machine shall leave.
    pub(crate) leave: watch::Receiver<bool>,
}

impl MachineConnection for EngineConnection {
    fn join(self: Box<Self>) -> OpeningHostPort {
        let Self { engine, handle, run, leave } = *self;
        let tasks = handle.clone();
        Box::pin(async move {
            let opening = handle.spawn(async move { engine.join(&run).await });
            let port = opening.await.map_err(|error| error.to_string())?;
            let port = port.map_err(|error| error.to_string())?;
            let (events, received) = mpsc::unbounded_channel();
            let (messages, to_send) = mpsc::channel(QUEUE);
            tasks.spawn(carry_for_machine(port, events, to_send, leave));
            Ok(HostPort { events: received, messages })
        })
    }
}

async fn carry_for_machine(
    mut port: MachinePort,
    events: mpsc::UnboundedSender<HostEvent>,
    mut messages: mpsc::Receiver<String>,
    mut leave: watch::Receiver<bool>,
) {
    let mut left = false;
    loop {
        let event = tokio::select! {
            biased;
            () = asked_to_leave(&mut leave), if !left => {
                left = true;
                HostEvent::Leave
            }
            event = port.next() => match event {
                EngineMachineEvent::Message(text) => HostEvent::Message(text),
                EngineMachineEvent::Ended(end) => {
                    // Nothing that waits is sent any more: the machine hears of its end first.
                    drop(messages);
                    let reason = reason(end).to_owned();
                    let _ = events.send(HostEvent::Ended { reason });
                    return;
                }
            },
            message = messages.recv() => match message {
                Some(text) => {
                    port.send(text).await;
                    continue;
                }
                None => break,
            },
        };
        if events.send(event).is_err() {
            break;
        }
    }
    while let Ok(text) = messages.try_recv() {
        port.send(text).await;
    }
    port.close().await;
}

/// Resolves when the machine shall leave.
async fn asked_to_leave(leave: &mut watch::Receiver<bool>) {
    if leave.wait_for(|leave| *leave).await.is_err() {
        std::future::pending().await
    }
}

/// Why a machine is out of a run.
fn reason(end: LeaseEnd) -> &'static str {
    match end {
        LeaseEnd::Lost => "its lease could not be renewed, so its work was given to others",
        LeaseEnd::RunOver => RUN_OVER,
    }
}

/// What is said of a run that has lost its controller.
pub(crate) const RUN_OVER: &str = "the run has no controller any more";
