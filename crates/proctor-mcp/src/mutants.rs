//! `cover_mutate`: which small faults in the code the specs do not notice.
//!
//! Trying mutants takes longer than a call may. So a process of its own does it (`proctor mutate`), and a call that would have to
//! wait too long says so; the next one with the same parameters gets the answer. Verdicts are kept on disk by that program, so
//! a server that ends loses nothing but time.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proctor_process::{CaptureError, ChildEnvironment, ProcessSpec, capture_output};
use proctor_text::truncate;
use proctor_tools::paging::page;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::engine::Engine;
use crate::error::{ToolError, kind};
use crate::runs::project_paths;
use crate::table::{Context, Group, Hints, Tool, ToolDeclaration};

/// How long the mutants of one call may take in all. What is decided by then is kept.
const TIME_LIMIT: Duration = Duration::from_mins(30);
/// How many bytes a report may have.
const MAX_REPORT: usize = 256 << 20;
/// How long a report can be paged through.
const REPORT_LIFETIME: Duration = Duration::from_mins(10);
/// How many of the examples that looked are named.
const MAX_LOOKED: usize = 3;
const MAX_TEXT_CHARS: usize = 300;

pub(crate) fn tools() -> Vec<Tool> {
    let declaration = ToolDeclaration {
        name: "cover_mutate",
        title: "Find faults that no spec notices",
        group: Group::Cover,
        hints: Hints::RUNS_PROGRAMS,
        description: "Put small faults (mutants) into the Ruby code, one at a time, and list those that no RSpec example notices, with a diff and the examples that looked. \
             No file is changed. The suite must be green. While it goes on the error says `not_ready`: call again with the same parameters. \
             Add an example that fails with the fault, then call again.",
    };
    vec![declaration.with_async_handler(mutate)]
}

/// Parameters of `cover_mutate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MutateParams {
    /// Ruby files and folders to mutate, as seen from the project's root; `lib` and `app` if not given.
    #[serde(default)]
    paths: Vec<String>,
    /// Only lines that differ from this commit, uncommitted changes and new files included.
    #[serde(default)]
    since: Option<String>,
    /// Specs to run instead of all: files, folders, `FILE:LINE`.
    #[serde(default)]
    specs: Vec<String>,
    /// Try at most so many mutants, spread over all.
    #[serde(default)]
    sample: Option<u32>,
    /// How many unnoticed mutants at once; 10 if not given, at most 100.
    #[serde(default)]
    limit: Option<u32>,
    /// Where to go on: `next` of the answer before.
    #[serde(default)]
    cursor: Option<String>,
}

impl MutateParams {
    /// A value is never taken for an option, and a path never leads out of the project.
    fn arguments(&self, root: &Path) -> Result<Vec<String>, ToolError> {
        for path in self.paths.iter().chain(&self.specs) {
            project_paths::check(root, path)?;
        }
        if self.since.as_ref().is_some_and(|commit| commit.contains('\0')) {
            return Err(ToolError::invalid("since: it contains a NUL character"));
        }
        let mut all = vec!["mutate".to_owned(), "--format=json".to_owned()];
        all.extend(self.since.as_ref().map(|commit| format!("--since={commit}")));
        all.extend(self.specs.iter().map(|path| format!("--spec={path}")));
        all.extend(self.sample.map(|number| format!("--sample={number}")));
        all.extend(self.paths.iter().cloned());
        Ok(all)
    }
}

/// Answer of `cover_mutate`.
#[derive(Debug, Serialize, JsonSchema)]
struct MutateAnswer {
    /// Killed mutants in percent of those killed, alive and not covered; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    /// How many mutants an example noticed.
    killed: u64,
    /// How many were in force while every example that reaches them passed.
    alive: u64,
    /// How many no example reaches.
    not_covered: u64,
    /// Of how many nothing can be said.
    unknown: u64,
    /// How many are marked in the code as changing nothing.
    equivalent: u64,
    /// The mutants that no example notices: alive, then not covered, then unknown.
    mutants: Vec<UnnoticedMutant>,
    /// Give this as `cursor` for the next ones; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What else should be known: files that are no valid Ruby, examples that are not trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// A mutant that no example notices.
#[derive(Debug, Serialize, JsonSchema)]
struct UnnoticedMutant {
    /// `file:line`.
    place: String,
    /// What was done to the code.
    operator: String,
    /// The changed lines.
    diff: String,
    /// alive, `not_covered` or unknown.
    state: String,
    /// Some of the examples that looked, with their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    looked: Vec<String>,
    /// Why nothing is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
}

/// The parts of what `proctor mutate --format json` prints that the answer is made of.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PrintedReport {
    counts: PrintedCounts,
    score: Option<f64>,
    distrusted: Vec<String>,
    notes: Vec<String>,
    mutants: Vec<PrintedMutant>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PrintedCounts {
    killed: u64,
    alive: u64,
    not_covered: u64,
    equivalent: u64,
    unknown: u64,
}

#[derive(Debug, Deserialize)]
struct PrintedMutant {
    file: String,
    line: u32,
    operator: String,
    diff: String,
    state: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    looked: Vec<PrintedExample>,
}

#[derive(Debug, Deserialize)]
struct PrintedExample {
    description: String,
    location: String,
}

impl PrintedReport {
    /// Those that no example notices, the clearest first.
    fn unnoticed(&self) -> Vec<&PrintedMutant> {
        let states = ["alive", "not_covered", "unknown"];
        let of = |state: &&str| self.mutants.iter().filter(|it| it.state == **state).collect();
        states.iter().flat_map(|state| -> Vec<&PrintedMutant> { of(state) }).collect()
    }

    fn notes(&self) -> Vec<String> {
        let distrusted = self.distrusted.iter().map(|it| {
            format!(
                "not trusted, it also fails with the code unchanged: {}",
                truncate(it, MAX_TEXT_CHARS)
            )
        });
        self.notes.iter().cloned().chain(distrusted).collect()
    }
}

impl PrintedMutant {
    fn shown(&self) -> UnnoticedMutant {
        let name = |it: &PrintedExample| {
            format!("{} ({})", truncate(&it.description, MAX_TEXT_CHARS), it.location)
        };
        let changed = self.diff.lines().skip(2);
        let changed: Vec<&str> = changed.filter(|line| !line.starts_with("@@")).collect();
        UnnoticedMutant {
            place: format!("{}:{}", self.file, self.line),
            operator: self.operator.clone(),
            diff: truncate(&changed.join("\n"), 4 * MAX_TEXT_CHARS),
            state: self.state.clone(),
            looked: self.looked.iter().take(MAX_LOOKED).map(name).collect(),
            reason: truncate(&self.message, MAX_TEXT_CHARS),
        }
    }
}

type Outcome = Result<Arc<PrintedReport>, ToolError>;

/// A run of mutants: nothing while it is under way, then when it was done and what came of it.
type MutantRun = watch::Receiver<Option<(Instant, Outcome)>>;

/// The runs under way or just done, by their arguments, and whether their first page was given out.
#[derive(Debug, Default)]
pub(crate) struct MutantRuns(Mutex<HashMap<Vec<String>, (bool, MutantRun)>>);

impl MutantRuns {
    /// The run under way for these arguments, or one whose answer was not given out yet or is being paged through, else a new one.
    fn of(&self, engine: &Engine, arguments: &[String], pages_on: bool) -> MutantRun {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (_, run)| {
            run.borrow().as_ref().is_none_or(|(done, _)| done.elapsed() < REPORT_LIFETIME)
        });
        if let Some((is_shown, run)) = all.get(arguments)
            && (pages_on || !is_shown)
        {
            return run.clone();
        }
        let (sender, receiver) = watch::channel(None);
        all.insert(arguments.to_vec(), (false, receiver.clone()));
        let (engine, arguments) = (engine.clone(), arguments.to_vec());
        tokio::spawn(async move {
            let outcome = run_mutants(&engine, &arguments).await;
            sender.send(Some((Instant::now(), outcome)))
        });
        receiver
    }

    /// The next call without a cursor tries the mutants again; one with a cursor goes on in this answer.
    fn set_shown(&self, arguments: &[String]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((is_shown, _)) = all.get_mut(arguments) {
            *is_shown = true;
        }
    }
}

async fn mutate(
    engine: Engine,
    given: MutateParams,
    context: Context,
) -> Result<MutateAnswer, ToolError> {
    let arguments = given.arguments(engine.root())?;
    let pages_on = given.cursor.as_deref().is_some_and(|cursor| !cursor.is_empty());
    let mut run = engine.mutant_runs().of(&engine, &arguments, pages_on);
    let arrived = tokio::time::timeout(context.patience, run.wait_for(Option::is_some)).await;
    let outcome = match arrived {
        Err(_) => {
            return Err(ToolError::new(kind::NOT_READY, "the mutants are still being tried")
                .hint("call again with the same parameters; or narrow it with `paths`, `since` or `sample`"));
        }
        Ok(found) => found.ok().and_then(|found| found.as_ref().map(|(_, told)| told.clone())),
    };
    engine.mutant_runs().set_shown(&arguments);
    let lost =
        || Err(ToolError::io("the mutants could not be tried: a background task ended early"));
    let report = outcome.unwrap_or_else(lost)?;
    let part = page(report.unnoticed(), given.cursor.as_deref(), given.limit)?;
    let counts = &report.counts;
    Ok(MutateAnswer {
        score: report.score,
        killed: counts.killed,
        alive: counts.alive,
        not_covered: counts.not_covered,
        unknown: counts.unknown,
        equivalent: counts.equivalent,
        mutants: part.items.into_iter().map(PrintedMutant::shown).collect(),
        next: part.next,
        notes: report.notes(),
    })
}

/// Asks `proctor mutate`, under a guard of its own.
async fn run_mutants(engine: &Engine, arguments: &[String]) -> Outcome {
    let own = [engine.program().as_os_str(), "--root".as_ref(), engine.root().as_os_str()];
    let words = arguments.iter().map(OsString::from);
    let argv = own.into_iter().map(OsString::from).chain(words);
    let spec = ProcessSpec::new(argv, ChildEnvironment::inherited(), engine.guard());
    let running = capture_output(spec.cwd(engine.root()), b"", MAX_REPORT);
    let Ok(output) = tokio::time::timeout(TIME_LIMIT, running).await else {
        let minutes = TIME_LIMIT.as_secs() / 60;
        let message = format!("the mutants were not all tried within {minutes} minutes");
        return Err(ToolError::new(kind::NOT_READY, message).hint(
            "what was decided is kept: call again to go on, or narrow it with `paths` or `sample`",
        ));
    };
    let output = output.map_err(|error| match error {
        CaptureError::NotStarted(error) => ToolError::io(error),
        CaptureError::TooMuchOutput { limit } => {
            ToolError::io(format_args!("the report has more than {limit} bytes"))
        }
    })?;
    let report: Option<PrintedReport> = serde_json::from_str(&output.stdout).ok();
    match report {
        // The exit code 2 beside a report says that no mutant could be decided; the counts show it.
        Some(report) => Ok(Arc::new(report)),
        None => Err(refused(&output.stderr)),
    }
}

/// The error that the program prints as its last line of standard error.
fn refused(stderr: &str) -> ToolError {
    let last = stderr.lines().next_back().unwrap_or_default();
    let error: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
    let message = error["error"]["message"].as_str().unwrap_or(stderr.trim());
    let refused = ToolError::new(kind::REFUSED, truncate(message, 2000));
    let hints = error["error"]["hints"].as_array().cloned().unwrap_or_default();
    hints.iter().filter_map(serde_json::Value::as_str).fold(refused, proctor_tools::ToolError::hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(state: &str) -> PrintedMutant {
        PrintedMutant {
            file: "lib/a.rb".to_owned(),
            line: 3,
            operator: "change number".to_owned(),
            diff: "--- lib/a.rb\n+++ lib/a.rb\n@@ -3,1 +3,1 @@\n-  1\n+  2\n".to_owned(),
            state: state.to_owned(),
            message: String::new(),
            looked: Vec::new(),
        }
    }

    #[test]
    fn what_no_example_notices_is_listed_and_nothing_else() {
        let states = ["unknown", "killed", "not_covered", "equivalent", "alive", "not_run"];
        let mutants = states.into_iter().map(mutant).collect();
        let report = PrintedReport { mutants, ..PrintedReport::default() };
        let found: Vec<String> = report.unnoticed().iter().map(|it| it.shown().state).collect();
        assert_eq!(found, ["alive", "not_covered", "unknown"]);
        assert_eq!(mutant("alive").shown().diff, "-  1\n+  2");
    }

    #[test]
    fn a_value_is_never_taken_for_an_option_and_paths_stay_inside() {
        let root = Path::new("/no/such/project");
        let params = |paths: &[&str], since: Option<&str>| MutateParams {
            paths: paths.iter().map(|it| (*it).to_owned()).collect(),
            since: since.map(str::to_owned),
            specs: Vec::new(),
            sample: None,
            limit: None,
            cursor: None,
        };
        let arguments = params(&["lib"], Some("--output=x")).arguments(root).unwrap();
        assert_eq!(arguments, ["mutate", "--format=json", "--since=--output=x", "lib"]);
        assert!(params(&["--html=x"], None).arguments(root).is_err());
        assert!(params(&["../x"], None).arguments(root).is_err());
    }
}
