//! A Ruby project on disk: its layout, its source files, where their specs go and how they can be loaded.

pub(crate) mod frameworks;
mod packages;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_ruby::FileFacts;
use serde::Serialize;

/// How a project is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `lib/` and a gemspec or not.
    Gem,
    /// `app/`, with or without `lib/`.
    Rails,
    /// Files anywhere.
    Plain,
}

/// A project.
#[derive(Debug, Clone)]
pub struct Project {
    /// Its folder.
    pub root: PathBuf,
    /// How it is laid out.
    pub layout: Layout,
}

/// A source file with what is known about it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Relative to the root, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What is known.
    pub facts: FileFacts,
}

/// A method of loading a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadMethod {
    /// What is required, as names or absolute paths.
    pub requires: Vec<String>,
    /// Whether missing constants may be looked up in the project.
    pub resolve: bool,
    /// The lines that do the same in a spec file.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// Why stored objects cannot be made although the file is loaded.
    #[serde(skip)]
    pub warning: Option<String>,
}

/// Folders in which no testable code lies.
const SKIPPED_FOLDERS: &[&str] = &[
    "spec",
    "test",
    "tests",
    "features",
    "db",
    "config",
    "bin",
    "exe",
    "script",
    "scripts",
    "vendor",
    "node_modules",
    "tmp",
    "log",
    "coverage",
    "doc",
    "docs",
    "examples",
    "example",
    "benchmark",
    "benchmarks",
    "bench",
    "tasks",
    "sorbet",
    "pkg",
    "target",
    "ext",
    "debian",
    "rakelib",
];

/// Folders without testable code wherever they are.
const SKIPPED_IN_PACKAGES: &[&str] = &["spec", "vendor", "node_modules"];

impl Project {
    /// Looks at a folder.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        let layout = if root.join("app").is_dir() {
            Layout::Rails
        } else if root.join("lib").is_dir() {
            Layout::Gem
        } else {
            Layout::Plain
        };
        Self { root: root.to_path_buf(), layout }
    }

    /// What kind of project this is: a gemspec makes a library; then the gems that it names decide.
    #[must_use]
    pub fn project_type(&self) -> &'static str {
        if self.gem_name().is_some() {
            return "library";
        }
        let read = |name: &str| {
            proctor_files::read_text(&self.root.join(name), proctor_files::limits::RUBY_SOURCE)
                .unwrap_or_default()
        };
        let gems = read("Gemfile") + &read("Gemfile.lock");
        let names = |gem: &str| {
            gems.lines().any(|line| {
                let line = line.trim();
                let word =
                    line.strip_prefix("gem ").unwrap_or(line).trim_start_matches(['"', '\'']);
                word.strip_prefix(gem)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '\'', ' ', ',']))
            })
        };
        if names("rails") || self.root.join("config/application.rb").is_file() {
            "rails"
        } else if ["roda", "hanami", "sinatra", "grape"].into_iter().any(names) {
            "web"
        } else if self.layout == Layout::Gem {
            "library"
        } else {
            "service"
        }
    }

    /// Whether a path (relative) may be covered.
    #[must_use]
    pub fn is_testable(&self, path: &str) -> bool {
        let file = path.rsplit('/').next().unwrap_or(path);
        let left_out = path
            .split('/')
            .next()
            .is_some_and(|first| first != file && SKIPPED_FOLDERS.contains(&first));
        let is_ruby = Path::new(file).extension().is_some_and(|end| end.eq_ignore_ascii_case("rb"));
        is_ruby
            && !file.ends_with("_spec.rb")
            && !file.ends_with("_test.rb")
            && !left_out
            && !file.starts_with('.')
    }

    /// Every file that may be covered, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let folders: &[&str] = match self.layout {
            Layout::Gem => &["lib"],
            Layout::Rails => &["app", "lib"],
            Layout::Plain => &[""],
        };
        for folder in folders {
            self.collect(&self.root.join(folder), &mut found, 0);
        }
        if self.layout != Layout::Plain {
            for package in packages::folders(&self.root) {
                for folder in ["app", "lib"] {
                    self.collect(&package.join(folder), &mut found, 1);
                }
            }
        }
        found.sort();
        found
    }

    fn collect(&self, folder: &Path, found: &mut Vec<String>, depth: u32) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let path = entry.path();
            let Some(relative) = self.relative(&path) else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let top = !relative.contains('/');
                let skipped = if top { SKIPPED_FOLDERS } else { SKIPPED_IN_PACKAGES };
                if depth < 24 && !name.starts_with('.') && !skipped.contains(&name.as_ref()) {
                    self.collect(&path, found, depth + 1);
                }
            } else if self.is_testable(&relative)
                && path.is_file()
                && self.is_project_file(&path, kind.is_symlink())
            {
                found.push(relative);
            }
        }
    }

    /// A link is another name for a file that is found under its own, or lies elsewhere and is not ours.
    fn is_project_file(&self, path: &Path, is_link: bool) -> bool {
        let (Ok(root), Ok(real)) = (self.root.canonicalize(), path.canonicalize()) else {
            return false;
        };
        if !is_link {
            return true;
        }
        let inside = real.strip_prefix(&root).map(|path| path.to_string_lossy().into_owned());
        inside.is_ok_and(|path| !self.is_testable(&path) || !self.is_searched(&path))
    }

    fn is_searched(&self, path: &str) -> bool {
        if self.package_of(path).is_some() {
            return true;
        }
        match self.layout {
            Layout::Gem => path.starts_with("lib/"),
            Layout::Rails => path.starts_with("app/") || path.starts_with("lib/"),
            Layout::Plain => true,
        }
    }

    /// The path relative to the root, with `/`.
    #[must_use]
    pub fn relative(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(&self.root).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    }

    /// Where the spec of a file lies, or is to lie.
    #[must_use]
    pub fn spec_path(&self, path: &str) -> String {
        if let Some((package, inside)) = self.package_of(path) {
            return format!("{package}/{}", self.spec_path_inside(inside));
        }
        self.spec_path_inside(path)
    }

    /// The package of a larger repository that a file belongs to, and its path there: specs stay with their package.
    fn package_of<'p>(&self, path: &'p str) -> Option<(&'p str, &'p str)> {
        ["/lib/", "/app/"].iter().find_map(|folder| {
            let place = path.find(folder)?;
            let package = &path[..place];
            // `lib/x/lib/y.rb` is a library with an odd folder.
            let nested = package.split('/').any(|part| packages::CODE.contains(&part));
            let is_folder = self.root.join(package).is_dir();
            (!nested && is_folder).then(|| (package, &path[place + 1..]))
        })
    }

    fn spec_path_inside(&self, path: &str) -> String {
        let stem = path.strip_suffix(".rb").unwrap_or(path);
        let short = stem.strip_prefix("app/").or_else(|| stem.strip_prefix("lib/")).unwrap_or(stem);
        let usual = format!("spec/{short}_spec.rb");
        if stem.starts_with("lib/") {
            let nested = format!("spec/{stem}_spec.rb");
            let exists = |path: &str| self.root.join(path).exists();
            if exists(&nested)
                || (!exists(&usual)
                    && (self.root.join("spec/lib").is_dir() || self.layout == Layout::Rails))
            {
                return nested;
            }
        }
        usual
    }

    /// Folders that Ruby must search for the project's files, relative to the root.
    #[must_use]
    pub fn load_paths(&self) -> Vec<String> {
        let candidates = ["lib", "spec", "app/models", "app/services", "app"];
        candidates
            .iter()
            .filter(|path| self.root.join(path).is_dir())
            .map(|path| (*path).to_owned())
            .collect()
    }

    /// The ways in which a file's classes may be loaded, the best first. `at` is the copy's folder, `frameworks` are features
    /// that the project leaves to the application to load.
    pub fn load_methods(
        &self,
        file: &str,
        spec: &str,
        at: &Path,
        frameworks: &[&str],
    ) -> Vec<LoadMethod> {
        let mut ways = Vec::new();
        let absolute = at.join(file).to_string_lossy().into_owned();
        let feature = file.strip_prefix("lib/").and_then(|name| name.strip_suffix(".rb"));
        let own_line = match feature {
            Some(name) => format!("require \"{name}\""),
            None => relative_require(spec, file),
        };
        let own = feature.map_or_else(|| absolute.clone(), str::to_owned);
        for helper in ["rails_helper", "spec_helper"] {
            if self.root.join(format!("spec/{helper}.rb")).is_file() {
                let helper_path =
                    at.join(format!("spec/{helper}.rb")).to_string_lossy().into_owned();
                // In an application the helper loads everything, or what loads itself.
                if self.layout == Layout::Rails {
                    ways.push(LoadMethod {
                        requires: vec!["rspec".to_owned(), helper_path.clone()],
                        resolve: false,
                        lines: vec![format!("require \"{helper}\"")],
                        warning: None,
                    });
                }
                ways.push(LoadMethod {
                    requires: vec!["rspec".to_owned(), helper_path, own.clone()],
                    resolve: false,
                    lines: vec![format!("require \"{helper}\""), own_line.clone()],
                    warning: None,
                });
                break;
            }
        }
        let entries: Vec<String> = self
            .entries(file)
            .into_iter()
            .filter(|entry| Some(entry.as_str()) != feature)
            .collect();
        let with = |features: &[&str], entry: Option<&String>, resolve: bool| {
            let features = features.iter().map(|name| (*name).to_owned());
            let features: Vec<String> = features.chain(entry.cloned()).collect();
            LoadMethod {
                lines: features
                    .iter()
                    .map(|name| format!("require \"{name}\""))
                    .chain([own_line.clone()])
                    .collect(),
                requires: features.into_iter().chain([own.clone()]).collect(),
                resolve,
                warning: None,
            }
        };
        // The whole library before a part of it, whatever it takes.
        for entry in &entries {
            ways.push(with(&[], Some(entry), false));
            let variants = frameworks::variants(frameworks);
            ways.extend(variants.iter().map(|features| with(features, Some(entry), true)));
        }
        ways.push(with(&[], None, false));
        if !frameworks.is_empty() {
            ways.push(with(frameworks, None, true));
        }
        ways.push(with(&[], None, true));
        ways
    }

    /// The helper that specs of this project require.
    pub(crate) fn helper(&self) -> Option<&'static str> {
        ["rails_helper", "spec_helper"]
            .into_iter()
            .find(|name| self.root.join(format!("spec/{name}.rb")).is_file())
    }

    /// The ways to load a file whose classes are stored, with a file under `spec/support/` that the project does not have.
    pub(crate) fn load_methods_with(
        &self,
        file: &str,
        support: &crate::record_support::SupportFile,
        at: &Path,
    ) -> Vec<LoadMethod> {
        let absolute = |path: &str| at.join(path).to_string_lossy().into_owned();
        let own_line = support.names_file.then(|| match file.strip_prefix("lib/") {
            Some(name) => format!("require \"{}\"", name.trim_end_matches(".rb")),
            None => relative_require(&self.spec_path(file), file),
        });
        let helper = self.helper().map(|name| (absolute(&format!("spec/{name}.rb")), name));
        let way = |helper: Option<(String, &str)>| LoadMethod {
            lines: helper
                .iter()
                .map(|(_, name)| format!("require \"{name}\""))
                .chain([support.require.to_owned()])
                .chain(own_line.clone())
                .collect(),
            requires: [Some("rspec".to_owned()), helper.map(|(path, _)| path)]
                .into_iter()
                .flatten()
                .chain([absolute(support.path), absolute(file)])
                .collect(),
            resolve: false,
            warning: None,
        };
        let mut ways: Vec<LoadMethod> =
            helper.into_iter().map(|helper| way(Some(helper))).collect();
        ways.push(way(None));
        ways
    }

    /// Features at the top of `lib/` under which a file may be known.
    pub(crate) fn entries(&self, file: &str) -> Vec<String> {
        let Some(inside) = file.strip_prefix("lib/") else { return self.engine_entries(file) };
        let mut parts: Vec<&str> = inside.trim_end_matches(".rb").split('/').collect();
        parts.pop();
        let mut entries = Vec::new();
        for end in 1..=parts.len() {
            let entry = parts[..end].join("/");
            if self.root.join(format!("lib/{entry}.rb")).is_file() {
                entries.push(entry);
            }
        }
        if entries.is_empty() {
            entries.extend(
                self.gem_name().filter(|name| self.root.join(format!("lib/{name}.rb")).is_file()),
            );
        }
        entries.truncate(2);
        entries
    }

    /// The file under `lib/` that loads an engine, for a file in its `app/`: the one that an application would require.
    fn engine_entries(&self, file: &str) -> Vec<String> {
        if !file.starts_with("app/") || self.root.join("config/environment.rb").is_file() {
            return Vec::new();
        }
        let named = self.gem_name().into_iter();
        let spaces = file.split('/').skip(2).map(|part| part.trim_end_matches(".rb").to_owned());
        let mut found: Vec<String> = named
            .chain(spaces)
            .filter(|name| self.root.join(format!("lib/{name}.rb")).is_file())
            .collect();
        found.dedup();
        found.truncate(1);
        found
    }

    /// The file under `lib/` that loads the whole library.
    pub(crate) fn library_entry(&self) -> Option<String> {
        let named = self.gem_name().map(|name| name.replace('-', "_"));
        let is_there = |name: &String| self.root.join(format!("lib/{name}.rb")).is_file();
        if let Some(name) = named.filter(is_there) {
            return Some(name);
        }
        let files = |name: &String| {
            fs::read_dir(self.root.join("lib").join(name)).map_or(0, Iterator::count)
        };
        let entries = fs::read_dir(self.root.join("lib")).ok()?.flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                entry.file_name().to_string_lossy().strip_suffix(".rb").map(str::to_owned)
            })
            .filter(|name| files(name) > 0)
            .collect();
        names.sort_by_key(|name| (std::cmp::Reverse(files(name)), name.clone()));
        names.into_iter().next()
    }

    fn gem_name(&self) -> Option<String> {
        let entries = fs::read_dir(&self.root).ok()?;
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| {
                entry.file_name().to_string_lossy().strip_suffix(".gemspec").map(str::to_owned)
            })
            .collect();
        names.sort();
        names.into_iter().next()
    }
}

/// `require_relative` from a spec to a file.
pub(crate) fn relative_require(spec: &str, file: &str) -> String {
    let up = spec.matches('/').count();
    let target = file.strip_suffix(".rb").unwrap_or(file);
    format!("require_relative \"{}{target}\"", "../".repeat(up))
}

/// Constants by the file that defines them.
pub(crate) fn constant_index(files: &[SourceFile], at: &Path) -> BTreeMap<String, String> {
    let mut index = BTreeMap::new();
    for file in files {
        for class in file
            .facts
            .classes
            .iter()
            .filter(|class| class.methods.iter().any(|_| true) || class.superclass.is_some())
        {
            index
                .entry(class.name.clone())
                .or_insert_with(|| at.join(&file.path).to_string_lossy().into_owned());
        }
    }
    index
}
