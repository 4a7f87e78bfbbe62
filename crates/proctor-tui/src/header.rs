//! How far the run is: a box with a bar and the counts, or one line where there is no room.

use proctor_events::Timestamp;
use proctor_report::{Paint, duration};
use proctor_text::{display_width, pluralize};
use proctor_verdict::Counts;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget as _};

use crate::layout::LayoutSize;
use crate::run_view::RunView;
use crate::text::fit;
use crate::theme::Theme;

/// What the header shows.
pub(crate) struct Header<'a> {
    pub(crate) run: &'a RunView,
    pub(crate) workers: usize,
    pub(crate) now: Timestamp,
    pub(crate) theme: Theme,
}

impl Header<'_> {
    pub(crate) fn draw(&self, layout_size: LayoutSize, area: Rect, buffer: &mut Buffer) {
        match layout_size {
            LayoutSize::Full => self.draw_box(area, buffer),
            LayoutSize::Compact | LayoutSize::Tiny => {
                buffer.set_line(area.x, area.y, &self.one_line(area.width.into()), area.width);
            }
        }
    }

    fn draw_box(&self, area: Rect, buffer: &mut Buffer) {
        let id =
            self.run.data().run_id.as_ref().map(|id| format!(" run {} ", fit(id.as_str(), 40)));
        let block = Block::bordered()
            .border_type(BorderType::Rounded)
            .title(Line::styled(" proctor ", self.theme.style(Some(Paint::Bold))))
            .title(id.unwrap_or_default())
            .title(self.clock().alignment(Alignment::Right));
        let inner = block.inner(area);
        block.render(area, buffer);
        let summary = self.run.summary();
        let width = inner.width.saturating_sub(2);
        let lines = [self.bar(&summary, width.into()), self.counts(&summary)];
        for (row, line) in (inner.y..inner.bottom()).zip(lines) {
            buffer.set_line(inner.x + 1, row, &line, width);
        }
    }

    /// Elapsed time, or how it ended.
    fn clock(&self) -> Line<'static> {
        // Conversations have none.
        let workers = match self.workers {
            0 => String::new(),
            count => format!("{} · ", pluralize(count, "worker")),
        };
        let (paint, words) = match self.run.verdict(self.now) {
            Some((paint, verdict)) => (Some(paint), verdict),
            None => (None, clock_time(self.run.elapsed(self.now).seconds())),
        };
        let words = Span::styled(format!("{words} "), self.theme.style(paint));
        Line::from(vec![Span::raw(format!(" {workers}")), words])
    }

    fn bar(&self, summary: &Counts, width: usize) -> Line<'static> {
        let (done, total) = self.run.progress(summary);
        let share = (done * 100).checked_div(total).unwrap_or_default();
        let numbers = format!("  {done}/{total}  {share:>3} %");
        let space = width.saturating_sub(display_width(&numbers));
        let filled = filled_cells(done, total, space);
        let bad = summary.failures + summary.errors > 0;
        let paint = if bad { Paint::Bad } else { Paint::Good };
        Line::from(vec![
            Span::styled("█".repeat(filled), self.theme.style(Some(paint))),
            Span::styled("░".repeat(space - filled), self.theme.style(Some(Paint::Dim))),
            Span::raw(numbers),
        ])
    }

    fn counts(&self, summary: &Counts) -> Line<'static> {
        let mut spans = Vec::new();
        for (count, sign, word, paint) in counts(summary) {
            if !spans.is_empty() {
                spans.push(Span::raw("  "));
            }
            spans.push(Span::styled(
                format!("{sign} {count} {word}"),
                self.theme.style(Some(paint)),
            ));
        }
        if spans.is_empty() {
            let loading =
                if self.run.is_live() { "waiting for examples …" } else { "no examples" };
            spans.push(Span::styled(loading, self.theme.style(Some(Paint::Dim))));
        }
        Line::from(spans)
    }

    /// `12/40 ✓10 ✗2 1:03`: the most telling parts first.
    fn one_line(&self, width: usize) -> Line<'static> {
        let summary = self.run.summary();
        let (done, total) = self.run.progress(&summary);
        let failed = summary.failures + summary.errors;
        let bad = if failed > 0 { Some(Paint::Bad) } else { None };
        let time = match self.run.verdict(self.now) {
            Some((_, verdict)) => verdict,
            None => format!("{} {done}/{total}", clock_time(self.run.elapsed(self.now).seconds())),
        };
        let spans = vec![
            Span::styled(format!("✗{failed} "), self.theme.style(bad)),
            Span::styled(format!("✓{} ", summary.passed), self.theme.style(Some(Paint::Good))),
        ];
        let used: usize = spans.iter().map(|span| display_width(&span.content)).sum();
        let mut line = Line::from(spans);
        line.push_span(Span::raw(fit(&time, width.saturating_sub(used))));
        line
    }
}

fn counts(summary: &Counts) -> impl Iterator<Item = (u64, &'static str, &'static str, Paint)> {
    let all = [
        (summary.passed, "✓", "passed", Paint::Good),
        (summary.failed, "✗", "failed", Paint::Bad),
        (summary.errored, "✗", "errored", Paint::Bad),
        (summary.crashed, "✗", "crashed", Paint::Bad),
        (summary.timed_out, "✗", "timed out", Paint::Bad),
        (summary.inconclusive, "?", "inconclusive", Paint::Warn),
        (summary.errors, "✗", "outside examples", Paint::Bad),
        (summary.flaky, "~", "flaky", Paint::Warn),
        (summary.within_rate, "~", "within their rate", Paint::Warn),
        (summary.unchecked, "~", "checked nothing", Paint::Warn),
        (summary.pending, "⏸", "pending", Paint::Warn),
        (summary.running, "▶", "running", Paint::Bold),
        (summary.cancelled, "-", "cancelled", Paint::Dim),
        (summary.not_run, "-", "not run", Paint::Dim),
    ];
    all.into_iter().filter(|(count, ..)| *count > 0)
}

/// A bar is full only when everything is done, and not empty once something is.
fn filled_cells(done: u64, total: u64, space: usize) -> usize {
    if done == 0 || total == 0 {
        return 0;
    }
    let cells = u128::from(done) * space as u128 / u128::from(total);
    usize::try_from(cells).unwrap_or(space).clamp(1.min(space), space)
}

/// Time while it runs: whole seconds, because it is redrawn that often.
pub(crate) fn clock_time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration in seconds is small and not negative"
    )]
    let seconds = seconds as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A duration for lists: short, or nothing.
pub(crate) fn brief(taken: Option<proctor_events::Millis>) -> String {
    taken.map(duration).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_only_at_the_end() {
        assert_eq!(filled_cells(0, 1000, 40), 0);
        assert_eq!(filled_cells(1, 1000, 40), 1);
        assert_eq!(filled_cells(999, 1000, 40), 39);
        assert_eq!(filled_cells(1000, 1000, 40), 40);
        assert_eq!(filled_cells(5, 0, 40), 0);
        assert_eq!(filled_cells(1, 1, 0), 0);
    }

    #[test]
    fn the_clock_reads_like_one() {
        assert_eq!(clock_time(0.9), "0:00");
        assert_eq!(clock_time(63.2), "1:03");
        assert_eq!(clock_time(3723.0), "1:02:03");
    }
}
