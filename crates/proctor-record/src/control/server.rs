//! The server: a thread that replies to requests until it is dropped.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::socket::{self, SOCKET_NAME};
use super::wire::{Action, Answer, Request, Status, VERSION, read_line, to_line};

/// How long a client may take to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest number of clients served at once; further connections are closed.
const MAX_CLIENTS: usize = 32;

/// A run that reports its status and can be stopped. Called from several threads; must not block.
pub trait ControlledRun: Send + Sync + 'static {
    /// The current status. The server sets `v` and `pid`.
    fn status(&self) -> Status;
    /// Starts no further example.
    fn cancel(&self);
    /// Ends the run at once.
    fn kill(&self);
}

/// Serves the control socket of a run until it is dropped.
#[derive(Debug)]
pub struct ControlServer {
    path: PathBuf,
    /// Closing it wakes the thread for the last time.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// Opens the socket in the run's folder.
    pub fn start(folder: &Path, run: impl ControlledRun) -> io::Result<Self> {
        let path = folder.join(SOCKET_NAME);
        let listener = socket::bind(folder)?;
        listener.set_nonblocking(true)?;
        let (wake, woken) = UnixStream::pair()?;
        let run: Arc<dyn ControlledRun> = Arc::new(run);
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || serve_until_woken(&listener, &woken, &run))?;
        Ok(Self { path, wake: Some(wake), thread: Some(thread) })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // The file is removed first, so that no client connects to a socket without a server.
        let _ = std::fs::remove_file(&self.path);
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve_until_woken(listener: &UnixListener, woken: &UnixStream, run: &Arc<dyn ControlledRun>) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        let mut descriptors = [
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(woken.as_fd(), PollFlags::IN),
        ];
        match poll(&mut descriptors, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        }
        if !descriptors[1].revents().is_empty() {
            return;
        }
        match listener.accept() {
            Ok((client, _)) => serve(client, run, &clients),
            Err(error) if is_transient(&error) => {}
            // Most likely out of descriptors: a pause avoids a busy loop.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
    )
}

fn serve(client: UnixStream, run: &Arc<dyn ControlledRun>, clients: &Arc<AtomicUsize>) {
    if clients.fetch_add(1, Ordering::SeqCst) >= MAX_CLIENTS {
        clients.fetch_sub(1, Ordering::SeqCst);
        return;
    }
    let (run, served) = (Arc::clone(run), Arc::clone(clients));
    let spawned = std::thread::Builder::new().name("control client".to_owned()).spawn(move || {
        // A malformed request or a closed connection does not concern the run.
        let _ = handle_request(&client, &*run);
        served.fetch_sub(1, Ordering::SeqCst);
    });
    if spawned.is_err() {
        clients.fetch_sub(1, Ordering::SeqCst);
    }
}

fn handle_request(client: &UnixStream, run: &dyn ControlledRun) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    client.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let answer = match serde_json::from_str::<Request>(&read_line(client)?) {
        Ok(request) if request.v > VERSION => Answer::Error {
            message: format!("this run uses protocol version {VERSION}, not {}", request.v),
        },
        Ok(request) => {
            match request.action {
                Action::Status => {}
                Action::Cancel => run.cancel(),
                Action::Kill => run.kill(),
            }
            Answer::Status(Status { v: VERSION, pid: std::process::id(), ..run.status() })
        }
        Err(error) => Answer::Error { message: format!("malformed request: {error}") },
    };
    let mut client = client;
    client.write_all(&to_line(&answer)?)
}
