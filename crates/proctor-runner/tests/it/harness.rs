//! Whole runs at the library's interface: a controller in this process, a real worker program that follows a script, and the events as text.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proctor_events::{BoxedError, Bus, BusConfig, Published, Recorder, RunId, Timestamp};
use proctor_process::GuardCommand;
use proctor_runner::{
    CommandSuite, Controller, ExampleFilter, LoadNotices, RunOptions, RunResult, RunSetup, Suite,
    SuiteEnvironment,
};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_proctor-test-runner");
/// Far above what any run here takes, even on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);

/// A folder with a script, and what a run of it came to.
pub(crate) struct Harness {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) script: Value,
    pub(crate) options: RunOptions,
    pub(crate) filter: ExampleFilter,
    /// How many suites run the same script; each after the first has a number behind its name.
    pub(crate) suites: usize,
}

/// A run that is over.
#[must_use]
pub(crate) struct Finished {
    pub(crate) result: Arc<RunResult>,
    pub(crate) events: Vec<Value>,
}

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Value>>>);

impl Recorder for Collector {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        let mut events = self.0.lock().unwrap();
        for event in batch {
            events.push(serde_json::from_str(event.json())?);
        }
        Ok(())
    }
}

/// A run that is going on.
pub(crate) struct Running {
    pub(crate) controller: Controller,
    collected: Collector,
}

impl Harness {
    /// One worker, and examples of these keys that pass.
    pub(crate) fn new(keys: &[&str]) -> Self {
        let examples: Vec<Value> = keys
            .iter()
            .map(|key| json!({"key": key, "file": "./t", "path": ["t", key], "location": "./t:1"}))
            .collect();
        Self {
            folder: tempfile::tempdir().unwrap(),
            script: json!({"examples": examples}),
            options: RunOptions { workers: 1, grace: 200, ..RunOptions::default() },
            filter: ExampleFilter::default(),
            suites: 1,
        }
    }

    /// What the attempts of an example do; the last holds for all that follow.
    pub(crate) fn attempts(mut self, key: &str, attempts: Value) -> Self {
        self.script["attempts"][key] = attempts;
        self
    }

    /// Sets a member of the script.
    pub(crate) fn script(mut self, name: &str, value: Value) -> Self {
        self.script[name] = value;
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut RunOptions)) -> Self {
        change(&mut self.options);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn setup(&self, bus: Bus) -> RunSetup {
        let script = self.path("script.json");
        std::fs::write(&script, self.script.to_string()).unwrap();
        let words = [PROGRAM, "worker", script.to_str().unwrap()];
        let suite = |place: usize| {
            let name = if place == 0 { "own".to_owned() } else { format!("own {place}") };
            Suite::from(CommandSuite {
                name,
                command: words.map(str::to_owned).to_vec(),
                args: Vec::new(),
                env: std::collections::BTreeMap::new(),
                filter: self.filter.clone(),
                deterministic: None,
            })
        };
        RunSetup {
            suites: (0..self.suites).map(suite).collect(),
            environment: SuiteEnvironment {
                root: self.folder.path().to_owned(),
                guard: GuardCommand::new(PROGRAM, ["guard"]),
                cache: self.path("cache"),
                sockets: "/tmp".into(),
                workers: self.options.workers,
                first_slot: 0,
                load_notices: LoadNotices::default(),
                final_report: None,
                sandbox: None,
                mutation: None,
            },
            options: self.options.clone(),
            bus,
        }
    }

    pub(crate) fn start(&self) -> Running {
        let bus = Bus::new(BusConfig {
            run_id: RunId::new("run"),
            clock: Box::new(Timestamp::now),
            on_warning: Box::new(|warning| panic!("{warning:?}")),
        });
        let collected = Collector::default();
        bus.add_recorder(collected.clone());
        let controller = Controller::new(self.setup(bus));
        controller.start().unwrap();
        Running { controller, collected }
    }

    pub(crate) fn run(&self) -> Finished {
        self.start().wait()
    }
}

impl Running {
    /// Waits until so many events of a type have been published.
    pub(crate) fn wait_for(&self, kind: &str, count: usize) {
        wait_until(kind, || {
            let events = self.collected.0.lock().unwrap();
            events.iter().filter(|event| event["event_type"] == kind).count() >= count
        });
    }

    pub(crate) fn wait(self) -> Finished {
        let result = self.controller.wait_timeout(LIMIT).expect("the run does not end");
        let events = std::mem::take(&mut *self.collected.0.lock().unwrap());
        Finished { result, events }
    }
}

/// Waits until a condition holds.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Finished {
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event_type"] == kind).collect()
    }

    /// The statuses of an example's results, in order; `!` behind the one that is final.
    pub(crate) fn statuses(&self, key: &str) -> Vec<String> {
        let id = self.id(key);
        let finished = self.of("ExampleFinished").into_iter();
        let own = finished.filter(|event| event["example_id"] == id);
        own.map(|event| {
            let mark = if event["final"] == true { "!" } else { "" };
            format!("{}{mark}", event["status"].as_str().unwrap())
        })
        .collect()
    }

    /// The final result of an example that runs once.
    pub(crate) fn finished(&self, key: &str) -> &Value {
        let id = self.id(key);
        let mut finished = self.of("ExampleFinished").into_iter();
        finished.find(|event| event["example_id"] == id && event["final"] == true).unwrap()
    }

    fn id(&self, key: &str) -> Value {
        let named = |event: &&Value| event["path"] == json!(["t", key]);
        match self.events.iter().find(named) {
            Some(found) => found["example_id"].clone(),
            None => panic!("no event about {key}:\n{}", self.text()),
        }
    }

    /// What happened, a line for each event, without what differs from run to run.
    pub(crate) fn text(&self) -> String {
        let mut names = std::collections::HashMap::new();
        let mut text = String::new();
        for event in &self.events {
            if let (Some(id), Some(path)) =
                (event["example_id"].as_str(), event["path"].as_array().and_then(|all| all.last()))
            {
                names.insert(id.to_owned(), path.as_str().unwrap().to_owned());
            }
            let kind = event["event_type"].as_str().unwrap();
            if kind == "Progress" {
                continue;
            }
            text.push_str(kind);
            if let Some(id) = event["example_id"].as_str() {
                let name = names.get(id).map_or("?", String::as_str);
                let _ = write!(text, " {name} {}/{}", event["repeat"], event["attempt"]);
            }
            if let Some(worker) = event["worker"].as_u64() {
                let _ = write!(text, " @{worker}");
            }
            for name in SHOWN {
                let value = &event[name];
                if !value.is_null() && *value != json!([]) && *value != json!({}) {
                    let _ = write!(text, " {name}={}", bare(value));
                }
            }
            text.push('\n');
        }
        text
    }
}

/// The fields that a line of the text shows.
const SHOWN: &[&str] = &[
    "status",
    "fault",
    "message",
    "final",
    "flaky",
    "checks",
    "exit_status",
    "signal",
    "output_tail",
    "phase",
    "stream",
    "line",
    "generation",
    "expected",
    "text",
    "example_count",
    "failure_count",
    "error_count",
    "counts",
    "exit_code",
    "state",
    "stopped_by",
    "verdict",
    "repetition_count",
];

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
