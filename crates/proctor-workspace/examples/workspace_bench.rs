//! What the harness costs: `test_run` beside a bare run of the orchestrator, snapshots beside git.
//!
//! Run it with `bench/workspace/run`. Both sides do the same work, take turns, and are told by their medians.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark speaks and may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proctor_process::GuardCommand;
use proctor_sandbox::Launcher;
use proctor_workspace::{CallContext, Config, Limits, Program, Sandbox, Tools, agent_tools};
use serde_json::{Value, json};

const RUNS: usize = 15;
const FILES: usize = 10_000;
const CHANGED: usize = 100;
const ROUNDS: usize = 5;

fn main() {
    let ralph = PathBuf::from(std::env::args().nth(1).expect("the path of ralph"));
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tools = tools(folder.path(), &ralph);
    println!("load average before: {}", load());
    runtime.block_on(runs(&tools, folder.path(), &ralph));
    runtime.block_on(snapshots(&tools));
    println!("load average after: {}", load());
}

/// Figures of a busy machine say less; so it is told how busy it was.
fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

fn tools(folder: &Path, ralph: &Path) -> Tools {
    // The example stands in target/release/examples, its program one folder above.
    let program = std::env::current_exe().unwrap();
    let program = program.parent().unwrap().parent().unwrap().join("proctor-test-workspace");
    let temp = folder.join("temp");
    fs::create_dir_all(&temp).unwrap();
    Tools::new(Config {
        state: folder.join("state"),
        temp,
        guard: GuardCommand::new(&program, ["guard"]),
        mock: Program::new(&program, ["mock"]),
        sandbox: Sandbox::new(Some(Launcher::new(&program, ["sandbox"]))),
        detached: None,
        ralph: Some(ralph.to_owned()),
        path: std::env::var_os("PATH").unwrap(),
        inheritable: std::collections::BTreeMap::new(),
        limits: Limits::default(),
        redactor: proctor_redact::Redactor::default(),
    })
}

async fn tool(tools: &Tools, name: &str, parameters: Value) -> Value {
    let tool = agent_tools().into_iter().find(|tool| tool.name == name).unwrap();
    tool.call(tools.clone(), parameters, CallContext::default()).await.unwrap()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

async fn runs(tools: &Tools, folder: &Path, ralph: &Path) {
    let setup = tool(tools, "test_setup", json!({"workspace_id": "w"})).await;
    let workspace = setup["workspace_path"].as_str().unwrap().to_owned();
    let evidence = "tests: pass, lint: pass, typecheck: pass, audit: pass, coverage: pass, complexity: 5, duplication: pass";
    let responses = json!([
        {"output": "<event topic=\"build.task\">x</event>"},
        {"output": format!("<event topic=\"build.done\">{evidence}</event>")},
        {"output": "LOOP_COMPLETE"},
    ]);
    let parameters = json!({"workspace_id": "w", "task": "t", "mock_responses": responses});
    let first = tool(tools, "test_run", parameters.clone()).await;
    assert_eq!(first["iterations"], 3);
    let home = folder.join("state/w");
    let without_hooks = unhooked(&home);
    let (mut plain, mut bare, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plain.push(bare_run(ralph, Path::new(&workspace), &home, &without_hooks));
        bare.push(bare_run(ralph, Path::new(&workspace), &home, &home.join("runs/1/ralph.yml")));
        let began = Instant::now();
        let result = tool(tools, "test_run", parameters.clone()).await;
        ours.push(began.elapsed());
        assert_eq!(result["exit_code"], 0);
    }
    let (plain, bare, ours) = (median(plain), median(bare), median(ours));
    println!(
        "run of 3 iterations, median of {RUNS}: bare ralph {bare:.1} ms, test_run {ours:.1} ms"
    );
    println!("  overhead {:.1} ms, ratio {:.2}", ours - bare, ours / bare);
    println!(
        "  bare ralph without our hooks {plain:.1} ms: overhead {:.1} ms, ratio {:.2}",
        ours - plain,
        ours / plain
    );
}

/// The configuration of the run without the hooks from which the session learns of hats and iterations.
fn unhooked(home: &Path) -> PathBuf {
    let text = fs::read(home.join("runs/1/ralph.yml")).unwrap();
    let mut config: Value = serde_json::from_slice(&text).unwrap();
    config.as_object_mut().unwrap().remove("hooks");
    let path = home.join("unhooked.yml");
    fs::write(&path, config.to_string()).unwrap();
    path
}

/// The same run without the harness: same configuration, same mock, same environment.
fn bare_run(ralph: &Path, workspace: &Path, home: &Path, config: &Path) -> Duration {
    let run = home.join("runs/1");
    for name in ["counts.json", "calls.jsonl", "hooks.jsonl"] {
        let _ = fs::remove_file(run.join("notes").join(name));
    }
    let began = Instant::now();
    let status = Command::new(ralph)
        .args(["run", "-c"])
        .arg(config)
        .args([
            "--prompt=t",
            "--no-tui",
            "--color",
            "never",
            "--max-iterations",
            "5",
            "--record-session",
        ])
        .arg(home.join("bare.jsonl"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.join("home"))
        .env("GIT_CEILING_DIRECTORIES", workspace.parent().unwrap())
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    began.elapsed()
}

async fn snapshots(tools: &Tools) {
    let mut times: [Vec<Duration>; 6] = Default::default();
    for round in 0..ROUNDS {
        let id = format!("s{round}");
        let setup = tool(tools, "test_setup", json!({"workspace_id": id})).await;
        let path = PathBuf::from(setup["workspace_path"].as_str().unwrap());
        let other = tempfile::tempdir().unwrap();
        for folder in [&*path, other.path()] {
            fill(folder, round);
        }
        git(other.path(), &["init", "--quiet"]);
        times[0].push(git(other.path(), &["add", "--all"]));
        let mut snap = String::new();
        times[1].push(
            timed(async {
                let parameters = json!({"workspace_id": id, "omit_contents": true});
                let shot = tool(tools, "test_snapshot", parameters).await;
                assert_eq!(shot["file_count"], FILES);
                shot["snapshot_id"].as_str().unwrap().clone_into(&mut snap);
            })
            .await,
        );
        for folder in [&*path, other.path()] {
            change(folder, round);
        }
        times[2].push(git(other.path(), &["diff"]));
        times[3].push(
            timed(async {
                let parameters = json!({"workspace_id": id, "baseline": snap});
                let diff = tool(tools, "test_diff", parameters).await;
                assert_eq!(diff["changed_files"].as_array().unwrap().len(), CHANGED);
            })
            .await,
        );
        times[4].push(git(other.path(), &["add", "--all"]));
        times[5].push(
            timed(async {
                tool(tools, "test_snapshot", json!({"workspace_id": id, "omit_contents": true}))
                    .await;
            })
            .await,
        );
    }
    let [add, take, git_diff, diff, add_again, take_again] = times.map(median);
    let told = |what: &str, git: f64, ours: f64| {
        println!("  {what}: git {git:.1} ms, proctor {ours:.1} ms, ratio {:.2}", ours / git);
    };
    println!("{FILES} files, {CHANGED} changed, median of {ROUNDS}:");
    told("first snapshot (git add)", add, take);
    told("diff (git diff)", git_diff, diff);
    told("both (git add + git diff)", add + git_diff, take + diff);
    told("second snapshot (git add)", add_again, take_again);
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

fn path_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("d{}/f{number}.txt", number % 100))
}

fn fill(folder: &Path, round: usize) {
    for number in 0..FILES {
        let path = path_of(folder, number);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines: String = (0..20)
            .map(|line| format!("round {round} file {number} line {line} of some text\n"))
            .collect();
        fs::write(path, lines).unwrap();
    }
    // Beyond the grain of file times, as in life.
    std::thread::sleep(Duration::from_millis(1100));
}

fn change(folder: &Path, round: usize) {
    for number in (0..FILES).step_by(FILES / CHANGED) {
        let path = path_of(folder, number);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("line 7 ", &format!("line seven {round} "))).unwrap();
    }
}

fn git(folder: &Path, words: &[&str]) -> Duration {
    let began = Instant::now();
    let status =
        Command::new("git").args(words).current_dir(folder).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    began.elapsed()
}
