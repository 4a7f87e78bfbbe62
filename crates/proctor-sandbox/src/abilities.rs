//! What this kernel and this user allow, found out by trying.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;

use proctor_process::{ChildEnvironment, ShortCommand, ShortCommandError};
use serde::{Deserialize, Serialize};

use crate::launcher::{Launcher, PROBE};
use crate::layer::Layer;

/// How long trying may take. It takes milliseconds; a machine under load takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The layers that can be had here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// The layers that cannot be had, with the reason in words.
    pub missing: BTreeMap<Layer, String>,
    /// The version of Landlock's interface; 0 if there is none.
    pub landlock_version: u32,
    /// The kernel's release, such as `6.18.1`.
    pub kernel: String,
}

/// The launcher did not say what can be had.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be run to its end.
    #[error("cannot ask the sandbox launcher: {0}")]
    NotRun(#[from] ShortCommandError),
    /// It answered something else.
    #[error("the sandbox launcher answered {answer:?}")]
    NotUnderstood {
        /// The beginning of what it wrote.
        answer: String,
    },
}

impl Abilities {
    /// Runs the launcher once. It tries all layers together, as they will be used, in processes of its own, and leaves out
    /// what is refused until the rest works.
    pub fn probe(launcher: &Launcher) -> Result<Self, ProbeError> {
        Self::ask(&launcher.start(PROBE))
    }

    /// What another user could have. Only root can ask.
    pub fn probe_as(launcher: &Launcher, user: u32) -> Result<Self, ProbeError> {
        let mut words = launcher.start(PROBE);
        words.push(user.to_string().into());
        Self::ask(&words)
    }

    fn ask(words: &[OsString]) -> Result<Self, ProbeError> {
        let environment = ChildEnvironment::empty();
        let output =
            ShortCommand::new(&words[0], environment, TIME_LIMIT).args(&words[1..]).output()?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = [output.stdout, output.stderr].concat();
            let answer = String::from_utf8_lossy(&said).chars().take(200).collect();
            ProbeError::NotUnderstood { answer }
        })
    }

    /// Nothing can be had, for one reason.
    #[must_use]
    pub fn none(reason: &str) -> Self {
        Self {
            missing: Layer::ALL.iter().map(|layer| (*layer, reason.to_owned())).collect(),
            landlock_version: 0,
            kernel: String::new(),
        }
    }

    /// The layers that can be had, all at once.
    #[must_use]
    pub fn layers(&self) -> BTreeSet<Layer> {
        Layer::ALL.into_iter().filter(|layer| !self.missing.contains_key(layer)).collect()
    }

    /// Whether every layer can be had.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// What a confinement lacks on this machine, with the reason and the consequence; empty if nothing.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
        let missing = self.missing.iter();
        let mut found: Vec<String> = missing
            .map(|(layer, why)| format!("no {} ({why}): {}", layer.name(), layer.without_it()))
            .collect();
        // Before version 6 there are no scopes: what they add matters only where the PID namespace is missing.
        let scopes_matter = self.missing.contains_key(&Layer::PidNamespace);
        if scopes_matter && (1..6).contains(&self.landlock_version) {
            found.push(format!(
                "Landlock has version {}: signals to processes of the same user are not kept",
                self.landlock_version
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_those_that_are_not_missing() {
        let none = Abilities::none("not on this system");
        assert!(none.layers().is_empty() && !none.is_complete());
        assert_eq!(none.shortcomings().len(), Layer::ALL.len());
        assert_eq!(
            none.shortcomings()[4],
            "no UTS namespace (not on this system): the name of the host is visible"
        );
        let some = Abilities {
            missing: [(Layer::PidNamespace, "no".to_owned())].into(),
            landlock_version: 4,
            kernel: String::new(),
        };
        assert_eq!(some.layers().len(), Layer::ALL.len() - 1);
        assert!(some.shortcomings()[1].starts_with("Landlock has version 4"));
    }
}
