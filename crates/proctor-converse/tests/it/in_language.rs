//! Agents in Python and JavaScript: served by the programs that are embedded here, with real interpreters.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use proctor_converse::AgentOutputLine;
use proctor_events::Body;

use crate::world::{FinishedConversation, World, conduct_example};

/// A language, for tests that hold for both.
#[derive(Clone, Copy)]
pub(crate) struct Language {
    pub(crate) key: &'static str,
    pub(crate) file: &'static str,
    pub(crate) target: &'static str,
}

pub(crate) const PYTHON: Language = Language { key: "python", file: "app.py", target: "app:agent" };
pub(crate) const NODE: Language =
    Language { key: "node", file: "app.mjs", target: "./app.mjs#agent" };

/// A world whose programs find interpreters as those of this test do.
pub(crate) fn world() -> World {
    let mut world = World::new();
    world.settings.environment =
        Arc::new(|name| (name == "PATH").then(|| std::env::var(name).unwrap_or_default()));
    world
}

/// A scenario with one example: these messages of the user; `more` is added to the agent, `expect` to the last step.
pub(crate) fn scenario(agent: &str, users: &[&str], expect: &str) -> String {
    let (last, before) = users.split_last().unwrap();
    let mut steps: Vec<String> = before.iter().map(|text| format!("{{user: {text:?}}}")).collect();
    steps.push(format!("{{user: {last:?}, expect: [{expect}]}}"));
    format!("describe: A\nagent: {{{agent}}}\nexamples: [{{it: x, steps: [{}]}}]", steps.join(", "))
}

impl Language {
    async fn conduct(self, code: &str, users: &[&str], expect: &str) -> FinishedConversation {
        let world = world();
        world.write(self.file, code);
        let agent = format!("{}: {:?}, timeout: 20s", self.key, self.target);
        world.conduct(&scenario(&agent, users, expect)).await
    }

    /// The message with which every conversation ends, because of the agent.
    async fn error(self, code: &str, users: &[&str]) -> String {
        let ended = self.conduct(code, users, "{match: '.*'}").await;
        assert_eq!((ended.status(), ended.fault()), ("errored", "agent"), "{}", ended.message());
        assert!(ended.names().contains(&"AgentError"), "{code}");
        ended.message().to_owned()
    }

    async fn assert_passes(self, code: &str, users: &[&str], expect: &str) -> FinishedConversation {
        let ended = self.conduct(code, users, expect).await;
        assert_eq!(ended.status(), "passed", "{code}: {}", ended.message());
        ended
    }
}

/// Agents that answer `2: two` to `two` after `one`.
const PYTHON_FORMS: &[(&str, &str)] = &[
    (
        "a function",
        "seen = {}\ndef agent(text, conversation_id):\n    seen[conversation_id] = seen.get(conversation_id, 0) + 1\n    return f'{seen[conversation_id]}: {text}'",
    ),
    (
        "a coroutine",
        "import asyncio\nasync def agent(text, turn):\n    await asyncio.sleep(0.001)\n    return f'{turn}: {text}'",
    ),
    (
        "history",
        "def agent(messages):\n    users = [m['content'] for m in messages if m['role'] == 'user']\n    return f'{len(users)}: {users[-1]}'",
    ),
    ("a generator", "def agent(text, turn):\n    yield f'{turn}'\n    yield ': '\n    yield text"),
    ("an async generator", "async def agent(text, turn):\n    yield f'{turn}: '\n    yield text"),
    (
        "a class",
        "class agent:\n    def __init__(self): self.count = 0\n    def __call__(self, text):\n        self.count += 1\n        return f'{self.count}: {text}'",
    ),
    (
        "a class with a method",
        "class agent:\n    count = 0\n    async def chat(self, text):\n        self.count += 1\n        return f'{self.count}: {text}'",
    ),
    (
        "a factory",
        "def agent():\n    said = []\n    def answer(text):\n        said.append(text)\n        return f'{len(said)}: {text}'\n    return answer",
    ),
    (
        "an async factory",
        "async def agent():\n    said = []\n    async def answer(text):\n        said.append(text)\n        return f'{len(said)}: {text}'\n    return answer",
    ),
    (
        "a mapping",
        "def agent(text, turn):\n    return {'text': f'{turn}: {text}', 'tool_calls': [], 'metadata': {'a': 1}}",
    ),
    (
        "a method of a module's object",
        "class A:\n    def go(self, text, turn): return f'{turn}: {text}'\nagent = A().go",
    ),
    (
        "a partial",
        "import functools\ndef f(mark, text, turn): return f'{turn}{mark} {text}'\nagent = functools.partial(f, ':')",
    ),
];

const NODE_FORMS: &[(&str, &str)] = &[
    (
        "a function",
        "const seen = {};\nexport function agent(text, {conversationId: id}) { seen[id] = (seen[id] ?? 0) + 1; return `${seen[id]}: ${text}`; }",
    ),
    ("an async arrow", "export const agent = async (text, {turn}) => `${turn}: ${text}`;"),
    (
        "history",
        "export const agent = (messages) => { const users = messages.filter((m) => m.role === 'user'); return `${users.length}: ${users.at(-1).content}`; };",
    ),
    ("a context", "export async function agent({text, turn}) { return `${turn}: ${text}`; }"),
    ("a generator", "export function* agent(text, {turn}) { yield `${turn}: `; yield text; }"),
    (
        "an async generator",
        "export async function* agent(text, {turn}) { yield `${turn}: `; yield text; }",
    ),
    ("a stream", "export const agent = (text, {turn}) => new Blob([`${turn}: ${text}`]).stream();"),
    (
        "a class",
        "export class agent { count = 0; async chat(text) { this.count += 1; return `${this.count}: ${text}`; } }",
    ),
    (
        "a factory",
        "export function agent() { let count = 0; return (text) => `${++count}: ${text}`; }",
    ),
    (
        "an async factory",
        "export const agent = async () => { let count = 0; return async text => `${++count}: ${text}`; };",
    ),
    (
        "an object",
        "export const agent = (text, {turn}) => ({text: `${turn}: ${text}`, tool_calls: []});",
    ),
    ("the rest", "export const agent = (...given) => `${given[1].turn}: ${given[0]}`;"),
];

#[tokio::test]
async fn every_form_of_an_agent_is_served() {
    for (language, forms) in [(PYTHON, PYTHON_FORMS), (NODE, NODE_FORMS)] {
        for (name, code) in forms {
            let ended = language.conduct(code, &["one", "two"], "{match: '^2: two$'}").await;
            assert_eq!(ended.status(), "passed", "{name}: {}", ended.message());
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error_that_names_it() {
    let python = |body: &str| format!("def agent(text):\n    {body}");
    let node = |body: &str| format!("export function agent(text) {{ {body} }}");
    let cases = [
        (PYTHON, python("pass"), "returned None instead of a text"),
        (PYTHON, python("return 7"), "returned int, which is no answer: 7"),
        (PYTHON, python("return True"), "returned bool"),
        (PYTHON, python("return b'x'"), "returned bytes"),
        (PYTHON, python("return ['x']"), "returned list"),
        (PYTHON, python("return {}"), "empty mapping"),
        (PYTHON, python("return {'reply': 'x'}"), "with `reply`, which is not known"),
        (PYTHON, python("return {'text': 7}"), "`text` of what `app:agent` returned is int"),
        (
            PYTHON,
            python("return {'text': 'x', 'tool_calls': {'name': 'a'}}"),
            "is dict, not a list",
        ),
        (
            PYTHON,
            python("return {'text': 'x', 'tool_calls': ['a']}"),
            "call 1 of `tool_calls` that `app:agent` returned is str",
        ),
        (
            PYTHON,
            python("return {'text': 'x', 'tool_calls': [{'arguments': {}}]}"),
            "tool call 1 has no name",
        ),
        (
            PYTHON,
            python("return {'text': 'x', 'tool_calls': [{'name': 'a', 'arguments': 7}]}"),
            "arguments",
        ),
        (
            PYTHON,
            python("return {'text': 'x', 'cost_usd': float('nan')}"),
            "cannot be written as JSON",
        ),
        (PYTHON, python("return '\\ud800'"), "half of a surrogate pair"),
        (PYTHON, python("return 'x' * 9000000"), "bytes, at most"),
        (PYTHON, python("yield 7"), "yielded int"),
        (PYTHON, python("return iter(()) if text else None\n    yield"), "yielded nothing"),
        (NODE, node(""), "returned undefined instead of a text"),
        (NODE, node("return null"), "returned null instead of a text"),
        (NODE, node("return 7"), "returned number, which is no answer: 7"),
        (NODE, node("return ['x']"), "returned Array"),
        (NODE, node("return {reply: 'x'}"), "with `reply`, which is not known"),
        (NODE, node("return {text: 7}"), "is number, not a text"),
        (NODE, node("return {text: 'x', tool_calls: {}}"), "is Object, not a list"),
        (
            NODE,
            node("return {text: 'x', tool_calls: [{arguments: {}}]}"),
            "tool call 1 has no name",
        ),
        (NODE, node("return '\\ud800'"), "half of a surrogate pair"),
        (NODE, node("return new Map()"), "returned Map"),
    ];
    for (language, code, expected) in cases {
        let message = language.error(&code, &["Hi"]).await;
        assert!(message.contains(expected), "{code}\n{message}");
    }
}

#[tokio::test]
async fn an_agent_that_cannot_be_loaded_is_an_error_with_name_place_and_way_out() {
    let cases = [
        (
            PYTHON,
            "import no_such_thing\n",
            "it needs the module `no_such_thing` (app.py:1 in <module>), which is not installed for Python 3.",
        ),
        (
            PYTHON,
            "x = 1\ndef other(text): return text\n",
            "`app` (app.py) has no `agent`; it has `other`",
        ),
        (PYTHON, "def agent(:\n", "`app` cannot be imported: SyntaxError"),
        (
            PYTHON,
            "raise ValueError('no key')\n",
            "`app` cannot be imported: ValueError: no key (app.py:1 in <module>)",
        ),
        (PYTHON, "import sys\nsys.exit(3)\n", "exits when it is imported, with 3 (app.py:2"),
        (PYTHON, "agent = None\n", "`app.agent` is None"),
        (PYTHON, "agent = 'hello'\n", "`app.agent` is str"),
        (PYTHON, "def agent(text, deps): return text\n", "`app:agent` needs `deps`"),
        (
            PYTHON,
            "class agent:\n    def __init__(self, deps): pass\n",
            "needs `deps`; name a function without parameters",
        ),
        (
            PYTHON,
            "class A: pass\nagent = A()\n",
            "which is neither callable nor an agent of a known framework",
        ),
        (NODE, "import './gone.mjs';\n", "Cannot find module"),
        (NODE, "export const other = 1;\n", "exports no `agent`; it exports `other`"),
        (NODE, "export const agent = ;\n", "cannot be imported: SyntaxError"),
        (NODE, "throw new Error('no key');\n", "cannot be imported: Error: no key (app.mjs:1)"),
        (NODE, "export const agent = 7;\n", "is number, not a function, class or agent"),
        (NODE, "export const agent = {};\n", "has none of the methods `chat`"),
    ];
    for (language, code, expected) in cases {
        let message = language.error(code, &["Hi"]).await;
        assert!(message.contains("cannot be loaded: "), "{message}");
        assert!(message.contains(expected), "{code}\n{message}");
    }
    for (agent, expected) in [
        ("python: 'gone:agent'", "there is no module `gone` in"),
        ("python: 'gone/app.py:agent'", "there is no file"),
        ("node: './gone.mjs#agent'", "there is no file"),
        ("python: 'gone:agent', interpreter: [./no-python]", "no-python"),
    ] {
        let ended = world().conduct(&scenario(agent, &["Hi"], "{match: x}")).await;
        assert_eq!((ended.status(), ended.fault()), ("errored", "agent"), "{}", ended.message());
        assert!(ended.message().contains(expected), "{agent}: {}", ended.message());
    }
}

#[tokio::test]
async fn a_raised_error_is_told_with_its_last_line_and_place() {
    let python = "def inner():\n    raise KeyError('boom')\ndef agent(text):\n    return inner()";
    let message = PYTHON.error(python, &["Hi"]).await;
    assert!(message.contains("it raised KeyError: 'boom' (app.py:2 in inner)"), "{message}");
    let exits = PYTHON.error("import sys\ndef agent(text): sys.exit(4)", &["Hi"]).await;
    assert!(exits.contains("it called exit with 4"), "{exits}");
    let node =
        "export async function agent() { throw new TypeError('boom', {cause: new Error('why')}); }";
    let node = node.replace("agent()", "agent(text)");
    let message = NODE.error(&node, &["Hi"]).await;
    assert!(
        message.contains("it threw TypeError: boom; caused by Error: why (app.mjs:1)"),
        "{message}"
    );
}

#[tokio::test]
async fn calls_are_known_only_if_the_agent_lists_them() {
    let silent = PYTHON.conduct("def agent(text): return 'x'", &["Hi"], "{not: {call_tool: a}}");
    let silent = silent.await;
    assert_eq!(silent.status(), "errored");
    assert!(silent.message().contains("returned a text alone"), "{}", silent.message());
    let listed = "def agent(text): return {'text': 'x', 'tool_calls': [{'name': 'b', 'arguments': {'n': 1}, 'result': 2}]}";
    PYTHON
        .assert_passes(
            listed,
            &["Hi"],
            "{not: {call_tool: a}}, {call_tool: {name: b, with: {n: 1}}}",
        )
        .await;
    let listed = "export const agent = (text) => ({text: 'x', tool_calls: [{name: 'b', arguments: {n: 1}, result: 2}]});";
    NODE.assert_passes(
        listed,
        &["Hi"],
        "{not: {call_tool: a}}, {call_tool: {name: b, with: {n: 1}}}",
    )
    .await;
}

#[tokio::test]
async fn an_agent_can_ask_the_host_for_a_call() {
    let python = "def agent(messages, tools):\n    if messages[-1]['role'] == 'tool': return 'it is ' + messages[-1]['content']\n    return {'text': '', 'pending_tool_calls': [{'id': '1', 'name': tools[0]['name'], 'arguments': {}}]}";
    let node = "export const agent = ({messages, tools}) => messages.at(-1).role === 'tool' ? 'it is ' + messages.at(-1).content : {pending_tool_calls: [{id: '1', name: tools[0].name, arguments: {}}]};";
    let blind = "def agent(text): return {'text': '', 'pending_tool_calls': [{'id': '1', 'name': 'now', 'arguments': {}}]}";
    for (language, code, message) in [
        (PYTHON, python, ""),
        (NODE, node, ""),
        (PYTHON, blind, "it needs a parameter `messages` to see them"),
    ] {
        let world = world();
        world.write(language.file, code);
        let agent = format!("{}: {:?}", language.key, language.target);
        let text = scenario(&agent, &["What time is it?"], "{match: it is noon}, {call_tool: now}");
        let ended = world.conduct(&format!("tools: {{now: {{result: noon}}}}\n{text}")).await;
        assert_eq!(ended.status() == "passed", message.is_empty(), "{}", ended.message());
        assert!(ended.message().contains(message), "{}", ended.message());
    }
}

#[tokio::test]
async fn a_streamed_answer_has_a_time_to_its_first_part() {
    let python =
        "import time\ndef agent(text):\n    yield 'a'\n    time.sleep(0.05)\n    yield 'b'";
    let node = "export async function* agent(text) { yield 'a'; await new Promise((done) => setTimeout(done, 50)); yield 'b'; }";
    for (language, code) in [(PYTHON, python), (NODE, node)] {
        let ended = language.assert_passes(code, &["Hi"], "{match: '^ab$'}").await;
        let response = ended.events.iter().find_map(|body| match body {
            Body::AgentResponse(response) => Some(response),
            _ => None,
        });
        let response = response.unwrap();
        let (first, all) = (response.first_token_ms.unwrap(), response.duration_ms.unwrap());
        assert!(first.get() + 40.0 < all.get(), "{first:?} of {all:?}");
    }
}

/// 64 conversations at once, each with three turns and a word of its own; the answers hold all words of the conversation.
async fn serve_many(
    language: Language,
    code: &str,
) -> (Vec<FinishedConversation>, Vec<AgentOutputLine>) {
    let world = world();
    world.write(language.file, code);
    let examples: String = (0..64)
        .map(|n| {
            format!("  - {{it: c{n}, steps: [{{user: word{n}}}, {{user: and}}, {{user: word{n}, expect: [{{match: '^word{n} and word{n}$'}}]}}]}}\n")
        })
        .collect();
    let agent = format!("{}: {:?}, timeout: 30s", language.key, language.target);
    let text = format!("describe: A\nagent: {{{agent}}}\nexamples:\n{examples}");
    let examples = World::examples(&text);
    let registry = world.registry(&examples);
    let ended =
        join_all(examples.iter().map(|example| conduct_example(&registry, example, 1))).await;
    let printed = registry.agent_output().rest();
    registry.end(false).await;
    (ended, printed)
}

#[tokio::test]
async fn many_conversations_at_once_are_never_mixed() {
    let python_class = "import random, time, sys\nclass agent:\n    def __init__(self): self.said = []\n    def __call__(self, text):\n        self.said.append(text)\n        print('so', 'far:', *self.said)\n        time.sleep(random.random() / 100)\n        return ' '.join(self.said)";
    let python_async = "import asyncio, random\nasync def agent(messages):\n    said = ' '.join(m['content'] for m in messages if m['role'] == 'user')\n    await asyncio.sleep(random.random() / 100)\n    print('so far: ' + said, end='')\n    return said";
    let node = "export class agent { said = []; async chat(text) { this.said.push(text); await new Promise((done) => setTimeout(done, Math.random() * 10)); console.log('so far: ' + this.said.join(' ')); return this.said.join(' '); } }";
    for (language, code) in [(PYTHON, python_class), (PYTHON, python_async), (NODE, node)] {
        let (ended, printed) = serve_many(language, code).await;
        assert!(ended.iter().all(|one| one.status() == "passed"), "{}", ended[0].message());
        let own = printed.iter().filter(|line| line.text.starts_with("so far: word"));
        let mut owners: BTreeSet<(String, String)> = BTreeSet::new();
        for line in own {
            let word = line.text.split(' ').nth(2).unwrap().to_owned();
            let owner = line.attempt_id.as_ref().expect("a line without an owner");
            owners.insert((word, owner.example.to_string()));
        }
        assert_eq!(owners.len(), 64, "every word has one owner: {code}");
    }
}

/// What a module keeps is shared by the conversations of its process; on request each conversation imports it anew.
#[tokio::test]
async fn a_conversation_imports_its_agent_anew_on_request() {
    let python =
        "count = 0\ndef agent(text):\n    global count\n    count += 1\n    return f'call {count}'";
    let node = "let count = 0;\nexport const agent = (text) => `call ${++count}`;";
    for (language, code) in [(PYTHON, python), (NODE, node)] {
        for (more, expected) in [("", 3), (", process_per_conversation: true", 1)] {
            let world = world();
            world.write(language.file, code);
            let examples: String =
                (0..3).map(|n| format!("  - {{it: c{n}, steps: [{{user: a}}]}}\n")).collect();
            let agent = format!("{}: {:?}{more}", language.key, language.target);
            let text = format!("describe: A\nagent: {{{agent}}}\nexamples:\n{examples}");
            let (ended, _) = world.conduct_all(&text).await;
            let said: BTreeSet<&str> = ended.iter().flat_map(FinishedConversation::said).collect();
            assert_eq!(said.len(), expected, "{code}{more}: {said:?}");
        }
    }
}
