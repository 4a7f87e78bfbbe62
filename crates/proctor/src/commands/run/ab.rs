//! `proctor run --ab OTHER.toml`: the same scenarios against two configurations, and the difference.
//!
//! Two runs, each with a recording of its own, are made at the same time, so that whatever changes meanwhile (the load of the
//! machine, the mood of a provider) meets both alike; the comparison is the one `proctor compare` makes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use proctor_compare::{Rules, Side, compare};
use proctor_report::comparison_text;
use proctor_stats::{clustered, clustered_difference};
use proctor_verdict::StopCause;

use super::{Part, Prepared, fingerprint, view};
use crate::cli::RunArguments;
use crate::config::{self, Config};
use crate::error::CommandError;
use crate::terminal::Terminal;

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
    if arguments.talk.record.is_some() || arguments.talk.replay.is_some() {
        return Err(CommandError::unusable(
            "--ab has no use for a cassette: it holds the answers of one side only",
        ));
    }
    if fingerprint::of(arguments, config) == fingerprint::of(arguments, &other_config) {
        let name = other.display();
        return Err(CommandError::unusable(format_args!(
            "--ab: {name} says the same as the project's own configuration, so there is nothing to compare"
        ))
        .hint("to see how much results vary by themselves, use --repeat"));
    }
    let (first, first_events) =
        Prepared::new(arguments, root, config, None, Part::First, terminal)?;
    let (second, second_events) =
        Prepared::new(arguments, root, &other_config, None, Part::Second, terminal)?;
    first.controller.start().map_err(CommandError::unusable)?;
    second.controller.start().map_err(CommandError::unusable)?;
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
    let difference = difference(&a, &b);
    let comparison = compare(&a, &b, &BTreeMap::new(), &Rules::default());
    let style = terminal.style();
    let text = format!("\n{}{difference}\n", comparison_text(&comparison, false, style));
    terminal.print_if_read(&text)?;
    Ok(if comparison.regressed() { ExitCode::from(1) } else { second.code })
}

/// Both rates over all valid attempts, and their difference with its uncertainty, which rests on the examples.
fn difference(a: &Side, b: &Side) -> String {
    let counts = |side: &Side| -> Vec<(u64, u64)> {
        side.examples.iter().map(proctor_compare::Sample::tally).collect()
    };
    let (first, second) = (counts(a), counts(b));
    let words = |name: &str, counts: &[(u64, u64)]| {
        let (passed, valid) =
            counts.iter().fold((0, 0), |sum, (passed, valid)| (sum.0 + passed, sum.1 + valid));
        let interval = clustered(counts);
        format!(
            "{name} passed {passed}/{valid} valid attempts (95%: {:.0}–{:.0}%)",
            interval.low * 100.0,
            interval.high * 100.0
        )
    };
    let change = clustered_difference(&first, &second);
    format!(
        "{}\n{}\nB − A: {:+.1} points (95%: {:+.1} to {:+.1})",
        words("A", &first),
        words("B", &second),
        change.estimate * 100.0,
        change.interval.low * 100.0,
        change.interval.high * 100.0
    )
}
