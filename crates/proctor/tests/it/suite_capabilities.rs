//! What each kind of suite can report: the table, its page, and one real run of each kind.

use proctor_runner::{Reported, SUITE_CAPABILITIES};
use serde_json::Value;

use crate::env::{TestEnv, repository};
use crate::recorded::Recorded;

fn in_words(reported: Reported) -> String {
    match reported {
        Reported::Always => "always".to_owned(),
        Reported::IfSaid(otherwise) => format!("if it says so, else {otherwise}"),
        Reported::Never => "never".to_owned(),
    }
}

#[test]
fn the_page_shows_the_table() {
    let page = std::fs::read_to_string(repository().join("docs/running.md")).unwrap();
    let start = page.find("| suite | names |").unwrap();
    let shown: Vec<&str> =
        page[start..].lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let rows: Vec<String> = SUITE_CAPABILITIES
        .iter()
        .map(|row| {
            let cells = [row.names, row.durations, row.output, row.checks].map(in_words);
            format!("| {} | {} |", row.name, cells.join(" | "))
        })
        .collect();
    assert_eq!(shown, rows);
}

/// Holds one run, of an example that prints `hello`, against its row.
fn hold(row: &str, recorded: &Recorded, says: bool) {
    let row = SUITE_CAPABILITIES.iter().find(|known| known.name == row).unwrap();
    let is = |reported: Reported| match reported {
        Reported::Always => true,
        Reported::IfSaid(_) => says,
        Reported::Never => false,
    };
    let ended = recorded.of("ExampleFinished").next().unwrap();
    let started = recorded.of("ExampleStarted").next().unwrap();
    assert!(!started["path"].as_array().unwrap().is_empty(), "{started}");
    // Where it is not reported it is measured.
    assert!(ended["duration_ms"].is_number(), "{}: {ended}", row.name);
    if row.name == "program" {
        assert_eq!(ended["duration_ms"] == 1234.5, says, "{ended}");
    }
    assert_eq!(ended["checks"].is_number(), is(row.checks), "{}: {ended}", row.name);
    let own = |event: &&Value| {
        event["example_id"].is_string()
            && event["line"].as_str().is_some_and(|line| line.contains("hello"))
    };
    assert_eq!(recorded.of("WorkerLog").any(|event| own(&event)), is(row.output), "{}", row.name);
}

const WORKER: &str = r#"
import json, os, socket, sys
io = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
lines, out = io.makefile("r"), io.makefile("w")
says, marks = SAYS, None
def send(message): out.write(json.dumps(message) + "\n"); out.flush()
def event(kind, item, **more): send({"type": "event", "event_type": kind, "payload": dict(key=item["key"], **more)})
def mark(text):
    if says and marks:
        for to in (sys.stdout, sys.stderr): to.write((marks + " " + text).rstrip() + "\n"); to.flush()
for line in lines:
    message = json.loads(line)
    if "action" not in message: continue
    action, reply, queue = message["action"], {"reply_to": message["id"]}, []
    if action == "hello": reply.update(protocol=1, name="mine", version="1", pid=os.getpid(), capabilities=[])
    elif action == "list": send({"type": "examples", "examples": [{"key": "one", "file": "./mine", "path": ["one"]}]}); reply.update(count=1, errors=[])
    elif action == "run": queue = [item for unit in message["units"] for item in unit]; marks = message.get("marks", marks)
    elif action == "__shutdown__": reply.update(status="shutting_down")
    send(reply)
    if action == "__shutdown__": sys.exit(0)
    for item in queue:
        mark(item["key"])
        event("ExampleStarted", item)
        print("hello", flush=True)
        mark("")
        event("ExampleFinished", item, status="passed", **({"duration_ms": 1234.5, "checks": 2} if says else {}))
"#;

#[test]
fn rspec_is_what_its_row_says() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('one') { puts 'hello' } }");
    for preload in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run", "--unchecked", "fail"], preload].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        assert!(
            ran.stderr.contains("says nothing about `rspec`")
                || ran.stdout.contains("says nothing about `rspec`"),
            "{}",
            ran.terminal()
        );
        hold("RSpec", &env.recorded(), false);
    }
}

#[test]
fn minitest_is_what_its_row_says() {
    let env = TestEnv::new();
    env.write(
        "test/a_test.rb",
        "require 'minitest/autorun'\nclass ATest < Minitest::Test\n  def test_one\n    puts 'hello'\n    assert true\n  end\nend\n",
    );
    for preload in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run", "--unchecked", "fail"], preload].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        assert!(!ran.terminal().contains("says nothing about"), "{}", ran.terminal());
        hold("Minitest", &env.recorded(), false);
    }
}

#[test]
fn a_program_is_what_its_row_says() {
    for says in [true, false] {
        let env = TestEnv::new();
        env.write("suite.py", &WORKER.replace("SAYS", if says { "True" } else { "False" }));
        env.write(
            "proctor.toml",
            "[[suite]]\nname = \"mine\"\ncommand = [\"python3\", \"suite.py\"]\n",
        );
        let ran = env.run(&["run", "-w", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        hold("program", &env.recorded(), says);
    }
}

/// What a worker says right behind its list was taken for a part of the loading, and was lost: here it comes in the same write.
#[test]
fn what_follows_the_list_at_once_belongs_to_the_worker() {
    let answer = "    send(reply)\n";
    let with_error = r#"    error = {"type": "event", "event_type": "ErrorOutsideExample", "payload": {"message": "no table for worker"}}
    behind = json.dumps(error) + "\n" if action == "list" else ""
    out.write(json.dumps(reply) + "\n" + behind); out.flush()
"#;
    let worker = WORKER.replace("SAYS", "True");
    assert!(worker.contains(answer));
    let env = TestEnv::new();
    env.write("suite.py", &worker.replace(answer, with_error));
    env.write(
        "proctor.toml",
        "[[suite]]\nname = \"mine\"\ncommand = [\"python3\", \"suite.py\"]\n",
    );
    for workers in ["1", "2"] {
        let ran = env.run(&["run", "-w", workers, "--ui", "grouped"]);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        assert!(ran.stdout.contains("no table for worker"), "{}", ran.terminal());
    }
}

const AGENT: &str = r#"
import json, os, socket, sys
io = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
lines, out = io.makefile("r"), io.makefile("w")
for line in lines:
    message = json.loads(line)
    if "action" not in message: continue
    reply = {"reply_to": message["id"]}
    if message["action"] == "hello": reply.update(protocol=1, name="a", version="1", pid=os.getpid(), capabilities=[])
    elif message["action"] == "agent.chat": print("hello", flush=True); reply.update(text="x")
    elif message["action"] == "__shutdown__": reply.update(status="shutting_down")
    out.write(json.dumps(reply) + "\n"); out.flush()
    if message["action"] == "__shutdown__": sys.exit(0)
"#;

#[test]
fn a_scenario_is_what_its_row_says() {
    let env = TestEnv::new();
    env.write("agent.py", AGENT);
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {command: [python3, agent.py]}\nexamples: [{it: one, steps: [{user: hi, expect: [{match: x}]}]}]\n",
    );
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    hold("scenario", &env.recorded(), false);
}

#[test]
fn a_workspace_is_what_its_row_says() {
    let env = TestEnv::new();
    let ralph = repository().join("target/tools/ralph-2.10.1/bin/ralph");
    let ralph = std::env::var("PROCTOR_RALPH").unwrap_or_else(|_| ralph.display().to_string());
    env.write("proctor.toml", &format!("[tools]\nralph = \"{ralph}\"\n"));
    env.write(
        "a.workspace.yaml",
        "name: One\nmock: [{output: \"hello\\nLOOP_COMPLETE\"}]\nrun: {task: t}\nassert: [{type: exit_code, expected: 0}]\n",
    );
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    hold("workspace", &env.recorded(), false);
}
