//! What follows from reports: rounds of repetitions, pass rates, and the events of errors. No dispatcher and no worker.

use std::sync::{Arc, Mutex};

use proctor_events::{BoxedError, Bus, BusConfig, Published, Recorder, RunId, Status, Timestamp};
use serde_json::Value;

use super::super::AdaptiveRepeats;
use super::super::execute::set_repeats;
use super::*;
use crate::example::{Listed, Register};

#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Value>>>);

impl Recorder for Collector {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        for event in batch {
            self.0.lock().unwrap().push(serde_json::from_str(event.json())?);
        }
        Ok(())
    }
}

impl Collector {
    /// The only event of an error outside examples.
    fn error(&self) -> Value {
        let events = self.0.lock().unwrap();
        let mut errors = events.iter().filter(|event| event["event_type"] == "ErrorOutsideExample");
        let error = errors.next().expect("an error").clone();
        assert_eq!(errors.next(), None);
        error
    }
}

/// The tracker of a run of one example.
fn tracker(pass_rate: Option<f64>, options: &RunOptions) -> (JobTracker, Collector) {
    let bus = Bus::new(BusConfig {
        run_id: RunId::new("tracked"),
        clock: Box::new(Timestamp::now),
        on_warning: Box::new(|warning| panic!("{warning:?}")),
    });
    let collected = Collector::default();
    bus.add_recorder(collected.clone());
    let mut register = Register::default();
    let listed = serde_json::json!({"key": "a", "file": "./t", "path": ["t", "a"]});
    register.add("fixture", serde_json::from_value::<Listed>(listed).unwrap());
    let mut examples = register.examples;
    examples[0].pass_rate = pass_rate;
    let planner = set_repeats(&mut examples, options);
    let planned = Planned { examples, planner };
    let (tracker, _) = JobTracker::plan(planned, options, 1, Publisher::new(bus));
    (tracker, collected)
}

fn adaptive() -> RunOptions {
    let adaptive = Some(AdaptiveRepeats { limit: 20, baseline: None });
    RunOptions { adaptive, ..RunOptions::default() }
}

fn report(tracker: &mut JobTracker, job: u32, status: Status) {
    let outcome = ExampleFinished { status, r#final: Some(true), ..ExampleFinished::default() };
    tracker.report(Assigned { job: JobId(job), attempt: 1 }, Some(0), outcome);
}

fn adds_one(follow_up: Option<Input>) -> bool {
    matches!(follow_up, Some(Input::AddJobs { jobs }) if jobs.len() == 1)
}

#[test]
fn a_round_follows_when_everything_of_the_round_before_has_ended() {
    let (mut tracker, _) = tracker(Some(0.5), &adaptive());
    // Seven passes show that a rate of one half is reached.
    for job in 0..7 {
        assert_eq!(tracker.next_follow_up(false), None, "job {job} has no result yet");
        report(&mut tracker, job, Status::Passed);
        assert!(job == 6 || adds_one(tracker.next_follow_up(false)), "after job {job}");
    }
    assert_eq!(tracker.next_follow_up(false), Some(Input::NoMoreJobs));
    assert_eq!(tracker.next_follow_up(false), None, "it is said once");
}

#[test]
fn a_rate_that_is_missed_is_told_before_the_end_of_the_plan() {
    let (mut tracker, _) = tracker(Some(0.8), &adaptive());
    for job in 0..3 {
        report(&mut tracker, job, Status::Failed);
        assert!(job == 2 || adds_one(tracker.next_follow_up(false)), "after job {job}");
    }
    let told: Vec<Option<Input>> = (0..3).map(|_| tracker.next_follow_up(false)).collect();
    assert_eq!(told, [Some(Input::RateMissed), Some(Input::NoMoreJobs), None]);
}

#[test]
fn a_run_that_stops_gets_no_further_round() {
    let (mut tracker, _) = tracker(Some(0.5), &adaptive());
    report(&mut tracker, 0, Status::Passed);
    // What was shown is too little, and that is a failure of the example.
    let told: Vec<Option<Input>> = (0..2).map(|_| tracker.next_follow_up(true)).collect();
    assert_eq!(told, [Some(Input::NoMoreJobs), None]);
}

#[test]
fn nothing_follows_from_the_results_of_an_example_without_a_pass_rate() {
    for status in [Status::Passed, Status::Failed] {
        let (mut tracker, _) = tracker(None, &RunOptions::default());
        report(&mut tracker, 0, status);
        assert_eq!(tracker.next_follow_up(false), None);
    }
}

#[test]
fn repetitions_that_cannot_change_a_rate_any_more_are_skipped() {
    let options = RunOptions { repeats: 5, ..RunOptions::default() };
    let (mut tracker, _) = tracker(Some(0.6), &options);
    for job in 0..3 {
        assert_eq!(tracker.next_follow_up(false), None);
        report(&mut tracker, job, Status::Passed);
    }
    let Some(Input::Skip { jobs, why }) = tracker.next_follow_up(false) else { panic!("no skip") };
    assert_eq!(jobs, [0, 1, 2, 3, 4].map(JobId));
    assert!(why.starts_with("the pass rate of 60% is reached"), "{why}");
}

#[test]
fn the_attempt_of_a_job_is_the_last_one_that_was_announced() {
    let (mut tracker, _) = tracker(None, &RunOptions::default());
    assert_eq!(tracker.current_attempt(JobId(0)), 1);
    tracker.announce(Assigned { job: JobId(0), attempt: 2 }, Some(0));
    assert_eq!(tracker.current_attempt(JobId(0)), 2);
}

#[test]
fn a_worker_that_was_lost_is_an_error_with_the_place_where_it_hung() {
    let (mut tracker, collected) = tracker(None, &RunOptions::default());
    let exit = Exit { backtrace: vec!["a.rb:1".to_owned()], ..Exit::default() };
    tracker.lost(3, "it hung".to_owned(), exit);
    tracker.publisher.flush();
    let error = collected.error();
    assert_eq!((&error["phase"], &error["place"]), (&"worker".into(), &"worker 3".into()));
    assert_eq!(error["message"], "it hung");
    assert_eq!(error["exception"]["message"], "it hung");
    assert_eq!(error["exception"]["backtrace"], serde_json::json!(["a.rb:1"]));
}

#[test]
fn a_run_whose_results_are_not_complete_says_so_and_is_not_passed() {
    let options = RunOptions::default();
    let (mut tracker, collected) = tracker(None, &options);
    let (facts, verdict) =
        tracker.conclude(true, None, options.verdict_policy(), Duration::from_secs(1));
    assert!(!facts.accounted && !verdict.is_passed());
    let error = collected.error();
    assert_eq!(error["phase"], "accounting");
    let message = "1 results were to come, but 0 came; this is a bug in proctor";
    assert_eq!(error["message"], message);
}
