//! The failures of a run, in full.

use proctor_events::{Exception, Status};
use proctor_record::{Attempt, Conversation, OutsideError};
use proctor_text::{pluralize, printable, shorten};

use super::SummaryOptions;
use crate::backtrace::filtered;
use crate::failure::{Failure, informative_class, message_of, rspec_text, status_words};
use crate::page::{TextPage, left_behind, votes};
use crate::style::{Paint, duration};

/// How much of a conversation is shown: its last turns, and of those the last lines.
const LAST_TURNS: usize = 3;
const EXCERPT_LINES: usize = 40;

/// How many lines of a filtered backtrace.
const BACKTRACE_LINES: usize = 10;

/// How many further repetitions that failed get a line.
const MORE_REPEATS: usize = 5;

/// Where the text of a numbered entry begins, as `RSpec` has it.
const BODY: usize = 5;

impl TextPage {
    pub(super) fn outside_errors(&mut self, errors: &[OutsideError], options: &SummaryOptions) {
        if errors.is_empty() {
            return;
        }
        self.title(Paint::Bad, "Errors outside examples:");
        for (index, error) in errors.iter().enumerate() {
            let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
            let title = match error.place.as_deref() {
                Some(place) if place.starts_with(&phase) => place.to_owned(),
                Some(place) => format!("{phase} {place}"),
                None => phase,
            };
            let title = shorten(&title, 300);
            self.line(2, &format!("{}) {title}", index + 1));
            if let Some(exception) = &error.exception {
                self.full_exception(exception, options);
            } else {
                self.bad_text(error.message.as_deref().unwrap_or("unknown error"));
            }
            self.line(0, "");
        }
    }

    pub(super) fn failures(&mut self, failed: &[Failure<'_>], options: &SummaryOptions) {
        if failed.is_empty() {
            return;
        }
        self.title(Paint::Bad, "Failures:");
        for (index, failure) in failed.iter().enumerate() {
            let title = shorten(&failure.example.title(), 300);
            self.line(2, &format!("{}) {}", index + 1, self.style.paint(Paint::Bold, title)));
            self.failure(failure, options);
            self.line(0, "");
        }
    }

    fn failure(&mut self, failure: &Failure<'_>, options: &SummaryOptions) {
        let attempt = failure.first;
        let facts = self.dim(&facts(failure));
        self.line(BODY, &facts);
        self.failure_message(failure, options);
        let mut parts = TextPage::new(self.style, self.detail);
        parts.evidence(attempt);
        // Its parts are indented by four already.
        parts.text.lines().for_each(|line| self.line(BODY - 4, line));
        for other in failure.others.iter().take(MORE_REPEATS) {
            let message = message_of(other);
            let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let which = format!("repeat {}: {}: {first}", other.repeat, status_words(other));
            self.line(BODY, &shorten(&which, 200));
        }
        if failure.others.len() > MORE_REPEATS {
            let more = failure.others.len() - MORE_REPEATS;
            self.line(BODY, &format!("… {} failed too", pluralize(more, "more repeat")));
        }
    }

    /// The exception as `RSpec` would show it; else what is known.
    fn failure_message(&mut self, failure: &Failure<'_>, options: &SummaryOptions) {
        let attempt = failure.first;
        if let Some(message) = &attempt.message {
            self.bad_text(message);
        }
        if let Some(exception) = &attempt.exception {
            // The place of the example stands above.
            let place = failure.example.location.as_ref();
            let mut exception = exception.clone();
            exception.backtrace.retain(|line| Some(line) != place);
            self.full_exception(&exception, options);
        }
        let silent = attempt.message.is_none() && attempt.exception.is_none();
        if silent && attempt.status.is_none() {
            self.bad_text("it started, but no result was received");
        }
    }

    fn full_exception(&mut self, exception: &Exception, options: &SummaryOptions) {
        let shown = rspec_text(exception);
        if let Some(text) = &shown {
            self.painted_rspec_text(text);
        } else {
            if let Some(class) = informative_class(exception) {
                self.bad_text(&format!("{class}:"));
            }
            for line in printable(&exception.message).trim_matches('\n').lines() {
                let line = self.painted(Paint::Bad, line);
                self.line(BODY + 2, &line);
            }
        }
        // RSpec's own text ends with its own filtered backtrace.
        if shown.is_none() || options.full_backtrace {
            self.backtrace(exception, options.full_backtrace);
        }
    }

    fn painted_rspec_text(&mut self, text: &str) {
        for line in printable(text).trim_matches('\n').lines() {
            let paint = if line.trim_start().starts_with("# ") { Paint::Dim } else { Paint::Bad };
            let line = self.painted(paint, line);
            self.line(BODY, &line);
        }
    }

    fn backtrace(&mut self, exception: &Exception, full: bool) {
        let whole = exception.full_backtrace.as_ref().filter(|_| full);
        let lines = filtered(whole.unwrap_or(&exception.backtrace), full);
        let limit = if full { usize::MAX } else { BACKTRACE_LINES };
        for line in lines.iter().take(limit) {
            let line = self.dim(&format!("# {}", shorten(line, 300)));
            self.line(BODY, &line);
        }
        if lines.len() > limit {
            let more = self.dim(&format!("# … {} more", lines.len() - limit));
            self.line(BODY, &more);
        }
    }

    fn bad_text(&mut self, text: &str) {
        for line in printable(text).trim_matches('\n').lines() {
            let line = self.painted(Paint::Bad, line);
            self.line(BODY, &line);
        }
    }

    /// Empty lines are not painted: the escape codes would be trailing noise.
    fn painted(&self, paint: Paint, line: &str) -> String {
        if line.trim().is_empty() { String::new() } else { self.style.paint(paint, line) }
    }

    /// What is known besides the exception.
    fn evidence(&mut self, attempt: &Attempt) {
        if let Some(conversation) = &attempt.conversation {
            self.last_turns(conversation);
        }
        let exception_text =
            attempt.exception.as_ref().map_or("", |exception| exception.message.as_str());
        for check in attempt.evaluations.iter().filter(|check| check.passed != Some(true)) {
            let is_in_exception =
                check.message.as_ref().is_some_and(|message| exception_text.contains(&**message));
            // What the error says already is not said again, but for how clearly it was decided.
            if !is_in_exception {
                self.evaluation(check);
            } else if check.score.is_some() || votes(check).is_some() {
                self.check(check);
            }
        }
        for party_error in
            attempt.troubles.iter().filter(|it| !exception_text.contains(&it.message))
        {
            self.party_error(party_error);
        }
        for leaked in &attempt.leaked {
            let text = self.style.paint(Paint::Warn, left_behind(leaked));
            self.line(4, &text);
        }
        self.output(attempt);
    }

    fn last_turns(&mut self, conversation: &Conversation) {
        let turns = &conversation.turns;
        let hidden = turns.len().saturating_sub(LAST_TURNS);
        if hidden > 0 {
            let text = self.dim(&format!("… {} before", pluralize(hidden, "turn")));
            self.line(4, &text);
        }
        let mut excerpt = TextPage::new(self.style, self.detail);
        turns[hidden..].iter().for_each(|turn| excerpt.turn(turn));
        let lines: Vec<&str> = excerpt.text.lines().collect();
        let cut = lines.len().saturating_sub(EXCERPT_LINES);
        if cut > 0 {
            let text = self.dim(&format!("… {} before", pluralize(cut, "line")));
            self.line(4, &text);
        }
        lines[cut..].iter().for_each(|line| self.line(0, line));
    }
}

/// Where it stands, how it ended, how long it took, how often it was tried.
fn facts(failure: &Failure<'_>) -> String {
    let Failure { example, first, others, .. } = failure;
    let mut facts = Vec::new();
    facts.extend(example.location.as_deref().map(|place| shorten(place, 300)));
    // One attempt may say something else than all of them together.
    let verdict = failure.verdict.word();
    let same = first.status.as_ref().is_none_or(|status| status.as_str() == verdict);
    facts.push(if same { status_words(first) } else { verdict.replace('_', " ") });
    facts.extend(failure.reason());
    facts.extend(exit_words(first));
    facts.extend(first.duration_ms.map(duration));
    if first.attempt > 1 {
        facts.push(format!("attempt {}", first.attempt));
    }
    if first.repeat > 1 || !others.is_empty() {
        facts.push(format!("repeat {}", first.repeat));
    }
    if example.attempts.len() > 1 {
        facts.push(failure.verdict.rate().to_string());
    }
    facts.extend(first.worker.map(|number| format!("worker {number}")));
    facts.join(" · ")
}

fn exit_words(attempt: &Attempt) -> Option<String> {
    if attempt.status != Some(Status::Crashed) {
        return None;
    }
    let signal = attempt.signal.map(|signal| format!("signal {signal}"));
    signal.or_else(|| attempt.exit_status.map(|status| format!("exit status {status}")))
}
