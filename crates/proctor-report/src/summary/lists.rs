//! The short lists of a summary: pending, left behind, pass rates, flaky, slowest, what to run again.

use proctor_events::{Millis, Status};
use proctor_record::{Attempt, Example, RunData};
use proctor_text::{pluralize, shorten};
use proctor_verdict::{Outcome, PassRate, Rate, RateState, is_agent_process_death};

use crate::failure::{Failure, has_failure_to_show, unchecked_examples};
use crate::page::{TextPage, leaked_process};
use crate::rates::{common_interval, interval, pass_at_k_and_hat_k, percent, rate_of};
use crate::rerun::RerunCommands;
use crate::style::{Paint, duration};

/// How many pending examples are listed, and how many rates.
const LIST_LIMIT: usize = 10;

/// Slower than this is worth a line.
const SLOW_MS: f64 = 500.0;
const SLOWEST: usize = 5;

/// Every repetition that an example finished with, beside its example.
fn decided(run: &RunData) -> impl Iterator<Item = (&Example, &Attempt)> {
    let of = |example| Example::deciding_attempts(example).into_iter().map(move |a| (example, a));
    run.examples.iter().flat_map(of)
}

fn name(example: &Example) -> String {
    shorten(&example.title(), 120)
}

fn place(example: &Example) -> String {
    example
        .location
        .as_deref()
        .map(|place| format!("  {}", shorten(place, 200)))
        .unwrap_or_default()
}

impl TextPage {
    pub(super) fn pending(&mut self, run: &RunData) {
        let is_pending = |attempt: &&Attempt| attempt.status == Some(Status::Pending);
        let pending = run
            .examples
            .iter()
            .filter(|example| example.verdict(run.over).outcome() == Outcome::Pending)
            .filter_map(|example| {
                Some((example, example.deciding_attempts().into_iter().find(is_pending)?))
            });
        let pending: Vec<_> = pending.collect();
        if pending.is_empty() {
            return;
        }
        self.title(Paint::Warn, "Pending:");
        for (example, attempt) in pending.iter().take(LIST_LIMIT) {
            let reason = attempt.message.as_deref().filter(|text| !text.trim().is_empty());
            let reason = reason.map(|text| format!(": {}", shorten(text, 160)));
            let place = self.dim(&place(example));
            self.line(2, &format!("{}{}{place}", name(example), reason.unwrap_or_default()));
        }
        self.more_line(pending.len());
        self.line(0, "");
    }

    /// Conversations whose agent's process died, and that were run again.
    pub(super) fn agent_process_deaths(&mut self, run: &RunData) {
        let attempts = run.examples.iter().flat_map(|example| &example.attempts);
        let again = attempts.filter(|attempt| {
            let exception = attempt.exception.as_deref();
            !attempt.is_final && is_agent_process_death(attempt.fault.as_ref(), exception)
        });
        let (count, possessive) = match again.count() {
            0 => return,
            1 => ("1 conversation was".to_owned(), "its"),
            count => (format!("{count} conversations were"), "their"),
        };
        let text = format!("{count} run again because {possessive} agent process died");
        self.title(Paint::Warn, &text);
    }

    /// Processes of examples that did not fail; the others are shown with their failure.
    pub(super) fn left_behind_by_others(&mut self, run: &RunData) {
        let found: Vec<_> =
            decided(run).filter(|(_, a)| !has_failure_to_show(a) && !a.leaked.is_empty()).collect();
        if found.is_empty() {
            return;
        }
        self.title(Paint::Warn, "Processes left behind:");
        for (example, attempt) in &found {
            for leaked in &attempt.leaked {
                let place = self.dim(&place(example));
                self.line(2, &format!("{}: {}{place}", name(example), leaked_process(leaked)));
            }
        }
        self.line(0, "");
    }

    /// With the interval of each rate, and with pass@k and pass^k for one attempt and for as many as were asked for.
    pub(super) fn pass_rates(&mut self, run: &RunData) {
        let repeated = run.examples.iter().filter(|e| e.attempts.iter().any(|a| a.repeat > 1));
        let rates: Vec<_> = repeated.map(|example| (example, rate_of(example, run))).collect();
        if rates.is_empty() {
            return;
        }
        let share = |rate: Rate| percent(rate).unwrap_or(-1.0);
        let (perfect, mut mixed): (Vec<_>, Vec<_>) =
            rates.iter().partition(|(_, rate)| rate.is_perfect());
        mixed.sort_by(|(_, a), (_, b)| share(*a).total_cmp(&share(*b)));
        self.title(Paint::Bold, "Pass rates:");
        for (example, rate) in mixed.iter().take(LIST_LIMIT) {
            let gate = self.gate(example, run);
            let chances = chances(&[(*rate, requested_repetitions(example))]);
            let words = rate_words(*rate, interval(*rate));
            self.line(2, &format!("{words}{chances}{gate}  {}", name(example)));
        }
        self.more_line(mixed.len());
        let all = rates.iter().fold(Rate::default(), |sum, (_, rate)| sum.plus(*rate));
        let others = if mixed.is_empty() { "" } else { "other " };
        if !perfect.is_empty() {
            let count = pluralize(perfect.len(), &format!("{others}example"));
            self.line(2, &format!("{count} passed every time"));
        }
        let each: Vec<Rate> = rates.iter().map(|(_, rate)| *rate).collect();
        let asked: Vec<_> =
            rates.iter().map(|(example, rate)| (*rate, requested_repetitions(example))).collect();
        let words = rate_words(all, common_interval(&each));
        let line = format!("{words}{}  all together", chances(&asked));
        let line = self.style.paint(Paint::Bold, line);
        self.line(2, &line);
        self.line(0, "");
    }

    /// What the example demands of itself, and whether it got it.
    fn gate(&self, example: &Example, run: &RunData) -> String {
        let wanted = example.pass_rate.and_then(PassRate::new);
        let Some((wanted, state)) = wanted.zip(example.verdict(run.over).rate_state()) else {
            return String::new();
        };
        let (paint, sign) = match state {
            RateState::Reached => (Paint::Good, "✓"),
            RateState::Missed => (Paint::Bad, "✗"),
            RateState::Open => (Paint::Warn, "?"),
        };
        self.style.paint(paint, format!("  {sign} needs {}", wanted.percent()))
    }

    pub(super) fn flaky(&mut self, run: &RunData) {
        let flaky: Vec<_> = decided(run).filter(|(_, attempt)| attempt.flaky).collect();
        if flaky.is_empty() {
            return;
        }
        self.title(Paint::Warn, "Flaky:");
        for (example, attempt) in &flaky {
            let how = format!("on attempt {}, {}", attempt.attempt, rate_of(example, run));
            let place = self.dim(&place(example));
            self.line(2, &format!("{}: {how}{place}", name(example)));
        }
        self.line(0, "");
    }

    pub(super) fn unchecked(&mut self, run: &RunData) {
        let found = unchecked_examples(run);
        // Where they fail the run, they stand among the failures.
        if found.is_empty() || run.policy.unchecked_fails {
            return;
        }
        let count = pluralize(found.len(), "example");
        self.title(Paint::Warn, &format!("{count} passed without checking anything:"));
        for (example, verdict) in found.iter().take(LIST_LIMIT) {
            let part = verdict.unchecked_part().map(|part| format!(": {part}")).unwrap_or_default();
            let place = self.dim(&place(example));
            self.line(2, &format!("{}{part}{place}", name(example)));
        }
        self.more_line(found.len());
        let hint = self.dim("with `--unchecked fail`, such examples fail the run");
        self.line(2, &hint);
        self.line(0, "");
    }

    pub(super) fn slowest(&mut self, run: &RunData, profile: Option<usize>) {
        let limit = profile.unwrap_or(SLOWEST);
        let worth = |taken: Millis| profile.is_some() || taken.get() > SLOW_MS;
        let mut slow: Vec<_> = decided(run)
            .filter_map(|(example, attempt)| Some((example, attempt.duration_ms?)))
            .filter(|(_, taken)| worth(*taken))
            .collect();
        if slow.is_empty() || limit == 0 {
            return;
        }
        slow.sort_by(|(_, a), (_, b)| b.get().total_cmp(&a.get()));
        self.title(Paint::Bold, "Slowest:");
        for (example, taken) in slow.iter().take(limit) {
            let place = self.dim(&place(example));
            self.line(2, &format!("{:>10}  {}{place}", duration(*taken), name(example)));
        }
        self.line(0, "");
    }

    pub(super) fn rerun_commands(&mut self, run: &RunData, failed: &[Failure<'_>]) {
        if failed.is_empty() {
            return;
        }
        self.title(Paint::Bold, "Re-run:");
        let rerun_commands = RerunCommands::new(run);
        for failure in failed {
            let Some(command) = rerun_commands.command(failure.example) else { continue };
            let command = self.style.paint(Paint::Bad, command);
            let what = self.dim(&format!("# {}", name(failure.example)));
            self.line(2, &format!("{command}  {what}"));
        }
        self.line(0, "");
    }

    fn more_line(&mut self, count: usize) {
        if count > LIST_LIMIT {
            let text = self.dim(&format!("… and {} more", count - LIST_LIMIT));
            self.line(2, &text);
        }
    }
}

/// How many repetitions were asked for, also where the last ones were not needed.
fn requested_repetitions(example: &Example) -> u64 {
    example.attempts.iter().map(|attempt| u64::from(attempt.repeat)).max().unwrap_or(1)
}

/// pass@1, and pass@k and pass^k for the k that was asked for, or the largest that all examples have valid attempts for;
/// means over examples. What they rest on is said.
fn chances(rates: &[(Rate, u64)]) -> String {
    let counted: Vec<&(Rate, u64)> = rates.iter().filter(|(rate, _)| rate.valid > 0).collect();
    let most = counted.iter().map(|(rate, asked)| rate.valid.min(*asked)).min();
    let Some(k) = most.filter(|k| *k > 1) else { return String::new() };
    let mean = |k: u64, which: fn((f64, f64)) -> f64| {
        let all: Vec<f64> = counted
            .iter()
            .filter_map(|(rate, _)| pass_at_k_and_hat_k(*rate, k).map(which))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "a number of examples")]
        let count = all.len() as f64;
        all.iter().sum::<f64>() / count * 100.0
    };
    let (any, all) = (|both: (f64, f64)| both.0, |both: (f64, f64)| both.1);
    let basis = match counted.as_slice() {
        [(rate, _)] => format!("n={}", rate.valid),
        examples => format!("means of {} examples", examples.len()),
    };
    format!(
        ", pass@1 {:.0}%, pass@{k} {:.0}%, pass^{k} {:.0}% ({basis})",
        mean(1, any),
        mean(k, any),
        mean(k, all)
    )
}

fn rate_words(rate: Rate, interval: Option<(f64, f64)>) -> String {
    let percent = percent(rate).map_or_else(|| "   –".to_owned(), |share| format!("{share:>3.0}%"));
    let interval = interval.map(|(low, high)| format!(" (95%: {low:.0}–{high:.0}%)"));
    format!("{percent}{}  {rate}", interval.unwrap_or_default())
}
