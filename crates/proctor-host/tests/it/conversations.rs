//! Conversations from start to end.

use serde_json::{Value, json};

use crate::peer::Peer;

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
            "text": "Let me search", "ends_turn": true,
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
