//! Tools of the host: stubs, commands, servers of the Model Context Protocol; and checks that are commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::server::{Server, events, ok, status};
use crate::world::{World, python};

fn scenario(tools: &str, tool: &str, expected: &str) -> String {
    format!(
        "describe: A\n{tools}\nagent:\n  script:\n    - {{when: ask, say: {{call: {{tool: {tool}, arguments: {{n: 2}}}}}}}}\n    - {{when: \"\", say: done}}\n\
         examples: [{{it: x, steps: [{{user: ask, expect: [{{expression: \"{expected}\"}}]}}]}}]"
    )
}

#[tokio::test]
async fn stubs_answer_by_arguments_and_with_errors() {
    let stubs = "tools: {t: [{with: {n: 1}, result: one}, {with: {n: {at_least: 2}}, result: {many: true}}], e: {error: out of order}}";
    let conversation =
        World::new().conduct(&scenario(stubs, "t", "turn.tool_calls[0].result.many")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation = World::new()
        .conduct(&scenario(stubs, "e", "turn.tool_calls[0].error == 'out of order'"))
        .await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation = World::new()
        .conduct(&scenario(stubs, "made_up", "turn.tool_calls[0].error.contains('made_up')"))
        .await;
    assert_eq!(
        conversation.status(),
        "passed",
        "the agent hears of it: {}",
        conversation.message()
    );
    let none = "tools: {t: {with: {n: 1}, result: one}}";
    let conversation = World::new().conduct(&scenario(none, "t", "true")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "tool"),
        "{}",
        conversation.message()
    );
}

#[tokio::test]
async fn commands_are_tools_too() {
    let world = World::new();
    world.write("t.py", "import json, sys\nasked = json.load(sys.stdin)\nif asked['arguments']['n'] == 2: print(json.dumps({'double': 4}))\n");
    let tools = format!(
        "tools: {{t: {{command: [{:?}, t.py]}}, bad: {{command: [sh, -c, 'echo broken >&2; exit 1']}}, gone: {{command: [./gone]}}}}",
        python()
    );
    let conversation =
        world.conduct(&scenario(&tools, "t", "turn.tool_calls[0].result.double == 4")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation =
        world.conduct(&scenario(&tools, "bad", "turn.tool_calls[0].error == 'broken'")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation = world.conduct(&scenario(&tools, "gone", "true")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "tool"),
        "{}",
        conversation.message()
    );
    assert!(conversation.message().contains("./gone"), "{}", conversation.message());
}

const SERVER: &str = r#"
import json, sys
def send(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        assert message["params"]["clientInfo"]["name"] == "proctor"
        send({"id": number, "result": {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
        send({"id": 900, "method": "ping"})
    elif method == "tools/list":
        page = [{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}] if "cursor" not in message["params"] else [{"name": "fail", "inputSchema": {}}, {"name": "die", "inputSchema": {}}]
        send({"id": number, "result": {"tools": page, **({} if "cursor" in message["params"] else {"nextCursor": "2"})}})
    elif method == "tools/call":
        name, n = message["params"]["name"], message["params"]["arguments"]["n"]
        if name == "die": print("server: dying", file=sys.stderr, flush=True); sys.exit(1)
        if name == "fail": send({"id": number, "result": {"isError": True, "content": [{"type": "text", "text": "cannot"}]}})
        else: send({"id": number, "result": {"content": [{"type": "text", "text": json.dumps({"sum": n + 1})}]}})
"#;

#[tokio::test]
async fn a_server_of_tools_is_asked_over_the_model_context_protocol() {
    let world = World::new();
    world.write("server.py", SERVER);
    let mcp = format!("mcp: {{s: {{command: [{:?}, server.py]}}}}", python());
    let conversation =
        world.conduct(&scenario(&mcp, "add", "turn.tool_calls[0].result.sum == 3")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation =
        world.conduct(&scenario(&mcp, "fail", "turn.tool_calls[0].error == 'cannot'")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation = world.conduct(&scenario(&mcp, "die", "true")).await;
    assert_eq!((conversation.status(), conversation.fault()), ("errored", "tool"));
    assert!(conversation.message().contains("server: dying"), "{}", conversation.message());
    let missing = "mcp: {s: {command: [./no-such-server]}}";
    let conversation = world.conduct(&scenario(missing, "add", "true")).await;
    assert_eq!((conversation.status(), conversation.fault()), ("errored", "tool"));
    assert!(conversation.message().contains("no-such-server"), "{}", conversation.message());
}

/// A server that has died costs the call it had; the next conversation finds it started anew.
#[tokio::test]
async fn a_server_of_tools_that_died_is_started_again() {
    let world = World::new();
    world.write("server.py", SERVER);
    let call = |name: &str, expected: &str| {
        format!(
            "  - {{it: {name}, steps: [{{user: {name}, expect: [{{expression: \"{expected}\"}}]}}]}}\n"
        )
    };
    let text = format!(
        "describe: A\nmcp: {{s: {{command: [{:?}, server.py]}}}}\nagent:\n  script:\n    - {{when: die, say: {{call: {{tool: die, arguments: {{n: 1}}}}}}}}\n    - {{when: add, say: {{call: {{tool: add, arguments: {{n: 4}}}}}}}}\n    - {{when: \"\", say: done}}\nexamples:\n{}{}{}",
        python(),
        call("add", "turn.tool_calls[0].result.sum == 5"),
        call("die", "true"),
        call("add again", "turn.tool_calls[0].result.sum == 5"),
    );
    let (conversations, _) = world.conduct_all(&text).await;
    let told: Vec<(&str, &str)> = conversations
        .iter()
        .map(|conversation| (conversation.status(), conversation.fault()))
        .collect();
    assert_eq!(
        told,
        [("passed", ""), ("errored", "tool"), ("passed", "")],
        "{}",
        conversations[2].message()
    );
}

/// The same protocol at an address: sessions, answers as JSON and as a stream, a ping in between, a session that is
/// forgotten, and a server that is not there.
#[tokio::test]
async fn a_server_of_tools_at_an_address() {
    let greeted = Arc::new(AtomicUsize::new(0));
    let greetings = Arc::clone(&greeted);
    let server = Server::start(move |seen, _| {
        assert_eq!(seen.header("authorization"), Some("Bearer a-secret-token"));
        let id = &seen.body["id"];
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let method = seen.body["method"].as_str().unwrap_or_default();
        if method == "initialize" {
            let session = format!("s{}", greetings.fetch_add(1, Ordering::SeqCst) + 1);
            let mut hello =
                ok(&answer(json!({"protocolVersion": "2025-03-26", "capabilities": {}})));
            hello.headers_mut().insert("mcp-session-id", session.parse().unwrap());
            return hello;
        }
        if seen.body.is_null() {
            return status(200, ""); // the goodbye
        }
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-03-26"));
        // The first session is forgotten when a tool is called in it.
        if method == "tools/call" && seen.header("mcp-session-id") == Some("s1") {
            return status(404, "no such session");
        }
        match method {
            "tools/list" => ok(&answer(json!({"tools": [{"name": "add", "inputSchema": {}}]}))),
            "tools/call" => {
                let sum = seen.body["params"]["arguments"]["n"].as_i64().unwrap() + 1;
                let ping = json!({"jsonrpc": "2.0", "id": "p1", "method": "ping"});
                let note =
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
                let result = answer(json!({"content": [], "structuredContent": {"sum": sum}}));
                events(&[ping, note, result])
            }
            _ => status(202, ""), // the notification, and the answer to the ping
        }
    })
    .await;
    let mut world = World::new();
    world.settings.environment =
        Arc::new(|name| (name == "TOKEN").then(|| "a-secret-token".to_owned()));
    let mcp = |url: &str| {
        format!(
            "mcp: {{s: {{url: \"{url}\", headers: {{Authorization: \"Bearer ${{env:TOKEN}}\"}}, timeout: 5s}}}}"
        )
    };
    let text = scenario(&mcp(&server.url()), "add", "turn.tool_calls[0].result.sum == 3");
    let conversation = world.conduct(&text).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    assert_eq!(greeted.load(Ordering::SeqCst), 2, "it was greeted again");
    let pong = server
        .seen()
        .into_iter()
        .any(|seen| seen.body["id"] == "p1" && seen.body["result"] == json!({}));
    assert!(pong, "the ping was answered");
    let conversation =
        world.conduct(&scenario(&mcp("http://127.0.0.1:9/mcp"), "add", "true")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "tool"),
        "{}",
        conversation.message()
    );
    for shown in ["the tool server `s`", "http://127.0.0.1:9/mcp", "cannot be reached"] {
        assert!(conversation.message().contains(shown), "{}", conversation.message());
    }
    assert!(!conversation.message().contains("a-secret-token"));
}

#[tokio::test]
async fn checks_are_commands_that_see_the_conversation() {
    let world = World::new();
    world.write("check.py", "import json, sys\ntalk = json.load(sys.stdin)\nprint('saw', talk['turn']['agent'])\nsys.exit(0 if 'Hi' in talk['turn']['agent'] else 1)\n");
    let checked = |said: &str, check: &str| {
        format!(
            "describe: A\nagent: {{script: [{said}]}}\nexamples: [{{it: x, steps: [{{user: a, expect: [{check}]}}]}}]"
        )
    };
    let command = format!("command: [{:?}, check.py]", python());
    let conversation = world.conduct(&checked("Hi", &format!("{{{command}}}"))).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let conversation = world.conduct(&checked("Ho", &format!("{{{command}}}"))).await;
    assert_eq!((conversation.status(), conversation.fault()), ("failed", "agent"));
    assert!(conversation.message().contains("saw Ho"), "{}", conversation.message());
    let conversation = world.conduct(&checked("Ho", &format!("{{not: {{{command}}}}}"))).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    for broken in ["{command: [./gone]}", "{command: gone --now}"] {
        let conversation = world.conduct(&checked("Hi", broken)).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "harness"),
            "{}",
            conversation.message()
        );
    }
}
