//! `proctor run --ab OTHER.toml`: the same scenarios against two configurations, and the difference.
//!
//! Two runs, each with a recording of its own; the comparison is the one `proctor compare` makes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use proctor_compare::{Rules, Side, compare};
use proctor_report::comparison_text;
use proctor_stats::{Z95, newcombe, wilson};

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
    terminal.note("A: proctor.toml");
    let first = super::once(arguments, root, config, None, terminal)?;
    if first.interrupted {
        return Ok(first.code);
    }
    terminal.note(&format!("B: {}", other.display()));
    let second = super::once(arguments, root, &other_config, None, terminal)?;
    if second.interrupted {
        return Ok(second.code);
    }
    let (a, b) = (Side::of(&first.run, "A"), Side::of(&second.run, "B"));
    let difference = difference(&a, &b);
    let comparison = compare(&a, &b, &BTreeMap::new(), &Rules::default());
    let style = terminal.style();
    terminal.print(&format!("\n{}{difference}\n", comparison_text(&comparison, false, style)))?;
    Ok(if comparison.regressed() { ExitCode::from(1) } else { second.code })
}

/// Both rates over all valid attempts, and their difference with its uncertainty.
fn difference(a: &Side, b: &Side) -> String {
    let total = |side: &Side| {
        side.examples
            .iter()
            .map(proctor_compare::Sample::tally)
            .fold((0, 0), |sum, (passed, valid)| (sum.0 + passed, sum.1 + valid))
    };
    let (first, second) = (total(a), total(b));
    let words = |name: &str, (passed, valid): (u64, u64)| {
        let interval = wilson(passed, valid, Z95);
        format!(
            "{name} passed {passed}/{valid} valid attempts (95%: {:.0}–{:.0}%)",
            interval.low * 100.0,
            interval.high * 100.0
        )
    };
    let change = newcombe(first, second, Z95);
    format!(
        "{}\n{}\nB − A: {:+.1} points (95%: {:+.1} to {:+.1})",
        words("A", first),
        words("B", second),
        change.estimate * 100.0,
        change.interval.low * 100.0,
        change.interval.high * 100.0
    )
}
