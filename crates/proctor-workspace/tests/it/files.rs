//! The shipped examples, performed, and what a file that fails looks like.

use std::path::Path;

use proctor_workspace::{CallContext, file};

use crate::support::*;

#[tokio::test]
async fn every_shipped_example_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspaces");
    let bed = Bed::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let file = file::read(&name, &text).unwrap_or_else(|problems| panic!("{problems:?}"));
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
    let bed = Bed::new();
    let outcome = file::run(&bed.tools, &file, "x", &CallContext::default()).await.unwrap();
    let failures = outcome.failures();
    assert!(!outcome.passed() && failures.len() == 2, "{failures:#?}");
    assert!(failures[0].contains("expected 7, actual 0"), "{}", failures[0]);
    assert!(failures[1].contains("no event build.task"), "{}", failures[1]);
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
}
