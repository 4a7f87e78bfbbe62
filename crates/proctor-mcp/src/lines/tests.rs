use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, duplex};

use proctor_process::json_rpc::PARSE_ERROR;
use serde_json::json;

use super::*;

fn answer_to(line: &str) -> Option<Value> {
    match parse_line::<RxJsonRpcMessage<RoleServer>>(line.as_bytes()) {
        ParsedLine::Refused(answer) => Some(serde_json::from_slice(&answer).unwrap()),
        ParsedLine::Message(_) | ParsedLine::Nothing => None,
    }
}

#[test]
fn each_kind_of_line_gets_what_json_rpc_says() {
    for (line, code, id) in [
        ("hello", PARSE_ERROR, Value::Null),
        ("{\"jsonrpc\":\"2.0\",", PARSE_ERROR, Value::Null),
        ("\u{feff}{", PARSE_ERROR, Value::Null),
        ("1", INVALID_REQUEST, Value::Null),
        ("[]", INVALID_REQUEST, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, INVALID_REQUEST, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7}"#, INVALID_REQUEST, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"a","method":1}"#, INVALID_REQUEST, json!("a")),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST, Value::Null),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, INVALID_REQUEST, json!(7)),
        (r#"{"id":1.5,"method":"ping"}"#, INVALID_REQUEST, Value::Null),
    ] {
        let answer = answer_to(line).unwrap_or_else(|| panic!("no answer to {line}"));
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
        assert!(answer.as_object().unwrap().contains_key("id"), "{line}: null is written out");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
}

#[test]
fn notifications_and_answers_are_never_answered() {
    for line in [
        "",
        " \r\n",
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":1}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#,
        r#"{"jsonrpc":"2.0","id":[],"result":{}}"#,
        r#"{"error":"?"}"#,
    ] {
        assert_eq!(answer_to(line), None, "{line}");
    }
}

proptest! {
    /// Two servers connected to each other stop after one reply.
    #[test]
    fn an_answer_is_never_answered(line in ".{0,40}") {
        if let Some(answer) = answer_to(&line) {
            prop_assert_eq!(answer_to(&answer.to_string()), None);
        }
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The replies to this input, and the number of messages that pass.
async fn replies_to(input: Vec<u8>) -> (Vec<Value>, usize) {
    let (mut ours, theirs) = duplex(1 << 16);
    let (mut answers, output) = duplex(1 << 20);
    let feeding = tokio::spawn(async move { ours.write_all(&input).await.unwrap() });
    let (mut lines, writing) = over(theirs, output);
    let mut messages = 0;
    while lines.receive().await.is_some() {
        messages += 1;
    }
    lines.close().await.unwrap();
    writing.finish().await;
    feeding.await.unwrap();
    let mut text = String::new();
    answers.read_to_string(&mut text).await.unwrap();
    (text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), messages)
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_once_and_the_next_one_is_heard() {
    let long = vec![b'x'; MAX_LINE_BYTES + (1 << 16)];
    let input = [&long[..], b"\n", PING.as_bytes(), b"\n", PING.as_bytes()].concat();
    let (answers, messages) = replies_to(input).await;
    assert_eq!((answers.len(), messages), (1, 2), "{answers:?}");
    assert_eq!(answers[0]["error"]["code"], INVALID_REQUEST);
}

/// `receive` is one branch of a `select!` and is dropped whenever another one is ready.
#[tokio::test]
async fn a_reader_that_is_dropped_again_and_again_loses_nothing() {
    let (mut ours, theirs) = duplex(64);
    let (mut answers, output) = duplex(1 << 16);
    let (mut lines, writing) = over(theirs, output);
    let feeding = tokio::spawn(async move {
        for byte in format!("nonsense\n{PING}\nmore nonsense\n{PING}\n").bytes() {
            ours.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let mut messages = 0;
    loop {
        let received = tokio::select! {
            biased;
            received = lines.receive() => received,
            () = tokio::task::yield_now() => continue,
        };
        match received {
            Some(_) => messages += 1,
            None => break,
        }
    }
    feeding.await.unwrap();
    drop(lines);
    writing.finish().await;
    let mut text = String::new();
    answers.read_to_string(&mut text).await.unwrap();
    assert_eq!((messages, text.matches("-32700").count(), text.lines().count()), (2, 2, 2));
}
