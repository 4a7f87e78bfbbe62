//! One call of the mock: choose, wait, act, answer, log.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::choose::{Choice, choose, counts};
use super::log::{self, Line};
use super::prompt::Prompt;
use super::script::{MockEvent, MockResponse, Script};
use super::{Arguments, EXHAUSTED, Lookup, notes_folder, read_notes, tags};
use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::error::ToolError;

/// How far a capped delay goes past the deadline, so that the orchestrator sees its time over.
const PAST_DEADLINE: Duration = Duration::from_millis(60);

/// Counts shared by the calls of a run.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    pub(crate) calls: u32,
    pub(crate) used: Vec<u32>,
    /// Calls that asked for more than there was.
    pub(crate) refused: u32,
    /// When the first call began, in milliseconds since 1970. The orchestrator's own clock was running by then.
    pub(crate) first_call_ms: u64,
}

pub(super) fn run(arguments: &Arguments, environment: Lookup<'_>) -> ExitCode {
    let state = &arguments.state;
    let Ok(Some(script)) = disk::read_json::<Script>(&state.join("script.json")) else {
        return ExitCode::from(2);
    };
    let prompt = Prompt::read(arguments.prompt.as_deref());
    let hat = arguments.hat.as_deref().or(script.coordinator.as_deref());
    let Ok((counts, choice)) = admit(state, &script, hat, &prompt) else {
        return ExitCode::from(2);
    };
    let events_file = environment("RALPH_EVENTS_FILE")
        .or_else(|| environment("PROCTOR_EVENTS_FILE"))
        .map(PathBuf::from)
        .or_else(|| script.events_file.clone());
    let deadline_ms = counts.first_call_ms + script.max_runtime_ms;
    let call = Call { state, script: &script, number: counts.calls, deadline_ms, events_file };
    match choice {
        Choice::Take(index) => call.answer(&script.responses[index]),
        Choice::Exhausted | Choice::NoMatch(_) => call.refuse(),
    }
}

/// Takes a number and a response under the lock, and logs the beginning of the call.
fn admit(
    state: &Path,
    script: &Script,
    hat: Option<&str>,
    prompt: &Prompt,
) -> Result<(Counts, Choice), ToolError> {
    let lock_path = notes_folder(state).join("counts.lock");
    let lock =
        disk::lock_file(&lock_path).map_err(|error| ToolError::io("open", &lock_path, &error))?;
    disk::lock_within(&lock, Duration::from_secs(30));
    let mut counts = read_counts(state)?;
    counts.used.resize(script.responses.len(), 0);
    let choice = choose(&script.responses, &counts.used, hat, prompt);
    let now = disk::now_ms();
    if counts.calls == 0 {
        counts.first_call_ms = now;
    }
    counts.calls += 1;
    let (response, refused) = match &choice {
        Choice::Take(index) => {
            counts.used[*index] += 1;
            (Some(*index), None)
        }
        Choice::Exhausted => (None, Some("every response was given already".to_owned())),
        Choice::NoMatch(reasons) => (None, Some(reasons.join("; "))),
    };
    counts.refused += u32::from(refused.is_some());
    disk::replace_json(&notes_folder(state).join("counts.json"), &counts)?;
    let line = Line::Begin {
        call: counts.calls,
        ts: now,
        hat: hat.map(str::to_owned),
        prompt: prompt.whole.clone(),
        response,
        refused,
        program: None,
    };
    let _ = log::append(state, &line);
    Ok((counts, choice))
}

pub(crate) fn read_counts(state: &Path) -> Result<Counts, ToolError> {
    let failed =
        |error: &io::Error| ToolError::io("read", &notes_folder(state).join("counts.json"), error);
    match read_notes(state, "counts.json") {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| failed(&error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Counts::default()),
        Err(error) => Err(failed(&error)),
    }
}

/// How many responses a run consumed, and how many there were.
pub(crate) fn consumed(state: &Path, responses: &[MockResponse]) -> (u32, u32, u32) {
    let read = read_counts(state).unwrap_or_default();
    let (consumed, total) = counts(responses, &read.used);
    (consumed, total, read.refused)
}

struct Call<'a> {
    state: &'a Path,
    script: &'a Script,
    number: u32,
    /// When the run's own time is over, in milliseconds since 1970.
    deadline_ms: u64,
    events_file: Option<PathBuf>,
}

impl Call<'_> {
    /// Nothing to say: ask the orchestrator to stop, for it would go on calling.
    fn refuse(&self) -> ExitCode {
        if let Some(stop) =
            self.script.stop_file.as_deref().and_then(|path| RelPath::parse(path).ok())
            && let Ok(root) = Root::open(&self.script.workspace)
        {
            let _ = root.write(&stop, b"", 0o644);
        }
        self.end("", EXHAUSTED.into(), false, Vec::new());
        let _ = io::stderr().write_all(b"proctor: the mock has no response left for this call\n");
        ExitCode::from(EXHAUSTED)
    }

    fn answer(&self, response: &MockResponse) -> ExitCode {
        if !self.wait(response.delay_ms.unwrap_or(0)) {
            let problems = cut_short(response).into_iter().collect();
            self.end("", 0, true, problems);
            return ExitCode::SUCCESS;
        }
        if response.hang {
            loop {
                std::thread::sleep(Duration::from_hours(1));
            }
        }
        let mut problems = self.write_files(response);
        let (mut events, mut said) = (Vec::new(), response.output.clone());
        if !response.raw_tags && self.events_file.is_some() {
            (events, said) = tags::split(&response.output);
        }
        events.extend(response.events.iter().cloned());
        let emitted = self.emit(&events, &response.malformed_events).map_err(|error| {
            problems.push(format!("its events were not written: {error}"));
        });
        let printed = print(&said, response.stderr.as_deref()).map_err(|error| {
            problems.push(format!("its output was not printed: {error}"));
        });
        let code = if emitted.and(printed).is_ok() { response.exit_code } else { 2 };
        self.end(&response.output, code.into(), false, problems);
        ExitCode::from(code)
    }

    /// Waits; false if the run's time was over before the delay was.
    fn wait(&self, delay_ms: u64) -> bool {
        let left = self.deadline_ms.saturating_sub(disk::now_ms());
        let delay = Duration::from_millis(delay_ms);
        let most = Duration::from_millis(left) + PAST_DEADLINE;
        std::thread::sleep(delay.min(most));
        delay <= most
    }

    /// Writes and deletes files; says which could not be.
    fn write_files(&self, response: &MockResponse) -> Vec<String> {
        let root = match Root::open(&self.script.workspace) {
            Ok(root) => root,
            Err(_) if response.files.is_empty() => return Vec::new(),
            Err(error) => return vec![format!("its files were not written: {error}")],
        };
        let mut problems = Vec::new();
        for (path, content) in &response.files {
            let done = match (RelPath::parse(path), content) {
                (Ok(path), Some(text)) => root.write(&path, text.as_bytes(), 0o644),
                (Ok(path), None) => root.remove(&path),
                (Err(problem), _) => Err(io::Error::other(problem.to_string())),
            };
            if let Err(error) = done {
                let verb = if content.is_some() { "written" } else { "deleted" };
                // Not printed: a further line on standard error could end up behind the output, of which orchestrators read the end.
                problems.push(format!("the file {path} was not {verb}: {error}"));
            }
        }
        problems
    }

    fn emit(&self, events: &[MockEvent], raw: &[String]) -> io::Result<()> {
        let Some(path) = &self.events_file else { return Ok(()) };
        let mut lines = String::new();
        for event in events {
            let ts = jiff::Timestamp::now().to_string();
            let row = json!({"topic": event.topic, "payload": event.payload, "ts": ts});
            lines.push_str(&format!("{row}\n"));
        }
        lines.extend(raw.iter().map(|line| format!("{line}\n")));
        if lines.is_empty() {
            return Ok(());
        }
        // A file of the workspace is reached through its root: a link in its place must not lead out.
        let path = self.script.workspace.join(path);
        let inside = path.strip_prefix(&self.script.workspace).ok().and_then(|p| p.to_str());
        match inside.and_then(|inside| RelPath::parse(inside).ok()) {
            Some(inside) => Root::open(&self.script.workspace)?.append(&inside, lines.as_bytes()),
            None => proctor_files::append_private(&path)?.write_all(lines.as_bytes()),
        }
    }

    fn end(&self, output: &str, exit_code: i32, cut_short: bool, problems: Vec<String>) {
        let line = Line::End {
            call: self.number,
            ts: disk::now_ms(),
            output: output.to_owned(),
            exit_code,
            cut_short,
            problems,
            recorded: None,
        };
        let _ = log::append(self.state, &line);
    }
}

/// What a response that came too late did not do.
fn cut_short(response: &MockResponse) -> Option<String> {
    let acts = !response.files.is_empty()
        || !response.events.is_empty()
        || !tags::split(&response.output).0.is_empty();
    acts.then(|| {
        "the run's time was over before its delay was: no file or event was written".to_owned()
    })
}

fn print(said: &str, complained: Option<&str>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(said.as_bytes())?;
    if !said.is_empty() && !said.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    io::stderr().write_all(complained.unwrap_or_default().as_bytes())
}
