//! Agents of frameworks: the real packages on fake models, with no adapter. The same scenarios have the same results for all of them.

use std::path::PathBuf;

use futures_util::future::join_all;
use proctor_events::Body;

use crate::in_language::{scenario, world};
use crate::world::{FinishedConversation, World, conduct_example};

/// A file below `tests/frameworks`, what is in it, and how it is run.
#[derive(Clone, Copy)]
pub(crate) struct Framework {
    target: &'static str,
    is_node: bool,
}

const PYTHON: [Framework; 5] = [
    python("pydantic_ai_agent.py:agent"),
    python("langgraph_agent.py:agent"),
    python("langgraph_agent.py:forgetful"),
    python("openai_agent.py:agent"),
    python("smol_agent.py:agent"),
];

pub(crate) const fn python(target: &'static str) -> Framework {
    Framework { target, is_node: false }
}

pub(crate) const fn node(target: &'static str) -> Framework {
    Framework { target, is_node: true }
}

fn repository() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Copies the files of all agents into the world.
pub(crate) fn copy_agents(world: &World) {
    let from = repository().join("crates/proctor-converse/tests/frameworks");
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), world.path().join(file.file_name())).unwrap();
    }
}

/// The interpreter that has the frameworks.
pub(crate) fn interpreter(is_node: bool) -> PathBuf {
    let tool = if is_node { "conformance/node_modules/.bin/node" } else { "agents/bin/python" };
    let interpreter = repository().join("target/tools").join(tool);
    assert!(interpreter.exists(), "no {tool}: run ./check once, it installs the frameworks");
    interpreter
}

impl Framework {
    /// The description of the agent, which is in the folder of the world.
    pub(crate) fn agent(self, world: &World) -> String {
        copy_agents(world);
        let interpreter = interpreter(self.is_node);
        if self.is_node {
            let packages = repository().join("target/tools/agents-node/node_modules");
            let _ = std::os::unix::fs::symlink(packages, world.path().join("node_modules"));
        }
        let key = if self.is_node { "node" } else { "python" };
        format!(
            "{key}: {:?}, interpreter: [{:?}], timeout: 60s",
            self.target,
            interpreter.display()
        )
    }

    async fn conduct(self, users: &[&str], expect: &str) -> FinishedConversation {
        let world = world();
        let agent = self.agent(&world);
        world.conduct(&scenario(&agent, users, expect)).await
    }
}

/// Six examples; the last one ends with an error of the agent.
const SCENARIOS: &str = r#"
  - {it: answers, steps: [{user: hello, expect: [{match: "^1: hello$"}, {not: {call_tool: weather}}]}]}
  - {it: remembers, steps: [{user: hello}, {user: again, expect: [{match: "^2: hello again$"}]}]}
  - {it: calls, steps: [{user: weather in Berlin, expect: [{call_tool: {name: weather, with: {city: Berlin}, times: 1}}, {match: clear}, {expression: "tool_calls.size() == 1"}]}]}
  - {it: fails to call, steps: [{user: broken in Rome, expect: [{call_tool: {name: broken, with: {city: Rome}}}, {match: station is off}]}]}
  - {it: goes on, steps: [{user: weather in Berlin}, {user: again, expect: [{called_tool: weather}, {not: {call_tool: weather}}, {match: "^2: weather in Berlin again$"}]}]}
  - {it: breaks, steps: [{user: fail, expect: [{match: x}]}]}
"#;

async fn assert_same_results(framework: Framework) {
    let world = world();
    let agent = framework.agent(&world);
    let text = format!("describe: A\nagent: {{{agent}}}\nexamples:{SCENARIOS}");
    let examples = World::examples(&text);
    let registry = world.registry(&examples);
    let ended =
        join_all(examples.iter().map(|example| conduct_example(&registry, example, 1))).await;
    let (broken, passed) = ended.split_last().unwrap();
    for (one, example) in passed.iter().zip(&examples) {
        assert_eq!(
            one.status(),
            "passed",
            "{}: {:?}: {}",
            framework.target,
            example.path,
            one.message()
        );
        assert!(one.tells_tokens(), "{}: {:?}", framework.target, example.path);
    }
    assert_eq!((broken.status(), broken.fault()), ("errored", "agent"), "{}", broken.message());
    assert!(broken.message().contains("the model is down"), "{}", broken.message());
    assert_not_mixed(&world, &agent).await;
    registry.end(false).await;
}

/// 64 conversations at once, each with a word of its own.
async fn assert_not_mixed(world: &World, agent: &str) {
    let examples: String = (0..64)
        .map(|n| format!("  - {{it: c{n}, steps: [{{user: weather in W{n}, expect: [{{call_tool: {{name: weather, with: {{city: W{n}}}}}}}, {{expression: \"tool_calls.size() == 1\"}}]}}, {{user: again{n}, expect: [{{match: '^2: weather in W{n} again{n}$'}}]}}]}}\n"))
        .collect();
    let examples =
        World::examples(&format!("describe: A\nagent: {{{agent}}}\nexamples:\n{examples}"));
    let registry = world.registry(&examples);
    let ended =
        join_all(examples.iter().map(|example| conduct_example(&registry, example, 1))).await;
    for one in &ended {
        assert_eq!(one.status(), "passed", "{agent}: {}", one.message());
    }
    registry.end(false).await;
}

impl FinishedConversation {
    /// Whether every answer says how many tokens it took.
    fn tells_tokens(&self) -> bool {
        self.events.iter().all(|body| match body {
            Body::AgentResponse(response) => {
                let metadata = serde_json::to_value(&response.metadata).unwrap();
                metadata["input_tokens"].as_u64() > Some(0)
                    && metadata["output_tokens"].as_u64() > Some(0)
            }
            _ => true,
        })
    }
}

#[tokio::test]
async fn pydantic_ai() {
    assert_same_results(PYTHON[0]).await;
    let structured = python("pydantic_ai_agent.py:structured");
    let ended = structured.conduct(&["Hi"], r#"{match: '"sky": "clear"'}, {not: {call_tool: final_result}}, {expression: "tool_calls.size() == 0"}"#).await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
    let function = python("pydantic_ai_agent.py:function");
    let ended = function
        .conduct(&["weather in Berlin"], "{call_tool: {name: weather, with: {city: Berlin}}}")
        .await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
}

#[tokio::test]
async fn pydantic_ai_asks_the_host_for_a_call() {
    let world = world();
    let agent = python("pydantic_ai_agent.py:asking").agent(&world);
    let text = scenario(&agent, &["What time is it?"], "{match: it is noon}, {call_tool: now}");
    let ended = world.conduct(&format!("tools: {{now: {{result: noon}}}}\n{text}")).await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
    let ended = world.conduct(&text).await;
    assert!(ended.message().contains("asks the host to call `now`"), "{}", ended.message());
}

#[tokio::test]
async fn langgraph() {
    assert_same_results(PYTHON[1]).await;
    assert_same_results(PYTHON[2]).await;
}

#[tokio::test]
async fn langgraph_asks_the_host_for_a_call() {
    for target in ["langgraph_agent.py:asking", "langgraph_agent.py:model"] {
        let world = world();
        let agent = python(target).agent(&world);
        let text =
            scenario(&agent, &["weather in Berlin"], "{match: It is rain}, {call_tool: weather}");
        let ended = world.conduct(&format!("tools: {{weather: {{result: rain}}}}\n{text}")).await;
        assert_eq!(ended.status(), "passed", "{target}: {}", ended.message());
    }
    let other = python("langgraph_agent.py:state_without_messages");
    let ended = other.conduct(&["Hi"], "{match: x}").await;
    assert!(ended.message().contains("has no list `messages`"), "{}", ended.message());
}

/// How could a call of a graph stay unseen? It ran in a node of its own, and only the last message got into the state.
#[tokio::test]
async fn langgraph_tools_without_a_message_are_seen() {
    for target in ["langgraph_agent.py:station", "langgraph_agent.py:direct"] {
        let called = "{call_tool: {name: weather, with: {city: Berlin}, times: 1}}";
        let ended = python(target).conduct(&["weather in Berlin"], called).await;
        assert_eq!(ended.status(), "passed", "{target}: {}", ended.message());
        let ended =
            python(target).conduct(&["weather in Berlin"], "{not: {call_tool: weather}}").await;
        assert_eq!(ended.status(), "failed", "{target}: {}", ended.message());
    }
}

#[tokio::test]
async fn one_message_of_langchain_says_nothing_of_earlier_calls() {
    let function = python("langgraph_agent.py:last_message");
    for check in ["{not: {call_tool: weather}}", "{call_tool: weather}"] {
        let ended = function.conduct(&["weather in Berlin"], check).await;
        assert_eq!(ended.status(), "errored", "{check}: {}", ended.message());
    }
}

/// The name of a conversation is the same in each run, and a memory may be kept on disk.
#[tokio::test]
async fn the_memory_of_an_earlier_run_is_not_continued() {
    let world = world();
    let agent = python("langgraph_agent.py:keeping").agent(&world);
    let text = scenario(&agent, &["hello", "again"], "{match: '^2: hello again$'}");
    for _ in 0..2 {
        let ended = world.conduct(&text).await;
        assert_eq!(ended.status(), "passed", "{}", ended.message());
    }
}

#[tokio::test]
async fn openai_agents() {
    assert_same_results(PYTHON[3]).await;
}

#[tokio::test]
async fn smolagents() {
    assert_same_results(PYTHON[4]).await;
    let coder = python("smol_agent.py:coder");
    let ended = coder
        .conduct(
            &["Hi"],
            "{call_tool: {name: weather, with: {city: Berlin}, times: 1}}, {match: It is clear}",
        )
        .await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
}

/// smolagents gives the error of a model that cannot sum up as the agent's answer.
#[tokio::test]
async fn smolagents_that_answer_with_an_error_are_errored() {
    for target in ["smol_agent.py:exhausted", "smol_agent.py:exhausted_result"] {
        let ended = python(target).conduct(&["weather in Berlin"], "{match: '.*'}").await;
        assert_eq!((ended.status(), ended.fault()), ("errored", "agent"), "{}", ended.message());
        assert!(ended.message().contains("the model is down"), "{target}: {}", ended.message());
    }
}

#[tokio::test]
async fn ai_sdk() {
    assert_same_results(node("./ai_sdk_agent.mjs#agent")).await;
    let streaming = node("./ai_sdk_agent.mjs#streaming");
    let ended = streaming
        .conduct(&["hello", "again"], "{match: '^2: hello again$'}, {not: {call_tool: weather}}")
        .await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
}

#[tokio::test]
async fn ai_sdk_asks_the_host_for_a_call() {
    let world = world();
    let agent = node("./ai_sdk_agent.mjs#asking").agent(&world);
    let text =
        scenario(&agent, &["weather in Berlin"], "{match: It is rain}, {call_tool: weather}");
    let ended = world.conduct(&format!("tools: {{weather: {{result: rain}}}}\n{text}")).await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
}

#[tokio::test]
async fn mastra() {
    assert_same_results(node("./mastra_agent.mjs#agent")).await;
}

/// A stream of the AI SDK just ends where its model fails: half an answer must not pass.
#[tokio::test]
async fn a_stream_of_the_ai_sdk_that_breaks_is_an_error() {
    for (target, part) in [
        ("./ai_sdk_agent.mjs#cut", "the model is down"),
        ("./ai_sdk_agent.mjs#cutLater", "the model is down"),
        ("./ai_sdk_agent.mjs#ended", "the model ended its answer with an error"),
    ] {
        let ended = node(target).conduct(&["hello"], "{match: '.*'}").await;
        assert_eq!((ended.status(), ended.fault()), ("errored", "agent"), "{}", ended.message());
        assert!(ended.message().contains(part), "{target}: {}", ended.message());
    }
}

#[tokio::test]
async fn openai_agents_in_javascript() {
    assert_same_results(node("./openai_agent.mjs#agent")).await;
    let called = "{call_tool: {name: weather, with: {city: Berlin}, times: 1}}, {match: clear}";
    for target in ["./openai_agent.mjs#whole", "./openai_agent.mjs#streaming"] {
        let ended = node(target).conduct(&["weather in Berlin"], called).await;
        assert_eq!(ended.status(), "passed", "{target}: {}", ended.message());
    }
    let desk = node("./openai_agent.mjs#desk");
    let transferred = "{match: '^2: one two$'}, {called_tool: ask_the_station}, {not: {call_tool: ask_the_station}}";
    let ended = desk.conduct(&["one", "two"], transferred).await;
    assert_eq!(ended.status(), "passed", "{}", ended.message());
    let waiting = node("./openai_agent.mjs#waiting");
    let ended = waiting.conduct(&["weather in Berlin"], "{match: '.*'}").await;
    assert!(ended.message().contains("waits for the approval of `weather`"), "{}", ended.message());
    let streaming = node("./openai_agent.mjs#streaming");
    let broken = streaming.conduct(&["fail"], "{match: '.*'}").await;
    assert_eq!((broken.status(), broken.fault()), ("errored", "agent"), "{}", broken.message());
}

/// The package has files for `import` and for `require`, which do not know each other's agents.
#[tokio::test]
async fn openai_agents_in_javascript_are_run_by_the_copy_that_made_them() {
    const CODE: &str = "({ name: 'C', model: { getResponse: async () => ({ output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'hello' }] }], usage: new Usage() }) } })";
    let required = format!(
        "const {{ Agent, Usage }} = require('@openai/agents');\nexports.agent = new Agent{CODE};\n"
    );
    let imported = |package: &str| {
        format!(
            "import {{ Agent, Usage }} from '{package}';\nexport const agent = new Agent{CODE};\n"
        )
    };
    for (file, code) in [
        ("made.cjs", required),
        ("made.mjs", imported("@openai/agents-core")),
        ("made.ts", imported("@openai/agents")),
    ] {
        let world = world();
        let like = node("./openai_agent.mjs#agent").agent(&world);
        world.write(file, &code);
        let agent = like.replace("openai_agent.mjs", file);
        let ended = world.conduct(&scenario(&agent, &["Hi"], "{match: '^hello$'}")).await;
        assert_eq!(ended.status(), "passed", "{file}: {}", ended.message());
    }
    // A copy elsewhere: agents of it have handoffs and settings that the project's copy does not know.
    let world = world();
    let like = node("./openai_agent.mjs#agent").agent(&world);
    world.write("made.mjs", "class Agent { handoffs = []; asTool() {} getSystemPrompt() {} getAllTools() {} processFinalOutput() {} }\nexport const agent = new Agent();\n");
    let ended = world
        .conduct(&scenario(&like.replace("openai_agent.mjs", "made.mjs"), &["Hi"], "{match: '.*'}"))
        .await;
    assert!(
        ended.message().contains("the package that made it is not found"),
        "{}",
        ended.message()
    );
}
