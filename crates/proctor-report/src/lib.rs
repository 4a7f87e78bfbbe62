//! Runs as text for people.
//!
//! * [`transcript`] shows a whole run after the fact.
//! * [`LiveLines`] shows events as they come, one line each.
//!
//! Both take what the recording holds and give strings; nothing here prints. Text that agents or tests
//! produced is shown through [`plain`], so that it cannot move the cursor or repaint the screen.

mod live;
mod style;
mod transcript;

pub use live::LiveLines;
pub use style::{Paint, Style, counted, duration, plain, shorten};
pub use transcript::{Detail, transcript};
