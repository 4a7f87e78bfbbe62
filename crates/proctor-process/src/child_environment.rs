//! The environment variables of a child: a base (all variables of this process, or none) and changes to it.
//!
//! Every way to start a program takes one, and [`ChildEnvironment::apply`] is the only code that gives variables to a child. Under a
//! guard it is applied by the guard, which has the environment of the process that started it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The environment of a child process. Each caller chooses the base, so that inheriting is never an accident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    pub(crate) inherits: bool,
    /// `None` removes a variable.
    pub(crate) changes: BTreeMap<OsString, Option<OsString>>,
}

impl ChildEnvironment {
    /// All variables of this process.
    #[must_use]
    pub fn inherited() -> Self {
        Self { inherits: true, changes: BTreeMap::new() }
    }

    /// No variables.
    #[must_use]
    pub fn empty() -> Self {
        Self { inherits: false, changes: BTreeMap::new() }
    }

    /// Sets a variable.
    #[must_use]
    pub fn set(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.changes.insert(name.as_ref().to_owned(), Some(value.as_ref().to_owned()));
        self
    }

    /// Sets several variables.
    #[must_use]
    pub fn set_all<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables.into_iter().fold(self, |environment, (name, value)| environment.set(name, value))
    }

    /// Removes an inherited variable.
    #[must_use]
    pub fn remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.changes.insert(name.as_ref().to_owned(), None);
        self
    }

    pub(crate) fn apply(&self, command: &mut Command) {
        if !self.inherits {
            command.env_clear();
        }
        for (name, value) in &self.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}
