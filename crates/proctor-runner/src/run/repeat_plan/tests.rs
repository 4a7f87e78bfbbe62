use proptest::prelude::*;

use super::*;

fn past(outcomes: &str) -> Vec<PastOutcome> {
    outcomes.chars().map(|one| PastOutcome { passed: one == '+', may_vary: true }).collect()
}

fn against(baseline: &str) -> SampledExample {
    SampledExample { baseline: past(baseline), title: baseline.to_owned(), pass_rate: None }
}

fn rated(rate: f64) -> SampledExample {
    SampledExample { pass_rate: Some(rate), title: "rated".to_owned(), baseline: Vec::new() }
}

fn fixed(baseline: &str) -> SampledExample {
    let baseline = past(baseline).into_iter().map(|one| PastOutcome { may_vary: false, ..one });
    SampledExample { baseline: baseline.collect(), ..SampledExample::default() }
}

/// Plays all rounds; `now` says what each repetition of each example does (`+`, `-`, `?` for nothing said, `0` for not made), its last
/// sign over and over. Returns how often each was run.
fn play(planner: &mut RepeatPlanner, now: &[&str], workers: u32) -> Vec<u32> {
    let mut made = vec![0; now.len()];
    loop {
        let round = planner.next_round(workers);
        if round.is_empty() {
            return made;
        }
        for (example, repeat) in round {
            made[example] += 1;
            assert_eq!(made[example], repeat, "repetitions are numbered without gaps");
            let sign = now[example].chars().nth(repeat as usize - 1);
            let came_to = match sign.or_else(|| now[example].chars().last()) {
                Some('+') => Repetition::Counts(true),
                Some('-') => Repetition::Counts(false),
                Some('?') => Repetition::SaysNothing,
                _ => Repetition::NotMade,
            };
            planner.record(example, repeat, came_to);
        }
    }
}

fn repeats(examples: &[SampledExample], now: &[&str]) -> (Vec<u32>, RepeatReport) {
    let mut planner = RepeatPlanner::new(20, examples.to_vec());
    let made = play(&mut planner, now, 1);
    (made, planner.report())
}

const ALL: &str = "++++++++++++++++++++";

#[test]
fn who_has_no_question_is_run_once() {
    let planner = RepeatPlanner::new(20, vec![SampledExample::default()]);
    assert!(!planner.has_questions() && planner.limit_of(0) == 1);
    let (made, report) = repeats(&[SampledExample::default(), against(ALL)], &["-", "+"]);
    assert_eq!(made, [1, 3]);
    assert_eq!(
        report.to_string(),
        "repeats: 1 example × 1, 1 example × 3\n\
         baseline: no change seen (0 pairs worse, 0 better), no change seen in 1"
    );
}

#[test]
fn an_example_that_always_fails_now_is_shown_and_named() {
    let examples = vec![against(ALL), against(ALL), against(ALL)];
    let (made, report) = repeats(&examples, &["-", "+", "+"]);
    // Three examples: the first needs an e-value of 200, which eleven pairs give.
    assert_eq!(made[0], 11);
    assert_eq!(report.worse, [ALL]);
    assert!(report.suite.is_some_and(|suite| suite.is_worse));
    assert!(made[1] <= 8, "the others helped until the suite was known to be worse: {made:?}");
}

#[test]
fn what_varies_as_before_is_given_up_when_it_cannot_be_shown_any_more() {
    let before = "+-++-+++-++-+-+++-++";
    let (made, report) = repeats(&[against(before)], &["-+++-+-+++-+++-++-+-"]);
    assert!((4..20).contains(&made[0]), "{made:?}");
    assert!(report.worse.is_empty());
    assert_eq!(report.not_shown, 1);
}

#[test]
fn without_a_model_one_pair_that_agrees_is_enough() {
    let examples = [fixed("+++++"), fixed("+++++"), fixed("+++++"), fixed("+"), fixed("-----")];
    let (made, report) = repeats(&examples, &["+", "-", "-+", "-", "-"]);
    assert_eq!(made, [1, 3, 2, 1, 1]);
    assert_eq!((report.worse.len(), report.not_shown, report.alike), (2, 1, 2));
}

#[test]
fn without_a_model_what_is_better_is_looked_at_three_times_and_what_varies_no_more() {
    let (made, report) = repeats(&[fixed("-----"), fixed("+-+++")], &["+", "-++++"]);
    assert_eq!(made, [3, 2]);
    assert_eq!((report.worse.len(), report.not_shown), (0, 2));
}

#[test]
fn a_baseline_that_is_used_up_ends_the_comparison() {
    assert_eq!(repeats(&[against("++")], &["-"]).0, [2]);
    assert_eq!(repeats(&[against("+")], &["-"]).0, [1]);
}

#[test]
fn what_is_not_run_or_says_nothing_is_left_alone() {
    let examples = [against(ALL), against(ALL), rated(0.8), rated(0.8)];
    let (made, report) = repeats(&examples, &["0", "?", "?", "+0"]);
    assert_eq!(made, [1, 3, 3, 2]);
    assert_eq!(report.rates.open.len(), 2);
}

#[test]
fn attempts_that_say_nothing_are_not_paired() {
    let mut planner = RepeatPlanner::new(20, vec![against("-+")]);
    planner.record(0, 1, Repetition::SaysNothing);
    planner.record(0, 2, Repetition::Counts(false));
    planner.record(0, 3, Repetition::Counts(true));
    assert_eq!(planner.evidence().all, Pairs { worse: 0, better: 0, alike: 2 });
}

#[test]
fn a_pass_rate_is_repeated_until_it_is_shown_or_cannot_be() {
    let (made, report) = repeats(&[rated(0.5)], &["+"]);
    // Six passes give 127/7, which is below 20, and seven 255/8.
    assert_eq!((made[0], report.rates.reached), (7, 1));
    let (made, report) = repeats(&[rated(0.8)], &["-"]);
    assert_eq!((made[0], report.rates.missed), (3, 1));
    let (made, report) = repeats(&[rated(0.8)], &["++++-"]);
    assert!(made[0] < 20 && report.rates.missed == 1, "{made:?}");
    let (made, report) = repeats(&[rated(0.8)], &["++++-++++-++++-++++-"]);
    // After 16 of 19 the share is at least 80 % whatever the last one does, and no e-value can be reached.
    assert_eq!(made, [19]);
    assert_eq!(
        report.to_string(),
        "repeats: 1 example × 19\npass rates: still open within the limit of 20 in 1 (rated)"
    );
}

#[test]
fn rates_at_the_ends() {
    let (made, report) = repeats(&[rated(1.0), rated(1.0), rated(0.0)], &["+", "++-", "-"]);
    assert_eq!(made, [20, 3, 1]);
    let rates = report.rates;
    assert_eq!((rates.reached, rates.missed, rates.open.len()), (1, 1, 1));
}

#[test]
fn a_rate_of_zero_is_reached_by_the_first_result_that_counts() {
    let (made, report) = repeats(&[rated(0.0), rated(0.0)], &["?", "?-"]);
    assert_eq!(made, [3, 2]);
    assert_eq!((report.rates.reached, report.rates.open.len()), (1, 1));
}

#[test]
fn few_open_examples_share_the_workers() {
    let mut planner = RepeatPlanner::new(20, vec![rated(0.8), SampledExample::default()]);
    assert_eq!(planner.next_round(8), [(0, 1), (1, 1)]);
    planner.record(0, 1, Repetition::Counts(true));
    planner.record(1, 1, Repetition::Counts(true));
    assert_eq!(planner.next_round(8), [(0, 2), (0, 3)]);
    assert_eq!(planner.next_round(1), [(0, 2)]);
}

#[test]
fn a_long_list_of_repeats_is_told_as_a_range() {
    let four = RepeatReport {
        limit: 20,
        examples_by_repeats: [(1, 2), (3, 4), (5, 1), (7, 1)].into(),
        ..RepeatReport::default()
    };
    assert_eq!(
        four.to_string(),
        "repeats: 2 examples × 1, 4 examples × 3, 1 example × 5, 1 example × 7"
    );
    let report = RepeatReport {
        limit: 20,
        examples_by_repeats: [(1, 2), (3, 4), (5, 1), (7, 1), (9, 2)].into(),
        ..RepeatReport::default()
    };
    assert_eq!(report.to_string(), "repeats: 10 examples × 1 to 9, 44 in all");
}

fn outcomes() -> impl Strategy<Value = Vec<PastOutcome>> {
    let one = (any::<bool>(), prop::bool::weighted(0.8));
    let one = one.prop_map(|(passed, may_vary)| PastOutcome { passed, may_vary });
    prop::collection::vec(one, 0..12)
}

fn example() -> impl Strategy<Value = SampledExample> {
    let rate = prop::option::of(prop::sample::select(vec![0.0, 0.5, 0.8, 0.95, 1.0]));
    (outcomes(), rate).prop_map(|(baseline, pass_rate)| SampledExample {
        title: "example".to_owned(),
        pass_rate,
        baseline,
    })
}

fn repetition() -> impl Strategy<Value = Repetition> {
    prop_oneof![
        6 => any::<bool>().prop_map(Repetition::Counts),
        1 => Just(Repetition::SaysNothing),
        1 => prop::bool::weighted(0.2).prop_map(|not_made| if not_made { Repetition::NotMade } else { Repetition::SaysNothing }),
    ]
}

/// The same example with other outcomes wherever its baseline is not paired yet.
fn with_other_future(planner: &RepeatPlanner) -> RepeatPlanner {
    let mut other = planner.clone();
    for sampled in &mut other.examples {
        let paired = sampled.outcomes().count();
        for past in sampled.about.baseline.iter_mut().skip(paired.max(1)) {
            *past = PastOutcome { passed: !past.passed, may_vary: !past.may_vary };
        }
    }
    other
}

proptest! {
    #[test]
    fn every_plan_ends_within_its_limits_and_looks_at_no_future(
        examples in prop::collection::vec(example(), 0..8),
        results in prop::collection::vec(prop::collection::vec(repetition(), 12), 8),
        limit in 1_u32..12,
        workers in 1_u32..9,
    ) {
        let mut planner = RepeatPlanner::new(limit, examples);
        let mut made = vec![0_u32; planner.examples.len()];
        // An example that was left alone goes on when the suite leans, so there may be more rounds than the limit.
        for _ in 0..limit * 8 {
            let round = planner.next_round(workers);
            prop_assert_eq!(&round, &with_other_future(&planner).next_round(workers));
            for (example, repeat) in round {
                made[example] += 1;
                prop_assert_eq!(made[example], repeat);
                prop_assert!(repeat <= planner.limit_of(example));
                planner.record(example, repeat, results[example][repeat as usize - 1]);
            }
        }
        prop_assert!(planner.next_round(workers).is_empty());
        prop_assert!(made.iter().all(|count| *count >= 1));
        let evidence = planner.evidence();
        for (place, sampled) in planner.examples.iter().enumerate() {
            let question = sampled.rate_question(limit);
            let can_go_on = made[place] < limit && !sampled.is_silent();
            prop_assert!(!can_go_on || question != Some(RateQuestion::Open));
            prop_assert!(!can_go_on || sampled.pairs_left() == 0 || !planner.may_be_worse(place, &evidence));
            let share = sampled.outcomes().filter(|passed| *passed).count() as u64;
            let valid = sampled.outcomes().count() as u64;
            match (question, sampled.wanted) {
                (Some(RateQuestion::Reached), Some(wanted)) => prop_assert!(wanted.is_reached_by(share, valid)),
                (Some(RateQuestion::Missed), Some(wanted)) => prop_assert!(!wanted.is_reached_by(share, valid)),
                _ => {}
            }
        }
    }
}
