//! Projects in Ruby: the embedded library is unpacked, its program for a framework is started, and either one parent loads the
//! project and forks workers (`parent.rs`), or every worker loads the project itself.
//!
//! Knows no framework: `rspec` and `minitest` say what theirs is called.

mod library;
mod parent;
mod pipes;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proctor_converse::Settings;
use proctor_converse::worker_host::ConversationHost;

pub(crate) use self::pipes::PipeError;
use super::command::{self, CommandSuite};
use super::filter::ExampleFilter;
use super::{OpenedSuite, SuiteEnvironment, SuiteError};

/// A test framework of Ruby.
pub(super) struct RubyFramework {
    /// The name of the suite, and part of the names of the programs `proctor-NAME-parent` and `proctor-NAME-worker`.
    pub(super) name: &'static str,
    /// What users call it.
    pub(super) title: &'static str,
}

/// How the tests of one framework are loaded.
pub(super) struct RubyLoad<'a> {
    pub(super) framework: &'static RubyFramework,
    /// The Ruby to run.
    pub(super) ruby: &'a str,
    /// What the framework is asked to list.
    pub(super) args: &'a [String],
    /// Whether to load once and fork.
    pub(super) preload: bool,
    /// What conversations are conducted with; without it there are none.
    pub(super) conversations: Option<&'a Settings>,
    /// Which of the listed examples take part.
    pub(super) filter: &'a ExampleFilter,
}

pub(super) async fn open(
    load: RubyLoad<'_>,
    environment: &SuiteEnvironment,
) -> Result<OpenedSuite, SuiteError> {
    let library = library::unpack(&environment.cache)
        .map_err(|error| SuiteError { message: error.to_string(), output: Vec::new() })?;
    let program = |role: &str| {
        let name = format!("proctor-{}-{role}", load.framework.name);
        vec![load.ruby.to_owned(), library.join("exe").join(name).to_string_lossy().into_owned()]
    };
    let host = load.conversations.cloned().map(ConversationHost::new);
    let mut opened = if load.preload {
        let loaded = parent::LoadedProject {
            framework: load.framework,
            program: program("parent"),
            args: load.args.to_vec(),
        };
        let parent = parent::ForkingParent::new(loaded, environment, host.clone())?;
        let mut opened = parent::open(Arc::new(parent)).await?;
        opened.discovery.examples.retain(|example| load.filter.accepts(example));
        opened
    } else {
        let worker = CommandSuite {
            name: load.framework.name.to_owned(),
            command: program("worker"),
            args: load.args.to_vec(),
            env: BTreeMap::new(),
            filter: load.filter.clone(),
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

/// A path as seen from the root; it was typed in `from`.
pub(super) fn relative_to_root(path: &str, from: &Path, root: &Path) -> String {
    let below = from
        .canonicalize()
        .ok()
        .zip(root.canonicalize().ok())
        .and_then(|(from, root)| Some(from.strip_prefix(root).ok()?.to_owned()));
    match below {
        Some(below) if !below.as_os_str().is_empty() && !Path::new(path).is_absolute() => {
            below.join(path).to_string_lossy().into_owned()
        }
        _ => path.to_owned(),
    }
}
