//! The beginning of a run: the workspace is held, everything is checked, and the run's folder is written.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::folder::{self, RunFolder, Start};
use super::{Request, environment};
use crate::cassette::Cassette;
use crate::config::Config;
use crate::contained_path::Root;
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::limits::RunLimits;
use crate::mock;
use crate::mock::script::{self, MockResponse, Script};
use crate::orchestrator::backend::MODEL_PROGRAMS;
use crate::orchestrator::generic::MOCK_NAME;
use crate::orchestrator::{Adapter, Backend, Plan, Topology};
use crate::registry::{self, Place, WorkspaceLock};
use crate::tools::mock_backend;

/// A run that is ready to be executed. Holds the workspace until it is dropped.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) place: Place,
    pub(crate) number: u32,
    pub(crate) folder: PathBuf,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) limits: RunLimits,
    /// The launcher of the sandbox makes its report before it does anything else.
    pub(crate) confined: bool,
    _held: WorkspaceLock,
}

pub(crate) fn begin(config: &Config, request: &Request) -> Result<Begun, ToolError> {
    let params = &request.params;
    let place = registry::find(config, &params.workspace_id)?;
    let held = place.lock_for_run()?;
    let _ = std::fs::remove_file(place.file("cancel"));
    let root = place.root()?;
    let adapter = place.record.orchestrator.adapter();
    let real = params.backend.check(config, params.env.keys().map(String::as_str))?;
    let topology = adapter.topology(&root, &place.record.config, params.backend)?;
    let (configured, failures) = adapter.limits(&root, &place.record.config, params.backend)?;
    let limits = RunLimits::resolve(request.limits(), configured, failures)?;
    if params.require_confinement {
        config.sandbox.require()?;
    }
    let cassette = cassette(config, &place, request)?;
    let responses = responses(&place, request, cassette.as_ref(), &topology)?;
    super::conclude::recover(config, &place)?;
    let run = new_folder(&place)?;
    let env_checked = environment::variables(config, &place, &run.path, &params.env)?;
    let plan = Plan {
        config,
        root: &root,
        folder: &run.path,
        user_config: &place.record.config,
        scratchpad: place.record.scratchpad.as_deref(),
        task: &params.task,
        backend: params.backend,
        limits: &limits,
    };
    let prepared = prepare(adapter.as_ref(), &plan)?;
    stand_ins(
        config,
        &run.path,
        real.as_deref().zip(params.backend.needs().map(|needs| needs.program)),
    )?;
    let (orchestrator, unknown_version) = adapter.installed(config)?;
    let mut warnings = prepared.warnings;
    warnings.extend(topology.trigger_warnings());
    warnings.extend(unknown_version);
    let launch = launched(config, &place, &run.path, params.backend, prepared.argv)?;
    warnings.extend(launch.warnings);
    let used_before = rotate(&place, &root, run.number)?;
    warnings.extend(used_before.filter(|_| !request.restored));
    let started_ms = disk::now_ms();
    let script = Script {
        workspace: root.path().to_owned(),
        coordinator: (!topology.coordinator.is_empty()).then(|| topology.coordinator.clone()),
        responses,
        max_runtime_ms: limits.max_runtime_secs.value * 1000,
        stop_file: prepared.stop_file,
        events_file: prepared.events_file,
        scratchpad: prepared.scratchpad,
    };
    disk::replace_json(&run.path.join("script.json"), &script)?;
    let start = Start {
        started_ms,
        task: params.task.clone(),
        backend: params.backend,
        cursor: prepared.cursor,
        topology,
        limits: Some(limits.clone()),
        warnings,
        orchestrator,
        cassette,
        network_off: launch.network_off,
    };
    disk::replace_json(&run.path.join("start.json"), &start)?;
    let mut env = env_checked;
    env.extend(prepared.env.into_iter().map(|(name, value)| (name.into(), value)));
    Ok(Begun {
        argv: launch.argv,
        confined: launch.confined,
        env,
        place,
        number: run.number,
        folder: run.path,
        limits,
        _held: held,
    })
}

fn prepare(
    adapter: &dyn Adapter,
    plan: &Plan<'_>,
) -> Result<crate::orchestrator::Prepared, ToolError> {
    adapter.prepare(plan).inspect_err(|_| {
        // Nothing has run, so there is no run.
        let _ = std::fs::remove_dir_all(plan.folder);
    })
}

/// The command line behind its launcher.
struct Launch {
    argv: Vec<OsString>,
    warnings: Vec<String>,
    network_off: bool,
    confined: bool,
}

/// A mock run is confined as far as this machine allows. Other runs have a launcher that bounds the size of files.
fn launched(
    config: &Config,
    place: &Place,
    run: &Path,
    backend: Backend,
    argv: Vec<OsString>,
) -> Result<Launch, ToolError> {
    let mut warnings = Vec::new();
    let lacks = |missing: String| format!("the run was not confined completely: {missing}");
    if backend == Backend::Mock {
        if let Some(confined) = config.sandbox.confine(config, place, run, &argv)? {
            return Ok(Launch {
                argv: confined.argv,
                warnings: confined.shortcomings.into_iter().map(lacks).collect(),
                network_off: confined.network_off,
                confined: true,
            });
        }
        warnings.extend(config.sandbox.shortcomings().into_iter().map(lacks));
    }
    let state = run.to_string_lossy().into_owned();
    let bytes = config.limits.file_bytes.to_string();
    let words = ["launch", "--state", &state, "--file-bytes", &bytes, "--"];
    let argv = config.mock.with(words).into_iter().map(OsString::from).chain(argv).collect();
    Ok(Launch { argv, warnings, network_off: false, confined: false })
}

fn cassette(
    config: &Config,
    place: &Place,
    request: &Request,
) -> Result<Option<Cassette>, ToolError> {
    let params = &request.params;
    let wanted = params.cassette.is_some() || params.replay_run.is_some();
    if wanted && params.backend != Backend::Mock {
        return Err(ToolError::invalid("a cassette is replayed by the mock backend only"));
    }
    match (&params.cassette, params.replay_run) {
        (Some(cassette), _) => {
            cassette.check()?;
            Ok(Some(cassette.clone()))
        }
        (None, Some(number)) => Cassette::of_run(config, place, number).map(Some),
        (None, None) => Ok(None),
    }
}

fn responses(
    place: &Place,
    request: &Request,
    cassette: Option<&Cassette>,
    topology: &Topology,
) -> Result<Vec<MockResponse>, ToolError> {
    if request.params.backend != Backend::Mock {
        return Ok(Vec::new());
    }
    let responses = match (cassette, &request.params.mock_responses) {
        (Some(cassette), _) => Some(cassette.responses()),
        (None, Some(given)) => Some(given.clone()),
        (None, None) => mock_backend::stored(place)?,
    };
    // A plain command need not call a model at all.
    let needed = !topology.coordinator.is_empty();
    match responses {
        Some(responses) => {
            script::check(&responses, topology.hat_names().as_deref())?;
            Ok(responses)
        }
        None if !needed => Ok(Vec::new()),
        None => Err(ToolError::invalid("backend \"mock\" has no responses to give")
            .hint("call test_mock_backend first, or pass mock_responses")),
    }
}

fn new_folder(place: &Place) -> Result<RunFolder, ToolError> {
    let number = folder::numbers(place).last().map_or(1, |last| last + 1);
    let run = RunFolder::of(place, number);
    disk::make_private(&run.path.join(mock::NOTES))?;
    Ok(run)
}

/// Keeps the session of the run before under its number.
fn rotate(place: &Place, root: &Root, number: u32) -> Result<Option<String>, ToolError> {
    if number == 1 {
        return Ok(None);
    }
    match root.rename_top("session.jsonl", &format!("session.{}.jsonl", number - 1)) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(ToolError::io("keep", Path::new("session.jsonl"), &error)),
    }
    let id = &place.record.id;
    Ok(Some(format!(
        "workspace {id:?} has been run in before ({} times): files of earlier runs may be there",
        number - 1
    )))
}

/// Puts stand-ins for every known model in front of the path: they refuse and take note. The one that was
/// asked for is passed through and listened to.
fn stand_ins(config: &Config, run: &Path, real: Option<(&Path, &str)>) -> Result<(), ToolError> {
    let bin = run.join("bin");
    disk::make_private(&bin)?;
    let state = run.to_string_lossy().into_owned();
    for name in MODEL_PROGRAMS {
        let argv = match real {
            Some((path, program)) if program == *name => {
                let path = path.to_string_lossy().into_owned();
                config
                    .mock
                    .with(["proxy", "--state", &state, "--name", name, "--real", &path, "--"])
            }
            _ => config.mock.with(["blocked", "--state", &state, "--name", name, "--"]),
        };
        shim(&bin.join(name), &argv)?;
    }
    shim(&bin.join(MOCK_NAME), &config.mock.with(["call", "--state", &state]))
}

fn shim(path: &Path, argv: &[String]) -> Result<(), ToolError> {
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", proctor_text::shell_join(argv));
    let written = proctor_files::write_private(path, text)
        .and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)));
    written.map_err(|error| ToolError::new(ErrorKind::Io, format!("{}: {error}", path.display())))
}
