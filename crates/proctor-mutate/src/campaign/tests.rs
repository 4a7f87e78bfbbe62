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
    let fresh = any::<bool>();
    (0..PLACES, examples, prop::collection::btree_set(0..EXAMPLES, 0..4), fresh).prop_map(
        |(place, examples, noticed_by, fresh)| Truth {
            candidate: Candidate {
                place,
                file: 0,
                mode: if fresh { Mode::Fresh } else { Mode::Fork },
                examples: examples.into_iter().collect(),
            },
            noticed_by,
            reach: Reach::Everywhere,
        },
    )
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
    };
    match (truth.reach, trial.mode) {
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
            let first = truth.candidate.examples.iter().find(|it| truth.noticed_by.contains(it));
            let verdict = campaign.verdict(mutant);
            match (truth.reach, first) {
                (Reach::Nowhere, _) => {
                    let is_unknown = matches!(verdict, Some(MutantVerdict::Unknown { .. }));
                    prop_assert!(is_unknown, "{verdict:?}");
                }
                (_, None) => prop_assert_eq!(verdict, Some(&MutantVerdict::Alive)),
                (_, Some(first)) => {
                    let is_its = matches!(verdict, Some(MutantVerdict::Killed { example: Some(by), .. }) if by == first);
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
    let candidate = Candidate { place: 0, file: 0, mode: Mode::Fork, examples: vec![0] };
    let mut campaign = Campaign::new(vec![candidate]);
    for _ in 0..2 {
        let trial = campaign.next_trial().unwrap();
        campaign.record(&trial, Observation::Broke("no process".to_owned()));
    }
    let reason = "could not be run: no process".to_owned();
    assert_eq!(campaign.verdict(0), Some(&MutantVerdict::Unknown { reason }));
}

fn noticed() -> Observation {
    let message = "expected 1".to_owned();
    Observation::Noticed { by: KilledBy::Failure, at: Some(0), message }
}

/// A second mutant that one example notices only once puts the first one's verdict back into question.
#[test]
fn an_example_that_wavers_must_notice_again_and_again() {
    let candidate = |place| Candidate { place, file: 0, mode: Mode::Fork, examples: vec![0] };
    let mut campaign = Campaign::new(vec![candidate(0), candidate(1)]);
    let mut confirmations = BTreeMap::new();
    while let Some(trial) = campaign.next_trial() {
        let seen = match &trial.purpose {
            Purpose::Control(_) => Observation::Passed,
            Purpose::Mutant => noticed(),
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
    let candidate = Candidate { place: 0, file: 0, mode: Mode::Fork, examples: vec![0] };
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
