//! Where things stand on the screen, by its size.

use ratatui::layout::{Rect, Size};

/// How much of the screen's parts fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutSize {
    /// A boxed header and everything else.
    Full,
    /// One line of progress, tabs, the pane.
    Compact,
    /// One line of progress.
    Tiny,
}

/// The parts of the screen; a part that does not fit has no area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) layout_size: LayoutSize,
    pub(crate) header: Rect,
    pub(crate) tabs: Rect,
    pub(crate) heading: Rect,
    pub(crate) body: Rect,
    pub(crate) footer: Rect,
}

/// Divides a screen of this size.
pub(crate) fn areas(size: Size) -> Areas {
    let layout_size = match (size.width, size.height) {
        (60.., 16..) => LayoutSize::Full,
        (24.., 6..) => LayoutSize::Compact,
        _ => LayoutSize::Tiny,
    };
    // Header, tabs, heading and footer; the body gets the rest.
    let fixed: [u16; 4] = match layout_size {
        LayoutSize::Full => [4, 1, 1, 1],
        LayoutSize::Compact => [1, 1, 1, 1],
        LayoutSize::Tiny => [size.height.min(1), 0, 0, u16::from(size.height > 1)],
    };
    let mut top = 0;
    let mut take = |height: u16| {
        let area = Rect::new(0, top, size.width, height);
        top += height;
        area
    };
    let header = take(fixed[0]);
    let tabs = take(fixed[1]);
    let heading = take(fixed[2]);
    let left = size.height.saturating_sub(fixed.iter().sum());
    let body = take(if layout_size == LayoutSize::Tiny { 0 } else { left });
    let footer = take(fixed[3]);
    Areas { layout_size, header, tabs, heading, body, footer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_divided_without_overlap_or_overflow() {
        for width in 0..130 {
            for height in 0..50 {
                let areas = areas(Size::new(width, height));
                let parts = [areas.header, areas.tabs, areas.heading, areas.body, areas.footer];
                let used: u16 = parts.iter().map(|part| part.height).sum();
                assert!(used <= height, "{width}x{height}: {areas:?}");
                assert!(parts.windows(2).all(|two| two[0].bottom() == two[1].y));
                assert!(parts.iter().all(|part| part.width == width));
            }
        }
    }

    #[test]
    fn a_usual_terminal_has_room_for_everything() {
        let areas = areas(Size::new(80, 24));
        assert_eq!((areas.layout_size, areas.body.height), (LayoutSize::Full, 17));
    }
}
