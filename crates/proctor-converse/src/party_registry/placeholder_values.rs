//! Filling in `${root}`, `${here}`, `${bin}`, `${port}`, `${model_url}`, `${model_key}` and `${env:NAME}`. Other names are left for those who know them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_dialogue::CommandWords;
use proctor_redact::{Redactor, Secret};

use crate::agent::ModelAddress;
use crate::failure::Failure;

/// Looks a variable of the environment up.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the names stand for in one scenario file.
#[derive(Clone)]
pub(crate) struct PlaceholderValues {
    pub(crate) root: PathBuf,
    pub(crate) here: PathBuf,
    pub(crate) bin: PathBuf,
    pub(crate) port: Option<u16>,
    /// The model endpoint of the conversation that a program is started for.
    pub(crate) model: Option<ModelAddress>,
    pub(crate) environment: Environment,
    /// Variables that every program of a conversation gets, if they are set.
    pub(crate) pass_env: Vec<String>,
    /// Learns every value that was taken from the environment, to filter it from what is written.
    pub(crate) redactor: Redactor,
    /// Variables whose values are too short for the redactor.
    pub(crate) short_secrets: Arc<Mutex<BTreeSet<String>>>,
}

impl PlaceholderValues {
    pub(crate) fn text(&self, text: &str) -> Result<String, Failure> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, inside) = (&rest[..at], &rest[at + 2..]);
            filled.push_str(before);
            let Some(end) = inside.find('}').filter(|_| !before.ends_with('$')) else {
                filled.push_str("${");
                rest = inside;
                continue;
            };
            match self.lookup(&inside[..end])? {
                Some(value) => filled.push_str(&value),
                None => filled.push_str(&rest[at..at + end + 3]),
            }
            rest = &inside[end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn lookup(&self, name: &str) -> Result<Option<String>, Failure> {
        let path = |path: &PathBuf| Some(path.to_string_lossy().into_owned());
        Ok(match name {
            "root" => path(&self.root),
            "here" => path(&self.here),
            "bin" => path(&self.bin),
            "port" => self.port.map(|port| port.to_string()),
            "model_url" => self.model.as_ref().map(|model| model.url.clone()),
            "model_key" => self.model.as_ref().map(|model| model.key.clone()),
            _ => match name.strip_prefix("env:") {
                Some(variable) => Some(self.variable(variable)?),
                None => None,
            },
        })
    }

    /// A variable of the environment; from now on a secret.
    pub(crate) fn variable(&self, name: &str) -> Result<String, Failure> {
        let value = (self.environment)(name).ok_or_else(|| {
            Failure::harness(format!(
                "the environment variable {name} is not set, and proctor.toml or the scenario uses it"
            ))
        })?;
        self.learn_secret(name, &value);
        Ok(value)
    }

    /// The value of a variable as a secret, which is filtered from now on if it is long enough.
    pub(crate) fn learn_secret(&self, name: &str, value: &str) -> Secret {
        let secret = Secret::new(value);
        if !self.redactor.add_secret(secret.clone()) {
            let mut short = self.short_secrets.lock().unwrap_or_else(PoisonError::into_inner);
            short.insert(name.to_owned());
        }
        secret
    }

    /// The variables that a program gets beside those that all may have: what the project passes on, and the program's own.
    pub(crate) fn program_env(
        &self,
        own: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        let passed = self.passed_env().into_iter();
        let mut env: BTreeMap<String, String> =
            passed.map(|(name, value)| (name, value.reveal().to_owned())).collect();
        env.extend(self.map(own)?);
        Ok(env)
    }

    /// Adds what clients of models read, in place of what is there: the agent must not reach another model. A proxy is passed by.
    pub(crate) fn add_model(&self, env: &mut BTreeMap<String, String>) {
        let Some(model) = &self.model else { return };
        env.extend(model.variables().into_iter().map(|(name, value)| (name.to_owned(), value)));
        for name in ["NO_PROXY", "no_proxy"] {
            let known = env.get(name).cloned().or_else(|| (self.environment)(name));
            let known = known.filter(|hosts| !hosts.trim().is_empty());
            let hosts = known.map_or_else(String::new, |hosts| format!("{hosts},"));
            env.insert(name.to_owned(), format!("{hosts}127.0.0.1,localhost"));
        }
    }

    /// The variables that the project passes on to every program; from now on secrets.
    pub(crate) fn passed_env(&self) -> Vec<(String, Secret)> {
        let value = |name: &String| Some((name.clone(), (self.environment)(name)?));
        let set = self.pass_env.iter().filter_map(value);
        set.map(|(name, value)| (name.clone(), self.learn_secret(&name, &value))).collect()
    }

    pub(crate) fn words(&self, words: &CommandWords) -> Result<CommandWords, Failure> {
        words.map(|word| self.text(word))
    }

    pub(crate) fn map(
        &self,
        map: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, Failure> {
        map.iter().map(|(name, value)| Ok((name.clone(), self.text(value)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> PlaceholderValues {
        PlaceholderValues {
            root: "/p".into(),
            here: "/p/examples".into(),
            bin: "/b".into(),
            port: Some(8080),
            model: None,
            environment: Arc::new(|name| (name == "TOKEN").then(|| "hush-hush".to_owned())),
            pass_env: vec!["TOKEN".to_owned(), "UNSET".to_owned()],
            redactor: Redactor::default(),
            short_secrets: Arc::default(),
        }
    }

    #[test]
    fn programs_get_what_the_project_passes_on_and_their_own() {
        let placeholders = placeholders();
        let own = [("A".to_owned(), "${here}".to_owned())].into();
        let env = placeholders.program_env(&own).unwrap();
        let shown: Vec<String> =
            env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["A=/p/examples", "TOKEN=hush-hush"]);
        assert_eq!(placeholders.redactor.redact_text("hush-hush"), "[redacted]");
    }

    #[test]
    fn known_names_are_filled_and_others_are_left() {
        let placeholders = placeholders();
        let filled = placeholders
            .text("${bin}/a --at ${port} ${message} $${env:TOKEN} ${env:TOKEN}")
            .unwrap();
        assert_eq!(filled, "/b/a --at 8080 ${message} $${env:TOKEN} hush-hush");
        assert_eq!(placeholders.redactor.redact_text("so hush-hush").into_owned(), "so [redacted]");
        assert_eq!(placeholders.text("${here}/x ${open").unwrap(), "/p/examples/x ${open");
        let missing = placeholders.text("${env:NOPE}").unwrap_err();
        assert!(missing.message.contains("NOPE is not set"), "{missing:?}");
    }
}
