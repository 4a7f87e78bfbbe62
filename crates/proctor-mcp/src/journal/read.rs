//! `ghap_current`, `ghap_search`, `ghap_stats`: looking at entries.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proctor_journal::stats::{Group as Counted, Rate};
use proctor_journal::{Domain, Filter, OutcomeStatus, Strategy, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{EntrySummary, EntryView, warning_texts};
use super::{LaneParams, domains, journal_error, outcomes, strategies};
use crate::engine::Engine;
use crate::error::ToolError;
use crate::table::{Group, Hints, Tool, ToolDeclaration};
use proctor_tools::paging::{limited, start};

pub(super) fn tools() -> Vec<Tool> {
    let declare = |name, title, description| ToolDeclaration {
        name,
        title,
        group: Group::Journal,
        hints: Hints::READS,
        description,
    };
    vec![
        declare(
            "ghap_current",
            "Show the active entry",
            "Show the active entry in full, and the open session. Call it when you resume work, to see what you believed and predicted. \
             `orphan` is true when an earlier session left the entry: adopt it or abandon it with ghap_orphan first.",
        )
        .with_blocking_handler(current),
        declare(
            "ghap_search",
            "Search past entries",
            "Search the entries of this project and all its lanes. With `query`, the best matches over goal, hypothesis, surprise and lesson come first; \
             without, the newest. With `id`, one entry in full. Use it before you try something that may have been tried before.",
        )
        .with_blocking_handler(search),
        declare(
            "ghap_stats",
            "How often predictions came true",
            "How often predictions came true: rates with counts and 95 % intervals, by domain, strategy, trust tier and month. \
             `too_few` says when a rate means nothing yet.",
        )
        .with_blocking_handler(stats),
    ]
}

/// Answer of `ghap_current`.
#[derive(Debug, Serialize, JsonSchema)]
struct CurrentAnswer {
    /// The active entry; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryView>,
    /// Whether an earlier session left it.
    orphan: bool,
    /// The open session; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// What went differently without going wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn current(engine: &Engine, given: LaneParams) -> Result<CurrentAnswer, ToolError> {
    let journal = engine.journal(given.lane.as_deref())?;
    let current = journal.current(&engine.moment()).map_err(journal_error)?;
    let session = journal.session_id().map_err(journal_error)?;
    let orphan = current.value.as_ref().is_some_and(|current| current.orphan);
    let entry = current.value.map(|current| EntryView::new(&current.entry, journal.lane_name()));
    Ok(CurrentAnswer { entry, orphan, session, warnings: warning_texts(&current.warnings) })
}

/// Which entries.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchParams {
    /// Words to look for; leave out for the newest entries.
    #[serde(default)]
    query: Option<String>,
    /// Show this one entry in full: its id, or a beginning or end of it that fits only one.
    #[serde(default)]
    id: Option<String>,
    /// Only this kind of work.
    #[serde(default)]
    #[schemars(schema_with = "domains")]
    domain: Option<Domain>,
    /// Only this approach.
    #[serde(default)]
    #[schemars(schema_with = "strategies")]
    strategy: Option<Strategy>,
    /// Only entries that ended like this.
    #[serde(default)]
    #[schemars(schema_with = "outcomes")]
    status: Option<OutcomeStatus>,
    /// Only entries of this session.
    #[serde(default)]
    session: Option<String>,
    /// Only entries since a time (2025-12-03, 2025-12-03T14:30:00Z) or an age (12h, 7d, 2w).
    #[serde(default)]
    since: Option<String>,
    /// Only falsified entries without an annotation.
    #[serde(default)]
    needs_annotation: bool,
    /// Only this lane; leave out for the journal and all lanes.
    #[serde(default)]
    lane: Option<String>,
    /// How many at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Answer of `ghap_search`.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchAnswer {
    /// The entries, best or newest first.
    entries: Vec<EntrySummary>,
    /// The one entry that was asked for by id, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<EntryView>,
    /// How many there are in all.
    total: u64,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What went differently without going wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn search(engine: &Engine, given: SearchParams) -> Result<SearchAnswer, ToolError> {
    // A lane is a filter here: everybody may learn from everybody.
    let journal = engine.journal(None)?;
    if let Some(id) = &given.id {
        let found = journal.show(id).map_err(journal_error)?;
        let entry = EntryView::new(&found.value.entry, found.value.lane.as_deref());
        let warnings = warning_texts(&found.warnings);
        return Ok(SearchAnswer {
            entries: Vec::new(),
            entry: Some(entry),
            total: 1,
            next: None,
            warnings,
        });
    }
    let filter = Filter {
        lane: given.lane,
        domain: given.domain,
        strategy: given.strategy,
        status: given.status,
        session: given.session,
        since: given.since.map(|text| time(&text, engine)).transpose()?,
        needs_annotation: given.needs_annotation,
        ..Filter::default()
    };
    let (start, limit) = (start(given.cursor.as_deref())?, limited(given.limit));
    let words = given.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    let page = match words {
        Some(words) => journal.search_page(words, &filter, start, limit),
        None => journal.page(&filter, start, limit),
    };
    let page = page.map_err(journal_error)?;
    let (found, total) = page.value;
    let end = start.saturating_add(limit);
    let next = (end < total).then(|| end.to_string());
    Ok(SearchAnswer {
        entries: found.iter().map(EntrySummary::found).collect(),
        entry: None,
        total: total as u64,
        next,
        warnings: warning_texts(&page.warnings),
    })
}

/// A time, or how long ago it was.
fn time(text: &str, engine: &Engine) -> Result<UtcTime, ToolError> {
    let wrong = |problem: &dyn std::fmt::Display| {
        ToolError::invalid(format_args!("since: {problem}"))
            .hint("a date is 2025-12-03, a time 2025-12-03T14:30:00Z, a week ago 7d")
    };
    let hours = match text.chars().last() {
        Some('h') => 1,
        Some('d') => 24,
        Some('w') => 24 * 7,
        _ => return text.parse().map_err(|error| wrong(&error)),
    };
    let number = text.get(..text.len() - 1).and_then(|number| number.parse::<u32>().ok());
    let number = number.ok_or_else(|| wrong(&format!("`{text}` is not an age")))?;
    let ago = SignedDuration::from_hours(i64::from(number) * hours);
    let then = engine.moment().now.timestamp().checked_sub(ago);
    then.map(UtcTime::new).map_err(|error| wrong(&error))
}

/// Which entries are counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsParams {
    /// Only this kind of work.
    #[serde(default)]
    #[schemars(schema_with = "domains")]
    domain: Option<Domain>,
    /// Only entries since a time (2025-12-03) or an age (7d).
    #[serde(default)]
    since: Option<String>,
    /// Only this lane; leave out for the journal and all lanes.
    #[serde(default)]
    lane: Option<String>,
}

/// Answer of `ghap_stats`.
#[derive(Debug, Serialize, JsonSchema)]
struct StatsAnswer {
    /// All of them.
    total: OutcomeCounts,
    /// By kind of work.
    by_domain: BTreeMap<String, OutcomeCounts>,
    /// By approach.
    by_strategy: BTreeMap<String, OutcomeCounts>,
    /// By trust tier.
    by_tier: BTreeMap<String, OutcomeCounts>,
    /// By month.
    by_month: BTreeMap<String, OutcomeCounts>,
    /// Falsified entries that nobody has explained.
    needing_annotation: u64,
    /// The Brier score of stated confidences (0 is perfect, 0.25 is guessing), where any were stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    brier: Option<f64>,
}

/// A group of entries in numbers.
#[derive(Debug, Serialize, JsonSchema)]
struct OutcomeCounts {
    /// Predictions that came true.
    confirmed: u64,
    /// Predictions that did not.
    falsified: u64,
    /// Given up.
    abandoned: u64,
    /// Still open.
    active: u64,
    /// The share that came true; absent if none was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Share>,
    /// The share of confirmed ones that needed one iteration only.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_try: Option<Share>,
}

/// A share with its 95 % interval.
#[derive(Debug, Serialize, JsonSchema)]
struct Share {
    /// From 0 to 1.
    value: f64,
    /// How many it rests on.
    n: u64,
    /// Lower end of the interval.
    low: f64,
    /// Upper end of the interval.
    high: f64,
    /// Whether there are too few to mean anything.
    too_few: bool,
}

impl From<Rate> for Share {
    fn from(rate: Rate) -> Self {
        let too_few = rate.is_too_few();
        let short = |number: f64| (number * 1000.0).round() / 1000.0;
        let (value, low, high) = (short(rate.value), short(rate.low), short(rate.high));
        Self { value, n: rate.n, low, high, too_few }
    }
}

impl From<&Counted> for OutcomeCounts {
    fn from(group: &Counted) -> Self {
        Self {
            confirmed: group.confirmed,
            falsified: group.falsified,
            abandoned: group.abandoned,
            active: group.active,
            rate: group.confirmed_rate().map(Share::from),
            first_try: group.first_try_rate().map(Share::from),
        }
    }
}

fn stats(engine: &Engine, given: StatsParams) -> Result<StatsAnswer, ToolError> {
    let filter = Filter {
        lane: given.lane,
        domain: given.domain,
        since: given.since.map(|text| time(&text, engine)).transpose()?,
        ..Filter::default()
    };
    let stats = engine.journal(None)?.stats(&filter).map_err(journal_error)?.value;
    let named = |groups: &BTreeMap<&'static str, Counted>| {
        groups.iter().map(|(name, group)| ((*name).to_owned(), group.into())).collect()
    };
    Ok(StatsAnswer {
        total: (&stats.total).into(),
        by_domain: named(&stats.by_domain),
        by_strategy: named(&stats.by_strategy),
        by_tier: named(&stats.by_tier),
        by_month: stats
            .by_month
            .iter()
            .map(|(month, group)| (month.clone(), group.into()))
            .collect(),
        needing_annotation: stats.needing_annotation,
        brier: stats.calibration.map(|calibration| calibration.brier),
    })
}
