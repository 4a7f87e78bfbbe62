//! `proctor mutate`: which small faults in the code the specs would not notice.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use proctor_mutate::report::{Failure, MutationReport, in_html, in_junit, in_words, list_in_words};
use proctor_mutate::{
    MutateError, MutateProgress, MutateSetup, MutationPlan, PlanError, PlanOptions, mutate, plan,
};
use proctor_report::Paint;
use proctor_text::printable;
use tokio_util::sync::CancellationToken;

use super::run::signals::Signals;
use super::{list, report_problem, suites};
use crate::cli::{Cli, Format};
use crate::commands::selection::SelectionArguments;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use crate::terminal::Terminal;
use crate::{project, secrets, values};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor mutate --since main               mutants of the lines that differ from main, uncommitted ones included
  proctor mutate lib/price.rb               all mutants of a file
  proctor mutate lib --sample 200 -w 4      200 of them, spread over all, in 4 processes
  proctor mutate --since main --fail-below 80 --junit mutants.xml   as a gate in CI
  proctor mutate lib --list                 what would be tried; nothing is run

A mutant is a small fault: a statement or call removed, a condition negated or forced, an operator, number, string or symbol changed, a
return value lost, an exception not raised or not rescued. It is *killed* if an example fails with it and passes without it, *alive* if all
examples that reach its line pass, *not covered* if none reaches it, *unknown* if it could not be put into force, no example can be
trusted with it, or it was noticed once and not again. The suite is loaded once and must be green; each mutant runs in a fork, against the examples that reach its line, until
one fails. Code that runs while the suite is loaded (constants, class bodies) is loaded anew for each mutant, which takes longer.

A mutant that no test could notice is marked in the code, with the reason: `# proctor:equivalent WHY` at the end of its line or on the
line before; `# proctor:equivalent(change number) WHY` marks only that operator. It is counted apart.

Verdicts are kept in .proctor/mutate: a run that was stopped goes on where it was, as long as no file of the project changes.

Exit code: 0 done (and the score is high enough), 1 the score is below --fail-below, 2 the suite is not green or cannot be used, nothing
could be decided, or with --fail-below a file is no valid Ruby.")]
pub(crate) struct MutateArguments {
    /// Ruby files and folders to mutate, without the specs in them [default: lib and app]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Only lines that differ from this commit, uncommitted changes and new files included
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,

    /// Specs to run instead of all: files, folders, `FILE:LINE`
    #[arg(long, value_name = "PATH")]
    pub(crate) spec: Vec<String>,

    /// Only examples with this tag (`slow`, `type:model`; `~slow` leaves them out)
    #[arg(short, long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,

    /// How many mutants run at once: a number, or `auto` for twice the cores [default: 4]
    #[arg(short, long, value_name = "N", value_parser = values::workers)]
    pub(crate) workers: Option<u32>,

    /// Exit with 1 if the score is below this; what is unknown counts as not killed
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_below: Option<f64>,

    /// Try at most so many mutants, the first ones
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Try at most so many mutants, spread over all; the same ones every time
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,

    /// Print the mutants and run nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Leave out examples that fail without a mutant, instead of refusing
    #[arg(long)]
    pub(crate) exclude_failing: bool,

    /// Try every mutant again, whatever an earlier run found
    #[arg(long)]
    pub(crate) no_resume: bool,

    /// An example with a mutant may take so many times as long as without
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = factor)]
    pub(crate) time_factor: f64,

    /// And so much longer (`500ms`, `2s`)
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = values::duration)]
    pub(crate) time_floor: u64,

    /// How much memory a mutant may take beyond that of the loaded suite, in MiB; 0 for no limit
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub(crate) memory: u64,

    /// Write a JUnit file; what is alive is a failure in it if --fail-below fails the run, else skipped
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write the whole report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Further options for RSpec itself, after `--`
    #[arg(last = true, value_name = "OPTION")]
    pub(crate) rspec: Vec<String>,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("not between 0 and 100".into()) }
}

fn factor(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..=1000.0).contains(&number) { Ok(number) } else { Err("not between 1 and 1000".into()) }
}

pub(crate) fn run(
    arguments: &MutateArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    let plan = make_plan(arguments, &root)?;
    for note in &plan.notes {
        terminal.warn(&printable(note));
    }
    if arguments.list {
        return list_mutants(arguments, &plan, terminal);
    }
    if plan.mutants.is_empty() {
        return nothing_to_mutate(arguments, &plan, terminal);
    }
    let stop = CancellationToken::new();
    let (first, second) = (stop.clone(), stop.clone());
    let signals = Signals::watch(move |_| first.cancel(), move |_| second.cancel())?;
    let setup = make_setup(arguments, &config, &root, stop, terminal)?;
    let report = mutate(&plan, &setup, &mut |step| terminal.note(&progress(step)));
    let mut report = match report {
        Err(MutateError::Stopped) => {
            terminal.note("mutate: stopped before a mutant was tried");
            return Ok(ExitCode::from(128 + signals.caught().unwrap_or(2)));
        }
        report => report.map_err(failed)?,
    };
    report.judge(arguments.fail_below, &plan.unreadable);
    write_reports(arguments, &report)?;
    print_report(arguments, &report, terminal)?;
    if report.stopped {
        terminal.note("mutate: stopped; the same command goes on from here");
        return Ok(ExitCode::from(128 + signals.caught().unwrap_or(2)));
    }
    exit_code(&report, terminal)
}

fn make_plan(arguments: &MutateArguments, root: &Path) -> Result<MutationPlan, CommandError> {
    let current = std::env::current_dir().unwrap_or_else(|_| root.to_owned());
    let mut paths: Vec<PathBuf> = arguments.paths.iter().map(|path| current.join(path)).collect();
    if paths.is_empty() {
        paths = ["lib", "app"]
            .map(|name| root.join(name))
            .into_iter()
            .filter(|it| it.is_dir())
            .collect();
    }
    if paths.is_empty() {
        return Err(CommandError::not_found(format_args!(
            "there is neither lib nor app in {}",
            root.display()
        ))
        .hint("name files or folders to mutate"));
    }
    let options = PlanOptions {
        root: root.to_owned(),
        paths,
        since: arguments.since.clone(),
        limit: arguments.limit,
        sample: arguments.sample,
    };
    plan(&options).map_err(|error| {
        let kind = match error {
            PlanError::NoSuchPath { .. } | PlanError::NoSuchCommit(_) => Kind::NotFound,
            PlanError::Git(_) => Kind::System,
        };
        CommandError::caused(kind, error)
    })
}

/// A file of which nothing can be said, where a statement about all files is asked for.
fn unreadable(name: &str) -> CommandError {
    let problem =
        format_args!("{} is no valid Ruby, so nothing can be said of it", printable(name));
    CommandError::suite(problem).hint("mend it, or name the files and folders to mutate without it")
}

/// Nothing changed is nothing wrong; named files without code are a mistake.
fn nothing_to_mutate(
    arguments: &MutateArguments,
    plan: &MutationPlan,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if let Some(name) = plan.unreadable.first() {
        return Err(unreadable(name));
    }
    if arguments.since.is_none() || plan.looked_at == 0 || plan.left_out > 0 {
        return Err(CommandError::not_found(format_args!(
            "there is nothing to mutate in {} Ruby files",
            plan.looked_at
        ))
        .hint("name files or folders with Ruby code"));
    }
    let mut report =
        MutationReport { version: 1, notes: plan.notes.clone(), ..MutationReport::default() };
    report.summarize();
    report.judge(arguments.fail_below, &plan.unreadable);
    write_reports(arguments, &report)?;
    match arguments.format {
        Format::Json => terminal.json(&report)?,
        Format::Text => terminal.print("no changed line has code that can be mutated\n")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list_mutants(
    arguments: &MutateArguments,
    plan: &MutationPlan,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    match arguments.format {
        Format::Json => terminal.json(&proctor_mutate::report::planned(plan))?,
        Format::Text => {
            let style = terminal.style();
            terminal.print(&list_in_words(plan, |sign, line| style.paint(colour(sign), line)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make_setup(
    arguments: &MutateArguments,
    config: &Config,
    root: &Path,
    stop: CancellationToken,
    terminal: &Terminal,
) -> Result<MutateSetup, CommandError> {
    let workers = match arguments.workers {
        Some(workers) => workers,
        None => values::workers(&config.workers.value).map_err(CommandError::usage)?,
    };
    let selection = SelectionArguments {
        paths: arguments.spec.clone(),
        example: Vec::new(),
        tag: arguments.tag.clone(),
        stable_id: Vec::new(),
        only_failures: false,
        shard: None,
        suite: vec!["rspec".into()],
        seed: None,
        no_preload: false,
        rspec: arguments.rspec.clone(),
    };
    let mut chosen = suites::choose(&selection, config, root, workers)?;
    chosen.environment.load_notices = terminal.load_notices();
    if chosen.suites.is_empty() {
        return Err(CommandError::not_found("there are no RSpec examples here"));
    }
    Ok(MutateSetup {
        suite: Arc::new(chosen.suites.swap_remove(0)),
        environment: chosen.environment,
        selection: chosen.selection,
        workers,
        exclude_failing: arguments.exclude_failing,
        time_factor: arguments.time_factor,
        time_floor: Duration::from_millis(arguments.time_floor),
        memory_bytes: (arguments.memory > 0).then_some(arguments.memory << 20),
        results: Some(root.join(".proctor").join("mutate")),
        resume: !arguments.no_resume,
        settings: format!(
            "{:?} {:?} {:?} {:?} {} {}",
            env!("CARGO_PKG_VERSION"),
            arguments.spec,
            arguments.tag,
            arguments.rspec,
            config.ruby.value,
            arguments.exclude_failing
        ),
        redact: Box::new(|text| secrets::redactor().redact_text(text).into_owned()),
        stop,
    })
}

fn failed(error: MutateError) -> CommandError {
    match error {
        MutateError::Suite(error) => report_problem(&error.message, &error.output),
        MutateError::DidNotLoad(errors) => {
            let all: Vec<String> = errors.iter().map(list::in_words).collect();
            CommandError::suite(all.join("\n"))
        }
        error @ MutateError::NotGreen(_) => CommandError::suite(error).hint(
            "mend them, or leave them out with --exclude-failing; `proctor run` shows them whole",
        ),
        error @ (MutateError::NothingRan(_) | MutateError::OutsideErrors(_)) => {
            CommandError::suite(error)
        }
        error @ (MutateError::System(_) | MutateError::Stopped) => {
            CommandError::caused(Kind::System, error)
        }
    }
}

fn progress(step: MutateProgress) -> String {
    match step {
        MutateProgress::Loaded { examples, load_ms } => {
            format!("mutate: {examples} examples loaded in {:.1} s", load_ms / 1000.0)
        }
        MutateProgress::Clean { examples, took_ms } => {
            format!("mutate: {examples} examples pass without a mutant ({took_ms} ms for two runs)")
        }
        MutateProgress::Chosen { to_run, not_covered, equivalent, reused } => format!(
            "mutate: {to_run} mutants to run; {not_covered} not covered, {equivalent} marked as equivalent, {reused} known from before"
        ),
        MutateProgress::Decided { decided, of, killed, alive } => {
            format!("mutate: {decided} of {of} decided: {killed} killed, {alive} alive so far")
        }
    }
}

fn colour(sign: char) -> Paint {
    if sign == '-' { Paint::Bad } else { Paint::Good }
}

fn write_reports(arguments: &MutateArguments, report: &MutationReport) -> Result<(), CommandError> {
    if let Some(path) = &arguments.junit {
        secrets::write_file(path, &in_junit(report))?;
    }
    if let Some(path) = &arguments.html {
        secrets::write_file(path, &in_html(report))?;
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(report)
            .map_err(|error| CommandError::bug(format_args!("the report is no JSON: {error}")))?;
        secrets::write_file(path, &(text + "\n"))?;
    }
    Ok(())
}

fn print_report(
    arguments: &MutateArguments,
    report: &MutationReport,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    match arguments.format {
        Format::Json => terminal.json(report),
        Format::Text => {
            let style = terminal.style();
            terminal.print(&in_words(report, |sign, line| style.paint(colour(sign), line)))
        }
    }
}

/// The exit code of what was judged.
fn exit_code(report: &MutationReport, terminal: &mut Terminal) -> Result<ExitCode, CommandError> {
    match report.failure() {
        None | Some(Failure::Stopped) => Ok(ExitCode::SUCCESS),
        Some(Failure::Unreadable { file }) => Err(unreadable(file)),
        Some(failure @ Failure::NothingDecided) => Err(CommandError::suite(failure)),
        Some(failure @ Failure::TooLow { .. }) => {
            terminal.note(&format!("mutate: {failure}"));
            Ok(ExitCode::FAILURE)
        }
    }
}
