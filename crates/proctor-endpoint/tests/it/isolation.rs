//! Many conversations at once, and clients that stall or die.

use std::sync::Arc;

use proctor_endpoint::{EndpointServer, OpenEndpoint, Script, ScriptItem, ScriptedAnswer, Source};
use proctor_llm::wire::Protocol;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::client::{observed, post, texts};

/// An endpoint that answers prompts with its own word only, ten times.
fn own(server: &EndpointServer, number: usize) -> OpenEndpoint {
    let word = format!("word{number}.");
    let wanted = word.clone();
    let item = ScriptItem {
        answer: ScriptedAnswer::text(word),
        applies: Some(Arc::new(move |prompt: &str| prompt.contains(&wanted))),
        times: 10,
    };
    let source = Source::Script(Script::new(vec![item]));
    server.open(&format!("c{number}.1"), 1, source, Vec::new()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_conversations_do_not_mix() {
    let server = EndpointServer::start().await.unwrap();
    let conversations = (0..64).map(|number| {
        let endpoint = own(&server, number);
        tokio::spawn(async move {
            let calls = observed(&endpoint);
            for call in 0..10 {
                let protocol = Protocol::ALL[call % 3];
                let url = format!("{}/v1{}", endpoint.url(), protocol.path());
                let said = format!("call {call} with word{number}.");
                let body = json!({"model": "m", "messages": [{"role": "user", "content": said}], "input": said});
                let received = post(&url, &body).await;
                assert_eq!(received.status, 200, "{}", received.body);
                let answer = protocol.decode(&received.json()).unwrap();
                assert_eq!(answer.text, format!("word{number}."));
            }
            let calls = calls.lock().unwrap();
            assert_eq!(calls.len(), 10);
            assert!(calls.iter().all(|call| call.prompt.contains(&format!("word{number}."))));
        })
    });
    for conversation in conversations.collect::<Vec<_>>() {
        conversation.await.unwrap();
    }
}

#[tokio::test]
async fn clients_that_stall_or_die_cost_only_themselves() {
    let server = EndpointServer::start().await.unwrap();
    let endpoint = server.open("c.1", 1, texts(&["one"]), Vec::new()).unwrap();
    let rest = endpoint.url().strip_prefix("http://").unwrap().to_owned();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stalled = Vec::new();
    for head in [
        String::new(),
        "POST ".to_owned(),
        format!("POST /{path}/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{{"),
    ] {
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    // One of them dies in the middle of its request.
    drop(stalled.pop());
    let url = format!("{}/v1/chat/completions", endpoint.url());
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    assert_eq!(post(&url, &body).await.status, 200);
    assert_eq!(endpoint.close().calls, 1, "half a request is no call");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let server = EndpointServer::start().await.unwrap();
    let endpoint = server.open("c.1", 1, texts(&["one"]), Vec::new()).unwrap();
    let rest = endpoint.url().strip_prefix("http://").unwrap().to_owned();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "POST /{path}/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        40 << 20
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b' '; 1 << 20];
    for _ in 0..40 {
        if stream.write_all(&piece).await.is_err() {
            break;
        }
    }
    assert_eq!(endpoint.close().calls, 0);
}
