//! The smallest embedding: `cargo run -p proctor-server --example serve -- PROJECT [PORT]` shows the runs of a project.
#![allow(clippy::print_stdout, reason = "an example says where it listens")]

use proctor_record::RunStore;
use proctor_server::{Server, ServerConfig};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let project = arguments.next().unwrap_or_else(|| ".".to_owned());
    let port: u16 = arguments.next().and_then(|port| port.parse().ok()).unwrap_or(0);
    let server = Server::start(ServerConfig {
        bind: ([127, 0, 0, 1], port).into(),
        token: "example".to_owned(),
        session: "session-of-the-example".to_owned(),
        hosts: Vec::new(),
        store: RunStore::new(project.as_ref()),
        launcher: None,
    })?;
    println!("{}", server.url(""));
    // Until standard input ends.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop();
    Ok(())
}
