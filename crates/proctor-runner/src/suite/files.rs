//! Finds the files of a project that hold examples, and sorts paths by the kind of suite they belong to.
//!
//! Reads folders and file names only; no file is opened.

use std::path::{Path, PathBuf};

use proctor_workspace::file::ENDING as WORKSPACE_ENDING;

use super::ScenarioFile;

/// How the name of a scenario file ends.
const SCENARIO_ENDINGS: [&str; 2] = [".scenario.yaml", ".scenario.yml"];
/// Folders that are never searched: build output and other people's code.
const SKIPPED_FOLDERS: [&str; 3] = ["target", "node_modules", "vendor"];

/// The files that a run is about, by kind of suite.
#[derive(Debug, Default)]
pub struct ExampleFiles {
    /// Scenario files, with the lines that were asked for.
    pub scenarios: Vec<ScenarioFile>,
    /// Workspace files.
    pub workspaces: Vec<PathBuf>,
    /// What RSpec is given, as it was typed; empty if all specs are meant, absent if RSpec takes no part.
    pub rspec: Option<Vec<String>>,
    /// What Minitest is given, in the same way.
    pub minitest: Option<Vec<String>>,
}

/// A path from which nothing can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusablePath {
    /// Nothing has this name.
    #[error("there is no file or folder `{0}`")]
    Missing(String),
    /// A FIFO, a device or a socket has it. Ruby would wait for it, or read without end.
    #[error("`{0}` is {1}, not a file or folder")]
    NotAFile(String, &'static str),
}

impl ExampleFiles {
    /// Everything that the project below `root` has.
    pub fn below(root: &Path) -> Self {
        Self {
            scenarios: whole_files(scenarios_below(root)).collect(),
            workspaces: workspaces_below(root),
            rspec: root.join("spec").is_dir().then(Vec::new),
            minitest: contains(&root.join("test"), is_minitest).then(Vec::new),
        }
    }

    /// What paths mean that were typed in the folder `from`: files, folders, `FILE:LINE`. A folder belongs to every kind that
    /// has files in it; what belongs to no kind is for RSpec.
    pub fn named(paths: &[String], from: &Path) -> Self {
        let mut files = Self::default();
        for path in paths {
            files.add(path, from);
        }
        files
    }

    fn add(&mut self, path: &str, from: &Path) {
        if path.ends_with(WORKSPACE_ENDING) {
            self.workspaces.push(from.join(path));
            return;
        }
        let (plain, lines) = split_lines(path);
        let full = from.join(plain);
        if is_scenario(plain) {
            self.scenarios.push(ScenarioFile { path: full, lines });
            return;
        }
        let (mut scenarios, mut workspaces) = (Vec::new(), Vec::new());
        let mut is_for_minitest = is_minitest(without_lines(path));
        if full.is_dir() {
            (scenarios, workspaces) = (scenarios_below(&full), workspaces_below(&full));
            is_for_minitest = contains(&full, is_minitest);
        }
        let has_owner = is_for_minitest || !scenarios.is_empty() || !workspaces.is_empty();
        if !has_owner || contains(&full, is_rspec) {
            self.rspec.get_or_insert_default().push(path.to_owned());
        }
        if is_for_minitest {
            self.minitest.get_or_insert_default().push(path.to_owned());
        }
        self.scenarios.extend(whole_files(scenarios));
        self.workspaces.append(&mut workspaces);
    }

    /// Refuses a path to Ruby files that leads to no file or folder, as seen from `from` or from `root`, whatever line or example it names.
    pub fn check_ruby_paths(&self, from: &Path, root: &Path) -> Result<(), UnusablePath> {
        let mut paths = self.rspec.iter().chain(&self.minitest).flatten();
        paths.try_for_each(|path| check_path(path, from, root))
    }
}

fn whole_files(paths: Vec<PathBuf>) -> impl Iterator<Item = ScenarioFile> {
    paths.into_iter().map(|path| ScenarioFile { path, lines: Vec::new() })
}

/// All scenario files below a folder, in order of their paths.
fn scenarios_below(folder: &Path) -> Vec<PathBuf> {
    files_below(folder, is_scenario)
}

/// All workspace files below a folder, in order of their paths.
fn workspaces_below(folder: &Path) -> Vec<PathBuf> {
    files_below(folder, |path| path.ends_with(WORKSPACE_ENDING))
}

fn files_below(folder: &Path, is_wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    any_file(folder, &mut |path| {
        if is_wanted(&path.to_string_lossy()) {
            found.push(path.to_owned());
        }
        false
    });
    found.sort();
    found
}

fn contains(folder: &Path, is_wanted: fn(&str) -> bool) -> bool {
    any_file(folder, &mut |path| is_wanted(&path.to_string_lossy()))
}

fn is_rspec(path: &str) -> bool {
    path.ends_with("_spec.rb")
}

/// `cart_test.rb` and `test_cart.rb`, but neither the helper that both load nor a spec of something called `test_…`.
fn is_minitest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".rb");
    stem.is_some_and(|stem| {
        let begins = stem.starts_with("test_") && stem != "test_helper" && !is_rspec(name);
        stem.ends_with("_test") || begins
    })
}

/// Visits files until one is accepted, and says whether one was. Hidden folders and links to folders are skipped.
fn any_file(folder: &Path, accepts: &mut dyn FnMut(&Path) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        let skipped = name.starts_with('.') || SKIPPED_FOLDERS.contains(&&*name);
        let path = entry.path();
        let is_file = kind.is_file() || (kind.is_symlink() && path.is_file());
        if (kind.is_dir() && !skipped && any_file(&path, accepts)) || (is_file && accepts(&path)) {
            return true;
        }
    }
    false
}

fn is_scenario(path: &str) -> bool {
    SCENARIO_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// `FILE:3:7` is lines 3 and 7 of a scenario file.
fn split_lines(path: &str) -> (&str, Vec<u32>) {
    let end = SCENARIO_ENDINGS
        .iter()
        .find_map(|ending| Some(path.rfind(&format!("{ending}:"))? + ending.len()));
    let Some(end) = end else { return (path, Vec::new()) };
    let numbers = path[end + 1..].split(':').map(str::parse).collect::<Result<Vec<u32>, _>>();
    numbers.map_or((path, Vec::new()), |numbers| (&path[..end], numbers))
}

/// `FILE:3:7` without its lines.
fn without_lines(path: &str) -> &str {
    path.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':')
}

/// Whether a path leads to a file or folder: `FILE`, `FILE:3:7` or `FILE[1:2]`.
fn check_path(path: &str, from: &Path, root: &Path) -> Result<(), UnusablePath> {
    let file = without_lines(path.split_once('[').map_or(path, |(file, _)| file));
    let names = [path, file].into_iter().filter(|name| !name.is_empty());
    let mut found = names
        .flat_map(|name| [from.join(name), root.join(name)])
        .filter_map(|place| place.metadata().ok());
    let Some(metadata) = found.next() else { return Err(UnusablePath::Missing(path.to_owned())) };
    match proctor_files::name_of_other_kind(metadata.file_type()) {
        Some(kind) if !metadata.is_dir() => Err(UnusablePath::NotAFile(path.to_owned(), kind)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn named(
        paths: &[&str],
        folder: &tempfile::TempDir,
    ) -> (Vec<String>, Vec<String>, Vec<String>) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let files = ExampleFiles::named(&paths, folder.path());
        let short = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
        let scenarios = files.scenarios.iter();
        (
            scenarios.map(|file| format!("{} {:?}", short(&file.path), file.lines)).collect(),
            files.workspaces.iter().map(|path| short(path)).collect(),
            files.rspec.unwrap_or_default(),
        )
    }

    #[test]
    fn lines_stand_behind_the_name() {
        assert_eq!(split_lines("a/b.scenario.yaml:3:7"), ("a/b.scenario.yaml", vec![3, 7]));
        assert_eq!(split_lines("a.scenario.yml"), ("a.scenario.yml", vec![]));
        assert_eq!(split_lines("a.scenario.yaml:x"), ("a.scenario.yaml:x", vec![]));
        assert_eq!(split_lines("spec/a_spec.rb:3"), ("spec/a_spec.rb:3", vec![]));
    }

    #[test]
    fn folders_are_sorted_by_what_they_hold() {
        let folder = project(&[
            "talks/b.scenario.yaml",
            "talks/a.scenario.yml",
            "talks/.x/c.scenario.yaml",
            "both/a.scenario.yaml",
            "both/a_spec.rb",
            "spec/a_spec.rb",
        ]);
        let (scenarios, _, specs) =
            named(&["talks", "both", "spec", "talks/b.scenario.yaml:4"], &folder);
        let expected = [
            "talks/a.scenario.yml []",
            "talks/b.scenario.yaml []",
            "both/a.scenario.yaml []",
            "talks/b.scenario.yaml [4]",
        ];
        assert_eq!(scenarios, expected);
        assert_eq!(specs, ["both", "spec"]);
    }

    #[test]
    fn tests_are_told_from_specs_by_the_names_of_their_files() {
        let folder = project(&[
            "test/models/cart_test.rb",
            "test/test_helper.rb",
            "only_helper/test_helper.rb",
            "both/a_spec.rb",
            "both/test_a.rb",
            "specs/test_case_spec.rb",
        ]);
        let paths = [
            "specs",
            "test",
            "both",
            "only_helper",
            "x_test.rb:3:7",
            "test_y.rb",
            "test_helper.rb",
            "x_test.rb[1]",
        ];
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let files = ExampleFiles::named(&paths, folder.path());
        let tests = ["test", "both", "x_test.rb:3:7", "test_y.rb"];
        assert_eq!(files.minitest.unwrap(), tests);
        assert_eq!(
            files.rspec.unwrap(),
            ["specs", "both", "only_helper", "test_helper.rb", "x_test.rb[1]"]
        );
        let all = ExampleFiles::below(folder.path());
        assert_eq!((all.minitest, all.rspec), (Some(Vec::new()), None));
        let helpers = project(&["test/test_helper.rb", "spec/a_spec.rb"]);
        let all = ExampleFiles::below(helpers.path());
        assert_eq!((all.minitest, all.rspec), (None, Some(Vec::new())));
    }

    #[test]
    fn workspaces_and_scenarios_of_one_folder_both_take_part() {
        let folder =
            project(&["mixed/a.workspace.yaml", "mixed/b.scenario.yaml", "only/c.workspace.yaml"]);
        let (scenarios, workspaces, specs) =
            named(&["mixed", "only", "spec/x_spec.rb", "d.workspace.yaml"], &folder);
        assert_eq!(scenarios, ["mixed/b.scenario.yaml []"]);
        let expected = ["mixed/a.workspace.yaml", "only/c.workspace.yaml", "d.workspace.yaml"];
        assert_eq!(workspaces, expected);
        assert_eq!(specs, ["spec/x_spec.rb"]);
    }

    #[test]
    fn a_spec_path_may_name_lines_and_examples() {
        let folder = project(&["spec/a_spec.rb"]);
        let check = |path: &str| {
            let files = ExampleFiles::named(&[path.to_owned()], folder.path());
            files.check_ruby_paths(Path::new("/"), folder.path())
        };
        for path in ["spec", "spec/a_spec.rb:3:7", "spec/a_spec.rb[1:2]"] {
            assert_eq!(check(path), Ok(()), "{path}");
        }
        assert_eq!(
            check("spec/b_spec.rb:3"),
            Err(UnusablePath::Missing("spec/b_spec.rb:3".to_owned()))
        );
    }
}
