//! The state table once more, written down naively: what the journal is compared with.

use std::collections::BTreeMap;

use proctor_journal::disk::Disk;
use proctor_journal::{
    Annotation, Change, Entry, EntryPlace, Filter, Journal, JournalError, Moment, OutcomeStatus,
    Resolution,
};

use crate::support::{draft, refusal};

/// An operation a test can ask for.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Create(u8),
    Update { hypothesis: Option<u8>, note: bool },
    Resolve(OutcomeStatus),
    Annotate(u8),
    Adopt,
    AbandonOrphan,
    Start(Option<u8>),
    End,
    Count,
    Reset,
}

/// Which kind of answer came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Done,
    Nothing,
    AlreadyActive,
    OrphanActive,
    NoActive,
    OrphanPending,
}

/// What is believed to be on the disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) session: Option<String>,
    pub(crate) current: Option<Entry>,
    pub(crate) resolved: BTreeMap<String, Entry>,
    pub(crate) count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Situation {
    N,
    I,
    A,
    O,
    X,
}

impl Model {
    fn situation(&self) -> Situation {
        match (&self.session, &self.current) {
            (None, None) => Situation::N,
            (Some(_), None) => Situation::I,
            (None, Some(_)) => Situation::X,
            (Some(session), Some(entry)) if entry.session_id == *session => Situation::A,
            _ => Situation::O,
        }
    }

    /// What the table says an operation answers.
    pub(crate) fn expects(&self, ask: &Request) -> Reply {
        use Situation::{A, I, N, O, X};
        match (ask, self.situation()) {
            (Request::Create(_), A) => Reply::AlreadyActive,
            (Request::Create(_), O | X) => Reply::OrphanActive,
            (Request::Update { .. } | Request::Resolve(_), N | I) => Reply::NoActive,
            (Request::Update { .. } | Request::Resolve(_), O | X) => Reply::OrphanPending,
            (Request::Adopt | Request::AbandonOrphan, N | I | A) => Reply::Nothing,
            (Request::Annotate(_), _) if self.resolved.is_empty() => Reply::Nothing,
            _ => Reply::Done,
        }
    }
}

pub(crate) fn external(number: u8) -> String {
    format!("external-{}", number % 3)
}

/// Runs an operation; `Err` means the disk stopped.
pub(crate) fn ask<D: Disk>(
    journal: &Journal<D>,
    model: &Model,
    ask: &Request,
    moment: &Moment,
) -> Result<Reply, JournalError> {
    let said = match ask {
        Request::Create(n) => journal.create(draft(&format!("goal {n}")), moment).map(drop),
        Request::Update { hypothesis, note } => {
            let change = Change {
                hypothesis: hypothesis.map(|n| format!("hypothesis {n}")),
                note: note.then(|| "note".to_owned()),
                ..Change::default()
            };
            journal.update(change, moment).map(drop)
        }
        Request::Resolve(status) => {
            journal.resolve(Resolution::new(*status, "seen"), moment).map(drop)
        }
        Request::Annotate(n) => {
            let Some(id) = nth_resolved(model, *n) else { return Ok(Reply::Nothing) };
            let annotation =
                Annotation { surprise: Some(format!("surprise {n}")), ..Annotation::default() };
            journal.annotate(&id, annotation, moment).map(drop)
        }
        Request::Adopt => {
            let adopted = journal.adopt_orphan(moment)?.value;
            return Ok(if adopted.is_some() { Reply::Done } else { Reply::Nothing });
        }
        Request::AbandonOrphan => {
            let gone = journal.abandon_orphan("given up", moment)?.value;
            return Ok(if gone.is_some() { Reply::Done } else { Reply::Nothing });
        }
        Request::Start(id) => {
            let id = id.map(external);
            journal.start_session(id.as_deref(), moment).map(drop)
        }
        Request::End => journal.end_session(moment).map(drop),
        Request::Count => journal.increment_tool_count(moment).map(drop),
        Request::Reset => journal.reset_tool_count(moment),
    };
    match said {
        Ok(()) => Ok(Reply::Done),
        Err(error @ JournalError::Refused(_)) => Ok(match refusal(error) {
            proctor_journal::Refusal::AlreadyActive { .. } => Reply::AlreadyActive,
            proctor_journal::Refusal::OrphanActive { .. } => Reply::OrphanActive,
            proctor_journal::Refusal::NoActive { .. } => Reply::NoActive,
            proctor_journal::Refusal::OrphanPending { .. } => Reply::OrphanPending,
            other => panic!("{other}"),
        }),
        Err(error) => Err(error),
    }
}

fn nth_resolved(model: &Model, n: u8) -> Option<String> {
    let ids: Vec<&String> = model.resolved.keys().collect();
    (!ids.is_empty()).then(|| ids[usize::from(n) % ids.len()].clone())
}

/// What an operation that was done makes of the model.
pub(crate) fn advance(model: &Model, ask: &Request, moment: &Moment) -> Model {
    let mut next = model.clone();
    match ask {
        Request::Create(n) => {
            if next.session.is_none() {
                begin(&mut next, proctor_journal::id::session_id(moment));
            }
            next.current = Some(new_entry(*n, next.session.as_ref().unwrap(), moment));
        }
        Request::Update { hypothesis, note } => {
            let entry = next.current.as_mut().unwrap();
            let new = hypothesis.map(|n| format!("hypothesis {n}"));
            if let Some(new) = new.filter(|new| *new != entry.hypothesis) {
                let began =
                    entry.history.last().map_or(entry.created_at, |h| h.superseded_at.unwrap());
                let old = format!(
                    r#"{{"timestamp":"{began}","hypothesis":"{}","action":"{}","prediction":"{}","superseded_at":"{}"}}"#,
                    entry.hypothesis, entry.action, entry.prediction, moment.now
                );
                entry.history.push(serde_json::from_str(&old).unwrap());
                entry.hypothesis = new;
                entry.iteration_count += 1;
                entry.iteration_started_at = Some(moment.now);
            }
            entry.notes.extend(note.then(|| "note".to_owned()));
        }
        Request::Resolve(status) => finish(&mut next, *status, "seen", moment),
        Request::Annotate(n) => {
            let id = nth_resolved(model, *n).unwrap();
            next.resolved.get_mut(&id).unwrap().surprise = Some(format!("surprise {n}"));
        }
        Request::Adopt => {
            if next.session.is_none() {
                begin(&mut next, proctor_journal::id::session_id(moment));
            }
            next.current.as_mut().unwrap().session_id = next.session.clone().unwrap();
        }
        Request::AbandonOrphan => finish(&mut next, OutcomeStatus::Abandoned, "given up", moment),
        Request::Start(id) => {
            let id = id.map_or_else(|| proctor_journal::id::session_id(moment), external);
            if next.session.as_ref() != Some(&id) {
                begin(&mut next, id);
            }
        }
        Request::End => {
            if next.current.is_some() {
                finish(&mut next, OutcomeStatus::Abandoned, "session ended", moment);
            }
            next.session = None;
            next.count = 0;
        }
        Request::Count => next.count += 1,
        Request::Reset => next.count = 0,
    }
    next
}

fn begin(model: &mut Model, session: String) {
    model.session = Some(session);
    model.count = 0;
}

fn finish(model: &mut Model, status: OutcomeStatus, result: &str, moment: &Moment) {
    let mut entry = model.current.take().unwrap();
    let outcome = format!(
        r#"{{"status":"{status}","result":"{result}","captured_at":"{}","auto_captured":false}}"#,
        moment.now
    );
    entry.outcome = Some(serde_json::from_str(&outcome).unwrap());
    let tier = if status == OutcomeStatus::Abandoned { "abandoned" } else { "silver" };
    entry.confidence_tier = Some(tier.parse().unwrap());
    model.resolved.insert(entry.id.clone(), entry);
}

fn new_entry(n: u8, session: &str, moment: &Moment) -> Entry {
    let draft = draft(&format!("goal {n}"));
    let text = format!(
        r#"{{"id":"{}","session_id":"{session}","created_at":"{}","domain":"debugging",
            "strategy":"systematic-elimination","goal":"{}","hypothesis":"{}","action":"{}",
            "prediction":"{}","history":[],"iteration_count":1,"notes":[]}}"#,
        proctor_journal::id::entry_id(moment),
        moment.now,
        draft.goal,
        draft.hypothesis,
        draft.action,
        draft.prediction
    );
    serde_json::from_str(&text).unwrap()
}

/// What is really on the disk.
pub(crate) fn observed<D: Disk>(journal: &Journal<D>, moment: &Moment) -> Model {
    let listed = journal.list(&Filter::default()).unwrap().value;
    Model {
        session: journal.session_id().unwrap(),
        current: journal.current(moment).unwrap().value.map(|current| current.entry),
        resolved: listed
            .into_iter()
            .filter(|found| found.place != EntryPlace::Active)
            .map(|found| (found.entry.id.clone(), found.entry))
            .collect(),
        count: journal.tool_count().unwrap().value,
    }
}
