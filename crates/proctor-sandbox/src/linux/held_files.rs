//! Files of the host that the launcher opens before anything is closed in: locks and the report.
//!
//! With a PID namespace the launcher and init hold them, and the program never has them. Without one the launcher becomes the program,
//! so its processes inherit the locks (for reading, and no system call that changes modes is left to them).

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::FdFlags;

use super::error::{LaunchError, Step as _};
use crate::confinement::Confinement;
use crate::launch_report::LaunchReport;

#[derive(Debug, Default)]
pub(super) struct HeldFiles {
    locks: Vec<OwnedFd>,
    report: Option<OwnedFd>,
}

impl HeldFiles {
    pub(super) fn open(confinement: &Confinement) -> Result<Self, LaunchError> {
        let locks = confinement.locks.iter().map(|path| lock(path)).collect::<Result<_, _>>()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let report = confinement.report.as_ref().map(|path| {
            rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))
                .step(format_args!("open {}", path.display()))
        });
        Ok(Self { locks, report: report.transpose()? })
    }

    /// Hands the locks on to the program.
    pub(super) fn keep_in_program(&self) -> Result<(), LaunchError> {
        for lock in &self.locks {
            rustix::io::fcntl_setfd(lock, FdFlags::empty()).step("hand on a lock")?;
        }
        Ok(())
    }

    pub(super) fn report_error(&self, error: &LaunchError) {
        self.write(&LaunchReport { error: Some(error.to_string()), ..LaunchReport::default() });
    }

    pub(super) fn report_end(&self, report: &LaunchReport) {
        self.write(report);
    }

    /// Writes a report unless there is one: the first process that fails knows best.
    fn write(&self, report: &LaunchReport) {
        let Some(file) = &self.report else { return };
        let is_empty = rustix::fs::fstat(file).is_ok_and(|about| about.st_size == 0);
        if is_empty {
            // On a full disk the exit status is all there is.
            let _ = rustix::io::write(file, &serde_json::to_vec(report).unwrap_or_default());
        }
    }
}

fn lock(path: &Path) -> Result<OwnedFd, LaunchError> {
    let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
        .step(format_args!("open {}", path.display()))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared)
        .step(format_args!("lock {}", path.display()))?;
    Ok(file)
}
