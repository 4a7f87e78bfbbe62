//! From text to a checked file, with the place of every mistake.

use proctor_yaml::{At, FileProblem, Finding, Findings, Place, read_node, read_yaml};
use serde::Deserialize;
use serde_json::Value;

use super::{RunSection, SetupSection, WorkspaceFile};
use crate::assertion::Assertion;
use crate::contained_path::RelPath;
use crate::error::ToolError;
use crate::limits::{GivenLimits, RunLimits};
use crate::mock::MockResponse;
use crate::mock::script;
use crate::orchestrator::ralph::{self, config};
use crate::orchestrator::{Backend, Orchestrator, Topology};
use crate::tools::run::{MOST_REPEATS, environment};

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    description: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    pending: Option<String>,
    setup: Option<At<SetupSection>>,
    #[serde(default)]
    mock: Vec<At<MockResponse>>,
    run: At<RunSection>,
    #[serde(rename = "assert")]
    assertions: Vec<At<Assertion>>,
}

/// Reads a file; all mistakes that can be found are reported together.
pub fn read(name: &str, text: &str) -> Result<WorkspaceFile, Vec<FileProblem>> {
    let mut findings = Findings::default();
    let written = match read_yaml(text) {
        Ok(node) => read_node::<Written>(&node, &mut findings),
        Err(error) => {
            findings.push(Finding::new(error.place, error.message));
            None
        }
    };
    if let Some(written) = &written {
        Checks { written, findings: &mut findings }.all();
    }
    match written {
        Some(written) if findings.is_empty() => Ok(written.into()),
        _ => {
            let sorted = findings.into_sorted().into_iter();
            Err(sorted.map(|finding| finding.in_file(name, text)).collect())
        }
    }
}

impl From<Written> for WorkspaceFile {
    fn from(written: Written) -> Self {
        Self {
            name: written.name,
            description: written.description,
            tags: written.tags,
            pending: written.pending,
            setup: written.setup.map(|setup| setup.value).unwrap_or_default(),
            mock: written.mock.into_iter().map(|response| response.value).collect(),
            run: written.run.value,
            assertions: written.assertions.into_iter().map(|assertion| assertion.value).collect(),
            recorded: None,
        }
    }
}

/// What the types of a file cannot say.
struct Checks<'a> {
    written: &'a Written,
    findings: &'a mut Findings,
}

impl Checks<'_> {
    fn all(&mut self) {
        self.texts();
        self.run();
        self.assertions();
        let topology = self.setup();
        self.mock(topology.as_ref());
    }

    fn add(&mut self, place: Place, message: impl Into<String>) {
        self.findings.push(Finding::new(place, message));
    }

    /// Texts that must say something.
    fn texts(&mut self) {
        let Written { name, tags, pending, .. } = self.written;
        let blank = |text: &str| text.trim().is_empty();
        for (key, is_blank) in [
            ("name", blank(name)),
            ("tags", tags.iter().any(|tag| blank(tag))),
            ("pending", pending.as_deref().is_some_and(blank)),
        ] {
            if is_blank {
                self.add(Place { line: 1, column: 1 }, format!("{key}: an empty text"));
            }
        }
    }

    fn run(&mut self) {
        let run = &self.written.run;
        if run.task.trim().is_empty() {
            self.add(run.place, "run.task is empty: the orchestrator needs a task");
        }
        if run.repeat.is_some_and(|repeat| !(1..=MOST_REPEATS).contains(&repeat)) {
            self.add(run.place, format!("run.repeat must be between 1 and {MOST_REPEATS}"));
        }
        if let Err(error) = environment::check(&run.env) {
            self.add(run.place, format!("run.{error}"));
        }
        if let Some(Err(problem)) = run.cassette.as_deref().map(RelPath::parse) {
            self.add(run.place, format!("run.cassette: {problem}"));
        }
    }

    fn assertions(&mut self) {
        for assertion in &self.written.assertions {
            if let Err(why) = assertion.check() {
                self.add(assertion.place, format!("assert: {why}"));
            }
        }
        if self.written.assertions.is_empty() {
            let message = "assert is empty: a test without assertions proves nothing";
            let finding = Finding::new(Place { line: 1, column: 1 }, message);
            self.findings.push(finding.absent(["assert"]));
        }
    }

    fn mock(&mut self, topology: Option<&Topology>) {
        let Written { mock, run, setup, .. } = self.written;
        let hats = topology.and_then(Topology::hat_names);
        for response in mock {
            let only = std::slice::from_ref(&response.value);
            if let Err(error) = script::check(only, hats.as_deref()) {
                let said = error.to_string().replacen("responses[0].", "mock: ", 1);
                self.add(response.place, said);
            }
        }
        let generic = setup
            .as_ref()
            .is_some_and(|setup| matches!(setup.orchestrator, Some(Orchestrator::Generic(_))));
        let needs = run.backend == Backend::Mock && !generic;
        let replays = run.cassette.is_some();
        if replays && !mock.is_empty() {
            self.add(
                run.place,
                "run.cassette and `mock` both say what the model answers: keep one",
            );
        }
        if needs && mock.is_empty() && !replays {
            let finding = Finding::new(run.place, "a mock run needs responses under `mock`");
            self.findings.push(finding.absent(["mock"]));
        }
    }

    /// Checks paths, configuration and limits; the topology, where it is known before the run.
    fn setup(&mut self) -> Option<Topology> {
        let Written { setup, run, .. } = self.written;
        let default = SetupSection::default();
        let (setup, place) =
            setup.as_ref().map_or((&default, run.place), |setup| (&setup.value, setup.place));
        for path in setup.fixtures.keys() {
            if let Err(problem) = RelPath::parse(path) {
                self.add(place, format!("setup.fixtures: {problem}"));
            }
        }
        if let Some(Orchestrator::Generic(command)) = &setup.orchestrator {
            let limits = RunLimits::resolve(limits_of(run), GivenLimits::default(), None);
            let config = setup.config.clone().unwrap_or_default();
            let config = config::configured(Value::Null, &config);
            if let Err(error) = limits.and(config).map(drop).and_then(|()| command.check()) {
                self.add(place, format!("setup: {error}"));
            }
            return None;
        }
        match configured(setup, run) {
            Ok(topology) => Some(topology),
            Err(error) => {
                self.add(place, format!("setup: {error}"));
                None
            }
        }
    }
}

/// The topology of a file's configuration, whose limits are checked too.
fn configured(setup: &SetupSection, run: &RunSection) -> Result<Topology, ToolError> {
    let file = ralph::FILES.iter().find_map(|name| Some((name, setup.fixtures.get(*name)?)));
    let base = file.map_or(Ok(Value::Null), |(name, text)| config::read_file(name, text))?;
    let overrides = setup.config.as_ref().unwrap_or(&Value::Null);
    let configured = config::configured(base, overrides)?;
    let (given, failures) = config::limits(&configured, run.backend)?;
    RunLimits::resolve(limits_of(run), given, failures)?;
    Ok(config::topology(&config::merged(configured, run.backend)))
}

/// The limits that the file itself gives.
fn limits_of(run: &RunSection) -> GivenLimits {
    GivenLimits {
        max_iterations: run.max_iterations.map(u64::from),
        max_runtime_secs: run.max_runtime_secs,
        ..GivenLimits::default()
    }
}

#[cfg(test)]
mod tests;
