//! A look back over a set of entries: numbers, surprises by root cause, lessons, repetitions.

use std::collections::{BTreeMap, HashSet};

use jiff::ToSpan;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use proctor_text::shorten;

use crate::entry::Entry;
use crate::model::OutcomeStatus;
use crate::render::{Block, Document, Item};
use crate::search::words;
use crate::stats::{Group, Rate, Stats, stats};
use crate::time::UtcTime;

/// The most falsified hypotheses compared with each other.
const MAX_COMPARED: usize = 300;

/// The week (Monday to Monday, UTC) a time falls in: its start and its end.
pub fn week_of(now: UtcTime) -> (UtcTime, UtcTime) {
    let date = now.civil().date();
    let days = i64::from(date.weekday().since(Weekday::Monday));
    let monday = date.checked_sub(days.days()).unwrap_or(date);
    let after = monday.checked_add(7.days()).unwrap_or(monday);
    let start_of = |date: jiff::civil::Date| {
        date.to_zoned(TimeZone::UTC).map_or(now, |zoned| UtcTime::new(zoned.timestamp()))
    };
    (start_of(monday), start_of(after))
}

/// A retrospective over entries, under a title such as `Week of 2025-12-01`.
pub fn retro(title: &str, entries: &[&Entry]) -> Document {
    let mut document = Document::new(format!("Retrospective: {title}"));
    let numbers = stats(entries.iter().copied());
    document.blocks.push(Block::Paragraph(summary(&numbers)));
    for (category, surprises) in surprises_by_cause(entries) {
        document.section(&format!("Surprises: {category}"), Block::List(surprises));
    }
    document.section("Lessons", Block::List(lessons(entries)));
    document.section("Wrong more than once", Block::List(repetitions(entries)));
    document.section("Falsified, not yet explained", Block::List(unexplained(entries)));
    document.section("By domain", group_table("domain", &numbers.by_domain));
    document.section("By strategy", group_table("strategy", &numbers.by_strategy));
    document
}

/// The numbers of a journal as a document.
pub fn stats_document(numbers: &Stats) -> Document {
    let mut document = Document::new("Journal statistics");
    document.blocks.push(Block::Paragraph(summary(numbers)));
    document.section("By domain", group_table("domain", &numbers.by_domain));
    document.section("By strategy", group_table("strategy", &numbers.by_strategy));
    document.section("By tier", group_table("tier", &numbers.by_tier));
    document.section("By month", group_table("month", &numbers.by_month));
    if let Some(calibration) = &numbers.calibration {
        let few = if calibration.n < crate::stats::MIN_SAMPLE { " (too few to tell)" } else { "" };
        let text = format!(
            "Brier score {:.3} over {} stated predictions{few}; 0 is perfect, 0.25 is a coin.",
            calibration.brier, calibration.n
        );
        document.section("Calibration", Block::Paragraph(text));
        let rows = calibration.bins.iter().map(|bin| {
            vec![
                format!("{:.0}–{:.0} %", bin.from * 100.0, bin.to * 100.0),
                format!("{:.0} %", bin.stated * 100.0),
                rate_text(Some(bin.seen)),
            ]
        });
        document.blocks.push(Block::Table {
            head: ["bin", "stated", "came true"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        });
    }
    document
}

fn summary(numbers: &Stats) -> String {
    let total = &numbers.total;
    let mut text = format!(
        "{} entries: {} confirmed, {} falsified, {} abandoned, {} active.",
        total.all(),
        total.confirmed,
        total.falsified,
        total.abandoned,
        total.active
    );
    if total.decided() > 0 {
        let parts = [
            format!(" Confirmed {}", rate_text(total.confirmed_rate())),
            format!("at the first try {}", rate_text(total.first_try_rate())),
            format!("captured automatically {}.", rate_text(total.auto_share())),
        ];
        text.push_str(&parts.join("; "));
    }
    if numbers.needing_annotation > 0 {
        text = format!("{text} {} falsified without an explanation.", numbers.needing_annotation);
    }
    text
}

/// A rate as people read it: share, interval, n, and a word when n is too small.
pub fn rate_text(rate: Option<Rate>) -> String {
    let Some(rate) = rate else { return "–".to_owned() };
    let few = if rate.is_too_few() { ", too few to tell" } else { "" };
    let percent = |share: f64| share * 100.0;
    format!(
        "{:.0} % ({:.0}–{:.0} %, n = {}{few})",
        percent(rate.value),
        percent(rate.low),
        percent(rate.high),
        rate.n
    )
}

fn group_table<K: AsRef<str>>(name: &str, groups: &BTreeMap<K, Group>) -> Block {
    let head = [name, "confirmed", "falsified", "abandoned", "rate", "first try", "automatic"];
    let rows = groups.iter().map(|(key, group)| {
        vec![
            key.as_ref().to_owned(),
            group.confirmed.to_string(),
            group.falsified.to_string(),
            group.abandoned.to_string(),
            rate_text(group.confirmed_rate()),
            rate_text(group.first_try_rate()),
            group
                .auto_share()
                .map_or("–".to_owned(), |rate| format!("{:.0} %", rate.value * 100.0)),
        ]
    });
    Block::Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn surprises_by_cause(entries: &[&Entry]) -> BTreeMap<String, Vec<Item>> {
    let mut grouped: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for entry in entries {
        let Some(surprise) = &entry.surprise else { continue };
        let category = entry.root_cause.as_ref().map_or("no cause given", |cause| &cause.category);
        let mut details = vec![format!("goal: {}", shorten(&entry.goal, 120))];
        if let Some(cause) = &entry.root_cause {
            details.push(format!("cause: {}", shorten(&cause.description, 160)));
        }
        details.push(entry.id.clone());
        grouped
            .entry(shorten(category, 60))
            .or_default()
            .push(Item { text: shorten(surprise, 200), details });
    }
    grouped
}

fn lessons(entries: &[&Entry]) -> Vec<Item> {
    let lesson = |entry: &&Entry| {
        let lesson = entry.lesson.as_ref()?;
        let text = lesson.takeaway.as_ref().unwrap_or(&lesson.what_worked);
        let mut details = Vec::new();
        if lesson.takeaway.is_some() {
            details.push(format!("what worked: {}", shorten(&lesson.what_worked, 160)));
        }
        details.push(entry.id.clone());
        Some(Item { text: shorten(text, 200), details })
    };
    entries.iter().filter_map(lesson).collect()
}

fn unexplained(entries: &[&Entry]) -> Vec<Item> {
    entries
        .iter()
        .filter(|entry| entry.needs_annotation())
        .map(|entry| Item { text: shorten(&entry.goal, 160), details: vec![entry.id.clone()] })
        .collect()
}

/// Falsified hypotheses that share at least half of their words with another one.
fn repetitions(entries: &[&Entry]) -> Vec<Item> {
    let falsified: Vec<(&Entry, HashSet<String>)> = entries
        .iter()
        .filter(|entry| entry.status() == Some(OutcomeStatus::Falsified))
        .take(MAX_COMPARED)
        .map(|entry| (*entry, words(&entry.hypothesis).collect()))
        .collect();
    let mut items = Vec::new();
    let mut used = HashSet::new();
    for (index, (entry, own)) in falsified.iter().enumerate() {
        let alike: Vec<&str> = falsified
            .iter()
            .skip(index + 1)
            .filter(|(other, theirs)| !used.contains(&other.id) && are_similar(own, theirs))
            .map(|(other, _)| other.id.as_str())
            .collect();
        if used.contains(&entry.id) || alike.is_empty() {
            continue;
        }
        let mut details = vec![entry.id.clone()];
        details.extend(alike.iter().map(|id| (*id).to_owned()));
        used.extend(details.iter().cloned());
        items.push(Item {
            text: format!("{} times: {}", details.len(), shorten(&entry.hypothesis, 160)),
            details,
        });
    }
    items
}

fn are_similar(a: &HashSet<String>, b: &HashSet<String>) -> bool {
    let shared = a.intersection(b).count();
    shared >= 2 && shared * 2 >= a.union(b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Lesson, RootCause};
    use crate::render::Format;
    use crate::testing::{at, entry, resolved};

    #[test]
    fn weeks_run_from_monday_to_monday() {
        let (start, end) = week_of(at("2025-12-03T14:30:22Z"));
        assert_eq!(
            (start.to_string(), end.to_string()),
            ("2025-12-01T00:00:00Z".into(), "2025-12-08T00:00:00Z".into())
        );
    }

    #[test]
    fn retro_groups_surprises_and_finds_repetitions() {
        let mut first =
            resolved(entry("a", "fix cache", "cache expires too early"), OutcomeStatus::Falsified);
        first.surprise = Some("the clock was right".into());
        first.root_cause = Some(RootCause::new("wrong-assumption", "nobody read the clock"));
        first.lesson = Some(Lesson::new("logging", Some("log before guessing".into())));
        let second = resolved(
            entry("b", "fix queue", "cache expires much too early"),
            OutcomeStatus::Falsified,
        );
        let text = retro("test", &[&first, &second]).render(Format::Text);
        insta::assert_snapshot!(text, @r"
        Retrospective: test

        2 entries: 0 confirmed, 2 falsified, 0 abandoned, 0 active. Confirmed 0 % (0–66 %, n = 2, too few to tell); at the first try 0 % (0–66 %, n = 2, too few to tell); captured automatically 0 % (0–66 %, n = 2, too few to tell). 1 falsified without an explanation.

        Surprises: wrong-assumption

        - the clock was right
            goal: fix cache
            cause: nobody read the clock
            a

        Lessons

        - log before guessing
            what worked: logging
            a

        Wrong more than once

        - 2 times: cache expires too early
            a
            b

        Falsified, not yet explained

        - fix queue
            b

        By domain

        domain     confirmed  falsified  abandoned  rate                                  first try                             automatic
        debugging  0          2          0          0 % (0–66 %, n = 2, too few to tell)  0 % (0–66 %, n = 2, too few to tell)  0 %

        By strategy

        strategy                confirmed  falsified  abandoned  rate                                  first try                             automatic
        systematic-elimination  0          2          0          0 % (0–66 %, n = 2, too few to tell)  0 % (0–66 %, n = 2, too few to tell)  0 %
        ");
    }
}
