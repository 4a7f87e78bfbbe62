//! What the run of a trial shows: pure, from what the process reported.

use proctor_events::Status;
use proctor_runner::ForkedRun;
use serde_json::Value;

use crate::campaign::{KilledBy, Observation};

/// How a trial shows that its code was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The fork says what it did, and reports when the new code is reached or the old one still is.
    Fork,
    /// The file was replaced when the suite was loaded (`substituted`), or while it ran.
    Fresh { substituted: bool },
}

/// Reads the run of `keys`.
pub(crate) fn observe(run: &ForkedRun, keys: &[String], proof: Proof) -> Observation {
    if let Some(reason) = not_in_force(run, proof) {
        return reason;
    }
    if let Some(seen) = noticed(run, keys) {
        return seen;
    }
    let is_passed = |key: &String| {
        run.results.iter().any(|it| it.key == *key && matches!(it.status, Status::Passed))
    };
    match keys.iter().find(|key| !is_passed(key)) {
        None => Observation::Passed,
        Some(key) => Observation::Broke(
            run.problem.clone().unwrap_or_else(|| format!("{key} did not run to its end")),
        ),
    }
}

/// Why the code was not in force, or the process was never there.
fn not_in_force(run: &ForkedRun, proof: Proof) -> Option<Observation> {
    let Some(prepared) = &run.prepared else {
        let how = run.problem.clone().or_else(|| run.crash.clone());
        return Some(Observation::Broke(how.unwrap_or_else(|| "the process did not start".into())));
    };
    if let Some(reason) = prepared.get("not_prepared").and_then(Value::as_str) {
        return Some(Observation::Broke(reason.to_owned()));
    }
    if let Some(reason) = prepared.get("not_applied").and_then(Value::as_str) {
        return Some(Observation::NotInForce(reason.to_owned()));
    }
    let told = |state: &str| run.notices.iter().any(|it| it["state"] == state);
    let reason = match proof {
        Proof::Fork if told("stale") => "the old code is still called",
        Proof::Fork if !told("reached") => "the changed code was not reached",
        Proof::Fresh { substituted: false } if !told("reached") => "the file was not loaded",
        Proof::Fork | Proof::Fresh { .. } => return None,
    };
    Some(Observation::NotInForce(reason.to_owned()))
}

fn noticed(run: &ForkedRun, keys: &[String]) -> Option<Observation> {
    let place = |key: &str| keys.iter().position(|it| it == key);
    if let Some(failure) = run.failure() {
        let (by, at) = (KilledBy::Failure, place(&failure.key));
        return Some(Observation::Noticed { by, at, message: failure.message.clone() });
    }
    let at = run.open.as_deref().and_then(place);
    if run.timed_out {
        let message = "it did not end within its time limit".to_owned();
        return Some(Observation::Noticed { by: KilledBy::TimeOut, at, message });
    }
    if let (Some(crash), Some(_)) = (&run.crash, at) {
        let message = crash.clone();
        return Some(Observation::Noticed { by: KilledBy::Crash, at, message });
    }
    let message = run.outside.first()?.clone();
    Some(Observation::Noticed { by: KilledBy::OutsideError, at: None, message })
}

#[cfg(test)]
mod tests {
    use proctor_runner::ForkedResult;
    use serde_json::json;

    use super::*;

    fn result(key: &str, status: Status) -> ForkedResult {
        ForkedResult { key: key.to_owned(), status, duration_ms: 1.0, message: "no".to_owned() }
    }

    fn run(results: Vec<ForkedResult>, notices: Vec<Value>) -> ForkedRun {
        let prepared = Some(json!({ "applied": "method" }));
        ForkedRun { prepared, results, notices, ..ForkedRun::default() }
    }

    fn keys() -> Vec<String> {
        vec!["a".to_owned(), "b".to_owned()]
    }

    fn reached() -> Vec<Value> {
        vec![json!({ "state": "reached" })]
    }

    #[test]
    fn a_failure_counts_only_if_the_changed_code_was_reached_and_the_old_was_not() {
        let failed = || vec![result("a", Status::Failed)];
        let seen = observe(&run(failed(), reached()), &keys(), Proof::Fork);
        assert!(matches!(seen, Observation::Noticed { by: KilledBy::Failure, at: Some(0), .. }));
        let unreached = observe(&run(failed(), Vec::new()), &keys(), Proof::Fork);
        assert!(matches!(unreached, Observation::NotInForce(_)), "{unreached:?}");
        let mut both = reached();
        both.push(json!({ "state": "stale" }));
        let stale = observe(&run(failed(), both), &keys(), Proof::Fork);
        assert!(matches!(stale, Observation::NotInForce(_)), "{stale:?}");
    }

    #[test]
    fn nothing_that_ran_is_no_pass() {
        let none = observe(&run(Vec::new(), reached()), &keys(), Proof::Fork);
        assert!(matches!(none, Observation::Broke(_)), "{none:?}");
        let half = run(vec![result("a", Status::Passed)], reached());
        assert!(matches!(observe(&half, &keys(), Proof::Fork), Observation::Broke(_)));
        let not_run =
            run(vec![result("a", Status::Passed), result("b", Status::NotRun)], reached());
        assert!(matches!(observe(&not_run, &keys(), Proof::Fork), Observation::Broke(_)));
        let all = run(vec![result("a", Status::Passed), result("b", Status::Passed)], reached());
        assert_eq!(observe(&all, &keys(), Proof::Fork), Observation::Passed);
    }

    #[test]
    fn crashes_and_time_limits_are_told_apart_and_a_dead_start_is_neither() {
        let mut crashed = run(vec![result("a", Status::Passed)], reached());
        (crashed.open, crashed.crash) = (Some("b".to_owned()), Some("exit status 3".to_owned()));
        let seen = observe(&crashed, &keys(), Proof::Fork);
        assert!(matches!(seen, Observation::Noticed { by: KilledBy::Crash, at: Some(1), .. }));
        crashed.timed_out = true;
        let seen = observe(&crashed, &keys(), Proof::Fork);
        assert!(matches!(seen, Observation::Noticed { by: KilledBy::TimeOut, at: Some(1), .. }));
        let dead = ForkedRun { problem: Some("no fork".to_owned()), ..ForkedRun::default() };
        assert_eq!(observe(&dead, &keys(), Proof::Fork), Observation::Broke("no fork".to_owned()));
    }
}
