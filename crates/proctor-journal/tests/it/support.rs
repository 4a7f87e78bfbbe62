//! A journal in a temporary folder with a clock and random bits of its own.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan};
use proctor_journal::{
    Domain, Draft, Entry, Journal, JournalError, Moment, OutcomeStatus, Refusal, Resolution,
    Strategy,
};

/// The first session of the specification's examples.
pub(crate) const SEED_SESSION: &str = "session_20251203_140000_x7y8z9";

/// A sealed journal.
pub(crate) struct TestJournal {
    pub(crate) journal: Journal,
    clock: Clock,
    dir: PathBuf,
    _temp: tempfile::TempDir,
}

/// A clock that moves one second per look.
pub(crate) struct Clock {
    now: Cell<Timestamp>,
    nonce: Cell<u64>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { now: Cell::new("2025-12-03T14:30:22Z".parse().unwrap()), nonce: Cell::new(7) }
    }

    pub(crate) fn tick(&self) -> Moment {
        self.now.set(self.now.get() + 1.second());
        // An odd multiplier visits all numbers, so that no two are alike.
        self.nonce.set(self.nonce.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        Moment::new(self.now.get(), self.nonce.get())
    }

    /// The present second once more, with other random bits.
    pub(crate) fn same_second(&self) -> Moment {
        let moment = self.tick();
        self.now.set(self.now.get() - 1.second());
        Moment { now: proctor_journal::UtcTime::new(self.now.get()), ..moment }
    }

    pub(crate) fn advance_days(&self, days: i64) {
        self.now.set(self.now.get() + (24 * days).hours());
    }
}

impl TestJournal {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("project/.claude/journal");
        let journal = Journal::open(&dir).unwrap();
        Self { journal, clock: Clock::new(), dir, _temp: temp }
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.tick()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The same folder seen by a new process.
    pub(crate) fn reopened(&self) -> Journal {
        Journal::open(&self.dir).unwrap()
    }

    pub(crate) fn create(&self, goal: &str) -> Entry {
        self.journal.create(draft(goal), &self.now()).unwrap().value
    }

    pub(crate) fn resolve(&self, status: OutcomeStatus) -> Entry {
        self.journal.resolve(Resolution::new(status, "seen"), &self.now()).unwrap().value
    }

    pub(crate) fn start(&self) -> String {
        self.journal.start_session(None, &self.now()).unwrap().value
    }

    pub(crate) fn start_as(&self, id: &str) -> String {
        self.journal.start_session(Some(id), &self.now()).unwrap().value
    }

    pub(crate) fn end(&self) -> Vec<Entry> {
        self.journal.end_session(&self.now()).unwrap().value
    }

    pub(crate) fn current(&self) -> Option<Entry> {
        self.journal.current(&self.now()).unwrap().value.map(|current| current.entry)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Names in a folder of the journal, sorted.
    pub(crate) fn names(&self, dir: &str) -> Vec<String> {
        let Ok(listing) = std::fs::read_dir(self.path(dir)) else { return Vec::new() };
        let mut names: Vec<_> =
            listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// All archived bytes.
    pub(crate) fn archived(&self) -> String {
        self.names("archive").iter().map(|name| self.read(&format!("archive/{name}"))).collect()
    }
}

pub(crate) fn draft(goal: &str) -> Draft {
    Draft {
        goal: goal.to_owned(),
        hypothesis: format!("{goal} is caused by test pollution"),
        action: "adding teardown".to_owned(),
        prediction: "the suite passes ten times in a row".to_owned(),
        ..Draft::new(Domain::Debugging, Strategy::SystematicElimination)
    }
}

pub(crate) fn refusal(error: JournalError) -> Refusal {
    match error {
        JournalError::Refused(refusal) => refusal,
        other => panic!("not a refusal: {other}"),
    }
}

/// Whether an entry of a corpus belongs to the half that is not looked at while the readers are changed: the highest bit of
/// the FNV-1a hash of its name.
pub(crate) fn is_held_out(name: &str) -> bool {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 63 == 1
}
