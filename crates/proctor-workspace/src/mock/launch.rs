//! The launcher of runs with a real model, and of mock runs where no sandbox can be had: the last thing that runs before the
//! orchestrator, in its place.
//!
//! It marks the tree as alive, bounds the size of files, and becomes the orchestrator. It confines nothing: that is done by
//! [`crate::confined`]. One thread, no return.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::fs::FlockOperation;
use rustix::io::FdFlags;
use rustix::process::{Resource, Rlimit};

use super::Arguments;
use crate::disk;

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let Some((program, words)) = arguments.rest.split_first() else { return ExitCode::from(2) };
    // Held by every process of the run until the last one is gone, for it is inherited.
    let tree = arguments.state.join("../../tree.lock");
    let _alive: Option<File> = disk::lock_file(&tree).ok().inspect(|file| {
        let _ = rustix::fs::flock(file, FlockOperation::NonBlockingLockShared);
        let _ = rustix::io::fcntl_setfd(file, FdFlags::empty());
    });
    if let Some(most) = arguments.file_bytes {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        let _ = rustix::process::setrlimit(Resource::Fsize, limit);
    }
    let _ =
        rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let error = Command::new(program).args(words).exec();
    let _ = disk::replace_json(&arguments.state.join("launch-error.json"), &error.to_string());
    ExitCode::from(127)
}
