//! Programs that go on when this process ends, such as a run in the background.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

use crate::child_environment::ChildEnvironment;

/// Starts a program that may outlive this process. Its standard input is empty and its outputs are dropped. Nothing here ends
/// it; while this process lives, a thread reaps it. Returns its process id.
pub fn start_detached(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    environment: &ChildEnvironment,
) -> io::Result<u32> {
    let mut command = Command::new(program);
    command.args(arguments);
    environment.apply(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let pid = child.id();
    let wait = move || drop(child.wait());
    std::thread::Builder::new().name("reap-detached".to_owned()).spawn(wait)?;
    Ok(pid)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_detached_program_runs_with_its_environment_and_is_reaped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let environment = ChildEnvironment::empty().set("FILE", &file);
        let script = "read line || echo no input > \"$FILE\"";
        let pid = start_detached("/bin/sh", ["-c", script], &environment).unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < deadline, "the program was not reaped");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "no input\n");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let missing = start_detached("/no/such/program", [""; 0], &ChildEnvironment::empty());
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
