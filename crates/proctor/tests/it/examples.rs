//! `examples/` as a stranger runs it: real agents, real processes, and what stands on the terminal.

use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::env::{TestEnv, repository};

/// The agents stand beside the binary under test; `cargo nextest -p proctor` alone does not build them.
fn build_agents() {
    let folder = Path::new(env!("CARGO_BIN_EXE_proctor")).parent().unwrap();
    if are_built(folder) {
        return;
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository()).args([
        "build",
        "--quiet",
        "--locked",
        "-p",
        "proctor-examples",
    ]);
    cargo.env("CARGO_TARGET_DIR", folder.parent().unwrap());
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Whether every agent is there and newer than its sources.
fn are_built(folder: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let agents = ["venue-agent", "support-agent", "shop-tools"];
    let oldest = agents.iter().map(|agent| changed(&folder.join(agent))).min().flatten();
    let mut sources = vec![repository().join("crates/proctor-examples/src")];
    let mut newest = None;
    while let Some(path) = sources.pop() {
        newest = newest.max(changed(&path));
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            sources.push(entry.path());
        }
    }
    oldest.is_some() && oldest > newest
}

/// A project that holds a copy of `examples/`.
fn with_examples() -> TestEnv {
    build_agents();
    let env = TestEnv::new();
    for entry in std::fs::read_dir(repository().join("examples")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_file() {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            env.write(&format!("examples/{name}"), &text);
        }
    }
    env
}

/// The terminal without what differs from run to run.
fn stable(text: &str) -> String {
    let spans = Regex::new(r"\b\d+(\.\d+)? (ms|µs|s)\b").unwrap();
    let load = Regex::new(r" \(load [^)]*\)").unwrap();
    let text = load.replace_all(text, "");
    spans.replace_all(&text, "[time]").into_owned()
}

#[test]
fn everything_that_is_meant_to_pass_passes() {
    let env = with_examples();
    let ran =
        env.run(&["run", "--ui", "quiet", "-t", "~intended", "--suite", "scenario", "examples"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.assert_complete();
    env.assert_no_process_left();
    let recorded = env.recorded();
    let kinds = [
        "SimulationStarted",
        "SimulationEnded",
        "UserMessage",
        "AgentResponse",
        "TopicChanged",
        "ToolCallStarted",
        "ToolCallCompleted",
        "InvariantEvaluated",
        "EvaluationRecorded",
        "ModelCall",
    ];
    for kind in kinds {
        assert!(recorded.count(kind) > 0, "no {kind} in the recording");
    }
}

#[test]
fn one_conversation_on_the_terminal() {
    let env = with_examples();
    let ran = env.run(&["run", "--ui", "grouped", "examples/venue.scenario.yaml", "-e", "picky"]);
    insta::assert_snapshot!(stable(&ran.terminal()));
}

#[test]
fn what_is_meant_to_fail_explains_itself() {
    let env = with_examples();
    let ran = env.run(&["run", "--ui", "terse", "examples/failing.scenario.yaml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    insta::assert_snapshot!("terse", stable(&ran.terminal()));
    let ran = env.run(&["run", "--ui", "quiet", "examples/failing.scenario.yaml"]);
    // The dots come as the conversations end.
    let report = ran.terminal();
    let from = report.find("Failures:").unwrap();
    insta::assert_snapshot!("in_full", stable(&report[from..]));
    env.assert_no_process_left();
}

#[test]
fn a_recorded_run_is_replayed_without_any_agent() {
    let env = with_examples();
    let files = ["examples/venue.scenario.yaml", "examples/support.scenario.yaml"];
    let ran = env.run(&["run", "--ui", "terse", "--record", "tape.jsonl", files[0], files[1]]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    // Nobody could answer any more: the programs that the copies name do not exist.
    for file in files {
        let text = env.read(file).replace("${bin}/", "${bin}/gone-");
        env.write(
            file,
            &text.replace("${bin}/gone-venue-agent\", audit", "${bin}/venue-agent\", audit"),
        );
    }
    let ran = env.run(&["run", "--ui", "terse", "--replay", "tape.jsonl", files[0], files[1]]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
}

#[test]
fn a_judgement_can_be_made_again() {
    let env = with_examples();
    let file = "examples/failing.scenario.yaml";
    let _ = env.run(&["run", "--ui", "terse", file, "-e", "change of mind"]);
    let title = "Meant not to pass takes up a change of mind";
    assert_eq!(env.recorded().finals()[title].status, "failed");
    let text = env.read(file).replace("satisfied: false, score: 0.1", "satisfied: true, score: 1");
    env.write(file, &text.replace("2027-12-11\" } }", "2027-12-04\" } }"));
    let ran = env.run(&["rejudge", "last", "--ui", "terse"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
}
