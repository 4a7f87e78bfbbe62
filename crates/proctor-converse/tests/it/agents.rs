//! Agents over HTTP and as programs: what they are asked, and what their failures become.

use proctor_events::Body;
use serde_json::json;

use crate::server::{Server, calls, ok, says, status, streams};
use crate::world::{World, conduct_example, python};

fn chat(url: &str, more: &str) -> String {
    format!(
        "describe: A\nagent: {{chat: {{url: \"{url}\", model: mine{more}}}, timeout: 2s}}\n\
         tools: {{search: {{description: Finds halls, parameters: {{type: object, properties: {{guests: {{type: integer}}}}}}, result: {{hall: A}}}}}}\n\
         examples: [{{it: x, steps: [{{user: A hall please, expect: [{{match: hall A}}]}}]}}]"
    )
}

#[tokio::test]
async fn a_chat_agent_is_given_tools_and_their_results() {
    let server = Server::start(|_, before| match before {
        0 => calls("c1", "search", &json!({"guests": 50})),
        _ => says("I found hall A"),
    })
    .await;
    let conversation = World::new().conduct(&chat(&server.url(), ", instructions: Be brief")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let seen = server.seen();
    assert_eq!(seen[0].body["tools"][0]["function"]["name"], "search");
    assert_eq!(seen[0].body["messages"][0]["content"], "Be brief");
    let last = seen[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((last["role"].as_str(), last["tool_call_id"].as_str()), (Some("tool"), Some("c1")));
    assert_eq!(last["content"], "{\"hall\":\"A\"}");
    let names = conversation.names();
    assert!(
        names.contains(&"ToolCallStarted") && names.contains(&"ToolCallCompleted"),
        "{names:?}"
    );
    let call = conversation.events.iter().find_map(|body| match body {
        Body::ModelCall(call) if call.input_tokens.is_some() => Some(call),
        _ => None,
    });
    assert_eq!(call.unwrap().purpose.as_deref(), Some("agent"));
}

#[tokio::test]
async fn streamed_answers_have_a_time_to_first_token() {
    let server = Server::start(|_, _| streams(&["hall ", "A"])).await;
    let conversation = World::new().conduct(&chat(&server.url(), ", stream: true")).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let response = conversation.events.iter().find_map(|body| match body {
        Body::AgentResponse(response) => Some(response),
        _ => None,
    });
    assert!(response.unwrap().first_token_ms.is_some());
}

#[tokio::test]
async fn what_breaks_an_agent_is_its_own_fault_and_is_told_in_words() {
    for (code, body) in [(500, "oops"), (404, "{}"), (401, "{}"), (200, "not json"), (200, "{}")] {
        let server = Server::start(move |_, _| status(code, body)).await;
        let conversation = World::new().conduct(&chat(&server.url(), "")).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "agent"),
            "{code} {body}: {}",
            conversation.message()
        );
        assert!(conversation.names().contains(&"AgentError"));
        assert!(conversation.message().contains("agent at"), "{}", conversation.message());
    }
    let refused = World::new().conduct(&chat("http://127.0.0.1:1/v1", "")).await;
    assert_eq!((refused.status(), refused.fault()), ("errored", "agent"));
    // A server that takes connections and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let late = World::new().conduct(&chat(&url, "")).await;
    assert_eq!((late.status(), late.fault()), ("errored", "agent"), "{}", late.message());
    assert!(
        late.message().contains("2 s") || late.message().contains("within"),
        "{}",
        late.message()
    );
}

#[tokio::test]
async fn an_agent_that_never_stops_asking_for_tools_is_stopped() {
    let server =
        Server::start(|_, before| calls(&format!("c{before}"), "search", &json!({}))).await;
    let conversation = World::new().conduct(&chat(&server.url(), "")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert!(conversation.message().contains("at most 8 rounds"), "{}", conversation.message());
    assert_eq!(server.seen().len(), 9);
}

#[tokio::test]
async fn an_interface_of_its_own_is_mapped_with_headers_from_the_environment() {
    let server = Server::start(|seen, before| {
        assert_eq!(seen.header("authorization"), Some("Bearer very-secret-token"));
        assert_eq!(seen.path, "/talk");
        if before == 1 {
            assert_eq!(seen.body["session"], "s-1");
        }
        ok(&json!({"reply": {"words": format!("you said {}", seen.body["q"].as_str().unwrap())}, "session": "s-1"}))
    })
    .await;
    let text = format!(
        "describe: A\nagent:\n  http:\n    url: http://{}/talk\n    headers: {{Authorization: \"Bearer ${{env:TOKEN}}\"}}\n    body: {{q: \"${{message}}\", session: \"${{session}}\"}}\n    text: /reply/words\n    remember: {{session: /session}}\n\
         examples: [{{it: x, steps: [{{user: one}}, {{user: two, expect: [{{match: you said two}}]}}]}}]",
        server.address
    );
    let mut world = World::new();
    world.settings.environment =
        std::sync::Arc::new(|name| (name == "TOKEN").then(|| "very-secret-token".to_owned()));
    let conversation = world.conduct(&text).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let missing = World::new().conduct(&text).await;
    assert_eq!((missing.status(), missing.fault()), ("errored", "harness"));
    assert!(missing.message().contains("TOKEN is not set"), "{}", missing.message());
}

/// An agent in the words of `docs/protocol.md`, with state by conversation.
const AGENT: &str = r#"
import json, os, socket, sys, time
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
counts = {}
for line in incoming:
    message = json.loads(line)
    if "action" not in message: continue
    reply, action = {"reply_to": message["id"]}, message["action"]
    if action == "hello": reply.update(protocol=1, name="echo", version="1", pid=os.getpid(), capabilities=[])
    elif action == "agent.chat":
        said = message["messages"][-1]["content"]
        talk = message["conversation_id"]
        counts[talk] = counts.get(talk, 0) + 1
        if said == "talk": print("thinking", file=sys.stderr, flush=True); print("loud", flush=True)
        if said == "die": print("I die", file=sys.stderr, flush=True); os._exit(3)
        if said == "refuse": reply.update(error={"code": "failed", "message": "I will not"})
        elif said == "hang": continue
        elif said == "garble": outgoing.write("@@ not json @@\n"); outgoing.flush(); continue
        elif said == "astray": outgoing.write(json.dumps({"text": "hello"}) + "\n"); outgoing.flush(); continue
        elif said == "echo-id": outgoing.write(json.dumps({"id": message["id"], "text": "hello"}) + "\n"); outgoing.flush(); continue
        elif said == "mistaken": reply.update(reply_to="r999", text="hello")
        elif said == "chatty":
            for n in range(5000): outgoing.write(json.dumps({"type": "thought", "number": n, "text": "x" * 200}) + "\n")
            reply.update(text="done", tool_calls=[{"name": "look"}])
        elif said == "wordless": reply.update(ends_turn=True)
        elif said == "silent": reply.update(text="", metadata={"mood": "shy"})
        elif said == "act": reply.update(tool_calls=[{"name": "look", "arguments": {}, "result": 1}])
        else: reply.update(text=f"{said} {counts[talk]} {os.getpid()}", tool_calls=[{"name": "look", "arguments": {"a": 1}, "result": 2}])
    elif action == "__shutdown__": reply.update(status="shutting_down")
    else: reply.update(error={"code": "unknown_action", "message": action})
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
    if action == "__shutdown__": break
"#;

fn program(more: &str, users: &[&str]) -> String {
    let python = python();
    let examples: String = users
        .iter()
        .map(|said| format!("  - {{it: {said}, steps: [{{user: {said}}}, {{user: again, expect: [{{called_tool: look}}]}}]}}\n"))
        .collect();
    format!(
        "describe: A\nagent: {{name: echo, command: [{python:?}, agent.py], timeout: 1s{more}}}\nexamples:\n{examples}"
    )
}

#[tokio::test]
async fn a_program_is_shared_by_conversations_or_serves_one_each() {
    for (more, processes) in
        [("", 1), (", processes: 2", 2), (", process_per_conversation: true", 3)]
    {
        let world = World::new();
        world.write("agent.py", AGENT);
        let (conversations, _) = world.conduct_all(&program(more, &["a", "b", "c"])).await;
        let mut pids: Vec<String> = Vec::new();
        for conversation in &conversations {
            assert_eq!(conversation.status(), "passed", "{}", conversation.message());
            let words: Vec<&str> = conversation.said()[1].split(' ').collect();
            assert_eq!(words[..2], ["again", "2"], "it keeps conversations apart");
            pids.push(words[2].to_owned());
        }
        pids.sort();
        pids.dedup();
        assert_eq!(pids.len(), processes, "{more}");
    }
}

#[tokio::test]
async fn a_program_that_dies_refuses_or_hangs_fails_its_own_conversation_only() {
    let world = World::new();
    world.write("agent.py", AGENT);
    let (conversations, _) =
        world.conduct_all(&program("", &["die", "fine", "refuse", "hang"])).await;
    let told: Vec<(&str, &str)> = conversations
        .iter()
        .map(|conversation| (conversation.status(), conversation.fault()))
        .collect();
    assert_eq!(
        told,
        [("errored", "agent"), ("passed", ""), ("errored", "agent"), ("errored", "agent")]
    );
    assert!(
        conversations[0].message().contains("exit code 3")
            && conversations[0].message().contains("I die"),
        "{}",
        conversations[0].message()
    );
    assert!(conversations[2].message().contains("I will not"), "{}", conversations[2].message());
    assert!(
        conversations[3].message().contains("did not answer within 1s"),
        "{}",
        conversations[3].message()
    );
}

#[tokio::test]
async fn a_line_that_is_no_message_and_an_answer_without_text_are_named() {
    let world = World::new();
    world.write("agent.py", AGENT);
    let users = ["garble", "hang", "wordless", "silent", "act"];
    let (conversations, _) =
        world.conduct_all(&program(", process_per_conversation: true", &users)).await;
    let garbled = conversations[0].message();
    assert_eq!((conversations[0].status(), conversations[0].fault()), ("errored", "agent"));
    assert!(
        garbled.contains(
            "did not answer within 1s; it sent a line that is not a JSON object: `@@ not json @@`"
        ),
        "{garbled}"
    );
    assert!(!conversations[1].message().contains("it sent"), "{}", conversations[1].message());
    assert_eq!((conversations[2].status(), conversations[2].fault()), ("errored", "agent"));
    assert!(
        conversations[2].message().contains("without `text`"),
        "{}",
        conversations[2].message()
    );
    for legal in &conversations[3..] {
        assert_eq!(legal.status(), "passed", "{}", legal.message());
    }
}

/// An answer that does not say what it answers reaches nobody; the error says so, and how it is done.
#[tokio::test]
async fn an_answer_without_reply_to_is_named_with_the_way_out() {
    let world = World::new();
    world.write("agent.py", AGENT);
    let users = ["astray", "echo-id", "mistaken", "chatty"];
    let (conversations, _) =
        world.conduct_all(&program(", process_per_conversation: true", &users)).await;
    for (conversation, line) in
        conversations.iter().zip([r#"{"text": "hello"}"#, r#""text": "hello"}"#])
    {
        let said = conversation.message();
        assert_eq!((conversation.status(), conversation.fault()), ("errored", "agent"), "{said}");
        assert!(said.contains("it sent a line without `reply_to`"), "{said}");
        assert!(said.contains("the `id` of the request") && said.contains(line), "{said}");
    }
    let mistaken = conversations[2].message();
    assert!(mistaken.contains("it answered `r999`, for which nobody waits"), "{mistaken}");
    // News are no answers, and however many there are, the answer behind them comes through.
    assert_eq!(conversations[3].status(), "passed", "{}", conversations[3].message());
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let text = "describe: A\nagent: {command: [./no-such-agent]}\nexamples: [{it: x, steps: [{user: Hi}]}]";
    let conversation = World::new().conduct(text).await;
    assert_eq!((conversation.status(), conversation.fault()), ("errored", "agent"));
    assert!(conversation.message().contains("no-such-agent"), "{}", conversation.message());
}

/// A server that is started for the run, on a port that was chosen for it.
#[tokio::test]
async fn a_server_is_started_and_waited_for() {
    let world = World::new();
    world.write(
        "serve.py",
        r#"
import http.server, json, os, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def answer(self, body):
        self.send_response(200); self.send_header("content-type", "application/json"); self.end_headers(); self.wfile.write(json.dumps(body).encode())
    def do_GET(self): self.answer({})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.answer({"choices": [{"message": {"role": "assistant", "content": "served " + asked["messages"][-1]["content"]}}]})
time.sleep(0.1)
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#,
    );
    let python = python();
    let text = format!(
        "describe: A\nagent: {{command: [{python:?}, serve.py], ready: {{url: \"http://127.0.0.1:${{port}}/health\"}}, chat: {{url: \"http://127.0.0.1:${{port}}/v1\"}}}}\n\
         examples: [{{it: x, steps: [{{user: Hi, expect: [{{match: served Hi}}]}}]}}, {{it: y, steps: [{{user: Ho, expect: [{{match: served Ho}}]}}]}}]"
    );
    let (conversations, _) = world.conduct_all(&text).await;
    for conversation in &conversations {
        assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    }
    let broken = format!(
        "describe: A\nagent: {{command: [{python:?}, -c, \"import sys; sys.exit('no luck')\"], chat: {{url: \"http://127.0.0.1:${{port}}/v1\"}}}}\nexamples: [{{it: x, steps: [{{user: Hi}}]}}]"
    );
    let conversation = world.conduct(&broken).await;
    assert_eq!((conversation.status(), conversation.fault()), ("errored", "agent"));
    assert!(conversation.message().contains("no luck"), "{}", conversation.message());
}

/// What a program prints belongs to the conversation that it serves.
#[tokio::test]
async fn what_a_program_prints_is_known_to_be_of_its_conversation() {
    for more in ["", ", process_per_conversation: true"] {
        let world = World::new();
        world.write("agent.py", AGENT);
        let examples = World::examples(&program(more, &["talk", "quiet"]));
        let registry = world.registry(&examples);
        for example in &examples {
            crate::world::conduct_example(&registry, example, 1).await;
        }
        registry.end(false).await;
        // The last line may still be on its way from the pipe.
        let mut lines = Vec::new();
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
        while lines.len() < 2 && tokio::time::Instant::now() < deadline {
            lines.extend(registry.agent_output().rest());
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        lines.sort_by_key(|line| line.stderr);
        let told: Vec<(bool, &str, &str)> =
            lines.iter().map(|line| (line.stderr, &*line.agent, &*line.text)).collect();
        assert_eq!(told, [(false, "echo", "loud"), (true, "echo", "thinking")], "{more}");
        for line in &lines {
            assert_eq!(
                line.attempt_id.as_ref().map(|attempt_id| &attempt_id.example),
                Some(&examples[0].id.id),
                "{more}"
            );
        }
    }
}

/// Prints, and never says hello; ends as soon as the test has seen what it waits for.
const MUTE: &str = r#"
import os, sys, time
print("listening on port 8080", flush=True)
while not os.path.exists("seen"): time.sleep(0.02)
sys.exit(3)
"#;

/// U11: whoever waits is told what the program has printed instead.
#[tokio::test]
async fn u11_a_program_that_does_not_say_hello_is_reported_with_its_output() {
    let world = World::new();
    world.write("mute.py", MUTE);
    let text = format!(
        "describe: A\nagent: {{name: mute, command: [{:?}, mute.py]}}\nexamples: [{{it: x, steps: [{{user: Hi}}]}}]",
        python()
    );
    let examples = World::examples(&text);
    let registry = world.registry(&examples);
    let reported = async {
        loop {
            let lines = registry.agent_output().next().await;
            let told = lines.iter().find(|line| line.text.contains("has not said hello"));
            if let Some(line) = told {
                world.write("seen", "");
                return line.text.to_string();
            }
        }
    };
    let (reported, conversation) =
        tokio::join!(reported, conduct_example(&registry, &examples[0], 1));
    assert!(
        reported.contains("agent `mute`") && reported.contains("so far: listening on port 8080"),
        "{reported}"
    );
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("errored", "agent"),
        "{}",
        conversation.message()
    );
    assert!(
        conversation.message().contains("listening on port 8080"),
        "{}",
        conversation.message()
    );
    registry.end(false).await;
}

/// Answers with the id of the conversation.
const NAMES: &str = r#"
import json, os, socket
sock = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
incoming, outgoing = sock.makefile("r"), sock.makefile("w")
for line in incoming:
    message = json.loads(line)
    if "action" not in message: continue
    reply, action = {"reply_to": message["id"]}, message["action"]
    if action == "hello": reply.update(protocol=1, name="names", version="1", pid=os.getpid(), capabilities=[])
    elif action == "agent.chat": reply.update(text=message["conversation_id"])
    elif action == "__shutdown__": reply.update(status="shutting_down")
    outgoing.write(json.dumps(reply) + "\n"); outgoing.flush()
"#;

/// D18: two sides of a comparison have the same example, repetition and attempt, and two runs have, too.
#[tokio::test]
async fn d18_every_conversation_has_an_id_of_its_own() {
    let world = World::new();
    world.write("names.py", NAMES);
    let text = format!(
        "describe: A\nagent: {{name: names, command: [{:?}, names.py]}}\nexamples: [{{it: x, steps: [{{user: one}}, {{user: two}}]}}]",
        python()
    );
    let mut ids = Vec::new();
    for _ in 0..2 {
        let conversation = world.conduct(&text).await;
        let said = conversation.said();
        assert!(said.len() == 2 && said[0] == said[1], "one conversation, one id: {said:?}");
        ids.push(said[0].to_owned());
    }
    assert_ne!(ids[0], ids[1]);
}
