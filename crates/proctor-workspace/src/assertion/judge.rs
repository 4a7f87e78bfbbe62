//! Judging: one small function per sort of assertion; the match only routes.

use proctor_text::{VisibleMatch, has_mask};
use regex::Regex;
use serde_json::{Value, json};

use super::facts::{FileError, TestedText, is_filtered};
use super::{Assertion, AssertionResult, Facts, json_path};
use crate::session::view;
use crate::snapshot::CURRENT;
use crate::tools::run::RunResult;
use crate::topic::TopicPattern;

/// Expected, actual, and why it does not hold.
struct AssertionOutcome {
    expected: Value,
    actual: Value,
    problem: Option<String>,
    /// Whether the problem is that nobody can know if it holds.
    undecided: bool,
}

/// The way out where a mask hides what is asserted.
const WHAT_TO_DO: &str = "secrets are masked as [redacted] in the session and the outputs of a run; let the program write the text to a file of its own, which is kept as it is, and assert on that, or assert on something that is not masked";

fn verdict(
    passed: bool,
    expected: Value,
    actual: Value,
    problem: impl FnOnce() -> String,
) -> AssertionOutcome {
    AssertionOutcome { expected, actual, problem: (!passed).then(problem), undecided: false }
}

/// The outcome of what a mask may hide: whether it is about what must be there or what must not, nothing was shown.
fn undecided(expected: Value, actual: Value, what: &str) -> AssertionOutcome {
    let problem = Some(format!("it cannot be decided, for {what} has masked text: {WHAT_TO_DO}"));
    AssertionOutcome { expected, actual, problem, undecided: true }
}

impl AssertionOutcome {
    /// The same if it holds, or if nothing is hidden; otherwise undecided.
    fn unless_hidden(self, is_hidden: bool, what: &str) -> Self {
        match self.problem {
            Some(_) if is_hidden => undecided(self.expected, self.actual, what),
            _ => self,
        }
    }
}

/// Judges all of them; one that fails or cannot be judged keeps none from being judged.
pub(crate) fn judge_all(assertions: &[Assertion], facts: &Facts<'_>) -> Vec<AssertionResult> {
    assertions.iter().map(|assertion| judge(assertion, facts)).collect()
}

fn judge(assertion: &Assertion, facts: &Facts<'_>) -> AssertionResult {
    let mut result =
        AssertionResult { assertion: assertion.name().to_owned(), ..AssertionResult::default() };
    let verdict = route(assertion, facts, &mut result);
    result.passed = verdict.problem.is_none();
    result.undecided = verdict.undecided;
    result.expected = verdict.expected;
    result.actual = verdict.actual;
    result.message = verdict.problem;
    result
}

fn route(
    assertion: &Assertion,
    facts: &Facts<'_>,
    result: &mut AssertionResult,
) -> AssertionOutcome {
    match assertion {
        Assertion::ExitCode { expected } => exit_code(facts, *expected),
        Assertion::TerminationReason { expected } => termination(facts, expected),
        Assertion::Iterations { min, max, exact } => {
            of_run(facts, bounds(*min, *max, *exact), |run| {
                counted(run.iterations, *min, *max, *exact, "iterations")
            })
        }
        Assertion::FileExists { path } => {
            result.path = Some(path.clone());
            file_exists(facts, path)
        }
        Assertion::FileContains { path, pattern } => {
            (result.path, result.pattern) = (Some(path.clone()), Some(pattern.clone()));
            matching(facts.tested_file(path), path, pattern, true)
        }
        Assertion::FileNotContains { path, pattern } => {
            (result.path, result.pattern) = (Some(path.clone()), Some(pattern.clone()));
            matching(facts.tested_file(path), path, pattern, false)
        }
        Assertion::EventOccurred { topic, payload_pattern, published_only } => {
            (result.topic, result.pattern) = (Some(topic.to_string()), payload_pattern.clone());
            event_occurred(facts, topic, payload_pattern.as_deref(), *published_only)
        }
        Assertion::EventSequence { topics, published_only } => {
            event_sequence(facts, topics, *published_only)
        }
        Assertion::EventCount { topic, min, max, exact, published_only } => {
            result.topic = Some(topic.to_string());
            let count = matching_events(facts, topic, *published_only).len() as u64;
            let hidden = hidden_topics(facts, topic, *published_only);
            let what = format!("events {topic}");
            of_run(facts, bounds(*min, *max, *exact), |_| {
                let count_as = |count| counted(count, *min, *max, *exact, &what);
                let judged = count_as(count);
                let holds = |count| count_as(count).problem.is_none();
                let differs = (1..=hidden).any(|more| holds(count + more) != holds(count));
                if differs { undecided(judged.expected, judged.actual, TOPICS) } else { judged }
            })
        }
        Assertion::ScratchpadContains { pattern } => {
            result.path = Some(facts.scratchpad.clone());
            result.pattern = Some(pattern.clone());
            matching(facts.tested_file(&facts.scratchpad), "the scratchpad", pattern, true)
        }
        Assertion::NoEvent { topic, published_only } => {
            result.topic = Some(topic.to_string());
            no_event(facts, topic, *published_only)
        }
        Assertion::Duration { max_secs } => duration(facts, *max_secs),
        Assertion::HatSequence { hats, exact } => hat_sequence(facts, hats, *exact),
        Assertion::StdoutContains { pattern } => {
            result.pattern = Some(pattern.clone());
            of_run(facts, json!(pattern), |_| {
                let text = TestedText::filtered(facts.stdout.clone());
                matching(Ok(text), "standard output", pattern, true)
            })
        }
        Assertion::StderrContains { pattern } => {
            result.pattern = Some(pattern.clone());
            of_run(facts, json!(pattern), |_| {
                let text = TestedText::filtered(facts.stderr.clone());
                matching(Ok(text), "standard error", pattern, true)
            })
        }
        Assertion::FileUnchanged { path, since } => {
            result.path = Some(path.clone());
            file_unchanged(facts, path, since)
        }
        Assertion::SnapshotMatches { snapshot, include_patterns, exclude_patterns } => {
            snapshot_matches(facts, snapshot, include_patterns, exclude_patterns)
        }
        Assertion::NoDrift {} => no_drift(facts),
        Assertion::JsonPath { path, query, expected, pattern } => {
            (result.path, result.pattern) = (Some(path.clone()), pattern.clone());
            json_at(facts, path, query, expected.as_ref(), pattern.as_deref())
        }
    }
}

/// Judges something about a run, or says that there was none.
fn of_run(
    facts: &Facts<'_>,
    expected: Value,
    judge: impl FnOnce(&RunResult) -> AssertionOutcome,
) -> AssertionOutcome {
    match facts.run {
        Some(run) => judge(run),
        None => verdict(false, expected, Value::Null, || {
            "nothing has run in this workspace yet: call test_run first".to_owned()
        }),
    }
}

fn exit_code(facts: &Facts<'_>, expected: i32) -> AssertionOutcome {
    of_run(facts, json!(expected), |run| {
        let passed = run.exit_code == Some(expected);
        let ended = match (run.exit_code, run.signal) {
            (Some(code), _) => format!("the exit code was {code}"),
            (None, Some(signal)) => format!("signal {signal} ended it, so there is no exit code"),
            (None, None) => "there is no exit code".to_owned(),
        };
        verdict(passed, json!(expected), json!(run.exit_code), || {
            format!("{ended} (reason {}){}", run.termination_reason, detail(run))
        })
    })
}

fn termination(facts: &Facts<'_>, expected: &str) -> AssertionOutcome {
    of_run(facts, json!(expected), |run| {
        let actual = &run.termination_reason;
        verdict(actual == expected, json!(expected), json!(actual), || {
            format!("the run ended with {actual}{}", detail(run))
        })
        .unless_hidden(has_mask(actual), "the reason")
    })
}

/// What the program itself said about a bad end.
fn detail(run: &RunResult) -> String {
    run.termination_detail.as_ref().map(|said| format!(": {said}")).unwrap_or_default()
}

fn bounds(min: Option<u64>, max: Option<u64>, exact: Option<u64>) -> Value {
    let named = [("min", min), ("max", max), ("exact", exact)];
    let given =
        named.into_iter().filter_map(|(name, bound)| Some((name.to_owned(), json!(bound?))));
    Value::Object(given.collect())
}

fn counted(
    count: u64,
    min: Option<u64>,
    max: Option<u64>,
    exact: Option<u64>,
    what: &str,
) -> AssertionOutcome {
    let passed = min.is_none_or(|min| count >= min)
        && max.is_none_or(|max| count <= max)
        && exact.is_none_or(|exact| count == exact);
    verdict(passed, bounds(min, max, exact), json!(count), || format!("there were {count} {what}"))
}

fn file_exists(facts: &Facts<'_>, path: &str) -> AssertionOutcome {
    match facts.exists(path) {
        Ok(true) => verdict(true, json!(true), json!(true), String::new),
        Ok(false) => verdict(false, json!(true), json!(false), || {
            let missing = facts.text(path).err().map(|error| error.to_string());
            missing.unwrap_or_else(|| format!("{path} does not exist"))
        }),
        Err(error) => verdict(false, json!(true), Value::Null, || error.to_string()),
    }
}

/// Whether a text matches, or must not.
fn matching(
    text: Result<TestedText, FileError>,
    name: &str,
    pattern: &str,
    wanted: bool,
) -> AssertionOutcome {
    let expected = json!({if wanted { "matches" } else { "does_not_match" }: pattern});
    let text = match text {
        Ok(text) => text,
        Err(error) => return verdict(false, expected, Value::Null, || error.to_string()),
    };
    let found = Regex::new(pattern).map_or(VisibleMatch::Absent, |regex| text.find(&regex));
    match found {
        VisibleMatch::Found(found) => {
            let (number, line) = line_around(&text.text, found.start);
            let actual = json!({"line": number, "text": line});
            verdict(wanted, expected, actual, || {
                format!("{name} line {number} matches {pattern:?}: {line}")
            })
        }
        VisibleMatch::Absent => {
            let actual = json!(shortened(&text.text));
            verdict(!wanted, expected, actual, || format!("{name} does not match {pattern:?}"))
        }
        VisibleMatch::Unknown => undecided(expected, json!(shortened(&text.text)), name),
    }
}

fn line_around(text: &str, at: usize) -> (usize, String) {
    let number = text[..at].matches('\n').count() + 1;
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    (number, shortened(line))
}

/// The beginning of a text, for the answer.
fn shortened(text: &str) -> String {
    const MAX_CHARS: usize = 500;
    match crate::tools::cut(text, MAX_CHARS) {
        (beginning, true) => format!("{beginning}… ({} bytes)", text.len()),
        (whole, false) => whole,
    }
}

/// A value, or the beginning of its text if it is a large one.
fn shortened_value(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= 4096 { value } else { json!(shortened(&text)) }
}

type Found<'a> = Vec<&'a crate::session::SessionRecord>;

fn matching_events<'a>(
    facts: &'a Facts<'_>,
    pattern: &TopicPattern,
    published_only: bool,
) -> Found<'a> {
    let events = facts.events(published_only).into_iter();
    events.filter(|record| record.topic().is_some_and(|name| pattern.matches(name))).collect()
}

/// How the topics of a session are called where one of them is masked.
const TOPICS: &str = "the topic of an event";

/// How many events may have the topic without showing it.
fn hidden_topics(facts: &Facts<'_>, pattern: &TopicPattern, published_only: bool) -> u64 {
    let events = facts.events(published_only).into_iter();
    let topics = events.filter_map(|record| record.topic());
    topics.filter(|topic| has_mask(topic) && !pattern.matches(topic)).count() as u64
}

/// The topics that did occur, in order.
fn topics(facts: &Facts<'_>, published_only: bool) -> Vec<String> {
    let events = facts.events(published_only).into_iter();
    events.filter_map(|record| record.topic().map(str::to_owned)).collect()
}

/// As much of a list as an answer should have; what is judged is always the whole.
fn shortened_list(list: &[String]) -> Value {
    const MAX_CHARS: usize = 200;
    let mut shown: Vec<String> = list.iter().take(MAX_CHARS).map(|item| shortened(item)).collect();
    if list.len() > MAX_CHARS {
        shown.push(format!("… and {} more", list.len() - MAX_CHARS));
    }
    json!(shown)
}

fn only(published_only: bool) -> &'static str {
    if published_only { "published" } else { "published or emitted" }
}

fn event_occurred(
    facts: &Facts<'_>,
    name: &TopicPattern,
    payload: Option<&str>,
    published_only: bool,
) -> AssertionOutcome {
    let mut expected = json!({"topic": name});
    if let Some(pattern) = payload {
        expected["payload_matches"] = json!(pattern);
    }
    of_run(facts, expected.clone(), |_| {
        let found = matching_events(facts, name, published_only);
        let pattern = payload.and_then(|pattern| Regex::new(pattern).ok());
        let seen_in = |payload: &str| match &pattern {
            Some(regex) => TestedText::filtered(payload.to_owned()).find(regex),
            None => VisibleMatch::Found(0..0),
        };
        let seen: Vec<VisibleMatch> =
            found.iter().map(|record| seen_in(record.payload())).collect();
        let passed = seen.iter().any(|seen| matches!(seen, VisibleMatch::Found(_)));
        let hidden_topic = hidden_topics(facts, name, published_only) > 0;
        let hidden_payload = seen.contains(&VisibleMatch::Unknown);
        let what = if hidden_payload { "the payload of an event" } else { TOPICS };
        let payloads: Vec<String> =
            found.iter().take(20).map(|record| shortened(record.payload())).collect();
        let actual = json!({"count": found.len(), "payloads": payloads});
        verdict(passed, expected, actual, || {
            if found.is_empty() {
                let mut seen = topics(facts, published_only);
                seen.sort();
                seen.dedup();
                let seen = shortened(&seen.join(", "));
                format!("no event {name} was {}; there were: {seen}", only(published_only))
            } else {
                format!("{} events {name}, none with a payload that matches", found.len())
            }
        })
        .unless_hidden(hidden_payload || hidden_topic, what)
    })
}

/// Which part of a sequence was found, in order.
fn subsequence<T>(wanted: &[T], seen: &[String], matches: impl Fn(&T, &str) -> bool) -> usize {
    let mut found = 0;
    for item in seen {
        if found < wanted.len() && matches(&wanted[found], item) {
            found += 1;
        }
    }
    found
}

fn event_sequence(
    facts: &Facts<'_>,
    wanted: &[TopicPattern],
    published_only: bool,
) -> AssertionOutcome {
    of_run(facts, json!(wanted), |_| {
        let seen = topics(facts, published_only);
        let found = subsequence(wanted, &seen, TopicPattern::matches);
        verdict(found == wanted.len(), json!(wanted), shortened_list(&seen), || {
            let before: Vec<&str> = wanted[..found].iter().map(TopicPattern::as_str).collect();
            let before = before.join(", ");
            format!("{} did not occur after [{before}]", wanted[found])
        })
        .unless_hidden(seen.iter().any(|topic| has_mask(topic)), TOPICS)
    })
}

fn no_event(facts: &Facts<'_>, name: &TopicPattern, published_only: bool) -> AssertionOutcome {
    of_run(facts, json!(0), |_| {
        let found = matching_events(facts, name, published_only);
        if found.is_empty() && hidden_topics(facts, name, published_only) > 0 {
            return undecided(json!(0), json!(0), TOPICS);
        }
        verdict(found.is_empty(), json!(0), json!(found.len()), || {
            let first = found.first().map(|record| record.iteration()).unwrap_or_default();
            format!("{name} occurred {} times, first in iteration {first}", found.len())
        })
    })
}

fn duration(facts: &Facts<'_>, max_secs: f64) -> AssertionOutcome {
    of_run(facts, json!({"max_secs": max_secs}), |run| {
        let passed = run.elapsed_secs <= max_secs;
        verdict(passed, json!({"max_secs": max_secs}), json!(run.elapsed_secs), || {
            format!("the run took {:.3} s", run.elapsed_secs)
        })
    })
}

fn hat_sequence(facts: &Facts<'_>, wanted: &[String], exact: bool) -> AssertionOutcome {
    of_run(facts, json!(wanted), |_| {
        let worn = view::hats(facts.records);
        let found = subsequence(wanted, &worn, |a, b| a == b);
        let passed = if exact { worn == wanted } else { found == wanted.len() };
        verdict(passed, json!(wanted), shortened_list(&worn), || {
            format!(
                "the hats were {}",
                if worn.is_empty() { "not told".to_owned() } else { shortened(&worn.join(", ")) }
            )
        })
        .unless_hidden(worn.iter().any(|hat| has_mask(hat)), "the name of a hat")
    })
}

fn no_drift(facts: &Facts<'_>) -> AssertionOutcome {
    of_run(facts, json!({"drifted": false}), |run| {
        let expected = json!({"drifted": false});
        let Some(drift) = &run.drift else {
            return verdict(false, expected, Value::Null, || {
                "nothing was replayed: give test_run a cassette or replay_run".to_owned()
            });
        };
        let first = drift.differences.first();
        verdict(!drift.drifted, expected, json!(drift), || {
            let call = first.and_then(|one| one.call).map(|call| format!(" of call {call}"));
            let what = first.map_or("something", |one| one.what.as_str());
            let more = drift.differences.len().saturating_sub(1);
            format!(
                "the {what}{} differs from the cassette, and {more} more",
                call.unwrap_or_default()
            )
        })
    })
}

fn file_unchanged(facts: &Facts<'_>, path: &str, since: &str) -> AssertionOutcome {
    match facts.file_then_and_now(path, since) {
        Ok((then, now)) => {
            let passed = then == now && !then.is_null();
            verdict(passed, json!({"sha256": then}), json!({"sha256": now}), || {
                match (&then, &now) {
                    (Value::Null, _) => format!("{path} is not in snapshot {since}"),
                    (_, Value::Null) => format!("{path} is gone"),
                    _ => format!("{path} has changed since {since}"),
                }
            })
        }
        Err(error) => verdict(false, json!({"since": since}), Value::Null, || error.to_string()),
    }
}

fn snapshot_matches(
    facts: &Facts<'_>,
    snapshot: &str,
    include: &[String],
    exclude: &[String],
) -> AssertionOutcome {
    match facts.compare_with(snapshot, include, exclude) {
        Ok(compared) => {
            let changes = &compared.changes;
            let actual = json!({"changed_files": shortened_list(&changes.changed),
                "added_files": shortened_list(&changes.added), "deleted_files": shortened_list(&changes.deleted)});
            verdict(changes.is_empty(), json!({"same_as": snapshot}), actual, || {
                let count = changes.all().count();
                format!("{count} files differ between {snapshot} and {CURRENT}")
            })
        }
        Err(error) => {
            verdict(false, json!({"same_as": snapshot}), Value::Null, || error.to_string())
        }
    }
}

fn json_at(
    facts: &Facts<'_>,
    path: &str,
    query: &str,
    expected: Option<&Value>,
    pattern: Option<&str>,
) -> AssertionOutcome {
    let wanted = expected.cloned().unwrap_or_else(|| json!({"matches": pattern}));
    let found = match (facts.json(path), json_path::Query::parse(query)) {
        (Ok(value), Ok(query)) => query.find(&value).into_iter().cloned().collect::<Vec<_>>(),
        (Err(error), _) => return verdict(false, wanted, Value::Null, || error.to_string()),
        (_, Err(error)) => return verdict(false, wanted, Value::Null, || error.to_string()),
    };
    let regex = pattern.and_then(|pattern| Regex::new(pattern).ok());
    let fits = |value: &Value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        expected.is_none_or(|expected| same(expected, value))
            && regex.as_ref().is_none_or(|regex| regex.is_match(&text))
    };
    let is_masked = |value: &Value| has_mask(&value.to_string());
    let is_hidden = is_filtered(path) && found.iter().any(is_masked);
    let passed = found.iter().any(|value| fits(value) && !(is_hidden && is_masked(value)));
    let actual = if found.len() == 1 { found[0].clone() } else { json!(found) };
    let actual = shortened_value(actual);
    verdict(passed, wanted, actual, || {
        if found.is_empty() {
            format!("{query} finds nothing in {path}")
        } else {
            format!("{query} finds {} values in {path}, none as expected", found.len())
        }
    })
    .unless_hidden(is_hidden, path)
}

/// Equality in which a fraction has one value however it is written: `2.50` is `2.5`.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            let fraction =
                |number: &serde_json::Number| number.as_f64().filter(|_| number.is_f64());
            a == b || fraction(a).zip(fraction(b)).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}
