//! The end of a run: what it left behind becomes a session and a result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proctor_sandbox::LaunchReport;
use serde_json::json;

use super::execute::{Ended, EndedBy};
use super::folder::{self, RunFolder, Start};
use super::{LeftBehind, MockUse, RunResult};
use crate::cassette::Drift;
use crate::config::Config;
use crate::confined;
use crate::contained_path::RelPath;
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::mock;
use crate::mock::call;
use crate::mock::log;
use crate::mock::script::Script;
use crate::orchestrator::{Backend, Collected, Orchestrator, RunOutputs};
use crate::registry::Place;
use crate::session::merge::{Ending, merge};
use crate::session::{self, view};
use crate::tools::notice_if;

/// How many processes that were left behind are named.
const MOST_LEFT: usize = 20;

/// Reads what a run left, writes its session and result.
pub(crate) fn conclude(
    config: &Config,
    place: &Place,
    number: u32,
    ended: &Ended,
) -> Result<RunResult, ToolError> {
    let run = RunFolder::of(place, number);
    let Some(start) = run.start()? else {
        return Err(ToolError::new(ErrorKind::NoRun, format!("run {number} never began")));
    };
    let root = place.root()?;
    let adapter = place.record.orchestrator.adapter();
    let mut collected = adapter.collect(&RunOutputs {
        root: &root,
        folder: &run.path,
        cursor: &start.cursor,
        topology: start.topology.clone(),
        read_bytes: config.limits.read_bytes,
    });
    let calls = log::read(&run.path);
    let launch = LaunchReport::read(&run.path.join(confined::REPORT))
        .map_err(|error| ToolError::io("read", &run.path.join(confined::REPORT), &error))?;
    let reason = match launch.disk_limit {
        Some(_) => "HarnessDiskLimit".to_owned(),
        None => reason(ended, &collected, &place.record.orchestrator),
    };
    let elapsed_ms = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
    if matches!(place.record.orchestrator, Orchestrator::Generic(_)) {
        collected.iterations = calls.len() as u64;
    }
    let mut sources = std::mem::take(&mut collected.sources);
    sources.started_ms = start.started_ms;
    sources.ending = Ending {
        ts: start.started_ms + elapsed_ms,
        reason: reason.clone(),
        iterations: collected.iterations,
        elapsed_secs: view::seconds(elapsed_ms),
        exit_code: ended.exit_code,
        signal: ended.signal,
        origin: if collected.reason.as_ref() == Some(&reason) {
            collected.reason_origin
        } else {
            "harness"
        }
        .to_owned(),
    };
    sources.calls = calls;
    let records = merge(&sources);
    let name = folder::session_name(place, number);
    let path = RelPath::parse(&name).map_err(|problem| ToolError::invalid(problem.to_string()))?;
    let text = session::to_text(&records);
    root.write(&path, &config.redactor.redact_json_line(text.as_bytes()), 0o644)
        .map_err(|error| ToolError::io("write", Path::new(&name), &error))?;
    let mut result = RunResult {
        exit_code: ended.exit_code,
        signal: ended.signal,
        termination_detail: launch.disk_limit.clone().or_else(|| detail(&reason, ended, &run)),
        termination_reason: reason,
        limits: start.limits.clone(),
        iterations: collected.iterations,
        elapsed_secs: view::seconds(elapsed_ms),
        session_file: place.record.path.join(&name),
        events_count: records.len(),
        run: number,
        orchestrator: start.orchestrator.clone(),
        mock: mock_use(&run, start.backend)?,
        network_off: start.network_off,
        left_behind: left_behind(ended, &launch),
        warnings: start.warnings.clone(),
        ..RunResult::default()
    };
    result.notice = notice_if(result.termination_detail.is_some());
    result.warnings.append(&mut collected.warnings);
    warn(&mut result, &run, &start, ended);
    result.drift = start.cassette.as_ref().map(|cassette| {
        Drift::between(cassette, &sources.calls, &records, &result.termination_reason)
    });
    // The result comes last: as long as it is missing, the next access concludes the run again, and filters its logs.
    redact_logs(config, &run)?;
    write_result(config, &run, &result)?;
    Ok(result)
}

/// Writes the result without secrets: command lines of processes that were left behind are in it.
fn write_result(config: &Config, run: &RunFolder, result: &RunResult) -> Result<(), ToolError> {
    let path = run.path.join("result.json");
    let bytes =
        serde_json::to_vec(result).map_err(|error| ToolError::io("write", &path, &error.into()))?;
    disk::replace(&path, &config.redactor.redact_json_line(&bytes))
}

/// Removes secrets from the logs of the run. The mock writes them in a process that knows none, so it is done when the run is over.
fn redact_logs(config: &Config, run: &RunFolder) -> Result<(), ToolError> {
    for name in ["calls.jsonl", "hooks.jsonl", "blocked.jsonl"] {
        let Ok(bytes) = mock::read_notes(&run.path, name) else { continue };
        if let Cow::Owned(clean) = config.redactor.redact_json_line(&bytes) {
            disk::replace(&mock::notes_folder(&run.path).join(name), &clean)?;
        }
    }
    Ok(())
}

fn reason(ended: &Ended, collected: &Collected, orchestrator: &Orchestrator) -> String {
    let generic = matches!(orchestrator, Orchestrator::Generic(_));
    let word = match (ended.by, &collected.reason, ended.exit_code) {
        (EndedBy::Timeout, ..) => "HarnessTimeout",
        (EndedBy::Cancel, ..) => "HarnessCancelled",
        (_, Some(reason), _) => return reason.clone(),
        (EndedBy::Lost, ..) => "HarnessLost",
        (_, _, None) => "Killed",
        (_, _, Some(_)) if generic => "Exited",
        (_, _, Some(2)) if collected.iterations == 0 => "UsageError",
        (_, _, Some(_)) if collected.iterations == 0 => "StartupError",
        _ => "Unknown",
    };
    word.to_owned()
}

/// How a run ended that did not say why itself, with the end of what it printed.
fn detail(reason: &str, ended: &Ended, run: &RunFolder) -> Option<String> {
    const MOST: usize = 2000;
    if !matches!(reason, "StartupError" | "UsageError" | "Killed" | "Unknown") {
        return None;
    }
    let how = match (ended.exit_code, ended.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    };
    let printed = [run.output("stdout"), run.output("stderr")].join("\n");
    let printed = printed.trim();
    if printed.is_empty() {
        return Some(format!("{how}; it printed nothing"));
    }
    let tail = &printed[printed.ceil_char_boundary(printed.len().saturating_sub(MOST))..];
    let shown = if tail.len() < printed.len() { format!("…{tail}") } else { tail.to_owned() };
    Some(format!("{how}; it printed: {shown}"))
}

/// What the guard killed, and what the kernel did when the sandbox ended.
fn left_behind(ended: &Ended, launch: &LaunchReport) -> Vec<LeftBehind> {
    let inside = launch.left_behind.iter().cloned().map(LeftBehind::from);
    ended.left_behind.iter().cloned().chain(inside).take(MOST_LEFT).collect()
}

fn mock_use(run: &RunFolder, backend: Backend) -> Result<Option<MockUse>, ToolError> {
    if backend != Backend::Mock {
        return Ok(None);
    }
    let script: Script = disk::read_json(&run.path.join("script.json"))?.unwrap_or_default();
    let (consumed, total, refused) = call::consumed(&run.path, &script.responses);
    let used = call::read_counts(&run.path)?.used;
    let given = |index: usize| used.get(index).copied().unwrap_or(0);
    let left = script.responses.iter().enumerate();
    let unconsumed = left
        .filter(|(index, response)| given(*index) < response.times())
        .map(|(index, _)| index)
        .collect();
    Ok(Some(MockUse { consumed, total, refused, unconsumed }))
}

fn warn(result: &mut RunResult, run: &RunFolder, start: &Start, ended: &Ended) {
    let warnings = &mut result.warnings;
    if ended.output_truncated {
        warnings.push("output beyond the limit was not kept".to_owned());
    }
    if let Some(mock) = result.mock.as_ref().filter(|mock| !mock.unconsumed.is_empty()) {
        warnings.push(format!("mock responses were not consumed: {:?}", mock.unconsumed));
    }
    for call in log::read(&run.path) {
        let number = call.call;
        let problems = call.problems.iter();
        warnings.extend(problems.map(|problem| format!("mock call {number}: {problem}")));
    }
    let blocked = mock::read_notes(&run.path, "blocked.jsonl").unwrap_or_default();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    let lines = blocked.split(|byte| *byte == b'\n');
    for call in lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok()) {
        *tried.entry(call["name"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for (name, times) in tried {
        let often = if times == 1 { String::new() } else { format!(" ({times} times)") };
        warnings.push(format!(
            "something tried to call the real model program {name:?}{often}; it was stopped"
        ));
    }
    for left in &result.left_behind {
        warnings.push(format!(
            "a process was left behind and killed: {} (pid {})",
            left.command, left.pid
        ));
    }
    if start.backend != Backend::Mock
        && log::read(&run.path).is_empty()
        && ended.by == EndedBy::Itself
    {
        warnings.push("the real model was never called through our proxy".to_owned());
    }
    if start.backend == Backend::Mock
        && result.iterations > 0
        && result
            .mock
            .as_ref()
            .is_some_and(|mock| mock.total > 0 && mock.consumed + mock.refused == 0)
    {
        warnings.push("the mock was never called".to_owned());
    }
}

/// Concludes runs whose server was killed. The caller holds the workspace.
pub(crate) fn recover(config: &Config, place: &Place) -> Result<(), ToolError> {
    for number in folder::numbers(place) {
        let run = RunFolder::of(place, number);
        if run.result()?.is_some() {
            continue;
        }
        let Some(start) = run.start()? else {
            // It never began.
            let _ = std::fs::remove_dir_all(&run.path);
            continue;
        };
        let last = std::fs::metadata(run.path.join("stdout")).and_then(|about| about.modified());
        let until = last.map_or(start.started_ms, disk::millis);
        let lost = Ended {
            by: EndedBy::Lost,
            exit_code: None,
            signal: None,
            elapsed: Duration::from_millis(until.saturating_sub(start.started_ms)),
            left_behind: Vec::new(),
            output_truncated: false,
        };
        conclude(config, place, number, &lost)?;
    }
    Ok(())
}

/// Concludes lost runs if no run holds the workspace.
pub(crate) fn recover_if_free(config: &Config, place: &Place) -> Result<(), ToolError> {
    let open = folder::numbers(place)
        .into_iter()
        .any(|number| RunFolder::of(place, number).result().is_ok_and(|result| result.is_none()));
    if !open {
        return Ok(());
    }
    match place.lock_when_idle(Duration::ZERO) {
        Ok(_held) => recover(config, place),
        Err(error) if error.kind == ErrorKind::Busy => Ok(()),
        Err(error) => Err(error),
    }
}

/// Says that a run is still going, where its result is needed.
pub(crate) fn still_running(number: u32) -> ToolError {
    ToolError::new(ErrorKind::Busy, format!("run {number} is still going"))
        .hint("poll test_inspect with format \"summary\" until running is false")
        .details(json!({"run": number}))
}
