//! The words for what an event says. The live lines of a terminal and the panes of the screen lay them out, each in its own
//! way; what is said is decided here. Texts of agents and tools come shortened to one line.

use proctor_events::{AgentResponse, Json, ToolCallCompleted, TopicChanged, WorkerExited};
use proctor_text::shorten;
use serde_json::Value;

/// How a worker ended that should not have; nothing for one that was to end.
pub fn unexpected_exit(exit: &WorkerExited) -> Option<String> {
    if exit.expected != Some(false) {
        return None;
    }
    Some(match (exit.signal, exit.exit_status) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(status)) => format!("exited with {status}"),
        (None, None) => "ended".to_owned(),
    })
}

/// `search({"city":"Rome"})`, the arguments in at most so many characters.
pub fn tool_call(name: &str, arguments: Option<&str>, limit: usize) -> String {
    let arguments = arguments.map(|text| shorten(text, limit)).unwrap_or_default();
    format!("{name}({arguments})")
}

/// What came of a tool call: ` failed: no room`, ` = {"eur":100}`, or nothing.
pub fn tool_outcome(call: &ToolCallCompleted, limit: usize) -> String {
    match (&call.error, &call.result) {
        (Some(error), _) => format!(" failed: {}", shorten(error, limit)),
        (None, Some(result)) => format!(" = {}", shorten(result.text(), limit)),
        (None, None) => String::new(),
    }
}

/// A tool call that an agent lists in its answer. Such a call may have events of its own beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCall {
    /// The id by which events of the same call are known, where the agent gives one.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON.
    pub arguments: Option<String>,
}

/// The calls that an answer lists; what has no name is left out. Agents write `name` and `id`, or `tool_name` and
/// `tool_call_id`.
pub fn listed_calls(response: &AgentResponse) -> impl Iterator<Item = ListedCall> {
    response.tool_calls.iter().map(Json::to_value).filter_map(|call| {
        let text = |keys: [&str; 2]| keys.iter().find_map(|key| call.get(*key)?.as_str());
        Some(ListedCall {
            name: text(["name", "tool_name"])?.to_owned(),
            id: text(["id", "tool_call_id"]).map(str::to_owned),
            arguments: call.get("arguments").map(Value::to_string),
        })
    })
}

/// `greeting → booking`, or where a conversation begins.
pub fn topic_change(change: &TopicChanged) -> String {
    match &change.from_topic {
        Some(from) => format!("{from} → {}", change.to_topic),
        None => change.to_topic.clone(),
    }
}

/// An error with its class where that is known: `Timeout: no answer`.
pub fn error_with_class(class: Option<&str>, message: &str) -> String {
    match class {
        Some(class) => format!("{class}: {message}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proctor_events::{Body, Event};

    use super::*;

    fn body(json: &str) -> Body {
        Event::from_json(json).unwrap().body
    }

    #[test]
    fn calls_are_read_in_both_spellings() {
        let Body::AgentResponse(response) = body(
            r#"{"event_type":"AgentResponse","turn_number":1,"text":"","tool_calls":[{"name":"a"},
                {"tool_name":"b","tool_call_id":"1","arguments":{"n":1}},{"id":"2"}]}"#,
        ) else {
            panic!()
        };
        let calls: Vec<_> = listed_calls(&response).collect();
        assert_eq!(calls.len(), 2, "one has no name");
        assert_eq!((calls[0].name.as_str(), &calls[0].id), ("a", &None));
        assert_eq!(calls[1].id.as_deref(), Some("1"));
        assert_eq!(tool_call("b", calls[1].arguments.as_deref(), 20), r#"b({"n":1})"#);
    }

    #[test]
    fn an_end_is_told_only_where_it_was_not_expected() {
        let exit = |more: &str| {
            let Body::WorkerExited(exit) =
                body(&format!(r#"{{"event_type":"WorkerExited"{more}}}"#))
            else {
                panic!()
            };
            unexpected_exit(&exit)
        };
        assert_eq!(exit(""), None);
        assert_eq!(exit(r#","signal":9"#), None);
        assert_eq!(exit(r#","signal":9,"expected":false"#).unwrap(), "was killed by signal 9");
        assert_eq!(exit(r#","exit_status":3,"expected":false"#).unwrap(), "exited with 3");
    }
}
