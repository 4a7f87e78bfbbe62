//! run: a command decides what becomes of the active entry.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use proctor_journal::capture::{Expectation, Run};
use proctor_journal::{Captured, Current, JournalError, Refusal, UtcTime};
use serde::Serialize;

use super::desk::{Desk, now, say};
use super::errors::refused;
use super::show::{Changed, brief};
use super::{child, git};
use crate::cli::Format;
use crate::cli::journal::CaptureArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// What a run is expected to do, and when that was said; `None` is what the entry says.
pub(super) type Stated = Option<(Expectation, UtcTime)>;

pub(super) fn run(
    arguments: &CaptureArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let stated = arguments.expect.clone().map(|expectation| (expectation, now().now));
    ready(desk, stated.as_ref(), terminal)?;
    let checkout = git::checkout();
    let reports = Reports::before(&arguments.junit);
    let started_at = now().now;
    let ended = child::run(&arguments.command, arguments.timeout.map(Duration::from_millis))?;
    if let (Some(126 | 127), 0) = (ended.exit, ended.duration_ms) {
        terminal.note(ended.output.trim_end());
    }
    let code = ended.code();
    let run = Run {
        argv: arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exit: ended.exit,
        signal: ended.signal,
        timed_out: ended.timed_out,
        duration_ms: Some(ended.duration_ms),
        output: ended.output,
        output_is_cut: ended.output_is_cut,
        reports: reports.written(terminal),
        counts: None,
        commit: checkout.commit,
        dirty: checkout.dirty,
    };
    match conclude(desk, stated, &run, started_at, arguments.format, terminal) {
        // What the command said about itself comes first; but a success that was not written down is none.
        Err(error) if code != 0 => terminal.report(&error),
        concluded => concluded?,
    }
    Ok(ExitCode::from(code))
}

/// Refuses before anything runs what would be refused afterwards.
pub(super) fn ready(
    desk: &Desk,
    stated: Option<&(Expectation, UtcTime)>,
    terminal: &mut Terminal,
) -> Result<Current, CommandError> {
    let operation = "resolve";
    let current = Desk::hear(desk.journal.current(&now()), terminal)?;
    let Some(current) = current else {
        return Err(refused(Refusal::NoActive { operation }.into()));
    };
    let id = current.entry.id.clone();
    if current.orphan {
        let session_id = current.entry.session_id.clone();
        return Err(refused(Refusal::OrphanPending { operation, id, session_id }.into()));
    }
    if stated.is_none() && current.entry.expectation.is_none() {
        return Err(refused(JournalError::NoExpectation { id }));
    }
    Ok(current)
}

#[derive(Serialize)]
struct Concluded<'a> {
    verdict: &'static str,
    reason: &'a str,
    #[serde(flatten)]
    changed: Changed<'a>,
    evidence: &'a proctor_journal::Evidence,
}

/// Gives the run to the journal and says on standard error what became of the entry.
pub(super) fn conclude(
    desk: &Desk,
    stated: Stated,
    run: &Run,
    started_at: UtcTime,
    format: Format,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let captured = desk.journal.capture(stated, run, started_at, &now()).map_err(refused)?;
    say(&captured.warnings, terminal);
    let Captured { entry, judgement } = &captured.value;
    let changed = Changed::new(entry, desk.journal.lane_name(), &captured.warnings);
    if format == Format::Json {
        let concluded = Concluded {
            verdict: judgement.verdict.as_str(),
            reason: &judgement.reason,
            changed,
            evidence: &judgement.evidence,
        };
        let text = serde_json::to_string(&concluded).map_err(std::io::Error::from)?;
        terminal.note(&text);
        return Ok(());
    }
    let state = match changed.tier {
        Some(tier) => format!(", {tier}"),
        None => "; the entry stays active".to_owned(),
    };
    terminal.note(&format!(
        "journal: {} is {} ({}){state}",
        changed.id,
        judgement.verdict.as_str(),
        brief(&judgement.reason, 200)
    ));
    if changed.needs_annotation {
        terminal.note(&format!(
            "journal: say why: `proctor journal annotate {} --surprise TEXT --root-cause WORD --because TEXT`",
            changed.id
        ));
    }
    Ok(())
}

/// Reports that the command is to write. One that was there before and stays as it was tells of another run.
struct Reports {
    before: Vec<(PathBuf, Option<SystemTime>)>,
    asked: Vec<PathBuf>,
}

impl Reports {
    fn before(asked: &[PathBuf]) -> Self {
        let files = asked.iter().flat_map(|path| files(path));
        let before = files.map(|path| (path.clone(), modified(&path))).collect();
        Self { before, asked: asked.to_vec() }
    }

    /// The contents of those that were written since.
    fn written(&self, terminal: &mut Terminal) -> Vec<String> {
        let mut contents = Vec::new();
        for asked in &self.asked {
            let mut is_written = false;
            for path in files(asked).into_iter().filter(|path| self.is_new(path)) {
                is_written = true;
                match std::fs::read(&path) {
                    Ok(bytes) => contents.push(String::from_utf8_lossy(&bytes).into_owned()),
                    Err(error) => {
                        terminal.warn(&format!("cannot read {}: {error}", path.display()));
                    }
                }
            }
            if !is_written {
                terminal.warn(&format!("the command did not write {}", asked.display()));
            }
        }
        contents
    }

    fn is_new(&self, path: &Path) -> bool {
        let now = modified(path);
        now.is_some() && !self.before.iter().any(|(old, time)| old == path && *time == now)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// The file itself, or the reports in a folder, in a fixed order.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let is_report =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "xml" || end == "json");
    let mut files: Vec<_> = folder.flatten().map(|entry| entry.path()).filter(is_report).collect();
    files.sort();
    files
}
