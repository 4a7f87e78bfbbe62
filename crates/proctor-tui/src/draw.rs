//! The screen as it looks now.

use proctor_text::pluralize;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{App, CanRunAgain};
use crate::canvas::{out_of_sight, rows, rule};
use crate::conversation_list::{self, RowsDrawing};
use crate::footer::Footer;
use crate::header::Header;
use crate::layout::{Areas, LayoutSize, areas};
use crate::list::{ListDrawing, ListFilter, items};
use crate::reader::OpenPage;
use crate::scroll::{LineBuffer, Scroll};
use crate::theme::Theme;
use crate::workers::{Tab, Worker};
use crate::{help, tabs};

/// Draws the whole screen.
pub fn draw(app: &App, frame: &mut Frame<'_>) {
    let screen = frame.area();
    let areas = areas(screen.as_size());
    let buffer = frame.buffer_mut();
    if screen.is_empty() {
        return;
    }
    let drawing = Drawing { app, theme: Theme::new(app.setup.style), areas };
    drawing.header(buffer);
    if areas.layout_size != LayoutSize::Tiny {
        let (workers, frame) = (&app.model.workers, app.clock.frame());
        tabs::draw(workers, frame, drawing.theme, areas.tabs, buffer);
        drawing.page(buffer);
    }
    drawing.footer(buffer);
    if let Some(scroll) = app.reader.help {
        help::draw(scroll, drawing.theme, screen, buffer);
    }
}

struct Drawing<'a> {
    app: &'a App,
    theme: Theme,
    areas: Areas,
}

impl Drawing<'_> {
    fn header(&self, buffer: &mut Buffer) {
        let model = &self.app.model;
        let is_worker = |worker: &&Worker| matches!(worker.tab, Tab::Worker(_));
        let workers = model.workers.all().iter().filter(is_worker).count();
        let now = self.app.clock.wall();
        let header = Header { run: &model.run, workers, now, theme: self.theme };
        header.draw(self.areas.layout_size, self.areas.header, buffer);
    }

    fn page(&self, buffer: &mut Buffer) {
        let (reader, model) = (&self.app.reader, &self.app.model);
        match reader.page {
            OpenPage::Workers if reader.shows_rows(model) => self.conversations(buffer),
            OpenPage::Workers => {
                if let Some(worker) = model.workers.shown() {
                    self.text(&worker_heading(worker), &worker.line_buffer, worker.scroll, buffer);
                }
            }
            OpenPage::List => {
                let items = reader.items(model);
                let count = items.len() as u64;
                let title = match reader.list.which {
                    ListFilter::Failures => pluralize(count, "failure"),
                    ListFilter::All if reader.filter.is_active() => pluralize(count, "row"),
                    ListFilter::All => pluralize(model.run.summary().examples, "example"),
                };
                rule(buffer, self.areas.heading, self.theme, &title, "Enter opens · Esc back");
                let body = self.areas.body;
                let drawing = ListDrawing {
                    items: &items,
                    run: &model.run,
                    search: &reader.search,
                    is_filtered: reader.filter.is_active(),
                    theme: self.theme,
                };
                reader.list.draw(&drawing, body, buffer);
            }
            OpenPage::Detail(scroll) => {
                let items = reader.items(model);
                let place = reader.list.place(&items) + 1;
                let title = format!("{place} of {} · ← → neighbours · Esc back", items.len());
                self.text(&title, &reader.detail(model), scroll, buffer);
            }
        }
    }

    fn conversations(&self, buffer: &mut Buffer) {
        let (reader, model) = (&self.app.reader, &self.app.model);
        let rows = reader.rows(model);
        let title = conversation_list::heading(model.conversations.counts(model.run.data()));
        rule(buffer, self.areas.heading, self.theme, &title, "Enter opens");
        let drawing = RowsDrawing {
            rows: &rows,
            run: &model.run,
            search: &reader.search,
            is_filtered: reader.filter.is_active(),
            now: self.app.clock.wall(),
            frame: self.app.clock.frame(),
            theme: self.theme,
        };
        reader.conversations.draw(&drawing, self.areas.body, buffer);
    }

    fn text(&self, title: &str, line_buffer: &LineBuffer, scroll: Scroll, buffer: &mut Buffer) {
        let Areas { heading, body, .. } = self.areas;
        let window = scroll.window(line_buffer, body.as_size());
        rule(buffer, heading, self.theme, title, &out_of_sight(&window));
        rows(buffer, body, self.theme, &window, &self.app.reader.search);
    }

    fn footer(&self, buffer: &mut Buffer) {
        let app = self.app;
        let (reader, model) = (&app.reader, &app.model);
        let scrolled = reader.page == OpenPage::Workers
            && model.workers.shown().is_some_and(|worker| worker.scroll != Scroll::End);
        let searching = reader.search.is_active() && !reader.search.is_editing();
        let footer = Footer {
            notice: app.notice(),
            search: &reader.search,
            filter: &reader.filter,
            found: if searching { reader.hits(model).len() } else { 0 },
            mode: model.run.is_live().then(|| reader.focus.mode()),
            scrolled,
            dropped: app.dropped,
            hints: self.hints(),
            theme: self.theme,
        };
        let area: Rect = self.areas.footer;
        footer.draw(area, buffer);
    }

    fn hints(&self) -> Vec<String> {
        if self.app.reader.search.is_editing() {
            return vec!["Enter finds".to_owned(), "Esc cancels".to_owned()];
        }
        let failures = items(self.app.model.run.data(), ListFilter::Failures).len();
        let leave = match (self.app.reader.page, self.app.is_stoppable()) {
            (OpenPage::List | OpenPage::Detail(_), _) => "q back",
            (OpenPage::Workers, true) => "q stop",
            (OpenPage::Workers, false) => "q quit",
        };
        let copy = matches!(self.app.reader.page, OpenPage::List | OpenPage::Detail(_))
            || self.app.reader.conversations.has_choice();
        let mut hints = vec![leave.to_owned(), "? help".to_owned()];
        let can_run_again = self.app.setup.can_run_again == CanRunAgain::Yes;
        if copy {
            hints.push("y copy command".to_owned());
            hints.extend(can_run_again.then(|| "x X run again".to_owned()));
        } else {
            hints.push(format!("F failures ({failures})"));
            hints.push("e examples".to_owned());
        }
        hints.push("/ search".to_owned());
        hints
    }
}

fn worker_heading(worker: &Worker) -> String {
    let mut parts = match worker.tab {
        Tab::Worker(_) => vec![format!("worker {}", worker.label())],
        Tab::Conversations => vec!["conversations".to_owned()],
        Tab::Run => vec!["outside workers".to_owned()],
    };
    parts.extend(worker.pid.map(|pid| format!("pid {pid}")));
    parts.push(match worker.title() {
        Some(title) => title.to_owned(),
        None if worker.exited => "its process has ended".to_owned(),
        None => "idle".to_owned(),
    });
    parts.join(" · ")
}
