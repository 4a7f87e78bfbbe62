//! Cancellation over MCP with real processes: a run that hangs is really stopped, in every version of the protocol.

use serde_json::{Value, json};

use crate::env::{TestEnv, wait_until};
use crate::wire::{HANDSHAKE, STATELESS, Wire, processes_of};

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
