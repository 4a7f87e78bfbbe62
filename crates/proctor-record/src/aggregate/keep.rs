//! How much of a run a fold keeps.

use proctor_events::Exception;

/// How much is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keep {
    #[default]
    Everything,
    /// Results and numbers.
    Outline,
}

/// How many characters of a message an outline keeps.
const SHORT: usize = 1000;

impl Keep {
    pub(super) fn everything(self) -> bool {
        self == Self::Everything
    }

    /// Whatever only a reader of conversations wants.
    pub(super) fn detail<T: Clone + Default>(self, value: &T) -> T {
        if self.everything() { value.clone() } else { T::default() }
    }

    /// What went wrong, in an outline without its place and cut where it is long.
    pub(super) fn exception(self, exception: &Exception) -> Exception {
        if self.everything() {
            return exception.clone();
        }
        Exception {
            class: exception.class.clone(),
            message: cut(&exception.message),
            ..Exception::default()
        }
    }

    pub(super) fn message(self, message: Option<&String>) -> Option<String> {
        message.map(|text| if self.everything() { text.clone() } else { cut(text) })
    }
}

fn cut(text: &str) -> String {
    proctor_text::first_characters(text, SHORT).to_owned()
}
