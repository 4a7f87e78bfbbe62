//! The table of tools: what each is called, what it takes and gives, and who does it.
//!
//! It knows no protocol. `proctor tool`, MCP on stdio and MCP over HTTP offer the same rows.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::schema;

/// What a tool is about; a client can be given some groups only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The GHAP journal.
    Journal,
    /// Runs of the project's examples.
    Runs,
    /// Workspaces in which an orchestrator is tested.
    Workspaces,
    /// What `proctor cover` left open.
    Cover,
}

/// What a client may assume about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or remove something.
    pub destructive: bool,
    /// Calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// It may reach things outside this machine.
    pub open_world: bool,
}

impl Hints {
    /// Looks and changes nothing.
    pub const LOOKS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds something.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Ends or removes something.
    pub const ENDS: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Runs the project's own programs, which may do anything.
    pub const RUNS: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// News of a call under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far it is.
    pub done: u64,
    /// How far it may go, if that is known.
    pub total: Option<u64>,
    /// What happens, for people.
    pub message: String,
}

/// Who hears of progress.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What comes with a call beside its parameters.
#[derive(Clone)]
pub struct Context {
    /// Cancelled when the caller gives up.
    pub cancel: CancellationToken,
    /// Told about progress, where the caller asked for it.
    pub progress: Option<ProgressSink>,
    /// How long a call may wait for something that is not there yet.
    pub patience: Duration,
}

impl Context {
    /// A call of a model, which should get an answer within a few seconds.
    pub fn brief() -> Self {
        Self { cancel: CancellationToken::new(), progress: None, patience: Duration::from_secs(5) }
    }

    /// A call of a person or script that has nothing else to do.
    pub fn patient() -> Self {
        Self { patience: Duration::from_mins(1), ..Self::brief() }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("patience", &self.patience).finish_non_exhaustive()
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;
pub(crate) type Handler = Arc<dyn Fn(Engine, Value, Context) -> Answer + Send + Sync>;

/// One row of the table.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does and when to use it, for a model.
    pub description: String,
    /// What it is about.
    pub group: Group,
    /// What it takes: a JSON Schema.
    pub input_schema: Map<String, Value>,
    /// What it gives: a JSON Schema.
    pub output_schema: Map<String, Value>,
    /// What may be assumed about it.
    pub hints: Hints,
    pub(crate) handler: Handler,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What every row has beside its types and its handler.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) group: Group,
    pub(crate) hints: Hints,
    pub(crate) description: &'static str,
}

impl Row {
    /// A tool that waits for nothing but files.
    pub(crate) fn quick<P, R>(self, handle: fn(&Engine, P) -> Result<R, ToolError>) -> Tool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
    {
        self.slow(move |engine: Engine, parameters: P, _| async move {
            let done = tokio::task::spawn_blocking(move || handle(&engine, parameters)).await;
            done.unwrap_or_else(|error| {
                Err(ToolError::io(format_args!("the background task failed: {error}")))
            })
        })
    }

    /// A tool that waits for processes.
    pub(crate) fn slow<P, R, F>(
        self,
        handle: impl Fn(Engine, P, Context) -> F + Send + Sync + 'static,
    ) -> Tool
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        F: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        let input_schema = schema::input::<P>();
        let known = property_names(&input_schema);
        let handler: Handler = Arc::new(move |engine, arguments, context| {
            let work = parameters::<P>(arguments, &known)
                .map(|parameters| handle(engine, parameters, context));
            Box::pin(async move {
                let value = work?.await?;
                serde_json::to_value(value).map_err(ToolError::io)
            })
        });
        let Self { name, title, description, group, hints } = self;
        let output_schema = schema::output::<R>();
        Tool {
            name: name.to_owned(),
            title: title.to_owned(),
            description: description.to_owned(),
            group,
            input_schema,
            output_schema,
            hints,
            handler,
        }
    }
}

fn property_names(schema: &Map<String, Value>) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// Reads parameters; a mistake is named with its place.
fn parameters<P: DeserializeOwned>(arguments: Value, known: &[String]) -> Result<P, ToolError> {
    let arguments = match arguments {
        Value::Null => Value::Object(Map::new()),
        Value::Object(mut given) => {
            // Many clients send null for what they leave out.
            given.retain(|_, value| !value.is_null());
            Value::Object(given)
        }
        other => {
            return Err(ToolError::invalid(format_args!(
                "parameters must be a JSON object, not {other}"
            )));
        }
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let place = error.path().to_string();
        let problem = error.into_inner();
        let error = match place.as_str() {
            "." => ToolError::invalid(&problem),
            place => ToolError::invalid(format_args!("{place}: {problem}")),
        };
        match known {
            [] => error.hint("this tool takes no parameters"),
            known => error.hint(format!("parameters: {}", known.join(", "))),
        }
    })
}

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
        rows.extend(crate::workspaces::tools());
        rows.extend(crate::cover::tools());
        if let Some(groups) = groups {
            rows.retain(|tool| groups.contains(&tool.group));
        }
        Self { engine, rows: Arc::new(rows) }
    }

    /// Only the tools that change nothing and run nothing.
    #[must_use]
    pub fn only_looking(&self) -> Self {
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

    /// Removes workspaces that nobody has used for a day and nobody holds; to be called at the start of a server.
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
        let tool = self.get(name)?;
        let cancel = context.cancel.clone();
        let answer = (tool.handler)(self.engine.clone(), arguments, context);
        tokio::select! {
            biased;
            answer = answer => answer,
            () = given_up(&cancel) => Err(ToolError::new(kind::CANCELLED, "the call was cancelled")),
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.rows.iter().map(|tool| tool.name.as_str()).collect();
        let near = names
            .iter()
            .map(|known| (strsim::jaro_winkler(known, name), known))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let error = ToolError::new(kind::UNKNOWN_TOOL, format_args!("there is no tool `{name}`"));
        let error = match near {
            Some((_, near)) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        };
        error.hint(format!("tools: {}", names.join(", ")))
    }
}

/// Handlers end in order when they can (a workspace run is killed and kept); this is for those that do not.
async fn given_up(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
}
