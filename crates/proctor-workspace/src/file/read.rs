//! From text to a checked file, with the place of every mistake. This is the only module here that knows the
//! YAML library's places.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{RunSection, SetupSection, WorkspaceFile};
use crate::assertion::Assertion;
use crate::beneath::RelPath;
use crate::error::ToolError;
use crate::limits::{GivenLimits, RunLimits};
use crate::mock::MockResponse;
use crate::mock::script;
use crate::orchestrator::ralph::{self, config};
use crate::orchestrator::{Backend, Orchestrator, Topology};

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The file's name as the caller gave it.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// The line itself.
    pub snippet: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if self.snippet.is_empty() {
            return Ok(());
        }
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let indent = " ".repeat(usize::try_from(self.column).unwrap_or(1).saturating_sub(1));
        write!(f, "\n {number} | {}\n {margin} | {indent}^", self.snippet)
    }
}

impl std::error::Error for FileProblem {}

/// The file as the YAML library reads it: parts whose mistakes need a place of their own stay values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rough {
    name: String,
    description: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    pending: Option<String>,
    setup: Option<Spanned<Value>>,
    #[serde(default)]
    mock: Vec<Spanned<Value>>,
    run: Spanned<Value>,
    #[serde(rename = "assert")]
    assertions: Vec<Spanned<Value>>,
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    problems: Vec<FileProblem>,
}

/// Reads a file; all mistakes that can be found are reported together.
pub fn read(name: &str, text: &str) -> Result<WorkspaceFile, Vec<FileProblem>> {
    let mut reader = Reader { name, text, problems: Vec::new() };
    let options = serde_saphyr::options! { strict_booleans: true };
    let rough: Rough = match serde_saphyr::from_str_with_options(text, options) {
        Ok(rough) => rough,
        Err(error) => {
            let place = error.location().map_or((0, 0), |at| place_of(&at));
            let said = error.to_string();
            let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let prefix = format!("line {} column {}: ", place.0, place.1);
            reader.add(place, first.trim_start_matches(&prefix).to_owned());
            return Err(reader.problems);
        }
    };
    let file = reader.file(rough);
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    match file {
        Some(file) if reader.problems.is_empty() => Ok(file),
        _ => Err(reader.problems),
    }
}

fn place_of(location: &serde_saphyr::Location) -> (u64, u64) {
    #[expect(clippy::useless_conversion, reason = "the library's number type is its own choice")]
    (u64::from(location.line()), u64::from(location.column()))
}

impl Reader<'_> {
    fn add(&mut self, (line, column): (u64, u64), message: String) {
        let index = usize::try_from(line).unwrap_or_default();
        let snippet = index.checked_sub(1).and_then(|index| self.text.lines().nth(index));
        self.problems.push(FileProblem {
            file: self.name.to_owned(),
            line,
            column,
            message,
            snippet: snippet.unwrap_or_default().to_owned(),
        });
    }

    fn part<T: DeserializeOwned>(&mut self, what: &str, value: &Spanned<Value>) -> Option<T> {
        match serde_json::from_value(value.value.clone()) {
            Ok(part) => Some(part),
            Err(error) => {
                self.add(place_of(&value.referenced), format!("{what}: {error}"));
                None
            }
        }
    }

    fn file(&mut self, rough: Rough) -> Option<WorkspaceFile> {
        let setup: Option<SetupSection> = match &rough.setup {
            Some(section) if !section.value.is_null() => self.part("setup", section),
            _ => Some(SetupSection::default()),
        };
        let run: Option<RunSection> = self.part("run", &rough.run);
        let mock: Vec<Option<MockResponse>> =
            rough.mock.iter().map(|response| self.part("mock", response)).collect();
        let assertions: Vec<Option<Assertion>> =
            rough.assertions.iter().map(|assertion| self.part("assert", assertion)).collect();
        for (assertion, place) in assertions.iter().zip(&rough.assertions) {
            if let Some(Err(why)) = assertion.as_ref().map(Assertion::check) {
                self.add(place_of(&place.referenced), format!("assert: {why}"));
            }
        }
        if rough.assertions.is_empty() {
            self.add(
                (1, 1),
                "assert is empty: a test without assertions proves nothing".to_owned(),
            );
        }
        let topology = self.check_setup(&rough, setup.as_ref(), run.as_ref());
        self.check_mock(&rough, &mock, run.as_ref(), setup.as_ref(), topology.as_ref());
        Some(WorkspaceFile {
            name: rough.name,
            description: rough.description,
            tags: rough.tags,
            pending: rough.pending,
            setup: setup?,
            mock: mock.into_iter().collect::<Option<_>>()?,
            run: run?,
            assertions: assertions.into_iter().collect::<Option<_>>()?,
            recorded: None,
        })
    }

    fn check_mock(
        &mut self,
        rough: &Rough,
        mock: &[Option<MockResponse>],
        run: Option<&RunSection>,
        setup: Option<&SetupSection>,
        topology: Option<&Topology>,
    ) {
        let hats = topology.and_then(Topology::hat_names);
        for (response, place) in mock.iter().zip(&rough.mock) {
            let Some(response) = response else { continue };
            if let Err(error) = script::check(std::slice::from_ref(response), hats.as_deref()) {
                let said = error.to_string().replacen("responses[0].", "mock: ", 1);
                self.add(place_of(&place.referenced), said);
            }
        }
        let generic =
            setup.is_some_and(|setup| matches!(setup.orchestrator, Some(Orchestrator::Generic(_))));
        let needs = run.is_some_and(|run| run.backend == Backend::Mock) && !generic;
        let replays = run.is_some_and(|run| run.cassette.is_some());
        if replays && !mock.is_empty() {
            self.add(
                place_of(&rough.run.referenced),
                "run.cassette and `mock` both say what the model answers: keep one".to_owned(),
            );
        }
        if needs && mock.is_empty() && !replays {
            self.add(
                place_of(&rough.run.referenced),
                "a mock run needs responses under `mock`".to_owned(),
            );
        }
    }

    /// Checks paths, configuration and limits; the topology, where it is known before the run.
    fn check_setup(
        &mut self,
        rough: &Rough,
        setup: Option<&SetupSection>,
        run: Option<&RunSection>,
    ) -> Option<Topology> {
        let setup = setup?;
        let at = place_of(&rough.setup.as_ref().unwrap_or(&rough.run).referenced);
        for path in setup.fixtures.keys() {
            if let Err(problem) = RelPath::parse(path) {
                self.add(at, format!("setup.fixtures: {problem}"));
            }
        }
        if matches!(setup.orchestrator, Some(Orchestrator::Generic(_))) {
            return None;
        }
        match configured(setup, run) {
            Ok(topology) => Some(topology),
            Err(error) => {
                self.add(at, format!("setup: {error}"));
                None
            }
        }
    }
}

/// The topology of a file's configuration, whose limits are checked too.
fn configured(setup: &SetupSection, run: Option<&RunSection>) -> Result<Topology, ToolError> {
    let file = ralph::FILES.iter().find_map(|name| Some((name, setup.fixtures.get(*name)?)));
    let base = file.map_or(Ok(Value::Null), |(name, text)| config::read_file(name, text))?;
    let overrides = setup.config.as_ref().unwrap_or(&Value::Null);
    let configured = config::configured(base, overrides)?;
    let backend = run.map(|run| run.backend).unwrap_or_default();
    let (given, failures) = config::limits(&configured, backend)?;
    let call = GivenLimits {
        max_iterations: run.and_then(|run| run.max_iterations).map(u64::from),
        max_runtime_secs: run.and_then(|run| run.max_runtime_secs),
        ..GivenLimits::default()
    };
    RunLimits::resolve(call, given, failures)?;
    Ok(config::topology(&config::merged(configured, backend)))
}

#[cfg(test)]
mod tests;
