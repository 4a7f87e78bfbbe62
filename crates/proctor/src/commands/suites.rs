//! From arguments and configuration to suites.

use std::path::{Path, PathBuf};

use proctor_process::GuardCommand;
use proctor_record::{RunStore, failed_examples};
use proctor_runner::{
    CommandSuite, RspecSuite, ScenarioFile, Selection, Suite, Surroundings, Waiting,
};

use super::scenarios::{self, Sorted};
use super::workspaces;
use crate::cli::SelectionArguments;
use crate::config::Config;
use crate::env_vars;
use crate::error::CommandError;

/// What to run, where.
pub(super) struct Chosen {
    pub(super) suites: Vec<Suite>,
    pub(super) surroundings: Surroundings,
    pub(super) selection: Selection,
}

pub(super) fn choose(
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    workers: u32,
) -> Result<Chosen, CommandError> {
    let surroundings = surroundings(root, workers)?;
    let suites = suites(arguments, config, root, &surroundings)?;
    if suites.is_empty() {
        return Err(CommandError::unusable(format_args!(
            "there is nothing to run in {}: no `spec` folder, no `*.scenario.yaml` or `*.workspace.yaml` file, no suite in proctor.toml",
            root.display()
        ))
        .hint("name files or folders, or see `proctor doctor`"));
    }
    Ok(Chosen { suites, surroundings, selection: selection(arguments, root)? })
}

fn suites(
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    surroundings: &Surroundings,
) -> Result<Vec<Suite>, CommandError> {
    let wanted =
        |name: &str| arguments.suite.is_empty() || arguments.suite.iter().any(|s| s == name);
    let mut suites = Vec::new();
    let configured = config.run.paths.clone().unwrap_or_default();
    let paths = if arguments.paths.is_empty() { configured } else { arguments.paths.clone() };
    let current = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
    // Paths of the file are written as seen from the root, where the file stands.
    let from = if arguments.paths.is_empty() { root } else { &current };
    let all_specs = paths.is_empty();
    let workspaces::Sorted { files: mut workspace_files, rest } = workspaces::sort(&paths, from);
    let Sorted { mut files, rest: paths } = scenarios::sort(&rest, from);
    if all_specs {
        workspace_files.extend(workspaces::below(root));
        let everything = scenarios::below(root).into_iter();
        files.extend(everything.map(|path| ScenarioFile { path, lines: Vec::new() }));
    }
    let has_specs = !paths.is_empty() || (all_specs && root.join("spec").is_dir());
    if wanted("rspec") && has_specs {
        if let Some(missing) = paths.iter().find(|path| !is_there(path, from, root)) {
            return Err(CommandError::unusable(format_args!("there is no file or folder `{missing}`"))
                .hint("paths are meant as seen from here, or from the project's root; `proctor list` shows what there is"));
        }
        suites.push(Suite::Rspec(RspecSuite {
            ruby: config.ruby.value.clone(),
            args: rspec_arguments(arguments, &paths, root),
            preload: !arguments.no_preload && config.run.preload != Some(false),
            talk: Some(Box::new(scenarios::settings(
                arguments.seed,
                config,
                root,
                surroundings.guard.clone(),
            )?)),
        }));
    }
    if wanted("scenario") && !files.is_empty() {
        let guard = surroundings.guard.clone();
        let suite = scenarios::suite(files, arguments, config, root, guard)?;
        suites.push(Suite::Dialogue(Box::new(suite)));
    }
    if wanted("workspace") && !workspace_files.is_empty() {
        let suite = workspaces::suite(workspace_files, arguments, config, root)?;
        suites.push(Suite::Workspace(Box::new(suite)));
    }
    // Paths name specs; a suite of its own takes part when it is named, or when nothing is.
    for suite in &config.suites {
        let named = arguments.suite.contains(&suite.name);
        if named || (arguments.suite.is_empty() && arguments.paths.is_empty()) {
            suites.push(Suite::Command(CommandSuite {
                name: suite.name.clone(),
                command: suite.command.clone(),
                args: suite.args.clone(),
                env: suite.env.clone(),
                filter: scenarios::filter(arguments)?,
            }));
        }
    }
    let known: Vec<&str> = ["rspec", "scenario", "workspace"]
        .into_iter()
        .chain(config.suites.iter().map(|s| s.name.as_str()))
        .collect();
    if let Some(unknown) = arguments.suite.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(CommandError::unusable(format_args!(
            "there is no suite `{unknown}`; there are: {}",
            known.join(", ")
        )));
    }
    Ok(suites)
}

/// Whether a path that was typed leads anywhere, whatever line or example it names there.
fn is_there(path: &str, from: &Path, root: &Path) -> bool {
    let file = path.split_once('[').map_or(path, |(file, _)| file);
    let file = file.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let as_typed = [path, file].into_iter().filter(|name| !name.is_empty());
    as_typed.into_iter().any(|name| from.join(name).exists() || root.join(name).exists())
}

/// What would follow `rspec` on a command line.
fn rspec_arguments(arguments: &SelectionArguments, paths: &[String], root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for text in &arguments.example {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) if !pattern.is_empty() => {
                all.extend(["-E".to_owned(), pattern.to_owned()]);
            }
            _ => all.extend(["-e".to_owned(), text.clone()]),
        }
    }
    for tag in &arguments.tag {
        all.extend(["--tag".to_owned(), tag.clone()]);
    }
    if let Some(seed) = arguments.seed {
        all.extend(["--seed".to_owned(), seed.to_string()]);
    }
    all.extend(arguments.rspec.iter().cloned());
    let current = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
    all.extend(paths.iter().map(|path| relative(path, &current, root)));
    all
}

/// A path as seen from the root, where RSpec runs; people type it as seen from where they are.
fn relative(path: &str, current: &Path, root: &Path) -> String {
    let below = current
        .canonicalize()
        .ok()
        .zip(root.canonicalize().ok())
        .and_then(|(current, root)| Some(current.strip_prefix(root).ok()?.to_owned()));
    match below {
        Some(below) if !below.as_os_str().is_empty() && !Path::new(path).is_absolute() => {
            below.join(path).to_string_lossy().into_owned()
        }
        _ => path.to_owned(),
    }
}

pub(super) fn surroundings(root: &Path, workers: u32) -> Result<Surroundings, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::unusable(format_args!("cannot find the proctor program itself: {error}"))
    })?;
    let home = env_vars::HOME.get_os().map(PathBuf::from);
    let cache = env_vars::XDG_CACHE_HOME.get_os().map(PathBuf::from);
    let temporary = env_vars::TMPDIR.get_os().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    Ok(Surroundings {
        root: root.to_owned(),
        guard: GuardCommand::new(program, ["__guard"]),
        cache: cache.unwrap_or_else(|| temporary.clone()).join("proctor"),
        // A socket path has little room; a long TMPDIR would not fit.
        sockets: if temporary.as_os_str().len() > 60 { PathBuf::from("/tmp") } else { temporary },
        workers,
        waiting: Waiting::default(),
    })
}

fn selection(arguments: &SelectionArguments, root: &Path) -> Result<Selection, CommandError> {
    let mut selection =
        Selection { only: None, ids: arguments.stable_id.clone(), shard: arguments.shard };
    if arguments.only_failures {
        let last = RunStore::new(root).resolve("last").map_err(|_| {
            CommandError::unusable("--only-failures needs an earlier run, and there is none here")
        })?;
        selection.only = Some(failed_examples(&last).map_err(|error| {
            CommandError::unusable(format_args!("cannot read {}: {error}", last.display()))
        })?);
    }
    Ok(selection)
}
