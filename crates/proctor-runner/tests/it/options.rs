//! What a run says of its options, what it refuses to plan, and what its controller knows.

use proctor_runner::{AdaptiveRepeats, RunStatus};
use serde_json::{Value, json};

use crate::harness::{Finished, Harness};

fn exit_code(run: &Finished) -> i32 {
    run.result.verdict.exit_code().unwrap().into()
}

/// Asserts that nothing was run, and returns the error that says why.
fn refusal(run: &Finished) -> String {
    assert!(run.of("ExampleStarted").is_empty());
    assert_eq!(exit_code(run), 2);
    let [error] = run.of("ErrorOutsideExample")[..] else { panic!("{}", run.text()) };
    assert_eq!(error["phase"], "plan");
    error["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn more_attempts_than_fit_one_run_are_refused() {
    let run = Harness::new(&["a", "b"]).options(|options| options.repeats = 500_001).run();
    let message = refusal(&run);
    assert!(
        message.starts_with("2 examples with their repetitions are 1000002 attempts"),
        "{message}"
    );
}

#[test]
fn repetitions_that_no_result_could_decide_on_are_refused() {
    let run = Harness::new(&["a"])
        .options(|options| {
            options.adaptive = Some(AdaptiveRepeats { limit: 5, baseline: None });
        })
        .run();
    let message = refusal(&run);
    assert!(message.starts_with("--repeat auto has nothing to decide by"), "{message}");
}

#[test]
fn repetitions_are_announced_by_the_run_and_by_its_examples() {
    for (repeats, announced) in [(1, Value::Null), (3, json!(3))] {
        let run = Harness::new(&["a"]).options(|options| options.repeats = repeats).run();
        let start = run.of("SuiteStarted")[0];
        assert_eq!((&start["repeats"], &start["repeat_limit"]), (&announced, &Value::Null));
        assert_eq!(start["repetition_count"], repeats);
        let started = run.of("ExampleStarted");
        assert_eq!(started.len(), repeats as usize);
        assert!(started.iter().all(|event| event["repeats"] == announced), "{}", run.text());
    }
}

/// A worker tells the name of an example without one only the first time.
#[test]
fn a_name_that_an_example_gets_while_it_runs_is_kept_for_its_further_attempts() {
    let named = json!({"description": "is big", "full_description": "t is big"});
    let run = Harness::new(&["a"])
        .attempts("a", json!([[{"finish": ["failed", named]}], []]))
        .options(|options| options.retries = 1)
        .run();
    let names: Vec<_> = run
        .of("ExampleFinished")
        .iter()
        .map(|event| (event["description"].clone(), event["full_description"].clone()))
        .collect();
    assert_eq!(names, [(json!("is big"), json!("t is big")), (json!("is big"), json!("t is big"))]);
}

#[test]
fn a_controller_has_a_result_when_the_run_is_over() {
    let harness = Harness::new(&["a", "b"]);
    let go = harness.path("go");
    let harness = harness.attempts("b", json!([[{"wait_for": go}, {"finish": ["failed", {}]}]]));
    let running = harness.start();
    let controller = running.controller.clone();
    running.wait_for("ExampleStarted", 2);
    assert_eq!((controller.result(), controller.status()), (None, RunStatus::Running));
    assert!(controller.start().is_err(), "a run starts once");
    std::fs::write(&go, "").unwrap();
    let run = running.wait();
    assert_eq!(controller.result(), Some(run.result));
    let progress = controller.progress();
    assert_eq!((progress.completed, progress.total, progress.failures), (2, 2, 1));
    assert_eq!((progress.status, controller.status()), (RunStatus::Failed, RunStatus::Failed));
}
