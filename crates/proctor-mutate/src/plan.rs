//! From paths to mutants: which there are, in which order, and how each is named.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use proctor_files::read;
use proctor_ruby::mutation::{CodePlace, SourceMutant, file_mutants};
use sha2::{Digest, Sha256};

use crate::source_files::{FoundFiles, changed_since, ruby_files};

/// The largest source that is read.
const SOURCE_LIMIT: u64 = 16 << 20;

/// What is to be mutated.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// The project's root.
    pub root: PathBuf,
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// Only lines that differ from this commit.
    pub since: Option<String>,
    /// At most so many mutants, the first ones.
    pub limit: Option<usize>,
    /// At most so many mutants, spread over all; the same ones every time.
    pub sample: Option<usize>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A path does not exist.
    #[error("cannot read {}: {source}", path.display())]
    NoSuchPath {
        /// The path.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The commit is not known.
    #[error("git knows no commit `{0}`")]
    NoSuchCommit(String),
    /// Git could not answer.
    #[error("cannot ask git what was changed: {0}")]
    Git(String),
}

/// A file with mutants.
#[derive(Debug, Clone)]
pub struct PlannedFile {
    /// As seen from the root.
    pub name: String,
    /// Without links, as Ruby knows it.
    pub path: PathBuf,
    /// Its bytes.
    pub source: Vec<u8>,
    /// Where the code of its mutants lives.
    pub places: Vec<CodePlace>,
}

/// A mutant of a file.
#[derive(Debug, Clone)]
pub struct PlannedMutant {
    /// Index into [`MutationPlan::files`].
    pub file: usize,
    /// The change.
    pub change: SourceMutant,
    /// The same for the same change of the same file.
    pub id: String,
}

/// Everything that is to be tried.
#[derive(Debug, Clone, Default)]
pub struct MutationPlan {
    /// By name.
    pub files: Vec<PlannedFile>,
    /// By file and place.
    pub mutants: Vec<PlannedMutant>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// How many files were looked at.
    pub looked_at: usize,
    /// Files that are no valid Ruby and are not templates: nothing can be said of them.
    pub unreadable: Vec<String>,
    /// How many mutants were left out by `limit` or `sample`.
    pub left_out: usize,
}

/// Reads the files and makes their mutants.
pub fn plan(options: &PlanOptions) -> Result<MutationPlan, PlanError> {
    let root = options.root.canonicalize().unwrap_or_else(|_| options.root.clone());
    let files = ruby_files(&root, &options.paths)?;
    let mut plan = MutationPlan { looked_at: files.len(), ..MutationPlan::default() };
    let found: FoundFiles = match &options.since {
        Some(since) => changed_since(&options.root, since, files)?,
        None => files.into_iter().map(|file| (file, None)).collect(),
    };
    for (path, lines) in found {
        plan.add_file(path, lines.as_deref(), &root)?;
    }
    plan.reduce(options);
    Ok(plan)
}

impl MutationPlan {
    fn add_file(
        &mut self,
        path: PathBuf,
        lines: Option<&[RangeInclusive<u32>]>,
        root: &Path,
    ) -> Result<(), PlanError> {
        let source = read(&path, SOURCE_LIMIT)
            .map_err(|source| PlanError::NoSuchPath { path: path.clone(), source })?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let found = match file_mutants(&source) {
            Ok(found) => found,
            Err(error) => {
                self.notes.push(format!("{name}: {error}; the file has no mutants"));
                if !path.iter().any(|part| part == "templates") {
                    self.unreadable.push(name);
                }
                return Ok(());
            }
        };
        let mistakes =
            found.mistakes.iter().map(|it| format!("{name}:{}: {}", it.line, it.message));
        self.notes.extend(mistakes);
        let wanted = |change: &SourceMutant| {
            lines.is_none_or(|lines| lines.iter().any(|it| overlaps(it, change)))
        };
        let file = self.files.len();
        for change in found.mutants.into_iter().filter(wanted) {
            let id = id(&name, &source, &change);
            self.mutants.push(PlannedMutant { file, change, id });
        }
        self.files.push(PlannedFile { name, path, source, places: found.places });
        Ok(())
    }

    fn reduce(&mut self, options: &PlanOptions) {
        let all = self.mutants.len();
        if let Some(sample) = options.sample.filter(|sample| *sample < all) {
            let mut ids: Vec<String> = self.mutants.iter().map(|it| it.id.clone()).collect();
            ids.sort();
            ids.truncate(sample);
            self.mutants.retain(|it| ids.binary_search(&it.id).is_ok());
        }
        if let Some(limit) = options.limit {
            self.mutants.truncate(limit);
        }
        self.left_out = all - self.mutants.len();
    }
}

/// Whether a change begins in a changed line. The whole of a long statement is not asked for because its last line was changed, but its own
/// first line is.
fn overlaps(lines: &RangeInclusive<u32>, change: &SourceMutant) -> bool {
    lines.contains(&change.line)
        || (change.line..=change.end_line).any(|line| lines.contains(&line))
            && change.end_line - change.line < 3
}

fn id(name: &str, source: &[u8], change: &SourceMutant) -> String {
    let mut hash = Sha256::new();
    let line_start = source[..change.start as usize].iter().rposition(|byte| *byte == b'\n');
    let before = &source[line_start.map_or(0, |at| at + 1)..change.start as usize];
    for part in [
        name.as_bytes(),
        change.operator.as_bytes(),
        before,
        &source[change.start as usize..change.end as usize],
        &change.replacement,
        change.line.to_string().as_bytes(),
    ] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
