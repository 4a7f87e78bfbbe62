//! How a mock run is confined: what it may see and change, in terms of `proctor-sandbox`.
//!
//! State: what this machine allows, found out once. Inside there are the workspace, the home and the temporary folder of the run and the
//! folder of its notes, all writable; the rest of the run's folder, the mock, the orchestrator and what `read` names, read-only; nothing
//! else but the system's folders, and no network. Runs with a real model are not confined: they need the network, their
//! program's own files and credentials, and the test named all of those.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use proctor_sandbox::{
    Abilities, Confinement, Launcher, Layer, Limits, PathError, ProgramError, ProgramSearch,
};
use serde_json::json;

use crate::config::Config;
use crate::error::{ErrorKind, ToolError};
use crate::mock;
use crate::registry::Place;

/// The report of the launcher, in the folder of a run.
pub(crate) const REPORT: &str = "launch.json";
/// Address space of each process: runtimes such as V8 reserve much more than they use.
const MEMORY: u64 = 16 << 30;
/// Orchestrators start tools that start threads.
const PROCESSES: u64 = 512;

/// The sandbox of mock runs. Clones share what they found out.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    launcher: Option<Launcher>,
    abilities: Arc<OnceLock<Abilities>>,
}

/// A command line that runs confined, and what it has.
#[derive(Debug)]
pub(crate) struct ConfinedCommand {
    pub(crate) argv: Vec<OsString>,
    /// What this machine lacks, in words.
    pub(crate) shortcomings: Vec<String>,
    pub(crate) network_off: bool,
}

impl Sandbox {
    /// A sandbox with a program that calls [`proctor_sandbox::launcher_main`]. Without one nothing is confined, and every run says so.
    pub fn new(launcher: Option<Launcher>) -> Self {
        Self { launcher, abilities: Arc::default() }
    }

    fn abilities(&self) -> &Abilities {
        self.abilities.get_or_init(|| match &self.launcher {
            None => Abilities::none("this program has no launcher for sandboxes"),
            Some(launcher) => Abilities::probe(launcher)
                .unwrap_or_else(|error| Abilities::none(&error.to_string())),
        })
    }

    /// Refuses if a run cannot be confined completely.
    pub(crate) fn require(&self) -> Result<(), ToolError> {
        let missing = self.abilities().shortcomings();
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!("the run cannot be confined as required: {}", missing.join("; "));
        Err(ToolError::new(ErrorKind::NotConfined, message)
            .hint(
                "leave require_confinement out to run with what there is; proctor doctor lists it",
            )
            .details(json!({"missing": missing})))
    }

    /// The command line under which the orchestrator of a mock run is confined. `None` where no layer can be had.
    pub(crate) fn confine(
        &self,
        config: &Config,
        place: &Place,
        run: &Path,
        argv: &[OsString],
    ) -> Result<Option<ConfinedCommand>, ToolError> {
        let abilities = self.abilities();
        let Some(launcher) = self.launcher.as_ref().filter(|_| !abilities.layers().is_empty())
        else {
            return Ok(None);
        };
        let argv = &with_plain_program(argv, &place.record.path)[..];
        let confinement =
            confinement(config, place, run, argv).map_err(|error| not_shown(&error))?;
        let mut confinement = confinement.with(abilities);
        if confinement.layers.contains(&Layer::MountNamespace) {
            // Only sockets of the run itself are visible.
            confinement = confinement.unix_sockets();
        }
        let cuts_network = [Layer::NetworkNamespace, Layer::SystemCallFilter];
        Ok(Some(ConfinedCommand {
            network_off: cuts_network.iter().any(|layer| confinement.layers.contains(layer)),
            argv: launcher.wrap(&confinement, argv),
            shortcomings: abilities.shortcomings(),
        }))
    }

    /// What a run lacks that is not confined at all.
    pub(crate) fn shortcomings(&self) -> Vec<String> {
        self.abilities().shortcomings()
    }
}

fn not_shown(error: &ProgramError) -> ToolError {
    ToolError::new(ErrorKind::NotConfined, error.to_string())
        .hint("`read` of the set-up names what a run may see outside of its workspace")
}

fn confinement(
    config: &Config,
    place: &Place,
    run: &Path,
    argv: &[OsString],
) -> Result<Confinement, ProgramError> {
    let workspace = &place.record.path;
    let mut confinement = Confinement::new()
        .limits(limits(config))
        .lock(place.file("tree.lock"))
        .report(run.join(REPORT))
        .writable(workspace)?
        .writable(place.file("home"))?
        .writable(place.file("tmp"))?
        .readable(run)?
        .writable(mock::notes_folder(run))?
        .readable(&config.mock.path)?;
    for path in &place.record.read {
        confinement = confinement.readable(path)?;
    }
    // A script that the command line names, unless it is visible by now.
    for path in argv.iter().skip(1).map(Path::new) {
        if path.is_absolute() && path.is_file() && !is_listed(&confinement, path) {
            confinement = confinement.readable(path)?;
        }
    }
    show_program(confinement, argv, workspace, &config.path)
}

/// The command line with a program path that works inside, where only the folders on the way to what is shown exist: a path with `..`
/// is written without. Other links stay, since programs look at the name they were called by.
fn with_plain_program(argv: &[OsString], folder: &Path) -> Vec<OsString> {
    let mut argv = argv.to_vec();
    let Some(program) = argv.first_mut() else { return argv };
    let path = Path::new(program);
    let leads_up = path.components().any(|part| part == std::path::Component::ParentDir);
    let above = path.parent().and_then(|above| folder.join(above).canonicalize().ok());
    if let Some((above, name)) = above.zip(path.file_name()).filter(|_| leads_up) {
        *program = above.join(name).into();
    }
    argv
}

fn limits(config: &Config) -> Limits {
    Limits {
        address_space: Some(MEMORY),
        file_size: Some(config.limits.file_bytes),
        processes: Some(PROCESSES),
        // The run has a time limit of its own.
        processor_seconds: None,
        written_bytes: Some(config.limits.workspace_bytes),
        written_files: Some(config.limits.workspace_files),
        ..Limits::default()
    }
}

fn is_listed(confinement: &Confinement, path: &Path) -> bool {
    let lists = [&confinement.system, &confinement.readable, &confinement.writable];
    lists.into_iter().flatten().any(|listed| path.starts_with(listed))
}

/// Shows the program and its interpreters wherever they are: the test named them. Of a folder that is not an installation only the
/// file itself is shown.
fn show_program(
    mut confinement: Confinement,
    argv: &[OsString],
    folder: &Path,
    path: &OsStr,
) -> Result<Confinement, ProgramError> {
    let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let search = ProgramSearch { folder, path, home: None };
    let mut shown: Vec<PathBuf> = Vec::new();
    loop {
        match confinement.clone().showing_program(&words, &search) {
            Err(ProgramError::NotVisible(program)) if !shown.contains(&program) => {
                confinement = confinement.readable(&program)?;
                shown.push(program);
            }
            other => return other,
        }
    }
}

/// Checks the paths of `read`: absolute, and there.
pub(crate) fn check_read(paths: &[PathBuf]) -> Result<(), ToolError> {
    for path in paths {
        if !path.is_absolute() {
            let message = format!("read: {} is not an absolute path", path.display());
            return Err(ToolError::invalid(message));
        }
        let checked: Result<_, PathError> = Confinement::new().readable(path);
        checked.map_err(|error| ToolError::invalid(format!("read: {error}")))?;
    }
    Ok(())
}
