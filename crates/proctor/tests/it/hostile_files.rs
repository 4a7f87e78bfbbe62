//! Files that a repository, another process or another user put in place: FIFOs, folders, huge files, links. Each is named; none is waited for,
//! followed or filled.

use std::os::unix::fs::{chown, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};

use crate::env::{Ran, TestEnv};
use crate::journal::CACHE;

const TALK: &str = "describe: D\nagent: {script: [{when: hi, say: Hello}]}\nexamples:\n  - it: x\n    steps: [{user: hi, expect: [{match: Hello}]}]\n";
/// Longer than any of the commands here takes, short enough to see that one hangs.
const LONGEST: Duration = Duration::from_secs(25);

/// Runs a command that may hang; one that does fails the test and is killed.
fn run(env: &TestEnv, arguments: &[&str]) -> Ran {
    let mut child = env
        .command()
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LONGEST;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("proctor {arguments:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    env.ran(&child.wait_with_output().unwrap())
}

fn replace_by_fifo(path: &Path) {
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("a.scenario.yaml", TALK);
    env
}

/// Refuses with exit code 2 and these words.
fn assert_refused(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    for word in words {
        assert!(ran.terminal().contains(word), "no {word:?} in {}", ran.terminal());
    }
}

/// A FIFO as `run.json` made `proctor runs` hang.
#[test]
fn s8_fifos_among_recordings_do_not_hang_anything() {
    let env = project();
    assert_eq!(run(&env, &["run", "--ui", "quiet"]).code, Some(0));
    let events = env.events_path().unwrap();
    replace_by_fifo(&events.with_file_name("run.json"));
    replace_by_fifo(&events.with_file_name("events.index"));
    replace_by_fifo(&env.project.join(".proctor/timings.json"));
    replace_by_fifo(&env.project.join(".proctor/history.db"));
    replace_by_fifo(&env.project.join(".proctor/baselines/b.json"));
    for arguments in [
        &["runs"][..],
        &["show", "last"],
        &["history"],
        &["validate", "last"],
        &["runs", "--format", "json"],
        &["run", "--ui", "quiet"],
    ] {
        let ran = run(&env, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.terminal());
    }
    // A baseline that is no file is none.
    assert_refused(&run(&env, &["compare", "baseline:b", "last"]), &["no baseline `b`"]);
    // A run whose recording is no file is none.
    replace_by_fifo(&events);
    assert_eq!(run(&env, &["runs"]).code, Some(0));
    let named = run(&env, &["validate", &events.to_string_lossy()]);
    assert_eq!(named.code, Some(2), "{}", named.terminal());
}

#[test]
fn fifos_in_the_project_are_named() {
    let rows = "describe: D\nagent: {script: [{when: hi, say: Hello}]}\nsets:\n  - name: s\n    file: rows.csv\n    examples:\n      - it: x\n        steps: [{user: hi, expect: [{match: Hello}]}]\n";
    for (fifo, arguments, place) in [
        ("a.scenario.yaml", &["run", "--ui", "quiet", "a.scenario.yaml"][..], "a.scenario.yaml"),
        ("a.workspace.yaml", &["run", "--ui", "quiet", "a.workspace.yaml"], "a.workspace.yaml"),
        ("rows.csv", &["run", "--ui", "quiet", "r.scenario.yaml"], "rows.csv"),
        ("tape.jsonl", &["run", "--ui", "quiet", "--replay", "tape.jsonl"], "tape.jsonl"),
    ] {
        let env = project();
        env.write("r.scenario.yaml", rows);
        replace_by_fifo(&env.project.join(fifo));
        assert_refused(&run(&env, arguments), &[place, "it is a FIFO, not a file"]);
    }
}

#[test]
fn a_fifo_as_configuration_is_named() {
    let env = project();
    replace_by_fifo(&env.project.join("proctor.toml"));
    let root = env.project.to_string_lossy().into_owned();
    let ran = run(&env, &["--root", &root, "run", "--ui", "quiet"]);
    assert_refused(&ran, &["proctor.toml", "it is a FIFO, not a file"]);
}

#[test]
fn files_have_a_largest_size() {
    let env = project();
    // Sparse: they need no disk.
    let grow = |name: &str, mebibytes: u64| {
        let file = std::fs::OpenOptions::new().write(true).open(env.project.join(name)).unwrap();
        file.set_len(mebibytes << 20).unwrap();
    };
    grow("a.scenario.yaml", 17);
    let ran = run(&env, &["run", "--ui", "quiet"]);
    assert_refused(&ran, &["a.scenario.yaml", "it is larger than 16 MiB"]);
    grow("proctor.toml", 17);
    let ran = run(&env, &["run", "--ui", "quiet"]);
    assert_refused(&ran, &["proctor.toml", "it is larger than 16 MiB"]);
}

#[test]
fn fifos_in_a_journal_are_named() {
    let env = TestEnv::new();
    let created = run(&env, &[&["journal", "create"], CACHE].concat());
    assert_eq!(created.code, Some(0), "{}", created.terminal());
    let mut tried = 0;
    let journal = env.project.join(".claude/journal");
    for entry in std::fs::read_dir(&journal).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = std::fs::read(&path).unwrap();
            replace_by_fifo(&path);
            for command in ["current", "stats", "list"] {
                // Whether it is an error depends on the file; that it ends does not.
                let _ = run(&env, &["journal", command]).code;
            }
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, text).unwrap();
            tried += 1;
        }
    }
    assert!(tried >= 2, "{tried}");
}

/// Commands that read or write `.proctor`.
const USERS: &[&[&str]] = &[
    &["run", "--ui", "quiet"],
    &["runs"],
    &["show", "last"],
    &["history"],
    &["flaky"],
    &["validate", "last"],
    &["compare", "last~1", "last"],
    &["baseline", "bless", "last"],
    &["list"],
    &["tool", "list_runs", "{}"],
];

fn assert_all_refuse(env: &TestEnv, words: &[&str]) {
    for arguments in USERS {
        let ran = run(env, arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.terminal());
        for word in words {
            assert!(ran.terminal().contains(word), "{arguments:?}: {}", ran.terminal());
        }
    }
    let doctor = run(env, &["doctor"]);
    assert!(doctor.terminal().contains(words[0]), "{}", doctor.terminal());
}

#[test]
fn s8_a_proctor_folder_that_is_a_link_is_refused() {
    let env = project();
    let elsewhere = env.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let own = env.project.join(".proctor");
    symlink(&elsewhere, &own).unwrap();
    assert_all_refuse(&env, &[".proctor is a symbolic link", "remove it"]);
    std::fs::remove_file(&own).unwrap();
    std::fs::create_dir(&own).unwrap();
    for name in ["runs", "history.db", "cache", "baselines", "timings.json"] {
        symlink(&elsewhere, own.join(name)).unwrap();
        let ran = run(&env, &["run", "--ui", "quiet"]);
        assert_refused(&ran, &[name, "is a symbolic link", "remove it"]);
        std::fs::remove_file(own.join(name)).unwrap();
    }
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn s8_a_run_that_is_a_link_is_refused() {
    let env = project();
    assert_eq!(run(&env, &["run", "--ui", "quiet"]).code, Some(0));
    let events = env.events_path().unwrap();
    let runs = env.project.join(".proctor/runs");
    let moved = env.home().join("moved");
    std::fs::rename(events.parent().unwrap(), &moved).unwrap();
    symlink(&moved, runs.join("01-link")).unwrap();
    for arguments in [&["runs"][..], &["show", "last"], &["history"]] {
        assert_refused(&run(&env, arguments), &["01-link is a symbolic link", "remove it"]);
    }
    std::fs::remove_file(runs.join("01-link")).unwrap();
    std::fs::create_dir(runs.join("02-run")).unwrap();
    symlink(moved.join("events.jsonl"), runs.join("02-run/events.jsonl")).unwrap();
    assert_refused(&run(&env, &["runs"]), &["02-run/events.jsonl is a symbolic link"]);
}

/// Only root can make a folder of another user; elsewhere the rule is tested in `proctor-files`.
#[test]
fn s8_a_proctor_folder_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let env = project();
    let own = env.project.join(".proctor");
    std::fs::create_dir(&own).unwrap();
    chown(&own, Some(12345), None).unwrap();
    assert_all_refuse(&env, &[".proctor belongs to another user (uid 12345)", "chown"]);
    assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn a_journal_that_is_a_link_is_refused() {
    let env = TestEnv::new();
    let elsewhere = env.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir(env.project.join(".claude")).unwrap();
    symlink(&elsewhere, env.project.join(".claude/journal")).unwrap();
    for arguments in [&[&["journal", "create"], CACHE].concat()[..], &["journal", "current"]] {
        let words = [".claude/journal is a symbolic link", "remove it"];
        assert_refused(&run(&env, arguments), &words);
    }
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing was written there");
}
