//! Why a launcher runs nothing.

use std::fmt::Display;
use std::io;

use crate::layer::Layer;

#[derive(Debug, thiserror::Error)]
pub(super) enum LaunchError {
    /// The command line or the description in it.
    #[error("{0}")]
    Arguments(String),
    /// A layer that was asked for cannot be had.
    #[error("no {}: cannot {step}: {source}", .layer.name())]
    Layer { layer: Layer, step: String, source: io::Error },
    /// Something that belongs to no layer: a path, a descriptor.
    #[error("cannot {step}: {source}")]
    Step { step: String, source: io::Error },
    /// Everything was applied, but the program cannot be run.
    #[error("cannot run {program}: {source}{}", hint(source))]
    Program { program: String, source: io::Error },
}

/// What to do about a program, or the interpreter of a script, that is not found inside.
fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; it is not visible in the sandbox: add its folder to `read`",
        _ => "",
    }
}

/// Names what was being done when a system call failed.
pub(super) trait Step<T> {
    fn layer(self, layer: Layer, step: impl Display) -> Result<T, LaunchError>;
    fn step(self, step: impl Display) -> Result<T, LaunchError>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn layer(self, layer: Layer, step: impl Display) -> Result<T, LaunchError> {
        self.map_err(|source| LaunchError::Layer {
            layer,
            step: step.to_string(),
            source: source.into(),
        })
    }

    fn step(self, step: impl Display) -> Result<T, LaunchError> {
        self.map_err(|source| LaunchError::Step { step: step.to_string(), source: source.into() })
    }
}
