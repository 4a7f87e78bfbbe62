//! How many spans a second the receiver takes: `bench/agents/traces`.
//!
//! Connections that stay open send requests of 100 spans each, as an SDK does; every span belongs to a turn and has the attributes of a
//! call. Prints one line for each form: name, spans a second.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement fails by panicking and prints its result"
)]

use std::time::Instant;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use proctor_traces::Traces;
use prost::Message;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONNECTIONS: u8 = 8;
const REQUESTS: u32 = 60;
const SPANS: u32 = 100;
const ATTRIBUTES: [(&str, &str); 6] = [
    ("gen_ai.operation.name", "execute_tool"),
    ("gen_ai.tool.name", "search"),
    ("gen_ai.tool.call.id", "call_Tk1d7rQv"),
    ("gen_ai.tool.call.arguments", r#"{"city": "Berlin", "guests": 50, "day": "2026-12-04"}"#),
    ("gen_ai.tool.call.result", r#"{"found": [{"name": "Hall A", "price": 1200}]}"#),
    ("openinference.span.kind", "TOOL"),
];

fn span_id(request: u32, span: u32) -> [u8; 8] {
    ((u64::from(request) << 32) | (u64::from(span) + 1)).to_be_bytes()
}

fn protobuf(trace_id: &[u8], parent: &[u8], request: u32) -> Vec<u8> {
    let attribute = |(key, value): (&str, &str)| {
        let value = Some(AnyValue { value: Some(Value::StringValue(value.into())) });
        KeyValue { key: key.into(), value, ..KeyValue::default() }
    };
    let spans = (0..SPANS).map(|span| Span {
        trace_id: trace_id.to_vec(),
        span_id: span_id(request, span).to_vec(),
        parent_span_id: parent.to_vec(),
        name: "execute_tool search".into(),
        start_time_unix_nano: 1_700_000_000_000_000_000,
        end_time_unix_nano: 1_700_000_000_005_000_000,
        attributes: ATTRIBUTES.map(attribute).to_vec(),
        ..Span::default()
    });
    let scope = ScopeSpans { spans: spans.collect(), ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
}

fn json(trace_id: &str, parent: &str, request: u32) -> Vec<u8> {
    let attributes =
        ATTRIBUTES.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}));
    let spans: Vec<_> = (0..SPANS)
        .map(|span| {
            let id: String =
                span_id(request, span).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({
                "traceId": trace_id, "spanId": id, "parentSpanId": parent, "name": "execute_tool search",
                "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000005000000",
                "attributes": attributes,
            })
        })
        .collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string().into()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

async fn send_all(endpoint: String, content_type: &'static str, bodies: Vec<Vec<u8>>) {
    let (address, secret) = endpoint.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    // As HTTP clients do; else the body waits for the acknowledgement of the head.
    stream.set_nodelay(true).unwrap();
    let mut answer = [0; 1024];
    for body in bodies {
        let head = format!(
            "POST /{secret}/v1/traces HTTP/1.1\r\nhost: {address}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
        let read = stream.read(&mut answer).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 200"));
    }
}

async fn measure(content_type: &'static str) -> f64 {
    let traces = Traces::default();
    let endpoint = traces.endpoint().await.unwrap().to_owned();
    let turns: Vec<_> = (0..CONNECTIONS).map(|_| traces.begin().unwrap()).collect();
    let bodies: Vec<Vec<Vec<u8>>> = turns
        .iter()
        .map(|turn| {
            let traceparent = turn.traceparent();
            let (trace_id, parent) = (&traceparent[3..35], &traceparent[36..52]);
            let body = |request| match content_type {
                "application/json" => json(trace_id, parent, request),
                _ => protobuf(&bytes(trace_id), &bytes(parent), request),
            };
            (0..REQUESTS).map(body).collect()
        })
        .collect();
    let began = Instant::now();
    let senders =
        bodies.into_iter().map(|all| tokio::spawn(send_all(endpoint.clone(), content_type, all)));
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    let taken = began.elapsed().as_secs_f64();
    let expected = u64::from(CONNECTIONS) * u64::from(REQUESTS * SPANS);
    assert_eq!(traces.counts().kept, expected, "every span is kept");
    #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
    let rate = expected as f64 / taken;
    rate
}

#[tokio::main]
async fn main() {
    for (name, content_type) in
        [("protobuf", "application/x-protobuf"), ("json", "application/json")]
    {
        println!("{name} {:.0}", measure(content_type).await);
    }
}
