//! Cassettes of whole conversations: recorded once, replayed without anybody.

use proctor_converse::Cassette;
use proctor_llm::ReplayMode;
use serde_json::json;

use crate::server::{Server, calls, says, verdict};
use crate::world::World;

const KEY: &str = "a-very-secret-key";

fn scenario(url: &str, greeting: &str) -> String {
    format!(
        "describe: A\nmodels:\n  judge: {{openai: m, url: \"{url}/judge\"}}\n  simulator: {{openai: m, url: \"{url}/user\"}}\n\
         agent: {{chat: {{url: \"{url}/agent\", headers: {{x-key: \"${{env:KEY}}\"}}}}}}\n\
         tools: {{look: {{result: {{found: 1}}}}}}\n\
         examples: [{{it: x, steps: [{{user: {greeting}, expect: [{{satisfy: Is kind}}]}}, {{simulate: {{goal: a hall, max_turns: 1, on_max_turns: fine}}}}]}}]"
    )
}

async fn server() -> Server {
    Server::start(|seen, _| {
        if seen.path.contains("judge") {
            return verdict(&seen.prompt(), true, "kind");
        }
        if seen.path.contains("user") {
            return says("A hall, please");
        }
        let last = seen.body["messages"].as_array().unwrap().last().unwrap();
        match last["role"].as_str() {
            Some("tool") => says(&format!("found it, and your key is {KEY}")),
            _ => calls("c1", "look", &json!({"key": KEY})),
        }
    })
    .await
}

fn world(cassette: Cassette) -> World {
    let mut world = World::new();
    world.settings.environment =
        std::sync::Arc::new(|name| (name == "KEY").then(|| KEY.to_owned()));
    world.settings.cassette = cassette;
    world
}

#[tokio::test]
async fn a_run_is_replayed_without_anybody_and_says_what_has_drifted() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("tape.jsonl");
    let first =
        world(Cassette::Record(cassette.clone())).conduct(&scenario(&server.url(), "Hello")).await;
    assert_eq!(first.status(), "passed", "{}", first.message());
    let text = std::fs::read_to_string(&cassette).unwrap();
    assert!(!text.contains(KEY), "secrets are not written:\n{text}");
    let events = format!("{:?}", first.events);
    assert!(events.contains("your key is [redacted]") && !events.contains(KEY), "{events}");
    for kind in ["agent", "simulator", "judge", "tool"] {
        assert!(text.contains(&format!("\"kind\":\"{kind}\"")), "{kind} is not in\n{text}");
    }
    let asked = server.seen().len();
    for mode in [ReplayMode::Sequence, ReplayMode::Keyed] {
        let (conversations, notes) = world(Cassette::Replay(cassette.clone(), mode))
            .conduct_all(&scenario(&server.url(), "Hello"))
            .await;
        assert_eq!(conversations[0].status(), "passed", "{}", conversations[0].message());
        assert!(notes.is_empty(), "{notes:?}");
    }
    // By sequence a changed question still finds its answer, and is reported; by request it is missed loudly.
    let changed = scenario(&server.url(), "Good day");
    let (conversations, notes) =
        world(Cassette::Replay(cassette.clone(), ReplayMode::Sequence)).conduct_all(&changed).await;
    assert_eq!(conversations[0].status(), "passed", "{}", conversations[0].message());
    assert!(notes.iter().any(|note| note.contains("drift") && note.contains("agent")), "{notes:?}");
    let missed =
        world(Cassette::Replay(cassette.clone(), ReplayMode::Keyed)).conduct(&changed).await;
    assert_eq!((missed.status(), missed.fault()), ("errored", "harness"), "{}", missed.message());
    assert!(
        missed.message().contains("Good day") && missed.message().contains("Hello"),
        "{}",
        missed.message()
    );
    assert_eq!(server.seen().len(), asked, "nobody was asked");
}

#[tokio::test]
async fn failures_are_replayed_too_and_tapes_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("tape.jsonl");
    let gone = scenario("http://127.0.0.1:1", "Hello");
    for cassette in [
        Cassette::Record(cassette.clone()),
        Cassette::Replay(cassette.clone(), ReplayMode::Sequence),
    ] {
        let conversation = world(cassette).conduct(&gone).await;
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ("errored", "agent"),
            "{}",
            conversation.message()
        );
    }
    let again = world(Cassette::Record(cassette));
    let refused =
        proctor_converse::PartyRegistry::open(again.settings.clone(), &World::examples(&gone));
    let errors = refused.err().unwrap();
    assert!(errors[0].message.contains("exists"), "{errors:?}");
}

/// Audit D15: by request, another judge, simulator or agent is another question, and so are other limits and tools.
#[tokio::test]
async fn d15_by_request_another_model_limit_or_tool_is_noticed() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let cassette = folder.path().join("tape.jsonl");
    let text = scenario(&server.url(), "Hello")
        .replace("judge: {openai: m,", "judge: {openai: m, temperature: 0.5,");
    let first = world(Cassette::Record(cassette.clone())).conduct(&text).await;
    assert_eq!(first.status(), "passed", "{}", first.message());
    for (from, to) in [
        ("judge: {openai: m,", "judge: {openai: n,"),
        ("judge: {openai: m,", "judge: {anthropic: m,"),
        ("temperature: 0.5", "temperature: 0.6"),
        ("temperature: 0.5", "temperature: 0.5, max_tokens: 99"),
        ("temperature: 0.5", "temperature: 0.5, extra: {top_p: 0.5}"),
        ("temperature: 0.5", "temperature: 0.5, headers: {x-tenant: b}"),
        ("/judge\"", "/other-judge\""),
        ("simulator: {openai: m,", "simulator: {openai: n,"),
        ("chat: {", "chat: {instructions: Be brief, "),
        ("chat: {", "chat: {temperature: 1, "),
        ("look: {result", "look: {description: Looks, result"),
        ("tools: {", "tools: {other: {result: 1}, "),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let missed =
            world(Cassette::Replay(cassette.clone(), ReplayMode::Keyed)).conduct(&changed).await;
        assert_eq!(
            (missed.status(), missed.fault()),
            ("errored", "harness"),
            "{to}: {}",
            missed.message()
        );
        let (conversations, notes) =
            world(Cassette::Replay(cassette.clone(), ReplayMode::Sequence))
                .conduct_all(&changed)
                .await;
        assert_eq!(conversations[0].status(), "passed", "{to}: {}", conversations[0].message());
        assert!(notes.iter().any(|note| note.contains("/settings")), "{to}: {notes:?}");
    }
    // What cannot change an answer is no other question.
    for (from, to) in [
        ("temperature: 0.5", "temperature: 0.5, timeout: 9s, tries: 2, concurrency: 3"),
        ("temperature: 0.5", "temperature: 0.5, headers: {authorization: someone else}"),
    ] {
        let same = world(Cassette::Replay(cassette.clone(), ReplayMode::Keyed))
            .conduct(&text.replace(from, to))
            .await;
        assert_eq!(same.status(), "passed", "{to}: {}", same.message());
    }
}

/// A cassette that version 8d3abcc recorded, whose judge knew nothing of marks in answers.
#[tokio::test]
async fn a_cassette_of_version_1_still_replays() {
    let cassette = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/recorded/8d3abcc.tape.jsonl");
    for mode in [ReplayMode::Sequence, ReplayMode::Keyed] {
        let (conversations, notes) = world(Cassette::Replay(cassette.clone(), mode))
            .conduct_all(include_str!("recorded/8d3abcc.scenario.yaml"))
            .await;
        let statuses: Vec<_> = conversations
            .iter()
            .map(|conversation| (conversation.status(), conversation.message()))
            .collect();
        assert_eq!((statuses[0].0, statuses[1].0), ("passed", "failed"), "{mode:?}: {statuses:?}");
        assert!(statuses[1].1.contains("as said"), "{statuses:?}");
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("version 1"), "{notes:?}");
    }
}
