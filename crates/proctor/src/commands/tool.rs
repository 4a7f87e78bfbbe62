//! `proctor tool`: what an agent calls over MCP, from a shell.

use std::io::Read as _;
use std::process::ExitCode;

use proctor_mcp::{Context, Tool, ToolError, Tools};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::tools;
use crate::cli::agents::ToolArguments;
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::terminal::Terminal;

/// How much is read from standard input.
const LARGEST: u64 = 16 << 20;

pub(crate) fn run(
    arguments: &ToolArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let tools = tools::open(cli, None, terminal)?;
    let outcome = match (&arguments.name, arguments.list) {
        (Some(name), false) => call(&tools, name, &arguments.parameters),
        (Some(name), true) => tools.get(name).map(|tool| json!(Described::new(tool))),
        (None, _) => return list(&tools, arguments.format, terminal),
    };
    match outcome {
        Ok(value) => {
            terminal.json(&value)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let text =
                serde_json::to_string_pretty(&error.to_json()).map_err(std::io::Error::from)?;
            terminal.note(&text);
            Ok(ExitCode::from(1))
        }
    }
}

fn call(tools: &Tools, name: &str, parameters: &str) -> Result<Value, ToolError> {
    tools.get(name)?;
    let arguments = read(parameters)?;
    let runtime = tools::runtime().map_err(ToolError::io)?;
    let context = Context::patient();
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
            name: &tool.name,
            title: &tool.title,
            description: &tool.description,
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
