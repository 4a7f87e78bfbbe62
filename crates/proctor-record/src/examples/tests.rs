//! A run whose examples are read from disk is the run that was folded, whatever its recording looks like.

use std::io::Write as _;

use proptest::prelude::*;

use super::generated::{line, written};
use super::*;
use crate::reader::load;

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// The run with all its examples in memory.
fn gathered(opened: &OpenedRun) -> RunData {
    let mut run = opened.run.run().clone();
    run.verdict_of_all = None;
    opened.run.for_each_example(&mut |example| run.examples.push(example.clone())).unwrap();
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_run_on_disk_is_the_run_in_memory(
        lines in prop::collection::vec(line(), 0..60),
        cut in 0..200_usize,
    ) {
        let text = written(&lines);
        // Recordings are torn at any byte; half of these are whole.
        let end = text.len() - cut.saturating_sub(100).min(text.len());
        let file = file(&text.as_bytes()[..end]);
        for choice in [RunChoice::Last, RunChoice::Id("0".into()), RunChoice::Id("#".into())] {
            match (load(file.path(), &choice), RunOnDisk::open(file.path(), &choice)) {
                (Ok(loaded), Ok(opened)) => {
                    prop_assert_eq!(&gathered(&opened), &loaded.run);
                    prop_assert_eq!(opened.run.totals().unwrap(), loaded.run.totals().unwrap());
                    prop_assert_eq!(opened.run.totals().unwrap().counts, loaded.run.summary());
                    prop_assert_eq!(opened.run.run().verdict(), loaded.run.verdict());
                    prop_assert_eq!(opened.problems, loaded.problems);
                    prop_assert_eq!(opened.runs, loaded.runs);
                }
                (Err(loaded), Err(opened)) => {
                    prop_assert_eq!(loaded.to_string(), opened.to_string());
                }
                (loaded, opened) => prop_assert!(false, "{loaded:?}\n{opened:?}"),
            }
        }
    }

    #[test]
    fn lines_longer_than_blocks_are_whole(lengths in prop::collection::vec(0..100_000_usize, 1..9)) {
        let lines: Vec<String> = (0..).zip(&lengths).map(|(place, length)| {
            char::from(b'a' + place).to_string().repeat(*length)
        }).collect();
        let file = file(lines.join("\n").as_bytes());
        let mut cache = LineCache::new(file.reopen().unwrap());
        let mut offset = 0;
        for line in &lines {
            prop_assert!(cache.line_at(offset).unwrap() == line.as_bytes());
            offset += line.len() as u64 + 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What is chosen one after the other is chosen from what was chosen before.
    #[test]
    fn chosen_examples_are_those_in_memory(
        lines in prop::collection::vec(line(), 0..60),
        wanted in prop::collection::vec(prop::collection::vec(0..4_u8, 0..4), 0..3),
    ) {
        let file = file(written(&lines).as_bytes());
        let loaded = load(file.path(), &RunChoice::Last);
        let opened = RunOnDisk::open(file.path(), &RunChoice::Last);
        let (Ok(mut loaded), Ok(mut opened)) = (loaded, opened) else { return Ok(()) };
        for ids in wanted {
            let is_wanted = |example: &Example| {
                ids.iter().any(|id| example.id.as_ref().is_some_and(|it| it.as_str() == id.to_string()))
            };
            prop_assert_eq!(loaded.run.choose(&is_wanted).unwrap(), opened.run.choose(&is_wanted).unwrap());
            let verdict = opened.run.run().verdict();
            prop_assert_eq!(verdict, loaded.run.verdict());
            prop_assert_eq!(gathered(&opened).examples, loaded.run.examples.clone());
            prop_assert_eq!(opened.run.totals().unwrap(), loaded.run.totals().unwrap());
        }
    }
}
