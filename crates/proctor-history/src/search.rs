//! Looking for words in transcripts.
//!
//! The recordings themselves are read, newest first: nothing to build, nothing that could be out of date. A line whose bytes cannot
//! hold the words is passed over without being parsed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use proctor_events::{Body, Event, ExampleId, Exception, Json};
use proctor_record::RunStore;
use serde::Serialize;

/// What a hit was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The description of an example.
    Title,
    /// What the user said.
    User,
    /// What the agent said.
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

/// A place where the words stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
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
    pub found: Found,
    /// The words with what stands around them, on one line.
    pub excerpt: String,
}

/// What a search came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Searched {
    /// The places, newest run first, in the order of events within a run.
    pub hits: Vec<Hit>,
    /// How many recordings were read.
    pub runs: u64,
    /// Whether there may be more than were asked for.
    pub truncated: bool,
    /// Recordings that could not be read.
    pub unreadable: Vec<String>,
}

/// How much stands around the words.
const AROUND: usize = 60;

/// Searches one recording. All words of the query must stand in the same text; case does not matter.
pub fn search_recording(path: &Path, query: &str, limit: usize) -> io::Result<Searched> {
    let name = run_name(path);
    let mut searched = Searched { runs: 1, ..Searched::default() };
    search_file(path, &name, &Query::new(query), limit, &mut searched)?;
    Ok(searched)
}

/// Searches all recordings of a project, newest first.
pub fn search_runs(store: &RunStore, query: &str, limit: usize) -> Searched {
    let query = Query::new(query);
    let mut searched = Searched::default();
    for folder in store.list().unwrap_or_default().iter().rev() {
        if searched.truncated {
            break;
        }
        searched.runs += 1;
        let path = folder.events_path();
        if let Err(error) = search_file(&path, &folder.name(), &query, limit, &mut searched) {
            searched.unreadable.push(format!("{}: {error}", folder.name()));
        }
    }
    searched
}

fn run_name(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name);
    let name = if path.ends_with("events.jsonl") { folder } else { path.file_name() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn search_file(
    path: &Path,
    run: &str,
    query: &Query,
    limit: usize,
    searched: &mut Searched,
) -> io::Result<()> {
    if query.words.is_empty() {
        return Ok(());
    }
    let mut input = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut titles: HashMap<ExampleId, String> = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let names_an_example = contains(&line, b"\"ExampleStarted\"");
        if !names_an_example && !query.may_be_in(&line) {
            continue;
        }
        // Damaged lines hold no words that anybody said.
        let Some(event) =
            std::str::from_utf8(&line).ok().and_then(|text| Event::from_json(text).ok())
        else {
            continue;
        };
        if let (Body::ExampleStarted(started), Some(id)) = (&event.body, &event.example_id) {
            titles.entry(id.clone()).or_insert_with(|| started.path.join(" > "));
        }
        for (found, text) in texts(&event) {
            let Some(excerpt) = query.excerpt(&text) else { continue };
            if searched.hits.len() == limit {
                searched.truncated = true;
                return Ok(());
            }
            searched.hits.push(hit(run, &event, found, excerpt, &titles));
        }
    }
}

fn hit(
    run: &str,
    event: &Event,
    found: Found,
    excerpt: String,
    titles: &HashMap<ExampleId, String>,
) -> Hit {
    Hit {
        run: run.to_owned(),
        example_id: event.example_id.as_ref().map(ToString::to_string),
        title: event.example_id.as_ref().and_then(|id| titles.get(id)).cloned(),
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
fn texts(event: &Event) -> Vec<(Found, String)> {
    let mut all = Vec::new();
    let mut add = |found, parts: &[Option<&str>]| {
        let text = parts.iter().flatten().copied().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            all.push((found, text));
        }
    };
    match &event.body {
        Body::ExampleStarted(it) => add(Found::Title, &[Some(&it.path.join(" > "))]),
        Body::UserMessage(it) => add(Found::User, &[Some(&it.text)]),
        Body::AgentResponse(it) => add(Found::Agent, &[Some(&it.text)]),
        Body::ToolCallStarted(it) => {
            add(Found::Tool, &[Some(&it.tool_name), json(it.arguments.as_ref())]);
        }
        Body::ToolCallCompleted(it) => {
            add(Found::Tool, &[Some(&it.tool_name), json(it.result.as_ref()), it.error.as_deref()]);
        }
        Body::EvaluationRecorded(it) => add(
            Found::Evaluation,
            &[
                it.name.as_deref(),
                it.description.as_deref(),
                it.reasoning.as_deref(),
                it.failure_message.as_deref(),
            ],
        ),
        Body::InvariantEvaluated(it) => {
            add(Found::Evaluation, &[it.description.as_deref(), it.message.as_deref()]);
        }
        Body::ExampleFinished(it) => {
            add(Found::Failure, &[exception(it.exception.as_ref()), it.message.as_deref()]);
        }
        Body::ErrorOutsideExample(it) => {
            add(Found::Failure, &[exception(it.exception.as_ref()), it.message.as_deref()]);
        }
        Body::AgentError(it) => add(Found::Failure, &[Some(&it.message)]),
        Body::JudgeError(it) => add(Found::Failure, &[Some(&it.message)]),
        Body::WorkerLog(it) => add(Found::Output, &[Some(&it.line)]),
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

struct Query {
    words: Vec<String>,
    /// Words that stand in JSON as they are, so that a line without them can be passed over.
    plain: Vec<Vec<u8>>,
}

impl Query {
    fn new(query: &str) -> Self {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let stands_as_it_is = |word: &&String| {
            word.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'/'))
        };
        let plain = words.iter().filter(stands_as_it_is).map(|word| word.clone().into_bytes());
        Self { plain: plain.collect(), words }
    }

    fn may_be_in(&self, line: &[u8]) -> bool {
        // A writer may have escaped what need not be.
        if contains(line, b"\\u") {
            return true;
        }
        self.plain.iter().all(|word| contains_ignoring_case(line, word))
    }

    /// The surroundings of the first word, if all words are there.
    fn excerpt(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        if !self.words.iter().all(|word| lower.contains(word)) {
            return None;
        }
        let place = lower.find(self.words.first()?)?;
        // Lower case can have other lengths: count characters, not bytes.
        let before = lower[..place].chars().count();
        let start = before.saturating_sub(AROUND);
        let length = AROUND * 2 + self.words[0].chars().count();
        let part: String = text.chars().skip(start).take(length).collect();
        let squeezed = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let more = text.chars().nth(start + length).is_some();
        let (left, right) = (if start > 0 { "…" } else { "" }, if more { "…" } else { "" });
        Some(format!("{left}{squeezed}{right}"))
    }
}

fn contains(line: &[u8], word: &[u8]) -> bool {
    line.windows(word.len()).any(|window| window == word)
}

fn contains_ignoring_case(line: &[u8], word: &[u8]) -> bool {
    line.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}
