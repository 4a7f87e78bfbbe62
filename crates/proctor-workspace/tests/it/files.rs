//! The shipped examples, performed, and what a file that fails looks like.

use std::path::Path;

use proctor_workspace::{CallContext, file};
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn every_shipped_example_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspaces");
    let bed = TestWorkspaces::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(file::ENDING) {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut file = file::read(&name, &text).unwrap_or_else(|problems| panic!("{problems:?}"));
        file.load_cassette(path.parent().unwrap()).unwrap();
        let outcome = file::run(&bed.tools, &file, &name, &CallContext::default()).await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(outcome.passed(), "{name}: {:#?} {:#?}", outcome.failures(), outcome.timeline);
        count += 1;
    }
    assert!(count >= 11, "{count}");
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
    assert_eq!(std::fs::read_dir(bed.folder.path().join("temp")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_fails_says_why_and_cleans_up() {
    let text = "name: x\nmock: [{output: LOOP_COMPLETE}]\nrun: {task: t}\n\
                assert: [{type: exit_code, expected: 7}, {type: event_occurred, topic: build.task}]\n";
    let file = file::read("x.workspace.yaml", text).unwrap();
    let bed = TestWorkspaces::new();
    let outcome = file::run(&bed.tools, &file, "x", &CallContext::default()).await.unwrap();
    let failures = outcome.failures();
    assert!(!outcome.passed() && failures.len() == 2, "{failures:#?}");
    assert!(failures[0].contains("expected 7, actual 0"), "{}", failures[0]);
    assert!(failures[1].contains("no event build.task"), "{}", failures[1]);
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
}

/// A run becomes a cassette in a file, a test replays it, and a change of the topology is told as drift.
#[tokio::test]
async fn a_recorded_run_is_a_regression_test() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    bed.run("w", whole_run(), json!({})).await;
    let taken = bed.call("test_inspect", json!({"workspace_id": "w", "format": "cassette"})).await;
    let folder = bed.folder.path().join("tests");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("run.json"), taken["cassette"].to_string()).unwrap();
    let text = "name: x\nrun: {task: Do the thing, cassette: run.json}\n\
                assert: [{type: no_drift}, {type: termination_reason, expected: CompletionPromise}]\n";
    let mut same = file::read("x.workspace.yaml", text).unwrap();
    same.load_cassette(&folder).unwrap();
    let outcome = file::run(&bed.tools, &same, "x", &CallContext::default()).await.unwrap();
    assert!(outcome.passed(), "{:#?}", outcome.failures());
    let changed = text.replace("name: x\n", "name: x\nsetup:\n  config:\n    hats:\n      solo: {triggers: ['*'], publishes: [build.task]}\n");
    let changed =
        changed.replace("cassette: run.json", "cassette: run.json, allow_exhausted: true");
    let mut other = file::read("x.workspace.yaml", &changed).unwrap();
    other.load_cassette(&folder).unwrap();
    let outcome = file::run(&bed.tools, &other, "x", &CallContext::default()).await.unwrap();
    let failures = outcome.failures();
    assert!(failures[0].contains("the hat of call 1 differs from the cassette"), "{failures:#?}");
    for (bad, why) in [("none.json", "No such file"), ("bad.json", "version")] {
        std::fs::write(
            folder.join("bad.json"),
            taken["cassette"].to_string().replace("\"version\":1", "\"version\":9"),
        )
        .unwrap();
        let mut file = file::read("x.workspace.yaml", &text.replace("run.json", bad)).unwrap();
        let problem = file.load_cassette(&folder).unwrap_err().to_string();
        assert!(problem.contains(why), "{bad}: {problem}");
    }
    let outside = file::read("x", &text.replace("run.json", "../run.json")).unwrap_err();
    assert!(outside[0].message.contains("`..`"), "{outside:?}");
    let both = text.replace("run:", "mock: [{output: y}]\nrun:");
    assert!(file::read("x", &both).unwrap_err()[0].message.contains("keep one"));
}

/// What the page shows is what the tool reads; and it names every assertion that there is.
#[test]
fn the_page_about_workspaces_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workspaces.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        file::read("page", block).unwrap_or_else(|problems| panic!("{problems:?}\n{block}"));
    }
    let schema = serde_json::to_value(proctor_workspace::file::schema()).unwrap();
    let kinds = schema["$defs"]["Assertion"]["oneOf"].as_array().unwrap();
    assert!(kinds.len() >= 19, "{}", kinds.len());
    for kind in kinds {
        let name = kind["properties"]["type"]["const"].as_str().unwrap();
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
