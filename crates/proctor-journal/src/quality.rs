//! Remarks on a draft that may be hard to learn from. They warn and never refuse.

use std::collections::BTreeSet;

use crate::request::Draft;
use crate::search::words;
use crate::warning::Warning;

/// Remarks on a draft.
pub fn remarks(draft: &Draft) -> Vec<Warning> {
    let mut remarks = Vec::new();
    let hypothesis: BTreeSet<_> = words(&draft.hypothesis).collect();
    let prediction: BTreeSet<_> = words(&draft.prediction).collect();
    let shared = hypothesis.intersection(&prediction).count();
    // Short texts share words by accident.
    if prediction.len() >= 3 && shared * 10 >= prediction.len() * 9 {
        remarks.push("the prediction repeats the hypothesis: say what will be seen if it is right");
    }
    if ["it works", "works", "fixed", "it is fixed", "success", "ok"]
        .contains(&draft.prediction.trim().trim_end_matches('.').to_lowercase().as_str())
    {
        remarks.push("the prediction names nothing to look at: say which output, test or number");
    }
    remarks.into_iter().map(|remark| Warning::Quality(remark.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Domain, Strategy};

    fn draft(hypothesis: &str, prediction: &str) -> Draft {
        Draft {
            hypothesis: hypothesis.to_owned(),
            prediction: prediction.to_owned(),
            ..Draft::new(Domain::Debugging, Strategy::ReadTheError)
        }
    }

    #[test]
    fn repetition_and_empty_promises_are_remarked() {
        assert_eq!(
            remarks(&draft("the cache entry is stale", "The cache entry is stale")).len(),
            1
        );
        assert_eq!(remarks(&draft("the cache is stale", "It works.")).len(), 1);
        assert!(remarks(&draft("the cache is stale", "test_cache passes ten times")).is_empty());
    }
}
