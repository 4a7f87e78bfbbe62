//! Assertions in words.

use crate::format::{Assertion, BlockKind, Pattern, ToolExpectation};

use super::PlannedCheck;

/// What a check demands, as a sentence without its subject's turn: `call tool book with {…}`.
pub(crate) fn describe(check: &PlannedCheck) -> String {
    if let (Assertion::ForbiddenClaims(claims), true) = (&check.assertion, check.negated) {
        return format!("claim any of: {}", claims.0.join(", "));
    }
    let text = describe_assertion(&check.assertion);
    if check.negated { format!("not {text}") } else { text }
}

fn describe_assertion(assertion: &Assertion) -> String {
    let quoted = |texts: Vec<&str>| {
        let texts: Vec<String> = texts.into_iter().map(|text| format!("/{text}/")).collect();
        texts.join(", ")
    };
    let names = |names: Vec<&str>| names.join(" → ");
    match assertion {
        Assertion::Not(inner) => format!("not {}", describe_assertion(inner)),
        Assertion::Satisfy(criteria) => {
            let names: Vec<&str> = criteria.0.iter().map(|name| name.value.as_str()).collect();
            format!("satisfy {}", names.join(", "))
        }
        Assertion::Match(patterns) => {
            format!("match {}", quoted(patterns.0.iter().map(Pattern::source).collect()))
        }
        Assertion::MatchAny(patterns) => {
            let patterns = patterns.iter().map(Pattern::source).collect();
            format!("match any of {}", quoted(patterns))
        }
        Assertion::CallTool(tool) | Assertion::CalledTool(tool) => describe_tool_call(tool),
        Assertion::ToolOrder(tools) => {
            format!("call tools in the order {}", names(tools.iter().map(String::as_str).collect()))
        }
        Assertion::Grounded(grounding) if grounding.claims.is_empty() => {
            "be grounded in tool results".into()
        }
        Assertion::Grounded(grounding) => {
            format!("ground {} in tool results", grounding.claims.join(", "))
        }
        Assertion::ForbiddenClaims(claims) => format!("claim none of: {}", claims.0.join(", ")),
        Assertion::Intent(intent) => format!("have the intent {}", intent.name),
        Assertion::Topic(topic) => format!("be in topic {}", topic.value),
        Assertion::ReachedTopic(topic) => format!("have reached topic {}", topic.value),
        Assertion::TopicHistory(topics) => {
            format!(
                "go through topics {}",
                names(topics.iter().map(|topic| topic.as_str()).collect())
            )
        }
        Assertion::GoalAchieved(goal) => match goal.text() {
            Some(goal) => format!("achieve the goal {goal:?}"),
            None => "achieve the stated goal".into(),
        },
        Assertion::TurnCount(count) => format!("take {count} turns"),
        Assertion::LatencyMs(limit) => format!("answer in {limit} ms"),
        Assertion::CostUsd(limit) => format!("cost {limit} US dollars"),
        Assertion::Prompt(prompt) => format!("send its model a prompt with {prompt}"),
        Assertion::Expression(expression) => format!("make true: {}", expression.source()),
        Assertion::Command(command) => format!("pass the command `{}`", command.0.join(" ")),
        Assertion::Block(block) => block.description.clone(),
    }
}

fn describe_tool_call(tool: &ToolExpectation) -> String {
    let mut text = format!("call tool {}", tool.name);
    if !tool.with.is_empty() {
        let with: Vec<String> =
            tool.with.iter().map(|(name, matcher)| format!("{name}: {matcher}")).collect();
        text.push_str(&format!(" with {{{}}}", with.join(", ")));
    }
    if let Some(times) = &tool.times {
        text.push_str(&format!(", {times} times"));
    }
    text
}

/// The `evaluation_type` of the event that records a check.
pub(crate) fn evaluation_type(assertion: &Assertion) -> &'static str {
    match assertion {
        Assertion::Not(inner) => evaluation_type(inner),
        Assertion::Satisfy(_) => "quality",
        Assertion::Match(_) | Assertion::MatchAny(_) => "pattern",
        Assertion::CallTool(_) => "tool_call",
        Assertion::CalledTool(_) => "conversation_tool_call",
        Assertion::ToolOrder(_) => "tool_order",
        Assertion::Grounded(_) => "grounding",
        Assertion::ForbiddenClaims(_) => "forbidden_claims",
        Assertion::Intent(_) => "intent",
        Assertion::Topic(_) | Assertion::ReachedTopic(_) => "topic",
        Assertion::TopicHistory(_) => "topic_history",
        Assertion::GoalAchieved(_) => "goal_achievement",
        Assertion::TurnCount(_) => "turn_count",
        Assertion::LatencyMs(_) => "latency",
        Assertion::CostUsd(_) => "cost",
        Assertion::Prompt(_) => "prompt",
        Assertion::Expression(_) | Assertion::Command(_) => "custom",
        Assertion::Block(block) => match block.kind {
            BlockKind::Quality => "quality",
            BlockKind::Pattern => "pattern",
            BlockKind::ToolCall => "tool_call",
            BlockKind::ConversationToolCall => "conversation_tool_call",
            BlockKind::Custom => "custom",
        },
    }
}
