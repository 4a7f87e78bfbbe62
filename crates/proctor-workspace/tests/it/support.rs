//! What the tests share: tools over folders of their own, the real orchestrator, a look at the process table.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proctor_process::GuardCommand;
use proctor_sandbox::Launcher;
use proctor_tools::ToolError;
use proctor_workspace::{CallContext, Config, Limits, Program, Sandbox, Tools, agent_tools};
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_proctor-test-workspace");
/// Far above what anything here takes, even on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Tools with a state and a temporary folder of their own.
pub(crate) struct TestWorkspaces {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) tools: Tools,
}

/// The real `ralph`: configured, installed by `./check`, or on the path.
pub(crate) fn ralph() -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let installed = repository.join("target/tools/ralph-2.10.1/bin/ralph");
    let path = std::env::var_os("PATH").unwrap();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("ralph"));
    let configured = std::env::var_os("PROCTOR_RALPH").map(PathBuf::from);
    let found =
        configured.into_iter().chain([installed]).chain(on_path).find(|path| path.is_file());
    let found = found.expect("no ralph: run ./check once, it installs it, or set PROCTOR_RALPH");
    found.canonicalize().unwrap()
}

pub(crate) fn config(folder: &Path) -> Config {
    let (state, temp) = (folder.join("state"), folder.join("temp"));
    std::fs::create_dir_all(&temp).unwrap();
    let words = ["detached".as_ref(), state.as_os_str(), temp.as_os_str(), ralph().as_os_str()]
        .map(|word| word.to_str().unwrap().to_owned());
    let detached = words.to_vec();
    Config {
        guard: GuardCommand::new(PROGRAM, ["guard"]),
        mock: Program::new(PROGRAM, ["mock"]),
        sandbox: Sandbox::new(Some(Launcher::new(PROGRAM, ["sandbox"]))),
        detached: Some(Program { path: PROGRAM.into(), args: detached }),
        ralph: Some(ralph()),
        path: std::env::var_os("PATH").unwrap(),
        inheritable: [("SECRET_OF_SERVER".to_owned(), "hush".to_owned())].into(),
        limits: Limits::default(),
        redactor: proctor_redact::Redactor::default(),
        state,
        temp,
    }
}

impl TestWorkspaces {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(folder.path());
        change(&mut config);
        Self { tools: Tools::new(config), folder }
    }

    pub(crate) async fn try_call(&self, name: &str, parameters: Value) -> Result<Value, ToolError> {
        let answer = call(&self.tools, name, parameters, CallContext::default());
        tokio::time::timeout(TEST_TIMEOUT, answer).await.expect("this takes too long")
    }

    pub(crate) async fn call(&self, name: &str, parameters: Value) -> Value {
        self.try_call(name, parameters).await.unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    pub(crate) async fn setup(&self, id: &str, mut more: Value) -> PathBuf {
        more["workspace_id"] = json!(id);
        let result = self.call("test_setup", more).await;
        PathBuf::from(result["workspace_path"].as_str().unwrap())
    }

    /// Runs a task against responses.
    pub(crate) async fn run(&self, id: &str, responses: Value, mut more: Value) -> Value {
        more["workspace_id"] = json!(id);
        more["task"] = json!("Do the thing");
        more["mock_responses"] = responses;
        self.call("test_run", more).await
    }

    /// The results of assertions, by whether they hold.
    pub(crate) async fn holds(&self, id: &str, assertions: Value) -> Vec<bool> {
        let judged =
            self.call("test_assert", json!({"workspace_id": id, "assertions": assertions})).await;
        let results = judged["results"].as_array().unwrap();
        results.iter().map(|result| result["passed"].as_bool().unwrap()).collect()
    }

    /// All assertions hold; a failure shows the results.
    pub(crate) async fn assert(&self, id: &str, assertions: Value) {
        let judged =
            self.call("test_assert", json!({"workspace_id": id, "assertions": assertions})).await;
        assert_eq!(judged["passed"], true, "{judged:#}");
    }
}

/// A response that emits an event.
pub(crate) fn emits(topic: &str, payload: &str) -> Value {
    json!({"output": format!("<event topic=\"{topic}\">{payload}</event>")})
}

/// Build evidence that ralph accepts.
pub(crate) const EVIDENCE: &str = "tests: pass\nlint: pass\ntypecheck: pass\naudit: pass\ncoverage: pass\n\
                                   complexity: 5\nduplication: pass";

/// Planner, builder, planner: a whole run that completes.
pub(crate) fn whole_run() -> Value {
    json!([emits("build.task", "X"), emits("build.done", EVIDENCE), emits("LOOP_COMPLETE", "done")])
}

pub(crate) fn token() -> String {
    format!("token-{}", uuid::Uuid::new_v4().simple())
}

/// Living processes whose command line contains `token`.
pub(crate) fn alive_with(token: &str) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(token).then(|| format!("{pid} {line}"))
    })
    .collect()
}

/// Waits for a condition that cannot wake us.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "still not true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Calls a tool as an agent does.
pub(crate) async fn call(
    tools: &Tools,
    name: &str,
    parameters: Value,
    context: CallContext,
) -> Result<Value, ToolError> {
    let tool = agent_tools().into_iter().find(|tool| tool.name == name).expect("a known tool");
    tool.call(tools.clone(), parameters, context).await
}

/// What an error says to an agent.
pub(crate) fn message_and_hints(error: &ToolError) -> String {
    format!("{} {}", error.message, error.hints.join(" "))
}
