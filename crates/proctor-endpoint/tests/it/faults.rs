//! Each fault, on the wire.

use std::time::{Duration, Instant};

use proctor_endpoint::Fault;
use proctor_llm::wire::Protocol;
use serde_json::{Value, json};

use crate::client::{Received, observed, post, scripted};

fn body(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "a"}], "input": "a"})
}

/// The first answer is faulty; the second is the first of the script.
async fn first_of(fault: Fault, protocol: Protocol, stream: bool) -> Received {
    let endpoint = scripted(&["The answer in several words"], vec![fault]).await;
    let calls = observed(&endpoint);
    let url = format!("{}/v1{}", endpoint.url(), protocol.path());
    let first = post(&url, &body(stream)).await;
    let second = post(&url, &body(false)).await;
    assert_eq!(second.status, 200, "{}", second.body);
    assert_eq!(protocol.decode(&second.json()).unwrap().text, "The answer in several words");
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 2);
    assert!(calls[0].error.as_ref().is_some_and(|error| error.contains("fault")));
    assert_eq!(calls[1].error, None);
    assert!(endpoint.problem().is_none(), "a fault is no problem of the test");
    first
}

#[tokio::test]
async fn a_status_is_an_error_of_the_interface() {
    for protocol in Protocol::ALL {
        let after = Some(Duration::from_millis(1500));
        let refused = first_of(Fault::Status(429, after), protocol, false).await;
        assert_eq!(refused.status, 429);
        assert!(refused.head.contains("retry-after: 2"), "{}", refused.head);
        assert!(refused.head.contains("retry-after-ms: 1500"), "{}", refused.head);
        let error = &refused.json()["error"];
        assert!(error["type"].is_string() && error["message"].is_string(), "{error}");
    }
}

#[tokio::test]
async fn a_cut_answer_begins_and_breaks() {
    for protocol in Protocol::ALL {
        let streamed = first_of(Fault::CutStream, protocol, true).await;
        assert_eq!(streamed.status, 200);
        assert!(streamed.body.contains("This ") && !streamed.is_complete, "{}", streamed.body);
        assert!(protocol.decode_stream(&streamed.body).is_err());
        let whole = first_of(Fault::CutStream, protocol, false).await;
        assert!(!whole.is_complete && whole.body.starts_with('{'), "{}", whole.body);
    }
}

#[tokio::test]
async fn a_malformed_answer_is_whole_and_no_json() {
    for protocol in Protocol::ALL {
        let whole = first_of(Fault::Malformed, protocol, false).await;
        assert!(whole.is_complete && serde_json::from_str::<Value>(&whole.body).is_err());
        let streamed = first_of(Fault::Malformed, protocol, true).await;
        assert!(streamed.is_complete && protocol.decode_stream(&streamed.body).is_err());
    }
}

#[tokio::test]
async fn a_timeout_lasts_until_the_conversation_ends() {
    let endpoint = scripted(&["one"], vec![Fault::Timeout]).await;
    let calls = observed(&endpoint);
    let url = format!("{}/v1/messages", endpoint.url());
    let asking = tokio::spawn(async move { post(&url, &body(false)).await });
    while calls.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!asking.is_finished());
    assert_eq!(endpoint.close().calls, 1);
    assert_eq!(asking.await.unwrap().status, 503);
}

#[tokio::test]
async fn a_slow_answer_is_the_scripted_one() {
    for stream in [false, true] {
        let began = Instant::now();
        let endpoint = scripted(&["one"], vec![Fault::Slow(Duration::from_millis(200))]).await;
        let url = format!("{}/v1/chat/completions", endpoint.url());
        let received = post(&url, &body(stream)).await;
        assert!(received.status == 200 && received.is_complete && received.body.contains("one"));
        assert!(began.elapsed() >= Duration::from_millis(200));
    }
}
