//! A hot path of the engine, for counting instructions: `count_conversations converse CONVERSATIONS [--slower]`.
//!
//! `bench/instructions/run` calls it below callgrind and counts what happens in [`measured_work`] only. `--slower` does a tenth of the
//! work twice, by which the guard is tested.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::sync::Arc;

use proctor_dialogue::{AgentAnswer, Effect, Engine, Example, Input, MarkKey, parse};
use proctor_events::{StableIds, Status};

const SCENARIO: &str = "\
describe: Bench
agent: {script: [{say: Booked, then: repeat}]}
examples:
  - it: books
    steps:
      - user: hello number 7
      - user: book number 7
        expect: [{match: Booked}]
";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["converse", conversations, more @ ..] = &words[..] else {
        return println!("usage: count_conversations converse CONVERSATIONS [--slower]");
    };
    let conversations: u64 = conversations.parse().unwrap();
    let extra = if more.contains(&"--slower") { conversations / 10 } else { 0 };
    let file = parse(SCENARIO, "./bench.scenario.yaml").unwrap();
    let examples = file.examples(&mut StableIds::default(), &mut |_| Ok(Vec::new())).unwrap();
    let example = Arc::new(examples.into_iter().next().unwrap());
    // What is compiled once is compiled before.
    converse(&example);
    measured_work(&mut || {
        for _ in 0..conversations + extra {
            converse(&example);
        }
    });
}

/// Instructions are counted between the beginning and the end of this function.
#[inline(never)]
fn measured_work(work: &mut dyn FnMut()) {
    work();
}

/// One conversation of two turns with one check.
fn converse(example: &Arc<Example>) {
    let mut engine = Engine::new(Arc::clone(example));
    let mut input = Some(Input::Begin { marks: MarkKey::new([7; 32]) });
    while let Some(next) = input.take() {
        for effect in engine.step(next) {
            match effect {
                Effect::CallAgent { id, .. } => {
                    let text = "Booked".to_owned();
                    let answer = AgentAnswer { text, ..AgentAnswer::default() };
                    input = Some(Input::AgentAnswered { id, answer });
                }
                Effect::Finish(verdict) => assert_eq!(verdict.status, Status::Passed),
                _ => {}
            }
        }
    }
    assert!(engine.is_finished());
}
