//! `--otlp` against a small collector that decodes what it gets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::Value;

use crate::env::{TestEnv, wait_until};
use crate::past::record;

pub(crate) struct Taken {
    head: Vec<String>,
    pub(crate) body: Value,
}

/// Takes one request and answers it.
pub(crate) fn take(listener: &TcpListener, status: &str) -> Taken {
    listener.set_nonblocking(true).unwrap();
    let mut accepted = None;
    wait_until("a request", || {
        accepted = listener.accept().ok();
        accepted.is_some()
    });
    let (stream, _) = accepted.unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_ascii_lowercase());
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    (&stream).write_all(answer.as_bytes()).unwrap();
    Taken { head, body: serde_json::from_slice(&body).unwrap() }
}

fn sent(status: &'static str, more: &[&str]) -> (Taken, Option<i32>, String) {
    let env = TestEnv::new();
    record(&env, "01", "./a.rb", &[("talks", true, &["passed", "failed"])]);
    // The made-up recording has no times per example; a trace needs one.
    let path = env.project.join(".proctor/runs/01/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let timed =
        text.replace(r#"{"event_type":"Ex"#, r#"{"time":"2026-01-22T10:30:01Z","event_type":"Ex"#);
    std::fs::write(&path, timed).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let collector = std::thread::spawn(move || take(&listener, status));
    let output = env
        .command()
        .args(["show", "last", "--otlp", &address])
        .args(more)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
        .output()
        .unwrap();
    let ran = env.ran(&output);
    (collector.join().unwrap(), ran.code, ran.stderr)
}

#[test]
fn a_collector_gets_one_trace_per_attempt_without_content() {
    let (taken, code, errors) = sent("200 OK", &[]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(taken.head[0], "post /v1/traces http/1.1");
    assert!(taken.head.contains(&"authorization: bearer abc".to_owned()));
    let spans = taken.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let roots: Vec<&Value> =
        spans.iter().filter(|span| span.get("parentSpanId").is_none()).collect();
    assert_eq!((roots.len(), &roots[0]["name"]), (2, &"Cart > talks".into()));
    assert_ne!(roots[0]["traceId"], roots[1]["traceId"]);
    assert!(spans.iter().any(|span| span["name"] == "invoke_agent"));
    assert!(!taken.body.to_string().contains("refund"), "content is off");
}

#[test]
fn content_is_sent_when_asked_for_and_a_refusal_is_told() {
    let (taken, code, _) = sent("200 OK", &["--otlp-content"]);
    assert_eq!(code, Some(0));
    assert!(taken.body.to_string().contains("I want a refund"));
    let (_, code, errors) = sent("401 Unauthorized", &[]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("traces were not taken by") && errors.contains("401"), "{errors}");
}
