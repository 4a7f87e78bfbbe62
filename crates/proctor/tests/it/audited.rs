//! What the audit of 16 Nov 2026 found about verdicts, through the binary. Each test is named for its finding.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env::{TestEnv, signal, wait_until};
use crate::recorded::Recorded;

/// An agent behind an interface of its own that has refunded already when it answers; counts what it is asked.
fn refunding_agent() -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).unwrap_or(0) > 0 && !line.trim().is_empty() {
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let call = json!({"id": "c1", "name": "refund", "arguments": {"order": 7}, "result": {"ok": true}});
            let answer = json!({"reply": "Refunded.", "calls": [call]}).to_string();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
        }
    });
    (address, asked)
}

#[test]
fn v1_an_http_agent_that_runs_its_own_tools_is_never_green_by_silence() {
    for (reports, status, fault) in [
        ("", "errored", "harness"),
        (", made_calls: /calls", "failed", "agent"),
        (", tool_calls: {list: /calls}", "errored", "agent"),
    ] {
        let (address, asked) = refunding_agent();
        let env = TestEnv::new();
        env.write(
            "talks/shop.scenario.yaml",
            &format!(
                "describe: Shop\nagent: {{name: shop, http: {{url: \"http://{address}/chat\", text: /reply{reports}}}}}\n\
                 examples: [{{it: keeps the money, steps: [{{user: Refund order 7, expect: [{{not: {{call_tool: refund}}}}]}}]}}]\n"
            ),
        );
        let ran = env.run(&["run"]);
        assert_eq!(ran.code, Some(1), "{reports}: {}", ran.terminal());
        let result = env.recorded().result("keeps the money").event;
        assert_eq!((&result["status"], &result["fault"]), (&json!(status), &json!(fault)));
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{reports}: a finished call is no request");
    }
}

#[test]
fn v6_a_run_stopped_while_it_loads_is_stopped_on_every_surface() {
    let env = TestEnv::with_spec("File.write('loading', ''); sleep 60");
    let child = env.spawn(&["run"]);
    wait_until("the load", || env.project.join("loading").exists());
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(env.ran(&output).code, Some(130));
    let recorded = env.recorded();
    let end = recorded.of("SuiteFinished").next().unwrap();
    assert_eq!((&end["state"], &end["exit_code"]), (&json!("stopped"), &json!(130)));
    assert_eq!(end["stopped_by"], "SIGINT");
    let read = |arguments: &[&str]| -> Value {
        let ran = env.run(arguments);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
    };
    let listed = read(&["runs", "--format", "json"]);
    let shown = read(&["show", "last", "--format", "json"]);
    let told = read(&["tool", "run_status", "{}"])["run"].clone();
    for (surface, run) in [("runs", &listed[0]), ("show", &shown), ("run_status", &told)] {
        assert_eq!(run["state"], "stopped", "{surface}: {run}");
        assert_eq!(run["exit_code"], 130, "{surface}: {run}");
        assert_eq!(run["verdict"], Value::Null, "{surface}: {run}");
    }
    let listed = env.run(&["runs"]).stdout;
    assert!(listed.contains("stopped") && !listed.contains("exit 2"), "{listed}");
}

const SHOP: &str = r#"describe: Shop
agent:
  script:
    - {when: Hello, say: How can I help?}
    - {when: first, say: {text: "", call: {tool: search, arguments: {n: 1}}}}
    - {when: second, say: {text: "", call: {tool: search, arguments: {n: 2}}}}
    - {when: colour, say: It is red.}
    - {when: break, say: {fail: the agent fell over}}
tools: {search: {result: {colour: red}}}
models:
  judge: {verdicts: [{satisfied: true, because: as I see it}]}
examples:
  - {it: greets, steps: [{user: Hello, expect: [{match: help}]}]}
  - {it: greets often, repeat: 3, pass_rate: 0.5, steps: [{user: Hello, expect: [{match: help}]}]}
  - {it: is judged, steps: [{user: Hello, expect: [{satisfy: Is polite}]}]}
  - it: uses one tool twice
    steps:
      - {user: the first please, expect: [{call_tool: search}, {match: red}]}
      - {user: the second please, expect: [{call_tool: search}, {match: red}]}
  - {it: is wrong, steps: [{user: Hello, expect: [{match: goodbye}]}]}
  - {it: is wrong twice, repeat: 2, steps: [{user: Hello, expect: [{match: goodbye}]}]}
  - {it: breaks, steps: [{user: break}]}
  - {it: comes later, pending: not built yet, steps: []}
"#;

/// Status and fault of every final result, by example and repetition.
fn results(recorded: &Recorded) -> BTreeMap<(String, u64), (Value, Value)> {
    let finals = recorded.of("ExampleFinished").filter(|event| event["final"] == true);
    let key = |event: &Value| (recorded.title(event), event["repeat"].as_u64().unwrap_or(1));
    finals.map(|event| (key(event), (event["status"].clone(), event["fault"].clone()))).collect()
}

#[test]
fn d1_judging_again_with_nothing_changed_changes_nothing() {
    let env = TestEnv::new();
    env.write("talks/shop.scenario.yaml", SHOP);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let (mut before, first) = (results(&env.recorded()), env.events_path());
    assert_eq!(before[&("Shop uses one tool twice".to_owned(), 1)].0, "passed", "{before:#?}");
    // Nothing was said in it, so there is nothing to judge.
    assert!(before.remove(&("Shop comes later".to_owned(), 1)).is_some());
    assert_eq!(before.len(), 10, "{before:#?}");
    let ran = env.run(&["rejudge", "last"]);
    assert_ne!(env.events_path(), first, "a run of its own: {}", ran.terminal());
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(results(&env.recorded()), before, "{}", ran.terminal());
    env.assert_complete();
}
