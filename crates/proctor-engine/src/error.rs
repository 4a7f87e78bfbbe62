//! What can be wrong with an engine, each with the way out.

use std::path::PathBuf;

/// Why the engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Nobody answers there.
    #[error("no NATS server answers at {address}: {cause}")]
    NoServer {
        /// Where.
        address: String,
        /// What the system says.
        cause: String,
    },
    /// It does not let us in.
    #[error("the NATS server at {address} refuses these credentials")]
    Refused {
        /// Where.
        address: String,
    },
    /// Beyond this machine everybody could read along, and order programs to be run.
    #[error(
        "the NATS server at {address} is not on this machine: use tls:// and a file with credentials, because whoever can publish there runs programs here"
    )]
    Unprotected {
        /// Where.
        address: String,
    },
    /// A file of credentials cannot be used.
    #[error("the credentials in {} cannot be used: {cause}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// It has no JetStream.
    #[error(
        "the NATS server at {address} has JetStream turned off, or not for this account: start it with --jetstream"
    )]
    NoJetStream {
        /// Where.
        address: String,
    },
    /// It is too old.
    #[error("the NATS server at {address} is {version}; 2.10 or later is needed")]
    TooOld {
        /// Where.
        address: String,
        /// What it says it is.
        version: String,
    },
    /// Something of that name is not ours.
    #[error(
        "the NATS server already has a stream {name} that proctor did not make: use another namespace (nats://HOST:PORT/NAMESPACE)"
    )]
    Foreign {
        /// Its name.
        name: String,
    },
    /// A run of that id has a controller.
    #[error("run {run} has a controller already")]
    Controlled {
        /// The run.
        run: String,
    },
    /// A run's id cannot be part of a subject.
    #[error("{0:?} cannot be the id of a run over machines")]
    BadRun(String),
    /// The run is over.
    #[error("run {run} is over")]
    RunOver {
        /// The run.
        run: String,
    },
    /// The server refuses something, or does not answer in time.
    #[error("cannot {action} at the NATS server: {cause}")]
    Request {
        /// What was asked for.
        action: &'static str,
        /// What it says.
        cause: String,
    },
}

impl EngineError {
    /// A request that failed.
    pub(crate) fn request(action: &'static str, cause: impl std::fmt::Display) -> Self {
        Self::Request { action, cause: cause.to_string() }
    }
}
