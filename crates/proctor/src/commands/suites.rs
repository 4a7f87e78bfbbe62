//! From arguments and configuration to suites.

use std::path::{Path, PathBuf};

use proctor_record::{RunStore, failed_examples};
use proctor_runner::{
    CommandSuite, ExampleFiles, ExampleFilter, LoadNotices, RubySuites, Selection, Suite,
    SuiteEnvironment, WorkspaceSuite,
};

use super::{own_guard, scenarios, workspace_tools};
use crate::commands::selection::SelectionArguments;
use crate::config::Config;
use crate::env_vars;
use crate::error::CommandError;

/// What to run, where.
pub(super) struct Chosen {
    pub(super) suites: Vec<Suite>,
    pub(super) environment: SuiteEnvironment,
    pub(super) selection: Selection,
}

pub(super) fn choose(
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    workers: u32,
) -> Result<Chosen, CommandError> {
    let current = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
    choose_from(arguments, config, root, workers, &current)
}

/// The same for paths that were typed in `current`.
pub(super) fn choose_from(
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    workers: u32,
    current: &Path,
) -> Result<Chosen, CommandError> {
    let environment = environment(root, workers)?;
    let suites = suites(arguments, config, root, current, &environment)?;
    if suites.is_empty() {
        return Err(CommandError::not_found(format_args!(
            "there is nothing to run in {}: no `spec` folder, no tests in `test`, no `*.scenario.yaml` or `*.workspace.yaml` file, no suite in proctor.toml",
            root.display()
        ))
        .hint("name files or folders, or see `proctor doctor`"));
    }
    Ok(Chosen { suites, environment, selection: selection(arguments, root)? })
}

fn suites(
    arguments: &SelectionArguments,
    config: &Config,
    root: &Path,
    current: &Path,
    environment: &SuiteEnvironment,
) -> Result<Vec<Suite>, CommandError> {
    let wanted =
        |name: &str| arguments.suite.is_empty() || arguments.suite.iter().any(|s| s == name);
    let mut suites = Vec::new();
    // Paths of the file are written as seen from the root, where the file stands.
    let from = if arguments.paths.is_empty() { root } else { current };
    let mut files = files(&arguments.paths, config, root, from);
    // RSpec reads patterns itself, in Ruby's syntax; only other suites need them as ours.
    let filter = || {
        ExampleFilter::from_words(&arguments.example, &arguments.tag).map_err(CommandError::from)
    };
    files.rspec = files.rspec.filter(|_| wanted("rspec"));
    files.minitest = files.minitest.filter(|_| wanted("minitest"));
    files.check_ruby_paths(from, root).map_err(|missing| {
        CommandError::from(missing)
            .hint("paths are meant as seen from here, or from the project's root; `proctor list` shows what there is")
    })?;
    let in_ruby = ruby_suites(arguments, config, root, current);
    suites.extend(in_ruby.with_files(&files, || {
        scenarios::settings(arguments.seed, config, root, environment.guard.clone())
    })?);
    if wanted("scenario") && !files.scenarios.is_empty() {
        let guard = environment.guard.clone();
        let suite =
            scenarios::suite(files.scenarios, filter()?, arguments.seed, config, root, guard)?;
        suites.push(Suite::from(suite));
    }
    if wanted("workspace") && !files.workspaces.is_empty() {
        suites.push(Suite::from(WorkspaceSuite {
            files: files.workspaces,
            filter: filter()?,
            config: workspace_tools::config(root, config)?,
        }));
    }
    // Paths name files of tests; a suite of its own takes part when it is named, or when nothing is.
    for suite in &config.suites {
        let named = arguments.suite.contains(&suite.name);
        if named || (arguments.suite.is_empty() && arguments.paths.is_empty()) {
            suites.push(Suite::from(CommandSuite {
                name: suite.name.clone(),
                command: suite.command.clone(),
                args: suite.args.clone(),
                env: suite.env.clone(),
                filter: filter()?,
                deterministic: suite.deterministic,
            }));
        }
    }
    let known: Vec<&str> = ["rspec", "minitest", "scenario", "workspace"]
        .into_iter()
        .chain(config.suites.iter().map(|s| s.name.as_str()))
        .collect();
    if let Some(unknown) = arguments.suite.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(CommandError::not_found(format_args!(
            "there is no suite `{unknown}`; there are: {}",
            known.join(", ")
        )));
    }
    Ok(suites)
}

/// The files of these paths, typed in `from`. Where there are none: of those in proctor.toml, else of the whole project.
pub(super) fn files(paths: &[String], config: &Config, root: &Path, from: &Path) -> ExampleFiles {
    let configured = config.run.paths.as_deref().unwrap_or_default();
    match (paths, configured) {
        ([], []) => ExampleFiles::below(root),
        ([], configured) => ExampleFiles::named(configured, root),
        (paths, _) => ExampleFiles::named(paths, from),
    }
}

/// What is asked of the suites in Ruby.
fn ruby_suites<'a>(
    arguments: &'a SelectionArguments,
    config: &'a Config,
    root: &'a Path,
    from: &'a Path,
) -> RubySuites<'a> {
    RubySuites {
        ruby: &config.ruby.value,
        preload: !arguments.no_preload && config.run.preload != Some(false),
        examples: &arguments.example,
        tags: &arguments.tag,
        seed: arguments.seed,
        options: &arguments.rspec,
        from,
        root,
        rspec_deterministic: config.rspec.deterministic,
        minitest_deterministic: config.minitest.deterministic,
    }
}

fn temporary_folder() -> PathBuf {
    env_vars::TMPDIR.get_os().map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}

/// Where embedded files are unpacked.
pub(super) fn cache_folder() -> PathBuf {
    let home = env_vars::HOME.get_os().map(PathBuf::from);
    let cache = env_vars::XDG_CACHE_HOME.get_os().map(PathBuf::from);
    let cache = cache.or_else(|| home.map(|home| home.join(".cache")));
    cache.unwrap_or_else(temporary_folder).join("proctor")
}

pub(super) fn environment(root: &Path, workers: u32) -> Result<SuiteEnvironment, CommandError> {
    let temporary = temporary_folder();
    Ok(SuiteEnvironment {
        root: root.to_owned(),
        guard: own_guard()?,
        cache: cache_folder(),
        // A socket path has little room; a long TMPDIR would not fit.
        sockets: if temporary.as_os_str().len() > 60 { PathBuf::from("/tmp") } else { temporary },
        workers,
        first_slot: 0,
        load_notices: LoadNotices::default(),
        final_report: None,
        sandbox: None,
        mutation: None,
    })
}

fn selection(arguments: &SelectionArguments, root: &Path) -> Result<Selection, CommandError> {
    let mut selection =
        Selection { only: None, ids: arguments.stable_id.clone(), shard: arguments.shard };
    if arguments.only_failures {
        let last = RunStore::new(root).resolve("last").map_err(|_| {
            CommandError::not_found("--only-failures needs an earlier run, and there is none here")
        })?;
        selection.only = Some(failed_examples(&last)?);
    }
    Ok(selection)
}
