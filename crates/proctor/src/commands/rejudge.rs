//! `proctor rejudge`: saved conversations are judged again, without their agents.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use proctor_converse::{Lane, Saved, SavedTalk, SavedTalkBuilder};
use proctor_events::{Body, Event, ExampleFinished, ExampleId};
use proctor_record::{Entry, Reader, RunChoice, RunData, RunSplitter};
use proctor_verdict::Policy;

use super::{recording_path, run};
use crate::cli::talk::RejudgeArguments;
use crate::cli::{Cli, Command, RunArguments, Tolerance, Unchecked};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &RejudgeArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    let loaded = proctor_record::load(&path, &RunChoice::Last).map_err(CommandError::unusable)?;
    let (root, config) = project::open(cli, terminal)?;
    let talks = talks(&path, &loaded.run, &arguments.only)?;
    if talks.is_empty() {
        return Err(CommandError::unusable(format_args!(
            "{} holds no conversation of a scenario file to judge again",
            path.display()
        )));
    }
    let mut run_arguments = run_arguments(arguments, &talks, &root)?;
    keep_policy(&mut run_arguments, loaded.run.policy);
    let saved = Arc::new(Saved::new(talks.into_iter().map(|talk| (talk.lane, talk.said))));
    run_arguments.retries = Some(saved.most_attempts() - 1);
    Ok(run::once(&run_arguments, &root, &config, Some(&saved), terminal)?.code)
}

/// A conversation of the recording.
struct Talk {
    lane: Lane,
    file: String,
    said: SavedTalk,
}

/// The conversations of the examples that are chosen, in the order of the recording.
fn talks(path: &Path, run: &RunData, only: &[String]) -> Result<Vec<Talk>, CommandError> {
    let files: HashMap<&ExampleId, &str> = run
        .examples
        .iter()
        .filter(|example| example.suite.as_deref() == Some("scenario"))
        .filter_map(|example| Some((example.id.as_ref()?, example.file.as_deref()?)))
        .filter(|(id, _)| {
            only.is_empty() || only.iter().any(|start| id.as_str().starts_with(start))
        })
        .collect();
    let mut open: HashMap<Lane, SavedTalkBuilder> = HashMap::new();
    let mut order: Vec<Lane> = Vec::new();
    let mut ended: HashMap<Lane, ExampleFinished> = HashMap::new();
    for event in last_run(path)? {
        let Some(lane) = lane(&event).filter(|lane| files.contains_key(&lane.example)) else {
            continue;
        };
        match event.body {
            Body::ExampleFinished(finished) => drop(ended.insert(lane, finished)),
            Body::UserMessage(_) if !open.contains_key(&lane) => {
                order.push(lane.clone());
                open.entry(lane).or_default().add(&event.body);
            }
            body => {
                if let Some(talk) = open.get_mut(&lane) {
                    talk.add(&body);
                }
            }
        }
    }
    let talks = order.into_iter().filter_map(|lane| {
        let said = open.remove(&lane)?.finish(ended.get(&lane));
        let file = (*files.get(&lane.example)?).to_owned();
        Some(Talk { lane, file, said })
    });
    Ok(talks.collect())
}

/// Which attempt an event belongs to.
fn lane(event: &Event) -> Option<Lane> {
    let (repeat, attempt) = (event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
    Some(Lane { example: event.example_id.clone()?, repeat, attempt })
}

/// The events of the last run in a file.
fn last_run(path: &Path) -> Result<Vec<Event>, CommandError> {
    let mut splitter = RunSplitter::default();
    let mut events = Vec::new();
    let mut newest = 0;
    for entry in Reader::open(path).map_err(CommandError::unusable)? {
        let Entry::Event { event, .. } = entry else { continue };
        let (begins, place) = splitter.place(&event);
        if begins.is_some() {
            events.clear();
            newest = place;
        }
        if place == newest {
            events.push(*event);
        }
    }
    Ok(events)
}

/// What the recorded run tolerated and refused holds for the new one: only what is judged otherwise may change its verdict.
fn keep_policy(run: &mut RunArguments, policy: Policy) {
    let tolerance = |fails| if fails { Tolerance::Fail } else { Tolerance::Ok };
    run.flaky = tolerance(policy.flaky_fails);
    run.inconclusive = tolerance(policy.inconclusive_fails);
    run.unchecked = if policy.unchecked_fails { Unchecked::Fail } else { Unchecked::Warn };
}

/// The arguments of `proctor run` that conduct just these conversations.
fn run_arguments(
    arguments: &RejudgeArguments,
    talks: &[Talk],
    root: &Path,
) -> Result<RunArguments, CommandError> {
    let files: BTreeSet<String> =
        talks.iter().map(|talk| root.join(&talk.file).to_string_lossy().into_owned()).collect();
    let words = ["proctor", "run"].into_iter().chain(files.iter().map(String::as_str));
    let parsed = Cli::try_parse_from(words).map_err(CommandError::unusable)?;
    let Command::Run(mut run) = parsed.command else {
        return Err(CommandError::unusable("cannot put a run together; this is a bug in proctor"));
    };
    let ids: BTreeSet<&str> = talks.iter().map(|talk| talk.lane.example.as_str()).collect();
    run.selection.stable_id = ids.into_iter().map(str::to_owned).collect();
    run.ui = arguments.ui;
    run.talk = arguments.talk.clone();
    Ok(*run)
}
