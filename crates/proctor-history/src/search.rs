//! Full-text search in transcripts.
//!
//! The recordings themselves are read, newest first: nothing to build, nothing that could be out of date. Only lines in which the
//! words may stand are parsed; they are found at the speed at which memory is searched, in the halves of a large recording at once.

mod query;
mod titles;

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proctor_events::{Body, Event, Exception, Json};
use proctor_record::{RecordingChunks, RunStore};
use serde::Serialize;

pub use self::query::{QueryError, SearchQuery};

/// What a hit was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// The description of an example.
    Title,
    /// A user message.
    User,
    /// An agent response.
    Agent,
    /// A tool's name, arguments, result or error.
    Tool,
    /// A check: what it demands, or the judge's reasoning.
    Evaluation,
    /// What went wrong.
    Failure,
    /// What was printed.
    Output,
}

/// A text that contains the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchHit {
    /// The run.
    pub run: String,
    /// The example, where there is one.
    pub example_id: Option<String>,
    /// Its description.
    pub title: Option<String>,
    /// Which repetition.
    pub repeat: Option<u32>,
    /// Which attempt.
    pub attempt: Option<u32>,
    /// The turn of the conversation.
    pub turn: Option<u32>,
    /// The event's number.
    pub seq: Option<u64>,
    /// What it was found in.
    pub found: TextKind,
    /// The words with the text around them, on one line.
    pub excerpt: String,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SearchResult {
    /// The places, newest run first, in the order of events within a run.
    pub hits: Vec<SearchHit>,
    /// How many recordings were read.
    pub runs: u64,
    /// Whether there may be more than were asked for.
    pub truncated: bool,
    /// Recordings that could not be read.
    pub unreadable: Vec<String>,
}

/// Searches one recording.
pub fn search_recording(
    path: &Path,
    query: &SearchQuery,
    limit: usize,
) -> io::Result<SearchResult> {
    let name = proctor_record::recording_name(path);
    let mut searched = SearchResult { runs: 1, ..SearchResult::default() };
    search_file(path, &name, query, limit, &mut searched)?;
    Ok(searched)
}

/// Searches all recordings of a project, newest first.
pub fn search_runs(store: &RunStore, query: &SearchQuery, limit: usize) -> SearchResult {
    let mut searched = SearchResult::default();
    for folder in store.list().unwrap_or_default().iter().rev() {
        if searched.truncated {
            break;
        }
        searched.runs += 1;
        let path = folder.events_path();
        if let Err(error) = search_file(&path, &folder.name(), query, limit, &mut searched) {
            searched.unreadable.push(format!("{}: {error}", folder.name()));
        }
    }
    searched
}

fn search_file(
    path: &Path,
    run: &str,
    query: &SearchQuery,
    limit: usize,
    searched: &mut SearchResult,
) -> io::Result<()> {
    if query.is_empty() {
        return Ok(());
    }
    let room = limit - searched.hits.len();
    // One more than there is room for shows that there are more.
    let mut found = scan(path, run, query, room + 1)?;
    searched.truncated |= found.len() > room;
    found.truncate(room);
    titles::name_examples(path, &mut found)?;
    searched.hits.extend(found.into_iter().map(|found| found.hit));
    Ok(())
}

/// A hit, and where the line begins that it was found in.
struct FoundHit {
    hit: SearchHit,
    offset: u64,
}

/// From this size on a recording is read by two threads, each of which takes one half.
const LARGE: u64 = 8 << 20;

/// The first hits of a recording.
fn scan(path: &Path, run: &str, query: &SearchQuery, limit: usize) -> io::Result<Vec<FoundHit>> {
    let size = std::fs::metadata(path)?.len();
    if size < LARGE {
        return scan_part(path, 0..u64::MAX, run, query, limit, &AtomicBool::new(false));
    }
    let enough = AtomicBool::new(false);
    let (first, second) = std::thread::scope(|scope| {
        let second =
            scope.spawn(|| scan_part(path, size / 2..u64::MAX, run, query, limit, &enough));
        let first = scan_part(path, 0..size / 2, run, query, limit, &AtomicBool::new(false));
        if first.as_ref().map_or(true, |first| first.len() == limit) {
            enough.store(true, Ordering::Relaxed);
        }
        (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut found = first?;
    let room = limit - found.len();
    found.extend(second?.into_iter().take(room));
    Ok(found)
}

/// The first hits of a part of a recording; fewer once `enough` is set by another part.
fn scan_part(
    path: &Path,
    part: Range<u64>,
    run: &str,
    query: &SearchQuery,
    limit: usize,
    enough: &AtomicBool,
) -> io::Result<Vec<FoundHit>> {
    let mut found = Vec::new();
    let mut chunks = RecordingChunks::open_part(path, part)?;
    while let Some((offset, chunk)) = chunks.next()? {
        for line in query.candidates(chunk) {
            // Damaged lines are skipped.
            let Some(event) = parsed(&chunk[line.clone()]) else { continue };
            for (kind, text) in texts(&event) {
                if !query.looks_at(kind) {
                    continue;
                }
                let Some(excerpt) = query.excerpt(&text) else { continue };
                let offset = offset + line.start as u64;
                found.push(FoundHit { hit: hit(run, &event, kind, excerpt), offset });
                if found.len() == limit {
                    return Ok(found);
                }
            }
        }
        if enough.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(found)
}

fn parsed(line: &[u8]) -> Option<Event> {
    std::str::from_utf8(line).ok().and_then(|text| Event::from_json(text).ok())
}

fn hit(run: &str, event: &Event, found: TextKind, excerpt: String) -> SearchHit {
    SearchHit {
        run: run.to_owned(),
        example_id: event.example_id.as_ref().map(ToString::to_string),
        title: None,
        repeat: event.repeat,
        attempt: event.attempt,
        turn: turn(&event.body),
        seq: event.seq,
        found,
        excerpt,
    }
}

fn turn(body: &Body) -> Option<u32> {
    match body {
        Body::UserMessage(message) => Some(message.turn_number),
        Body::AgentResponse(message) => Some(message.turn_number),
        Body::ToolCallStarted(call) => Some(call.turn_number),
        Body::ToolCallCompleted(call) => Some(call.turn_number),
        Body::EvaluationRecorded(evaluation) => evaluation.turn_number,
        Body::AgentError(error) => error.turn_number,
        _ => None,
    }
}

/// What a person would read in an event.
fn texts(event: &Event) -> Vec<(TextKind, String)> {
    let mut all = Vec::new();
    let mut add = |found, parts: &[Option<&str>]| {
        let text = parts.iter().flatten().copied().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            all.push((found, text));
        }
    };
    match &event.body {
        Body::ExampleStarted(it) => add(TextKind::Title, &[Some(&it.path.join(" > "))]),
        Body::UserMessage(it) => add(TextKind::User, &[Some(&it.text)]),
        Body::AgentResponse(it) => add(TextKind::Agent, &[Some(&it.text)]),
        Body::ToolCallStarted(it) => {
            add(TextKind::Tool, &[Some(&it.tool_name), json(it.arguments.as_ref())]);
        }
        Body::ToolCallCompleted(it) => {
            add(
                TextKind::Tool,
                &[Some(&it.tool_name), json(it.result.as_ref()), it.error.as_deref()],
            );
        }
        Body::EvaluationRecorded(it) => add(
            TextKind::Evaluation,
            &[
                it.name.as_deref(),
                it.description.as_deref(),
                it.reasoning.as_deref(),
                it.failure_message.as_deref(),
            ],
        ),
        Body::InvariantEvaluated(it) => {
            add(TextKind::Evaluation, &[it.description.as_deref(), it.message.as_deref()]);
        }
        Body::ExampleFinished(it) => {
            add(TextKind::Title, &[it.own_name()]);
            add(TextKind::Failure, &[exception(it.exception.as_ref()), it.message.as_deref()]);
        }
        Body::ErrorOutsideExample(it) => {
            add(TextKind::Failure, &[exception(it.exception.as_ref()), it.message.as_deref()]);
        }
        Body::AgentError(it) => add(TextKind::Failure, &[Some(&it.message)]),
        Body::JudgeError(it) => add(TextKind::Failure, &[Some(&it.message)]),
        Body::WorkerLog(it) => add(TextKind::Output, &[Some(&it.line)]),
        _ => {}
    }
    all
}

fn json(value: Option<&Json>) -> Option<&str> {
    value.map(Json::text)
}

fn exception(exception: Option<&Exception>) -> Option<&str> {
    exception.map(|exception| exception.message.as_str())
}
