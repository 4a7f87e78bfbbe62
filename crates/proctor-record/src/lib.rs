//! Recordings: a run's events on disk, and everything that is made from them.
//!
//! * [`RunStore`] knows the folder of runs, [`RunFolder`] one run, [`JsonlRecorder`] writes its events.
//! * [`Reader`] reads a file that may be torn or corrupt once; [`RecordingFollower`] and [`RecordingReader`] follow one that may grow.
//! * [`Aggregator`] folds events into [`RunData`], the one picture that every view shows; [`Tally`] is an attempt in numbers.
//! * [`ProgressCounter`] counts progress after every result.
//! * [`control`] is the socket of a live run: how far it is, how to stop it.
//! * [`destinations`] parses `--events`.
//!
//! Nothing here prints, reads the environment, or knows about workers, a runtime or the network. Streams over WebSocket are `proctor-stream`.

mod aggregate;
pub mod control;
pub mod destinations;
mod detached;
mod examples;
mod file_state;
#[doc(hidden)]
pub mod fuzzing;
mod line_digest;
mod model;
mod progress_counter;
mod reader;
mod recorder;
mod recording_reader;
mod run_names;
mod serialized_run;
mod store;
mod tally;
mod timings;
mod validate;
mod workspaces;

pub use aggregate::{Aggregator, MAX_LOG_LINES};
pub use detached::{DetachedLimits, DetachedRecorder};
pub use examples::{ExampleSource, OpenedRun, RunOnDisk, Totals};
pub use file_state::FileState;
pub use line_digest::without_digest;
pub use model::{
    AgentMessage, Attempt, Conversation, Evaluation, Example, LogLine, ModelUse, OutsideError,
    PartyError, RunData, Simulation, ToolCall, TopicVisit, Turn, UserTurn, Worker,
};
pub use progress_counter::ProgressCounter;
pub use reader::{
    Entry, LoadError, Loaded, MAX_LINE, Problem, ProblemKind, Reader, RunChoice, RunSplitter, load,
    load_outline, run_events,
};
pub use recorder::{JsonlRecorder, RecordError};
pub use recording_reader::{
    EventBatch, EventFilter, EventOffsets, EventSpans, FileChanges, Growth, RecentEvents,
    RecordedLine, RecordingBytes, RecordingChunks, RecordingFollower, RecordingReader, StreamEvent,
    last_suite_finished,
};
pub use run_names::ResolveError;
pub use serialized_run::SerializedRun;
pub use store::{FoundRun, GitState, RunFolder, RunInfo, RunStore, StoreError, recording_name};
pub use tally::{CheckTally, Tally};
pub use timings::{failed_examples, load_timings, save_timings};
pub use validate::{
    CheckedRun, DigestState, Finding, RecordingState, Severity, Validation, validate, validate_file,
};
pub use workspaces::{
    CoveredSet, FlakyAssertion, WORKSPACE_COVERAGE, WORKSPACE_WARNING, WorkspaceCoverage,
    WorkspaceEvaluation, WorkspaceFold, WorkspaceWarning,
};
