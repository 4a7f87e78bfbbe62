//! Nothing is lost on the way: what is large, late, unreadable or stuck shows in the verdict. Numbers are those of the audit.

use std::process::Stdio;

use rustix::process::Signal;

use crate::env::{TestEnv, assert_code, signal, wait_until};

fn failed(env: &TestEnv) -> usize {
    env.recorded().statuses().get("failed").copied().unwrap_or_default()
}

/// 300 long descriptions made a batch over 8 MiB, which was dropped: "51 examples: 51 passed".
#[test]
fn b1_long_descriptions_and_large_metadata_lose_no_example() {
    for options in [&["run", "-w", "2"][..], &["run", "-w", "2", "--no-preload"]] {
        let env = TestEnv::with_spec(
            r#"RSpec.describe "long" do
                 it("fails") { expect(1).to eq(2) }
                 300.times { |n| it(n.to_s + " " + "d" * 12_000) { } }
                 it("is large", blob: "x" * 9_000_000) { }
               end"#,
        );
        let ran = env.run(options);
        assert_code(&ran, 1);
        env.recorded().assert_accounted(302);
        assert_eq!(failed(&env), 1);
        assert!(ran.stdout.contains("302 examples"), "{}", &ran.stdout[ran.stdout.len() - 300..]);
    }
}

/// A worker whose count and list differ: nothing it says can be trusted.
#[test]
fn b1_a_suite_that_lists_fewer_examples_than_it_announces_is_an_error() {
    let env = worker(r#"{"count": 3}"#, "finish(item)");
    let ran = env.run(&["run", "--suite", "mine"]);
    assert_code(&ran, 2);
    assert!(
        ran.terminal().contains("announced 3 examples, but 2 were listed"),
        "{}",
        ran.terminal()
    );
}

#[test]
fn b2_a_pipe_without_a_reader_does_not_hold_up_the_run() {
    let env = TestEnv::with_spec("RSpec.describe('x') { it('passes') { puts 'y' * 200_000 } }");
    let pipe = env.project.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let ran = env.run(&["run", "--events", "pipe"]);
    assert_code(&ran, 0);
    assert!(ran.stderr.contains("events no longer go to pipe"), "{}", ran.terminal());
    env.assert_complete();
}

#[test]
fn b3_a_result_over_the_limit_arrives() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "large" do
             it("skips") { skip "x" * 9_000_000 }
             it("fails") { raise "y" * 9_000_000 }
           end"#,
    );
    let ran = env.run(&["run", "-w", "1"]);
    assert_code(&ran, 1);
    let recorded = env.recorded();
    recorded.assert_accounted(2);
    let message = recorded.result("skips").event["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("… (9000000 bytes in all)"), "{}", &message[message.len() - 60..]);
    assert_eq!(recorded.result("fails").status, "failed");
}

#[test]
fn b4_fail_fast_0_is_off() {
    let text = "RSpec.describe('x') { 3.times { |n| it(n.to_s) { raise 'no' } } }";
    let env = TestEnv::with_spec(text);
    assert_code(&env.run(&["run", "--fail-fast=0"]), 1);
    assert_eq!(failed(&env), 3);
    env.write(".rspec", "--fail-fast=0\n");
    assert_code(&env.run(&["run"]), 1);
    assert_eq!(failed(&env), 3);
    env.write(".rspec", "--fail-fast=1\n");
    assert_code(&env.run(&["run", "-w", "1", "--fail-fast=0"]), 1);
    assert_eq!(failed(&env), 3, "the command line says off");
}

/// A crash lost what had been printed right before it, and showed the last line of the example before instead.
#[test]
fn b5_a_crash_keeps_its_own_last_output() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "crashes" do
             16.times do |n|
               it("prints #{n}") { puts "fine #{n}" }
               it("dies #{n}") { $stderr.puts "last words of #{n}"; Process.kill(:KILL, Process.pid) }
               it("dies silently #{n}") { Process.kill(:KILL, Process.pid) }
             end
           end"#,
    );
    let ran = env.run(&["run", "-w", "8"]);
    assert_code(&ran, 1);
    let recorded = env.recorded();
    recorded.assert_accounted(48);
    for n in 0..16 {
        let tail = &recorded.result(&format!(" dies {n}")).event["output_tail"];
        assert_eq!(tail[0], format!("last words of {n}"), "{tail}");
        let silent = &recorded.result(&format!("dies silently {n}")).event["output_tail"];
        assert!(silent.is_null() || silent.as_array().unwrap().is_empty(), "{silent}");
        assert_eq!(recorded.result(&format!("prints {n}")).status, "passed");
    }
}

/// A child that outlives the crash holds the pipe open; what the example printed is there all the same.
#[test]
fn b5_a_child_that_holds_the_pipe_does_not_hide_the_last_output() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "crash" do
             it("leaves a child") { spawn("sleep 30", pgroup: true); puts "here"; $stdout.flush; exit!(3) }
           end"#,
    );
    let ran = env.run(&["run", "-w", "1"]);
    assert_code(&ran, 1);
    assert_eq!(env.recorded().result("leaves a child").event["output_tail"][0], "here");
    env.assert_no_process_left();
}

#[test]
fn b6_fail_fast_is_exact_at_one_worker_and_in_groups() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "group" do
             before(:context) { @value = 1 }
             20.times { |n| it("example #{n}") { expect(n % 2).to eq(@value) } }
           end"#,
    );
    for limit in [1, 3, 7] {
        let ran = env.run(&["run", "-w", "1", &format!("--fail-fast={limit}")]);
        assert_code(&ran, 1);
        assert_eq!(failed(&env), limit, "{}", ran.terminal());
        env.recorded().assert_accounted(20);
    }
    let ran = env.run(&["run", "-w", "1", "--fail-fast=2", "--retries", "1"]);
    assert_code(&ran, 1);
    assert_eq!(failed(&env), 2, "{}", ran.terminal());
}

#[test]
fn b7_more_attempts_than_fit_are_refused() {
    let env = TestEnv::with_spec("RSpec.describe('x') { it('passes') { } }");
    let ran = env.run(&["run", "--repeat", "4294967295"]);
    assert_code(&ran, 2);
    assert!(ran.terminal().contains("4294967295 attempts"), "{}", ran.terminal());
}

#[test]
fn b7_output_finds_its_example_in_files_with_odd_names_and_in_long_lines() {
    let env = TestEnv::new();
    env.write("spec/a\tb\nc_spec.rb", "RSpec.describe('odd') { it('prints') { puts 'hello' } }");
    env.write(
        "spec/long_spec.rb",
        "RSpec.describe('long') { [65_516, 65_530, 65_536].each { |n| it(\"prints #{n}\") { print 'x' * n } } }",
    );
    let ran = env.run(&["run", "-w", "1"]);
    assert_code(&ran, 0);
    let recorded = env.recorded();
    assert_eq!(recorded.output("odd prints", "stdout"), ["hello"]);
    for n in [65_516, 65_530, 65_536] {
        let printed = recorded.output(&format!("long prints {n}"), "stdout").concat();
        assert_eq!(printed.len(), n, "{:?}", &printed[printed.len() - 40..]);
    }
}

#[test]
fn b7_a_full_device_is_no_success() {
    let env = TestEnv::with_spec("RSpec.describe('x') { it('passes') { } }");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = env.command().arg("run").stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ran = env.ran(&child.wait_with_output().unwrap());
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("cannot write to standard output"), "{}", ran.terminal());
}

#[test]
fn b7_two_runs_into_one_events_file_are_two_runs() {
    let env = TestEnv::with_spec(
        "RSpec.describe('x') { 40.times { |n| it(n.to_s) { puts 'z' * 3000; sleep 0.005 } } }",
    );
    let runs = [(); 2].map(|()| env.spawn(&["run", "-w", "2", "--events", "both.jsonl"]));
    for run in runs {
        assert_code(&env.ran(&run.wait_with_output().unwrap()), 0);
    }
    let text = env.read("both.jsonl");
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends = |event: &&serde_json::Value| event["event_type"] == "SuiteFinished";
    assert_eq!(events.iter().filter(ends).count(), 2);
    let checked = env.run(&["validate", "both.jsonl"]);
    assert_code(&checked, 0);
}

/// A suite of two examples, `one` and `two`; `listed` changes the answer to `list`, `act` is what happens to each.
fn worker(listed: &str, act: &str) -> TestEnv {
    let env = TestEnv::new();
    let text = WORKER.replace("LISTED", listed).replace("ACT", act);
    env.write("worker.py", &text);
    env.write(
        "proctor.toml",
        "[[suite]]\nname = \"mine\"\ncommand = [\"python3\", \"worker.py\"]\n",
    );
    env
}

const WORKER: &str = r#"
import json, os, socket, sys, time
io = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
lines, raw = io.makefile("r"), io.makefile("w")
def send(message): say(json.dumps(message))
def say(line): raw.write(line + "\n"); raw.flush()
def event(kind, item, **more): send({"type": "event", "event_type": kind, "payload": dict(key=item["key"], **more)})
def finish(item): event("ExampleFinished", item, status="passed")
for line in lines:
    message = json.loads(line)
    if "action" not in message: continue
    action, reply, queue = message["action"], {"reply_to": message["id"]}, []
    if action == "hello": reply.update(protocol=1, name="mine", version="1", pid=os.getpid(), capabilities=[])
    elif action == "list":
        send({"type": "examples", "examples": [{"key": key, "file": "./mine", "path": [key]} for key in ["one", "two"]]})
        reply.update(LISTED)
    elif action == "run": queue = [item for unit in message["units"] for item in unit]
    elif action == "__shutdown__": reply.update(status="shutting_down")
    send(reply)
    if action == "__shutdown__": sys.exit(0)
    for item in queue:
        event("ExampleStarted", item)
        ACT
"#;

/// The broken line vanished, and the example waited for ever.
#[test]
fn v19_a_result_that_cannot_be_read_is_shown_and_its_example_ends() {
    let broken = [
        r#"say('{"type":"event","event_type":"ExampleFinished","payload":{"key":') if item["key"] == "one" else finish(item)"#,
        r#"say("not json") if item["key"] == "one" else finish(item)"#,
        r#"say('{"type":"event"}') if item["key"] == "one" else finish(item)"#,
        r#"say('"' + "x" * 9_000_000 + '"') if item["key"] == "one" else finish(item)"#,
    ];
    for act in broken {
        let env = worker("{}", act);
        let ran = env.run(&["run", "-w", "1", "--suite", "mine"]);
        assert_code(&ran, 1);
        let recorded = env.recorded();
        recorded.assert_accounted(2);
        let one = recorded.result("one");
        assert_eq!(one.status, "errored", "{act} {}", ran.terminal());
        assert_eq!(recorded.result("two").status, "passed", "{act} {}", ran.terminal());
        let said =
            |event: &&serde_json::Value| event["line"].as_str().unwrap().starts_with("proctor: ");
        assert!(recorded.of("WorkerLog").any(|event| said(&event)), "{act} {}", ran.terminal());
    }
}

#[test]
fn v19_a_second_result_of_an_example_is_an_error_of_the_run() {
    let env = worker("{}", r#"finish(item); event("ExampleFinished", item, status="failed")"#);
    let ran = env.run(&["run", "-w", "1", "--suite", "mine"]);
    assert_code(&ran, 1);
    assert!(env.recorded().count("ErrorOutsideExample") >= 1, "{}", ran.terminal());
}

#[test]
fn v19_a_result_of_an_example_that_was_never_listed_is_an_error_of_the_run() {
    let env = worker(
        "{}",
        r#"finish(item); event("ExampleFinished", {"key": "three"}, status="failed")"#,
    );
    let ran = env.run(&["run", "-w", "1", "--suite", "mine"]);
    assert_code(&ran, 1);
    assert!(ran.stdout.contains("never listed: three (failed)"), "{}", ran.terminal());
}

#[test]
fn v17_ab_with_equal_sides_says_so() {
    let env = TestEnv::new();
    env.write("proctor.toml", "[agents.a]\ncommand = [\"agent\"]\n");
    env.write("other.toml", "# the same\n[agents.a]\ncommand = ['agent']\n");
    env.write("a.scenario.yaml", "examples: []\n");
    let ran = env.run(&["run", "--ab", "other.toml", "a.scenario.yaml"]);
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("nothing to compare"), "{}", ran.terminal());
}

#[test]
fn a_hangup_ends_a_run_like_a_termination() {
    let env = TestEnv::with_spec("RSpec.describe('x') { 3.times { |n| it(n.to_s) { sleep 60 } } }");
    let child = env.spawn(&["run", "-w", "1", "--grace", "100ms"]);
    env.wait_for("a start", |run| run.count("ExampleStarted") >= 1);
    signal(&child, Signal::HUP);
    let ran = env.ran(&child.wait_with_output().unwrap());
    assert_code(&ran, 129);
    env.recorded().assert_accounted(3);
    assert_eq!(env.recorded().count("SuiteFinished"), 1, "the ending is recorded");
    env.assert_no_process_left();
}

/// Nobody reads standard output: whatever blocks there, a second signal ends the process.
#[test]
fn b2_a_second_signal_ends_a_process_that_is_blocked() {
    let env = TestEnv::with_spec(
        "RSpec.describe('x') { it('prints') { puts(('y' * 99 + \"\\n\") * 9000); sleep 60 } }",
    );
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = env.command().args(["run", "-w", "1"]).stdout(writer).spawn().unwrap();
    env.wait_for("output", |run| run.count("WorkerLog") >= 8000);
    signal(&child, Signal::TERM);
    env.wait_for("the end of the run", |run| run.count("SuiteFinished") == 1);
    assert!(child.try_wait().unwrap().is_none(), "it is blocked");
    signal(&child, Signal::TERM);
    let mut code = None;
    wait_until("the end of the process", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(143));
    drop(reader);
    env.assert_no_process_left();
}

/// Runs a command that may write files of at most this many blocks of 512 bytes.
fn run_with_file_limit(env: &TestEnv, blocks: u32, arguments: &[&str]) -> crate::env::Ran {
    let mut command = std::process::Command::new("sh");
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_proctor")]).args(arguments);
    command.current_dir(&env.project).env_clear().env("HOME", env.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    env.ran(&command.output().unwrap())
}

/// SIGXFSZ ended the process in the middle of a run.
#[test]
fn s7_a_recording_beyond_the_file_size_limit_is_an_error() {
    let env = TestEnv::with_spec(
        "RSpec.describe('x') { 40.times { |n| it(n.to_s) { puts 'y' * 9999 } } }",
    );
    // The Ruby library is unpacked without a limit.
    assert_code(&env.run(&["list"]), 0);
    let ran = run_with_file_limit(&env, 256, &["run", "-w", "1"]);
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("File too large"), "{}", ran.terminal());
    // What was written before is there, line by line.
    let text = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
    assert!(text.len() > 100_000, "{}", text.len());
    let whole = text.rfind('\n').unwrap();
    for line in text[..whole].lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    env.assert_no_process_left();
}

#[test]
fn s7_other_commands_report_the_file_size_limit_too() {
    let env = TestEnv::new();
    let ran = run_with_file_limit(&env, 0, &["init"]);
    assert!(ran.code.is_some(), "killed: {}", ran.terminal());
}
