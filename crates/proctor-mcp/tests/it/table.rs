//! What every row of the table owes to a model.

use std::collections::BTreeSet;

use proctor_mcp::{Group, kind};
use serde_json::{Map, Value, json};

use crate::test_project::TestProject;

const EXPECTED: [&str; 28] = [
    "cover_mutate",
    "cover_plan",
    "cover_submit",
    "ghap_abandon",
    "ghap_create",
    "ghap_current",
    "ghap_orphan",
    "ghap_resolve",
    "ghap_search",
    "ghap_session",
    "ghap_stats",
    "ghap_update",
    "list_examples",
    "run_cancel",
    "run_compare",
    "run_results",
    "run_start",
    "run_status",
    "run_wait",
    "show_example",
    "test_assert",
    "test_cleanup",
    "test_diff",
    "test_inspect",
    "test_mock_backend",
    "test_run",
    "test_setup",
    "test_snapshot",
];

#[tokio::test]
async fn every_tool_is_there_once_and_says_what_it_is() {
    let project = TestProject::new();
    let names: BTreeSet<&str> = project.tools.all().iter().map(|tool| tool.name).collect();
    assert_eq!(names, EXPECTED.into_iter().collect());
    assert_eq!(project.tools.all().len(), EXPECTED.len());
    for tool in project.tools.all() {
        assert!(tool.description.len() > 60, "{}", tool.name);
        assert!(tool.title.len() < 60, "{}", tool.name);
        for schema in [&tool.input_schema, &tool.output_schema] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let text = Value::Object(schema.clone()).to_string();
            for noise in ["$ref", "$defs", "\"uint64\"", "\"uint32\"", "$schema"] {
                assert!(!text.contains(noise), "{} has {noise}", tool.name);
            }
        }
    }
}

#[tokio::test]
async fn every_parameter_and_result_is_described() {
    let nothing = Map::new();
    for tool in TestProject::new().tools.all() {
        for schema in [&tool.input_schema, &tool.output_schema] {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.unwrap_or(&nothing) {
                assert!(property["description"].is_string(), "{}.{name}: {property}", tool.name);
            }
        }
    }
}

#[tokio::test]
async fn groups_can_be_chosen() {
    let project = TestProject::new();
    let all = project.tools.all();
    let count = |group: Group| all.iter().filter(|tool| tool.group == group).count();
    assert_eq!((count(Group::Journal), count(Group::Runs), count(Group::Workspaces)), (9, 8, 8));
    assert_eq!(count(Group::Cover), 3);
}

#[tokio::test]
async fn mistakes_are_named_with_their_place_and_the_way_out() {
    let project = TestProject::new();
    let error = project.call("ghap_creat", json!({})).await.unwrap_err();
    assert_eq!(error.kind, kind::UNKNOWN_TOOL);
    assert_eq!(error.hints[0], "did you mean `ghap_create`?");
    for (name, arguments, words) in [
        (
            "ghap_create",
            json!({ "domain": "cooking" }),
            "domain: unknown domain `cooking`: use one of debugging",
        ),
        ("ghap_create", json!({ "domain": "testing" }), "missing field"),
        ("ghap_create", json!([1]), "parameters must be a JSON object"),
        ("ghap_update", json!({}), "nothing was given to change"),
        ("ghap_update", json!({ "nott": "x" }), "unknown field `nott`"),
        ("ghap_update", json!({ "expect": "maybe" }), "expect: `maybe` is not an expectation"),
        ("ghap_search", json!({ "limit": "many" }), "limit: invalid type: string"),
        ("ghap_search", json!({ "cursor": "x" }), "cursor: `x` is not a cursor"),
        ("ghap_search", json!({ "since": "yesterday" }), "since: `yesterday` is not a time"),
        ("ghap_current", json!({ "lane": "../x" }), "cannot be a lane"),
        ("run_results", json!({ "statuses": ["green"] }), "there is no status `green`"),
        ("run_start", json!({ "paths": ["--seed"] }), "\"--seed\" is not a path"),
        ("test_setup", json!({ "workspace": 1 }), "unknown field `workspace`"),
    ] {
        let error = project.call(name, arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind, kind::INVALID_ARGUMENT, "{name} {arguments}: {error:?}");
        assert!(error.message.contains(words), "{name} {arguments}: {error:?}");
    }
    let error = project.call("run_status", json!({})).await.unwrap_err();
    assert_eq!(error.kind, kind::UNKNOWN_RUN);
    let error = project.call("ghap_resolve", json!({ "status": "confirmed", "result": "x" })).await;
    assert!(error.unwrap_err().hints[0].contains("ghap_create"));
}

#[tokio::test]
async fn parallel_agents_work_in_lanes_of_their_own() {
    let project = TestProject::new();
    let entry = |lane: &str| {
        json!({
            "domain": "testing", "strategy": "ask-user", "goal": format!("the goal of {lane}"),
            "hypothesis": "h", "action": "a", "prediction": "p", "lane": lane
        })
    };
    let both = tokio::join!(
        project.call("ghap_create", entry("one")),
        project.call("ghap_create", entry("two"))
    );
    assert_eq!(both.0.unwrap()["entry"]["lane"], "one");
    assert_eq!(both.1.unwrap()["entry"]["lane"], "two");
    let found = project.call("ghap_search", json!({ "limit": 1 })).await.unwrap();
    assert_eq!((&found["total"], &found["next"]), (&json!(2), &json!("1")));
    let rest = project.call("ghap_search", json!({ "limit": 1, "cursor": "1" })).await.unwrap();
    assert_eq!(rest["next"], Value::Null);
    assert_ne!(found["entries"][0]["id"], rest["entries"][0]["id"]);
    let main = project.call("ghap_current", json!({})).await.unwrap();
    assert_eq!(main, json!({ "orphan": false }));
}

#[tokio::test]
async fn a_session_ends_with_its_entry_and_leaves_no_orphan() {
    let project = TestProject::new();
    let session = |action: &str| json!({ "action": action, "id": "s1" });
    let started = project.call("ghap_session", session("start")).await.unwrap();
    assert_eq!(started["session"], "s1");
    let entry = json!({
        "domain": "testing", "strategy": "ask-user", "goal": "g", "hypothesis": "h", "action": "a", "prediction": "p"
    });
    let id = project.call("ghap_create", entry).await.unwrap()["entry"]["id"].clone();
    project.call("ghap_session", json!({ "action": "start", "id": "s2" })).await.unwrap();
    let orphan = project.call("ghap_orphan", json!({ "action": "show" })).await.unwrap();
    assert_eq!((&orphan["found"], &orphan["orphan"]["id"]), (&json!(true), &id));
    let blank = project.call("ghap_orphan", json!({ "action": "abandon", "reason": " " })).await;
    assert_eq!(blank.unwrap_err().kind, kind::INVALID_ARGUMENT);
    let adopted = project.call("ghap_orphan", json!({ "action": "adopt" })).await.unwrap();
    assert_eq!(adopted["entry"]["session"], "s2");
    for expected in 1..=3 {
        let counted = project.call("ghap_session", json!({ "action": "count" })).await.unwrap();
        assert_eq!(counted["count"], expected);
    }
    let due = json!({ "action": "check_in", "every": 3 });
    assert_eq!(project.call("ghap_session", due).await.unwrap()["due"], true);
    let wrong = project.call("ghap_session", session("end")).await.unwrap_err();
    assert_eq!(wrong.message, "s1 is not the open session");
    let ended = project.call("ghap_session", json!({ "action": "end" })).await.unwrap();
    assert_eq!(ended["archived"], 1);
}

/// A model reads every schema before its first call.
#[tokio::test]
async fn schemas_are_no_longer_than_they_must_be() {
    let mut total = 0;
    for tool in TestProject::new().tools.all() {
        let sizes = [&tool.input_schema, &tool.output_schema]
            .map(|schema| Value::Object(schema.clone()).to_string().len());
        let size: usize = sizes.iter().sum();
        assert!(size < 13_000, "{}: {sizes:?} bytes", tool.name);
        total += size;
    }
    assert!(total < 130_000, "{total} bytes");
}
