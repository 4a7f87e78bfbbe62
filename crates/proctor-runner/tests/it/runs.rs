//! What a whole run publishes and comes to, for workers that behave well and for those that do not.

use proctor_runner::{OnCrash, RunStatus};
use proctor_verdict::StopCause;
use serde_json::json;

use crate::harness::{Finished, Harness};

fn exit_code(run: &Finished) -> i32 {
    run.result.verdict.exit_code().unwrap().into()
}

#[test]
fn a_run_publishes_every_step_in_order() {
    let run = Harness::new(&["a", "b"])
        .attempts("b", json!([[
            {"event": ["UserMessage", {"turn_number": 1, "text": "hi"}]},
            {"finish": ["failed", {"exception": {"class": "E", "message": "no", "backtrace": []}, "duration_ms": 2}]}
        ]]))
        .run();
    insta::assert_snapshot!(run.text(), @r#"
    SuiteStarted example_count=2 repetition_count=2
    WorkerStarted @0 generation=1
    ExampleStarted a 1/1 @0
    ExampleFinished a 1/1 @0 status=passed final=true
    ExampleStarted b 1/1 @0
    UserMessage b 1/1 @0 text=hi
    ExampleFinished b 1/1 @0 status=failed final=true
    WorkerExited @0 exit_status=0 generation=1 expected=true
    SuiteFinished example_count=2 failure_count=1 error_count=0 counts={"failed":1,"passed":1} exit_code=1 state=finished verdict=failed repetition_count=2
    "#);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_failed_attempt_is_tried_again_and_the_pass_is_flaky() {
    let harness = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["failed", {}]}], []]))
        .options(|options| options.retries = 2);
    let run = harness.run();
    assert_eq!(run.statuses("a"), ["failed", "passed!"]);
    assert_eq!(run.of("ExampleFinished")[1]["flaky"], true);
    assert_eq!((exit_code(&run), run.result.counts.flaky), (0, 1));
    let strict = harness.options(|options| options.flaky_fails = true).run();
    assert_eq!(exit_code(&strict), 1);
    assert_eq!(strict.result.failed.len(), 1);
}

#[test]
fn retries_end_when_they_are_used_up() {
    let run = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["failed", {}]}]]))
        .options(|options| options.retries = 2)
        .run();
    assert_eq!(run.statuses("a"), ["failed", "failed", "failed!"]);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_crash_costs_the_example_that_ran_and_the_rest_runs_on_a_new_worker() {
    let run =
        Harness::new(&["a", "b"]).attempts("a", json!([[{"print": "last words"}, "abort"]])).run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["crashed!".into()], vec!["passed!".into()])
    );
    let crashed = run.finished("a");
    assert_eq!(crashed["signal"], 6);
    assert_eq!(crashed["output_tail"], json!(["last words"]));
    assert!(crashed["duration_ms"].is_number());
    let generations: Vec<_> =
        run.of("WorkerStarted").iter().map(|event| event["generation"].clone()).collect();
    assert_eq!(generations, [1, 2]);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_crash_may_end_the_run() {
    let run = Harness::new(&["a", "b"])
        .attempts("a", json!([[{"exit": 3}]]))
        .options(|options| options.on_crash = OnCrash::Stop)
        .run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["crashed!".into()], vec!["not_run!".into()])
    );
    assert_eq!(run.finished("a")["exit_status"], 3);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn an_exit_with_success_in_an_example_is_a_crash() {
    let run = Harness::new(&["a", "b"]).attempts("a", json!([[{"exit": 0}]])).run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["crashed!".into()], vec!["passed!".into()])
    );
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_hang_ends_at_the_time_limit() {
    let run = Harness::new(&["a", "b"])
        .attempts("a", json!([[{"print": "here"}, "hang"]]))
        .options(|options| options.timeout = Some(300))
        .run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["timed_out!".into()], vec!["passed!".into()])
    );
    let hung = run.finished("a");
    assert_eq!(hung["output_tail"], json!(["here"]));
    assert!(hung["duration_ms"].as_f64().unwrap() >= 300.0, "{hung}");
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_slow_example_is_named_while_it_runs() {
    let harness = Harness::new(&["a"]);
    let go = harness.path("go");
    let harness = harness
        .attempts("a", json!([[{"wait_for": go}]]))
        .options(|options| options.slow_after = Some(50));
    let running = harness.start();
    running.wait_for("WorkerLog", 1);
    std::fs::write(&go, "").unwrap();
    let run = running.wait();
    let log = run.of("WorkerLog")[0];
    assert!(log["line"].as_str().unwrap().starts_with("still running after"), "{log}");
    assert_eq!(log["example_id"], run.of("ExampleFinished")[0]["example_id"]);
    assert_eq!(run.statuses("a"), ["passed!"]);
}

#[test]
fn an_example_without_a_result_is_errored_as_soon_as_the_worker_goes_on() {
    // Known to be quick, both are given to the worker at once.
    let harness = Harness::new(&["a", "b"]);
    let estimates = std::sync::Arc::new(harness.run().result.durations.clone());
    let run = harness
        .attempts("a", json!([["no_result"]]))
        .options(|options| options.estimates = estimates)
        .run();
    assert_eq!(run.statuses("a"), ["errored!"]);
    assert_eq!(run.statuses("b"), ["passed!"]);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_count_that_is_wrong_runs_nothing() {
    for count in [1, 3] {
        let run = Harness::new(&["a", "b"]).script("count", json!(count)).run();
        assert!(run.of("ExampleStarted").is_empty());
        assert_eq!(exit_code(&run), 2);
        let error = run.of("ErrorOutsideExample")[0];
        let message =
            format!("suite own announced {count} examples, but 2 were listed: nothing was run");
        assert_eq!(error["message"], message);
    }
}

#[test]
fn an_error_while_listing_runs_nothing() {
    let error = json!([{"phase": "load", "description": "cannot be loaded", "file": "./t"}]);
    let run = Harness::new(&["a"]).script("errors", error).run();
    assert!(run.of("ExampleStarted").is_empty());
    assert_eq!(run.of("ErrorOutsideExample")[0]["place"], "./t");
    assert_eq!(exit_code(&run), 2);
}

#[test]
fn what_a_worker_refuses_is_errored() {
    let run = Harness::new(&["a"]).script("refuses_run", json!("not today")).run();
    assert_eq!(run.statuses("a"), ["errored!"]);
    assert!(run.of("ExampleFinished")[0]["message"].as_str().unwrap().contains("not today"));
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_worker_that_accepts_too_few_is_not_believed() {
    let run = Harness::new(&["a", "b"]).script("accepted", json!(0)).run();
    assert_ne!(exit_code(&run), 0);
    assert!(!run.text().contains("verdict=passed"), "{}", run.text());
}

#[test]
fn a_result_of_an_example_that_was_never_listed_fails_the_run() {
    let stray = json!({"type": "event", "event_type": "ExampleFinished", "payload": {"key": "z", "status": "passed"}});
    let run = Harness::new(&["a"]).attempts("a", json!([[{"line": stray.to_string()}]])).run();
    assert_eq!(run.statuses("a"), ["passed!"]);
    let error = run.of("ErrorOutsideExample")[0]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("never listed: z (passed)"), "{error}");
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_second_result_fails_the_run() {
    let run = Harness::new(&["a", "b"])
        .attempts("a", json!([[{"event": ["ExampleFinished", {"status": "passed"}]}, {"finish": ["failed", {}]}]]))
        .run();
    assert_eq!(run.statuses("a"), ["passed!"]);
    assert_eq!(run.of("ErrorOutsideExample").len(), 1, "{}", run.text());
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_malformed_line_is_shown_and_the_example_goes_on() {
    let run = Harness::new(&["a", "b"]).attempts("a", json!([[{"line": "{broken"}]])).run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["passed!".into()], vec!["passed!".into()])
    );
    let lines: Vec<_> = run.of("WorkerLog").iter().map(|event| event["line"].to_string()).collect();
    assert!(lines.iter().any(|line| line.contains("proctor: ")), "{lines:?}");
}

#[test]
fn a_result_lost_in_a_malformed_line_is_errored() {
    let run =
        Harness::new(&["a", "b"]).attempts("a", json!([[{"line": "{broken"}, "no_result"]])).run();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["errored!".into()], vec!["passed!".into()])
    );
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_farewell_with_other_counts_fails_the_run() {
    for name in ["started", "finished", "errors"] {
        let run = Harness::new(&["a"]).script("farewell", json!({name: 7})).run();
        let error = run.of("ErrorOutsideExample")[0]["message"].as_str().unwrap().to_owned();
        assert!(error.contains("sent 7 "), "{error}");
        assert_eq!(exit_code(&run), 1);
    }
    let right = Harness::new(&["a"])
        .script("farewell", json!({"started": 1, "finished": 1, "errors": 0}))
        .run();
    assert_eq!((exit_code(&right), right.of("ErrorOutsideExample").len()), (0, 0));
}

/// Workers of this library always reply; of others nobody knows.
#[test]
fn a_worker_of_another_kind_may_end_without_a_reply() {
    let run = Harness::new(&["a"]).script("ends_without_reply", json!(true)).run();
    assert_eq!(run.statuses("a"), ["passed!"]);
    assert_eq!((exit_code(&run), run.of("ErrorOutsideExample").len()), (0, 0), "{}", run.text());
}

#[test]
fn events_belong_to_the_attempt_that_sent_them() {
    let said = json!({"turn_number": 1, "text": "hi"});
    let run = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["failed", {}]}], [{"event": ["UserMessage", said]}]]))
        .options(|options| options.retries = 1)
        .run();
    let message = run.of("UserMessage")[0];
    assert_eq!((&message["repeat"], &message["attempt"]), (&json!(1), &json!(2)));
}

#[test]
fn failures_up_to_the_limit_end_the_run() {
    let run = Harness::new(&["a", "b", "c"])
        .attempts("a", json!([[{"finish": ["failed", {}]}]]))
        .options(|options| options.fail_fast = Some(1))
        .run();
    assert_eq!(run.statuses("a"), ["failed!"]);
    assert_eq!(
        (run.statuses("b"), run.statuses("c")),
        (vec!["not_run!".into()], vec!["not_run!".into()])
    );
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_stop_lets_the_rest_go_and_says_what_stopped_it() {
    for (cause, kill, code) in [
        (StopCause::Request, false, 130),
        (StopCause::Signal(15), true, 143),
        (StopCause::TimeLimit, false, 130),
    ] {
        let harness = Harness::new(&["a", "b"]).attempts("a", json!([["hang"]]));
        let running = harness.start();
        running.wait_for("ExampleStarted", 1);
        if kill {
            running.controller.kill(cause);
        } else {
            running.controller.cancel(cause);
        }
        let run = running.wait();
        assert_eq!(
            (run.statuses("a"), run.statuses("b")),
            (vec!["cancelled!".into()], vec!["not_run!".into()])
        );
        assert_eq!((run.result.status, exit_code(&run)), (RunStatus::Cancelled, code));
        let end = run.of("SuiteFinished")[0];
        assert_eq!((end["exit_code"].as_i64(), end["verdict"].as_str()), (Some(code.into()), None));
    }
}

#[test]
fn a_stop_grants_a_running_example_its_grace() {
    let harness = Harness::new(&["a", "b"]);
    let go = harness.path("go");
    let harness = harness
        .attempts("a", json!([[{"wait_for": go}]]))
        .options(|options| options.grace = 60_000);
    let running = harness.start();
    running.wait_for("ExampleStarted", 1);
    running.controller.cancel(StopCause::Request);
    std::fs::write(&go, "").unwrap();
    let run = running.wait();
    assert_eq!(
        (run.statuses("a"), run.statuses("b")),
        (vec!["passed!".into()], vec!["not_run!".into()])
    );
    assert_eq!(exit_code(&run), 130);
}

#[test]
fn every_repetition_is_run_and_retried_by_itself() {
    let run = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["failed", {}]}], []]))
        .options(|options| {
            options.repeats = 3;
            options.retries = 1;
        })
        .run();
    assert_eq!(run.statuses("a").len(), 6);
    let finals: Vec<_> = run
        .of("ExampleFinished")
        .iter()
        .filter(|event| event["final"] == true)
        .map(|event| (event["repeat"].clone(), event["attempt"].clone(), event["status"].clone()))
        .collect();
    assert_eq!(finals.len(), 3);
    assert!(finals.iter().all(|(_, attempt, status)| *attempt == 2 && *status == "passed"));
    let end = run.of("SuiteFinished")[0];
    assert_eq!(
        (end["example_count"].as_u64(), end["repetition_count"].as_u64()),
        (Some(1), Some(3))
    );
    let progress = run.of("Progress");
    let last = progress.last().unwrap();
    assert_eq!((last["completed"].as_u64(), last["total"].as_u64()), (Some(3), Some(3)));
}

#[test]
fn workers_that_cannot_start_again_end_the_run_without_green() {
    let run = Harness::new(&["a", "b", "c"])
        .attempts("a", json!([["abort"]]))
        .script("later_generations_die", json!(true))
        .run();
    assert_eq!(run.statuses("a"), ["crashed!"]);
    for key in ["b", "c"] {
        assert_ne!(run.statuses(key), ["passed!"], "{}", run.text());
    }
    assert_eq!(run.of("ExampleFinished").iter().filter(|event| event["final"] == true).count(), 3);
    assert_eq!(exit_code(&run), 1);
}

#[test]
fn a_worker_is_replaced_after_its_share() {
    let run =
        Harness::new(&["a", "b", "c"]).options(|options| options.max_per_worker = Some(1)).run();
    assert_eq!(exit_code(&run), 0, "{}", run.text());
    assert_eq!(run.of("WorkerStarted").len(), 3);
    assert!(run.of("WorkerExited").iter().all(|event| event["expected"] == true));
}

#[test]
fn suites_side_by_side_keep_their_examples_apart() {
    let mut harness = Harness::new(&["a", "b"]);
    harness.suites = 2;
    let run = harness.run();
    assert_eq!(exit_code(&run), 0, "{}", run.text());
    assert_eq!(run.of("ExampleFinished").len(), 4);
    let mut pairs: Vec<_> = run
        .of("ExampleStarted")
        .iter()
        .map(|event| (event["suite"].as_str().unwrap(), event["worker"].as_u64().unwrap()))
        .collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [("own", 0), ("own", 0), ("own 1", 1), ("own 1", 1)]);
}

#[test]
fn nothing_to_run_is_no_success_unless_allowed() {
    let run = Harness::new(&[]).run();
    assert_eq!((exit_code(&run), run.result.status), (2, RunStatus::Failed));
    assert!(run.result.problem.is_some());
    let allowed = Harness::new(&[]).options(|options| options.allow_empty = true).run();
    assert_eq!((exit_code(&allowed), allowed.result.status), (0, RunStatus::Completed));
}

#[test]
fn statuses_other_than_passed_are_decided_by_the_options() {
    let inconclusive = || {
        Harness::new(&["a"])
            .attempts("a", json!([[{"finish": ["inconclusive", {"fault": "judge"}]}]]))
    };
    assert_eq!(exit_code(&inconclusive().run()), 1);
    let relaxed = inconclusive().options(|options| options.inconclusive_fails = false).run();
    assert_eq!(exit_code(&relaxed), 0);
    let pending = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["pending", {"message": "later"}]}]]))
        .run();
    assert_eq!((exit_code(&pending), pending.result.counts.pending), (0, 1));
    let unchecked =
        || Harness::new(&["a"]).attempts("a", json!([[{"finish": ["passed", {"checks": 0}]}]]));
    assert_eq!(exit_code(&unchecked().run()), 0);
    assert_eq!(exit_code(&unchecked().options(|options| options.unchecked_fails = true).run()), 1);
}

#[test]
fn an_error_outside_examples_fails_the_run() {
    let run = Harness::new(&["a"])
        .attempts(
            "a",
            json!([[{"event": ["ErrorOutsideExample", {"phase": "hook", "message": "broken"}]}]]),
        )
        .run();
    assert_eq!(run.statuses("a"), ["passed!"]);
    assert_eq!((exit_code(&run), run.result.counts.errors), (1, 1));
    assert_eq!(run.of("SuiteFinished")[0]["error_count"], 1);
}

#[test]
fn durations_are_kept_for_the_next_run_and_decide_the_order() {
    let harness = Harness::new(&["a", "b"])
        .attempts("b", json!([[{"finish": ["passed", {"duration_ms": 70.5}]}]]));
    let first = harness.run();
    let mut durations: Vec<f64> = first.result.durations.values().copied().collect();
    durations.sort_unstable_by(f64::total_cmp);
    assert_eq!(durations, [1.5, 70.5]);
    let started = |run: &Finished| -> Vec<String> {
        let names = run.of("ExampleStarted").into_iter();
        names.map(|event| event["path"][1].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(started(&first), ["a", "b"]);
    let estimates = std::sync::Arc::new(first.result.durations.clone());
    let second = harness.options(|options| options.estimates = estimates).run();
    assert_eq!(started(&second), ["b", "a"]);
}

#[test]
fn output_belongs_to_the_attempt_that_printed_it() {
    let run = Harness::new(&["a"])
        .attempts(
            "a",
            json!([[{"print": "first"}, {"finish": ["failed", {}]}], [{"warn": "second"}]]),
        )
        .options(|options| options.retries = 1)
        .run();
    let mut logs: Vec<_> = run
        .of("WorkerLog")
        .iter()
        .map(|event| {
            (
                event["line"].as_str().unwrap(),
                event["stream"].as_str().unwrap(),
                event["attempt"].as_u64(),
            )
        })
        .collect();
    // The two streams are read apart from each other.
    logs.sort_unstable();
    assert_eq!(logs, [("first", "stdout", Some(1)), ("second", "stderr", Some(2))]);
}

#[test]
fn many_examples_over_many_workers_are_each_reported_once() {
    let keys: Vec<String> = (0..300).map(|number| format!("e{number}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let run = Harness::new(&keys)
        .attempts("e7", json!([["abort"], []]))
        .attempts("e77", json!([[{"finish": ["failed", {}]}]]))
        .script("gives_back", json!(true))
        .options(|options| {
            options.workers = 4;
            options.retries = 1;
        })
        .run();
    let finals = run.of("ExampleFinished").into_iter().filter(|event| event["final"] == true);
    let ids: std::collections::BTreeSet<_> =
        finals.map(|event| event["example_id"].to_string()).collect();
    assert_eq!(ids.len(), 300);
    assert_eq!(run.result.counts.examples, 300);
    assert_eq!((run.result.counts.passed, run.result.counts.failed), (299, 1));
    let starts = run.of("ExampleStarted").len();
    assert_eq!(starts, run.of("ExampleFinished").len());
    assert_eq!(exit_code(&run), 1);
}
