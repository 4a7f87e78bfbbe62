//! A host that records, publishes from several threads, runs a tree of children, and waits to be killed.
//!
//! `crash_host FOLDER TOKEN` prints the number of each event once `publish` has returned. The same program
//! is its own guard (`guard`) and its own children (`linger`).

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use proctor_events::Bus;
use proctor_process::{ChildEnvironment, Guard, GuardCommand, ManagedProcess, ProcessSpec};
use proctor_record::{RunInfo, RunStore};
use proctor_testkit::{bus, now, sample_event};

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["guard"] => Ok(proctor_process::guard::main()),
        ["linger", depth, token] => linger(depth.parse()?, token),
        [folder, token] => host(Path::new(folder), token),
        _ => Err("usage: crash_host FOLDER TOKEN".into()),
    }
}

fn host(folder: &Path, token: &str) -> Outcome {
    let info = RunInfo::new("run".into(), now(), std::env::args().collect());
    let (_, recorder) = RunStore::new(folder).create(&info)?;
    let bus = bus("run");
    bus.add_recorder(recorder);
    for _ in 0..3 {
        let bus = bus.clone();
        std::thread::spawn(move || publish_for_ever(&bus));
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let me = std::env::current_exe()?;
        let guard = Guard::Program(GuardCommand::new(&me, ["guard"]));
        let child = [me.as_os_str(), "linger".as_ref(), "2".as_ref(), token.as_ref()];
        let tree =
            ManagedProcess::spawn(ProcessSpec::new(child, ChildEnvironment::inherited(), guard))
                .await?;
        tree.wait().await;
        Ok(ExitCode::FAILURE)
    })
}

fn publish_for_ever(bus: &Bus) {
    let mut out = std::io::stdout();
    for number in 0.. {
        let Some(seq) = bus.publish(sample_event(number)) else { return };
        // One write per line: short writes to a pipe are atomic.
        if out.write_all(format!("{seq}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

/// Lives on, with a child that has left our session, as a daemon does.
fn linger(depth: u32, token: &str) -> Outcome {
    if depth > 0 {
        let mut child = Command::new("setsid");
        child.arg(std::env::current_exe()?).arg("linger").arg((depth - 1).to_string()).arg(token);
        child.spawn()?;
    }
    loop {
        std::thread::park();
    }
}
