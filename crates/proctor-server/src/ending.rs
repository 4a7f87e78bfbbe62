//! How a finished run ended, from the end of its recording.
//!
//! The last event of a run sums it up and stands in the last few lines of the file. So a list of runs costs the same
//! however long they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use proctor_events::{Body, Event, Millis, SuiteFinished, Timestamp};
use proctor_verdict::{Liveness, RunVerdict};

/// How much of the end is read: at first, and at most.
const LITTLE: u64 = 8 << 10;
const MUCH: u64 = 512 << 10;

/// What the last event of a run says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ending {
    time: Option<Timestamp>,
    finished: SuiteFinished,
}

impl Ending {
    /// Looks for it; `None` where the run has not finished.
    pub(crate) fn find(events: &Path) -> io::Result<Option<Self>> {
        let file = File::open(events)?;
        let length = file.metadata()?.len();
        let mut size = LITTLE;
        loop {
            let start = length.saturating_sub(size);
            let mut end = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut end, start)?;
            // What stands before the first line break may be half a line.
            let whole = if start == 0 { &end[..] } else { after_first_line(&end) };
            if let Some(ending) = whole.rsplit(|byte| *byte == b'\n').find_map(read) {
                return Ok(Some(ending));
            }
            if start == 0 || size >= MUCH {
                return Ok(None);
            }
            size *= 8;
        }
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

fn after_first_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |place| place + 1);
    &bytes[end..]
}

fn read(line: &[u8]) -> Option<Ending> {
    const NAME: &[u8] = b"\"SuiteFinished\"";
    // Most lines are told by their bytes.
    line.windows(NAME.len()).find(|window| *window == NAME)?;
    let event = Event::from_json(std::str::from_utf8(line).ok()?).ok()?;
    let time = event.time;
    match event.body {
        Body::SuiteFinished(finished) => Some(Ending { time, finished }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Ending> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Ending::find(file.path()).unwrap()
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
        let said = END
            .replace("SuiteFinished", "UserMessage")
            .replace("\"v\":1", "\"text\":\"SuiteFinished\"");
        assert_eq!(found(&said), None);
    }

    #[test]
    fn counts_are_taken_as_they_are_given() {
        let counted =
            END.replace("\"exit_code\"", "\"counts\":{\"crashed\":2,\"passed\":3},\"exit_code\"");
        let counts = found(&counted).unwrap().counts();
        assert_eq!(counts.get("crashed"), Some(&2));
    }
}
