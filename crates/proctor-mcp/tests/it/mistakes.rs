//! The mistakes that models make, for every tool there is: what is wrong is named, and so is the way out.

use proctor_mcp::kind;
use serde_json::{Map, Value, json};

use crate::test_project::TestProject;

/// A value that a parameter of this schema cannot have.
fn wrong_value(schema: &Value) -> Option<Value> {
    match schema["type"].as_str()? {
        "string" => Some(json!(17)),
        "integer" | "number" | "boolean" | "array" => Some(json!("seventeen")),
        "object" => Some(json!(["seventeen"])),
        _ => None,
    }
}

fn required(schema: &Map<String, Value>) -> Vec<String> {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn an_unknown_parameter_is_named_beside_the_known_ones() {
    let project = TestProject::new();
    for tool in project.tools.all() {
        let error = project.call(tool.name, json!({ "zebra": 1 })).await.unwrap_err();
        assert_eq!(error.kind, kind::INVALID_ARGUMENT, "{}: {error:?}", tool.name);
        assert!(error.message.contains("zebra"), "{}: {error:?}", tool.name);
        let known = tool.input_schema.get("properties").and_then(Value::as_object);
        let first = known.and_then(|known| known.keys().next());
        let told = format!("{} {}", error.message, error.hints.join(" "));
        assert!(first.is_none_or(|first| told.contains(first.as_str())), "{}: {told}", tool.name);
    }
}

#[tokio::test]
async fn a_parameter_of_the_wrong_type_is_named() {
    let project = TestProject::new();
    let mut tried = 0;
    for tool in project.tools.all() {
        let Some(known) = tool.input_schema.get("properties").and_then(Value::as_object) else {
            continue;
        };
        for (name, schema) in known {
            let Some(wrong) = wrong_value(schema) else { continue };
            let mut arguments = Map::new();
            arguments.insert(name.clone(), wrong);
            let error = project.call(tool.name, Value::Object(arguments)).await.unwrap_err();
            assert_eq!(error.kind, kind::INVALID_ARGUMENT, "{}.{name}: {error:?}", tool.name);
            assert!(error.message.contains(name.as_str()), "{}.{name}: {error:?}", tool.name);
            assert!(!error.hints.is_empty(), "{}.{name}: {error:?}", tool.name);
            tried += 1;
        }
    }
    assert!(tried > 90, "{tried}");
}

#[tokio::test]
async fn a_missing_parameter_is_named() {
    let project = TestProject::new();
    for tool in project.tools.all() {
        let needed = required(&tool.input_schema);
        let answer = project.call(tool.name, json!({})).await;
        if needed.is_empty() {
            continue;
        }
        let error = answer.unwrap_err();
        assert_eq!(error.kind, kind::INVALID_ARGUMENT, "{}: {error:?}", tool.name);
        let named = needed.iter().any(|name| error.message.contains(name.as_str()));
        assert!(named, "{}: {error:?}", tool.name);
        for nonsense in [json!([1]), json!("text"), json!(7)] {
            let error = project.call(tool.name, nonsense).await.unwrap_err();
            assert!(error.message.contains("JSON object"), "{}: {error:?}", tool.name);
        }
    }
}

#[tokio::test]
async fn an_unknown_workspace_is_answered_with_those_there_are() {
    let project = TestProject::new();
    std::fs::create_dir(project.folder.path().join("temp")).unwrap();
    for id in ["alpha", "beta"] {
        project.call("test_setup", json!({ "workspace_id": id })).await.unwrap();
    }
    let more = |name: &str| match name {
        "test_mock_backend" => json!({ "responses": [] }),
        "test_run" => json!({ "task": "t" }),
        "test_assert" => json!({ "assertions": [] }),
        "test_diff" => json!({ "baseline": "initial" }),
        _ => json!({}),
    };
    for name in [
        "test_mock_backend",
        "test_run",
        "test_assert",
        "test_inspect",
        "test_snapshot",
        "test_diff",
        "test_cleanup",
    ] {
        let mut arguments = more(name);
        arguments["workspace_id"] = json!("alpa");
        let error = project.call(name, arguments).await.unwrap_err();
        assert_eq!(error.kind, "unknown_workspace", "{name}: {error:?}");
        assert_eq!(error.details["available_workspaces"], json!(["alpha", "beta"]), "{name}");
        assert!(error.hints[0].contains("did you mean"), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn an_unknown_run_is_answered_with_the_newest_ones() {
    let project = TestProject::new();
    for name in ["run_status", "run_wait", "run_results", "run_cancel", "show_example"] {
        let mut arguments = json!({ "run_id": "nothing-like-it" });
        if name == "show_example" {
            arguments["example"] = json!("x");
        }
        let error = project.call(name, arguments).await.unwrap_err();
        assert_eq!(error.kind, kind::UNKNOWN_RUN, "{name}");
        assert!(error.hints[0].contains("run_start"), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn paths_that_lead_out_of_the_project_are_refused() {
    let project = TestProject::new();
    std::os::unix::fs::symlink("/etc", project.folder.path().join("out")).unwrap();
    let long = "x/".repeat(3000);
    let bad =
        ["../x", "/etc/passwd", "out/passwd", "a\0b", "\u{ff0e}\u{ff0e}/x", "a\u{202e}b", &long];
    for name in ["run_start", "list_examples"] {
        for path in bad {
            let error = project.call(name, json!({ "paths": [path] })).await.unwrap_err();
            assert_eq!(error.kind, kind::INVALID_ARGUMENT, "{name} {path:?}: {error:?}");
            assert!(error.message.starts_with("paths: "), "{name} {path:?}: {error:?}");
        }
        let error = project.call(name, json!({ "tags": ["a\0b"] })).await.unwrap_err();
        assert!(error.message.contains("NUL"), "{error:?}");
    }
    let error = project.call("ghap_current", json!({ "lane": "../../x" })).await.unwrap_err();
    assert!(error.message.contains("cannot be a lane"), "{error:?}");
}
