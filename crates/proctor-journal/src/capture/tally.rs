//! Numbers of tests, and where they were read: a report first, then the output's summary lines.

use std::fmt;

use super::{CommandReading, CommandResult, Tool, json, junit, text};
use crate::entry::Counts;

/// Numbers of tests in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that broke before they could fail.
    pub errors: u64,
    /// Tests left out, or known to fail.
    pub skipped: u64,
    /// Files or packages that could not be compiled or loaded, so that nothing in them ran.
    pub unloadable: u64,
}

impl Tally {
    /// Tests that did not pass.
    pub const fn bad(&self) -> u64 {
        self.failed + self.errors
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
            unloadable: self.unloadable + other.unloadable,
        }
    }

    /// The form stored in evidence.
    pub fn counts(&self) -> Counts {
        Counts::new(self.passed, self.failed, self.errors + self.unloadable, self.skipped)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        for (number, word) in
            [(self.errors, "in error"), (self.skipped, "skipped"), (self.unloadable, "not loaded")]
        {
            if number > 0 {
                write!(f, ", {number} {word}")?;
            }
        }
        Ok(())
    }
}

/// Where numbers were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The recording of a run of Proctor's own.
    Recording,
    /// A `JUnit` report.
    Junit,
    /// A JSON report of one of these tools.
    Json(&'static [Tool]),
    /// Summary lines of these tools.
    Text(Vec<Tool>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recording => f.write_str("run events"),
            Self::Junit => f.write_str("junit"),
            Self::Json(tools) => write!(f, "json: {}", names(tools).join(" or ")),
            Self::Text(tools) => write!(f, "text: {}", names(tools).join(", ")),
        }
    }
}

fn names(tools: &[Tool]) -> Vec<&'static str> {
    tools.iter().map(|tool| tool.as_str()).collect()
}

impl Source {
    fn is_of(&self, tools: &[Tool]) -> bool {
        match self {
            Self::Json(own) => own.iter().any(|tool| tools.contains(tool)),
            _ => true,
        }
    }
}

/// Numbers and where they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyReading {
    /// The numbers.
    pub tally: Tally,
    /// Where they come from.
    pub source: Source,
}

/// Reads the numbers of tests of a run: what its recording says, else the reports, else JSON in the
/// output, else the summary lines in the output, added up. In the output only the runners are looked for
/// that the command starts; a command that is not known may start any.
///
/// A report cannot always tell a test that failed from a file that did not load; where the
/// summary lines say that nothing failed and something did not load, they are believed.
pub fn read_tally(run: &CommandResult) -> Option<TallyReading> {
    read_tally_of(run, &CommandReading::of_words(&run.argv))
}

pub(super) fn read_tally_of(run: &CommandResult, command: &CommandReading) -> Option<TallyReading> {
    if let Some(recorded) = &run.recorded {
        let Counts { passed, failed, errors, skipped, .. } = recorded.counts;
        let tally = Tally { passed, failed, errors, skipped, unloadable: 0 };
        return Some(TallyReading { tally, source: Source::Recording });
    }
    let tools = tools_of(command);
    let printed = json::read(&run.output)
        .filter(|reading| reading.source.is_of(&tools))
        .or_else(|| text::read(&run.output, &tools));
    match (read_reports(&run.reports), printed) {
        (Some(_), Some(printed)) if printed.tally.unloadable > 0 && printed.tally.bad() == 0 => {
            Some(printed)
        }
        (reported, printed) => reported.or(printed),
    }
}

/// The tools whose summaries the command may print.
fn tools_of(command: &CommandReading) -> Vec<Tool> {
    if command.unknown().is_some() {
        return Tool::ALL.to_vec();
    }
    command.runners().flat_map(Tool::of_runner).copied().collect()
}

/// Adds up all reports of the best kind there is.
fn read_reports(reports: &[String]) -> Option<TallyReading> {
    let junit = reports.iter().filter_map(|report| junit::read(report)).reduce(Tally::plus);
    if let Some(tally) = junit {
        return Some(TallyReading { tally, source: Source::Junit });
    }
    reports.iter().filter_map(|report| json::read(report)).reduce(|first, next| TallyReading {
        tally: first.tally.plus(next.tally),
        source: first.source,
    })
}
