//! Conversations from start to end.

use proctor_converse::{Cassette, ReplayMode};
use serde_json::{Value, json};

use super::peer::Peer;

fn echo(asked: &Value) -> Value {
    assert_eq!(asked["action"], "agent.chat");
    let last = asked["messages"].as_array().unwrap().last().unwrap();
    json!({"text": format!("You said {}", last["content"].as_str().unwrap())})
}

#[test]
fn a_scripted_conversation_is_conducted_message_by_message() {
    let mut peer = Peer::connect();
    let started = peer.start("c1", &json!({}));
    assert_eq!(started["status"], "passed", "{started}");
    let said = peer.ask("conversation.say", json!({"conversation": "c1", "text": "Hi"}), echo);
    assert_eq!(said["conversation"]["turns"][0]["agent"], "You said Hi");
    let check = |turn: Option<u32>, pattern: &str| json!({"conversation": "c1", "turn": turn, "assertions": [{"match": pattern}]});
    let nobody = |asked: &Value| panic!("nobody was to be asked: {asked}");
    let held = peer.ask("conversation.check", check(Some(1), "said Hi"), nobody);
    assert_eq!(held["evaluations"][0]["passed"], true);
    let failed = peer.ask("conversation.check", check(Some(1), "bye"), nobody);
    assert_eq!(failed["status"], "failed");
    let message = failed["failures"][0]["message"].as_str().unwrap();
    assert!(message.contains("turn 1") && message.contains("/bye/"), "{message}");
    // A failure does not end it.
    let more = peer.ask("conversation.say", json!({"conversation": "c1", "text": "Bye"}), echo);
    assert_eq!(
        (&more["status"], &more["conversation"]["turns"][1]["number"]),
        (&json!("passed"), &json!(2))
    );
    let ended = peer.ask("conversation.end", json!({"conversation": "c1"}), nobody);
    assert_eq!(ended["status"], "passed");
    assert_eq!(
        peer.event_types(),
        [
            "UserMessage",
            "AgentResponse",
            "EvaluationRecorded",
            "EvaluationRecorded",
            "UserMessage",
            "AgentResponse"
        ]
    );
    let gone = peer.ask("conversation.end", json!({"conversation": "c1"}), nobody);
    assert_eq!(gone["error"]["code"], "bad_request");
}

#[test]
fn an_agent_that_breaks_is_told_of_and_the_conversation_can_go_on() {
    let mut peer = Peer::connect();
    peer.start("c1", &json!({}));
    let broken = peer.ask("conversation.say", json!({"conversation": "c1", "text": "Hi"}), |_| {
        json!({"error": {"code": "failed", "message": "no network", "data": {"class": "SocketError"}}})
    });
    assert_eq!((&broken["status"], &broken["fault"]), (&json!("errored"), &json!("agent")));
    let errors = peer.events("AgentError");
    assert_eq!(
        (&errors[0]["error_class"], &errors[0]["message"]),
        (&json!("SocketError"), &json!("no network"))
    );
    let said = peer.ask("conversation.say", json!({"conversation": "c1", "text": "Again"}), echo);
    assert_eq!(said["status"], "passed");
}

#[test]
fn blocks_of_the_worker_decide_topics_stops_and_checks() {
    let mut peer = Peer::connect();
    let definition = json!({"topics": {
        "arrive": {"next": "book", "expect": [{"$block": {"id": "polite", "description": "be polite", "kind": "custom"}}]},
        "book": {"triggers": [{"$block": {"id": "booking"}}]},
    }});
    peer.start("c1", &definition);
    let simulate = json!({"goal": "a room", "on_max_turns": "fine", "stop_when": [{"$block": {"id": "done"}}]});
    let fields = json!({"conversation": "c1", "simulate": simulate});
    let outcome = peer.ask("conversation.simulate", fields, |asked| match asked["block"].as_str() {
        None if asked["turn"] == 1 => json!({"text": "Hello"}),
        None => json!({"text": "Booked", "tool_calls": [{"name": "book", "arguments": {"n": 2}, "result": "ok"}]}),
        Some("booking") => {
            let turns = asked["conversation"]["turns"].as_array().unwrap();
            json!({"value": turns.last().unwrap()["agent"] == "Booked"})
        }
        Some("done") => json!({"value": asked["turn"] == 2}),
        Some("polite") => json!({"value": false, "message": "it was not"}),
        Some(other) => panic!("no block {other}"),
    });
    assert_eq!(outcome["status"], "failed", "{outcome}");
    assert_eq!(outcome["conversation"]["topics"], json!(["arrive", "book"]));
    let invariant = &peer.events("InvariantEvaluated")[0];
    assert!(
        invariant["message"].as_str().unwrap().ends_with("expected to be polite, but it was not"),
        "{invariant}"
    );
    assert_eq!(peer.events("SimulationEnded")[0]["turn_count"], 2);
}

#[test]
fn what_is_wrong_with_a_description_is_said_at_once() {
    let mut peer = Peer::connect();
    let refused = peer.start("c1", &json!({"topics": {"greet": {"next": "nowhere"}}}));
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("`nowhere` is not defined"),
        "{refused}"
    );
    let unreachable = peer.start("c1", &json!({"topics": {"a": {}, "b": {}}}));
    assert!(unreachable["error"]["message"].as_str().unwrap().contains("cannot be reached"));
    let unknown = peer.ask("conversation.say", json!({"conversation": "c9", "text": "Hi"}), echo);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("no conversation `c9`"));
    let odd = peer.ask("conversation.dance", json!({}), echo);
    assert_eq!(odd["error"]["code"], "unknown_action");
}

#[test]
fn the_judge_and_the_simulated_user_are_the_hosts() {
    let mut peer = Peer::connect();
    peer.start("c1", &json!({"criteria": {"kind": {"description": "The agent is kind"}}}));
    let fields =
        json!({"conversation": "c1", "simulate": {"goal": "a room", "on_max_turns": "fine"}});
    let outcome = peer.ask("conversation.simulate", fields, |asked| {
        let last = asked["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        json!({"text": if last == "Book it" { "Booked" } else { "Sure" }})
    });
    assert_eq!(outcome["status"], "passed", "{outcome}");
    let ended = &peer.events("SimulationEnded")[0];
    assert_eq!(
        (&ended["termination_reason"], &ended["turn_count"]),
        (&json!("goal_reached"), &json!(2))
    );
    let check = json!({"conversation": "c1", "turn": 2, "soft": true,
        "assertions": [{"satisfy": ["kind"]}, {"satisfy": ["The agent is rude"]}]});
    let outcome = peer.ask("conversation.check", check, |asked| panic!("{asked}"));
    assert_eq!(outcome["status"], "passed", "soft checks decide nothing");
    let passed: Vec<&Value> =
        outcome["evaluations"].as_array().unwrap().iter().map(|one| &one["passed"]).collect();
    assert_eq!(passed, [true, false]);
    assert_eq!(peer.events("EvaluationRecorded").last().unwrap()["reasoning"], "it is polite");
}

#[test]
fn tools_are_called_in_the_worker_and_may_end_the_turn() {
    let mut peer = Peer::connect();
    peer.start("c1", &json!({}));
    let fields = json!({"conversation": "c1", "text": "Search"});
    let outcome = peer.ask("conversation.say", fields, |asked| match asked["action"].as_str() {
        Some("agent.chat") => json!({
            "text": "Let me search", "ends_turn": true, "tool_calls": [],
            "pending_tool_calls": [{"id": "tc_1", "name": "search", "arguments": {"q": "x"}}],
        }),
        _ => json!({"result": format!("found {}", asked["call"]["arguments"]["q"])}),
    });
    assert_eq!(outcome["conversation"]["turns"][0]["tool_calls"][0]["result"], "found \"x\"");
    assert_eq!(
        peer.event_types(),
        ["UserMessage", "AgentResponse", "ToolCallStarted", "ToolCallCompleted"]
    );
}

/// Groups that are cast differently share one cassette, one budget and one cache; examples that are described alike have
/// conversation ids of their own.
#[test]
fn groups_share_a_cassette_and_doubles_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("tape.jsonl");
    let judged_by = |says: &str| json!({"models": {"judge": {"verdicts": [{"because": says}]}}});
    let play = |cassette: Cassette, answers: [&str; 2]| -> Vec<String> {
        let mut peer = Peer::with(|settings| settings.cassette = cassette);
        let mut received = Vec::new();
        for (number, judge) in (1..).zip(["first judge", "second judge"]) {
            let name = format!("c{number}");
            peer.start_of(&format!("./a_spec.rb[1:{number}]"), number, &name, &judged_by(judge));
            let answer = answers[number as usize - 1];
            let say = json!({"conversation": name, "text": "Hi"});
            let said = peer.ask("conversation.say", say, |_| json!({"text": answer}));
            received
                .push(said["conversation"]["turns"][0]["agent"].as_str().unwrap_or("?").to_owned());
            let check =
                json!({"conversation": name, "turn": 1, "assertions": [{"satisfy": "It is kind"}]});
            let held = peer.ask("conversation.check", check, |asked| panic!("{asked}"));
            received.push(held["evaluations"][0]["reasoning"].as_str().unwrap_or("?").to_owned());
            peer.ask("conversation.end", json!({"conversation": name}), |asked| panic!("{asked}"));
        }
        received
    };
    let recorded = play(Cassette::Record(cassette.clone()), ["one", "two"]);
    assert_eq!(recorded, ["one", "first judge", "two", "second judge"]);
    let text = std::fs::read_to_string(&cassette).unwrap();
    let conversations: std::collections::BTreeSet<String> = text
        .lines()
        .filter_map(|line| {
            Some(serde_json::from_str::<Value>(line).ok()?["lane"].as_str()?.to_owned())
        })
        .collect();
    assert_eq!(conversations.len(), 2, "{text}");
    // Nobody would say that now; the cassette does, to each its own.
    let replayed = play(Cassette::Replay(cassette, ReplayMode::Sequence), ["x", "x"]);
    assert_eq!(replayed, recorded);
}

/// What one group spends is gone for all.
#[test]
fn groups_share_a_budget() {
    let mut peer = Peer::with(|settings| settings.budget_usd = Some(0.01));
    let judge = |port: u16| json!({"models": {"judge": {"openai": "m", "url": format!("http://127.0.0.1:{port}/v1"), "price": {"input": 1000.0, "output": 1000.0}}}});
    for (name, port) in [("c1", 1), ("c2", 2)] {
        peer.start(name, &judge(port));
        peer.ask("conversation.say", json!({"conversation": name, "text": "Hi"}), echo);
        let check =
            json!({"conversation": name, "turn": 1, "assertions": [{"satisfy": "It is kind"}]});
        let held = peer.ask("conversation.check", check, |asked| panic!("{asked}"));
        assert_eq!(held["status"], "inconclusive", "{held}");
        assert!(held["message"].as_str().unwrap().contains("budget"), "{held}");
    }
}

/// What a worker reports while its agent works is published before the report is answered.
#[test]
fn calls_are_published_when_the_worker_reports_them() {
    let mut peer = Peer::connect();
    peer.start("c1", &json!({}));
    peer.send(
        &json!({"id": "s1", "action": "conversation.say", "conversation": "c1", "text": "Hi"}),
    );
    let asked = peer.receive();
    assert_eq!(asked["action"], "agent.chat");
    let call = json!({"id": "t1", "name": "book", "arguments": {"n": 2}});
    let report = |id: &str, kind: &str, call: &Value| json!({"id": id, "action": "conversation.report", "conversation": "c1", "report": kind, "call": call});
    peer.send(&report("r1", "agent.tool_call_started", &call));
    assert_eq!(peer.receive(), json!({"reply_to": "r1"}));
    peer.wait_for_event("ToolCallStarted");
    let mut done = call.clone();
    (done["result"], done["metadata"]) = (json!("ok"), json!({"ms": 3}));
    peer.send(&report("r2", "agent.tool_call_completed", &done));
    assert_eq!(peer.receive(), json!({"reply_to": "r2"}));
    peer.wait_for_event("ToolCallCompleted");
    assert_eq!(peer.events("ToolCallCompleted")[0]["metadata"], json!({"ms": 3}));
    assert_eq!(peer.event_types(), ["UserMessage", "ToolCallStarted", "ToolCallCompleted"]);
    peer.send(&json!({"reply_to": asked["id"], "text": "Booked", "tool_calls": [done]}));
    assert_eq!(peer.receive()["status"], "passed");
    assert_eq!(
        peer.event_types(),
        ["UserMessage", "ToolCallStarted", "ToolCallCompleted", "AgentResponse"]
    );
    peer.send(&report("r3", "agent.tool_call_started", &call));
    assert_eq!(peer.receive()["error"]["code"], "bad_request", "nobody is asked now");
}
