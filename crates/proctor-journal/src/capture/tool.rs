//! The test runners whose output is understood, and how a command line gives them away.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

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
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

static TEST_COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:^|[\s;&|(/])(?:py\.?test|jest|vitest|rspec|minitest|nextest|ctest|phpunit|tox|nox",
        r"|go\s+test|cargo\s+(?:\+\S+\s+)?(?:test|t)|mix\s+test|(?:npm|pnpm|yarn|bun|deno)\s+(?:run\s+)?(?:t|test)",
        r"|make\s+(?:test|check)|(?:rails|rake)\s+(?:test|spec)|python3?\s+-m\s+unittest|proctor\s+run)(?:[\s;&|):]|$)"
    ))
    .ok()
});

/// Whether a command line runs tests.
pub fn looks_like_tests(command: &str) -> bool {
    TEST_COMMAND.as_ref().is_some_and(|pattern| pattern.is_match(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_commands_are_told_from_others() {
        for yes in [
            "pytest -q",
            "python -m pytest tests",
            "cd x && cargo test --workspace",
            "cargo +nightly test",
            "cargo nextest run",
            "npx jest a",
            "npm run test",
            "bundle exec rspec spec/a_spec.rb",
            "./node_modules/.bin/vitest run",
            "go test ./...",
            "RUST_LOG=x cargo test; echo done",
        ] {
            assert!(looks_like_tests(yes), "{yes}");
        }
        for no in [
            "ls",
            "cargo build",
            "git commit -m 'tests'",
            "cat pytest.ini",
            "go run ./test",
            "pip install pytest-cov",
        ] {
            assert!(!looks_like_tests(no), "{no}");
        }
    }
}
