//! What clients may ask for, and what happens to those who ask for more.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use proctor_server::Limits;

use crate::test_server::{TOKEN, TestServer, line, small_run};

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One connection beyond the limit is closed at once; one that was given back can be used again.
#[test]
fn connections_have_a_limit() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let fixture = TestServer::within(None, limits);
    let knock = || {
        let mut stream = TcpStream::connect(fixture.server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "GET /specs/progress HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        );
        // The server may have closed it already.
        let _ = stream.write_all(head.as_bytes());
        let mut start = [0; 12];
        let let_in = stream.read_exact(&mut start).is_ok() && start == *b"HTTP/1.1 200";
        (stream, let_in)
    };
    // Kept alive after their answer.
    let mut inside: Vec<TcpStream> = Vec::new();
    for _ in 0..3 {
        let (stream, let_in) = knock();
        assert!(let_in);
        inside.push(stream);
    }
    assert!(!knock().1, "the fourth finds the door shut");
    inside.pop();
    wait_until("a free place", || knock().1);
}

#[test]
fn bodies_are_taken_up_to_64_kibibytes() {
    let fixture = TestServer::new();
    let fits = format!("{}{{}}", " ".repeat((64 << 10) - 2));
    assert_eq!(fixture.post("/specs/run", &fits).status, 200);
    let over = fixture.post("/specs/run", &format!(" {fits}"));
    assert_eq!(over.status, 413);
    assert!(over.json()["error"].is_string(), "{}", over.body);
}

/// A body that is announced and never sent does not hold its connection.
#[test]
fn a_body_that_stalls_is_given_up() {
    let limits = Limits { body: Duration::from_millis(200), ..Limits::default() };
    let fixture = TestServer::within(None, limits);
    let mut stream = TcpStream::connect(fixture.server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let head = format!(
        "POST /specs/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 50\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("did not arrive in time"), "{answer}");
}

/// A head that never ends is not waited for for ever. (Ten seconds; the test of the limit itself would only take time.)
#[test]
fn heads_are_taken_up_to_32_kibibytes() {
    let fixture = TestServer::new();
    let long = "x".repeat(40 << 10);
    let head = format!(
        "GET /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nX: {long}"
    );
    let answer = fixture.raw(&head, "");
    assert!(answer.status == 431 || answer.head.is_empty(), "{}", answer.head);
}

/// A client of a stream that takes nothing is dropped after its time; one that takes little is not.
#[test]
fn a_stuck_client_is_dropped_and_a_slow_one_is_not() {
    let stall_after = Duration::from_millis(400);
    let fixture = TestServer::within(None, Limits { stall_after, ..Limits::default() });
    fixture.record("r", &[line(1, "SuiteStarted", None, "")]);
    let [stuck, mut slow] = [(); 2].map(|()| shake_hands(&fixture));
    wait_until("both streams", || fixture.server.watching() == 2);
    let filling = format!(r#""line":"{}""#, "x".repeat(4000));
    let logs: Vec<String> = (2..=6000).map(|seq| line(seq, "WorkerLog", None, &filling)).collect();
    fixture.append("r", &logs);
    // More than any buffer between us holds, taken in small bites with pauses shorter than the limit.
    let mut taken = 0;
    while fixture.server.watching() == 2 {
        taken += slow.read(&mut vec![0; 256 << 10]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fixture.server.watching(), 1, "only the stuck one has gone");
    fixture.append("r", &small_run()[7..]);
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    let end = String::from_utf8_lossy(&rest);
    assert!(end.contains("SuiteFinished"), "the slow one gets all of it");
    assert!(taken + rest.len() > 6000 * 4000);
    drop(stuck);
}

fn shake_hands(fixture: &TestServer) -> TcpStream {
    let mut stream = TcpStream::connect(fixture.server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    write!(
        stream,
        "GET /ws?run=r&token={TOKEN} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    stream
}
