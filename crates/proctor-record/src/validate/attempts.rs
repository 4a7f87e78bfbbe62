//! The life of examples within one run: every attempt begins once, ends once, and one of them is final.

use std::collections::HashMap;

use proctor_events::{Event, ExampleFinished, ExampleId, ExampleStarted, Status};
use proctor_verdict::AttemptNumber;

use super::Findings;

/// An attempt. Events of older writers may name no example.
type Key = (Option<ExampleId>, AttemptNumber);

/// All attempts of a run.
#[derive(Debug, Default)]
pub(super) struct CheckedAttempts {
    attempts: HashMap<Key, CheckedAttempt>,
    /// Final results by example and repetition: the line of each.
    finals: HashMap<(Option<ExampleId>, u32), u64>,
    /// What each id stands for: file and path, as one text, from the first event that says so.
    names: HashMap<ExampleId, String>,
}

#[derive(Debug, Default)]
struct CheckedAttempt {
    started: Option<u64>,
    finished: Option<u64>,
}

fn key(event: &Event) -> Key {
    (event.example_id.clone(), AttemptNumber::of(event))
}

fn attempt_text((id, AttemptNumber { repeat, attempt }): &Key) -> String {
    let id = id.as_ref().map_or_else(|| "without id".to_owned(), ToString::to_string);
    format!("example {id}, repetition {repeat}, attempt {attempt}")
}

/// The repetition that an attempt belongs to.
fn repetition(key: &Key) -> (Option<ExampleId>, u32) {
    (key.0.clone(), key.1.repeat)
}

/// Another attempt at the same repetition.
fn other_attempt(key: &Key, attempt: u32) -> Key {
    (key.0.clone(), AttemptNumber { attempt, ..key.1 })
}

impl CheckedAttempts {
    /// Takes a start. False if it cannot be one.
    pub(super) fn started(
        &mut self,
        line: u64,
        event: &Event,
        payload: &ExampleStarted,
        findings: &mut Findings,
    ) -> bool {
        let key = key(event);
        let mut right =
            self.check_name(line, event, payload.file.as_deref(), &payload.path, findings);
        let mut fail = |message: String| {
            findings.error(Some(line), message);
            right = false;
        };
        match self.attempts.get(&key) {
            Some(CheckedAttempt { finished: Some(earlier), .. }) => fail(format!(
                "starts {} again, which line {earlier} ended: two examples have this id, or lines are repeated",
                attempt_text(&key)
            )),
            Some(CheckedAttempt { started: Some(earlier), .. }) => {
                fail(format!("starts again, without an end, what line {earlier} started"));
            }
            _ => {}
        }
        let number = key.1.attempt;
        let before = other_attempt(&key, number.saturating_sub(1));
        if let Some(earlier) = self.finals.get(&repetition(&key)) {
            fail(format!("starts {} after its final result in line {earlier}", attempt_text(&key)));
        } else if number > 1 && self.attempts.get(&before).is_none_or(|it| it.finished.is_none()) {
            fail(format!("starts {} before the attempt before it has ended", attempt_text(&key)));
        }
        self.attempts.entry(key).or_default().started.get_or_insert(line);
        right
    }

    /// One id stands for one example.
    fn check_name(
        &mut self,
        line: u64,
        event: &Event,
        file: Option<&str>,
        path: &[String],
        findings: &mut Findings,
    ) -> bool {
        let Some(id) = &event.example_id else { return true };
        if path.is_empty() {
            return true;
        }
        let name = format!("{}::{}", file.unwrap_or_default(), path.join(" > "));
        let known = self.names.entry(id.clone()).or_insert_with(|| name.clone());
        if *known == name {
            return true;
        }
        findings.error(Some(line), format!("the id {id} stands for `{known}` and for `{name}`"));
        false
    }

    /// Takes an end. False if it cannot be one. `strict`: the writer is known to tell every start.
    pub(super) fn finished(
        &mut self,
        line: u64,
        event: &Event,
        payload: &ExampleFinished,
        strict: bool,
        findings: &mut Findings,
    ) -> bool {
        let key = key(event);
        let path = payload.path.as_deref().unwrap_or_default();
        let mut right = self.check_name(line, event, payload.file.as_deref(), path, findings);
        let mut fail = |message: String| {
            findings.error(Some(line), message);
            right = false;
        };
        let attempt = self.attempts.entry(key.clone()).or_default();
        if let Some(earlier) = attempt.finished {
            fail(format!("ends {} again, which line {earlier} ended", attempt_text(&key)));
        } else if strict && attempt.started.is_none() && !needs_no_start(payload) {
            fail(format!("ends {}, which never started", attempt_text(&key)));
        } else if attempt.started.is_some() && payload.status == Status::NotRun {
            fail(format!("says that {} was not run, but it was started", attempt_text(&key)));
        } else if payload.status == Status::Passed && payload.r#final == Some(false) {
            fail(format!(
                "{} passed, and is not final: nobody tries again what passed",
                attempt_text(&key)
            ));
        }
        attempt.finished.get_or_insert(line);
        if payload.r#final.unwrap_or(true)
            && let Some(earlier) = self.finals.insert(repetition(&key), line)
            && right
        {
            findings.error(
                Some(line),
                format!(
                    "is a second final result; the first of {} is in line {earlier}",
                    attempt_text(&key)
                ),
            );
            right = false;
        }
        right
    }

    /// Checks that an event about an example comes while an attempt runs. False if not.
    pub(super) fn check_running(&self, line: u64, event: &Event, findings: &mut Findings) -> bool {
        let key = key(event);
        let message = match self.attempts.get(&key) {
            Some(CheckedAttempt { started: Some(_), finished: None }) => return true,
            Some(CheckedAttempt { finished: Some(end), .. }) => {
                format!(
                    "{} about {}, which line {end} ended",
                    event.type_name(),
                    attempt_text(&key)
                )
            }
            _ => format!("{} about {}, which never started", event.type_name(), attempt_text(&key)),
        };
        findings.error(Some(line), message);
        false
    }

    /// How many final results there are.
    pub(super) fn final_count(&self) -> u64 {
        self.finals.len() as u64
    }

    /// How many attempts have begun and not ended.
    pub(super) fn open_count(&self) -> usize {
        self.attempts.values().filter(|attempt| attempt.finished.is_none()).count()
    }

    /// What the end of a run leaves open: the line of the start and what is missing, in order.
    pub(super) fn left_open(&self) -> Vec<(u64, String)> {
        let missing = |(key, attempt): (&Key, &CheckedAttempt)| {
            let next = other_attempt(key, key.1.attempt.saturating_add(1));
            let final_there = self.finals.contains_key(&repetition(key));
            match (attempt.started, attempt.finished) {
                (Some(line), None) => Some((line, format!("{} never finished", attempt_text(key)))),
                (_, Some(line)) if !final_there && !self.attempts.contains_key(&next) => {
                    Some((line, format!("{} is the last one, and not final", attempt_text(key))))
                }
                _ => None,
            }
        };
        let mut open: Vec<(u64, String)> = self.attempts.iter().filter_map(missing).collect();
        open.sort();
        open
    }
}

/// Whether an attempt may end without having started: it was left out, and is described here instead.
fn needs_no_start(payload: &ExampleFinished) -> bool {
    payload.description.is_some() || payload.path.is_some()
}
