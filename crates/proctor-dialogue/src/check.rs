//! Assertions in use: who decides each of them, and the decision of those that need neither judge nor program.
//!
//! A planned check is either decided here, put to the judge, or run as a command by the driver. This
//! module owns no state and emits nothing; the engine does both.

mod decide;
mod describe;

use proctor_events::{EvaluationMode, InvariantType};

use crate::format::{Assertion, BlockKind, Criterion, Ordered};
use crate::judge::JudgeQuestion;
use proctor_yaml::At;

pub(crate) use self::decide::{CheckError, calls_tool, decide, text_matches, unreported};
pub(crate) use self::describe::{describe, evaluation_type};

/// One check that is going to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedCheck {
    /// What is asserted, all `not`s removed.
    pub(crate) assertion: Assertion,
    /// Whether the opposite is demanded.
    pub(crate) negated: bool,
    /// Whether it decides the verdict.
    pub(crate) mode: EvaluationMode,
    /// The criterion's name, where it has one.
    pub(crate) name: Option<String>,
    /// The line of the file on which it is asserted.
    pub(crate) line: u32,
    /// Whether it is decided here, by the judge or by a command.
    pub(crate) decided_by: DecidedBy,
}

/// Who decides a check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DecidedBy {
    Here,
    Judge(JudgeQuestion),
    Command(Vec<String>),
}

/// What came of a check. `holds` speaks of the assertion without its negation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    pub(crate) holds: bool,
    /// What was found instead, for people.
    pub(crate) actual: String,
}

/// Plans the checks of a place: several criteria of one assertion become several checks.
pub(crate) fn plan(
    expect: &[At<Assertion>],
    evaluate: &[At<Assertion>],
    criteria: &Ordered<Criterion>,
    goal: Option<&str>,
) -> Vec<PlannedCheck> {
    let hard = expect.iter().map(|assertion| (assertion, EvaluationMode::Hard));
    let soft = evaluate.iter().map(|assertion| (assertion, EvaluationMode::Soft));
    let mut planned = Vec::new();
    for (At { value: assertion, place }, mode) in hard.chain(soft) {
        let (inner, negated) = assertion.unwrapped();
        if let Assertion::Satisfy(names) = inner {
            for name in &names.0 {
                planned.push(plan_criterion(name, negated, &mode, criteria));
            }
        } else {
            planned.push(PlannedCheck {
                assertion: inner.clone(),
                negated,
                mode,
                name: match inner {
                    Assertion::Block(block) => block.name.clone(),
                    _ => None,
                },
                line: place.line,
                decided_by: decided_by(inner, goal),
            });
        }
    }
    planned
}

fn plan_criterion(
    name: &At<String>,
    negated: bool,
    mode: &EvaluationMode,
    criteria: &Ordered<Criterion>,
) -> PlannedCheck {
    let known = criteria.get(&name.value);
    let criterion = known
        .cloned()
        .unwrap_or_else(|| Criterion { description: name.value.clone(), ..Criterion::default() });
    PlannedCheck {
        assertion: Assertion::Satisfy(crate::format::OneOrMany(vec![name.clone()])),
        negated,
        mode: mode.clone(),
        name: known.map(|_| name.value.clone()),
        line: name.place.line,
        decided_by: DecidedBy::Judge(JudgeQuestion::Criterion(criterion)),
    }
}

fn decided_by(assertion: &Assertion, goal: Option<&str>) -> DecidedBy {
    match assertion {
        Assertion::Grounded(grounding) => {
            DecidedBy::Judge(JudgeQuestion::Grounded(grounding.clone()))
        }
        Assertion::ForbiddenClaims(claims) => {
            DecidedBy::Judge(JudgeQuestion::ForbiddenClaims(claims.0.clone()))
        }
        Assertion::Intent(intent) => DecidedBy::Judge(JudgeQuestion::Intent(intent.clone())),
        Assertion::GoalAchieved(wanted) => match wanted.text().or(goal) {
            Some(goal) => DecidedBy::Judge(JudgeQuestion::Goal(goal.to_owned())),
            None => DecidedBy::Here,
        },
        Assertion::Command(command) => DecidedBy::Command(command.0.clone()),
        Assertion::Block(block) => DecidedBy::Command(block.command()),
        // `plan` makes the checks of `Satisfy` itself and takes every `Not` off.
        Assertion::Not(_)
        | Assertion::Satisfy(_)
        | Assertion::Match(_)
        | Assertion::MatchAny(_)
        | Assertion::CallTool(_)
        | Assertion::CalledTool(_)
        | Assertion::ToolOrder(_)
        | Assertion::Topic(_)
        | Assertion::ReachedTopic(_)
        | Assertion::TopicHistory(_)
        | Assertion::TurnCount(_)
        | Assertion::LatencyMs(_)
        | Assertion::CostUsd(_)
        | Assertion::Prompt(_)
        | Assertion::Expression(_) => DecidedBy::Here,
    }
}

/// The kind of invariant that an assertion under a topic is.
pub(crate) fn invariant_type(assertion: &Assertion) -> InvariantType {
    match assertion {
        Assertion::Satisfy(_) | Assertion::Intent(_) | Assertion::GoalAchieved(_) => {
            InvariantType::Quality
        }
        Assertion::Match(_) | Assertion::MatchAny(_) => InvariantType::Pattern,
        Assertion::CallTool(_) | Assertion::CalledTool(_) | Assertion::ToolOrder(_) => {
            InvariantType::ToolCall
        }
        Assertion::Grounded(_) | Assertion::ForbiddenClaims(_) => InvariantType::Grounding,
        Assertion::Block(block) => match block.kind {
            BlockKind::Quality => InvariantType::Quality,
            BlockKind::Pattern => InvariantType::Pattern,
            BlockKind::ToolCall | BlockKind::ConversationToolCall => InvariantType::ToolCall,
            BlockKind::Custom => InvariantType::Custom,
        },
        Assertion::Not(_)
        | Assertion::Topic(_)
        | Assertion::ReachedTopic(_)
        | Assertion::TopicHistory(_)
        | Assertion::TurnCount(_)
        | Assertion::LatencyMs(_)
        | Assertion::CostUsd(_)
        | Assertion::Prompt(_)
        | Assertion::Expression(_)
        | Assertion::Command(_) => InvariantType::Custom,
    }
}
