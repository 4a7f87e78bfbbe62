//! `list_examples`: what a run would run.
//!
//! Finding examples means loading the project, which may take longer than a call should. So a process of its own does it (`proctor
//! list`), and a call that would have to wait too long says so; the next one with the same parameters gets the answer.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proctor_process::{CaptureError, ChildEnvironment, ProcessSpec, capture_output};
use proctor_text::truncate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::project_paths;
use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::table::{Context, Group, Hints, Tool, ToolDeclaration};
use proctor_tools::paging::page;

/// How long finding examples may take in all.
const DISCOVERY_TIMEOUT: Duration = Duration::from_mins(2);
/// How many bytes a listing may have.
const MAX_LISTING: usize = 256 << 20;
/// How long an unfetched result is kept; the project may have changed since.
const RESULT_LIFETIME: Duration = Duration::from_mins(1);
/// How many tags of an example come.
const MAX_TAGS: usize = 20;
/// How much of a description comes.
const MAX_TITLE_CHARS: usize = 300;

pub(super) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "list_examples",
        title: "List the examples of this project",
        group: Group::Runs,
        hints: Hints { open_world: true, ..Hints::READS },
        description: "List the examples that a run would run, with their stable ids, descriptions, places and tags. Nothing is run, but the project is loaded. \
             Narrow it with the same parameters as run_start. If loading takes too long the error says `not_ready`: call again with the same parameters.",
    };
    vec![declaration.with_async_handler(list)]
}

/// Parameters of `list_examples`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Files, folders, `FILE:LINE` or `FILE[1:2]`, as seen from the project's root. Leave out for everything.
    #[serde(default)]
    paths: Vec<String>,
    /// Only examples whose stable id begins with one of these.
    #[serde(default)]
    examples: Vec<String>,
    /// Only examples whose full description contains this text, or matches it when written as /REGEX/.
    #[serde(default)]
    matching: Vec<String>,
    /// Only examples with one of these tags (`~slow` leaves them out).
    #[serde(default)]
    tags: Vec<String>,
    /// Only these suites: `rspec`, `scenario`, or a name of proctor.toml.
    #[serde(default)]
    suites: Vec<String>,
    /// How many at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Which examples, as `proctor run` and `proctor list` take it.
pub(super) struct Selection<'a> {
    pub(super) paths: &'a [String],
    pub(super) examples: &'a [String],
    pub(super) matching: &'a [String],
    pub(super) tags: &'a [String],
    pub(super) suites: &'a [String],
}

impl Selection<'_> {
    /// Options first, then paths; a value is never taken for an option, and a path never leads out of the project.
    pub(super) fn arguments(&self, root: &Path) -> Result<Vec<String>, ToolError> {
        for (name, values) in [
            ("examples", self.examples),
            ("matching", self.matching),
            ("tags", self.tags),
            ("suites", self.suites),
        ] {
            if let Some(value) = values.iter().find(|value| value.contains('\0')) {
                let problem = format_args!("{name}: {value:?} contains a NUL character");
                return Err(ToolError::invalid(problem));
            }
        }
        for path in self.paths {
            project_paths::check(root, path)?;
        }
        let options = [
            ("stable-id", self.examples),
            ("example", self.matching),
            ("tag", self.tags),
            ("suite", self.suites),
        ];
        let named = options
            .into_iter()
            .flat_map(|(name, values)| values.iter().map(move |value| format!("--{name}={value}")));
        Ok(named.chain(self.paths.iter().cloned()).collect())
    }
}

/// Answer of `list_examples`.
#[derive(Debug, Serialize, JsonSchema)]
struct ListAnswer {
    /// The examples, in the order of their suites.
    examples: Vec<ListedExample>,
    /// How many there are in all.
    total: u64,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// One example.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedExample {
    /// Its stable id.
    id: String,
    /// Its descriptions, outermost first.
    title: String,
    /// `file:line`.
    location: String,
    /// The suite it belongs to.
    suite: String,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

/// An example as `proctor list --format json` prints it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PrintedExample {
    id: String,
    suite: String,
    file: String,
    path: Vec<String>,
    location: Option<String>,
    full_description: String,
    #[serde(default)]
    tags: Vec<String>,
}

impl PrintedExample {
    fn shown(&self) -> ListedExample {
        let title = match self.path.as_slice() {
            [] => self.full_description.clone(),
            path => path.join(" > "),
        };
        ListedExample {
            id: self.id.clone(),
            title: truncate(&title, MAX_TITLE_CHARS),
            location: self.location.clone().unwrap_or_else(|| self.file.clone()),
            suite: self.suite.clone(),
            tags: self
                .tags
                .iter()
                .take(MAX_TAGS)
                .map(|tag| truncate(tag, MAX_TITLE_CHARS))
                .collect(),
        }
    }
}

type Outcome = Result<Arc<Vec<PrintedExample>>, ToolError>;

/// A listing: nothing while it is under way, then when it was done and what came of it.
type Listing = watch::Receiver<Option<(Instant, Outcome)>>;

/// Whether the first page was returned already, and the arguments of `proctor list`.
type ListingKey = (bool, Vec<String>);

/// Listings under way or just done, by what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<HashMap<ListingKey, Listing>>);

impl Listings {
    /// The listing under way for these arguments, or the one that is being paged through, else a new one.
    fn of(&self, engine: &Engine, arguments: &[String], on: bool) -> Listing {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, listing| {
            listing.borrow().as_ref().is_none_or(|(done, _)| done.elapsed() < RESULT_LIFETIME)
        });
        let paged = all.get(&(true, arguments.to_vec())).filter(|_| on);
        if let Some(listing) = paged.or_else(|| all.get(&(false, arguments.to_vec()))) {
            return listing.clone();
        }
        let (sender, receiver) = watch::channel(None);
        all.insert((false, arguments.to_vec()), receiver.clone());
        let (engine, arguments) = (engine.clone(), arguments.to_vec());
        tokio::spawn(async move {
            let outcome = discover(&engine, &arguments).await;
            sender.send(Some((Instant::now(), outcome)))
        });
        receiver
    }

    /// Drops a listing after its last page, so that the next call loads the project again. While there are more pages it is kept for
    /// a short time, so that paging does not load the project for each page.
    fn finish_page(&self, arguments: &[String], listing: Listing, more: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(false, arguments.to_vec()));
        if more {
            all.insert((true, arguments.to_vec()), listing);
        } else {
            all.remove(&(true, arguments.to_vec()));
        }
    }
}

async fn list(
    engine: Engine,
    given: ListParams,
    context: Context,
) -> Result<ListAnswer, ToolError> {
    let which = Selection {
        paths: &given.paths,
        examples: &given.examples,
        matching: &given.matching,
        tags: &given.tags,
        suites: &given.suites,
    };
    let arguments = which.arguments(engine.root())?;
    let on = given.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty());
    let listing = engine.listings().of(&engine, &arguments, on);
    let mut awaited = listing.clone();
    let arrived = tokio::time::timeout(context.patience, awaited.wait_for(Option::is_some)).await;
    let outcome = match arrived {
        Err(_) => {
            return Err(ToolError::new(kind::NOT_READY, "the project is still being loaded")
                .hint("call again with the same parameters; or narrow it with `paths`"));
        }
        Ok(found) => found.ok().and_then(|found| found.as_ref().map(|(_, told)| told.clone())),
    };
    let page_of = |all: &Arc<Vec<PrintedExample>>| {
        let page = page(all.iter(), given.cursor.as_deref(), given.limit)?;
        let examples = page.items.into_iter().map(PrintedExample::shown).collect();
        Ok(ListAnswer { examples, total: all.len() as u64, next: page.next })
    };
    let lost = || Err(ToolError::io("the listing failed: a background task ended early"));
    let told = outcome.unwrap_or_else(lost).and_then(|all| page_of(&all));
    let more = told.as_ref().is_ok_and(|listed| listed.next.is_some());
    engine.listings().finish_page(&arguments, listing, more);
    told
}

/// Asks `proctor list`, under a guard of its own.
async fn discover(engine: &Engine, arguments: &[String]) -> Outcome {
    let own = [engine.program().as_os_str(), "--root".as_ref(), engine.root().as_os_str()];
    let words = ["list", "--format=json"].into_iter().chain(arguments.iter().map(String::as_str));
    let argv = own.into_iter().map(OsString::from).chain(words.map(OsString::from));
    let spec = ProcessSpec::new(argv, ChildEnvironment::inherited(), engine.guard());
    let asking = capture_output(spec.cwd(engine.root()), b"", MAX_LISTING);
    let Ok(output) = tokio::time::timeout(DISCOVERY_TIMEOUT, asking).await else {
        let limit = DISCOVERY_TIMEOUT.as_secs();
        let message = format!("the project was not loaded within {limit} s");
        return Err(ToolError::new(kind::REFUSED, message));
    };
    let output = output.map_err(|error| match error {
        CaptureError::NotStarted(error) => ToolError::io(error),
        CaptureError::TooMuchOutput { limit } => {
            ToolError::io(format_args!("the list of examples has more than {limit} bytes"))
        }
    })?;
    let examples: Option<Vec<PrintedExample>> = serde_json::from_str(&output.stdout).ok();
    examples.map(Arc::new).ok_or_else(|| {
        let stderr = &output.stderr;
        let message = error_message(stderr).unwrap_or_else(|| stderr.trim().to_owned());
        ToolError::new(kind::REFUSED, truncate(&message, 2000))
            .hint("`proctor doctor` says what is missing")
    })
}

/// The message of the error that a command with `--format json` prints as its last line of standard error.
fn error_message(stderr: &str) -> Option<String> {
    let error: serde_json::Value = serde_json::from_str(stderr.lines().next_back()?).ok()?;
    error["error"]["message"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_taken_for_an_option() {
        let (paths, values) = (["spec".to_owned()], ["--seed=1".to_owned()]);
        let none: [String; 0] = [];
        let which = Selection {
            paths: &paths,
            examples: &none,
            matching: &values,
            tags: &none,
            suites: &none,
        };
        let root = Path::new("/no/such/project");
        assert_eq!(which.arguments(root).unwrap(), ["--example=--seed=1", "spec"]);
        let which = Selection {
            paths: &values,
            examples: &none,
            matching: &none,
            tags: &none,
            suites: &none,
        };
        assert!(which.arguments(root).is_err());
    }
}
