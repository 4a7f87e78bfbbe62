//! Spans as evidence: real OpenTelemetry SDKs and instrumentations, in programs that are started as a run starts them.

use std::sync::Arc;

use futures_util::future::join_all;
use proctor_converse::{AttemptId, Conversation};
use proctor_events::{AgentSpan, Body, ModelCall};

use crate::frameworks::{Framework, copy_agents, interpreter, node, python};
use crate::in_language::{scenario, world};
use crate::world::{FinishedConversation, World, conduct_example};

const TRACED: &str = "traces: true";

impl FinishedConversation {
    fn models(&self) -> Vec<&ModelCall> {
        let calls = self.events.iter().filter_map(|body| match body {
            Body::ModelCall(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }

    fn spans(&self) -> Vec<&AgentSpan> {
        let spans = self.events.iter().filter_map(|body| match body {
            Body::AgentSpan(span) => Some(span),
            _ => None,
        });
        spans.collect()
    }

    fn assert_passed(&self) {
        assert_eq!(self.status(), "passed", "{}", self.message());
    }

    /// It ended because something was not known, whatever the check would have said.
    fn assert_unknown(&self, part: &str) {
        assert_eq!(self.status(), "errored", "{}", self.message());
        assert!(self.message().contains(part), "{}", self.message());
    }
}

/// How the agent of `otel_agent.py` is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// By the program that serves agents in Python, which has all spans sent before it answers.
    InLanguage,
    /// By a program of its own.
    Program,
    /// By a server of its own.
    Server,
}

impl Reached {
    fn agent(self, world: &World, traces: &str) -> String {
        copy_agents(world);
        let python = interpreter(false);
        let python = python.display();
        match self {
            Self::InLanguage => {
                format!("python: 'otel_agent.py:agent', interpreter: ['{python}'], {traces}")
            }
            Self::Program => format!("command: ['{python}', otel_program.py], {traces}"),
            Self::Server => format!(
                "command: ['{python}', otel_server.py], http: {{url: 'http://127.0.0.1:${{port}}/'}}, {traces}"
            ),
        }
    }

    async fn conduct(self, user: &str, expect: &str, traces: &str) -> FinishedConversation {
        let world = world();
        let agent = self.agent(&world, traces);
        world.conduct(&scenario(&agent, &[user], expect)).await
    }
}

const ALL: [Reached; 3] = [Reached::InLanguage, Reached::Program, Reached::Server];

/// Checks that need no more than spans: calls, their absence, costs and times.
#[tokio::test]
async fn spans_alone_are_evidence() {
    for reached in ALL {
        let expect = "{call_tool: {name: look, with: {place: Rome}, times: 1}}, {not: {call_tool: refund}}, {cost_usd: {above: 0, below: 1}}, {latency_ms: {above: 0}}, {expression: 'tool_calls.size() == 1'}";
        let ended = reached.conduct("look Rome", expect, TRACED).await;
        ended.assert_passed();
        let models = ended.models();
        let model = models.last().unwrap();
        assert_eq!((model.model.as_deref(), model.input_tokens), (Some("gpt-4o"), Some(1000)));
        // 1000 tokens in and out, at 2.5 and 10 dollars a million.
        assert_eq!(model.cost_usd, Some(0.0125), "{reached:?}");
        let spans = ended.spans();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        let expected: &[&str] = &["invoke_agent", "chat gpt-4o", "execute_tool look", "GET"];
        assert!(names.ends_with(expected), "{reached:?}: {names:?}");
        let request = spans.last().unwrap();
        let attributes = serde_json::to_value(&request.attributes).unwrap();
        assert_eq!(attributes["http.request.method"], "GET");
        assert!(attributes["body"].as_str().unwrap().chars().count() <= 1000);
        assert!(request.parent_span_id.is_some() && request.started_at.is_some());
    }
}

/// The agent that says nothing of its calls is known to have made none only by its spans.
#[tokio::test]
async fn what_spans_do_not_show_is_unknown() {
    for reached in ALL {
        let unknown = |user: &'static str, expect: &'static str, part: &'static str| async move {
            let traces = "traces: {within: 1s}";
            reached.conduct(user, expect, traces).await.assert_unknown(part);
        };
        let absent = "{not: {call_tool: refund}}";
        unknown("lost", absent, "evidence incomplete").await;
        unknown("astray", absent, "evidence incomplete").await;
        unknown("chat", absent, "none of its spans is about an agent").await;
        if reached != Reached::Server {
            // The server has a span of its own for each request.
            unknown("silence", absent, "no span of the turn has arrived").await;
            unknown("astray", absent, "the agent must work in the trace of the turn").await;
        }
        unknown(
            "unknown",
            "{call_tool: {name: look, with: {place: a}}}",
            "arguments of `look` are unknown",
        )
        .await;
        unknown(
            "unknown",
            "{not: {call_tool: {name: look, with: {place: a}}}}",
            "arguments of `look` are unknown",
        )
        .await;
        unknown("free", "{cost_usd: {below: 1}}", "does not report what it cost").await;
        // What was seen was seen.
        reached.conduct("unknown", "{call_tool: look}", TRACED).await.assert_passed();
    }
}

#[tokio::test]
async fn a_span_that_ends_after_the_answer_is_waited_for() {
    for reached in ALL {
        let expect =
            "{call_tool: {name: look, with: {place: late}, times: 1}}, {not: {call_tool: refund}}";
        reached.conduct("late", expect, "traces: {within: 20s}").await.assert_passed();
    }
}

/// By the id, and without one by name and arguments.
#[tokio::test]
async fn a_call_that_is_listed_and_has_a_span_is_one_call() {
    for reached in [Reached::InLanguage, Reached::Program] {
        for user in ["both", "both id"] {
            let expect = "{call_tool: {name: look, with: {place: both}, times: 1}}, {expression: 'tool_calls.size() == 1'}";
            reached.conduct(user, expect, TRACED).await.assert_passed();
        }
    }
    let expect = "{call_tool: {name: look, with: {place: a}, times: 1}}";
    Reached::InLanguage.conduct("twice", expect, TRACED).await.assert_passed();
}

#[tokio::test]
async fn a_call_that_failed_has_its_error() {
    let expect = "{expression: \"tool_calls[0].error == 'nothing there'\"}";
    Reached::InLanguage.conduct("fail", expect, TRACED).await.assert_passed();
}

/// Spans that no turn has are counted and belong to none.
#[tokio::test]
async fn spans_of_other_traces_are_counted() {
    let world = world();
    let agent = Reached::InLanguage.agent(&world, "traces: {within: 1s}");
    let text = scenario(&agent, &["astray"], "{match: ok}");
    let (ended, notes) = world.conduct_all(&text).await;
    ended[0].assert_passed();
    assert!(ended[0].spans().is_empty());
    let note = "traces: 2 spans belonged to no turn and were left out";
    assert!(notes.iter().any(|line| line.contains(note)), "{notes:?}");
}

/// The project's own settings of OpenTelemetry come first.
#[tokio::test]
async fn spans_in_json_are_read_too() {
    let world = world();
    let agent = node("./traced_ai_sdk.mjs#silent").agent(&world);
    for env in ["{}", "{TRACES_AS_JSON: '1'}", "{OTEL_EXPORTER_OTLP_COMPRESSION: gzip}"] {
        let agent = format!("{agent}, traces: true, env: {env}");
        let expect = "{call_tool: {name: weather, with: {city: Berlin}, times: 1}}, {not: {call_tool: broken}}";
        let ended = world.conduct(&scenario(&agent, &["weather in Berlin"], expect)).await;
        ended.assert_passed();
        assert_eq!(ended.models().len(), 2, "{env}");
    }
}

/// 64 attempts at once in one process, two turns each: no span belongs to another one.
async fn assert_no_span_astray(agent: &str, world: &World, first: &str, expect: &str) {
    let examples: String = (0..64)
        .map(|n| {
            let (first, expect) = (first.replace("NUMBER", &n.to_string()), expect.replace("NUMBER", &n.to_string()));
            format!("  - {{it: c{n}, steps: [{{user: {first}, expect: [{expect}]}}, {{user: hello, expect: [{{not: {{call_tool: look}}}}, {{not: {{call_tool: weather}}}}]}}]}}\n")
        })
        .collect();
    let examples = World::examples(&format!(
        "describe: A\nagent: {{{agent}, traces: {{within: 60s}}}}\nexamples:\n{examples}"
    ));
    let registry = world.registry(&examples);
    let ended =
        join_all(examples.iter().map(|example| conduct_example(&registry, example, 1))).await;
    for one in &ended {
        assert_eq!(one.status(), "passed", "{agent}: {}", one.message());
    }
    let notes = registry.end(false).await.notes;
    assert!(!notes.iter().any(|note| note.starts_with("traces:")), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_span_is_astray_among_64() {
    for reached in ALL {
        let world = world();
        let agent = reached.agent(&world, "timeout: 60s");
        let users = "look pNUMBER";
        let expect = "{call_tool: {name: look, with: {place: pNUMBER}, times: 1}}, {expression: 'tool_calls.size() == 1'}";
        assert_no_span_astray(&agent, &world, users, expect).await;
    }
}

/// A framework with its instrumentation.
struct Instrumented {
    /// The agent, whose calls the framework's own result lists too.
    agent: Framework,
    /// A function that returns no more than the agent's text.
    silent: Framework,
    /// Whether its spans tell what models were asked.
    tells_models: bool,
    /// Whether its spans tell the arguments of a call that failed.
    tells_arguments_of_failures: bool,
}

async fn assert_instrumented(instrumented: Instrumented) {
    let world = world();
    let called = "{call_tool: {name: weather, with: {city: Berlin}, times: 1}}, {not: {call_tool: broken}}, {expression: 'tool_calls.size() == 1'}, {latency_ms: {above: 0}}";
    // The framework's own report and the spans are about the same call.
    for (framework, is_silent) in [(instrumented.agent, false), (instrumented.silent, true)] {
        let agent = format!("{}, traces: {{within: 20s}}", framework.agent(&world));
        let text = scenario(&agent, &["weather in Berlin"], called);
        let ended = world.conduct(&text).await;
        ended.assert_passed();
        assert!(!ended.spans().is_empty());
        assert_eq!(!ended.models().is_empty(), instrumented.tells_models, "{agent}");
        let failed = "{call_tool: {name: broken, times: 1}}, {not: {call_tool: weather}}";
        world.conduct(&scenario(&agent, &["broken in Rome"], failed)).await.assert_passed();
        let arguments = "{call_tool: {name: broken, with: {city: Rome}}}";
        let ended = world.conduct(&scenario(&agent, &["broken in Rome"], arguments)).await;
        if is_silent && !instrumented.tells_arguments_of_failures {
            ended.assert_unknown("the arguments of `broken` are unknown");
        } else {
            ended.assert_passed();
        }
        let none = "{not: {call_tool: weather}}, {expression: 'tool_calls.size() == 0'}";
        world.conduct(&scenario(&agent, &["hello"], none)).await.assert_passed();
    }
    let silent = instrumented.silent.agent(&world);
    let untold = format!("{silent}, env: {{OTEL_SDK_DISABLED: 'true'}}");
    world
        .conduct(&scenario(&untold, &["hello"], "{not: {call_tool: weather}}"))
        .await
        .assert_unknown("so the tools that it called are unknown");
    let expect = "{call_tool: {name: weather, with: {city: wNUMBER}, times: 1}}, {expression: 'tool_calls.size() == 1'}";
    assert_no_span_astray(&silent, &world, "weather in wNUMBER", expect).await;
}

/// A call's span has no arguments. They come from the request of the same id, which the result names, and an error does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn langgraph_with_openinference() {
    assert_instrumented(Instrumented {
        agent: python("traced_langgraph.py:agent"),
        silent: python("traced_langgraph.py:silent"),
        tells_models: true,
        tells_arguments_of_failures: false,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pydantic_ai_with_its_own_spans() {
    assert_instrumented(Instrumented {
        agent: python("traced_pydantic_ai.py:agent"),
        silent: python("traced_pydantic_ai.py:silent"),
        tells_models: true,
        tells_arguments_of_failures: true,
    })
    .await;
}

/// Models tell their work themselves; the one of the test does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_agents_with_openinference() {
    assert_instrumented(Instrumented {
        agent: python("traced_openai_agents.py:agent"),
        silent: python("traced_openai_agents.py:silent"),
        tells_models: false,
        tells_arguments_of_failures: true,
    })
    .await;
}

/// Only the models of the package are instrumented.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn smolagents_with_openinference() {
    assert_instrumented(Instrumented {
        agent: python("traced_smolagents.py:agent"),
        silent: python("traced_smolagents.py:silent"),
        tells_models: false,
        tells_arguments_of_failures: true,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ai_sdk_with_its_own_spans() {
    assert_instrumented(Instrumented {
        agent: node("./traced_ai_sdk.mjs#agent"),
        silent: node("./traced_ai_sdk.mjs#silent"),
        tells_models: true,
        tells_arguments_of_failures: true,
    })
    .await;
}

/// What a cassette keeps has what the spans told, and what they did not.
#[tokio::test]
async fn a_replay_knows_what_the_spans_told() {
    let mut world = world();
    let agent = Reached::InLanguage.agent(&world, "traces: {within: 1s}");
    let texts = [
        (
            scenario(
                &agent,
                &["look Rome"],
                "{call_tool: {name: look, with: {place: Rome}}}, {not: {call_tool: refund}}, {cost_usd: {above: 0}}",
            ),
            "passed",
        ),
        (
            scenario(&agent, &["unknown"], "{not: {call_tool: {name: look, with: {place: a}}}}"),
            "errored",
        ),
        (scenario(&agent, &["lost"], "{not: {call_tool: refund}}"), "errored"),
    ];
    for (place, (text, status)) in texts.into_iter().enumerate() {
        let tape = world.path().join(format!("tape-{place}.jsonl"));
        for cassette in [
            proctor_converse::Cassette::Record(tape.clone()),
            proctor_converse::Cassette::Replay(
                tape.clone(),
                proctor_converse::ReplayMode::default(),
            ),
        ] {
            world.settings.cassette = cassette;
            world.settings.shared = proctor_converse::SharedResources::default();
            let ended = world.conduct(&text).await;
            assert_eq!(ended.status(), status, "{}", ended.message());
        }
    }
}

/// The sandbox has no network, so no span could arrive.
#[tokio::test]
async fn a_sandbox_without_network_is_named() {
    let world = world();
    let agent = Reached::Program.agent(&world, "traces: true, sandbox: true");
    let ended = world.conduct(&scenario(&agent, &["look a"], "{match: ok}")).await;
    assert_eq!((ended.status(), ended.fault()), ("errored", "harness"));
    assert!(ended.message().contains("say `sandbox: {network: host}`"), "{}", ended.message());
}

/// Eight repetitions in one process.
#[tokio::test]
async fn attempts_of_one_example_are_told_apart() {
    let world = world();
    let agent = Reached::InLanguage.agent(&world, TRACED);
    let text = scenario(&agent, &["look Rome"], "{call_tool: {name: look, times: 1}}");
    let examples = World::examples(&text);
    let registry = world.registry(&examples);
    let attempts = (1..=8).map(|repeat| {
        let parties = Arc::clone(registry.parties_of(&examples[0]).unwrap());
        let example = Arc::clone(&examples[0]);
        async move {
            let attempt_id = AttemptId { example: example.id.id.clone(), repeat, attempt: 1 };
            let mut conversation = Conversation::new(example, parties, attempt_id);
            let outcome = conversation.run(&mut crate::world::Collect::default()).await;
            conversation.close().await;
            outcome
        }
    });
    for outcome in join_all(attempts).await {
        assert_eq!(outcome.status.as_str(), "passed", "{:?}", outcome.message);
    }
    registry.end(false).await;
}
