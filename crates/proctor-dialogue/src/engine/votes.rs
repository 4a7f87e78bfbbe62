//! Votes of the judge. A judgement that the first vote fails gets further votes until a majority is sure; one that holds
//! at once costs one vote. A topic has no failing side: it gets votes until one name has the majority.

use proctor_events::Json;
use serde_json::json;

use crate::judge::ItemAnswer;

/// The votes on one judgement so far.
#[derive(Debug, Default)]
pub(super) struct Votes {
    passed: Vec<ItemAnswer>,
    failed: Vec<ItemAnswer>,
}

/// What the majority says: the last answer on its side, and how many votes each side has.
#[derive(Debug, Clone)]
pub(super) struct VoteResult {
    pub(super) passed: bool,
    pub(super) answer: ItemAnswer,
    /// For and against.
    pub(super) counts: (u32, u32),
}

impl Votes {
    pub(super) fn add_vote(&mut self, passed: bool, answer: ItemAnswer) {
        if passed {
            self.passed.push(answer);
        } else {
            self.failed.push(answer);
        }
    }

    /// Whether further votes cannot change the outcome, or none are left.
    pub(super) fn settled(&self, votes: u32) -> bool {
        let (passed, failed) = (self.passed.len(), self.failed.len());
        let all = votes as usize;
        failed == 0 && passed > 0 || passed > all / 2 || failed > all / 2 || passed + failed >= all
    }

    /// Nothing while there is no vote.
    pub(super) fn outcome(&self) -> Option<VoteResult> {
        let passed = self.passed.len() > self.failed.len();
        let side = if passed { &self.passed } else { &self.failed };
        let count = |answers: &[ItemAnswer]| u32::try_from(answers.len()).unwrap_or(u32::MAX);
        let counts = (count(&self.passed), count(&self.failed));
        side.last().map(|answer| VoteResult { passed, answer: answer.clone(), counts })
    }
}

/// The topic that the votes settle on: one with the majority, or the most frequent one when all are cast. Between
/// equals the conversation stays where it is.
pub(super) fn voted_topic<'a>(voted: &'a [String], votes: u32, current: &str) -> Option<&'a str> {
    let count = |topic: &str| voted.iter().filter(|vote| *vote == topic).count();
    let most = voted.iter().map(|vote| count(vote)).max()?;
    let all = votes as usize;
    if most <= all / 2 && voted.len() < all {
        return None;
    }
    let mut leading = voted.iter().map(String::as_str).filter(|topic| count(topic) == most);
    leading.clone().find(|topic| *topic == current).or_else(|| leading.next())
}

/// How the votes are recorded, where there was more than one.
pub(super) fn votes_as_json((passed, failed): (u32, u32)) -> Option<Json> {
    let all = passed + failed;
    (all > 1).then(|| {
        let agreement = f64::from(passed.max(failed)) / f64::from(all);
        Json::from(json!({"votes": {"passed": passed, "failed": failed}, "agreement": agreement}))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_needs_a_majority_or_all_votes() {
        let winner = |voted: &[&str], votes| {
            let voted: Vec<String> = voted.iter().map(|&topic| topic.to_owned()).collect();
            voted_topic(&voted, votes, "here").map(str::to_owned)
        };
        assert_eq!(winner(&["there"], 1).as_deref(), Some("there"));
        assert_eq!(winner(&["there"], 3), None);
        assert_eq!(winner(&["there", "there"], 3).as_deref(), Some("there"));
        assert_eq!(winner(&["there", "here", "there"], 3).as_deref(), Some("there"));
        assert_eq!(winner(&["there", "elsewhere", "here"], 3).as_deref(), Some("here"));
        assert_eq!(winner(&["there", "elsewhere", "third"], 3).as_deref(), Some("there"));
    }
}
