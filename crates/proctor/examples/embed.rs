//! The runner inside another program: runs the specs of a project, prints what happens, and stops when a line comes in.
//!
//! Usage: `cargo run -p proctor --example embed -- PROCTOR PROJECT [PATH…]`, where PROCTOR is the `proctor` program. It is needed even though the
//! runner is in this process: it guards the workers, so that they end when this program does, however that happens.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use proctor_events::{Body, Bus, BusConfig, RunId, Timestamp};
use proctor_process::GuardCommand;
use proctor_record::JsonlRecorder;
use proctor_runner::{
    Controller, LoadNotices, RspecSuite, RunOptions, RunSetup, RunStatus, Suite, SuiteEnvironment,
};
use proctor_verdict::StopCause;

const WORKERS: u32 = 2;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(program), Some(project)) = (arguments.next(), arguments.next()) else {
        return Err("usage: embed PROCTOR PROJECT [PATH…]".into());
    };
    let project = PathBuf::from(project).canonicalize()?;
    // Events go to a file here; a program that only looks at the callbacks needs no recorder.
    let bus = Bus::new(BusConfig {
        run_id: RunId::new("embedded"),
        clock: Box::new(Timestamp::now),
        on_warning: Box::new(|warning| println!("warning: {warning}")),
    });
    bus.add_recorder(JsonlRecorder::append(&project.join("embedded.jsonl"))?);
    let controller = Controller::new(RunSetup {
        suites: vec![Suite::from(RspecSuite {
            ruby: "ruby".to_owned(),
            args: arguments.collect(),
            preload: true,
            conversations: None,
            deterministic: None,
        })],
        environment: SuiteEnvironment {
            root: project.clone(),
            guard: GuardCommand::new(program, ["__guard"]),
            cache: project.join(".proctor/cache"),
            sockets: std::env::temp_dir(),
            workers: WORKERS,
            first_slot: 0,
            load_notices: LoadNotices::default(),
            sandbox: None,
            mutation: None,
            final_report: None,
        },
        options: RunOptions { workers: WORKERS, ..RunOptions::default() },
        bus: bus.clone(),
    });
    controller.on_event(|event| match &event.body {
        Body::ExampleStarted(started) => println!("started: {}", started.path.join(" > ")),
        Body::ExampleFinished(finished) => println!("finished: {}", finished.status.as_str()),
        _ => {}
    });
    controller.on_progress(|completed, total, failures| {
        println!("progress: {completed}/{total}, {failures} failed");
    });
    controller.start()?;
    let cancelled = controller.clone();
    std::thread::spawn(move || {
        let mut line = String::new();
        // The end of the input stops nothing: the program may run without one.
        if std::io::stdin().read_line(&mut line).is_ok_and(|read| read > 0) {
            cancelled.cancel(StopCause::Request);
        }
    });
    let result = controller.wait();
    // Callbacks have a thread of their own: everything has been told once the bus is closed.
    bus.close(Duration::from_secs(10));
    println!(
        "{:?}: {} examples, {} failures",
        result.status, result.counts.examples, result.counts.failures
    );
    if let Some(problem) = &result.problem {
        println!("{}", problem.message);
    }
    Ok(if result.status == RunStatus::Completed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
