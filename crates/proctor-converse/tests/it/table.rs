//! Every assertion there is, end to end: in a scripted and in a simulated conversation, holding and not, plain and turned
//! round, deciding and only recorded. The agent, its tools, the simulated user and the commands are real parts; what a
//! judge decides is answered by a local server that speaks a provider's format.

use proctor_events::Body;

use crate::server::{Server, verdict};
use crate::world::{FinishedConversation, World};

/// An assertion that holds for the conversation below, one that does not, and what the failure says it found.
struct Case {
    holds: &'static str,
    fails: &'static str,
    found: &'static str,
}

const fn case(holds: &'static str, fails: &'static str, found: &'static str) -> Case {
    Case { holds, fails, found }
}

const CASES: &[Case] = &[
    case("match: hall A", "match: hall B", "the agent said \"It is hall A for 100.\""),
    case("match: [hall A, '100']", "match: [hall A, '200']", "the agent said"),
    case("match_any: [x, hall]", "match_any: [x, y]", "the agent said"),
    case("call_tool: find", "call_tool: book", "the calls were find("),
    case(
        "call_tool: {name: find, with: {city: Rome}}",
        "call_tool: {name: find, with: {city: Bern}}",
        "\"city\":\"Rome\"",
    ),
    case(
        "call_tool: {name: find, with: {city: {matches: '^R'}}}",
        "call_tool: {name: find, with: {city: {matches: '^B'}}}",
        "Rome",
    ),
    case(
        "call_tool: {name: find, with: {guests: {at_least: 50, below: 51}}}",
        "call_tool: {name: find, with: {guests: {above: 50}}}",
        "\"guests\":50",
    ),
    case(
        "call_tool: {name: find, with: {wish: {floor: 1}}}",
        "call_tool: {name: find, with: {wish: {floor: 2}}}",
        "\"floor\":1",
    ),
    case(
        "call_tool: {name: find, with: {price: {absent: true}}}",
        "call_tool: {name: find, with: {price: {present: true}}}",
        "find(",
    ),
    case(
        "call_tool: {name: find, with: {city: {any_of: [Rome, Bern]}}}",
        "call_tool: {name: find, with: {city: {any_of: [Bern]}}}",
        "Rome",
    ),
    case(
        "call_tool: {name: find, with: {tags: {contains: quiet}}}",
        "call_tool: {name: find, with: {tags: {contains: loud}}}",
        "quiet",
    ),
    case(
        "call_tool: {name: find, times: 1}",
        "call_tool: {name: find, times: {at_least: 2}}",
        "find(",
    ),
    case("called_tool: find", "called_tool: book", "find("),
    case("tool_order: [find, price]", "tool_order: [price, find]", "the calls were find("),
    case("topic: offer", "topic: start", "it is in offer"),
    case("reached_topic: start", "reached_topic: never", "start → offer"),
    case("topic_history: [start, offer]", "topic_history: [offer]", "start → offer"),
    case("turn_count: 1", "turn_count: {above: 1}", "it took 1"),
    case("latency_ms: {below: 60000}", "latency_ms: {below: 0}", "the slowest answer took"),
    case("cost_usd: {at_most: 0.5}", "cost_usd: {below: 0.5}", "it cost 0.5"),
    case(
        "expression: tool_calls.size() == 2",
        "expression: tool_calls.size() == 3",
        "it gave false",
    ),
    case(
        "command: [sh, -c, 'grep -q \"hall A\"']",
        "command: [sh, -c, 'echo no such hall; exit 1']",
        "no such hall",
    ),
    case("satisfy: It is good", "satisfy: It is bad", "the judge says: so I find"),
    case("satisfy: [named_good, It is good]", "satisfy: named_bad", "so I find"),
    case(
        "grounded: {claims: [good claims], from_tools: [price]}",
        "grounded: {claims: [bad claims]}",
        "so I find",
    ),
    case("forbidden_claims: [good claims]", "forbidden_claims: [bad claims]", "so I find"),
    case("intent: {name: good, described_as: well meant}", "intent: bad", "so I find"),
    case("goal_achieved: a good hall", "goal_achieved: a bad hall", "so I find"),
];

/// One turn, in which two tools are called: one by the agent itself, one by the host.
fn scenario(url: &str, simulated: bool, key: &str, assertion: &str) -> String {
    let step = if simulated {
        "simulate: {goal: a hall, max_turns: 1, on_max_turns: fine, stop_when: []}"
    } else {
        "user: A hall please"
    };
    format!(
        r#"describe: Table
models:
  judge: {{openai: test-model, url: "{url}", tries: 1}}
  simulator: {{script: [A hall please]}}
criteria: {{named_good: It is named good, named_bad: It is named bad}}
topics:
  start: {{next: [offer, never]}}
  offer: {{triggers: [{{response: hall}}]}}
  never: {{triggers: [{{response: never said}}]}}
tools: {{price: {{result: {{eur: 100}}}}}}
agent:
  script:
    - when: hall please
      say:
        text: ""
        cost_usd: 0.25
        called: {{tool: find, arguments: {{city: Rome, guests: 50, wish: {{floor: 1}}, tags: [quiet, old]}}, result: {{hall: A}}}}
        call: {{tool: price, arguments: {{hall: A}}}}
    - when: eur
      say: {{text: It is hall A for 100., cost_usd: 0.25}}
examples:
  - it: is checked
    steps:
      - {step}
        {key}: [{{{assertion}}}]
"#
    )
}

/// Whether the recorded evaluation passed, and how it was meant.
fn recorded(conversation: &FinishedConversation) -> Vec<(Option<bool>, String)> {
    let found = conversation.events.iter().filter_map(|body| match body {
        Body::EvaluationRecorded(it) => Some((it.passed, it.mode.as_str().to_owned())),
        _ => None,
    });
    found.collect()
}

#[tokio::test]
async fn every_assertion_in_both_modes_holding_and_not_and_turned_round() {
    // The judge reads: what asks for something good holds.
    let server = Server::start(|seen, _| {
        let prompt = seen.prompt();
        let questions = prompt.split("# Conversation").next().unwrap_or_default();
        // A word of its own: the random mark of a question may hold these letters.
        let asks_for_bad =
            questions.split(|c: char| !c.is_alphanumeric()).any(|word| word == "bad");
        verdict(&prompt, !asks_for_bad, "so I find")
    })
    .await;
    let (url, world) = (server.url(), World::new());
    for Case { holds, fails, found } in CASES {
        for simulated in [false, true] {
            for (assertion, passes) in [
                ((*holds).to_owned(), true),
                ((*fails).to_owned(), false),
                (format!("not: {{{holds}}}"), false),
                (format!("not: {{{fails}}}"), true),
            ] {
                let about = format!("simulated: {simulated}, {assertion}");
                let conversation =
                    world.conduct(&scenario(&url, simulated, "expect", &assertion)).await;
                let wanted = if passes { ("passed", "") } else { ("failed", "agent") };
                assert_eq!(
                    (conversation.status(), conversation.fault()),
                    wanted,
                    "{about}: {}",
                    conversation.message()
                );
                let evaluations = recorded(&conversation);
                assert!(!evaluations.is_empty(), "{about}");
                assert!(
                    evaluations.iter().all(|one| *one == (Some(passes), "hard".into())),
                    "{about}"
                );
                if assertion == *fails {
                    let message = conversation.message();
                    let place = if simulated { "the conversation (1 turn)" } else { "turn 1" };
                    assert!(
                        message.starts_with(&format!("{place}: expected to ")),
                        "{about}: {message}"
                    );
                    assert!(message.contains(found), "{about}: {message}");
                }
                let soft = world.conduct(&scenario(&url, simulated, "evaluate", &assertion)).await;
                assert_eq!(soft.status(), "passed", "{about}: what is recorded decides nothing");
                assert!(
                    recorded(&soft).iter().all(|one| *one == (Some(passes), "soft".into())),
                    "{about}"
                );
            }
        }
    }
}

/// All of them in one conversation cost one call to the judge.
#[tokio::test]
async fn all_that_hold_hold_together() {
    let server = Server::start(|seen, _| verdict(&seen.prompt(), true, "so I find")).await;
    let all: Vec<String> = CASES.iter().map(|case| format!("{{{}}}", case.holds)).collect();
    let text = scenario(&server.url(), false, "expect", "match: hall");
    let text = text.replace("[{match: hall}]", &format!("[{}]", all.join(", ")));
    let conversation = World::new().conduct(&text).await;
    assert_eq!(conversation.status(), "passed", "{}", conversation.message());
    assert_eq!(recorded(&conversation).len(), CASES.len() + 1, "one of them names two criteria");
    assert_eq!(server.seen().len(), 1);
}
