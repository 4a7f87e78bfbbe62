//! `proctor bisect`: which examples make another one fail.

use std::process::ExitCode;

use clap::Args;
use proctor_report::Paint;
use proctor_runner::{
    BisectError, BisectOptions, BisectProgress, BisectReport, BisectStop, BisectedExample,
    ExplainedFailure, FailureRate, FindingKind, bisect,
};
use proctor_text::printable;
use serde::Serialize;

use super::run::signals::Signals;
use super::{list, report_problem, suites};
use crate::cli::{Cli, Format};
use crate::commands::selection::SelectionArguments;
use crate::error::{CommandError, Kind};
use crate::project;
use crate::terminal::Terminal;
use crate::values;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor bisect                            what makes examples of this project fail, in its own order
  proctor bisect -- --seed 4711             in the order of the seed with which it failed
  proctor bisect spec/models -w 4 --attempts 20   a failure that shows now and then

The project is loaded once; every try runs in a process that is forked from it.
Exit code: 0 every failure is explained, 1 something failed that could not be explained or nothing failed, 2 the suite cannot be used.")]
pub(crate) struct BisectArguments {
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,

    /// How many tries run at once: a number, or `auto` for twice the cores [default: 4]
    #[arg(short, long, value_name = "N", value_parser = values::workers)]
    pub(crate) workers: Option<u32>,

    /// How often everything is run to see a failure; raise it for failures that show now and then
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempts: u32,

    /// End an example that takes longer (`500ms`, `30s`, `2m`); that is a failure
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<u64>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

pub(crate) fn run(
    arguments: &BisectArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (root, config) = project::open(cli, terminal)?;
    if arguments.selection.no_preload {
        return Err(CommandError::usage("bisect needs a project that is loaded once and forked")
            .hint("leave out --no-preload"));
    }
    let selection =
        SelectionArguments { suite: vec!["rspec".into()], ..arguments.selection.clone() };
    let workers = match arguments.workers {
        Some(workers) => workers,
        None => values::workers(&config.workers.value).map_err(CommandError::usage)?,
    };
    let mut chosen = suites::choose(&selection, &config, &root, workers)?;
    chosen.environment.load_notices = terminal.load_notices();
    let Some(suite) = chosen.suites.first() else {
        return Err(CommandError::not_found("there are no RSpec examples here"));
    };
    let options = BisectOptions {
        workers,
        timeout: arguments.timeout,
        attempts: arguments.attempts,
        selection: chosen.selection,
    };
    let stop = BisectStop::default();
    let (first, second) = (stop.clone(), stop.clone());
    let signals = Signals::watch(move |_| first.stop(), move |_| second.stop())?;
    let found = bisect(suite, &chosen.environment, &options, &stop, &mut |step| {
        terminal.note(&progress(step));
    });
    let report = match found {
        Ok(report) => report,
        Err(BisectError::Stopped) => {
            terminal.note("bisect: stopped; nothing is known");
            return Ok(ExitCode::from(128 + signals.caught().unwrap_or(2)));
        }
        Err(BisectError::Suite(error)) => {
            return Err(report_problem(&error.message, &error.output));
        }
        Err(BisectError::DidNotLoad(errors)) => {
            let all: Vec<String> = errors.iter().map(list::in_words).collect();
            return Err(CommandError::suite(all.join("\n")));
        }
        Err(error @ (BisectError::NothingFound | BisectError::NotRun(_))) => {
            return Err(CommandError::suite(error));
        }
        Err(error @ BisectError::Runtime(_)) => {
            return Err(CommandError::caused(Kind::System, error));
        }
    };
    for note in &report.notes {
        terminal.warn(&printable(note));
    }
    let options = without_seed(&arguments.selection.rspec);
    match arguments.format {
        Format::Json => terminal.json(&in_json(&report, &options))?,
        Format::Text => {
            let text =
                in_words(&report, &options, |text| terminal.style().paint(Paint::Bold, text));
            terminal.print(&text)?;
        }
    }
    let explained = |failure: &ExplainedFailure| {
        matches!(failure.finding, FindingKind::Found | FindingKind::FailsAlone)
    };
    let all = !report.failures.is_empty() && report.failures.iter().all(explained);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn progress(step: BisectProgress<'_>) -> String {
    match step {
        BisectProgress::Loaded { examples, seed: Some(seed) } => {
            format!("bisect: {examples} examples in the order of seed {seed}")
        }
        BisectProgress::Loaded { examples, seed: None } => {
            format!("bisect: {examples} examples in their own order")
        }
        BisectProgress::RanAll { failed, run } => {
            format!("bisect: run {run} of everything: {failed} failed")
        }
        BisectProgress::Target { description, number, of } => {
            format!("bisect: {number} of {of}: {}", printable(description))
        }
        BisectProgress::Suspects { left, runs } => {
            format!("bisect: {left} suspected, {runs} runs so far")
        }
    }
}

/// RSpec's options without the seed, which the commands name themselves.
fn without_seed(options: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        if word == "--seed" {
            words.next();
        } else if !word.starts_with("--seed=") {
            kept.push(word.clone());
        }
    }
    kept
}

/// The commands that show the failure again.
#[derive(Debug, Serialize)]
struct Commands {
    rspec: String,
    proctor: String,
}

impl Commands {
    fn of(failure: &ExplainedFailure, seed: Option<u64>, options: &[String]) -> Self {
        let examples = failure.culprits.iter().chain([&failure.example]);
        let ids: Vec<String> = examples.map(|example| quoted(&example.id)).collect();
        let seed = seed.map(|seed| format!(" --seed {seed}")).unwrap_or_default();
        let options: String = options.iter().map(|word| format!(" {}", quoted(word))).collect();
        let behind = if options.is_empty() { String::new() } else { format!(" --{options}") };
        Self {
            rspec: format!("rspec {}{seed}{options}", ids.join(" ")),
            proctor: format!("proctor run -w 1 {}{seed}{behind}", ids.join(" ")),
        }
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    report: &'a BisectReport,
    /// One pair for each failure.
    commands: Vec<Commands>,
}

fn in_json<'a>(report: &'a BisectReport, options: &[String]) -> Report<'a> {
    let of = |failure| Commands::of(failure, report.seed, options);
    Report { report, commands: report.failures.iter().map(of).collect() }
}

fn in_words(report: &BisectReport, options: &[String], bold: impl Fn(&str) -> String) -> String {
    if report.failures.is_empty() {
        let runs = plural(report.attempts, "run");
        return format!(
            "nothing failed in {runs} of all {} examples{}\n\
             If it failed in another order, name its seed: proctor bisect -- --seed N. If it fails now and then, raise --attempts.\n",
            report.examples,
            report.seed.map(|seed| format!(" in the order of seed {seed}")).unwrap_or_default(),
        );
    }
    let mut text = String::new();
    for failure in &report.failures {
        let name = printable(&failure.example.description).into_owned();
        let place = failure.example.location.as_deref().unwrap_or(&failure.example.id);
        text += &format!("\n{} ({})\n", bold(&name), printable(place));
        if let Some(line) = failure.message.lines().find(|line| !line.trim().is_empty()) {
            text += &format!("    {}\n", printable(line.trim()));
        }
        text += &finding(failure);
        if failure.finding != FindingKind::NotReproduced {
            let commands = Commands::of(failure, report.seed, options);
            text += &format!("\n  {}\n  {}\n", commands.rspec, commands.proctor);
        }
    }
    text += &format!("\n{} of {} examples\n", plural(report.runs, "run"), report.examples);
    text
}

fn finding(failure: &ExplainedFailure) -> String {
    let rate = |rate: Option<FailureRate>| {
        let FailureRate { failed, runs } = rate.unwrap_or_default();
        format!("{failed} of {}", plural(runs, "run"))
    };
    let (with, alone) = (rate(failure.with), rate(failure.alone));
    let flaky = failure.with.is_some_and(|with| with.failed < with.runs);
    let culprits = || {
        let line = |example: &BisectedExample| {
            let place = example.location.as_deref().unwrap_or_default();
            format!("    {} ({})\n", printable(&example.description), printable(place))
        };
        failure.culprits.iter().map(line).collect::<String>()
    };
    match failure.finding {
        FindingKind::Found => format!(
            "  fails after {}:\n{}  verified: it failed in {with} with {}, in {alone} alone{}\n",
            if failure.culprits.len() == 1 {
                "this example"
            } else {
                "these examples, in this order"
            },
            culprits(),
            if failure.culprits.len() == 1 { "it" } else { "them" },
            if flaky { "; the failure is flaky" } else { "" },
        ),
        FindingKind::FailsAlone => {
            let by_itself = failure.alone.is_some_and(|alone| alone.failed < alone.runs);
            let flaky = if by_itself { "; it is flaky by itself" } else { "" };
            format!("  fails alone, in {alone}{flaky}: no other example is to blame\n")
        }
        FindingKind::NotReproduced => format!(
            "  failed once, and then in {with} with everything before it: what makes it fail is not known\n  \
             raise --attempts if it fails now and then\n"
        ),
        FindingKind::Unconfirmed => format!(
            "  not explained: with these examples it failed in {with}, alone in {alone}:\n{}",
            culprits()
        ),
    }
}

fn plural(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_a_shell_and_keep_options() {
        let example = |id: &str| BisectedExample {
            id: id.to_owned(),
            stable_id: String::new(),
            description: "A b".to_owned(),
            location: None,
        };
        let failure = ExplainedFailure {
            example: example("./spec/it's_spec.rb[1:2]"),
            message: String::new(),
            finding: FindingKind::Found,
            culprits: vec![example("./spec/a_spec.rb[1:1]")],
            with: None,
            alone: None,
        };
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let options = without_seed(&words("--seed 3 --order rand --seed=4 -I lib"));
        let commands = Commands::of(&failure, Some(9), &options);
        let ids = r"'./spec/a_spec.rb[1:1]' './spec/it'\''s_spec.rb[1:2]'";
        assert_eq!(commands.rspec, format!("rspec {ids} --seed 9 --order rand -I lib"));
        assert_eq!(
            commands.proctor,
            format!("proctor run -w 1 {ids} --seed 9 -- --order rand -I lib")
        );
    }
}
