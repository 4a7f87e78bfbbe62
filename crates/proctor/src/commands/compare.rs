//! `proctor compare`: a run judged against another one or a baseline.

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use proctor_compare::{AllowedGaps, EarlierRuns, GateRules, Rules, Side, Undecided, compare};
use proctor_history::{History, Recording};
use proctor_record::{Problem, RunChoice, RunStore};
use proctor_report::{comparison_markdown, comparison_text};

use super::{baseline, run_at};
use crate::cli::Cli;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{project, values};

const SIDE_HELP: &str = "\
A run (`last`, `last~2`, a tag, the start of a run id, a file of JSON lines), `baseline`, `baseline:NAME`, or a baseline's file";

#[derive(Debug, Args)]
#[command(after_help = "\
Verdicts: a regression or an improvement is beyond chance; «cannot tell» differs, perhaps by chance; «no change seen» gave the same results;
«unchanged» is said only of a margin that is shown. Deterministic examples (no model, or declared so) are decided by one result each; others by
exact tests over their attempts (more attempts: `proctor run --repeat 10`). docs/comparing.md explains each with an example.

Exit codes with --gate:
  0  nothing that was observed got worse; the last line says what that could still hide
  1  a regression, an example without a result on one side, or a limit that is exceeded
  2  a side did not load, or the two have nothing in common
  3  cannot tell: something got worse, and chance cannot be excluded
Without --gate: 0, or 2 if a side cannot be read.

Examples:
  proctor compare last~1 last
  proctor compare baseline last --gate
  proctor compare baseline last --gate --margin 5
  proctor compare baseline last --gate --criterion polite --max-cost 1.2
  proctor compare main.jsonl branch.jsonl --format markdown > comment.md")]
pub(crate) struct CompareArguments {
    #[arg(help = SIDE_HELP)]
    pub(crate) before: String,

    #[arg(help = "The run that is judged, named likewise", default_value = "last")]
    pub(crate) after: String,

    /// Exit with 1 on a regression, 3 if chance cannot be excluded, 2 if nothing can be compared
    #[arg(long)]
    pub(crate) gate: bool,

    /// Demand that «not worse by more than POINTS percentage points» is shown for the suite
    #[arg(long, value_name = "POINTS", value_parser = values::margin)]
    pub(crate) margin: Option<f64>,

    /// What --gate makes of «cannot tell»
    #[arg(long, value_enum, value_name = "POLICY", default_value_t)]
    pub(crate) undecided: UndecidedPolicy,

    /// Let examples pass that have no result on one side: all of them, or only new ones
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) allow_gaps: Option<GapPolicy>,

    /// A criterion that must not get worse for --gate to pass; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) criterion: Vec<String>,

    /// The factor by which durations may grow for --gate to pass
    #[arg(long, value_name = "FACTOR", value_parser = values::factor)]
    pub(crate) max_duration: Option<f64>,

    /// The factor by which costs may grow for --gate to pass
    #[arg(long, value_name = "FACTOR", value_parser = values::factor)]
    pub(crate) max_cost: Option<f64>,

    /// List examples without a change and every gap too
    #[arg(long)]
    pub(crate) all: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: CompareFormat,
}

/// What a comparison is printed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For a pull request
    Markdown,
}

/// What is made of «cannot tell».
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UndecidedPolicy {
    /// Exit code 3
    #[default]
    Fail,
    /// Exit code 0
    Ok,
}

/// Which examples may lack a result on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GapPolicy {
    /// Those without a result before
    New,
    /// Any
    All,
}

pub(crate) fn run(
    arguments: &CompareArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let store = RunStore::new(&project::root(cli)?);
    // Reading recordings is most of the work.
    let (before, after) = std::thread::scope(|scope| {
        let before = scope.spawn(|| NamedSide::read(&arguments.before, &store));
        let after = NamedSide::read(&arguments.after, &store);
        (before.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), after)
    });
    let (before, after) = (before?, after?);
    let ((before, first), (after, second)) = (before.warn(terminal), after.warn(terminal));
    let at_hand: Vec<Recording> = first.into_iter().chain(second).collect();
    let past = past(&store, &after, &at_hand, terminal);
    // Hundreds of thousands of small pieces of memory: another core may give them back. Without a thread it is done here.
    let _ = std::thread::Builder::new().spawn(move || drop(at_hand));
    let rules = Rules { margin: arguments.margin.map(|points| points / 100.0), ..Rules::default() };
    let comparison = compare(&before, &after, &past, &rules).gated(&gate_rules(arguments));
    match arguments.format {
        CompareFormat::Json => terminal.json(&comparison)?,
        CompareFormat::Markdown => {
            terminal.print(&comparison_markdown(&comparison, arguments.all))?;
        }
        CompareFormat::Text => {
            let text = comparison_text(&comparison, arguments.all, terminal.style());
            terminal.print(&text)?;
        }
    }
    Ok(if arguments.gate { ExitCode::from(comparison.gate.exit_code) } else { ExitCode::SUCCESS })
}

fn gate_rules(arguments: &CompareArguments) -> GateRules {
    GateRules {
        allowed_gaps: match arguments.allow_gaps {
            None => AllowedGaps::None,
            Some(GapPolicy::New) => AllowedGaps::New,
            Some(GapPolicy::All) => AllowedGaps::All,
        },
        undecided: match arguments.undecided {
            UndecidedPolicy::Fail => Undecided::Fail,
            UndecidedPolicy::Ok => Undecided::Ok,
        },
        criteria: arguments.criterion.clone(),
        most_duration: arguments.max_duration,
        most_cost: arguments.max_cost,
    }
}

/// What earlier runs have shown. Without it a comparison is only more careful, so trouble is no reason to stop.
pub(super) fn past(
    store: &RunStore,
    after: &Side,
    at_hand: &[Recording],
    terminal: &mut Terminal,
) -> EarlierRuns {
    // Only a run of this project has its place among the others.
    let judged = after.run_id.as_deref().filter(|id| store.find(id).is_ok());
    let read = History::open_with(store, at_hand).and_then(|mut history| {
        let past = history.past(judged, after.config_fingerprint.as_deref())?;
        super::history::print_notes(&history, terminal);
        Ok(past)
    });
    read.unwrap_or_else(|error| {
        terminal.warn(&format!("compared without the history: {error}"));
        EarlierRuns::default()
    })
}

/// The side that a person means by a name.
pub(super) fn side(
    name: &str,
    store: &RunStore,
    terminal: &mut Terminal,
) -> Result<Side, CommandError> {
    Ok(NamedSide::read(name, store)?.warn(terminal).0)
}

/// A side with what must be said about it, and the recording that it was made from where that is one of this project.
struct NamedSide {
    side: Side,
    warning: Option<String>,
    recording: Option<Recording>,
}

impl NamedSide {
    fn read(name: &str, store: &RunStore) -> Result<Self, CommandError> {
        if let Some(side) = baseline::named(name, store)? {
            return Ok(Self { side, warning: None, recording: None });
        }
        let path = store.resolve(name)?;
        if let Some(side) = proctor_history::baseline_in_file(&path)? {
            return Ok(Self { side, warning: None, recording: None });
        }
        if let Some(run) = run_at(&path, store) {
            let recording = Recording::read(&run)?;
            let warning = skipped_lines_text(&path, recording.problems());
            return Ok(Self { side: recording.side(name), warning, recording: Some(recording) });
        }
        let loaded = proctor_record::load_outline(&path, &RunChoice::Last)?;
        let warning = skipped_lines_text(&path, &loaded.problems);
        let unreadable = proctor_history::unreadable(&loaded);
        let side = Side { unreadable, ..Side::of(&loaded.run, name) };
        Ok(Self { side, warning, recording: None })
    }

    fn warn(self, terminal: &mut Terminal) -> (Side, Option<Recording>) {
        if let Some(warning) = &self.warning {
            terminal.warn(warning);
        }
        (self.side, self.recording)
    }
}

fn skipped_lines_text(path: &Path, problems: &[Problem]) -> Option<String> {
    (!problems.is_empty()).then(|| {
        format!(
            "{}: {} unreadable lines were passed over; `proctor validate` lists them",
            path.display(),
            problems.len()
        )
    })
}
