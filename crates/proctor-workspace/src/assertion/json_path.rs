//! Paths into JSON: names, indices, stars and descent. Pure; filters and slices are refused by name.
//!
//! By hand: `serde_json_path` follows RFC 9535 to the letter and refuses `$.max-iterations`, which is accepted here, and it
//! brings four crates with link-time constructors for four kinds of steps.

use serde_json::Value;

/// Why a text is no query that is understood here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum QueryError {
    #[error("{query:?} does not begin with `$`")]
    NoRoot { query: String },
    #[error("{query:?} is not understood at {rest:?}")]
    NotUnderstood { query: String, rest: String },
    #[error("{query:?} has an empty name")]
    EmptyName { query: String },
    #[error("{query:?} has an unclosed `{bracket}`")]
    Unclosed { query: String, bracket: String },
    #[error("{query:?}: `[{inner}]` is neither an index, a quoted name nor `*`")]
    NotASelector { query: String, inner: String },
}

/// One step of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(i64),
    Every,
    /// Everything below, itself included; the next step applies to each.
    Descend,
}

/// A path that has been understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query(Vec<Step>);

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, QueryError> {
        let Some(mut rest) = text.trim().strip_prefix('$') else {
            return Err(QueryError::NoRoot { query: text.to_owned() });
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Descend);
                rest = if after.starts_with('[') { after } else { name(after, text, &mut steps)? };
            } else if let Some(after) = rest.strip_prefix('.') {
                rest = name(after, text, &mut steps)?;
            } else if let Some(after) = rest.strip_prefix('[') {
                rest = bracket(after, text, &mut steps)?;
            } else {
                let (query, rest) = (text.to_owned(), rest.to_owned());
                return Err(QueryError::NotUnderstood { query, rest });
            }
        }
        Ok(Self(steps))
    }

    /// Everything the query finds.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.iter().fold(vec![value], |found, step| {
            found.into_iter().flat_map(|value| apply(step, value)).collect()
        })
    }
}

fn name<'t>(rest: &'t str, whole: &str, steps: &mut Vec<Step>) -> Result<&'t str, QueryError> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    match &rest[..end] {
        "" => return Err(QueryError::EmptyName { query: whole.to_owned() }),
        "*" => steps.push(Step::Every),
        word => steps.push(Step::Name(word.to_owned())),
    }
    Ok(&rest[end..])
}

fn bracket<'t>(rest: &'t str, whole: &str, steps: &mut Vec<Step>) -> Result<&'t str, QueryError> {
    if let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"')) {
        let closing = format!("{quote}]");
        let Some((word, after)) = rest[1..].split_once(&closing) else {
            let bracket = format!("[{quote}");
            return Err(QueryError::Unclosed { query: whole.to_owned(), bracket });
        };
        steps.push(Step::Name(word.to_owned()));
        return Ok(after);
    }
    let Some((inner, after)) = rest.split_once(']') else {
        let bracket = "[".to_owned();
        return Err(QueryError::Unclosed { query: whole.to_owned(), bracket });
    };
    match inner.trim() {
        "*" => steps.push(Step::Every),
        number => steps.push(Step::Index(number.parse().map_err(|_| {
            QueryError::NotASelector { query: whole.to_owned(), inner: number.to_owned() }
        })?)),
    }
    Ok(after)
}

fn apply<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    match (step, value) {
        (Step::Name(name), Value::Object(map)) => map.get(name).into_iter().collect(),
        (Step::Index(index), Value::Array(list)) => {
            let place =
                if *index < 0 { *index + i64::try_from(list.len()).unwrap_or(0) } else { *index };
            usize::try_from(place).ok().and_then(|place| list.get(place)).into_iter().collect()
        }
        (Step::Every, Value::Array(list)) => list.iter().collect(),
        (Step::Every, Value::Object(map)) => map.values().collect(),
        (Step::Descend, _) => below(value),
        _ => Vec::new(),
    }
}

fn below(value: &Value) -> Vec<&Value> {
    let mut found = vec![value];
    let mut next = 0;
    while let Some(value) = found.get(next) {
        match value {
            Value::Array(list) => found.extend(list),
            Value::Object(map) => found.extend(map.values()),
            _ => {}
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_followed() {
        let value = json!({"a": {"b": [1, 2, {"id": 3}]}, "odd key": true, "id": 4});
        let find = |text: &str| -> Vec<Value> {
            Query::parse(text).unwrap().find(&value).into_iter().cloned().collect()
        };
        assert_eq!(find("$.a.b[0]"), [json!(1)]);
        assert_eq!(find("$.a.b[-1].id"), [json!(3)]);
        assert_eq!(find("$['odd key']"), [json!(true)]);
        assert_eq!(find("$.a.b[*]").len(), 3);
        assert_eq!(find("$..id"), [json!(4), json!(3)]);
        assert_eq!(find("$"), std::slice::from_ref(&value));
        assert!(find("$.none[3].x").is_empty());
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for bad in ["a.b", "$.", "$[", "$['a", "$[?(@.x)]", "$[1:2]", "$x"] {
            assert!(Query::parse(bad).unwrap_err().to_string().contains(bad), "{bad}");
        }
    }
}
