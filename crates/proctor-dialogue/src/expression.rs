//! Evaluating CEL expressions over a conversation. Expressions read; they cannot change anything.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use cel::objects::{Key, Map};
use cel::{Context, Env, Value as Cel};
use serde_json::Value;

use crate::format::Expression;
use crate::transcript::Transcript;

/// Building the functions of CEL takes longer than most expressions.
static STDLIB: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// Whether an expression is true. Its variables are `turn`, `turns`, `turn_count`, `tool_calls`, `topic`,
/// `topics`, `goal` and `row`.
pub fn evaluate(
    expression: &Expression,
    transcript: &Transcript,
    turn: Option<u32>,
) -> Result<bool, String> {
    let mut context = Context::with_env(Arc::clone(&STDLIB));
    if let Value::Object(variables) = transcript.to_value(turn) {
        for (name, value) in &variables {
            context.add_variable_from_value(name.as_str(), to_cel(value));
        }
    }
    match expression.program().execute(&context) {
        Ok(Cel::Bool(value)) => Ok(value),
        Ok(other) => Err(format!("`{}` gave {other:?}, not true or false", expression.source())),
        Err(error) => Err(format!("`{}` cannot be evaluated: {error}", expression.source())),
    }
}

/// Whole numbers become CEL's `int`, so that they compare with the numbers people write.
fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => number
            .as_i64()
            .map_or_else(|| Cel::Float(number.as_f64().unwrap_or_default()), Cel::Int),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(members) => {
            let map: HashMap<Key, Cel> = members
                .iter()
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), to_cel(value)))
                .collect();
            Cel::Map(Map { map: Arc::new(map) })
        }
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

    fn holds(source: &str) -> Result<bool, String> {
        evaluate(&Expression::new(source).unwrap(), &transcript(), None)
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
    fn what_is_no_truth_is_an_error() {
        assert!(holds("turn_count + 1").unwrap_err().contains("not true or false"));
        assert!(holds("unknown_name == 1").unwrap_err().contains("cannot be evaluated"));
        assert!(holds("turns[9].agent == ''").is_err());
    }

    #[test]
    fn expressions_can_be_shared_between_threads() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Expression>();
    }
}
