//! Workspace files (`*.workspace.yaml`): which ones a command line means, and the suite they make.

use std::path::{Path, PathBuf};

use proctor_runner::WorkspaceSuite;
use proctor_workspace::file;

use super::{scenarios, test_tools};
use crate::cli::SelectionArguments;
use crate::config::Config;
use crate::error::CommandError;

/// What paths mean: workspace files, and what is left for others.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) files: Vec<PathBuf>,
    pub(super) rest: Vec<String>,
}

/// Sorts paths as they were typed in the folder `current`.
pub(super) fn sort(paths: &[String], current: &Path) -> Sorted {
    let mut sorted = Sorted::default();
    for path in paths {
        let full = current.join(path);
        if path.ends_with(file::ENDING) {
            sorted.files.push(full);
            continue;
        }
        let found = if full.is_dir() { below(&full) } else { Vec::new() };
        let holds_others = || scenarios::has_specs(&full) || !scenarios::below(&full).is_empty();
        if found.is_empty() || holds_others() {
            sorted.rest.push(path.clone());
        }
        sorted.files.extend(found);
    }
    sorted
}

/// All workspace files below a folder, in order of their names.
pub(super) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    scenarios::walk(folder, &mut |path| {
        if path.to_string_lossy().ends_with(file::ENDING) {
            found.push(path.to_owned());
        }
        false
    });
    found.sort();
    found
}

/// The suite of these files.
pub(super) fn suite(
    files: Vec<PathBuf>,
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
) -> Result<WorkspaceSuite, CommandError> {
    let filter = scenarios::filter(arguments)?;
    Ok(WorkspaceSuite { files, filter, config: test_tools::config(root, config)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_ending_and_other_paths_are_left() {
        let folder = tempfile::tempdir().unwrap();
        let mixed = folder.path().join("mixed");
        let only = folder.path().join("only");
        for (folder, name) in
            [(&mixed, "a.workspace.yaml"), (&mixed, "b.scenario.yaml"), (&only, "c.workspace.yaml")]
        {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), "").unwrap();
        }
        let typed = ["mixed", "only", "spec/x_spec.rb", "d.workspace.yaml"].map(str::to_owned);
        let sorted = sort(&typed, folder.path());
        assert_eq!(sorted.rest, ["mixed", "spec/x_spec.rb"]);
        let names: Vec<_> = sorted.files.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["a.workspace.yaml", "c.workspace.yaml", "d.workspace.yaml"]);
    }
}
