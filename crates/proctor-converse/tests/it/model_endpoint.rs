//! Agents whose model is behind our endpoint: plain programs and the real clients of frameworks.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use proctor_dialogue::Example;
use proctor_endpoint::{EndpointServer, OpenEndpoint, Script, ScriptItem, ScriptedAnswer, Source};
use proctor_events::{Body, ModelCall};

use crate::in_language::world;
use crate::world::{FinishedConversation, World, conduct_example};

impl FinishedConversation {
    /// The calls of models that were recorded, in order.
    fn model_calls(&self) -> Vec<&ModelCall> {
        let calls = self.events.iter().filter_map(|body| match body {
            Body::ModelCall(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }

    fn assert_ended(&self, status: &str, fault: &str, parts: &[&str]) {
        assert_eq!((self.status(), self.fault()), (status, fault), "{}", self.message());
        for part in parts {
            assert!(self.message().contains(part), "{part}: {}", self.message());
        }
    }
}

/// A world with the agents of `tests/clients`.
fn clients() -> World {
    let world = world();
    let from = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients"));
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), world.path().join(file.file_name())).unwrap();
        }
    }
    world
}

fn plain(function: &str, model: &str, steps: &str) -> String {
    format!(
        "describe: A\nagent: {{python: 'plain.py:{function}', timeout: 30s, model: {{{model}}}}}\nexamples: [{{it: x, steps: [{steps}]}}]"
    )
}

#[tokio::test]
async fn a_scripted_model_answers_and_its_calls_are_recorded() {
    let world = clients();
    for function in ["chat", "responses", "claude"] {
        let text = plain(
            function,
            "script: ['Good morning!', {text: 'And now?', usage: {input_tokens: 12, output_tokens: 4}}]",
            "{user: Hello, expect: [{match: '^Good morning!$'}, {prompt: {contains: ['Be kind.', Hello]}}, {prompt: {matches: '(?m)^user: Hello$'}}, {not: {prompt: rude}}]}, {user: Bye, expect: [{match: now}, {prompt: Bye}]}",
        );
        let (ended, notes) = world.conduct_all(&text).await;
        ended[0].assert_ended("passed", "", &[]);
        assert!(notes.is_empty(), "{notes:?}");
        let calls = ended[0].model_calls();
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[0].purpose.as_deref(), Some("agent"));
        assert_eq!(calls[0].backend.as_deref(), Some("scripted"));
        assert_eq!(calls[0].model.as_deref(), Some("asked-for"));
        assert!(calls[0].prompt.as_deref().unwrap().starts_with("system: Be kind."));
        assert_eq!(calls[0].text.as_deref(), Some("Good morning!"));
        assert_eq!((calls[0].input_tokens, calls[1].input_tokens), (None, Some(12)));
        let names = ended[0].names();
        let call = names.iter().position(|name| *name == "ModelCall");
        assert!(call < names.iter().position(|name| *name == "AgentResponse"), "{names:?}");
    }
}

#[tokio::test]
async fn a_failing_prompt_check_shows_the_prompt() {
    let world = clients();
    let steps = "{user: Hello, expect: [{prompt: {contains: rude}}]}";
    let ended = world.conduct(&plain("chat", "script: [Hi]", steps)).await;
    ended.assert_ended("failed", "agent", &["a prompt with \"rude\"", "Be kind.", "user: Hello"]);
    let steps = "{user: Hello, expect: [{not: {prompt: kind}}]}";
    let ended = world.conduct(&plain("chat", "script: [Hi]", steps)).await;
    ended.assert_ended("failed", "agent", &["not send its model a prompt"]);
}

/// How could a check of prompts say yes where nothing was seen? Turned round, it would.
#[tokio::test]
async fn a_prompt_that_was_not_seen_is_never_green() {
    for check in ["prompt: rude", "not: {prompt: rude}", "not: {not: {prompt: rude}}"] {
        let world = clients();
        let steps = format!("{{user: Hello, expect: [{{{check}}}]}}");
        let (ended, notes) = world.conduct_all(&plain("silent", "script: [Hi]", &steps)).await;
        ended[0].assert_ended("errored", "harness", &["made no call to its model endpoint"]);
        assert!(
            notes.concat().contains("made no call to its model endpoint in 1 conversation"),
            "{notes:?}"
        );
        let without = format!(
            "describe: A\nagent: {{python: 'plain.py:silent'}}\nexamples: [{{it: x, steps: [{steps}]}}]"
        );
        let ended = world.conduct(&without).await;
        ended.assert_ended("errored", "harness", &["are not seen", "add `model:`"]);
        let scripted = format!(
            "describe: A\nagent: {{script: [Hi]}}\nexamples: [{{it: x, steps: [{steps}]}}]"
        );
        world.conduct(&scripted).await.assert_ended("errored", "harness", &["are not seen"]);
    }
}

/// How could a script that is used up look like a pass? An agent that swallows the error says that all is well.
#[tokio::test]
async fn a_script_that_is_used_up_is_errored_whatever_the_agent_makes_of_it() {
    let world = clients();
    let steps = "{user: Hello, expect: [{match: fine}]}";
    let ended = world.conduct(&plain("stubborn", "script: [one, two]", steps)).await;
    ended.assert_ended(
        "errored",
        "harness",
        &["no answer to call 3", "user: Hello", "plain.py:stubborn"],
    );
    assert_eq!(ended.model_calls().len(), 3);
    assert!(ended.model_calls()[2].error.is_some());
    let when = "script: [{text: no, when: {contains: Goodbye}}]";
    let ended = world.conduct(&plain("stubborn", when, steps)).await;
    ended.assert_ended("errored", "harness", &["does not apply"]);
}

#[tokio::test]
async fn faults_come_before_the_answers() {
    let world = clients();
    let faults = "script: [at last], faults: [429, malformed, cut stream, {slow: 10ms}]";
    let steps = "{user: Hello, expect: [{match: '^at last$'}, {prompt: Hello}]}";
    let ended = world.conduct(&plain("patient", faults, steps)).await;
    ended.assert_ended("passed", "", &[]);
    let errors: Vec<bool> = ended.model_calls().iter().map(|call| call.error.is_some()).collect();
    assert_eq!(errors, [true, true, true, false]);
    let slow = "describe: A\nagent: {python: 'plain.py:chat', timeout: 2s, model: {script: [never], faults: [timeout]}}\nexamples: [{it: x, steps: [{user: Hello}]}]";
    let ended = world.conduct(slow).await;
    ended.assert_ended("errored", "agent", &["did not answer within"]);
    assert_eq!(ended.model_calls().len(), 1, "{:?}", ended.names());
}

#[tokio::test]
async fn group_and_example_say_what_the_model_is() {
    let world = clients();
    let text = "describe: A
agent: {python: 'plain.py:chat', timeout: 30s, model: {script: [the agent's]}}
examples:
  - {it: takes the agent's, steps: [{user: a, expect: [{match: the agent}]}]}
  - {it: takes its own, model: {script: [its own]}, steps: [{user: a, expect: [{match: its own}]}]}
contexts:
  - describe: inside
    model: {script: [the group's]}
    examples:
      - {it: takes the group's, steps: [{user: a, expect: [{match: the group}]}]}
      - {it: takes its own too, model: {script: [another]}, steps: [{user: a, expect: [{match: another}]}]}
sets:
  - name: rows
    rows: [{said: first}, {said: second}]
    examples: [{it: 'says {{said}}', model: {script: ['{{said}} row']}, steps: [{user: a, expect: [{match: '{{said}} row'}]}]}]
";
    for ended in world.conduct_all(text).await.0 {
        ended.assert_ended("passed", "", &[]);
    }
}

#[tokio::test]
async fn the_agent_cannot_reach_another_model_by_mistake() {
    let world = clients();
    let text = "describe: A
agent: {python: 'plain.py:keys', timeout: 30s, env: {OPENAI_API_KEY: mine, OPENAI_BASE_URL: 'http://127.0.0.1:9', MINE: '${model_url}'}, model: {script: [ok]}}
examples: [{it: x, steps: [{user: a, expect: [{prompt: {matches: 'user: sk-proctor- http://127.0.0.1:'}}]}]}]
";
    world.conduct(text).await.assert_ended("passed", "", &[]);
}

#[tokio::test]
async fn a_server_that_we_start_and_a_program_in_javascript() {
    let world = clients();
    let python = crate::world::python();
    let text = format!(
        "describe: A
agent: {{command: ['{python}', server.py], http: {{url: 'http://127.0.0.1:${{port}}/'}}, timeout: 30s, model: {{script: [one, two]}}}}
examples: [{{it: x, steps: [{{user: a, expect: [{{match: one}}, {{prompt: 'user: a'}}]}}, {{user: b, expect: [{{match: two}}]}}]}}]
"
    );
    world.conduct(&text).await.assert_ended("passed", "", &[]);
    let text = "describe: A
agent: {node: './plain.mjs#agent', timeout: 30s, model: {script: ['several words here', two]}}
examples: [{it: x, steps: [{user: a, expect: [{match: '^several words here$'}, {prompt: 'user: a'}]}, {user: b, expect: [{prompt: several words}]}]}]
";
    world.conduct(text).await.assert_ended("passed", "", &[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_conversations_do_not_mix() {
    let world = clients();
    let examples: String = (0..64)
        .map(|n| format!("  - {{it: c{n}, model: {{script: ['answer {n}.', 'again {n}.']}}, steps: [{{user: 'word{n}.', expect: [{{match: '^answer {n}.$'}}, {{prompt: 'word{n}.'}}]}}, {{user: 'more{n}.', expect: [{{match: '^again {n}.$'}}, {{prompt: {{contains: ['word{n}.', 'answer {n}.', 'more{n}.']}}}}]}}]}}\n"))
        .collect();
    let text = format!(
        "describe: A\nagent: {{python: 'plain.py:chat', timeout: 120s}}\nexamples:\n{examples}"
    );
    let examples: Vec<Arc<Example>> = World::examples(&text);
    let registry = world.registry(&examples);
    let ended =
        join_all(examples.iter().map(|example| conduct_example(&registry, example, 1))).await;
    for (n, one) in ended.iter().enumerate() {
        one.assert_ended("passed", "", &[]);
        let prompts: String =
            one.model_calls().iter().filter_map(|call| call.prompt.as_deref()).collect();
        assert_eq!(prompts.matches("word").count(), 2, "{n}: {prompts}");
    }
    registry.end(false).await;
}

/// A real model: another endpoint of ours, which says these texts.
async fn real(texts: &[&str]) -> OpenEndpoint {
    let items = texts.iter().map(|text| ScriptItem {
        answer: ScriptedAnswer::text(*text),
        applies: None,
        times: 1,
    });
    let server = EndpointServer::start().await.unwrap();
    let source = Source::Script(Script::new(items.collect()));
    server.open("real.1", 1, source, Vec::new()).unwrap()
}

fn taped(model: &str, url: &str, user: &str, expect: &str) -> String {
    format!(
        "describe: A
models: {{real: {{openai: real-model, url: '{url}/v1', price: {{input: 100, output: 100}}, tries: 1}}}}
agent: {{python: 'plain.py:chat', timeout: 30s, model: {{{model}}}}}
examples: [{{it: x, steps: [{{user: one, expect: [{expect}]}}, {{user: {user}, expect: [{{match: second}}]}}]}}]
"
    )
}

#[tokio::test]
async fn what_was_recorded_is_replayed_and_drift_is_errored() {
    let world = clients();
    let model = real(&["first answer", "second answer"]).await;
    let expect = "{match: first}, {prompt: one}, {cost_usd: {above: 0}}";
    let record = taped("record: tapes/a.jsonl, forward: real", model.url(), "two", expect);
    let recorded = world.conduct(&record).await;
    recorded.assert_ended("passed", "", &[]);
    assert_eq!(recorded.model_calls()[0].backend.as_deref(), Some("forward"));
    assert!(recorded.model_calls()[0].cost_usd > Some(0.0));
    model.close();

    // The real model is gone now.
    let replay = taped("replay: tapes/a.jsonl", "http://127.0.0.1:9", "two", expect);
    let fresh = || {
        let mut again = clients();
        std::fs::create_dir(again.path().join("tapes")).unwrap();
        std::fs::copy(world.path().join("tapes/a.jsonl"), again.path().join("tapes/a.jsonl"))
            .unwrap();
        again.settings.record_tapes = false;
        again
    };
    let replayed = fresh().conduct(&replay).await;
    replayed.assert_ended("passed", "", &[]);
    assert_eq!(replayed.said(), recorded.said());
    let call = replayed.model_calls()[0];
    assert_eq!(
        (call.cached, call.cost_usd, call.backend.as_deref()),
        (Some(true), Some(0.0), Some("replay"))
    );
    assert_eq!(call.prompt, recorded.model_calls()[0].prompt);

    let changed = taped("replay: tapes/a.jsonl", "http://127.0.0.1:9", "something else", expect);
    let ended = fresh().conduct(&changed).await;
    ended.assert_ended(
        "errored",
        "harness",
        &[
            "drift",
            "call 2",
            "/messages/3/content: recorded “two”, now “something else”",
            "\n  - user: two\n  + user: something else\n",
            "--record-tapes",
        ],
    );

    let reported = taped(
        "replay: tapes/a.jsonl, on_drift: report",
        "http://127.0.0.1:9",
        "something else",
        expect,
    );
    let (ended, notes) = fresh().conduct_all(&reported).await;
    ended[0].assert_ended("passed", "", &[]);
    assert!(notes.concat().contains("now “something else”"), "{notes:?}");

    // Recorded again, the changed conversation is the one to be replayed.
    let model = real(&["first again", "second again"]).await;
    let mut again = fresh();
    again.settings.record_tapes = true;
    let described =
        taped("replay: tapes/a.jsonl, forward: real", model.url(), "something else", expect);
    again.conduct(&described).await.assert_ended("passed", "", &[]);
    model.close();
    let tape = std::fs::read_to_string(again.path().join("tapes/a.jsonl")).unwrap();
    assert!(tape.contains("something else") && !tape.contains("first answer"), "{tape}");
}

#[tokio::test]
async fn budget_and_cache_of_the_run_hold_for_forwarded_calls() {
    let model = real(&["first answer", "second answer"]).await;
    let mut world = clients();
    world.settings.budget_usd = Some(0.000_01);
    let expect = "{match: first}, {prompt: one}, {not: {prompt: rude}}";
    let text = taped("forward: real", model.url(), "two", expect);
    world.conduct(&text).await.assert_ended("inconclusive", "harness", &["the budget of"]);
    let mut world = clients();
    world.settings.cache = Some(world.path().join("kept"));
    world.conduct(&text).await.assert_ended("passed", "", &[]);
    model.close();
    let ended = world.conduct(&text).await;
    ended.assert_ended("passed", "", &[]);
    assert!(ended.model_calls().iter().all(|call| call.cached == Some(true)));
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_named() {
    let world = clients();
    for (model, part) in [
        ("record: a.jsonl", "there is no model for the agent"),
        ("replay: nowhere.jsonl", "record it first"),
    ] {
        let steps = "{user: Hello}";
        let examples = World::examples(&plain("chat", model, steps));
        match proctor_converse::PartyRegistry::open(world.settings.clone(), &examples) {
            Ok(registry) => {
                let ended = conduct_example(&registry, &examples[0], 1).await;
                ended.assert_ended("errored", "harness", &[part]);
            }
            Err(errors) => assert!(errors[0].message.contains(part), "{errors:?}"),
        }
    }
    let ended = world
        .conduct("describe: A\nmodel: {script: [Hi]}\nagent: {script: [Hi]}\nexamples: [{it: x, steps: [{user: a}]}]")
        .await;
    ended.assert_ended("errored", "harness", &["whose program Proctor starts"]);
}

/// A target, what its first answer must be, and the last.
const WEATHER: &str = "[{tool_calls: [{name: weather, arguments: {city: Berlin}}], when: {contains: weather in Berlin}, usage: {input_tokens: 30, output_tokens: 10}}, {text: 'It is clear.', when: {contains: clear over Berlin}, usage: {input_tokens: 40, output_tokens: 5}}]";
const SMOL: &str = "[{tool_calls: [{name: weather, arguments: {city: Berlin}}], when: {contains: weather in Berlin}, usage: {input_tokens: 30, output_tokens: 10}}, {tool_calls: [{name: final_answer, arguments: {answer: 'It is clear.'}}], when: {contains: clear over Berlin}, usage: {input_tokens: 40, output_tokens: 5}}]";

/// The same agent in Python (`file.py:name`) or JavaScript (`./file.mjs#name`), with its real client.
async fn assert_client_works(target: &str, script: &str, faults: &str) {
    let world = clients();
    let is_node = target.contains(".mjs");
    let (key, tool) = if is_node {
        ("node", "conformance/node_modules/.bin/node")
    } else {
        ("python", "agents/bin/python")
    };
    let tools = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools"));
    let interpreter = tools.join(tool);
    assert!(interpreter.exists(), "no frameworks: run ./check once, it installs them");
    if is_node {
        let packages = tools.join("agents-node/node_modules");
        std::os::unix::fs::symlink(packages, world.path().join("node_modules")).unwrap();
    }
    let text = format!(
        "describe: A
agent: {{{key}: '{target}', interpreter: ['{}'], timeout: 60s, model: {{script: {script}, faults: [{faults}]}}}}
examples: [{{it: x, steps: [{{user: weather in Berlin, expect: [{{match: 'It is clear.'}}, {{call_tool: {{name: weather, with: {{city: Berlin}}, times: 1}}}}, {{prompt: {{contains: ['Be kind.', weather in Berlin]}}}}, {{prompt: clear over Berlin}}, {{prompt: 'offered tool: weather'}}]}}]}}]
",
        interpreter.display()
    );
    let (ended, notes) = world.conduct_all(&text).await;
    assert_eq!(ended[0].status(), "passed", "{target}: {}", ended[0].message());
    assert!(notes.is_empty(), "{target}: {notes:?}");
    let calls: Vec<_> =
        ended[0].model_calls().into_iter().filter(|call| call.error.is_none()).collect();
    assert_eq!(calls.len(), 2, "{target}");
    assert_eq!((calls[0].input_tokens, calls[1].output_tokens), (Some(30), Some(5)));
    let asked = serde_json::to_value(&calls[0].tool_calls).unwrap();
    assert_eq!(asked[0]["name"], "weather", "{target}");
    assert_eq!(asked[0]["arguments"], serde_json::json!({"city": "Berlin"}));
}

#[tokio::test]
async fn the_client_of_anthropic() {
    for function in ["whole", "streamed"] {
        assert_client_works(&format!("anthropic_sdk.py:{function}"), WEATHER, "").await;
    }
    assert_client_works("anthropic_sdk.py:streamed", WEATHER, "429, 529").await;
}

#[tokio::test]
async fn the_clients_in_javascript() {
    for function in ["openai", "anthropic"] {
        assert_client_works(&format!("./sdks.mjs#{function}"), WEATHER, "").await;
    }
}

#[tokio::test]
async fn the_ai_sdk_and_mastra() {
    for agent in ["responses", "chat", "claude"] {
        assert_client_works(&format!("./ai_sdk.mjs#{agent}"), WEATHER, "").await;
    }
    assert_client_works("./mastra.mjs#agent", WEATHER, "").await;
}

#[tokio::test]
async fn openai_agents_in_javascript() {
    for agent in ["responses", "chat"] {
        assert_client_works(&format!("./openai_agents.mjs#{agent}"), WEATHER, "").await;
    }
}

#[tokio::test]
async fn the_client_of_openai() {
    for function in ["chat", "chat_stream", "responses", "responses_stream"] {
        assert_client_works(&format!("openai_sdk.py:{function}"), WEATHER, "").await;
    }
}

/// What the client of `OpenAI` tries again by itself, it gets an answer for.
#[tokio::test]
async fn the_client_of_openai_lives_with_faults() {
    assert_client_works("openai_sdk.py:chat", WEATHER, "429, 503").await;
    assert_client_works(
        "openai_sdk.py:responses",
        WEATHER,
        "{status: 500, retry_after: 10ms}, {slow: 50ms}",
    )
    .await;
}

#[tokio::test]
async fn openai_agents() {
    for agent in ["responses", "chat"] {
        assert_client_works(&format!("openai_agents.py:{agent}"), WEATHER, "").await;
    }
}

#[tokio::test]
async fn pydantic_ai() {
    for agent in ["responses", "chat"] {
        assert_client_works(&format!("pydantic_agents.py:{agent}"), WEATHER, "").await;
    }
}

#[tokio::test]
async fn smolagents() {
    assert_client_works("smol.py:agent", SMOL, "").await;
}
