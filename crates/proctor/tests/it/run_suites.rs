//! A suite of one's own: any program that speaks the worker protocol, named in `proctor.toml`.

use crate::env::TestEnv;

/// Written from `docs/protocol.md` alone, in a language that is not ours.
const WORKER: &str = r#"
import json, os, socket, sys, time

sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
os.set_inheritable(sock.fileno(), False)
incoming = sock.makefile("r", encoding="utf-8", newline="\n")
outgoing = sock.makefile("w", encoding="utf-8", newline="\n")
TESTS = ["passes", "fails", "waits", "crashes", "hangs", "prints", "passes again"]
marks = None
queue = []

def send(message):
    outgoing.write(json.dumps(message) + "\n")
    outgoing.flush()

def event(kind, **payload):
    send({"type": "event", "event_type": kind, "payload": payload})

def mark(key=""):
    if marks:
        for out in (sys.stdout, sys.stderr):
            out.write((marks + " " + key).rstrip() + "\n")
            out.flush()

def run(item):
    key, repeat = item["key"], item["repeat"]
    mark(key)
    event("ExampleStarted", key=key, repeat=repeat, attempt=item["attempt"])
    status, extra = "passed", {}
    if key == "fails":
        status, extra = "failed", {"exception": {"class": "AssertionError", "message": "1 is not 2", "backtrace": ["suite.py:1"]}}
    elif key == "waits":
        status, extra = "pending", {"message": "not yet"}
    elif key == "crashes":
        print("last words", flush=True)
        os.abort()
    elif key == "hangs":
        time.sleep(600)
    elif key == "passes again":
        extra = {"checks": 0}
    elif key == "prints":
        print("hello from", os.environ["WORKER_INDEX"], os.environ["EXTRA"])
    mark()
    event("ExampleFinished", key=key, repeat=repeat, status=status, duration_ms=1.5, **extra)

for line in incoming:
    message = json.loads(line)
    if "id" not in message or "action" not in message:
        continue
    reply, action = {"reply_to": message["id"]}, message["action"]
    if action == "hello":
        reply.update(protocol=1, name="mine", version="1", pid=os.getpid(), capabilities=["list", "run"])
    elif action == "list":
        listed = [{"key": t, "file": "./suite.py", "path": ["mine", t], "tags": ["own"]} for t in TESTS if not message["args"] or t in message["args"]]
        send({"type": "examples", "examples": listed})
        reply.update(count=len(listed), errors=[])
    elif action == "run":
        marks = message.get("marks")
        queue = [item for unit in message["units"] for item in unit]
        reply.update(accepted=len(queue))
    elif action == "unrun":
        reply.update(returned=[])
    elif action == "cancel":
        reply.update(status="cancelling")
    elif action == "__shutdown__":
        reply.update(status="shutting_down")
    else:
        reply.update(error={"code": "unknown_action", "message": "no " + action})
    send(reply)
    if action == "__shutdown__":
        sys.exit(0)
    while queue:
        run(queue.pop(0))
"#;

fn python() -> String {
    // A shim needs more of the environment than a sealed one has.
    let found = std::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn project(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("suite.py", WORKER);
    let python = python();
    env.write(
        "proctor.toml",
        &format!(
            "[[suite]]\nname = \"mine\"\ncommand = [{python:?}, \"suite.py\"]\nenv = {{ EXTRA = \"more\" }}\n{more}"
        ),
    );
    env
}

#[test]
fn a_program_of_ones_own_passes_fails_crashes_and_hangs() {
    for workers in ["1", "3"] {
        let env = project("");
        let ran = env.run(&["run", "-w", workers, "--timeout", "1s"]);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(7);
        let statuses = recorded.statuses();
        for (status, count) in
            [("passed", 3), ("failed", 1), ("pending", 1), ("crashed", 1), ("timed_out", 1)]
        {
            assert_eq!(statuses.get(status), Some(&count), "{status} {}", ran.terminal());
        }
        let failed = recorded.result("mine fails").event;
        assert_eq!(failed["exception"]["message"], "1 is not 2");
        let crashed = recorded.result("mine crashes").event;
        assert_eq!(crashed["signal"], 6, "{crashed}");
        assert_eq!(crashed["output_tail"][0], "last words", "{crashed}");
        assert_eq!(recorded.result("mine waits").event["message"], "not yet");
        let said = recorded.output("mine prints", "stdout");
        assert!(said.len() == 1 && said[0].ends_with(" more"), "{said:?}");
        assert!(recorded.of("ExampleStarted").all(|event| event["suite"] == "mine"));
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn it_may_say_how_many_checks_it_made() {
    let env = project("args = [\"passes\", \"passes again\"]\n");
    let ran = env.run(&["run", "--unchecked", "fail"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let ended = env.recorded().of("SuiteFinished").next().unwrap().clone();
    let counts = (&ended["failure_count"], &ended["counts"]["unchecked"]);
    assert_eq!(counts, (&1.into(), &1.into()), "{ended}");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("1 example passed without checking anything:"), "{}", ran.stdout);
}

/// `-e` chose among specs and scenarios; of a program everything was run, and the choice passed for made.
#[test]
fn it_is_chosen_from_by_words_like_any_other() {
    let env = project("args = [\"passes\", \"fails\"]\n");
    let ran = env.run(&["run", "-e", "passes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(1);
    assert_eq!(env.recorded().started(), ["mine passes"]);
    assert_eq!(env.run(&["run", "-e", "/^mine fa/"]).code, Some(1));
    assert_eq!(env.recorded().started(), ["mine fails"]);
    let nothing = env.run(&["run", "-e", "zebra"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.terminal());
}

#[test]
fn it_is_listed_selected_and_retried_like_any_other() {
    let env = project("args = [\"passes\", \"fails\"]\n");
    let listed = env.run(&["list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.terminal());
    assert_eq!(listed.stdout.lines().count(), 2, "{}", listed.terminal());
    assert!(listed.stdout.contains("./suite.py  mine > passes"), "{}", listed.terminal());
    let ran = env.run(&["run", "--retries", "1", "--repeat", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(4);
    assert_eq!(recorded.count("ExampleStarted"), 6, "two passes, two failures tried twice");
    assert_eq!(env.run(&["run", "--only-failures"]).code, Some(1));
    assert_eq!(env.recorded().started(), ["mine fails"]);
}

#[test]
fn suites_run_side_by_side_and_can_be_named() {
    let env = project("args = [\"passes\"]\n");
    env.write("spec/a_spec.rb", "RSpec.describe('ruby') { it('passes') { expect(1).to eq(1) } }");
    let both = env.run(&["run"]);
    assert_eq!(both.code, Some(0), "{}", both.terminal());
    let mut started = env.recorded().started();
    started.sort();
    assert_eq!(started, ["mine passes", "ruby passes"]);
    for (suite, title) in [("mine", "mine passes"), ("rspec", "ruby passes")] {
        assert_eq!(env.run(&["run", "--suite", suite]).code, Some(0));
        assert_eq!(env.recorded().started(), [title]);
    }
    let unknown = env.run(&["run", "--suite", "other"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("mine"), "{}", unknown.terminal());
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_named() {
    for (command, shown) in [
        ("[\"no-such-program\"]", "no-such-program"),
        ("[\"sh\", \"-c\", \"echo not today >&2; exit 4\"]", "not today"),
        ("[\"true\"]", "mine"),
    ] {
        let env = TestEnv::new();
        env.write("proctor.toml", &format!("[[suite]]\nname = \"mine\"\ncommand = {command}\n"));
        let ran = env.run(&["run"]);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.terminal().contains(shown), "{}", ran.terminal());
    }
}
