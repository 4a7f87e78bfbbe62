//! What a client is offered: which tools are listed, and in which form they answer.
//!
//! A client sends the list to its model with every request, so the list is what Proctor costs an agent that does not use it. The
//! short list therefore has the tools of the usual loop (start a run, wait, read why it failed) and two more, which describe and call
//! every other tool of the table. A tool that is not listed can also be called by its own name.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, Tool as Offered, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::error::{ToolError, kind};
use crate::table::{Group, Hints, Tool, Tools};

/// Which tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Those of the usual loop, and `tool_describe` and `tool_call` for the rest.
    Short,
    /// All of the table.
    Whole,
}

/// In which form a tool answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As JSON text, once. The list has no schemas of results.
    Text,
    /// As structured content, and as text for older clients. The list has the schemas of results.
    Structured,
}

/// What a client is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Which tools are listed.
    pub listing: Listing,
    /// In which form they answer.
    pub answers: Answers,
}

impl Default for Offer {
    /// What costs a model least.
    fn default() -> Self {
        Self { listing: Listing::Short, answers: Answers::Text }
    }
}

/// The tool that describes tools which are not listed.
pub(crate) const DESCRIBE: &str = "tool_describe";
/// The tool that calls tools which are not listed.
pub(crate) const CALL: &str = "tool_call";

/// The tools of the short list: start a run, wait for it, read why it failed.
const USUAL: &[&str] =
    &["run_start", "run_wait", "run_results", "show_example", "list_examples", "run_compare"];

/// A request for a tool: of the table, or a description of some.
pub(crate) enum Requested {
    /// A call of a tool of the table, with its parameters.
    Call(String, Value),
    /// The answer is known already.
    Answer(Value),
}

impl Offer {
    /// The list for a client.
    pub(crate) fn list(self, tools: &Tools) -> Vec<Offered> {
        let describe = |tool: &Tool| self.describe_tool(tool);
        if self.listing == Listing::Whole {
            return tools.all().iter().map(describe).collect();
        }
        let listed = tools.all().iter().filter(|tool| is_usual(tool));
        listed.map(describe).chain(tools_for_the_rest(tools)).collect()
    }

    /// What a call by this name means. A name that is not in the table is refused later, by the table.
    pub(crate) fn requested(
        self,
        name: &str,
        arguments: Value,
        tools: &Tools,
    ) -> Result<Requested, ToolError> {
        match (self.listing, name) {
            (Listing::Short, DESCRIBE) => describe(&arguments, tools).map(Requested::Answer),
            (Listing::Short, CALL) => wrapped_call(arguments),
            _ => Ok(Requested::Call(name.to_owned(), arguments)),
        }
    }

    /// A result in the form that was asked for.
    pub(crate) fn result(self, value: Value) -> CallToolResult {
        match self.answers {
            Answers::Structured => CallToolResult::structured(value),
            Answers::Text => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        }
    }

    fn describe_tool(self, tool: &Tool) -> Offered {
        let input = Arc::new(tool.input_schema.clone());
        let mut offered = Offered::new(tool.name, tool.description, input);
        offered.annotations = Some(annotations(tool.title, tool.hints));
        if self.answers == Answers::Structured {
            offered.title = Some(tool.title.to_owned());
            offered.output_schema = Some(Arc::new(tool.output_schema.clone()));
        }
        offered
    }
}

fn is_usual(tool: &Tool) -> bool {
    USUAL.contains(&tool.name)
}

fn annotations(title: &str, hints: Hints) -> ToolAnnotations {
    ToolAnnotations::with_title(title)
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world)
}

/// The two tools through which the rest of the table is reached.
fn tools_for_the_rest(tools: &Tools) -> [Offered; 2] {
    let describe = format!(
        "Describe tools that are not listed, with the schemas of their parameters: all of a group, or one by name. Groups: {}. Call them with {CALL}.",
        groups(tools)
    );
    let schema = object(json!({
        "group": { "type": "string", "description": "A group: its tools, one line each." },
        "name": { "type": "string", "description": "A tool: its whole description and schema." },
    }));
    let mut describing = Offered::new(DESCRIBE, describe, Arc::new(schema));
    describing.annotations = Some(annotations("Describe tools", Hints::READS));

    let call = "Call a tool that is not listed, by its name and with its parameters.";
    let mut schema = object(json!({
        "name": { "type": "string" },
        "arguments": { "type": "object" },
    }));
    schema.insert("required".to_owned(), json!(["name"]));
    let mut calling = Offered::new(CALL, call, Arc::new(schema));
    calling.annotations = Some(annotations("Call a tool", widest_hints(tools)));
    [describing, calling]
}

fn object(properties: Value) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema
}

/// What holds for a call whose tool is not known yet: the worst of all tools.
fn widest_hints(tools: &Tools) -> Hints {
    let all = || tools.all().iter().map(|tool| tool.hints);
    Hints {
        read_only: all().all(|hints| hints.read_only),
        destructive: all().any(|hints| hints.destructive),
        idempotent: all().all(|hints| hints.idempotent),
        open_world: all().any(|hints| hints.open_world),
    }
}

/// The groups that have tools beside the listed ones, with what they are for.
fn groups(tools: &Tools) -> String {
    let named = Group::ALL.iter().filter_map(|group| {
        let rest =
            tools.all().iter().filter(|tool| tool.group == *group && !is_usual(tool)).count();
        (rest > 0).then(|| format!("{} ({})", group.name(), group.purpose()))
    });
    named.collect::<Vec<_>>().join(", ")
}

fn describe(arguments: &Value, tools: &Tools) -> Result<Value, ToolError> {
    let word = |key: &str| arguments.get(key).and_then(Value::as_str);
    if let Some(name) = word("name") {
        let tool = tools.get(name)?;
        return Ok(json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        }));
    }
    let group = match word("group") {
        Some(name) => Some(group_named(name)?),
        None => None,
    };
    let chosen = tools.all().iter().filter(|tool| match group {
        Some(group) => tool.group == group,
        None => !is_usual(tool),
    });
    let lines = chosen.map(|tool| {
        let parameters: Vec<&String> = parameters(tool).collect();
        json!({ "name": tool.name, "title": tool.title, "parameters": parameters })
    });
    Ok(json!({
        "tools": lines.collect::<Vec<_>>(),
        "hint": format!("{DESCRIBE} with `name` gives the whole description of one"),
    }))
}

fn parameters(tool: &Tool) -> impl Iterator<Item = &String> {
    tool.input_schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

fn group_named(name: &str) -> Result<Group, ToolError> {
    let found = Group::ALL.into_iter().find(|group| group.name() == name);
    found.ok_or_else(|| {
        let names = Group::ALL.map(Group::name).join(", ");
        let problem = format_args!("there is no group `{name}`");
        ToolError::new(kind::INVALID_ARGUMENT, problem).hint(format!("groups: {names}"))
    })
}

fn wrapped_call(arguments: Value) -> Result<Requested, ToolError> {
    let Value::Object(mut arguments) = arguments else {
        return Err(missing_name());
    };
    let Some(Value::String(name)) = arguments.remove("name") else { return Err(missing_name()) };
    Ok(Requested::Call(name, arguments.remove("arguments").unwrap_or(Value::Null)))
}

fn missing_name() -> ToolError {
    ToolError::new(kind::INVALID_ARGUMENT, "`name` is missing: which tool is to be called?")
        .hint(format!("{DESCRIBE} lists the tools"))
}
