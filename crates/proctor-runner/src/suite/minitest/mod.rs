//! Minitest, tests (`class CartTest < Minitest::Test`) and specs (`describe`, `it`) alike.

use std::path::Path;

use super::filter::ExampleFilter;
use super::ruby::{self, RubyFramework, RubyLoad, relative_to_root};
use super::{Opening, Reported, SuiteCapabilities, SuiteEnvironment, SuiteKind};

const FRAMEWORK: RubyFramework = RubyFramework { name: "minitest", title: "Minitest" };

/// What its examples report.
pub(crate) const CAPABILITIES: SuiteCapabilities = SuiteCapabilities {
    name: "Minitest",
    names: Reported::Always,
    durations: Reported::Always,
    output: Reported::Always,
    checks: Reported::Always,
};

/// A suite of Minitest tests.
#[derive(Debug, Clone)]
pub struct MinitestSuite {
    /// The Ruby to run.
    pub ruby: String,
    /// Files, folders and `FILE:LINE`, then `--`, then options of Minitest.
    pub args: Vec<String>,
    /// Whether to load once and fork. Without it every worker loads the project itself.
    pub preload: bool,
    /// Which of the tests take part.
    pub filter: ExampleFilter,
    /// What the project declares: whether the same code gives the same result every time.
    pub deterministic: Option<bool>,
}

/// What was asked, in Proctor's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MinitestRequest<'a> {
    /// The seed that orders the tests.
    pub(crate) seed: Option<u64>,
    /// Further options for Minitest itself.
    pub(crate) options: &'a [String],
    /// Files and folders, as typed in `from`; empty for all tests.
    pub(crate) paths: &'a [String],
    /// The folder in which the paths were typed.
    pub(crate) from: &'a Path,
    /// The project's root, where the tests run.
    pub(crate) root: &'a Path,
}

impl MinitestRequest<'_> {
    /// The arguments for the library's program.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let paths = self.paths.iter().map(|path| relative_to_root(path, self.from, self.root));
        let seed = self.seed.into_iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]);
        paths.chain(["--".to_owned()]).chain(seed).chain(self.options.iter().cloned()).collect()
    }
}

impl SuiteKind for MinitestSuite {
    fn capabilities(&self) -> &'static SuiteCapabilities {
        &CAPABILITIES
    }

    fn name(&self) -> &str {
        FRAMEWORK.name
    }

    fn open<'a>(&'a self, environment: &'a SuiteEnvironment) -> Opening<'a> {
        Box::pin(async move {
            let load = RubyLoad {
                framework: &FRAMEWORK,
                ruby: &self.ruby,
                args: &self.args,
                preload: self.preload,
                conversations: None,
                filter: &self.filter,
            };
            ruby::open(load, environment).await
        })
    }

    fn deterministic(&self) -> Option<bool> {
        self.deterministic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_before_options() {
        let words =
            |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
        let (options, paths) = (words(&["-n", "/adds/"]), words(&["test/a_test.rb:3"]));
        let here = Path::new("/nowhere");
        let request = MinitestRequest {
            seed: Some(7),
            options: &options,
            paths: &paths,
            from: here,
            root: here,
        };
        assert_eq!(request.arguments().join(" "), "test/a_test.rb:3 -- --seed 7 -n /adds/");
    }
}
