//! What Proctor writes on its own account is for its owner only, whatever the umask is.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::env::{Ran, TestEnv};
use crate::journal::CACHE;

const TALK: &str = "describe: D\nagent: {script: [{when: hi, say: Hello}]}\nexamples:\n  - it: x\n    steps: [{user: hi, expect: [{match: Hello}]}]\n";

fn run(env: &TestEnv, umask: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_proctor")])
        .args(arguments)
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("TMPDIR", env.home().join("temp"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    env.ran(&command.output().unwrap())
}

/// Everything below a folder, with its mode.
fn modes(folder: &Path, found: &mut Vec<(PathBuf, u32, bool)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let about = entry.path().symlink_metadata().unwrap();
        found.push((entry.path(), about.permissions().mode() & 0o777, about.is_dir()));
        if about.is_dir() {
            modes(&entry.path(), found);
        }
    }
}

fn check_with(umask: &str) {
    let env = TestEnv::new();
    std::fs::create_dir(env.home().join("temp")).unwrap();
    env.write("a.scenario.yaml", TALK);
    env.write("spec/b_spec.rb", "RSpec.describe('x') { it('y') { puts 1 } }\n");
    env.write("lib/sum.rb", "class Sum\n  def add(a, b) = a + b\nend\n");
    let mut there = Vec::new();
    modes(env.home(), &mut there);
    let setup = "{\"workspace_id\": \"w\", \"orchestrator\": {\"kind\": \"generic\", \"command\": [\"./a.sh\"]}, \"fixtures\": {\"a.sh\": \"#!/bin/sh\\n\"}}";
    let journal = [&["journal", "create"], CACHE].concat();
    for arguments in [
        &["run", "--ui", "quiet", "--record", "tape.jsonl", "--junit", "junit.xml"][..],
        &["history"],
        &["baseline", "bless", "last"],
        &journal,
        &["tool", "test_setup", setup],
        &["tool", "test_snapshot", "{\"workspace_id\": \"w\"}"],
        &["cover", "lib/sum.rb", "--yes", "--effort", "1"],
    ] {
        let ran = run(&env, umask, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.terminal());
    }
    let mut found = Vec::new();
    modes(env.home(), &mut found);
    // What the user asked for by name, and what `cover` writes into the project, follow the umask.
    let asked =
        ["junit.xml", "spec", "tmp", ".rspec", ".claude"].map(|name| env.project.join(name));
    // The program under test lives in a folder that only its owner can enter.
    let workspace = |path: &Path| {
        path.parent().is_some_and(|parent| parent.to_string_lossy().contains("/proctor-ws-"))
    };
    let mut checked = 0;
    for (path, mode, is_folder) in &found {
        let is_old = there.iter().any(|(old, ..)| old == path);
        let is_asked = asked.iter().any(|asked| path.starts_with(asked));
        let is_journal = path.starts_with(env.project.join(".claude/journal"));
        if is_old || is_asked && !is_journal || workspace(path) {
            continue;
        }
        checked += 1;
        let private = if *is_folder { *mode == 0o700 } else { matches!(mode, 0o600 | 0o700) };
        assert!(private, "umask {umask}: {} has mode {mode:o}", path.display());
    }
    assert!(checked > 30, "{checked}");
    for name in ["history.db", "timings.json", "runs", "baselines", ".gitignore"] {
        assert!(env.project.join(".proctor").join(name).exists(), "{name} was not checked");
    }
    let junit = env.project.join("junit.xml").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(junit, if umask == "000" { 0o666 } else { 0o644 }, "reports follow the umask");
    let ended = run(&env, umask, &["tool", "test_cleanup", "{\"workspace_id\": \"w\"}"]);
    assert_eq!(ended.code, Some(0), "{}", ended.terminal());
}

#[test]
fn s8_files_are_private_with_the_usual_umask() {
    check_with("022");
}

#[test]
fn s8_files_are_private_with_an_open_umask() {
    check_with("000");
}
