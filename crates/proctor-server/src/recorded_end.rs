//! How a finished run ended, by the last event of its recording.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use proctor_events::{Millis, SuiteFinished, Timestamp};
use proctor_verdict::{Liveness, RunVerdict};

/// The `SuiteFinished` of a run, with its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedEnd {
    time: Option<Timestamp>,
    finished: SuiteFinished,
}

impl RecordedEnd {
    /// Reads the end of the recording; `None` where the run has not finished.
    pub(crate) fn find(events: &Path) -> io::Result<Option<Self>> {
        let found = proctor_record::last_suite_finished(events)?;
        Ok(found.map(|(time, finished)| Self { time, finished }))
    }

    /// When the run was over.
    pub(crate) fn time(&self) -> Option<String> {
        self.time.map(|time| time.to_string())
    }

    /// How many examples there were; streams of version 0.1 count repetitions.
    pub(crate) fn example_count(&self) -> u64 {
        self.finished.example_count
    }

    /// How long the run took.
    pub(crate) fn duration_ms(&self) -> Option<f64> {
        self.finished.duration_ms.map(Millis::get)
    }

    /// The state and verdict of the run.
    pub(crate) fn verdict(&self, interrupted: bool) -> RunVerdict {
        RunVerdict::recorded(true, Some(&self.finished), Liveness::Gone, interrupted)
    }

    /// Verdicts, counted.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let SuiteFinished { example_count, failure_count, pending_count, counts, .. } =
            &self.finished;
        let given = counts.as_ref().and_then(|counts| serde_json::to_value(counts).ok());
        if let Some(given) = given.and_then(|given| serde_json::from_value(given).ok()) {
            return given;
        }
        let pending = pending_count.unwrap_or_default();
        let passed = example_count.saturating_sub(failure_count + pending);
        let counts = [("passed", passed), ("failed", *failure_count), ("pending", pending)];
        counts.into_iter().map(|(status, count)| (status.to_owned(), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<RecordedEnd> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        RecordedEnd::find(file.path()).unwrap()
    }

    const END: &str = r#"{"v":1,"seq":9,"time":"2026-01-22T10:30:00Z","event_type":"SuiteFinished","example_count":5,"failure_count":2,"pending_count":1,"exit_code":1,"duration_ms":20.5}"#;

    #[test]
    fn the_end_is_found_behind_other_lines_and_before_them() {
        let filler =
            format!("{{\"event_type\":\"WorkerLog\",\"line\":\"{}\"}}\n", "x".repeat(3000));
        for (before, after) in [(0, 0), (20, 0), (0, 20), (100, 100)] {
            let text = format!("{}{END}\n{}", filler.repeat(before), filler.repeat(after));
            let ending = found(&text).unwrap_or_else(|| panic!("{before} {after}"));
            let code = ending.verdict(false).exit_code();
            assert_eq!((code, ending.duration_ms()), (Some(1), Some(20.5)));
            let counts = [("failed", 2), ("passed", 2), ("pending", 1)];
            assert_eq!(
                ending.counts(),
                counts.map(|(name, count)| (name.to_owned(), count)).into()
            );
        }
    }

    #[test]
    fn what_is_not_the_end_is_not_taken_for_it() {
        assert_eq!(found(""), None);
        assert_eq!(found(&END[..END.len() - 3]), None, "torn");
        assert_eq!(
            found("{\"event_type\":\"UserMessage\",\"text\":\"\\\"SuiteFinished\\\"\"}\n"),
            None
        );
        let text = END
            .replace("SuiteFinished", "UserMessage")
            .replace("\"v\":1", "\"text\":\"SuiteFinished\"");
        assert_eq!(found(&text), None);
    }

    #[test]
    fn counts_are_taken_as_they_are_given() {
        let counted =
            END.replace("\"exit_code\"", "\"counts\":{\"crashed\":2,\"passed\":3},\"exit_code\"");
        let counts = found(&counted).unwrap().counts();
        assert_eq!(counts.get("crashed"), Some(&2));
    }
}
