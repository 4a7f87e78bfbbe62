//! Finds the Ruby files that are to be mutated, and the lines of them that were changed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use proctor_process::git::Git;

use crate::changed_lines::{ChangedLines, read_diff};
use crate::plan::PlanError;

/// A file and the lines to mutate; all of them if there are none.
pub(crate) type FoundFiles = BTreeMap<PathBuf, Option<Vec<RangeInclusive<u32>>>>;

/// Folders that hold no code of the project, unless they are parts of its code (`lib/log`).
const FOREIGN: &[&str] = &["vendor", "coverage", "tmp", "log"];
/// Folders of code.
const CODE: &[&str] = &["lib", "app"];
/// Folders of tests, where they stand beside the code that they test.
const TESTS: &[&str] = &["spec", "test", "features"];

/// What a folder of this name is, in a walk from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// Hidden, made by a program, or installed.
    Foreign,
    /// Below a folder of code, where no name has a meaning of its own.
    Code,
    Other,
}

impl FolderKind {
    /// The kind of a folder inside of this one.
    pub(crate) fn of_child(self, name: &str) -> Self {
        match self {
            _ if name.starts_with('.') || name == "node_modules" => Self::Foreign,
            Self::Code => Self::Code,
            _ if FOREIGN.contains(&name) => Self::Foreign,
            _ if CODE.contains(&name) => Self::Code,
            _ => Self::Other,
        }
    }

    /// The kind of a folder that a walk begins with.
    fn of_start(folder: &Path, root: &Path) -> Self {
        let below = folder.strip_prefix(root).unwrap_or(folder);
        let is_code = below.iter().any(|part| CODE.iter().any(|name| part == *name));
        if is_code { Self::Code } else { Self::Other }
    }
}

/// The Ruby files of these paths, sorted. A path that is a file is taken whatever it is called; in folders, tests are left out:
/// a fault in a test says nothing of the code.
pub(crate) fn ruby_files(root: &Path, paths: &[PathBuf]) -> Result<Vec<PathBuf>, PlanError> {
    let mut found = Vec::new();
    for path in paths {
        let real = path.canonicalize().map_err(|source| {
            let path = path.clone();
            PlanError::NoSuchPath { path, source }
        })?;
        if real.is_dir() {
            walk(&real, FolderKind::of_start(&real, root), &mut found);
        } else {
            found.push(real);
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(folder: &Path, kind: FolderKind, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let has_code = kind != FolderKind::Code && CODE.iter().any(|name| folder.join(name).is_dir());
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are not followed: they may lead back up.
        let Ok(file_type) = entry.file_type() else { continue };
        if file_type.is_dir() {
            let inner = kind.of_child(&name);
            let is_tests = has_code && TESTS.contains(&&*name);
            if inner != FolderKind::Foreign && !is_tests {
                walk(&path, inner, found);
            }
        } else if file_type.is_file() && name.ends_with(".rb") && !name.ends_with("_spec.rb") {
            found.push(path);
        }
    }
}

/// Those of the files that differ from a commit, with their changed lines. What git does not know yet is new in all lines.
pub(crate) fn changed_since(
    root: &Path,
    since: &str,
    files: Vec<PathBuf>,
) -> Result<FoundFiles, PlanError> {
    let git = Git::with_user_settings(root);
    let top = answer(&git, &["rev-parse", "--show-toplevel"])?;
    let top = Path::new(top.trim_end_matches('\n')).to_owned();
    let commit = format!("{since}^{{commit}}");
    let known = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
    let known = known.map_err(|error| PlanError::Git(error.to_string()))?;
    if !known.status.success() {
        return Err(PlanError::NoSuchCommit(since.to_owned()));
    }
    let commit = String::from_utf8_lossy(&known.stdout).trim().to_owned();
    let options = [
        "diff",
        "--unified=0",
        "--no-prefix",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-relative",
        "--no-renames",
    ];
    let arguments: Vec<&str> = options.into_iter().chain([commit.as_str(), "--"]).collect();
    let changed = read_diff(&answer(&git, &arguments)?);
    let new =
        answer(&git, &["ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/"])?;
    let new: Vec<PathBuf> =
        new.split('\0').filter(|it| !it.is_empty()).map(|it| top.join(it)).collect();
    let changed = below(&top, changed);
    let lines = |file: &PathBuf| match changed.get(file) {
        Some(lines) => Some(Some(lines.clone())),
        None => new.contains(file).then_some(None),
    };
    Ok(files.into_iter().filter_map(|file| Some((file.clone(), lines(&file)?))).collect())
}

fn below(top: &Path, changed: ChangedLines) -> BTreeMap<PathBuf, Vec<RangeInclusive<u32>>> {
    let real = |path: String| {
        let path = top.join(path);
        path.canonicalize().unwrap_or(path)
    };
    changed.into_iter().map(|(path, lines)| (real(path), lines)).collect()
}

fn answer(git: &Git<'_>, arguments: &[&str]) -> Result<String, PlanError> {
    let output = git.run(arguments).map_err(|error| PlanError::Git(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(PlanError::Git(stderr.lines().next().unwrap_or("git failed").to_owned()))
}
