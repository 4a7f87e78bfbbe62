//! What a report of a large run carries: what failed in full, and the rest without what it printed, without spans, and with long texts cut.
//!
//! Every event that is counted stays, so that statuses, costs, times and criteria are those of the whole run. What is left out is said in
//! its place.

use std::collections::{HashMap, HashSet};

use proctor_events::{Body, Event, ExampleId};
use proctor_record::{Example, RunData};
use proctor_text::{pluralize, truncate};
use proctor_verdict::is_success;
use serde_json::Value;

/// The most characters of a text of an example that passed.
const TEXT_CHARACTERS: usize = 300;

/// Which examples are carried whole, and what was left out of the others.
#[derive(Debug, Default)]
pub struct HtmlOutline {
    whole: HashSet<ExampleId>,
    /// How many printed lines were left out, by example.
    lines: HashMap<ExampleId, u64>,
}

impl HtmlOutline {
    /// An outline of a run of which no example is carried whole so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an example of the run: it is carried whole unless all is well with it.
    pub fn add(&mut self, run: &RunData, example: &Example) {
        let is_well = example
            .attempts
            .iter()
            .all(|attempt| attempt.status.as_ref().is_some_and(is_success) && !attempt.flaky);
        let fails = example.verdict(run.over).is_failure(run.policy);
        if let Some(id) = example.id.as_ref().filter(|_| !is_well || fails) {
            self.whole.insert(id.clone());
        }
    }

    /// The line of an event, or none if it is left out.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        let text = event.to_json();
        let id = match &event.example_id {
            Some(id) if !self.whole.contains(id) => id,
            _ => return Some(text),
        };
        match &event.body {
            Body::WorkerLog(_) => {
                *self.lines.entry(id.clone()).or_default() += 1;
                return None;
            }
            Body::AgentSpan(_) | Body::Progress(_) => return None,
            _ => {}
        }
        let left_out = match &event.body {
            Body::ExampleFinished(_) => self.lines.remove(id),
            _ => None,
        };
        if text.len() <= TEXT_CHARACTERS && left_out.is_none() {
            return Some(text);
        }
        let mut value: Value = serde_json::from_str(&text).ok()?;
        cut_texts(&mut value);
        if let Some(count) = left_out {
            let said = format!("… {} not in this file", pluralize(count, "printed line"));
            value["output_tail"] = Value::Array(vec![Value::String(said)]);
        }
        Some(value.to_string())
    }
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TEXT_CHARACTERS => {
            let kept = truncate(text, TEXT_CHARACTERS);
            // The mark stands for the first of them.
            let hidden = (text.chars().count() + 1).saturating_sub(kept.chars().count());
            if kept != *text {
                let more = pluralize(hidden, "character");
                *text = format!("{kept} ({more} more not in this file)");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_texts),
        Value::Object(members) => members.values_mut().for_each(cut_texts),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proctor_record::Aggregator;

    use super::*;

    const LONG: usize = 100_000;

    fn events() -> Vec<Event> {
        let long = "x".repeat(LONG);
        let of = |id: &str, status: &str| {
            [
                format!(
                    r#"{{"event_type":"ExampleStarted","example_id":"{id}","path":["A","{id}"]}}"#
                ),
                format!(r#"{{"event_type":"WorkerLog","example_id":"{id}","line":"{long}"}}"#),
                format!(
                    r#"{{"event_type":"UserMessage","example_id":"{id}","turn_number":1,"text":"Hi"}}"#
                ),
                format!(
                    r#"{{"event_type":"ModelCall","example_id":"{id}","purpose":"agent","prompt":"{long}","cost_usd":0.25,"input_tokens":7}}"#
                ),
                format!(
                    r#"{{"event_type":"AgentResponse","example_id":"{id}","turn_number":1,"text":"{long}"}}"#
                ),
                format!(
                    r#"{{"event_type":"ExampleFinished","example_id":"{id}","status":"{status}","final":true,"checks":1,"duration_ms":12.5,"output_tail":["{long}"]}}"#
                ),
            ]
        };
        let lines = [of("good", "passed"), of("bad", "failed")].concat();
        lines.iter().map(|line| Event::from_json(line).unwrap()).collect()
    }

    fn folded<'a>(events: impl IntoIterator<Item = &'a Event>) -> RunData {
        let mut aggregator = Aggregator::default();
        for event in events {
            aggregator.apply(event);
        }
        aggregator.into_run()
    }

    #[test]
    fn what_failed_is_whole_and_the_rest_keeps_its_numbers() {
        let events = events();
        let run = folded(&events);
        let mut outline = HtmlOutline::new();
        run.examples.iter().for_each(|example| outline.add(&run, example));
        let lines: Vec<String> = events.iter().filter_map(|event| outline.line(event)).collect();
        assert_eq!(lines.len(), events.len() - 1, "what the good one printed");
        let whole: Vec<String> = events[6..].iter().map(Event::to_json).collect();
        assert_eq!(lines[5..], whole);
        let size: usize = lines[..5].iter().map(String::len).sum();
        assert!(size < 3_000, "{size}");
        assert!(lines[3].contains("99701 characters more not in this file"), "{}", lines[3]);
        assert!(lines[4].contains("1 printed line not in this file"), "{}", lines[4]);
        let read: Vec<Event> = lines.iter().map(|line| Event::from_json(line).unwrap()).collect();
        let again = folded(&read);
        assert_eq!(again.summary(), run.summary());
        let cost = |events: &[Event]| -> f64 {
            let costs = events.iter().map(|event| match &event.body {
                Body::ModelCall(call) => call.cost_usd.unwrap_or_default(),
                _ => 0.0,
            });
            costs.sum()
        };
        assert!((cost(&read) - cost(&events)).abs() < 1e-9);
        assert_eq!(
            again.examples[0].attempts[0].duration_ms,
            run.examples[0].attempts[0].duration_ms
        );
    }
}
