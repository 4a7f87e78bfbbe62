//! `proctor tool`: what an agent calls over MCP, from a shell.

use std::io::Read as _;
use std::process::ExitCode;

use clap::Args;
use proctor_mcp::{CallContext, Tool, ToolError, Tools};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::agent_tools;
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor tool --list                            every tool with what it is for
  proctor tool --list ghap_create                what one of them takes and gives, as JSON Schema
  proctor tool ghap_search '{\"query\": \"cache\"}'  call one
  proctor tool ghap_create - < entry.json        the same with parameters from standard input

The structured result is printed as JSON on standard output. A tool error is printed as JSON on standard error,
and the exit code is 1. Ctrl-C cancels the call: the run of a workspace is killed, what it did is kept and printed,
and the exit code is 130.")]
pub(crate) struct ToolArguments {
    /// The tool
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub(crate) name: Option<String>,

    /// Its parameters: a JSON object, or `-` to read it from standard input
    #[arg(value_name = "JSON", default_value = "{}", hide_default_value = true)]
    pub(crate) parameters: String,

    /// List the tools; with a name, print its schemas
    #[arg(long)]
    pub(crate) list: bool,

    /// What `--list` prints
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// How much is read from standard input.
const LARGEST: u64 = 16 << 20;
/// 128 + SIGINT, as a shell reports it.
const INTERRUPTED: u8 = 130;

pub(crate) fn run(
    arguments: &ToolArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let tools = agent_tools::open(cli, None, terminal)?;
    let context = CallContext::for_shell();
    let interrupted = context.cancel.clone();
    let outcome = match (&arguments.name, arguments.list) {
        (Some(name), false) => call(&tools, name, &arguments.parameters, context),
        (Some(name), true) => tools.get(name).map(|tool| json!(Described::new(tool))),
        (None, _) => return list(&tools, arguments.format, terminal),
    };
    let code = match &outcome {
        _ if interrupted.is_cancelled() => INTERRUPTED,
        Ok(_) => 0,
        Err(_) => 1,
    };
    match outcome {
        Ok(value) => terminal.json(&value)?,
        Err(error) => {
            let text =
                serde_json::to_string_pretty(&error.to_json()).map_err(std::io::Error::from)?;
            terminal.note(&text);
        }
    }
    Ok(ExitCode::from(code))
}

/// Calls a tool. Ctrl-C cancels the context, and the call with it.
fn call(
    tools: &Tools,
    name: &str,
    parameters: &str,
    context: CallContext,
) -> Result<Value, ToolError> {
    tools.get(name)?;
    let arguments = read(parameters)?;
    let runtime = agent_tools::runtime().map_err(ToolError::io)?;
    let cancel = context.cancel.clone();
    let outcome = runtime.block_on(async {
        // Ctrl-C ends the call in order: a workspace run is killed, and what it did is kept.
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                cancel.cancel();
            }
        });
        tools.call(name, arguments, context).await
    });
    runtime.shutdown_background();
    outcome
}

fn read(parameters: &str) -> Result<Value, ToolError> {
    let mut text = parameters.to_owned();
    if parameters == "-" {
        text.clear();
        let input = std::io::stdin().lock();
        input.take(LARGEST).read_to_string(&mut text).map_err(|error| {
            ToolError::invalid(format_args!("the parameters cannot be read: {error}"))
        })?;
    }
    serde_json::from_str(&text).map_err(|error| {
        ToolError::invalid(format_args!("the parameters are not JSON: {error}"))
            .hint("write them as one object in single quotes, for example '{\"query\": \"cache\"}'")
    })
}

/// A tool as data.
#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    title: &'a str,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
    output_schema: &'a Map<String, Value>,
}

impl<'a> Described<'a> {
    fn new(tool: &'a Tool) -> Self {
        Self {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            input_schema: &tool.input_schema,
            output_schema: &tool.output_schema,
        }
    }
}

fn list(tools: &Tools, format: Format, terminal: &mut Terminal) -> Result<ExitCode, CommandError> {
    match format {
        Format::Json => {
            let all: Vec<Described<'_>> = tools.all().iter().map(Described::new).collect();
            terminal.json(&all)?;
        }
        Format::Text => {
            let width = tools.all().iter().map(|tool| tool.name.len()).max().unwrap_or(0);
            let lines = tools.all().iter();
            let text: String =
                lines.map(|tool| format!("{:<width$}  {}\n", tool.name, tool.title)).collect();
            terminal.print(&text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
