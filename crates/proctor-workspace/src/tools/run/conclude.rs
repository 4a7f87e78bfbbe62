//! The end of a run: what it left behind becomes a session and a result.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proctor_files::limits;
use serde_json::json;

use super::execute::{Ended, EndedBy};
use super::folder::{self, RunFolder, Start};
use super::{MockUse, RunResult};
use crate::cassette::Drift;
use crate::config::Config;
use crate::contained_path::RelPath;
use crate::disk;
use crate::error::{ErrorKind, ToolError};
use crate::mock::call;
use crate::mock::launch::Isolation;
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
    let reason = reason(ended, &collected, &place.record.orchestrator);
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
    root.write(&path, session::to_text(&records).as_bytes(), 0o644)
        .map_err(|error| ToolError::io("write", Path::new(&name), &error))?;
    let isolation: Isolation =
        disk::read_json(&run.path.join("isolation.json"))?.unwrap_or_default();
    let mut result = RunResult {
        exit_code: ended.exit_code,
        signal: ended.signal,
        termination_detail: detail(&reason, ended, &run),
        termination_reason: reason,
        limits: start.limits.clone(),
        iterations: collected.iterations,
        elapsed_secs: view::seconds(elapsed_ms),
        session_file: place.record.path.join(&name),
        events_count: records.len(),
        run: number,
        orchestrator: start.orchestrator.clone(),
        mock: mock_use(&run, start.backend)?,
        network_off: isolation.network_off,
        left_behind: ended.left_behind.iter().take(MOST_LEFT).cloned().collect(),
        warnings: start.warnings.clone(),
        ..RunResult::default()
    };
    result.notice = notice_if(result.termination_detail.is_some());
    result.warnings.append(&mut collected.warnings);
    warn(&mut result, &run, &start, ended, isolation);
    result.drift = start.cassette.as_ref().map(|cassette| {
        Drift::between(cassette, &sources.calls, &records, &result.termination_reason)
    });
    disk::replace_json(&run.path.join("result.json"), &result)?;
    Ok(result)
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

fn warn(
    result: &mut RunResult,
    run: &RunFolder,
    start: &Start,
    ended: &Ended,
    isolation: Isolation,
) {
    let warnings = &mut result.warnings;
    if let Some(why) = isolation.why_network {
        warnings.push(format!("the network was not cut: {why}"));
    }
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
    let blocked = proctor_files::read_text(&run.path.join("blocked.jsonl"), limits::PROGRAM_OUTPUT)
        .unwrap_or_default();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    for call in
        blocked.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
    {
        *tried.entry(call["name"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for (name, times) in tried {
        let often = if times == 1 { String::new() } else { format!(" ({times} times)") };
        warnings.push(format!(
            "something tried to call the real model program {name:?}{often}; it was stopped"
        ));
    }
    for left in ended.left_behind.iter().take(MOST_LEFT) {
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
