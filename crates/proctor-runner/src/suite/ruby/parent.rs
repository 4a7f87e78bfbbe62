//! The preloading parent and the workers it forks.
//!
//! The parent is a guarded process with a socket pair. A forked worker opens a named pipe for its standard output and
//! one for its standard error, then connects by path for messages. The parent tells how it ended. If the parent itself is
//! gone, the next worker that is asked for starts a new one, which loads the project again.
//!
//! The first workers are asked for together with the list of examples: they get ready while the parent describes them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_converse::worker_host::ConversationHost;
use proctor_process::protocol::Notification;
use proctor_process::{
    Channel, ChannelConfig, ChildEnvironment, Connection, ExitStatus, Guard, Listener,
    ListenerConfig, ManagedProcess, Notifications, OutputConfig, OutputStream, Overflow,
    ProcessSpec, RpcMode,
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::RubyFramework;
use super::pipes::Pipes;
use crate::example::{Discovery, OutsideError};
use crate::suite::{OpenedSuite, SuiteEnd, SuiteEnvironment, SuiteError, listing};
use crate::worker_link::process::{LaunchError, LaunchedProcess, ProcessLauncher, ProcessLink};
use crate::worker_link::reports::ExitFacts;
use crate::worker_link::{BoxFuture, HostRequests};

/// How long a fork and its connection may take, on a busy machine with a large parent.
const FORK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the project's `before_fork` hooks may take.
const HOOKS_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the parent may take to run the project's own endings.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Every example marks both streams; they are read now and then instead of at every mark, to be woken less
/// often.
const OUTPUT_SETTLE: Duration = Duration::from_millis(20);
/// The same for messages; a worker has at least so much work waiting when it talks that fast.
const MESSAGE_SETTLE: Duration = Duration::from_millis(1);

/// A slot and how many workers it has had.
pub(super) type WorkerId = (u32, u32);
/// The generation of the first worker of a slot.
const FIRST: u32 = 1;

/// A worker that was asked for.
struct Expected {
    /// The process id of the parent that forks it.
    parent: Option<u32>,
    connections: mpsc::UnboundedSender<Connection>,
    exit: Option<oneshot::Sender<ExitFacts>>,
}

#[derive(Default)]
struct Registry {
    expected: Mutex<HashMap<WorkerId, Expected>>,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, Expected>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a notification of the parent: which worker has ended, and how.
    fn handle_notification(&self, notification: &Notification) {
        if &*notification.kind == "exited"
            && let Ok(exited) = notification.body.parse::<Exited>()
        {
            let exit = ExitFacts {
                status: exited.exit_status,
                signal: exited.signal,
                ..ExitFacts::default()
            };
            self.exited((exited.slot, exited.generation), exit);
        }
    }

    fn exited(&self, worker: WorkerId, exit: ExitFacts) {
        let sender = self.lock().remove(&worker).and_then(|expected| expected.exit);
        // The receiver may already be dropped; ignore.
        let _ = sender.map(|sender| sender.send(exit));
    }

    /// A parent has ended, and its guard has ended everything below it. The next one may have workers already.
    fn end_workers_of(&self, parent: Option<u32>, message: &str) {
        let gone: BTreeMap<WorkerId, Expected> =
            self.lock().extract_if(|_, expected| expected.parent == parent).collect();
        for expected in gone.into_values() {
            let exit = ExitFacts { message: Some(message.to_owned()), ..ExitFacts::default() };
            let _ = expected.exit.map(|sender| sender.send(exit));
        }
    }
}

/// A running parent.
#[derive(Clone)]
struct Parent {
    process: ManagedProcess,
    channel: Channel,
}

/// What a parent loads, and by which program.
pub(super) struct LoadedProject {
    pub(super) framework: &'static RubyFramework,
    pub(super) program: Vec<String>,
    pub(super) args: Vec<String>,
}

pub(super) struct ForkingParent {
    project: LoadedProject,
    environment: SuiteEnvironment,
    socket: [(&'static str, String); 2],
    /// Where the socket is, and the pipes of workers that are not connected yet.
    folder: PathBuf,
    registry: Arc<Registry>,
    host: Option<Arc<ConversationHost>>,
    /// Workers that were asked for before the dispatcher wanted them.
    ahead: Mutex<HashMap<WorkerId, JoinHandle<Result<LaunchedProcess, LaunchError>>>>,
    parent: tokio::sync::Mutex<Option<Parent>>,
    _accepting: tokio_util::task::AbortOnDropHandle<()>,
}

impl ForkingParent {
    pub(super) fn new(
        project: LoadedProject,
        environment: &SuiteEnvironment,
        host: Option<Arc<ConversationHost>>,
    ) -> Result<Self, SuiteError> {
        let listener = Listener::bind(&environment.sockets, ListenerConfig::default())
            .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
        let registry = Arc::new(Registry::default());
        let socket = listener.env();
        let folder = listener.path().parent().map(PathBuf::from).unwrap_or_default();
        let accepting = tokio::spawn(route(listener, Arc::clone(&registry)));
        Ok(Self {
            project,
            environment: environment.clone(),
            socket,
            folder,
            registry,
            host,
            ahead: Mutex::default(),
            parent: tokio::sync::Mutex::new(None),
            _accepting: tokio_util::task::AbortOnDropHandle::new(accepting),
        })
    }

    /// The program, confined where the run asks for it. The folder of the socket must be visible inside.
    fn command_line(&self) -> Result<Vec<OsString>, SuiteError> {
        let program = self.project.program.iter();
        let Some(sandbox) = &self.environment.sandbox else {
            return Ok(program.map(OsString::from).collect());
        };
        let library = self.environment.cache.as_path();
        let confinement = sandbox.confinement.clone().unix_sockets();
        let confinement = confinement.writable(&self.folder).and_then(|it| it.readable(library));
        match confinement {
            Ok(confinement) => Ok(sandbox.launcher.wrap(&confinement, program)),
            Err(error) => Err(SuiteError { message: error.to_string(), output: Vec::new() }),
        }
    }

    /// Starts a parent and has it load the project, and fork so many workers as soon as it has.
    async fn load(self: &Arc<Self>, workers: u32) -> Result<(Parent, Discovery), SuiteError> {
        let guard = Guard::Program(self.environment.guard.clone());
        let variables = self.socket.iter().map(|(name, value)| (*name, value.as_str()));
        // A suite of the user's own gets all variables, as under its own tools; a confined one gets no secrets.
        let base = match self.environment.sandbox {
            Some(_) => ChildEnvironment::allowed(),
            None => ChildEnvironment::inherited(),
        };
        let environment = base.set_all(variables);
        let spec = ProcessSpec::new(self.command_line()?, environment, guard)
            .cwd(&self.environment.root)
            .rpc(RpcMode::Socket)
            .channel(HostRequests::config(None, ChannelConfig::default()));
        let process = ManagedProcess::spawn(spec)
            .await
            .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
        let talk =
            process.rpc().and_then(|channel| Some((channel.clone(), channel.notifications()?)));
        let Some((channel, mut notifications)) = talk else {
            return Err(SuiteError {
                message: "the parent has no channel".into(),
                output: Vec::new(),
            });
        };
        let framework = self.project.framework;
        let what = &format!("loading the {} suite", framework.title);
        let notices = &self.environment.load_notices;
        if let Err(error) = listing::hello_with_notice(what, &channel, &process, notices).await {
            return Err(listing::failed(what, &error, &process).await);
        }
        let root = self.environment.root.to_string_lossy();
        let parent = Parent { process: process.clone(), channel: channel.clone() };
        let mut listing = Box::pin(listing::list(
            framework.name,
            &channel,
            &mut notifications,
            &self.project.args,
            &root,
            |notification| {
                self.registry.handle_notification(notification);
            },
        ));
        // The request is on its way before those for workers.
        let early = tokio::select! {
            biased;
            listed = &mut listing => Some(listed),
            () = std::future::ready(()) => None,
        };
        self.fork_ahead(&parent, workers);
        let listed = match early {
            Some(listed) => listed,
            None => listing.as_mut().await,
        };
        drop(listing);
        let discovery = match listed {
            Ok(discovery) => discovery,
            Err(error) => return Err(listing::failed(what, &error, &process).await),
        };
        tokio::spawn(watch_parent(notifications, process.clone(), Arc::clone(&self.registry)));
        Ok((parent, discovery))
    }

    fn ahead(
        &self,
    ) -> MutexGuard<'_, HashMap<WorkerId, JoinHandle<Result<LaunchedProcess, LaunchError>>>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the first workers ahead of time. Forks that fail or are never used cost nothing.
    fn fork_ahead(self: &Arc<Self>, parent: &Parent, workers: u32) {
        let first = self.environment.first_slot;
        for slot in first..first + workers {
            let (forks, parent, worker) = (Arc::clone(self), parent.clone(), (slot, FIRST));
            let forking = async move { forks.fork_from(&parent, worker, None).await };
            self.ahead().insert(worker, tokio::spawn(forking));
        }
    }

    /// The parent, started anew if it has ended.
    async fn parent(self: &Arc<Self>) -> Result<Parent, LaunchError> {
        let mut held = self.parent.lock().await;
        if let Some(parent) = &*held
            && parent.process.is_alive()
        {
            return Ok(parent.clone());
        }
        let (parent, discovery) = self.load(0).await?;
        if let Some(error) = discovery.errors.first() {
            let message = error.message.clone().unwrap_or_default();
            return Err(LaunchError::LoadedWithError(message));
        }
        *held = Some(parent.clone());
        Ok(parent)
    }

    async fn fork(self: &Arc<Self>, worker: WorkerId) -> Result<LaunchedProcess, LaunchError> {
        let ahead = self.ahead().remove(&worker);
        if let Some(forking) = ahead
            && let Ok(Ok(launched)) = forking.await
        {
            return Ok(launched);
        }
        let parent = self.parent().await?;
        self.fork_from(&parent, worker, Some(FORK_TIMEOUT)).await
    }

    async fn fork_from(
        &self,
        parent: &Parent,
        worker: WorkerId,
        within: Option<Duration>,
    ) -> Result<LaunchedProcess, LaunchError> {
        let pipes = Pipes::make(&self.folder, worker)?;
        let (connections, mut arriving) = mpsc::unbounded_channel();
        let (exit, ended) = oneshot::channel();
        let expected = Expected { parent: parent.process.pid(), connections, exit: Some(exit) };
        self.registry.lock().insert(worker, expected);
        let env: HashMap<&str, &str> =
            self.socket.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let request = json!({
            "slot": worker.0,
            "generation": worker.1,
            "env": env,
            "streams": pipes.paths(),
            "ahead": within.is_none(),
            "hooks_within_ms": u64::try_from(HOOKS_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        });
        let reply = parent.channel.request("fork", &request, within).await;
        let reply = reply.inspect_err(|_| {
            self.registry.lock().remove(&worker);
        })?;
        let reported = reply.body.value()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let host_requests = self.host.as_ref().map(HostRequests::new);
        let connecting = connect(&mut arriving, host_requests.as_ref());
        let connected = tokio::time::timeout(FORK_TIMEOUT, connecting).await;
        let Ok(Some((channel, peer))) = connected else {
            // A number that a process reports may be another's: it counts only if it is a process of this parent.
            let below = parent.process.pid().map(descendants).unwrap_or_default();
            if let Some(pid) = reported.filter(|pid| below.contains(pid)) {
                kill_tree(pid);
            }
            return Err(LaunchError::NotConnected);
        };
        // As the kernel sees it: a confined worker knows only its number inside, and no code of the project can name another process.
        let pid = peer;
        let (stdout, stderr) = (output(), output());
        pipes.feed(&stdout, &stderr)?;
        let notifications = channel.notifications();
        let ended = Box::pin(async move {
            ended.await.unwrap_or_else(|_| ExitFacts {
                message: Some("how it ended is not known".to_owned()),
                ..ExitFacts::default()
            })
        });
        let kill = Box::new(move || {
            if let Some(pid) = pid {
                kill_tree(pid);
            }
        });
        Ok(LaunchedProcess {
            channel,
            notifications,
            host_requests,
            stdout,
            stderr,
            pid,
            ended,
            kill,
            replies_to_shutdown: true,
        })
    }

    async fn finish(self: Arc<Self>, now: bool) -> SuiteEnd {
        let Some(parent) = self.parent.lock().await.take() else { return SuiteEnd::default() };
        let asked = Instant::now();
        let stopped =
            if now { parent.process.kill().await } else { parent.process.stop(END_TIMEOUT).await };
        let output = |stream: &OutputStream| {
            stream.tail(200).iter().map(|line| line.text.to_string()).collect::<Vec<_>>()
        };
        let mut lines = output(parent.process.stdout());
        lines.extend(output(parent.process.stderr()));
        let ended = stopped.as_ref().ok().filter(|report| !now && !report.status.success());
        let refused = ended.map(|report| refused_at_exit(report.status, asked.elapsed()));
        SuiteEnd {
            leaked: stopped.map(|report| report.leaked).unwrap_or_default(),
            output: lines,
            errors: refused.into_iter().collect(),
            ..SuiteEnd::default()
        }
    }
}

pub(super) async fn open(forks: Arc<ForkingParent>) -> Result<OpenedSuite, SuiteError> {
    let (parent, discovery) = forks.load(forks.environment.workers).await?;
    *forks.parent.lock().await = Some(parent);
    let ending = Arc::clone(&forks);
    Ok(OpenedSuite {
        slots: None,
        discovery,
        links: Box::new(move |_| Arc::new(ProcessLink(Arc::new(ForkLauncher(Arc::clone(&forks)))))),
        finish: Box::new(move |now| Box::pin(ending.finish(now))),
    })
}

struct ForkLauncher(Arc<ForkingParent>);

impl ProcessLauncher for ForkLauncher {
    fn launch(
        &self,
        slot: u32,
        generation: u32,
    ) -> BoxFuture<Result<LaunchedProcess, LaunchError>> {
        let forks = Arc::clone(&self.0);
        Box::pin(async move { forks.fork((slot, generation)).await })
    }
}

/// Without Proctor an `at_exit` block may fail the run, as that of `SimpleCov` does where too little is covered.
fn refused_at_exit(status: ExitStatus, took: Duration) -> OutsideError {
    let message = match status {
        ExitStatus::Code(code) => {
            format!("an at_exit block of the project ended the process with exit status {code}")
        }
        _ if took >= END_TIMEOUT => format!(
            "an at_exit block of the project did not end within {} s and was ended",
            END_TIMEOUT.as_secs()
        ),
        status => format!(
            "the process of the project ended with {status}: an at_exit block may have done it"
        ),
    };
    OutsideError { phase: "at_exit".to_owned(), message: Some(message), ..OutsideError::default() }
}

/// Hands connections to the workers they belong to.
async fn route(mut listener: Listener, registry: Arc<Registry>) {
    while let Some(connection) = listener.accept().await {
        let worker = (connection.line.slot, connection.line.generation);
        if let Some(expected) = registry.lock().get(&worker) {
            let _ = expected.connections.send(connection);
        }
    }
}

/// A stream of a worker's output.
fn output() -> OutputStream {
    // A test that prints faster than we record has to wait, rather than lose lines.
    let config =
        OutputConfig { overflow: Overflow::Wait, settle: OUTPUT_SETTLE, ..OutputConfig::default() };
    OutputStream::new(config, proctor_process::DiagnosticSink::default())
}

/// Waits for a worker's connection; returns it with the process at its other end.
async fn connect(
    arriving: &mut mpsc::UnboundedReceiver<Connection>,
    host_requests: Option<&HostRequests>,
) -> Option<(Channel, Option<u32>)> {
    let config = ChannelConfig { settle: MESSAGE_SETTLE, ..ChannelConfig::default() };
    let connection = arriving.recv().await?;
    let peer = connection.peer_pid;
    let channel = connection.into_channel(HostRequests::config(host_requests, config)).ok()?;
    if let Some(requests) = host_requests {
        requests.connect(channel.clone());
    }
    Some((channel, peer))
}

#[derive(Deserialize)]
struct Exited {
    slot: u32,
    generation: u32,
    exit_status: Option<i32>,
    signal: Option<i32>,
}

/// Hears from the parent which workers have ended, until it ends itself.
async fn watch_parent(
    mut notifications: Notifications,
    process: ManagedProcess,
    registry: Arc<Registry>,
) {
    while let Some(notification) = notifications.next().await {
        registry.handle_notification(&notification);
    }
    let report = process.wait().await;
    registry.end_workers_of(
        process.pid(),
        &format!("the process that preloads the suite ended with {}", report.status),
    );
}

/// Kills a forked worker: its process group, and descendants that have left the group.
fn kill_tree(pid: u32) {
    for victim in descendants(pid) {
        signal(victim, false);
    }
    signal(pid, true);
    signal(pid, false);
}

fn signal(pid: u32, group: bool) {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return;
    };
    // Processes that have ended need no signal.
    let _ = if group {
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL)
    } else {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
    };
}

/// All descendants of a process, read from the kernel level by level.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        for child in children(next) {
            found.push(child);
            open.push(child);
        }
    }
    found
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        })
        .collect()
}
