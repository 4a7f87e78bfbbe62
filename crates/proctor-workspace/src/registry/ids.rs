//! Which names a workspace may have. Pure.

use crate::error::ToolError;

const LONGEST: usize = 64;

/// Checks a workspace id: it becomes part of paths, so it is letters, digits, `-`, `_` and single dots.
pub(crate) fn check_id(id: &str) -> Result<(), ToolError> {
    let problem = if id.is_empty() {
        "it is empty"
    } else if id.len() > LONGEST {
        "it is longer than 64 characters"
    } else if !id.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        "it does not begin with a letter or digit"
    } else if id.contains("..") {
        "it contains `..`"
    } else if !id.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter)) {
        "it contains something else than letters, digits, `.`, `_` and `-`"
    } else {
        return Ok(());
    };
    let shown = proctor_text::truncate(id, 80);
    Err(ToolError::invalid(format!("workspace_id {shown:?} is not allowed: {problem}"))
        .hint("for example: planner_test_001"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_words() {
        for good in ["test_001", "a", "planner-test.2", "0x"] {
            assert!(check_id(good).is_ok(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", "..", ".hidden", "a/b", "a..b", "-x", "a b", "ä", "a\0", &long, "../x"] {
            assert!(check_id(bad).is_err(), "{bad:?}");
        }
    }
}
