//! The table of tools. Each is declared by the crate that does its work: workspaces and cover by their own crates, runs here.
//! The journal may know no other crate, so its tools are declared here too; `cover_mutate` runs our own program.
//!
//! The table knows no protocol. `proctor tool`, MCP on stdio and MCP over HTTP offer the same rows, and [`Tools::call`] is the one way to
//! call them: secrets are removed there from answers, errors and progress, and from what is typed into the journal.

use std::sync::Arc;
use std::time::Duration;

use proctor_cover::CoveredProject;
use proctor_redact::Redactor;
pub(crate) use proctor_tools::{CallContext as Context, Progress, ProgressSink, ToolDeclaration};
pub use proctor_tools::{Group, Hints};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::{ToolError, kind};

/// A tool of the table.
pub type Tool = proctor_tools::Tool<Engine>;

/// The table.
#[derive(Debug, Clone)]
pub struct Tools {
    engine: Engine,
    rows: Arc<Vec<Tool>>,
}

impl Tools {
    /// Every tool there is, over this engine; with `groups`, only theirs.
    pub fn new(engine: Engine, groups: Option<&[Group]>) -> Self {
        let mut rows = crate::runs::tools();
        rows.extend(crate::journal::tools());
        let workspaces = proctor_workspace::agent_tools().into_iter();
        rows.extend(
            workspaces.map(|tool| tool.with_state(|engine: &Engine| engine.workspaces().clone())),
        );
        let cover = proctor_cover::agent_tools().into_iter();
        rows.extend(cover.map(|tool| {
            tool.with_state(|engine: &Engine| CoveredProject {
                root: engine.root().to_owned(),
                ruby: engine.ruby().to_owned(),
                launcher: engine.launcher(),
            })
        }));
        rows.extend(crate::mutants::tools());
        if let Some(groups) = groups {
            rows.retain(|tool| groups.contains(&tool.group));
        }
        Self { engine, rows: Arc::new(rows) }
    }

    /// The tools that change nothing and run no program.
    #[must_use]
    pub fn read_only_tools(&self) -> Self {
        let looks = |tool: &&Tool| tool.hints.read_only && !tool.hints.open_world;
        let rows = self.rows.iter().filter(looks).cloned().collect();
        Self { engine: self.engine.clone(), rows: Arc::new(rows) }
    }

    /// The same table for another client.
    pub(crate) fn for_another_client(&self) -> Self {
        Self { engine: self.engine.for_another_client(), rows: Arc::clone(&self.rows) }
    }

    /// The rows, in the order in which they are offered.
    pub fn all(&self) -> &[Tool] {
        &self.rows
    }

    /// Removes workspaces that were not used for a day and are not locked; to be called at the start of a server.
    pub async fn clean_stale(&self) {
        // Nothing hangs on it: what cannot be removed now is tried again by the next server.
        let _ = self.engine.workspaces().clean_stale().await;
    }

    /// The row of this name.
    pub fn get(&self, name: &str) -> Result<&Tool, ToolError> {
        self.rows.iter().find(|tool| tool.name == name).ok_or_else(|| self.unknown(name))
    }

    /// Calls a tool by name.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: Context,
    ) -> Result<Value, ToolError> {
        let redactor = self.engine.redactor();
        let answer = self.call_unfiltered(name, arguments, without_secrets(context, redactor));
        match answer.await {
            Ok(value) => Ok(redactor.redact_value(&value)),
            Err(error) => Err(redacted_error(error, redactor)),
        }
    }

    async fn call_unfiltered(
        &self,
        name: &str,
        arguments: Value,
        context: Context,
    ) -> Result<Value, ToolError> {
        let tool = self.get(name)?;
        let arguments = self.kept_arguments(tool, arguments);
        let cancel = context.cancel.clone();
        let answer = tool.call(self.engine.clone(), arguments, context);
        tokio::select! {
            biased;
            answer = answer => answer,
            () = cancellation_deadline(&cancel) => Err(ToolError::new(kind::CANCELLED, "the call was cancelled")),
        }
    }

    /// What is typed into the journal is kept without secrets. Other tools get what was sent: a fixture or a mock's answer is an
    /// input, and assertions decide themselves what they can say of a text in which secrets are masked.
    fn kept_arguments(&self, tool: &Tool, arguments: Value) -> Value {
        if tool.group == Group::Journal {
            self.engine.redactor().redact_value(&arguments)
        } else {
            arguments
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.rows.iter().map(|tool| tool.name).collect();
        let error = ToolError::new(kind::UNKNOWN_TOOL, format_args!("there is no tool `{name}`"));
        let error = match proctor_text::nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint(format!("tools: {}", names.join(", ")))
    }
}

/// The context with progress messages that hold no secrets.
fn without_secrets(mut context: Context, redactor: &Redactor) -> Context {
    let redactor = redactor.clone();
    context.progress = context.progress.map(|sink| -> ProgressSink {
        Arc::new(move |progress: Progress| {
            let message = redactor.redact_text(&progress.message).into_owned();
            sink(Progress { message, ..progress });
        })
    });
    context
}

fn redacted_error(error: ToolError, redactor: &Redactor) -> ToolError {
    let clean = |text: String| redactor.redact_text(&text).into_owned();
    ToolError {
        kind: error.kind,
        message: clean(error.message),
        hints: error.hints.into_iter().map(clean).collect(),
        details: redactor.redact_value(&error.details),
    }
}

/// Ends 30 s after a cancellation: the limit for handlers that do not end by themselves (a workspace run is killed and kept).
async fn cancellation_deadline(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
}
