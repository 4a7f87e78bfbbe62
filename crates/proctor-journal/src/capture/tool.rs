//! The test runners whose summaries are understood.

use std::fmt;

macro_rules! tools {
    ($($variant:ident = $name:literal, $doc:literal;)+) => {
        /// A test runner.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Tool {
            $(#[doc = $doc] $variant,)+
        }

        impl Tool {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

tools! {
    Pytest = "pytest", "Python's pytest.";
    Unittest = "unittest", "Python's unittest.";
    Jest = "jest", "Jest for JavaScript.";
    Vitest = "vitest", "Vitest for JavaScript.";
    Mocha = "mocha", "Mocha for JavaScript.";
    Node = "node --test", "The test runner of Node.js.";
    Playwright = "playwright", "Playwright for browsers.";
    Ava = "ava", "AVA for JavaScript.";
    Bun = "bun test", "The test runner of Bun.";
    Deno = "deno test", "The test runner of Deno.";
    Go = "go test", "`go test`.";
    Cargo = "cargo test", "`cargo test`.";
    Nextest = "nextest", "`cargo nextest`.";
    Rspec = "rspec", "Ruby's `RSpec`.";
    Minitest = "minitest", "Ruby's Minitest.";
    TestUnit = "test-unit", "Ruby's test-unit.";
    Phpunit = "phpunit", "`PHPUnit`.";
    Surefire = "surefire", "Maven's Surefire and Failsafe.";
    Ctest = "ctest", "The `ctest` of `CMake`.";
    ExUnit = "mix test", "Elixir's `ExUnit`.";
    Bats = "bats", "Bats in its pretty form.";
    Prove = "prove", "Perl's `prove`.";
    Tap = "tap", "Lines of the Test Anything Protocol.";
    Proctor = "proctor", "This very program.";
}

impl Tool {
    /// The summaries that a runner of this name prints; none where it counts nothing that is understood.
    pub(super) fn of_runner(name: &str) -> &'static [Self] {
        match name {
            "pytest" => &[Self::Pytest],
            "unittest" | "django test" => &[Self::Unittest],
            "jest" => &[Self::Jest],
            "vitest" => &[Self::Vitest],
            "mocha" => &[Self::Mocha, Self::Tap],
            "cypress" => &[Self::Mocha],
            "node --test" => &[Self::Node],
            "playwright" => &[Self::Playwright],
            "ava" => &[Self::Ava, Self::Tap],
            "tap" | "tape" => &[Self::Tap],
            "bun test" => &[Self::Bun],
            "deno test" => &[Self::Deno],
            "go test" => &[Self::Go],
            "cargo test" => &[Self::Cargo],
            "nextest" => &[Self::Nextest],
            "rspec" => &[Self::Rspec],
            "minitest" | "test-unit" => &[Self::Minitest, Self::TestUnit],
            "rails test" => &[Self::Minitest, Self::TestUnit, Self::Rspec],
            "phpunit" => &[Self::Phpunit],
            "maven" => &[Self::Surefire],
            "ctest" => &[Self::Ctest],
            "mix test" => &[Self::ExUnit],
            "bats" => &[Self::Bats, Self::Tap],
            "prove" => &[Self::Prove],
            "proctor" => &[Self::Proctor],
            // These start other runners.
            "tox" | "nox" => Self::ALL,
            _ => &[],
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
