//! What is left, and who fills it: a model, or an agent that calls us.
//!
//! `open` reads from a spec which situations still wait and what is known about each; `answer` looks at a proposed example
//! without running it; `supplied` makes an example of values; `gate` runs it. An answer is kept only if it parses, stays in its place, passes under all
//! circumstances, takes its path and notices a fault. [`plan`] and [`submit`] are the two doors for callers; state is in the
//! spec and its metadata alone.

mod answer;
mod gate;
mod open;
mod prompt;
mod supplied;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_files::limits;
use proctor_ruby::{SyntaxError, analyze};
use serde::{Deserialize, Serialize};

use crate::agent_tools::CoveredProject;
use crate::metadata::{Metadata, MetadataError, hash, path_for};
use crate::observation::{Effort, ProjectCopies};
use crate::project::{Project, SourceFile};
use crate::sandbox::Sandbox;
use crate::stop::Stop;

pub(crate) use gate::{AcceptedAnswer, AnswerGate};
pub(crate) use open::open_items;
pub use open::{Condition, OpenItem};
pub use prompt::{PromptMessage, SYSTEM_PROMPT, prompt_messages, read_model_answer};

/// A proposed example: its body, or the values with which the method is to be called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its description; the planned one if absent.
    #[serde(default)]
    pub description: Option<String>,
    /// The lines between `do` and `end`.
    #[serde(default)]
    pub body: String,
    /// By name of a parameter of the method or its constructor, or `self`: Ruby expressions. What the call does with them becomes
    /// the expectation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

impl Answer {
    /// An answer that is a whole body.
    #[must_use]
    pub fn body(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }
}

/// Why an answer was not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// unknown, stale, parse, values, place, rule, fails, unstable, path, fault, machine
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Refusal {
    pub(crate) fn new(
        reason: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { reason, message: message.into(), hint: hint.into() }
    }

    fn io_error(error: &std::io::Error) -> Self {
        Self::new("machine", format!("system error: {error}"), "try again")
    }
}

/// What is asked of a model.
#[derive(Debug)]
pub struct FillRequest<'a> {
    /// The situation.
    pub item: &'a OpenItem,
    /// The spec as it is.
    pub spec: &'a str,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// The answer before and why it was not kept.
    pub before: Option<(&'a Answer, &'a Refusal)>,
}

/// A model gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("the model did not answer: {source}")]
pub struct FillError {
    /// The error of the model's interface.
    #[from]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Fills situations: a model behind some interface.
pub trait Filler {
    /// Proposes an example.
    fn fill(&self, request: &FillRequest<'_>) -> Result<Answer, FillError>;

    /// Who it is, for the record.
    fn name(&self) -> String;
}

/// What is left in a project.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Plan {
    /// Situations that wait, in the order of files and lines.
    pub items: Vec<OpenItem>,
    /// Files whose metadata or spec cannot be used, with the reason.
    pub notes: Vec<String>,
    /// How many files were looked at.
    pub files: usize,
}

/// What is left, from the metadata of earlier runs. `files` narrows it to these sources; empty means all.
pub fn plan(root: &Path, files: &[String]) -> Result<Plan, Stop> {
    let OpenSituations { items, unusable, files } = open_situations(root, files)?;
    let notes = unusable.iter().map(ToString::to_string).collect();
    Ok(Plan { items, notes, files })
}

/// [`Plan`] with errors that can be told apart.
#[derive(Default)]
struct OpenSituations {
    items: Vec<OpenItem>,
    unusable: Vec<UnusableFile>,
    files: usize,
}

/// Why the open situations of a covered file cannot be listed.
#[derive(Debug, thiserror::Error)]
enum UnusableFile {
    #[error("damaged metadata: {0}")]
    Metadata(#[from] MetadataError),
    #[error("{path}: {source}")]
    NotRead { path: String, source: std::io::Error },
    #[error("{path} changed since it was covered; run `proctor cover {path} --yes` again")]
    Changed { path: String },
    #[error("{path} is not valid Ruby: {error}")]
    NotRuby { path: String, error: SyntaxError },
}

fn open_situations(root: &Path, files: &[String]) -> Result<OpenSituations, Stop> {
    let folder = root.join("tmp/rspec_metadata");
    let mut paths: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "yml"))
            .collect(),
        Err(_) => Vec::new(),
    };
    paths.sort();
    if paths.is_empty() {
        return Err(Stop::error(
            "no file of this project is covered yet".to_owned(),
            format!("{} has no metadata", folder.display()),
            "run `proctor cover` first: it does what it can without a model and leaves the rest open",
        ));
    }
    let mut found = OpenSituations::default();
    for path in paths {
        let metadata = match Metadata::read(&path) {
            Ok(Some(metadata)) => metadata,
            Ok(None) => continue,
            Err(error) => {
                found.unusable.push(error.into());
                continue;
            }
        };
        let wanted = files.is_empty()
            || files.iter().any(|file| file.trim_start_matches("./") == metadata.source_file);
        if !wanted || !metadata.is_complete("test_implementer") {
            continue;
        }
        found.files += 1;
        match open_items_of_file(root, &metadata) {
            Ok(items) => found.items.extend(items),
            Err(error) => found.unusable.push(error),
        }
    }
    Ok(found)
}

fn open_items_of_file(root: &Path, metadata: &Metadata) -> Result<Vec<OpenItem>, UnusableFile> {
    let source = source(root, metadata)?;
    let path = &metadata.spec_path;
    let spec = proctor_files::read_text(&root.join(path), limits::RUBY_SOURCE)
        .map_err(|source| UnusableFile::NotRead { path: path.clone(), source })?;
    Ok(open_items(&source, path, &spec, metadata))
}

fn source(root: &Path, metadata: &Metadata) -> Result<SourceFile, UnusableFile> {
    let path = metadata.source_file.clone();
    let bytes = match proctor_files::read(&root.join(&path), limits::RUBY_SOURCE) {
        Ok(bytes) => bytes,
        Err(source) => return Err(UnusableFile::NotRead { path, source }),
    };
    if hash(&bytes) != metadata.source_hash {
        return Err(UnusableFile::Changed { path });
    }
    match analyze(&bytes) {
        Ok(facts) => Ok(SourceFile { path, bytes, facts }),
        Err(mut errors) => Err(UnusableFile::NotRuby { path, error: errors.swap_remove(0) }),
    }
}

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The situation.
    pub id: String,
    /// Where the example stands now, `spec:line`.
    pub place: String,
    /// Faults that it notices.
    pub faults_noticed: usize,
    /// Situations that still wait in this file.
    pub left: usize,
}

/// Judges an answer and keeps it if it is good. Two at once for one project wait for each other.
pub fn submit(project: &CoveredProject, id: &str, answer: &Answer) -> Result<Kept, Refusal> {
    let root = project.root.as_path();
    let folder = root.join("tmp/rspec_metadata");
    let lock = proctor_files::open_lock_file(&folder.join(".lock"))
        .map_err(|error| Refusal::io_error(&error))?;
    lock.lock().map_err(|error| Refusal::io_error(&error))?;
    let found = open_situations(root, &[])
        .map_err(|stop| Refusal::new("unknown", stop.to_string(), stop.suggestion))?;
    let Some(item) = found.items.iter().find(|item| item.id == id) else {
        let is_changed = |error: &&UnusableFile| matches!(error, UnusableFile::Changed { .. });
        let message = format!("there is no open situation `{id}`");
        return Err(match found.unusable.iter().find(is_changed) {
            Some(changed) => Refusal::new(
                "stale",
                format!("{message}; {changed}"),
                "cover the file again, then get a new plan",
            ),
            None => Refusal::new(
                "unknown",
                message,
                "get a new plan: the situation may be filled, or the spec may have changed",
            ),
        });
    };
    let path = path_for(&folder, &item.file);
    let metadata = Metadata::read(&path).ok().flatten().ok_or_else(|| {
        Refusal::new(
            "stale",
            format!("the metadata of {} are gone", item.file),
            "cover the file again",
        )
    })?;
    let source = source(root, &metadata).map_err(|error| {
        Refusal::new("stale", error.to_string(), "cover the file again, then get a new plan")
    })?;
    let spec = proctor_files::read_text(&root.join(&item.spec), limits::RUBY_SOURCE)
        .map_err(|error| Refusal::io_error(&error))?;
    if answer.values.is_empty() {
        answer::check_answer(item, answer)?;
    }
    let sandbox = Sandbox::new(&project.ruby, project.launcher.clone());
    let project = Project::open(root);
    let workshop = ProjectCopies::new(&project).map_err(|error| Refusal::io_error(&error))?;
    let effort = Effort { mutation_seconds: 15.0, ..Effort::default() };
    let gate = AnswerGate {
        project: &project,
        workshop: &workshop,
        sandbox: &sandbox,
        source: &source,
        effort: &effort,
    };
    let accepted = gate.judge(item, &spec, answer)?;
    keep(root, &path, metadata, item, &accepted).map_err(|error| Refusal::io_error(&error))?;
    Ok(Kept {
        id: item.id.clone(),
        place: format!("{}:{}", item.spec, accepted.line),
        faults_noticed: accepted.faults,
        left: found.items.iter().filter(|other| other.file == item.file).count().saturating_sub(1),
    })
}

/// Writes an accepted answer into the project.
fn keep(
    root: &Path,
    path: &Path,
    mut metadata: Metadata,
    item: &OpenItem,
    accepted: &AcceptedAnswer,
) -> std::io::Result<()> {
    fs::write(root.join(&item.spec), &accepted.text)?;
    metadata.remember(accepted.answer.clone(), hash(accepted.text.as_bytes()));
    metadata.write(path)
}
