//! A whole run, as a person would read it.

use std::fmt::Write as _;

use proctor_events::{EvaluationMode, Json, Status};
use proctor_record::{
    Attempt, Conversation, Evaluation, Example, LogLine, OutsideError, RunData, Summary, ToolCall,
    Trouble, Turn,
};

use crate::style::{Paint, Style, counted, duration, plain, shorten};

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One line per example; more only where something went wrong.
    Brief,
    /// Every conversation in full.
    Full,
}

/// The run as text.
pub fn transcript(run: &RunData, detail: Detail, style: Style) -> String {
    let mut page = Page { text: String::new(), style, detail };
    page.heading(run);
    for error in &run.errors {
        page.outside_error(error);
    }
    for example in &run.examples {
        page.example(example);
    }
    for (event_type, count) in &run.unknown_events {
        let note = format!("{count} × {} from a newer proctor, not shown", plain(event_type));
        page.line(0, &style.paint(Paint::Dim, note));
    }
    page.text
}

struct Page {
    text: String,
    style: Style,
    detail: Detail,
}

impl Page {
    /// Adds text under an indent; further lines of it stand below its first.
    fn line(&mut self, indent: usize, text: &str) {
        for line in text.split('\n') {
            let _ = writeln!(self.text, "{:indent$}{}", "", line.trim_end());
        }
    }

    fn dim(&self, text: &str) -> String {
        self.style.paint(Paint::Dim, text)
    }

    fn heading(&mut self, run: &RunData) {
        let mut parts = Vec::new();
        parts.push(run.run_id.as_ref().map_or_else(|| "run".into(), |id| format!("run {id}")));
        parts.extend(run.started_at.map(|time| time.to_string()));
        parts.extend(run.seed.map(|seed| format!("seed {seed}")));
        parts.push(match (run.finished_at, run.duration_ms) {
            (Some(_), Some(taken)) => format!("finished in {}", duration(taken)),
            (Some(_), None) => "finished".to_owned(),
            (None, _) => "not finished".to_owned(),
        });
        let title = self.style.paint(Paint::Bold, parts.join(" · "));
        self.line(0, &title);
        let counts = counts(&run.summary(), self.style);
        self.line(0, &counts);
        self.line(0, "");
    }

    fn outside_error(&mut self, error: &OutsideError) {
        let phase = error.phase.as_deref().unwrap_or("outside examples");
        let place = error.place.as_deref().map(|place| format!(" in {}", plain(place)));
        let title = format!("✗ error, {}{}", plain(phase), place.unwrap_or_default());
        let title = self.style.paint(Paint::Bad, title);
        self.line(0, &title);
        if let Some(exception) = &error.exception {
            self.exception(exception.class.as_deref(), &exception.message, &exception.backtrace);
        } else if let Some(message) = &error.message {
            self.line(4, &plain(message));
        }
    }

    fn example(&mut self, example: &Example) {
        for attempt in &example.attempts {
            self.attempt_title(example, attempt);
            let failed = attempt.status.as_ref().is_some_and(|status| !status.is_success());
            if self.detail == Detail::Full || failed || attempt.status.is_none() {
                self.attempt_body(attempt);
            }
        }
    }

    fn attempt_title(&mut self, example: &Example, attempt: &Attempt) {
        let mut notes = Vec::new();
        if let Some(status) = &attempt.status
            && !matches!(status, Status::Passed)
        {
            let fault = attempt.fault.as_ref().map(|fault| format!(" (fault: {fault})"));
            notes.push(format!(
                "{}{}",
                status.as_str().replace('_', " "),
                fault.unwrap_or_default()
            ));
        }
        if example.attempts.len() > 1 {
            notes.push(match attempt.repeat {
                1 => format!("attempt {}", attempt.attempt),
                repeat => format!("repeat {repeat}, attempt {}", attempt.attempt),
            });
        }
        if attempt.flaky {
            notes.push("flaky".to_owned());
        }
        notes.extend(attempt.duration_ms.map(duration));
        notes.extend(example.location.as_deref().map(|place| plain(place).into_owned()));
        let mark = self.style.mark(attempt.status.as_ref());
        let title = example.title();
        let line = format!("{mark} {}  {}", plain(&title), self.dim(&notes.join(" · ")));
        self.line(0, &line);
    }

    fn attempt_body(&mut self, attempt: &Attempt) {
        if let Some(message) = &attempt.message {
            self.line(4, &plain(message));
        }
        if let Some(conversation) = &attempt.conversation {
            self.conversation(conversation);
        }
        for evaluation in &attempt.evaluations {
            self.evaluation(evaluation);
        }
        for trouble in &attempt.troubles {
            self.trouble(trouble);
        }
        if let Some(exception) = &attempt.exception {
            self.exception(exception.class.as_deref(), &exception.message, &exception.backtrace);
        }
        for leaked in &attempt.leaked {
            let command = leaked.command.as_deref().unwrap_or("a process");
            let text = format!("left behind: {} (pid {}), ended", shorten(command, 80), leaked.pid);
            let text = self.style.paint(Paint::Warn, text);
            self.line(4, &text);
        }
        self.output(attempt);
    }

    fn output(&mut self, attempt: &Attempt) {
        let tail = attempt.output_tail.iter().map(String::as_str);
        let lines: Vec<&str> = if attempt.output.is_empty() {
            tail.collect()
        } else {
            attempt.output.iter().map(|LogLine { line, .. }| line.as_str()).collect()
        };
        if lines.is_empty() {
            return;
        }
        let limit = if self.detail == Detail::Full { usize::MAX } else { 10 };
        let hidden = lines.len().saturating_sub(limit);
        let more = if hidden > 0 {
            format!(" (last {limit} of {} lines)", lines.len())
        } else {
            String::new()
        };
        let title = self.dim(&format!("output{more}:"));
        self.line(4, &title);
        for line in &lines[hidden..] {
            self.line(6, &plain(line));
        }
    }

    fn conversation(&mut self, conversation: &Conversation) {
        for simulation in &conversation.simulations {
            let goal = simulation.goal.as_deref().unwrap_or("no goal given");
            let most = simulation.max_turns.map(|most| format!(" (at most {most} turns)"));
            let line = format!("simulated user wants: {}{}", plain(goal), most.unwrap_or_default());
            let line = self.dim(&line);
            self.line(4, &line);
        }
        for turn in &conversation.turns {
            self.turn(turn);
        }
        for simulation in &conversation.simulations {
            if let (Some(turns), Some(reason)) =
                (simulation.turn_count, &simulation.termination_reason)
            {
                let line = format!("ended after {turns} turns: {}", plain(reason.as_str()));
                let line = self.dim(&line.replace('_', " "));
                self.line(4, &line);
            }
        }
    }

    fn turn(&mut self, turn: &Turn) {
        let topic = turn.topic.as_deref().map(|topic| format!(" · {}", plain(topic)));
        let title = self.dim(&format!("turn {}{}", turn.number, topic.unwrap_or_default()));
        self.line(4, &title);
        if let Some(user) = &turn.user {
            self.speech("User", &user.text);
        }
        // The first answer, then the calls it made, then what the agent said with their results.
        let mut responses = turn.responses.iter();
        if let Some(first) = responses.next() {
            self.speech("Agent", &first.text);
        }
        for call in &turn.tool_calls {
            let line = tool_call(call);
            self.line(13, &line);
        }
        for later in responses {
            self.speech("Agent", &later.text);
        }
    }

    fn speech(&mut self, who: &str, text: &str) {
        let text = plain(text);
        let mut lines = text.split('\n');
        let first = format!(
            "{} {}",
            self.style.paint(Paint::Bold, format!("{who:<6}")),
            lines.next().unwrap_or("")
        );
        self.line(6, &first);
        for line in lines {
            self.line(13, line);
        }
    }

    fn evaluation(&mut self, evaluation: &Evaluation) {
        let mark = match evaluation.passed {
            Some(true) => self.style.paint(Paint::Good, "✓"),
            Some(false) => self.style.paint(Paint::Bad, "✗"),
            None => self.style.paint(Paint::Warn, "?"),
        };
        let label = evaluation.name.as_ref().or(evaluation.description.as_ref());
        let label = label.or(evaluation.kind.as_ref()).map_or("check", String::as_str);
        let mut notes = vec![evaluation.kind.clone().unwrap_or_else(|| "check".to_owned())];
        if evaluation.mode == EvaluationMode::Soft {
            notes.push("soft".to_owned());
        }
        notes.extend(evaluation.turn.map(|turn| format!("turn {turn}")));
        notes.extend(evaluation.topic.as_ref().map(|topic| format!("topic {topic}")));
        notes.extend(evaluation.score.map(|score| format!("score {score:.2}")));
        let line = format!("{mark} {}  {}", plain(label), self.dim(&plain(&notes.join(" · "))));
        self.line(4, &line);
        if evaluation.passed != Some(true)
            && let Some(message) = &evaluation.message
        {
            self.line(8, &plain(message));
        }
        if let Some(reasoning) = &evaluation.reasoning {
            let line = self.dim(&format!("judge: {}", plain(reasoning)));
            self.line(8, &line);
        }
    }

    fn trouble(&mut self, trouble: &Trouble) {
        let class = trouble.class.as_deref().map(|class| format!("{class}: "));
        let at = trouble.turn.map(|turn| format!(" in turn {turn}"));
        let doing = trouble.operation.as_deref().map(|what| format!(" while asked to {what}"));
        let line = format!(
            "{} error{}{}: {}{}",
            trouble.whose,
            at.unwrap_or_default(),
            doing.unwrap_or_default(),
            class.unwrap_or_default(),
            trouble.message,
        );
        let line = self.style.paint(Paint::Bad, plain(&line));
        self.line(4, &line);
    }

    fn exception(&mut self, class: Option<&str>, message: &str, backtrace: &[String]) {
        if let Some(class) = class {
            let class = self.style.paint(Paint::Bad, format!("{}:", plain(class)));
            self.line(4, &class);
        }
        self.line(6, plain(message).trim_matches('\n'));
        let limit = if self.detail == Detail::Full { usize::MAX } else { 5 };
        for line in backtrace.iter().take(limit) {
            let line = self.dim(&format!("at {}", plain(line)));
            self.line(6, &line);
        }
        if backtrace.len() > limit {
            let more = self.dim(&format!("… {} more", backtrace.len() - limit));
            self.line(6, &more);
        }
    }
}

fn tool_call(call: &ToolCall) -> String {
    let text = |json: &Option<Json>| json.as_ref().map(|json| shorten(json.text(), 120));
    let mut line =
        format!("→ {}({})", plain(&call.name), text(&call.arguments).unwrap_or_default());
    if let Some(error) = &call.error {
        let _ = write!(line, " failed: {}", shorten(error, 120));
    } else if let Some(result) = text(&call.result) {
        let _ = write!(line, " = {result}");
    } else if !call.completed {
        line.push_str(" … not completed");
    }
    if let Some(taken) = call.duration_ms {
        let _ = write!(line, "  {}", duration(taken));
    }
    line
}

fn counts(summary: &Summary, style: Style) -> String {
    let examples = counted(summary.examples, "example");
    let errors =
        if summary.errors == 1 { "error outside examples" } else { "errors outside examples" };
    let all = [
        (summary.passed, "passed", Paint::Good),
        (summary.failed, "failed", Paint::Bad),
        (summary.errored, "errored", Paint::Bad),
        (summary.crashed, "crashed", Paint::Bad),
        (summary.timed_out, "timed out", Paint::Bad),
        (summary.inconclusive, "inconclusive", Paint::Warn),
        (summary.other, "of unknown outcome", Paint::Warn),
        (summary.pending, "pending", Paint::Warn),
        (summary.cancelled, "cancelled", Paint::Dim),
        (summary.not_run, "not run", Paint::Dim),
        (summary.running, "unfinished", Paint::Warn),
        (summary.flaky, "flaky", Paint::Warn),
        (summary.errors, errors, Paint::Bad),
    ];
    let parts: Vec<String> = all
        .iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|(count, word, paint)| style.paint(*paint, format!("{count} {word}")))
        .collect();
    if parts.is_empty() { examples } else { format!("{examples}: {}", parts.join(", ")) }
}

#[cfg(test)]
mod tests;
