//! RSpec: one parent loads the project and reports its examples, then forks workers on demand.

mod parent;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command::CommandSuite;
use super::{Opened, SuiteError, Surroundings, command, library};

/// A suite of RSpec examples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RspecSuite {
    /// The Ruby to run.
    pub ruby: String,
    /// What would follow `rspec` on a command line: paths, filters, options.
    pub args: Vec<String>,
    /// Whether to load once and fork. Without it every worker loads the project itself.
    pub preload: bool,
}

pub(crate) async fn open(
    suite: &RspecSuite,
    surroundings: &Surroundings,
) -> Result<Opened, SuiteError> {
    let library = library::unpack(&surroundings.cache)
        .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
    let program = |name: &str| {
        vec![suite.ruby.clone(), library.join("exe").join(name).to_string_lossy().into_owned()]
    };
    if suite.preload {
        let parent =
            parent::Forks::new(program("proctor-rspec-parent"), suite.args.clone(), surroundings)?;
        return parent::open(Arc::new(parent)).await;
    }
    let worker = CommandSuite {
        name: "rspec".to_owned(),
        command: program("proctor-rspec-worker"),
        args: suite.args.clone(),
        env: BTreeMap::new(),
    };
    command::open(&worker, surroundings).await
}
