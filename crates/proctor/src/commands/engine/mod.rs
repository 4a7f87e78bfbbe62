//! Runs over several machines: the engine that carries their messages, and what both sides say about the code they run.

pub(crate) mod announcement;
pub(crate) mod proof;
mod runtime;
mod transport;

use std::path::PathBuf;

use clap::Args;
use proctor_engine::{Access, AddressError, EngineAddress, EngineError};

pub(crate) use self::runtime::EngineRuntime;
pub(crate) use self::transport::{EngineConnection, EngineTransport, RUN_OVER};
use crate::error::{CommandError, Kind};

/// Where the engine is, and how to get in.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Several machines")]
pub(crate) struct EngineArguments {
    /// The NATS server that machines and runs meet at: nats://HOST:PORT, or tls:// beyond this machine
    ///
    /// With /NAMESPACE behind it, several projects can share a server.
    #[arg(long, value_name = "URL", env = "PROCTOR_ENGINE", hide_env = true, value_parser = address)]
    pub(crate) engine: Option<EngineAddress>,

    /// A file with the seed of an nkey or with credentials of NATS
    #[arg(long, value_name = "FILE", env = "PROCTOR_ENGINE_CREDENTIALS", hide_env = true)]
    pub(crate) engine_credentials: Option<PathBuf>,

    /// A file with certificates that the engine's may be signed by, besides those of the system
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) engine_certificates: Option<PathBuf>,

    /// How long a machine may be silent before its work is given to others; the first to come to the engine decides [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = lease, hide_short_help = true)]
    pub(crate) engine_lease: Option<u64>,
}

fn address(text: &str) -> Result<EngineAddress, AddressError> {
    text.parse()
}

/// The lease of a machine: short enough to be of use, and long enough for a busy machine to renew it.
fn lease(text: &str) -> Result<u64, String> {
    let millis = crate::values::duration(text)?;
    if (1_000..=600_000).contains(&millis) {
        Ok(millis)
    } else {
        Err("a lease is between 1s and 10m".to_owned())
    }
}

impl EngineArguments {
    fn access(&self) -> Access {
        Access {
            credentials: self.engine_credentials.clone(),
            certificates: self.engine_certificates.clone(),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        let hint = match &error {
            EngineError::NoServer { .. } => {
                Some("`nats-server --jetstream` starts one; nothing was run")
            }
            EngineError::Refused { .. } => Some("name the file with --engine-credentials"),
            _ => None,
        };
        let error = Self::caused(Kind::Refused, error);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
