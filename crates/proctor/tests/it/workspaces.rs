//! Workspace files under `proctor run`: the real binary, the real orchestrator.

use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;

use crate::env::{TestEnv, repository, signal, wait_until};

/// The `ralph` that `./check` installed, or the configured one.
fn ralph() -> PathBuf {
    let configured = std::env::var_os("PROCTOR_RALPH").map(PathBuf::from);
    let path =
        configured.unwrap_or_else(|| repository().join("target/tools/ralph-2.10.1/bin/ralph"));
    assert!(path.is_file(), "no ralph: run ./check once, it installs it, or set PROCTOR_RALPH");
    path
}

const GOOD: &str = "name: It completes\nmock: [{output: LOOP_COMPLETE}]\nrun: {task: t}\n\
                    assert: [{type: exit_code, expected: 0}]\n";

/// A project with workspace files, and a temporary folder of its own.
fn env_with(ralph: &str, files: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new();
    env.write("proctor.toml", &format!("[tools]\nralph = \"{ralph}\"\n"));
    std::fs::create_dir(env.home().join("temp")).unwrap();
    for (name, text) in files {
        env.write(name, text);
    }
    env
}

fn run(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        env.command().env("TMPDIR", env.home().join("temp")).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Nothing of any workspace is left: no folder, no registration.
fn assert_clean(env: &TestEnv) {
    let left: Vec<_> = std::fs::read_dir(env.home().join("temp"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("proctor-ws-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    env.assert_no_process_left();
}

#[test]
fn files_pass_and_fail_like_any_example() {
    let bad = GOOD.replace("It completes", "It fails").replace("expected: 0", "expected: 7");
    let files = [("good.workspace.yaml", GOOD), ("bad.workspace.yaml", &*bad)];
    let env = env_with(&ralph().to_string_lossy(), &files);
    let (code, said) = run(&env, &["run", "--junit", "junit.xml"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("1 passed") && said.contains("1 failed"), "{said}");
    assert!(said.contains("expected 7, actual 0"), "{said}");
    let junit = env.read("junit.xml");
    assert!(junit.contains("It fails") && junit.contains("AssertionFailed"), "{junit}");
    env.assert_complete();
    assert_clean(&env);
}

#[test]
fn a_mistake_in_a_file_names_its_place() {
    let bad = GOOD.replace("expected: 0", "expectd: 0");
    let env = env_with(&ralph().to_string_lossy(), &[("bad.workspace.yaml", &bad)]);
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("bad.workspace.yaml:4:10") && said.contains("expectd"), "{said}");
}

#[test]
fn without_ralph_the_examples_are_pending_with_the_reason() {
    let env = env_with("/no/such/ralph", &[("good.workspace.yaml", GOOD)]);
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 pending") && said.contains("/no/such/ralph"), "{said}");
    assert_clean(&env);
}

#[test]
fn an_example_that_hangs_is_timed_out_and_cleaned_up() {
    let hanging = GOOD.replace("{output: LOOP_COMPLETE}", "{output: '', hang: true}");
    let env = env_with(&ralph().to_string_lossy(), &[("hang.workspace.yaml", &hanging)]);
    let (code, said) = run(&env, &["run", "--timeout", "3"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("timed out"), "{said}");
    assert_clean(&env);
}

/// Two files that reach different parts of one topology.
const PLANS: &str = "name: It plans\nmock: [{output: '<event topic=\"build.task\">x</event>'}]\n\
                     run: {task: t, max_iterations: 1}\nassert: [{type: exit_code, expected: 2}]\n";

#[test]
fn what_a_suite_reached_together_is_in_summary_json_and_tool() {
    let files = [("good.workspace.yaml", GOOD), ("plans.workspace.yaml", PLANS)];
    let env = env_with(&ralph().to_string_lossy(), &files);
    let (code, said) = run(&env, &["run", "--json", "run.json"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Workspaces reached:"), "{said}");
    assert!(said.contains("hats 1 of 2, never: builder"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&env.read("run.json")).unwrap();
    let reached = &json["workspaces"];
    assert_eq!(reached["hats"]["covered"], serde_json::json!(["planner"]), "{reached:#}");
    let endings = &reached["terminations"];
    assert_eq!(endings["covered"], serde_json::json!(["CompletionPromise", "MaxIterations"]));
    assert!(endings["missing"].to_string().contains("LoopStale"));
    let topics = reached["topics"]["covered"].to_string();
    assert!(topics.contains("build.task") && topics.contains("LOOP_COMPLETE"), "{topics}");
    let (code, answer) = run(&env, &["tool", "run_results"]);
    assert_eq!(code, Some(0), "{answer}");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let told = &answer["workspaces"];
    assert_eq!(
        (&told["hats"]["covered"], &told["hats"]["total"]),
        (&1.into(), &2.into()),
        "{told}"
    );
    assert!(told.get("flaky_assertions").is_none());
    // Replay is live: what is shown later is the same.
    let (_, shown) = run(&env, &["show", "last", "--format", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(&shown["workspaces"], reached);
    assert_clean(&env);
}

/// Passes every second time: it takes its mood from a pipe outside of its workspace, where it can change nothing. The pipe keeps
/// what was written as long as the file is open.
fn flaky_agent(env: &TestEnv) -> (String, std::fs::File) {
    use std::io::Write as _;
    let pipe = env.home().join("moods");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut moods = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
    moods.write_all("bad\ngood\n".repeat(4).as_bytes()).unwrap();
    let pipe = pipe.display();
    let file = format!(
        "name: Moody\nsetup:\n  orchestrator: {{kind: generic, command: [./loop.sh]}}\n  read: ['{pipe}']\n  fixtures:\n    loop.sh: |\n      \
         #!/bin/sh\n      read mood < '{pipe}'; echo done > steady.txt; [ $mood = good ] && echo yes > moody.txt; exit 0\n\
         run: {{task: t}}\nassert: [{{type: file_exists, path: steady.txt}}, {{type: file_exists, path: moody.txt}}]\n"
    );
    (file, moods)
}

#[test]
fn an_assertion_that_changes_its_mind_is_named_over_repeats() {
    let env = env_with(&ralph().to_string_lossy(), &[]);
    let (file, _moods) = flaky_agent(&env);
    env.write("moody.workspace.yaml", &file);
    let (code, said) = run(&env, &["run", "--repeat", "4", "-w", "1", "--json", "run.json"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("held 2 of 4 times"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&env.read("run.json")).unwrap();
    let flaky = json["workspaces"]["flaky_assertions"].as_array().unwrap().clone();
    assert_eq!(flaky.len(), 1, "{flaky:?}");
    assert_eq!((&flaky[0]["passed"], &flaky[0]["failed"]), (&2.into(), &2.into()));
    assert!(flaky[0]["assertion"].as_str().unwrap().contains("moody.txt"));
    let (_, answer) = run(&env, &["tool", "run_results", "{\"limit\": 1}"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["workspaces"]["flaky_assertions"].as_array().unwrap().len(), 1);
    assert_clean(&env);
}

#[test]
fn a_retry_makes_it_flaky_and_the_history_remembers() {
    let env = env_with(&ralph().to_string_lossy(), &[]);
    let (file, _moods) = flaky_agent(&env);
    env.write("moody.workspace.yaml", &file);
    let (code, said) = run(&env, &["run", "--retries", "2"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("flaky"), "{said}");
    let (code, said) = run(&env, &["flaky"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Moody"), "{said}");
    assert_clean(&env);
}

#[test]
fn v9_a_topic_that_cannot_occur_is_warned_about_in_every_answer() {
    let typo = GOOD.replace("type: exit_code, expected: 0", "type: no_event, topic: bulid.task");
    let files = [("a.workspace.yaml", &*typo), ("good.workspace.yaml", GOOD)];
    let env = env_with(&ralph().to_string_lossy(), &files);
    let (code, said) = run(&env, &["run", "--json", "run.json"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Workspace warnings:"), "{said}");
    assert!(said.contains("bulid.task is outside the topology"), "{said}");
    assert!(said.contains("did you mean build.task?"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&env.read("run.json")).unwrap();
    let warnings = json["workspaces"]["warnings"].as_array().unwrap();
    let typo = warnings.iter().find(|one| one["warning"].to_string().contains("bulid.task"));
    assert_eq!(typo.unwrap()["examples"].as_array().unwrap().len(), 1, "{warnings:?}");
    let (_, answer) = run(&env, &["tool", "run_results"]);
    assert!(answer.contains("bulid.task is outside the topology"), "{answer}");
    let (_, shown) = run(&env, &["show", "last", "--format", "json"]);
    assert!(shown.contains("bulid.task is outside the topology"), "{shown}");
    env.assert_complete();
    assert_clean(&env);
}

#[test]
fn v9_and_s10_mistakes_of_a_file_are_found_before_anything_runs() {
    let pattern =
        GOOD.replace("type: exit_code, expected: 0", "type: no_event, topic: 'build.[a-z]*'");
    let list = GOOD.replace("mock:", "setup: {fixtures: {ralph.yml: '- a'}}\nmock:");
    for (text, told) in [
        (pattern, "is not a topic pattern"),
        (list, "ralph.yml in the workspace must be a mapping"),
    ] {
        let env = env_with(&ralph().to_string_lossy(), &[("bad.workspace.yaml", &text)]);
        let (code, said) = run(&env, &["run"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("bad.workspace.yaml:") && said.contains(told), "{said}");
        assert_clean(&env);
    }
}

/// Starts a command, waits for a file to appear in its workspace, and interrupts it as Ctrl-C does.
fn interrupted(env: &TestEnv, arguments: &[&str], mark: &str) -> (Option<i32>, String) {
    let mut command = env.command();
    command.env("TMPDIR", env.home().join("temp")).args(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let workspaces = || std::fs::read_dir(env.home().join("temp")).unwrap().flatten();
    wait_until("the run to be under way", || {
        workspaces().any(|workspace| workspace.path().join(mark).exists())
    });
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// A command that tells that it runs, and never ends.
const ENDLESS: &str = "#!/bin/sh\ntouch started\nexec sleep 1000\n";

#[test]
fn ctrl_c_during_a_workspace_run_exits_130_and_leaves_nothing() {
    let env = env_with(&ralph().to_string_lossy(), &[]);
    let script = ENDLESS.replace('\n', "\n      ");
    env.write(
        "endless.workspace.yaml",
        &format!(
            "name: Endless\nsetup:\n  orchestrator: {{kind: generic, command: [./loop.sh]}}\n  fixtures:\n    loop.sh: |\n      {script}\n\
             run: {{task: t}}\nassert: [{{type: exit_code, expected: 0}}]\n"
        ),
    );
    let (code, said) = interrupted(&env, &["run"], "started");
    assert_eq!(code, Some(130), "{said}");
    assert_clean(&env);
}

#[test]
fn ctrl_c_during_test_run_exits_130_with_what_is_known() {
    let env = env_with(&ralph().to_string_lossy(), &[]);
    let orchestrator = serde_json::json!({"kind": "generic", "command": ["./loop.sh"]});
    let setup = serde_json::json!({"workspace_id": "w", "orchestrator": orchestrator, "fixtures": {"loop.sh": ENDLESS}});
    let (code, said) = run(&env, &["tool", "test_setup", &setup.to_string()]);
    assert_eq!(code, Some(0), "{said}");
    let call = ["tool", "test_run", "{\"workspace_id\": \"w\", \"task\": \"t\"}"];
    let (code, said) = interrupted(&env, &call, "started");
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("HarnessCancelled"), "{said}");
    let (code, said) = run(&env, &["tool", "test_cleanup", "{\"workspace_id\": \"w\"}"]);
    assert_eq!(code, Some(0), "{said}");
    assert_clean(&env);
}
