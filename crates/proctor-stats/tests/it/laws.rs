//! Laws that hold for every input.

use proctor_stats::{
    Z95, benjamini_hochberg, fisher_exact, mcnemar_exact, mean_interval, newcombe, pass_at_k,
    pass_hat_k, ratio_interval, repeats_to_tell, wilson,
};
use proptest::prelude::*;

fn counts() -> impl Strategy<Value = (u64, u64)> {
    (0_u32..60).prop_flat_map(|n| (0..=n, Just(n))).prop_map(|(c, n)| (c.into(), n.into()))
}

proptest! {
    #[test]
    fn a_wilson_interval_holds_the_rate_and_stays_within_0_and_1((c, n) in counts()) {
        let interval = wilson(c, n, Z95);
        prop_assert!(0.0 <= interval.low && interval.low <= interval.high && interval.high <= 1.0);
        if let Some(rate) = pass_hat_k(n, c, 1) {
            prop_assert!(interval.low <= rate + 1e-12 && rate <= interval.high + 1e-12);
            prop_assert!(interval.high - interval.low > 0.0);
        }
    }

    #[test]
    fn exchanging_the_sides_mirrors_a_difference(a in counts(), b in counts()) {
        let one = newcombe(a, b, Z95);
        let other = newcombe(b, a, Z95);
        prop_assert!((one.estimate + other.estimate).abs() < 1e-12);
        prop_assert!((one.interval.low + other.interval.high).abs() < 1e-12);
        prop_assert!(one.interval.low <= one.estimate && one.estimate <= one.interval.high);
    }

    #[test]
    fn fisher_is_a_probability_and_does_not_care_for_sides(a in counts(), b in counts()) {
        let p = fisher_exact(a, b);
        prop_assert!((0.0..=1.0).contains(&p));
        prop_assert!((p - fisher_exact(b, a)).abs() < 1e-9);
        let failures = |(c, n): (u64, u64)| (n - c, n);
        prop_assert!((p - fisher_exact(failures(a), failures(b))).abs() < 1e-9);
    }

    #[test]
    fn mcnemar_does_not_care_for_sides(b in 0_u64..200, c in 0_u64..200) {
        prop_assert_eq!(mcnemar_exact(b, c).to_bits(), mcnemar_exact(c, b).to_bits());
    }

    #[test]
    fn adjusting_never_lowers_a_p_value_and_keeps_their_order(
        values in prop::collection::vec(0.0..=1.0_f64, 0..40)
    ) {
        let adjusted = benjamini_hochberg(&values);
        for (index, p) in values.iter().enumerate() {
            prop_assert!(adjusted[index] >= *p - 1e-12 && adjusted[index] <= 1.0);
            for (other, q) in values.iter().enumerate() {
                prop_assert!(p > q || adjusted[index] <= adjusted[other] + 1e-12);
            }
        }
    }

    #[test]
    fn one_of_k_is_likelier_than_all_of_k((c, n) in counts(), k in 1_u64..10) {
        match (pass_at_k(n, c, k), pass_hat_k(n, c, k)) {
            (Some(any), Some(all)) => {
                prop_assert!((-1e-9..=1.0).contains(&all) && all <= any + 1e-9 && any <= 1.0);
                if k == 1 {
                    prop_assert!((any - all).abs() < 1e-9);
                }
            }
            (None, None) => prop_assert!(k > n),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn a_mean_lies_within_its_interval(values in prop::collection::vec(-1e3..1e3_f64, 2..40)) {
        let mean = mean_interval(&values, 0.95).unwrap();
        prop_assert_eq!(proctor_stats::mean(values.iter().copied()), Some(mean.mean));
        let interval = mean.interval.unwrap();
        prop_assert!(interval.low <= mean.mean && mean.mean <= interval.high);
    }

    #[test]
    fn fewer_repeats_tell_a_larger_gap(base in 0.0..1.0_f64, gap in 0.05..0.5_f64) {
        let near = repeats_to_tell(base, (base + gap / 2.0).min(1.0));
        let far = repeats_to_tell(base, (base + gap).min(1.0));
        if base + gap <= 1.0 {
            prop_assert!(far.unwrap() <= near.unwrap());
        }
    }
}

#[test]
fn nothing_is_known_without_attempts() {
    let interval = wilson(0, 0, Z95);
    assert!(interval.low <= 0.0 && interval.high >= 1.0);
    assert!((fisher_exact((0, 0), (3, 5)) - 1.0).abs() < 1e-12);
    assert!((mcnemar_exact(0, 0) - 1.0).abs() < 1e-12);
    assert_eq!(pass_at_k(0, 0, 1), None);
    assert!(
        proctor_stats::mean([]).is_none()
            && mean_interval(&[], 0.95).is_none()
            && ratio_interval(&[], 0.95).is_none()
    );
    assert_eq!(repeats_to_tell(0.5, 0.5), None);
}

#[test]
fn a_single_value_has_a_mean_and_no_interval() {
    let mean = mean_interval(&[3.0], 0.95).unwrap();
    assert!((mean.mean - 3.0).abs() < 1e-12 && mean.interval.is_none());
}

#[test]
fn ratios_leave_out_what_has_no_logarithm() {
    let ratio = ratio_interval(&[(1.0, 2.0), (0.0, 5.0), (2.0, 4.0), (3.0, -1.0)], 0.95).unwrap();
    assert_eq!(ratio.n, 2);
    assert!((ratio.ratio - 2.0).abs() < 1e-9);
}

#[test]
fn one_attempt_a_side_can_never_be_significant() {
    assert!(fisher_exact((1, 1), (0, 1)) > 0.99);
    assert!(fisher_exact((4, 4), (0, 4)) < 0.05);
}
