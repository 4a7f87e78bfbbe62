//! A program that a process waits for does not outlive that process.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proctor_process::{ChildEnvironment, ShortCommand};

const LONG: Duration = Duration::from_mins(1);

/// Names the file in which the program writes its process id.
const PID_FILE: &str = "PROCTOR_TEST_PID_FILE";

/// Runs only in the process that the test below starts and kills.
#[test]
#[ignore = "started by a_program_is_killed_with_the_process_that_waits_for_it"]
fn process_that_waits() {
    let file = std::env::var_os(PID_FILE).unwrap();
    let environment = ChildEnvironment::inherited().set("FILE", file);
    let script = "echo $$ > \"$FILE.new\"; mv \"$FILE.new\" \"$FILE\"; exec sleep 600";
    ShortCommand::new("sh", environment, LONG * 2).args(["-c", script]).output().unwrap();
}

#[test]
fn a_program_is_killed_with_the_process_that_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "short_command::process_that_waits"])
        .env(PID_FILE, &file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the program writes its id", || file.exists());
    let pid = std::fs::read_to_string(&file).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    // A killed process stays a zombie until its new parent has read its status.
    let stat = format!("/proc/{}/stat", pid.trim());
    wait_until("the program is killed", || {
        std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
