//! Small answers: how many items come at once, and where the next ones begin.

use crate::error::ToolError;

/// How many items come when nobody says.
pub(crate) const FEW: usize = 10;
/// How many may be asked for.
pub(crate) const MOST: usize = 100;

/// A part of a list.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Where the next part begins, if there is one.
    pub(crate) next: Option<String>,
}

/// Cuts a part out of a list. The cursor is a place in the list, counted from its start.
pub(crate) fn page<T>(
    items: impl IntoIterator<Item = T>,
    cursor: Option<&str>,
    limit: Option<u32>,
) -> Result<Page<T>, ToolError> {
    let start = start(cursor)?;
    let limit = limited(limit);
    let mut rest = items.into_iter().skip(start);
    let items: Vec<T> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|_| (start + items.len()).to_string());
    Ok(Page { items, next })
}

/// The number of items that a call may have.
pub(crate) fn limited(limit: Option<u32>) -> usize {
    limit.map_or(FEW, |limit| usize::try_from(limit).unwrap_or(MOST)).clamp(1, MOST)
}

/// The place in a list that a cursor means.
pub(crate) fn start(cursor: Option<&str>) -> Result<usize, ToolError> {
    match cursor {
        None | Some("") => Ok(0),
        Some(text) => text.parse().map_err(|_| {
            ToolError::invalid(format_args!("cursor: `{text}` is not a cursor")).hint(
                "use the `next` of the answer before, or leave it out to start from the beginning",
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_end() {
        let first = page(0..5, None, Some(2)).unwrap();
        assert_eq!((first.items, first.next.as_deref()), (vec![0, 1], Some("2")));
        let last = page(0..5, Some("4"), Some(2)).unwrap();
        assert_eq!((last.items, last.next), (vec![4], None));
        assert_eq!(page(0..3, None, Some(0)).unwrap().items.len(), 1, "never nothing for ever");
        assert!(page(0..3, Some("x"), None).is_err());
    }
}
