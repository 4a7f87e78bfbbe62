//! Cancellation over MCP with real processes: a run that hangs is really stopped, in every version of the protocol.

use serde_json::{Value, json};

use crate::env::{TestEnv, wait_until};
use crate::wire::{HANDSHAKE, STATELESS, Wire, processes_of, result_of};

/// A run that hangs in its second iteration, with a child that does not listen.
fn hanging() -> Value {
    json!([{ "output": "<event topic=\"build.task\">x</event>" }, { "output": "", "hang": true }])
}

/// Starts a run that hangs and waits until its second iteration was told.
fn start(wire: &mut Wire, workspace: &str) -> u64 {
    wire.call("test_setup", json!({ "workspace_id": workspace }));
    let arguments = json!({ "workspace_id": workspace, "task": "t", "mock_responses": hanging() });
    let params =
        json!({ "name": "test_run", "arguments": arguments, "_meta": { "progressToken": 7 } });
    let id = wire.begin("tools/call", params);
    loop {
        let news = wire.next();
        assert_eq!(news["method"], "notifications/progress", "{news}");
        assert_eq!(news["params"]["progressToken"], 7);
        if news["params"]["message"] == "iteration 2: builder" {
            return id;
        }
    }
}

fn cancelled(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": id, "reason": "the user pressed Escape" } })
}

#[test]
fn a_cancelled_test_run_is_stopped_with_everything_it_started() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let env = TestEnv::new();
        let mut wire = Wire::open(&env, version);
        let id = start(&mut wire, "w");
        let server = wire.child.id();
        let others = || processes_of(&env).into_iter().filter(|(pid, _)| *pid != server);
        assert!(others().any(|(_, command)| command.contains("ralph")), "{version}: it runs");
        wire.send(&cancelled(id));
        wait_until("every process of the run is gone", || others().count() == 0);
        // What it did is kept, nobody answers the cancelled request, and the workspace is free.
        let mut summary = json!({ "running": true });
        wait_until("the run is concluded", || {
            summary =
                wire.call("test_inspect", json!({ "workspace_id": "w", "format": "summary" }));
            summary["running"] == false
        });
        assert_eq!(summary["result"]["termination_reason"], "HarnessCancelled", "{summary}");
        assert_eq!(summary["by_topic"]["build.task"], 1, "{summary}");
        let answered = wire.notified.iter().any(|message| message["id"] == id);
        assert!(!answered, "{version}: {:?}", wire.notified);
        let again = json!({ "workspace_id": "w", "task": "t", "mock_responses": [{ "output": "LOOP_COMPLETE" }] });
        assert_eq!(wire.call("test_run", again)["termination_reason"], "CompletionPromise");
        wire.call("test_cleanup", json!({ "workspace_id": "w" }));
        wire.close();
    }
}

#[test]
fn a_client_that_goes_away_takes_its_test_run_with_it() {
    let env = TestEnv::new();
    let mut wire = Wire::open(&env, HANDSHAKE[1]);
    start(&mut wire, "w");
    wire.close();
    wait_until("nothing is left", || processes_of(&env).is_empty());
    // The next server finds what there was.
    let mut wire = Wire::open(&env, STATELESS);
    let summary = wire.call("test_inspect", json!({ "workspace_id": "w", "format": "summary" }));
    assert_eq!(summary["by_topic"]["build.task"], 1, "{summary}");
    wire.call("test_cleanup", json!({ "workspace_id": "w" }));
    wire.close();
}

#[test]
fn a_killed_server_leaves_nothing_running() {
    let env = TestEnv::new();
    let mut wire = Wire::open(&env, HANDSHAKE[0]);
    start(&mut wire, "w");
    wire.child.kill().unwrap();
    wire.child.wait().unwrap();
    wait_until("nothing is left", || processes_of(&env).is_empty());
}

/// The home of whoever runs the server has a configuration that would end every run after one iteration.
#[test]
fn the_configuration_in_the_home_of_the_user_does_not_leak_in() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.home().join(".ralph")).unwrap();
    let leak = "event_loop: {max_iterations: 1}\ncli: {backend: claude}\n";
    std::fs::write(env.home().join(".ralph/config.yml"), leak).unwrap();
    let trap = env.home().join("trap");
    std::fs::create_dir(&trap).unwrap();
    let mark = env.home().join("claude-was-called");
    std::fs::write(
        trap.join("claude"),
        format!("#!/bin/sh\necho \"$@\" >> '{}'\n", mark.display()),
    )
    .unwrap();
    std::fs::set_permissions(
        trap.join("claude"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = crate::wire::with_ralph(&env);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(trap).chain(std::env::split_paths(&path)).collect::<Vec<_>>();
    command.arg("mcp").env("PATH", std::env::join_paths(folders).unwrap());
    command.env("ANTHROPIC_API_KEY", "secret-of-the-user").env("RALPH_CONFIG", "/nowhere");
    let mut wire = Wire::start(command, HANDSHAKE[1]);
    let probe = "#!/bin/sh\nenv > env.txt\n";
    let hooks = json!({ "hooks": { "enabled": true, "events": { "pre.loop.start":
        [{ "name": "probe", "command": ["./probe.sh"], "on_error": "warn" }] } } });
    wire.call(
        "test_setup",
        json!({ "workspace_id": "w", "fixtures": { "probe.sh": probe }, "config": hooks }),
    );
    let responses = json!([{ "output": "<event topic=\"build.task\">x</event>" }, { "output": "LOOP_COMPLETE" }]);
    let result = wire
        .call("test_run", json!({ "workspace_id": "w", "task": "t", "mock_responses": responses }));
    assert_eq!(
        (&result["iterations"], &result["termination_reason"]),
        (&json!(2), &json!("CompletionPromise")),
        "{result:#}"
    );
    assert!(!mark.exists(), "the real model was called");
    let seen =
        wire.call("test_snapshot", json!({ "workspace_id": "w", "include_patterns": ["env.txt"] }));
    let seen = seen["files"]["env.txt"].as_str().unwrap();
    for leaked in ["secret-of-the-user", "RALPH_CONFIG", "PROCTOR_RALPH"] {
        assert!(!seen.contains(leaked), "{leaked}: {seen}");
    }
    wire.call("test_cleanup", json!({ "workspace_id": "w" }));
    wire.close();
}

/// Nobody waits in vain: a line that is no message is answered, and the session goes on as if it had not been there.
#[test]
fn lines_that_are_no_messages_are_answered_and_the_session_goes_on() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let env = TestEnv::new();
        let mut wire = Wire::open(&env, version);
        for (line, code, id) in [
            ("this is not JSON", -32700, Value::Null),
            ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ", -32700, Value::Null),
            ("[1, 2]", -32600, Value::Null),
            ("\"tools/list\"", -32600, Value::Null),
            ("{\"jsonrpc\": \"2.0\", \"id\": \"x\"}", -32600, json!("x")),
        ] {
            wire.line(line);
            let answer = wire.next();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
            let tools = wire.request("tools/list", json!({}));
            assert!(tools["result"]["tools"].is_array(), "{version}, after {line}: {tools}");
        }
        assert!(wire.notified.is_empty(), "{:?}", wire.notified);
        wire.close();
    }
}

/// Before the handshake too, and with the stream closed right behind it.
#[test]
fn a_client_that_only_says_nonsense_is_told_so() {
    use std::io::Write as _;
    let env = TestEnv::new();
    let mut command = env.command();
    command.arg("mcp").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello?\nhelp").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((said.matches("-32700").count(), said.lines().count()), (2, 2), "{said}");
    assert!(output.status.success());
}

/// A client that names no run means its own, whoever has started others before and since.
#[test]
fn without_a_name_the_run_is_the_one_that_this_client_started() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    assert_eq!(env.run(&["run", "--ui", "quiet"]).code, Some(0));
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let mut wire = Wire::open(&env, version);
        let before = wire.call("run_wait", json!({}))["run"]["run_id"].clone();
        // Asked in one breath: the answers come in any order, but both are about the new run.
        let started = wire.begin("tools/call", json!({ "name": "run_start", "arguments": {} }));
        let looked = wire.begin("tools/call", json!({ "name": "run_status", "arguments": {} }));
        let own = wire.call("run_wait", json!({ "include": "none" }))["run"]["run_id"].clone();
        assert_ne!(own, before, "{version}");
        for id in [started, looked] {
            let about = result_of(&wire.answer_to(id));
            let about = about.get("run").unwrap_or(&about).clone();
            assert_eq!(about["run_id"], own, "{version}: {about}");
        }
        // Somebody else's is newer and is not meant, but by its name.
        assert_eq!(env.run(&["run", "--ui", "quiet"]).code, Some(0));
        let mut asked =
            |tool: &str, arguments: Value| wire.call(tool, arguments)["run"]["run_id"].clone();
        assert_eq!(asked("run_wait", json!({})), own, "{version}");
        assert_eq!(asked("run_results", json!({})), own, "{version}");
        assert_ne!(asked("run_status", json!({ "run_id": "last" })), own, "{version}");
        assert_eq!(
            wire.call("show_example", json!({ "example": "b" }))["run_id"],
            own,
            "{version}"
        );
        wire.close();
    }
}
