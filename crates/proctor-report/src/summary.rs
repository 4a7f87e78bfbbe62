//! The end of a run, for people: what failed and why, what to look at, the numbers, what to type next.

mod failures;
mod lists;
mod workspaces;

use proctor_events::{Body, Event, Millis};
use proctor_record::RunData;
use proctor_text::{pluralize, printable};

use proctor_verdict::RunState;

use crate::counts::counts;
use crate::failure::failures;
use crate::page::TextPage;
use crate::style::{Paint, Style, duration};
use crate::transcript::Detail;

/// What the summary shows beyond the run itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SummaryOptions {
    /// Whether lines of gems and of Ruby itself stay in backtraces.
    pub full_backtrace: bool,
    /// How many slow examples to list; without it five, and only those over half a second.
    pub profile: Option<usize>,
    /// How many workers there were; otherwise the workers that appear in events are counted.
    pub workers: Option<u32>,
    /// How long loading took.
    pub load_time: Option<Millis>,
}

impl SummaryOptions {
    /// Takes from an event what only events tell: the number of workers and the load time.
    ///
    /// The reporters of this crate do this by themselves.
    pub fn read_event(&mut self, event: &Event) {
        if let Body::SuiteStarted(suite) = &event.body {
            self.workers = suite.workers.or(self.workers);
            self.load_time = suite.load_time_ms.or(self.load_time);
        }
    }
}

/// The summary of a run that is over.
pub fn summary(run: &RunData, options: &SummaryOptions, style: Style) -> String {
    let mut page = TextPage::new(style, Detail::Brief);
    let failed = failures(run);
    page.outside_errors(&run.errors, options);
    page.failures(&failed, options);
    page.pending(run);
    page.left_behind_by_others(run);
    page.pass_rates(run);
    page.flaky(run);
    page.agent_process_deaths(run);
    page.unchecked(run);
    page.workspaces(run);
    page.slowest(run, options.profile);
    page.rerun_commands(run, &failed);
    page.accounting(run);
    let line = counts_line(run, options, style);
    page.line(0, &line);
    page.text
}

impl TextPage {
    fn title(&mut self, paint: Paint, text: &str) {
        let text = self.style.paint(paint, text);
        self.line(0, &text);
        self.line(0, "");
    }

    pub(crate) fn accounting(&mut self, run: &RunData) {
        if let Some(text) = discrepancy(run) {
            let text = self.style.paint(Paint::Bad, format!("✗ {text}"));
            self.line(0, &text);
        }
    }
}

/// The numbers, in one line.
pub(crate) fn counts_line(run: &RunData, options: &SummaryOptions, style: Style) -> String {
    let mut parts = vec![counts(run, style)];
    let load = options.load_time.map(|taken| format!(" (load {})", duration(taken)));
    parts.push(match (run.finished_at, run.duration_ms) {
        (_, Some(taken)) => format!("finished in {}{}", duration(taken), load.unwrap_or_default()),
        (Some(_), None) => "finished".to_owned(),
        (None, None) => style.paint(Paint::Bad, "the run did not finish"),
    });
    let verdict = run.verdict();
    if verdict.is_over() && verdict.state() != RunState::Finished {
        let cause = verdict.stopped_by().map(|cause| format!(" by {}", printable(cause.as_str())));
        let text = format!("{}{}", verdict.phrase(), cause.unwrap_or_default());
        parts.push(style.paint(Paint::Bad, text));
    }
    // Output lines without a worker do not count as one.
    let at_work = run.workers.iter().filter(|worker| worker.started > 0 || !worker.ran.is_empty());
    let heard_of = u32::try_from(at_work.count()).ok().filter(|count| *count > 0);
    let workers = options.workers.or(heard_of);
    parts.extend(workers.map(|count| pluralize(count, "worker")));
    parts.extend(run.seed.map(|seed| format!("seed {seed}")));
    parts.join(", ")
}

/// What is wrong with the account: every planned repetition must have ended in some way.
pub(crate) fn discrepancy(run: &RunData) -> Option<String> {
    let summary = run.summary();
    // An older stream may announce examples or repetitions.
    let seen = match run.planned_repetitions {
        None if run.planned == Some(summary.examples) => summary.examples,
        _ => summary.repetitions,
    };
    let planned = run.planned_repetitions.or(run.planned).unwrap_or(seen);
    // What a run announces that decides on repetitions as it goes is the least that it will have; only its end says how many there were.
    let may_grow = run.repeat_limit.is_some() && run.ending.is_none();
    let planned = if may_grow { planned.max(seen) } else { planned };
    let open = |attempt: &&proctor_record::Attempt| attempt.status.is_none();
    let last = run.examples.iter().flat_map(proctor_record::Example::deciding_attempts);
    let running = last.filter(open).count() as u64;
    if running == 0 && planned == seen {
        return None;
    }
    let mut parts = Vec::new();
    if running > 0 {
        parts.push(format!("{running} started and never finished"));
    }
    if planned > seen {
        parts.push(format!("{} never heard of", planned - seen));
    }
    if seen > planned {
        parts.push(format!("{} more than planned", seen - planned));
    }
    Some(format!(
        "the account does not add up: {} planned, {} accounted for ({}); do not trust this result",
        pluralize(planned, "result"),
        seen - running,
        parts.join(", ")
    ))
}

#[cfg(test)]
mod tests;
