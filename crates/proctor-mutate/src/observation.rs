//! What the run of a trial shows: pure, from what the process reported.

use proctor_events::Status;
use proctor_runner::{FailedLoad, ForkedRun};
use serde_json::Value;

use crate::campaign::{KilledBy, Observation};

/// How a trial shows that its code was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The fork says what it did, and reports when the new code is reached or the old one still is.
    Fork,
    /// Nothing is put into force.
    Nothing,
    /// The process from a checkpoint says how loading went, and reports when the file is loaded.
    Checkpoint,
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
        let message = run.problem.clone().unwrap_or_default();
        match run.failed_load {
            Some(FailedLoad::TooLong) => return Some(outside(KilledBy::TimeOut, message)),
            Some(FailedLoad::Ended) => return Some(outside(KilledBy::LoadError, message)),
            None => {}
        }
        let how = run.problem.clone().or_else(|| run.crash.clone());
        return Some(Observation::Broke(how.unwrap_or_else(|| "the process did not start".into())));
    };
    if let Some(reason) = prepared.get("not_prepared").and_then(Value::as_str) {
        return Some(Observation::Broke(reason.to_owned()));
    }
    if let Some(reason) = prepared.get("not_applied").and_then(Value::as_str) {
        return Some(Observation::NotInForce(reason.to_owned()));
    }
    if let Some(error) = prepared.get("load_error") {
        return Some(load_error(error));
    }
    let told = |state: &str| run.notices.iter().any(|it| it["state"] == state);
    let reason = match proof {
        Proof::Fork if told("stale") => "the old code is still called",
        Proof::Fork if !told("reached") => "the changed code was not reached",
        Proof::Checkpoint | Proof::Fresh { substituted: false } if !told("reached") => {
            "the file was not loaded"
        }
        Proof::Nothing | Proof::Fork | Proof::Checkpoint | Proof::Fresh { .. } => return None,
    };
    Some(Observation::NotInForce(reason.to_owned()))
}

/// Noticed by no example.
fn outside(by: KilledBy, message: String) -> Observation {
    Observation::Noticed { by, at: None, message, again: false }
}

/// An error while the suite was loaded, as its worker tells it.
fn load_error(error: &Value) -> Observation {
    let text = |place: &str| error.pointer(place).and_then(Value::as_str).unwrap_or_default();
    let message = [text("/exception/message"), text("/description")];
    let message = message.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
    error_while_loading(text("/exception/class"), message)
}

/// One that says the text is no Ruby is a mistake of the mutant, not a success of the suite.
pub(crate) fn error_while_loading(class: &str, message: &str) -> Observation {
    let message = message.trim();
    if class == "SyntaxError" {
        return Observation::NotInForce(format!("this Ruby does not parse it: {message}"));
    }
    outside(KilledBy::LoadError, format!("{class}: {message}"))
}

fn noticed(run: &ForkedRun, keys: &[String]) -> Option<Observation> {
    let place = |key: &str| keys.iter().position(|it| it == key);
    if let Some(failure) = run.failure() {
        let (by, at) = (KilledBy::Failure, place(&failure.key));
        let message = failure.message.clone();
        return Some(Observation::Noticed { by, at, message, again: false });
    }
    let at = run.open.as_deref().and_then(place);
    if run.timed_out {
        let message = "it did not end within its time limit".to_owned();
        return Some(Observation::Noticed { by: KilledBy::TimeOut, at, message, again: false });
    }
    if let (Some(crash), Some(_)) = (&run.crash, at) {
        let message = crash.clone();
        return Some(Observation::Noticed { by: KilledBy::Crash, at, message, again: false });
    }
    let message = run.outside.first()?.clone();
    Some(outside(KilledBy::OutsideError, message))
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
    fn a_load_from_a_checkpoint_counts_only_if_the_changed_file_was_loaded() {
        let failed = || vec![result("a", Status::Failed)];
        let loaded = observe(&run(failed(), reached()), &keys(), Proof::Checkpoint);
        assert!(matches!(loaded, Observation::Noticed { at: Some(0), .. }), "{loaded:?}");
        let not_loaded = observe(&run(failed(), Vec::new()), &keys(), Proof::Checkpoint);
        assert!(matches!(not_loaded, Observation::NotInForce(_)), "{not_loaded:?}");
        let refused = |class: &str| ForkedRun {
            prepared: Some(
                json!({ "load_error": { "exception": { "class": class, "message": "no" } } }),
            ),
            ..ForkedRun::default()
        };
        let error = observe(&refused("NameError"), &keys(), Proof::Checkpoint);
        let is_load_error = matches!(&error, Observation::Noticed { by: KilledBy::LoadError, at: None, message, .. } if message == "NameError: no");
        assert!(is_load_error, "{error:?}");
        let no_ruby = observe(&refused("SyntaxError"), &keys(), Proof::Checkpoint);
        assert!(matches!(no_ruby, Observation::NotInForce(_)), "{no_ruby:?}");
    }

    #[test]
    fn a_process_that_does_not_get_through_the_load_is_told_from_one_that_was_never_there() {
        let failed = |load| ForkedRun {
            problem: Some("why".to_owned()),
            failed_load: load,
            ..ForkedRun::default()
        };
        let seen = |load| observe(&failed(load), &keys(), Proof::Checkpoint);
        let late = seen(Some(FailedLoad::TooLong));
        assert!(matches!(late, Observation::Noticed { by: KilledBy::TimeOut, .. }), "{late:?}");
        let ended = seen(Some(FailedLoad::Ended));
        assert!(matches!(ended, Observation::Noticed { by: KilledBy::LoadError, .. }), "{ended:?}");
        assert_eq!(seen(None), Observation::Broke("why".to_owned()));
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
