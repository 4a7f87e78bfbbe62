//! `proctor serve`: the viewer and its interface; and `run --live`, the same on a run that goes on.

pub(crate) mod arguments;
mod launched_runs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use proctor_mcp::HttpService;
use proctor_process::Guard;
use proctor_record::RunStore;
use proctor_server::{Launcher, Limits, McpService, Server, ServerConfig};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use self::launched_runs::LaunchedRuns;
use super::{agent_tools, journal, own_guard, own_program};
use crate::cli::{Cli, Format};
use crate::commands::serve::arguments::ServeArguments;
use crate::config::Config;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project, secrets};

/// How long the pages of a live run may take to get its last events.
pub(super) const FINAL_EVENTS_TIMEOUT: Duration = Duration::from_secs(3);
/// The shortest token: 128 bits in base64 are 22 characters.
const SHORTEST_TOKEN: usize = 22;
/// The least number of different characters in a token: repeated ones are easy to guess.
const LEAST_DISTINCT: usize = 8;

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
    let guard = Guard::Program(own_guard()?);
    let agents = config.conversations.agents.keys().cloned().collect();
    let launcher = Arc::new(LaunchedRuns::new(&root, own_program()?.into(), guard, agents));
    let mut wait = EndSignals::watch()?;
    let server = Server::start(ServerConfig {
        bind: (arguments.bind, arguments.port).into(),
        token: token.clone(),
        session: random_secret()?,
        hosts: arguments.host.clone(),
        store: RunStore::new(&root),
        launcher: (!arguments.read_only).then(|| Arc::clone(&launcher) as Arc<dyn Launcher>),
        stops_runs: !arguments.read_only,
        journal,
        limits: Limits::default(),
        mcp: Some(mcp),
        redactor: secrets::redactor().clone(),
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
    launcher: &Arc<LaunchedRuns>,
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
    let all = agent_tools::open(cli, arguments.offer.groups().as_deref(), terminal)?;
    // Removes stale workspaces in the background.
    let (stale, runtime) = (all.clone(), agent_tools::runtime()?);
    std::thread::spawn(move || runtime.block_on(stale.clean_stale()));
    let tools = if arguments.read_only { all.read_only_tools() } else { all };
    Ok(proctor_mcp::http(tools, arguments.offer.offer()))
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
        return terminal.print_unfiltered(&format!("{text}\n"));
    }
    terminal.print_unfiltered(&format!("Proctor is at {url}\n"))
}

/// The token to demand: chosen by the user, else random. Beyond this machine only a chosen one will do.
fn token(arguments: &ServeArguments) -> Result<String, CommandError> {
    let Some(token) = env_vars::PROCTOR_TOKEN.get() else {
        if arguments.bind.is_loopback() {
            return random_secret();
        }
        let message =
            format!("listening on {} lets other machines in, which needs a token", arguments.bind);
        return Err(CommandError::configuration(message)
            .hint("set PROCTOR_TOKEN, for instance to the output of `openssl rand -hex 16`; the connection is not encrypted"));
    };
    let problem = token_problem(&token);
    problem.map_or(Ok(token), |problem| {
        Err(CommandError::configuration(format_args!("PROCTOR_TOKEN {problem}"))
            .hint("`openssl rand -hex 16` prints a good one"))
    })
}

/// What is wrong with a token that a user has chosen.
fn token_problem(token: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter);
    if !token.chars().all(is_plain) {
        return Some(
            "may hold letters, digits and -_.~ only: it becomes part of an address".to_owned(),
        );
    }
    let distinct: std::collections::BTreeSet<char> = token.chars().collect();
    if token.len() < SHORTEST_TOKEN || distinct.len() < LEAST_DISTINCT {
        return Some(format!(
            "is too easy to guess: it needs {SHORTEST_TOKEN} characters or more, {LEAST_DISTINCT} of them different"
        ));
    }
    None
}

/// 128 random bits.
fn random_secret() -> Result<String, CommandError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        CommandError::system(format_args!("there is no randomness for a token: {error}"))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
        token: random_secret()?,
        session: random_secret()?,
        hosts: Vec::new(),
        store: RunStore::new(root),
        launcher: None,
        stops_runs: true,
        journal: journal_of(root, config),
        limits: Limits::default(),
        mcp: None,
        redactor: secrets::redactor().clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_128_bits() {
        assert_eq!(random_secret().unwrap().len(), 32);
        assert_ne!(random_secret().unwrap(), random_secret().unwrap());
        assert_eq!(token_problem("0123456789abcdef0123456789abcdef"), None);
        for weak in [
            "a",
            "secret",
            "0123456789abcdef",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "abababababababababababababababab",
        ] {
            assert!(
                token_problem(weak).is_some_and(|problem| problem.contains("easy to guess")),
                "{weak}"
            );
        }
        assert!(
            token_problem("0123456789abcdef&token=xyz")
                .is_some_and(|problem| problem.contains("address"))
        );
    }
}
