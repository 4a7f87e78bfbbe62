//! A suite of independent worker processes: any program that speaks the worker protocol, and RSpec without
//! preloading.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_host::Host;
use proctor_process::{ChannelConfig, Guard, ManagedProcess, ProcessSpec, RpcMode};
use serde_json::json;

use super::filter::ExampleFilter;
use super::{Finished, Opened, SuiteError, Surroundings, listing};
use crate::dispatch::Exit;
use crate::worker::{Asking, BoxFuture, Launched, Launcher};

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
}

pub(crate) async fn open(
    suite: &CommandSuite,
    surroundings: &Surroundings,
    host: Option<Arc<Host>>,
) -> Result<Opened, SuiteError> {
    let launcher = Arc::new(Processes {
        suite: suite.clone(),
        surroundings: surroundings.clone(),
        host,
        spare: Mutex::new(None),
    });
    let (first, asking) =
        launcher.spawn(0, 1).await.map_err(|message| SuiteError { message, output: Vec::new() })?;
    let what = format!("suite {} ({})", suite.name, suite.command.join(" "));
    let (channel, mut notifications) = channel_of(&first)?;
    let waiting = &surroundings.waiting;
    if let Err(error) = listing::hello_or_tell(&what, &channel, &first, waiting).await {
        return Err(listing::failed(&what, &error, &first).await);
    }
    let root = surroundings.root.to_string_lossy();
    let listed =
        listing::list(&suite.name, &channel, &mut notifications, &suite.args, &root, |_| {}).await;
    let mut discovery = match listed {
        Ok(discovery) => discovery,
        Err(error) => return Err(listing::failed(&what, &error, &first).await),
    };
    discovery.examples.retain(|example| suite.filter.accepts(example));
    // It has loaded the suite, so it may as well be the first worker.
    let ready = Ready { process: first, notifications, asking };
    *lock(&launcher.spare) = Some(ready);
    let unused = Arc::clone(&launcher);
    Ok(Opened {
        discovery,
        launcher,
        slots: None,
        finish: Box::new(move |_| Box::pin(finish(unused))),
    })
}

async fn finish(launcher: Arc<Processes>) -> Finished {
    let spare = lock(&launcher.spare).take();
    if let Some(spare) = spare {
        // It has run nothing, so there is nothing to lose.
        let _ = spare.process.kill().await;
    }
    Finished::default()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Spawned = (ManagedProcess, Option<Asking>);
type Talk = (proctor_process::Channel, proctor_process::Notifications);

fn channel_of(process: &ManagedProcess) -> Result<Talk, SuiteError> {
    let talk = process.rpc().and_then(|channel| Some((channel.clone(), channel.notifications()?)));
    talk.ok_or_else(|| SuiteError {
        message: "the worker has no channel".to_owned(),
        output: Vec::new(),
    })
}

/// A process that has loaded the suite.
struct Ready {
    process: ManagedProcess,
    notifications: proctor_process::Notifications,
    asking: Option<Asking>,
}

struct Processes {
    suite: CommandSuite,
    surroundings: Surroundings,
    host: Option<Arc<Host>>,
    /// The process that listed the examples.
    spare: Mutex<Option<Ready>>,
}

impl Processes {
    fn spawn(&self, slot: u32, generation: u32) -> BoxFuture<Result<Spawned, String>> {
        let guard = Guard::Program(self.surroundings.guard.clone());
        let number = slot + 1;
        let asking = self.host.as_ref().map(Asking::new);
        let config = Asking::config(asking.as_ref(), ChannelConfig::default());
        let spec = ProcessSpec::new(self.suite.command.iter().map(String::as_str), guard)
            .cwd(&self.surroundings.root)
            .rpc(RpcMode::Socket)
            .channel(config)
            .env("WORKER_INDEX", slot.to_string())
            .env("PROCTOR_WORKER", number.to_string())
            .env("PROCTOR_GENERATION", generation.to_string())
            .env("TEST_ENV_NUMBER", if slot == 0 { String::new() } else { number.to_string() })
            .envs(self.suite.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Box::pin(async move {
            let process = ManagedProcess::spawn(spec).await.map_err(|error| error.to_string())?;
            if let (Some(asking), Some(channel)) = (&asking, process.rpc()) {
                asking.connect(channel.clone());
            }
            Ok((process, asking))
        })
    }
}

impl Launcher for Processes {
    fn launch(&self, slot: u32, generation: u32) -> BoxFuture<Result<Launched, String>> {
        // Those of RSpec are our own.
        let answers = self.suite.name == "rspec";
        // The one that listed was started as slot 0.
        let spare = if slot == 0 { lock(&self.spare).take() } else { None };
        if let Some(ready) = spare {
            return Box::pin(async move { Ok(launched(ready, answers)) });
        }
        let spawning = self.spawn(slot, generation);
        let request = json!({
            "args": self.suite.args,
            "root": self.surroundings.root.to_string_lossy(),
            "examples": false,
        });
        Box::pin(async move {
            let (process, asking) = spawning.await?;
            let (channel, mut notifications) =
                channel_of(&process).map_err(|error| error.message)?;
            listing::hello(&channel).await.map_err(|error| error.to_string())?;
            // It has to load the suite too; what it lists is known already.
            let loading = channel.request("list", &request, None);
            tokio::pin!(loading);
            loop {
                tokio::select! {
                    loaded = &mut loading => {
                        loaded.map_err(|error| error.to_string())?;
                        break;
                    }
                    Some(_) = notifications.next() => {}
                }
            }
            while notifications.try_next().is_some() {}
            Ok(launched(Ready { process, notifications, asking }, answers))
        })
    }
}

fn launched(ready: Ready, answers: bool) -> Launched {
    let Ready { process, notifications, asking } = ready;
    let (ending, killing) = (process.clone(), process.clone());
    let ended = Box::pin(async move {
        let report = ending.wait().await;
        Exit { status: report.status.code(), signal: report.status.signal(), ..Exit::default() }
    });
    Launched {
        channel: process
            .rpc()
            .unwrap_or_else(|| unreachable!("a worker with notifications has a channel")),
        notifications: Some(notifications),
        asking,
        stdout: process.stdout().clone(),
        stderr: process.stderr().clone(),
        pid: process.pid(),
        ended,
        kill: Box::new(move || {
            let process = killing.clone();
            tokio::spawn(async move { process.kill().await.map(drop) });
        }),
        answers,
    }
}
