//! Answers to an agent's hooks, in the shapes Claude Code sends and reads.
//!
//! [`plan`] decides from the hook's JSON what is to be done, [`HookReply`] is the JSON to print.
//! [`Journal::hook`] joins the two and never fails: whatever happens, the host gets a valid answer
//! and the error goes into [`HookReply::log`] for the caller to write down. A hook must not hold up
//! the agent, so open the journal with [`LOCK_WAIT`].

use std::path::PathBuf;

use proctor_text::shorten;
use serde_json::{Value, json};

use crate::capture::{
    CapturedOutcome, CommandReading, CommandResult, Expectation, RecordedResult, judge, observe,
};
use crate::decode;
use crate::disk::{Disk, LockWait};
use crate::entry::{Entry, Evidence};
use crate::error::JournalError;
use crate::journal::{CHECK_IN, Current, Journal};
use crate::step::Phase;
use crate::time::Moment;

/// How long a hook waits for the journal's lock before it gives up and answers.
pub const LOCK_WAIT: LockWait = LockWait::Milliseconds(50);

/// Options of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Tool calls between two check-ins; at least 1.
    pub frequency: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { frequency: CHECK_IN }
    }
}

/// What a host sends: bytes that are not UTF-8 and lone surrogates become U+FFFD.
pub fn read_input(input: &[u8]) -> Result<Value, BadInput> {
    decode::record(input).map_err(BadInput)
}

/// Bytes that are no input of a hook.
#[derive(Debug, thiserror::Error)]
#[error("the hook's input is not JSON: {0}")]
pub struct BadInput(#[source] serde_json::Error);

/// The folder the agent works in, if the host says.
pub fn folder_of(input: &Value) -> Option<PathBuf> {
    let folder = input.get("cwd").and_then(Value::as_str).filter(|folder| !folder.is_empty())?;
    Some(PathBuf::from(folder))
}

/// What a hook's input asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum HookAction {
    /// A session began or was resumed.
    Start {
        /// The host's session id.
        session: Option<String>,
    },
    /// A tool is about to be used.
    Count,
    /// A command that runs tests has ended.
    Tests(Box<CommandResult>),
    /// A session ended.
    End {
        /// The host's session id.
        session: Option<String>,
    },
    /// Nothing to do for this event.
    Nothing,
}

/// What the hook prints and what it logs.
#[derive(Clone, Debug, PartialEq)]
pub struct HookReply {
    /// One JSON object for the host.
    pub stdout: String,
    /// Errors and warnings for the hook's own log.
    pub log: Vec<String>,
}

impl HookReply {
    fn new(event: &str, context: Option<String>) -> Self {
        let answer = match context {
            Some(text) => json!({
                "hookSpecificOutput": { "hookEventName": event, "additionalContext": text }
            }),
            None => json!({}),
        };
        Self { stdout: answer.to_string(), log: Vec::new() }
    }
}

/// The event a hook's input names; empty if it names none.
fn event_of(input: &Value) -> &str {
    input.get("hook_event_name").and_then(Value::as_str).unwrap_or_default()
}

/// Decides what a hook's input asks for.
pub fn plan(input: &Value) -> HookAction {
    let session = input.get("session_id").and_then(Value::as_str).map(ToOwned::to_owned);
    match event_of(input) {
        "SessionStart" => HookAction::Start { session },
        "SessionEnd" => HookAction::End { session },
        "PreToolUse" => HookAction::Count,
        "PostToolUse" | "PostToolUseFailure" => {
            test_run(input).map_or(HookAction::Nothing, |run| HookAction::Tests(Box::new(run)))
        }
        _ => HookAction::Nothing,
    }
}

/// The run a finished tool call amounts to, if it ran tests.
///
/// The host reports a failing command as another event, with the output in `error`, and a
/// succeeding one without an exit code: there it is zero.
fn test_run(input: &Value) -> Option<CommandResult> {
    if input.get("tool_name").and_then(Value::as_str) != Some("Bash") {
        return None;
    }
    let command = input.pointer("/tool_input/command")?.as_str()?;
    let in_background = input.pointer("/tool_input/run_in_background");
    if CommandReading::of_line(command).runs_no_tests()
        || in_background.and_then(Value::as_bool) == Some(true)
    {
        return None;
    }
    let response = input.get("tool_response").unwrap_or(&Value::Null);
    let failed = event_of(input) == "PostToolUseFailure";
    let interrupted = [input.get("is_interrupt"), response.get("interrupted")]
        .into_iter()
        .flatten()
        .any(|flag| flag.as_bool() == Some(true));
    let output = if failed { text_of(input.get("error")) } else { output_of(response) };
    let exit = if failed { exit_in(&output) } else { Some(0) };
    Some(CommandResult {
        argv: vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
        exit: exit.filter(|_| !interrupted),
        timed_out: interrupted,
        duration_ms: input.get("duration_ms").and_then(Value::as_u64),
        output,
        output_is_cut: true,
        ..CommandResult::default()
    })
}

/// Standard output and error of a finished command.
fn output_of(response: &Value) -> String {
    if let Value::String(text) = response {
        return text.clone();
    }
    let parts = ["stdout", "stderr"].map(|name| text_of(response.get(name)));
    parts.join("\n").trim().to_owned()
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The exit code an error text begins with, as in `Exit code 1` or `… status code 1`; one that
/// says none is known only not to be zero.
fn exit_in(text: &str) -> Option<i32> {
    let first = text.lines().next().unwrap_or_default().to_lowercase();
    let (_, after) = first.split_once("code ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

impl<D: Disk> Journal<D> {
    /// Does what a hook asks for and answers it. Never fails.
    pub fn hook(&self, input: &[u8], options: Options, moment: &Moment) -> HookReply {
        match read_input(input) {
            Ok(input) => self.hook_with(&input, options, moment, |_| None),
            Err(error) => {
                let mut reply = HookReply::new("", None);
                reply.log.push(error.to_string());
                reply
            }
        }
    }

    /// The same for an input that was read already. `recorded` looks up what the recordings of Proctor's own runs say
    /// about a command.
    pub fn hook_with(
        &self,
        input: &Value,
        options: Options,
        moment: &Moment,
        recorded: impl FnOnce(&CommandResult) -> Option<RecordedResult>,
    ) -> HookReply {
        let event = event_of(input).to_owned();
        let mut log = Vec::new();
        let mut plan = plan(input);
        if let HookAction::Tests(run) = &mut plan {
            run.recorded = recorded(run);
        }
        let context =
            self.perform_action(plan, options, moment, &mut log).unwrap_or_else(|error| {
                log.push(format!("{event}: {error}"));
                None
            });
        HookReply { log, ..HookReply::new(&event, context) }
    }

    fn perform_action(
        &self,
        plan: HookAction,
        options: Options,
        moment: &Moment,
        log: &mut Vec<String>,
    ) -> Result<Option<String>, JournalError> {
        match plan {
            HookAction::Nothing => Ok(None),
            HookAction::Start { session } => self.on_start(session.as_deref(), moment, log),
            HookAction::End { session } => {
                match session {
                    Some(session) => self.end_session_if_named(&session, moment).map(drop)?,
                    None => self.end_session(moment).map(drop)?,
                }
                Ok(None)
            }
            HookAction::Count => self.on_tool(options, moment, log),
            HookAction::Tests(run) => self.on_tests(&run, moment, log),
        }
    }

    fn on_start(
        &self,
        session: Option<&str>,
        moment: &Moment,
        log: &mut Vec<String>,
    ) -> Result<Option<String>, JournalError> {
        let started = self.start_session(session, moment)?;
        log.extend(started.warnings.iter().map(ToString::to_string));
        Ok(self.current(moment)?.value.map(|current| active_entry_notice(&current)))
    }

    fn on_tool(
        &self,
        options: Options,
        moment: &Moment,
        log: &mut Vec<String>,
    ) -> Result<Option<String>, JournalError> {
        let used = self.use_tool(options.frequency.max(1), moment)?;
        log.extend(used.warnings.iter().map(ToString::to_string));
        let count = used.value.count;
        Ok(used.value.check_in.map(|entry| check_in_text(&entry, count)))
    }

    /// Attaches what the tests did to the active entry. It does not resolve: a hook does not see
    /// everything a wrapper sees, and the author is right there.
    fn on_tests(
        &self,
        run: &CommandResult,
        moment: &Moment,
        log: &mut Vec<String>,
    ) -> Result<Option<String>, JournalError> {
        let state = self.state(moment)?;
        let phase = state.value.phase();
        let (Some(entry), Phase::Active) = (state.value.current, phase) else { return Ok(None) };
        let stated = entry.expectation.as_ref();
        let expectation = stated.and_then(|stated| stated.expect.parse::<Expectation>().ok());
        let judged = expectation.map(|expectation| judge(&expectation, true, run, moment.now));
        let (evidence, verdict) = match judged {
            Some(judgement) => (judgement.evidence, Some(judgement.verdict)),
            None => (observe(run, moment.now), None),
        };
        // Without numbers only a known runner is worth a word: an agent starts many scripts.
        let is_known = CommandReading::of_words(&run.argv).runners().next().is_some();
        if evidence.counts.is_none() && (verdict.is_none() || !is_known) {
            return Ok(None);
        }
        let text = tests_text(&entry, &evidence, verdict);
        let attached = self.attach(evidence, moment)?;
        log.extend(attached.warnings.iter().map(ToString::to_string));
        Ok(Some(text))
    }
}

fn active_entry_notice(current: &Current) -> String {
    let Current { entry, orphan } = current;
    let goal = shorten(&entry.goal, 160);
    if *orphan {
        return format!(
            "Journal: an earlier session left entry {} active (goal: {goal}). Adopt it to go on \
             with it, or abandon it.",
            entry.id
        );
    }
    format!(
        "Journal: entry {} is active (goal: {goal}). Resolve or abandon it when it is decided.",
        entry.id
    )
}

fn check_in_text(entry: &Entry, count: u64) -> String {
    format!(
        "Journal check-in after {count} tool calls. Entry {}: hypothesis \"{}\"; prediction \"{}\". \
         If it still holds, go on. If it changed, update the entry; if it is decided, resolve it.",
        entry.id,
        shorten(&entry.hypothesis, 200),
        shorten(&entry.prediction, 200)
    )
}

fn tests_text(entry: &Entry, evidence: &Evidence, verdict: Option<CapturedOutcome>) -> String {
    let numbers = evidence.counts.as_ref().map_or("no numbers of tests".to_owned(), |counts| {
        format!("{} passed, {} failed, {} in error", counts.passed, counts.failed, counts.errors)
    });
    let advice = match verdict {
        Some(CapturedOutcome::Inconclusive) => {
            "That decides nothing; the entry stays active.".to_owned()
        }
        Some(verdict) => format!(
            "You expected {}: that would be {}. Resolve the entry if it is.",
            evidence.expectation.as_deref().unwrap_or_default(),
            verdict.as_str()
        ),
        None => "If that decides your prediction, resolve the entry.".to_owned(),
    };
    format!(
        "Journal: the tests ended ({numbers}) while entry {} predicts \"{}\". {advice}",
        entry.id,
        shorten(&entry.prediction, 160)
    )
}
