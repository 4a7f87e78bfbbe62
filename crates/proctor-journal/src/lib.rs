//! The GHAP journal: goal, hypothesis, action, prediction; then what really happened.
//!
//! A synchronous library over plain files in `.claude/journal/`. It owns the journal's folder and
//! nothing else: all state is in the files, a kernel lock guards every change, and a crash at any
//! step loses nothing and repeats nothing.
//!
//! It does not print, log, read the environment, the clock or random bits, start processes, speak
//! to a network or know an async runtime. Time and randomness come in as a [`Moment`].
//!
//! ```no_run
//! use proctor_journal::{Domain, Draft, Journal, Moment, OutcomeStatus, Resolution, Strategy};
//!
//! # fn now() -> Moment { Moment::new("2025-12-03T14:30:22Z".parse().unwrap(), 0xa1b2c3) }
//! let journal = Journal::open("project/.claude/journal")?;
//! let draft = Draft {
//!     goal: "fix the flaky cache test".into(),
//!     hypothesis: "an earlier test leaves its cache behind".into(),
//!     action: "clear the cache after every test".into(),
//!     prediction: "test_cache passes ten times in random order".into(),
//!     ..Draft::new(Domain::Debugging, Strategy::CheckAssumptions)
//! };
//! let entry = journal.create(draft, &now())?.value;
//! let similar = journal.take_unshown_similar(&entry, 3, &now())?.value;
//! journal.resolve(Resolution::new(OutcomeStatus::Confirmed, "ten of ten"), &now())?;
//! # Ok::<(), proctor_journal::JournalError>(())
//! ```
//!
//! - [`Journal`] is the whole interface of the specification, and of this project's additions.
//! - [`step`](mod@step) is the state table as a pure function; [`disk`] the file operations under it.
//! - [`capture`] decides what a command's outcome says about a prediction.
//! - [`stats`](mod@stats), [`search`](mod@search), [`timeline`] and [`retro`] read entries and write nothing.
//! - [`hook`] answers an agent's hooks; [`doctor`] examines a journal's files.

pub mod capture;
mod decode;
pub mod disk;
pub mod doctor;
pub mod entry;
mod entry_header;
pub mod error;
pub mod exchange;
#[doc(hidden)]
pub mod fuzzing;
pub mod hook;
pub mod id;
pub mod journal;
pub mod model;
pub mod paths;
pub mod quality;
mod record;
pub mod render;
pub mod report_files;
pub mod request;
pub mod retro;
pub mod search;
pub mod stats;
pub mod step;
mod store;
#[cfg(test)]
mod testing;
pub mod text;
pub mod time;
pub mod timeline;
mod warning;

pub use entry::{
    Counts, Entry, Evidence, HistoryEntry, Lesson, MovedEvidence, Outcome, RootCause,
    StatedExpectation,
};
pub use error::{JournalError, Refusal};
pub use journal::{
    CHECK_IN, CaptureResult, Current, EntryPlace, Filter, FoundEntry, Journal, JournalResult,
    Match, ToolUse,
};
pub use model::{ConfidenceTier, Domain, OutcomeStatus, Strategy};
pub use record::Extra;
pub use request::{Annotation, Change, Draft, Resolution};
pub use time::{Moment, UtcTime};
pub use warning::{Warning, WithWarnings};
