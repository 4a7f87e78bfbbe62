//! Starting an agent's program, under a guard, and saying why it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proctor_process::{
    ChannelConfig, ChildEnvironment, ExitStatus, Guard, HeldBack, ManagedProcess, NotificationMode,
    ProcessSpec, RpcMode,
};

use super::agent_output::{AgentOutput, OutputListener, ReportedOutput};
use super::malformed_lines::MalformedLines;
use super::reports::ReportRoutes;
use crate::failure::Failure;
use crate::sandbox::launcher_error;
use proctor_llm::LauncherWords;
use proctor_traces::Traces;

/// How long to wait for the exit of a program that has closed its channel.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How many of its last lines are shown.
const LAST_LINES: usize = 5;
/// How many variables a hint names.
const NAMES_SHOWN: usize = 6;

/// How a program is started.
#[derive(Debug, Clone)]
pub(crate) struct LaunchSpec {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) argv: Vec<String>,
    /// What starts the program confined.
    pub(crate) launcher: Option<LauncherWords>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
    pub(crate) guard: Guard,
    /// Where what it prints goes.
    pub(crate) printed: Arc<AgentOutput>,
    /// Where its spans go, if they are received.
    pub(crate) traces: Option<Arc<Traces>>,
}

impl LaunchSpec {
    pub(crate) async fn start(
        &self,
        mode: RpcMode,
        index: usize,
    ) -> Result<(ManagedProcess, Arc<OutputListener>), Failure> {
        let malformed = Arc::new(MalformedLines::default());
        let (diagnostics_sink, notifications_sink) =
            (Arc::clone(&malformed), Arc::clone(&malformed));
        let reports = Arc::new(ReportRoutes::default());
        let routes = Arc::clone(&reports);
        let reported = Arc::new(ReportedOutput::new(&self.name, &self.printed));
        let output_sink = Arc::clone(&reported);
        let environment = self.environment().set("WORKER_INDEX", index.to_string());
        let environment = environment.set_all(&self.trace_variables().await?);
        let launched = self.launcher.as_ref().map(|launcher| launcher.before(&self.argv));
        let argv = launched.as_ref().unwrap_or(&self.argv).iter().map(String::as_str);
        let spec = ProcessSpec::new(argv, environment, self.guard.clone())
            .cwd(&self.folder)
            .rpc(mode)
            .channel(
                ChannelConfig::default()
                    .diagnostics(move |diagnostic| diagnostics_sink.record_diagnostic(&diagnostic))
                    // Taken on the reader's task: a report is handled before the answer that follows it, and a full queue would block replies.
                    .notifications(NotificationMode::Call(Arc::new(move |news| {
                        if !routes.take(&news) && !output_sink.take(&news) {
                            notifications_sink.record_notification(&news);
                        }
                    }))),
            );
        let process = ManagedProcess::spawn(spec).await.map_err(|error| {
            let message = format!("cannot start the agent `{}`: {error}", self.name);
            Failure::party("NotStarted", self.with_env_hint(message))
        })?;
        let listener = OutputListener::start(&process, reported, malformed, reports);
        Ok((process, listener))
    }

    /// Where and how OpenTelemetry sends the spans of the program, unless its own variables say so.
    async fn trace_variables(&self) -> Result<BTreeMap<String, String>, Failure> {
        let Some(traces) = &self.traces else { return Ok(BTreeMap::new()) };
        let endpoint = traces.endpoint().await.map_err(|error| {
            Failure::harness(format!(
                "cannot receive the spans of the agent `{}`: {error}",
                self.name
            ))
        })?;
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_LOGS_EXPORTER", "none"),
            // Five seconds when absent, for which every turn would wait.
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ];
        let own = variables.into_iter().filter(|(name, _)| !self.env.contains_key(*name));
        Ok(own.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn environment(&self) -> ChildEnvironment {
        ChildEnvironment::allowed().set_all(&self.env)
    }

    /// The message of a failure at the start, with the variables that the program may have missed: secrets, and those that the
    /// message names.
    pub(crate) fn with_env_hint(&self, message: String) -> String {
        let HeldBack { mut secrets, others } = self.environment().held_back();
        secrets.extend(others.into_iter().filter(|name| names_variable(&message, name)));
        if secrets.is_empty() {
            return message;
        }
        let more = secrets.len().saturating_sub(NAMES_SHOWN);
        secrets.truncate(NAMES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = secrets.join(", ");
        format!(
            "{message}; these variables were not passed on: {names}{more}; name those that it needs under `env:`, as in `env: {{ {0}: \"${{env:{0}}}\" }}`",
            secrets[0]
        )
    }

    /// Why the program was not run, if its sandbox could not be made or does not show it.
    pub(crate) async fn sandbox_failure(&self, process: &ManagedProcess) -> Option<Failure> {
        self.launcher.as_ref()?;
        let report = process.wait_timeout(EXIT_TIMEOUT).await.ok()?;
        let reason = launcher_error(process, report.status.code())?;
        let message = format!("the agent `{}` was not run in its sandbox: {reason}", self.name);
        Some(Failure::harness(message))
    }

    /// How the process ended, with its last output; `None` if it is running.
    pub(crate) async fn exit_description(&self, process: &ManagedProcess) -> Option<String> {
        self.exit_description_or(process, Vec::new).await
    }

    /// The same; `reported` are its last lines if it printed none.
    pub(crate) async fn exit_description_or(
        &self,
        process: &ManagedProcess,
        reported: impl FnOnce() -> Vec<String>,
    ) -> Option<String> {
        let report = process.wait_timeout(EXIT_TIMEOUT).await.ok()?;
        let printed = process.last_lines(LAST_LINES);
        let lines = if printed.is_empty() { reported() } else { printed };
        let output = if lines.is_empty() {
            " without a word".to_owned()
        } else {
            format!("; its last output: {}", lines.join(" | "))
        };
        let limited = self.launcher.is_some()
            && report.status == ExitStatus::Signal(proctor_sandbox::DISK_LIMIT_SIGNAL);
        let limit = if limited { ", the disk limit of its sandbox" } else { "" };
        Some(format!("it ended with {}{limit}{output}", report.status))
    }
}

/// Whether the text has this name as a word.
fn names_variable(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    name.len() > 2
        && text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        })
}

/// What a program that lives has printed, for the end of a sentence.
pub(crate) fn output_so_far(process: &ManagedProcess) -> String {
    match process.last_lines(LAST_LINES).as_slice() {
        [] => "it has printed nothing so far".into(),
        lines => format!("it has printed so far: {}", lines.join(" | ")),
    }
}
