//! Which response to give: a pure function of script, counts, hat and prompt.

use super::prompt::Prompt;
use super::script::MockResponse;
use regex::Regex;

/// What the mock does with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Give this response.
    Take(usize),
    /// Every response was given.
    Exhausted,
    /// Some are left, but none fits; the reasons are for people.
    NoMatch(Vec<String>),
}

/// Chooses the first response that is left and fits.
pub(crate) fn choose(
    responses: &[MockResponse],
    used: &[u32],
    hat: Option<&str>,
    prompt: &Prompt,
) -> Choice {
    let mut reasons = Vec::new();
    for (index, response) in responses.iter().enumerate() {
        if used.get(index).copied().unwrap_or(0) >= response.times() {
            continue;
        }
        match misfit(response, hat, prompt) {
            None => return Choice::Take(index),
            Some(reason) => reasons.push(format!("response {index}: {reason}")),
        }
    }
    if reasons.is_empty() { Choice::Exhausted } else { Choice::NoMatch(reasons) }
}

fn misfit(response: &MockResponse, hat: Option<&str>, prompt: &Prompt) -> Option<String> {
    if let Some(wanted) = &response.hat
        && hat != Some(wanted)
    {
        return Some(format!("waits for hat {wanted}, active is {}", hat.unwrap_or("none")));
    }
    let pattern = response.trigger_pattern.as_ref()?;
    let text = if response.whole_prompt { &prompt.whole } else { &prompt.dynamic };
    let fits = Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    (!fits).then(|| format!("the prompt does not match {pattern:?}"))
}

/// How many responses were given and how many there are.
pub(crate) fn counts(responses: &[MockResponse], used: &[u32]) -> (u32, u32) {
    let total = responses.iter().map(MockResponse::times).sum();
    (used.iter().sum(), total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prompt(text: &str) -> Prompt {
        Prompt { whole: text.to_owned(), dynamic: text.to_owned() }
    }

    fn response(hat: Option<&str>, pattern: Option<&str>) -> MockResponse {
        MockResponse {
            hat: hat.map(str::to_owned),
            trigger_pattern: pattern.map(str::to_owned),
            ..MockResponse::default()
        }
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        let script =
            [response(Some("builder"), None), response(None, Some("b.g")), response(None, None)];
        let choose = |used: &[u32], hat, text| choose(&script, used, hat, &prompt(text));
        assert_eq!(choose(&[], Some("builder"), ""), Choice::Take(0));
        assert_eq!(choose(&[], Some("planner"), "a bug"), Choice::Take(1));
        assert_eq!(choose(&[], Some("planner"), ""), Choice::Take(2));
        assert_eq!(choose(&[1, 1, 1], None, ""), Choice::Exhausted);
        let Choice::NoMatch(reasons) = choose(&[0, 1, 1], Some("planner"), "") else { panic!() };
        assert!(reasons[0].contains("waits for hat builder, active is planner"), "{reasons:?}");
    }

    #[test]
    fn the_pattern_looks_at_what_changes_unless_told_otherwise() {
        let mut only = response(None, Some("LOOP_COMPLETE"));
        let prompt = Prompt { whole: "say LOOP_COMPLETE".to_owned(), dynamic: "task".to_owned() };
        assert!(matches!(choose(&[only.clone()], &[], None, &prompt), Choice::NoMatch(_)));
        only.whole_prompt = true;
        assert_eq!(choose(&[only], &[], None, &prompt), Choice::Take(0));
    }

    proptest! {
        /// Without filters responses come in order, each as often as it says, and then no more.
        #[test]
        fn plain_responses_are_consumed_in_order(times in prop::collection::vec(1u32..4, 0..6)) {
            let script: Vec<MockResponse> = times.iter()
                .map(|times| MockResponse { times: Some(*times), ..MockResponse::default() })
                .collect();
            let mut used = vec![0; script.len()];
            let mut given = Vec::new();
            while let Choice::Take(index) = choose(&script, &used, None, &prompt("")) {
                used[index] += 1;
                given.push(index);
            }
            prop_assert!(given.is_sorted());
            prop_assert_eq!(&used, &times);
            let (consumed, total) = counts(&script, &used);
            prop_assert_eq!(consumed, total);
        }
    }
}
