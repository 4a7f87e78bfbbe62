//! How much of a run the fold keeps.

use proctor_events::Exception;

/// The level of detail of a fold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Detail {
    #[default]
    Full,
    /// Results and numbers.
    Outline,
}

/// How many characters of a message an outline keeps.
const MAX_OUTLINE_CHARS: usize = 1000;

impl Detail {
    pub(super) fn is_full(self) -> bool {
        self == Self::Full
    }

    /// The value in a full fold, the default in an outline.
    pub(super) fn only_in_full<T: Clone + Default>(self, value: &T) -> T {
        if self.is_full() { value.clone() } else { T::default() }
    }

    /// The exception; in an outline without backtrace, and with a shortened message.
    pub(super) fn exception(self, exception: &Exception) -> Exception {
        if self.is_full() {
            return exception.clone();
        }
        Exception {
            class: exception.class.clone(),
            message: shorten(&exception.message),
            ..Exception::default()
        }
    }

    pub(super) fn message(self, message: Option<&String>) -> Option<String> {
        message.map(|text| if self.is_full() { text.clone() } else { shorten(text) })
    }
}

fn shorten(text: &str) -> String {
    proctor_text::truncate(text, MAX_OUTLINE_CHARS)
}
