//! The rows of conversations on the screen, and the one that is chosen.
//!
//! What is chosen is held by its id, so that it stays chosen while rows come and go.

use proctor_events::{ExampleId, Timestamp};
use proctor_report::{Paint, duration};
use proctor_text::{display_width, pluralize};
use proctor_verdict::is_success;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::canvas::put;
use crate::conversations::{ConversationCounts, ConversationRow};
use crate::header::clock_time;
use crate::run_view::RunView;
use crate::scroll::Motion;
use crate::search::Search;
use crate::tabs::spinner;
use crate::text::{TextLine, fit};
use crate::theme::{Theme, chosen, paint_of, sign_of};

/// More repetitions than this are counted by sign instead of having a cell each.
const MAX_CELLS: usize = 10;
/// The share of a row's width that its title may have.
const TITLE_PERCENT: usize = 30;

/// What the reader does with the rows.
#[derive(Debug, Default)]
pub(crate) struct ConversationList {
    chosen: Option<ExampleId>,
}

/// What is needed to draw the rows.
pub(crate) struct RowsDrawing<'a> {
    pub(crate) rows: &'a [ConversationRow<'a>],
    pub(crate) run: &'a RunView,
    pub(crate) search: &'a Search,
    pub(crate) is_filtered: bool,
    pub(crate) now: Timestamp,
    pub(crate) frame: u64,
    pub(crate) theme: Theme,
}

impl ConversationList {
    /// Whether the reader has chosen a row, so that the screen should not change by itself.
    pub(crate) fn has_choice(&self) -> bool {
        self.chosen.is_some()
    }

    pub(crate) fn clear_choice(&mut self) {
        self.chosen = None;
    }

    /// Where the chosen row stands now; the first if there is none.
    pub(crate) fn place(&self, rows: &[ConversationRow<'_>]) -> usize {
        rows.iter().position(|row| row.example.id == self.chosen).unwrap_or_default()
    }

    pub(crate) fn choose(&mut self, rows: &[ConversationRow<'_>], place: usize) {
        let row = rows.get(place.min(rows.len().saturating_sub(1)));
        self.chosen = row.and_then(|row| row.example.id.clone());
    }

    pub(crate) fn step(&mut self, motion: Motion, rows: &[ConversationRow<'_>], height: u16) {
        let place = motion.apply_to_place(self.place(rows), height);
        self.choose(rows, place);
    }

    pub(crate) fn draw(&self, drawing: &RowsDrawing<'_>, area: Rect, buffer: &mut Buffer) {
        let rows = drawing.rows;
        if rows.is_empty() {
            let words = if drawing.is_filtered {
                "  no row has what is filtered for: Esc shows all"
            } else if drawing.run.is_live() {
                "  nothing runs and nothing has failed"
            } else {
                "  there was no conversation"
            };
            let line = Line::styled(words, drawing.theme.style(Some(Paint::Dim)));
            return put(buffer, area, 0, &line);
        }
        let columns = Columns::for_rows(rows, area.width.into());
        let height = usize::from(area.height);
        let place = self.place(rows);
        let top = place.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
        for (row, (number, shown)) in (0..area.height).zip(rows.iter().enumerate().skip(top)) {
            let mut line = drawing.line(shown, &columns);
            let is_chosen = number == place && self.has_choice();
            if is_chosen {
                line.spans[0] = Span::raw("›");
            }
            put(buffer, area, row, &line);
            if is_chosen {
                let row = Rect { y: area.y + row, height: 1, ..area };
                buffer.set_style(row.intersection(buffer.area), chosen());
            }
        }
    }
}

/// How wide the columns are; those without any content have no room.
struct Columns {
    title: usize,
    cells: usize,
    turn: usize,
    last_line: usize,
    cost: usize,
}

/// From this width on a turn is spelled as `turn 12`; below it, as `t12`.
const WIDE: usize = 110;
/// `1:02:03` and `$0.0042`.
const TIME_WIDTH: usize = 7;
const COST_WIDTH: usize = 7;

impl Columns {
    fn for_rows(rows: &[ConversationRow<'_>], width: usize) -> Self {
        let cells = rows.iter().map(|row| display_width(&cells_text(row))).max().unwrap_or(0);
        let has_cost = rows.iter().any(|row| row.activity.cost_usd.is_some());
        let cost = if has_cost { COST_WIDTH } else { 0 };
        let turn = if width >= WIDE { 7 } else { 3 };
        let title = (width * TITLE_PERCENT / 100).max(8);
        // " ✗ " before the title; a gap behind the title, the turn, the last line, and each column that is there.
        let gaps = 3 + 3 * GAP + [cells, cost].iter().filter(|width| **width > 0).count() * GAP;
        let used = title + cells + turn + TIME_WIDTH + cost + gaps;
        Self { title, cells, turn, last_line: width.saturating_sub(used), cost }
    }
}

/// Between two columns.
const GAP: usize = 2;

/// A sign for each repetition, or how many failed and ended where there are many; nothing where there is only one.
fn cells(row: &ConversationRow<'_>) -> Vec<(String, Paint)> {
    let planned = row.example.repeats.unwrap_or(1) as usize;
    let count = planned.max(row.attempts.len());
    if count < 2 {
        return Vec::new();
    }
    let signs = row.attempts.iter().map(|attempt| {
        let status = attempt.status.as_ref();
        let sign = if status.is_none() { "▸".to_owned() } else { sign_of(status) };
        (sign, paint_of(status))
    });
    if count <= MAX_CELLS {
        let waiting = count - row.attempts.len();
        return signs.chain((0..waiting).map(|_| ("·".to_owned(), Paint::Dim))).collect();
    }
    let failed = signs.filter(|(_, paint)| *paint == Paint::Bad).count();
    let ended = row.attempts.iter().filter(|attempt| attempt.status.is_some()).count();
    let failed = (failed > 0).then(|| (format!("✗{failed} "), Paint::Bad));
    failed.into_iter().chain([(format!("{ended}/{count}"), Paint::Dim)]).collect()
}

fn cells_text(row: &ConversationRow<'_>) -> String {
    cells(row).into_iter().map(|(text, _)| text).collect()
}

impl RowsDrawing<'_> {
    fn line(&self, row: &ConversationRow<'_>, columns: &Columns) -> Line<'static> {
        let dim = self.theme.style(Some(Paint::Dim));
        let (sign, paint) = self.sign(row);
        let mut spans =
            vec![Span::raw(" "), Span::styled(sign, self.theme.style(Some(paint))), Span::raw(" ")];
        spans.extend(self.title(row, columns.title));
        spans.push(Span::raw("  "));
        if columns.cells > 0 {
            let cells = cells(row);
            let used: usize = cells.iter().map(|(text, _)| display_width(text)).sum();
            spans.extend(
                cells
                    .into_iter()
                    .map(|(text, paint)| Span::styled(text, self.theme.style(Some(paint)))),
            );
            spans.push(Span::raw(" ".repeat(columns.cells.saturating_sub(used) + 2)));
        }
        let turn = match row.activity.turn {
            0 => String::new(),
            turn if columns.turn > 3 => format!("turn {turn}"),
            turn => format!("t{turn}"),
        };
        spans.push(Span::styled(padded(&turn, columns.turn), dim));
        spans.push(Span::raw(format!("  {}  ", padded(&last_line(row), columns.last_line))));
        spans.push(Span::styled(format!("{:>TIME_WIDTH$}", self.time(row)), dim));
        if columns.cost > 0 {
            let cost = row.activity.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default();
            spans.push(Span::styled(format!("  {cost:>COST_WIDTH$}"), dim));
        }
        Line::from(spans)
    }

    fn sign(&self, row: &ConversationRow<'_>) -> (String, Paint) {
        let status = row.attempt().and_then(|attempt| attempt.status.as_ref());
        match status {
            // It passed, and yet it needs a look: flaky, or nothing was checked.
            Some(status) if row.is_failed && is_success(status) => ("~".to_owned(), Paint::Warn),
            Some(status) => (sign_of(Some(status)), paint_of(Some(status))),
            None if self.run.is_live() => (spinner(self.frame).to_owned(), Paint::Bold),
            None => (sign_of(None), paint_of(None)),
        }
    }

    fn title(&self, row: &ConversationRow<'_>, width: usize) -> Vec<Span<'static>> {
        let title = self.run.title_of(row.example);
        // Its own name says more than the beginning of the chain.
        let shown = if display_width(&title) > width {
            title.rsplit(" > ").next().unwrap_or(&title)
        } else {
            &title
        };
        let line = TextLine::new(None, &padded(shown, width));
        let found = self.search.found_in(line.text());
        let whole = line.row(0, 0..line.text().len(), &found, self.theme);
        let owned = |span: Span<'_>| Span::styled(span.content.into_owned(), span.style);
        whole.spans.into_iter().map(owned).collect()
    }

    fn time(&self, row: &ConversationRow<'_>) -> String {
        if self.run.is_live()
            && let Some(since) = row.running_since()
        {
            return clock_time(self.now.duration_since(since).as_secs_f64().max(0.0));
        }
        let taken = row.attempt().and_then(|attempt| attempt.duration_ms);
        taken.map(duration).unwrap_or_default()
    }
}

/// Why it failed, or what was said last.
fn last_line(row: &ConversationRow<'_>) -> String {
    let failed = row.attempt().filter(|_| row.is_failed);
    let reason = failed.and_then(|attempt| {
        let exception = attempt.exception.as_ref().map(|exception| exception.message.as_str());
        exception.or(attempt.message.as_deref())
    });
    let first_line = |text: &str| text.trim().lines().next().map(ToOwned::to_owned);
    reason.and_then(first_line).unwrap_or_else(|| row.activity.last_line.clone())
}

/// Cut or filled to a number of cells.
fn padded(text: &str, width: usize) -> String {
    let shown = fit(text, width);
    let missing = width.saturating_sub(display_width(&shown));
    format!("{shown}{}", " ".repeat(missing))
}

/// What stands above the rows.
pub(crate) fn heading(counts: ConversationCounts) -> String {
    let all = counts.running + counts.failed + counts.done;
    let mut parts = vec![pluralize(all, "conversation")];
    let counted = [(counts.running, "running"), (counts.failed, "failed"), (counts.done, "done")];
    parts.extend(
        counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}")),
    );
    parts.join(" · ")
}
