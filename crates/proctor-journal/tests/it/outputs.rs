//! Every output of the corpus (`make.sh`, `make_more.sh`) against what is true of it by construction.
//!
//! Half of the outputs, chosen by a hash of their names, is held out: the readers were written and changed by looking at
//! the other half only. Both halves must be free of wrong verdicts.

use std::path::{Path, PathBuf};

use proctor_journal::capture::{CapturedOutcome, CommandResult, Expectation, judge};

use crate::support::is_held_out;

/// One real output.
struct Output {
    name: String,
    exit: i32,
    argv: Vec<String>,
    text: String,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn outputs() -> Vec<Output> {
    let mut found = Vec::new();
    let mut tools: Vec<PathBuf> =
        std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    tools.sort();
    for tool in tools.iter().filter(|tool| tool.is_dir()) {
        let name = tool.file_name().unwrap().to_str().unwrap();
        for line in std::fs::read_to_string(tool.join("index.tsv")).unwrap().lines() {
            let [case, exit, command] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{name}: {line}")
            };
            let text = std::fs::read(tool.join(format!("{case}.txt"))).unwrap();
            found.push(Output {
                name: format!("{name}/{case}"),
                exit: exit.parse().unwrap(),
                argv: ["sh", "-c", command].map(ToOwned::to_owned).to_vec(),
                text: String::from_utf8_lossy(&text).into_owned(),
            });
        }
    }
    found
}

/// What is true of it, by its name: whether tests passed (`Confirmed`), failed, or nothing was shown.
fn truth(name: &str) -> CapturedOutcome {
    match name.rsplit(['/', '_']).next().unwrap() {
        "pass" => CapturedOutcome::Confirmed,
        "fail" | "mixed" => CapturedOutcome::Falsified,
        "all" if name == "go/all" => CapturedOutcome::Falsified,
        _ => CapturedOutcome::Inconclusive,
    }
}

#[derive(Default)]
struct Score {
    all: usize,
    wrong: Vec<String>,
    /// Outputs of tests that passed or failed, of which nothing was said.
    open: Vec<String>,
    decided: usize,
}

#[test]
fn v11_no_output_is_confirmed_or_falsified_wrongly() {
    let now = "2025-12-03T14:30:22Z".parse().unwrap();
    let mut scores = [Score::default(), Score::default()];
    for output in outputs() {
        let score = &mut scores[usize::from(is_held_out(&output.name))];
        let run = CommandResult {
            argv: output.argv,
            exit: Some(output.exit),
            output: output.text,
            ..CommandResult::default()
        };
        let found = judge(&Expectation::Pass, true, &run, now);
        let opposite = judge(&Expectation::Fail, true, &run, now).verdict;
        let truth = truth(&output.name);
        score.all += 1;
        match (found.verdict, opposite) {
            (CapturedOutcome::Inconclusive, CapturedOutcome::Inconclusive) => {
                if truth != CapturedOutcome::Inconclusive {
                    score.open.push(format!("{}: {}", output.name, found.reason));
                }
            }
            (CapturedOutcome::Confirmed, CapturedOutcome::Falsified)
            | (CapturedOutcome::Falsified, CapturedOutcome::Confirmed)
                if found.verdict == truth =>
            {
                score.decided += 1;
            }
            (found_verdict, _) => score.wrong.push(format!(
                "{}: {found_verdict:?}, not {truth:?}: {}",
                output.name, found.reason
            )),
        }
    }
    for (half, score) in ["tuned", "held out"].iter().zip(&scores) {
        eprintln!(
            "{half}: {} outputs, {} wrong, {} of {} decidable ones inconclusive",
            score.all,
            score.wrong.len(),
            score.open.len(),
            score.open.len() + score.decided
        );
        for line in &score.open {
            eprintln!("  inconclusive: {line}");
        }
    }
    let wrong: Vec<&String> = scores.iter().flat_map(|score| &score.wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(scores.iter().map(|score| score.all).sum::<usize>() >= 120);
    for score in &scores {
        assert!(score.all >= 50, "the halves are about equal");
        assert!(score.open.len() * 3 < score.decided, "at most one in four");
    }
}
