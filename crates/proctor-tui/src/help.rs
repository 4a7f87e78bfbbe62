//! The help page, laid over the screen.

use std::sync::Arc;

use proctor_report::Paint;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::widgets::{Block, BorderType, Clear, Widget as _};

use crate::canvas::{out_of_sight, rows};
use crate::keys;
use crate::scroll::{LineBuffer, Scroll};
use crate::search::Search;
use crate::text::TextLine;
use crate::theme::Theme;

/// The widest the page gets.
const WIDEST: u16 = 68;

/// The lines of the help page.
pub(crate) fn lines() -> LineBuffer {
    let line = |(keys, what): (&str, &str)| {
        Arc::new(TextLine::led(&format!(" {keys:<16}"), Some(Paint::Bold), None, what))
    };
    keys::help().map(line).collect()
}

fn area(screen: Rect) -> Rect {
    let height = u16::try_from(keys::help().count()).unwrap_or(u16::MAX).saturating_add(2);
    let (width, height) = (screen.width.min(WIDEST), screen.height.min(height));
    let x = screen.x + (screen.width - width) / 2;
    let y = screen.y + (screen.height - height) / 2;
    Rect::new(x, y, width, height)
}

/// The room for its lines on a screen of this size.
pub(crate) fn text_size(screen: Size) -> Size {
    let area = area(Rect::new(0, 0, screen.width, screen.height));
    Size::new(area.width.saturating_sub(2), area.height.saturating_sub(2))
}

pub(crate) fn draw(scroll: Scroll, theme: Theme, screen: Rect, buffer: &mut Buffer) {
    let area = area(screen);
    let line_buffer = lines();
    let window = scroll.window(&line_buffer, text_size(screen.as_size()));
    Clear.render(area, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .title(" keys ")
        .title_bottom(out_of_sight(&window));
    let inner = block.inner(area);
    block.render(area, buffer);
    rows(buffer, inner, theme, &window, &Search::default());
}
