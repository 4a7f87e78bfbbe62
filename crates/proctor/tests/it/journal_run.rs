//! `proctor journal run` and `proctor run --resolve-journal`: real commands decide entries.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::env::{Ran, signal};
use crate::journal::{CACHE, JournalProject};

/// A command that was run for an entry, and what became of the entry.
struct Decided {
    ran: Ran,
    entry: Value,
}

impl Decided {
    /// Status, tier, and verdict, reason and numbers of the evidence.
    fn is(&self, status: Option<&str>, tier: Option<&str>, verdict: &str) -> &Self {
        let (entry, all) = (&self.entry, self.ran.terminal());
        assert_eq!(entry["outcome"]["status"].as_str(), status, "{all}\n{entry}");
        assert_eq!(entry["confidence_tier"].as_str(), tier, "{all}");
        assert_eq!(self.evidence()["verdict"], verdict, "{all}");
        assert!(self.ran.stderr.contains(&format!("is {verdict} (")), "{all}");
        self
    }

    fn undecided(&self) -> &Self {
        assert!(self.ran.stderr.contains("the entry stays active"), "{}", self.ran.terminal());
        self.is(None, None, "inconclusive")
    }

    fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.ran.code, Some(code), "{}", self.ran.terminal());
        self
    }

    fn evidence(&self) -> &Value {
        &self.entry["evidence"][0]
    }

    fn counts(&self, passed: u64, failed: u64, from: &str) -> &Self {
        let evidence = self.evidence();
        let counts = &evidence["counts"];
        assert_eq!((&counts["passed"], &counts["failed"]), (&passed.into(), &failed.into()));
        assert_eq!(evidence["counts_from"], from);
        self
    }
}

fn decide_in(book: &JournalProject, expect: &str, options: &[&str], command: &[&str]) -> Decided {
    let id = book.create(&[]);
    let ran = book.run(&[&["run", "--expect", expect], options, &["--"], command].concat());
    Decided { ran, entry: book.entry(&id) }
}

fn decide(expect: &str, command: &[&str]) -> Decided {
    decide_in(&JournalProject::new(), expect, &[], command)
}

fn shell(expect: &str, script: &str) -> Decided {
    decide(expect, &["sh", "-c", script])
}

/// A program in the project's folder.
fn program(book: &JournalProject, name: &str, script: &str) -> String {
    let path = book.env.write(name, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("./{name}")
}

/// A test runner that does what the script says.
fn runner(expect: &str, name: &str, script: &str) -> Decided {
    let book = JournalProject::new();
    let path = program(&book, name, script);
    decide_in(&book, expect, &[], &[&path])
}

const GOLD: Option<&str> = Some("gold");
const CONFIRMED: Option<&str> = Some("confirmed");
const FALSIFIED: Option<&str> = Some("falsified");

#[test]
fn plain_commands_are_judged_by_what_was_named_and_pass_on_their_exit_code() {
    decide("exit:0", &["true"]).exits(0).is(CONFIRMED, GOLD, "confirmed");
    decide("exit:0", &["false"]).exits(1).is(FALSIFIED, GOLD, "falsified");
    shell("exit:3", "exit 3").exits(3).is(CONFIRMED, GOLD, "confirmed");
    shell("exit:3", "exit 4").exits(4).is(FALSIFIED, GOLD, "falsified");
    shell("match:[0-9]+ warnings", "echo 12 warnings").exits(0).is(CONFIRMED, GOLD, "confirmed");
    shell("match:0 warnings", "echo clean").exits(0).is(FALSIFIED, GOLD, "falsified");
}

#[test]
fn a_falsified_entry_asks_for_its_explanation() {
    let decided = decide("exit:0", &["false"]);
    assert!(decided.ran.stderr.contains("proctor journal annotate ghap_"));
}

#[test]
fn both_streams_pass_through_and_the_journal_speaks_on_standard_error_only() {
    let decided = shell("pass", "echo out; printf 'no newline' >&2");
    assert_eq!(decided.ran.stdout, "out\n");
    assert!(decided.ran.stderr.starts_with("no newline"), "{}", decided.ran.stderr);
    let tail = decided.evidence()["output_tail"].as_str().unwrap();
    assert!(tail.contains("out\n") && tail.contains("no newline"), "{tail}");
    assert_eq!(decided.evidence()["argv"][2], "echo out; printf 'no newline' >&2");
    assert!(decided.evidence()["duration_ms"].is_u64());
}

#[test]
fn output_passes_through_while_the_command_still_runs() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    let (mut child, mut lines) = held(&book, &[], "exit:0");
    assert_eq!(lines.line(), "up\n");
    assert_eq!(book.entry(&id)["outcome"], Value::Null);
    book.env.write("gate", "");
    assert_eq!(lines.line(), "down\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(book.entry(&id)["outcome"]["status"], "confirmed");
}

/// Starts a command that says it is up and ends once there is a file `gate`.
fn held(book: &JournalProject, flags: &[&str], expect: &str) -> (Child, Lines) {
    let script = "echo up; until test -e gate; do sleep 0.01; done; echo down";
    let run = ["run", "--expect", expect, "--", "sh", "-c", script];
    let mut child = book.env.spawn(&[&["journal"], flags, &run].concat());
    let lines = Lines(BufReader::new(child.stdout.take().unwrap()));
    (child, lines)
}

#[test]
fn what_was_changed_while_the_command_ran_is_not_gold() {
    for change in [&["--hypothesis", "it is the clock"][..], &["--expect", "exit:0"]] {
        let book = JournalProject::new();
        let id = book.create(&["--expect", "exit:1"]);
        let script = "echo up; until test -e gate; do sleep 0.01; done";
        let mut child = book.env.spawn(&["journal", "run", "--", "sh", "-c", script]);
        let mut lines = Lines(BufReader::new(child.stdout.take().unwrap()));
        assert_eq!(lines.line(), "up\n");
        book.ok(&[&["update"], change].concat());
        book.env.write("gate", "");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let entry = book.entry(&id);
        assert_eq!(entry["confidence_tier"], "silver", "{change:?} {entry}");
        assert_eq!(entry["evidence"][0]["predates_run"], false);
    }
}

#[test]
fn an_entry_that_was_ended_while_the_command_ran_is_left_alone_and_that_is_said() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    let (child, mut lines) = held(&book, &[], "exit:0");
    assert_eq!(lines.line(), "up\n");
    book.ok(&["resolve", "falsified", "--result", "by hand"]);
    book.env.write("gate", "");
    let ran = book.env.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    assert!(ran.stderr.contains("no entry is active"), "{}", ran.stderr);
    assert_eq!(book.entry(&id)["outcome"]["result"], "by hand");
}

struct Lines(BufReader<std::process::ChildStdout>);

impl Lines {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn two_lanes_run_at_once_and_each_decides_its_own_entry() {
    let book = JournalProject::new();
    let ids = ["a", "b"].map(|lane| book.create(&["--lane", lane]));
    let mut first = held(&book, &["--lane", "a"], "exit:0");
    let mut second = held(&book, &["--lane", "b"], "exit:1");
    assert_eq!((first.1.line(), second.1.line()), ("up\n".into(), "up\n".into()));
    assert_eq!(book.json(&["list", "--active"]).as_array().unwrap().len(), 2);
    book.env.write("gate", "");
    for child in [&mut first.0, &mut second.0] {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let outcome = |id: &str| {
        let shown = book.json(&["show", id]);
        (shown["lane"].clone(), shown["entry"]["outcome"]["status"].clone())
    };
    assert_eq!(outcome(&ids[0]), ("a".into(), "confirmed".into()));
    assert_eq!(outcome(&ids[1]), ("b".into(), "falsified".into()));
}

#[test]
fn numbers_are_read_from_the_text_of_test_runners() {
    let failing = "echo '=== 3 failed, 42 passed in 1.20s ==='; exit 1";
    runner("pass", "pytest", failing).exits(1).is(FALSIFIED, GOLD, "falsified").counts(
        42,
        3,
        "text: pytest",
    );
    runner("fail", "rspec", "echo '5 examples, 2 failures, 1 pending'; exit 1")
        .is(CONFIRMED, GOLD, "confirmed")
        .counts(2, 2, "text: rspec");
}

#[test]
fn a_real_rspec_run_decides() {
    let book = JournalProject::new();
    book.env.write(
        "spec/a_spec.rb",
        "RSpec.describe(1) { it { expect(1).to eq 1 }; it { expect(1).to eq 2 } }",
    );
    decide_in(&book, "fail", &[], &["rspec"]).exits(1).is(CONFIRMED, GOLD, "confirmed").counts(
        1,
        1,
        "text: rspec",
    );
    book.env.write("spec/a_spec.rb", "raise 'broken while loading'");
    decide_in(&book, "fail", &[], &["rspec"]).exits(1).undecided();
}

#[test]
fn what_is_no_test_decides_nothing_and_keeps_the_evidence() {
    shell("pass", "echo '=== no tests ran in 0.01s ==='; exit 5").exits(5).undecided();
    shell("fail", "echo 'error: could not compile `x` (lib) due to 1 previous error'; exit 101")
        .exits(101)
        .undecided();
    let killed = shell("fail", "echo before; kill -9 $$");
    killed.exits(137).undecided();
    assert_eq!(killed.evidence()["signal"], 9);
    assert_eq!(killed.evidence()["output_tail"], "before\n");
    let missing = decide("fail", &["no-such-program"]);
    missing.exits(127).undecided();
    assert!(missing.ran.stderr.contains("no-such-program: No such file"), "{}", missing.ran.stderr);
    decide("fail", &["/"]).exits(126).undecided();
}

#[test]
fn a_long_trial_keeps_its_first_and_newest_evidence_and_says_where_the_rest_is() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    for number in 0..23 {
        let script = format!("echo trial {number}; kill -9 $$");
        let ran = book.run(&["run", "--expect", "pass", "--", "sh", "-c", &script]);
        assert_eq!(ran.code, Some(137), "{}", ran.terminal());
    }
    let entry = book.entry(&id);
    assert_eq!(entry["evidence"].as_array().unwrap().len(), 20);
    assert_eq!(entry["evidence_moved"]["count"], 3);
    let shown = book.ok(&["show", &id]);
    assert!(shown.contains(&format!("- 3 more in evidence/{id}.jsonl")), "{shown}");
    let kept = book.env.read(&format!(".claude/journal/evidence/{id}.jsonl"));
    assert!(kept.lines().nth(2).unwrap().contains("trial 6"), "{kept}");
    book.ok(&["resolve", "confirmed", "--result", "at last"]);
    let exported = book.ok(&["export"]);
    assert_eq!(exported.matches("\"captured_at\"").count(), 24, "all pieces, and the outcome");
    assert_eq!(book.ok(&["doctor"]).lines().count(), 1);
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let book = JournalProject::new();
    let script = ["sh", "-c", "trap '' TERM; echo up; sleep 1000 & sleep 1000"];
    let decided = decide_in(&book, "fail", &["--timeout", "300ms"], &script);
    decided.exits(124).undecided();
    assert_eq!(decided.evidence()["timed_out"], true);
    book.env.assert_no_process_left();
}

#[test]
fn an_interruption_reaches_the_command_and_loses_no_evidence() {
    for (sent, number, code) in [(Signal::INT, 2, 130), (Signal::TERM, 15, 143)] {
        let book = JournalProject::new();
        let id = book.create(&[]);
        // It tidies up, and says by its exit code that all is well: it is not.
        let script = "trap 'echo tidied; exit 0' INT TERM; echo up; while :; do sleep 0.01; done";
        let run = ["journal", "run", "--expect", "pass", "--", "sh", "-c", script];
        let mut child = book.env.spawn(&run);
        let mut lines = Lines(BufReader::new(child.stdout.take().unwrap()));
        assert_eq!(lines.line(), "up\n");
        signal(&child, sent);
        let mut rest = String::new();
        lines.0.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "tidied\n");
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let entry = book.entry(&id);
        assert_eq!(
            (&entry["outcome"], &entry["evidence"][0]["signal"]),
            (&Value::Null, &number.into())
        );
        assert_eq!(entry["evidence"][0]["verdict"], "inconclusive");
        book.env.assert_no_process_left();
    }
}

#[test]
fn a_process_left_in_the_background_does_not_keep_us() {
    let book = JournalProject::new();
    let decided = decide_in(&book, "exit:0", &[], &["sh", "-c", "echo done; sleep 1000 &"]);
    decided.exits(0).is(CONFIRMED, GOLD, "confirmed");
    for (pid, _) in book.env.processes() {
        crate::env::kill(pid, Signal::KILL);
    }
}

const REPORT: &str = r#"<testsuite tests="3" failures="1"><testcase name="a"/><testcase name="b"/>
<testcase name="c"><failure message="no"/></testcase></testsuite>"#;

#[test]
fn a_report_is_believed_before_the_text_unless_it_is_an_old_one() {
    let book = JournalProject::new();
    book.env.write("made.xml", REPORT);
    let script = "cat made.xml > out.xml; echo '9 examples, 0 failures'; exit 1";
    let path = program(&book, "rspec", script);
    decide_in(&book, "fail", &["--junit", "out.xml"], &[&path])
        .exits(1)
        .is(CONFIRMED, GOLD, "confirmed")
        .counts(2, 1, "junit");
    let path = program(&book, "silent", "true");
    let old = decide_in(&book, "pass", &["--junit", "out.xml"], &[&path]);
    old.exits(0).undecided();
    assert!(old.ran.stderr.contains("the command did not write out.xml"), "{}", old.ran.stderr);
}

#[test]
fn evidence_has_the_commit_and_whether_it_was_changed() {
    let book = JournalProject::new();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&book.env.project).env("HOME", book.env.home());
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "proctor.toml"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let clean = decide_in(&book, "exit:0", &[], &["true"]);
    assert_eq!(clean.evidence()["commit"], git(&["rev-parse", "HEAD"]));
    assert_eq!(clean.evidence()["dirty"], false, "the journal itself is no change");
    book.env.write("new.rb", "");
    assert_eq!(decide_in(&book, "exit:0", &[], &["true"]).evidence()["dirty"], true);
}

#[test]
fn nothing_is_run_when_the_journal_would_refuse() {
    let book = JournalProject::new();
    let touch = ["--", "touch", "ran"];
    book.refused(&[&["run", "--expect", "pass"], &touch[..]].concat(), &["no entry is active"]);
    let id = book.create(&[]);
    book.refused(
        &[&["run"], &touch[..]].concat(),
        &[&id, "has no expectation for the run", "--expect pass"],
    );
    book.refused(&[&["run", "--expect", "match:("], &touch[..]].concat(), &["regular expression"]);
    book.refused(&["run", "--expect", "pass"], &["COMMAND"]);
    assert!(!book.env.project.join("ran").exists());
}

#[test]
fn the_expectation_stated_with_the_entry_counts_when_none_is_given() {
    let book = JournalProject::new();
    let id = book.create(&["--expect", "exit:1"]);
    let ran = book.run(&["run", "--format", "json", "--", "false"]);
    assert_eq!(ran.code, Some(1));
    let said: Value = serde_json::from_str(&ran.stderr).expect(&ran.stderr);
    assert_eq!((&said["verdict"], &said["tier"]), (&"confirmed".into(), &"gold".into()));
    assert_eq!(book.entry(&id)["outcome"]["auto_captured"], true);
}

/// A project with one spec file and an active entry.
fn suite(spec: &str, more: &[&str]) -> (JournalProject, String) {
    let book = JournalProject::new();
    book.env.write("spec/a_spec.rb", spec);
    let id = book.create(more);
    (book, id)
}

const MIXED: &str =
    "RSpec.describe(1) { it { expect(1).to eq 1 }; it { expect(1).to eq 2 }; xit { } }";

fn resolve(book: &JournalProject, id: &str, flag: &str) -> Decided {
    let ran = book.env.run(&["run", flag]);
    Decided { ran, entry: book.entry(id) }
}

#[test]
fn a_run_of_our_own_resolves_the_entry_from_its_events() {
    let (book, id) = suite(MIXED, &[]);
    let decided = resolve(&book, &id, "--resolve-journal=pass");
    decided.exits(1).is(FALSIFIED, GOLD, "falsified").counts(1, 1, "run events");
    assert_eq!(decided.evidence()["counts"]["skipped"], 1);
    let (book, id) = suite("RSpec.describe(1) { it { } }", &["--expect", "pass"]);
    let decided = resolve(&book, &id, "--resolve-journal");
    decided.exits(0).is(CONFIRMED, GOLD, "confirmed").counts(1, 0, "run events");
    assert_eq!(decided.evidence()["argv"][1], "run");
}

#[test]
fn a_run_that_ran_nothing_decides_nothing() {
    let (book, id) = suite("raise 'broken while loading'", &[]);
    resolve(&book, &id, "--resolve-journal=fail").exits(2).undecided();
    let (book, id) = suite("", &[]);
    resolve(&book, &id, "--resolve-journal=fail").exits(2).undecided();
    let hooked = "RSpec.describe(1) { after(:context) { raise 'cannot clean up' }; it { } }";
    let (book, id) = suite(hooked, &[]);
    resolve(&book, &id, "--resolve-journal=pass").exits(1).undecided();
}

#[test]
fn an_interrupted_run_decides_nothing() {
    let (book, id) = suite("RSpec.describe(1) { it { sleep } }", &[]);
    let child = book.env.spawn(&["run", "--resolve-journal=fail", "--grace", "1ms"]);
    book.env.wait_for("a started example", |recorded| recorded.count("ExampleStarted") > 0);
    signal(&child, Signal::INT);
    let ran = book.env.ran(&child.wait_with_output().unwrap());
    let decided = Decided { ran, entry: book.entry(&id) };
    decided.exits(130).undecided();
    assert_eq!(decided.evidence()["signal"], 2);
}

/// The numbers of a run that was stopped are kept, though they decide nothing.
#[test]
fn a_stopped_run_keeps_the_numbers_of_what_ran() {
    let (book, id) =
        suite("RSpec.describe(1) { it('a') { }; it('b') { sleep } }", &["--expect", "exit:0"]);
    let child = book.env.spawn(&["run", "--resolve-journal", "--grace", "1ms", "-w", "1"]);
    book.env.wait_for("a passed example", |recorded| recorded.count("ExampleFinished") > 0);
    signal(&child, Signal::INT);
    let ran = book.env.ran(&child.wait_with_output().unwrap());
    let decided = Decided { ran, entry: book.entry(&id) };
    decided.exits(130).undecided().counts(1, 0, "run events");
}

/// Outcomes by an exit code alone are gold in the entry and a tier of their own in the statistics.
#[test]
fn outcomes_by_exit_code_alone_are_counted_apart() {
    let book = JournalProject::new();
    book.env.write("a_spec.rb", "RSpec.describe(1) { it { } }");
    for (expect, command) in [
        ("exit:0", &["true"][..]),
        ("exit:1", &["false"]),
        ("match:up", &["echo", "up"]),
        ("pass", &["rspec", "a_spec.rb"]),
        ("fail", &["rspec", "a_spec.rb"]),
    ] {
        let decided = decide_in(&book, expect, &[], command);
        assert_eq!(decided.entry["confidence_tier"], "gold", "{expect}");
    }
    let tiers = &book.json(&["stats"])["by_tier"];
    assert_eq!((&tiers["exit"]["confirmed"], &tiers["exit"]["falsified"]), (&2.into(), &0.into()));
    assert_eq!((&tiers["gold"]["confirmed"], &tiers["gold"]["falsified"]), (&2.into(), &1.into()));
}

/// V10: commands that run no tests confirm nothing, whatever they are called and print.
#[test]
fn v10_commands_that_run_no_tests_decide_nothing() {
    for command in [
        &["true"][..],
        &["false"],
        &["grep", "-rn", "pytest", "."],
        &["rspec", "--version"],
        &["sh", "-c", "echo '5 passed in 0.1s'"],
        &["sh", "-c", "echo '5 examples, 0 failures'; rspec --version"],
    ] {
        for expect in ["pass", "fail"] {
            let decided = decide(expect, command);
            decided.undecided();
            let said = &decided.ran.stderr;
            assert!(
                said.contains("the command ran no tests; expect `exit:N`"),
                "{command:?}: {said}"
            );
        }
    }
}

/// V11: failures behind a pipe falsify; passes behind one, and runners without counts, decide nothing.
#[test]
fn v11_a_pipe_hides_no_failure_and_proves_no_pass() {
    let spec = |body: &str| {
        let book = JournalProject::new();
        book.env.write("a_spec.rb", &format!("RSpec.describe(1) {{ it {{ {body} }} }}"));
        book
    };
    let line = |tail: &str| format!("rspec a_spec.rb | {tail}");
    let failing = spec("expect(1).to eq 2");
    decide_in(&failing, "pass", &[], &["sh", "-c", &line("tail -4")]).exits(0).is(
        FALSIFIED,
        GOLD,
        "falsified",
    );
    let cut = spec("expect(1).to eq 2");
    decide_in(&cut, "pass", &[], &["sh", "-c", &line("head -1")]).exits(0).undecided();
    let passing = spec("");
    let decided = decide_in(&passing, "pass", &[], &["sh", "-c", &line("tail -4")]);
    decided.exits(0).undecided().counts(1, 0, "text: rspec");
    let book = JournalProject::new();
    let piped = format!("set -o pipefail; {}", line("tail -4"));
    book.env.write("a_spec.rb", "RSpec.describe(1) { it { } }");
    decide_in(&book, "pass", &[], &["bash", "-c", &piped]).is(CONFIRMED, GOLD, "confirmed");
    for (expect, command) in [
        ("pass", &["python3", "-m", "unittest", "discover"][..]),
        ("fail", &["sh", "-c", "exit 137"]),
        ("fail", &["rspec", "nowhere_spec.rb"]),
        ("exit:2", &["make", "cheque"]),
    ] {
        let decided = decide(expect, command);
        decided.undecided();
    }
}

/// V12: our own runs are read from their recordings, behind a pipe and without a summary too.
#[test]
fn v12_our_own_runs_are_read_from_their_recordings() {
    let own = env!("CARGO_BIN_EXE_proctor");
    let decided = |expect: &str, spec: &str, line: &str| {
        let (book, id) = suite(spec, &[]);
        let line = line.replace("proctor", own);
        let ran = book.run(&["run", "--expect", expect, "--", "sh", "-c", &line]);
        Decided { ran, entry: book.entry(&id) }
    };
    let good = "RSpec.describe(1) { it { }; it { } }";
    for line in ["proctor run", "proctor run --ui terse | tail -1", "proctor run > /dev/null; ls"] {
        decided("pass", good, line).exits(0).is(CONFIRMED, GOLD, "confirmed").counts(
            2,
            0,
            "run events",
        );
        let failed = decided("pass", MIXED, line);
        failed.is(FALSIFIED, GOLD, "falsified").counts(1, 1, "run events");
    }
    decided("pass", "", "proctor run").undecided();
    decided("fail", "raise 'x'", "proctor run | cat").undecided();
    decided("pass", good, "proctor run --dry-run; proctor list").undecided();
    let twice = decided("pass", MIXED, "proctor run -e nothing; proctor run");
    assert_ne!(twice.entry["outcome"]["status"], "confirmed", "{}", twice.ran.terminal());
}

#[test]
fn a_run_is_refused_before_it_starts_when_the_journal_would_refuse() {
    let book = JournalProject::new();
    book.env.write("spec/a_spec.rb", MIXED);
    let refused = |arguments: &[&str], words: &str| {
        let ran = book.env.run(arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    };
    refused(&["run", "--resolve-journal=pass"], "no entry is active");
    refused(&["run", "--resolve-journal=match:x"], "judged by its examples");
    book.ok(&[&["create"], CACHE, &["--lane", "a", "--expect", "match:x"]].concat());
    refused(&["run", "--resolve-journal", "--lane", "a"], "judged by its examples");
    book.ok(&[&["create"], CACHE].concat());
    refused(&["run", "--resolve-journal"], "has no expectation for the run");
    assert!(book.env.events_path().is_none(), "nothing was recorded");
}
