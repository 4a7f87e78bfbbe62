//! The state table of the journal as a pure function: state and operation in, effects out.
//!
//! No file is touched here. The effects are carried out in order by the journal, and the order is
//! chosen so that stopping between any two of them leaves a state that the next operation repairs:
//! a line is on disk before the entry it came from is cleared, archives before their source.

use crate::entry::{Entry, Evidence, HistoryEntry, MovedEvidence, Outcome, StatedExpectation};
use crate::error::Refusal;
use crate::id;
use crate::model::{ConfidenceTier, OutcomeStatus};
use crate::record::Extra;
use crate::request::{Annotation, Change, Draft, Resolution};
use crate::time::{Moment, UtcTime};

/// How many of the first pieces of evidence an entry keeps, …
pub const FIRST_EVIDENCE: usize = 4;
/// … and how many of the newest.
pub const NEWEST_EVIDENCE: usize = 16;
/// The folder of what was moved out of entries.
const EVIDENCE: &str = "evidence";

/// The reason written when a session ends over an active entry.
pub const SESSION_ENDED: &str = "session ended";

/// What the journal's files say at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The session that is open.
    pub session: Option<String>,
    /// The entry in the current file.
    pub current: Option<Entry>,
}

/// The five situations of the state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No session, no entry.
    NoSession,
    /// A session without an active entry.
    Idle,
    /// The session's own entry is active.
    Active,
    /// The entry belongs to another session.
    Orphan,
    /// There is an entry but no session.
    Stray,
}

impl State {
    /// Which row of the table applies.
    pub fn phase(&self) -> Phase {
        match (&self.session, &self.current) {
            (None, None) => Phase::NoSession,
            (Some(_), None) => Phase::Idle,
            (Some(session), Some(entry)) if *session == entry.session_id => Phase::Active,
            (Some(_), Some(_)) => Phase::Orphan,
            (None, Some(_)) => Phase::Stray,
        }
    }

    /// The entry if it belongs to another session or to none that is open.
    pub fn orphan(&self) -> Option<&Entry> {
        match self.phase() {
            Phase::Orphan | Phase::Stray => self.current.as_ref(),
            Phase::NoSession | Phase::Idle | Phase::Active => None,
        }
    }

    /// The active entry of the open session; an entry of another session is refused.
    fn own_entry(&self, operation: &'static str) -> Result<&Entry, Refusal> {
        match (self.phase(), &self.current) {
            (Phase::Active, Some(entry)) => Ok(entry),
            (_, Some(entry)) => Err(Refusal::OrphanPending {
                operation,
                id: entry.id.clone(),
                session_id: entry.session_id.clone(),
            }),
            (_, None) => Err(Refusal::NoActive { operation }),
        }
    }
}

/// An operation whose texts are already within their limits.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A new entry.
    Create(Draft),
    /// A change to the active entry.
    Update(Change),
    /// The end of the active entry.
    Resolve(Resolution),
    /// Evidence that decided nothing.
    Attach(Evidence),
    /// Remarks on the active entry.
    Annotate(Annotation),
    /// Take over the orphan.
    AdoptOrphan,
    /// Give the orphan up.
    AbandonOrphan(String),
    /// A new session, or the resumption of a named one.
    StartSession(Option<String>),
    /// The end of the session.
    EndSession,
}

/// One change to the files.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Replace the session id.
    WriteSession(String),
    /// Append evidence to the file of what its entry has no room for.
    MoveEvidence {
        /// The file, beside the journal's other files.
        file: String,
        /// What to append, oldest first.
        evidence: Vec<Evidence>,
    },
    /// Replace the current file.
    WriteCurrent(Entry),
    /// Append to the session's lines.
    Record(Entry),
    /// Append to the archive of the entry's own session.
    File(Entry),
    /// Remove the current file.
    ClearCurrent,
    /// Move the session's lines to the archives of their sessions.
    ArchiveLines,
    /// Set the tool counter to zero.
    ResetCount,
    /// Remove the session id.
    ClearSession,
}

/// What an operation comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What to do, in this order.
    pub effects: Vec<Effect>,
    /// The state afterwards.
    pub next: State,
    /// The entry the operation was about.
    pub entry: Option<Entry>,
}

impl Step {
    fn nothing(state: &State, entry: Option<Entry>) -> Self {
        Self { effects: Vec::new(), next: state.clone(), entry }
    }

    fn rewrite(state: &State, mut entry: Entry) -> Self {
        let mut effects: Vec<Effect> = move_oldest_evidence(&mut entry).into_iter().collect();
        effects.push(Effect::WriteCurrent(entry.clone()));
        Self {
            effects,
            next: State { session: state.session.clone(), current: Some(entry.clone()) },
            entry: Some(entry),
        }
    }
}

/// Decides what an operation does in a state.
pub fn step(state: &State, operation: Operation, moment: &Moment) -> Result<Step, Refusal> {
    match operation {
        Operation::Create(draft) => create(state, draft, moment),
        Operation::Update(change) => update(state, change, moment.now),
        Operation::Resolve(resolution) => resolve(state, resolution, moment.now),
        Operation::Attach(evidence) => attach(state, evidence),
        Operation::Annotate(annotation) => annotate(state, annotation),
        Operation::AdoptOrphan => Ok(adopt(state, moment)),
        Operation::AbandonOrphan(reason) => Ok(abandon_orphan(state, reason, moment.now)),
        Operation::StartSession(id) => start(state, id, moment),
        Operation::EndSession => Ok(end(state, moment.now)),
    }
}

fn create(state: &State, draft: Draft, moment: &Moment) -> Result<Step, Refusal> {
    if let Some(entry) = &state.current {
        let id = entry.id.clone();
        return Err(match state.phase() {
            Phase::Active => Refusal::AlreadyActive { id },
            _ => Refusal::OrphanActive { id, session_id: entry.session_id.clone() },
        });
    }
    let mut effects = Vec::new();
    let session = state.session.clone().unwrap_or_else(|| {
        let session = id::session_id(moment);
        effects.extend([Effect::ResetCount, Effect::WriteSession(session.clone())]);
        session
    });
    let entry = new_entry(draft, session.clone(), moment);
    effects.push(Effect::WriteCurrent(entry.clone()));
    let next = State { session: Some(session), current: Some(entry.clone()) };
    Ok(Step { effects, next, entry: Some(entry) })
}

fn new_entry(draft: Draft, session_id: String, moment: &Moment) -> Entry {
    Entry {
        id: id::entry_id(moment),
        session_id,
        created_at: moment.now,
        domain: draft.domain,
        strategy: draft.strategy,
        goal: draft.goal,
        hypothesis: draft.hypothesis,
        action: draft.action,
        prediction: draft.prediction,
        history: Vec::new(),
        iteration_count: 1,
        outcome: None,
        surprise: None,
        root_cause: None,
        lesson: None,
        confidence_tier: None,
        notes: Vec::new(),
        iteration_started_at: None,
        confidence: draft.confidence,
        expectation: draft
            .expectation
            .map(|expect| stated_expectation(expect.to_string(), moment.now)),
        evidence: Vec::new(),
        evidence_moved: None,
        extra: Extra::default(),
    }
}

fn stated_expectation(expect: String, stated_at: UtcTime) -> StatedExpectation {
    StatedExpectation { expect, stated_at, extra: Extra::default() }
}

fn update(state: &State, change: Change, now: UtcTime) -> Result<Step, Refusal> {
    let before = state.own_entry("update")?;
    let mut entry = before.clone();
    iterate(&mut entry, &change, now);
    if let Some(strategy) = change.strategy {
        entry.strategy = strategy;
    }
    entry.notes.extend(change.note);
    entry.confidence = change.confidence.or(entry.confidence);
    if let Some(expect) = change.expectation.map(|expect| expect.to_string()) {
        // Saying the same again does not make it younger.
        if entry.expectation.as_ref().is_none_or(|known| known.expect != expect) {
            entry.expectation = Some(stated_expectation(expect, now));
        }
    }
    if entry == *before {
        return Ok(Step::nothing(state, Some(entry)));
    }
    Ok(Step::rewrite(state, entry))
}

/// Begins a new iteration if hypothesis, action or prediction really differ.
fn iterate(entry: &mut Entry, change: &Change, now: UtcTime) {
    let differs = |new: &Option<String>, old: &str| new.as_deref().is_some_and(|new| new != old);
    let new_prediction = differs(&change.prediction, &entry.prediction);
    if !(new_prediction
        || differs(&change.hypothesis, &entry.hypothesis)
        || differs(&change.action, &entry.action))
    {
        return;
    }
    let timestamp = entry.iteration_start();
    let take = |field: &mut String, new: &Option<String>| match new {
        Some(new) => std::mem::replace(field, new.clone()),
        None => field.clone(),
    };
    let superseded = HistoryEntry {
        timestamp,
        hypothesis: take(&mut entry.hypothesis, &change.hypothesis),
        action: take(&mut entry.action, &change.action),
        prediction: take(&mut entry.prediction, &change.prediction),
        superseded_at: Some(now),
        confidence: entry.confidence.take(),
        extra: Extra::default(),
    };
    entry.history.push(superseded);
    entry.iteration_count = entry.iteration_count.saturating_add(1);
    entry.iteration_started_at = Some(now);
    if new_prediction {
        entry.expectation = None;
    }
}

fn resolve(state: &State, resolution: Resolution, now: UtcTime) -> Result<Step, Refusal> {
    let operation =
        if resolution.status == OutcomeStatus::Abandoned { "abandon" } else { "resolve" };
    let mut entry = resolved(state.own_entry(operation)?.clone(), resolution, now);
    let mut effects: Vec<Effect> = move_oldest_evidence(&mut entry).into_iter().collect();
    effects.extend([Effect::Record(entry.clone()), Effect::ClearCurrent]);
    Ok(Step {
        effects,
        next: State { session: state.session.clone(), current: None },
        entry: Some(entry),
    })
}

fn resolved(entry: Entry, resolution: Resolution, now: UtcTime) -> Entry {
    let Resolution { status, result, surprise, root_cause, lesson, auto_captured, evidence } =
        resolution;
    let mut entry = Entry {
        outcome: Some(Outcome {
            status,
            result,
            captured_at: now,
            auto_captured,
            extra: Extra::default(),
        }),
        surprise: surprise.or(entry.surprise),
        root_cause: root_cause.or(entry.root_cause),
        lesson: lesson.or(entry.lesson),
        confidence_tier: Some(ConfidenceTier::of(status, auto_captured)),
        ..entry
    };
    entry.evidence.extend(evidence);
    entry
}

/// Takes the oldest pieces of evidence but the first few out of an entry that holds too many.
///
/// Otherwise an entry that stays active over many runs would grow without bound, and each run rewrites it.
fn move_oldest_evidence(entry: &mut Entry) -> Option<Effect> {
    let room = FIRST_EVIDENCE + NEWEST_EVIDENCE;
    let excess = entry.evidence.len().checked_sub(room).filter(|excess| *excess > 0)?;
    let evidence: Vec<Evidence> =
        entry.evidence.drain(FIRST_EVIDENCE..FIRST_EVIDENCE + excess).collect();
    let moved = entry.evidence_moved.get_or_insert_with(|| MovedEvidence {
        count: 0,
        file: format!("{EVIDENCE}/{}.jsonl", id::archive_stem(&entry.id)),
        extra: Extra::default(),
    });
    moved.count += excess as u64;
    Some(Effect::MoveEvidence { file: moved.file.clone(), evidence })
}

fn attach(state: &State, evidence: Evidence) -> Result<Step, Refusal> {
    let mut entry = state.own_entry("attach evidence to")?.clone();
    entry.evidence.push(evidence);
    Ok(Step::rewrite(state, entry))
}

fn annotate(state: &State, annotation: Annotation) -> Result<Step, Refusal> {
    let before = state.own_entry("annotate")?;
    let mut entry = before.clone();
    apply_annotation(&mut entry, annotation);
    if entry == *before {
        return Ok(Step::nothing(state, Some(entry)));
    }
    Ok(Step::rewrite(state, entry))
}

/// Writes an annotation into an entry: later words replace earlier ones, notes add up.
pub(crate) fn apply_annotation(entry: &mut Entry, annotation: Annotation) {
    let Annotation { surprise, root_cause, lesson, note } = annotation;
    entry.surprise = surprise.or(entry.surprise.take());
    entry.root_cause = root_cause.or(entry.root_cause.take());
    entry.lesson = lesson.or(entry.lesson.take());
    entry.notes.extend(note);
}

fn adopt(state: &State, moment: &Moment) -> Step {
    let Some(orphan) = state.orphan() else { return Step::nothing(state, None) };
    let mut effects = Vec::new();
    let session = state.session.clone().unwrap_or_else(|| {
        let session = id::session_id(moment);
        effects.extend([Effect::ResetCount, Effect::WriteSession(session.clone())]);
        session
    });
    let entry = Entry { session_id: session.clone(), ..orphan.clone() };
    effects.push(Effect::WriteCurrent(entry.clone()));
    Step {
        effects,
        next: State { session: Some(session), current: Some(entry.clone()) },
        entry: Some(entry),
    }
}

fn abandon_orphan(state: &State, reason: String, now: UtcTime) -> Step {
    let Some(orphan) = state.orphan() else { return Step::nothing(state, None) };
    let entry = resolved(orphan.clone(), Resolution::new(OutcomeStatus::Abandoned, reason), now);
    Step {
        effects: vec![Effect::File(entry.clone()), Effect::ClearCurrent],
        next: State { session: state.session.clone(), current: None },
        entry: Some(entry),
    }
}

fn start(state: &State, id: Option<String>, moment: &Moment) -> Result<Step, Refusal> {
    let session = id.unwrap_or_else(|| id::session_id(moment));
    if !id::is_safe(&session) {
        return Err(Refusal::SessionId(session));
    }
    if state.session.as_ref() == Some(&session) {
        return Ok(Step::nothing(state, None));
    }
    Ok(Step {
        effects: vec![
            Effect::ArchiveLines,
            Effect::ResetCount,
            Effect::WriteSession(session.clone()),
        ],
        next: State { session: Some(session), current: state.current.clone() },
        entry: None,
    })
}

fn end(state: &State, now: UtcTime) -> Step {
    let mut effects = Vec::new();
    let mut own = None;
    if let Some(current) = &state.current {
        let abandoned = Resolution::new(OutcomeStatus::Abandoned, SESSION_ENDED);
        let entry = resolved(current.clone(), abandoned, now);
        if state.phase() == Phase::Active {
            effects.push(Effect::Record(entry.clone()));
            own = Some(entry);
        } else {
            effects.push(Effect::File(entry));
        }
        effects.push(Effect::ClearCurrent);
    }
    effects.extend([Effect::ArchiveLines, Effect::ResetCount]);
    if state.session.is_some() {
        effects.push(Effect::ClearSession);
    }
    Step { effects, next: State::default(), entry: own }
}
