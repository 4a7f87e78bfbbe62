//! RSpec: one parent loads the project and reports its examples, then forks workers on demand.

mod command_line;
mod parent;
mod pipes;

pub(crate) use pipes::PipeError;

use std::collections::BTreeMap;
use std::sync::Arc;

use proctor_converse::Settings;
use proctor_converse::worker_host::ConversationHost;

use super::command::CommandSuite;
use super::filter::ExampleFilter;
use super::{OpenedSuite, SuiteEnvironment, SuiteError, command, library};

pub use command_line::RspecRequest;

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

pub(crate) async fn open(
    suite: &RspecSuite,
    environment: &SuiteEnvironment,
) -> Result<OpenedSuite, SuiteError> {
    let library = library::unpack(&environment.cache)
        .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
    let program = |name: &str| {
        vec![suite.ruby.clone(), library.join("exe").join(name).to_string_lossy().into_owned()]
    };
    let host = suite.conversations.clone().map(|settings| ConversationHost::new(*settings));
    let mut opened = if suite.preload {
        let program = program("proctor-rspec-parent");
        let parent =
            parent::ForkingParent::new(program, suite.args.clone(), environment, host.clone())?;
        parent::open(Arc::new(parent)).await?
    } else {
        let worker = CommandSuite {
            name: "rspec".to_owned(),
            command: program("proctor-rspec-worker"),
            args: suite.args.clone(),
            env: BTreeMap::new(),
            // RSpec has chosen by itself: it was given the options.
            filter: ExampleFilter::default(),
            deterministic: None,
        };
        command::open(&worker, environment, host.clone(), true).await?
    };
    if let Some(host) = host {
        let finish = opened.finish;
        opened.finish = Box::new(move |at_once| {
            Box::pin(async move {
                let mut finished = finish(at_once).await;
                finished.notes.extend(host.end(at_once).await.notes);
                finished
            })
        });
    }
    Ok(opened)
}
