//! `proctor serve` as other programs meet it: runs it starts, runs it stops, clients in another language.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env::{TestEnv, repository, signal, wait_until};

const ENDLESS: &str = "RSpec.describe('Endless') { it('never ends') { sleep 600 } }\n";

/// A server of the project, stopped at its end.
pub(crate) struct Served {
    child: Child,
    address: String,
    url: String,
    token: String,
}

impl Served {
    pub(crate) fn start(env: &TestEnv) -> Self {
        let mut child = env
            .command()
            .args(["serve", "--format", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        let word = |name: &str| told[name].as_str().unwrap().to_owned();
        Self { child, address: word("address"), url: word("url"), token: word("token") }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let body = text.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "")
    }

    /// Ends as Ctrl-C ends it.
    pub(crate) fn end(self) {
        self.end_with(Signal::INT);
    }

    /// Ends by a signal; says how long it took.
    fn end_with(mut self, word: Signal) -> Duration {
        let begun = Instant::now();
        signal(&self.child, word);
        assert!(self.child.wait().unwrap().success());
        begun.elapsed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_started_over_http_is_seen_and_stopped_by_others() {
    let env = TestEnv::with_spec(ENDLESS);
    let served = Served::start(&env);
    let started = served.ask("POST", "/specs/run", "{}");
    let run = started["run_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    let socket = env.project.join(".proctor/runs").join(&run).join("control.sock");
    assert!(socket.exists(), "it is in the registry of live runs");
    assert_eq!(served.get("/api/runs")["runs"][0]["state"], "running");
    // Another process watches it by the address that was printed, and a third one stops it.
    let watch = env.spawn(&["watch", &served.url]);
    let asked = env.run(&["tool", "run_cancel", &json!({ "run_id": run }).to_string()]);
    assert_eq!(asked.code, Some(0), "{}", asked.terminal());
    let shown = watch.wait_with_output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    assert!(String::from_utf8_lossy(&shown.stdout).contains("never ends"));
    wait_until("the end", || served.get("/specs/progress")["status"] == "cancelled");
    wait_until("the socket to go", || !socket.exists());
    env.assert_complete();
    served.end();
    env.assert_no_process_left();
}

/// Audit S4: a run that brought its process down took the server with it.
#[test]
fn s4_the_death_of_a_run_leaves_the_server_up() {
    let env = TestEnv::with_spec(ENDLESS);
    let served = Served::start(&env);
    let started = served.ask("POST", "/specs/run", "{}");
    let run = started["run_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    let folder = env.project.join(".proctor/runs").join(&run);
    let pid = proctor_record::control::query_status(&folder).unwrap().pid;
    assert_ne!(pid, served.child.id(), "the run has a process of its own");
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    wait_until("the death to be seen", || served.get("/specs/progress")["state"] == "died");
    assert_eq!(served.get("/specs/progress")["status"], "failed");
    assert_eq!(served.get("/api/runs")["runs"][0]["state"], "died");
    let again = served.ask("POST", "/specs/run", "{}");
    assert_eq!(again["status"], "started", "{again}");
    served.end();
    env.assert_no_process_left();
}

/// Audit S8: a link in the project led `POST /specs/run` to specs of others.
#[test]
fn s8_links_out_of_the_project_are_not_run() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x_spec.rb"), "RSpec.describe('X') { it('y') {} }\n")
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), env.project.join("spec/out")).unwrap();
    let served = Served::start(&env);
    for path in ["spec/out", "spec/out/x_spec.rb", "spec/out/x_spec.rb:1"] {
        let refused = served.ask("POST", "/specs/run", &json!({ "paths": [path] }).to_string());
        let error = refused["error"].as_str().unwrap_or_else(|| panic!("{path}: {refused}"));
        assert!(error.contains("leads out of the project"), "{error}");
    }
    served.end();
}

#[test]
fn a_run_of_another_process_is_stopped_from_here() {
    let env = TestEnv::with_spec(ENDLESS);
    let served = Served::start(&env);
    let mut other = env.spawn(&["run", "--ui", "quiet"]);
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    let stopped = served.ask("POST", "/api/runs/last/cancel", "");
    assert_eq!(stopped["status"], "cancelled");
    assert_eq!(stopped["run_id"], served.get("/api/runs")["runs"][0]["id"]);
    assert!(!other.wait().unwrap().success());
    assert_eq!(served.get("/api/runs")["runs"][0]["counts"], json!({ "cancelled": 1 }));
    assert_eq!(served.ask("POST", "/api/runs/last/cancel", "")["status"], "not_running");
    served.end();
    env.assert_no_process_left();
}

#[test]
fn the_end_of_the_server_ends_its_run() {
    let env = TestEnv::with_spec(ENDLESS);
    let served = Served::start(&env);
    served.ask("POST", "/specs/run", "{}");
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    served.end();
    env.assert_no_process_left();
    env.assert_complete();
    assert_eq!(env.recorded().count("SuiteFinished"), 1);
    let listed = env.run(&["runs"]).stdout;
    assert!(listed.contains("  stopped  0 passed, 1 cancelled"), "{listed}");
}

/// With nothing to wait for, the server does not wait: it takes some 20 ms where the machine is idle.
#[test]
fn a_server_with_nothing_to_do_ends_at_once() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    let served = Served::start(&env);
    served.ask("POST", "/specs/run", "{}");
    wait_until("the end of the run", || served.get("/specs/progress")["status"] == "passed");
    // Somebody holds a connection on which nothing is asked.
    let _idle = TcpStream::connect(&served.address).unwrap();
    let took = served.end_with(Signal::TERM);
    assert!(took < Duration::from_secs(2), "less than the grace that a run would get: {took:?}");
    env.assert_no_process_left();
}

/// Those who watch see how the run ends before the server goes.
#[test]
fn whoever_watches_sees_the_end_of_the_run_that_ends_with_the_server() {
    let env = TestEnv::with_spec(ENDLESS);
    let served = Served::start(&env);
    served.ask("POST", "/specs/run", "{}");
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    let mut watch = env.spawn(&["watch", "--lines", &served.url]);
    let mut seen = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    seen.read_line(&mut first).unwrap();
    let took = served.end_with(Signal::TERM);
    assert!(took < Duration::from_secs(20), "the grace of two seconds and little more: {took:?}");
    let mut rest = String::new();
    seen.read_to_string(&mut rest).unwrap();
    let output = watch.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && rest.contains("never ends"), "{first}{rest}{said}");
    env.assert_complete();
    env.assert_no_process_left();
}

/// Asked twice, it does not wait for the example to come to an end.
#[test]
fn a_second_signal_ends_the_run_of_the_server_now() {
    let env = TestEnv::with_spec(
        "RSpec.describe('Endless') { it('never ends') { begin; sleep 600; rescue Exception; retry; end } }\n",
    );
    let mut served = Served::start(&env);
    served.ask("POST", "/specs/run", "{}");
    env.wait_for("the example to start", |recorded| recorded.count("ExampleStarted") > 0);
    signal(&served.child, Signal::TERM);
    let mut told = String::new();
    BufReader::new(served.child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("once more ends it at once"), "{told}");
    served.end_with(Signal::TERM);
    env.assert_no_process_left();
    env.assert_complete();
    assert_eq!(env.recorded().count("SuiteFinished"), 1);
}

#[test]
fn the_journal_of_the_project_is_shown() {
    let env = TestEnv::new();
    env.write("proctor.toml", "[journal]\ndir = \"notes\"\n");
    let served = Served::start(&env);
    assert_eq!(served.get("/api/journal/entries")["total"], 0);
    let made = env.run(&[
        "journal",
        "create",
        "--domain",
        "testing",
        "--strategy",
        "read-the-error",
        "--goal",
        "see it in the page",
        "--hypothesis",
        "it is found where the file says",
        "--action",
        "look",
        "--prediction",
        "it is there",
    ]);
    assert_eq!(made.code, Some(0), "{}", made.terminal());
    let rows = served.get("/api/journal/entries");
    assert_eq!(rows["entries"][0]["goal"], "see it in the page");
    assert_eq!(served.get("/api/journal/stats")["total"]["active"], 1);
    served.end();
}

/// What the stream is to a program that shares no code with us.
#[test]
fn a_client_in_another_language_follows_resumes_and_filters() {
    let env = TestEnv::with_spec(
        "RSpec.describe('Talk') do
           it('logs') { n = 0; until File.exist?('go'); puts \"line #{n += 1}\"; $stdout.flush; sleep 0.005; end }
           it('fails') { expect(1).to eq 2 }
         end\n",
    );
    let served = Served::start(&env);
    let started = served.ask("POST", "/specs/run", "{\"workers\": 2}");
    let run = started["run_id"].as_str().unwrap();
    let python = repository().join("target/tools/python/bin/python");
    assert!(python.exists(), "no Python client: run ./check once, it installs it");
    let output = Command::new(python)
        .arg(repository().join("crates/proctor/tests/it/clients/stream.py"))
        .args([&served.address, &served.token, run])
        .current_dir(&env.project)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (who, status) in [
        ("no_token", json!(401)),
        ("wrong_token", json!(401)),
        ("foreign_origin", json!(403)),
        ("null_origin", json!(403)),
        // This client sends its own Host header too.
        ("second_host", json!(400)),
        ("no_such_run", json!(404)),
        ("own_origin", Value::Null),
        ("token_in_query", Value::Null),
    ] {
        assert_eq!(seen[who], status, "{who}");
    }
    // Every event of the recording once, in order, though the client broke off again and again.
    let recorded = env.read(&format!(".proctor/runs/{run}/events.jsonl"));
    let recorded: Vec<Value> = recorded
        .lines()
        .map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            // The digest belongs to the file; streams carry none.
            assert!(event.as_object_mut().unwrap().remove("digest").is_some());
            event
        })
        .collect();
    assert!(seen["breaks"].as_u64().unwrap() >= 10);
    assert_eq!(seen["flat"].as_array().unwrap(), &recorded);
    assert_eq!(seen["close"], json!([1000, "the run is over"]));
    let finished: Vec<&Value> =
        recorded.iter().filter(|event| event["event_type"] == "ExampleFinished").collect();
    assert_eq!(seen["of_type"].as_array().unwrap().len(), finished.len());
    assert_eq!(seen["unnamed"].as_array().unwrap().last().unwrap(), "SuiteFinished");
    assert_eq!(
        (&seen["of_example_only"], &seen["resumed_is_the_rest"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(seen["of_example"][0], "ExampleStarted");
    the_older_form(seen["envelope"].as_array().unwrap(), recorded.len());
    served.end();
}

/// `{event, data}` with the names and units of the original embedding protocol.
fn the_older_form(envelope: &[Value], events: usize) {
    assert_eq!(envelope.len(), events, "one message an event");
    let first = |name: &str| {
        let found = envelope.iter().find(|message| message["event"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {:?}", envelope.first()))["data"].clone()
    };
    let failed = first("ExampleFailed");
    assert!(failed["message"].as_str().unwrap().contains("expected: 2"), "{failed}");
    assert!(failed["duration"].as_f64().unwrap() < 60.0, "in seconds: {failed}");
    assert!(first("ExamplePassed")["duration"].is_number());
    assert!(
        envelope.iter().all(|message| message["event"].is_string() && message["data"].is_object())
    );
}
