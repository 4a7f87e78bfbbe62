//! A project with recordings.

use std::path::PathBuf;

use proctor_events::RunId;
use proctor_history::{History, Window};
use proctor_record::{GitState, RunInfo, RunStore};

pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) store: RunStore,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path());
        Self { folder, store }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(".proctor").join(name)
    }

    /// Records a run: per example its id, and a word per attempt of its first repetition.
    pub(crate) fn record(&self, run: &str, commit: Option<&str>, examples: &[(&str, &[&str])]) {
        let started = "2026-01-22T10:30:00Z".parse().unwrap();
        let argv = vec!["proctor".to_owned(), "run".to_owned()];
        let mut info = RunInfo::new(RunId::new(run.to_owned()), started, argv);
        info.git = commit.map(|commit| GitState { commit: commit.to_owned(), dirty: false });
        let (folder, recorder) = self.store.create(&info).unwrap();
        drop(recorder);
        let mut lines = vec![format!(r#"{{"event_type":"SuiteStarted","run_id":"{run}"}}"#)];
        for (id, statuses) in examples {
            lines.push(format!(
                r#"{{"event_type":"ExampleStarted","run_id":"{run}","example_id":"{id}","file":"./a.rb","path":["Cart","{id} works"],"tags":["slow"]}}"#
            ));
            for (attempt, status) in (1..).zip(*statuses) {
                let last = attempt == statuses.len();
                lines.push(format!(
                    r#"{{"event_type":"ModelCall","run_id":"{run}","example_id":"{id}","attempt":{attempt},"cost_usd":0.25}}"#
                ));
                lines.push(format!(
                    r#"{{"event_type":"ExampleFinished","run_id":"{run}","example_id":"{id}","attempt":{attempt},"status":"{status}","final":{last},"duration_ms":20}}"#
                ));
            }
        }
        lines.push(format!(
            r#"{{"event_type":"SuiteFinished","run_id":"{run}","example_count":1,"failure_count":0,"duration_ms":50,"exit_code":0}}"#
        ));
        std::fs::write(folder.events_path(), lines.join("\n") + "\n").unwrap();
    }
}

/// Waits until what was written can be told from what will be: only then a recording is kept as known.
pub(crate) fn wait_for_clock_tick() {
    std::thread::sleep(std::time::Duration::from_millis(40));
}

/// Everything that the index can be asked, as text.
pub(crate) fn all_answers(history: &mut History) -> String {
    let records = history.past(None, None).unwrap().records;
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
        history.runs().unwrap(),
        records,
        history.flaky(Window::default()).unwrap(),
        history.find("works").unwrap(),
        records.keys().map(|id| history.example(id).unwrap()).collect::<Vec<_>>(),
        history.tag("slow").unwrap(),
        history.suite().unwrap(),
    )
}
