//! A page of text under construction: indents, and the parts of an attempt that several views show.

use std::borrow::Cow;
use std::fmt::Write as _;

use proctor_events::{EvaluationMode, Json, LeakedProcess};
use proctor_record::{Attempt, Conversation, Evaluation, LogLine, PartyError, ToolCall, Turn};
use proctor_text::{pluralize, printable, shorten, truncate};

use crate::style::{Paint, Style, duration};
use crate::transcript::Detail;

/// How much of a printed line is shown, unless everything is wanted.
const OUTPUT_WIDTH: usize = 500;

/// The most characters of a line, unless everything is wanted.
const LINE_CHARACTERS: usize = 2_000;
/// The end of all colours.
const RESET: &str = "\x1b[0m";

/// A line that costs nothing, however long it is: what is left out is counted, and where it stands is said. The line may be painted.
pub(crate) fn cut_line(line: &str) -> Cow<'_, str> {
    if line.char_indices().nth(LINE_CHARACTERS).is_none() {
        return Cow::Borrowed(line);
    }
    let kept = truncate(line, LINE_CHARACTERS);
    let reset = if kept.contains('\x1b') { RESET } else { "" };
    let hidden = line.chars().count() - kept.chars().count() + 1;
    let more = pluralize(hidden, "character");
    Cow::Owned(format!("{kept}{reset} ({more} more: `proctor show --full`)"))
}

pub(crate) struct TextPage {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) detail: Detail,
}

impl TextPage {
    pub(crate) fn new(style: Style, detail: Detail) -> Self {
        Self { text: String::new(), style, detail }
    }

    /// Adds text under an indent; further lines of it stand below its first.
    pub(crate) fn line(&mut self, indent: usize, text: &str) {
        for line in text.split('\n') {
            let line = match self.detail {
                Detail::Brief => cut_line(line.trim_end()),
                Detail::Full => Cow::Borrowed(line.trim_end()),
            };
            let indent = if line.is_empty() { 0 } else { indent };
            let _ = writeln!(self.text, "{:indent$}{line}", "");
        }
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.style.paint(Paint::Dim, text)
    }

    pub(crate) fn output(&mut self, attempt: &Attempt) {
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
        let width = if self.detail == Detail::Full { usize::MAX } else { OUTPUT_WIDTH };
        for line in &lines[hidden..] {
            self.line(6, &truncate(&printable(line), width));
        }
    }

    pub(crate) fn conversation(&mut self, conversation: &Conversation) {
        for simulation in &conversation.simulations {
            let goal = simulation.goal.as_deref().unwrap_or("no goal given");
            let most =
                simulation.max_turns.map(|most| format!(" (at most {})", pluralize(most, "turn")));
            let line =
                format!("simulated user wants: {}{}", printable(goal), most.unwrap_or_default());
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
                let line = format!(
                    "ended after {}: {}",
                    pluralize(turns, "turn"),
                    printable(reason.as_str())
                );
                let line = self.dim(&line.replace('_', " "));
                self.line(4, &line);
            }
        }
    }

    pub(crate) fn turn(&mut self, turn: &Turn) {
        let topic = turn.topic.as_deref().map(|topic| format!(" · {}", printable(topic)));
        let title = self.dim(&format!("turn {}{}", turn.number, topic.unwrap_or_default()));
        self.line(4, &title);
        if let Some(user) = &turn.user {
            self.message_lines("User", &user.text);
        }
        // The first answer, then the calls it made, then what the agent said with their results.
        let mut responses = turn.responses.iter();
        if let Some(first) = responses.next() {
            // An answer may be nothing but calls.
            if !first.text.trim().is_empty() || turn.tool_calls.is_empty() {
                self.message_lines("Agent", &first.text);
            }
        }
        for call in &turn.tool_calls {
            let line = tool_call(call);
            self.line(13, &line);
        }
        for later in responses.filter(|later| !later.text.trim().is_empty()) {
            self.message_lines("Agent", &later.text);
        }
    }

    pub(crate) fn message_lines(&mut self, who: &str, text: &str) {
        let text = printable(text);
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

    /// One line about a check: what it demands, and how clearly it was decided.
    pub(crate) fn check(&mut self, evaluation: &Evaluation) {
        let mark = match evaluation.passed {
            Some(true) => self.style.paint(Paint::Good, "✓"),
            // It decides nothing, so it does not look like a failure.
            Some(false) if evaluation.mode == EvaluationMode::Soft => {
                self.style.paint(Paint::Warn, "~")
            }
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
        notes.extend(votes(evaluation));
        let line =
            format!("{mark} {}  {}", printable(label), self.dim(&printable(&notes.join(" · "))));
        self.line(4, &line);
    }

    pub(crate) fn evaluation(&mut self, evaluation: &Evaluation) {
        self.check(evaluation);
        if evaluation.passed != Some(true)
            && let Some(message) = &evaluation.message
        {
            self.line(8, &printable(message));
        }
        let is_shown = |reasoning: &&String| {
            evaluation.message.as_ref().is_some_and(|message| message.contains(reasoning.as_str()))
        };
        if let Some(reasoning) =
            evaluation.reasoning.as_ref().filter(|reasoning| !is_shown(reasoning))
        {
            let line = self.dim(&format!("judge: {}", printable(reasoning)));
            self.line(8, &line);
        }
    }

    pub(crate) fn party_error(&mut self, party_error: &PartyError) {
        let class = party_error.class.as_deref().map(|class| format!("{class}: "));
        let at = party_error.turn.map(|turn| format!(" in turn {turn}"));
        let doing = party_error.operation.as_deref().map(|what| format!(" ({what})"));
        let line = format!(
            "{} error{}{}: {}{}",
            party_error.whose,
            at.unwrap_or_default(),
            doing.unwrap_or_default(),
            class.unwrap_or_default(),
            party_error.message,
        );
        let line = self.style.paint(Paint::Bad, printable(&line));
        self.line(4, &line);
    }

    pub(crate) fn exception(&mut self, class: Option<&str>, message: &str, backtrace: &[String]) {
        if let Some(class) = class {
            let class = self.style.paint(Paint::Bad, format!("{}:", printable(class)));
            self.line(4, &class);
        }
        self.line(6, printable(message).trim_matches('\n'));
        let limit = if self.detail == Detail::Full { usize::MAX } else { 5 };
        for line in backtrace.iter().take(limit) {
            let line = self.dim(&format!("at {}", printable(line)));
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
        format!("→ {}({})", printable(&call.name), text(&call.arguments).unwrap_or_default());
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

pub(crate) fn left_behind(leaked: &LeakedProcess) -> String {
    format!("left behind: {}", leaked_process(leaked))
}

pub(crate) fn leaked_process(leaked: &LeakedProcess) -> String {
    let command = leaked.command.as_deref().unwrap_or("a process");
    format!("{} (pid {}), ended", shorten(command, 80), leaked.pid)
}

/// How a judge's votes fell, where there were several.
pub(crate) fn votes(evaluation: &Evaluation) -> Option<String> {
    let metadata = evaluation.metadata.as_ref()?.to_value();
    let count = |side: &str| metadata["votes"][side].as_u64();
    let (passed, failed) = (count("passed")?, count("failed")?);
    Some(format!("{} of {} votes", passed.max(failed), passed + failed))
}
