//! Entries in words and as data.
//!
//! Entries hold whatever an agent wrote: every text that goes to a terminal passes through the library's renderer,
//! which lets no control character through.

use proctor_journal::render::{Block, Document, Format};
use proctor_journal::step::FIRST_EVIDENCE;
use proctor_journal::{
    ConfidenceTier, Entry, EntryPlace, Evidence, FoundEntry, HistoryEntry, Warning,
};
use proctor_text::{one_line, plural, shorten};
use serde::Serialize;

/// The short answer of a command that changed something.
#[derive(Serialize)]
pub(super) struct Changed<'a> {
    pub(super) id: &'a str,
    pub(super) status: &'static str,
    pub(super) iteration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tier: Option<&'static str>,
    pub(super) session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lane: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) needs_annotation: bool,
    pub(super) warnings: Vec<String>,
}

impl<'a> Changed<'a> {
    pub(super) fn new(entry: &'a Entry, lane: Option<&'a str>, warnings: &[Warning]) -> Self {
        Self {
            id: &entry.id,
            status: status(entry),
            iteration: entry.iteration_count,
            tier: entry.confidence_tier.map(ConfidenceTier::as_str),
            session: &entry.session_id,
            lane,
            needs_annotation: entry.needs_annotation(),
            warnings: warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// An entry with its place.
#[derive(Serialize)]
pub(super) struct Placed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lane: Option<&'a str>,
    pub(super) place: String,
    pub(super) entry: &'a Entry,
}

impl<'a> Placed<'a> {
    pub(super) fn new(found: &'a FoundEntry) -> Self {
        let place = match &found.place {
            EntryPlace::Active => "active".to_owned(),
            EntryPlace::Session => "session".to_owned(),
            EntryPlace::Archive(path) => path.display().to_string(),
        };
        Self { lane: found.lane.as_deref(), place, entry: &found.entry }
    }
}

pub(super) fn status(entry: &Entry) -> &'static str {
    entry.status().map_or("active", |status| status.as_str())
}

/// Entries as a table.
pub(super) fn table(entries: &[FoundEntry]) -> String {
    let head = ["id", "created", "status", "tier", "n", "domain", "lane", "goal"];
    let lines = entries.iter().map(|found| {
        let entry = &found.entry;
        let tier = entry.confidence_tier.map_or("–", |tier| tier.as_str());
        let mark = if entry.needs_annotation() { "falsified?" } else { status(entry) };
        [
            entry.id.clone(),
            entry.created_at.civil().strftime("%Y-%m-%d %H:%M").to_string(),
            mark.to_owned(),
            tier.to_owned(),
            entry.iteration_count.to_string(),
            entry.domain.to_string(),
            found.lane.clone().unwrap_or_else(|| "–".to_owned()),
            shorten(&entry.goal, 60),
        ]
        .to_vec()
    });
    let rows: Vec<Vec<String>> = lines.collect();
    let noun = plural(rows.len(), "entry", "entries");
    let mut document = Document::new(format!("{} {noun}", rows.len()));
    document.blocks.push(Block::Table { head: head.map(ToOwned::to_owned).to_vec(), rows });
    document.render(Format::Text)
}

/// An entry in full.
pub(super) fn full(entry: &Entry, lane: Option<&str>) -> String {
    let mut out = format!("{} ({})\n\n", one_line(&entry.id), status(entry));
    for (name, value) in fields(entry, lane) {
        if let Some(value) = value {
            out += &format!("{name:<12}{}\n", one_line(&value));
        }
    }
    for (heading, lines) in [
        ("Earlier iterations", entry.history.iter().map(iteration_lines).collect()),
        ("Notes", entry.notes.iter().map(|note| format!("- {}\n", one_line(note))).collect()),
        ("Evidence", evidence(entry)),
    ] {
        if !lines.is_empty() {
            out += &format!("\n{heading}\n{lines}");
        }
    }
    out
}

/// What an entry says, line by line.
fn fields(entry: &Entry, lane: Option<&str>) -> [(&'static str, Option<String>); 17] {
    let outcome = entry.outcome.as_ref();
    let cause = entry.root_cause.as_ref();
    let lesson = entry.lesson.as_ref();
    let said = entry.expectation.as_ref();
    [
        ("goal", Some(entry.goal.clone())),
        ("hypothesis", Some(entry.hypothesis.clone())),
        ("action", Some(entry.action.clone())),
        ("prediction", Some(entry.prediction.clone())),
        ("expects", said.map(|said| format!("{} (said {})", said.expect, said.stated_at))),
        ("confidence", entry.confidence.map(|stated| stated.to_string())),
        ("result", outcome.map(|outcome| outcome.result.clone())),
        ("tier", entry.confidence_tier.map(|tier| tier.to_string())),
        ("surprise", entry.surprise.clone()),
        ("root cause", cause.map(|cause| format!("{}: {}", cause.category, cause.description))),
        ("lesson", lesson.map(|lesson| lesson.what_worked.clone())),
        ("takeaway", lesson.and_then(|lesson| lesson.takeaway.clone())),
        ("work", Some(format!("{}, {}", entry.domain, entry.strategy))),
        ("iteration", Some(entry.iteration_count.to_string())),
        ("created", Some(entry.created_at.to_string())),
        ("session", Some(entry.session_id.clone())),
        ("lane", lane.map(ToOwned::to_owned)),
    ]
}

fn iteration_lines(earlier: &HistoryEntry) -> String {
    let [thought, predicted] = [&earlier.hypothesis, &earlier.prediction].map(|t| one_line(t));
    format!("- {thought}\n    predicted: {predicted}\n")
}

/// The first pieces, where the next ones are, the newest pieces.
fn evidence(entry: &Entry) -> String {
    let mut pieces: Vec<String> = entry.evidence.iter().map(evidence_lines).collect();
    if let Some(moved) = &entry.evidence_moved {
        let line = format!("- {} more in {}\n", moved.count, one_line(&moved.file));
        pieces.insert(FIRST_EVIDENCE.min(pieces.len()), line);
    }
    pieces.concat()
}

fn evidence_lines(evidence: &Evidence) -> String {
    let verdict = evidence.verdict.as_deref().unwrap_or("seen");
    let mut lines = format!("- {verdict}: {}\n", shorten(&evidence.argv.join(" "), 160));
    if let Some(reason) = &evidence.reason {
        lines += &format!("    {}\n", one_line(reason));
    }
    if let Some(commit) = &evidence.commit {
        let dirty = if evidence.dirty == Some(true) { ", with uncommitted changes" } else { "" };
        lines += &format!("    at {}{dirty}\n", one_line(commit));
    }
    lines
}
