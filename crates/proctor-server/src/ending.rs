//! How a finished run ended, from the end of its recording.
//!
//! The last event of a run sums it up and stands in the last few lines of the file. So a list of runs costs the same
//! however long they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use serde::Deserialize;

/// How much of the end is read: at first, and at most.
const LITTLE: u64 = 8 << 10;
const MUCH: u64 = 512 << 10;

/// What the last event of a run says.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct Ending {
    pub(crate) time: Option<String>,
    pub(crate) example_count: u64,
    pub(crate) duration_ms: Option<f64>,
    pub(crate) exit_code: Option<i32>,
    failure_count: u64,
    pending_count: Option<u64>,
    counts: Option<BTreeMap<String, u64>>,
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

    /// Final statuses, counted.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.clone().unwrap_or_else(|| {
            let pending = self.pending_count.unwrap_or_default();
            let passed = self.example_count.saturating_sub(self.failure_count + pending);
            let counts = [("passed", passed), ("failed", self.failure_count), ("pending", pending)];
            counts.into_iter().map(|(status, count)| (status.to_owned(), count)).collect()
        })
    }
}

fn after_first_line(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |place| place + 1);
    &bytes[end..]
}

fn read(line: &[u8]) -> Option<Ending> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow)]
        event_type: std::borrow::Cow<'a, str>,
    }
    const NAME: &[u8] = b"\"SuiteFinished\"";
    // Most lines are told by their bytes.
    line.windows(NAME.len()).find(|window| *window == NAME)?;
    let typed: Typed<'_> = serde_json::from_slice(line).ok()?;
    (typed.event_type == "SuiteFinished").then(|| serde_json::from_slice(line).ok())?
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
            assert_eq!((ending.exit_code, ending.duration_ms), (Some(1), Some(20.5)));
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
