//! The environment variables of a child: a base (all variables of this process, the allowed ones, or none) and changes to it.
//!
//! Every way to start a program takes one, and [`ChildEnvironment::apply`] is the only code that gives variables to a child. This is
//! the one place outside the binary that looks at the variables of this process: to pass them on, never to decide by them.
//! Under a guard the variables travel in the launch message; the guard itself has `HOME` alone.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use proctor_redact::is_secret_variable;

use crate::allowed_variables::is_allowed;

/// The environment of a child process. Each caller chooses the base, so that inheriting is never an accident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    base: Base,
    /// For variables that the base does not have.
    defaults: BTreeMap<OsString, OsString>,
    /// `None` removes a variable.
    changes: BTreeMap<OsString, Option<OsString>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Inherited,
    Allowed,
    Home,
    Empty,
}

/// Variables of this process that a child does not get, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// Those that hold secrets, by their names.
    pub secrets: Vec<String>,
    /// All others.
    pub others: Vec<String>,
}

impl ChildEnvironment {
    /// All variables of this process: for the user's own test processes, for git, and for our own program.
    #[must_use]
    pub fn inherited() -> Self {
        Self::from_base(Base::Inherited)
    }

    /// The variables of this process that [`crate::ALLOWED_VARIABLES`] lists, without secrets: for what is under test.
    #[must_use]
    pub fn allowed() -> Self {
        Self::from_base(Base::Allowed)
    }

    /// `HOME` alone: for guards, which need no variables, so that whoever sees one in a list of processes can tell whose it is.
    pub(crate) fn home() -> Self {
        Self::from_base(Base::Home)
    }

    /// No variables.
    #[must_use]
    pub fn empty() -> Self {
        Self::from_base(Base::Empty)
    }

    fn from_base(base: Base) -> Self {
        Self { base, defaults: BTreeMap::new(), changes: BTreeMap::new() }
    }

    /// Sets a variable unless the base has it.
    #[must_use]
    pub fn set_default(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.defaults.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
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

    /// Which variables of this process the child does not get.
    #[must_use]
    pub fn held_back(&self) -> HeldBack {
        self.held_back_from(std::env::vars_os())
    }

    fn held_back_from(&self, parent: impl Iterator<Item = (OsString, OsString)>) -> HeldBack {
        let parent: Vec<_> = parent.filter(|(_, value)| !value.is_empty()).collect();
        let passed = self.resolve(parent.iter().cloned());
        let mut held_back = HeldBack::default();
        for (name, _) in parent.iter().filter(|(name, _)| !passed.contains_key(name)) {
            let name = name.to_string_lossy().into_owned();
            let list = if is_secret_variable(&name) {
                &mut held_back.secrets
            } else {
                &mut held_back.others
            };
            list.push(name);
        }
        held_back.secrets.sort_unstable();
        held_back.others.sort_unstable();
        held_back
    }

    /// All variables of the child.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<OsString, OsString> {
        match self.base {
            Base::Empty => self.resolve(std::iter::empty()),
            Base::Inherited | Base::Allowed | Base::Home => self.resolve(std::env::vars_os()),
        }
    }

    fn resolve(
        &self,
        parent: impl Iterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let passes = |name: &OsStr, value: &OsStr| match self.base {
            Base::Inherited => true,
            Base::Allowed => {
                name.to_str().is_some_and(|name| is_allowed(name, &value.to_string_lossy()))
            }
            Base::Home => name == "HOME",
            Base::Empty => false,
        };
        let mut variables: BTreeMap<_, _> =
            parent.filter(|(name, value)| passes(name, value)).collect();
        for (name, value) in &self.defaults {
            variables.entry(name.clone()).or_insert_with(|| value.clone());
        }
        for (name, value) in &self.changes {
            match value {
                Some(value) => variables.insert(name.clone(), value.clone()),
                None => variables.remove(name),
            };
        }
        variables
    }

    pub(crate) fn apply(&self, command: &mut Command) {
        command.env_clear().envs(self.variables());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> impl Iterator<Item = (OsString, OsString)> {
        let variables = [
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "sk-1"),
            ("PROCTOR_TOKEN", "hush"),
            ("EMPTY_TOKEN", ""),
            ("MODE", "fast"),
        ];
        variables.into_iter().map(|(name, value)| (name.into(), value.into()))
    }

    fn names(environment: &ChildEnvironment) -> Vec<String> {
        let variables = environment.resolve(parent());
        variables.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_base_decides_and_changes_win() {
        assert_eq!(names(&ChildEnvironment::inherited()).len(), 5);
        assert_eq!(names(&ChildEnvironment::allowed()), ["PATH"]);
        assert_eq!(names(&ChildEnvironment::empty().set("A", "1")), ["A"]);
        let named = ChildEnvironment::allowed().set("OPENAI_API_KEY", "sk-1").remove("PATH");
        assert_eq!(names(&named), ["OPENAI_API_KEY"]);
    }

    #[test]
    fn a_default_gives_way_to_the_base_and_to_changes() {
        let defaults =
            ChildEnvironment::inherited().set_default("MODE", "slow").set_default("A", "1");
        let variables = defaults.resolve(parent());
        assert_eq!(variables.get(OsStr::new("MODE")).unwrap(), "fast");
        assert_eq!(variables.get(OsStr::new("A")).unwrap(), "1");
        assert!(!names(&defaults.clone().remove("A")).contains(&"A".to_owned()));
        assert_eq!(defaults.set("A", "2").resolve(parent()).get(OsStr::new("A")).unwrap(), "2");
        // What the base holds back does not count as present.
        let allowed = ChildEnvironment::allowed().set_default("MODE", "slow");
        assert_eq!(allowed.resolve(parent()).get(OsStr::new("MODE")).unwrap(), "slow");
    }

    #[test]
    fn what_is_held_back_is_named() {
        let held_back = ChildEnvironment::allowed().held_back_from(parent());
        assert_eq!(held_back.secrets, ["OPENAI_API_KEY", "PROCTOR_TOKEN"]);
        assert_eq!(held_back.others, ["MODE"]);
        let named = ChildEnvironment::allowed().set("OPENAI_API_KEY", "sk-2");
        assert_eq!(named.held_back_from(parent()).secrets, ["PROCTOR_TOKEN"]);
        let all = ChildEnvironment::inherited().held_back_from(parent());
        assert_eq!(all, HeldBack::default());
    }
}
