//! One tool: its description for clients, and the handler.

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

use crate::error::ToolError;
use crate::schema;

/// Longest description of a wrong parameter, in characters: it may quote the parameter.
const MAX_PROBLEM_CHARS: usize = 1000;

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

impl Group {
    /// All of them, the most used first.
    pub const ALL: [Self; 4] = [Self::Runs, Self::Journal, Self::Workspaces, Self::Cover];

    /// Its name for clients and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Runs => "runs",
            Self::Workspaces => "workspaces",
            Self::Cover => "cover",
        }
    }

    /// What its tools are for, in a few words.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Journal => "hypotheses and what became of them",
            Self::Runs => "runs of this project's examples",
            Self::Workspaces => "orchestrator runs against a scripted model",
            Self::Cover => "specs for untested Ruby code",
        }
    }
}

/// What a client may assume about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// It may undo or remove something.
    pub destructive: bool,
    /// Calling it twice has the effect of calling it once.
    pub idempotent: bool,
    /// It may reach things outside this machine.
    pub open_world: bool,
}

impl Hints {
    /// Reads and changes nothing.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Adds data; removes and changes none.
    pub const ADDS: Self =
        Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Ends or removes data.
    pub const REMOVES: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Runs the project's own programs, which may do anything.
    pub const RUNS_PROGRAMS: Self =
        Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// Steps in all, if that is known.
    pub total: Option<u64>,
    /// The present step, for people.
    pub message: String,
}

/// Receives the progress of a call.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What comes with a call beside its parameters.
#[derive(Clone)]
pub struct CallContext {
    /// Cancelled when the caller gives up.
    pub cancel: CancellationToken,
    /// Receives progress, if the caller asked for it.
    pub progress: Option<ProgressSink>,
    /// How long a call may wait for something that is not there yet.
    pub patience: Duration,
}

impl CallContext {
    /// A call by a model; the handler should answer within a few seconds.
    #[must_use]
    pub fn for_model() -> Self {
        Self { cancel: CancellationToken::new(), progress: None, patience: Duration::from_secs(5) }
    }

    /// A call by a person or a script; the handler may wait.
    #[must_use]
    pub fn for_shell() -> Self {
        Self { patience: Duration::from_mins(1), ..Self::for_model() }
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self::for_model()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext").field("patience", &self.patience).finish_non_exhaustive()
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;
type Handler<S> = Arc<dyn Fn(S, Value, CallContext) -> Answer + Send + Sync>;

/// A tool whose handler works with a state `S`.
pub struct Tool<S> {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for a model.
    pub description: &'static str,
    /// What it is about.
    pub group: Group,
    /// The JSON Schema of its parameters.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its result.
    pub output_schema: Map<String, Value>,
    /// What clients may assume about it.
    pub hints: Hints,
    handler: Handler<S>,
}

impl<S> Clone for Tool<S> {
    fn clone(&self) -> Self {
        Self {
            input_schema: self.input_schema.clone(),
            output_schema: self.output_schema.clone(),
            handler: Arc::clone(&self.handler),
            ..*self
        }
    }
}

impl<S> fmt::Debug for Tool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<S: 'static> Tool<S> {
    /// Calls the tool. Parameters are a JSON object, or `null` for none; a parameter that is `null` counts as left out.
    pub async fn call(
        &self,
        state: S,
        parameters: Value,
        context: CallContext,
    ) -> Result<Value, ToolError> {
        (self.handler)(state, parameters, context).await
    }

    /// The same tool for a larger state, from which `state_of` takes the state of this one.
    pub fn with_state<T: 'static>(self, state_of: fn(&T) -> S) -> Tool<T> {
        let Self { name, title, description, group, input_schema, output_schema, hints, handler } =
            self;
        let handler: Handler<T> =
            Arc::new(move |state, value, context| handler(state_of(&state), value, context));
        Tool { name, title, description, group, input_schema, output_schema, hints, handler }
    }
}

/// What a tool has beside its types and its handler.
#[derive(Debug, Clone, Copy)]
pub struct ToolDeclaration {
    /// See [`Tool::name`].
    pub name: &'static str,
    /// See [`Tool::title`].
    pub title: &'static str,
    /// See [`Tool::group`].
    pub group: Group,
    /// See [`Tool::hints`].
    pub hints: Hints,
    /// See [`Tool::description`].
    pub description: &'static str,
}

impl ToolDeclaration {
    /// A tool with a handler that blocks, but not for long.
    pub fn with_blocking_handler<S, P, R, E>(self, handle: fn(&S, P) -> Result<R, E>) -> Tool<S>
    where
        S: Send + 'static,
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        E: Into<ToolError> + 'static,
    {
        self.with_async_handler(move |state: S, parameters: P, _| async move {
            let work = move || handle(&state, parameters).map_err(Into::into);
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_else(|error| {
                Err(ToolError::io(format_args!("the handler panicked: {error}")))
            })
        })
    }

    /// A tool with an asynchronous handler.
    pub fn with_async_handler<S, P, R, E, F>(
        self,
        handle: impl Fn(S, P, CallContext) -> F + Send + Sync + 'static,
    ) -> Tool<S>
    where
        S: 'static,
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        E: Into<ToolError>,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let input_schema = schema::input::<P>();
        let known = property_names(&input_schema);
        let handler: Handler<S> = Arc::new(move |state, value, context| {
            let work =
                parameters::<P>(value, &known).map(|parameters| handle(state, parameters, context));
            Box::pin(async move {
                let result = work?.await.map_err(Into::into)?;
                serde_json::to_value(result).map_err(ToolError::io)
            })
        });
        let Self { name, title, description, group, hints } = self;
        let output_schema = schema::output::<R>();
        Tool { name, title, description, group, input_schema, output_schema, hints, handler }
    }
}

fn property_names(schema: &Map<String, Value>) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// Reads parameters; an error names the place of the mistake and the known parameters.
fn parameters<P: DeserializeOwned>(given: Value, known: &[String]) -> Result<P, ToolError> {
    let with_known = |error: ToolError| match known {
        [] => error.hint("this tool takes no parameters"),
        known => error.hint(format!("parameters: {}", known.join(", "))),
    };
    let given = match given {
        Value::Null => Value::Object(Map::new()),
        Value::Object(mut given) => {
            // Many clients send null for what they leave out.
            given.retain(|_, value| !value.is_null());
            Value::Object(given)
        }
        other => {
            let problem = shortened(&format!("parameters must be a JSON object, not {other}"));
            return Err(with_known(ToolError::invalid(problem)));
        }
    };
    serde_path_to_error::deserialize(given).map_err(|error| {
        let place = error.path().to_string();
        let problem = shortened(&error.into_inner().to_string());
        with_known(match place.as_str() {
            "." => ToolError::invalid(problem),
            place => ToolError::invalid(format_args!("{place}: {problem}")),
        })
    })
}

fn shortened(problem: &str) -> String {
    match problem.char_indices().nth(MAX_PROBLEM_CHARS) {
        Some((end, _)) => format!("{}…", &problem[..end]),
        None => problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::error::kind;

    #[derive(Clone, Copy, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        /// How often.
        #[serde(default)]
        times: u32,
    }

    #[derive(Serialize, JsonSchema)]
    struct Repeated {
        /// The text.
        text: String,
    }

    const DECLARATION: ToolDeclaration = ToolDeclaration {
        name: "repeat",
        title: "Repeat a word",
        group: Group::Runs,
        hints: Hints::READS,
        description: "Repeats the word.",
    };

    #[derive(Clone, Copy)]
    struct Word(&'static str);

    fn repeat(word: &Word, given: Parameters) -> Result<Repeated, ToolError> {
        let times = usize::try_from(given.times).map_err(ToolError::io)?;
        Ok(Repeated { text: word.0.repeat(times) })
    }

    #[tokio::test]
    async fn a_tool_reads_parameters_and_writes_a_result() {
        let tool = DECLARATION.with_blocking_handler(repeat);
        let call = |value: Value| tool.call(Word("ab"), value, CallContext::default());
        assert_eq!(call(json!({ "times": 2 })).await.unwrap(), json!({ "text": "abab" }));
        assert_eq!(call(json!({ "times": null })).await.unwrap(), json!({ "text": "" }));
        assert_eq!(call(Value::Null).await.unwrap(), json!({ "text": "" }));
        assert_eq!(tool.input_schema["properties"]["times"]["description"], "How often.");
        assert_eq!(tool.output_schema["required"], json!(["text"]));
    }

    #[tokio::test]
    async fn a_wrong_parameter_is_named_beside_the_known_ones() {
        let tool = DECLARATION.with_blocking_handler(repeat);
        for (given, message) in [
            (json!({ "times": "x" }), "times: invalid type: string \"x\", expected u32"),
            (json!({ "often": 1 }), "often: unknown field `often`, expected `times`"),
            (json!([1]), "parameters must be a JSON object, not [1]"),
        ] {
            let error = tool.call(Word(""), given, CallContext::default()).await.unwrap_err();
            assert_eq!((error.kind.as_str(), &*error.message), (kind::INVALID_ARGUMENT, message));
            assert_eq!(error.hints, ["parameters: times"]);
        }
        let long = json!({ "times": "x".repeat(5000) });
        let error = tool.call(Word(""), long, CallContext::default()).await.unwrap_err();
        assert!(error.message.chars().count() < 1100, "{}", error.message.len());
    }

    #[tokio::test]
    async fn a_tool_works_over_a_state_that_holds_its_own() {
        let tool =
            DECLARATION.with_blocking_handler(repeat).with_state(|pair: &(Word, u32)| pair.0);
        let state = (Word("cd"), 7);
        let result = tool.call(state, json!({ "times": 1 }), CallContext::for_shell()).await;
        assert_eq!(result.unwrap(), json!({ "text": "cd" }));
        assert_eq!((tool.name, tool.hints), ("repeat", Hints::READS));
    }
}
