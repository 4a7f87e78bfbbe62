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
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proctor_converse::worker_host::ConversationHost;
use proctor_process::protocol::Notification;
use proctor_process::{
    Channel, ChannelConfig, ChildEnvironment, Connection, ExitStatus, Guard, Leaked, Listener,
    ListenerConfig, ManagedProcess, Notifications, OutputConfig, OutputStream, Overflow,
    ProcessSpec, RpcMode,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::final_report::RunReport;
use super::gc_settings;
use super::observers::SuiteObservers;
use super::pipes::Pipes;
use super::process_tree::{descendants, kill_tree};
use super::{RubyFramework, serve_events};
use crate::example::{Discovery, OutsideError};
use crate::run::outputs::RunOutputs;
use crate::suite::{OpenedSuite, SuiteEnd, SuiteEnvironment, SuiteError, leaked_line, listing};
use crate::worker_link::process::{LaunchError, LaunchedProcess, ProcessLauncher, ProcessLink};
use crate::worker_link::reports::ExitFacts;
use crate::worker_link::{BoxFuture, CheckpointRequest, HostRequests};

/// How long a fork and its connection may take, on a busy machine with a large parent.
const FORK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the project's `before_fork` hooks may take.
const HOOKS_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the parent may take to run the project's own endings.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Every example marks both streams; they are read now and then instead of at every mark, to be woken less
/// often.
const OUTPUT_SETTLE: Duration = Duration::from_millis(20);
/// What is held of a stream. It is read at once, so it needs no more than a few pipes hold; most of it would be marks that were read long ago.
const OUTPUT_RING: usize = 256 * 1024;
/// How long messages are left to gather; a worker has at least so much work waiting when it talks that fast.
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
    /// The exit status that a parent would have, once it only waits for the observers.
    waiting_with: watch::Sender<Option<i32>>,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, Expected>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a notification of the parent: which worker has ended, and how.
    fn handle_notification(&self, notification: &Notification) {
        let Ok(exited) = notification.body.parse::<Exited>() else { return };
        match &*notification.kind {
            "exited" => {
                let exit = ExitFacts {
                    status: exited.exit_status,
                    signal: exited.signal,
                    ..ExitFacts::default()
                };
                self.exited((exited.slot, exited.generation), exit);
            }
            "waiting_for_observers" => {
                self.waiting_with.send_replace(exited.exit_status);
            }
            _ => {}
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
    /// The observers of the project, which run below the parent.
    observers: watch::Sender<ObserverState>,
    /// Workers that were asked for before the dispatcher wanted them.
    ahead: Mutex<HashMap<WorkerId, JoinHandle<Result<LaunchedProcess, LaunchError>>>>,
    parent: tokio::sync::Mutex<Option<Parent>>,
    /// Whether the project has something to write at the end of the run.
    has_final_report: AtomicBool,
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
            observers: watch::Sender::new(ObserverState::None),
            ahead: Mutex::default(),
            parent: tokio::sync::Mutex::new(None),
            has_final_report: AtomicBool::new(false),
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
        let environment = gc_settings::add_to(base).set_all(variables);
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
            let forking = async move { forks.fork_from(&parent, Role::Ahead(worker)).await };
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
        self.fork_from(&parent, Role::Worker(worker)).await
    }

    /// Forks the process of the observers.
    fn fork_observers(
        self: Arc<Self>,
        parent: Parent,
        outputs: Arc<dyn RunOutputs>,
    ) -> BoxFuture<Result<LaunchedProcess, LaunchError>> {
        self.observers.send_replace(ObserverState::Starting);
        Box::pin(async move {
            let launched = self.fork_from(&parent, Role::Observers(outputs)).await;
            let state = if launched.is_ok() { ObserverState::Running } else { ObserverState::None };
            self.observers.send_replace(state);
            launched
        })
    }

    /// Whether there are observers; a short run may be over before they have started.
    async fn has_observers(&self) -> bool {
        let mut state = self.observers.subscribe();
        let settled = state.wait_for(|state| *state != ObserverState::Starting);
        let settled = tokio::time::timeout(FORK_TIMEOUT * 2, settled).await;
        matches!(settled, Ok(Ok(state)) if *state == ObserverState::Running)
    }

    async fn fork_from(&self, parent: &Parent, role: Role) -> Result<LaunchedProcess, LaunchError> {
        let (worker, within) = (role.id(), role.fork_within());
        let pipes = Pipes::make(&self.folder, worker)?;
        let (connections, mut arriving) = mpsc::unbounded_channel();
        let (exit, ended) = oneshot::channel();
        let expected = Expected { parent: parent.process.pid(), connections, exit: Some(exit) };
        self.registry.lock().insert(worker, expected);
        let env: HashMap<&str, &str> =
            self.socket.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut request = json!({
            "slot": worker.0,
            "generation": worker.1,
            "env": env,
            "streams": pipes.paths(),
            "ahead": within.is_none(),
            "role": role.name(),
            "hooks_within_ms": u64::try_from(HOOKS_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        });
        if let (Some(more), Some(fields)) = (role.instructions(), request.as_object_mut()) {
            fields.extend(more.clone());
        }
        let reply = parent.channel.request("fork", &request, within).await;
        let reply = reply.inspect_err(|_| {
            self.registry.lock().remove(&worker);
        })?;
        let reported = reply.body.value()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let host = self.host.as_ref().filter(|_| !matches!(role, Role::Observers(_)));
        let host_requests = host.map(HostRequests::new);
        let connecting = connect(&mut arriving, host_requests.as_ref(), role.outputs());
        let connected = tokio::time::timeout(role.connect_within(), connecting).await;
        let is_late = connected.is_err();
        let Ok(Some((channel, peer))) = connected else {
            // A number that a process reports may be another's: it counts only if it is a process of this parent.
            let below = parent.process.pid().map(descendants).unwrap_or_default();
            if let Some(pid) = reported.filter(|pid| below.contains(pid)) {
                kill_tree(pid);
            }
            return Err(match role {
                Role::FromCheckpoint(..) if is_late => LaunchError::LoadedTooLong,
                Role::FromCheckpoint(..) => LaunchError::EndedWhileLoading,
                _ => LaunchError::NotConnected,
            });
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
        let mut held = self.parent.lock().await;
        let Some(parent) = held.take() else { return SuiteEnd::default() };
        let wanted = self.environment.final_report.as_ref();
        let reported = match wanted.filter(|_| !now && self.has_final_report.load(Relaxed)) {
            Some(report) => RunReport::request(&parent.channel, report).await,
            None => RunReport::default(),
        };
        let asked = Instant::now();
        if !now && self.has_observers().await && self.ends_but_for(&parent).await {
            let status = ExitStatus::Code(self.registry.waiting_with.borrow().unwrap_or_default());
            let refused = (!status.success()).then_some(status);
            let mut end = suite_end(&parent, refused, asked, Vec::new());
            reported.add_to(&mut end);
            *held = Some(parent);
            return end;
        }
        let stopped =
            if now { parent.process.kill().await } else { parent.process.stop(END_TIMEOUT).await };
        let ended = stopped.as_ref().ok().filter(|report| !now && !report.status.success());
        let status = ended.map(|report| report.status);
        let leaked = stopped.map(|report| report.leaked).unwrap_or_default();
        let mut end = suite_end(&parent, status, asked, leaked);
        reported.add_to(&mut end);
        end
    }

    /// Asks the parent to end all but the observers, which have not had the last event yet. Says whether it now waits for them.
    async fn ends_but_for(&self, parent: &Parent) -> bool {
        let mut waiting = self.registry.waiting_with.subscribe();
        let asking = async {
            parent.channel.request("__shutdown__", &json!({"observers": true}), None).await.ok()?;
            waiting.wait_for(Option::is_some).await.ok().map(drop)
        };
        tokio::select! {
            asked = tokio::time::timeout(END_TIMEOUT, asking) => matches!(asked, Ok(Some(()))),
            _ = parent.process.wait() => false,
        }
    }

    /// The observers have ended, and the parent with them; if it has not, it is ended.
    async fn finish_after_observers(self: Arc<Self>) -> Vec<String> {
        let Some(parent) = self.parent.lock().await.take() else { return Vec::new() };
        let ended = match parent.process.wait_timeout(END_TIMEOUT).await {
            Ok(report) => Some(report),
            // It has run everything that could be reported.
            Err(_) => parent.process.kill().await.ok(),
        };
        let leaked = ended.map(|report| report.leaked).unwrap_or_default();
        leaked.iter().map(leaked_line).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ObserverState {
    None,
    Starting,
    Running,
}

/// What is forked.
enum Role {
    Worker(WorkerId),
    /// A worker that is asked for before the suite is loaded.
    Ahead(WorkerId),
    Observers(Arc<dyn RunOutputs>),
    /// A worker that loads the rest of the suite by itself.
    FromCheckpoint(WorkerId, CheckpointRequest),
}

impl Role {
    fn id(&self) -> WorkerId {
        match self {
            Self::Worker(id) | Self::Ahead(id) | Self::FromCheckpoint(id, _) => *id,
            // No slot has this number.
            Self::Observers(_) => (u32::MAX, FIRST),
        }
    }

    /// How long the fork may take; that of a worker ahead of time waits until the suite is loaded.
    fn fork_within(&self) -> Option<Duration> {
        (!matches!(self, Self::Ahead(_))).then_some(FORK_TIMEOUT)
    }

    /// How long it may take until the worker connects.
    fn connect_within(&self) -> Duration {
        match self {
            Self::FromCheckpoint(_, request) => request.within,
            _ => FORK_TIMEOUT,
        }
    }

    /// What the parent is told besides.
    fn instructions(&self) -> Option<&serde_json::Map<String, Value>> {
        match self {
            Self::FromCheckpoint(_, request) => Some(&request.instructions),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        if matches!(self, Self::Observers(_)) { "observers" } else { "worker" }
    }

    fn outputs(&self) -> Option<&Arc<dyn RunOutputs>> {
        match self {
            Self::Observers(outputs) => Some(outputs),
            _ => None,
        }
    }
}

/// What a parent leaves; `refused` is the exit status that fails the run.
fn suite_end(
    parent: &Parent,
    refused: Option<ExitStatus>,
    asked: Instant,
    leaked: Vec<Leaked>,
) -> SuiteEnd {
    let output = |stream: &OutputStream| {
        stream.tail(200).iter().map(|line| line.text.to_string()).collect::<Vec<_>>()
    };
    let mut lines = output(parent.process.stdout());
    lines.extend(output(parent.process.stderr()));
    let refused = refused.map(|status| refused_at_exit(status, asked.elapsed()));
    SuiteEnd { leaked, output: lines, errors: refused.into_iter().collect(), ..SuiteEnd::default() }
}

pub(super) async fn open(forks: Arc<ForkingParent>) -> Result<OpenedSuite, SuiteError> {
    let (parent, discovery) = forks.load(forks.environment.workers).await?;
    forks.has_final_report.store(discovery.has_final_report, Relaxed);
    *forks.parent.lock().await = Some(parent.clone());
    let ending = Arc::clone(&forks);
    let (observed, after) = (Arc::clone(&forks), Arc::clone(&forks));
    let checkpoints = Arc::clone(&forks);
    let observers = (discovery.observers > 0).then(|| SuiteObservers {
        launch: Box::new(move |outputs| observed.fork_observers(parent, outputs)),
        within: Duration::from_millis(discovery.observers_within_ms),
        end: Box::new(move || Box::pin(after.finish_after_observers())),
    });
    Ok(OpenedSuite {
        slots: None,
        observers,
        discovery,
        checkpoint_links: Some(Box::new(move |request| {
            let launcher = CheckpointLauncher(Arc::clone(&checkpoints), request);
            Arc::new(ProcessLink(Arc::new(launcher)))
        })),
        links: Box::new(move |_| Arc::new(ProcessLink(Arc::new(ForkLauncher(Arc::clone(&forks)))))),
        finish: Box::new(move |now| Box::pin(ending.finish(now))),
    })
}

/// Loads the project for nothing but its report of the run.
pub(super) async fn report_run(
    project: LoadedProject,
    environment: &SuiteEnvironment,
) -> RunReport {
    let Some(report) = &environment.final_report else { return RunReport::default() };
    let reporting = async {
        let forks = Arc::new(ForkingParent::new(project, environment, None)?);
        let (parent, _) = forks.load(0).await?;
        let reported = RunReport::request(&parent.channel, report).await;
        // Its at_exit blocks have run in the workers, as far as they were asked for.
        let _ = parent.process.kill().await;
        Ok::<_, SuiteError>(reported)
    };
    reporting.await.unwrap_or_else(|error| RunReport::failed(&error))
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

/// Launches workers that load the suite from a checkpoint.
struct CheckpointLauncher(Arc<ForkingParent>, CheckpointRequest);

impl ProcessLauncher for CheckpointLauncher {
    fn launch(
        &self,
        slot: u32,
        generation: u32,
    ) -> BoxFuture<Result<LaunchedProcess, LaunchError>> {
        let (forks, request) = (Arc::clone(&self.0), self.1.clone());
        Box::pin(async move {
            // A parent that was started anew has checkpoints of its own, with the same numbers.
            let parent = forks.parent().await?;
            forks.fork_from(&parent, Role::FromCheckpoint((slot, generation), request)).await
        })
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
    let config = OutputConfig {
        overflow: Overflow::Wait,
        settle: OUTPUT_SETTLE,
        ring_bytes: OUTPUT_RING,
        ..OutputConfig::default()
    };
    OutputStream::new(config, proctor_process::DiagnosticSink::default())
}

/// Waits for a worker's connection; returns it with the process at its other end.
async fn connect(
    arriving: &mut mpsc::UnboundedReceiver<Connection>,
    host_requests: Option<&HostRequests>,
    outputs: Option<&Arc<dyn RunOutputs>>,
) -> Option<(Channel, Option<u32>)> {
    let config = match outputs {
        Some(outputs) => serve_events(outputs),
        None => HostRequests::config(
            host_requests,
            ChannelConfig { settle: MESSAGE_SETTLE, ..ChannelConfig::default() },
        ),
    };
    let connection = arriving.recv().await?;
    let peer = connection.peer_pid;
    let channel = connection.into_channel(config).ok()?;
    if let Some(requests) = host_requests {
        requests.connect(channel.clone());
    }
    Some((channel, peer))
}

#[derive(Deserialize, Default)]
#[serde(default)]
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
