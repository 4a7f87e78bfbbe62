//! The run as a whole: the shared picture of it, and the lines of each attempt.
//!
//! The picture is [`proctor_record::Aggregator`]'s, fed only with what the header and the lists show. What
//! was said and printed is kept once, as the lines that were shown live, within a budget.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use proctor_events::{Body, Event, ExampleFinished, ExampleId, Millis, Timestamp};
use proctor_record::{Aggregator, Example, RunData};
use proctor_report::{Paint, duration};
use proctor_verdict::{AttemptNumber, Counts};

use crate::text::TextLine;

/// How many lines of story are kept in all; the oldest of what passed goes first.
const MAX_LINES: usize = 100_000;
/// How many lines of one attempt are kept.
const MAX_ATTEMPT_LINES: usize = 1000;

/// One attempt at one example.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LineOwner {
    pub(crate) id: Option<ExampleId>,
    pub(crate) number: AttemptNumber,
}

impl LineOwner {
    pub(crate) fn of(event: &Event) -> Self {
        Self { id: event.example_id.clone(), number: AttemptNumber::of(event) }
    }
}

/// What the screen knows of a run.
#[derive(Debug, Default)]
pub(crate) struct RunView {
    aggregator: Aggregator,
    titles: HashMap<ExampleId, Arc<str>>,
    /// Of examples that got their name while they ran, the chain without it.
    group_titles: HashMap<ExampleId, Arc<str>>,
    total: Option<u64>,
    last_event: Option<Timestamp>,
    finished: bool,
    ended: bool,
}

impl RunView {
    pub(crate) fn apply(&mut self, event: &Event) {
        self.last_event = event.time.or(self.last_event);
        match &event.body {
            Body::SuiteStarted(payload) => {
                let announced = payload.repetition_count.or(payload.example_count);
                self.total = announced.or(self.total);
            }
            Body::Progress(payload) => self.total = Some(payload.total),
            Body::SuiteFinished(payload) => {
                self.total = payload.repetition_count.or(Some(payload.example_count));
                self.finished = true;
            }
            Body::ExampleStarted(_) | Body::ExampleFinished(_) | Body::ErrorOutsideExample(_) => {}
            _ => return,
        }
        self.aggregator.apply(event);
        self.remember_title(event);
    }

    fn remember_title(&mut self, event: &Event) {
        let Some(id) = &event.example_id else { return };
        let title = match &event.body {
            Body::ExampleStarted(_) if self.group_titles.contains_key(id) => return,
            Body::ExampleStarted(payload) => match &*payload.path {
                [] => payload.full_description.clone().or_else(|| payload.description.clone()),
                path => Some(path.join(" > ")),
            },
            Body::ExampleFinished(payload) if !self.titles.contains_key(id) => {
                payload.full_description.clone().or_else(|| payload.description.clone())
            }
            Body::ExampleFinished(payload) => match self.late_title(id, payload) {
                None => return,
                title => title,
            },
            _ => return,
        };
        self.titles.insert(id.clone(), title.map_or_else(|| id.as_str().into(), Into::into));
    }

    /// The title of a known example with the name that it got while it ran.
    fn late_title(&mut self, id: &ExampleId, payload: &ExampleFinished) -> Option<String> {
        let chain = self.group_titles.get(id).or_else(|| self.titles.get(id))?;
        let title = payload.late_title(chain)?;
        let chain = Arc::clone(chain);
        self.group_titles.entry(id.clone()).or_insert(chain);
        Some(title)
    }

    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// What is known of it.
    pub(crate) fn data(&self) -> &RunData {
        self.aggregator.run()
    }

    pub(crate) fn summary(&self) -> Counts {
        self.data().summary_if(!self.is_live())
    }

    pub(crate) fn title(&self, event: &Event) -> Arc<str> {
        let known = event.example_id.as_ref().and_then(|id| self.titles.get(id));
        known.cloned().unwrap_or_else(|| "(no example)".into())
    }

    pub(crate) fn title_of(&self, example: &Example) -> String {
        let known = example.id.as_ref().and_then(|id| self.titles.get(id));
        known.map_or_else(|| example.title(), ToString::to_string)
    }

    /// Whether more may happen.
    pub(crate) fn is_live(&self) -> bool {
        !self.finished && !self.ended
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// How many repetitions have a result, and how many there are in all, as far as that is known.
    pub(crate) fn progress(&self, summary: &Counts) -> (u64, u64) {
        let last = self.data().examples.iter().flat_map(Example::deciding_attempts);
        let done = last.filter(|attempt| attempt.status.is_some() && attempt.is_final).count();
        (done as u64, self.total.unwrap_or_default().max(summary.repetitions))
    }

    /// How long it took, or has taken until now.
    pub(crate) fn elapsed(&self, now: Timestamp) -> Millis {
        let data = self.data();
        if let Some(taken) = data.duration_ms {
            return taken;
        }
        let until = if self.is_live() { Some(now) } else { self.last_event };
        let millis = |time: Timestamp| i64_to_f64(time.as_millisecond());
        match (data.started_at, until) {
            (Some(started), Some(until)) => Millis::new(millis(until) - millis(started)),
            _ => Millis::default(),
        }
    }

    /// How it went, once it is over.
    pub(crate) fn verdict(&self, now: Timestamp) -> Option<(Paint, String)> {
        if self.is_live() {
            return None;
        }
        let taken = duration(self.elapsed(now));
        if !self.finished {
            return Some((Paint::Warn, format!("! died after {taken}")));
        }
        let verdict = self.data().verdict();
        let exit = verdict.exit_code().filter(|code| *code != 0);
        let exit = exit.map(|code| format!(", exit {code}")).unwrap_or_default();
        let phrase = verdict.phrase();
        Some(if verdict.is_passed() {
            (Paint::Good, format!("✓ {phrase} in {taken}"))
        } else {
            (Paint::Bad, format!("✗ {phrase} in {taken}{exit}"))
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 stay far below 2^53")]
fn i64_to_f64(number: i64) -> f64 {
    number as f64
}

/// The lines of each attempt, as they were shown.
#[derive(Debug, Default)]
pub(crate) struct AttemptLines {
    lines: HashMap<LineOwner, VecDeque<Arc<TextLine>>>,
    passed: VecDeque<LineOwner>,
    failed: VecDeque<LineOwner>,
    kept: usize,
}

impl AttemptLines {
    pub(crate) fn push(&mut self, key: &LineOwner, line: &Arc<TextLine>) {
        let event_lines = self.lines.entry(key.clone()).or_default();
        if event_lines.len() >= MAX_ATTEMPT_LINES {
            event_lines.pop_front();
        } else {
            self.kept += 1;
        }
        event_lines.push_back(Arc::clone(line));
    }

    /// Marks the attempt as finished; its lines may be dropped to stay within the limit.
    pub(crate) fn close(&mut self, key: LineOwner, failed: bool) {
        let queue = if failed { &mut self.failed } else { &mut self.passed };
        queue.push_back(key);
        while self.kept > MAX_LINES
            && let Some(oldest) = self.passed.pop_front().or_else(|| self.failed.pop_front())
        {
            self.kept -= self.lines.remove(&oldest).map_or(0, |event_lines| event_lines.len());
        }
    }

    pub(crate) fn of(&self, key: &LineOwner) -> impl Iterator<Item = &Arc<TextLine>> {
        self.lines.get(key).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lines: &[&str]) -> RunView {
        let mut run = RunView::default();
        for line in lines {
            run.apply(&Event::from_json(line).unwrap());
        }
        run
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const START: &str =
        r#"{"event_type":"SuiteStarted","time":"2026-01-22T10:30:00Z","example_count":2}"#;

    #[test]
    fn elapsed_runs_while_the_run_does() {
        let mut run = run(&[START]);
        assert_eq!(run.elapsed(time("2026-01-22T10:30:04Z")), Millis::new(4000.0));
        assert_eq!(run.verdict(time("2026-01-22T10:30:04Z")), None);
        run.apply(
            &Event::from_json(
                r#"{"event_type":"WorkerLog","line":"x","time":"2026-01-22T10:30:02Z"}"#,
            )
            .unwrap(),
        );
        run.end();
        let (_, verdict) = run.verdict(time("2027-01-01T00:00:00Z")).unwrap();
        assert_eq!(verdict, "! died after 2.00 s");
    }

    #[test]
    fn the_verdict_is_the_exit_code_where_there_is_one() {
        let end = |rest: &str| {
            format!(
                r#"{{"event_type":"SuiteFinished","example_count":2,"failure_count":0,"duration_ms":3{rest}}}"#
            )
        };
        let verdict = |rest: &str| run(&[START, &end(rest)]).verdict(time("2027-01-01T00:00:00Z"));
        assert_eq!(verdict("").unwrap(), (Paint::Good, "✓ passed in 3.0 ms".to_owned()));
        assert_eq!(
            verdict(r#","exit_code":2"#).unwrap(),
            (Paint::Bad, "✗ did not load in 3.0 ms, exit 2".to_owned())
        );
    }

    #[test]
    fn stories_of_failures_are_kept_longest() {
        let key = |id: usize| LineOwner {
            id: Some(ExampleId::new(id.to_string())),
            number: AttemptNumber::FIRST,
        };
        let line = Arc::new(TextLine::new(None, "x"));
        let mut attempt_lines = AttemptLines::default();
        for example in 0..=MAX_LINES / MAX_ATTEMPT_LINES {
            for _ in 0..MAX_ATTEMPT_LINES + 5 {
                attempt_lines.push(&key(example), &line);
            }
            attempt_lines.close(key(example), example == 0);
        }
        assert_eq!(attempt_lines.of(&key(0)).count(), MAX_ATTEMPT_LINES, "the failure stays");
        assert_eq!(attempt_lines.of(&key(1)).count(), 0, "the oldest pass went");
        assert_eq!(attempt_lines.of(&key(2)).count(), MAX_ATTEMPT_LINES);
        assert_eq!(attempt_lines.kept, MAX_LINES);
    }
}
