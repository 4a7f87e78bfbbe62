//! The thread that talks to the engine, so that leases are renewed whatever the rest of the process does.

use std::future::Future;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use proctor_engine::Engine;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::EngineArguments;
use crate::error::CommandError;

/// How long what is left to say may take at the end.
const END_WITHIN: Duration = Duration::from_secs(10);

/// A connected engine and its thread.
pub(crate) struct EngineRuntime {
    pub(crate) engine: Engine,
    pub(crate) handle: EngineHandle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Runs futures on the thread of the engine.
#[derive(Clone)]
pub(crate) struct EngineHandle {
    handle: Handle,
    tasks: TaskTracker,
}

impl EngineHandle {
    /// Runs a future there; it is waited for when the engine is stopped.
    pub(crate) fn spawn<F>(&self, future: F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn_on(future, &self.handle)
    }

    /// Runs a future there and waits for it; not to be called on a thread that runs futures itself.
    pub(crate) fn wait_for<F>(&self, future: F) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move {
            // The receiver waits below.
            let _ = sender.send(future.await);
        });
        receiver.recv().ok()
    }
}

impl EngineRuntime {
    /// Connects, if the arguments name an engine.
    pub(crate) fn connect(arguments: &EngineArguments) -> Result<Option<Self>, CommandError> {
        let Some(address) = arguments.engine.clone() else { return Ok(None) };
        let access = arguments.access();
        let lease = arguments.engine_lease.map(Duration::from_millis);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = EngineHandle { handle: runtime.handle().clone(), tasks: TaskTracker::new() };
        let (stop, stopped) = oneshot::channel::<()>();
        let tasks = handle.tasks.clone();
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let _ = stopped.await;
                tasks.close();
                let _ = tokio::time::timeout(END_WITHIN, tasks.wait()).await;
            });
        })?;
        let connecting = async move { Engine::connect(&address, &access, lease).await };
        let connected = handle.wait_for(connecting);
        let engine =
            connected.ok_or_else(|| CommandError::bug("the thread of the engine ended"))??;
        Ok(Some(Self { engine, handle, stop: Some(stop), thread: Some(thread) }))
    }
}

/// What is left to say is said first.
impl Drop for EngineRuntime {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
