use proptest::prelude::*;

use super::*;

/// What is true of a mutant, which trials show only in part.
#[derive(Debug, Clone)]
struct Truth {
    candidate: Candidate,
    /// The examples that fail with it.
    noticed_by: BTreeSet<usize>,
    /// Whether it cannot be put into force in a fork, or not at all.
    reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Everywhere,
    /// In a fork the old code stays in force.
    FreshOnly,
    /// In a fork, evaluating the unchanged method again breaks every example.
    BreaksInFork,
    Nowhere,
}

/// How many mutants, places and examples a world has.
const EXAMPLES: usize = 5;
const PLACES: usize = 3;

fn any_truth() -> impl Strategy<Value = Truth> {
    let examples = prop::collection::btree_set(0..EXAMPLES, 1..4);
    let likely = prop::collection::btree_set(0..EXAMPLES, 0..3);
    let fresh = any::<bool>();
    (0..PLACES, examples, likely, prop::collection::btree_set(0..EXAMPLES, 0..4), fresh).prop_map(
        |(place, examples, likely, noticed_by, fresh)| {
            let mode = if fresh { Mode::Fresh } else { Mode::Fork };
            let mut candidate = candidate(place, mode, examples.iter().copied().collect());
            candidate.likely = likely.intersection(&examples).copied().collect();
            Truth { candidate, noticed_by, reach: Reach::Everywhere }
        },
    )
}

fn candidate(place: usize, mode: Mode, examples: Vec<usize>) -> Candidate {
    Candidate { place, file: 0, mode, examples, likely: Vec::new() }
}

fn any_reach() -> impl Strategy<Value = Reach> {
    prop_oneof![
        4 => Just(Reach::Everywhere),
        1 => Just(Reach::FreshOnly),
        1 => Just(Reach::BreaksInFork),
        1 => Just(Reach::Nowhere),
    ]
}

/// Runs a trial in the world. `coin` decides whether a flaky example fails.
fn observe(
    truths: &[Truth],
    flaky: &BTreeSet<usize>,
    trial: &Trial,
    coin: &mut impl FnMut() -> bool,
) -> Observation {
    let truth = &truths[trial.mutant];
    let failed = |at: usize| Observation::Noticed {
        by: KilledBy::Failure,
        at: Some(at),
        message: String::new(),
        again: false,
    };
    match (truth.reach, trial.mode) {
        _ if trial.is_plain() => {}
        (Reach::Nowhere, _) | (Reach::FreshOnly, Mode::Fork) => {
            return Observation::NotInForce("old code".to_owned());
        }
        (Reach::BreaksInFork, Mode::Fork) => return failed(0),
        _ => {}
    }
    for (at, example) in trial.examples.iter().enumerate() {
        let noticed = !trial.is_control() && truth.noticed_by.contains(example);
        if noticed || (flaky.contains(example) && coin()) {
            return failed(at);
        }
    }
    Observation::Passed
}

/// Plays a campaign to its end with up to `slots` trials at once, which end in an order that `choices` picks.
fn play(
    truths: &[Truth],
    flaky: &BTreeSet<usize>,
    slots: usize,
    choices: &[u8],
) -> Result<Campaign, TestCaseError> {
    let mut campaign = Campaign::new(truths.iter().map(|it| it.candidate.clone()).collect());
    let mut running: Vec<Trial> = Vec::new();
    let mut step = 0;
    let mut pick = || {
        step += 1;
        choices[step % choices.len()].wrapping_add(u8::try_from(step % 251).unwrap_or_default())
    };
    for _ in 0..5000 {
        while running.len() < slots
            && let Some(trial) = campaign.next_trial()
        {
            running.push(trial);
        }
        if running.is_empty() {
            break;
        }
        let trial = running.swap_remove(usize::from(pick()) % running.len());
        let seen = observe(truths, flaky, &trial, &mut || pick() % 3 == 0);
        campaign.record(&trial, seen);
    }
    prop_assert!(campaign.is_over(), "it does not end: {:?}", campaign);
    Ok(campaign)
}

proptest! {
    #[test]
    fn without_flaky_examples_every_verdict_is_the_truth(
        truths in prop::collection::vec(any_truth(), 1..12),
        reaches in prop::collection::vec(any_reach(), PLACES),
        slots in 1..4_usize,
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let truths: Vec<Truth> = truths
            .into_iter()
            .map(|truth| Truth { reach: reaches[truth.candidate.place], ..truth })
            .collect();
        let campaign = play(&truths, &BTreeSet::new(), slots, &choices)?;
        prop_assert!(campaign.distrusted().is_empty());
        for (mutant, truth) in truths.iter().enumerate() {
            let noticing = |list: &[usize]| list.iter().copied().find(|it| truth.noticed_by.contains(it));
            // Those that are likely are tried first where the suite is loaded anew.
            let likely = noticing(&truth.candidate.likely).filter(|_| campaign.mode(mutant) == Mode::Fresh);
            let first = likely.or_else(|| noticing(&truth.candidate.examples));
            let verdict = campaign.verdict(mutant);
            match (truth.reach, first) {
                (Reach::Nowhere, _) => {
                    let is_unknown = matches!(verdict, Some(MutantVerdict::Unknown { .. }));
                    prop_assert!(is_unknown, "{verdict:?}");
                }
                (_, None) => prop_assert_eq!(verdict, Some(&MutantVerdict::Alive)),
                (_, Some(first)) => {
                    let is_its = matches!(verdict, Some(MutantVerdict::Killed { example: Some(by), .. }) if *by == first);
                    prop_assert!(is_its, "{verdict:?} {truth:?}");
                }
            }
        }
    }

    #[test]
    fn with_flaky_examples_it_ends_and_no_distrusted_example_has_killed(
        truths in prop::collection::vec(any_truth(), 1..12),
        flaky in prop::collection::btree_set(0..EXAMPLES, 1..3),
        slots in 1..4_usize,
        choices in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        let campaign = play(&truths, &flaky, slots, &choices)?;
        for (mutant, truth) in truths.iter().enumerate() {
            if let Some(MutantVerdict::Killed { example: Some(by), .. }) = campaign.verdict(mutant) {
                prop_assert!(!campaign.distrusted().contains(by));
                prop_assert!(truth.noticed_by.contains(by) || flaky.contains(by));
            }
            if campaign.verdict(mutant) == Some(&MutantVerdict::Alive) {
                let steady = truth.noticed_by.iter().any(|it| truth.candidate.examples.contains(it));
                prop_assert!(!steady, "{truth:?}");
            }
        }
    }
}

#[test]
fn a_run_that_breaks_twice_is_unknown() {
    let mut campaign = Campaign::new(vec![candidate(0, Mode::Fork, vec![0])]);
    for _ in 0..2 {
        let trial = campaign.next_trial().unwrap();
        campaign.record(&trial, Observation::Broke("no process".to_owned()));
    }
    let reason = "could not be run: no process".to_owned();
    assert_eq!(campaign.verdict(0), Some(&MutantVerdict::Unknown { reason }));
}

fn noticed() -> Observation {
    let message = "expected 1".to_owned();
    Observation::Noticed { by: KilledBy::Failure, at: Some(0), message, again: false }
}

/// A second mutant that one example notices only once puts the first one's verdict back into question.
#[test]
fn an_example_that_wavers_must_notice_again_and_again() {
    let candidates = [0, 1].map(|place| candidate(place, Mode::Fork, vec![0]));
    let mut campaign = Campaign::new(candidates.to_vec());
    let mut confirmations = BTreeMap::new();
    while let Some(trial) = campaign.next_trial() {
        let seen = match &trial.purpose {
            Purpose::Control(_) | Purpose::Plain => Observation::Passed,
            Purpose::Mutant | Purpose::Alone(_) => noticed(),
            Purpose::Confirmation => {
                *confirmations.entry(trial.mutant).or_insert(0) += 1;
                if trial.mutant == 1 { Observation::Passed } else { noticed() }
            }
        };
        campaign.record(&trial, seen);
    }
    assert!(campaign.is_over());
    assert!(matches!(campaign.verdict(0), Some(MutantVerdict::Killed { .. })));
    assert!(matches!(campaign.verdict(1), Some(MutantVerdict::Unknown { .. })));
    let needed = CONFIRMATIONS_OF_A_WAVERING_EXAMPLE;
    assert_eq!(confirmations, BTreeMap::from([(0, needed), (1, 1)]));
}

#[test]
fn what_is_noticed_once_and_not_again_is_not_killed() {
    let candidate = candidate(0, Mode::Fork, vec![0]);
    for (again, verdict) in [
        (Observation::Passed, "noticed once and not a second time: expected 1"),
        (noticed(), "killed"),
    ] {
        let mut campaign = Campaign::new(vec![candidate.clone()]);
        let first = campaign.next_trial().unwrap();
        campaign.record(&first, noticed());
        for _ in 0..CONTROLS_OF_AN_EXAMPLE {
            let control = campaign.next_trial().unwrap();
            assert!(control.is_control() && campaign.verdict(0).is_none());
            campaign.record(&control, Observation::Passed);
        }
        let confirmation = campaign.next_trial().unwrap();
        assert!(!confirmation.is_control() && campaign.verdict(0).is_none());
        campaign.record(&confirmation, again);
        match campaign.verdict(0) {
            Some(MutantVerdict::Unknown { reason }) => assert_eq!(reason, verdict),
            Some(MutantVerdict::Killed { .. }) => assert_eq!(verdict, "killed"),
            other => panic!("{other:?}"),
        }
    }
}

/// Notices of an example behind others: alone it is run once more, and its control is that of the example alone.
#[test]
fn an_example_behind_others_is_run_alone_and_shares_its_controls() {
    let mutants = [0, 0].map(|place| candidate(place, Mode::Fork, vec![0, 1, 2]));
    let mut campaign = Campaign::new(mutants.to_vec());
    let mut runs = Vec::new();
    while let Some(trial) = campaign.next_trial() {
        let at = trial.examples.iter().position(|it| *it == 2).filter(|_| !trial.is_control());
        let seen = match at {
            Some(at) => {
                let message = String::new();
                Observation::Noticed { by: KilledBy::Failure, at: Some(at), message, again: false }
            }
            None => Observation::Passed,
        };
        runs.push((trial.is_control(), trial.examples.clone()));
        campaign.record(&trial, seen);
    }
    assert!((0..2).all(|it| matches!(campaign.verdict(it), Some(MutantVerdict::Killed { .. }))));
    let controls: Vec<_> = runs.iter().filter(|(is_control, _)| *is_control).collect();
    assert_eq!(controls, vec![&(true, vec![2]); CONTROLS_OF_AN_EXAMPLE as usize]);
    assert_eq!(runs.len(), 2 + 2 + controls.len(), "{runs:?}");
}

/// An example that notices a mutant only after others is tried with them.
#[test]
fn what_only_happens_after_other_examples_is_confirmed_with_them() {
    let mut campaign = Campaign::new(vec![candidate(0, Mode::Fork, vec![0, 1])]);
    let mut confirmed = 0;
    while let Some(trial) = campaign.next_trial() {
        let is_crowded = trial.examples == [0, 1] && !trial.is_control();
        confirmed += usize::from(trial.purpose == Purpose::Confirmation);
        let message = String::new();
        let seen = if is_crowded {
            Observation::Noticed { by: KilledBy::Failure, at: Some(1), message, again: false }
        } else {
            Observation::Passed
        };
        campaign.record(&trial, seen);
    }
    assert_eq!(confirmed, 1);
    assert!(matches!(campaign.verdict(0), Some(MutantVerdict::Killed { example: Some(1), .. })));
}

/// Where the suite is loaded anew, an example that is not likely to look may still be the one that notices.
#[test]
fn what_no_likely_example_notices_is_tried_with_all() {
    let likely = Candidate { likely: vec![1], ..candidate(0, Mode::Fresh, vec![0, 1, 2]) };
    let mut campaign = Campaign::new(vec![likely]);
    let first = campaign.next_trial().unwrap();
    assert_eq!((first.extent, &first.examples[..]), (Extent::Needed, &[1][..]));
    campaign.record(&first, Observation::Passed);
    assert_eq!(campaign.verdict(0), None);
    let second = campaign.next_trial().unwrap();
    assert_eq!((second.extent, &second.examples[..]), (Extent::Whole, &[0, 1, 2][..]));
    campaign.record(&second, Observation::Passed);
    assert_eq!(campaign.verdict(0), Some(&MutantVerdict::Alive));
}

/// Loads are dear: the suite is loaded once with the unchanged file, and the example runs once more in the loaded suite.
#[test]
fn a_control_of_a_loaded_suite_is_loaded_once() {
    let mut campaign = Campaign::new(vec![candidate(0, Mode::Fresh, vec![0])]);
    let mut runs = Vec::new();
    while let Some(trial) = campaign.next_trial() {
        runs.push((trial.mode, trial.is_control(), trial.is_plain()));
        let seen = if trial.is_control() { Observation::Passed } else { noticed() };
        campaign.record(&trial, seen);
    }
    assert!(matches!(campaign.verdict(0), Some(MutantVerdict::Killed { .. })));
    let controls: Vec<_> = runs.iter().filter(|(_, is_control, _)| *is_control).collect();
    assert_eq!(controls, [&(Mode::Fresh, true, false), &(Mode::Fork, true, true)]);
}

/// An example that fails in the loaded suite with nothing changed has noticed no mutant.
#[test]
fn an_example_that_fails_in_the_loaded_suite_is_not_trusted() {
    let mut campaign = Campaign::new(vec![candidate(0, Mode::Fresh, vec![0])]);
    while let Some(trial) = campaign.next_trial() {
        let is_control = trial.is_control() && !trial.is_plain();
        campaign.record(&trial, if is_control { Observation::Passed } else { noticed() });
    }
    assert_eq!(campaign.distrusted(), &BTreeSet::from([0]));
    assert!(matches!(campaign.verdict(0), Some(MutantVerdict::Unknown { .. })));
}
