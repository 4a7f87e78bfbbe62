//! Text helpers that several crates need. Pure; every crate may use this one.
//!
//! - [`truncate`] and [`shorten`] limit the size of a text, counted in characters (Unicode scalar values). [`fit_width`] limits
//!   the cells a text takes on a terminal. None of them cuts inside a grapheme.
//! - [`printable`] and [`one_line`] replace what a terminal would obey rather than show.
//! - [`shell_quote`] and [`shell_join`] write words that a POSIX shell reads back unchanged.
//! - [`pluralize`] and [`plural`] put a noun behind a number; [`nearest`] finds the name that was probably meant.
//! - [`host_name`] reads the host in an authority of a URL; [`is_loopback_name`] says whether it means this machine.
//! - [`VisibleMatch`] says what a search in a text shows in which secrets were masked.
//!
//! Limits in bytes need no helper: `str::floor_char_boundary` and `str::ceil_char_boundary` are in the standard library.

mod authority;
mod mask;
mod nearest;
mod nouns;
mod shell;
mod terminal;
mod truncate;

pub use authority::{host_name, is_loopback_name};
pub use mask::{MASK, VisibleMatch, has_mask};
pub use nearest::nearest;
pub use nouns::{plural, pluralize};
pub use shell::{shell_join, shell_quote};
pub use terminal::{display_width, fit_width, grapheme_widths, one_line, printable};
pub use truncate::{ELLIPSIS, shorten, truncate, truncate_with};
