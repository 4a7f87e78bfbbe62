//! The list of examples: all of them, or those that went wrong.
//!
//! What is chosen is held by name, not by place, so that it stays chosen while the list grows.

use proctor_events::{ExampleId, Status};
use proctor_record::{Attempt, Example, OutsideError, RunData};
use proctor_report::Paint;
use proctor_text::display_width;
use proctor_verdict::{is_made, is_success};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::canvas::put;
use crate::header::brief;
use crate::model::Model;
use crate::run_view::{LineOwner, RunView};
use crate::scroll::Motion;
use crate::search::Search;
use crate::text::{TextLine, fit};
use crate::theme::{Theme, chosen, paint_of, sign_of, word_of};

/// Which examples are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ListFilter {
    #[default]
    Failures,
    All,
}

/// The name of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ItemKey {
    Outside(usize),
    Attempt(LineOwner),
}

/// Something in the list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    /// An error outside any example, by its place.
    Outside(usize, &'a OutsideError),
    /// The attempt that decided.
    Attempt(&'a Example, &'a Attempt),
}

/// The items of a list, in order of appearance; errors outside examples come first.
pub(crate) fn items(run: &RunData, which: ListFilter) -> Vec<Item<'_>> {
    let outside = run.errors.iter().enumerate().map(|(place, error)| Item::Outside(place, error));
    let attempts = run.examples.iter().flat_map(|example| {
        let last = example.deciding_attempts().into_iter();
        last.map(move |attempt| Item::Attempt(example, attempt))
    });
    outside
        .chain(attempts)
        .filter(|item| which == ListFilter::All || item.belongs_to_failures(run))
        .collect()
}

/// The ids of the examples among the failures, each once.
pub(crate) fn failed_ids(model: &Model) -> Vec<ExampleId> {
    let mut ids = Vec::new();
    for item in items(model.run.data(), ListFilter::Failures) {
        if let Some(id) = item.example_id()
            && !ids.contains(id)
        {
            ids.push(id.clone());
        }
    }
    ids
}

impl Item<'_> {
    pub(crate) fn example_id(&self) -> Option<&ExampleId> {
        match self {
            Self::Outside(..) => None,
            Self::Attempt(example, _) => example.id.as_ref(),
        }
    }

    pub(crate) fn key(&self) -> ItemKey {
        match self {
            Self::Outside(place, _) => ItemKey::Outside(*place),
            Self::Attempt(example, attempt) => {
                ItemKey::Attempt(LineOwner { id: example.id.clone(), number: attempt.number() })
            }
        }
    }

    fn is(&self, key: &ItemKey) -> bool {
        match (self, key) {
            (Self::Outside(place, _), ItemKey::Outside(wanted)) => place == wanted,
            // A later attempt takes the place of an earlier one.
            (Self::Attempt(example, attempt), ItemKey::Attempt(wanted)) => {
                example.id == wanted.id && attempt.repeat == wanted.number.repeat
            }
            _ => false,
        }
    }

    /// Whether it belongs among the failures; what passed only on a retry does, and what the run refuses though it passed.
    pub(crate) fn belongs_to_failures(&self, run: &RunData) -> bool {
        match self {
            Self::Outside(..) => true,
            Self::Attempt(example, attempt) => {
                let bad = |status| !is_success(status) && is_made(status);
                let verdict = example.verdict(run.over);
                let fails = || verdict.is_failure(run.policy);
                let is_unchecked =
                    attempt.status == Some(Status::Passed) && attempt.checks == Some(0);
                attempt.flaky
                    || (is_unchecked && verdict.refusal(run.policy).is_some())
                    || (attempt.status.as_ref().is_some_and(bad) && (!attempt.is_final || fails()))
            }
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self, Self::Attempt(_, attempt) if attempt.status.is_none())
    }

    fn sign(&self) -> (String, Paint) {
        match self {
            Self::Outside(..) => ("✗".to_owned(), Paint::Bad),
            Self::Attempt(_, attempt) if attempt.flaky => ("~".to_owned(), Paint::Warn),
            Self::Attempt(_, attempt) => {
                (sign_of(attempt.status.as_ref()), paint_of(attempt.status.as_ref()))
            }
        }
    }

    pub(crate) fn title(&self, run: &RunView) -> String {
        match self {
            Self::Outside(_, error) => {
                let phase = error.phase.as_deref().unwrap_or("outside examples").replace('_', " ");
                let place = error.place.as_deref().unwrap_or_default();
                format!("error, {phase} {place}").trim_end().to_owned()
            }
            Self::Attempt(example, _) => run.title_of(example),
        }
    }

    fn notes(&self) -> String {
        let Self::Attempt(_, attempt) = self else { return String::new() };
        let mut notes = Vec::new();
        if attempt.repeat > 1 {
            notes.push(format!("repeat {}", attempt.repeat));
        }
        notes.push(attempt.status.as_ref().map_or_else(|| "running".to_owned(), word_of));
        if attempt.flaky {
            notes.push("flaky".to_owned());
        }
        if attempt.status == Some(Status::Passed) && attempt.checks == Some(0) {
            notes.push("checked nothing".to_owned());
        }
        notes.push(brief(attempt.duration_ms));
        notes.retain(|note| !note.is_empty());
        notes.join(" · ")
    }
}

/// What is needed to draw the list.
pub(crate) struct ListDrawing<'a> {
    pub(crate) items: &'a [Item<'a>],
    pub(crate) run: &'a RunView,
    pub(crate) search: &'a Search,
    pub(crate) is_filtered: bool,
    pub(crate) theme: Theme,
}

/// What the reader does with the list.
#[derive(Debug, Default)]
pub(crate) struct ListPane {
    pub(crate) which: ListFilter,
    chosen: Option<ItemKey>,
}

impl ListPane {
    /// Where the chosen item stands now; the first if there is none.
    pub(crate) fn place(&self, items: &[Item<'_>]) -> usize {
        let key = self.chosen.as_ref();
        key.and_then(|key| items.iter().position(|item| item.is(key))).unwrap_or_default()
    }

    pub(crate) fn choose(&mut self, items: &[Item<'_>], place: usize) {
        self.chosen = items.get(place.min(items.len().saturating_sub(1))).map(Item::key);
    }

    pub(crate) fn has_choice(&self) -> bool {
        self.chosen.is_some()
    }

    pub(crate) fn choose_key(&mut self, key: ItemKey) {
        self.chosen = Some(key);
    }

    pub(crate) fn step(&mut self, motion: Motion, items: &[Item<'_>], height: u16) {
        let place = motion.apply_to_place(self.place(items), height);
        self.choose(items, place);
    }

    pub(crate) fn draw(&self, drawing: &ListDrawing<'_>, area: Rect, buffer: &mut Buffer) {
        let ListDrawing { items, run, search, theme, .. } = *drawing;
        if items.is_empty() {
            let words = match self.which {
                _ if drawing.is_filtered => "  no row has what is filtered for: Esc shows all",
                ListFilter::Failures if run.is_live() => "  nothing has failed so far",
                ListFilter::Failures => "  nothing failed",
                ListFilter::All => "  no example has started",
            };
            return put(buffer, area, 0, &Line::styled(words, theme.style(Some(Paint::Dim))));
        }
        let height = usize::from(area.height);
        let place = self.place(items);
        let top = place.saturating_sub(height / 2).min(items.len().saturating_sub(height));
        for (row, (number, item)) in (0..area.height).zip(items.iter().enumerate().skip(top)) {
            let mut line = item_line(item, run, search, theme, area.width.into());
            if number == place {
                line.spans[0] = Span::raw("›");
            }
            put(buffer, area, row, &line);
            if number == place {
                let row = Rect { y: area.y + row, height: 1, ..area };
                buffer.set_style(row.intersection(buffer.area), chosen());
            }
        }
    }
}

fn item_line(
    item: &Item<'_>,
    run: &RunView,
    search: &Search,
    theme: Theme,
    width: usize,
) -> Line<'static> {
    let (sign, paint) = item.sign();
    let notes = item.notes();
    let space = width.saturating_sub(display_width(&notes) + 6);
    let title = TextLine::new(None, &fit(&item.title(run), space));
    let padding = " ".repeat(space.saturating_sub(display_width(title.text())));
    let found = search.found_in(title.text());
    let whole = title.row(0, 0..title.text().len(), &found, theme);
    let mut spans =
        vec![Span::raw(" "), Span::styled(sign, theme.style(Some(paint))), Span::raw(" ")];
    spans.extend(
        whole.spans.into_iter().map(|span| Span::styled(span.content.into_owned(), span.style)),
    );
    spans.push(Span::raw(format!("{padding}  ")));
    spans.push(Span::styled(notes, Style::new().patch(theme.style(Some(Paint::Dim)))));
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use proctor_events::Event;

    use super::*;

    fn run(lines: &[&str]) -> RunView {
        let mut run = RunView::default();
        for line in lines {
            run.apply(&Event::from_json(line).unwrap());
        }
        run
    }

    const EVENTS: [&str; 5] = [
        r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed"}"#,
        r#"{"event_type":"ExampleFinished","example_id":"b","status":"failed","final":false}"#,
        r#"{"event_type":"ExampleFinished","example_id":"c","status":"crashed"}"#,
        r#"{"event_type":"ErrorOutsideExample","phase":"load"}"#,
        r#"{"event_type":"ExampleFinished","example_id":"b","attempt":2,"status":"passed"}"#,
    ];

    fn titles(run: &RunView, which: ListFilter) -> Vec<String> {
        items(run.data(), which).iter().map(|item| item.title(run)).collect()
    }

    #[test]
    fn failures_are_errors_failed_and_flaky_examples() {
        let run = run(&EVENTS);
        assert_eq!(titles(&run, ListFilter::Failures), ["error, load", "b", "c"]);
        assert_eq!(titles(&run, ListFilter::All), ["error, load", "a", "b", "c"]);
    }

    #[test]
    fn a_name_that_is_found_while_the_example_runs_is_shown() {
        let started = r#"{"event_type":"ExampleStarted","example_id":"a","path":["Stack"],"description":"example at ./a:3"}"#;
        let run = run(&[
            started,
            r#"{"event_type":"ExampleFinished","example_id":"a","status":"failed","final":false,"description":"is expected to be empty","full_description":"Stack is expected to be empty"}"#,
            started,
            r#"{"event_type":"ExampleFinished","example_id":"a","attempt":2,"status":"failed"}"#,
        ]);
        assert!(
            titles(&run, ListFilter::All)
                .iter()
                .all(|title| title == "Stack > is expected to be empty")
        );
        assert!(!titles(&run, ListFilter::All).is_empty());
    }

    #[test]
    fn the_chosen_one_stays_chosen_while_the_list_grows() {
        let before = run(&EVENTS[..3]);
        let mut pane = ListPane::default();
        pane.choose(&items(before.data(), ListFilter::Failures), 0);
        let after = run(&EVENTS);
        let items = items(after.data(), ListFilter::Failures);
        assert_eq!(items[pane.place(&items)].title(&after), "b", "its next attempt");
        pane.step(Motion::End, &items, 5);
        assert_eq!(items[pane.place(&items)].title(&after), "c");
        pane.step(Motion::Down, &items, 5);
        assert_eq!(items[pane.place(&items)].title(&after), "c");
        pane.step(Motion::PageUp, &items, 5);
        assert_eq!(pane.place(&items), 0);
    }
}
