//! One session out of several sources. Pure: the adapter reads, this decides.
//!
//! The orchestrator's recording knows what was published, its events file what was emitted, its hooks
//! which hat was worn, the mock's log what was answered. Rules:
//!
//! - An emitted event that was published is one `bus.publish` record, of both origins.
//! - An emitted event that was not published (the last iteration's, or one the orchestrator rewrote) is a
//!   `bus.emit` record.
//! - Calls of the model are `model.call` records of their own; they never make an event, an iteration or a
//!   termination, but for iterations when no other source tells them, and then the origin says so.
//! - Source and target, which the orchestrator leaves empty, are derived from the iteration's hat and the
//!   hats' triggers, and marked as derived.

use serde_json::{Map, Value, json};

use super::SessionRecord;
use crate::mock::log::ModelCall;
use crate::orchestrator::Topology;

/// An event as the orchestrator published it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Published {
    pub(crate) ts: u64,
    pub(crate) data: Map<String, Value>,
}

/// A row of the orchestrator's events file, in file order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EventsFileLine {
    /// The event that starts the loop.
    Start { ts: u64, topic: String, payload: String, triggered: Option<String> },
    /// An event the agent emitted.
    Emitted { ts: u64, topic: String, payload: String },
    /// The end of an iteration with its figures.
    IterationEnd { ts: u64, n: u64, figures: Map<String, Value> },
    /// A line that is no event.
    Malformed { text: String },
}

/// The begin of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Begin {
    pub(crate) ts: u64,
    pub(crate) n: u64,
    pub(crate) hat: Option<String>,
    pub(crate) origin: &'static str,
}

/// How the run ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ending {
    pub(crate) ts: u64,
    pub(crate) reason: String,
    pub(crate) iterations: u64,
    pub(crate) elapsed_secs: f64,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) origin: String,
}

/// All that is known about a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    pub(crate) started_ms: u64,
    pub(crate) loop_start: Option<Published>,
    pub(crate) published: Vec<Published>,
    pub(crate) rows: Vec<EventsFileLine>,
    pub(crate) begins: Vec<Begin>,
    pub(crate) calls: Vec<ModelCall>,
    pub(crate) topology: Topology,
    pub(crate) ending: Ending,
}

/// A record with its place among records of the same millisecond.
struct Ranked(u8, SessionRecord);

/// Merges the sources into the records of a session.
pub(crate) fn merge(sources: &Sources) -> Vec<SessionRecord> {
    let begins = begins(sources);
    let mut matched = vec![false; sources.rows.len()];
    let row_iterations = iterations_of_rows(sources, &begins);
    let mut records = Vec::new();
    records.extend(loop_start(sources));
    records.extend(begins.iter().map(|begin| iteration(begin, sources.started_ms)));
    for published in &sources.published {
        records.push(publish(sources, &begins, &row_iterations, &mut matched, published));
    }
    let mut last = sources.started_ms;
    for (index, row) in sources.rows.iter().enumerate() {
        records.extend(unmatched(
            sources,
            &begins,
            row,
            row_iterations[index],
            matched[index],
            &mut last,
        ));
    }
    records.extend(sources.calls.iter().map(|call| model_call(call, &begins)));
    records.push(termination(&sources.ending));
    records.sort_by_key(|Ranked(rank, record)| {
        let last = record.event == "_meta.termination";
        (last, record.ts, record.iteration(), *rank)
    });
    records.into_iter().map(|Ranked(_, record)| record).collect()
}

fn record(rank: u8, ts: u64, event: &str, origin: impl Into<String>, data: Value) -> Ranked {
    Ranked(rank, SessionRecord { ts, event: event.to_owned(), data, origin: origin.into() })
}

/// Iterations as the orchestrator told them, or, failing that, as the mock was called.
fn begins(sources: &Sources) -> Vec<Begin> {
    if !sources.begins.is_empty() {
        return sources.begins.clone();
    }
    let calls = sources.calls.iter().enumerate();
    calls
        .map(|(index, call)| Begin {
            ts: call.ts,
            n: index as u64 + 1,
            hat: call.hat.clone(),
            origin: if call.program.is_some() { "model" } else { "mock" },
        })
        .collect()
}

/// The iteration of every row: those before the end of iteration n belong to n.
fn iterations_of_rows(sources: &Sources, begins: &[Begin]) -> Vec<u64> {
    let last = begins.last().map_or(0, |begin| begin.n);
    let mut iterations = vec![last; sources.rows.len()];
    let mut current = last;
    for (index, row) in sources.rows.iter().enumerate().rev() {
        match row {
            EventsFileLine::IterationEnd { n, .. } => current = *n,
            EventsFileLine::Start { .. } => current = 0,
            _ => {}
        }
        iterations[index] = current;
    }
    iterations
}

fn iteration_at(begins: &[Begin], ts: u64) -> u64 {
    begins.iter().rev().find(|begin| begin.ts <= ts).map_or(0, |begin| begin.n)
}

fn hat_of(begins: &[Begin], n: u64) -> Option<&str> {
    begins.iter().find(|begin| begin.n == n)?.hat.as_deref()
}

fn loop_start(sources: &Sources) -> Option<Ranked> {
    let start = sources.loop_start.as_ref()?;
    Some(record(0, start.ts, "_meta.loop_start", "recording", start.data.clone().into()))
}

fn iteration(begin: &Begin, started_ms: u64) -> Ranked {
    let elapsed = begin.ts.saturating_sub(started_ms);
    let data = json!({"n": begin.n, "hat": begin.hat, "elapsed_ms": elapsed});
    record(2, begin.ts, "_meta.iteration", begin.origin, data)
}

fn publish(
    sources: &Sources,
    begins: &[Begin],
    row_iterations: &[u64],
    matched: &mut [bool],
    published: &Published,
) -> Ranked {
    let mut data = Value::Object(published.data.clone());
    let topic = data["topic"].as_str().unwrap_or_default();
    let payload = data["payload"].as_str().unwrap_or_default();
    let same = |row: &EventsFileLine| matches!(row, EventsFileLine::Emitted { topic: t, payload: p, .. } if t == topic && p == payload);
    let row = (0..matched.len()).find(|index| !matched[*index] && same(&sources.rows[*index]));
    let (iteration, origin) = match row {
        Some(index) => {
            matched[index] = true;
            (row_iterations[index], "recording+events")
        }
        None => (iteration_at(begins, published.ts), "recording"),
    };
    data["iteration"] = json!(iteration);
    data["emitted"] = json!(row.is_some());
    data["published"] = json!(true);
    let source = row.and(hat_of(begins, iteration)).unwrap_or(&sources.topology.coordinator);
    derive(&mut data, source, &sources.topology);
    record(6, published.ts, "bus.publish", origin, data)
}

/// Fills source and target where the orchestrator left them empty, and says so.
fn derive(data: &mut Value, source: &str, topology: &Topology) {
    let mut derived = Vec::new();
    if data["source"].is_null() && !source.is_empty() {
        data["source"] = json!(source);
        derived.push("source");
    }
    let topic = data["topic"].as_str().unwrap_or_default().to_owned();
    let targets = topology.targets(&topic);
    if data["target"].is_null() && !targets.is_empty() {
        data["target"] = json!(targets[0]);
        derived.push("target");
        if targets.len() > 1 {
            data["targets"] = json!(targets);
        }
    }
    if !derived.is_empty() {
        data["derived"] = json!(derived);
    }
}

fn unmatched(
    sources: &Sources,
    begins: &[Begin],
    row: &EventsFileLine,
    iteration: u64,
    matched: bool,
    last: &mut u64,
) -> Option<Ranked> {
    // An agent may write any time it likes; the order of the file and the run's own times bound it.
    let earliest = begins.iter().find(|begin| begin.n == iteration).map_or(0, |begin| begin.ts);
    let mut bounded = |ts: u64| {
        *last = ts.min(sources.ending.ts).max(earliest).max(*last);
        *last
    };
    match row {
        EventsFileLine::Start { ts, topic, payload, triggered } => {
            let mut data = json!({
                "topic": topic, "payload": payload, "source": null, "target": triggered,
                "iteration": 0, "emitted": false, "published": true,
            });
            derive(&mut data, &sources.topology.coordinator, &sources.topology);
            Some(record(1, bounded(*ts), "bus.publish", "events", data))
        }
        EventsFileLine::Emitted { ts, topic, payload } => {
            let ts = bounded(*ts);
            if matched {
                return None;
            }
            let mut data = json!({
                "topic": topic, "payload": payload, "source": null, "target": null,
                "iteration": iteration, "emitted": true, "published": false,
            });
            derive(&mut data, hat_of(begins, iteration).unwrap_or_default(), &sources.topology);
            Some(record(4, ts, "bus.emit", "events", data))
        }
        EventsFileLine::IterationEnd { ts, n, figures } => {
            let mut data = Value::Object(figures.clone());
            data["iteration"] = json!(n);
            Some(record(5, bounded(*ts), "_meta.iteration_end", "events", data))
        }
        EventsFileLine::Malformed { text } => {
            let data = json!({"text": text, "iteration": iteration});
            let ts = bounded(0);
            Some(record(4, ts, "_meta.malformed_event", "events", data))
        }
    }
}

fn model_call(call: &ModelCall, begins: &[Begin]) -> Ranked {
    let data = json!({
        "call": call.call,
        "iteration": iteration_at(begins, call.ts),
        "hat": call.hat,
        "response": call.response,
        "refused": call.refused,
        "program": call.program,
        "prompt_bytes": call.prompt.len(),
        "output_bytes": call.output.as_ref().map(String::len),
        "exit_code": call.exit_code,
        "duration_ms": call.duration_ms,
        "cut_short": call.cut_short,
    });
    let origin = if call.program.is_some() { "model" } else { "mock" };
    record(3, call.ts, "model.call", origin, data)
}

fn termination(ending: &Ending) -> Ranked {
    let data = json!({
        "reason": ending.reason,
        "iterations": ending.iterations,
        "iteration": ending.iterations,
        "elapsed_secs": ending.elapsed_secs,
        "exit_code": ending.exit_code,
        "signal": ending.signal,
    });
    record(9, ending.ts, "_meta.termination", ending.origin.clone(), data)
}

#[cfg(test)]
mod tests;
