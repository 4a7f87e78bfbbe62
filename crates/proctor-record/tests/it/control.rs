//! The socket of a run, with real sockets and real clients.
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proctor_record::control::{
    ControlError, ControlServer, ControlledRun, SOCKET_NAME, State, Status, cancel, kill,
    live_runs, query_status,
};

#[derive(Clone, Default)]
struct FakeRun {
    cancelled: Arc<AtomicU64>,
    killed: Arc<AtomicU64>,
}

impl ControlledRun for FakeRun {
    fn status(&self) -> Status {
        let stopping = self.cancelled.load(Ordering::SeqCst) > 0;
        Status {
            v: 0,
            run_id: "r1".to_owned(),
            pid: 0,
            state: if stopping { State::Stopping } else { State::Running },
            completed: 3,
            total: 5,
            failures: 1,
        }
    }

    fn cancel(&self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
    }

    fn kill(&self) {
        self.killed.fetch_add(1, Ordering::SeqCst);
    }
}

fn folder(under: &Path, name: &str) -> PathBuf {
    let folder = under.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_live_run_answers_and_is_gone_afterwards() {
    let place = tempfile::tempdir().unwrap();
    let here = folder(place.path(), "r1");
    assert!(matches!(query_status(&here), Err(ControlError::NotLive)), "before");
    let run = FakeRun::default();
    let server = ControlServer::start(&here, run.clone()).unwrap();
    let status = query_status(&here).unwrap();
    assert_eq!((status.completed, status.total, status.state), (3, 5, State::Running));
    assert_eq!((status.pid, status.v), (std::process::id(), 1));
    assert_eq!(cancel(&here).unwrap().state, State::Stopping);
    kill(&here).unwrap();
    assert_eq!(run.cancelled.load(Ordering::SeqCst) + run.killed.load(Ordering::SeqCst), 2);
    drop(server);
    assert!(!here.join(SOCKET_NAME).exists());
    assert!(matches!(query_status(&here), Err(ControlError::NotLive)), "after");
}

#[test]
fn a_folder_deeper_than_an_address_may_be_long_is_no_obstacle() {
    let place = tempfile::tempdir().unwrap();
    let here = folder(place.path(), &format!("{}/{}/r1", "d".repeat(120), "e".repeat(120)));
    let _server = ControlServer::start(&here, FakeRun::default()).unwrap();
    assert_eq!(query_status(&here).unwrap().run_id, "r1");
}

#[test]
fn the_registry_lists_the_living_only() {
    let place = tempfile::tempdir().unwrap();
    let _server = ControlServer::start(&folder(place.path(), "b"), FakeRun::default()).unwrap();
    folder(place.path(), "a");
    // What a killed process leaves: a socket at which nobody listens.
    let dead = folder(place.path(), "c");
    drop(std::os::unix::net::UnixListener::bind(dead.join(SOCKET_NAME)).unwrap());
    assert!(dead.join(SOCKET_NAME).exists());
    let names: Vec<String> = live_runs(place.path()).into_iter().map(|run| run.run_id).collect();
    assert_eq!(names, ["b"]);
    assert_eq!(live_runs(&place.path().join("nowhere")), []);
}

#[test]
fn nonsense_is_answered_and_silence_holds_nobody_up() {
    let place = tempfile::tempdir().unwrap();
    let here = folder(place.path(), "r1");
    let _server = ControlServer::start(&here, FakeRun::default()).unwrap();
    let say = |text: &str| {
        let mut client = UnixStream::connect(here.join(SOCKET_NAME)).unwrap();
        client.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        answer
    };
    let silent: Vec<UnixStream> =
        (0..8).map(|_| UnixStream::connect(here.join(SOCKET_NAME)).unwrap()).collect();
    assert!(say("hello\n").contains("malformed request"));
    assert!(say("{\"v\":1,\"action\":\"dance\"}\n").contains("unknown variant"));
    assert!(say("{\"v\":9,\"action\":\"kill\"}\n").contains("uses protocol version 1, not 9"));
    assert_eq!(query_status(&here).unwrap().total, 5);
    drop(silent);
}

#[test]
fn many_clients_at_once_all_get_their_answer() {
    let place = tempfile::tempdir().unwrap();
    let here = folder(place.path(), "r1");
    let run = FakeRun::default();
    let _server = ControlServer::start(&here, run.clone()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| drop(cancel(&here).unwrap())));
        }
    });
    assert_eq!(run.cancelled.load(Ordering::SeqCst), 200);
}
