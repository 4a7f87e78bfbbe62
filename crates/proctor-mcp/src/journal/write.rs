//! `ghap_create`, `ghap_update`, `ghap_resolve`, `ghap_abandon`: what changes the active entry.

use proctor_journal::capture::Expectation;
use proctor_journal::{
    Change, Domain, Draft, Entry, Journal, JournalResult, Lesson, OutcomeStatus, Resolution,
    RootCause, Strategy,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{EntryChange, EntrySummary};
use super::{domains, journal_error, outcomes, strategies};
use crate::engine::Engine;
use crate::error::ToolError;
use crate::table::{Group, Hints, Tool, ToolDeclaration};

/// How many similar entries of the past a new one is answered with.
const SIMILAR: usize = 3;

pub(super) fn tools() -> Vec<Tool> {
    let declare = |name, title, hints, description| ToolDeclaration {
        name,
        title,
        group: Group::Journal,
        hints,
        description,
    };
    vec![
        declare(
            "ghap_create",
            "Write down a hypothesis",
            Hints::ADDS,
            "Before you act on a belief, write it down: goal, hypothesis, action, prediction. One entry can be active at a time (per lane). \
             Answers with the new entry's id and up to three similar entries of the past, falsified ones first: read their lessons before you go on.",
        )
        .with_blocking_handler(create),
        declare(
            "ghap_update",
            "Change the active entry",
            Hints::ADDS,
            "Change the active entry when your belief, plan or prediction changes, or append a note. A different hypothesis, action or prediction \
             begins a new iteration; the old one is kept as history. Goal and domain never change: for another goal, resolve or abandon first.",
        )
        .with_blocking_handler(update),
        declare(
            "ghap_resolve",
            "Say how the active entry ended",
            Hints::REMOVES,
            "End the active entry with what really happened: `confirmed` if the prediction came true, `falsified` if it did not. \
             When falsified, also say what was surprising, the root cause and the lesson; that is what later entries learn from.",
        )
        .with_blocking_handler(resolve),
        declare(
            "ghap_abandon",
            "Give the active entry up",
            Hints::REMOVES,
            "Give the active entry up without an outcome, for example because the goal changed. Use ghap_resolve when there is an outcome.",
        )
        .with_blocking_handler(abandon),
    ]
}

/// Parameters of `ghap_create`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateParams {
    /// The kind of work.
    #[schemars(schema_with = "domains")]
    domain: Domain,
    /// The approach.
    #[schemars(schema_with = "strategies")]
    strategy: Strategy,
    /// What is to be reached, in a sentence.
    goal: String,
    /// What you believe, specific enough to be wrong.
    hypothesis: String,
    /// What you will do about it.
    action: String,
    /// What you will observe if the hypothesis is right; something a run or a look can decide.
    prediction: String,
    /// The probability, from 0 to 1, that the prediction comes true.
    #[serde(default)]
    confidence: Option<f64>,
    /// What the next test run will do: `pass`, `fail`, `exit:N` or `match:REGEX`. Needed for automatic capture.
    #[serde(default)]
    expect: Option<String>,
    /// Your own lane, if several agents work at once: letters, digits, `_`, `-`.
    #[serde(default)]
    lane: Option<String>,
}

/// Answer of `ghap_create`.
#[derive(Debug, Serialize, JsonSchema)]
struct CreateAnswer {
    /// The new entry.
    entry: EntryChange,
    /// Similar entries of the past, at most three, falsified ones first.
    similar: Vec<EntrySummary>,
}

fn create(engine: &Engine, given: CreateParams) -> Result<CreateAnswer, ToolError> {
    let draft = Draft {
        goal: given.goal,
        hypothesis: given.hypothesis,
        action: given.action,
        prediction: given.prediction,
        confidence: given.confidence,
        expectation: expectation(given.expect.as_deref())?,
        ..Draft::new(given.domain, given.strategy)
    };
    refuse_blank(draft.blank_field())?;
    let journal = engine.journal(given.lane.as_deref())?;
    join_host_session(engine, &journal)?;
    let created = journal.create(draft, &engine.moment()).map_err(journal_error)?;
    let mut entry = EntryChange::new(&created.value, journal.lane_name(), &created.warnings);
    // The entry is made; that nothing can be recalled must not look as if it were not.
    let similar = match journal.take_unshown_similar(&created.value, SIMILAR, &engine.moment()) {
        Ok(similar) => similar.value,
        Err(error) => {
            entry.warn(format!("similar entries cannot be looked up: {error}"));
            Vec::new()
        }
    };
    let similar = similar.iter().map(|entry| EntrySummary::new(entry, None)).collect();
    Ok(CreateAnswer { entry, similar })
}

/// The first entry of an agent's session belongs to the session that its host names.
fn join_host_session(engine: &Engine, journal: &Journal) -> Result<(), ToolError> {
    if journal.session_id().map_err(journal_error)?.is_some() {
        return Ok(());
    }
    match engine.host_session() {
        Some(id) => {
            journal.start_session(Some(id), &engine.moment()).map(drop).map_err(journal_error)
        }
        None => Ok(()),
    }
}

/// Parameters of `ghap_update`. Give at least one thing to change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateParams {
    /// A new belief.
    #[serde(default)]
    hypothesis: Option<String>,
    /// A new action.
    #[serde(default)]
    action: Option<String>,
    /// A new prediction.
    #[serde(default)]
    prediction: Option<String>,
    /// A new approach.
    #[serde(default)]
    #[schemars(schema_with = "strategies")]
    strategy: Option<Strategy>,
    /// A remark to append.
    #[serde(default)]
    note: Option<String>,
    /// A newly stated probability, from 0 to 1, that the prediction comes true.
    #[serde(default)]
    confidence: Option<f64>,
    /// What the next test run will do: `pass`, `fail`, `exit:N` or `match:REGEX`.
    #[serde(default)]
    expect: Option<String>,
    /// The lane of the entry.
    #[serde(default)]
    lane: Option<String>,
}

fn update(engine: &Engine, given: UpdateParams) -> Result<EntryChange, ToolError> {
    let change = Change {
        hypothesis: given.hypothesis,
        action: given.action,
        prediction: given.prediction,
        strategy: given.strategy,
        note: given.note,
        confidence: given.confidence,
        expectation: expectation(given.expect.as_deref())?,
    };
    if change.is_empty() {
        return Err(ToolError::invalid("nothing was given to change")
            .hint("give a hypothesis, action, prediction, strategy, note, confidence or expect"));
    }
    refuse_blank(change.blank_field())?;
    let journal = engine.journal(given.lane.as_deref())?;
    answer(journal.update(change, &engine.moment()), &journal)
}

/// Parameters of `ghap_resolve`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResolveParams {
    /// How it ended.
    #[schemars(schema_with = "outcomes")]
    status: OutcomeStatus,
    /// What happened, as observed.
    result: String,
    /// What was unexpected. Give it when falsified.
    #[serde(default)]
    surprise: Option<String>,
    /// A word for why the prediction failed, such as wrong-assumption, missing-knowledge, oversight, environment-issue,
    /// misleading-symptom, incomplete-fix, wrong-scope, test-isolation, timing-issue. Goes with `because`.
    #[serde(default)]
    root_cause: Option<String>,
    /// The root cause in a sentence. Goes with `root_cause`.
    #[serde(default)]
    because: Option<String>,
    /// What worked in the end.
    #[serde(default)]
    lesson: Option<String>,
    /// The general rule to remember. Goes with `lesson`.
    #[serde(default)]
    takeaway: Option<String>,
    /// The lane of the entry.
    #[serde(default)]
    lane: Option<String>,
}

fn resolve(engine: &Engine, given: ResolveParams) -> Result<EntryChange, ToolError> {
    let root_cause = match (given.root_cause, given.because) {
        (Some(category), Some(description)) => Some(RootCause::new(category, description)),
        (None, None) => None,
        _ => {
            return Err(ToolError::invalid("root_cause and because go together")
                .hint("root_cause is a word such as wrong-assumption, because is the sentence"));
        }
    };
    let lesson = match (given.lesson, given.takeaway) {
        (Some(what_worked), takeaway) => Some(Lesson::new(what_worked, takeaway)),
        (None, None) => None,
        (None, Some(_)) => {
            return Err(ToolError::invalid("takeaway needs lesson: what worked in the end"));
        }
    };
    let resolution = Resolution {
        surprise: given.surprise,
        root_cause,
        lesson,
        ..Resolution::new(given.status, given.result)
    };
    let journal = engine.journal(given.lane.as_deref())?;
    answer(journal.resolve(resolution, &engine.moment()), &journal)
}

/// Parameters of `ghap_abandon`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AbandonParams {
    /// Why, in a sentence.
    reason: String,
    /// The lane of the entry.
    #[serde(default)]
    lane: Option<String>,
}

fn abandon(engine: &Engine, given: AbandonParams) -> Result<EntryChange, ToolError> {
    let journal = engine.journal(given.lane.as_deref())?;
    answer(journal.abandon(given.reason, &engine.moment()), &journal)
}

fn answer(done: JournalResult<Entry>, journal: &Journal) -> Result<EntryChange, ToolError> {
    let done = done.map_err(journal_error)?;
    Ok(EntryChange::new(&done.value, journal.lane_name(), &done.warnings))
}

fn expectation(text: Option<&str>) -> Result<Option<Expectation>, ToolError> {
    let parsed = text.map(str::parse::<Expectation>).transpose();
    parsed.map_err(|error| ToolError::invalid(format_args!("expect: {error}")))
}

fn refuse_blank(field: Option<&'static str>) -> Result<(), ToolError> {
    match field {
        None => Ok(()),
        Some(field) => Err(ToolError::invalid(format_args!("the {field} is blank"))
            .hint(format!("say in a sentence what the {field} is"))),
    }
}
