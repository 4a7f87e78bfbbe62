//! `proctor init`: a first scenario that runs as it is, and a configuration to grow from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Writes proctor.toml and scenarios/first.scenario.yaml, unless they are there. The scenario runs as it is, without a key:
  proctor init && proctor run
With --agent, an agent of that kind stands beside it:
  proctor init --agent python && proctor run")]
pub(crate) struct InitArguments {
    /// The folder [default: the current one]
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,

    /// Write an agent of this kind, too
    #[arg(long, value_name = "KIND")]
    agent: Option<AgentLanguage>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AgentLanguage {
    Python,
    Node,
    /// An agent in Ruby, with conversations in RSpec
    Ruby,
    /// A server with an HTTP interface of its own
    Http,
}

impl AgentLanguage {
    /// The files with the agent and its conversations.
    fn files(self) -> Vec<(&'static str, String)> {
        let scenario = |file: &str, agent: &str| {
            let text = AGENT_SCENARIO.replace("@FILE@", file).replace("@AGENT@", agent);
            ("scenarios/first.scenario.yaml", text)
        };
        let agent = |name: &'static str, text: &str| (name, text.to_owned());
        match self {
            Self::Python => vec![
                scenario("agent.py", "{ python: \"agent:agent\" }"),
                agent("agent.py", include_str!("init/agent.py")),
            ],
            Self::Node => vec![
                scenario("agent.mjs", "{ node: \"./agent.mjs#agent\" }"),
                agent("agent.mjs", include_str!("init/agent.mjs")),
            ],
            Self::Ruby => vec![
                agent("spec/first_agent_spec.rb", include_str!("init/first_agent_spec.rb")),
                agent("agent.rb", include_str!("init/agent.rb")),
            ],
            Self::Http => vec![
                scenario("server.py", SERVED_AGENT),
                agent("server.py", include_str!("init/server.py")),
            ],
        }
    }
}

/// A server that is started for the run and listens where it is told to.
const SERVED_AGENT: &str = r#"
  command: [python3, server.py, "${port}"] # leave it out if the server runs already, and put its address below
  http: { url: "http://127.0.0.1:${port}/chat", body: { messages: "${messages}" }, text: /reply }
  made_calls: /calls"#;

const AGENT_SCENARIO: &str = include_str!("init/agent.scenario.yaml");

const CONFIG: &str = include_str!("init/proctor.toml");
const SCENARIO: &str = include_str!("init/first.scenario.yaml");

pub(crate) fn run(
    arguments: &InitArguments,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let folder = arguments.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let scenario = || vec![("scenarios/first.scenario.yaml", SCENARIO.to_owned())];
    let files = arguments.agent.map_or_else(scenario, AgentLanguage::files);
    for (name, text) in [("proctor.toml", CONFIG.to_owned())].into_iter().chain(files) {
        let path = folder.join(name);
        if write_new(&path, &text)? {
            terminal.line(&format!("wrote {}", path.display()))?;
        } else {
            terminal.line(&format!("kept {} as it is", path.display()))?;
        }
    }
    terminal.line("\nNext:\n  proctor run          conducts the conversations\n  proctor show --full  shows what was said\n  proctor schema scenario > scenarios/scenario.schema.json   for completion in your editor")?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file unless it is there; says whether it did.
fn write_new(path: &Path, text: &str) -> Result<bool, CommandError> {
    let cannot = |error: std::io::Error| CommandError::io("write", path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).open(path) {
        Ok(mut file) => std::io::Write::write_all(&mut file, text.as_bytes()).map_err(cannot)?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(cannot(error)),
    }
    Ok(true)
}
