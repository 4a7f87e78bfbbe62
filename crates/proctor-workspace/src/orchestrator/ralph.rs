//! Ralph Orchestrator, as version 2.10.1 was measured to behave.
//!
//! Never forwards a backend name it does not know, never lets a hat choose a model of its own in a mock run,
//! never passes the task where it could be taken for an option. `config` makes the configuration, `rows`
//! reads what was written, both pure; this module moves files.

pub(crate) mod config;
pub(crate) mod events_file;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_process::{ChildEnvironment, ShortCommand};
use serde_json::{Value, json};

use super::{Adapter, Backend, Collected, Plan, Prepared, RunOutputs, Topology};
use crate::config::{Config, is_executable};
use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::limits::GivenLimits;
use crate::mock;
use crate::session::merge::{Begin, EventsFileLine, Published};

/// Longest task that is passed as an argument; a longer one goes through a file.
const LONGEST_ARGUMENT: usize = 64 * 1024;

/// How long `ralph --version` may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// The versions whose behaviour this adapter knows.
const MEASURED: &str = "2.10.";

pub(crate) struct Ralph;

impl Adapter for Ralph {
    fn installed(&self, config: &Config) -> Result<(String, Option<String>), ToolError> {
        let version = version(config, &program(config)?);
        let known =
            version.strip_prefix("ralph ").is_some_and(|number| number.starts_with(MEASURED));
        let warning = (!known).then(|| {
            format!("{version:?} is not the version this adapter was measured with ({MEASURED}x)")
        });
        Ok((version, warning))
    }

    fn topology(&self, root: &Root, user: &Value, backend: Backend) -> Result<Topology, ToolError> {
        Ok(config::topology(&config::merged(configured(root, user)?, backend)))
    }

    fn limits(
        &self,
        root: &Root,
        user: &Value,
        backend: Backend,
    ) -> Result<(GivenLimits, Option<u64>), ToolError> {
        config::limits(&configured(root, user)?, backend)
    }

    fn prepare(&self, plan: &Plan<'_>) -> Result<Prepared, ToolError> {
        let program = program(plan.config)?;
        let merged = config::merged(configured(plan.root, plan.user_config)?, plan.backend);
        let (document, warnings) = config::wired(merged, plan)?;
        let config_path = plan.folder.join("ralph.yml");
        // JSON is YAML.
        disk::replace_json(&config_path, &document)?;
        let mut argv: Vec<OsString> =
            vec![program.into(), "run".into(), "-c".into(), config_path.into()];
        argv.push(task_argument(plan)?);
        argv.extend(["--no-tui", "--color", "never", "--max-iterations"].map(Into::into));
        argv.push(plan.limits.max_iterations.value.to_string().into());
        argv.push("--record-session".into());
        argv.push(mock::notes_folder(plan.folder).join("recording.jsonl").into());
        let scratchpad = config::scratchpad_path(&document);
        Ok(Prepared {
            argv,
            stop_file: Some(".ralph/stop-requested".to_owned()),
            scratchpad: plan.scratchpad.map(|text| (scratchpad, text.to_owned())),
            cursor: json!(events_files(plan.root)),
            warnings,
            ..Prepared::default()
        })
    }

    fn endings(&self) -> &'static [&'static str] {
        events_file::REASONS
    }

    fn collect(&self, outputs: &RunOutputs<'_>) -> Collected {
        let mut collected = Collected::default();
        let of_run = |name: &str| mock::read_notes(outputs.folder, name).unwrap_or_default();
        read_recording(&of_run("recording.jsonl"), &mut collected);
        read_events(outputs, &mut collected);
        read_hooks(&of_run("hooks.jsonl"), &mut collected);
        collected.sources.topology = outputs.topology.clone();
        collected
    }
}

/// The names under which ralph looks for its configuration.
pub(crate) const FILES: [&str; 2] = ["ralph.yml", "ralph.yaml"];
/// Longest configuration file that is read.
const LONGEST_FILE: u64 = 1024 * 1024;

/// What the test configured: the file that the fixtures brought, if they did, and the overrides.
fn configured(root: &Root, overrides: &Value) -> Result<Value, ToolError> {
    for name in FILES {
        let Ok(path) = RelPath::parse(name) else { continue };
        match root.read(&path, LONGEST_FILE) {
            Ok(bytes) => {
                let file = config::read_file(name, &String::from_utf8_lossy(&bytes))?;
                return config::configured(file, overrides);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(ToolError::io("read", Path::new(name), &error)),
        }
    }
    config::configured(Value::Null, overrides)
}

fn program(config: &Config) -> Result<PathBuf, ToolError> {
    let found = config.ralph.clone().or_else(|| config.find_program("ralph"));
    match found {
        Some(path) if is_executable(&path) => Ok(path),
        Some(path) => Err(missing(&format!("{} is not a program", path.display()))),
        None => Err(missing("there is no program `ralph` on PATH")),
    }
}

/// What the program says about itself. Asked once per program file, for it costs a process.
fn version(config: &Config, program: &Path) -> String {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq)]
    struct Known {
        program: PathBuf,
        size: u64,
        changed_ms: u64,
        said: String,
    }
    let about = std::fs::metadata(program).ok();
    let changed = about.as_ref().and_then(|about| about.modified().ok()).map_or(0, disk::millis);
    let size = about.map_or(0, |about| about.len());
    let notes = config.state.join("ralph-version.json");
    if let Ok(Some(known)) = disk::read_json::<Known>(&notes)
        && (known.program.as_path(), known.size, known.changed_ms) == (program, size, changed)
    {
        return known.said;
    }
    let answer = ShortCommand::new(program, ChildEnvironment::empty(), VERSION_LIMIT)
        .args(["--version"])
        .folder(Path::new("/"))
        .output();
    let said = answer.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).trim().chars().take(80).collect(),
    );
    let known = Known { program: program.to_owned(), size, changed_ms: changed, said };
    let _ = disk::replace_json(&notes, &known);
    known.said
}

fn missing(why: &str) -> ToolError {
    ToolError::new(ErrorKind::MissingProgram, format!("the orchestrator cannot be run: {why}"))
        .hint("install it (cargo install ralph-cli --locked) or set PROCTOR_RALPH to its path")
}

fn task_argument(plan: &Plan<'_>) -> Result<OsString, ToolError> {
    if plan.task.len() <= LONGEST_ARGUMENT && !plan.task.contains('\0') {
        return Ok(format!("--prompt={}", plan.task).into());
    }
    let path = plan.folder.join("task.md");
    disk::replace(&path, plan.task.as_bytes())?;
    let mut argument = OsString::from("--prompt-file=");
    argument.push(path);
    Ok(argument)
}

/// The events files that are there, with their sizes: runs of the same second share one.
fn events_files(root: &Root) -> BTreeMap<String, u64> {
    let Ok(entries) = std::fs::read_dir(root.path().join(".ralph")) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.to_owned(), entry.metadata().ok()?.len()))
        })
        .filter(|(name, _)| {
            let ending = Path::new(name).extension().is_some_and(|ending| ending == "jsonl");
            name.starts_with("events") && ending
        })
        .collect()
}

pub(crate) fn read_recording(text: &[u8], collected: &mut Collected) {
    for (index, line) in lines(text).enumerate() {
        let mut warn = |fault: &str| {
            let number = index + 1;
            collected
                .warnings
                .push(format!("line {number} of the orchestrator's recording {fault}"));
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
            warn("is torn");
            continue;
        };
        let event = value["event"].as_str().unwrap_or_default().to_owned();
        if !["_meta.loop_start", "bus.publish"].contains(&&*event) {
            continue;
        }
        let ts = value["ts"].as_u64().unwrap_or_default();
        let Value::Object(data) = value["data"].take() else {
            warn(&format!("is a {event} whose data is no object: it is left out"));
            continue;
        };
        let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default();
        if event == "bus.publish" && text("topic") == "loop.terminate" {
            events_file::termination(text("payload"), "recording", collected);
        }
        let published = Published { ts, data };
        match &*event {
            "bus.publish" => collected.sources.published.push(published),
            _ => collected.sources.loop_start = Some(published),
        }
    }
}

fn read_events(outputs: &RunOutputs<'_>, collected: &mut Collected) {
    let before: BTreeMap<String, u64> =
        serde_json::from_value(outputs.cursor.clone()).unwrap_or_default();
    for name in events_files(outputs.root).into_keys() {
        let Ok(path) = RelPath::parse(&format!(".ralph/{name}")) else { continue };
        match outputs.root.read(&path, outputs.read_bytes) {
            Ok(bytes) => {
                let skip = before.get(&name).copied().unwrap_or(0);
                let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
                read_events_file(&bytes[skip..], collected);
            }
            Err(error) => collected.warnings.push(format!("{path} cannot be read: {error}")),
        }
    }
}

pub(crate) fn read_events_file(text: &[u8], collected: &mut Collected) {
    for line in lines(text) {
        if let Some(row) = events_file::read(line, collected) {
            collected.sources.rows.push(row);
        }
    }
}

pub(crate) fn read_hooks(text: &[u8], collected: &mut Collected) {
    for hook in lines(text).filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let ts = hook["timestamp"].as_str().and_then(events_file::time).unwrap_or_default();
        match hook["phase_event"].as_str() {
            Some("post.iteration.start") => {
                let context = &hook["context"];
                let hat = context["selected_hat"].as_str().or(context["active_hat"].as_str());
                collected.sources.begins.push(Begin {
                    ts,
                    n: hook["iteration"]["current"].as_u64().unwrap_or_default(),
                    hat: hat.map(str::to_owned),
                    origin: "hooks",
                });
            }
            Some("post.loop.complete" | "post.loop.error") if collected.reason.is_none() => {
                if let Some(word) = hook["context"]["termination_reason"].as_str() {
                    collected.reason = Some(events_file::reason(word));
                    collected.reason_origin = "hooks";
                }
            }
            _ => {}
        }
    }
    let begun = collected.sources.begins.iter().map(|begin| begin.n).max().unwrap_or(0);
    if begun == 0
        && collected
            .sources
            .rows
            .iter()
            .any(|row| matches!(row, EventsFileLine::IterationEnd { .. }))
    {
        events_file::begins_from_ends(collected);
    }
    let begun = collected.sources.begins.iter().map(|begin| begin.n).max().unwrap_or(0);
    collected.iterations = collected.iterations.max(begun);
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}
