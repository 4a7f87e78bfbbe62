//! Entries in the order they were created, day by day.

use proctor_text::shorten;

use crate::entry::Entry;
use crate::journal::{EntryPlace, FoundEntry};
use crate::render::{Block, Document, Item};

/// The timeline of entries, oldest day first.
pub fn timeline(entries: &[FoundEntry]) -> Document {
    let mut document = Document::new("Journal timeline");
    let mut sorted: Vec<&FoundEntry> = entries.iter().collect();
    sorted
        .sort_by(|a, b| (a.entry.created_at, &a.entry.id).cmp(&(b.entry.created_at, &b.entry.id)));
    for day in sorted.chunk_by(|a, b| day(a) == day(b)) {
        let heading = day.first().map(|found| day_name(found)).unwrap_or_default();
        document.section(&heading, Block::List(day.iter().map(|found| item(found)).collect()));
    }
    if document.blocks.is_empty() {
        document.blocks.push(Block::Paragraph("No entries.".to_owned()));
    }
    document
}

fn day(found: &FoundEntry) -> jiff::civil::Date {
    found.entry.created_at.civil().date()
}

fn day_name(found: &FoundEntry) -> String {
    day(found).to_string()
}

fn item(found: &FoundEntry) -> Item {
    let entry = &found.entry;
    let clock = entry.created_at.civil().time();
    let lane = found.lane.as_ref().map(|lane| format!(" [{lane}]")).unwrap_or_default();
    let text = format!(
        "{:02}:{:02} {}{lane} {} ({}, {})",
        clock.hour(),
        clock.minute(),
        status(found),
        shorten(&entry.goal, 100),
        entry.domain,
        entry.strategy
    );
    Item { text, details: details(entry) }
}

fn status(found: &FoundEntry) -> &'static str {
    match (&found.place, found.entry.status()) {
        (EntryPlace::Active, _) | (_, None) => "active",
        (_, Some(status)) => status.as_str(),
    }
}

fn details(entry: &Entry) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, earlier) in entry.history.iter().enumerate() {
        lines.push(format!("{}. thought: {}", number + 1, shorten(&earlier.hypothesis, 120)));
    }
    lines.push(format!(
        "{}. thought: {}",
        entry.history.len() + 1,
        shorten(&entry.hypothesis, 120)
    ));
    lines.push(format!("predicted: {}", shorten(&entry.prediction, 120)));
    if let Some(outcome) = &entry.outcome {
        let tier = entry.confidence_tier.map(|tier| format!(" ({tier})")).unwrap_or_default();
        lines.push(format!("seen: {}{tier}", shorten(&outcome.result, 120)));
    }
    if let Some(surprise) = &entry.surprise {
        lines.push(format!("surprise: {}", shorten(surprise, 120)));
    }
    lines.push(entry.id.clone());
    lines
}
