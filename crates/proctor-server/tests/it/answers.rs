//! What the interface answers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::test_server::{TestServer, line, small_run};

#[test]
fn runs_and_their_examples() {
    let fixture = TestServer::new();
    fixture.record("0190-a", &small_run());
    fixture.record("0191-b", &small_run()[..3]);
    let runs = fixture.get("/api/runs").json();
    assert_eq!(runs["total"], 2);
    assert_eq!(runs["runs"][0]["id"], "0191-b");
    assert_eq!(runs["runs"][0]["state"], "running", "somebody writes it");
    assert_eq!(runs["runs"][1]["state"], "finished");
    assert_eq!(runs["runs"][1]["counts"], json!({"failed": 1, "passed": 1}));
    let page = fixture.get("/api/runs?limit=1").json();
    assert_eq!((&page["runs"][0]["id"], &page["more"]), (&json!("0191-b"), &json!("0191-b")));
    let page = fixture.get("/api/runs?limit=1&before=0191-b").json();
    assert_eq!((&page["runs"][0]["id"], &page["more"]), (&json!("0190-a"), &Value::Null));

    let run = fixture.get("/api/runs/0190").json();
    assert_eq!(
        (&run["id"], &run["exit_code"], &run["examples"]),
        (&json!("0190-a"), &json!(1), &json!(2))
    );
    let rows = fixture.get("/api/runs/0190-a/examples").json();
    assert_eq!((&rows["last_seq"], &rows["total"]), (&json!(8), &json!(2)));
    assert_eq!(rows["rows"][0]["attempts"][0]["turns"], 1);
    assert_eq!(rows["rows"][1]["attempts"][0]["message"], "broken");
    let failed = fixture.get("/api/runs/0190-a/examples?status=failed").json();
    assert_eq!((&failed["total"], &failed["rows"][0]["id"]), (&json!(1), &json!("bbb")));
    assert_eq!(fixture.get("/api/runs/0190-a/examples?q=WORKS").json()["rows"][0]["id"], "aaa");
    let one = fixture.get("/api/runs/last~1/examples/aaa").json();
    let turn = &one["example"]["attempts"][0]["conversation"]["turns"][0];
    assert_eq!(turn["responses"][0]["text"], "General greeting");
}

#[test]
fn what_is_not_there_is_said_to_be_so() {
    let fixture = TestServer::new();
    assert_eq!(fixture.get("/api/runs").json()["runs"], json!([]));
    let none = fixture.get("/api/runs/last");
    assert_eq!(
        (none.status, none.json()["error"].clone()),
        (404, json!("there is no run `last`; there are no runs here yet"))
    );
    fixture.record("0190-a", &small_run());
    fixture.record("0190-b", &small_run());
    assert_eq!(fixture.get("/api/runs/0190").status, 400, "two runs begin like that");
    assert_eq!(fixture.get("/api/runs/0190-a/examples/zzz").status, 404);
    assert_eq!(fixture.get("/api/runs?limt=1").status, 400);
    assert_eq!(fixture.get("/api/runs/last/events?since=x").status, 400);
    assert_eq!(fixture.get("/api/search").status, 400);
    assert_eq!(fixture.post("/api/runs", "").status, 405);
    assert_eq!(fixture.get("/nowhere").status, 404);
    assert_eq!(fixture.get("/api/history?example=nobody").status, 404);
    assert_eq!(fixture.get("/api/compare?before=baseline&after=last").status, 404);
}

#[test]
fn events_by_cursor() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run());
    let mut since = 0;
    let mut seen = Vec::new();
    loop {
        let page = fixture.get(&format!("/api/runs/r/events?limit=3&since={since}")).json();
        seen.extend(
            page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()),
        );
        since = page["next_since"].as_u64().unwrap();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(seen, (1..=8).collect::<Vec<_>>());
    fixture.append("r", &[line(9, "WorkerLog", None, r#""line":"late""#)]);
    let late = fixture.get(&format!("/api/runs/r/events?since={since}")).json();
    assert_eq!(late["events"][0]["line"], "late");
    let filtered =
        fixture.get("/api/runs/r/events?example=bbb&type=ExampleFinished,UserMessage").json();
    assert_eq!(
        (filtered["events"].as_array().unwrap().len(), &filtered["next_since"]),
        (1, &json!(9))
    );
}

#[test]
fn comparisons_history_and_search_are_those_of_the_libraries() {
    let fixture = TestServer::new();
    fixture.record("0190-a", &small_run());
    let fixed: Vec<String> = small_run()
        .iter()
        .map(|line| line.replace(r#""status":"failed""#, r#""status":"passed""#))
        .collect();
    fixture.record("0191-b", &fixed);
    let comparison = fixture.get("/api/compare?before=last~1&after=last").json();
    assert_eq!(comparison["counts"]["paired"], 2);
    assert_eq!(comparison["counts"]["improvements"], 1, "{comparison}");
    assert_eq!(comparison["after"]["run_id"], "0191-b");
    let points = fixture.get("/api/history?example=bbb").json();
    assert_eq!(points["points"].as_array().unwrap().len(), 2);
    assert_eq!(points["points"][0]["status"], "passed");
    assert_eq!(fixture.get("/api/history?tag=fast").json()["points"][0]["examples"], 1);
    assert_eq!(fixture.get("/api/history").json()["points"][0]["examples"], 2);
    let hits = fixture.get("/api/search?q=general%20greeting").json();
    assert_eq!(hits["hits"].as_array().unwrap().len(), 2);
    let hits = fixture.get("/api/search?q=general&run=0190").json();
    assert_eq!((&hits["hits"][0]["turn"], &hits["hits"][0]["found"]), (&json!(1), &json!("agent")));
    assert!(fixture.get("/api/flaky").json()["flaky"].is_array());
}

#[test]
fn a_search_takes_phrases_expressions_and_who_said_it() {
    let fixture = TestServer::new();
    fixture.record("0190-a", &small_run());
    let found = |query: &str| {
        let hits = fixture.get(&format!("/api/search?q={query}")).json();
        let kinds = hits["hits"].as_array().unwrap().iter().map(|hit| hit["found"].to_string());
        kinds.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("%22general%20greeting%22"), "\"agent\"");
    assert_eq!(found("%22greeting%20general%22"), "");
    assert_eq!(found("/gen.*greet/"), "\"agent\"");
    assert_eq!(found("by:user%20general"), "");
    for (query, reason) in [("/(/", "not a regular expression"), ("by:nobody%20x", "names nobody")]
    {
        let refused = fixture.get(&format!("/api/search?q={query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.body.contains(reason), "{}", refused.body);
    }
}

#[test]
fn conversations_can_be_run_with_another_agent_that_there_is() {
    let fixture = TestServer::new();
    assert_eq!(fixture.get("/api/runs").json()["agents"], json!(["next", "old"]));
    let unknown = fixture.post("/specs/run", r#"{"agent":"nobody"}"#);
    assert_eq!(unknown.status, 422);
    assert!(unknown.body.contains("there are: next, old"), "{}", unknown.body);
    assert_eq!(fixture.get("/specs/progress").json(), json!({"status": "idle"}));
    assert_eq!(fixture.post("/specs/run", r#"{"agent":"next"}"#).status, 200);
    let shows_only = TestServer::with(None);
    assert_eq!(shows_only.get("/api/runs").json()["agents"], json!([]));
}

#[test]
fn specs_as_an_embedder_uses_them() {
    let fixture = TestServer::new();
    assert_eq!(fixture.get("/specs/progress").json(), json!({"status": "idle"}));
    assert_eq!(fixture.post("/specs/cancel", "").json(), json!({"status": "not_running"}));
    let started = fixture.post("/specs/run", r#"{"paths":["spec/a_spec.rb"],"workers":2}"#);
    assert_eq!((started.status, &started.json()["status"]), (200, &json!("started")));
    let busy = fixture.post("/specs/run", r#"["spec"]"#);
    assert_eq!(busy.status, 409);
    assert!(busy.body.contains("already in progress"), "{}", busy.body);
    let progress = fixture.get("/specs/progress").json();
    assert_eq!(
        (&progress["completed"], &progress["total"], &progress["failures"]),
        (&json!(5), &json!(20), &json!(1))
    );
    assert_eq!(fixture.post("/specs/cancel", "").json(), json!({"status": "cancelled"}));
    assert_eq!(fixture.post("/specs/run", "{\"path\":[]}").status, 400);
    assert_eq!(fixture.post("/specs/run", "").status, 200, "an empty body means everything");
    let shows_only = TestServer::with(None);
    assert_eq!(shows_only.post("/specs/run", "").status, 409);
}

/// The document and the routes say the same.
#[test]
fn the_document_describes_what_there_is() {
    let fixture = TestServer::new();
    fixture.record("r", &small_run());
    let entry = r#"{"id":"ghap_20260301_100000_abcdef","session_id":"s","created_at":"2026-03-01T10:00:00Z","domain":"testing","strategy":"ask-user","goal":"g","hypothesis":"h","action":"a","prediction":"p","outcome":{"status":"confirmed","result":"r","captured_at":"2026-03-01T10:00:00Z"}}"#;
    let archive = fixture.folder.path().join(".claude/journal/archive");
    std::fs::create_dir_all(&archive).unwrap();
    std::fs::write(archive.join("20260301_s.jsonl"), format!("{entry}\n")).unwrap();
    let document = fixture.get("/api/openapi.json").json();
    assert_eq!(serde_json::from_str::<Value>(proctor_server::OPENAPI).unwrap(), document);
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let real = path.replace("{run}", "r").replace("{example}", "aaa");
        let real = real.replace("{entry}", "ghap_20260301_100000_abcdef");
        for method in operations.as_object().unwrap().keys() {
            described.insert(format!("{method} {path}"));
            let answer = if method == "get" { fixture.get(&real) } else { fixture.post(&real, "") };
            assert!(
                ![404, 405, 500].contains(&answer.status),
                "{method} {path}: {}",
                answer.status
            );
        }
    }
    let source = include_str!("../../src/api/mod.rs");
    let routes = source.matches(".route(\"").count() - ["/", "/assets/{name}", "/ws"].len();
    assert_eq!(
        described.len(),
        routes,
        "every route but the page, its files and the stream is described"
    );
}
