//! Which of the proposed methods: by flags, by a file of answers, or by what a person types. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::stop::Stop;

/// Which of the proposed methods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Only ids that match one of these (`*` stands for anything); empty: all.
    pub only: Vec<String>,
    /// Not those that match one of these.
    pub without: Vec<String>,
    /// Free text, kept with the deselected.
    pub instruction: Option<String>,
}

/// A file of answers, for selection without a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Answers {
    /// `all` takes the proposal, `cancel` ends, `some` (or nothing) follows `only` and `without`.
    pub select: Option<String>,
    /// Ids or globs to take.
    pub only: Vec<String>,
    /// Ids or globs to leave out.
    pub without: Vec<String>,
    /// Why others are left out, in words.
    pub instruction: Option<String>,
}

impl Choice {
    /// The choice of a file of answers (YAML or JSON).
    pub fn from_answers(text: &str, name: &str) -> Result<Self, Stop> {
        let answers: Answers = serde_saphyr::from_str(text).map_err(|error| {
            Stop::error(
                format!("{name} holds no answers"),
                error.to_string(),
                "write `select: all`, or lists `only` and `without` of ids such as Cart#add or Cart#*",
            )
        })?;
        match answers.select.as_deref() {
            Some("cancel") => Err(Stop::cancelled("the answers file says `select: cancel`")),
            Some("all") => Ok(Self::default()),
            None | Some("some") => Ok(Self {
                only: answers.only,
                without: answers.without,
                instruction: answers.instruction,
            }),
            Some(other) => Err(Stop::error(
                format!("{name}: select is {other:?}"),
                "it can be all, some or cancel".to_owned(),
                "use one of these",
            )),
        }
    }

    /// Why a method is left out, if it is.
    pub(crate) fn deselects(&self, id: &str) -> Option<String> {
        let named = |list: &[String]| list.iter().any(|pattern| matches(pattern, id));
        let out = (!self.only.is_empty() && !named(&self.only)) || named(&self.without);
        out.then(|| match &self.instruction {
            Some(text) => format!("Custom: {text}"),
            None => "User deselected".to_owned(),
        })
    }
}

/// What a person typed at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptAnswer {
    /// Take everything.
    All,
    /// Take nothing.
    Cancel,
    /// Take these ids.
    These(Vec<String>),
    /// It matches nothing: ask again.
    Again(String),
}

/// Reads what was typed: `y`, `n`, numbers and ranges (`1 3-5`), or globs (`Cart#*`).
#[must_use]
pub fn parse_prompt_answer(line: &str, ids: &[String]) -> PromptAnswer {
    let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] | ["n" | "N" | "no" | "q" | "cancel"] => return PromptAnswer::Cancel,
        ["y" | "Y" | "yes" | "a" | "all"] => return PromptAnswer::All,
        _ => {}
    }
    let mut chosen = BTreeSet::new();
    for word in &words {
        let before = chosen.len();
        match range(word) {
            Some((from, to)) => chosen.extend(
                (from..=to)
                    .filter(|number| (1..=ids.len()).contains(number))
                    .map(|number| number - 1),
            ),
            None => chosen.extend((0..ids.len()).filter(|place| matches(word, &ids[*place]))),
        }
        if chosen.len() == before {
            return PromptAnswer::Again(format!(
                "`{word}` matches no method that is not chosen already"
            ));
        }
    }
    PromptAnswer::These(chosen.into_iter().map(|place| ids[place].clone()).collect())
}

fn range(word: &str) -> Option<(usize, usize)> {
    match word.split_once('-') {
        Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
        None => word.parse().ok().map(|number| (number, number)),
    }
}

/// A glob in which `*` stands for anything. By hand: to `globset` the `?` of `Cart#empty?` and the `[]` of `Cart#[]` would be
/// wildcards.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return false };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_ids() {
        for (pattern, text, expected) in [
            ("Cart#*", "Cart#add", true),
            ("Cart#add", "Cart#add", true),
            ("Cart#add", "Cart#adder", false),
            ("*#add", "Shop::Cart#add", true),
            ("*a*d", "xaxd", true),
            ("ab*ab", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_person_chooses_by_number_range_or_glob() {
        let ids: Vec<String> = ["A#a", "A#b", "B#a", "B#c"].map(str::to_owned).into();
        let these = |names: &[&str]| {
            PromptAnswer::These(names.iter().map(|name| (*name).to_owned()).collect())
        };
        assert_eq!(parse_prompt_answer("y\n".trim(), &ids), PromptAnswer::All);
        assert_eq!(parse_prompt_answer("", &ids), PromptAnswer::Cancel);
        assert_eq!(parse_prompt_answer("1, 3-4", &ids), these(&["A#a", "B#a", "B#c"]));
        assert_eq!(parse_prompt_answer("B#*", &ids), these(&["B#a", "B#c"]));
        assert!(matches!(parse_prompt_answer("C#*", &ids), PromptAnswer::Again(_)));
        assert!(matches!(parse_prompt_answer("9", &ids), PromptAnswer::Again(_)));
    }

    #[test]
    fn a_file_of_answers_is_a_choice_and_its_mistakes_have_a_place() {
        let choice = Choice::from_answers(
            "only: ['Cart#*']\nwithout: [Cart#add]\ninstruction: later\n",
            "a.yml",
        )
        .unwrap();
        assert_eq!(choice.deselects("Cart#add").as_deref(), Some("Custom: later"));
        assert_eq!(choice.deselects("Cart#total"), None);
        let json = Choice::from_answers("{\"select\": \"all\"}", "a.json").unwrap();
        assert_eq!(json, Choice::default());
        assert_eq!(
            Choice::from_answers("select: cancel", "a.yml").unwrap_err().reason.as_deref(),
            Some("user_cancelled")
        );
        let wrong = Choice::from_answers("onyl: [x]", "a.yml").unwrap_err();
        assert!(wrong.details.contains("onyl"), "{wrong:?}");
        assert!(Choice::from_answers("select: perhaps", "a.yml").is_err());
    }
}
