//! Calls that an agent reports while it works: published before its answer, each once.

use proctor_converse::{AttemptId, BoxFuture, Cassette, Conversation, EventSink, ReplayMode};
use proctor_events::{Body, Event};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::world::{FinishedConversation, World, python};

/// Reports a call, waits for the file that the test writes when it sees the event, and answers. What it does is what the user says.
const AGENT: &str = r#"
import json, os, socket, time
io = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"])).makefile("rw")
def send(message):
    io.write(json.dumps(message) + "\n"); io.flush()
def seen(name):
    while not os.path.exists(name): time.sleep(0.005)
for line in io:
    m = json.loads(line)
    if m.get("action") == "hello": reply = {"protocol": 1, "name": "a", "version": "1", "pid": os.getpid(), "capabilities": []}
    elif m.get("action") == "agent.chat":
        said, of = m["messages"][-1]["content"], {"conversation_id": m["conversation_id"]}
        reply = {"text": "done"}
        if said in ("with id", "not listed"):
            send({"type": "agent.tool_call_started", "id": "t1", "name": "search", "arguments": {"n": 1}, **of})
            seen("ToolCallStarted")
            send({"type": "agent.tool_call_completed", "id": "t1", "name": "search", "result": "found", "metadata": {"rows": 3}, "duration_ms": 12.5, **of})
            seen("ToolCallCompleted")
            if said == "with id": reply["tool_calls"] = [{"id": "t1", "name": "search", "arguments": {"n": 1}, "result": "found"}]
        elif said == "without id":
            for n in (1, 1, 2):
                send({"type": "agent.tool_call_completed", "name": "search", "arguments": {"n": n}, "error": "no %d" % n})
            seen("ToolCallCompleted")
            reply["tool_calls"] = [{"name": "search", "arguments": {"n": n}, "error": "no %d" % n} for n in (1, 1, 2, 3)]
        elif said == "first token":
            send({"type": "agent.first_token", **of})
        elif said == "malformed":
            send({"type": "agent.tool_call_completed", "arguments": {}, **of})
        elif said == "fails":
            send({"type": "agent.tool_call_started", "id": "t1", "name": "search", **of})
            seen("ToolCallStarted")
            reply = {"error": {"code": "failed", "message": "out of order"}}
    elif m.get("action") == "__shutdown__": reply = {"status": "shutting_down"}
    else: reply = {}
    if "id" in m: send({"reply_to": m["id"], **reply})
"#;

/// Writes a file named like the event, when it is there: an agent that waits for it proves that it was not held back.
struct Signalling<'a> {
    world: &'a World,
    events: Vec<Body>,
}

impl EventSink for Signalling<'_> {
    fn emit(&mut self, body: Body) {
        self.world.write(body.event_type().unwrap().name(), "");
        self.events.push(body);
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

async fn conduct(world: &World, says: &str, expect: &str) -> FinishedConversation {
    let python = python();
    let examples = World::examples(&format!(
        "describe: A\nagent: {{command: [{python:?}, agent.py], name: a}}\n\
         examples: [{{it: x, steps: [{{user: {says}, expect: [{expect}]}}]}}]"
    ));
    world.write("agent.py", AGENT);
    for name in ["ToolCallStarted", "ToolCallCompleted"] {
        // Left by another conversation, or not there.
        let _ = std::fs::remove_file(world.path().join(name));
    }
    let registry = world.registry(&examples);
    let parties = Arc::clone(registry.parties_of(&examples[0]).unwrap());
    let attempt_id = AttemptId { example: examples[0].id.id.clone(), repeat: 1, attempt: 1 };
    let mut conversation = Conversation::new(Arc::clone(&examples[0]), parties, attempt_id);
    let mut sink = Signalling { world, events: Vec::new() };
    let verdict = conversation.run(&mut sink).await;
    conversation.close().await;
    registry.end(false).await;
    FinishedConversation { verdict, events: sink.events }
}

/// The events about calls and answers, as JSON.
fn told(conversation: &FinishedConversation) -> Vec<Value> {
    let all = conversation.events.iter().map(|body| Event::new(body.clone()).to_json());
    let all = all.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let wanted = ["ToolCallStarted", "ToolCallCompleted", "AgentResponse", "AgentError"];
    all.filter(|event| wanted.iter().any(|name| event["event_type"] == *name)).collect()
}

fn names(told: &[Value]) -> Vec<&str> {
    told.iter().map(|event| event["event_type"].as_str().unwrap()).collect()
}

const CALLED: &str = "{call_tool: {name: search, with: {n: 1}}}";

#[tokio::test]
async fn a_call_is_told_when_it_happens_and_once_although_the_answer_lists_it() {
    let world = World::new();
    for says in ["with id", "not listed"] {
        let conversation = conduct(&world, says, CALLED).await;
        assert_eq!(conversation.status(), "passed", "{}", conversation.message());
        let told = told(&conversation);
        assert_eq!(names(&told), ["ToolCallStarted", "ToolCallCompleted", "AgentResponse"]);
        assert_eq!(
            told[1],
            json!({"event_type": "ToolCallCompleted", "turn_number": 1, "tool_call_id": "t1", "tool_name": "search",
                "arguments": {"n": 1}, "result": "found", "metadata": {"rows": 3}, "duration_ms": 12.5})
        );
        assert_eq!(
            told[2]["tool_calls"],
            json!([{"id": "t1", "name": "search", "arguments": {"n": 1}}])
        );
        assert_eq!(told[2].get("calls_listed"), None, "what is reported is listed");
    }
}

#[tokio::test]
async fn calls_without_an_id_are_paired_in_order() {
    let world = World::new();
    let three = "{call_tool: {name: search, with: {n: 3}}}";
    let conversation = conduct(&world, "without id", three).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let told = told(&conversation);
    let calls: Vec<(&str, &Value, &Value)> = told[..8]
        .iter()
        .map(|event| {
            (event["event_type"].as_str().unwrap(), &event["arguments"]["n"], &event["error"])
        })
        .collect();
    let pair = |n: u64| (json!(n), json!(format!("no {n}")));
    for (place, (n, error)) in [pair(1), pair(1), pair(2), pair(3)].iter().enumerate() {
        assert_eq!(calls[2 * place], ("ToolCallStarted", n, &Value::Null));
        assert_eq!(calls[2 * place + 1], ("ToolCallCompleted", n, error));
        assert_eq!(told[2 * place]["tool_call_id"], told[2 * place + 1]["tool_call_id"]);
    }
    assert_eq!((told.len(), told[8]["tool_calls"].as_array().unwrap().len()), (9, 4));
}

#[tokio::test]
async fn a_first_token_is_timed_and_a_malformed_report_is_an_error() {
    let world = World::new();
    let conversation = conduct(&world, "first token", "{match: done}").await;
    let told_first = told(&conversation);
    assert!(told_first[0]["first_token_ms"].is_number(), "{}", told_first[0]);
    let malformed = conduct(&world, "malformed", "{match: done}").await;
    assert_eq!((malformed.status(), malformed.fault()), ("errored", "agent"));
    assert!(malformed.message().contains("has no name"), "{}", malformed.message());
}

#[tokio::test]
async fn an_error_says_what_was_asked_and_what_had_been_done() {
    let conversation = conduct(&World::new(), "fails", "{match: done}").await;
    let told = told(&conversation);
    assert_eq!(names(&told), ["ToolCallStarted", "AgentError"]);
    assert_eq!(
        told[1]["context"],
        json!({"messages_count": 1, "turn": 1, "asked": "fails", "tool_rounds": 0, "reported_calls": 1})
    );
}

/// On a cassette there is the answer: the calls that were reported are in it.
#[tokio::test]
async fn a_replayed_answer_has_the_calls_that_were_reported() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("tape.jsonl");
    let mut world = World::new();
    world.settings.cassette = Cassette::Record(tape.clone());
    let recorded = told(&conduct(&world, "not listed", CALLED).await);
    world = World::new();
    world.settings.cassette = Cassette::Replay(tape, ReplayMode::Keyed);
    let replayed = conduct(&world, "not listed", CALLED).await;
    assert_eq!(replayed.status(), "passed", "{}", replayed.message());
    assert_eq!(told(&replayed), recorded);
}
