//! Trying the layers: all together, then without what was refused, until the rest works.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use super::error::LaunchError;
use super::held_files::HeldFiles;
use super::{Launch, Program, descriptors, report, start, sys};
use crate::abilities::Abilities;
use crate::confinement::Confinement;
use crate::layer::Layer;

/// Why a combination of layers could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Refusal {
    /// The layer to do without; all of them if it is not known.
    layer: Option<Layer>,
    reason: String,
}

/// The error as a message for the process that tries.
pub(super) fn refusal(error: &LaunchError) -> Vec<u8> {
    let refusal = match error {
        LaunchError::Layer { layer, step, source } => {
            Refusal { layer: Some(*layer), reason: format!("cannot {step}: {source}") }
        }
        other => Refusal { layer: None, reason: other.to_string() },
    };
    serde_json::to_vec(&refusal).unwrap_or_default()
}

/// Tries, and prints the [`Abilities`].
pub(super) fn print() -> ExitCode {
    let _ = descriptors::close_all_but(None);
    let abilities = Abilities {
        missing: settle(try_layers),
        landlock_version: sys::landlock_version().unwrap_or(0),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
    };
    let text = serde_json::to_vec(&abilities).unwrap_or_default();
    match rustix::io::write(rustix::stdio::stdout(), &text) {
        Ok(count) if count == text.len() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The layers that have to be left out until `attempt` succeeds, each with its reason.
fn settle(
    mut attempt: impl FnMut(&BTreeSet<Layer>) -> Result<(), Refusal>,
) -> BTreeMap<Layer, String> {
    let mut wanted = BTreeSet::from(Layer::ALL);
    let mut missing = BTreeMap::new();
    while !wanted.is_empty() {
        let Err(refusal) = attempt(&wanted) else { break };
        let refused = refusal.layer.filter(|layer| wanted.contains(layer));
        let dependent = refused.map_or(&Layer::ALL[..], Layer::needed_by);
        for layer in refused.iter().chain(dependent) {
            let reason = match refused {
                Some(cause) if cause != *layer => {
                    format!("it needs a {}: {}", cause.name(), refusal.reason)
                }
                _ => refusal.reason.clone(),
            };
            if wanted.remove(layer) {
                missing.insert(*layer, reason);
            }
        }
    }
    missing
}

/// Applies layers in a process of their own, up to the point where the program would start.
fn try_layers(layers: &BTreeSet<Layer>) -> Result<(), Refusal> {
    let unknown = |error: io::Error| Refusal { layer: None, reason: error.to_string() };
    let (answer, refusals) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| unknown(error.into()))?;
    match sys::fork().map_err(unknown)? {
        sys::Fork::Child => attempt(layers, refusals),
        sys::Fork::Parent(child) => {
            drop(refusals);
            let mut said = [0; 4096];
            // The other end closes when all processes of the attempt are gone.
            let count = rustix::io::read(&answer, &mut said).unwrap_or(0);
            let status = sys::wait_for_child(child).map_err(unknown)?;
            if count == 0 && status == 0 {
                return Ok(());
            }
            Err(serde_json::from_slice(&said[..count]).unwrap_or_else(|_| Refusal {
                layer: None,
                reason: format!("the attempt ended with wait status {status}"),
            }))
        }
    }
}

fn attempt(layers: &BTreeSet<Layer>, refusals: OwnedFd) -> ! {
    let confinement = Confinement::new().layers(layers.iter().copied());
    let (program, folder) = (Program::Nothing, PathBuf::from("/"));
    let (refusals, held) = (Some(refusals), HeldFiles::default());
    let launch = Launch { confinement, program, folder, rpc: None, refusals, held };
    match start(&launch) {
        Ok(never) => match never {},
        Err(error) => sys::exit_at_once(i32::from(report(&error, Some(&launch)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that refuses some layers.
    fn machine(refused: &[Layer]) -> impl FnMut(&BTreeSet<Layer>) -> Result<(), Refusal> {
        move |wanted| match refused.iter().find(|layer| wanted.contains(layer)) {
            Some(layer) => Err(Refusal { layer: Some(*layer), reason: "no".to_owned() }),
            None => Ok(()),
        }
    }

    #[test]
    fn what_is_refused_is_left_out_with_what_needs_it() {
        assert!(settle(machine(&[])).is_empty());
        let without_user = settle(machine(&[Layer::UserNamespace]));
        assert_eq!(without_user.len(), 8);
        assert_eq!(without_user[&Layer::UserNamespace], "no");
        assert_eq!(without_user[&Layer::IpcNamespace], "it needs a user namespace: no");
        let keys: Vec<Layer> =
            settle(machine(&[Layer::Landlock, Layer::PidNamespace])).into_keys().collect();
        let expected =
            [Layer::MountNamespace, Layer::PidNamespace, Layer::Landlock, Layer::DiskLimit];
        assert_eq!(keys, expected);
    }

    #[test]
    fn an_unknown_refusal_leaves_nothing() {
        let refusal = Refusal { layer: None, reason: "odd".to_owned() };
        let missing = settle(|_| Err(refusal.clone()));
        assert_eq!(missing.len(), Layer::ALL.len());
        assert!(missing.values().all(|reason| reason == "odd"));
    }
}
