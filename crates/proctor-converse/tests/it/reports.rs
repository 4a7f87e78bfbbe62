//! What agents report of their tools, over real HTTP and from real programs, and what becomes of checks on it.

use serde_json::{Value, json};

use crate::server::{Server, ok, says};
use crate::world::{FinishedConversation, World, python};

/// An agent behind an interface of its own that has refunded already when it answers.
async fn refunding() -> Server {
    Server::start(|_, _| {
        let call = json!({"id": "c1", "name": "refund", "arguments": {"order": 7}, "result": {"ok": true}});
        ok(&json!({"reply": "Refunded.", "calls": [call]}))
    })
    .await
}

fn own_interface(server: &Server, agent: &str, more: &str, check: &str) -> String {
    format!(
        "describe: A\nagent: {{name: shop, http: {{url: \"http://{}/chat\", text: /reply{agent}}}{more}}}\n\
         examples: [{{it: x, steps: [{{user: Refund order 7, expect: [{check}]}}]}}]",
        server.address
    )
}

const NOT_CALLED: &str = "{not: {call_tool: refund}}";

/// V1 as the audit has it: the agent refunds, and nobody is told where it says so.
#[tokio::test]
async fn v1_a_check_on_calls_that_an_http_agent_does_not_report_is_errored() {
    let server = refunding().await;
    for check in [NOT_CALLED, "{call_tool: refund}", "{tool_order: [refund]}"] {
        let conversation = World::new().conduct(&own_interface(&server, "", "", check)).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "harness"),
            "{}",
            conversation.message()
        );
        assert!(
            conversation.message().contains("agent `shop` answers over HTTP and does not say where it lists the calls it made; add `made_calls: /pointer` or `tools: none`"),
            "{}",
            conversation.message()
        );
    }
}

#[tokio::test]
async fn v1_calls_that_were_made_are_known_as_made_and_asked_for_once() {
    for (agent, more) in [("", ", made_calls: /calls"), (", made_calls: /calls", "")] {
        let server = refunding().await;
        let conversation =
            World::new().conduct(&own_interface(&server, agent, more, NOT_CALLED)).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("failed", "agent"),
            "{}",
            conversation.message()
        );
        let called = "{call_tool: {name: refund, with: {order: 7}, times: 1}}";
        let conversation = World::new().conduct(&own_interface(&server, agent, more, called)).await;
        assert_eq!(conversation.status(), "passed", "{}", conversation.message());
        assert_eq!(server.seen().len(), 2, "one question for each conversation");
    }
}

/// With the path mapped as requests, the finished call is not taken for one.
#[tokio::test]
async fn v1_finished_calls_where_requests_stand_are_an_error_at_once() {
    let server = refunding().await;
    let mapped = ", tool_calls: {list: /calls}";
    let conversation = World::new().conduct(&own_interface(&server, mapped, "", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert!(
        conversation.message().contains("say `made_calls: /calls`"),
        "{}",
        conversation.message()
    );
    assert_eq!(server.seen().len(), 1);
    let bare =
        Server::start(|_, _| ok(&json!({"reply": "Done", "calls": [{"name": "refund"}]}))).await;
    let conversation = World::new().conduct(&own_interface(&bare, mapped, "", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert!(conversation.message().contains("offers no tools"), "{}", conversation.message());
    assert_eq!(bare.seen().len(), 1, "it is not asked again and again");
}

#[tokio::test]
async fn v1_an_answer_without_the_list_says_nothing_unless_that_is_agreed() {
    let server = Server::start(|_, _| ok(&json!({"reply": "Hello"}))).await;
    let mistyped = ", made_calls: /cals";
    let conversation =
        World::new().conduct(&own_interface(&server, "", mistyped, NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "harness"),
        "{}",
        conversation.message()
    );
    assert!(
        conversation.message().contains("without anything at `/cals`"),
        "{}",
        conversation.message()
    );
    let agreed = ", made_calls: {list: /calls, absent: none}";
    let conversation = World::new().conduct(&own_interface(&server, "", agreed, NOT_CALLED)).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let empty = Server::start(|_, _| ok(&json!({"reply": "Hello", "calls": []}))).await;
    let conversation =
        World::new().conduct(&own_interface(&empty, "", ", made_calls: /calls", NOT_CALLED)).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
}

#[tokio::test]
async fn v1_tools_none_makes_not_called_a_fact() {
    let server = Server::start(|_, _| ok(&json!({"reply": "Hello"}))).await;
    let none = ", tools: none";
    let conversation = World::new().conduct(&own_interface(&server, "", none, NOT_CALLED)).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation =
        World::new().conduct(&own_interface(&server, "", none, "{call_tool: refund}")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("failed", "agent"),
        "{}",
        conversation.message()
    );
}

fn chat(server: &Server, more: &str, tools: &str, check: &str) -> String {
    format!(
        "describe: A\nagent: {{name: shop, chat: {{url: \"{}\", model: m}}{more}}}\n{tools}\
         examples: [{{it: x, steps: [{{user: Hi, expect: [{check}]}}]}}]",
        server.url()
    )
}

#[tokio::test]
async fn v1_a_chat_endpoint_reports_calls_of_the_tools_it_is_given() {
    let server = Server::start(|_, _| says("Done")).await;
    let hidden = World::new().conduct(&chat(&server, "", "", NOT_CALLED)).await;
    assert_eq!((hidden.status(), hidden.fault()), ("errored", "harness"), "{}", hidden.message());
    let tools = "tools: {refund: {result: 1}}\n";
    let given = World::new().conduct(&chat(&server, "", tools, NOT_CALLED)).await;
    assert_eq!(given.status(), "passed", "{}", given.message());
    let listing = Server::start(|_, _| {
        ok(&json!({"choices": [{"message": {"role": "assistant", "content": "Done"}}], "trace": {"tools": [{"tool": "refund"}]}}))
    })
    .await;
    let made = ", made_calls: /trace/tools";
    let conversation = World::new().conduct(&chat(&listing, made, "", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("failed", "agent"),
        "{}",
        conversation.message()
    );
}

/// A wrapper in the shape of chat completions that lists finished calls in its message.
#[tokio::test]
async fn v1_a_chat_endpoint_that_asks_for_tools_nobody_offered_is_asked_once() {
    let server = Server::start(|_, _| {
        ok(&json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Done",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}]}}]}))
    })
    .await;
    let conversation = World::new().conduct(&chat(&server, "", "", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert_eq!(server.seen().len(), 1);
    let made = ", made_calls: /choices/0/message/tool_calls";
    let conversation = World::new().conduct(&chat(&server, made, "", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("failed", "agent"),
        "{}",
        conversation.message()
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn d12_malformed_calls_of_http_agents_are_their_error() {
    let message = |calls: Value| json!({"choices": [{"message": {"role": "assistant", "content": "x", "tool_calls": calls}}]});
    for calls in [
        json!([{"id": "1", "function": {"arguments": "{}"}}]),
        json!([{"id": "1", "function": {"name": "delete_all", "arguments": "{\"n\":"}}]),
        json!([{"id": "1", "function": {"name": "delete_all", "arguments": [1]}}]),
        json!("delete_all"),
    ] {
        let body = message(calls.clone());
        let server = Server::start(move |_, _| ok(&body)).await;
        let tools = "tools: {delete_all: {result: 1}}\n";
        let check = "{not: {call_tool: {name: delete_all, with: {n: {absent: true}}}}}";
        let conversation = World::new().conduct(&chat(&server, "", tools, check)).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "agent"),
            "{calls}: {}",
            conversation.message()
        );
    }
    let server = Server::start(|_, _| ok(&json!({"reply": "x", "calls": ["refund"]}))).await;
    let conversation =
        World::new().conduct(&own_interface(&server, "", ", made_calls: /calls", NOT_CALLED)).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert!(conversation.message().contains("found `\"refund\"`"), "{}", conversation.message());
}

/// Answers each message with the JSON that it is.
const ECHO: &str = r#"
import json, os, socket
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    message = json.loads(line)
    if "action" not in message: continue
    reply, action = {"reply_to": message["id"]}, message["action"]
    if action == "hello": reply.update(protocol=1, name="echo", version="1", pid=os.getpid(), capabilities=[])
    elif action == "agent.chat": reply.update(json.loads(message["messages"][-1]["content"]))
    elif action == "__shutdown__": reply.update(status="shutting_down")
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
"#;

async fn program(answer: &Value, check: &str) -> FinishedConversation {
    let world = World::new();
    world.write("agent.py", ECHO);
    let (python, said) = (python(), answer.to_string().replace('\'', "''"));
    let text = format!(
        "describe: A\nagent: {{name: echo, command: [{python:?}, agent.py]}}\nexamples: [{{it: x, steps: [{{user: '{said}', expect: [{check}]}}]}}]"
    );
    world.conduct(&text).await
}

#[tokio::test]
async fn v1_a_program_lists_its_calls_or_checks_on_them_are_errored() {
    let silent = program(&json!({"text": "Done"}), NOT_CALLED).await;
    assert_eq!((silent.status(), silent.fault()), ("errored", "harness"), "{}", silent.message());
    assert!(silent.message().contains("answer with `\"tool_calls\": []`"), "{}", silent.message());
    let none = program(&json!({"text": "Done", "tool_calls": []}), NOT_CALLED).await;
    assert_eq!(none.status(), "passed", "{}", none.message());
}

#[tokio::test]
async fn d12_malformed_calls_of_programs_are_their_error() {
    for calls in [
        json!([{"arguments": {}}]),
        json!([{"name": 7}]),
        json!([{"name": "delete_all", "arguments": [1, 2]}]),
        json!([{"name": "delete_all", "arguments": "n=1"}]),
        json!({"name": "delete_all"}),
    ] {
        let conversation =
            program(&json!({"text": "x", "tool_calls": calls}), "{not: {call_tool: delete_all}}")
                .await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "agent"),
            "{calls}: {}",
            conversation.message()
        );
        assert!(conversation.message().contains("found `"), "{}", conversation.message());
    }
    let shaped =
        json!([{"type": "function", "function": {"name": "book", "arguments": "{\"n\": 1}"}}]);
    let check = "{call_tool: {name: book, with: {n: 1}}}";
    let conversation = program(&json!({"text": "x", "tool_calls": shaped}), check).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let absent = "{call_tool: {name: book, with: {n: {absent: true}}}}";
    let conversation = program(&json!({"text": "x", "tool_calls": shaped}), absent).await;
    assert_eq!(conversation.status(), "failed", "{}", conversation.message());
}
