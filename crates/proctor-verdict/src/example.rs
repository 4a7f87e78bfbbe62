//! The verdict of an example, from its attempts.
//!
//! Of every repetition the last attempt decides: a retry replaces what it repeats. Without a pass rate every repetition must pass, and the
//! worst one names the verdict; with one, enough of the repetitions that say something must. Repetitions that were cut short or left out
//! might have gone either way: they keep an example undecided unless nothing they could have done would change its verdict.

use std::borrow::Cow;

use proctor_events::{Fault, Status};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::tables::{Outcome, Standing};
use crate::{AttemptNumber, Evidence, PassRate, Policy, Rate, RateState, evidence, is_made};
use crate::{is_success, tables};

/// What is known of one attempt.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Which one it is.
    pub number: AttemptNumber,
    /// How it ended; `None` while it runs.
    pub status: Option<&'a Status>,
    /// Whose failure it was.
    pub fault: Option<&'a Fault>,
    /// Whether no further attempt at this repetition follows.
    pub is_final: bool,
    /// Whether the stream itself calls it flaky.
    pub flaky: bool,
    /// How many hard checks were carried out; `None` where that is not recorded.
    pub checks: Option<u64>,
}

/// The attempt that decides each repetition: the last one made, in the order of repetitions.
pub fn deciding<T>(attempts: &[T], number: impl Fn(&T) -> AttemptNumber) -> Vec<&T> {
    let sorted = in_order(attempts, &number);
    repetitions(&sorted, &number).filter_map(|made| made.last().copied()).collect()
}

/// Attempts by repetition, and those at one in the order of their numbers; of two with one number the later stands last.
fn in_order<T>(attempts: &[T], number: impl Fn(&T) -> AttemptNumber) -> Vec<&T> {
    let mut sorted: Vec<&T> = attempts.iter().collect();
    sorted.sort_by_key(|attempt| number(attempt));
    sorted
}

/// The attempts at each repetition, of attempts [in order](in_order).
fn repetitions<'s, 'a, T>(
    sorted: &'s [&'a T],
    number: impl Fn(&T) -> AttemptNumber + 's,
) -> impl Iterator<Item = &'s [&'a T]> {
    sorted.chunk_by(move |one, next| number(one).repeat == number(next).repeat)
}

/// The repetitions of an example, counted. Grows with every result; asking for the verdict costs the same however many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExampleTally {
    /// By the place of their outcome in the table.
    outcomes: [u64; Outcome::ALL.len()],
    rate: Rate,
    flaky: u64,
    /// Of the repetitions that count as passed, those that are known to have checked nothing.
    unchecked: u64,
}

impl ExampleTally {
    /// Counts a repetition that has ended for good.
    pub fn count(&mut self, status: &Status, fault: Option<&Fault>, flaky: bool) {
        let says = evidence(status, fault);
        let outcome = match tables::outcome_of(status.as_str()) {
            // A pass with a fault contradicts itself.
            Outcome::Passed if says != Evidence::For => Outcome::Inconclusive,
            outcome => outcome,
        };
        self.outcomes[outcome.place()] += 1;
        if is_made(status) {
            self.rate.count(says);
        } else {
            self.rate.open += 1;
        }
        self.flaky += u64::from(flaky && *status == Status::Passed);
    }

    /// Notes how many hard checks a repetition carried out. What is not known is not taken for nothing.
    pub fn count_checks(&mut self, status: &Status, fault: Option<&Fault>, checks: Option<u64>) {
        let counts_as_passed = evidence(status, fault) == Evidence::For;
        self.unchecked += u64::from(counts_as_passed && checks == Some(0));
    }

    /// Counts a repetition that has not ended: planned, or under way.
    pub fn count_open(&mut self, over: bool) {
        let outcome = if over { Outcome::Unfinished } else { Outcome::Running };
        self.outcomes[outcome.place()] += 1;
        self.rate.open += 1;
    }

    /// What the repetitions say so far.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How many repetitions passed only after failing.
    pub fn flaky(&self) -> u64 {
        self.flaky
    }

    /// The verdict, where `planned` further repetitions have neither ended nor begun.
    pub fn verdict(&self, pass_rate: Option<PassRate>, planned: u64) -> ExampleVerdict {
        let mut rate = self.rate;
        rate.open += planned;
        let worst = self.worst(planned);
        let outcome = match pass_rate {
            None => worst,
            Some(wanted) => match rate.against(wanted) {
                RateState::Reached if rate.passed == rate.valid => Outcome::Passed,
                RateState::Reached => Outcome::WithinRate,
                RateState::Missed => Outcome::Failed,
                RateState::Open => self.undecided(planned),
            },
        };
        let outcome = match outcome {
            Outcome::Passed if self.flaky > 0 => Outcome::Flaky,
            other => other,
        };
        ExampleVerdict {
            outcome,
            rate,
            state: pass_rate.map(|wanted| rate.against(wanted)),
            unchecked: if self.rests_on_unchecked(rate, pass_rate) { self.unchecked } else { 0 },
        }
    }

    /// Whether a pass needs repetitions that checked nothing. Without a pass rate every repetition must show something; with one, those
    /// that did must reach it alone.
    fn rests_on_unchecked(&self, rate: Rate, pass_rate: Option<PassRate>) -> bool {
        let Some(wanted) = pass_rate else { return self.unchecked > 0 };
        let checked = Rate {
            passed: rate.passed - self.unchecked,
            valid: rate.valid - self.unchecked,
            ..rate
        };
        self.unchecked > 0 && checked.against(wanted) != RateState::Reached
    }

    /// The first outcome of the table that occurred.
    fn worst(&self, planned: u64) -> Outcome {
        let occurs = |outcome: &Outcome| {
            self.outcomes[outcome.place()] > 0 || (*outcome == Outcome::Running && planned > 0)
        };
        Outcome::ALL.into_iter().find(occurs).unwrap_or(Outcome::NotRun)
    }

    /// A rate that is not settled: because of what is still to come, what was left out, or since nothing that ended says anything.
    fn undecided(&self, planned: u64) -> Outcome {
        let waiting = [Outcome::Unfinished, Outcome::Running, Outcome::Cancelled, Outcome::NotRun];
        let occurs = |outcome: &Outcome| self.outcomes[outcome.place()] > 0;
        if planned > 0 && self.outcomes[Outcome::Unfinished.place()] == 0 {
            return Outcome::Running;
        }
        waiting.into_iter().find(occurs).unwrap_or_else(|| match self.worst(planned) {
            // Failures that are excused by a fault, or attempts without a result: nothing was shown.
            Outcome::Pending => Outcome::Pending,
            Outcome::Errored => Outcome::Errored,
            _ => Outcome::Inconclusive,
        })
    }
}

/// The verdict of an example. Only this crate makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExampleVerdict {
    outcome: Outcome,
    rate: Rate,
    state: Option<RateState>,
    unchecked: u64,
}

impl ExampleVerdict {
    /// The verdict from all attempts of an example. In a run that is over, what has not ended never will.
    pub fn of(attempts: &[Observation<'_>], pass_rate: Option<f64>, over: bool) -> Self {
        let mut tally = ExampleTally::default();
        let number = |attempt: &Observation<'_>| attempt.number;
        for made in repetitions(&in_order(attempts, number), number) {
            let Some((last, earlier)) = made.split_last() else { continue };
            match last.status {
                Some(status) if last.is_final || over => {
                    let flaky = last.flaky || failed_before(earlier, last);
                    tally.count(status, last.fault, flaky);
                    tally.count_checks(status, last.fault, last.checks);
                }
                _ => tally.count_open(over),
            }
        }
        tally.verdict(pass_rate.and_then(PassRate::new), 0)
    }

    /// What became of the example.
    pub fn outcome(self) -> Outcome {
        self.outcome
    }

    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        self.outcome.word()
    }

    /// What its repetitions say.
    pub fn rate(self) -> Rate {
        self.rate
    }

    /// Where the pass rate that it demands of itself stands; `None` where it demands none.
    pub fn rate_state(self) -> Option<RateState> {
        self.state
    }

    /// Whether it passed and would not have without repetitions in which no hard check was carried out.
    pub fn is_unchecked(self) -> bool {
        self.unchecked > 0 && self.is_passed()
    }

    /// The same in words; `None` for an example that is not unchecked.
    pub fn unchecked_phrase(self) -> Option<String> {
        let phrase = "passed without checking anything";
        self.is_unchecked().then(|| match self.unchecked_part() {
            Some(part) => format!("{phrase} {part}"),
            None => phrase.to_owned(),
        })
    }

    /// In how many of its passed repetitions an unchecked example checked nothing, in words; `None` where it is all of them.
    pub fn unchecked_part(self) -> Option<String> {
        let (unchecked, passed) = (self.unchecked, self.rate.passed);
        let is_part = self.is_unchecked() && unchecked < passed;
        is_part.then(|| format!("in {unchecked} of {passed} passed repetitions"))
    }

    /// Whether it has passed, perhaps after retries, or as often as it must.
    pub fn is_passed(self) -> bool {
        self.outcome.counted_as() == "passed"
    }

    /// Whether there is a verdict: nothing that is still to come can change it.
    pub fn is_decided(self) -> bool {
        self.outcome.standing() != Standing::Open
    }

    /// Whether the example counts as a failure of the run.
    pub fn is_failure(self, policy: Policy) -> bool {
        match self.outcome.standing() {
            Standing::Bad => true,
            Standing::BadUnlessTolerated => policy.inconclusive_fails,
            Standing::Good | Standing::GoodUnlessRefused => self.refusal(policy).is_some(),
            Standing::Open | Standing::Missing => false,
        }
    }

    /// Why an example that passed fails the run all the same; `None` where it does not.
    pub fn refusal(self, policy: Policy) -> Option<String> {
        let is_flaky = self.outcome.standing() == Standing::GoodUnlessRefused;
        let flaky =
            (is_flaky && policy.flaky_fails).then(|| "passed only after failing".to_owned());
        let unchecked = self.unchecked_phrase().filter(|_| policy.unchecked_fails);
        let reasons: Vec<String> = flaky.into_iter().chain(unchecked).collect();
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }

    /// Whether it is to run again where only what has not passed is asked for (`--only-failures`).
    pub fn is_to_be_repeated(self, policy: Policy) -> bool {
        match self.outcome.standing() {
            Standing::Bad | Standing::BadUnlessTolerated | Standing::Missing | Standing::Open => {
                true
            }
            Standing::Good | Standing::GoodUnlessRefused => self.is_failure(policy),
        }
    }

    /// Whether the example gave no result although it was to run.
    pub fn is_missing(self) -> bool {
        self.outcome.standing() == Standing::Missing
    }
}

impl JsonSchema for ExampleVerdict {
    fn schema_name() -> Cow<'static, str> {
        "ExampleVerdict".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Outcome::ALL.iter().map(|outcome| outcome.word()).collect();
        json_schema!({"type": "string", "enum": words})
    }

    fn inline_schema() -> bool {
        true
    }
}

impl Serialize for ExampleVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Whether an earlier attempt at the same repetition did not end well.
fn failed_before(earlier: &[&Observation<'_>], last: &Observation<'_>) -> bool {
    earlier.iter().any(|earlier| {
        last.number.replaces(earlier.number)
            && earlier.status.is_some_and(|status| !is_success(status))
    })
}

/// Puts the attempt that tells most about a verdict first: evidence against what was tested, then what broke, then the rest.
pub fn worst_first(status: Option<&Status>, fault: Option<&Fault>) -> u8 {
    let Some(status) = status else { return 2 };
    match (evidence(status, fault), tables::outcome_of(status.as_str()).standing()) {
        (Evidence::Against, _) => 0,
        (_, Standing::Bad) => 1,
        (_, Standing::BadUnlessTolerated) => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests;
