//! Reports of a run whose examples stay on disk are byte for byte those of the run in memory, whatever its recording looks like.

use std::io::{self, Write as _};

use proctor_record::{Example, ExampleSource, Loaded, OpenedRun, RunChoice, RunOnDisk, load};
use proptest::prelude::*;

use crate::testing::NO_COLOR;
use crate::{
    Detail, JunitDialect, RunJson, junit_dialect, markdown, markdown_of, run_json, trajectories,
    trajectories_of, transcript, write_json, write_junit, write_transcript,
};

#[path = "../../proctor-record/src/examples/generated.rs"]
mod generated;

use generated::{line, written};

const DIALECTS: [JunitDialect; 3] =
    [JunitDialect::Default, JunitDialect::Jenkins, JunitDialect::Surefire];

/// What is written in pieces, as one text.
fn joined(
    write_all: impl FnOnce(&mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()>,
) -> String {
    let mut text = String::new();
    let mut write = |piece: &str| {
        text.push_str(piece);
        Ok(())
    };
    write_all(&mut write).unwrap();
    text
}

fn opened(bytes: &[u8]) -> Option<(Loaded, OpenedRun)> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let loaded = load(file.path(), &RunChoice::Last).ok()?;
    Some((loaded, RunOnDisk::open(file.path(), &RunChoice::Last).unwrap()))
}

fn assert_same_reports(loaded: &Loaded, opened: &OpenedRun) {
    let (memory, disk) = (&loaded.run, &opened.run);
    let totals = disk.totals().unwrap();
    let json = joined(|write| write_json(&RunJson::of(disk, totals.clone()), write));
    assert_eq!(json, serde_json::to_string_pretty(&run_json(memory)).unwrap() + "\n");
    for dialect in DIALECTS {
        let streamed = joined(|write| write_junit(disk, &totals.counts, "s", dialect, write));
        assert_eq!(streamed, junit_dialect(memory, "s", dialect));
    }
    assert_eq!(markdown_of(disk, &totals.counts).unwrap(), markdown(memory));
    for detail in [Detail::Brief, Detail::Full] {
        let streamed =
            joined(|write| write_transcript(disk, &totals.counts, detail, NO_COLOR, write));
        assert_eq!(streamed, transcript(memory, detail, NO_COLOR));
    }
    let mut all = Vec::new();
    disk.for_each_example(&mut |it| all.extend(trajectories_of(disk.run(), it))).unwrap();
    assert_eq!(all, trajectories(memory));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn reports_from_disk_are_those_from_memory(
        lines in prop::collection::vec(line(), 0..60),
        cut in 0..200_usize,
        damaged in prop::option::weighted(0.3, any::<(prop::sample::Index, u8)>()),
        wanted in prop::option::weighted(0.3, 0..4_u8),
    ) {
        let mut bytes = written(&lines).into_bytes();
        bytes.truncate(bytes.len() - cut.saturating_sub(100).min(bytes.len()));
        if let (Some((place, byte)), false) = (damaged, bytes.is_empty()) {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let Some((mut loaded, mut opened)) = opened(&bytes) else { return Ok(()) };
        assert_same_reports(&loaded, &opened);
        if let Some(wanted) = wanted {
            let is_wanted = |example: &Example| {
                example.id.as_ref().is_some_and(|id| *id.as_str() == wanted.to_string())
            };
            loaded.run.choose(&is_wanted).unwrap();
            opened.run.choose(&is_wanted).unwrap();
            assert_same_reports(&loaded, &opened);
        }
    }
}

/// Long runs come in several pieces, long examples in long ones; each ends where a report may be cut.
#[test]
fn pieces_end_between_examples() {
    let mut lines = String::new();
    for number in 0..900 {
        let long = if number == 450 { 150_000 } else { 3 };
        lines += &format!(
            r#"{{"event_type":"ExampleStarted","example_id":"e{number}","path":["A","{}"],"location":"./{}_spec.rb:{number}"}}"#,
            "x".repeat(long),
            number % 7
        );
        lines += &format!(
            "\n{{\"event_type\":\"ExampleFinished\",\"example_id\":\"e{number}\",\"status\":\"failed\",\"exception\":{{\"message\":\"}},\\n      }},\\n\"}}}}\n"
        );
    }
    let (loaded, opened) = opened(lines.as_bytes()).unwrap();
    assert_same_reports(&loaded, &opened);
    let totals = opened.run.totals().unwrap();
    let (mut sizes, mut example) = (Vec::new(), 0);
    let mut write = |piece: &str| {
        // The lists before the examples end in the same way.
        let started = piece.matches("\n          {\n            \"repeat\"").count();
        example += started;
        assert!(
            piece.ends_with("},\n") || piece.ends_with("}\n"),
            "{}",
            &piece[piece.len() - 99..]
        );
        sizes.push(piece.len());
        Ok(())
    };
    write_json(&RunJson::of(&opened.run, totals.clone()), &mut write).unwrap();
    assert_eq!(example, 900);
    assert!(sizes.len() > 8, "{sizes:?}");
    assert!(sizes.iter().filter(|size| **size > 140_000).count() <= 4, "{sizes:?}");
    let mut largest = 0;
    let mut write = |piece: &str| {
        largest = largest.max(piece.len());
        assert_eq!(piece.matches("<testcase").count(), piece.matches("</testcase>").count());
        Ok(())
    };
    write_junit(&opened.run, &totals.counts, "s", JunitDialect::Default, &mut write).unwrap();
    assert!(largest < 200_000, "{largest}");
}

/// A recording that can no longer be read is an error of every report, never a shorter report.
#[test]
fn what_cannot_be_read_any_more_is_an_error() {
    let line = |id: u32| {
        format!(
            "{{\"event_type\":\"ExampleFinished\",\"example_id\":\"e{id:05}\",\"status\":\"passed\"}}\n"
        )
    };
    let text: String = (0..40_000).map(line).collect();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let opened = RunOnDisk::open(file.path(), &RunChoice::Last).unwrap();
    file.as_file().set_len(100).unwrap();
    let totals = opened.run.totals().unwrap();
    let mut write = |_: &str| Ok(());
    assert!(write_json(&RunJson::of(&opened.run, totals.clone()), &mut write).is_err());
    let counts = totals.counts;
    assert!(write_junit(&opened.run, &counts, "s", JunitDialect::Default, &mut write).is_err());
    assert!(markdown_of(&opened.run, &counts).is_err());
    assert!(write_transcript(&opened.run, &counts, Detail::Brief, NO_COLOR, &mut write).is_err());
}
