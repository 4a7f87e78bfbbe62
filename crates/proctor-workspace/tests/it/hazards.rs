//! Traps: what must never happen, with a witness that would tell if it did.
//!
//! | hazard of the research | trap |
//! |---|---|
//! | an unknown backend name runs a real model with permissions off | [`a_model_on_the_path_is_never_called_by_a_mock_run`], [`an_unknown_backend_is_refused_before_anything_runs`] |
//! | completion commits and clears stashes in an enclosing repository | [`an_enclosing_repository_stays_untouched`], [`a_workspace_with_git_of_its_own_is_landed_in_its_own_repository`] |
//! | a killed run leaves its backend alive | [`a_backend_that_forks_and_ignores_sigterm_is_gone_afterwards`]; killed servers in `storms.rs` |
//! | the user's home configuration leaks in | [`home_configuration_and_environment_do_not_leak_in`]; with the real binary in `crates/proctor/tests/it/mcp_wire.rs` |
//! | runs of the same second share an events file | [`runs_of_the_same_second_do_not_mix`] |
//! | two runs in one workspace | `runs.rs`, `a_workspace_is_run_in_by_one_at_a_time` |
//! | a backend that prints an emit notice is killed five seconds later | [`a_mock_that_emits_and_then_works_on_is_not_killed`] |
//! | a long prompt comes through a file, or as an argument | [`a_prompt_too_long_for_an_argument_reaches_the_mock`]; `mock/prompt.rs` |
//! | real models only from the allow-list | [`real_models_are_refused_with_what_is_missing`] |

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::*;

/// A program that leaves a mark when it is called.
fn trap(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let bin = folder.join("trap");
    fs::create_dir_all(&bin).unwrap();
    let mark = folder.join(format!("{name}-was-called"));
    let path = bin.join(name);
    fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", mark.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (bin, mark)
}

#[tokio::test]
async fn a_model_on_the_path_is_never_called_by_a_mock_run() {
    let mut marks = Vec::new();
    let bed = TestWorkspaces::with(|config| {
        let folder = config.temp.parent().unwrap().to_owned();
        for name in ["claude", "gemini", "kiro-cli", "codex"] {
            let (bin, mark) = trap(&folder, name);
            marks.push(mark);
            let folders = std::iter::once(bin).chain(std::env::split_paths(&config.path));
            config.path = std::env::join_paths(folders.collect::<Vec<_>>()).unwrap();
        }
    });
    // Every way in which a configuration could ask for a model.
    let hooks = json!({"enabled": true, "events": {"post.iteration.start":
        [{"name": "sly", "command": ["claude", "-p", "hello"], "on_error": "warn"}]}});
    let config = json!({
        "agent": "claude", "agent_priority": ["claude"], "cli": {"backend": "claude"}, "hooks": hooks,
        "hats": {"planner": {"triggers": ["task.*"], "publishes": ["build.task"], "backend": "claude"}},
    });
    bed.setup(
        "w",
        json!({"config": config, "fixtures": {"ralph.yml": "cli: {backend: gemini}\n"}}),
    )
    .await;
    let responses = json!([emits("build.task", "x"), {"output": "LOOP_COMPLETE"}]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
    for mark in &marks {
        assert!(!mark.exists(), "{} is there", mark.display());
    }
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("config.cli was replaced"), "{warnings}");
    assert!(warnings.contains("config.hats.planner.backend was left out"), "{warnings}");
    assert!(warnings.contains("tried to call the real model program"), "{warnings}");
}

#[tokio::test]
async fn an_unknown_backend_is_refused_before_anything_runs() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    for backend in ["gpt", "custom", "Mock", ""] {
        let parameters = json!({"workspace_id": "w", "task": "t", "backend": backend});
        let error = bed.try_call("test_run", parameters).await.unwrap_err();
        assert!(error.message.contains("mock"), "{error}");
    }
    let error = bed
        .try_call("test_run", json!({"workspace_id": "w", "task": "t", "backend": "kiro"}))
        .await
        .unwrap_err();
    assert!(error.message.contains("kiro-cli"), "{error}");
    let runs = bed.try_call("test_inspect", json!({"workspace_id": "w"})).await.unwrap_err();
    assert_eq!(runs.kind, "no_run");
}

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn an_enclosing_repository_stays_untouched() {
    let bed = TestWorkspaces::new();
    let outer = bed.folder.path();
    git(outer, &["init", "--quiet"]);
    fs::write(outer.join("tracked"), "1").unwrap();
    git(outer, &["add", "tracked"]);
    git(outer, &["commit", "--quiet", "-m", "first"]);
    fs::write(outer.join("tracked"), "stashed").unwrap();
    git(outer, &["stash", "--quiet"]);
    fs::write(outer.join("tracked"), "dirty").unwrap();
    let state = || {
        (git(outer, &["rev-parse", "HEAD"]), git(outer, &["stash", "list"]), git(outer, &["diff"]))
    };
    let before = state();
    assert!(before.1.contains("stash@{0}"));
    bed.setup("w", json!({})).await;
    let result = bed.run("w", whole_run(), json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise");
    assert_eq!(state(), before);
}

#[tokio::test]
async fn a_workspace_with_git_of_its_own_is_landed_in_its_own_repository() {
    let bed = TestWorkspaces::new();
    let path = bed.setup("w", json!({"git": true, "fixtures": {"a": "1"}})).await;
    assert_eq!(git(&path, &["log", "--format=%s"]).trim(), "Initial state");
    let responses = json!([{"output": "LOOP_COMPLETE", "files": {"a": "2"}}]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise");
    assert_eq!(git(&path, &["log", "--format=%s"]).lines().count(), 2);
}

#[tokio::test]
async fn home_configuration_and_environment_do_not_leak_in() {
    let bed = TestWorkspaces::new();
    // The home of whoever runs the server would change the limits of the run.
    let probe = "#!/bin/sh\nenv | sort > env.txt; ls -a \"$HOME\" > home.txt; cat\n";
    let home = bed.folder.path().join("server-home");
    fs::create_dir_all(home.join(".ralph")).unwrap();
    fs::write(home.join(".ralph/config.yml"), "event_loop: {max_iterations: 1}\n").unwrap();
    let hooks = json!({"enabled": true, "events": {"pre.loop.start":
        [{"name": "probe", "command": ["./probe.sh"], "on_error": "warn"}]}});
    let path =
        bed.setup("w", json!({"fixtures": {"probe.sh": probe}, "config": {"hooks": hooks}})).await;
    let result =
        bed.run("w", whole_run(), json!({"env": {"NAMED": "yes", "SECRET_OF_SERVER": null}})).await;
    assert_eq!(result["iterations"], 3, "{result:#}");
    let env = fs::read_to_string(path.join("env.txt")).unwrap();
    let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(env.contains("NAMED=yes\n") && env.contains("SECRET_OF_SERVER=hush\n"), "{env}");
    // The test process has these; the run must not.
    for name in ["CARGO_MANIFEST_DIR", "NEXTEST", "CARGO", "USER"] {
        assert!(!names.contains(&name), "{name} leaked: {env}");
    }
    let private = format!("HOME={}", bed.folder.path().join("state/w/home").display());
    assert!(env.lines().any(|line| line == private), "{env}");
    let seen = fs::read_to_string(path.join("home.txt")).unwrap();
    assert!(!seen.contains(".ralph"), "{seen}");
    let error = bed
        .try_call("test_run", json!({"workspace_id": "w", "task": "t", "env": {"HOME": home}}))
        .await
        .unwrap_err();
    assert_eq!(error.kind, "not_allowed");
}

#[tokio::test]
async fn a_backend_that_forks_and_ignores_sigterm_is_gone_afterwards() {
    let token = token();
    let bed = TestWorkspaces::with(|config| {
        let folder = config.temp.parent().unwrap();
        let bin = folder.join("bin");
        fs::create_dir_all(&bin).unwrap();
        // Three of them: in the group, in a session of its own, and a grandchild; all deaf.
        let script = format!(
            "#!/bin/sh\ntrap '' TERM INT HUP\n\
             sh -c \"trap '' TERM; exec sleep 600\" {token} &\n\
             setsid sh -c \"trap '' TERM; sleep 600; true\" {token} &\n\
             (setsid sh -c \"trap '' TERM; sleep 600; true\" {token} &) \n\
             sh -c \"trap '' TERM; sleep 600; true\" {token}\n"
        );
        fs::write(bin.join("claude"), script).unwrap();
        fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        let folders = std::iter::once(bin).chain(std::env::split_paths(&config.path));
        config.path = std::env::join_paths(folders.collect::<Vec<_>>()).unwrap();
        config.limits.grace = std::time::Duration::from_secs(1);
    });
    bed.setup("w", json!({})).await;
    let result = bed
        .call(
            "test_run",
            json!({"workspace_id": "w", "task": "t", "backend": "claude", "max_runtime_secs": 2,
                "env": {"ANTHROPIC_API_KEY": "k"}}),
        )
        .await;
    assert_eq!(result["termination_reason"], "HarnessTimeout", "{result:#}");
    assert_eq!(alive_with(&token), Vec::<String>::new());
    let summary = bed.call("test_inspect", json!({"workspace_id": "w", "format": "summary"})).await;
    assert_eq!(summary["iterations"], 1, "the partial session is readable: {summary:#}");
}

#[tokio::test]
async fn a_mock_run_has_no_network_or_says_that_it_has() {
    let bed = TestWorkspaces::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let probe = format!(
        "import socket\n\
         s = socket.socket(); s.settimeout(3)\n\
         try:\n    s.connect(('127.0.0.1', {port})); print('REACHED')\n\
         except OSError as e: print('CUT', e)\n\
         l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1)\n\
         c = socket.socket(); c.connect(l.getsockname()); print('LOOPBACK')\n"
    );
    let orchestrator = json!({"kind": "generic", "command": ["python3", "probe.py"]});
    bed.setup("w", json!({"orchestrator": orchestrator, "fixtures": {"probe.py": probe}})).await;
    let result = bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    let output = bed.call("test_inspect", json!({"workspace_id": "w", "format": "output"})).await;
    let said = output["stdout"].as_str().unwrap();
    if result["network_off"] == true {
        assert!(said.contains("CUT") && !said.contains("REACHED"), "{said}");
        assert!(said.contains("LOOPBACK"), "a run may talk to itself: {said}");
    } else {
        let warnings = result["warnings"].to_string();
        assert!(warnings.contains("the run was not confined completely"), "{result:#}");
    }
}

/// Each is small, all together are too many; and a run that needs fewer is not ended.
#[tokio::test]
async fn many_small_files_end_a_mock_run() {
    let bed = TestWorkspaces::with(|config| config.limits.workspace_files = 500);
    let script = "#!/bin/sh\nmkdir d\nfor i in $(seq $PROCTOR_TASK); do echo x > d/$i; done\n";
    let orchestrator = json!({"kind": "generic", "command": ["./fill.sh"]});
    bed.setup("w", json!({"orchestrator": orchestrator, "fixtures": {"fill.sh": script}})).await;
    for (task, reason) in [("400", "Exited"), ("1200", "HarnessDiskLimit")] {
        let result = bed.call("test_run", json!({"workspace_id": "w", "task": task})).await;
        assert_eq!(result["termination_reason"], reason, "{result:#}");
    }
    let result = bed.call("test_inspect", json!({"workspace_id": "w", "format": "summary"})).await;
    let detail = result["result"]["termination_detail"].as_str().unwrap_or_default();
    assert_eq!(detail, "it made more than 500 files", "{result:#}");
}

/// The guard does not see into the sandbox; the launcher tells what was left there.
#[tokio::test]
async fn processes_that_a_mock_run_leaves_behind_are_named() {
    let bed = TestWorkspaces::new();
    let script = "#!/bin/sh\nsetsid sleep 1234 > /dev/null 2>&1 &\nexit 0\n";
    let orchestrator = json!({"kind": "generic", "command": ["./leave.sh"]});
    bed.setup("w", json!({"orchestrator": orchestrator, "fixtures": {"leave.sh": script}})).await;
    let result = bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    let left = result["left_behind"].as_array().unwrap();
    assert_eq!(left.len(), 1, "{result:#}");
    assert_eq!(left[0]["command"], "sleep 1234");
    assert!(result["warnings"].to_string().contains("a process was left behind"), "{result:#}");
}

/// What a run writes about itself is read without following links: they could show files of the host.
#[tokio::test]
async fn links_in_the_notes_of_a_run_are_not_followed() {
    let bed = TestWorkspaces::new();
    let secret = bed.folder.path().join("secret");
    let line = json!({"phase": "begin", "call": 1, "ts": 1, "hat": null, "prompt": "hush-hush",
        "response": null, "refused": null, "program": null});
    fs::write(&secret, format!("{line}\n")).unwrap();
    let notes = bed.folder.path().join("state/w/runs/1/notes/calls.jsonl");
    let script = format!("#!/bin/sh\nln -sf {} {}\n", secret.display(), notes.display());
    let orchestrator = json!({"kind": "generic", "command": ["./link.sh"]});
    bed.setup("w", json!({"orchestrator": orchestrator, "fixtures": {"link.sh": script}})).await;
    bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    assert!(notes.symlink_metadata().unwrap().is_symlink());
    let calls = bed.call("test_inspect", json!({"workspace_id": "w", "format": "calls"})).await;
    assert!(!calls.to_string().contains("hush-hush"), "{calls:#}");
}

/// Without a launcher nothing is confined, and nobody may think otherwise.
#[tokio::test]
async fn a_run_without_a_sandbox_says_so_or_is_refused() {
    let bed = TestWorkspaces::with(|config| config.sandbox = proctor_workspace::Sandbox::new(None));
    let orchestrator = json!({"kind": "generic", "command": ["true"]});
    bed.setup("w", json!({"orchestrator": orchestrator})).await;
    let result = bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    let warnings = result["warnings"].to_string();
    assert!(
        warnings.contains("the run was not confined completely: no user namespace"),
        "{warnings}"
    );
    assert_eq!(result["network_off"], false);
    let required = json!({"workspace_id": "w", "task": "t", "require_confinement": true});
    let error = bed.try_call("test_run", required).await.unwrap_err();
    assert_eq!(error.kind, "not_confined", "{error}");
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let real = json!({"workspace_id": "w", "task": "t", "backend": "claude",
        "env": {"ANTHROPIC_API_KEY": "k"}, "require_confinement": true});
    assert_eq!(bed.try_call("test_run", real).await.unwrap_err().kind, "not_confined");
}

#[tokio::test]
async fn a_flood_of_output_and_a_huge_file_are_bounded() {
    let bed = TestWorkspaces::with(|config| {
        config.limits.output_bytes = 10_000;
        config.limits.file_bytes = 1_000_000;
    });
    let flood = "#!/bin/sh\nyes | head -c 3000000\nhead -c 5000000 /dev/zero > huge\nexit 3\n";
    let orchestrator = json!({"kind": "generic", "command": ["./flood.sh"]});
    let path = bed
        .setup("w", json!({"orchestrator": orchestrator, "fixtures": {"flood.sh": flood}}))
        .await;
    let result = bed.call("test_run", json!({"workspace_id": "w", "task": "t"})).await;
    assert_eq!(
        (&result["exit_code"], &result["termination_reason"]),
        (&json!(3), &json!("Exited"))
    );
    assert!(result["warnings"].to_string().contains("beyond the limit"), "{result:#}");
    assert!(fs::metadata(path.join("huge")).unwrap().len() <= 1_000_000);
    let kept = fs::metadata(bed.folder.path().join("state/w/runs/1/stdout")).unwrap().len();
    assert!(kept <= 10_000, "{kept}");
}

#[tokio::test]
async fn runs_of_the_same_second_do_not_mix() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    // Each takes a fraction of a second, so several begin in the same one.
    for number in 1..=4 {
        let payload = format!("run {number}");
        let responses = json!([emits("build.task", &payload), {"output": "LOOP_COMPLETE"}]);
        bed.run("w", responses, json!({})).await;
        bed.assert(
            "w",
            json!([
                {"type": "event_count", "topic": "task.start", "exact": 1},
                {"type": "event_count", "topic": "build.task", "exact": 1},
                {"type": "event_occurred", "topic": "build.task", "payload_pattern": format!("^{payload}$")},
            ]),
        )
        .await;
    }
}

/// Ralph kills a backend five seconds after the text of an emit notice; our mock emits without a word.
#[tokio::test]
async fn a_mock_that_emits_and_then_works_on_is_not_killed() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"config": {"event_loop": {"max_consecutive_failures": 1}}})).await;
    let responses = json!([
        {"output": "<event topic=\"build.task\">x</event>", "delay_ms": 5600},
        {"output": "LOOP_COMPLETE"},
    ]);
    let result = bed.run("w", responses, json!({})).await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
    assert_eq!(result["iterations"], 2);
    let said = bed.call("test_inspect", json!({"workspace_id": "w", "format": "output"})).await;
    assert!(!said["stdout"].as_str().unwrap().contains("Event emitted"), "{said:#}");
}

#[tokio::test]
async fn a_prompt_too_long_for_an_argument_reaches_the_mock() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let task = format!("find the needle {} here", "hay ".repeat(40_000));
    let responses =
        json!([{"trigger_pattern": "find the needle (hay )+ ?here", "output": "LOOP_COMPLETE"}]);
    let result = bed
        .call("test_run", json!({"workspace_id": "w", "task": task, "mock_responses": responses}))
        .await;
    assert_eq!(result["termination_reason"], "CompletionPromise", "{result:#}");
}

#[tokio::test]
async fn real_models_are_refused_with_what_is_missing() {
    let empty = tempfile::tempdir().unwrap();
    let bed = TestWorkspaces::with(|config| config.path = empty.path().as_os_str().to_owned());
    bed.setup("w", json!({})).await;
    for (backend, program, credential) in [
        ("claude", "claude", "ANTHROPIC_API_KEY"),
        ("kiro", "kiro-cli", "KIRO_API_KEY"),
        ("gemini", "gemini", "GEMINI_API_KEY"),
    ] {
        let ask = json!({"workspace_id": "w", "task": "t", "backend": backend});
        let error = bed.try_call("test_run", ask.clone()).await.unwrap_err();
        assert_eq!(error.kind, "missing_program", "{error}");
        assert!(message_and_hints(&error).contains(program) && !error.hints.is_empty(), "{error}");
        fs::write(empty.path().join(program), "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(empty.path().join(program), fs::Permissions::from_mode(0o755)).unwrap();
        let error = bed.try_call("test_run", ask.clone()).await.unwrap_err();
        assert_eq!(error.kind, "missing_credentials", "{error}");
        assert!(message_and_hints(&error).contains(credential), "{error}");
        // `null` passes on the server's own, which has none.
        let mut inherits = ask;
        inherits["env"] = json!({credential: null});
        let error = bed.try_call("test_run", inherits).await.unwrap_err();
        assert_eq!(error.kind, "missing_credentials", "{error}");
    }
    let none = bed.try_call("test_inspect", json!({"workspace_id": "w"})).await.unwrap_err();
    assert_eq!(none.kind, "no_run", "nothing ran");
}
