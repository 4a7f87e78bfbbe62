//! Looking at a session: filter, summary, timeline. Pure.

use std::collections::BTreeMap;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SessionRecord;
use crate::error::ToolError;
use crate::topic::TopicPattern;

/// Which records to look at; all conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Only these kinds of record, such as `bus.publish` or `_meta.iteration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_types: Option<Vec<String>>,
    /// Only events whose topic matches one of these patterns: `*` is one segment, `**` any number, a lone `*`
    /// every topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<TopicPattern>>,
    /// Only records of iterations after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_iteration: Option<u64>,
    /// Only records of iterations before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_iteration: Option<u64>,
    /// Only events whose payload matches this regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_pattern: Option<String>,
    /// Only events that were really published, not those only emitted.
    #[serde(default)]
    pub published_only: bool,
}

/// A filter whose pattern has been checked.
pub(crate) struct Checked<'a> {
    filter: &'a Filter,
    payload: Option<Regex>,
}

impl Filter {
    pub(crate) fn check(&self) -> Result<Checked<'_>, ToolError> {
        let payload =
            match &self.payload_pattern {
                None => None,
                Some(pattern) => Some(Regex::new(pattern).map_err(|error| {
                    ToolError::invalid(format!("filter.payload_pattern: {error}"))
                })?),
            };
        Ok(Checked { filter: self, payload })
    }
}

impl Checked<'_> {
    pub(crate) fn matches(&self, record: &SessionRecord) -> bool {
        self.has_iteration(record.iteration())
            && self.has_publication(record)
            && self.has_content(record)
    }

    fn has_iteration(&self, iteration: u64) -> bool {
        let filter = self.filter;
        filter.after_iteration.is_none_or(|after| iteration > after)
            && filter.before_iteration.is_none_or(|before| iteration < before)
    }

    fn has_publication(&self, record: &SessionRecord) -> bool {
        !self.filter.published_only || !record.is_bus() || record.is_published()
    }

    /// Kind, topic and payload.
    fn has_content(&self, record: &SessionRecord) -> bool {
        let filter = self.filter;
        let kind = filter.event_types.as_ref().is_none_or(|kinds| kinds.contains(&record.event));
        let topics = filter.topics.as_ref().is_none_or(|patterns| {
            let matches = |topic| patterns.iter().any(|pattern| pattern.matches(topic));
            record.topic().is_some_and(matches)
        });
        let payload = self.payload.as_ref().is_none_or(|pattern| {
            !record.data["payload"].is_null() && pattern.is_match(record.payload())
        });
        kind && topics && payload
    }
}

/// A session in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many records there are.
    pub total_events: usize,
    /// How many of each kind.
    pub by_type: BTreeMap<String, usize>,
    /// How many events of each topic, published or only emitted.
    pub by_topic: BTreeMap<String, usize>,
    /// How many iterations there were.
    pub iterations: u64,
    /// The hats in the order in which they were first worn.
    pub hats_used: Vec<String>,
    /// From the first to the last record.
    pub duration_secs: f64,
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// Its number, from 1.
    pub iteration: u64,
    /// The hat that was worn.
    pub hat: Option<String>,
    /// What triggered it and what came out: `task.start → build.task`.
    pub events: Vec<String>,
    /// How long it took, up to the next one's begin.
    pub duration_ms: u64,
}

/// The hats of all iterations, in order.
pub(crate) fn hats(records: &[SessionRecord]) -> Vec<String> {
    let iterations = records.iter().filter(|record| record.event == "_meta.iteration");
    iterations.filter_map(|record| record.data["hat"].as_str().map(str::to_owned)).collect()
}

pub(crate) fn summary(records: &[SessionRecord]) -> Summary {
    let mut summary = Summary { total_events: records.len(), ..Summary::default() };
    for record in records {
        *summary.by_type.entry(record.event.clone()).or_default() += 1;
        if let Some(topic) = record.topic() {
            *summary.by_topic.entry(topic.to_owned()).or_default() += 1;
        }
        if record.event == "_meta.iteration" {
            summary.iterations = summary.iterations.max(record.iteration());
        }
    }
    for hat in hats(records) {
        if !summary.hats_used.contains(&hat) {
            summary.hats_used.push(hat);
        }
    }
    summary.duration_secs = seconds(span(records));
    summary
}

fn span(records: &[SessionRecord]) -> u64 {
    let ends = records.first().zip(records.last());
    ends.map_or(0, |(first, last)| last.ts.saturating_sub(first.ts))
}

#[expect(clippy::cast_precision_loss, reason = "a run of 2^53 milliseconds does not happen")]
pub(crate) fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

/// The iterations that a filter leaves. An event is kept if it matches, or what triggered it; an iteration if it
/// has such an event or matches by itself.
pub(crate) fn timeline(records: &[SessionRecord], filter: &Checked<'_>) -> Vec<TimelineEntry> {
    let begins: Vec<&SessionRecord> =
        records.iter().filter(|record| record.event == "_meta.iteration").collect();
    let mut events: BTreeMap<u64, Vec<&SessionRecord>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_bus()) {
        events.entry(record.iteration()).or_default().push(record);
    }
    let of = |n: u64| events.get(&n).map(Vec::as_slice).unwrap_or_default();
    let last = records.last().map_or(0, |record| record.ts);
    let entry = |(index, begin): (usize, &&SessionRecord)| {
        let (n, hat) = (begin.iteration(), begin.data["hat"].as_str());
        let end = begins.get(index + 1).map_or(last, |next| next.ts);
        let before = n.checked_sub(1).map(of).unwrap_or_default();
        let trigger = trigger(before, hat);
        let triggered = trigger.is_some_and(|record| filter.has_content(record));
        let emitted: Vec<&SessionRecord> =
            of(n).iter().filter(|record| record.data["emitted"] == true).copied().collect();
        let kept: Vec<&SessionRecord> = emitted
            .iter()
            .filter(|record| filter.has_publication(record))
            .filter(|record| triggered || filter.has_content(record))
            .copied()
            .collect();
        let wanted = !kept.is_empty() || triggered || filter.has_content(begin);
        (filter.has_iteration(n) && wanted).then(|| TimelineEntry {
            iteration: n,
            hat: hat.map(str::to_owned),
            events: transitions(trigger, &kept, emitted.is_empty()),
            duration_ms: end.saturating_sub(begin.ts),
        })
    };
    begins.iter().enumerate().filter_map(entry).collect()
}

/// What triggered an iteration and what it emitted.
fn transitions(
    trigger: Option<&SessionRecord>,
    emitted: &[&SessionRecord],
    nothing: bool,
) -> Vec<String> {
    let trigger = trigger.and_then(SessionRecord::topic).unwrap_or("?");
    if nothing {
        return vec![format!("{trigger} → (nothing)")];
    }
    let topics = emitted.iter().filter_map(|record| record.topic());
    topics.map(|topic| format!("{trigger} → {topic}")).collect()
}

/// The event published in the iteration before, best one for this hat.
fn trigger<'a>(before: &[&'a SessionRecord], hat: Option<&str>) -> Option<&'a SessionRecord> {
    let mut pending = before.iter().rev().filter(|record| record.is_published());
    let for_hat =
        pending.clone().find(|record| hat.is_some() && record.data["target"].as_str() == hat);
    for_hat.or_else(|| pending.next()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(ts: u64, event: &str, data: serde_json::Value) -> SessionRecord {
        SessionRecord { ts, event: event.to_owned(), data, origin: "events".to_owned() }
    }

    fn session() -> Vec<SessionRecord> {
        let bus = |ts, n, topic: &str, target: &str, emitted| {
            record(
                ts,
                "bus.publish",
                json!({"topic": topic, "payload": topic, "iteration": n,
                "target": target, "emitted": emitted}),
            )
        };
        vec![
            bus(0, 0, "task.start", "planner", false),
            record(10, "_meta.iteration", json!({"n": 1, "hat": "planner"})),
            bus(20, 1, "build.task", "builder", true),
            record(30, "_meta.iteration", json!({"n": 2, "hat": "builder"})),
            record(
                40,
                "bus.emit",
                json!({"topic": "build.done", "payload": "", "iteration": 2, "emitted": true}),
            ),
            record(1510, "_meta.termination", json!({"iteration": 2})),
        ]
    }

    #[test]
    fn the_timeline_shows_trigger_and_outcome_per_iteration() {
        let filter = Filter::default();
        let entries = timeline(&session(), &filter.check().unwrap());
        assert_eq!(entries[0].events, ["task.start → build.task"]);
        assert_eq!((entries[0].duration_ms, entries[1].duration_ms), (20, 1480));
        assert_eq!(entries[1].events, ["build.task → build.done"]);
        assert_eq!(entries[1].hat.as_deref(), Some("builder"));
    }

    #[test]
    fn the_timeline_is_filtered_by_event_trigger_and_iteration() {
        let shown = |filter: serde_json::Value| {
            let filter: Filter = serde_json::from_value(filter).unwrap();
            let entries = timeline(&session(), &filter.check().unwrap());
            let text = |entry: TimelineEntry| {
                format!("{}: {}\n", entry.iteration, entry.events.join(", "))
            };
            entries.into_iter().map(text).collect::<String>()
        };
        let (first, second) = ("1: task.start → build.task\n", "2: build.task → build.done\n");
        let both = format!("{first}{second}");
        assert_eq!(shown(json!({"topics": ["build.done"]})), second);
        assert_eq!(shown(json!({"topics": ["task.start"]})), first);
        assert_eq!(shown(json!({"topics": ["build.task"]})), both);
        assert_eq!(shown(json!({"topics": ["nothing.*"]})), "");
        assert_eq!(shown(json!({"before_iteration": 2})), first);
        assert_eq!(shown(json!({"after_iteration": 1})), second);
        assert_eq!(shown(json!({"payload_pattern": "^task"})), first);
        assert_eq!(shown(json!({"published_only": true})), format!("{first}2: \n"));
    }

    #[test]
    fn the_summary_counts() {
        let summary = summary(&session());
        assert_eq!((summary.total_events, summary.iterations), (6, 2));
        assert_eq!(summary.by_type["bus.publish"], 2);
        assert_eq!(summary.by_topic["build.done"], 1);
        assert_eq!(summary.hats_used, ["planner", "builder"]);
        assert!((summary.duration_secs - 1.51).abs() < 1e-9);
    }

    #[test]
    fn filters_combine() {
        let session = session();
        let count = |filter: serde_json::Value| {
            let filter: Filter = serde_json::from_value(filter).unwrap();
            let checked = filter.check().unwrap();
            session.iter().filter(|record| checked.matches(record)).count()
        };
        assert_eq!(count(json!({})), 6);
        assert_eq!(count(json!({"topics": ["build.*"]})), 2);
        assert_eq!(count(json!({"topics": ["build.*"], "published_only": true})), 1);
        assert_eq!(count(json!({"event_types": ["_meta.iteration"]})), 2);
        assert_eq!(count(json!({"after_iteration": 1})), 3);
        assert_eq!(count(json!({"before_iteration": 1})), 1);
        assert_eq!(count(json!({"payload_pattern": "^build"})), 1);
        let bad = Filter { payload_pattern: Some("(".to_owned()), ..Filter::default() };
        assert!(bad.check().is_err());
    }
}
