//! The process in which the observers of a project run: one for each suite and run, beside the workers.
//!
//! It asks for the events of the run (`events.read`), hands them to the observers, and exits by itself when they have had the last one, or have
//! taken too long. Whatever becomes of it changes no result: it is described in notes. What it prints is a `WorkerLog` event marked
//! `observer`, and a note once the run has had its last event.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proctor_events::{Bus, Event, OutputStream as Stream, WorkerLog};
use proctor_process::protocol::{Notification, kind};
use proctor_process::{Line, Notifications, OutputStream};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::run::outputs::{RunOutputs, becomes_true};
use crate::worker_link::BoxFuture;
use crate::worker_link::process::{LaunchError, LaunchedProcess};
use crate::worker_link::reports::ExitFacts;

/// The process gives up slow observers by itself; it gets so much longer before it is killed.
const MARGIN: Duration = Duration::from_secs(10);
/// At most so many lines become notes.
const MAX_NOTES: usize = 200;

type Launch = Box<dyn FnOnce(Arc<dyn RunOutputs>) -> Launching + Send>;
type EndAfter = Box<dyn FnOnce() -> BoxFuture<Vec<String>> + Send>;
type Launching = BoxFuture<Result<LaunchedProcess, LaunchError>>;

/// The observers of a suite, before they run.
pub(crate) struct SuiteObservers {
    /// Starts their process.
    pub(crate) launch: Launch,
    /// How long they may take after the last event, by the project's own setting.
    pub(crate) within: Duration,
    /// Ends what had to wait for them; returns what a person should know.
    pub(crate) end: EndAfter,
}

/// What the process said and printed.
struct ObserverLog {
    bus: Bus,
    state: Mutex<LogState>,
}

#[derive(Default)]
struct LogState {
    /// The last event of the run has been published.
    run_ended: bool,
    notes: Vec<String>,
    cut: usize,
}

impl ObserverLog {
    fn lock(&self) -> std::sync::MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, text: String) {
        let mut state = self.lock();
        if state.notes.len() < MAX_NOTES {
            state.notes.push(text);
        } else {
            state.cut += 1;
        }
    }

    fn printed(&self, stream: &Stream, line: &Line) {
        let state = self.lock();
        if state.run_ended {
            drop(state);
            return self.note(format!("observers: {}", line.text));
        }
        let log = WorkerLog { line: line.text.to_string(), stream: Some(stream.clone()) };
        let mut event = Event::from(log);
        event.extra.push(("observer".into(), serde_json::Value::from(true).into()));
        // Under the lock, so that nothing is published after the last event of the run.
        self.bus.publish(event);
    }

    fn notified(&self, notification: &Notification) {
        #[derive(Deserialize)]
        struct Log {
            message: String,
        }
        if &*notification.kind == kind::LOG
            && let Ok(log) = notification.body.parse::<Log>()
        {
            self.note(log.message);
        }
    }

    fn take_notes(&self) -> Vec<String> {
        let mut state = self.lock();
        let mut notes = std::mem::take(&mut state.notes);
        if state.cut > 0 {
            notes.push(format!("observers: {} more lines", state.cut));
        }
        notes
    }
}

/// The running observers of one suite.
pub(crate) struct ObserverProcess {
    log: Arc<ObserverLog>,
    kill: watch::Sender<bool>,
    watching: JoinHandle<()>,
    within: Duration,
    end: EndAfter,
}

impl ObserverProcess {
    pub(crate) fn start(
        observers: SuiteObservers,
        outputs: Arc<dyn RunOutputs>,
        bus: &Bus,
    ) -> Self {
        let SuiteObservers { launch, within, end } = observers;
        let log = Arc::new(ObserverLog { bus: bus.clone(), state: Mutex::default() });
        let (kill, killed) = watch::channel(false);
        let watching = tokio::spawn(watch_process(launch(outputs), Arc::clone(&log), killed));
        Self { log, kill, watching, within, end }
    }

    /// The next event to be published is the last one of the run.
    pub(crate) fn run_ends(&self) {
        self.log.lock().run_ended = true;
    }

    /// Waits until the observers have had everything. Those of a run that was stopped get only the `grace`, and none once `stopped` says
    /// that the user waits no longer.
    pub(crate) async fn finish(
        mut self,
        grace: Option<Duration>,
        mut stopped: watch::Receiver<bool>,
    ) -> Vec<String> {
        let within = grace.unwrap_or(self.within + MARGIN);
        let cut = tokio::select! {
            _ = &mut self.watching => None,
            () = tokio::time::sleep(within) => Some(format!("within {} s", within.as_secs_f64())),
            () = becomes_true(&mut stopped) => Some("before the run was stopped".to_owned()),
        };
        if let Some(when) = cut {
            self.log.note(format!("the observers did not have all events {when}, and were ended"));
            self.kill.send_replace(true);
            // It ends once the process is gone.
            let _ = tokio::time::timeout(MARGIN, &mut self.watching).await;
        }
        let mut notes = self.log.take_notes();
        notes.extend((self.end)().await);
        notes
    }
}

async fn watch_process(
    launching: Launching,
    log: Arc<ObserverLog>,
    mut killed: watch::Receiver<bool>,
) {
    let launched = tokio::select! {
        launched = launching => launched,
        () = becomes_true(&mut killed) => return,
    };
    let LaunchedProcess { channel, notifications, stdout, stderr, mut ended, mut kill, .. } =
        match launched {
            Ok(launched) => launched,
            Err(error) => {
                let text = format!("the observers were not started and miss this run: {error}");
                return log.note(text);
            }
        };
    let mut readers = vec![
        tokio::spawn(read_lines(stdout.clone(), Stream::Stdout, Arc::clone(&log))),
        tokio::spawn(read_lines(stderr.clone(), Stream::Stderr, Arc::clone(&log))),
    ];
    readers
        .extend(notifications.map(|from| tokio::spawn(read_notifications(from, Arc::clone(&log)))));
    let exit = tokio::select! {
        exit = &mut ended => exit,
        () = becomes_true(&mut killed) => {
            kill();
            ended.await;
            ExitFacts { status: Some(0), ..ExitFacts::default() }
        }
    };
    channel.peer_is_gone();
    [stdout, stderr].iter().for_each(OutputStream::writer_ended);
    for reader in readers {
        let _ = reader.await;
    }
    if exit.status != Some(0) {
        log.note(format!("the observers missed the rest of the run: {}", describe(&exit)));
    }
}

fn describe(exit: &ExitFacts) -> String {
    let how = match (exit.status, exit.signal, &exit.message) {
        (Some(status), ..) => format!("ended with exit status {status}"),
        (None, Some(signal), _) => format!("was ended by signal {signal}"),
        (None, None, Some(message)) => format!("ended: {message}"),
        (None, None, None) => "ended".to_owned(),
    };
    format!("their process {how}")
}

async fn read_lines(stream: OutputStream, name: Stream, log: Arc<ObserverLog>) {
    let mut lines = stream.lines();
    while let Some(line) = lines.next().await {
        log.printed(&name, &line);
    }
}

async fn read_notifications(mut notifications: Notifications, log: Arc<ObserverLog>) {
    while let Some(notification) = notifications.next().await {
        log.notified(&notification);
    }
}
