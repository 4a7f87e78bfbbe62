//! A suite of independent worker processes: any program that speaks the worker protocol, and projects in Ruby that
//! are not preloaded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_converse::worker_host::ConversationHost;
use proctor_process::protocol::Notification;
use proctor_process::{
    ChannelConfig, ChildEnvironment, Guard, ManagedProcess, ProcessSpec, RpcMode,
};
use serde_json::{Value, json};

use super::filter::ExampleFilter;
use super::{
    OpenedSuite, Opening, Reported, SuiteCapabilities, SuiteEnd, SuiteEnvironment, SuiteError,
    SuiteKind, listing,
};
use crate::worker_link::process::{LaunchError, LaunchedProcess, ProcessLauncher, ProcessLink};
use crate::worker_link::reports::ExitFacts;
use crate::worker_link::{BoxFuture, HostRequests};

/// Any program that speaks the worker protocol.
#[derive(Debug, Clone)]
pub struct CommandSuite {
    /// The suite's name.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What `list` is asked for: paths, filters.
    pub args: Vec<String>,
    /// Extra environment variables.
    pub env: BTreeMap<String, String>,
    /// Which of the examples that it lists are run.
    pub filter: ExampleFilter,
    /// What the project declares: whether the same code gives the same result every time.
    pub deterministic: Option<bool>,
}

/// What its examples report.
pub(crate) const CAPABILITIES: SuiteCapabilities = SuiteCapabilities {
    name: "program",
    names: Reported::Always,
    durations: Reported::IfSaid("measured from outside"),
    output: Reported::IfSaid("its worker's"),
    checks: Reported::IfSaid("unknown"),
};

impl SuiteKind for CommandSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        &CAPABILITIES
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn open<'a>(&'a self, environment: &'a SuiteEnvironment) -> Opening<'a> {
        Box::pin(open(self, environment, None, false))
    }

    fn deterministic(&self) -> Option<bool> {
        self.deterministic
    }
}

/// The processes of a suite, to start one that is no worker.
pub(super) fn launcher_of(suite: CommandSuite, environment: &SuiteEnvironment) -> Processes {
    Processes {
        suite,
        replies_to_shutdown: false,
        environment: environment.clone(),
        host: None,
        spare: Mutex::new(None),
    }
}

/// Opens a suite whose program may have conversations conducted by `host`. `replies_to_shutdown`: it answers a shutdown
/// with how much it has sent.
pub(super) async fn open(
    suite: &CommandSuite,
    environment: &SuiteEnvironment,
    host: Option<Arc<ConversationHost>>,
    replies_to_shutdown: bool,
) -> Result<OpenedSuite, SuiteError> {
    let launcher = Arc::new(Processes {
        suite: suite.clone(),
        replies_to_shutdown,
        environment: environment.clone(),
        host,
        spare: Mutex::new(None),
    });
    let first_slot = environment.first_slot;
    let (first, host_requests) = launcher
        .spawn(first_slot, 1)
        .await
        .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
    let what = format!("suite {} ({})", suite.name, suite.command.join(" "));
    let (channel, mut notifications) = channel_of(&first)?;
    let notices = &environment.load_notices;
    if let Err(error) = listing::hello_with_notice(&what, &channel, &first, notices).await {
        return Err(listing::failed(&what, &error, &first).await);
    }
    let root = environment.root.to_string_lossy();
    // It is a worker as soon as it has answered: what it says then belongs to that worker.
    let mut of_worker = Vec::new();
    let other = |notification: &Notification| of_worker.push(notification.clone());
    let listed =
        listing::list(&suite.name, &channel, &mut notifications, &suite.args, &root, other).await;
    notifications.put_back(of_worker);
    let mut discovery = match listed {
        Ok(discovery) => discovery,
        Err(error) => return Err(listing::failed(&what, &error, &first).await),
    };
    discovery.examples.retain(|example| suite.filter.accepts(example));
    // It has loaded the suite, so it may as well be the first worker.
    let ready = Ready { process: first, notifications, host_requests };
    *lock(&launcher.spare) = Some(ready);
    let unused = Arc::clone(&launcher);
    Ok(OpenedSuite {
        checkpoint_links: None,
        discovery,
        links: Box::new(move |_| Arc::new(ProcessLink(Arc::clone(&launcher) as _))),
        slots: None,
        finish: Box::new(move |_| Box::pin(finish(unused))),
        observers: None,
    })
}

async fn finish(launcher: Arc<Processes>) -> SuiteEnd {
    let spare = lock(&launcher.spare).take();
    if let Some(spare) = spare {
        // It has run nothing, so there is nothing to lose.
        let _ = spare.process.kill().await;
    }
    SuiteEnd::default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Spawned = (ManagedProcess, Option<HostRequests>);
type OpenChannel = (proctor_process::Channel, proctor_process::Notifications);

fn channel_of(process: &ManagedProcess) -> Result<OpenChannel, SuiteError> {
    let channel =
        process.rpc().and_then(|channel| Some((channel.clone(), channel.notifications()?)));
    channel.ok_or_else(|| SuiteError {
        message: "the worker has no channel".to_owned(),
        output: Vec::new(),
    })
}

/// A process that has loaded the suite.
struct Ready {
    process: ManagedProcess,
    notifications: proctor_process::Notifications,
    host_requests: Option<HostRequests>,
}

pub(super) struct Processes {
    suite: CommandSuite,
    /// Whether its program is a worker of this library.
    replies_to_shutdown: bool,
    environment: SuiteEnvironment,
    host: Option<Arc<ConversationHost>>,
    /// The process that listed the examples.
    spare: Mutex<Option<Ready>>,
}

impl Processes {
    fn spawn(&self, slot: u32, generation: u32) -> BoxFuture<Result<Spawned, LaunchError>> {
        let host_requests = self.host.as_ref().map(HostRequests::new);
        let config = HostRequests::config(host_requests.as_ref(), ChannelConfig::default());
        let environment = ChildEnvironment::inherited()
            .set("WORKER_INDEX", slot.to_string())
            .set("PROCTOR_WORKER", slot.to_string())
            .set("PROCTOR_GENERATION", generation.to_string())
            .set("TEST_ENV_NUMBER", if slot == 0 { String::new() } else { (slot + 1).to_string() });
        let spec = self.spec(environment, config);
        Box::pin(async move {
            let process = ManagedProcess::spawn(spec).await?;
            if let (Some(requests), Some(channel)) = (&host_requests, process.rpc()) {
                requests.connect(channel.clone());
            }
            Ok((process, host_requests))
        })
    }

    fn spec(&self, environment: ChildEnvironment, config: ChannelConfig) -> ProcessSpec {
        let guard = Guard::Program(self.environment.guard.clone());
        let command = self.suite.command.iter().map(String::as_str);
        ProcessSpec::new(command, environment.set_all(&self.suite.env), guard)
            .cwd(&self.environment.root)
            .rpc(RpcMode::Socket)
            .channel(config)
    }

    /// Starts a process that loads the suite and is no worker.
    pub(super) async fn launch_beside(
        &self,
        config: ChannelConfig,
    ) -> Result<LaunchedProcess, LaunchError> {
        let spec = self.spec(ChildEnvironment::inherited(), config);
        let process = ManagedProcess::spawn(spec).await?;
        let ready = load(process, None, &self.load_request()).await?;
        launched(ready, self.replies_to_shutdown)
    }

    fn load_request(&self) -> Value {
        json!({
            "args": self.suite.args,
            "root": self.environment.root.to_string_lossy(),
            "examples": false,
        })
    }
}

/// Has a process load the suite. What it lists is known already.
async fn load(
    process: ManagedProcess,
    host_requests: Option<HostRequests>,
    request: &Value,
) -> Result<Ready, LaunchError> {
    let (channel, mut notifications) = channel_of(&process)?;
    listing::hello(&channel).await?;
    let loading = channel.request("list", request, None);
    tokio::pin!(loading);
    let mut of_worker = Vec::new();
    let mut take = |notification: Notification| {
        if !listing::is_about_list(&notification) {
            of_worker.push(notification);
        }
    };
    loop {
        tokio::select! {
            loaded = &mut loading => {
                loaded?;
                break;
            }
            Some(notification) = notifications.next() => take(notification),
        }
    }
    // Of these, some may have been sent after the answer: they belong to the worker that it is now.
    while let Some(notification) = notifications.try_next() {
        take(notification);
    }
    notifications.put_back(of_worker);
    Ok(Ready { process, notifications, host_requests })
}

impl ProcessLauncher for Processes {
    fn launch(
        &self,
        slot: u32,
        generation: u32,
    ) -> BoxFuture<Result<LaunchedProcess, LaunchError>> {
        let replies = self.replies_to_shutdown;
        // The one that listed was started for the first slot.
        let is_first = slot == self.environment.first_slot;
        let spare = if is_first { lock(&self.spare).take() } else { None };
        if let Some(ready) = spare {
            return Box::pin(async move { launched(ready, replies) });
        }
        let spawning = self.spawn(slot, generation);
        let request = self.load_request();
        Box::pin(async move {
            let (process, host_requests) = spawning.await?;
            launched(load(process, host_requests, &request).await?, replies)
        })
    }
}

fn launched(ready: Ready, replies_to_shutdown: bool) -> Result<LaunchedProcess, LaunchError> {
    let Ready { process, notifications, host_requests } = ready;
    let (ending, killing) = (process.clone(), process.clone());
    let ended = Box::pin(async move {
        let report = ending.wait().await;
        ExitFacts {
            status: report.status.code(),
            signal: report.status.signal(),
            ..ExitFacts::default()
        }
    });
    Ok(LaunchedProcess {
        channel: process.rpc().ok_or(LaunchError::NoChannel)?,
        notifications: Some(notifications),
        host_requests,
        stdout: process.stdout().clone(),
        stderr: process.stderr().clone(),
        pid: process.pid(),
        ended,
        kill: Box::new(move || {
            let process = killing.clone();
            tokio::spawn(async move { process.kill().await.map(drop) });
        }),
        replies_to_shutdown,
    })
}
