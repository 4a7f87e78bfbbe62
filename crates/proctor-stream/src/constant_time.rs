//! The comparison of secrets that both servers of events make.

/// Takes the same time for every difference, so that timing does not reveal a prefix of a secret.
pub fn equals_in_constant_time(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_equal_or_not() {
        assert!(equals_in_constant_time("s3cret", "s3cret"));
        assert!(!equals_in_constant_time("s3cret", "s3creT"));
        assert!(!equals_in_constant_time("s3cret", "s3cre"));
    }
}
