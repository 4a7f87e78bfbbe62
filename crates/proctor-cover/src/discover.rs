//! Discovery: which files, which methods, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use proctor_files::limits;
use proctor_ruby::{ClassFacts, FileFacts, MethodFacts, analyze, analyze_all};

use crate::choice::Choice;
use crate::git;
use crate::metadata::{Complexity, Selected};
use crate::project::{Project, SourceFile};
use crate::stop::Stop;
use crate::waves::{Item, Waves, waves};

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// What differs from the base of the branch.
    Branch,
    /// What is staged.
    Staged,
    /// These files or folders.
    Paths(Vec<PathBuf>),
    /// Everything.
    All,
}

/// A file to be covered.
#[derive(Debug, Clone)]
pub struct Target {
    /// The file.
    pub source: SourceFile,
    /// Its public methods.
    pub methods: Vec<Selected>,
    /// Its size.
    pub complexity: Complexity,
    /// Where its spec lies.
    pub spec_path: String,
    /// The wave it belongs to.
    pub wave: usize,
}

/// What discovery found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Files to be covered, in order of waves.
    pub targets: Vec<Target>,
    /// All readable files of the project, for what they teach.
    pub all: Vec<SourceFile>,
    /// Methods in waves.
    pub waves: Waves,
    /// The selected methods with what they need.
    pub items: Vec<Item>,
    /// What is worth saying.
    pub warnings: Vec<String>,
    /// Files that are no valid Ruby, with the reason: each costs itself only.
    pub unreadable: Vec<(String, Stop)>,
}

/// Looks for files and methods.
pub fn discover(project: &Project, mode: &Mode, choice: &Choice) -> Result<Discovery, Stop> {
    let mut discovery = Discovery::default();
    let (paths, base) = paths(project, mode)?;
    read_all(project, &mut discovery);
    for (path, base_path) in paths {
        let bytes = match proctor_files::read(&project.root.join(&path), limits::RUBY_SOURCE) {
            Ok(bytes) => bytes,
            Err(error) => {
                discovery.warnings.push(format!("{path}: {error}"));
                continue;
            }
        };
        let read = discovery.all.iter().find(|file| file.path == path && file.bytes == bytes);
        let facts = match read {
            Some(file) => file.facts.clone(),
            None => match analyze(&bytes) {
                Ok(facts) => facts,
                Err(errors) => {
                    let stop = unreadable(&path, &bytes, &errors[0]);
                    discovery.unreadable.push((path, stop));
                    continue;
                }
            },
        };
        let before = match (&base, &base_path) {
            (Some(commit), Some(old)) => git::show(&project.root, commit, old)
                .ok()
                .flatten()
                .and_then(|bytes| analyze(&bytes).ok()),
            _ => None,
        };
        let changed_only = base.is_some();
        let file = SourceFile { path: path.clone(), bytes, facts };
        if let Some(target) =
            target(project, file, changed_only.then_some(&before), choice, &mut discovery.warnings)?
        {
            // What was named or changed is skipped by name; of a folder, only what can be tested is listed.
            if is_named(mode, &path) || !target.methods.is_empty() {
                discovery.targets.push(target);
            }
        }
    }
    if discovery.targets.is_empty()
        && let Some((_, stop)) = discovery.unreadable.pop()
    {
        return Err(stop);
    }
    if discovery.targets.is_empty() {
        let details = if base.is_some() {
            "no public method of a class or module differs from the base"
        } else {
            "nothing with public methods of a class or module was found"
        };
        let mut details = details.to_owned();
        if let Some(first) = discovery.warnings.first() {
            details += &format!(" ({first})");
        }
        return Err(Stop::error(
            "no testable files".to_owned(),
            details,
            "name files, or use `all`; specs, migrations, configuration and vendored code are left out",
        ));
    }
    let methods = || discovery.targets.iter().flat_map(|target| &target.methods);
    if methods().next().is_some() && !methods().any(|method| method.selected) {
        let some: Vec<&str> = methods().take(5).map(|method| method.method_id.as_str()).collect();
        return Err(Stop::error(
            "no method matches the selection".to_owned(),
            format!("there are {} methods, such as {}", methods().count(), some.join(", ")),
            "choose with --only and --without; `*` stands for anything",
        ));
    }
    order(&mut discovery);
    Ok(discovery)
}

/// Whether this very file was asked for: by its name, or because it changed.
fn is_named(mode: &Mode, path: &str) -> bool {
    match mode {
        Mode::All => false,
        Mode::Branch | Mode::Staged => true,
        Mode::Paths(given) => given.iter().any(|one| one.ends_with(path)),
    }
}

/// Why a source cannot be read, with the place.
fn unreadable(path: &str, bytes: &[u8], error: &proctor_ruby::SyntaxError) -> Stop {
    let details = format!("{path}:{}:{}: {}", error.line, error.column, error.message);
    if std::str::from_utf8(bytes).is_err() && !declares_encoding(bytes) {
        return Stop::error(
            format!("{path} is not UTF-8 and names no encoding"),
            details,
            "add `# encoding: …` as its first line, or convert it to UTF-8",
        );
    }
    Stop::error(format!("{path} is not valid Ruby"), details, "repair the file, then run again")
}

/// Whether one of the first two lines is a comment that names an encoding.
fn declares_encoding(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').take(2);
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).any(|line| {
        line.trim_start().starts_with('#') && (line.contains("coding:") || line.contains("coding="))
    })
}

type Paths = (Vec<(String, Option<String>)>, Option<String>);

fn paths(project: &Project, mode: &Mode) -> Result<Paths, Stop> {
    match mode {
        Mode::All => Ok((project.files().into_iter().map(|path| (path, None)).collect(), None)),
        Mode::Paths(given) => {
            let mut found = Vec::new();
            for path in given {
                let full = if path.is_absolute() { path.clone() } else { project.root.join(path) };
                let full = full.canonicalize().map_err(|error| {
                    Stop::error(
                        format!("cannot read {}", path.display()),
                        error.to_string(),
                        "name an existing file or folder of the project",
                    )
                })?;
                let root = project.root.canonicalize().unwrap_or_else(|_| project.root.clone());
                let relative = full.strip_prefix(&root).map_err(|_| {
                    Stop::error(
                        format!("{} is outside of the project", path.display()),
                        format!("the project is {}", root.display()),
                        "use --root",
                    )
                })?;
                let relative = relative.to_string_lossy().into_owned();
                if full.is_dir() {
                    let inside = format!("{relative}/");
                    found.extend(
                        project
                            .files()
                            .into_iter()
                            .filter(|file| relative.is_empty() || file.starts_with(&inside)),
                    );
                } else {
                    found.push(relative);
                }
            }
            found.sort();
            found.dedup();
            Ok((found.into_iter().map(|path| (path, None)).collect(), None))
        }
        Mode::Branch | Mode::Staged => changed(project, *mode == Mode::Staged),
    }
}

fn changed(project: &Project, staged: bool) -> Result<Paths, Stop> {
    if !git::is_repository(&project.root) {
        return Err(Stop::error(
            "not a git repository".to_owned(),
            format!("{} has no history to compare with", project.root.display()),
            "name files, or use `all`",
        ));
    }
    let failed = |error: std::io::Error| {
        Stop::error("git failed".to_owned(), error.to_string(), "is git installed?")
    };
    let base =
        if staged { Some("HEAD".to_owned()) } else { git::base(&project.root).map_err(failed)? };
    let Some(base) = base else {
        return Err(Stop::error(
            "no base to compare with".to_owned(),
            "neither origin/HEAD nor main nor master exists".to_owned(),
            "name files, or use `staged` or `all`",
        ));
    };
    let changes =
        git::changes(&project.root, (!staged).then_some(base.as_str())).map_err(failed)?;
    let paths = changes
        .into_iter()
        .filter(|change| !change.deleted && project.is_testable(&change.path))
        .map(|change| (change.path, change.base_path))
        .collect();
    Ok((paths, Some(base)))
}

/// Reads what the project has, each file once and on all cores.
fn read_all(project: &Project, discovery: &mut Discovery) {
    let paths = project.files().into_iter().take(600);
    let files: Vec<(String, Vec<u8>)> = paths
        .filter_map(|path| {
            let bytes = proctor_files::read(&project.root.join(&path), limits::RUBY_SOURCE).ok()?;
            Some((path, bytes))
        })
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let sources: Vec<&[u8]> = files.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let facts = analyze_all(&sources, cores);
    for ((path, bytes), facts) in files.into_iter().zip(facts) {
        match facts {
            Ok(facts) => discovery.all.push(SourceFile { path, bytes, facts }),
            Err(errors) => discovery.warnings.push(format!("{path}: {}", errors[0])),
        }
    }
}

/// `before` is `None` when modes do not matter, and holds the base's facts otherwise.
fn target(
    project: &Project,
    source: SourceFile,
    before: Option<&Option<FileFacts>>,
    choice: &Choice,
    warnings: &mut Vec<String>,
) -> Result<Option<Target>, Stop> {
    let mut methods = Vec::new();
    for class in &source.facts.classes {
        for method in class.public_methods() {
            let id = method.id(&class.name);
            let mode = match before {
                None => "unchanged",
                Some(None) => "new",
                Some(Some(old)) => method_mode(old, class, method),
            };
            let wanted = before.is_none() || mode != "unchanged";
            let skip_reason =
                if wanted { choice.deselects(&id) } else { Some("unchanged".to_owned()) };
            methods.push(Selected {
                name: method.name.clone(),
                class_name: class.name.clone(),
                method_mode: mode.to_owned(),
                line_range: [method.lines.0, method.lines.1],
                selected: skip_reason.is_none(),
                skip_reason,
                method_id: id,
            });
        }
    }
    // A class without testable methods is skipped by name, a file without any class is none of ours.
    if methods.is_empty() && source.facts.classes.is_empty() {
        return Ok(None);
    }
    let complexity = Complexity::of(source.facts.loc, methods.len());
    if complexity.zone == "red" {
        let is_new = methods.iter().all(|method| method.method_mode == "new");
        if before.is_some() && is_new && !methods.is_empty() {
            return Err(Stop::stopped(
                "red_zone_new_code",
                format!(
                    "{} is new and too large ({} lines, {} methods)",
                    source.path, complexity.loc, complexity.methods
                ),
                "new code in the red zone is better split before it is covered",
                "split the class, or name the file to cover it all the same",
            ));
        }
        warnings.push(format!(
            "{}: red zone ({} lines, {} methods)",
            source.path, complexity.loc, complexity.methods
        ));
    }
    let unchanged = methods.iter().all(|one| one.skip_reason.as_deref() == Some("unchanged"));
    if unchanged && !methods.is_empty() {
        return Ok(None);
    }
    let spec_path = project.spec_path(&source.path);
    Ok(Some(Target { source, methods, complexity, spec_path, wave: 0 }))
}

/// Compares syntax trees; a changed private method counts for its public callers.
fn method_mode(old: &FileFacts, class: &ClassFacts, method: &MethodFacts) -> &'static str {
    let Some(old_class) = old.classes.iter().find(|one| one.name == class.name) else {
        return "new";
    };
    let find = |class: &ClassFacts, name: &str| {
        class
            .methods
            .iter()
            .find(|one| one.name == name && one.scope == method.scope)
            .map(|one| one.digest.clone())
    };
    let Some(before) = find(old_class, &method.name) else { return "new" };
    if before != method.digest {
        return "modified";
    }
    let absorbed = reached_private_methods(class, method);
    let changed = absorbed.iter().any(|name| find(old_class, name) != find(class, name));
    if changed { "modified" } else { "unchanged" }
}

/// Private methods that a method reaches.
fn reached_private_methods(class: &ClassFacts, method: &MethodFacts) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&MethodFacts> = vec![method];
    while let Some(next) = open.pop() {
        for name in &next.self_calls {
            let callee = class.methods.iter().find(|one| one.name == *name && !one.is_testable());
            if let Some(callee) = callee.filter(|_| !found.contains(name)) {
                found.insert(name.clone());
                open.push(callee);
            }
        }
    }
    found
}

fn order(discovery: &mut Discovery) {
    let classes: BTreeSet<String> = discovery
        .targets
        .iter()
        .flat_map(|target| target.source.facts.classes.iter().map(|class| class.name.clone()))
        .collect();
    let full_name = |from: &str, name: &str| {
        let mut parts: Vec<&str> = from.split("::").collect();
        loop {
            let candidate = if parts.is_empty() {
                name.to_owned()
            } else {
                format!("{}::{name}", parts.join("::"))
            };
            if classes.contains(&candidate) {
                return Some(candidate);
            }
            parts.pop()?;
        }
    };
    let mut items = Vec::new();
    for target in &discovery.targets {
        for class in &target.source.facts.classes {
            for method in class.public_methods() {
                let id = method.id(&class.name);
                if !target.methods.iter().any(|one| one.method_id == id && one.selected) {
                    continue;
                }
                let inner = reached_private_methods(class, method);
                let used = class
                    .methods
                    .iter()
                    .filter(|one| inner.contains(&one.name))
                    .flat_map(|one| &one.constants)
                    .chain(&method.constants);
                let needs = used
                    .filter_map(|name| full_name(&class.name, name))
                    .filter(|name| *name != class.name)
                    .collect();
                items.push(Item {
                    id,
                    class: class.name.clone(),
                    needs,
                    absorbed: inner,
                    place: (target.source.path.clone(), method.lines.0),
                });
            }
        }
    }
    discovery.waves = waves(&items);
    discovery.items = items;
    for id in &discovery.waves.cycles {
        discovery.warnings.push(format!("circular dependency broken at {id}"));
    }
    let wave_of: BTreeMap<&str, usize> = discovery
        .waves
        .waves
        .iter()
        .enumerate()
        .flat_map(|(wave, ids)| ids.iter().map(move |id| (id.as_str(), wave)))
        .collect();
    for target in &mut discovery.targets {
        let waves =
            target.methods.iter().filter_map(|method| wave_of.get(method.method_id.as_str()));
        target.wave = waves.copied().max().unwrap_or(0);
    }
    discovery.targets.sort_by(|a, b| (a.wave, &a.source.path).cmp(&(b.wave, &b.source.path)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_layout_leave_a_method_unchanged_and_a_private_counts_for_its_caller() {
        let old = analyze(b"class A\n  def x\n    y + 1\n  end\n  def z; 1; end\n  private\n  def y\n    2\n  end\nend").unwrap();
        let new = analyze(b"class A\n  # words\n  def x\n\n    y +  1\n  end\n  def z; 1; end\n  def n; end\n  private\n  def y\n    3\n  end\nend").unwrap();
        let class = &new.classes[0];
        let mode = |name: &str| {
            method_mode(&old, class, class.methods.iter().find(|one| one.name == name).unwrap())
        };
        assert_eq!((mode("x"), mode("z"), mode("n")), ("modified", "unchanged", "new"));
    }
}
