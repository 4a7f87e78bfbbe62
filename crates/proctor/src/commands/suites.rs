//! From arguments and configuration to suites.

use std::path::{Path, PathBuf};

use proctor_process::GuardCommand;
use proctor_record::{RunStore, failed_examples};
use proctor_runner::{
    CommandSuite, ExampleFiles, ExampleFilter, RspecRequest, RspecSuite, Selection, Suite,
    Surroundings, Waiting, WorkspaceSuite,
};

use super::{own_program, scenarios, workspace_tools};
use crate::commands::selection::SelectionArguments;
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
        return Err(CommandError::not_found(format_args!(
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
    let files = if paths.is_empty() {
        ExampleFiles::below(root)
    } else {
        ExampleFiles::named(&paths, from)
    };
    // RSpec reads patterns itself, in Ruby's syntax; only other suites need them as ours.
    let filter = || {
        ExampleFilter::from_words(&arguments.example, &arguments.tag).map_err(CommandError::from)
    };
    if wanted("rspec") && files.has_specs {
        files.check_spec_paths(from, root).map_err(|missing| {
            CommandError::from(missing)
                .hint("paths are meant as seen from here, or from the project's root; `proctor list` shows what there is")
        })?;
        suites.push(Suite::Rspec(RspecSuite {
            ruby: config.ruby.value.clone(),
            args: RspecRequest {
                examples: &arguments.example,
                tags: &arguments.tag,
                seed: arguments.seed,
                options: &arguments.rspec,
                paths: &files.spec_paths,
                from: &current,
                root,
            }
            .arguments(),
            preload: !arguments.no_preload && config.run.preload != Some(false),
            talk: Some(Box::new(scenarios::settings(
                arguments.seed,
                config,
                root,
                surroundings.guard.clone(),
            )?)),
            deterministic: config.rspec.deterministic,
        }));
    }
    if wanted("scenario") && !files.scenarios.is_empty() {
        let guard = surroundings.guard.clone();
        let suite =
            scenarios::suite(files.scenarios, filter()?, arguments.seed, config, root, guard)?;
        suites.push(Suite::Dialogue(Box::new(suite)));
    }
    if wanted("workspace") && !files.workspaces.is_empty() {
        suites.push(Suite::Workspace(Box::new(WorkspaceSuite {
            files: files.workspaces,
            filter: filter()?,
            config: workspace_tools::config(root, config)?,
        })));
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
                filter: filter()?,
                deterministic: suite.deterministic,
            }));
        }
    }
    let known: Vec<&str> = ["rspec", "scenario", "workspace"]
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

pub(super) fn surroundings(root: &Path, workers: u32) -> Result<Surroundings, CommandError> {
    let program = own_program()?;
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
        first_slot: 0,
        waiting: Waiting::default(),
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
