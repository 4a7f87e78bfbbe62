//! Topic patterns: words separated by dots, `*` for exactly one word, a lone `*` for everything, and `**`
//! for any number of words (ours). The first two rules are the orchestrator's own. Pure.

/// Whether a topic matches a pattern.
pub fn matches(pattern: &str, topic: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let pattern: Vec<&str> = pattern.split('.').collect();
    let topic: Vec<&str> = topic.split('.').collect();
    words_match(&pattern, &topic)
}

fn words_match(pattern: &[&str], topic: &[&str]) -> bool {
    match (pattern.split_first(), topic.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), None) => words_match(rest, &[]),
        (Some((&"**", rest)), Some((_, fewer))) => {
            words_match(rest, topic) || words_match(pattern, fewer)
        }
        (Some((word, rest)), Some((first, fewer))) => {
            (*word == "*" || word == first) && words_match(rest, fewer)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_is_one_word_and_two_are_any_number() {
        assert!(matches("build.*", "build.task") && !matches("build.*", "build.a.b"));
        assert!(!matches("build.*", "build") && matches("*", "a.b.c"));
        assert!(matches("*.done", "build.done") && !matches("*.done", "a.b.done"));
        assert!(matches("build.**", "build.a.b") && matches("build.**", "build"));
        assert!(matches("**.done", "a.b.done") && !matches("build", "build.x"));
    }

    proptest! {
        #[test]
        fn a_topic_matches_itself(topic in "[a-z]{1,4}(\\.[a-z]{1,4}){0,3}") {
            prop_assert!(matches(&topic, &topic));
            prop_assert!(matches("**", &topic));
        }
    }
}
