//! Starting an agent's program, under a guard, and saying why it ended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proctor_process::{
    ChannelConfig, ChildEnvironment, Guard, ManagedProcess, NotificationMode, ProcessSpec, RpcMode,
};

use super::agent_output::{AgentOutput, OutputListener};
use super::malformed_lines::MalformedLines;
use crate::failure::Failure;
use crate::sandbox::launcher_error;
use proctor_llm::LauncherWords;

/// How long to wait for the exit of a program that has closed its channel.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How many of its last lines are shown.
const LAST_LINES: usize = 5;

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
        let environment =
            ChildEnvironment::inherited().set("WORKER_INDEX", index.to_string()).set_all(&self.env);
        let launched = self.launcher.as_ref().map(|launcher| launcher.before(&self.argv));
        let argv = launched.as_ref().unwrap_or(&self.argv).iter().map(String::as_str);
        let spec = ProcessSpec::new(argv, environment, self.guard.clone())
            .cwd(&self.folder)
            .rpc(mode)
            .channel(
                ChannelConfig::default()
                    .diagnostics(move |diagnostic| diagnostics_sink.record_diagnostic(&diagnostic))
                    // Notifications have no other consumer, and a full queue would block replies too.
                    .notifications(NotificationMode::Call(Arc::new(move |news| {
                        notifications_sink.record_notification(&news);
                    }))),
            );
        let process = ManagedProcess::spawn(spec).await.map_err(|error| {
            Failure::party("NotStarted", format!("cannot start the agent `{}`: {error}", self.name))
        })?;
        let listener = OutputListener::start(&process, &self.name, &self.printed, malformed);
        Ok((process, listener))
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
        let report = process.wait_timeout(EXIT_TIMEOUT).await.ok()?;
        let lines = process.last_lines(LAST_LINES);
        let output = if lines.is_empty() {
            " without a word".to_owned()
        } else {
            format!("; its last output: {}", lines.join(" | "))
        };
        Some(format!("it ended with {}{output}", report.status))
    }
}

/// What a program that lives has printed, for the end of a sentence.
pub(crate) fn output_so_far(process: &ManagedProcess) -> String {
    match process.last_lines(LAST_LINES).as_slice() {
        [] => "it has printed nothing so far".into(),
        lines => format!("it has printed so far: {}", lines.join(" | ")),
    }
}
