//! Runs whose slots are served by hosts in threads of this process: the messages of both sides, with machines that are lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proctor_events::{Bus, BusConfig, Event, EventType, RunId, Timestamp};
use proctor_process::GuardCommand;
use tokio::sync::mpsc;

use super::{Controller, RunOptions, RunResult, RunSetup};
use crate::example::{Discovery, Listed, Register};
use crate::machines::{
    CodeProof, HostEvent, HostPort, HostedRun, MachineConnection, MachineEvent, MachineMessage,
    MachineOptions, MachineSetup, MachineTransport, MachinesPort, OpeningHostPort, OpeningPort,
    RunFacts, serve_machine,
};
use crate::suite::{
    LoadNotices, OpenedSuite, Opening, SUITE_CAPABILITIES, Suite, SuiteCapabilities, SuiteEnd,
    SuiteEnvironment, SuiteKind,
};
use crate::worker_link::local::{ExamplePerformer, LocalLink};
use crate::worker_link::local_slot::StopCause;
use crate::worker_link::orders::ExampleRun;
use crate::worker_link::reports::Report;
use crate::worker_link::{BoxFuture, ReportSender};

/// So many examples; each of them takes a few milliseconds.
#[derive(Debug, Clone)]
struct FixtureSuite {
    examples: usize,
    /// Called with every example that begins.
    begins: Begins,
}

#[derive(Clone)]
struct Begins(Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl std::fmt::Debug for Begins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begins")
    }
}

impl SuiteKind for FixtureSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        SUITE_CAPABILITIES[0]
    }

    fn name(&self) -> &'static str {
        "fixture"
    }

    fn open<'a>(&'a self, _environment: &'a SuiteEnvironment) -> Opening<'a> {
        let mut register = Register::default();
        for number in 0..self.examples {
            let listed = serde_json::json!({"key": number.to_string(), "file": "./f", "path": [number.to_string()]});
            register.add("fixture", serde_json::from_value::<Listed>(listed).unwrap());
        }
        let performer = Arc::new(Performer(self.begins.clone()));
        Box::pin(std::future::ready(Ok(OpenedSuite {
            checkpoint_links: None,
            discovery: Discovery { examples: register.examples, ..Discovery::default() },
            observers: None,
            links: Box::new(move |_| Arc::new(LocalLink(Arc::clone(&performer)))),
            slots: None,
            finish: Box::new(|_| Box::pin(std::future::ready(SuiteEnd::default()))),
        })))
    }
}

struct Performer(Begins);

impl ExamplePerformer for Performer {
    fn perform(
        self: Arc<Self>,
        run: ExampleRun,
        reports: ReportSender,
        stop: tokio::sync::oneshot::Receiver<StopCause>,
    ) -> BoxFuture<()> {
        Box::pin(async move {
            let ExampleRun { key, repeat, .. } = run;
            reports.send(Report::Started { key: key.clone(), repeat }).await;
            if !(self.0.0)(&key) {
                let _ = stop.await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            let outcome = Box::new(proctor_events::ExampleFinished {
                status: proctor_events::Status::Passed,
                ..Default::default()
            });
            reports.send(Report::Finished { key, repeat, outcome }).await;
        })
    }
}

/// The wire between a run and its hosts; a host can be cut off.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<WireState>>);

#[derive(Default)]
struct WireState {
    events: Option<mpsc::Sender<MachineEvent>>,
    hosts: Vec<(String, mpsc::UnboundedSender<HostEvent>)>,
}

impl Wire {
    /// The machine is lost: the run is told, and the machine hears nothing more.
    fn cut(&self, boot: &str) {
        let mut state = self.0.lock().unwrap();
        state.hosts.retain(|(host, events)| {
            if host == boot {
                let _ = events.send(HostEvent::Ended { reason: "cut".to_owned() });
            }
            host != boot
        });
        let events = state.events.clone().unwrap();
        let boot = boot.to_owned();
        std::thread::spawn(move || events.blocking_send(MachineEvent::Lost { boot }));
    }

    fn ask_to_leave(&self, boot: &str) {
        let state = self.0.lock().unwrap();
        for (_, events) in state.hosts.iter().filter(|(host, _)| host == boot) {
            let _ = events.send(HostEvent::Leave);
        }
    }
}

impl MachineTransport for Wire {
    fn announce(self: Box<Self>, _facts: RunFacts) -> OpeningPort {
        let (events, received) = mpsc::channel(64);
        let (messages, mut to_send) = mpsc::unbounded_channel::<MachineMessage>();
        self.0.lock().unwrap().events = Some(events);
        tokio::spawn(async move {
            while let Some(MachineMessage { boot, text }) = to_send.recv().await {
                let state = self.0.lock().unwrap();
                for (_, events) in state.hosts.iter().filter(|(host, _)| *host == boot) {
                    let _ = events.send(HostEvent::Message(text.clone()));
                }
            }
            // The run is over.
            self.0.lock().unwrap().hosts.clear();
        });
        Box::pin(std::future::ready(Ok(MachinesPort { events: received, messages })))
    }
}

/// One machine's end of the wire.
struct Joining {
    wire: Wire,
    boot: String,
}

impl MachineConnection for Joining {
    fn join(self: Box<Self>) -> OpeningHostPort {
        Box::pin(async move {
            let to_run = loop {
                let events = self.wire.0.lock().unwrap().events.clone();
                match events {
                    Some(events) => break events,
                    None => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            };
            let (events, received) = mpsc::unbounded_channel();
            let (messages, mut to_send) = mpsc::channel::<String>(64);
            self.wire.0.lock().unwrap().hosts.push((self.boot.clone(), events));
            tokio::spawn(async move {
                while let Some(text) = to_send.recv().await {
                    let boot = self.boot.clone();
                    // Also what a machine says that was cut off: it arrives after its loss.
                    let _ = to_run.send(MachineEvent::Message { boot, text }).await;
                }
            });
            Ok(HostPort { events: received, messages })
        })
    }
}

fn environment(workers: u32) -> SuiteEnvironment {
    let path = std::env::temp_dir();
    SuiteEnvironment {
        root: path.clone(),
        guard: GuardCommand::new("/nowhere", ["guard"]),
        cache: path.clone(),
        sockets: path,
        workers,
        first_slot: 0,
        load_notices: LoadNotices::default(),
        final_report: None,
        sandbox: None,
        mutation: None,
    }
}

struct Fleet {
    wire: Wire,
    suite: FixtureSuite,
    hosts: Vec<std::thread::JoinHandle<HostedRun>>,
}

impl Fleet {
    fn new(examples: usize, begins: impl Fn(&Wire, &str) -> bool + Send + Sync + 'static) -> Self {
        let wire = Wire::default();
        let used = wire.clone();
        let begins = Begins(Arc::new(move |key| begins(&used, key)));
        Self { wire, suite: FixtureSuite { examples, begins }, hosts: Vec::new() }
    }

    /// A machine with so many slots.
    fn join(&mut self, boot: &str, slots: u32, commit: &str) {
        let setup = MachineSetup {
            name: boot.to_owned(),
            suites: vec![Suite::from(self.suite.clone())],
            environment: environment(slots),
            proof: CodeProof::default().with("commit", commit),
        };
        let connection = Joining { wire: self.wire.clone(), boot: boot.to_owned() };
        // Examples run on the thread of their machine, which is called as it is.
        let thread = std::thread::Builder::new().name(boot.to_owned());
        let serve = move || serve_machine(setup, Box::new(connection), &mut || {}).unwrap();
        self.hosts.push(thread.spawn(serve).unwrap());
    }

    /// The result, the events, and how each machine fared.
    fn run(self, wait_for: u32, patience: u64) -> (Arc<RunResult>, Vec<Event>, Vec<HostedRun>) {
        let controller = Controller::new(RunSetup {
            suites: vec![Suite::from(self.suite)],
            environment: environment(4),
            options: RunOptions::default(),
            bus: Bus::new(BusConfig {
                run_id: RunId::new("machines"),
                clock: Box::new(Timestamp::now),
                on_warning: Box::new(|_| {}),
            }),
        });
        controller.use_machines(MachineOptions {
            transport: Box::new(self.wire),
            proof: CodeProof::default().with("commit", "a"),
            most_slots: None,
            wait_for,
            patience: Duration::from_millis(patience),
        });
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        controller.on_event(move |event| seen.lock().unwrap().push(event.clone()));
        controller.start().unwrap();
        let result = controller.wait_timeout(Duration::from_mins(1)).expect("the run ends");
        controller.bus().close(Duration::from_mins(1));
        let hosts = self.hosts.into_iter().map(|host| host.join().unwrap()).collect();
        (result, events.lock().unwrap().clone(), hosts)
    }
}

const PATIENT: u64 = 60_000;

fn count(events: &[Event], kind: EventType) -> usize {
    events.iter().filter(|event| event.body.event_type() == Some(kind)).count()
}

#[test]
fn machines_share_a_run_and_end_with_it() {
    let mut fleet = Fleet::new(40, |_, _| true);
    fleet.join("one", 2, "a");
    fleet.join("two", 3, "a");
    let (result, events, hosts) = fleet.run(5, PATIENT);
    assert_eq!((result.counts.passed, result.verdict.exit_code()), (40, Some(0)));
    assert_eq!(count(&events, EventType::ExampleFinished), 40);
    for (host, slots) in hosts.into_iter().zip([2, 3]) {
        assert_eq!(host, HostedRun::Finished { workers: slots });
    }
}

#[test]
fn what_a_lost_machine_ran_runs_elsewhere_and_what_it_says_later_is_not_heard() {
    let lost = Mutex::new(false);
    let mut fleet = Fleet::new(20, move |wire, key| {
        // Whoever gets this one first is cut off, and only then reports its results.
        let cuts = key == "3" && !std::mem::replace(&mut *lost.lock().unwrap(), true);
        if cuts {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            wire.cut(&name);
        }
        true
    });
    for boot in ["one", "two"] {
        fleet.join(boot, 2, "a");
    }
    let (result, events, hosts) = fleet.run(4, PATIENT);
    assert_eq!((result.counts.passed, result.verdict.exit_code()), (20, Some(0)), "{result:?}");
    assert_eq!(count(&events, EventType::ExampleStarted), 20);
    assert_eq!(count(&events, EventType::ExampleFinished), 20);
    let dropped = HostedRun::Dropped { reason: "cut".to_owned() };
    assert_eq!(hosts.iter().filter(|host| **host == dropped).count(), 1, "{hosts:?}");
    assert!(result.notes.iter().any(|note| note.contains("was lost")), "{:?}", result.notes);
}

#[test]
fn a_machine_that_leaves_finishes_what_it_runs_and_nothing_is_lost() {
    let asked = Mutex::new(false);
    let mut fleet = Fleet::new(30, move |wire, key| {
        if key == "5" && !std::mem::replace(&mut *asked.lock().unwrap(), true) {
            wire.ask_to_leave("one");
        }
        true
    });
    fleet.join("one", 1, "a");
    fleet.join("two", 1, "a");
    let (result, events, hosts) = fleet.run(2, PATIENT);
    assert_eq!((result.counts.passed, result.verdict.exit_code()), (30, Some(0)));
    assert_eq!(count(&events, EventType::ExampleStarted), 30);
    assert!(hosts.iter().all(|host| matches!(host, HostedRun::Finished { .. })), "{hosts:?}");
}

#[test]
fn machines_that_would_run_something_else_are_refused_and_nothing_runs_here() {
    let mut fleet = Fleet::new(3, |_, _| panic!("nothing is to run"));
    fleet.join("other", 2, "b");
    let (result, events, hosts) = fleet.run(1, 3_000);
    assert_eq!(result.verdict.exit_code(), Some(1), "{result:?}");
    assert_eq!(count(&events, EventType::ExampleStarted), 0);
    assert_eq!(count(&events, EventType::ErrorOutsideExample), 1);
    let differences = vec!["commit: a at the controller, b at the machine".to_owned()];
    assert_eq!(hosts, [HostedRun::Refused { differences }]);
}
