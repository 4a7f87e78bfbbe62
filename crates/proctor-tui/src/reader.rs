//! What the reader does: which page is open, where it is scrolled to, what is searched for.

use std::time::Duration;

use ratatui::layout::Size;

use crate::detail;
use crate::focus::{Focus, Mode};
use crate::help;
use crate::input::KeyPress;
use crate::keys::Action;
use crate::layout::areas;
use crate::list::{Item, ListFilter, ListPane, items};
use crate::model::Model;
use crate::scroll::{LineBuffer, Motion, Scroll};
use crate::search::{Search, SearchEdit};
use crate::workers::Workers;

/// The page that is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OpenPage {
    #[default]
    Workers,
    List,
    /// The chosen item of the list.
    Detail(Scroll),
}

/// What the user of the screen has chosen: worker, page, search.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) focus: Focus,
    pub(crate) page: OpenPage,
    pub(crate) list: ListPane,
    /// The help, while it is open.
    pub(crate) help: Option<Scroll>,
    pub(crate) search: Search,
    /// What came of the last key, where it cannot be seen otherwise.
    pub(crate) notice: Option<&'static str>,
}

impl Reader {
    /// Moves to the worker that should be looked at; says whether it did.
    pub(crate) fn show_followed_worker(&mut self, workers: &mut Workers, now: Duration) -> bool {
        let reading = workers.shown().is_some_and(|worker| worker.scroll != Scroll::End);
        if reading || self.search.is_editing() {
            return false;
        }
        let before = workers.shown_index();
        let failed = self.focus.failure_to_show(now).and_then(|tab| workers.find(tab));
        let place = failed.or_else(|| self.focus.next(now, &workers.seen(), before));
        place.inspect(|place| workers.show(*place)).is_some_and(|place| place != before)
    }

    /// Does what a key asks for.
    pub(crate) fn apply_action(
        &mut self,
        action: Action,
        model: &mut Model,
        now: Duration,
        size: Size,
    ) {
        self.notice = None;
        match action {
            Action::Move(motion) => self.step(motion, model, size),
            Action::Help if self.help.is_some() => self.help = None,
            Action::Help => self.help = Some(Scroll::TOP),
            Action::Back => {
                let _ = self.back();
            }
            // Under the help nothing else happens, because it could not be seen.
            _ if self.help.is_some() => {}
            Action::Tab(_) | Action::RunTab | Action::NextTab | Action::PreviousTab => {
                self.switch(action, model, now);
            }
            Action::Follow => self.focus.toggle(Mode::Follow, now),
            Action::Rotate => self.focus.toggle(Mode::Rotate, now),
            Action::Search => self.search.begin(),
            Action::NextMatch => self.jump(true, model, size),
            Action::PreviousMatch => self.jump(false, model, size),
            Action::Failures => self.toggle_list(ListFilter::Failures),
            Action::Examples => self.toggle_list(ListFilter::All),
            Action::Open if self.page == OpenPage::List => self.open(model),
            // The app sees to these.
            Action::Open | Action::Copy | Action::Redraw | Action::Stop | Action::Interrupt => {}
        }
    }

    /// One step back: out of the help, the search, an example, the list. False if there was none to take.
    pub(crate) fn back(&mut self) -> bool {
        self.notice = None;
        if self.help.take().is_some() {
            return true;
        }
        if self.search.is_active() {
            self.search.clear();
            return true;
        }
        let (page, went) = match self.page {
            OpenPage::Detail(_) => (OpenPage::List, true),
            OpenPage::List => (OpenPage::Workers, true),
            OpenPage::Workers => (OpenPage::Workers, false),
        };
        self.page = page;
        went
    }

    /// Takes a key while the search is being written.
    pub(crate) fn edit(&mut self, press: KeyPress, model: &mut Model, size: Size) {
        if self.search.edit(press) == SearchEdit::Accepted {
            self.jump(true, model, size);
        }
    }

    /// The command that runs the chosen item again.
    pub(crate) fn rerun(&mut self, model: &Model) -> Option<String> {
        if self.page == OpenPage::Workers || self.help.is_some() {
            return None;
        }
        let command = self.chosen(model).as_ref().and_then(detail::rerun);
        self.notice = Some(match command {
            Some(_) => "copied, if the terminal allows it",
            None => "there is no command to copy",
        });
        command
    }

    pub(crate) fn chosen<'a>(&self, model: &'a Model) -> Option<Item<'a>> {
        let items = items(model.run.data(), self.list.which);
        items.get(self.list.place(&items)).copied()
    }

    fn open(&mut self, model: &Model) {
        let items = items(model.run.data(), self.list.which);
        if !items.is_empty() {
            // Chosen by name from now on, so that the page stays the same when the list grows.
            self.list.choose(&items, self.list.place(&items));
            self.page = OpenPage::Detail(Scroll::TOP);
            self.search.current = None;
        }
    }

    fn toggle_list(&mut self, which: ListFilter) {
        let close = self.page == OpenPage::List && self.list.which == which;
        self.page = if close { OpenPage::Workers } else { OpenPage::List };
        self.list.which = which;
        self.search.current = None;
    }

    fn switch(&mut self, action: Action, model: &mut Model, now: Duration) {
        if let OpenPage::Detail(_) = self.page {
            return self.switch_example(action, model);
        }
        match action {
            Action::Tab(_) | Action::RunTab => {
                let worker = if let Action::Tab(number) = action { Some(number) } else { None };
                let Some(place) = model.workers.find(worker.into()) else { return };
                model.workers.show(place);
            }
            action => model.workers.show_neighbour(action == Action::NextTab),
        }
        self.page = OpenPage::Workers;
        self.search.current = None;
        self.focus.chosen(now);
    }

    /// On the page of an example, left and right lead to its neighbours in the list.
    fn switch_example(&mut self, action: Action, model: &Model) {
        let motion = match action {
            Action::NextTab => Motion::Down,
            Action::PreviousTab => Motion::Up,
            _ => return,
        };
        self.list.step(motion, &items(model.run.data(), self.list.which), 1);
        self.page = OpenPage::Detail(Scroll::TOP);
        self.search.current = None;
    }

    fn step(&mut self, motion: Motion, model: &mut Model, size: Size) {
        if let Some(scroll) = &mut self.help {
            return scroll.step(motion, &help::lines(), help::text_size(size));
        }
        let body = areas(size).body.as_size();
        match self.page {
            OpenPage::Workers => {
                if let Some(worker) = model.workers.shown_mut() {
                    worker.scroll.step(motion, &worker.line_buffer, body);
                }
            }
            OpenPage::List => {
                self.list.step(motion, &items(model.run.data(), self.list.which), body.height);
            }
            OpenPage::Detail(mut scroll) => {
                scroll.step(motion, &self.detail(model), body);
                self.page = OpenPage::Detail(scroll);
            }
        }
    }

    /// The page of the chosen item.
    pub(crate) fn detail(&self, model: &Model) -> LineBuffer {
        let item = self.chosen(model);
        item.map_or_else(
            || LineBuffer::new(0),
            |item| detail::page(&item, &model.run, &model.attempt_lines),
        )
    }

    /// The lines, or items of a list, in which the search is found.
    pub(crate) fn hits(&self, model: &Model) -> Vec<u64> {
        let found = |text: &str| !self.search.found_in(text).is_empty();
        let lines = |line_buffer: &LineBuffer| {
            line_buffer
                .numbered()
                .filter(|(_, line)| found(line.text()))
                .map(|(number, _)| number)
                .collect()
        };
        match self.page {
            OpenPage::Workers => {
                model.workers.shown().map_or_else(Vec::new, |it| lines(&it.line_buffer))
            }
            OpenPage::Detail(_) => lines(&self.detail(model)),
            OpenPage::List => {
                let items = items(model.run.data(), self.list.which);
                let titles = (0..).zip(items.iter().map(|item| item.title(&model.run)));
                titles.filter(|(_, title)| found(title)).map(|(number, _)| number).collect()
            }
        }
    }

    fn jump(&mut self, forward: bool, model: &mut Model, size: Size) {
        if !self.search.is_active() {
            return;
        }
        let body = areas(size).body.as_size();
        let hits = self.hits(model);
        let top = self.top(model, body);
        let Some(target) = self.search.jump(&hits, forward, top) else {
            self.notice = Some("not found");
            return;
        };
        match self.page {
            OpenPage::Workers => {
                if let Some(worker) = model.workers.shown_mut() {
                    worker.scroll.show(target, &worker.line_buffer, body);
                }
            }
            OpenPage::Detail(mut scroll) => {
                scroll.show(target, &self.detail(model), body);
                self.page = OpenPage::Detail(scroll);
            }
            OpenPage::List => {
                let items = items(model.run.data(), self.list.which);
                self.list.choose(&items, usize::try_from(target).unwrap_or(usize::MAX));
            }
        }
    }

    fn top(&self, model: &Model, body: Size) -> u64 {
        match self.page {
            OpenPage::Workers => model
                .workers
                .shown()
                .and_then(|worker| worker.scroll.top_line(&worker.line_buffer, body)),
            OpenPage::Detail(scroll) => scroll.top_line(&self.detail(model), body),
            OpenPage::List => {
                let items = items(model.run.data(), self.list.which);
                Some(self.list.place(&items) as u64)
            }
        }
        .unwrap_or_default()
    }
}
