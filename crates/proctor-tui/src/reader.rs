//! What the reader does: which page is open, where it is scrolled to, what is searched for.

use std::time::Duration;

use proctor_events::ExampleId;
use ratatui::layout::Size;

use crate::conversation_list::ConversationList;
use crate::conversations::ConversationRow;
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
use crate::workers::{Tab, Workers};

/// The page that is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OpenPage {
    /// The tab that is shown: the lines of a worker, or the rows of conversations.
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
    pub(crate) conversations: ConversationList,
    /// Whether the open item was opened from the rows of conversations, and closing it leads back there.
    opened_from_rows: bool,
    /// The help, while it is open.
    pub(crate) help: Option<Scroll>,
    pub(crate) search: Search,
    /// What the title of a row must have to be shown; inactive: all are.
    pub(crate) filter: Search,
    /// What came of the last key, where it cannot be seen otherwise.
    pub(crate) notice: Option<&'static str>,
}

impl Reader {
    /// Moves to the worker that should be looked at; says whether it did.
    pub(crate) fn show_followed_worker(&mut self, workers: &mut Workers, now: Duration) -> bool {
        let reading = workers.shown().is_some_and(|worker| match worker.tab {
            Tab::Conversations => self.conversations.has_choice(),
            _ => worker.scroll != Scroll::End,
        });
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
            Action::Tab(_)
            | Action::ConversationsTab
            | Action::RunTab
            | Action::NextTab
            | Action::PreviousTab => self.switch(action, model, now),
            Action::Follow => self.focus.toggle(Mode::Follow, now),
            Action::Rotate => self.focus.toggle(Mode::Rotate, now),
            Action::Search => self.search.begin(),
            Action::NextMatch => self.jump(true, model, size),
            Action::PreviousMatch => self.jump(false, model, size),
            Action::Narrow => self.narrow(),
            Action::Failures => self.toggle_list(ListFilter::Failures),
            Action::Examples => self.toggle_list(ListFilter::All),
            Action::Open if self.page == OpenPage::List => self.open(model),
            Action::Open if self.shows_rows(model) => self.open_row(model),
            Action::NextFailure => self.go_to_failure(Motion::Down, model),
            Action::PreviousFailure => self.go_to_failure(Motion::Up, model),
            // The app sees to these.
            Action::Open
            | Action::Copy
            | Action::RunAgain
            | Action::RunFailuresAgain
            | Action::Redraw
            | Action::Stop
            | Action::Interrupt => {}
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
        if self.filter.is_active() && !matches!(self.page, OpenPage::Detail(_)) {
            self.filter.clear();
            return true;
        }
        let (page, went) = match self.page {
            OpenPage::Detail(_) if self.opened_from_rows => (OpenPage::Workers, true),
            OpenPage::Detail(_) => (OpenPage::List, true),
            OpenPage::List => (OpenPage::Workers, true),
            OpenPage::Workers => (OpenPage::Workers, false),
        };
        if self.page == OpenPage::Workers {
            self.conversations.clear_choice();
        }
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
        if self.help.is_some() || (self.page == OpenPage::Workers && !self.shows_rows(model)) {
            return None;
        }
        let command = self.chosen(model).as_ref().and_then(|item| detail::rerun(item, &model.run));
        self.notice = Some(match command {
            Some(_) => "copied, if the terminal allows it",
            None => "there is no command to copy",
        });
        command
    }

    /// Whether the rows of conversations are shown.
    pub(crate) fn shows_rows(&self, model: &Model) -> bool {
        self.page == OpenPage::Workers
            && model.workers.shown().is_some_and(|worker| worker.tab == Tab::Conversations)
    }

    /// The rows of conversations that are shown.
    pub(crate) fn rows<'a>(&self, model: &'a Model) -> Vec<ConversationRow<'a>> {
        let mut rows = model.conversations.rows(model.run.data());
        rows.retain(|row| self.lets_through(&model.run.title_of(row.example)));
        rows
    }

    /// The items of the list that are shown.
    pub(crate) fn items<'a>(&self, model: &'a Model) -> Vec<Item<'a>> {
        self.items_of(model, self.list.which)
    }

    fn items_of<'a>(&self, model: &'a Model, which: ListFilter) -> Vec<Item<'a>> {
        let mut items = items(model.run.data(), which);
        items.retain(|item| self.lets_through(&item.title(&model.run)));
        items
    }

    fn lets_through(&self, title: &str) -> bool {
        !self.filter.is_active() || !self.filter.found_in(title).is_empty()
    }

    /// Shows only what the search finds, or everything again.
    fn narrow(&mut self) {
        if self.filter.is_active() {
            self.filter.clear();
        } else if self.search.is_active() {
            self.filter = std::mem::take(&mut self.search);
        } else {
            self.notice = Some("search first: / and some words, then t shows only rows with them");
        }
    }

    pub(crate) fn chosen<'a>(&self, model: &'a Model) -> Option<Item<'a>> {
        if self.shows_rows(model) {
            let rows = self.rows(model);
            return rows.get(self.conversations.place(&rows))?.item();
        }
        let items = self.items(model);
        items.get(self.list.place(&items)).copied()
    }

    /// Opens the conversation of the chosen row: one that runs at its end, which grows.
    fn open_row(&mut self, model: &Model) {
        let rows = self.rows(model);
        let place = self.conversations.place(&rows);
        let Some(item) = rows.get(place).and_then(ConversationRow::item) else { return };
        self.conversations.choose(&rows, place);
        self.list.which = ListFilter::All;
        self.list.choose_key(item.key());
        let scroll = if item.is_running() { Scroll::End } else { Scroll::TOP };
        self.show_detail(scroll, true);
    }

    /// The example that is chosen, or none.
    pub(crate) fn chosen_ids(&self, model: &Model) -> Vec<ExampleId> {
        if self.page == OpenPage::Workers && !self.shows_rows(model) {
            return Vec::new();
        }
        self.chosen(model).and_then(|item| item.example_id().cloned()).into_iter().collect()
    }

    /// Shows the failures, unless the reader is looking at something already.
    pub(crate) fn begin_review(&mut self, model: &Model) {
        let looking = self.page != OpenPage::Workers || self.conversations.has_choice();
        if !looking && !items(model.run.data(), ListFilter::Failures).is_empty() {
            self.list.which = ListFilter::Failures;
            self.page = OpenPage::List;
        }
    }

    /// Opens the failure after or before the one that is open; the first if none is.
    fn go_to_failure(&mut self, motion: Motion, model: &Model) {
        let items = self.items_of(model, ListFilter::Failures);
        if items.is_empty() {
            self.notice = Some(if self.filter.is_active() {
                "nothing that is shown has failed: Esc shows all"
            } else {
                "nothing has failed"
            });
            return;
        }
        let walks = matches!(self.page, OpenPage::Detail(_))
            && self.list.which == ListFilter::Failures
            && self.list.has_choice();
        self.list.which = ListFilter::Failures;
        if walks {
            self.list.step(motion, &items, 1);
        } else {
            let place = self.list.place(&items);
            self.list.choose(&items, place);
        }
        let from_rows = self.opened_from_rows || self.shows_rows(model);
        self.show_detail(Scroll::TOP, from_rows);
    }

    fn show_detail(&mut self, scroll: Scroll, opened_from_rows: bool) {
        self.page = OpenPage::Detail(scroll);
        self.opened_from_rows = opened_from_rows;
        self.search.current = None;
    }

    fn open(&mut self, model: &Model) {
        let items = self.items(model);
        if !items.is_empty() {
            // Chosen by name from now on, so that the page stays the same when the list grows.
            self.list.choose(&items, self.list.place(&items));
            self.show_detail(Scroll::TOP, false);
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
            Action::Tab(_) | Action::ConversationsTab | Action::RunTab => {
                let tab = match action {
                    Action::Tab(number) => Tab::Worker(number),
                    Action::ConversationsTab => Tab::Conversations,
                    _ => Tab::Run,
                };
                let Some(place) = model.workers.find(tab) else { return };
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
        self.list.step(motion, &self.items(model), 1);
        self.page = OpenPage::Detail(Scroll::TOP);
        self.search.current = None;
    }

    fn step(&mut self, motion: Motion, model: &mut Model, size: Size) {
        if let Some(scroll) = &mut self.help {
            return scroll.step(motion, &help::lines(), help::text_size(size));
        }
        let body = areas(size).body.as_size();
        match self.page {
            OpenPage::Workers if self.shows_rows(model) => {
                let rows = self.rows(model);
                self.conversations.step(motion, &rows, body.height);
            }
            OpenPage::Workers => {
                if let Some(worker) = model.workers.shown_mut() {
                    worker.scroll.step(motion, &worker.line_buffer, body);
                }
            }
            OpenPage::List => {
                self.list.step(motion, &self.items(model), body.height);
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
        let titles = |titles: Vec<String>| -> Vec<u64> {
            let numbered = (0..).zip(titles);
            numbered.filter(|(_, title)| found(title)).map(|(number, _)| number).collect()
        };
        match self.page {
            OpenPage::Workers if self.shows_rows(model) => {
                let rows = self.rows(model);
                titles(rows.iter().map(|row| model.run.title_of(row.example)).collect())
            }
            OpenPage::Workers => {
                model.workers.shown().map_or_else(Vec::new, |it| lines(&it.line_buffer))
            }
            OpenPage::Detail(_) => lines(&self.detail(model)),
            OpenPage::List => {
                let items = self.items(model);
                titles(items.iter().map(|item| item.title(&model.run)).collect())
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
            OpenPage::Workers if self.shows_rows(model) => {
                let rows = self.rows(model);
                self.conversations.choose(&rows, usize::try_from(target).unwrap_or(usize::MAX));
            }
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
                let items = self.items(model);
                self.list.choose(&items, usize::try_from(target).unwrap_or(usize::MAX));
            }
        }
    }

    fn top(&self, model: &Model, body: Size) -> u64 {
        match self.page {
            OpenPage::Workers if self.shows_rows(model) => {
                let rows = self.rows(model);
                Some(self.conversations.place(&rows) as u64)
            }
            OpenPage::Workers => model
                .workers
                .shown()
                .and_then(|worker| worker.scroll.top_line(&worker.line_buffer, body)),
            OpenPage::Detail(scroll) => scroll.top_line(&self.detail(model), body),
            OpenPage::List => {
                let items = self.items(model);
                Some(self.list.place(&items) as u64)
            }
        }
        .unwrap_or_default()
    }
}
