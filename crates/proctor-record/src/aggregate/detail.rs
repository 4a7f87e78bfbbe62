//! How much of a run a fold keeps.

use proctor_events::Exception;

/// How much is kept.
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

    /// Whatever only a reader of conversations wants.
    pub(super) fn only_in_full<T: Clone + Default>(self, value: &T) -> T {
        if self.is_full() { value.clone() } else { T::default() }
    }

    /// What went wrong, in an outline without its place and cut where it is long.
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
    text.chars().take(MAX_OUTLINE_CHARS).collect()
}
