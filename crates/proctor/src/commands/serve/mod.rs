//! `proctor serve`: the viewer and its interface; and `run --live`, the same on a run that goes on.

pub(crate) mod arguments;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::Parser as _;
use proctor_mcp::HttpService;
use proctor_record::RunStore;
use proctor_runner::RunStatus;
use proctor_server::{
    LaunchError, LaunchProgress, Launcher, Limits, McpService, RunRequest, Server, ServerConfig,
};
use proctor_verdict::{RunState, StopCause};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::run::Embedded;
use super::{agent_tools, journal};
use crate::cli::{Cli, ColorChoice, Command, Format};
use crate::commands::run::arguments::RunArguments;
use crate::commands::serve::arguments::ServeArguments;
use crate::config::Config;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project};

/// How long the pages of a live run may take to get its last events.
pub(super) const FINAL_EVENTS_TIMEOUT: Duration = Duration::from_secs(3);
/// The shortest token that may guard a server beyond this machine.
const SHORTEST: usize = 16;

#[derive(Serialize)]
struct Listening {
    address: String,
    url: String,
    token: String,
}

pub(crate) fn run(
    arguments: &ServeArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let root = root.canonicalize().unwrap_or(root);
    let journal = journal_of(&root, &config);
    let mcp = McpService::new(agents(arguments, cli, terminal)?);
    // Clients name files as seen from the root.
    std::env::set_current_dir(&root)?;
    let token = token(arguments)?;
    allow_many_connections();
    let launcher = Arc::new(Runs::new(&root, terminal.color()));
    let mut wait = EndSignals::watch()?;
    let server = Server::start(ServerConfig {
        bind: (arguments.bind, arguments.port).into(),
        token: token.clone(),
        session: secret(),
        hosts: arguments.host.clone(),
        store: RunStore::new(&root),
        launcher: (!arguments.read_only).then(|| Arc::clone(&launcher) as Arc<dyn Launcher>),
        stops_runs: !arguments.read_only,
        journal,
        limits: Limits::default(),
        mcp: Some(mcp),
    })
    .map_err(|error| {
        CommandError::system(format_args!(
            "cannot listen on {}:{}: {error}",
            arguments.bind, arguments.port
        ))
        .with_source(error)
        .hint("--port 0 takes any free port")
    })?;
    print_address(arguments, &server, token, terminal)?;
    wait.come();
    // The server stops last, so that clients receive the last events.
    end_run(&launcher, wait, terminal)?;
    server.stop();
    Ok(ExitCode::SUCCESS)
}

/// Stops the run that was started from here, if one goes on; a second signal ends it at once.
fn end_run(
    launcher: &Arc<Runs>,
    mut again: EndSignals,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let Some(run) = launcher.stop() else { return Ok(()) };
    terminal.note(&format!("stopping run {run}; once more ends it at once"));
    let hurried = Arc::clone(launcher);
    std::thread::Builder::new().name("second signal".to_owned()).spawn(move || {
        again.come();
        hurried.kill();
    })?;
    launcher.wait();
    Ok(())
}

/// The tools for agents at `/mcp`; a server that only shows offers only those that look.
fn agents(
    arguments: &ServeArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<HttpService, CommandError> {
    let all = agent_tools::open(cli, None, terminal)?;
    // Removes stale workspaces in the background.
    let (stale, runtime) = (all.clone(), agent_tools::runtime()?);
    std::thread::spawn(move || runtime.block_on(stale.clean_stale()));
    Ok(proctor_mcp::http(if arguments.read_only { all.read_only_tools() } else { all }))
}

fn print_address(
    arguments: &ServeArguments,
    server: &Server,
    token: String,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let url = server.url("");
    if arguments.format == Format::Json {
        let listening = Listening { address: server.address().to_string(), url, token };
        let text = serde_json::to_string(&listening).map_err(std::io::Error::from)?;
        return terminal.line(&text);
    }
    terminal.line(&format!("Proctor is at {url}"))
}

/// The token to demand: chosen by the user, else random. Beyond this machine only a chosen one will do.
fn token(arguments: &ServeArguments) -> Result<String, CommandError> {
    let chosen = env_vars::PROCTOR_TOKEN.get();
    let plain =
        |token: &String| token.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c));
    match chosen {
        Some(token) if !plain(&token) => Err(CommandError::configuration(
            "PROCTOR_TOKEN may hold letters, digits and -_.~ only: it becomes part of an address",
        )),
        Some(token) if arguments.bind.is_loopback() || token.len() >= SHORTEST => Ok(token),
        None if arguments.bind.is_loopback() => Ok(secret()),
        _ => Err(CommandError::configuration(format_args!(
            "listening on {} lets other machines in, which needs a token of at least {SHORTEST} characters",
            arguments.bind
        ))
        .hint("set PROCTOR_TOKEN; mind that the connection is not encrypted")),
    }
}

/// 122 random bits.
fn secret() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Every client is a descriptor; the usual limit of 1024 is meant for programs that use `select`.
fn allow_many_connections() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where that is refused, fewer can watch.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The viewer on a run that goes on.
pub(super) fn show_live(
    root: &Path,
    config: &Config,
    run_id: &str,
    terminal: &mut Terminal,
) -> Result<Server, CommandError> {
    let server = Server::start(ServerConfig {
        bind: (std::net::Ipv4Addr::LOCALHOST, 0).into(),
        token: secret(),
        session: secret(),
        hosts: Vec::new(),
        store: RunStore::new(root),
        launcher: None,
        stops_runs: true,
        journal: journal_of(root, config),
        limits: Limits::default(),
        mcp: None,
    })
    .map_err(|error| {
        CommandError::system(format_args!("cannot show the run live: {error}")).with_source(error)
    })?;
    terminal.note(&format!("live at {}", server.url(&format!("/run/{run_id}"))));
    Ok(server)
}

/// The journal to show, if this place may have one.
fn journal_of(root: &Path, config: &Config) -> Option<PathBuf> {
    std::path::absolute(journal::folder(root, config).ok()?).ok()
}

/// Ctrl-C and SIGTERM.
struct EndSignals {
    runtime: tokio::runtime::Runtime,
    interrupts: tokio::signal::unix::Signal,
    terminations: tokio::signal::unix::Signal,
}

impl EndSignals {
    fn watch() -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (interrupts, terminations) = {
            let _entered = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        Ok(Self { runtime, interrupts, terminations })
    }

    fn come(&mut self) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.interrupts.recv() => {}
                _ = self.terminations.recv() => {}
            }
        });
    }
}

/// Runs that are started from the page, one at a time, in this process.
struct Runs {
    root: PathBuf,
    color: ColorChoice,
    current: Mutex<Option<Embedded>>,
}

impl Runs {
    fn new(root: &Path, color: ColorChoice) -> Self {
        Self { root: root.to_owned(), color, current: Mutex::default() }
    }

    fn current(&self) -> MutexGuard<'_, Option<Embedded>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to stop what is going on, and says which run that is.
    fn stop(&self) -> Option<String> {
        let current = self.current();
        let running = current.as_ref().filter(|run| run.controller.result().is_none())?;
        running.controller.cancel(StopCause::Request);
        Some(running.run_id.clone())
    }

    /// Ends it now.
    fn kill(&self) {
        if let Some(run) = self.current().as_ref() {
            run.controller.kill(StopCause::Request);
        }
    }

    /// Waits until it is recorded.
    fn wait(&self) {
        let ending = self.current().as_mut().and_then(Embedded::ending);
        if let Some(ending) = ending {
            let _ = ending.join();
        }
    }
}

impl Launcher for Runs {
    fn start(&self, request: &RunRequest) -> Result<String, LaunchError> {
        let mut current = self.current();
        if let Some(run) = current.as_ref().filter(|run| run.controller.result().is_none()) {
            return Err(LaunchError::Busy(run.run_id.clone()));
        }
        let words = command_line(request);
        let arguments = parse(&words).map_err(LaunchError::Refused)?;
        let mut terminal = Terminal::new(Some(self.color), false);
        let run = Embedded::start(&arguments, words, &self.root, &mut terminal)
            .map_err(|error| LaunchError::Refused(error.to_string()))?;
        let run_id = run.run_id.clone();
        *current = Some(run);
        Ok(run_id)
    }

    fn progress(&self) -> Option<LaunchProgress> {
        let current = self.current();
        let run = current.as_ref()?;
        let progress = run.controller.progress();
        let status = match progress.status {
            RunStatus::Idle | RunStatus::Running => "running",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Failed => "failed",
            RunStatus::Completed => "passed",
        };
        let result = run.controller.result();
        let state = match &result {
            Some(result) => result.verdict.state(),
            None if progress.total == 0 => RunState::Loading,
            None => RunState::Running,
        };
        let problem = result.and_then(|result| result.problem.clone());
        Some(LaunchProgress {
            status: status.to_owned(),
            state,
            completed: progress.completed,
            total: progress.total,
            failures: progress.failures,
            run_id: run.run_id.clone(),
            problem: problem.map(|problem| problem.message),
        })
    }

    fn cancel(&self) -> bool {
        self.stop().is_some()
    }
}

/// The command line that a request stands for; it is what people see as the run's command.
fn command_line(request: &RunRequest) -> Vec<String> {
    let mut words = vec!["proctor".to_owned(), "run".to_owned()];
    let mut option = |name: &str, value: String| words.push(format!("--{name}={value}"));
    for (name, value) in [
        ("workers", request.workers),
        ("repeat", request.repeat),
        ("retries", request.retries),
        ("fail-fast", request.fail_fast.then_some(1)),
    ] {
        if let Some(value) = value {
            option(name, value.to_string());
        }
    }
    request.tags.iter().for_each(|tag| option("tag", tag.clone()));
    request.example_ids.iter().for_each(|id| option("stable-id", id.clone()));
    if request.only_failures {
        words.push("--only-failures".to_owned());
    }
    words.extend(request.paths.iter().cloned());
    words
}

fn parse(words: &[String]) -> Result<Box<RunArguments>, String> {
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Run(arguments), .. }) => Ok(arguments),
        Ok(_) => Err("this is not a run".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_command_line() {
        let request = RunRequest {
            paths: vec!["spec/a_spec.rb:3".into()],
            example_ids: vec!["abc".into()],
            workers: Some(2),
            fail_fast: true,
            ..RunRequest::default()
        };
        let words = command_line(&request);
        assert_eq!(
            words[2..],
            ["--workers=2", "--fail-fast=1", "--stable-id=abc", "spec/a_spec.rb:3"]
        );
        let arguments = parse(&words).unwrap();
        assert_eq!((arguments.workers, arguments.fail_fast), (Some(2), Some(1)));
        assert_eq!(arguments.selection.paths, ["spec/a_spec.rb:3"]);
    }
}
