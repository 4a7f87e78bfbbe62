//! How each file of a project can be loaded, found out by loading it in a process of its own, and what a spec must require
//! beside it: other files of the project and features of Ruby's own library that its methods use when they are called.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_ruby::ClassKind;
use serde_json::{Value, json};

use crate::implement::FEATURES_BY_CONSTANT;
use crate::observation::ProjectCopies;
use crate::project::{LoadMethod, Project, SourceFile, constant_index, frameworks};
use crate::record_support::{
    REQUESTS, REQUESTS_TEXT, REQUIRE_REQUESTS, ROLLBACK, is_stored, stores_records, support_files,
};
use crate::sandbox::Sandbox;

/// Why a file cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum LoadError {
    #[error("Ruby did not answer: {stderr}")]
    NoAnswer { stderr: String },
    /// Loading raised an exception; `place` is relative to the project.
    #[error("{error} ({place})")]
    Raised { error: String, place: String },
    /// The file loads with a database in memory, and something is still missing.
    #[error("stored objects cannot be made: {problem}")]
    NoTables { problem: String },
    #[error("the file cannot be loaded")]
    NoWay,
}

/// The best method to load each file, or the reason why it cannot be loaded. Where stored classes (`ActiveRecord`) lack a
/// database, or examples are not rolled back, a file under `spec/support/` is written into both copies.
pub fn find_load_methods(
    project: &Project,
    workshop: &ProjectCopies,
    sandbox: &Sandbox,
    files: &[SourceFile],
    all: &[SourceFile],
) -> io::Result<Vec<Result<LoadMethod, LoadError>>> {
    let site =
        LoadSite { project, workshop, sandbox, all, index: constant_index(all, &workshop.clean) };
    let every: Vec<&SourceFile> = files.iter().collect();
    let features = frameworks::mentioned(all);
    let ways = every
        .iter()
        .map(|file| {
            let (path, spec) = (&file.path, project.spec_path(&file.path));
            // An application loads its frameworks itself.
            let features = if site.is_of_library(path) { features.as_slice() } else { &[] };
            project.load_methods(path, &spec, &workshop.clean, features)
        })
        .collect();
    let mut found = site.try_ways(&every, ways)?;
    if stores_records(all) {
        site.add_support(&every, &mut found)?;
    }
    site.add_requests(&every, &mut found)?;
    Ok(found.into_iter().map(|(way, _)| way).collect())
}

/// How a file is loaded, and whether that is all that can be wished for.
type FoundWay = (Result<LoadMethod, LoadError>, bool);

/// Where ways of loading are tried.
struct LoadSite<'a> {
    project: &'a Project,
    workshop: &'a ProjectCopies,
    sandbox: &'a Sandbox,
    all: &'a [SourceFile],
    index: BTreeMap<String, String>,
}

impl LoadSite<'_> {
    /// Whether a file belongs to what applications load, rather than to an application.
    fn is_of_library(&self, path: &str) -> bool {
        self.is_library() && (path.starts_with("lib/") || !self.project.entries(path).is_empty())
    }

    fn is_library(&self) -> bool {
        let own = |name: &str| self.project.root.join(name).is_file();
        !own("config/environment.rb") && !own("config/application.rb")
    }

    /// Tries what the project lacks, until every file is complete or nothing is left to try.
    fn add_support(&self, files: &[&SourceFile], found: &mut [FoundWay]) -> io::Result<()> {
        let entry = self.project.library_entry().filter(|_| self.is_library());
        let features = frameworks::mentioned(self.all);
        let library: Vec<_> = entry
            .iter()
            .flat_map(|entry| {
                frameworks::variants(&features).into_iter().map(|one| (entry.as_str(), one))
            })
            .collect();
        for support in support_files(&self.workshop.clean, self.all, &library) {
            let open: Vec<usize> = (0..files.len()).filter(|place| !found[*place].1).collect();
            if open.is_empty() {
                break;
            }
            // One text serves all files: another must not take the place of one that is used.
            let is_used = found.iter().any(|(way, _)| {
                way.as_ref().is_ok_and(|way| way.lines.iter().any(|line| line == support.require))
            });
            if is_used || (support.path == ROLLBACK && self.project.helper().is_none()) {
                continue;
            }
            // The project's own connection is never replaced by one to another kind of database.
            if support.path != ROLLBACK && found.iter().any(|(way, _)| connects_elsewhere(way)) {
                continue;
            }
            let own = !self.project.root.join(support.path).is_file();
            if own {
                self.workshop.write_both(support.path, Some(&support.text))?;
            }
            let chosen: Vec<&SourceFile> = open.iter().map(|place| files[*place]).collect();
            let ways = chosen
                .iter()
                .map(|file| {
                    self.project.load_methods_with(&file.path, &support, &self.workshop.clean)
                })
                .collect();
            let mut used = false;
            for (place, (way, complete)) in open.iter().zip(self.try_ways(&chosen, ways)?) {
                if complete {
                    used = true;
                    found[*place] = (way, true);
                } else if let (Err(_), Ok(LoadMethod { warning: Some(problem), .. })) =
                    (&found[*place].0, way)
                {
                    found[*place].0 = Err(LoadError::NoTables { problem });
                }
            }
            if own && !used {
                self.workshop.write_both(support.path, None)?;
            }
        }
        Ok(())
    }

    /// Where controllers and helpers of views are loaded, specs get what calls them.
    fn add_requests(&self, files: &[&SourceFile], found: &mut [FoundWay]) -> io::Result<()> {
        let places: Vec<usize> = (0..files.len())
            .filter(|place| found[*place].0.is_ok() && takes_requests(files[*place]))
            .collect();
        if places.is_empty() {
            return Ok(());
        }
        let own = !self.project.root.join(REQUESTS).is_file();
        if own {
            self.workshop.write_both(REQUESTS, Some(REQUESTS_TEXT))?;
        }
        let chosen: Vec<&SourceFile> = places.iter().map(|place| files[*place]).collect();
        let path = self.workshop.clean.join(REQUESTS).to_string_lossy().into_owned();
        let with_requests = |way: &LoadMethod| {
            let mut way = way.clone();
            if !way.requires.iter().any(|name| name == "rspec") {
                way.requires.insert(0, "rspec".to_owned());
            }
            way.requires.push(path.clone());
            way.lines.push(REQUIRE_REQUESTS.to_owned());
            vec![way]
        };
        let ways = places
            .iter()
            .map(|place| found[*place].0.as_ref().map(with_requests).unwrap_or_default())
            .collect();
        let mut used = false;
        for (place, (way, complete)) in places.iter().zip(self.try_ways(&chosen, ways)?) {
            if let Ok(way) = way {
                used = true;
                found[*place] = (Ok(way), complete);
            }
        }
        if own && !used {
            self.workshop.write_both(REQUESTS, None)?;
        }
        Ok(())
    }

    fn try_ways(
        &self,
        files: &[&SourceFile],
        ways: Vec<Vec<LoadMethod>>,
    ) -> io::Result<Vec<FoundWay>> {
        let at = &self.workshop.clean;
        let jobs: Vec<Value> =
            files.iter().zip(&ways).map(|(file, ways)| self.job(file, ways)).collect();
        let job = json!({
            "root": at, "load_paths": load_paths_at(self.project, at), "files": jobs, "constants": self.index, "seconds": 45,
        });
        let path = self.workshop.folder.path().join("load.json");
        proctor_files::write_private(&path, job.to_string())?;
        let arguments = [self.workshop.programs.join("load.rb").into(), path.into()];
        let limit = Duration::from_secs(60 + 50 * files.len() as u64);
        let finished = self.sandbox.run(&arguments, at, &[], limit)?;
        let last = finished.stdout.lines().last().unwrap_or_default();
        let Ok(answers) = serde_json::from_str::<Vec<Vec<Value>>>(last) else {
            let error = LoadError::NoAnswer { stderr: finished.stderr.trim().to_owned() };
            return Ok(files.iter().map(|_| (Err(error.clone()), false)).collect());
        };
        let found = files.iter().zip(ways).zip(answers).map(|((file, ways), answers)| {
            let way = best_load_method(&ways, &answers, at, &self.project.spec_path(&file.path));
            (way, answers.iter().any(is_complete))
        });
        Ok(found.collect())
    }

    fn job(&self, file: &SourceFile, ways: &[LoadMethod]) -> Value {
        let classes = file.facts.classes.iter().filter(|class| !class.methods.is_empty());
        let needs = needed_constants(file, self.all, &self.index);
        let own = file.facts.classes.iter().map(|class| &class.name);
        let stored: Vec<&String> =
            own.chain(&needs).filter(|name| is_stored(name, self.all)).collect();
        let mentions = &file.facts.mentions;
        let names_library = mentions.iter().any(|name| name.starts_with("ActiveRecord"));
        let expects = frameworks::expected(file, self.all);
        let library = self.is_of_library(&file.path);
        json!({
            "expects": if library { expects } else { Vec::new() }, "library": library,
            "ways": ways, "classes": classes.map(|class| class.name.as_str()).collect::<Vec<_>>(),
            "stored": stored, "stores": names_library || !stored.is_empty(), "needs": needs,
            "features": mentioned_features(file),
        })
    }
}

/// Whether a file has controllers, or helpers for views.
fn takes_requests(file: &SourceFile) -> bool {
    let named = |end: &str| file.facts.classes.iter().any(|class| class.name.ends_with(end));
    named("Controller") || (named("Helper") && file.path.contains("app/helpers/"))
}

/// Whether a file is loaded with all its classes, and what is stored can be stored.
fn is_complete(answer: &Value) -> bool {
    answer["loaded"] == true
        && answer["missing"].as_array().is_some_and(Vec::is_empty)
        && answer["lacking"].as_array().is_none_or(Vec::is_empty)
        && answer["database"].is_null()
}

/// Whether the helper of the project connects to something that is not SQLite, or tries to.
fn connects_elsewhere(way: &Result<LoadMethod, LoadError>) -> bool {
    let words = match way {
        Ok(way) => way.warning.clone().unwrap_or_default(),
        Err(error) => error.to_string(),
    };
    ["not SQLite", "Active Record adapter", "ConnectionBad", "Mysql2::", "PG::", "Trilogy::"]
        .iter()
        .any(|sign| words.contains(sign))
}

fn best_load_method(
    ways: &[LoadMethod],
    answers: &[Value],
    at: &Path,
    spec: &str,
) -> Result<LoadMethod, LoadError> {
    let has_classes = |answer: &Value| {
        answer["loaded"] == true && answer["missing"].as_array().is_some_and(Vec::is_empty)
    };
    let chosen = answers
        .iter()
        .position(is_complete)
        .or_else(|| answers.iter().position(has_classes))
        .or_else(|| answers.iter().position(|answer| answer["loaded"] == true));
    let Some(place) = chosen else {
        let raised = answers.first().map(|answer| LoadError::Raised {
            place: answer["place"].as_str().unwrap_or("?").replace(&*at.to_string_lossy(), "."),
            error: answer["error"].as_str().unwrap_or("unknown error").to_owned(),
        });
        return Err(raised.unwrap_or(LoadError::NoWay));
    };
    let mut way = ways[place].clone();
    way.warning = answers[place]["database"].as_str().map(str::to_owned);
    // What had to be loaded first was found last-needed first.
    for path in answers[place]["extra"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let relative = Path::new(path)
            .strip_prefix(at)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        way.lines.insert(0, crate::project::relative_require(spec, &relative));
        way.requires.insert(0, path.to_owned());
    }
    // Ruby's own library comes first, whoever forgot it.
    for feature in
        answers[place]["features"].as_array().into_iter().flatten().filter_map(Value::as_str)
    {
        way.lines.insert(0, format!("require \"{feature}\""));
        way.requires.insert(0, feature.to_owned());
    }
    // What the file uses only when it is called comes after it.
    for path in answers[place]["later"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if let Ok(relative) = Path::new(path).strip_prefix(at) {
            let line = crate::project::relative_require(spec, &relative.to_string_lossy());
            way.lines.push(line);
            way.requires.push(path.to_owned());
        }
    }
    Ok(way)
}

/// Constants of Ruby's own library that a file mentions, each with the feature that defines it.
fn mentioned_features(file: &SourceFile) -> BTreeMap<&str, &'static str> {
    let first = |name: &'_ str| name.split("::").next().unwrap_or_default().to_owned();
    FEATURES_BY_CONSTANT
        .iter()
        .filter(|(constant, _)| file.facts.mentions.iter().any(|name| first(name) == *constant))
        .map(|(constant, feature)| (*constant, *feature))
        .collect()
}

/// How many constants of other files are looked at for one file.
const MAX_NEEDED: usize = 60;

/// Constants of the project that a file mentions, and those that their files mention in turn: each must be there when the
/// file's methods are called, whoever loads it.
fn needed_constants(
    file: &SourceFile,
    all: &[SourceFile],
    index: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Vec<&SourceFile> = vec![file];
    let mut seen: BTreeSet<&str> = BTreeSet::from([file.path.as_str()]);
    while let Some(next) = open.pop() {
        for mention in &next.facts.mentions {
            let scopes = next.facts.classes.iter().map(|class| class.name.as_str());
            let Some(name) = scopes
                .flat_map(candidates(mention))
                .chain([mention.clone()])
                .find(|name| index.contains_key(name))
            else {
                continue;
            };
            let owner =
                all.iter().find(|other| index[&name].ends_with(&format!("/{}", other.path)));
            if found.len() < MAX_NEEDED && !found.contains(&name) {
                found.push(name);
            }
            if let Some(owner) = owner.filter(|owner| seen.insert(&owner.path)) {
                open.push(owner);
            }
        }
    }
    found.extend(hosts(file, all, index));
    let own: Vec<&str> = file.facts.classes.iter().map(|class| class.name.as_str()).collect();
    found.retain(|name| !own.contains(&name.as_str()));
    found
}

/// How many classes that include a module are loaded for it.
const MAX_HOSTS: usize = 2;

/// Classes that include the modules of a file that has nothing else: the methods are called on their objects.
fn hosts(file: &SourceFile, all: &[SourceFile], index: &BTreeMap<String, String>) -> Vec<String> {
    let with_methods = || file.facts.classes.iter().filter(|class| !class.methods.is_empty());
    if with_methods().any(|class| class.kind == ClassKind::Class) {
        return Vec::new();
    }
    let modules: Vec<&str> = with_methods().map(|class| class.name.as_str()).collect();
    let is_one = |mixin: &String| {
        modules.iter().any(|name| name == mixin || name.ends_with(&format!("::{mixin}")))
    };
    let classes = all.iter().flat_map(|other| &other.facts.classes);
    classes
        .filter(|class| class.kind == ClassKind::Class && index.contains_key(&class.name))
        .filter(|class| class.mixins.iter().any(is_one))
        .map(|class| class.name.clone())
        .take(MAX_HOSTS)
        .collect()
}

/// The full names that a constant may have when it is written inside of a class, the innermost first.
fn candidates(mention: &str) -> impl Fn(&str) -> Vec<String> + '_ {
    move |class: &str| {
        let parts: Vec<&str> = class.split("::").collect();
        (1..=parts.len())
            .rev()
            .map(|end| format!("{}::{mention}", parts[..end].join("::")))
            .collect()
    }
}

/// The folders that Ruby must search, in a copy of the project.
pub(crate) fn load_paths_at(project: &Project, at: &Path) -> Vec<PathBuf> {
    project.load_paths().iter().map(|path| at.join(path)).collect()
}
