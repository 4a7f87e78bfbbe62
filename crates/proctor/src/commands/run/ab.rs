//! `proctor run --ab OTHER.toml`: the same scenarios against two configurations, and the difference.
//!
//! Two runs, each with a recording of its own, are made at the same time, so that whatever changes meanwhile (the load of the
//! machine, the mood of a provider) meets both alike; the comparison is the one `proctor compare` makes.

use std::path::Path;
use std::process::ExitCode;

use proctor_compare::{GateDecision, Rules, Side};
use proctor_record::RunStore;
use proctor_report::comparison_text;
use proctor_verdict::StopCause;

use super::super::compare;
use super::{Prepared, RunPart, fingerprint, view};
use crate::commands::run::arguments::RunArguments;
use crate::config::{self, Config};
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::values::Repeat;

pub(super) fn run(
    arguments: &RunArguments,
    root: &Path,
    config: &Config,
    other: &Path,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let (other_config, warnings) = config::load_file(other)?;
    for warning in warnings {
        terminal.warn(&warning);
    }
    if arguments.conversation.record.is_some() || arguments.conversation.replay.is_some() {
        return Err(CommandError::usage(
            "--ab has no use for a cassette: it holds the answers of one side only",
        ));
    }
    if matches!(arguments.repeat, Some(Repeat::Auto { .. })) {
        return Err(CommandError::usage(
            "--ab makes both runs at the same time, so none can decide on repeats by the other",
        )
        .hint("give a number: --repeat 5"));
    }
    if fingerprint::of(arguments, config) == fingerprint::of(arguments, &other_config) {
        let name = other.display();
        return Err(CommandError::usage(format_args!(
            "--ab: {name} says the same as the project's own configuration, so there is nothing to compare"
        ))
        .hint("to see how much results vary by themselves, use --repeat"));
    }
    let (first, first_events) =
        Prepared::new(arguments, root, config, None, RunPart::First, terminal)?;
    let (second, second_events) =
        Prepared::new(arguments, root, &other_config, None, RunPart::Second, terminal)?;
    first.controller.start()?;
    second.controller.start()?;
    terminal.note("A: proctor.toml");
    let shown = view::show(arguments, &first, first_events, terminal);
    if shown.is_err() {
        second.controller.kill(StopCause::Request);
        second.controller.wait();
    }
    let first = first.finish(shown?, arguments, root, terminal)?;
    terminal.note(&format!("B: {}", other.display()));
    let shown = view::show(arguments, &second, second_events, terminal)?;
    let second = second.finish(shown, arguments, root, terminal)?;
    if first.interrupted || second.interrupted {
        return Ok(if first.interrupted { first.code } else { second.code });
    }
    let (a, b) = (Side::of(&first.run, "A"), Side::of(&second.run, "B"));
    // Earlier runs say how much runs of this project vary.
    let past = compare::past(&RunStore::new(root), &a, &[], terminal);
    let comparison = proctor_compare::compare(&a, &b, &past, &Rules::default());
    let text = format!("\n{}", comparison_text(&comparison, false, terminal.style()));
    terminal.print_if_read(&text)?;
    Ok(match comparison.gate.decision {
        GateDecision::Pass | GateDecision::CannotTell => second.code,
        GateDecision::Stop | GateDecision::NotComparable => {
            ExitCode::from(comparison.gate.exit_code)
        }
    })
}
