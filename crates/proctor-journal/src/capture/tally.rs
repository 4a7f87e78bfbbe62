//! Numbers of tests, and where they were read: a report first, then the output's summary lines.

use std::fmt;

use super::{Run, Tool, json, junit, text};
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
    /// The caller knew them.
    Caller,
    /// A `JUnit` report.
    Junit,
    /// A JSON report of this tool.
    Json(&'static str),
    /// Summary lines of these tools.
    Text(Vec<Tool>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("run events"),
            Self::Junit => f.write_str("junit"),
            Self::Json(tool) => write!(f, "json: {tool}"),
            Self::Text(tools) => {
                let names: Vec<_> = tools.iter().map(|tool| tool.as_str()).collect();
                write!(f, "text: {}", names.join(", "))
            }
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

/// Reads the numbers of tests of a run: what the caller knows, else the reports, else JSON in the
/// output, else the summary lines of every runner found in the output, added up.
///
/// A report cannot always tell a test that failed from a file that did not load; where the
/// summary lines say that nothing failed and something did not load, they are believed.
pub fn read_tally(run: &Run) -> Option<TallyReading> {
    if let Some(counts) = &run.counts {
        let Counts { passed, failed, errors, skipped, .. } = *counts;
        let tally = Tally { passed, failed, errors, skipped, unloadable: 0 };
        return Some(TallyReading { tally, source: Source::Caller });
    }
    let printed = json::read(&run.output).or_else(|| text::read(&run.output));
    match (read_reports(&run.reports), printed) {
        (Some(_), Some(printed)) if printed.tally.unloadable > 0 && printed.tally.bad() == 0 => {
            Some(printed)
        }
        (reported, printed) => reported.or(printed),
    }
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
