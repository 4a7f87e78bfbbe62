//! `test_setup`: an isolated folder with what the test needs in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_process::git::Git;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Tools;
use crate::confined;
use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::limits::{GivenLimits, RunLimits};
use crate::orchestrator::{Backend, Orchestrator};
use crate::registry::{self, NewRecord, Place, WorkspaceLock};
use crate::snapshot::{INITIAL, Selection, Snapshots};

/// Parameters of `test_setup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupParams {
    /// A new name for the workspace: letters, digits, `.`, `_`, `-`, at most 64.
    pub workspace_id: String,
    /// Files to create: path relative to the workspace → content. A file `ralph.yml` becomes the base
    /// of the orchestrator's configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixtures: BTreeMap<String, String>,
    /// Overrides of the orchestrator's configuration, in its own structure: `hats`, `event_loop`, `hooks` …
    /// Without `hats` a mock run gets a planner and a builder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The scratchpad (`.agent/scratchpad.md`) as the first iteration finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratchpad: Option<String>,
    /// Which orchestrator is tested (default: ralph).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestrator: Option<Orchestrator>,
    /// Files and folders outside of the workspace that mock runs may read, by absolute path. They see the system's folders, the
    /// orchestrator's program and what its command names anyway, and nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    /// Make the workspace a git repository of its own, with the fixtures committed.
    #[serde(default)]
    pub git: bool,
    /// Remove a workspace of the same id first.
    #[serde(default)]
    pub replace: bool,
}

/// Result of `test_setup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupResult {
    /// The folder.
    pub workspace_path: PathBuf,
    /// Its id, for all other tools.
    pub workspace_id: String,
    /// The files that were created, relative to the folder.
    pub created_files: Vec<String>,
    /// The limits of a mock run that names none itself, each with where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RunLimits>,
    /// What you should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Tools {
    /// Creates an isolated workspace.
    pub async fn setup(&self, params: SetupParams) -> Result<SetupResult, ToolError> {
        self.blocking(move |tools| tools.setup_now(&params)).await
    }

    fn setup_now(&self, params: &SetupParams) -> Result<SetupResult, ToolError> {
        let fixtures = checked(params)?;
        if params.replace {
            self.remove_earlier(&params.workspace_id)?;
        }
        let new = NewRecord {
            id: params.workspace_id.clone(),
            orchestrator: params.orchestrator.clone().unwrap_or_default(),
            config: params.config.clone().unwrap_or(Value::Null),
            scratchpad: params.scratchpad.clone(),
            read: params.read.clone(),
        };
        let (mut place, held) = registry::create(&self.config, new)?;
        match self.fill(&mut place, params, &fixtures) {
            Ok(told) => Ok(SetupResult {
                workspace_path: place.record.path.clone(),
                workspace_id: place.record.id.clone(),
                created_files: place.record.created_files.clone(),
                limits: told.limits,
                warnings: told.warnings,
            }),
            Err(error) => {
                self.give_up(place, held);
                Err(error)
            }
        }
    }

    /// Takes back what a failed set-up made.
    fn give_up(&self, mut place: Place, held: WorkspaceLock) {
        // What cannot be removed now is removed by the next set-up of this id, or as stale.
        let _ = place.delete(&self.config, None);
        drop(held);
    }

    fn remove_earlier(&self, id: &str) -> Result<(), ToolError> {
        match registry::find(&self.config, id) {
            Ok(mut earlier) => {
                let _held = earlier.lock_for_run()?;
                earlier.delete(&self.config, None)
            }
            Err(error) if error.kind == ErrorKind::UnknownWorkspace => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn fill(
        &self,
        place: &mut Place,
        params: &SetupParams,
        fixtures: &[(RelPath, &str)],
    ) -> Result<Configured, ToolError> {
        let root = place.root()?;
        let adapter = place.record.orchestrator.adapter();
        let mut created = Vec::new();
        for (path, content) in fixtures {
            write(&root, path, content)?;
            created.push(path.to_string());
        }
        let scratchpad = parse(adapter.scratchpad())?;
        make_folder_of(&root, &scratchpad)?;
        if let Some(text) = &params.scratchpad {
            write(&root, &scratchpad, text)?;
            created.push(scratchpad.to_string());
        }
        let configured = Configured::check(place, &root)?;
        if params.git {
            git_init(&self.config.path, root.path())?;
        }
        let snapshots = Snapshots::of(&place.home, &place.record.id);
        snapshots.take(&root, &Selection::new(&[], &[])?, Some(INITIAL))?;
        for folder in ["home", "tmp", "runs"] {
            disk::make_private(&place.file(folder))?;
        }
        place.record.created_files = created;
        place.record.ready = true;
        place.save()?;
        Ok(configured)
    }
}

/// What the configuration of a workspace means for its runs.
struct Configured {
    limits: Option<RunLimits>,
    warnings: Vec<String>,
}

impl Configured {
    /// A configuration that cannot work is reported now, not by the run.
    fn check(place: &Place, root: &Root) -> Result<Self, ToolError> {
        let (adapter, config) = (place.record.orchestrator.adapter(), &place.record.config);
        let topology = adapter.topology(root, config, Backend::Mock)?;
        let mut warnings = topology.trigger_warnings();
        let generic = matches!(place.record.orchestrator, Orchestrator::Generic(_));
        if generic && !config.is_null() {
            warnings.push("config is not used: a generic command has no configuration".to_owned());
        }
        let (given, failures) = adapter.limits(root, config, Backend::Mock)?;
        // A limit out of range may still be overridden by the call.
        let limits = RunLimits::resolve(GivenLimits::default(), given, failures)
            .map_err(|error| warnings.push(error.to_string()))
            .ok();
        Ok(Self { limits, warnings })
    }
}

/// Checks everything before anything is made.
fn checked(params: &SetupParams) -> Result<Vec<(RelPath, &str)>, ToolError> {
    registry::check_id(&params.workspace_id)?;
    if params.config.as_ref().is_some_and(|config| !config.is_object() && !config.is_null()) {
        return Err(ToolError::invalid("config must be an object"));
    }
    confined::check_read(&params.read)?;
    let fixtures = params.fixtures.iter();
    fixtures.map(|(path, content)| Ok((parse(path)?, content.as_str()))).collect()
}

fn parse(path: &str) -> Result<RelPath, ToolError> {
    RelPath::parse(path).map_err(|problem| {
        ToolError::new(ErrorKind::NotAllowed, problem.to_string())
            .hint("paths are relative to the workspace and stay in it")
    })
}

fn write(root: &Root, path: &RelPath, content: &str) -> Result<(), ToolError> {
    // A script is made executable, as its author expects.
    let mode = if content.starts_with("#!") { 0o755 } else { 0o644 };
    root.write(path, content.as_bytes(), mode)
        .map_err(|error| ToolError::io("write the fixture", Path::new(path.as_str()), &error))
}

fn make_folder_of(root: &Root, path: &RelPath) -> Result<(), ToolError> {
    let Some((folder, _)) = path.as_str().rsplit_once('/') else { return Ok(()) };
    let folder = parse(folder)?;
    root.make_folder(&folder)
        .map_err(|error| ToolError::io("make", Path::new(folder.as_str()), &error))
}

/// Makes a repository with one commit, without the user's git settings.
fn git_init(path: &OsStr, folder: &Path) -> Result<(), ToolError> {
    let git = Git::isolated(folder, path);
    for words in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--allow-empty", "--message", "Initial state"],
    ] {
        let output = git.run(words).map_err(|error| {
            ToolError::new(ErrorKind::MissingProgram, error.to_string())
                .hint("install git, or leave git: true out")
        })?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = format!("git {} failed: {}", words[0], stderr.trim());
            return Err(ToolError::new(ErrorKind::Io, message));
        }
    }
    Ok(())
}

/// How long a forced clean-up waits for a run to end.
pub(crate) const FORCE_WAIT: Duration = Duration::from_secs(20);
