//! Where the events of a run go besides its recording: files, WebSocket servers, and processes that ask for them.
//!
//! Each destination fails by itself: one that cannot be opened, or gives up later, costs a warning, and neither the run nor the others.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use proctor_events::{Bus, OutputStream, WorkerLog};
use proctor_record::destinations::{self, BadDestination, Destination};
use proctor_record::{DetachedLimits, DetachedRecorder, JsonlRecorder};
use proctor_runner::{EventsRead, RunOutputs, ServedEvents};
use proctor_stream::{EventPage, Feed, WebSocketObserver};

/// Warnings that are printed at the end of the run.
pub(super) type Warnings = Arc<Mutex<Vec<String>>>;

/// The outputs of one run.
pub(super) struct EventOutputs {
    bus: Bus,
    recording: PathBuf,
    warnings: Warnings,
    /// What is in use or was tried.
    attached: Mutex<Vec<Destination>>,
    servers: Mutex<Vec<WebSocketObserver>>,
    /// What processes that ask for events are served from; made for the first of them.
    feed: OnceLock<Arc<Feed>>,
}

/// Why a destination gets no events.
#[derive(Debug, thiserror::Error)]
enum AttachError {
    #[error("{}", .0.reason)]
    Destination(#[from] BadDestination),
    #[error(transparent)]
    Recording(#[from] proctor_record::RecordError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl EventOutputs {
    pub(super) fn new(bus: Bus, recording: PathBuf, warnings: Warnings) -> Arc<Self> {
        let (attached, servers, feed) = Default::default();
        Arc::new(Self { bus, recording, warnings, attached, servers, feed })
    }

    /// Sends events there too, unless they go there already. Returns the address of a WebSocket server that is new.
    pub(super) fn attach(&self, destination: Destination) -> Result<Option<String>, String> {
        let place = with_absolute_path(destination.clone());
        let mut attached = lock(&self.attached);
        if attached.contains(&place) {
            return Ok(None);
        }
        attached.push(place);
        drop(attached);
        let name = shown(&destination);
        self.open(destination).map_err(|error| format!("no events go to {name}: {error}"))
    }

    fn open(&self, destination: Destination) -> Result<Option<String>, AttachError> {
        match destination {
            Destination::File(path) => {
                let recorder = JsonlRecorder::append(&path)?;
                let (name, bus) = (path.display().to_string(), self.bus.clone());
                let warnings = Arc::clone(&self.warnings);
                let given_up = move |why: String| report_given_up(&name, &why, bus, &warnings);
                let limits = DetachedLimits::default();
                self.bus.add_recorder(DetachedRecorder::start(recorder, limits, given_up)?);
                Ok(None)
            }
            Destination::WebSocket(address) => {
                let feed = Feed::new(&self.recording);
                let server = WebSocketObserver::start(&address, Arc::clone(&feed))?;
                self.bus.add_recorder(feed.recorder());
                let shown = format!("ws://{}", server.address());
                lock(&self.servers).push(server);
                Ok(Some(shown))
            }
        }
    }

    /// Waits until the clients of WebSocket servers have the rest, or fall behind.
    pub(super) fn finish(&self) {
        for server in std::mem::take(&mut *lock(&self.servers)) {
            server.finish();
        }
    }

    fn feed(&self) -> Arc<Feed> {
        let feed = self.feed.get_or_init(|| {
            let feed = Feed::new(&self.recording);
            self.bus.add_recorder(feed.recorder());
            feed
        });
        Arc::clone(feed)
    }
}

impl RunOutputs for EventOutputs {
    fn add_destinations(&self, destinations: &[String]) -> Vec<String> {
        let mut warnings = Vec::new();
        for text in destinations {
            match destinations::parse_one(text) {
                Ok(destination) => warnings.extend(self.attach(destination).err()),
                Err(error) => warnings.push(error.to_string()),
            }
        }
        warnings
    }

    fn read_events(&self, after: u64, wait: bool) -> EventsRead {
        let feed = self.feed();
        Box::pin(async move {
            let EventPage { events, last, left_out, ended } = feed.page(after, wait).await?;
            Ok(ServedEvents { events, last, left_out, ended })
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same file has one name only.
fn with_absolute_path(destination: Destination) -> Destination {
    match destination {
        Destination::File(path) => Destination::File(std::path::absolute(&path).unwrap_or(path)),
        other @ Destination::WebSocket(_) => other,
    }
}

/// Without the token, which is a secret.
fn shown(destination: &Destination) -> String {
    match destination {
        Destination::File(path) => path.display().to_string(),
        Destination::WebSocket(address) => format!("ws://{}:{}", address.host, address.port),
    }
}

/// Says in the recording and at the end of the run that a destination was given up.
fn report_given_up(name: &str, why: &str, bus: Bus, warnings: &Mutex<Vec<String>>) {
    let line = format!("events no longer go to {name}: {why}");
    lock(warnings).push(line.clone());
    // The caller holds the bus's recorders, so the event is published from elsewhere. Without a thread there is the warning.
    let publish = move || {
        let log =
            WorkerLog { line: format!("proctor: {line}"), stream: Some(OutputStream::Stderr) };
        bus.publish(log.into());
    };
    let _ = std::thread::Builder::new().name("warning".to_owned()).spawn(publish);
}
