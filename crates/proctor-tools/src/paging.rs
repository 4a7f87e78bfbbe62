//! Pages of a list: how many items an answer has, and the cursor of the next page.

use crate::error::ToolError;

/// Items of a page if the call has no limit.
pub const DEFAULT_LIMIT: usize = 10;
/// Most items of a page.
pub const MAX_LIMIT: usize = 100;

/// A part of a list.
#[derive(Debug)]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// One page of a list. The cursor is an index into the list.
pub fn page<T>(
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

/// The number of items of a page with this limit.
pub fn limited(limit: Option<u32>) -> usize {
    limit
        .map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(MAX_LIMIT))
        .clamp(1, MAX_LIMIT)
}

/// The index that a cursor stands for.
pub fn start(cursor: Option<&str>) -> Result<usize, ToolError> {
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
