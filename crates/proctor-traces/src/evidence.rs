//! What the spans of a turn say, and whether they are all there. Pure.
//!
//! A span is sent when it has ended, after the spans inside it. So the spans of a turn are all there once the span that the turn began
//! with has arrived and no span names a parent that has not. That says nothing about calls that no instrumentation sees: calls are
//! known only where a span of an agent, a chain or a tool shows that somebody looks at the agent's work.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::genai::{ModelSpan, Role, ToolSpan, role};
use crate::requested_calls::requested_arguments;
use crate::span::{Span, SpanId, SpanKind, milliseconds};

/// The tool by which smolagents says its answer.
const ANSWER_TOOL: (&str, &str) = ("smolagents", "final_answer");

/// A call of a tool that spans show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenCall {
    /// Its id, where a span has it.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// Its arguments; nothing where no span has them.
    pub arguments: Option<Value>,
    /// What came of it.
    pub result: Option<Value>,
    /// Why it failed.
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: f64,
}

/// A question to a model that spans show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenModelCall {
    /// Who offers the model.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Tokens sent, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// Of the tokens sent, those that the provider had in its cache.
    pub cache_read_tokens: u64,
    /// Of the tokens sent, those that it put there.
    pub cache_write_tokens: u64,
    /// What it cost, where the span says so.
    pub cost_usd: Option<f64>,
    /// How long it took.
    pub duration_ms: f64,
    /// Why it failed.
    pub error: Option<String>,
}

/// Why it is not known which calls an agent made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// Nothing came.
    #[error("no span of the turn has arrived")]
    NoSpans,
    /// The span that all others are in is missing.
    #[error("the span that the turn began with has not ended, or did not arrive")]
    NoRoot,
    /// Spans that others are in are missing.
    #[error("{0} of its spans did not arrive: others name them as their parents")]
    MissingParents(usize),
    /// Nobody looks at the agent's work.
    #[error(
        "none of its spans is about an agent, a chain or a tool, so calls of tools may have no spans"
    )]
    NotInstrumented,
    /// More came than is kept.
    #[error("it has more spans than are kept")]
    TooMany,
    /// Spans were refused.
    #[error("a request with spans could not be read")]
    Refused,
}

/// What the spans of a turn say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The calls of tools, in the order they began.
    pub calls: Vec<SeenCall>,
    /// The questions to models, in the order they began.
    pub models: Vec<SeenModelCall>,
    /// How long the turn took by its outermost spans.
    pub duration_ms: Option<f64>,
}

/// Why the spans of a turn are not all there.
pub(crate) fn gap(turn: SpanId, spans: &[Span]) -> Option<Gap> {
    if spans.is_empty() {
        return Some(Gap::NoSpans);
    }
    let ids: HashSet<SpanId> = spans.iter().map(|span| span.span_id).collect();
    let is_missing = |parent: &SpanId| *parent != turn && !ids.contains(parent);
    let missing: HashSet<SpanId> =
        spans.iter().filter_map(|span| span.parent).filter(is_missing).collect();
    if !spans.iter().any(|span| is_root(span, turn)) {
        return Some(Gap::NoRoot);
    }
    (!missing.is_empty()).then_some(Gap::MissingParents(missing.len()))
}

/// Whether the spans show who looks at the agent's work.
pub(crate) fn is_instrumented(spans: &[Span]) -> bool {
    spans.iter().any(|span| matches!(role(span), Role::Agent | Role::Tool(_)))
}

/// Whether the turn is one request to a server whose handling has ended: nothing of it comes later.
pub(crate) fn has_server_root(turn: SpanId, spans: &[Span]) -> bool {
    spans.iter().any(|span| is_root(span, turn) && span.kind == SpanKind::Server)
}

fn is_root(span: &Span, turn: SpanId) -> bool {
    span.parent.is_none_or(|parent| parent == turn)
}

impl Evidence {
    /// What these spans of a turn say.
    pub(crate) fn of(turn: SpanId, spans: &[Span]) -> Self {
        let mut ordered: Vec<&Span> = spans.iter().collect();
        ordered.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns)));
        let tree = Tree::of(&ordered);
        let roots: Vec<&Span> =
            ordered.iter().copied().filter(|span| is_root(span, turn)).collect();
        let began = roots.iter().map(|span| span.start_ns).min();
        let ended = roots.iter().map(|span| span.end_ns).max();
        Self {
            calls: tree.calls(&ordered),
            models: tree.models(&ordered),
            duration_ms: began.zip(ended).map(|(began, ended)| milliseconds(began, ended)),
        }
    }
}

/// Spans with what they are about, by id.
struct Tree<'a>(HashMap<SpanId, (&'a Span, Role)>);

impl<'a> Tree<'a> {
    fn of(spans: &[&'a Span]) -> Self {
        Self(spans.iter().map(|span| (span.span_id, (*span, role(span)))).collect())
    }

    fn role(&self, span: &Span) -> &Role {
        self.0.get(&span.span_id).map_or(&Role::Other, |(_, role)| role)
    }

    /// The nearest span around this one that is about something. A chain is no boundary: frameworks wrap each step in one.
    fn around(&self, span: &Span) -> Option<(SpanId, &Role)> {
        let mut parent = span.parent;
        // Ids come from outside and may form a circle.
        for _ in 0..self.0.len() {
            let (around, role) = self.0.get(&parent?)?;
            if matches!(role, Role::Tool(_) | Role::Model(_)) || is_agent(around) {
                return Some((around.span_id, role));
            }
            parent = around.parent;
        }
        None
    }

    fn calls(&self, ordered: &[&Span]) -> Vec<SeenCall> {
        let models = |span: &&&Span| matches!(self.role(span), Role::Model(_));
        let asked: Vec<&Span> = ordered.iter().filter(models).copied().collect();
        let requested = requested_arguments(&asked);
        let mut calls: Vec<SeenCall> = Vec::new();
        // The outermost span of each.
        let mut whole: Vec<&Span> = Vec::new();
        let mut place: HashMap<SpanId, usize> = HashMap::new();
        for span in ordered {
            let Role::Tool(tool) = self.role(span) else { continue };
            if span.scope.contains(ANSWER_TOOL.0) && tool.name == ANSWER_TOOL.1 {
                continue;
            }
            let outer = self.around(span).and_then(|(id, _)| place.get(&id).copied());
            let same = outer.filter(|at| is_same_call(&calls[*at], tool)).or_else(|| {
                // Beside each other, by two instrumentations. Ids alone do not tell: some models number their calls anew.
                let id = tool.id.as_ref()?;
                let is_same = |at: &usize| {
                    let (call, other) = (&calls[*at], whole[*at]);
                    let within = other.start_ns <= span.start_ns && span.end_ns <= other.end_ns;
                    call.id.as_ref() == Some(id) && call.name == tool.name && within
                };
                (0..calls.len()).find(is_same)
            });
            if let Some(at) = same {
                place.insert(span.span_id, at);
                learn(&mut calls[at], span, tool);
            } else {
                place.insert(span.span_id, calls.len());
                calls.push(seen_call(span, tool));
                whole.push(span);
            }
        }
        for call in calls.iter_mut().filter(|call| call.arguments.is_none()) {
            let asked = call.id.as_ref().and_then(|id| requested.get(id));
            call.arguments = asked.filter(|arguments| arguments.is_object()).cloned();
        }
        calls
    }

    /// A span of a model inside another one is the same question, seen by another instrumentation.
    fn models(&self, ordered: &[&Span]) -> Vec<SeenModelCall> {
        let mut seen: Vec<SeenModelCall> = Vec::new();
        let mut place: HashMap<SpanId, usize> = HashMap::new();
        for span in ordered {
            let Role::Model(model) = self.role(span) else { continue };
            let outer = self.around(span).and_then(|(id, _)| place.get(&id).copied());
            if let Some(at) = outer {
                place.insert(span.span_id, at);
                learn_model(&mut seen[at], model);
            } else {
                place.insert(span.span_id, seen.len());
                seen.push(seen_model(span, model));
            }
        }
        seen
    }
}

/// Whether the span is an agent of its own, whose calls are not those of the tool around it.
fn is_agent(span: &Span) -> bool {
    let kind = span.text(&["openinference.span.kind", "traceloop.span.kind"]);
    span.text(&["gen_ai.operation.name"]) == Some("invoke_agent")
        || kind.is_some_and(|kind| kind.eq_ignore_ascii_case("agent"))
}

/// Whether a span inside the span of a call is about the same call.
fn is_same_call(outer: &SeenCall, inner: &ToolSpan) -> bool {
    let other_id = matches!((&outer.id, &inner.id), (Some(outer), Some(inner)) if outer != inner);
    outer.name == inner.name && !other_id
}

fn seen_call(span: &Span, tool: &ToolSpan) -> SeenCall {
    let failed = span.error.is_some();
    SeenCall {
        id: tool.id.clone(),
        name: tool.name.clone(),
        arguments: tool.arguments.clone(),
        result: tool.result.clone().filter(|_| !failed),
        error: span.error.clone(),
        duration_ms: span.duration_ms(),
    }
}

fn learn(call: &mut SeenCall, span: &Span, tool: &ToolSpan) {
    let more = seen_call(span, tool);
    call.id = call.id.take().or(more.id);
    call.arguments = call.arguments.take().or(more.arguments);
    call.result = call.result.take().or(more.result);
}

fn seen_model(span: &Span, model: &ModelSpan) -> SeenModelCall {
    SeenModelCall {
        provider: model.provider.clone(),
        model: model.model.clone(),
        input_tokens: model.input_tokens,
        output_tokens: model.output_tokens,
        cache_read_tokens: model.cache_read_tokens.unwrap_or_default(),
        cache_write_tokens: model.cache_write_tokens.unwrap_or_default(),
        cost_usd: model.cost_usd,
        duration_ms: span.duration_ms(),
        error: span.error.clone(),
    }
}

fn learn_model(seen: &mut SeenModelCall, model: &ModelSpan) {
    seen.provider = seen.provider.take().or_else(|| model.provider.clone());
    seen.model = seen.model.take().or_else(|| model.model.clone());
    seen.input_tokens = seen.input_tokens.or(model.input_tokens);
    seen.output_tokens = seen.output_tokens.or(model.output_tokens);
    seen.cost_usd = seen.cost_usd.or(model.cost_usd);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TURN: SpanId = [9; 8];

    fn span(id: u8, parent: Option<u8>, attributes: &Value) -> Span {
        let attributes = attributes.as_object().unwrap().clone().into_iter().collect();
        Span {
            span_id: [id; 8],
            parent: Some(parent.map_or(TURN, |parent| [parent; 8])),
            start_ns: u64::from(id) * 1_000_000,
            end_ns: 100_000_000 - u64::from(id),
            attributes,
            ..Span::default()
        }
    }

    fn agent() -> Value {
        json!({"openinference.span.kind": "AGENT"})
    }

    fn tool(name: &str, input: &str) -> Value {
        json!({"openinference.span.kind": "TOOL", "tool.name": name, "input.value": input})
    }

    #[test]
    fn a_turn_is_complete_with_its_root_and_all_parents() {
        assert_eq!(gap(TURN, &[]), Some(Gap::NoSpans));
        let inner = span(2, Some(1), &tool("look", "{}"));
        assert_eq!(gap(TURN, std::slice::from_ref(&inner)), Some(Gap::NoRoot));
        let root = span(1, None, &agent());
        assert_eq!(gap(TURN, &[inner.clone(), root.clone()]), None);
        let lost = span(4, Some(3), &tool("look", "{}"));
        assert_eq!(gap(TURN, &[inner, root, lost]), Some(Gap::MissingParents(1)));
    }

    #[test]
    fn models_alone_do_not_show_which_tools_were_called() {
        let chat = span(1, None, &json!({"gen_ai.operation.name": "chat"}));
        assert!(!is_instrumented(std::slice::from_ref(&chat)));
        assert!(is_instrumented(&[chat, span(2, None, &agent())]));
    }

    /// smolagents has a span for the call and one for the function inside it.
    #[test]
    fn several_spans_of_one_call_are_one_call() {
        let spans = [
            span(1, None, &agent()),
            span(2, Some(1), &tool("look", "Rome")),
            span(3, Some(2), &json!({"openinference.span.kind": "CHAIN"})),
            span(4, Some(3), &tool("look", "{\"city\": \"Rome\"}")),
            span(5, Some(1), &tool("look", "{\"city\": \"Oslo\"}")),
        ];
        let evidence = Evidence::of(TURN, &spans);
        let arguments: Vec<_> = evidence.calls.iter().map(|call| call.arguments.clone()).collect();
        assert_eq!(arguments, [Some(json!({"city": "Rome"})), Some(json!({"city": "Oslo"}))]);
        assert!((evidence.duration_ms.unwrap() - 99.0).abs() < 0.001);
    }

    #[test]
    fn calls_of_an_agent_that_is_a_tool_are_calls_of_their_own() {
        let spans = [
            span(1, None, &agent()),
            span(2, Some(1), &tool("ask", "{}")),
            span(3, Some(2), &agent()),
            span(4, Some(3), &tool("ask", "{}")),
            span(5, Some(4), &tool("look", "{}")),
        ];
        let names: Vec<String> =
            Evidence::of(TURN, &spans).calls.into_iter().map(|call| call.name).collect();
        assert_eq!(names, ["ask", "ask", "look"]);
    }

    #[test]
    fn arguments_come_from_the_request_of_the_same_id() {
        let output = json!({"type": "tool", "content": "clear", "tool_call_id": "c1"});
        let call = json!({"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "{'n': 1}", "output.value": output.to_string()});
        let other = json!({"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "{'n': 2}"});
        let asked = json!({
            "openinference.span.kind": "LLM",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"n\": 1}",
        });
        let spans = [span(1, None, &asked), span(2, None, &call), span(3, None, &other)];
        let calls = Evidence::of(TURN, &spans).calls;
        assert_eq!(calls[0].arguments, Some(json!({"n": 1})));
        assert_eq!(calls[1].arguments, None, "nothing says which call it is");
    }

    /// `times: 1` may not hold because a model gives every call the same id.
    #[test]
    fn calls_of_the_same_id_one_after_the_other_are_two() {
        let call = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"});
        let (mut first, mut second) = (span(1, None, &call), span(2, None, &call));
        (first.start_ns, first.end_ns) = (1, 5);
        (second.start_ns, second.end_ns) = (6, 9);
        assert_eq!(Evidence::of(TURN, &[first.clone(), second.clone()]).calls.len(), 2);
        (second.start_ns, second.end_ns) = (2, 4);
        assert_eq!(Evidence::of(TURN, &[first, second]).calls.len(), 1);
    }

    #[test]
    fn a_model_inside_a_model_is_asked_once() {
        let outer = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"});
        let inner = json!({"openinference.span.kind": "LLM", "llm.token_count.prompt": 5});
        let models = Evidence::of(TURN, &[span(1, None, &outer), span(2, Some(1), &inner)]).models;
        assert_eq!((models.len(), models[0].input_tokens), (1, Some(5)));
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let spans = [span(1, Some(2), &tool("a", "{}")), span(2, Some(1), &tool("b", "{}"))];
        assert_eq!(Evidence::of(TURN, &spans).calls.len(), 2);
    }
}
