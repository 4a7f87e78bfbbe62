//! The test runners whose output is understood.

use std::fmt;

/// A test runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Python's pytest.
    Pytest,
    /// Jest for JavaScript.
    Jest,
    /// Vitest for JavaScript.
    Vitest,
    /// `go test`.
    Go,
    /// `cargo test`.
    Cargo,
    /// `cargo nextest`.
    Nextest,
    /// Ruby's `RSpec`.
    Rspec,
    /// Ruby's Minitest.
    Minitest,
    /// This very program.
    Proctor,
}

impl Tool {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Jest => "jest",
            Self::Vitest => "vitest",
            Self::Go => "go test",
            Self::Cargo => "cargo test",
            Self::Nextest => "nextest",
            Self::Rspec => "rspec",
            Self::Minitest => "minitest",
            Self::Proctor => "proctor",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
