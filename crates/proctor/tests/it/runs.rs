//! `proctor runs`, `flaky`, `history`, searching, reports afterwards, `watch` of a stream.

use std::io::BufRead as _;
use std::process::Stdio;

use serde_json::Value;

use crate::env::{TestEnv, wait_until};
use crate::past::{record, record_on};

fn three_runs() -> TestEnv {
    let env = TestEnv::new();
    record_on(
        &env,
        "01900000-aaaa",
        "c1",
        "./a.rb",
        &[("adds", false, &["passed"]), ("talks", true, &["passed"])],
    );
    record_on(
        &env,
        "01900000-bbbb",
        "c1",
        "./a.rb",
        &[("adds", false, &["failed"]), ("talks", true, &["passed"])],
    );
    record_on(
        &env,
        "02000000-cccc",
        "c2",
        "./a.rb",
        &[("adds", false, &["passed"]), ("talks", true, &["passed", "failed"])],
    );
    env
}

#[test]
fn runs_are_listed_and_named() {
    let env = three_runs();
    let ran = env.run(&["runs", "tag", "0200", "release-4", "good"]);
    assert_eq!(ran.stdout, "02000000-cccc: release-4, good\n", "{}", ran.stderr);
    insta::assert_snapshot!(env.run(&["runs"]).terminal());
    let listed: Value =
        serde_json::from_str(&env.run(&["runs", "-n", "1", "--format", "json"]).stdout).unwrap();
    assert_eq!((&listed[0]["tags"][1], listed[0]["live"].as_bool()), (&"good".into(), Some(false)));
    assert_eq!(env.run(&["show", "good"]).code, Some(0));
    assert_eq!(
        env.run(&["runs", "tag", "good", "good", "--remove"]).stdout,
        "02000000-cccc: release-4\n"
    );
    assert_eq!(env.run(&["show", "good"]).code, Some(2));
    for name in ["last", "last~1", "baseline", "a/b", ""] {
        assert_eq!(env.run(&["runs", "tag", "0200", name]).code, Some(2), "{name}");
    }
}

/// Whatever is long in one line and missing in another, every column begins at one place.
#[test]
fn columns_stand_below_each_other() {
    let env = three_runs();
    record(&env, "0200-of-another-kind-of-name", "./a.rb", &[("adds", false, &["passed"; 12])]);
    env.write("spec/a_spec.rb", "RSpec.describe('A') { it('b') { expect(1).to eq 2 } }\n");
    assert_eq!(env.run(&["run", "--ui", "quiet"]).code, Some(1));
    let listed = env.run(&["runs"]).stdout;
    assert_eq!(listed.lines().count(), 5, "{listed}");
    let one_place = |column: &str, words: &[&str]| {
        let begins = |line: &str| words.iter().filter_map(|word| line.find(word)).min();
        let mut places: Vec<usize> = listed.lines().filter_map(begins).collect();
        assert!(places.len() >= 3, "{column}: {listed}");
        places.dedup();
        assert_eq!(places.len(), 1, "{column}: {listed}");
    };
    one_place("time", &[":"]);
    one_place("state", &["  passed  ", "  failed  "]);
    one_place("counts", &["  0 passed", "  1 passed", "  2 passed", "  12 passed"]);
    one_place("duration", &["  1 min 0 s"]);
    one_place("commit", &["  c0ffee", "  c1", "  c2"]);
    one_place("command", &["  run spec"]);
}

#[test]
fn pruning_says_first_and_spares_what_matters() {
    let env = three_runs();
    record(&env, "00-old-1", "./a.rb", &[("adds", false, &["passed"])]);
    record(&env, "00-old-2", "./a.rb", &[("adds", false, &["passed"])]);
    record(&env, "00-old-3", "./a.rb", &[("adds", false, &["passed"])]);
    let _ = env.run(&["runs", "tag", "00-old-1", "keep"]);
    let _ = env.run(&["baseline", "bless", "00-old-2"]);
    let nothing = env.run(&["runs", "prune", "--yes"]).stdout;
    assert_eq!(nothing, "nothing to remove; 6 kept\n", "fifty are kept by default");
    let said = env.run(&["runs", "prune", "--keep", "3"]).stdout;
    assert_eq!(said, "00-old-3\nwould remove 1 run, 1 MB, and keep 5; --yes does it\n");
    assert!(env.project.join(".proctor/runs/00-old-3").exists());
    let done = env.run(&["runs", "prune", "--keep", "3", "--yes"]).stdout;
    assert_eq!(done, "00-old-3\nremoved 1 run, 1 MB; 5 kept\n");
    assert!(!env.project.join(".proctor/runs/00-old-3").exists());
    let young = env.run(&["runs", "prune", "--keep", "0", "--days", "100000", "--yes"]).stdout;
    assert_eq!(young, "nothing to remove; 5 kept\n");
}

#[test]
fn flaky_examples_and_the_history_of_one() {
    let env = three_runs();
    insta::assert_snapshot!(env.run(&["flaky"]).terminal());
    insta::assert_snapshot!(env.run(&["history", "adds"]).terminal());
    assert!(
        env.run(&["history", "--tag", "cart"]).stdout.contains("5 of 7 attempts passed in 3 runs")
    );
    assert!(env.run(&["history"]).stdout.contains("5 of 7 attempts passed in 3 runs"));
    let ran = env.run(&["history", "a"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`a` matches 2 examples"), "{}", ran.stderr);
    assert_eq!(env.run(&["history", "nobody"]).code, Some(2));
    let told: Value =
        serde_json::from_str(&env.run(&["history", "adds", "--format", "json"]).stdout).unwrap();
    assert_eq!((told["passed"].as_u64(), told["attempts"].as_u64()), (Some(2), Some(3)));
}

#[test]
fn rebuilding_and_damage() {
    let env = three_runs();
    let before = [env.run(&["flaky"]).stdout, env.run(&["history"]).stdout];
    assert_eq!(env.run(&["history", "rebuild"]).stdout, "made anew from 3 runs\n");
    assert_eq!([env.run(&["flaky"]).stdout, env.run(&["history"]).stdout], before);
    std::fs::write(env.project.join(".proctor/history.db"), "not a database at all, is it")
        .unwrap();
    let ran = env.run(&["flaky"]);
    assert_eq!((ran.code, &ran.stdout), (Some(0), &before[0]), "{}", ran.stderr);
    assert!(ran.stderr.contains("it is kept as history.db.damaged-1"), "{}", ran.stderr);
    let path = env.project.join(".proctor/runs/01900000-aaaa/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap().replacen("{\"event", "{\"ev\0", 1);
    std::fs::write(&path, text).unwrap();
    let ran = env.run(&["history"]);
    assert!(ran.stdout.contains("in 2 runs"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("run 01900000-aaaa is left out: its recording is damaged"),
        "{}",
        ran.stderr
    );
}

#[test]
fn words_are_found_in_a_run_and_in_all() {
    let env = three_runs();
    let ran = env.run(&["show", "last", "--search", "REFUND"]);
    assert_eq!(
        ran.stdout.matches("user turn 1: I want a refund for talks").count(),
        2,
        "{}",
        ran.stdout
    );
    let ran = env.run(&["history", "--search", "refund"]);
    assert!(ran.stdout.ends_with("4 hits in 3 runs\n"), "{}", ran.stdout);
}

#[test]
fn reports_of_a_run_that_is_over() {
    let env = three_runs();
    let ran = env.run(&[
        "show",
        "last",
        "--markdown",
        "-",
        "--junit",
        "j.xml",
        "--json",
        "r.json",
        "--atif",
        "trajectories",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(
        ran.stdout.starts_with("## ❌ 2 examples (3 repetitions): 1 passed, 1 failed"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("| Cart &gt; talks | 1 | 2 | "), "{}", ran.stdout);
    let junit = env.read("j.xml");
    assert_eq!(junit.matches("<testcase").count(), 2, "{junit}");
    assert!(junit.contains(r#"<property name="repetitions.valid" value="2"/>"#), "{junit}");
    let files = std::fs::read_dir(env.project.join("trajectories")).unwrap().count();
    assert_eq!(files, 2, "one per attempt in which somebody spoke");
    let one: Value = serde_json::from_str(&env.read("trajectories/__a_rb-talks-2-1.json")).unwrap();
    assert_eq!(
        (&one["schema_version"], &one["steps"][0]["message"]),
        (&"ATIF-v1.7".into(), &"I want a refund for talks".into())
    );
    assert_eq!(one["extra"]["proctor"]["status"], "failed");
}

#[test]
fn a_run_writes_markdown_and_the_summary_of_its_job() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('fails') { raise 'oops' } }\n");
    let summary = env.project.join("summary.md");
    let output = env
        .command()
        .args(["run", "--markdown", "report.md"])
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(env.read("report.md").contains("<summary>failed: A &gt; fails</summary>"));
    assert_eq!(env.read("summary.md"), env.read("report.md"));
    assert_eq!(env.run(&["run", "--markdown", "no/such/folder.md"]).code, Some(2));
}

#[test]
fn a_stream_elsewhere_is_watched_to_its_end() {
    let env = TestEnv::with_spec(
        "RSpec.describe('A') { it('waits') { sleep 0.05 until File.exist?('go') } }\n",
    );
    let mut run = env
        .command()
        .args(["run", "--events", "ws://127.0.0.1:0?token=s3cret"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = std::io::BufReader::new(run.stderr.take().unwrap());
    let mut said = String::new();
    errors.read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("events at ").unwrap_or_else(|| panic!("{said}"));
    let refused = env.run(&["watch", address]);
    assert_eq!(refused.code, Some(2), "{}", refused.terminal());
    assert!(refused.stderr.contains("401"), "{}", refused.stderr);
    let watch = env.spawn(&["watch", &format!("{address}?token=s3cret")]);
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    env.write("go", "");
    let shown = watch.wait_with_output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("waits"));
    assert!(run.wait().unwrap().success());
    let gone = env.run(&["watch", address]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("cannot follow ws://127.0.0.1"), "{}", gone.stderr);
    wait_until("everything to be over", || env.processes().is_empty());
}
