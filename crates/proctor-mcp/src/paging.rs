//! Small answers: pages of a list, and beginnings of texts.

pub(crate) use proctor_tools::paging::{limited, page, start};

/// The beginning of a text, with a mark where something was cut.
pub(crate) fn brief(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", text[..cut].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_characters() {
        assert_eq!((brief("äöü", 3), brief("äöü", 2)), ("äöü".to_owned(), "äö…".to_owned()));
    }
}
