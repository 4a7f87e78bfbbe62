//! The life of examples within one run: every attempt begins once, ends once, and one of them is final.

use std::collections::VecDeque;

use proctor_events::{Event, ExampleFinished, ExampleId, ExampleStarted, Status};
use proctor_verdict::AttemptNumber;

use super::{FastMap, Findings};

/// An attempt: the number of its example in [`ExampleNumbers`], and which attempt at it.
type Key = (u32, AttemptNumber);

/// All attempts of a run.
#[derive(Debug, Default)]
pub(super) struct CheckedAttempts {
    examples: ExampleNumbers,
    attempts: FastMap<Key, CheckedAttempt>,
    /// Final results by example and repetition: the line of each.
    finals: FastMap<(u32, u32), u64>,
    recent: RecentAttempts,
}

/// The attempts that started last and still run. Nearly every event is about one of them, and is settled without looking it up among all
/// examples of the run.
#[derive(Debug, Default)]
struct RecentAttempts(VecDeque<(Option<ExampleId>, AttemptNumber)>);

/// More than there are workers on most machines; looking through them takes less time than one place in memory that is not at hand.
const MOST_RECENT: usize = 16;

impl RecentAttempts {
    fn add(&mut self, event: &Event) {
        self.0.truncate(MOST_RECENT - 1);
        self.0.push_front((event.example_id.clone(), AttemptNumber::of(event)));
    }

    fn remove(&mut self, event: &Event) {
        let number = AttemptNumber::of(event);
        self.0.retain(|(id, attempt)| *attempt != number || *id != event.example_id);
    }

    fn has(&self, event: &Event) -> bool {
        let number = AttemptNumber::of(event);
        self.0.iter().any(|(id, attempt)| *attempt == number && *id == event.example_id)
    }
}

/// The examples of a run, numbered in order of appearance. Events of older writers may name no example; that is one as well.
#[derive(Debug, Default)]
struct ExampleNumbers {
    numbers: FastMap<Option<ExampleId>, u32>,
    examples: Vec<NamedExample>,
}

#[derive(Debug)]
struct NamedExample {
    id: Option<ExampleId>,
    /// What the id stands for: file and path, as one text, from the first event that says so.
    name: Option<String>,
}

#[derive(Debug, Default)]
struct CheckedAttempt {
    started: Option<u64>,
    finished: Option<u64>,
}

/// The repetition that an attempt belongs to.
fn repetition(key: Key) -> (u32, u32) {
    (key.0, key.1.repeat)
}

/// Another attempt at the same repetition.
fn other_attempt(key: Key, attempt: u32) -> Key {
    (key.0, AttemptNumber { attempt, ..key.1 })
}

impl ExampleNumbers {
    fn key(&mut self, event: &Event) -> Key {
        let id = &event.example_id;
        let number = self.numbers.get(id).copied().unwrap_or_else(|| {
            let number = u32::try_from(self.examples.len()).unwrap_or(u32::MAX);
            self.numbers.insert(id.clone(), number);
            self.examples.push(NamedExample { id: id.clone(), name: None });
            number
        });
        (number, AttemptNumber::of(event))
    }

    fn text(&self, (example, AttemptNumber { repeat, attempt }): Key) -> String {
        let id = self.examples.get(example as usize).and_then(|example| example.id.as_ref());
        let id = id.map_or_else(|| "without id".to_owned(), ToString::to_string);
        format!("example {id}, repetition {repeat}, attempt {attempt}")
    }

    /// One id stands for one example.
    fn check_name(
        &mut self,
        line: u64,
        key: Key,
        file: Option<&str>,
        path: &[String],
        findings: &mut Findings,
    ) -> bool {
        let Some(NamedExample { id: Some(id), name }) = self.examples.get_mut(key.0 as usize)
        else {
            return true;
        };
        let file = file.unwrap_or_default();
        if path.is_empty() || name.as_ref().is_some_and(|name| is_name(name, file, path)) {
            return true;
        }
        let new = format!("{file}::{}", path.join(" > "));
        let Some(known) = name else {
            *name = Some(new);
            return true;
        };
        findings.error(Some(line), format!("the id {id} stands for `{known}` and for `{new}`"));
        false
    }
}

/// Whether a name is that of this file and path.
fn is_name(name: &str, file: &str, path: &[String]) -> bool {
    let rest = name.strip_prefix(file).and_then(|rest| rest.strip_prefix("::"));
    let Some(mut rest) = rest else { return false };
    for (place, part) in path.iter().enumerate() {
        let separator = if place == 0 { "" } else { " > " };
        let after = rest.strip_prefix(separator).and_then(|rest| rest.strip_prefix(part.as_str()));
        let Some(after) = after else { return false };
        rest = after;
    }
    rest.is_empty()
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
        let key = self.examples.key(event);
        let file = payload.file.as_deref();
        let mut right = self.examples.check_name(line, key, file, &payload.path, findings);
        let text = || self.examples.text(key);
        let mut fail = |message: String| {
            findings.error(Some(line), message);
            right = false;
        };
        match self.attempts.get(&key) {
            Some(CheckedAttempt { finished: Some(earlier), .. }) => fail(format!(
                "starts {} again, which line {earlier} ended: two examples have this id, or lines are repeated",
                text()
            )),
            Some(CheckedAttempt { started: Some(earlier), .. }) => {
                fail(format!("starts again, without an end, what line {earlier} started"));
            }
            _ => {}
        }
        let number = key.1.attempt;
        let before = other_attempt(key, number.saturating_sub(1));
        if let Some(earlier) = self.finals.get(&repetition(key)) {
            fail(format!("starts {} after its final result in line {earlier}", text()));
        } else if number > 1 && self.attempts.get(&before).is_none_or(|it| it.finished.is_none()) {
            fail(format!("starts {} before the attempt before it has ended", text()));
        }
        let attempt = self.attempts.entry(key).or_default();
        attempt.started.get_or_insert(line);
        if attempt.finished.is_none() {
            self.recent.add(event);
        }
        right
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
        let key = self.examples.key(event);
        let path = payload.path.as_deref().unwrap_or_default();
        let file = payload.file.as_deref();
        let mut right = self.examples.check_name(line, key, file, path, findings);
        let text = || self.examples.text(key);
        let mut fail = |message: String| {
            findings.error(Some(line), message);
            right = false;
        };
        let attempt = self.attempts.entry(key).or_default();
        if let Some(earlier) = attempt.finished {
            fail(format!("ends {} again, which line {earlier} ended", text()));
        } else if strict && attempt.started.is_none() && !needs_no_start(payload) {
            fail(format!("ends {}, which never started", text()));
        } else if attempt.started.is_some() && payload.status == Status::NotRun {
            fail(format!("says that {} was not run, but it was started", text()));
        } else if payload.status == Status::Passed && payload.r#final == Some(false) {
            fail(format!("{} passed, and is not final: nobody tries again what passed", text()));
        }
        attempt.finished.get_or_insert(line);
        self.recent.remove(event);
        if payload.r#final.unwrap_or(true)
            && let Some(earlier) = self.finals.insert(repetition(key), line)
            && right
        {
            let message =
                format!("is a second final result; the first of {} is in line {earlier}", text());
            findings.error(Some(line), message);
            right = false;
        }
        right
    }

    /// Checks that an event about an example comes while an attempt runs. False if not.
    pub(super) fn check_running(
        &mut self,
        line: u64,
        event: &Event,
        findings: &mut Findings,
    ) -> bool {
        if self.recent.has(event) {
            return true;
        }
        let key = self.examples.key(event);
        let text = || self.examples.text(key);
        let message = match self.attempts.get(&key) {
            Some(CheckedAttempt { started: Some(_), finished: None }) => return true,
            Some(CheckedAttempt { finished: Some(end), .. }) => {
                format!("{} about {}, which line {end} ended", event.type_name(), text())
            }
            _ => format!("{} about {}, which never started", event.type_name(), text()),
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
            let key = *key;
            let next = other_attempt(key, key.1.attempt.saturating_add(1));
            let final_there = self.finals.contains_key(&repetition(key));
            let text = || self.examples.text(key);
            match (attempt.started, attempt.finished) {
                (Some(line), None) => Some((line, format!("{} never finished", text()))),
                (_, Some(line)) if !final_there && !self.attempts.contains_key(&next) => {
                    Some((line, format!("{} is the last one, and not final", text())))
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
