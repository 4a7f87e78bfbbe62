//! Workspace files under `proctor run`: the real binary, the real orchestrator.

use std::path::PathBuf;

use crate::env::{TestEnv, repository};

/// The `ralph` that `./check` installed, or the configured one.
fn ralph() -> PathBuf {
    let configured = std::env::var_os("PROCTOR_RALPH").map(PathBuf::from);
    let path =
        configured.unwrap_or_else(|| repository().join("target/tools/ralph-2.10.1/bin/ralph"));
    assert!(path.is_file(), "no ralph: run ./check once, it installs it, or set PROCTOR_RALPH");
    path
}

const GOOD: &str = "name: It completes\nmock: [{output: LOOP_COMPLETE}]\nrun: {task: t}\n\
                    assert: [{type: exit_code, expected: 0}]\n";

/// A project with workspace files, and a temporary folder of its own.
fn env_with(ralph: &str, files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    env.write("proctor.toml", &format!("[tools]\nralph = \"{ralph}\"\n"));
    std::fs::create_dir(env.home().join("temp")).unwrap();
    for (name, text) in files {
        env.write(name, text);
    }
    env
}

fn run(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        env.command().env("TMPDIR", env.home().join("temp")).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Nothing of any workspace is left: no folder, no registration.
fn assert_clean(env: &TestEnv) {
    let left: Vec<_> = std::fs::read_dir(env.home().join("temp"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("proctor-ws-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    env.assert_nobody_left();
}

#[test]
fn files_pass_and_fail_like_any_example() {
    let bad = GOOD.replace("It completes", "It fails").replace("expected: 0", "expected: 7");
    let files = [("good.workspace.yaml", GOOD), ("bad.workspace.yaml", &*bad)];
    let env = env_with(&ralph().to_string_lossy(), &files);
    let (code, said) = run(&env, &["run", "--junit", "junit.xml"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("1 passed") && said.contains("1 failed"), "{said}");
    assert!(said.contains("expected 7, actual 0"), "{said}");
    let junit = env.read("junit.xml");
    assert!(junit.contains("It fails") && junit.contains("AssertionFailed"), "{junit}");
    env.assert_complete();
    assert_clean(&env);
}

#[test]
fn a_mistake_in_a_file_names_its_place() {
    let bad = GOOD.replace("expected: 0", "expectd: 0");
    let env = env_with(&ralph().to_string_lossy(), &[("bad.workspace.yaml", &bad)]);
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("bad.workspace.yaml:4:10") && said.contains("expectd"), "{said}");
}

#[test]
fn without_ralph_the_examples_are_pending_with_the_reason() {
    let env = env_with("/no/such/ralph", &[("good.workspace.yaml", GOOD)]);
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 pending") && said.contains("/no/such/ralph"), "{said}");
    assert_clean(&env);
}

#[test]
fn an_example_that_hangs_is_timed_out_and_cleaned_up() {
    let hanging = GOOD.replace("{output: LOOP_COMPLETE}", "{output: '', hang: true}");
    let env = env_with(&ralph().to_string_lossy(), &[("hang.workspace.yaml", &hanging)]);
    let (code, said) = run(&env, &["run", "--timeout", "3"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("timed out"), "{said}");
    assert_clean(&env);
}
