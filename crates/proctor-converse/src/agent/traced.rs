//! An agent whose OpenTelemetry spans are evidence: each question has a trace of its own, and what its spans show is added to the answer.
//!
//! A call that the answer lists and a span shows is one call. The answer comes first where both say something: spans know less.
//! Which calls were made is known only if the agent lists them or all its spans are there.

use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::{AgentAnswer, DoneCall, ToolCall};
use proctor_events::{Body, Millis, ModelCall};
use proctor_llm::{PriceTable, Purpose, Usage};
use proctor_text::pluralize;
use proctor_traces::{
    Arrival, Evidence, Gap, OpenTurn, SeenCall, SeenModelCall, Traces, TurnSpans,
};
use serde_json::{Value, json};

use super::span_events::span_events;
use super::{Agent, AgentTurn, Session};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};

/// How spans are received and what they are priced by.
#[derive(Clone)]
pub(crate) struct TraceParts {
    pub(crate) traces: Arc<Traces>,
    pub(crate) prices: Arc<PriceTable>,
    /// How long the spans of a turn are waited for.
    pub(crate) within: Duration,
}

/// An agent with its spans.
pub(crate) struct TracedAgent {
    pub(crate) inner: Arc<dyn Agent>,
    pub(crate) parts: TraceParts,
}

impl Agent for TracedAgent {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        Box::pin(async move {
            let inner = self.inner.open(attempt_id).await?;
            let parts = self.parts.clone();
            let session: Box<dyn Session> =
                Box::new(TracedSession { inner, parts, turn: 0, host_calls: Vec::new() });
            Ok(session)
        })
    }

    fn is_recorded(&self) -> bool {
        self.inner.is_recorded()
    }

    fn end(&self, at_once: bool) -> BoxFuture<'_, ()> {
        self.inner.end(at_once)
    }
}

struct TracedSession {
    inner: Box<dyn Session>,
    parts: TraceParts,
    /// The turn of the last question.
    turn: u32,
    /// The calls that the agent has asked the host for in this turn and that no span has shown.
    host_calls: Vec<ToolCall>,
}

impl Session for TracedSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        Box::pin(self.ask(turn))
    }

    fn lost_shared_process(&self) -> bool {
        self.inner.lost_shared_process()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.inner.close()
    }
}

impl TracedSession {
    async fn ask(&mut self, turn: AgentTurn<'_>) -> PartyAnswer<AgentAnswer> {
        let open = match self.parts.traces.begin() {
            Ok(open) => open,
            Err(error) => {
                let message =
                    format!("the operating system provides no random numbers for a trace: {error}");
                return PartyAnswer::plain(Err(Failure::harness(message)));
            }
        };
        if turn.turn != self.turn {
            (self.turn, self.host_calls) = (turn.turn, Vec::new());
        }
        let traceparent = open.traceparent();
        let began = tokio::time::Instant::now();
        let mut asked =
            self.inner.chat(AgentTurn { traceparent: Some(&traceparent), ..turn }).await;
        let answered_after = began.elapsed();
        // What is reported over the channel comes first: spans are matched with it.
        let outcome = asked.outcome.and_then(|mut answer| {
            turn.reporter.complete(&mut answer)?;
            Ok(answer)
        });
        asked.outcome = match outcome {
            Ok(mut answer) => {
                let found = wait_for_spans(open, turn, self.parts.within).await;
                let measured = answered_after.as_secs_f64() * 1000.0;
                self.add_evidence(&mut answer, &found, measured);
                self.record(&mut asked.events, turn.turn, &found);
                Ok(answer)
            }
            Err(failure) => {
                self.record(&mut asked.events, turn.turn, &open.close());
                Err(failure)
            }
        };
        asked
    }

    fn add_evidence(&mut self, answer: &mut AgentAnswer, found: &TurnSpans, measured: f64) {
        let evidence = &found.evidence;
        self.host_calls.extend(answer.pending_tool_calls.iter().cloned());
        let seen = without_host_calls(&evidence.calls, &mut self.host_calls);
        add_calls(&mut answer.tool_calls, seen);
        if let Some(gap) = found.gap {
            answer.calls_unknown_reason = Some(unknown_reason(gap, found));
        } else {
            answer.calls_listed = true;
        }
        // Without this, waiting for spans would count as the agent's time.
        let by_spans = evidence.duration_ms.filter(|_| found.gap.is_none());
        answer.duration_ms = answer.duration_ms.or(by_spans).or(Some(measured));
        let is_complete = !matches!(found.gap, Some(gap) if gap != Gap::NotInstrumented);
        if is_complete && !evidence.models.is_empty() {
            answer.cost_usd = answer.cost_usd.or_else(|| self.cost(evidence));
            add_tokens(&mut answer.metadata, &evidence.models);
        }
    }

    /// What the questions to models cost; nothing as soon as the price of one is unknown.
    fn cost(&self, evidence: &Evidence) -> Option<f64> {
        evidence.models.iter().map(|model| cost_of(model, &self.parts.prices)).sum()
    }

    fn record(&self, events: &mut Vec<Body>, turn: u32, found: &TurnSpans) {
        let prices = &self.parts.prices;
        let models = found.evidence.models.iter();
        events.extend(models.map(|model| Body::ModelCall(model_event(model, prices))));
        events.extend(span_events(turn, &found.spans));
    }
}

async fn wait_for_spans(open: OpenTurn, turn: AgentTurn<'_>, within: Duration) -> TurnSpans {
    let arrival = match turn.reporter.spans_flushed() {
        Some(true) => Arrival::Flushed,
        Some(false) | None => Arrival::InTheBackground,
    };
    open.finish(arrival, within).await
}

fn unknown_reason(gap: Gap, found: &TurnSpans) -> String {
    let others = match found.of_other_traces {
        0 => String::new(),
        count => format!(
            "; {} of no known trace came meanwhile: the agent must work in the trace of the turn (`traceparent`)",
            pluralize(count, "span")
        ),
    };
    let hint = match gap {
        Gap::NoSpans if found.of_other_traces == 0 => {
            "; is OpenTelemetry set up in the agent, with its OTLP exporter over HTTP?"
        }
        Gap::NotInstrumented => "; add the instrumentation of its framework",
        _ => "",
    };
    format!("evidence incomplete: which tools were called is unknown, because {gap}{hint}{others}")
}

/// The calls that spans show and that the host did not make. What an agent asks the host for has a span in some frameworks.
fn without_host_calls(seen: &[SeenCall], host_calls: &mut Vec<ToolCall>) -> Vec<SeenCall> {
    let mut own = Vec::new();
    for call in seen {
        let is_same = |asked: &ToolCall| {
            let same_id = call.id.as_deref().is_some_and(|id| !id.is_empty() && id == asked.id);
            let same_words = call.name == asked.name
                && call.arguments.as_ref().is_none_or(|arguments| *arguments == asked.arguments);
            same_id || call.id.is_none() && same_words
        };
        match host_calls.iter().position(is_same) {
            Some(place) => {
                host_calls.remove(place);
            }
            None => own.push(call.clone()),
        }
    }
    own
}

/// How sure it is that a call that is listed and one that a span shows are the same, the surest first.
const MATCHES: [fn(&DoneCall, &SeenCall) -> bool; 3] = [
    |listed, seen| {
        seen.id.as_deref().is_some_and(|id| !id.is_empty() && id == listed.call.id)
            && listed.call.name == seen.name
    },
    |listed, seen| {
        may_be_same(listed, seen) && seen.arguments.as_ref() == Some(&listed.call.arguments)
    },
    // Other arguments are another call, but unknown ones may be the same.
    |listed, seen| {
        may_be_same(listed, seen) && (seen.arguments.is_none() || listed.call.arguments.is_null())
    },
];

fn may_be_same(listed: &DoneCall, seen: &SeenCall) -> bool {
    let other_id = seen
        .id
        .as_deref()
        .is_some_and(|id| !id.is_empty() && !listed.call.id.is_empty() && id != listed.call.id);
    listed.call.name == seen.name && !other_id
}

/// Adds the calls that spans show to those that the agent lists: each call once.
fn add_calls(listed: &mut Vec<DoneCall>, seen: Vec<SeenCall>) {
    let mut left: Vec<Option<SeenCall>> = seen.into_iter().map(Some).collect();
    let mut is_taken = vec![false; listed.len()];
    for matches in MATCHES {
        for place in &mut left {
            let Some(call) = place else { continue };
            let at = (0..listed.len()).find(|at| !is_taken[*at] && matches(&listed[*at], call));
            if let (Some(at), Some(call)) = (at, at.and_then(|_| place.take())) {
                is_taken[at] = true;
                learn(&mut listed[at], call);
            }
        }
    }
    listed.extend(left.into_iter().flatten().map(done_call));
}

fn learn(listed: &mut DoneCall, seen: SeenCall) {
    if listed.call.arguments.is_null() {
        listed.call.arguments = seen.arguments.unwrap_or_default();
    }
    if listed.result.is_none() && listed.error.is_none() {
        (listed.result, listed.error) = (seen.result, seen.error);
    }
    listed.duration_ms = listed.duration_ms.or(Some(seen.duration_ms));
}

fn done_call(seen: SeenCall) -> DoneCall {
    DoneCall {
        call: ToolCall {
            id: seen.id.unwrap_or_default(),
            name: seen.name,
            arguments: seen.arguments.unwrap_or_default(),
        },
        result: seen.result,
        error: seen.error,
        duration_ms: Some(seen.duration_ms),
        metadata: Some(json!({"source": "span"})),
    }
}

fn add_tokens(metadata: &mut Option<Value>, models: &[SeenModelCall]) {
    let sum = |count: fn(&SeenModelCall) -> Option<u64>| models.iter().map(count).sum();
    let (input, output): (Option<u64>, Option<u64>) =
        (sum(|model| model.input_tokens), sum(|model| model.output_tokens));
    let Some((input, output)) = input.zip(output) else { return };
    let Value::Object(members) = metadata.get_or_insert_with(|| json!({})) else { return };
    members.entry("input_tokens").or_insert_with(|| input.into());
    members.entry("output_tokens").or_insert_with(|| output.into());
}

fn cost_of(model: &SeenModelCall, prices: &PriceTable) -> Option<f64> {
    let by_tokens = || {
        let price = prices.price(model.model.as_deref()?)?;
        let cached = model.cache_read_tokens + model.cache_write_tokens;
        let usage = Usage {
            input_tokens: model.input_tokens?.saturating_sub(cached),
            output_tokens: model.output_tokens?,
            cache_read_tokens: model.cache_read_tokens,
            cache_write_tokens: model.cache_write_tokens,
        };
        Some(price.cost(&usage).dollars())
    };
    model.cost_usd.or_else(by_tokens)
}

fn model_event(model: &SeenModelCall, prices: &PriceTable) -> ModelCall {
    ModelCall {
        backend: model.provider.clone(),
        model: model.model.clone(),
        purpose: Some(Purpose::Agent.as_str().into()),
        input_tokens: model.input_tokens,
        output_tokens: model.output_tokens,
        cost_usd: cost_of(model, prices),
        duration_ms: Some(Millis::new(model.duration_ms)),
        error: model.error.clone(),
        ..ModelCall::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(id: &str, arguments: Option<Value>) -> SeenCall {
        let id = Some(id.to_owned()).filter(|id| !id.is_empty());
        SeenCall { id, name: "look".into(), arguments, ..SeenCall::default() }
    }

    fn listed(id: &str, arguments: Value) -> DoneCall {
        let call = ToolCall { id: id.into(), name: "look".into(), arguments };
        DoneCall { call, ..DoneCall::default() }
    }

    fn arguments(listed: Vec<DoneCall>, seen: Vec<SeenCall>) -> Vec<Value> {
        let mut calls = listed;
        add_calls(&mut calls, seen);
        calls.into_iter().map(|done| done.call.arguments).collect()
    }

    #[test]
    fn each_call_is_counted_once() {
        let (one, two) = (json!({"n": 1}), json!({"n": 2}));
        let both = vec![listed("a", one.clone()), listed("", two.clone())];
        // By id, by words, and where one of them says no arguments.
        for seen in [
            vec![seen("", Some(two.clone())), seen("a", Some(one.clone()))],
            vec![seen("", None), seen("a", None)],
            vec![seen("", None), seen("", Some(one.clone()))],
            vec![],
        ] {
            assert_eq!(
                arguments(both.clone(), seen.clone()),
                [one.clone(), two.clone()],
                "{seen:?}"
            );
        }
        assert_eq!(
            arguments(vec![listed("", Value::Null)], vec![seen("", Some(one.clone()))]),
            [one]
        );
    }

    /// A call with other arguments than the agent says may not vanish behind the one that it lists.
    #[test]
    fn other_arguments_are_another_call() {
        let (one, two) = (json!({"n": 1}), json!({"n": 2}));
        let all = arguments(vec![listed("", one.clone())], vec![seen("", Some(two.clone()))]);
        assert_eq!(all, [one.clone(), two.clone()]);
        let all = arguments(vec![listed("a", one.clone())], vec![seen("b", Some(one.clone()))]);
        assert_eq!(all, [one.clone(), one.clone()], "another id is another call");
        let all = arguments(vec![], vec![seen("", None), seen("", Some(one.clone()))]);
        assert_eq!(all, [Value::Null, one]);
    }

    #[test]
    fn what_the_host_made_is_not_made_again() {
        let asked = |n: u64| ToolCall {
            id: format!("c{n}"),
            name: "look".into(),
            arguments: json!({"n": n}),
        };
        let mut host = vec![asked(1), asked(2), asked(3)];
        let spans =
            [seen("c1", None), seen("", Some(json!({"n": 2}))), seen("c9", Some(json!({"n": 3})))];
        let own = without_host_calls(&spans, &mut host);
        assert_eq!(own, [seen("c9", Some(json!({"n": 3})))]);
        assert_eq!(host, [asked(3)]);
    }

    #[test]
    fn a_cost_is_known_only_if_every_part_is() {
        let prices = PriceTable::default();
        let known = SeenModelCall {
            model: Some("gpt-4o".into()),
            input_tokens: Some(1_000_000),
            output_tokens: Some(0),
            cache_read_tokens: 1_000_000,
            ..SeenModelCall::default()
        };
        assert_eq!(cost_of(&known, &prices), Some(1.25), "all of it was in the cache");
        let told = SeenModelCall { cost_usd: Some(0.5), ..SeenModelCall::default() };
        assert_eq!(cost_of(&told, &prices), Some(0.5));
        assert_eq!(cost_of(&SeenModelCall { cost_usd: None, ..told }, &prices), None);
    }
}
