//! The known name that a mistyped one probably meant.

/// The known name nearest to a word, if any is near: by few edits (one, and one more for every four letters), else by a long
/// common beginning (`describe` for `description`). Among equals the first in alphabetical order.
pub fn nearest<'name>(
    word: &str,
    known: impl IntoIterator<Item = &'name str>,
) -> Option<&'name str> {
    let known: Vec<&str> = known.into_iter().collect();
    by_edits(word, &known).or_else(|| by_beginning(word, &known))
}

fn by_edits<'name>(word: &str, known: &[&'name str]) -> Option<&'name str> {
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), *name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name)
}

fn by_beginning<'name>(word: &str, known: &[&'name str]) -> Option<&'name str> {
    let shared = |name: &str| word.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    known
        .iter()
        .map(|name| (shared(name), *name))
        .filter(|(count, name)| *count >= 4 && *count * 2 > name.len())
        .max()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_edits_or_a_long_common_beginning() {
        assert_eq!(nearest("topcis", ["tags", "topics"]), Some("topics"));
        assert_eq!(nearest("description", ["describe", "criteria"]), Some("describe"));
        assert_eq!(nearest("expectations", ["expect", "evaluate"]), Some("expect"));
        assert_eq!(nearest("descend", ["describe"]), None);
        assert_eq!(nearest("zebra", ["tags", "topics"]), None);
        assert_eq!(nearest("anything", []), None);
    }
}
