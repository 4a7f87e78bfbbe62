//! How large the files that Proctor reads may be, in bytes. Generous: a file that is larger was not meant to be read.
//!
//! Recordings have no limit, since they are read line by line; a line has one (`proctor_record::MAX_LINE`).

const MIB: u64 = 1 << 20;

/// `proctor.toml`.
pub const CONFIGURATION: u64 = 16 * MIB;
/// A scenario or workspace file.
pub const SCENARIO: u64 = 16 * MIB;
/// A file with rows of examples (CSV, JSON, JSON Lines).
pub const ROWS: u64 = 256 * MIB;
/// `run.json`.
pub const RUN_INFO: u64 = MIB;
/// `timings.json`: about 100 bytes for each example.
pub const TIMINGS: u64 = 256 * MIB;
/// A baseline, which holds the results of all examples of a run.
pub const BASELINE: u64 = 1024 * MIB;
/// A file of the journal; the largest holds all entries of a month.
pub const JOURNAL: u64 = 1024 * MIB;
/// A report of a test tool that the journal reads (JUnit and others).
pub const TOOL_REPORT: u64 = 256 * MIB;
/// A cassette of recorded model answers.
pub const CASSETTE: u64 = 1024 * MIB;
/// One cached answer of a model.
pub const CACHED_ANSWER: u64 = 64 * MIB;
/// Ruby source, specs and factories.
pub const RUBY_SOURCE: u64 = 16 * MIB;
/// What is known about covered code.
pub const COVER_METADATA: u64 = 256 * MIB;
/// What a program that Proctor started has left behind: logs of calls, results of observations.
pub const PROGRAM_OUTPUT: u64 = 1024 * MIB;
/// A state file of a workspace.
pub const WORKSPACE_STATE: u64 = 64 * MIB;
