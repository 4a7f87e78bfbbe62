//! `--repeat auto`: what the runner decides on repetitions by.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use proctor_compare::{ExampleResults, Side};
use proctor_events::ExampleId;
use proctor_history::baselines;
use proctor_record::RunStore;
use proctor_runner::{AdaptiveRepeats, PastOutcome, PastRun};

use crate::commands::compare;
use crate::commands::run::arguments::RunArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::values::Repeat;

/// The default baseline.
const DEFAULT_SIDE: &str = "baseline";

/// How results decide on repetitions; `None` where their number is given. To be asked before the run is recorded, for `last` means the
/// run before it.
pub(super) fn adaptive(
    arguments: &RunArguments,
    root: &Path,
    terminal: &mut Terminal,
) -> Result<Option<AdaptiveRepeats>, CommandError> {
    let Some(Repeat::Auto { limit }) = arguments.repeat else {
        return match &arguments.against {
            Some(_) => Err(CommandError::usage("--against has a meaning only with --repeat auto")
                .hint("`proctor compare` compares two runs that were made")),
            None => Ok(None),
        };
    };
    let store = RunStore::new(root);
    let has_default = || baselines(&store).contains_key("default");
    let name = arguments.against.as_deref().or_else(|| has_default().then_some(DEFAULT_SIDE));
    let side = name.map(|name| compare::side(name, &store, terminal)).transpose()?;
    if let Some(side) = side.as_ref().filter(|side| !side.complete) {
        terminal
            .warn(&format!("{} did not finish; it is compared with as far as it went", side.label));
    }
    Ok(Some(AdaptiveRepeats { limit, baseline: side.map(|side| Arc::new(past_run(side))) }))
}

fn past_run(side: Side) -> PastRun {
    let outcomes: HashMap<ExampleId, Vec<PastOutcome>> = side
        .examples
        .iter()
        .map(|sample| (ExampleId::from(sample.id.as_str()), outcomes(sample)))
        .collect();
    PastRun { name: side.run_id.unwrap_or(side.label), outcomes }
}

/// What an example did, as a comparison counts it.
fn outcomes(sample: &ExampleResults) -> Vec<PastOutcome> {
    let outcome = |trial: &proctor_compare::CountedAttempt| PastOutcome {
        passed: trial.passed,
        may_vary: trial.model,
    };
    sample.trials.iter().map(outcome).collect()
}
