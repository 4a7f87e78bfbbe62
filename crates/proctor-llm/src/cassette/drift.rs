//! How a request differs from a recorded one.

use std::fmt;

use proctor_text::shorten;
use serde_json::Value;

use crate::request::{ConversationId, Purpose};

/// How many characters of a text are shown around the place where it differs.
const SHOWN: usize = 60;

/// One place where two requests differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place, as a JSON pointer.
    pub path: String,
    /// What was recorded there; `None` where nothing was.
    pub recorded: Option<String>,
    /// What is there now.
    pub now: Option<String>,
    /// About how many characters differ.
    pub weight: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        match (&self.recorded, &self.now) {
            (Some(recorded), Some(now)) => {
                write!(formatter, "{path}: recorded {recorded}, now {now}")
            }
            (Some(recorded), None) => write!(formatter, "{path}: recorded {recorded}, now nothing"),
            (None, Some(now)) => write!(formatter, "{path}: recorded nothing, now {now}"),
            (None, None) => write!(formatter, "{path}"),
        }
    }
}

/// A request that was answered by sequence although it is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// What the model was asked for.
    pub kind: Purpose,
    /// The conversation that the request belongs to.
    pub conversation: ConversationId,
    /// Which call of it.
    pub n: u64,
    /// Where it differs.
    pub differences: Vec<Difference>,
}

impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} call {} in `{}` changed", self.kind, self.n + 1, self.conversation)?;
        self.differences.iter().try_for_each(|difference| write!(formatter, "\n  {difference}"))
    }
}

/// Where two values differ, in the order of the recorded one.
pub fn differences(recorded: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), recorded, now, &mut found);
    found
}

/// How far two values are apart.
pub fn distance(recorded: &Value, now: &Value) -> usize {
    differences(recorded, now).iter().map(|difference| difference.weight).sum()
}

fn compare(path: String, recorded: &Value, now: &Value, found: &mut Vec<Difference>) {
    match (recorded, now) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let path = format!("{path}/{}", escape(name));
                compare_maybe(path, Some(value), new.get(name), found);
            }
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                compare_maybe(format!("{path}/{}", escape(name)), None, Some(value), found);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for index in 0..old.len().max(new.len()) {
                let path = format!("{path}/{index}");
                compare_maybe(path, old.get(index), new.get(index), found);
            }
        }
        (Value::String(old), Value::String(new)) if old != new => {
            found.push(texts(path, old, new));
        }
        _ if recorded != now => found.push(Difference {
            path,
            recorded: Some(shown(recorded)),
            now: Some(shown(now)),
            weight: recorded.to_string().len().max(now.to_string().len()),
        }),
        _ => {}
    }
}

fn compare_maybe(
    path: String,
    recorded: Option<&Value>,
    now: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if let (Some(recorded), Some(now)) = (recorded, now) {
        return compare(path, recorded, now, found);
    }
    let weight = recorded.or(now).map_or(0, |value| value.to_string().len());
    found.push(Difference { path, recorded: recorded.map(shown), now: now.map(shown), weight });
}

/// Two texts: shown from shortly before the place where they part.
fn texts(path: String, old: &str, new: &str) -> Difference {
    let common = old.chars().zip(new.chars()).take_while(|(left, right)| left == right).count();
    let (old_length, new_length) = (old.chars().count(), new.chars().count());
    let most = old_length.min(new_length) - common;
    let reversed = old.chars().rev().zip(new.chars().rev());
    let ending = reversed.take(most).take_while(|(left, right)| left == right).count();
    let from = common.saturating_sub(SHOWN / 3);
    let show = |text: &str| {
        let part: String = text.chars().skip(from).collect();
        let dots = if from > 0 { "…" } else { "" };
        format!("“{dots}{}”", shorten(&part, SHOWN))
    };
    let weight = (old_length.max(new_length) - common - ending).max(1);
    Difference { path, recorded: Some(show(old)), now: Some(show(new)), weight }
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string(), SHOWN)
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
