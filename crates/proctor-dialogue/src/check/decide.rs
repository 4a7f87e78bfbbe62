//! The decisions that need no judge.

use proctor_text::truncate;

use crate::expression::{EvaluationError, evaluate};
use crate::format::{Assertion, BlockKind, Pattern, PromptExpectation, ToolExpectation};
use crate::transcript::{DoneCall, Scope, Transcript, Turn};

use super::Decision;

/// The most characters of an answer that a message quotes.
const LONGEST_QUOTE: usize = 200;

/// The most characters of a prompt that a message quotes, and the most prompts.
const LONGEST_PROMPT: usize = 600;
const PROMPTS_SHOWN: usize = 3;

/// Why a check has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckError {
    /// The agent may have called the tool without reporting it; the text says how to make it report.
    #[error("{0}")]
    CallsUnknown(String),
    /// A call was reported without its arguments, which the check is about.
    #[error(
        "the arguments of `{tool}` are unknown: the agent reported the call without them; say where they stand (`made_calls: {{list: …, arguments: /place}}`), report the call with its `arguments`, or leave out `with`"
    )]
    ArgumentsUnknown { tool: String },
    /// Nothing is known of the prompts; the text says why.
    #[error("{0}")]
    PromptsUnknown(String),
    /// A recording or a cassette hides what the check is about.
    #[error(
        "it cannot be decided: {what} is kept with [redacted] in place of a secret; run the conversation with its agent instead of replaying it or judging it again"
    )]
    Masked { what: String },
    #[error("no answer reports {what}")]
    NumberUnknown { what: &'static str },
    #[error("the answer of turn {turn} does not report {what}")]
    NumberOfTurnUnknown { turn: u32, what: &'static str },
    #[error("no goal is stated; write one after `goal_achieved`")]
    NoGoal,
    /// The check belongs to the judge or to a program; `DecidedBy` says which.
    #[error("this check is not decided here")]
    DecidedElsewhere,
    #[error(transparent)]
    Expression(#[from] EvaluationError),
}

/// Decides an assertion, its negation left aside.
pub(crate) fn decide(
    assertion: &Assertion,
    scope: &Scope,
    transcript: &Transcript,
) -> Result<Decision, CheckError> {
    let turns = scope.turns(transcript);
    let decision = |holds, actual: String| Ok(Decision { holds, actual });
    match assertion {
        Assertion::Match(patterns) => {
            let holds = decide_patterns(&patterns.0, &turns, transcript, Quantity::All)?;
            decision(
                holds,
                format!("{}{}", quoted_answers(&turns), case_hint(holds, &patterns.0, &turns)),
            )
        }
        Assertion::MatchAny(patterns) => {
            let holds = decide_patterns(patterns, &turns, transcript, Quantity::Any)?;
            decision(
                holds,
                format!("{}{}", quoted_answers(&turns), case_hint(holds, patterns, &turns)),
            )
        }
        Assertion::CallTool(tool) => decide_tool_call(tool, &turns, transcript),
        Assertion::CalledTool(tool) => {
            let before = transcript.up_to(scope);
            decide_tool_call(tool, &Scope::Conversation.turns(&before), transcript)
        }
        Assertion::ToolOrder(tools) => decide_tool_order(tools, &turns, transcript),
        Assertion::Topic(topic) => {
            let now = current_topic(scope, transcript);
            let actual = now.map_or("it is in no topic".into(), |now| format!("it is in {now}"));
            decision(now == Some(topic.value.as_str()), actual)
        }
        Assertion::ReachedTopic(topic) => {
            let before = transcript.up_to(scope);
            let names = visited_topics(&before);
            decision(names.contains(&topic.value.as_str()), topic_list(&names))
        }
        Assertion::TopicHistory(topics) => {
            let before = transcript.up_to(scope);
            let names = visited_topics(&before);
            let wanted: Vec<&str> = topics.iter().map(|topic| topic.value.as_str()).collect();
            decision(wanted == names, topic_list(&names))
        }
        Assertion::TurnCount(count) => {
            let counted = match scope {
                Scope::Topic(_) => turns.len(),
                Scope::Turn(_) | Scope::Conversation => transcript.turns.len(),
            };
            let number = u32::try_from(counted).unwrap_or(u32::MAX);
            decision(count.accepts(number), format!("it took {number}"))
        }
        Assertion::LatencyMs(limit) => {
            let taken = known_numbers(&turns, |turn| turn.latency_ms, "how long it took")?;
            let slowest = taken.into_iter().fold(0.0, f64::max);
            let shown = (slowest * 1000.0).round() / 1000.0;
            decision(limit.accepts(slowest), format!("the slowest answer took {shown} ms"))
        }
        Assertion::CostUsd(limit) => {
            let cost: f64 =
                known_numbers(&turns, |turn| turn.cost_usd, "what it cost")?.iter().sum();
            let shown = (cost * 1e6).round() / 1e6;
            decision(limit.accepts(cost), format!("it cost {shown}"))
        }
        Assertion::Prompt(prompt) => decide_prompt(prompt, &turns, transcript),
        Assertion::Expression(expression) => {
            let holds = evaluate(expression, transcript, scope)?;
            decision(holds, format!("it gave {holds}"))
        }
        Assertion::GoalAchieved(_) => Err(CheckError::NoGoal),
        Assertion::Not(_)
        | Assertion::Satisfy(_)
        | Assertion::Grounded(_)
        | Assertion::ForbiddenClaims(_)
        | Assertion::Intent(_)
        | Assertion::Command(_)
        | Assertion::Block(_) => Err(CheckError::DecidedElsewhere),
    }
}

/// Whether one of the prompts has all that is looked for. Where there was no prompt there is nothing to look at: neither that it stands
/// there nor that it does not can be said.
fn decide_prompt(
    expected: &PromptExpectation,
    turns: &[&Turn],
    transcript: &Transcript,
) -> Result<Decision, CheckError> {
    let unknown = |reason: String| Err(CheckError::PromptsUnknown(reason));
    if let Some(reason) = transcript.reports.no_prompts_reason() {
        return unknown(reason);
    }
    if let Some(turn) = turns.iter().find(|turn| turn.prompts.is_none()) {
        return unknown(format!("the prompts of turn {} were not recorded", turn.number));
    }
    let prompts: Vec<&str> = turns
        .iter()
        .filter_map(|turn| turn.prompts.as_ref())
        .flatten()
        .map(String::as_str)
        .collect();
    if prompts.is_empty() {
        return unknown(
            "the agent made no call to its model endpoint here, so there is no prompt to look at; does it use the address in OPENAI_BASE_URL or ANTHROPIC_BASE_URL?"
                .into(),
        );
    }
    let patterns = expected.patterns();
    let mut hidden = false;
    let mut holds = false;
    for prompt in &prompts {
        let found: Vec<_> =
            patterns.iter().map(|pattern| transcript.has_match(pattern, prompt)).collect();
        holds |= found.iter().all(|found| *found == Some(true));
        hidden |= !found.contains(&Some(false)) && found.contains(&None);
    }
    if hidden && !holds {
        return Err(CheckError::Masked { what: "a prompt".into() });
    }
    Ok(Decision { holds, actual: quoted_prompts(&prompts) })
}

fn quoted_prompts(prompts: &[&str]) -> String {
    let quoted = |prompt: &&str| format!("{:?}", truncate(prompt, LONGEST_PROMPT));
    match prompts {
        [only] => format!("the prompt was {}", quoted(only)),
        prompts => {
            let shown: Vec<String> = prompts.iter().take(PROMPTS_SHOWN).map(quoted).collect();
            let more = prompts.len().saturating_sub(PROMPTS_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("the prompts were {}{more}", shown.join(", "))
        }
    }
}

fn decide_tool_order(
    tools: &[String],
    turns: &[&Turn],
    transcript: &Transcript,
) -> Result<Decision, CheckError> {
    let calls = calls(turns);
    let mut names = calls.iter().map(|call| &call.call.name);
    let holds = tools.iter().all(|tool| names.any(|name| name == tool));
    if !holds {
        tools.iter().try_for_each(|tool| require_known_absence(tool, turns, transcript))?;
    }
    Ok(Decision { holds, actual: called_tools(&calls) })
}

/// The topic that a scope is in.
fn current_topic<'a>(scope: &'a Scope, transcript: &'a Transcript) -> Option<&'a str> {
    match scope {
        Scope::Turn(number) => transcript.turn(*number).and_then(|turn| turn.topic.as_deref()),
        Scope::Topic(topic) => Some(topic.as_str()),
        Scope::Conversation => transcript.topic(),
    }
}

/// A number of every turn. One turn that does not say it makes the whole unknown.
fn known_numbers(
    turns: &[&Turn],
    number: impl Fn(&Turn) -> Option<f64>,
    what: &'static str,
) -> Result<Vec<f64>, CheckError> {
    if turns.is_empty() {
        return Err(CheckError::NumberUnknown { what });
    }
    turns
        .iter()
        .map(|turn| number(turn).ok_or(CheckError::NumberOfTurnUnknown { turn: turn.number, what }))
        .collect()
}

/// How many of the patterns must occur.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    All,
    Any,
}

/// Whether the patterns occur. What is known may suffice: of all one that is absent, of any one that is there.
fn decide_patterns(
    patterns: &[Pattern],
    turns: &[&Turn],
    transcript: &Transcript,
    quantity: Quantity,
) -> Result<bool, CheckError> {
    let mut unknown = None;
    for pattern in patterns {
        match known_occurrence(pattern, turns, transcript) {
            Ok(occurs) if occurs == (quantity == Quantity::Any) => return Ok(occurs),
            Ok(_) => {}
            Err(error) => unknown = Some(error),
        }
    }
    unknown.map_or(Ok(quantity == Quantity::All), Err)
}

/// Whether a pattern occurs in an answer of these turns, or that it may be hidden.
fn known_occurrence(
    pattern: &Pattern,
    turns: &[&Turn],
    transcript: &Transcript,
) -> Result<bool, CheckError> {
    let mut hidden_in = None;
    for turn in turns {
        match transcript.has_match(pattern, &turn.agent) {
            Some(true) => return Ok(true),
            Some(false) => {}
            None => hidden_in = hidden_in.or(Some(turn.number)),
        }
    }
    let masked = |turn| CheckError::Masked { what: format!("the answer of turn {turn}") };
    hidden_in.map_or(Ok(false), |turn| Err(masked(turn)))
}

/// Whether a text of the last turn matches, for rules that steer a conversation.
pub(crate) fn text_matches(
    pattern: &Pattern,
    text: &str,
    transcript: &Transcript,
) -> Result<bool, CheckError> {
    let what = || "what was said in the last turn".to_owned();
    transcript.has_match(pattern, text).ok_or_else(|| CheckError::Masked { what: what() })
}

fn pattern_occurs(pattern: &Pattern, turns: &[&Turn]) -> bool {
    turns.iter().any(|turn| pattern.occurs_in(&turn.agent))
}

/// The likeliest mistake where a pattern does not occur.
fn case_hint(holds: bool, patterns: &[Pattern], turns: &[&Turn]) -> String {
    let any_case = |pattern: &&Pattern| {
        let any_case = Pattern::new(&format!("(?i){}", pattern.source())).ok()?;
        (!pattern_occurs(pattern, turns) && pattern_occurs(&any_case, turns)).then_some(any_case)
    };
    let found = patterns.iter().filter(|_| !holds).find_map(|pattern| any_case(&pattern));
    found.map_or_else(String::new, |pattern| {
        format!("; write /{}/ if upper and lower case do not matter", pattern.source())
    })
}

fn quoted_answers(turns: &[&Turn]) -> String {
    match turns {
        [] => "nothing was said".into(),
        [turn] => format!("the agent said {:?}", truncate(&turn.agent, LONGEST_QUOTE)),
        turns => {
            let texts: Vec<String> = turns
                .iter()
                .map(|turn| {
                    format!("{:?} (turn {})", truncate(&turn.agent, LONGEST_QUOTE), turn.number)
                })
                .collect();
            format!("the agent said {}", texts.join(", "))
        }
    }
}

fn calls<'a>(turns: &[&'a Turn]) -> Vec<&'a DoneCall> {
    turns.iter().flat_map(|turn| &turn.tool_calls).collect()
}

fn called_tools(calls: &[&DoneCall]) -> String {
    if calls.is_empty() {
        return "no tool was called".into();
    }
    let shown = |call: &&DoneCall| match &call.call.arguments {
        arguments if arguments.is_null() => format!("{}(arguments unknown)", call.call.name),
        arguments => format!("{}({arguments})", call.call.name),
    };
    let calls: Vec<String> = calls.iter().map(shown).collect();
    format!("the calls were {}", calls.join(", "))
}

/// That a call was seen needs no more evidence; how many there were, or that there was none, does.
fn decide_tool_call(
    tool: &ToolExpectation,
    turns: &[&Turn],
    transcript: &Transcript,
) -> Result<Decision, CheckError> {
    let calls = calls(turns);
    let is_masked = |call: &&&DoneCall| has_masked_argument(tool, call, transcript);
    let masked = calls.iter().filter(is_masked).count();
    let seen = |call: &&&DoneCall| {
        call_matches(tool, call) && !is_masked(call) && !has_unknown_arguments(tool, call)
    };
    let count = calls.iter().filter(seen).count();
    if masked > 0 && (count == 0 || tool.times.is_some()) {
        return Err(CheckError::Masked { what: format!("an argument of `{}`", tool.name) });
    }
    // A call whose arguments are unknown may be the one that is meant, and may be another one.
    let may_be = |call: &&&DoneCall| has_unknown_arguments(tool, call);
    if calls.iter().any(|call| may_be(&call)) && (count == 0 || tool.times.is_some()) {
        return Err(CheckError::ArgumentsUnknown { tool: tool.name.clone() });
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let holds = match &tool.times {
        Some(times) => times.accepts(count),
        None => count > 0,
    };
    if count == 0 || tool.times.is_some() {
        require_known_absence(&tool.name, turns, transcript)?;
    }
    Ok(Decision { holds, actual: called_tools(&calls) })
}

/// Whether the expectation looks at arguments that this call was reported without.
fn has_unknown_arguments(tool: &ToolExpectation, call: &DoneCall) -> bool {
    call.call.name == tool.name && !tool.with.is_empty() && call.call.arguments.is_null()
}

/// Whether an argument that the expectation looks at is hidden in this call.
fn has_masked_argument(tool: &ToolExpectation, call: &DoneCall, transcript: &Transcript) -> bool {
    let arguments = &call.call.arguments;
    let hides = |name: &str| match arguments.get(name) {
        Some(value) => transcript.hides(&value.to_string()),
        // The name itself may be masked.
        None => transcript.hides(&arguments.to_string()),
    };
    call.call.name == tool.name && tool.with.iter().any(|(name, _)| hides(name))
}

/// Fails if the agent may have called this tool without reporting it.
fn require_known_absence(
    tool: &str,
    turns: &[&Turn],
    transcript: &Transcript,
) -> Result<(), CheckError> {
    let unlisted = Transcript::calls_unknown_in(turns);
    let unknown = transcript.reports.unknown_call_reason(tool, unlisted);
    let reason = |general| if unlisted { transcript.calls_unknown_reason(turns) } else { general };
    unknown.map_or(Ok(()), |general| Err(CheckError::CallsUnknown(reason(general))))
}

/// Why a check that others decide cannot be decided by them: it looks at something that the agent did not report.
pub(crate) fn unreported(
    assertion: &Assertion,
    scope: &Scope,
    transcript: &Transcript,
) -> Option<String> {
    match assertion {
        Assertion::Grounded(grounding) => {
            let turns = Scope::Conversation.turns(transcript);
            let known = !Transcript::calls_unknown_in(&turns);
            if !known && !grounding.from_tools.is_empty() {
                let unknown =
                    |tool: &&String| transcript.reports.unknown_call_reason(tool, true).is_some();
                let tool = grounding.from_tools.iter().find(unknown);
                return tool.map(|_| transcript.calls_unknown_reason(&turns));
            }
            if !known {
                return Some(transcript.calls_unknown_reason(&turns));
            }
            missing_results_reason(&grounding.from_tools, &turns)
        }
        Assertion::Block(block)
            if matches!(block.kind, BlockKind::ToolCall | BlockKind::ConversationToolCall) =>
        {
            let whole = block.kind == BlockKind::ConversationToolCall;
            let scope = if whole { &Scope::Conversation } else { scope };
            let turns = scope.turns(transcript);
            let unknown = Transcript::calls_unknown_in(&turns);
            let unreported = unknown.then(|| transcript.calls_unknown_reason(&turns));
            unreported.or_else(|| masked_conversation(scope, transcript))
        }
        // A program reads the conversation and may look for anything in it.
        Assertion::Command(_) | Assertion::Block(_) => masked_conversation(scope, transcript),
        _ => None,
    }
}

/// Why a program cannot judge the conversation, if something is hidden in it.
fn masked_conversation(scope: &Scope, transcript: &Transcript) -> Option<String> {
    let hidden = transcript.hides(&transcript.visible_in(scope).to_string());
    let masked = CheckError::Masked { what: "the conversation".to_owned() };
    hidden.then(|| masked.to_string())
}

/// Claims are compared with results; an agent that lists calls and none of their results cannot be checked.
fn missing_results_reason(from_tools: &[String], turns: &[&Turn]) -> Option<String> {
    let counts = |call: &&DoneCall| from_tools.is_empty() || from_tools.contains(&call.call.name);
    let calls: Vec<&DoneCall> = calls(turns).into_iter().filter(counts).collect();
    let has_result = |call: &&DoneCall| call.result.is_some() || call.error.is_some();
    let missing = !calls.is_empty() && !calls.iter().any(has_result);
    missing.then(|| {
        let name = calls.first().map_or("", |call| call.call.name.as_str());
        format!("the agent lists the call of `{name}` without its result, which claims are compared with; add `result` to the calls it reports")
    })
}

fn call_matches(tool: &ToolExpectation, call: &DoneCall) -> bool {
    let arguments = &call.call.arguments;
    call.call.name == tool.name
        && (tool.with.is_empty() || arguments.is_object())
        && tool.with.iter().all(|(name, matcher)| matcher.accepts(arguments.get(name)))
}

/// Whether a turn has a call that matches; an error where it is unknown.
pub(crate) fn calls_tool(
    tool: &ToolExpectation,
    turn: &Turn,
    transcript: &Transcript,
) -> Result<bool, CheckError> {
    decide_tool_call(tool, &[turn], transcript).map(|decision| decision.holds)
}

fn visited_topics(transcript: &Transcript) -> Vec<&str> {
    transcript.visits.iter().map(|visit| visit.topic.as_str()).collect()
}

fn topic_list(names: &[&str]) -> String {
    if names.is_empty() {
        return "no topic was visited".into();
    }
    format!("the topics were {}", names.join(" → "))
}

#[cfg(test)]
mod tests {
    use proctor_events::EvaluationMode;
    use serde_json::json;

    use super::super::{describe, plan};
    use super::*;
    use crate::transcript::{ToolCall, TopicVisit};
    use proctor_yaml::{Findings, Node, Place, read_node};

    fn transcript() -> Transcript {
        let call = |name: &str, arguments| DoneCall {
            call: ToolCall { id: "1".into(), name: name.into(), arguments },
            ..DoneCall::default()
        };
        let turn = |number, agent: &str, tool_calls, topic: &str| Turn {
            number,
            user: "u".into(),
            agent: agent.into(),
            tool_calls,
            topic: Some(topic.into()),
            latency_ms: Some(100.0 * f64::from(number)),
            cost_usd: Some(0.25),
            ..Turn::default()
        };
        let visit = |topic: &str, turn| TopicVisit { topic: topic.into(), turns: vec![turn] };
        Transcript {
            turns: vec![
                turn(1, "Hello", vec![call("search", json!({"city": "Rome"}))], "greet"),
                turn(2, "Booked", vec![call("book", json!({"guests": 50}))], "book"),
            ],
            visits: vec![visit("greet", 1), visit("book", 2)],
            ..Transcript::default()
        }
    }

    /// Reported by a span that lacks them, or listed under a name that nobody looks at.
    #[test]
    fn arguments_that_are_unknown_decide_nothing() {
        let mut transcript = transcript();
        transcript.turns[0].tool_calls[0].call.arguments = serde_json::Value::Null;
        let decided = |assertion: serde_json::Value| {
            let tool: ToolExpectation = serde_json::from_value(assertion).unwrap();
            decide_tool_call(&tool, &[&transcript.turns[0]], &transcript)
        };
        let rome = json!({"city": "Rome"});
        for assertion in [
            json!({"name": "search", "with": rome}),
            json!({"name": "search", "with": {"city": {"absent": true}}}),
            json!({"name": "search", "with": rome, "times": 0}),
        ] {
            let error = decided(assertion).unwrap_err().to_string();
            assert!(error.contains("the arguments of `search` are unknown"), "{error}");
        }
        assert!(decided(json!("search")).unwrap().holds);
        assert!(decided(json!({"name": "search", "times": 1})).unwrap().holds);
        assert!(!decided(json!({"name": "book", "with": rome})).unwrap().holds);
    }

    fn planned(assertion: &serde_json::Value) -> Vec<super::super::PlannedCheck> {
        let node = Node::from_value(&json!([assertion]), Place::default());
        let mut findings = Findings::default();
        let assertions: Vec<proctor_yaml::At<Assertion>> =
            read_node(&node, &mut findings).unwrap_or_else(|| panic!("{findings:?}"));
        plan(&assertions, &[], &crate::format::Ordered::default(), None)
    }

    /// That a secret is not seen in a recording says nothing, whatever is demanded; what is visible decides as always.
    #[test]
    fn what_a_mask_may_hide_is_not_decided() {
        let mut live = transcript();
        live.turns[0].agent = "Hello, the key is [redacted]".into();
        live.turns[0].tool_calls[0].call.arguments = json!({"city": "Rome", "key": "k [redacted]"});
        let stored = Transcript { is_stored: true, ..live.clone() };
        let look = |assertion: &serde_json::Value, transcript: &Transcript| {
            let assertion = &planned(assertion)[0].assertion;
            match decide(assertion, &Scope::Conversation, transcript) {
                Ok(decision) => Some(decision.holds),
                Err(CheckError::Masked { .. }) => None,
                Err(error) => panic!("{error}"),
            }
        };
        let with = |name: &str, value: &str| json!({"call_tool": {"name": "search", "with": {name: value}}});
        for (assertion, then, now) in [
            (json!({"match": "hush"}), false, None),
            (json!({"match": "redacted"}), true, None),
            (json!({"match": "key is .*"}), true, None),
            (json!({"match": "Hello"}), true, Some(true)),
            (json!({"match": "Booked"}), true, Some(true)),
            (json!({"match": ["Hello", "hush"]}), false, None),
            (json!({"match_any": ["hush", "Hello"]}), true, Some(true)),
            (json!({"match_any": ["hush", "hash"]}), false, None),
            (with("key", "k hush"), false, None),
            (with("key", "k [redacted]"), true, None),
            (with("city", "Rome"), true, Some(true)),
            (with("city", "Oslo"), false, Some(false)),
            (with("other", "x"), false, None),
            (json!({"call_tool": "search"}), true, Some(true)),
        ] {
            for assertion in [assertion.clone(), json!({"not": assertion})] {
                assert_eq!(look(&assertion, &live), Some(then), "{assertion}");
                assert_eq!(look(&assertion, &stored), now, "{assertion}");
            }
        }
        let command = planned(&json!({"command": ["true"]}))[0].assertion.clone();
        assert_eq!(unreported(&command, &Scope::Conversation, &live), None);
        let reason = unreported(&command, &Scope::Conversation, &stored).unwrap();
        assert!(reason.contains("in place of a secret"), "{reason}");
        assert_eq!(unreported(&command, &Scope::Conversation, &transcript()), None);
    }

    /// The message of a failed assertion, or nothing when it holds.
    #[expect(clippy::needless_pass_by_value, reason = "literals read better at the call")]
    fn check(assertion: serde_json::Value, scope: &Scope) -> Option<String> {
        let planned = planned(&assertion);
        assert_eq!(planned[0].mode, EvaluationMode::Hard);
        let decision = decide(&planned[0].assertion, scope, &transcript()).unwrap();
        (decision.holds == planned[0].negated)
            .then(|| format!("{}: {}", describe(&planned[0]), decision.actual))
    }

    /// Each assertion: one form that holds, one that does not, and both turned round.
    #[test]
    fn every_assertion_and_its_negation() {
        let first = Scope::Turn(1);
        let all = Scope::Conversation;
        for (scope, holds, fails) in [
            (&first, json!({"match": "Hel+o"}), json!({"match": ["Hello", "Booked"]})),
            (&all, json!({"match": ["Hello", "Booked"]}), json!({"match": "bye"})),
            (&first, json!({"match_any": ["x", "Hello"]}), json!({"match_any": ["x", "y"]})),
            (&first, json!({"call_tool": "search"}), json!({"call_tool": "book"})),
            (
                &all,
                json!({"call_tool": {"name": "book", "with": {"guests": {"at_least": 50}}}}),
                json!({"call_tool": {"name": "book", "with": {"guests": {"above": 50}}}}),
            ),
            (
                &all,
                json!({"call_tool": {"name": "book", "times": 1}}),
                json!({"call_tool": {"name": "book", "times": {"at_least": 2}}}),
            ),
            (&first, json!({"called_tool": "book"}), json!({"called_tool": "pay"})),
            (
                &all,
                json!({"tool_order": ["search", "book"]}),
                json!({"tool_order": ["book", "search"]}),
            ),
            (&first, json!({"topic": "greet"}), json!({"topic": "book"})),
            (&all, json!({"topic": "book"}), json!({"topic": "greet"})),
            (&all, json!({"reached_topic": "greet"}), json!({"reached_topic": "pay"})),
            (
                &all,
                json!({"topic_history": ["greet", "book"]}),
                json!({"topic_history": ["greet"]}),
            ),
            (&all, json!({"turn_count": 2}), json!({"turn_count": {"above": 2}})),
            (
                &first,
                json!({"latency_ms": {"at_most": 100}}),
                json!({"latency_ms": {"below": 100}}),
            ),
            (&all, json!({"cost_usd": {"at_most": 0.5}}), json!({"cost_usd": {"at_most": 0.25}})),
            (
                &first,
                json!({"expression": "turn.number == 1"}),
                json!({"expression": "turn.number == 2"}),
            ),
        ] {
            assert_eq!(check(holds.clone(), scope), None, "{holds}");
            assert!(check(fails.clone(), scope).is_some(), "{fails}");
            assert!(check(json!({"not": holds}), scope).is_some());
            assert_eq!(check(json!({"not": fails}), scope), None);
        }
    }

    #[test]
    fn messages_show_expected_and_actual() {
        let message = |assertion| check(assertion, &Scope::Conversation).unwrap();
        insta::assert_snapshot!(
            [
                message(json!({"match": "bye"})),
                message(json!({"match": "hello"})),
                message(json!({"not": {"match_any": ["Hello", "x"]}})),
                message(json!({"call_tool": {"name": "book", "with": {"guests": {"below": 9}}}})),
                message(json!({"tool_order": ["book", "search"]})),
                message(json!({"topic_history": ["book"]})),
                message(json!({"turn_count": {"at_most": 1}})),
                message(json!({"latency_ms": {"below": 100}})),
                message(json!({"not": {"expression": "turn_count == 2"}})),
            ]
            .join("\n")
        );
    }

    /// A turn that does not say what it cost may have cost anything.
    #[test]
    fn d17_a_number_that_one_turn_does_not_say_is_unknown() {
        let mut partly = transcript();
        (partly.turns[0].cost_usd, partly.turns[1].latency_ms) = (None, None);
        for assertion in [
            json!({"cost_usd": {"below": 9}}),
            json!({"cost_usd": {"at_least": 0}}),
            json!({"latency_ms": {"below": 9000}}),
        ] {
            let node = Node::from_value(&assertion, Place::default());
            let assertion: Assertion = read_node(&node, &mut Findings::default()).unwrap();
            let decided = decide(&assertion, &Scope::Conversation, &partly);
            assert!(
                decided
                    .as_ref()
                    .is_err_and(|error| matches!(error, CheckError::NumberOfTurnUnknown { .. })),
                "{decided:?}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_not_decided() {
        let unknown = Transcript { turns: vec![Turn::default()], ..Transcript::default() };
        for assertion in
            [json!({"latency_ms": 1}), json!({"cost_usd": 1}), json!({"goal_achieved": "stated"})]
        {
            let node = Node::from_value(&assertion, Place::default());
            let assertion: Assertion = read_node(&node, &mut Findings::default()).unwrap();
            assert!(decide(&assertion, &Scope::Conversation, &unknown).is_err());
        }
    }
}
