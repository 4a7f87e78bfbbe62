//! Tools of the host: stubs, commands, servers of the Model Context Protocol; and checks that are commands.

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
    let talk = World::new().conduct(&scenario(stubs, "t", "turn.tool_calls[0].result.many")).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = World::new()
        .conduct(&scenario(stubs, "e", "turn.tool_calls[0].error == 'out of order'"))
        .await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = World::new()
        .conduct(&scenario(stubs, "made_up", "turn.tool_calls[0].error.contains('made_up')"))
        .await;
    assert_eq!(talk.status(), "passed", "the agent hears of it: {}", talk.message());
    let none = "tools: {t: {with: {n: 1}, result: one}}";
    let talk = World::new().conduct(&scenario(none, "t", "true")).await;
    assert_eq!((talk.status(), talk.fault()), ("errored", "tool"), "{}", talk.message());
}

#[tokio::test]
async fn commands_are_tools_too() {
    let world = World::new();
    world.write("t.py", "import json, sys\nasked = json.load(sys.stdin)\nif asked['arguments']['n'] == 2: print(json.dumps({'double': 4}))\n");
    let tools = format!(
        "tools: {{t: {{command: [{:?}, t.py]}}, bad: {{command: [sh, -c, 'echo broken >&2; exit 1']}}, gone: {{command: [./gone]}}}}",
        python()
    );
    let talk = world.conduct(&scenario(&tools, "t", "turn.tool_calls[0].result.double == 4")).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk =
        world.conduct(&scenario(&tools, "bad", "turn.tool_calls[0].error == 'broken'")).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = world.conduct(&scenario(&tools, "gone", "true")).await;
    assert_eq!((talk.status(), talk.fault()), ("errored", "tool"), "{}", talk.message());
    assert!(talk.message().contains("./gone"), "{}", talk.message());
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
    let talk = world.conduct(&scenario(&mcp, "add", "turn.tool_calls[0].result.sum == 3")).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = world.conduct(&scenario(&mcp, "fail", "turn.tool_calls[0].error == 'cannot'")).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = world.conduct(&scenario(&mcp, "die", "true")).await;
    assert_eq!((talk.status(), talk.fault()), ("errored", "tool"));
    assert!(talk.message().contains("server: dying"), "{}", talk.message());
    let missing = "mcp: {s: {command: [./no-such-server]}}";
    let talk = world.conduct(&scenario(missing, "add", "true")).await;
    assert_eq!((talk.status(), talk.fault()), ("errored", "tool"));
    assert!(talk.message().contains("no-such-server"), "{}", talk.message());
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
    let talk = world.conduct(&checked("Hi", &format!("{{{command}}}"))).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    let talk = world.conduct(&checked("Ho", &format!("{{{command}}}"))).await;
    assert_eq!((talk.status(), talk.fault()), ("failed", "agent"));
    assert!(talk.message().contains("saw Ho"), "{}", talk.message());
    let talk = world.conduct(&checked("Ho", &format!("{{not: {{{command}}}}}"))).await;
    assert_eq!(talk.status(), "passed", "{}", talk.message());
    for broken in ["{command: [./gone]}", "{command: gone --now}"] {
        let talk = world.conduct(&checked("Hi", broken)).await;
        assert_eq!((talk.status(), talk.fault()), ("errored", "harness"), "{}", talk.message());
    }
}
