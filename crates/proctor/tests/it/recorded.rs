//! A recording as tests like to ask about it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;

/// Every event of a run, in order.
pub(crate) struct Recorded {
    pub(crate) events: Vec<Value>,
}

/// The deciding attempt of an example.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) status: String,
    pub(crate) event: Value,
}

impl Recorded {
    /// Reads a file that may still grow.
    pub(crate) fn open(path: &Path) -> Self {
        let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        Self { events: whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect() }
    }

    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["event_type"] == kind)
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.of(kind).count()
    }

    /// `ExampleStarted` by id.
    pub(crate) fn starts(&self) -> HashMap<&str, &Value> {
        self.of("ExampleStarted")
            .map(|event| (event["example_id"].as_str().unwrap(), event))
            .collect()
    }

    /// The full description of the example that an event is about.
    pub(crate) fn title(&self, event: &Value) -> String {
        let own = event["full_description"].as_str();
        let id = event["example_id"].as_str().unwrap_or_default();
        let started = || self.starts().get(id).and_then(|start| start["full_description"].as_str());
        own.or_else(started).unwrap_or_default().to_owned()
    }

    /// Final results by full description. Fails if one is final twice in one repetition.
    pub(crate) fn finals(&self) -> BTreeMap<String, Ended> {
        let starts = self.starts();
        let mut found = BTreeMap::new();
        for event in self.of("ExampleFinished").filter(|event| event["final"] == true) {
            let start = starts.get(event["example_id"].as_str().unwrap());
            let title = event["full_description"]
                .as_str()
                .or_else(|| start.and_then(|start| start["full_description"].as_str()));
            let title = title.expect("a description").to_owned();
            let status = event["status"].as_str().unwrap().to_owned();
            let before = found.insert(title.clone(), Ended { status, event: event.clone() });
            assert!(before.is_none(), "{title} ended twice");
        }
        found
    }

    /// The final result of the example whose description ends so.
    pub(crate) fn result(&self, ending: &str) -> Ended {
        let finals = self.finals();
        let found: Vec<_> = finals.iter().filter(|(title, _)| title.ends_with(ending)).collect();
        assert_eq!(found.len(), 1, "{ending} among {:?}", finals.keys());
        found[0].1.clone()
    }

    /// How many examples ended in which way.
    pub(crate) fn statuses(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for event in self.of("ExampleFinished").filter(|event| event["final"] == true) {
            *counts.entry(event["status"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        counts
    }

    /// Full descriptions in the order in which they were started.
    pub(crate) fn started(&self) -> Vec<String> {
        self.of("ExampleStarted")
            .map(|event| event["full_description"].as_str().unwrap().to_owned())
            .collect()
    }

    /// What an example printed: the lines of one stream.
    pub(crate) fn output(&self, ending: &str, stream: &str) -> Vec<String> {
        let starts = self.starts();
        self.of("WorkerLog")
            .filter(|event| event["stream"] == stream)
            .filter(|event| {
                let start = event["example_id"].as_str().and_then(|id| starts.get(id));
                start.is_some_and(|start| {
                    start["full_description"].as_str().unwrap().ends_with(ending)
                })
            })
            .map(|event| event["line"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.of("SuiteFinished").next().and_then(|event| event["exit_code"].as_i64())
    }

    /// Every example is accounted for: planned, and final exactly once per repetition.
    pub(crate) fn assert_accounted(&self, examples: usize) {
        let planned = self.of("SuiteStarted").next().unwrap()["repetition_count"].as_u64();
        assert_eq!(planned, Some(examples as u64));
        let mut seen = HashMap::new();
        for event in self.of("ExampleFinished").filter(|event| event["final"] == true) {
            let key = (event["example_id"].to_string(), event["repeat"].as_u64());
            *seen.entry(key).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), examples, "one final result each");
        assert!(seen.values().all(|count| *count == 1), "no result twice");
    }
}
