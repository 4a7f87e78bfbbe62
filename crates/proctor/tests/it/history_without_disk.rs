//! `runs`, `history` and `flaky` on a full disk and in a read-only folder: a real file system of 512 KiB in a mount namespace.

use std::process::{Command, Stdio};

use crate::env::TestEnv;

/// Whether this machine lets the test mount anything.
fn can_mount() -> bool {
    let script = "d=$(mktemp -d) && mount -t tmpfs tmpfs \"$d\" && umount \"$d\"; rmdir \"$d\"";
    let tried = Command::new("unshare")
        .args(["-rm", "sh", "-ec", script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

const QUESTIONS: [&[&str]; 4] = [
    &["runs", "--format", "json"],
    &["history", "--format", "json"],
    &["flaky", "--format", "json"],
    &["history", "--search", "Hello", "--format", "json"],
];

/// Moves the project to a small file system, prepares that with `script`, and asks there.
fn ask_on_small_disk(env: &TestEnv, script: &str, question: &[&str]) -> std::process::Output {
    let program = env.command().get_program().to_owned();
    let script = format!(
        "cp -a . \"$TMP_COPY\"; mount -t tmpfs -o size=512k tmpfs .; cd \"$PWD\"; cp -a \"$TMP_COPY\"/. .; {script}\nexec \"$@\""
    );
    let copy = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-ec", &script, "sh"]).arg(program).args(question);
    for (name, value) in env.command().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TMP_COPY", copy.path()).current_dir(&env.project).output().unwrap()
}

#[test]
fn runs_and_history_answer_from_memory_on_a_full_or_read_only_disk() {
    if !can_mount() {
        eprintln!("not tested: this machine allows no mounts");
        return;
    }
    let env = TestEnv::new();
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {script: [{say: Hi, then: repeat}]}\nexamples: [{it: greets, steps: [{user: Hello, expect: [{match: Hi}]}]}]\n",
    );
    for _ in 0..2 {
        assert_eq!(env.run(&["run"]).code, Some(0));
    }
    let fill = "cat /dev/zero > filling 2>/dev/null || true";
    for question in QUESTIONS {
        let right = env.run(question);
        assert_eq!(right.code, Some(0), "{}", right.terminal());
        for (state, script) in [
            ("full, without an index", format!("rm -f .proctor/history.*; {fill}")),
            ("full, with an index that is behind", fill.to_owned()),
            ("full, with a damaged index", format!("echo rubbish > .proctor/history.db; {fill}")),
            (
                "read-only, without an index",
                "rm -f .proctor/history.*; mount -o remount,ro .".to_owned(),
            ),
            ("read-only, with an index that is behind", "mount -o remount,ro .".to_owned()),
        ] {
            let asked = ask_on_small_disk(&env, &script, question);
            let stderr = String::from_utf8_lossy(&asked.stderr);
            assert_eq!(asked.status.code(), Some(0), "{question:?}, {state}: {stderr}");
            let answer = String::from_utf8_lossy(&asked.stdout);
            assert_eq!(answer, right.stdout, "{question:?}, {state}: {stderr}");
            // A search reads the recordings and needs no index.
            if !question.contains(&"--search") {
                let warned = stderr.contains("history.db") && stderr.contains("in memory");
                assert!(warned, "{question:?}, {state}: {stderr}");
            }
        }
    }
}
