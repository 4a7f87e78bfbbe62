//! Checks that were green for a reason nobody meant: V9, V13, V14, S10 and their like.

use std::fs;

use proctor_workspace::{CallContext, file};
use serde_json::{Value, json};

use crate::support::*;

fn texts(list: &Value) -> String {
    list.as_array()
        .map(|all| all.iter().map(|one| format!("{one}\n")).collect())
        .unwrap_or_default()
}

async fn inspect(bed: &TestWorkspaces, mut more: Value) -> Value {
    more["workspace_id"] = json!("w");
    bed.call("test_inspect", more).await
}

#[tokio::test]
async fn v9_a_text_that_is_no_topic_pattern_is_refused_wherever_topics_are_taken() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    bed.run("w", whole_run(), json!({})).await;
    for bad in ["build*", "build.[a-z]*", "[", "build.?ask", "{build,task}.*", "build..task", ""] {
        let assertions = [
            json!({"type": "event_occurred", "topic": bad}),
            json!({"type": "no_event", "topic": bad}),
            json!({"type": "event_count", "topic": bad, "max": 0}),
            json!({"type": "event_sequence", "topics": ["task.start", bad]}),
        ];
        for assertion in assertions {
            let list = json!([{"type": "exit_code", "expected": 0}, assertion]);
            for (tool, more) in [("test_assert", json!({})), ("test_run", json!({"task": "t"}))] {
                let mut parameters = more;
                parameters["workspace_id"] = json!("w");
                parameters["assertions"] = list.clone();
                let error = bed.try_call(tool, parameters).await.unwrap_err();
                assert_eq!(error.kind, "invalid_argument", "{bad:?} {error}");
                assert!(error.message.contains("assertions[1]"), "{bad:?} {error}");
                assert!(error.message.contains("`*` for exactly one"), "{bad:?} {error}");
            }
        }
        for format in ["json", "summary", "timeline"] {
            let filter =
                json!({"workspace_id": "w", "format": format, "filter": {"topics": [bad]}});
            let error = bed.try_call("test_inspect", filter).await.unwrap_err();
            assert!(error.message.contains("filter.topics[0]"), "{bad:?} {error}");
        }
        let responses = json!([{"output": "", "events": [{"topic": bad}]}]);
        let error = bed
            .try_call("test_mock_backend", json!({"workspace_id": "w", "responses": responses}))
            .await
            .unwrap_err();
        assert!(error.message.contains("responses[0].events"), "{bad:?} {error}");
    }
    let star =
        json!({"workspace_id": "w", "responses": [{"output": "", "events": [{"topic": "a.*"}]}]});
    let error = bed.try_call("test_mock_backend", star).await.unwrap_err();
    assert!(error.message.contains("\"a.*\" is a pattern"), "{error}");
    // What they meant is no green either.
    let red = json!([
        {"type": "no_event", "topic": "build.*"}, {"type": "no_event", "topic": "*"},
        {"type": "no_event", "topic": "**.task"}, {"type": "event_count", "topic": "build.**", "max": 0},
    ]);
    assert_eq!(bed.holds("w", red).await, [false; 4]);
}

#[tokio::test]
async fn v9_a_topic_that_cannot_occur_is_warned_about() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    let typo = json!([{"type": "no_event", "topic": "bulid.task"}]);
    let result = bed.run("w", whole_run(), json!({"repeat": 2, "assertions": typo})).await;
    let told = "assertions[0] (no_event): bulid.task is outside the topology: no hat listens to it or publishes it; \
                did you mean build.task?";
    assert!(texts(&result["warnings"]).contains(told), "{result:#}");
    let assertions = json!([
        {"type": "no_event", "topic": "bulid.task"},
        {"type": "event_count", "topic": "task.*.done", "max": 0},
        {"type": "event_sequence", "topics": ["task.start", "build.task"]},
        {"type": "no_event", "topic": "event.orphaned"},
        {"type": "no_event", "topic": "build.blocked"},
        {"type": "event_occurred", "topic": "LOOP_COMPLETE"},
    ]);
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    let warnings = texts(&judged["warnings"]);
    assert_eq!(judged["passed"], true, "{judged:#}");
    assert_eq!(warnings.lines().count(), 2, "{warnings}");
    assert!(warnings.contains(told) && warnings.contains("assertions[1]"), "{warnings}");
    let filtered = inspect(&bed, json!({"filter": {"topics": ["bulid.*", "build.*"]}})).await;
    assert!(texts(&filtered["warnings"]).contains("filter.topics: bulid.*"), "{filtered:#}");
    assert_eq!(texts(&filtered["warnings"]).lines().count(), 1);
    // What occurred all the same is no typo.
    bed.run("w", json!([emits("odd.one", "x")]), json!({"max_iterations": 1})).await;
    let odd = json!({"workspace_id": "w", "assertions": [{"type": "event_occurred", "topic": "odd.one"}]});
    let judged = bed.call("test_assert", odd).await;
    assert_eq!(
        (&judged["passed"], &judged["warnings"]),
        (&json!(true), &Value::Null),
        "{judged:#}"
    );
}

#[tokio::test]
async fn v9_a_trigger_that_ralph_takes_literally_is_warned_about() {
    let bed = TestWorkspaces::new();
    let hats =
        json!({"builder": {"triggers": ["build*", "build.**"], "publishes": ["build.done"]}});
    let result =
        bed.call("test_setup", json!({"workspace_id": "w", "config": {"hats": hats}})).await;
    assert_eq!(texts(&result["warnings"]).lines().count(), 2, "{result:#}");
    // And so it is: nobody but the coordinator gets the event.
    bed.run("w", json!([emits("build.task", "x"), {"output": "LOOP_COMPLETE"}]), json!({})).await;
    let records = inspect(&bed, json!({"filter": {"topics": ["build.task"]}})).await;
    assert_eq!(records["records"][0]["data"]["target"], "ralph", "{records:#}");
    assert_eq!(
        bed.holds("w", json!([{"type": "hat_sequence", "hats": ["builder"]}])).await,
        [false]
    );
}

#[tokio::test]
async fn v13_limits_come_from_the_call_then_the_configuration_then_the_default() {
    let bed = TestWorkspaces::new();
    let limit = |value: u64, from: &str| json!({"value": value, "from": from});
    let busy = || {
        let steps = (0..8).map(|n| emits("build.task", &n.to_string()));
        Value::Array(steps.collect())
    };
    let configured = json!({"event_loop": {"max_iterations": 1, "max_runtime_seconds": 77}});
    let made = bed.call("test_setup", json!({"workspace_id": "w", "config": configured})).await;
    assert_eq!(made["limits"]["max_iterations"], limit(1, "configuration"), "{made:#}");
    let result = bed.run("w", busy(), json!({})).await;
    assert_eq!(
        (&result["iterations"], &result["termination_reason"]),
        (&json!(1), &json!("MaxIterations"))
    );
    assert_eq!(
        result["limits"],
        json!({"max_iterations": limit(1, "configuration"), "max_runtime_secs": limit(77, "configuration"),
            "max_consecutive_failures": limit(3, "default")})
    );
    let result = bed.run("w", busy(), json!({"max_iterations": 2, "max_runtime_secs": 60})).await;
    assert_eq!(
        (&result["iterations"], &result["limits"]["max_iterations"]),
        (&json!(2), &limit(2, "call"))
    );
    assert_eq!(result["limits"]["max_runtime_secs"], limit(60, "call"));
    // The project's own file is configuration, and overrides stand above it.
    let file =
        json!({"ralph.yml": "event_loop: {max_iterations: 3, max_consecutive_failures: 9}\n"});
    bed.setup("f", json!({"fixtures": file})).await;
    let result = bed.run("f", busy(), json!({})).await;
    assert_eq!(
        (&result["iterations"], &result["limits"]["max_iterations"]),
        (&json!(3), &limit(3, "configuration"))
    );
    assert_eq!(result["limits"]["max_consecutive_failures"], limit(9, "configuration"));
    bed.setup("d", json!({})).await;
    let result = bed.run("d", busy(), json!({})).await;
    assert_eq!(
        (&result["iterations"], &result["limits"]["max_iterations"]),
        (&json!(5), &limit(5, "default"))
    );
    for bad in [json!("1"), json!(-1), json!(1.5)] {
        let config = json!({"event_loop": {"max_iterations": bad}});
        let error =
            bed.try_call("test_setup", json!({"workspace_id": "x", "config": config})).await;
        assert!(error.unwrap_err().message.contains("max_iterations"), "{bad}");
    }
    let zero = json!({"event_loop": {"max_iterations": 0}});
    let made = bed.call("test_setup", json!({"workspace_id": "z", "config": zero})).await;
    assert!(texts(&made["warnings"]).contains("must be between 1"), "{made:#}");
    let error = bed
        .try_call("test_run", json!({"workspace_id": "z", "task": "t", "mock_responses": busy()}))
        .await
        .unwrap_err();
    assert!(message_and_hints(&error).contains("the configuration says so"), "{error}");
}

#[tokio::test]
async fn v13_a_configured_runtime_ends_the_run() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"config": {"event_loop": {"max_runtime_seconds": 1}}})).await;
    let slow = json!([{"output": "<event topic=\"build.task\">x</event>", "delay_ms": 5000, "files": {"late": "x"}}]);
    let result = bed.run("w", slow, json!({})).await;
    assert_eq!(result["termination_reason"], "MaxRuntime", "{result:#}");
    assert!(
        texts(&result["warnings"]).contains("mock call 1: the run's time was over"),
        "{result:#}"
    );
}

#[tokio::test]
async fn v14_the_patterns_of_a_snapshot_hold_for_both_sides() {
    let bed = TestWorkspaces::new();
    let path = bed
        .setup("w", json!({"fixtures": {"src/a.rs": "a", "docs/a.md": "d", "other.txt": "o"}}))
        .await;
    let take = |include: Value, exclude: Value| {
        bed.call(
            "test_snapshot",
            json!({"workspace_id": "w", "include_patterns": include, "exclude_patterns": exclude, "omit_contents": true}),
        )
    };
    let id = |shot: &Value| shot["snapshot_id"].as_str().unwrap().to_owned();
    let sources = id(&take(json!(["src/**"]), json!([])).await);
    let not_docs = id(&take(json!([]), json!(["docs"])).await);
    let matches = |snapshot: &str| json!([{"type": "snapshot_matches", "snapshot": snapshot}]);
    let diff = |before: &str, after: &str| {
        bed.call(
            "test_diff",
            json!({"workspace_id": "w", "baseline": before, "compare_to": after, "omit_hunks": true}),
        )
    };
    let counts = |diff: &Value| {
        ["changed", "added", "deleted"].map(|name| diff["counts"][name].as_u64().unwrap())
    };
    for snapshot in [&sources, &not_docs] {
        for (before, after) in
            [(&**snapshot, "current"), ("current", &**snapshot), (&**snapshot, "initial")]
        {
            let found = diff(before, after).await;
            assert_eq!(counts(&found), [0, 0, 0], "{before} {after}: {found:#}");
            assert_eq!(found["warnings"], Value::Null, "{found:#}");
        }
        bed.assert("w", matches(snapshot)).await;
    }
    fs::write(path.join("docs/a.md"), "changed").unwrap();
    fs::write(path.join("docs/new.md"), "new").unwrap();
    assert_eq!(counts(&diff(&sources, "current").await), [0, 0, 0]);
    assert_eq!(counts(&diff("initial", "current").await), [1, 1, 0]);
    bed.assert("w", matches(&not_docs)).await;
    fs::write(path.join("src/b.rs"), "b").unwrap();
    fs::remove_file(path.join("src/a.rs")).unwrap();
    assert_eq!(counts(&diff(&sources, "current").await), [0, 1, 1]);
    assert_eq!(bed.holds("w", matches(&sources)).await, [false]);
    // Two snapshots that have no file in common were not compared, and say so.
    let docs = id(&take(json!(["docs/**"]), json!([])).await);
    let found = diff(&sources, &docs).await;
    assert_eq!(counts(&found), [0, 0, 0]);
    assert!(texts(&found["warnings"]).contains("nothing was compared"), "{found:#}");
}

#[tokio::test]
async fn v14_a_snapshot_without_stored_patterns_still_opens() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"fixtures": {"a": "1"}})).await;
    let manifest = bed.folder.path().join("state/w/snapshots/initial.manifest");
    let mut stored: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    assert!(stored.as_object_mut().unwrap().remove("patterns").is_some());
    fs::write(&manifest, stored.to_string()).unwrap();
    bed.assert("w", json!([{"type": "snapshot_matches", "snapshot": "initial"}])).await;
    let diff = bed.call("test_diff", json!({"workspace_id": "w", "baseline": "initial"})).await;
    assert_eq!(diff["counts"], json!({"changed": 0, "added": 0, "deleted": 0}), "{diff:#}");
}

#[tokio::test]
async fn a_file_pattern_that_matches_nothing_is_warned_about_and_a_bad_one_refused() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"fixtures": {"src/a.rs": "a"}})).await;
    let shot = bed
        .call("test_snapshot", json!({"workspace_id": "w", "include_patterns": ["scr/**", "src"]}))
        .await;
    assert_eq!(texts(&shot["warnings"]), "\"the file pattern \\\"scr/**\\\" matches no file\"\n");
    let typo = json!([{"type": "snapshot_matches", "snapshot": "initial", "include_patterns": ["scr/**"]}]);
    let judged = bed.call("test_assert", json!({"workspace_id": "w", "assertions": typo})).await;
    assert_eq!(judged["passed"], true);
    assert!(texts(&judged["warnings"]).contains("assertions[0] (snapshot_matches)"), "{judged:#}");
    for bad in ["src/**x", "[", "{a", "../a", ""] {
        for field in ["include_patterns", "exclude_patterns"] {
            let mut parameters = json!({"workspace_id": "w"});
            parameters[field] = json!([bad]);
            let error = bed.try_call("test_snapshot", parameters).await.unwrap_err();
            assert!(error.message.starts_with(field), "{bad:?} {error}");
            let mut assertion = json!({"type": "snapshot_matches", "snapshot": "initial"});
            assertion[field] = json!([bad]);
            let parameters = json!({"workspace_id": "w", "assertions": [assertion]});
            let error = bed.try_call("test_assert", parameters).await.unwrap_err();
            assert!(error.message.contains("is not a file pattern"), "{bad:?} {error}");
        }
    }
}

#[tokio::test]
async fn the_timeline_honours_the_filter_and_other_formats_refuse_one() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({})).await;
    bed.run("w", whole_run(), json!({})).await;
    let iterations = |answer: &Value| -> Vec<u64> {
        let entries = answer["timeline"].as_array().unwrap().iter();
        entries.map(|entry| entry["iteration"].as_u64().unwrap()).collect()
    };
    let ask = |filter: Value| inspect(&bed, json!({"format": "timeline", "filter": filter}));
    assert_eq!(iterations(&ask(json!({"topics": ["build.done"]})).await), [2, 3]);
    assert_eq!(iterations(&ask(json!({"topics": ["LOOP_COMPLETE"]})).await), [3]);
    assert_eq!(iterations(&ask(json!({"after_iteration": 1, "before_iteration": 3})).await), [2]);
    let none = ask(json!({"topics": ["event.orphaned"]})).await;
    assert_eq!((iterations(&none), &none["total_matched"]), (Vec::new(), &json!(0)));
    for format in ["calls", "output", "coverage", "cassette"] {
        let parameters =
            json!({"workspace_id": "w", "format": format, "filter": {"after_iteration": 1}});
        let error = bed.try_call("test_inspect", parameters).await.unwrap_err();
        assert!(error.message.contains("cannot be filtered"), "{format}: {error}");
    }
}

#[tokio::test]
async fn a_mock_file_that_was_not_written_is_a_warning() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"fixtures": {"a": "a file, no folder"}})).await;
    let responses =
        json!([{"output": "LOOP_COMPLETE", "files": {"a/b": "x", "good": "y", "none": null}}]);
    let result = bed.run("w", responses, json!({})).await;
    let warnings = texts(&result["warnings"]);
    assert!(warnings.contains("mock call 1: the file a/b was not written"), "{result:#}");
    assert!(warnings.contains("mock call 1: the file none was not deleted"), "{result:#}");
    assert!(!warnings.contains("good"), "{warnings}");
}

/// Ralph reserves `task.start`; a hat that listens to it ends the program before its first iteration.
fn reserved_trigger() -> Value {
    json!({"hats": {"planner": {"triggers": ["task.start"], "publishes": ["build.task"]}}})
}

#[tokio::test]
async fn a_startup_error_says_why() {
    let bed = TestWorkspaces::new();
    bed.setup("w", json!({"config": reserved_trigger()})).await;
    let result = bed.run("w", whole_run(), json!({})).await;
    assert_eq!(result["termination_reason"], "StartupError", "{result:#}");
    let detail = result["termination_detail"].as_str().unwrap();
    assert!(
        detail.starts_with("exit code 1; it printed: ") && detail.contains("task.start"),
        "{detail}"
    );
    assert!(result["notice"].is_string());
    let assertions =
        json!([{"type": "no_event", "topic": "build.task"}, {"type": "exit_code", "expected": 0}]);
    let judged =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": assertions})).await;
    assert!(texts(&judged["warnings"]).contains("never began (StartupError)"), "{judged:#}");
    let message = judged["results"][1]["message"].as_str().unwrap();
    assert!(message.contains("reason StartupError") && message.contains("task.start"), "{message}");
}

#[tokio::test]
async fn s10_a_configuration_that_is_no_mapping_is_an_error() {
    let bed = TestWorkspaces::new();
    for (text, why) in [
        ("- a\n", "must be a mapping"),
        ("words\n", "must be a mapping"),
        ("hats: [a]\n", "config.hats"),
    ] {
        let parameters = json!({"workspace_id": "w", "fixtures": {"ralph.yml": text}});
        let error = bed.try_call("test_setup", parameters).await.unwrap_err();
        assert!(error.message.contains(why), "{text:?}: {error}");
        let indented = text.replace('\n', "\\n");
        let written = format!(
            "name: x\nsetup: {{fixtures: {{ralph.yml: \"{indented}\"}}}}\nmock: [{{output: x}}]\nrun: {{task: t}}\n\
             assert: [{{type: exit_code, expected: 0}}]\n"
        );
        let problems = file::read("x.workspace.yaml", &written).unwrap_err();
        assert!(problems[0].message.contains(why) && problems[0].line == 2, "{problems:?}");
    }
    let list = "name: x\nsetup: {config: [a]}\nmock: [{output: x}]\nrun: {task: t}\nassert: [{type: exit_code, expected: 0}]\n";
    assert!(file::read("x", list).unwrap_err()[0].message.contains("config must be a mapping"));
    assert!(bed.tools.workspaces().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_that_passes_brings_its_warnings() {
    let text = "name: x\nmock: [{output: LOOP_COMPLETE, files: {LICENSE/x: y}}]\nsetup: {fixtures: {LICENSE: z}}\n\
                run: {task: t}\nassert: [{type: no_event, topic: bulid.task}]\n";
    let file = file::read("x.workspace.yaml", text).unwrap();
    let bed = TestWorkspaces::new();
    let outcome = file::run(&bed.tools, &file, "x", &CallContext::default()).await.unwrap();
    let warnings = outcome.warnings.join("\n");
    assert!(outcome.passed());
    assert!(warnings.contains("did you mean build.task?"), "{warnings}");
    assert!(warnings.contains("LICENSE/x was not written"), "{warnings}");
}

/// Secrets are masked in sessions and outputs before anything is asserted. That a text is not seen there shows nothing, nor does a match
/// of the mask itself: a program that prints its key would pass for one that hides it.
#[tokio::test]
async fn what_a_mask_may_hide_is_undecided_and_never_green() {
    let secret = "hush-hush-hush-42";
    let bed = TestWorkspaces::with(|config| {
        config.redactor = proctor_redact::Redactor::new([proctor_redact::Secret::new(secret)]);
    });
    let script = format!(
        "#!/bin/sh\necho visible {secret}\necho err {secret} >&2\necho own {secret} '[redacted]' > own.txt\n\
        printf '{{\"topic\":\"a.b\",\"payload\":\"seen {secret}\"}}\\n{{\"topic\":\"{secret}\",\"payload\":\"x\"}}\\n' >> \"$PROCTOR_EVENTS_FILE\"\n"
    );
    bed.setup(
        "w",
        json!({"fixtures": {"loop.sh": script}, "orchestrator": {"kind": "generic", "command": ["./loop.sh"]}}),
    )
    .await;
    bed.run("w", json!([]), json!({})).await;
    let undecided = json!([
        {"type": "stdout_contains", "pattern": secret},
        {"type": "stdout_contains", "pattern": "\\[redacted\\]"},
        {"type": "stdout_contains", "pattern": "visible .*"},
        {"type": "stderr_contains", "pattern": "absent"},
        {"type": "file_not_contains", "path": "session.jsonl", "pattern": secret},
        {"type": "file_not_contains", "path": "./session.jsonl", "pattern": secret},
        {"type": "no_event", "topic": "c.d"},
        {"type": "event_occurred", "topic": "c.d"},
        {"type": "event_occurred", "topic": "a.b", "payload_pattern": secret},
        {"type": "event_count", "topic": "a.b", "exact": 1},
        {"type": "event_count", "topic": "c.d", "max": 0},
        {"type": "event_sequence", "topics": ["a.b", "c.d"]},
    ]);
    let answer =
        bed.call("test_assert", json!({"workspace_id": "w", "assertions": undecided})).await;
    for result in answer["results"].as_array().unwrap() {
        assert_eq!(result["undecided"], true, "{result}");
        assert_eq!(result["passed"], false, "{result}");
        assert!(result["message"].as_str().unwrap().contains("file of its own"), "{result}");
    }
    assert_eq!(answer["passed"], false);
    assert_eq!(answer["failed_count"], 0);
    assert_eq!(answer["undecided_count"], 12);
    // What is visible decides, and so do files, which are kept as they are: a mask in them is the program's own.
    let decided = [
        (json!({"type": "stdout_contains", "pattern": "visible"}), true),
        (json!({"type": "event_occurred", "topic": "a.b", "payload_pattern": "seen"}), true),
        (json!({"type": "no_event", "topic": "a.b"}), false),
        (json!({"type": "event_count", "topic": "a.b", "min": 1}), true),
        (json!({"type": "event_count", "topic": "a.b", "min": 3}), false),
        (json!({"type": "file_not_contains", "path": "own.txt", "pattern": secret}), false),
        (json!({"type": "file_contains", "path": "own.txt", "pattern": "\\[redacted\\]"}), true),
        (json!({"type": "file_not_contains", "path": "own.txt", "pattern": "absent"}), true),
    ];
    for (assertion, holds) in decided {
        let answer =
            bed.call("test_assert", json!({"workspace_id": "w", "assertions": [assertion]})).await;
        let result = &answer["results"][0];
        assert_eq!(result["passed"], holds, "{result}");
        assert_eq!(result["undecided"], Value::Null, "{result}");
    }
}
