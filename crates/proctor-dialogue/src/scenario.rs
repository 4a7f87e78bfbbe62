//! A scenario file in use: parsed, checked, inherited and expanded into examples with stable ids.
//!
//! Groups hand down what they say; inner groups win. Rows that stand in files are asked of the caller,
//! who alone reads files.

mod check;
mod expand;
mod needs;
mod open_ended;
mod placeholders;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use proctor_events::{StableId, StableIds};
use serde_json::Value;

pub use self::open_ended::{ExampleOrigin, OpenEnded};
use crate::format::{
    AgentSpec, Assertion, Criterion, Group, JudgeSettings, ModelEndpoint, ModelSpec, OneOrMany,
    Ordered, Sandbox, ServerSpec, Simulator, Step, ToolStub, Topic, whole_number_ranges,
};
use crate::rows::{Row, RowsError};
use crate::transcript::ToolCall;
use proctor_yaml::{At, FileProblem, Finding, Findings, read_node, read_yaml};

/// A scenario file that has been read and found to make sense.
#[derive(Debug, Clone)]
pub struct ScenarioFile {
    /// Its name, as it stands in ids and locations.
    pub name: String,
    /// What it says.
    pub root: Group,
    text: String,
}

/// The descriptions of those who take part in the conversations of a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartySpecs {
    /// The agent under test; the configuration's when absent.
    pub agent: Option<At<AgentSpec>>,
    /// The model behind the agent, where group or example say it.
    pub agent_model: Option<At<ModelEndpoint>>,
    /// Models by name.
    pub models: BTreeMap<String, At<ModelSpec>>,
    /// How the judge is asked.
    pub judge: JudgeSettings,
    /// The model that plays the user.
    pub simulator: Option<At<ModelSpec>>,
    /// Tools by name.
    pub tools: BTreeMap<String, OneOrMany<ToolStub>>,
    /// Whether the scenario says that there are no tools, neither the host's nor the agent's own.
    pub no_tools: bool,
    /// Servers of further tools.
    pub mcp: BTreeMap<String, At<ServerSpec>>,
    /// How programs are confined that do not say it themselves.
    pub sandbox: Option<Sandbox>,
}

/// Which group an example stands in: the examples of one group have the same parties.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// The file's name.
    pub file: String,
    /// The group's number in the file, in order of definition; the root is 1.
    pub number: usize,
}

/// One example, ready to be run.
#[derive(Debug, Clone)]
pub struct Example {
    /// Its stable id.
    pub id: StableId,
    /// The file it stands in.
    pub file: String,
    /// The line it stands on.
    pub line: u32,
    /// The lines on which the groups and the set around it begin, outermost first.
    pub groups: Vec<u32>,
    /// The chain of descriptions, outermost first.
    pub path: Vec<String>,
    /// Its tags, those of the groups around it first.
    pub tags: Vec<String>,
    /// Why it is not run, if it is not.
    pub pending: Option<String>,
    /// How often it is run, where the file says so.
    pub repeat: Option<u32>,
    /// The share of repeats that must pass, where the file says so.
    pub pass_rate: Option<f64>,
    /// The innermost group around it.
    pub group: GroupKey,
    /// Who takes part; the same for all examples of the group.
    pub parties: Arc<PartySpecs>,
    /// The simulated user, before what a simulation itself says.
    pub simulator: Arc<Simulator>,
    /// Criteria by name.
    pub criteria: Arc<Ordered<Criterion>>,
    /// Topics by name; the first is where the conversation begins.
    pub topics: Arc<Ordered<Topic>>,
    /// The steps of the conversation, in order.
    pub steps: Vec<Step>,
    /// Assertions about the whole conversation that decide.
    pub expect: Vec<At<Assertion>>,
    /// Assertions about the whole conversation that are recorded.
    pub evaluate: Vec<At<Assertion>>,
    /// The row of a scenario set, an object.
    pub row: Option<Arc<Value>>,
}

impl Example {
    /// What the scenario says a tool answers: the first stub whose arguments match.
    pub fn stub(&self, call: &ToolCall) -> Option<&ToolStub> {
        self.parties.tools.get(&call.name)?.0.iter().find(|stub| stub.applies(&call.arguments))
    }

    /// `file:line`.
    pub fn location(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// Reads and checks a scenario file. All problems that can be seen at once are reported at once.
pub fn parse(text: &str, file_name: &str) -> Result<ScenarioFile, Vec<FileProblem>> {
    let mut findings = Findings::default();
    let root = match read_yaml(text) {
        Ok(node) => read_node::<Group>(&node, &mut findings),
        Err(error) => {
            findings.push(Finding::new(error.place, error.message));
            None
        }
    };
    let file =
        root.map(|root| ScenarioFile { name: file_name.to_owned(), root, text: text.to_owned() });
    if let Some(file) = &file {
        check::check_group(&file.root, true, &mut findings);
        let mut ids = StableIds::default();
        // The other rows are looked at when the examples are asked for.
        expand::examples(file, &mut ids, &mut |_| Ok(None), 1, &mut findings);
    }
    match file {
        Some(file) if findings.is_empty() => Ok(file),
        _ => Err(problems(findings, file_name, text)),
    }
}

impl ScenarioFile {
    /// All examples in order of definition, each with its stable id.
    ///
    /// `rows` is given the name of a file of rows as the scenario writes it.
    pub fn examples(
        &self,
        ids: &mut StableIds,
        rows: &mut dyn FnMut(&str) -> Result<Vec<Row>, RowsError>,
    ) -> Result<Vec<Example>, Vec<FileProblem>> {
        let mut findings = Findings::default();
        let mut some_rows = |name: &str| rows(name).map(Some);
        let examples = expand::examples(self, ids, &mut some_rows, usize::MAX, &mut findings);
        if findings.is_empty() {
            Ok(examples)
        } else {
            Err(problems(findings, &self.name, &self.text))
        }
    }
}

/// A mistake of a group that appears in several examples is reported once.
fn problems(findings: Findings, file: &str, text: &str) -> Vec<FileProblem> {
    findings.into_sorted().into_iter().map(|finding| finding.in_file(file, text)).collect()
}

/// The JSON Schema of scenario files.
pub fn scenario_schema() -> Value {
    let mut schema = schemars::schema_for!(Group);
    whole_number_ranges(&mut schema);
    let mut schema = schema.to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), "Proctor scenario".into());
        object.insert("description".into(), "Conversations with an agent as tests.".into());
    }
    schema
}
