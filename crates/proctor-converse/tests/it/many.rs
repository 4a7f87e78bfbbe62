//! Thousands of conversations at once, in one thread.

use std::time::{Duration, Instant};

use crate::world::{World, conduct_example};

#[tokio::test]
async fn thousands_are_conducted_at_once() {
    let text = "describe: A\nagent: {script: [{when: Hello, say: {text: Hi, delay: 300ms}}, {when: \"\", say: {text: Bye, delay: 300ms}}]}\n\
                models: {simulator: {script: [Hello, Bye]}}\n\
                examples: [{it: x, steps: [{user: Hello, expect: [{match: Hi}]}, {simulate: {goal: g, max_turns: 2, on_max_turns: fine, stop_when: [{response: nothing}]}}]}]";
    let world = World::new();
    let examples = World::examples(text);
    let registry = world.registry(&examples);
    let began = Instant::now();
    let conversations = futures_util::future::join_all(
        (1..=3000).map(|repeat| conduct_example(&registry, &examples[0], repeat)),
    )
    .await;
    for conversation in &conversations {
        assert_eq!(conversation.status(), "passed", "{}", conversation.message());
        assert_eq!(conversation.said(), ["Hi", "Hi", "Bye"], "each has the script to itself");
    }
    // One after the other they would take three quarters of an hour.
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}
