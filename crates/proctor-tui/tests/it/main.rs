//! The screen on a real terminal: the demo in a detached tmux, with keys pressed and the screen read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod tmux;

use std::path::PathBuf;
use std::process::Command;

use tmux::{Session, run};

/// Starts the demo, or says why it cannot be shown.
fn demo(arguments: &str) -> Option<Session> {
    let session = Session::start(&format!("'{}' {arguments}", demo_program().display()));
    if session.is_none() {
        eprintln!("skipped: tmux is not installed, so there is no terminal to look at");
    }
    session
}

#[test]
fn a_run_is_watched_searched_and_left() {
    let Some(session) = demo("--pace 60") else { return };
    session.wait_for("5 workers");
    session.wait_until("a failure", |screen| screen.contains(" failed "));
    session.press(&["F"]);
    session.wait_for("Enter opens");
    session.press(&["Enter"]);
    session.wait_for("run again: proctor run ./spec/");
    session.press(&["Escape"]);
    session.wait_for("Enter opens");
    session.press(&["Escape"]);
    session.wait_for("─ worker ");
    session.press(&["?"]);
    session.wait_for("auto-rotate");
    session.press(&["q"]);
    session.wait_until("the help is closed", |screen| !screen.contains("auto-rotate"));

    session.wait_for("✗ failed in");
    session.wait_for("q quit");
    session.press(&["1", "/"]);
    session.wait_for("Enter finds");
    // On every pane, whoever ran what.
    session.type_text("321 ms");
    session.press(&["Enter"]);
    session.wait_for("/321 ms: on");
    session.press(&["Escape"]);

    session.resize(40, 10);
    session.wait_for("✗3 ✓8 ✗ failed in");
    session.resize(100, 30);
    session.wait_for("╭ proctor");
    assert!(session.is_full_screen());

    session.press(&["q"]);
    session.wait_for("demo: finished true, 8 passed");
    session.wait_for("ended with 0");
    session.expect_restored_and_end();
}

#[test]
fn q_stops_a_run_that_goes_on() {
    let Some(session) = demo("--pace 400 --workers 2 --no-color") else { return };
    session.wait_for("▶ 2 running");
    session.press(&["q"]);
    session.wait_for("stopping: what runs may finish");
    session.press(&["q"]);
    session.wait_for("not run");
    session.wait_for("the run is over");
    session.press(&["C-c"]);
    session.wait_for("demo: finished true");
    session.expect_restored_and_end();
}

/// The message of the panic is on the shell's screen, where it can be read.
#[test]
fn a_panic_gives_the_terminal_back() {
    let Some(session) = demo("--pace 50 --panic") else { return };
    session.wait_for("5 workers");
    session.press(&["C-c"]);
    session.wait_for("the demo panics as it was told");
    session.wait_for("ended with 101");
    session.expect_restored_and_end();
}

/// A recording without workers, by another writer, looked at after the fact.
#[test]
fn a_recording_is_looked_at() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../proctor-record/tests/seed_flow.jsonl");
    let Some(session) = demo(&format!("--file '{path}'")) else { return };
    session.wait_for("1 conversation · 1 done");
    session.press(&["Enter"]);
    session.wait_for("simulated user wants: Book a venue");
    session.press(&["Escape"]);
    session.wait_for("the run is over");
    session.press(&["q"]);
    session.wait_for("finished: true");
    session.expect_restored_and_end();
}

/// The demo, built beside this test. `cargo test` builds examples unless it is told to test less.
fn demo_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let demo = test.parent().unwrap().parent().unwrap().join("examples/demo");
    if !demo.exists() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let arguments = ["build", "--example", "demo", "--manifest-path", manifest];
        run(Command::new(env!("CARGO")).args(arguments));
    }
    demo
}
