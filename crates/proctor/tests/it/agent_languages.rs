//! Agents in Python and JavaScript, through the program: the samples of the page, what `init` writes, and processes that hang or die.

use std::path::Path;

use crate::env::{TestEnv, repository};

/// The blocks of a page that say which file they are.
fn files_of(page: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    let file = |block: &str| {
        let (_, code) = block.split_once('\n')?;
        let name = code.lines().next()?.split_once("file: ")?.1;
        Some((name.trim().to_owned(), code.to_owned()))
    };
    blocks.filter_map(file).collect()
}

#[test]
fn the_samples_of_the_page_pass() {
    let env = TestEnv::new();
    let files = files_of(&repository().join("docs/agents-in-python-and-javascript.md"));
    assert_eq!(files.len(), 4);
    for (name, text) in &files {
        env.write(name, text);
    }
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(2);
    env.assert_no_process_left();
}

/// The samples in a project with the packages that the tests install, and Node 22 for those in JavaScript. Frameworks take long to load on a
/// busy machine.
fn project_of_frameworks() -> (TestEnv, Vec<(String, String)>) {
    let env = TestEnv::new();
    let tools = repository().join("target/tools");
    for (packages, place) in [("agents", ".venv"), ("agents-node/node_modules", "node_modules")] {
        std::os::unix::fs::symlink(tools.join(packages), env.project.join(place)).unwrap();
    }
    let node = tools.join("conformance/node_modules/.bin/node");
    let files = files_of(&repository().join("docs/frameworks.md"));
    for (name, text) in &files {
        let text = text
            .replace("  node: ", &format!("  interpreter: [{:?}]\n  node: ", node.display()))
            .replace("agent:\n", "agent:\n  timeout: 180s\n")
            .replace("agent: { ", "agent: { timeout: 180s, ");
        env.write(name, &text);
    }
    (env, files)
}

#[test]
fn the_samples_of_frameworks_pass() {
    let (env, files) = project_of_frameworks();
    let page = std::fs::read_to_string(repository().join("docs/frameworks.md")).unwrap();
    let sections = page.matches("\n## ").count();
    assert_eq!(files.len(), 2 * sections, "each section has an agent and a scenario");
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(sections);
    assert!(!ran.terminal().contains("made no call to its model endpoint"), "{}", ran.terminal());
    // Each of them can fail: another call than the one that was made, another answer.
    for (from, to) in [("day: Monday } } }", "day: Sunday } } }"), ("match: nine", "match: ten")] {
        for (name, text) in files
            .iter()
            .filter(|(name, _)| Path::new(name).extension().is_some_and(|end| end == "yaml"))
        {
            let written = env.read(name);
            assert!(text.contains(from), "{name}");
            env.write(name, &written.replace(from, to));
        }
        assert_eq!(env.run(&["run"]).code, Some(1));
        assert_eq!(env.recorded().statuses()["failed"], sections, "{from}");
    }
    env.assert_no_process_left();
}

#[test]
fn the_sample_of_traces_passes() {
    let env = TestEnv::new();
    let files = files_of(&repository().join("docs/traces.md"));
    assert_eq!(files.len(), 2);
    for (name, text) in &files {
        env.write(name, text);
    }
    let packages = repository().join("target/tools/agents");
    std::os::unix::fs::symlink(packages, env.project.join(".venv")).unwrap();
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(1);
    // Without spans nothing is known of the calls.
    let silent = files[1].1.replace(", traces: true", "");
    env.write(&files[1].0, &silent);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    env.assert_no_process_left();
}

#[test]
fn the_samples_of_the_page_on_the_model_endpoint_pass() {
    let env = TestEnv::new();
    let files = files_of(&repository().join("docs/model-endpoint.md"));
    assert_eq!(files.len(), 4);
    for (name, text) in &files {
        env.write(name, text);
    }
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(2);
    env.assert_no_process_left();
    // A script that is used up is no pass, and what the prompt says is held to.
    let (name, text) = &files[1];
    env.write(name, &text.replace("        - We open at nine.\n", ""));
    let ran = env.run(&["run", name.as_str()]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.terminal().contains("all of its answers are used"), "{}", ran.terminal());
    env.write(name, &text.replace("prompt: \"tool: 9-17\"", "prompt: \"tool: 8-12\""));
    let ran = env.run(&["run", name.as_str()]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.terminal().contains("tool: 8-12"), "{}", ran.terminal());
}

#[test]
fn what_init_writes_passes() {
    for language in ["python", "node"] {
        let env = TestEnv::new();
        let made = env.run(&["init", "--agent", language]);
        assert_eq!(made.code, Some(0), "{}", made.terminal());
        let ran = env.run(&["run"]);
        assert_eq!(ran.code, Some(0), "{language}: {}", ran.terminal());
        env.recorded().assert_accounted(2);
        let scenario = env.read("scenarios/first.scenario.yaml");
        env.write("scenarios/first.scenario.yaml", &scenario.replace("\"19:00\"", "\"21:00\""));
        assert_eq!(env.run(&["run"]).code, Some(1), "a wrong answer fails");
    }
}

/// Prints, answers, and does what it is told: `raise`, `exit`, `die`, `sleep` (its thread alone), `block` (the event loop).
const AGENT: &str = r#"
import asyncio, os, sys, time
class agent:
    async def chat(self, text):
        print("got", text)
        if text == "raise": raise ValueError("I will not")
        if text == "exit": sys.exit(3)
        if text == "die": os._exit(4)
        if text == "block": time.sleep(60)
        await asyncio.sleep(60 if text == "sleep" else 0.2)
        return "ok " + text
"#;

fn project(words: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    env.write("app.py", AGENT);
    let example = |word: &&str| {
        format!("  - {{it: '{word}', steps: [{{user: {word}, expect: [{{match: ok {word}}}]}}]}}\n")
    };
    let examples: String = words.iter().map(example).collect();
    let agent = "agent: {python: 'app:agent', timeout: 2s}";
    env.write("a.scenario.yaml", &format!("describe: A\n{agent}\nexamples:\n{examples}"));
    env
}

#[test]
fn a_raised_error_an_exit_and_a_wait_cost_one_conversation() {
    let env = project(&["a", "raise", "b", "exit", "c", "sleep", "d"]);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(7);
    assert_eq!(recorded.statuses()["passed"], 4, "{}", ran.terminal());
    assert_eq!(recorded.statuses()["errored"], 3, "{}", ran.terminal());
    assert!(
        ran.stdout.contains("it raised ValueError: I will not (app.py:6 in chat)"),
        "{}",
        ran.terminal()
    );
    assert!(ran.stdout.contains("did not answer within 2s"), "{}", ran.terminal());
    assert_eq!(recorded.output("A a", "stdout"), ["got a"]);
    let stderr = recorded.output("A raise", "stderr").join("\n");
    assert!(stderr.ends_with("ValueError: I will not"), "{stderr}");
    env.assert_no_process_left();
}

#[test]
fn a_blocked_process_is_ended_and_the_others_in_it_are_run_again() {
    let env = project(&["a", "block", "b"]);
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(3);
    assert_eq!(recorded.result("A block").status, "errored");
    assert!(ran.stdout.contains("it was blocked, and its process was ended"), "{}", ran.terminal());
    let ended = env.run(&["run", "-e", "a"]);
    assert_eq!(ended.code, Some(0), "{}", ended.terminal());
    env.assert_no_process_left();
}

#[test]
fn typescript_is_read_or_the_error_says_what_to_do() {
    let env = TestEnv::new();
    env.write("agent.ts", "export const agent = (text: string): string => `ok ${text}`;\n");
    let run = |interpreter: &str| {
        let agent = format!("agent: {{node: './agent.ts#agent', interpreter: [{interpreter}]}}");
        let example = "examples: [{it: x, steps: [{user: a, expect: [{match: ok a}]}]}]";
        env.write("a.scenario.yaml", &format!("describe: A\n{agent}\n{example}\n"));
        env.run(&["run"])
    };
    let newer = repository().join("target/tools/conformance/node_modules/.bin/node");
    let ran = run(&newer.display().to_string());
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let ran = run(&format!("{}, --no-experimental-strip-types", newer.display()));
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("npm install --save-dev tsx"), "{}", ran.terminal());
}

/// The real package, with TypeScript that Node itself cannot read, in a package whose TypeScript is `CommonJS` and in one of modules.
#[test]
fn tsx_is_used_if_the_project_has_it() {
    let env = TestEnv::new();
    let code = "import { loud } from './loud.ts';\nenum Mood { Good = 'ok' }\nexport const agent = (text: string): string => `${Mood.Good} ${loud(text)}`;\nexport default agent;\n";
    env.write("agent.ts", code);
    env.write("loud.ts", "export const loud = (text: string): string => text.toUpperCase();\n");
    let tools = repository().join("target/tools");
    let newer = tools.join("conformance/node_modules/.bin/node").display().to_string();
    let run = |interpreter: &str, target: &str| {
        let agent = format!("agent: {{node: '{target}', interpreter: [{interpreter}]}}");
        let example = "examples: [{it: x, steps: [{user: a, expect: [{match: ok A}]}]}]";
        env.write("a.scenario.yaml", &format!("describe: A\n{agent}\n{example}\n"));
        env.run(&["run"])
    };
    assert_eq!(run(&newer, "./agent.ts#agent").code, Some(1), "Node cannot read it");
    let packages = tools.join("agents-node/node_modules");
    std::os::unix::fs::symlink(packages, env.project.join("node_modules")).unwrap();
    for package in ["{}", r#"{"type": "module"}"#] {
        env.write("package.json", package);
        // The machine's Node is an older one in most places.
        for interpreter in [newer.as_str(), "node"] {
            for target in ["./agent.ts#agent", "./agent.ts"] {
                let ran = run(interpreter, target);
                assert_eq!(ran.code, Some(0), "{package} {interpreter}: {}", ran.terminal());
            }
        }
    }
}
