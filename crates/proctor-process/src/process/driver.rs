//! The task behind a managed process: performs the effects of the lifecycle, feeds events back.
//!
//! Owns the backend (and with it the child) and the state. It decides nothing: what to do when is
//! `lifecycle.rs`. If the task is dropped with the runtime, the backend's drop ends the tree.

use super::{ChildInput, Shared};
use crate::exit::{ExitReport, ExitStatus};
use crate::launch::{self, Backend, Launched, StartError};
use crate::lifecycle::{Effect, Event, Life};
use crate::rpc::Channel;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

/// What handles ask of the driver.
#[derive(Debug)]
pub(super) enum Command {
    Stop { timeout: Duration },
    Kill,
    Signal { number: i32 },
}

/// The shutdown request under way; resolves to whether the worker agreed.
type Shutdown = Pin<Box<dyn Future<Output = bool> + Send>>;

pub(super) struct Driver {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<Command>,
    life: Life,
    clock: Instant,
    backend: Option<Backend>,
    shutdown: Option<Shutdown>,
    report: Option<ExitReport>,
}

/// What ended a wait.
enum WakeReason {
    Ended(ExitReport),
    Asked(Command),
    HandlesGone,
    Due,
    ShutdownAnswered(bool),
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, inbox: mpsc::Receiver<Command>) -> Self {
        Self {
            shared,
            inbox,
            life: Life::Pending,
            clock: Instant::now(),
            backend: None,
            shutdown: None,
            report: None,
        }
    }

    pub(super) async fn run(mut self, started: oneshot::Sender<Result<(), StartError>>) {
        self.step(Event::Start);
        match launch::launch(&self.shared.spec).await {
            Ok(launched) => {
                let rpc = self.adopt(launched);
                self.step(Event::Started { rpc });
                // The caller may have stopped waiting for the start; then the handles may be dropped too, see below.
                drop(started.send(Ok(())));
                self.live().await;
            }
            Err(error) => {
                self.shared.stdout.close();
                self.shared.stderr.close();
                self.report = Some(ExitReport::of(ExitStatus::NotStarted));
                self.step(Event::Ended);
                drop(started.send(Err(error)));
            }
        }
    }

    /// Connects the new process to its streams; says whether it has a channel.
    fn adopt(&mut self, launched: Launched) -> bool {
        let shared = &self.shared;
        let _ = shared.pid.set(launched.pid);
        self.backend = Some(launched.backend);
        *super::lock(&shared.stdin) = launched.ends.stdin.map(ChildInput::new);
        shared.stderr.read_from(launched.ends.stderr, Vec::new());
        match launched.ends.stdout {
            Some(stdout) => shared.stdout.read_from(stdout, Vec::new()),
            None => shared.stdout.close(),
        }
        let Some((source, sink)) = launched.ends.rpc else { return false };
        let label = format!("{} (pid {})", shared.spec.command_line(), launched.pid);
        let config = shared.spec.channel.clone();
        let channel = Channel::open(source, sink, Vec::new(), &label, config);
        drop(shared.channel.set(channel));
        true
    }

    async fn live(&mut self) {
        while self.life != Life::Exited {
            match self.next().await {
                WakeReason::Ended(report) => {
                    self.report = Some(report);
                    self.step(Event::Ended);
                }
                WakeReason::Asked(Command::Stop { timeout }) => self.step(Event::Stop { timeout }),
                WakeReason::Asked(Command::Kill) | WakeReason::HandlesGone => {
                    self.step(Event::Kill);
                }
                WakeReason::Asked(Command::Signal { number }) => self.signal(number),
                WakeReason::Due => self.step(Event::Tick),
                WakeReason::ShutdownAnswered(agreed) => {
                    self.shutdown = None;
                    if !agreed {
                        self.step(Event::ShutdownRefused);
                    }
                }
            }
        }
    }

    async fn next(&mut self) -> WakeReason {
        let due = self.life.deadline().map(|offset| self.clock + offset);
        let dying = matches!(self.life, Life::Killing { .. });
        tokio::select! {
            biased;
            report = ended(&mut self.backend) => WakeReason::Ended(report),
            command = self.inbox.recv(), if !dying => {
                command.map_or(WakeReason::HandlesGone, WakeReason::Asked)
            }
            agreed = answered(&mut self.shutdown) => WakeReason::ShutdownAnswered(agreed),
            () = sleep_until(due.unwrap_or(self.clock)), if due.is_some() => WakeReason::Due,
        }
    }

    fn step(&mut self, event: Event) {
        let now = self.clock.elapsed();
        // An illegal step cannot come from here; ignoring it is the harmless answer.
        let Ok((life, effects)) = self.life.step(now, event) else { return };
        self.life = life;
        if life != Life::Exited {
            *self.shared.state() = life.state();
        }
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match (effect, &mut self.backend) {
            (Effect::AskShutdown { within }, _) => self.ask_shutdown(within),
            (Effect::Terminate, Some(backend)) => backend.terminate(),
            (Effect::KillTree, Some(backend)) => backend.kill_tree(),
            (Effect::ForceKill, Some(backend)) => backend.force_kill(),
            (Effect::Announce, _) => self.announce(),
            // Launching is what `run` does next; without a backend there is nothing to signal.
            (Effect::Launch | Effect::Terminate | Effect::KillTree | Effect::ForceKill, _) => {}
        }
    }

    fn signal(&mut self, number: i32) {
        if let Some(backend) = &mut self.backend {
            backend.signal(number);
        }
    }

    fn ask_shutdown(&mut self, within: Duration) {
        let Some(channel) = self.shared.channel.get().cloned() else { return };
        self.shutdown = Some(Box::pin(async move { channel.shutdown(within).await.is_ok() }));
    }

    fn announce(&mut self) {
        self.shutdown = None;
        if let Some(channel) = self.shared.channel.get() {
            channel.peer_is_gone();
        }
        // The descriptors of the backend are closed before the exit is published.
        self.backend = None;
        let report = self.report.take().unwrap_or(ExitReport::of(ExitStatus::Lost));
        self.shared.announce(report);
    }
}

async fn ended(backend: &mut Option<Backend>) -> ExitReport {
    match backend {
        Some(backend) => backend.ended().await,
        None => pending().await,
    }
}

async fn answered(shutdown: &mut Option<Shutdown>) -> bool {
    match shutdown {
        Some(request) => request.await,
        None => pending().await,
    }
}
