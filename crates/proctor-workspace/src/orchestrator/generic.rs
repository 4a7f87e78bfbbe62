//! Any command as an orchestrator: judged by exit code, files and output.
//!
//! It may call the scripted mock as `proctor-mock-model` (prompt on standard input), and it may tell events in
//! a file of JSON lines with `topic` and `payload`.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Adapter, Backend, Collected, Plan, Prepared, RunOutputs, Topology};
use crate::config::Config;
use crate::contained_path::{RelPath, Root};
use crate::error::ToolError;
use crate::limits::GivenLimits;
use crate::session::merge::EventsFileLine;

/// The name under which the mock is on the path of a generic command.
pub(crate) const MOCK_NAME: &str = "proctor-mock-model";
const EVENTS: &str = ".agent/events.jsonl";

/// A command to be tested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenericCommand {
    /// Program and arguments, no shell. `{task}` in an argument becomes the task; the task is also in the
    /// variable `PROCTOR_TASK`. The mock can be called as `proctor-mock-model`.
    pub command: Vec<String>,
    /// A file of JSON lines with `topic` and `payload` that the command writes, relative to the
    /// workspace (default `.agent/events.jsonl`; its path is in `PROCTOR_EVENTS_FILE`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_file: Option<String>,
}

pub(crate) struct Generic(pub(crate) GenericCommand);

impl Generic {
    fn events_path(&self) -> Result<RelPath, ToolError> {
        let path = self.0.events_file.as_deref().unwrap_or(EVENTS);
        RelPath::parse(path)
            .map_err(|problem| ToolError::invalid(format!("orchestrator.events_file: {problem}")))
    }
}

impl GenericCommand {
    /// Checks what can be checked before anything is started.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(ToolError::invalid("orchestrator.command is empty"));
        }
        Generic(self.clone()).events_path().map(drop)
    }
}

impl Adapter for Generic {
    fn installed(&self, _: &Config) -> Result<(String, Option<String>), ToolError> {
        Ok((self.0.command.first().cloned().unwrap_or_default(), None))
    }

    fn topology(&self, _: &Root, _: &Value, _: Backend) -> Result<Topology, ToolError> {
        Ok(Topology::default())
    }

    fn limits(
        &self,
        _: &Root,
        _: &Value,
        _: Backend,
    ) -> Result<(GivenLimits, Option<u64>), ToolError> {
        Ok((GivenLimits::default(), None))
    }

    fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, ToolError> {
        let Some((program, arguments)) = self.0.command.split_first() else {
            return Err(ToolError::invalid("orchestrator.command is empty"));
        };
        let events = self.events_path()?;
        let earlier = plan.root.read(&events, u64::MAX).map_or(0, |bytes| bytes.len());
        let argv = std::iter::once(program.clone())
            .chain(arguments.iter().map(|word| word.replace("{task}", plan.task)))
            .map(OsString::from)
            .collect();
        let events_file = plan.root.path().join(events.as_str());
        Ok(Prepared {
            argv,
            env: vec![
                ("PROCTOR_TASK".to_owned(), plan.task.into()),
                ("PROCTOR_EVENTS_FILE".to_owned(), events_file.clone().into()),
                (
                    "PROCTOR_MAX_ITERATIONS".to_owned(),
                    plan.limits.max_iterations.value.to_string().into(),
                ),
            ],
            events_file: Some(events_file),
            scratchpad: None,
            cursor: json!(earlier),
            ..Prepared::default()
        })
    }

    fn endings(&self) -> &'static [&'static str] {
        &["Exited"]
    }

    fn collect(&self, outputs: &RunOutputs<'_>) -> Collected {
        let mut collected = Collected::default();
        let Ok(path) = self.events_path() else { return collected };
        let text = outputs.root.read(&path, outputs.read_bytes).unwrap_or_default();
        let skip = usize::try_from(outputs.cursor.as_u64().unwrap_or(0)).unwrap_or(0);
        let rows = text.get(skip..).unwrap_or_default();
        for line in rows.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            collected.sources.rows.push(parse_event_line(line));
        }
        collected.iterations = 0;
        collected
    }
}

fn parse_event_line(line: &[u8]) -> EventsFileLine {
    let malformed =
        || EventsFileLine::Malformed { text: String::from_utf8_lossy(line).into_owned() };
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return malformed() };
    let Some(topic) = value["topic"].as_str() else { return malformed() };
    let ts = value["ts"].as_str().and_then(super::ralph::events_file::time).unwrap_or(0);
    let payload = super::ralph::events_file::text_of(&value["payload"]);
    EventsFileLine::Emitted { ts, topic: topic.to_owned(), payload }
}
