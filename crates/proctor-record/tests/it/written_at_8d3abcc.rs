//! Recordings that an older version wrote still open, and say what they said.

use std::path::{Path, PathBuf};

use proctor_record::{
    Attempt, DigestState, Example, RunChoice, RunFolder, load, load_outline, load_timings,
    validate_file,
};
use serde_json::{Value, json};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc")
}

fn runs() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(fixtures().join("runs")).unwrap();
    let mut all: Vec<(String, PathBuf)> = folders
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path))
        .collect();
    all.sort();
    all
}

fn expected(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap()
}

fn results(example: &Example) -> Vec<String> {
    let shown = |attempt: &Attempt| {
        let status = attempt.status.as_ref().map_or("open", |status| status.as_str());
        format!("{}.{} {status}", attempt.repeat, attempt.attempt)
    };
    example.attempts.iter().map(shown).collect()
}

/// Every attempt of every example, whether the recording is folded whole or in outline.
#[test]
fn recordings_of_8d3abcc_have_the_same_results() {
    assert_eq!(runs().len(), 17);
    for (name, folder) in runs() {
        let expected = expected(&folder);
        for load in [load, load_outline] {
            let loaded = load(&folder.join("events.jsonl"), &RunChoice::Last).unwrap();
            assert_eq!(loaded.problems, [], "{name}");
            let run = loaded.run;
            let statuses: Vec<Value> = run
                .examples
                .iter()
                .map(|example| json!({"id": example.id, "results": results(example)}))
                .collect();
            assert_eq!(json!(statuses), expected["statuses"], "{name}");
            let announced = json!(run.planned);
            assert_eq!(announced, expected["announced"], "{name}");
            assert_eq!(json!(run.exit_code), expected["exit_code"], "{name}");
            assert_eq!(run.errors.len(), expected["summary"]["errors"], "{name}");
        }
    }
}

#[test]
fn recordings_of_8d3abcc_are_validated_without_digest() {
    for (name, folder) in runs() {
        let validation = validate_file(&folder.join("events.jsonl")).unwrap();
        let found: Vec<&str> = validation.findings.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(json!(validation.state), expected(&folder)["state"], "{name}: {found:?}");
        assert_eq!(validation.runs[0].digest, DigestState::Absent, "{name}");
    }
}

#[test]
fn run_json_of_8d3abcc_is_read() {
    for (name, folder) in runs() {
        let info = RunFolder::at(&folder).unwrap().info().unwrap();
        let loaded = load_outline(&folder.join("events.jsonl"), &RunChoice::Last).unwrap();
        assert_eq!(Some(&info.run_id), loaded.run.run_id.as_ref(), "{name}");
        assert_eq!(info.versions["proctor"], "0.1.0", "{name}");
        let stopped = ["interrupted", "terminated"].contains(&name.as_str());
        assert_eq!(info.interrupted, stopped, "{name}");
        assert!(info.git.is_some() || name == "killed", "{name}: git is asked while a run goes on");
    }
}

#[test]
fn timings_of_8d3abcc_are_read() {
    let timings = load_timings(&fixtures().join("timings.json"));
    assert_eq!(timings.len(), 21);
    assert!(timings.values().all(|ms| *ms >= 0.0), "{timings:?}");
}
