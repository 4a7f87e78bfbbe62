//! Projects in Ruby: the embedded library is unpacked, its program for a framework is started, and either one parent loads the
//! project and forks workers (`parent.rs`), or every worker loads the project itself.
//!
//! Knows no framework: `rspec` and `minitest` say what theirs is called.

mod final_report;
mod gc_settings;
mod library;
mod observers;
mod parent;
mod pipes;
mod process_tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proctor_converse::Settings;
use proctor_converse::worker_host::ConversationHost;
use proctor_process::ChannelConfig;
use proctor_process::protocol::{IncomingRequest, ReplyError};

pub(crate) use self::observers::{ObserverProcess, SuiteObservers};
pub(crate) use self::pipes::PipeError;
use super::command::{self, CommandSuite};
use super::filter::ExampleFilter;
use super::{OpenedSuite, SuiteEnvironment, SuiteError};
use crate::run::outputs::{READ_EVENTS, RunOutputs, answer_read};

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
    let mut parent_program = program("parent");
    if let Some(plan) = &environment.mutation {
        parent_program.extend(["--mutation".to_owned(), plan.to_string_lossy().into_owned()]);
    }
    let loaded = parent::LoadedProject {
        framework: load.framework,
        program: parent_program,
        args: load.args.to_vec(),
    };
    let mut opened = if load.preload {
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
        let mut opened = command::open(&worker, environment, host.clone(), true).await?;
        opened.observers = observers_beside(worker, program("observers"), environment, &opened);
        report_from_fresh_parent(opened, loaded, environment)
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

/// The observers of a suite that is not loaded once: their process loads it too.
fn observers_beside(
    worker: CommandSuite,
    command: Vec<String>,
    environment: &SuiteEnvironment,
    opened: &OpenedSuite,
) -> Option<SuiteObservers> {
    let beside = command::launcher_of(CommandSuite { command, ..worker }, environment);
    (opened.discovery.observers > 0).then(|| SuiteObservers {
        launch: Box::new(move |outputs| {
            Box::pin(async move { beside.launch_beside(serve_events(&outputs)).await })
        }),
        within: Duration::from_millis(opened.discovery.observers_within_ms),
        end: Box::new(|| Box::pin(std::future::ready(Vec::new()))),
    })
}

/// The configuration of a channel whose other side asks for the events of the run.
fn serve_events(outputs: &Arc<dyn RunOutputs>) -> ChannelConfig {
    let outputs = Arc::clone(outputs);
    ChannelConfig::default().handler(move |request: IncomingRequest| {
        if &*request.action == READ_EVENTS {
            answer_read(&outputs, &request, None)
        } else {
            Box::pin(std::future::ready(Err(ReplyError::unknown_action(&request.action))))
        }
    })
}

/// Where every worker has loaded the project itself, a parent is started at the end of the run to report it.
fn report_from_fresh_parent(
    mut opened: OpenedSuite,
    loaded: parent::LoadedProject,
    environment: &SuiteEnvironment,
) -> OpenedSuite {
    if !opened.discovery.has_final_report || environment.final_report.is_none() {
        return opened;
    }
    let (finish, environment) = (opened.finish, environment.clone());
    opened.finish = Box::new(move |at_once| {
        Box::pin(async move {
            let mut finished = finish(at_once).await;
            if !at_once {
                parent::report_run(loaded, &environment).await.add_to(&mut finished);
            }
            finished
        })
    });
    opened
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
