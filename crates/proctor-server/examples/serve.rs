//! The smallest embedding: `cargo run -p proctor-server --example serve -- PROJECT` shows the runs of a project.
//!
//! Says where it listens as `proctor serve --format json` does, so that `bench/live` can put it under load.
#![allow(clippy::print_stdout, reason = "an example says where it listens")]

use proctor_record::RunStore;
use proctor_server::{Limits, Server, ServerConfig};

fn main() -> std::io::Result<()> {
    let project = std::env::args().next_back().unwrap_or_else(|| ".".to_owned());
    let server = Server::start(ServerConfig {
        bind: ([127, 0, 0, 1], 0).into(),
        token: "example".to_owned(),
        session: "session-of-the-example".to_owned(),
        hosts: Vec::new(),
        store: RunStore::new(project.as_ref()),
        launcher: None,
        stops_runs: false,
        journal: None,
        limits: Limits::default(),
        mcp: None,
        redactor: proctor_redact::Redactor::default(),
    })?;
    let (address, url) = (server.address().to_string(), server.url(""));
    println!("{}", serde_json::json!({ "address": address, "url": url, "token": "example" }));
    // Until standard input ends.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop();
    Ok(())
}
