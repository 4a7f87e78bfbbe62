//! A real model, listened to: the program is called as it was, and what it was asked, said, emitted and
//! wrote becomes one entry of the log, fit to be replayed by the mock.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

use proctor_files::limits;
use serde_json::Value;

use super::call::read_counts;
use super::log::{self, Line};
use super::prompt::Prompt;
use super::script::{MockEvent, MockResponse, Script};
use super::{Arguments, Lookup, notes_folder, read_notes};
use crate::contained_path::{RelPath, Root};
use crate::disk;
use crate::snapshot::{Manifest, Selection, Snapshots, diff};

/// Most of an output or a file that is kept for a replay.
const MOST: u64 = 4 * 1024 * 1024;
/// Longest prompt on standard input.
const LONGEST_INPUT: u64 = 16 * 1024 * 1024;

pub(super) fn run(arguments: &Arguments, environment: Lookup<'_>) -> ExitCode {
    let state = &arguments.state;
    let script: Script =
        disk::read_json(&state.join("script.json")).ok().flatten().unwrap_or_default();
    let Some(real) = &arguments.real else { return ExitCode::from(2) };
    let (prompt, input) = prompt(arguments);
    let number = begin(state, arguments, &prompt);
    let before = WorkspaceBefore::look(&script.workspace, environment);
    let (output, code) = match run_program(real, arguments, input) {
        Ok(done) => done,
        Err(error) => (format!("{error}"), 127),
    };
    let recorded = before.recorded(&output, code);
    let line = Line::End {
        call: number,
        ts: disk::now_ms(),
        output,
        exit_code: code,
        cut_short: false,
        problems: Vec::new(),
        recorded: Some(recorded),
    };
    let _ = log::append(state, &line);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The prompt: after `-p`, as the last argument, or on standard input; in the last case also the input itself,
/// for it can be read only once. A model that is called without a person reads its input to the end.
fn prompt(arguments: &Arguments) -> (String, Option<Vec<u8>>) {
    let words: Vec<String> =
        arguments.rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let after_flag = words.iter().position(|word| matches!(&**word, "-p" | "--prompt"));
    let given =
        after_flag.and_then(|place| words.get(place + 1)).filter(|word| !word.starts_with('-'));
    let given = given.or_else(|| words.last().filter(|word| word.contains(char::is_whitespace)));
    if let Some(text) = given {
        return (Prompt::read(Some(text)).whole, None);
    }
    let mut input = Vec::new();
    let _ = io::stdin().lock().take(LONGEST_INPUT).read_to_end(&mut input);
    (String::from_utf8_lossy(&input).into_owned(), Some(input))
}

fn begin(state: &Path, arguments: &Arguments, prompt: &str) -> u32 {
    let lock = disk::lock_file(&notes_folder(state).join("counts.lock")).ok();
    if let Some(lock) = &lock {
        disk::lock_within(lock, Duration::from_secs(30));
    }
    let mut counts = read_counts(state).unwrap_or_default();
    counts.calls += 1;
    let _ = disk::replace_json(&notes_folder(state).join("counts.json"), &counts);
    let line = Line::Begin {
        call: counts.calls,
        ts: disk::now_ms(),
        hat: last_hat(state),
        prompt: prompt.to_owned(),
        response: None,
        refused: None,
        program: arguments.name.clone(),
    };
    let _ = log::append(state, &line);
    counts.calls
}

/// The hat that the orchestrator's last hook named.
fn last_hat(state: &Path) -> Option<String> {
    let hooks = read_notes(state, "hooks.jsonl").ok()?;
    let last = hooks.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    let hook: Value = serde_json::from_slice(last).ok()?;
    hook["context"]["selected_hat"].as_str().map(str::to_owned)
}

/// Runs the real program with the same arguments and input; passes its output on and keeps it.
fn run_program(
    real: &Path,
    arguments: &Arguments,
    input: Option<Vec<u8>>,
) -> io::Result<(String, i32)> {
    let mut command = Command::new(real);
    command.args(&arguments.rest).stdout(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn()?;
    let feeder = child.stdin.take().zip(input).map(|(mut stdin, input)| {
        // A program that does not read it must not hold us up.
        std::thread::spawn(move || drop(stdin.write_all(&input)))
    });
    let kept = child.stdout.take().map_or(Ok(Vec::new()), copy_output)?;
    let status = child.wait()?;
    drop(feeder);
    Ok((String::from_utf8_lossy(&kept).into_owned(), status.code().unwrap_or(1)))
}

fn copy_output(mut from: ChildStdout) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let mut out = io::stdout().lock();
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        out.write_all(&chunk[..count])?;
        out.flush()?;
        if (kept.len() as u64) < MOST {
            kept.extend_from_slice(&chunk[..count]);
        }
    }
    Ok(kept)
}

/// The workspace as it was before the call.
struct WorkspaceBefore {
    root: Option<Root>,
    selection: Selection,
    files: Manifest,
    events_file: Option<PathBuf>,
    events_at: u64,
}

impl WorkspaceBefore {
    fn look(workspace: &Path, environment: Lookup<'_>) -> Self {
        let root = Root::open(workspace).ok();
        let selection = Selection::new(&[], &[]).unwrap_or_else(|_| Selection::anything());
        let events_file = environment("RALPH_EVENTS_FILE").map(PathBuf::from);
        let length = |path: &PathBuf| std::fs::metadata(path).map_or(0, |about| about.len());
        Self {
            files: look(root.as_ref(), &selection),
            events_at: events_file.as_ref().map_or(0, length),
            root,
            selection,
            events_file,
        }
    }

    /// What the model said and did, as a response.
    fn recorded(&self, output: &str, code: i32) -> MockResponse {
        MockResponse {
            output: model_text(output),
            exit_code: u8::try_from(code).unwrap_or(1),
            files: self.written(),
            events: self.emitted(),
            ..MockResponse::default()
        }
    }

    fn written(&self) -> BTreeMap<String, Option<String>> {
        let Some(root) = &self.root else { return BTreeMap::new() };
        let changes = diff::compare(&self.files, &look(Some(root), &self.selection));
        let text = |path: &str| {
            let bytes = root.read(&RelPath::parse(path).ok()?, MOST).ok()?;
            String::from_utf8(bytes).ok()
        };
        let written = changes.changed.iter().chain(&changes.added);
        let mut files: BTreeMap<String, Option<String>> =
            written.filter_map(|path| Some((path.clone(), Some(text(path)?)))).collect();
        files.extend(changes.deleted.into_iter().map(|path| (path, None)));
        files
    }

    fn emitted(&self) -> Vec<MockEvent> {
        let Some(path) = &self.events_file else { return Vec::new() };
        let bytes = proctor_files::read(path, limits::PROGRAM_OUTPUT).unwrap_or_default();
        let skip = usize::try_from(self.events_at).unwrap_or_default().min(bytes.len());
        let text = String::from_utf8_lossy(&bytes[skip..]).into_owned();
        text.lines()
            .filter_map(|line| {
                let row: Value = serde_json::from_str(line).ok()?;
                let payload = crate::orchestrator::ralph::events_file::text_of(&row["payload"]);
                Some(MockEvent { topic: row["topic"].as_str()?.to_owned(), payload })
            })
            .collect()
    }
}

fn look(root: Option<&Root>, selection: &Selection) -> Manifest {
    let seen = root.and_then(|root| Snapshots::look(root, selection, &Manifest::default()).ok());
    seen.unwrap_or_default()
}

/// The words of a model out of its stream of JSON lines; other output is words already.
fn model_text(output: &str) -> String {
    let mut words = String::new();
    for line in output.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return output.to_owned() };
        let content = value["message"]["content"].as_array().into_iter().flatten();
        for text in content.filter_map(|part| part["text"].as_str()) {
            words.push_str(text);
            words.push('\n');
        }
    }
    if words.is_empty() { output.to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_a_stream_and_plain_output_stays() {
        let stream = "{\"type\":\"system\"}\n{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n";
        assert_eq!(model_text(stream), "hi\n");
        assert_eq!(model_text("plain\nwords"), "plain\nwords");
    }
}
