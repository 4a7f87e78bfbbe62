//! The scripted model: what it answers, and the program that answers.
//!
//! The orchestrator calls our own program ([`main`]) in the place of a model. Which response it gives is
//! decided by `choose`, a pure function of script, counts, hat and prompt; counts and log live in
//! the run's folder, under a lock, so that parallel calls are served one by one. The same program
//! serves as hook, as launcher of real models and as the stand-in that refuses to be a real model.

pub(crate) mod call;
pub(crate) mod choose;
mod hook;
pub(crate) mod launch;
pub(crate) mod log;
pub(crate) mod prompt;
pub(crate) mod proxy;
pub(crate) mod script;
pub(crate) mod tags;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proctor_files::{Links, limits};

pub use script::{MockEvent, MockResponse};

/// The exit code of a mock that has nothing left to say.
pub const EXHAUSTED: u8 = 97;
/// The exit code of the stand-in for a real model.
pub(crate) const BLOCKED: u8 = 126;

/// The folder, in that of a run, that everything inside writes to: counts, calls, hooks and the orchestrator's recording. The rest of the
/// run's folder is read-only for a confined run. Folders of earlier versions have no such folder.
pub(crate) fn notes_folder(run: &Path) -> PathBuf {
    let folder = run.join(NOTES);
    if folder.is_dir() { folder } else { run.to_owned() }
}

/// The name of [`notes_folder`].
pub(crate) const NOTES: &str = "notes";

/// Reads notes of a run. Whoever ran there may have put anything in their place: links and pipes are refused.
pub(crate) fn read_notes(run: &Path, name: &str) -> io::Result<Vec<u8>> {
    let path = notes_folder(run).join(name);
    proctor_files::read_with(&path, limits::PROGRAM_OUTPUT, Links::Refuse)
}

/// How the program looks up an environment variable; the binary alone reads the environment.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The arguments after the word that chooses the part.
pub(crate) struct Arguments {
    pub(crate) state: PathBuf,
    pub(crate) hat: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) real: Option<PathBuf>,
    pub(crate) file_bytes: Option<u64>,
    /// What followed `-p`, or stood alone.
    pub(crate) prompt: Option<String>,
    /// What followed `--`.
    pub(crate) rest: Vec<OsString>,
}

/// The program's whole life: call it from a binary with everything after the hidden subcommand.
pub fn main(arguments: impl IntoIterator<Item = OsString>, environment: Lookup<'_>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let part = arguments.next().unwrap_or_default();
    let Some(parsed) = parse(arguments) else { return ExitCode::from(2) };
    match part.to_str() {
        Some("call") => call::run(&parsed, environment),
        Some("hook") => hook::run(&parsed),
        Some("launch") => launch::run(&parsed),
        Some("blocked") => blocked(&parsed),
        Some("proxy") => proxy::run(&parsed, environment),
        _ => ExitCode::from(2),
    }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Arguments> {
    let mut parsed = Arguments {
        state: PathBuf::new(),
        hat: None,
        name: None,
        real: None,
        file_bytes: None,
        prompt: None,
        rest: Vec::new(),
    };
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default();
        let mut value = || arguments.next();
        match text {
            "--state" => parsed.state = value()?.into(),
            "--hat" => parsed.hat = Some(value()?.into_string().ok()?),
            "--name" => parsed.name = Some(value()?.into_string().ok()?),
            "--real" => parsed.real = Some(value()?.into()),
            "--file-bytes" => parsed.file_bytes = Some(value()?.to_str()?.parse().ok()?),
            "-p" | "--prompt" => parsed.prompt = Some(value()?.to_string_lossy().into_owned()),
            "--" => {
                parsed.rest.extend(arguments.by_ref());
            }
            _ => parsed.prompt = Some(argument.to_string_lossy().into_owned()),
        }
    }
    (!parsed.state.as_os_str().is_empty()).then_some(parsed)
}

/// A real model was called during a mock run: log the call and refuse it.
fn blocked(arguments: &Arguments) -> ExitCode {
    let call = serde_json::json!({
        "ts": crate::disk::now_ms(),
        "name": arguments.name,
        "arguments": arguments.rest.iter().take(8).map(|word| word.to_string_lossy())
            .map(|word| word.chars().take(200).collect::<String>()).collect::<Vec<_>>(),
    });
    let _ = crate::disk::append_line(&notes_folder(&arguments.state).join("blocked.jsonl"), &call);
    ExitCode::from(BLOCKED)
}
