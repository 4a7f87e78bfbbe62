//! Which clauses of a decision at the end of a method end it early: those that give a negative answer, and those that only
//! give a value back where others go on to work.
//!
//! A clause that leaves by `return` or `raise` is terminal for certain. A clause whose last expression is the result of the
//! method ends it as well; of these, one kind of answer stays the ordinary course: the positive side of a pair, and what
//! works rather than only answers.

use super::BodyAnalysis;
use crate::facts::{Arm, BehaviorKind, Characteristic, Ending};

impl BodyAnalysis<'_> {
    /// Marks clauses that end the method by their last expression, except the ordinary course of each decision.
    pub(super) fn choose_terminal_results(&mut self) {
        for one in &mut self.found {
            let ordinary = ordinary_course(one);
            let several = !is_pair(one);
            for (place, arm) in one.arms.iter_mut().enumerate() {
                let ends = arm.ending == Ending::Result && arm.behavior.is_some();
                if !ends || ordinary == Some(place) || (several && works(arm)) {
                    continue;
                }
                arm.terminal = true;
                if let Some(behavior) = &mut arm.behavior {
                    behavior.kind = BehaviorKind::Terminal;
                }
            }
        }
    }
}

/// Whether a condition decides: it holds or does not. Clauses stand beside each other.
fn is_pair(one: &Characteristic) -> bool {
    one.arms.len() == 2 && one.arms.iter().any(|arm| matches!(arm.probe, Some((_, Some(_)))))
}

/// The side of a pair on which the method does what it is for.
fn ordinary_course(one: &Characteristic) -> Option<usize> {
    if !is_pair(one) {
        return one.arms.iter().position(|arm| arm.value == "none");
    }
    let sides = [&one.arms[0], &one.arms[1]];
    let negative = sides.map(is_negative_answer);
    if negative[0] != negative[1] {
        return Some(usize::from(negative[0]));
    }
    let negative = sides.map(is_negative_value);
    if negative[0] != negative[1] {
        return Some(usize::from(negative[0]));
    }
    // The side for which the condition holds; the first of `present` and `empty`.
    Some(0)
}

/// Whether a clause does something before it answers.
fn works(arm: &Arm) -> bool {
    !arm.side_effects.is_empty()
        || arm.behavior.as_ref().is_some_and(|behavior| behavior.description.starts_with("sets "))
}

/// Whether the answer itself is a refusal: nothing, false, or an error.
fn is_negative_answer(arm: &Arm) -> bool {
    if matches!(arm.ending, Ending::Raise) {
        return true;
    }
    let Some(behavior) = &arm.behavior else { return false };
    let answer = behavior.description.strip_prefix("returns ").unwrap_or_default();
    matches!(answer, "nil" | "false" | "nil or false" | "an empty list" | "an empty hash")
        || answer.split(' ').any(|word| {
            matches!(word, "error" | "errors" | "failure" | "failed" | "invalid" | "denied")
        })
}

/// Whether a value names a state in which there is nothing left to do. "not expired" is a good one.
fn is_negative_value(arm: &Arm) -> bool {
    let worded = arm.description.split(' ').any(is_negative_word);
    match arm.value.as_str() {
        "true" => worded,
        "false" => !worded,
        "nil" | "empty" | "blank" | "zero" => true,
        value => value.split(['_', ' ']).any(is_negative_word),
    }
}

fn is_negative_word(word: &str) -> bool {
    matches!(
        word,
        "invalid"
            | "missing"
            | "blocked"
            | "denied"
            | "failed"
            | "failure"
            | "cancelled"
            | "canceled"
            | "expired"
            | "insufficient"
            | "rejected"
            | "forbidden"
            | "unauthorized"
            | "closed"
            | "locked"
            | "disabled"
    )
}
