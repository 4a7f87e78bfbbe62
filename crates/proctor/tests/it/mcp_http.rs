//! `/mcp` of `proctor serve`: the same tools, behind the same gate, for every version of the protocol.

use std::io::{BufRead as _, BufReader};
use std::process::Command;

use serde_json::{Value, json};

use crate::env::{TestEnv, repository, wait_until};
use crate::wire::{
    HANDSHAKE, STATELESS, Served, hello, message, messages, processes_of, result_of,
};

const SPEC: &str = "RSpec.describe(\"Cart\") { it(\"adds\") { expect(1 + 1).to eq 2 } }\n";

/// A client over HTTP.
struct Web<'a> {
    served: &'a Served,
    version: &'static str,
    session: Option<String>,
    id: u64,
}

impl<'a> Web<'a> {
    fn connect(served: &'a Served, version: &'static str) -> Self {
        let mut web = Self { served, version, session: None, id: 0 };
        if version != STATELESS {
            let (status, head, body) = web.post("initialize", hello(version));
            assert_eq!(status, 200, "{head}\n{body}");
            let answer = &messages(&body)[0];
            assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
            web.session = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
            });
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let (status, ..) = served.ask("POST", &web.headers(""), &ready.to_string());
            assert_eq!(status, 202);
        }
        web
    }

    /// The headers of a request; the name of a tool is one of them in the version without a handshake.
    fn headers<'b>(&'b self, method: &'b str) -> Vec<(&'b str, &'b str)> {
        let mut all = vec![("Authorization", self.bearer())];
        all.extend(self.session.as_deref().map(|session| ("Mcp-Session-Id", session)));
        if self.session.is_some() || self.version == STATELESS {
            all.push(("MCP-Protocol-Version", self.version));
        }
        if self.version == STATELESS {
            let (method, name) = method.split_once(' ').unwrap_or((method, ""));
            all.push(("Mcp-Method", method));
            if !name.is_empty() {
                all.push(("Mcp-Name", name));
            }
        }
        all
    }

    fn bearer(&self) -> &'static str {
        // Tests are short; so many strings are no loss.
        Box::leak(format!("Bearer {}", self.served.token).into_boxed_str())
    }

    fn body(&mut self, method: &str, params: Value) -> String {
        self.id += 1;
        message(self.version, self.id, method, params).to_string()
    }

    fn post(&mut self, method: &str, params: Value) -> (u16, String, String) {
        let named = match params["name"].as_str() {
            Some(name) => format!("{method} {name}"),
            None => method.to_owned(),
        };
        let body = self.body(method, params);
        self.served.ask("POST", &self.headers(&named), &body)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "calls read better with a value written in place"
    )]
    fn call(&mut self, name: &str, arguments: Value) -> Value {
        let (status, head, body) =
            self.post("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(status, 200, "{head}\n{body}");
        let answer = messages(&body).into_iter().find(|message| message["id"] == self.id);
        let answer = answer.unwrap_or_else(|| panic!("no answer: {body}"));
        result_of(&answer)
    }
}

#[test]
fn every_version_lists_and_calls_the_same_tools() {
    let env = TestEnv::with_spec(SPEC);
    let served = Served::start(&env, &["--tools", "all"]);
    let shell = env.run(&["tool", "--list"]).stdout.lines().count();
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let mut web = Web::connect(&served, version);
        let (status, _, body) = web.post("tools/list", json!({}));
        assert_eq!(status, 200, "{body}");
        let tools = messages(&body).pop().unwrap()["result"]["tools"].as_array().unwrap().len();
        assert_eq!(tools, shell, "{version}");
        let listed = web.call("list_examples", json!({}));
        assert_eq!(listed["total"], 1, "{version}: {listed}");
    }
    served.stop();
}

/// Two clients of one server each mean the run that they started themselves; without a session there is only the newest.
#[test]
fn every_session_means_its_own_run() {
    let env = TestEnv::with_spec(SPEC);
    let served = Served::start(&env, &[]);
    let mut clients = HANDSHAKE.map(|version| Web::connect(&served, version));
    let started: Vec<Value> =
        clients.iter_mut().map(|web| web.call("run_start", json!({}))["run_id"].clone()).collect();
    assert_ne!(started[0], started[1]);
    for (web, own) in clients.iter_mut().zip(&started) {
        assert_eq!(web.call("run_wait", json!({}))["run"]["run_id"], *own);
    }
    let mut nobody = Web::connect(&served, STATELESS);
    assert_eq!(nobody.call("run_status", json!({}))["run"]["run_id"], started[1]);
    let mut over = |id: &Value| {
        let looked = nobody.call("run_status", json!({ "run_id": id }));
        looked["run"]["state"] == "finished"
    };
    wait_until("both to end", || started.iter().all(&mut over));
    served.stop();
}

#[test]
fn nobody_gets_in_without_the_token_or_from_another_page() {
    let env = TestEnv::new();
    let served = Served::start(&env, &[]);
    let body = message(HANDSHAKE[1], 1, "initialize", hello(HANDSHAKE[1])).to_string();
    let bearer = format!("Bearer {}", served.token);
    let own = format!("http://127.0.0.1:{}", served.port);
    let status = |headers: &[(&str, &str)]| served.ask("POST", headers, &body).0;
    assert_eq!(status(&[("Authorization", &bearer)]), 200);
    assert_eq!(status(&[("Authorization", &bearer), ("Origin", &own)]), 200);
    for method in ["POST", "GET", "DELETE", "OPTIONS"] {
        assert_eq!(served.ask(method, &[], &body).0, 401, "{method}");
    }
    assert_eq!(status(&[("Authorization", "Bearer wrong")]), 401);
    for (name, value) in [
        ("Host", "evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        assert_eq!(status(&[("Authorization", &bearer), (name, value)]), 403, "{name}: {value}");
    }
    let large = "x".repeat(17 << 20);
    let (status, ..) = served.ask("POST", &[("Authorization", &bearer)], &large);
    assert!([0, 413].contains(&status), "{status}");
    served.stop();
}

#[test]
fn clients_that_never_say_goodbye_make_room_for_others() {
    let env = TestEnv::new();
    let served = Served::start(&env, &[]);
    let mut forgotten = Web::connect(&served, HANDSHAKE[1]);
    let mut used = Web::connect(&served, HANDSHAKE[1]);
    // More than there may be.
    for n in 0..260 {
        Web::connect(&served, HANDSHAKE[0]);
        if n % 50 == 0 {
            used.call("ghap_stats", json!({}));
        }
    }
    used.call("ghap_stats", json!({}));
    let (status, head, _) = forgotten.post("tools/list", json!({}));
    assert_eq!(status, 404, "the session is over, and the client is told so: {head}");
    served.stop();
}

#[test]
fn a_server_that_only_shows_offers_only_what_looks() {
    let env = TestEnv::new();
    let served = Served::start(&env, &["--read-only", "--tools", "all"]);
    let mut web = Web::connect(&served, STATELESS);
    let (_, _, body) = web.post("tools/list", json!({}));
    let answer = messages(&body).pop().unwrap();
    let names: Vec<&str> = answer["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"run_results") && names.contains(&"test_inspect"), "{names:?}");
    for name in
        ["run_start", "run_cancel", "test_run", "test_setup", "ghap_create", "list_examples"]
    {
        assert!(!names.contains(&name), "{name}");
    }
    served.stop();
}

/// Starts a run that hangs in its first iteration.
fn hang(web: &mut Web<'_>) -> std::net::TcpStream {
    web.call("test_setup", json!({ "workspace_id": "w" }));
    let arguments = json!({ "workspace_id": "w", "task": "t", "mock_responses": [{ "output": "", "hang": true }] });
    let params =
        json!({ "name": "test_run", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let body = web.body("tools/call", params);
    let stream = web.served.open("POST", &web.headers("tools/call test_run"), &body);
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let told = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("iteration 1")));
    told.expect("progress is told").unwrap();
    stream
}

fn concluded(web: &mut Web<'_>) -> Value {
    let mut summary = json!({ "running": true });
    wait_until("the run is concluded", || {
        summary = web.call("test_inspect", json!({ "workspace_id": "w", "format": "summary" }));
        summary["running"] == false
    });
    summary
}

#[test]
fn a_cancelled_test_run_is_stopped() {
    for version in HANDSHAKE.into_iter().chain([STATELESS]) {
        let env = TestEnv::new();
        let served = Served::start(&env, &[]);
        let mut web = Web::connect(&served, version);
        let stream = hang(&mut web);
        if version == STATELESS {
            // Here to hang up is to cancel.
            drop(stream);
        } else {
            let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": web.id } });
            assert_eq!(served.ask("POST", &web.headers(""), &cancel.to_string()).0, 202);
        }
        let summary = concluded(&mut web);
        assert_eq!(
            summary["result"]["termination_reason"], "HarnessCancelled",
            "{version}: {summary}"
        );
        let ralphs = || {
            processes_of(&env)
                .into_iter()
                .filter(|(_, command)| command.contains("ralph run"))
                .count()
        };
        wait_until("nothing of the run is left", || ralphs() == 0);
        web.call("test_cleanup", json!({ "workspace_id": "w" }));
        served.stop();
    }
}

#[test]
fn a_server_that_ends_takes_its_test_runs_with_it() {
    let env = TestEnv::new();
    let served = Served::start(&env, &[]);
    let mut web = Web::connect(&served, HANDSHAKE[1]);
    let _stream = hang(&mut web);
    served.stop();
    wait_until("nothing is left", || processes_of(&env).is_empty());
}

/// Drives `/mcp` with the official Python SDK.
fn sdk(env: &TestEnv, served: &Served, mode: &str, part: &str) -> Value {
    let python = repository().join("target/tools/python/bin/python");
    assert!(python.exists(), "no Python SDK for MCP: run ./check once, it installs it");
    let output = Command::new(python)
        .arg(repository().join("crates/proctor/tests/it/clients/drive.py"))
        .arg(served.url())
        .arg(&env.project)
        .args([mode, part])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROCTOR_TOKEN", &served.token)
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_python_sdk_drives_the_example_scenario_over_http() {
    for (mode, version) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let env = TestEnv::new();
        let served = Served::start(&env, &["--tools", "all", "--structured"]);
        let seen = sdk(&env, &served, mode, "workspaces");
        assert_eq!(seen["version"], version);
        assert_eq!(seen["run"]["exit_code"], 2, "{seen}");
        assert_eq!(seen["asserted"]["passed"], true);
        assert_eq!(seen["progress"], json!(["iteration 1: planner"]), "{mode}");
        assert_eq!(seen["cleanup"]["deleted"], true);
        served.stop();
        wait_until("nothing is left", || processes_of(&env).is_empty());
    }
}

#[test]
fn the_python_sdk_runs_examples_over_http() {
    let spec =
        "RSpec.describe(\"Cart\") { it(\"adds\") {}\n it(\"fails\") { expect(1).to eq 3 } }\n";
    let env = TestEnv::with_spec(spec);
    let served = Served::start(&env, &["--tools", "all", "--structured"]);
    let seen = sdk(&env, &served, "auto", "runs");
    assert_eq!(seen["failures"], json!(["Cart > fails"]));
    assert_eq!(seen["ended"]["counts"], json!({ "passed": 1, "failed": 1 }));
    served.stop();
}

#[test]
fn the_inspector_lists_and_calls_over_http() {
    let env = TestEnv::with_spec(SPEC);
    let served = Served::start(&env, &["--tools", "all", "--structured"]);
    let inspector = repository().join("target/tools/inspector/node_modules/.bin/mcp-inspector");
    assert!(inspector.exists(), "no MCP inspector: run ./check once, it installs it");
    let inspect = |arguments: &[&str]| {
        let output = Command::new(&inspector)
            .args(["--cli", &served.url(), "--transport", "http"])
            .args(["--header", &format!("Authorization: Bearer {}", served.token)])
            .args(arguments)
            .env_clear()
            .env("HOME", env.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}\n{said}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert!(listed["tools"].as_array().unwrap().len() >= 25, "{listed}");
    let call = ["--method", "tools/call", "--tool-name", "list_examples", "--tool-arg", "limit=1"];
    assert_eq!(inspect(&call)["structuredContent"]["total"], 1);
    served.stop();
}
