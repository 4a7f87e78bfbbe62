//! Lines of JSON-RPC 2.0 from programs that are not ours (clients of MCP): messages, and the replies to malformed ones. Pure.
//!
//! What is not JSON gets -32700, JSON that is not a request -32600, with the request's id where there is one and `null` where there is none.
//! Never answered are notifications and answers, however broken: two programs that answer each other's errors would never end.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The code of a line that is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The code of JSON that is not a request.
pub const INVALID_REQUEST: i32 = -32600;

/// A line of input, classified.
pub enum ParsedLine<T> {
    /// A message of the protocol.
    Message(Box<T>),
    /// Blank, or something that must not be answered.
    Nothing,
    /// A malformed line, with the reply to it.
    Refused(Vec<u8>),
}

/// Reads one line as a message `T`.
pub fn parse_line<T: DeserializeOwned>(line: &[u8]) -> ParsedLine<T> {
    // A byte order mark is allowed before JSON.
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return ParsedLine::Nothing;
    }
    // Bytes that are not UTF-8 become U+FFFD, as everywhere where text comes in.
    let line = String::from_utf8_lossy(line);
    if let Ok(message) = serde_json::from_str(&line) {
        return ParsedLine::Message(Box::new(message));
    }
    let value: Value = match serde_json::from_str(&line) {
        Ok(value) => value,
        Err(error) => {
            let problem = format!("the line is not JSON: {error}");
            return ParsedLine::Refused(refusal(PARSE_ERROR, &problem, &Value::Null));
        }
    };
    if is_notification(&value) || is_answer(&value) {
        return ParsedLine::Nothing;
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    ParsedLine::Refused(refusal(
        INVALID_REQUEST,
        request_problem(&value),
        id.unwrap_or(&Value::Null),
    ))
}

fn is_notification(value: &Value) -> bool {
    value["jsonrpc"] == "2.0" && value["method"].is_string() && value.get("id").is_none()
}

fn is_answer(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    !has("method") && (has("result") || has("error"))
}

fn request_problem(value: &Value) -> &'static str {
    if value.is_array() {
        return "MCP has no batches: write one message a line";
    }
    if !value.is_object() {
        return "a request is a JSON object with jsonrpc, id, method and params";
    }
    if value["jsonrpc"] != "2.0" {
        return "`jsonrpc` must be \"2.0\"";
    }
    if !value["method"].is_string() {
        return "`method` must be a text";
    }
    match &value["id"] {
        Value::String(_) => "`params` do not fit the method",
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            "`params` do not fit the method"
        }
        _ => "`id` must be a text or a whole number",
    }
}

/// An error reply, as a line.
pub fn refusal(code: i32, problem: &str, id: &Value) -> Vec<u8> {
    let answer =
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": problem } });
    let mut line = answer.to_string().into_bytes();
    line.push(b'\n');
    line
}
