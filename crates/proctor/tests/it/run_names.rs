//! `last`, `last~2`, a tag and the start of an id mean the same run wherever a run is named; and so do the errors.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::past::record;
use crate::wire::Served;

/// Four runs; the second is tagged.
fn four_runs() -> TestEnv {
    let env = TestEnv::new();
    for (run, name) in
        [("0190-a", "one"), ("0190-bcd", "two"), ("0200-c", "three"), ("0210-d", "four")]
    {
        record(&env, run, "./a.rb", &[(name, true, &["passed"])]);
    }
    assert_eq!(env.run(&["runs", "tag", "0190-bcd", "good"]).code, Some(0));
    env
}

/// Ways to name the second run, with the example that only it has.
const NAMES: [&str; 4] = ["last~2", "good", "0190-b", ".proctor/runs/0190-bcd"];

#[test]
fn every_command_that_takes_a_run_takes_its_names() {
    let env = four_runs();
    for name in NAMES {
        for (command, told) in [
            (vec!["show", name], "Cart > two"),
            (vec!["show", name, "two", "--full"], "refund for two"),
            (vec!["show", name, "--search", "refund"], "refund for two"),
            (vec!["show", name, "--markdown", "-"], "1 example"),
            (vec!["show", name, "--junit", "-"], "two"),
            (vec!["show", name, "--json", "-"], "two"),
            (vec!["show", name, "--html", "-"], "refund for two"),
            (vec!["watch", name, "--lines"], "two"),
            (vec!["watch", name, "--format", "json"], "refund for two"),
            (vec!["validate", name], ""),
            (vec!["compare", name, "last", "--format", "json"], "Cart > two"),
            (vec!["compare", "last", name, "--format", "json"], "Cart > two"),
            (vec!["baseline", "bless", name], "blessed 0190-bcd"),
            (vec!["runs", "tag", name, "other"], "0190-bcd: good, other"),
            (vec!["runs", "tag", name, "other", "--remove"], "0190-bcd: good"),
        ] {
            let ran = env.run(&command);
            assert_ne!(ran.code, Some(2), "{command:?}: {}", ran.terminal());
            assert!(ran.stdout.contains(told), "{command:?}: {}", ran.terminal());
        }
        let trajectories = env.run(&["show", name, "--atif", "out"]);
        assert_eq!(trajectories.code, Some(0), "{}", trajectories.terminal());
        assert!(env.read("out/__a_rb-two-1-1.json").contains("refund for two"));
        // These two refuse this run for what it is, having found it.
        let stop = env.run(&["runs", "stop", name]);
        assert!(stop.stderr.contains("0190-bcd is not going on"), "{}", stop.stderr);
        let rejudge = env.run(&["rejudge", name]);
        assert!(
            rejudge.stderr.contains("0190-bcd/events.jsonl holds no conv"),
            "{}",
            rejudge.stderr
        );
    }
}

#[test]
fn names_that_mean_nothing_or_too_much_are_errors_everywhere() {
    let env = four_runs();
    let missing = ["no recording `nobody`", "0210-d"];
    let several = ["matches 0190-bcd, 0190-a", "0190"];
    for (name, told) in
        [("nobody", missing), ("0190", several), ("last~9", ["no recording", "0210-d"])]
    {
        for command in [
            vec!["show", name],
            vec!["watch", name],
            vec!["validate", name],
            vec!["compare", name, "last"],
            vec!["compare", "last", name],
            vec!["baseline", "bless", name],
            vec!["rejudge", name],
            vec!["runs", "tag", name, "x"],
            vec!["runs", "stop", name],
        ] {
            let ran = env.run(&command);
            assert_eq!(ran.code, Some(2), "{command:?}: {}", ran.terminal());
            assert!(
                told.iter().all(|part| ran.stderr.contains(part)),
                "{command:?}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn the_tools_of_agents_take_the_same_names() {
    let env = four_runs();
    let call = |tool: &str, arguments: &Value| env.run(&["tool", tool, &arguments.to_string()]);
    for name in ["last~2", "good", "0190-b"] {
        for (tool, arguments, told) in [
            ("run_status", json!({ "run_id": name }), "0190-b"),
            ("run_wait", json!({ "run_id": name }), "0190-b"),
            ("run_results", json!({ "run_id": name, "statuses": ["all"] }), "Cart > two"),
            ("show_example", json!({ "run_id": name, "example": "two" }), "Cart > two"),
            ("run_compare", json!({ "before": name, "after": "last", "all": true }), "Cart > two"),
            ("run_compare", json!({ "before": "last", "after": name, "all": true }), "Cart > two"),
        ] {
            let ran = call(tool, &arguments);
            assert_eq!(ran.code, Some(0), "{tool} {arguments}: {}", ran.terminal());
            assert!(ran.stdout.contains(told), "{tool} {arguments}: {}", ran.stdout);
        }
        let cancel = call("run_cancel", &json!({ "run_id": name }));
        assert!(cancel.stderr.contains("run 0190-bcd is not live"), "{}", cancel.terminal());
    }
    for tool in ["run_status", "run_wait", "run_results", "run_cancel"] {
        let ran = call(tool, &json!({ "run_id": "0190" }));
        assert!(ran.stderr.contains("`0190` matches 2 runs"), "{tool}: {}", ran.terminal());
    }
    let _ = env.run(&["baseline", "bless", "good"]);
    let judged =
        call("run_compare", &json!({ "before": "baseline", "after": "good", "all": true }));
    let told: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(
        (&told["before"], &told["counts"]["no_change_seen"]),
        (&json!("baseline"), &json!(1))
    );
    let none = call("run_compare", &json!({ "before": "baseline:other" }));
    assert!(none.stderr.contains("no baseline `other`; there are: default"), "{}", none.stderr);
}

#[test]
fn the_server_takes_the_same_names() {
    let env = four_runs();
    let served = Served::start(&env, &[]);
    let get = |path: &str| served.get(path);
    for name in ["last~2", "good", "0190-b"] {
        for (path, told) in [
            (format!("/api/runs/{name}"), "0190-b"),
            (format!("/api/runs/{name}/examples"), "two"),
            (format!("/api/runs/{name}/events"), "refund for two"),
            (format!("/api/runs/{name}/examples/__a_rb-two"), "refund for two"),
            (format!("/api/search?q=refund&run={name}"), "refund for two"),
            (format!("/api/compare?before={name}&after=last"), "Cart > two"),
            (format!("/api/compare?before=last&after={name}"), "Cart > two"),
        ] {
            let (status, body) = get(&path);
            assert!(status == 200 && body.contains(told), "{path}: {status} {body}");
        }
    }
    assert_eq!(get("/api/runs/nobody").0, 404);
    assert_eq!(get("/api/runs/0190").0, 400);
    assert_eq!(get("/api/compare?before=baseline:x&after=last").0, 404);
    served.stop();
}
