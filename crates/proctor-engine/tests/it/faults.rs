//! What is promised of the transport: everything arrives once and in order, one controller, lost machines are told and stay lost,
//! and clear words for servers that cannot be used.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use proctor_engine::{
    Access, ControllerEvent, ControllerPort, Engine, EngineError, LeaseEnd, MachineEvent,
    MachinePort,
};
use tokio::time::timeout;

use crate::server::Server;

/// A machine that is busy may not be taken for a dead one, however loaded this one is; so leases are long where none is to expire.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(1500);
/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_mins(1);

async fn connect(server: &Server, lease: Duration) -> Engine {
    let address = server.address().parse().unwrap();
    Engine::connect(&address, &Access::default(), Some(lease)).await.unwrap()
}

async fn pair(server: &Server, lease: Duration) -> (ControllerPort, MachinePort) {
    let engine = connect(server, lease).await;
    let controller = engine.control("run-1", "hello".to_owned()).await.unwrap();
    let machine = connect(server, lease).await.join("run-1").await.unwrap();
    (controller, machine)
}

async fn heard(controller: &mut ControllerPort) -> ControllerEvent {
    timeout(PATIENCE, controller.next()).await.expect("something is heard").unwrap()
}

async fn text(controller: &mut ControllerPort) -> String {
    match heard(controller).await {
        ControllerEvent::Message { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

async fn next(machine: &mut MachinePort) -> MachineEvent {
    timeout(PATIENCE, machine.next()).await.expect("something is heard")
}

#[tokio::test]
async fn everything_arrives_once_and_in_order_both_ways_also_what_is_larger_than_a_message() {
    let server = Server::start();
    let (mut controller, mut machine) = pair(&server, LONG).await;
    let large = "ß".repeat(1_500_000);
    let texts: Vec<String> = (0..3_000).map(|n| format!("text {n}")).collect();
    let boot = machine.boot().to_owned();
    let receiving = async {
        let mut received = Vec::new();
        while received.len() < 3_001 {
            received.push(text(&mut controller).await);
        }
        for n in 0..300 {
            controller.send(&boot, format!("order {n}"));
        }
        received
    };
    let sending = async {
        for text in texts.iter().chain([&large]) {
            machine.send(text.clone()).await;
        }
        let mut orders = Vec::new();
        while orders.len() < 300 {
            orders.push(next(&mut machine).await);
        }
        orders
    };
    let (received, orders) = tokio::join!(receiving, sending);
    assert_eq!(received[..3_000], texts);
    assert!(received[3_000] == large, "{} bytes", received[3_000].len());
    let expected = (0..300).map(|n| MachineEvent::Message(format!("order {n}")));
    assert_eq!(orders, expected.collect::<Vec<_>>());
    machine.close().await;
    controller.close(Duration::ZERO).await;
    let engine = connect(&server, LONG).await;
    assert_eq!(engine.runs().await.unwrap(), [], "the run is removed when it ends");
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_when_the_server_is_killed_and_comes_back() {
    let mut server = Server::start();
    let (mut controller, machine) = pair(&server, LONG).await;
    let sending = tokio::spawn(async move {
        for n in 0..2_000 {
            machine.send(n.to_string()).await;
            // Not as fast as it goes, so that the deaths fall into the middle.
            if n % 20 == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        machine
    });
    let mut received = Vec::new();
    while received.len() < 2_000 {
        received.push(text(&mut controller).await);
        if [300, 900, 1_500].contains(&received.len()) {
            server.kill();
            server.begin();
        }
    }
    let expected: Vec<String> = (0..2_000).map(|n| n.to_string()).collect();
    assert_eq!(received, expected);
    sending.await.unwrap().close().await;
}

#[tokio::test]
async fn a_machine_that_is_gone_is_lost_after_what_it_had_stored_and_what_it_says_later_is_dropped()
{
    let server = Server::start();
    let (mut controller, machine) = pair(&server, SHORT).await;
    let boot = machine.boot().to_owned();
    for n in 0..10 {
        machine.send(n.to_string()).await;
    }
    for n in 0..10 {
        assert_eq!(text(&mut controller).await, n.to_string());
    }
    // Nobody renews its lease any more.
    drop(machine);
    // What it had sent before is all that comes.
    assert_eq!(heard(&mut controller).await, ControllerEvent::Lost { boot: boot.clone() });
    // Somebody who still believes to be that machine stores something.
    let client = async_nats::connect(server.address()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let subject = format!("proctor.default.run-1.up.{boot}");
    context.publish(subject, "late\n".into()).await.unwrap().await.unwrap();
    let other = connect(&server, SHORT).await.join("run-1").await.unwrap();
    other.send("from another".to_owned()).await;
    assert_eq!(text(&mut controller).await, "from another");
    other.close().await;
}

#[tokio::test]
async fn a_machine_that_cannot_renew_its_lease_knows_it_and_so_does_the_controller() {
    let server = Server::start();
    let (mut controller, mut machine) = pair(&server, SHORT).await;
    machine.send("here".to_owned()).await;
    assert_eq!(text(&mut controller).await, "here");
    let boot = machine.boot().to_owned();
    // Somebody takes its lease away, as the server does when it expires.
    let client = async_nats::connect(server.address()).await.unwrap();
    let bucket = async_nats::jetstream::new(client).get_key_value("PROCTOR_default").await.unwrap();
    bucket.purge(format!("machine.run-1.{boot}")).await.unwrap();
    assert_eq!(next(&mut machine).await, MachineEvent::Ended(LeaseEnd::Lost));
    assert_eq!(heard(&mut controller).await, ControllerEvent::Lost { boot });
}

#[tokio::test]
async fn a_machine_that_leaves_is_heard_to_its_last_word() {
    let server = Server::start();
    let (mut controller, machine) = pair(&server, LONG).await;
    for n in 0..500 {
        machine.send(n.to_string()).await;
    }
    let boot = machine.boot().to_owned();
    machine.close().await;
    for n in 0..500 {
        assert_eq!(text(&mut controller).await, n.to_string());
    }
    assert_eq!(heard(&mut controller).await, ControllerEvent::Lost { boot });
}

#[tokio::test]
async fn a_run_has_one_controller_and_machines_learn_that_it_is_gone() {
    let server = Server::start();
    let (controller, mut machine) = pair(&server, SHORT).await;
    let engine = connect(&server, SHORT).await;
    let second = engine.control("run-1", "me too".to_owned()).await;
    assert!(matches!(second, Err(EngineError::Controlled { .. })));
    let runs = engine.runs().await.unwrap();
    assert_eq!((runs.len(), runs[0].announcement.as_str()), (1, "hello"));
    drop(controller);
    assert_eq!(next(&mut machine).await, MachineEvent::Ended(LeaseEnd::RunOver));
    assert!(engine.runs().await.unwrap().is_empty());
}

/// What connecting comes to.
async fn refused(address: &str, access: &Access) -> String {
    match Engine::connect(&address.parse().unwrap(), access, None).await {
        Ok(_) => "connected".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_told_apart() {
    let nobody = Access::default();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", free.local_addr().unwrap());
    drop(free);
    let said = refused(&address, &nobody).await;
    assert!(said.starts_with("no NATS server answers at"), "{said}");

    let plain = Server::with(&[], "");
    let said = refused(&plain.address(), &nobody).await;
    assert!(said.contains("has JetStream turned off"), "{said}");

    let locked = Server::with(&["--jetstream"], "authorization { user: u, password: p }");
    let said = refused(&locked.address(), &nobody).await;
    assert!(said.contains("refuses these credentials"), "{said}");

    let said = refused("nats://192.0.2.1:4222", &nobody).await;
    assert!(said.contains("is not on this machine: use tls://"), "{said}");
    let said = refused("tls://192.0.2.1:4222", &nobody).await;
    assert!(said.contains("is not on this machine: use tls://"), "{said}");

    let missing = Access { credentials: Some("/nowhere/creds".into()), certificates: None };
    let said = refused(&plain.address(), &missing).await;
    assert!(said.contains("credentials in /nowhere/creds cannot be used"), "{said}");
}

/// An old server is one that says so; Debian's 2.9 cannot be installed beside the others.
#[tokio::test]
async fn a_server_that_is_too_old_is_refused_with_its_version() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let info = r#"INFO {"server_id":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}"#;
        client.write_all(format!("{info}\r\n").as_bytes()).unwrap();
        let mut said = String::new();
        let mut buffer = [0; 1024];
        while !said.contains("PING") {
            let read = client.read(&mut buffer).unwrap();
            said += std::str::from_utf8(&buffer[..read]).unwrap();
        }
        client.write_all(b"PONG\r\n").unwrap();
        // Until the client has read it.
        let _ = client.read(&mut buffer);
    });
    let said = refused(&address, &Access::default()).await;
    assert!(said.contains("is 2.9.10; 2.10 or later is needed"), "{said}");
    // Meanwhile the client closes its connection, which ends the thread.
    tokio::task::spawn_blocking(move || serving.join().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_bucket_of_somebody_else_is_left_alone() {
    let server = Server::start();
    let client = async_nats::connect(server.address()).await.unwrap();
    let theirs = async_nats::jetstream::kv::Config {
        bucket: "PROCTOR_default".to_owned(),
        ..Default::default()
    };
    async_nats::jetstream::new(client).create_key_value(theirs).await.unwrap();
    let said = refused(&server.address(), &Access::default()).await;
    assert!(said.contains("that proctor did not make"), "{said}");
    let elsewhere = format!("{}/mine", server.address());
    assert_eq!(refused(&elsewhere, &Access::default()).await, "connected");
}
