//! How simulations end, and whose fault it is when they do not end well.

use std::time::{Duration, Instant};

use proctor_events::Body;

use crate::server::{Server, says, status, verdict};
use crate::world::{FinishedConversation, World};

fn scenario(judge: &str, agent: &str, user: &str, simulate: &str) -> String {
    format!(
        "describe: A\nmodels:\n  judge: {judge}\n  simulator: {user}\nagent: {{script: [{agent}]}}\nexamples: [{{it: x, steps: [{{simulate: {{goal: a hall, {simulate}}}}}]}}]"
    )
}

const USER: &str = "{script: [{say: Hello, then: repeat}]}";
const NEVER: &str = "{verdicts: [{satisfied: false, because: no hall}]}";
const AGENT: &str = "{say: Well, then: repeat}";

fn reason(conversation: &FinishedConversation) -> String {
    let ended = conversation.events.iter().find_map(|body| match body {
        Body::SimulationEnded(ended) => Some(ended.termination_reason.as_str().to_owned()),
        _ => None,
    });
    ended.unwrap_or_default()
}

#[tokio::test]
async fn every_reason_to_end() {
    let world = World::new();
    let reached = "{verdicts: [{seen: Well, because: there}]}";
    for (judge, agent, user, simulate, why, ended) in [
        (reached, AGENT, USER, "max_turns: 5", "goal_reached", ("passed", "")),
        (NEVER, AGENT, USER, "max_turns: 2", "max_turns", ("failed", "agent")),
        (NEVER, AGENT, USER, "max_turns: 2, on_max_turns: fine", "max_turns", ("passed", "")),
        (
            NEVER,
            AGENT,
            USER,
            "max_turns: 4, stop_when: [{response: Well}]",
            "stop_condition",
            ("passed", ""),
        ),
        (
            NEVER,
            "{say: {fail: broken}, then: repeat}",
            USER,
            "max_turns: 4",
            "error",
            ("errored", "agent"),
        ),
        (NEVER, AGENT, "{script: [Hello]}", "max_turns: 4", "error", ("inconclusive", "simulator")),
        (
            NEVER,
            "{say: {text: Well, delay: 30s}, then: repeat}",
            USER,
            "timeout: 50ms",
            "timeout",
            ("errored", "agent"),
        ),
        (
            NEVER,
            AGENT,
            "{script: [{say: {text: Hello, delay: 30s}}]}",
            "timeout: 50ms",
            "timeout",
            ("inconclusive", "simulator"),
        ),
    ] {
        let began = Instant::now();
        let conversation = world.conduct(&scenario(judge, agent, user, simulate)).await;
        assert_eq!(reason(&conversation), why, "{simulate}: {}", conversation.message());
        assert_eq!(
            (conversation.status(), conversation.fault()),
            ended,
            "{simulate}: {}",
            conversation.message()
        );
        assert!(began.elapsed() < Duration::from_secs(20), "nobody waits beyond the deadline");
    }
}

#[tokio::test]
async fn a_model_plays_the_user_and_is_told_who_that_is() {
    let server = Server::start(|seen, before| {
        let prompt = seen.prompt();
        assert!(prompt.contains("A stingy guest") && prompt.contains("a hall"), "{prompt}");
        if before == 1 {
            assert!(
                prompt.contains("You: How much?") && prompt.contains("Agent: Well"),
                "{prompt}"
            );
        }
        says(if before == 0 { "User: \"How much?\"" } else { "Thanks" })
    })
    .await;
    let user = format!("{{openai: m, url: \"{}\"}}", server.url());
    let text =
        scenario(NEVER, AGENT, &user, "max_turns: 2, on_max_turns: fine, role: A stingy guest");
    let conversation = World::new().conduct(&text).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    let received: Vec<String> = conversation
        .events
        .iter()
        .filter_map(|body| match body {
            Body::UserMessage(message) => Some(message.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(received, ["How much?", "Thanks"], "names and quotes are gone");
}

#[tokio::test]
async fn a_user_that_cannot_be_simulated_is_never_the_agents_failure() {
    let server = Server::start(|_, _| status(500, "{}")).await;
    let user = format!("{{openai: m, url: \"{}\", tries: 1}}", server.url());
    let conversation = World::new().conduct(&scenario(NEVER, AGENT, &user, "max_turns: 2")).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("inconclusive", "simulator"),
        "{}",
        conversation.message()
    );
}

#[tokio::test]
async fn the_turn_limit_asks_the_judge_before_it_is_a_failure() {
    let server = Server::start(|seen, _| verdict(&seen.prompt(), true, "it has a hall")).await;
    let judge = format!("{{openai: m, url: \"{}\"}}", server.url());
    let text = scenario(&judge, AGENT, USER, "max_turns: 1, stop_when: []");
    let conversation = World::new().conduct(&text).await;
    assert_eq!(
        (conversation.status(), reason(&conversation).as_str()),
        ("passed", "goal_reached"),
        "{}",
        conversation.message()
    );
    assert!(server.seen()[0].prompt().contains("Goal: a hall"));
}

#[tokio::test]
async fn a_budget_that_is_spent_ends_conversations_without_blame() {
    let server = Server::start(|seen, _| verdict(&seen.prompt(), true, "fine")).await;
    let mut world = World::new();
    world.settings.budget_usd = Some(0.01);
    let text = format!(
        "describe: A\nmodels: {{judge: {{openai: m, url: \"{}\", price: {{input: 1000, output: 1000}}}}}}\nagent: {{script: [Hi]}}\nexamples: [{{it: x, steps: [{{user: a, expect: [{{satisfy: Is kind}}]}}]}}]",
        server.url()
    );
    let examples = World::examples(&text);
    let registry = world.registry(&examples);
    let conversation = crate::world::conduct_example(&registry, &examples[0], 1).await;
    assert_eq!(
        (conversation.status(), conversation.fault()),
        ("inconclusive", "harness"),
        "{}",
        conversation.message()
    );
    assert!(conversation.message().contains("budget"), "{}", conversation.message());
    assert!(registry.is_budget_exhausted() && server.seen().is_empty());
}
