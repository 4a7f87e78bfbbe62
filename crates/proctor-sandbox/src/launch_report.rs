//! What the launcher tells its caller, in a file that nothing inside can reach.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// How a launch went, apart from the exit status. Written to [`crate::Confinement::report`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchReport {
    /// Why nothing was run. Unlike a line on standard error, no confined program can have written it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the program was ended by the disk limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_limit: Option<String>,
    /// Processes that were still there when the program had ended. The kernel has killed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<LeftProcess>,
}

/// A process that outlived the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftProcess {
    /// Its process id inside of the PID namespace.
    pub pid: u32,
    /// The beginning of its command line.
    pub command: String,
}

impl LaunchReport {
    /// Reads a report; an empty one if the launcher was killed before it wrote any, or has nothing to tell.
    pub fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) if bytes.is_empty() => Ok(Self::default()),
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }
}
