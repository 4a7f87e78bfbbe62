//! Nouns behind numbers.

/// A number with its noun: `1 example`, `2 examples`, `0 examples`. For nouns whose plural is their singular and an `s`.
pub fn pluralize(count: impl TryInto<u64>, noun: &str) -> String {
    // A count beyond 64 bits is many.
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

/// The word that goes with a number: `plural(n, "entry", "entries")`.
pub fn plural<'word>(count: impl TryInto<u64>, one: &'word str, many: &'word str) -> &'word str {
    if matches!(count.try_into(), Ok(1)) { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!(
            [0_u64, 1, 2].map(|count| pluralize(count, "example")),
            ["0 examples", "1 example", "2 examples"]
        );
        assert_eq!(
            [0_usize, 1, 2].map(|count| plural(count, "entry", "entries")),
            ["entries", "entry", "entries"]
        );
    }
}
