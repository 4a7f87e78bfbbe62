//! The side of a machine that serves a run: under one lease it hears the controller and sends to it.
//!
//! When the lease is lost, or the run has no controller any more, the port says so before anything else and passes nothing on.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::connection::Engine;
use crate::error::EngineError;
use crate::frame::Unpacker;
use crate::lease::{self, Lease};
use crate::names::{self, RunNames};
use crate::publisher::{self, Outgoing};
use crate::reader;

/// How often a machine looks whether the run still has a controller.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A controller whose lease has expired may take it again for so long.
const CONTROLLER_PATIENCE: Duration = Duration::from_secs(1);
/// How many messages wait for their receiver.
const QUEUE: usize = 64;

/// Why a machine is out of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseEnd {
    /// Its lease could not be renewed in time: its work is given to others.
    Lost,
    /// The run has no controller any more.
    RunOver,
}

/// What a machine hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineEvent {
    /// The controller says something.
    Message(String),
    /// The machine is out of the run, for good.
    Ended(LeaseEnd),
}

/// The machine's side of a run.
pub struct MachinePort {
    boot: String,
    messages: mpsc::Receiver<String>,
    ended: watch::Receiver<Option<LeaseEnd>>,
    outgoing: mpsc::Sender<Outgoing>,
    subject: String,
    publishing: tokio::task::JoinHandle<()>,
    release: Option<tokio::sync::oneshot::Sender<()>>,
    renewing: tokio::task::JoinHandle<()>,
    /// Reading and watching; dropped with the port.
    _tasks: JoinSet<()>,
}

impl MachinePort {
    pub(crate) async fn open(engine: Engine, run: &str) -> Result<Self, EngineError> {
        let over = || EngineError::RunOver { run: run.to_owned() };
        if !names::is_token(run) {
            return Err(EngineError::BadRun(run.to_owned()));
        }
        let names = RunNames::new(&engine.address.namespace, run);
        let stream = engine.context.get_stream(&names.stream).await.map_err(|_| over())?;
        let boot = uuid::Uuid::now_v7().simple().to_string();
        let key = names::machine_key(run, &boot);
        let taken =
            Lease::take(engine.leases.clone(), key, boot.clone().into(), engine.lease).await;
        let lease =
            taken.map_err(|error| EngineError::request("take a lease", error))?.ok_or_else(over)?;
        let (end, ended) = watch::channel(None);
        let (release, released) = tokio::sync::oneshot::channel();
        let renewing = tokio::spawn(renew(lease, end.clone(), released));
        let (stored, mut received) = mpsc::channel(QUEUE);
        let (passed_on, messages) = mpsc::channel(QUEUE);
        let (outgoing, to_publish) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        let connections = engine.connections.clone();
        tasks.spawn(reader::read_all(stream, names.to(&boot), stored, connections));
        tasks.spawn(async move {
            let mut unpacker = Unpacker::default();
            while let Some(reader::Stored { body, more, .. }) = received.recv().await {
                for text in unpacker.take(&body, more) {
                    if passed_on.send(text).await.is_err() {
                        return;
                    }
                }
            }
        });
        tasks.spawn(watch_controller(engine.clone(), names::run_key(run), end));
        let publishing = tokio::spawn(publisher::publish_all(
            engine.context.clone(),
            names.stream.clone(),
            boot.clone(),
            to_publish,
            engine.connections.clone(),
        ));
        Ok(Self {
            subject: names.up(&boot),
            boot,
            messages,
            ended,
            outgoing,
            publishing,
            release: Some(release),
            renewing,
            _tasks: tasks,
        })
    }

    /// This life of the machine, as the controller knows it.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// What happens next. Cancel-safe.
    pub async fn next(&mut self) -> MachineEvent {
        tokio::select! {
            biased;
            end = ended(&mut self.ended) => MachineEvent::Ended(end),
            message = self.messages.recv() => match message {
                Some(text) => MachineEvent::Message(text),
                None => MachineEvent::Ended(LeaseEnd::Lost),
            },
        }
    }

    /// Sends to the controller; waits while the engine or the controller is behind.
    pub async fn send(&self, text: String) {
        let outgoing = Outgoing { subject: self.subject.clone(), text };
        let mut end = self.ended.clone();
        tokio::select! {
            // What is not sent has no receiver.
            _ = self.outgoing.send(outgoing) => {}
            _ = ended(&mut end) => {}
        }
    }

    /// Leaves: everything that was sent is stored, then the lease is given up.
    pub async fn close(mut self) {
        drop(self.outgoing);
        let publishing = &mut self.publishing;
        tokio::select! {
            _ = publishing => {}
            _ = ended(&mut self.ended) => self.publishing.abort(),
        }
        let _ = self.release.take().map(|release| release.send(()));
        let _ = tokio::time::timeout(Duration::from_secs(2), &mut self.renewing).await;
        self.renewing.abort();
    }
}

/// Resolves when the machine is out.
async fn ended(end: &mut watch::Receiver<Option<LeaseEnd>>) -> LeaseEnd {
    match end.wait_for(Option::is_some).await {
        Ok(end) => end.unwrap_or(LeaseEnd::Lost),
        Err(_) => LeaseEnd::Lost,
    }
}

/// Renews the lease until it is lost or given up.
async fn renew(
    mut lease: Lease,
    end: watch::Sender<Option<LeaseEnd>>,
    mut released: tokio::sync::oneshot::Receiver<()>,
) {
    let mut ticks = tokio::time::interval(lease.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = &mut released => return lease.release().await,
            _ = ticks.tick() => {}
        }
        if !lease.renew().await {
            end.send_if_modified(|end| {
                let is_first = end.is_none();
                end.get_or_insert(LeaseEnd::Lost);
                is_first
            });
            return;
        }
    }
}

/// Waits for the run to lose its controller.
async fn watch_controller(engine: Engine, key: String, end: watch::Sender<Option<LeaseEnd>>) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut gone_since = None;
    loop {
        look.tick().await;
        match lease::is_held(&engine.leases, &key).await {
            // It may come back, if it was only the engine that was away.
            Some(false) => {
                let since = *gone_since.get_or_insert_with(tokio::time::Instant::now);
                if since.elapsed() >= CONTROLLER_PATIENCE {
                    end.send_if_modified(|end| {
                        let is_first = end.is_none();
                        end.get_or_insert(LeaseEnd::RunOver);
                        is_first
                    });
                    return;
                }
            }
            Some(true) => gone_since = None,
            None => {}
        }
    }
}
