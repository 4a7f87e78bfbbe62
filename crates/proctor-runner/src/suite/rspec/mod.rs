//! RSpec. What it is asked for stands in `command_line.rs`; loading and forking is that of every project in Ruby.

mod command_line;

use proctor_converse::Settings;

pub(super) use self::command_line::RspecRequest;
use super::filter::ExampleFilter;
use super::ruby::{self, RubyFramework, RubyLoad};
use super::{Opening, Reported, SuiteCapabilities, SuiteEnvironment, SuiteKind};

const FRAMEWORK: RubyFramework = RubyFramework { name: "rspec", title: "RSpec" };

/// What its examples report.
pub(crate) const CAPABILITIES: SuiteCapabilities = SuiteCapabilities {
    name: "RSpec",
    names: Reported::Always,
    durations: Reported::Always,
    output: Reported::Always,
    checks: Reported::Never,
};

/// A suite of RSpec examples.
#[derive(Debug, Clone)]
pub struct RspecSuite {
    /// The Ruby to run.
    pub ruby: String,
    /// What would follow `rspec` on a command line: paths, filters, options.
    pub args: Vec<String>,
    /// Whether to load once and fork. Without it every worker loads the project itself.
    pub preload: bool,
    /// What conversations of its examples are conducted with; without it there are none.
    pub conversations: Option<Box<Settings>>,
    /// What the project declares: whether the same code gives the same result every time.
    pub deterministic: Option<bool>,
}

impl SuiteKind for RspecSuite {
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
                conversations: self.conversations.as_deref(),
                // RSpec has chosen by itself: it was given the options.
                filter: &ExampleFilter::default(),
            };
            ruby::open(load, environment).await
        })
    }

    fn deterministic(&self) -> Option<bool> {
        self.deterministic
    }

    fn conversation_settings(&mut self) -> Option<&mut Settings> {
        self.conversations.as_deref_mut()
    }
}
