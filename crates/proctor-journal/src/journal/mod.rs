//! The journal: every operation of the specification, over one folder.
//!
//! Each change takes the lock, cleans up after an interrupted one, asks the pure state
//! table what to do, and carries the effects out in order. All state is in the files: a `Journal`
//! is only a place, and any number of them, in any number of processes, may share a folder.

mod annotate;
mod capture;
mod counter;
mod evidence;
mod read;
mod scan;
mod session;

use std::path::{Path, PathBuf};

use crate::disk::{Disk, Durability, LockWait, OsDisk, WriteFilter};
use crate::entry::{Entry, Evidence};
use crate::error::{At, JournalError};
use crate::id;
use crate::model::OutcomeStatus;
use crate::quality;
use crate::record::to_pretty;
use crate::request::{Change, Draft, Resolution};
use crate::step::{Effect, Operation, State, Step, step};
use crate::store::{CURRENT, LANES, Locked, SESSION, Store};
use crate::text;
use crate::time::Moment;
use crate::warning::{Warning, WithWarnings};

pub use capture::CaptureResult;
pub use counter::{CHECK_IN, ToolUse};
pub use read::{Current, EntryPlace, Filter, FoundEntry};
pub use scan::Match;

/// What most operations return: a value with warnings, or an error.
pub type JournalResult<T> = Result<WithWarnings<T>, JournalError>;

/// A journal folder, or a lane in it.
#[derive(Clone, Debug)]
pub struct Journal<D = OsDisk> {
    pub(crate) store: Store<D>,
    lane: Option<String>,
}

impl Journal<OsDisk> {
    /// Opens a journal and makes its folder if it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let journal = Self::at(dir);
        journal.store.ensure()?;
        Ok(journal)
    }

    /// A journal that is only looked at: nothing is made until something is written.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self::on(OsDisk::default(), dir)
    }

    /// The same journal, with everything that is written to it passing a filter.
    #[must_use]
    pub fn with_filter(mut self, filter: WriteFilter) -> Self {
        self.store.disk = OsDisk::with_filter(filter);
        self
    }
}

impl<D: Disk> Journal<D> {
    /// A journal on another kind of disk.
    pub fn on(disk: D, dir: impl Into<PathBuf>) -> Self {
        let root = dir.into();
        let store = Store { disk, dir: root.clone(), root, lock_wait: LockWait::Forever };
        Self { store, lane: None }
    }

    /// The same journal's lane of that name: a sub-journal with its own session and entry.
    pub fn lane(self, name: &str) -> Result<Self, JournalError> {
        if !id::is_safe(name) {
            return Err(JournalError::Lane(name.to_owned()));
        }
        let dir = self.store.root.join(LANES).join(name);
        Ok(Self { store: Store { dir, ..self.store }, lane: Some(name.to_owned()) })
    }

    /// The same journal with another wait for the lock; hooks wait 50 ms and give up.
    #[must_use]
    pub fn lock_wait(mut self, lock_wait: LockWait) -> Self {
        self.store.lock_wait = lock_wait;
        self
    }

    /// The folder of the journal or lane.
    pub fn dir(&self) -> &Path {
        &self.store.dir
    }

    /// The lane's name.
    pub fn lane_name(&self) -> Option<&str> {
        self.lane.as_deref()
    }

    /// Creates an entry; starts a session if there is none.
    ///
    /// Refused while an entry is active, also one left by another session. Remarks on the quality
    /// of the draft come with the answer and change nothing.
    pub fn create(&self, draft: Draft, moment: &Moment) -> JournalResult<Entry> {
        let mut warnings = Vec::new();
        let draft = draft.checked(&mut warnings)?;
        warnings.extend(quality::remarks(&draft));
        self.run_entry_operation(Operation::Create(draft), moment, warnings)
    }

    /// Changes the active entry; a different hypothesis, action or prediction is a new iteration.
    pub fn update(&self, change: Change, moment: &Moment) -> JournalResult<Entry> {
        let mut warnings = Vec::new();
        let change = change.checked(&mut warnings)?;
        self.run_entry_operation(Operation::Update(change), moment, warnings)
    }

    /// Ends the active entry.
    pub fn resolve(&self, resolution: Resolution, moment: &Moment) -> JournalResult<Entry> {
        let mut warnings = Vec::new();
        let resolution = resolution.checked(&mut warnings);
        self.run_entry_operation(Operation::Resolve(resolution), moment, warnings)
    }

    /// Gives the active entry up.
    pub fn abandon(&self, reason: impl Into<String>, moment: &Moment) -> JournalResult<Entry> {
        self.resolve(Resolution::new(OutcomeStatus::Abandoned, reason), moment)
    }

    /// Attaches evidence that decided nothing; the entry stays active.
    pub fn attach(&self, evidence: Evidence, moment: &Moment) -> JournalResult<Entry> {
        self.run_entry_operation(Operation::Attach(evidence), moment, Vec::new())
    }

    /// Takes over the entry another session left; `None` if there is none.
    pub fn adopt_orphan(&self, moment: &Moment) -> JournalResult<Option<Entry>> {
        let done = self.run(Operation::AdoptOrphan, moment, Vec::new())?;
        Ok(done.map(|step| step.entry))
    }

    /// Gives the entry another session left up, into that session's archive.
    pub fn abandon_orphan(
        &self,
        reason: impl Into<String>,
        moment: &Moment,
    ) -> JournalResult<Option<Entry>> {
        let mut warnings = Vec::new();
        let reason = text::truncate_field("reason", reason.into(), &mut warnings);
        let done = self.run(Operation::AbandonOrphan(reason), moment, warnings)?;
        Ok(done.map(|step| step.entry))
    }

    /// Runs an operation that always has an entry to answer with.
    fn run_entry_operation(
        &self,
        operation: Operation,
        moment: &Moment,
        warnings: Vec<Warning>,
    ) -> JournalResult<Entry> {
        let done = self.run(operation, moment, warnings)?;
        match done.value.entry {
            Some(value) => Ok(WithWarnings { value, warnings: done.warnings }),
            None => Err(crate::error::Refusal::NoActive { operation: "answer with" }.into()),
        }
    }

    pub(crate) fn run(
        &self,
        operation: Operation,
        moment: &Moment,
        mut warnings: Vec<Warning>,
    ) -> JournalResult<Step> {
        let mut locked = self.store.lock(moment)?;
        let state = locked.recover_state()?;
        let moment = match operation {
            Operation::Create(_) => self.store.moment_for_new_id(*moment)?,
            _ => *moment,
        };
        let step = step(&state, operation, &moment)?;
        locked.apply_effects(&state, &step.effects)?;
        warnings.append(&mut locked.warnings);
        Ok(WithWarnings { value: step, warnings })
    }
}

impl<D: Disk> Locked<'_, D> {
    pub(crate) fn apply_effects(
        &mut self,
        state: &State,
        effects: &[Effect],
    ) -> Result<(), JournalError> {
        for effect in effects {
            self.apply_effect(state, effect)?;
        }
        Ok(())
    }

    fn apply_effect(&mut self, state: &State, effect: &Effect) -> Result<(), JournalError> {
        let current = self.store.path(CURRENT);
        let session = self.store.path(SESSION);
        match effect {
            Effect::WriteSession(id) => {
                self.replace(&session, format!("{id}\n").as_bytes(), Durability::Synced)?;
                self.sync_folders_above()
            }
            Effect::MoveEvidence { file, evidence } => self.move_evidence(file, evidence),
            Effect::WriteCurrent(entry) => {
                let text = to_pretty(entry).at("write", &current)?;
                self.replace(&current, text.as_bytes(), Durability::Synced)
            }
            Effect::Record(entry) => self.record(entry),
            Effect::File(entry) => self.file(entry),
            // Not synced: should the file come back after a crash, its line is already written,
            // and `recover_state` clears it again. This saves one disk flush per resolved entry.
            Effect::ClearCurrent => self.remove(&current),
            Effect::ArchiveLines => self.archive_lines(state.session.as_deref()),
            Effect::ResetCount => self.write_count(0),
            Effect::ClearSession => {
                self.remove(&session)?;
                self.sync_dir_of(&session)
            }
        }
    }
}
