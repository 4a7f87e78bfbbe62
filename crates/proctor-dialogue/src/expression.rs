//! Evaluating CEL expressions over a conversation. Expressions read; they cannot change anything.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::objects::{Key, Map, Opaque};
use cel::{Context, Env, ExecutionError, Value as Cel};
use proctor_text::has_mask;
use serde_json::{Number, Value};

use crate::format::Expression;
use crate::transcript::{KNOWN_CALLS, Scope, Transcript};
use proctor_yaml::decimal::is_whole;

/// Building the functions of CEL takes longer than most expressions.
pub(crate) static STDLIB: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// The stack on which expressions are evaluated. Measured in a debug build: a level takes less than 32 KiB.
const EVALUATOR_STACK: usize = 8 << 20;

/// Why an expression has no truth value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EvaluationError {
    #[error("`{expression}` cannot be evaluated: {reason} ({source})")]
    CallsUnknown { expression: String, reason: String, source: ExecutionError },
    #[error(
        "`{expression}` cannot be evaluated: it looks at text that is kept with [redacted] in place of a secret; run the conversation with its agent instead of replaying it or judging it again"
    )]
    Masked { expression: String },
    #[error(
        "`{expression}` cannot be evaluated: it looks at the arguments of a call that was reported without them"
    )]
    ArgumentsUnknown { expression: String },
    #[error("`{expression}` gave {value:?}, not true or false")]
    NotBoolean { expression: String, value: Cel },
    #[error("`{expression}` cannot be evaluated: {source}")]
    Failed { expression: String, source: ExecutionError },
}

/// Whether an expression is true. Its variables are `turn`, `turns`, `turn_count`, `tool_calls`, `topic`,
/// `topics`, `goal` and `row`.
/// Under a topic they show nothing but that topic.
pub fn evaluate(
    expression: &Expression,
    transcript: &Transcript,
    scope: &Scope,
) -> Result<bool, EvaluationError> {
    let mut context = Context::with_env(Arc::clone(&STDLIB));
    let written = expression.source().to_owned();
    let mut visible = transcript.visible_in(scope);
    let has_hidden = transcript.is_stored && drop_masked(&mut visible);
    if has_hidden && (written.contains("has(") || written.contains(" in ")) {
        // What was dropped would look like something that was never there.
        return Err(EvaluationError::Masked { expression: written });
    }
    let lacks_arguments = has_calls_without_arguments(transcript);
    if lacks_arguments
        && written.contains("arguments")
        && (written.contains("has(") || written.contains(" in "))
    {
        return Err(EvaluationError::ArgumentsUnknown { expression: written });
    }
    if let Value::Object(variables) = visible {
        for (name, value) in &variables {
            if name == "tool_calls" && value.is_null() {
                continue; // a name without a value is an error; `null != []` would be an answer
            }
            context.add_variable_from_value(name.as_str(), to_cel(value));
        }
    }
    let some_calls_unknown = || transcript.turns.iter().any(|turn| turn.calls_unknown);
    // The evaluator recurses; its depth is bounded when the expression is read.
    let evaluated = stacker::maybe_grow(EVALUATOR_STACK / 2, EVALUATOR_STACK, || {
        expression.program().execute(&context)
    });
    match evaluated {
        Ok(Cel::Bool(value)) => Ok(value),
        Ok(value) => Err(EvaluationError::NotBoolean { expression: written, value }),
        Err(source) if lacks_calls(&source) && some_calls_unknown() => {
            Err(EvaluationError::CallsUnknown {
                expression: written,
                reason: transcript
                    .calls_unknown_reason(&transcript.turns.iter().collect::<Vec<_>>()),
                source,
            })
        }
        Err(ExecutionError::NoSuchKey(name)) if lacks_arguments && *name == "arguments" => {
            Err(EvaluationError::ArgumentsUnknown { expression: written })
        }
        Err(ExecutionError::UndeclaredReference(_) | ExecutionError::NoSuchKey(_))
            if has_hidden =>
        {
            Err(EvaluationError::Masked { expression: written })
        }
        Err(source) => Err(EvaluationError::Failed { expression: written, source }),
    }
}

/// Whether the arguments of a call are unknown. They have no member then: `null` would be an answer.
fn has_calls_without_arguments(transcript: &Transcript) -> bool {
    let mut calls = transcript.turns.iter().flat_map(|turn| &turn.tool_calls);
    calls.any(|call| call.call.arguments.is_null())
}

/// Drops what has a masked secret in it, of a turn its member and else the whole variable: whatever depends on it is an error then,
/// and all else is decided. Says whether there was one.
fn drop_masked(variables: &mut Value) -> bool {
    let Value::Object(variables) = variables else { return false };
    let mut dropped = false;
    for name in ["turn", "turns"] {
        let turns = match variables.get_mut(name) {
            Some(Value::Array(turns)) => turns.iter_mut().collect(),
            Some(turn) => vec![turn],
            None => Vec::new(),
        };
        for turn in turns.into_iter().filter_map(Value::as_object_mut) {
            dropped |= drop_masked_members(turn);
        }
    }
    drop_masked_members(variables) || dropped
}

fn drop_masked_members(members: &mut serde_json::Map<String, Value>) -> bool {
    let before = members.len();
    members.retain(|_, member| !has_mask(&member.to_string()));
    let dropped = members.len() < before;
    if dropped && !members.contains_key(KNOWN_CALLS) {
        // Beside the calls that are known stands a `null`, which would be an answer without them.
        members.retain(|name, member| name != "tool_calls" || !member.is_null());
    }
    dropped
}

/// Whether an evaluation ended because `tool_calls`, of the conversation or of a turn, has no value.
fn lacks_calls(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::UndeclaredReference(name) | ExecutionError::NoSuchKey(name) => {
            name.as_str() == "tool_calls"
        }
        _ => false,
    }
}

/// Whole numbers become CEL's `int`, so that they compare with the numbers people write.
fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => number_to_cel(number),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(members) => {
            let unknown = members.contains_key(KNOWN_CALLS);
            let map: HashMap<Key, Cel> = members
                .iter()
                .filter(|(name, _)| !(unknown && *name == "tool_calls"))
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), to_cel(value)))
                .collect();
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

/// CEL has whole numbers of 64 bits and doubles. A longer whole number is equal to itself and to nothing else; any
/// other use of it is an error, because a double would be another number.
fn number_to_cel(number: &Number) -> Cel {
    if let Some(value) = number.as_i64() {
        return Cel::Int(value);
    }
    if let Some(value) = number.as_u64() {
        return Cel::UInt(value);
    }
    match number.as_f64().filter(|_| !is_whole(number)) {
        Some(value) => Cel::Float(value),
        None => Cel::Opaque(Arc::new(LongNumber(number.to_string()))),
    }
}

/// A whole number of more than 64 bits, by its digits.
#[derive(Debug, PartialEq, Eq)]
struct LongNumber(String);

impl Opaque for LongNumber {
    fn runtime_type_name(&self) -> &'static str {
        "long_number"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transcript::{DoneCall, ToolCall, Turn};

    fn transcript() -> Transcript {
        let call = |name: &str, arguments| DoneCall {
            call: ToolCall { id: "1".into(), name: name.into(), arguments },
            result: Some(json!({"price": 12.5})),
            ..DoneCall::default()
        };
        Transcript {
            turns: vec![Turn {
                number: 1,
                user: "hello".into(),
                agent: "Booked for 50 people".into(),
                tool_calls: vec![call("book", json!({"guests": 50}))],
                latency_ms: Some(120.0),
                ..Turn::default()
            }],
            row: Some(std::sync::Arc::new(json!({"guests": 50}))),
            ..Transcript::default()
        }
    }

    fn holds(source: &str) -> Result<bool, EvaluationError> {
        evaluate(&Expression::new(source).unwrap(), &transcript(), &Scope::Conversation)
    }

    #[test]
    fn what_a_mask_may_hide_is_not_decided() {
        let mut stored = transcript();
        stored.turns[0].agent = "the key is [redacted]".into();
        let judged = |source: &str, transcript: &Transcript| {
            evaluate(&Expression::new(source).unwrap(), transcript, &Scope::Conversation)
        };
        for source in [
            "!turn.agent.contains('hush-hush')",
            "turns.all(t, !t.agent.matches('hush'))",
            "turn.agent != 'hush'",
            "!has(turn.agent)",
        ] {
            // A live agent says what it says.
            assert!(!matches!(judged(source, &stored), Err(EvaluationError::Masked { .. })));
            let kept = Transcript { is_stored: true, ..stored.clone() };
            let masked = EvaluationError::Masked { expression: source.to_owned() };
            assert_eq!(judged(source, &kept), Err(masked), "{source}");
        }
        stored.is_stored = true;
        for source in ["turn_count == 1", "turn.user == 'hello' || turn.agent == 'hush'"] {
            assert_eq!(judged(source, &stored), Ok(true), "{source}");
        }
        stored.turns[0].agent = "nothing".into();
        stored.turns[0].tool_calls[0].call.arguments = json!({"a": [[{"b": "[redacted]"}]]});
        for source in ["tool_calls[0].arguments != {'a': 1}", "turn.tool_calls[0].name == 'x'"] {
            assert!(judged(source, &stored).is_err(), "{source}");
            stored.turns[0].calls_unknown = true;
        }
        assert_eq!(judged("!turn.agent.contains('hush-hush')", &stored), Ok(true));
    }

    #[test]
    fn expressions_see_turns_tools_and_rows() {
        assert_eq!(holds("turn_count == 1 && turn.agent.contains('Booked')"), Ok(true));
        assert_eq!(
            holds("tool_calls.exists(c, c.name == 'book' && c.arguments.guests > 40)"),
            Ok(true)
        );
        assert_eq!(holds("tool_calls[0].arguments.guests == row.guests"), Ok(true));
        assert_eq!(holds("turn.agent.matches('[0]{2}')"), Ok(false));
        assert_eq!(holds("turn.latency_ms < 200.0"), Ok(true));
        assert_eq!(holds("tool_calls[0].result.price > 12.0"), Ok(true));
    }

    #[test]
    fn unknown_arguments_are_no_answer() {
        let mut transcript = transcript();
        transcript.turns[0].tool_calls[0].call.arguments = Value::Null;
        let judged = |source: &str| {
            evaluate(&Expression::new(source).unwrap(), &transcript, &Scope::Conversation)
        };
        for source in [
            "!tool_calls.exists(c, c.arguments.guests == 50)",
            "tool_calls.all(c, c.arguments != {'guests': 50})",
            "!has(tool_calls[0].arguments)",
            "!('guests' in turn.tool_calls[0].arguments)",
        ] {
            let error = judged(source).unwrap_err();
            assert!(matches!(error, EvaluationError::ArgumentsUnknown { .. }), "{error:?}");
        }
        assert_eq!(judged("tool_calls[0].name == 'book'"), Ok(true));
    }

    /// The cause is identified by the kind of the error, not by the text of the expression.
    #[test]
    fn only_a_missing_list_of_calls_is_told_as_unknown_calls() {
        let mut transcript = transcript();
        transcript.turns[0].calls_unknown = true;
        let failed = |source: &str| {
            let expression = Expression::new(source).unwrap();
            evaluate(&expression, &transcript, &Scope::Conversation).unwrap_err()
        };
        for source in
            ["size(tool_calls) == 0", "turn.tool_calls == []", "turns.all(t, t.tool_calls == [])"]
        {
            let error = failed(source);
            assert!(matches!(error, EvaluationError::CallsUnknown { .. }), "{source}: {error:?}");
        }
        for source in ["'tool_calls' + turn.agent == row.nothing", "size('tool_calls') / 0 == 1"] {
            let error = failed(source);
            assert!(matches!(error, EvaluationError::Failed { .. }), "{source}: {error:?}");
        }
    }

    /// D6: an expression sees the digits too, or says that it cannot.
    #[test]
    fn d6_long_numbers_are_never_doubles() {
        let row = |text: &str| {
            let row: Value = serde_json::from_str(text).unwrap();
            Transcript { row: Some(Arc::new(row)), ..Transcript::default() }
        };
        let holds = |source: &str, row: &Transcript| {
            evaluate(&Expression::new(source).unwrap(), row, &Scope::Conversation)
        };
        let pair = row(r#"{"a": 18446744073709551615, "b": 18446744073709551614}"#);
        assert_eq!(holds("row.a == row.b", &pair), Ok(false));
        assert_eq!(holds("row.a > row.b", &pair), Ok(true));
        let long = row(r#"{"a": 123456789012345678901234567890,
            "b": 123456789012345678901234567891, "c": 123456789012345678901234567890}"#);
        assert_eq!(holds("row.a == row.b", &long), Ok(false));
        assert_eq!(holds("row.a == row.c", &long), Ok(true));
        assert!(holds("row.a < row.b", &long).is_err());
        assert!(holds("row.a + 1 > 0", &long).is_err());
    }

    #[test]
    fn what_is_no_truth_is_an_error() {
        assert!(matches!(holds("turn_count + 1"), Err(EvaluationError::NotBoolean { .. })));
        let failed = holds("row.nothing == 1").unwrap_err();
        assert!(failed.to_string().contains("cannot be evaluated"), "{failed}");
        assert!(holds("turns[9].agent == ''").is_err());
    }

    #[test]
    fn expressions_can_be_shared_between_threads() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Expression>();
    }
}
