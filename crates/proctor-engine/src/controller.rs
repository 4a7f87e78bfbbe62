//! The side of the process that controls a run: it hears the machines, sends to them, and is told which of them are lost.
//!
//! A machine is lost when the server has let its lease expire. What it had stored before is passed on first, what comes later is
//! dropped: a machine that was thought dead and comes back changes nothing.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, Stream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::connection::Engine;
use crate::error::EngineError;
use crate::frame::Unpacker;
use crate::lease::{self, Lease};
use crate::names::{self, RunNames};
use crate::publisher::{self, Outgoing};
use crate::reader::{self, Stored};

/// How often the leases of machines are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the engine may be away before the run goes on without it, which means that it ends.
const PATIENCE: Duration = Duration::from_mins(1);
/// How many messages wait for their receiver.
const QUEUE: usize = 256;
/// After so many messages those that were passed on are removed from the stream.
const PURGE_AFTER: u64 = 512;
/// So much may wait in the stream; machines wait beyond that.
const MAX_STREAM_BYTES: i64 = 256 * 1024 * 1024;
/// What remains of a run whose controller died is removed after this time.
const MAX_STREAM_AGE: Duration = Duration::from_hours(24);

/// What a controller hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControllerEvent {
    /// A machine says something.
    Message {
        /// Which machine, in which life of it.
        boot: String,
        /// What it says.
        text: String,
    },
    /// The lease of a machine has expired; nothing more will come from it.
    Lost {
        /// Which machine, in which life of it.
        boot: String,
    },
    /// The engine is gone for good, or somebody else controls the run.
    Gone {
        /// Which of the two.
        message: String,
    },
}

/// The controller's side of a run.
pub struct ControllerPort {
    engine: Engine,
    names: RunNames,
    events: mpsc::Receiver<ControllerEvent>,
    outgoing: mpsc::UnboundedSender<Outgoing>,
    publishing: tokio::task::JoinHandle<()>,
    tasks: JoinSet<()>,
    key: String,
}

impl ControllerPort {
    pub(crate) async fn open(
        engine: Engine,
        run: &str,
        announcement: String,
    ) -> Result<Self, EngineError> {
        if !names::is_token(run) {
            return Err(EngineError::BadRun(run.to_owned()));
        }
        let names = RunNames::new(&engine.address.namespace, run);
        let key = names::run_key(run);
        let taken =
            Lease::take(engine.leases.clone(), key.clone(), announcement.into(), engine.lease);
        let lease = taken
            .await
            .map_err(|error| EngineError::request("take control of the run", error))?
            .ok_or_else(|| EngineError::Controlled { run: run.to_owned() })?;
        let stream = match make_stream(&engine, &names).await {
            Ok(stream) => stream,
            Err(error) => {
                lease.release().await;
                return Err(error);
            }
        };
        let (events, received) = mpsc::channel(QUEUE);
        let (stored, messages) = mpsc::channel(QUEUE);
        let (outgoing, mut waiting) = mpsc::unbounded_channel();
        let (forward, to_publish) = mpsc::channel(QUEUE);
        let mut tasks = JoinSet::new();
        tasks.spawn(renew(lease, events.clone()));
        let connections = engine.connections.clone();
        tasks.spawn(reader::read_all(stream.clone(), names.all_up(), stored, connections));
        let listener = Listener {
            engine: engine.clone(),
            names: names.clone(),
            run: run.to_owned(),
            stream,
            machines: HashMap::new(),
            lost: HashSet::new(),
            seen: 0,
            purged: 0,
        };
        tasks.spawn(listener.listen(messages, events));
        // Orders are few and small; whoever gives them never waits for an engine that is away.
        tokio::spawn(async move {
            while let Some(message) = waiting.recv().await {
                if forward.send(message).await.is_err() {
                    return;
                }
            }
        });
        let publishing = tokio::spawn(publisher::publish_all(
            engine.context.clone(),
            names.stream.clone(),
            "controller".to_owned(),
            to_publish,
            engine.connections.clone(),
        ));
        Ok(Self { engine, names, events: received, outgoing, publishing, tasks, key })
    }

    /// What happens next. Cancel-safe.
    pub async fn next(&mut self) -> Option<ControllerEvent> {
        self.events.recv().await
    }

    /// Sends to a machine, as soon as the engine takes it.
    pub fn send(&self, boot: &str, text: String) {
        let subject = self.names.to(boot);
        // The stream was removed by somebody else; the leases tell what follows.
        let _ = self.outgoing.send(Outgoing { subject, text });
    }

    /// Ends the run at the engine: what was sent is stored, its machines get a moment to read it, then everything is removed.
    pub async fn close(self, linger: Duration) {
        let Self { engine, names, outgoing, publishing, mut tasks, key, .. } = self;
        drop(outgoing);
        // While the engine is away, nothing can be stored or removed; the leases expire by themselves.
        let _ = tokio::time::timeout(Duration::from_secs(2), publishing).await;
        tokio::time::sleep(linger).await;
        tasks.shutdown().await;
        let removed = async {
            let _ = engine.leases.delete(&key).await;
            let _ = engine.context.delete_stream(&names.stream).await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), removed).await;
    }
}

async fn make_stream(engine: &Engine, names: &RunNames) -> Result<Stream, EngineError> {
    let config = Config {
        name: names.stream.clone(),
        subjects: vec![names.all()],
        description: Some("proctor: messages of a run".to_owned()),
        max_bytes: MAX_STREAM_BYTES,
        discard: DiscardPolicy::New,
        max_age: MAX_STREAM_AGE,
        allow_direct: true,
        ..Config::default()
    };
    if engine.context.get_stream(&names.stream).await.is_ok() {
        return Err(EngineError::Foreign { name: names.stream.clone() });
    }
    let made = engine.context.create_stream(config).await;
    made.map_err(|error| EngineError::request("make the stream of the run", error))
}

/// Renews the lease of the controller. While the engine is away, it is taken again when the engine is back.
async fn renew(mut lease: Lease, events: mpsc::Sender<ControllerEvent>) {
    let mut ticks = tokio::time::interval(lease.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut away_since = None;
    loop {
        ticks.tick().await;
        if lease.renew().await || lease.take_again().await {
            away_since = None;
            continue;
        }
        let since = *away_since.get_or_insert_with(Instant::now);
        if since.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            let message = format!(
                "for {seconds} s the NATS server could not be reached, or somebody else controlled the run"
            );
            // The receiver is dropped when the run is over.
            let _ = events.send(ControllerEvent::Gone { message }).await;
            return;
        }
    }
}

/// What is known of a machine.
#[derive(Default)]
struct HeardMachine {
    unpacker: Unpacker,
    /// Once its lease has expired: what it has stored before ends with this message.
    ends_with: Option<u64>,
}

/// Reads what machines say and watches their leases.
struct Listener {
    engine: Engine,
    names: RunNames,
    run: String,
    stream: Stream,
    machines: HashMap<String, HeardMachine>,
    lost: HashSet<String>,
    /// The last message that was read.
    seen: u64,
    purged: u64,
}

impl Listener {
    async fn listen(
        mut self,
        mut messages: mpsc::Receiver<Stored>,
        events: mpsc::Sender<ControllerEvent>,
    ) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let said = tokio::select! {
                stored = messages.recv() => match stored {
                    Some(stored) => self.take(&stored),
                    None => return,
                },
                _ = look.tick() => {
                    self.look_at_leases().await;
                    Vec::new()
                }
            };
            for event in said.into_iter().chain(self.newly_lost()) {
                if events.send(event).await.is_err() {
                    return;
                }
            }
            self.purge().await;
        }
    }

    fn take(&mut self, stored: &Stored) -> Vec<ControllerEvent> {
        self.seen = stored.sequence;
        let boot = names::boot_of(&stored.subject);
        if self.lost.contains(boot) {
            return Vec::new();
        }
        let machine = self.machines.entry(boot.to_owned()).or_default();
        if machine.ends_with.is_some_and(|last| stored.sequence > last) {
            return Vec::new();
        }
        let texts = machine.unpacker.take(&stored.body, stored.more);
        let message = |text| ControllerEvent::Message { boot: boot.to_owned(), text };
        texts.into_iter().map(message).collect()
    }

    async fn look_at_leases(&mut self) {
        let held: Vec<String> = self
            .machines
            .iter()
            .filter(|(_, machine)| machine.ends_with.is_none())
            .map(|(boot, _)| boot.clone())
            .collect();
        for boot in held {
            let key = names::machine_key(&self.run, &boot);
            match lease::is_held(&self.engine.leases, &key).await {
                Some(true) => {}
                Some(false) => {
                    let Some(last) = self.last_of(&boot).await else { return };
                    if let Some(machine) = self.machines.get_mut(&boot) {
                        machine.ends_with = Some(last);
                    }
                }
                // The engine is away: nothing is known of any of them.
                None => return,
            }
        }
    }

    /// The last message that a machine has stored; 0 if there is none any more.
    async fn last_of(&self, boot: &str) -> Option<u64> {
        use async_nats::jetstream::stream::LastRawMessageErrorKind::NoMessageFound;
        match self.stream.get_last_raw_message_by_subject(&self.names.up(boot)).await {
            Ok(message) => Some(message.sequence),
            Err(error) if error.kind() == NoMessageFound => Some(0),
            Err(_) => None,
        }
    }

    /// The machines whose leases have expired and whose last message was read.
    fn newly_lost(&mut self) -> Vec<ControllerEvent> {
        let seen = self.seen;
        let is_over = |machine: &HeardMachine| machine.ends_with.is_some_and(|last| last <= seen);
        let mut lost: Vec<String> =
            self.machines.extract_if(|_, machine| is_over(machine)).map(|(boot, _)| boot).collect();
        lost.sort();
        self.lost.extend(lost.iter().cloned());
        lost.into_iter().map(|boot| ControllerEvent::Lost { boot }).collect()
    }

    /// Removes what was passed on.
    async fn purge(&mut self) {
        if self.seen < self.purged + PURGE_AFTER {
            return;
        }
        self.purged = self.seen;
        // Best effort: what stays is removed with the next ones, or with the stream.
        let _ = self.stream.purge().filter(self.names.all_up()).sequence(self.seen + 1).await;
    }
}
