//! Snapshots: the files of a workspace at one moment, content-addressed.
//!
//! A snapshot is a manifest (path, hash, size, mode, times) over one store of contents per workspace.
//! A file that has not changed since an earlier manifest is recognised by its times and costs one
//! `stat`; a content that is in the store already is not written again. Owns `snapshots/` in the
//! registry folder of a workspace; never writes into the workspace but for [`restore`].

pub(crate) mod diff;
pub(crate) mod store;
pub(crate) mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_files::limits;
use serde::{Deserialize, Serialize};

use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::glob::FilePatterns;
use store::Store;
use walk::{Entry, Kind};

/// Files that are the harness's or the orchestrator's own and would drown the rest.
const NOISE: &[&str] = &[".ralph/**", ".git/**", "./session.jsonl", "./session.[0-9]*.jsonl"];

/// The name of the snapshot taken by `test_setup`.
pub(crate) const INITIAL: &str = "initial";
/// The name for the state right now.
pub(crate) const CURRENT: &str = "current";

/// The files of a workspace at one moment, by path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    /// When it was taken: a file changed in the same tick may look unchanged, so it is read again.
    pub(crate) taken_ns: i64,
    /// By which patterns files were selected. Empty in manifests of versions that did not keep them.
    #[serde(default)]
    pub(crate) patterns: Vec<Patterns>,
    pub(crate) entries: BTreeMap<String, Entry>,
}

impl Manifest {
    /// Forgets what is not selected.
    pub(crate) fn keep_only(&mut self, selection: &Selection) {
        self.entries.retain(|path, _| selection.takes(path));
    }

    /// Which files it was taken of.
    pub(crate) fn selection(&self) -> Result<Selection, ToolError> {
        if self.patterns.is_empty() {
            return Selection::new(&[], &[]);
        }
        let rule = |patterns: &Patterns| Rule::new(&patterns.include, &patterns.exclude);
        Ok(Selection { rules: self.patterns.iter().map(rule).collect::<Result<_, _>>()? })
    }
}

/// The patterns of one selection, as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Patterns {
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
}

/// Which files to look at: those that every rule takes.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    include: FilePatterns,
    exclude: FilePatterns,
    noise: FilePatterns,
}

impl Rule {
    fn new(include: &[String], exclude: &[String]) -> Result<Self, ToolError> {
        let compile = |name: &str, patterns: &[String]| {
            FilePatterns::new(patterns)
                .map_err(|error| ToolError::invalid(format!("{name}: {error}")))
        };
        Ok(Self {
            include: compile("include_patterns", include)?,
            exclude: compile("exclude_patterns", exclude)?,
            noise: FilePatterns::new(NOISE)
                .map_err(|error| ToolError::invalid(error.to_string()))?,
        })
    }

    /// What is asked for by name is taken even if it is noise.
    fn takes(&self, path: &str) -> bool {
        let wanted = if self.include.is_empty() {
            !self.noise.matches(path)
        } else {
            self.include.matches(path)
        };
        wanted && !self.exclude.matches(path)
    }

    fn skips_folder(&self, path: &str) -> bool {
        self.exclude.matches(path)
            || (self.include.is_empty() && self.noise.matches(&format!("{path}/x")))
    }
}

impl Selection {
    pub(crate) fn new(include: &[String], exclude: &[String]) -> Result<Self, ToolError> {
        Ok(Self { rules: vec![Rule::new(include, exclude)?] })
    }

    /// A selection within another one, which says by itself whether noise is wanted.
    pub(crate) fn within(include: &[String], exclude: &[String]) -> Result<Self, ToolError> {
        let rule = Rule { noise: FilePatterns::default(), ..Rule::new(include, exclude)? };
        Ok(Self { rules: vec![rule] })
    }

    /// Every file, whatever it is.
    pub(crate) fn anything() -> Self {
        Self { rules: Vec::new() }
    }

    /// The files that both select.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self { rules: self.rules.iter().chain(&other.rules).cloned().collect() }
    }

    fn takes(&self, path: &str) -> bool {
        self.rules.iter().all(|rule| rule.takes(path))
    }

    /// Whether nothing below a folder can be wanted.
    fn skips_folder(&self, path: &str) -> bool {
        self.rules.iter().any(|rule| rule.skips_folder(path))
    }

    /// The patterns, for whoever keeps them.
    fn patterns(&self) -> Vec<Patterns> {
        let written = |rule: &Rule| Patterns {
            include: rule.include.as_written().to_vec(),
            exclude: rule.exclude.as_written().to_vec(),
        };
        self.rules.iter().map(written).collect()
    }

    /// Warnings about patterns to include that match none of these paths.
    pub(crate) fn warnings<'path>(
        &self,
        paths: &(impl Iterator<Item = &'path String> + Clone),
    ) -> Vec<String> {
        let unmatched =
            self.rules.iter().flat_map(|rule| rule.include.without_match(paths.clone()));
        unmatched.map(|pattern| format!("the file pattern {pattern:?} matches no file")).collect()
    }
}

/// A pattern that matches one path and nothing else.
pub(crate) fn literal(path: &str) -> String {
    let escaped = path.chars().flat_map(|letter| {
        let special = "*?[]{},\\".contains(letter);
        special.then_some('\\').into_iter().chain([letter])
    });
    // The leading slash is dropped by the pattern, but it anchors a name without folders.
    format!("./{}", escaped.collect::<String>())
}

/// The snapshots of one workspace.
pub(crate) struct Snapshots {
    folder: PathBuf,
    workspace: String,
}

impl Snapshots {
    pub(crate) fn of(home: &Path, workspace: &str) -> Self {
        Self { folder: home.join("snapshots"), workspace: workspace.to_owned() }
    }

    /// Takes a snapshot under a name (`initial`) or under the next number.
    pub(crate) fn take(
        &self,
        root: &Root,
        selection: &Selection,
        name: Option<&str>,
    ) -> Result<(String, Manifest), ToolError> {
        disk::make_private(&self.folder)?;
        let lock = disk::lock_file(&self.folder.join("lock"))
            .map_err(|error| ToolError::io("open", &self.folder, &error))?;
        disk::lock_within(&lock, Duration::from_mins(1));
        let known = self.latest()?.unwrap_or_default();
        let mut store = Store::open(&self.folder)?;
        let manifest = walk::walk(root, selection, &known, Some(&mut store))?;
        store.flush()?;
        let id = name.map_or_else(|| self.next_id(), str::to_owned);
        self.write(&id, &manifest)?;
        Ok((id, manifest))
    }

    /// The state right now, compared with `known` by times; nothing is stored.
    pub(crate) fn look(
        root: &Root,
        selection: &Selection,
        known: &Manifest,
    ) -> Result<Manifest, ToolError> {
        walk::walk(root, selection, known, None)
    }

    pub(crate) fn load(&self, id: &str) -> Result<Manifest, ToolError> {
        let sound = !id.is_empty()
            && id.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter));
        let found = if sound { self.read(id)? } else { None };
        found.ok_or_else(|| {
            let known = self.ids();
            ToolError::new(ErrorKind::UnknownSnapshot, format!("there is no snapshot {id:?}"))
                .hint(format!("known: {}", known.join(", ")))
                .details(serde_json::json!({"available_snapshots": known}))
        })
    }

    /// The content of an entry.
    pub(crate) fn content(&self, entry: &Entry) -> Result<Vec<u8>, ToolError> {
        match &entry.kind {
            Kind::Link { target } => Ok(target.clone().into_bytes()),
            Kind::File => Store::read(&self.folder, entry),
        }
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries
            .filter_map(|entry| {
                Some(entry.file_name().to_str()?.strip_suffix(".manifest")?.to_owned())
            })
            .collect();
        ids.sort();
        ids
    }

    fn next_id(&self) -> String {
        let prefix = format!("snap_{}_", self.workspace);
        let numbers =
            self.ids().into_iter().filter_map(|id| id.strip_prefix(&prefix)?.parse().ok());
        format!("{prefix}{:03}", numbers.max().unwrap_or(0u32) + 1)
    }

    fn path_of(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.manifest"))
    }

    fn write(&self, id: &str, manifest: &Manifest) -> Result<(), ToolError> {
        let path = self.path_of(id);
        let bytes = serde_json::to_vec(manifest)
            .map_err(|error| ToolError::io("write", &path, &error.into()))?;
        disk::replace(&path, &bytes)?;
        disk::replace(&self.folder.join("latest"), id.as_bytes())
    }

    fn read(&self, id: &str) -> Result<Option<Manifest>, ToolError> {
        disk::read_json(&self.path_of(id))
    }

    fn latest(&self) -> Result<Option<Manifest>, ToolError> {
        match proctor_files::read_text(&self.folder.join("latest"), limits::WORKSPACE_STATE) {
            Ok(id) => self.read(&id),
            Err(_) => Ok(None),
        }
    }

    /// Puts the files of a snapshot back and removes those that were not in it. Files outside the
    /// selection are left alone.
    pub(crate) fn restore(
        &self,
        root: &Root,
        id: &str,
        selection: &Selection,
    ) -> Result<(), ToolError> {
        let wanted = self.load(id)?;
        let now = Self::look(root, selection, &wanted)?;
        for (path, entry) in &now.entries {
            let keep = wanted.entries.get(path).is_some_and(|old| old.same_as(entry));
            if !keep && let Ok(path) = RelPath::parse(path) {
                let removed = root.remove(&path);
                removed
                    .map_err(|error| ToolError::io("remove", Path::new(path.as_str()), &error))?;
            }
        }
        for (path, entry) in &wanted.entries {
            if now.entries.get(path).is_some_and(|current| current.same_as(entry)) {
                continue;
            }
            let Ok(path) = RelPath::parse(path) else { continue };
            let done = match &entry.kind {
                Kind::Link { target } => root.make_link(&path, target),
                Kind::File => root.write(&path, &self.content(entry)?, entry.mode),
            };
            done.map_err(|error| ToolError::io("restore", Path::new(path.as_str()), &error))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
