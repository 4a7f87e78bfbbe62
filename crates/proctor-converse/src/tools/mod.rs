//! Tools that the host calls for the agent: what the scenario says, a command, or a tool server.

mod mcp;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::{CommandWords, PartySpecs, Sandbox, ToolCall, ToolOutcome, ToolStub};
use proctor_llm::{LauncherWords, Program, ToolSpec};
use proctor_process::Guard;
use proctor_redact::Secret;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::Instant;

pub use self::mcp::McpServer;
pub(crate) use self::mcp::{McpProgramSpec, McpTransport};
use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::Failure;

/// How long a tool that is a command may take.
const TOOL_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BYTES: usize = 4 << 20;

/// The tools of the host.
pub trait Tools: Send + Sync {
    /// Names, descriptions and schemas of the tools.
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[ToolSpec]>, Failure>>;

    /// Calls one.
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>>;
}

/// The tools of a scenario: its own first, then those of its servers in the order of their names.
pub struct ScenarioTools {
    parties: Arc<PartySpecs>,
    servers: Vec<Arc<McpServer>>,
    folder: PathBuf,
    guard: Guard,
    fill: FillPlaceholders,
    env: ProgramEnv,
    confine: Option<ConfineCommand>,
    specs: OnceCell<Arc<[ToolSpec]>>,
}

/// Variables that programs get beside those that all may have.
pub(crate) type ProgramEnv = Arc<[(String, Secret)]>;

/// Gives what starts a command confined: its own `sandbox`, what messages call it, and its words.
pub(crate) type ConfineCommand = Arc<
    dyn Fn(Option<&Sandbox>, String, &[String]) -> Result<Option<LauncherWords>, Failure>
        + Send
        + Sync,
>;

/// Fills in the placeholders of a command.
pub(crate) type FillPlaceholders =
    Arc<dyn Fn(&CommandWords) -> Result<CommandWords, Failure> + Send + Sync>;

impl ScenarioTools {
    pub(crate) fn new(
        parties: Arc<PartySpecs>,
        servers: Vec<Arc<McpServer>>,
        folder: PathBuf,
        guard: Guard,
        fill: FillPlaceholders,
    ) -> Self {
        let (env, specs) = (Arc::default(), OnceCell::new());
        Self { parties, servers, folder, guard, fill, env, confine: None, specs }
    }

    /// The same, with variables that the commands of tools get.
    pub(crate) fn with_env(mut self, env: ProgramEnv) -> Self {
        self.env = env;
        self
    }

    /// The same, with commands confined.
    pub(crate) fn with_sandbox(mut self, confine: ConfineCommand) -> Self {
        self.confine = Some(confine);
        self
    }

    async fn list_specs(&self) -> Result<Arc<[ToolSpec]>, Failure> {
        let mut specs: Vec<ToolSpec> =
            self.parties.tools.iter().map(|(name, stubs)| stub_spec(name, &stubs.0)).collect();
        for server in &self.servers {
            for tool in server.tools().await?.iter() {
                if !specs.iter().any(|known| known.name == tool.name) {
                    specs.push(tool.clone());
                }
            }
        }
        Ok(specs.into())
    }

    async fn execute(&self, call: &ToolCall) -> Result<ToolOutcome, Failure> {
        let began = Instant::now();
        let taken = |result: Result<Value, String>| ToolOutcome {
            result,
            duration_ms: Some(began.elapsed().as_secs_f64() * 1000.0),
            metadata: None,
        };
        if let Some(stubs) = self.parties.tools.get(&call.name) {
            let stub = stubs.0.iter().find(|stub| stub.applies(&call.arguments));
            let Some(stub) = stub else {
                let message = format!(
                    "the scenario defines no answer of `{}` for the arguments {}; add one, or one without `with`",
                    call.name, call.arguments
                );
                return Err(Failure::party("NoAnswer", message));
            };
            return self.stub_outcome(stub, call).await.map(taken);
        }
        for server in &self.servers {
            if server.tools().await?.iter().any(|tool| tool.name == call.name) {
                return server.call(&call.name, &call.arguments).await.map(taken);
            }
        }
        // The tool does not exist. The agent gets an error and can recover.
        Ok(taken(Err(format!("there is no tool `{}`", call.name))))
    }

    async fn stub_outcome(
        &self,
        stub: &ToolStub,
        call: &ToolCall,
    ) -> Result<Result<Value, String>, Failure> {
        if let Some(delay) = stub.delay {
            tokio::time::sleep(delay.0).await;
        }
        if let Some(command) = &stub.command {
            return self.run(&(self.fill)(command)?, stub.sandbox.as_ref(), call).await;
        }
        Ok(match &stub.error {
            Some(error) => Err(error.clone()),
            None => Ok(stub.result.clone().unwrap_or_default()),
        })
    }

    /// Exit code 0 is a result, anything else an error that the agent sees; not starting is ours.
    async fn run(
        &self,
        command: &CommandWords,
        sandbox: Option<&Sandbox>,
        call: &ToolCall,
    ) -> Result<Result<Value, String>, Failure> {
        let argv = command.argv();
        let name = format!("the tool `{}`", call.name);
        let launcher = self.confine.as_ref().map(|confine| confine(sandbox, name, &argv));
        let launcher = launcher.transpose()?.flatten();
        let program = Program {
            argv: &argv,
            launcher: launcher.as_ref(),
            folder: Some(&self.folder),
            env: &self.env,
            guard: &self.guard,
            timeout: TOOL_TIMEOUT,
            max_bytes: MAX_BYTES,
        };
        let input = json!({"tool": call.name, "arguments": call.arguments});
        let output = program.run(&input.to_string()).await?;
        if let Some(failure) = output.failure() {
            return Ok(Err(output.last_output_lines().unwrap_or(failure)));
        }
        let text = output.stdout.trim_end();
        Ok(Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())))
    }
}

/// Description and schema of a tool of the scenario.
pub(crate) fn stub_spec(name: &str, stubs: &[ToolStub]) -> ToolSpec {
    let described = stubs.iter().find_map(|stub| stub.description.clone());
    let parameters = stubs.iter().find_map(|stub| stub.parameters.clone());
    ToolSpec {
        name: name.to_owned(),
        description: described.unwrap_or_default(),
        input_schema: parameters.unwrap_or_else(|| json!({"type": "object"})),
    }
}

impl Tools for ScenarioTools {
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[ToolSpec]>, Failure>> {
        Box::pin(async { self.specs.get_or_try_init(|| self.list_specs()).await.cloned() })
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>> {
        Box::pin(self.execute(call))
    }
}
