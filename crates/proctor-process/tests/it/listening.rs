//! The transport by socket path: token, streams, and peers that misbehave.

use crate::support::*;
use proctor_process::protocol::{HostInfo, StreamName};
use proctor_process::{
    ChannelConfig, ChildEnvironment, Diagnostic, DiagnosticSink, Listener, ListenerConfig,
    OutputConfig, OutputStream,
};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Seen = Arc<Mutex<Vec<String>>>;

fn diagnosed(connect_timeout: Duration) -> (Seen, ListenerConfig) {
    let seen = Seen::default();
    let sink = Arc::clone(&seen);
    let diagnostics = DiagnosticSink::new(move |diagnostic| {
        if let Diagnostic::ConnectionRefused { reason } = diagnostic {
            sink.lock().unwrap().push(reason);
        }
    });
    (seen, ListenerConfig { connect_timeout, diagnostics, ..ListenerConfig::default() })
}

/// A listener in a folder of its own: programs of earlier versions connect to every listener in the common one.
fn listener(connect_timeout: Duration) -> (Listener, Seen, tempfile::TempDir) {
    let (seen, config) = diagnosed(connect_timeout);
    let folder = tempfile::tempdir().unwrap();
    (Listener::bind(folder.path(), config).unwrap(), seen, folder)
}

fn environment(listener: &Listener) -> ChildEnvironment {
    ChildEnvironment::inherited().set_all(listener.env())
}

#[tokio::test]
async fn a_worker_connects_by_path_and_speaks_the_protocol() {
    let (mut listener, _, _folder) = listener(TEST_TIMEOUT);
    let spec = worker_in(environment(&listener).set("WORKER_INDEX", "5"), &["serve", "1"]);
    let process = start(spec).await;
    let connection = within_timeout(listener.accept()).await.unwrap();
    assert_eq!((connection.stream(), connection.line.slot), (StreamName::Rpc, 5));
    assert_eq!((connection.line.pid, connection.peer_pid), (process.pid(), process.pid()));
    let channel = connection.into_channel(ChannelConfig::default()).unwrap();
    let host = HostInfo { name: "proctor".to_owned(), version: "0".to_owned() };
    channel.hello(host, TEST_TIMEOUT).await.unwrap();
    let sum = channel.request("add", &json!({"a": 1, "b": 2}), Some(TEST_TIMEOUT)).await.unwrap();
    assert_eq!(sum.body.value()["sum"], 3);
    channel.shutdown(TEST_TIMEOUT).await.unwrap();
    assert!(within_timeout(process.wait()).await.status.success());
}

#[tokio::test]
async fn output_connections_carry_raw_bytes_right_after_the_connect_line() {
    let (mut listener, _, _folder) = listener(TEST_TIMEOUT);
    let mut stream = UnixStream::connect(listener.path()).unwrap();
    let line = json!({"type": "connect", "token": listener.token(), "stream": "stderr", "slot": 1, "generation": 2});
    stream.write_all(format!("{line}\nat once\nand").as_bytes()).unwrap();
    let connection = within_timeout(listener.accept()).await.unwrap();
    assert_eq!((connection.stream(), connection.line.generation), (StreamName::Stderr, 2));
    let output = OutputStream::new(OutputConfig::default(), DiagnosticSink::default());
    let mut lines = output.lines();
    connection.feed(&output).unwrap();
    assert_eq!(&*within_timeout(lines.next()).await.unwrap().text, "at once");
    stream.write_all(b" later").unwrap();
    drop(stream);
    assert_eq!(&*within_timeout(lines.next()).await.unwrap().text, "and later");
    assert!(within_timeout(lines.next()).await.is_none());
}

#[tokio::test]
async fn whoever_misbehaves_is_closed_and_reported_and_others_get_through() {
    let (mut listener, seen, _folder) = listener(Duration::from_millis(100));
    let token = listener.token().to_owned();
    let table = [
        (
            json!({"type": "connect", "token": "wrong", "stream": "rpc", "slot": 0}).to_string()
                + "\n",
            "wrong token",
        ),
        (
            json!({"type": "connect", "token": token, "stream": "what", "slot": 0}).to_string()
                + "\n",
            "bad connect line",
        ),
        (
            json!({"type": "hello", "token": token, "stream": "rpc", "slot": 0}).to_string() + "\n",
            "not \"connect\"",
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "bad connect line"),
        ("x".repeat(10_000), "longer than"),
        (String::new(), "no connect line within"),
        ("{\"type\":".to_owned(), "no connect line within"),
    ];
    for (sent, expected) in table {
        let path = listener.path();
        let outcome = within_timeout(tokio::task::spawn_blocking(move || {
            let mut stream = UnixStream::connect(path).unwrap();
            drop(stream.write_all(sent.as_bytes()));
            stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
            stream.read(&mut [0; 10])
        }))
        .await
        .unwrap();
        assert!(matches!(&outcome, Ok(0)) || outcome.is_err(), "closed: {outcome:?}");
        eventually("it is reported", || !seen.lock().unwrap().is_empty()).await;
        let reasons = std::mem::take(&mut *seen.lock().unwrap());
        assert!(reasons[0].contains(expected), "{reasons:?} should contain {expected}");
    }
    drop(UnixStream::connect(listener.path()).unwrap());
    eventually("it is reported", || !seen.lock().unwrap().is_empty()).await;
    let process = start(worker_in(environment(&listener), &["serve", "1"])).await;
    assert!(within_timeout(listener.accept()).await.is_some());
    process.kill().await.unwrap();
}

#[tokio::test]
async fn the_folder_is_private_and_goes_away() {
    let (listener, _, _folder) = listener(TEST_TIMEOUT);
    let folder = listener.path().parent().unwrap().to_owned();
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(listener.token().len() >= 32);
    drop(listener);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_path_that_cannot_be_used_is_named() {
    let error = Listener::bind("/no/such/folder".as_ref(), ListenerConfig::default()).unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

/// Audit B7: the folders of killed runs stayed for ever.
#[tokio::test]
async fn b7_folders_of_killed_listeners_are_removed_and_no_others() {
    let parent = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let folder = parent.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    // A socket stays behind when its listener is dropped, as when its process is killed.
    let dead = folder("proctor-rpc-dead");
    drop(std::os::unix::net::UnixListener::bind(dead.join("rpc")).unwrap());
    let starting = folder("proctor-rpc-starting");
    // The third is of an earlier version, which held no lock.
    let foreign = ["other", "proctor-rp", "proctor-Ab12Cd"].map(folder);
    for folder in &foreign {
        drop(std::os::unix::net::UnixListener::bind(folder.join("rpc")).unwrap());
    }
    let (seen, config) = diagnosed(TEST_TIMEOUT);
    let alive = Listener::bind(parent.path(), config).unwrap();
    assert!(!dead.exists(), "nobody listens there");
    let _second = Listener::bind(parent.path(), ListenerConfig::default()).unwrap();
    assert!(alive.path().exists() && starting.exists());
    assert!(foreign.iter().all(|folder| folder.exists()));
    // The search must not show in a listener that is in use. A refused connection comes after whatever it did.
    drop(UnixStream::connect(alive.path()).unwrap());
    eventually("it is reported", || !seen.lock().unwrap().is_empty()).await;
    assert_eq!(seen.lock().unwrap().len(), 1);
}
