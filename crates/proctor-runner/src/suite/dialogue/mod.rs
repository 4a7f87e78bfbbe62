//! Conversations as a suite: scenario files are read here, and their examples are conducted in this process.
//!
//! Discovery reads and checks every file and makes the parties; `pool` conducts. A file with a mistake is an error
//! outside examples, with line, column and hint, and nothing is run.

mod pool;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use proctor_converse::{Cassette, PartyRegistry, Settings};
use proctor_dialogue::{FileProblem, Row, RowFormat, RowsError, parse, parse_rows};
use proctor_events::StableIds;
use proctor_files::limits;

use self::pool::ConversationPool;
use super::filter::ExampleFilter;
use super::{
    OpenedSuite, Opening, Reported, SuiteCapabilities, SuiteEnd, SuiteEnvironment, SuiteError,
    SuiteKind,
};
use crate::example::{Discovery, Example, OutsideError};
use crate::worker_link::local::LocalLink;

/// The suite's name.
const NAME: &str = "scenario";

/// A suite of conversations.
#[derive(Debug, Clone)]
pub struct DialogueSuite {
    /// The scenario files.
    pub files: Vec<ScenarioFile>,
    /// Which of their examples take part.
    pub filter: ExampleFilter,
    /// What the project says about agents and models.
    pub settings: Settings,
    /// How many conversations are conducted at once.
    pub concurrency: u32,
}

/// A scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFile {
    /// Its path, absolute or from the project's root.
    pub path: PathBuf,
    /// Only the examples, groups and sets at these lines; all when empty.
    pub lines: Vec<u32>,
}

/// What its examples report.
pub(crate) const CAPABILITIES: SuiteCapabilities = SuiteCapabilities {
    name: "scenario",
    names: Reported::Always,
    durations: Reported::Always,
    output: Reported::Always,
    checks: Reported::Always,
};

impl SuiteKind for DialogueSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        &CAPABILITIES
    }

    fn name(&self) -> &str {
        NAME
    }

    fn open<'a>(&'a self, environment: &'a SuiteEnvironment) -> Opening<'a> {
        Box::pin(std::future::ready(open(self, environment)))
    }

    fn conversation_settings(&mut self) -> Option<&mut Settings> {
        Some(&mut self.settings)
    }

    fn concurrency(&mut self) -> Option<&mut u32> {
        Some(&mut self.concurrency)
    }
}

fn open(suite: &DialogueSuite, environment: &SuiteEnvironment) -> Result<OpenedSuite, SuiteError> {
    let began = Instant::now();
    let mut reading = Reading::new(&environment.root);
    for file in &suite.files {
        reading.file(file, &suite.filter);
    }
    let Reading { mut listed, scripts, mut errors, .. } = reading;
    for (example, script) in listed.iter_mut().zip(&scripts) {
        example.deterministic = suite.settings.declares_deterministic(&script.parties);
        example.scripted = suite.settings.has_scripted_agent(&script.parties);
    }
    if let Some(saved) = &suite.settings.saved {
        // Each conversation is judged again as often as it was held.
        for example in &mut listed {
            example.repeats = saved.repeats(&example.id);
        }
    }
    let registry = match PartyRegistry::open(suite.settings.clone(), &scripts) {
        Ok(registry) => registry,
        Err(problems) => {
            errors.extend(problems.into_iter().map(|problem| OutsideError {
                phase: "load".to_owned(),
                place: problem.place,
                message: Some(problem.message),
                ..OutsideError::default()
            }));
            listed.clear();
            // Nothing will be run: that needs no parties, and leaves no cassette behind.
            let settings = Settings { cassette: Cassette::Off, ..suite.settings.clone() };
            PartyRegistry::open(settings, &[]).map_err(|problems| SuiteError {
                message: problems.into_iter().map(|problem| problem.message).collect(),
                output: Vec::new(),
            })?
        }
    };
    let discovery = Discovery {
        examples: listed,
        errors,
        load_ms: began.elapsed().as_secs_f64() * 1000.0,
        ..Discovery::default()
    };
    let pool = Arc::new(ConversationPool::new(registry, scripts));
    let ending = Arc::clone(&pool);
    Ok(OpenedSuite {
        checkpoint_links: None,
        discovery,
        links: Box::new(move |_| Arc::new(LocalLink(Arc::clone(&pool)))),
        slots: Some(suite.concurrency.max(1)),
        finish: Box::new(move |at_once| {
            Box::pin(async move {
                let ended = ending.registry().end(at_once).await;
                let output = ending.unreported_output();
                SuiteEnd { notes: ended.notes, output, ..SuiteEnd::default() }
            })
        }),
        observers: None,
    })
}

/// Reads files; owns the ids, so that duplicates are distinguished across files.
struct Reading<'a> {
    root: &'a Path,
    ids: StableIds,
    listed: Vec<Example>,
    scripts: Vec<Arc<proctor_dialogue::Example>>,
    errors: Vec<OutsideError>,
}

impl<'a> Reading<'a> {
    fn new(root: &'a Path) -> Self {
        let ids = StableIds::default();
        Self { root, ids, listed: Vec::new(), scripts: Vec::new(), errors: Vec::new() }
    }

    fn file(&mut self, file: &ScenarioFile, filter: &ExampleFilter) {
        let path = self.root.join(&file.path);
        let name = name_in_root(&path, self.root);
        let text = match proctor_files::read_text(&path, limits::SCENARIO) {
            Ok(text) => text,
            Err(error) => return self.unreadable(name, &error.to_string()),
        };
        let folder = path.parent().unwrap_or(self.root);
        let scenario = match parse(&text, &name) {
            Ok(scenario) => scenario,
            Err(problems) => return self.mistakes(&problems),
        };
        let mut rows = |rows: &str| read_rows(&folder.join(rows));
        let examples = match scenario.examples(&mut self.ids, &mut rows) {
            Ok(examples) => examples,
            Err(problems) => return self.mistakes(&problems),
        };
        let wanted = wanted_starts(&file.lines, &examples);
        for script in examples {
            let chosen = |start: &u32| script.line == *start || script.groups.contains(start);
            if !wanted.is_empty() && !wanted.iter().any(chosen) {
                continue;
            }
            let example = listed(&script);
            if filter.accepts(&example) {
                self.listed.push(example);
                self.scripts.push(Arc::new(script));
            }
        }
    }

    fn unreadable(&mut self, place: String, problem: &str) {
        self.errors.push(OutsideError {
            phase: "load".to_owned(),
            place: Some(place),
            message: Some(format!("the scenario file cannot be read: {problem}")),
            ..OutsideError::default()
        });
    }

    fn mistakes(&mut self, problems: &[FileProblem]) {
        self.errors.extend(problems.iter().map(|problem| OutsideError {
            phase: "load".to_owned(),
            place: Some(problem.place()),
            message: Some(problem.details()),
            ..OutsideError::default()
        }));
    }
}

/// Where that begins which the given lines mean: for each the nearest example, set or group that begins at or above it.
fn wanted_starts(lines: &[u32], examples: &[proctor_dialogue::Example]) -> Vec<u32> {
    let begins = |example: &proctor_dialogue::Example| {
        example.groups.iter().copied().chain([example.line]).collect::<Vec<_>>()
    };
    let starts: BTreeSet<u32> = examples.iter().flat_map(begins).collect();
    let nearest = |line: &u32| starts.range(..=*line).next_back().or_else(|| starts.first());
    lines.iter().filter_map(nearest).copied().collect()
}

/// `./examples/a.scenario.yaml`: paths of the project begin with `./`.
pub(super) fn name_in_root(path: &Path, root: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(below) => {
            let plain: PathBuf =
                below.components().filter(|part| part.as_os_str() != ".").collect();
            format!("./{}", plain.display())
        }
        Err(_) => path.display().to_string(),
    }
}

fn read_rows(path: &Path) -> Result<Vec<Row>, RowsError> {
    let format = RowFormat::of_file(&path.to_string_lossy()).ok_or(RowsError::UnknownEnding)?;
    let text = proctor_files::read_text(path, limits::ROWS)?;
    parse_rows(&text, format)
}

fn listed(script: &proctor_dialogue::Example) -> Example {
    Example {
        id: script.id.id.clone(),
        key: script.id.id.to_string(),
        suite: NAME.to_owned(),
        suite_index: 0,
        file: script.file.clone(),
        path: script.path.clone(),
        location: Some(script.location()),
        description: script.path.last().cloned().unwrap_or_default(),
        full_description: script.path.join(" "),
        tags: script.tags.clone(),
        unit: None,
        scenario: script.row.clone(),
        repeats: script.repeat,
        pass_rate: script.pass_rate,
        deterministic: None,
        scripted: false,
    }
}
