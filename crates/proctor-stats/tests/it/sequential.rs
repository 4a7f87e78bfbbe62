//! E-values: their values by numeric integration, and that they hold at every stopping time by simulation.

use proctor_stats::{
    discordant_e_value, e_benjamini_hochberg, rate_e_value_above, rate_e_value_below,
};
use proptest::prelude::*;

/// The defining integral by Simpson's rule: the mean likelihood ratio of rates in `low..high` to `rate`.
fn integrated(passes: u32, failures: u32, rate: f64, (low, high): (f64, f64)) -> f64 {
    const STEPS: u32 = 4000;
    let power = |base: f64, times: u32| if times == 0 { 0.0 } else { f64::from(times) * base.ln() };
    let ratio = |theta: f64| {
        (power(theta / rate, passes) + power((1.0 - theta) / (1.0 - rate), failures)).exp()
    };
    let width = (high - low) / f64::from(STEPS);
    let weighted = (0..=STEPS).map(|step| {
        let weight = match step {
            0 | STEPS => 1.0,
            odd if odd % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * ratio(low + width * f64::from(step))
    });
    weighted.sum::<f64>() * width / 3.0 / (high - low)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-7 * expected.max(1.0)
}

proptest! {
    #[test]
    fn the_sum_is_the_integral(passes in 0_u32..80, failures in 0_u32..80, rate in 0.05..0.95_f64) {
        let (s, f) = (u64::from(passes), u64::from(failures));
        let above = integrated(passes, failures, rate, (rate, 1.0));
        prop_assert!(close(rate_e_value_above(s, f, rate), above), "{above}");
        let below = integrated(passes, failures, rate, (0.0, rate));
        prop_assert!(close(rate_e_value_below(s, f, rate), below), "{below}");
        let worse = integrated(passes, failures, 0.5, (0.5, 1.0));
        prop_assert!(close(discordant_e_value(s, f), worse), "{worse}");
    }

    #[test]
    fn one_more_attempt_leaves_the_mean_where_it_was(s in 0_u64..200, f in 0_u64..200, rate in 0.05..0.95_f64) {
        for e_value in [rate_e_value_above, rate_e_value_below] {
            let now = e_value(s, f, rate);
            let next = rate * e_value(s + 1, f, rate) + (1.0 - rate) * e_value(s, f + 1, rate);
            prop_assert!((next - now).abs() <= 1e-9 * now.max(1.0), "{now} {next}");
        }
    }

    #[test]
    fn evidence_above_implies_an_observed_rate_above(s in 0_u64..300, f in 0_u64..300, rate in 0.0..=1.0_f64) {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let share = s as f64 / (s + f).max(1) as f64;
        prop_assert!(rate_e_value_above(s, f, rate) <= 1.0 + 1e-12 || share > rate);
        prop_assert!(rate_e_value_below(s, f, rate) <= 1.0 + 1e-12 || share < rate);
    }

    #[test]
    fn chosen_e_values_are_the_largest(values in prop::collection::vec(0.0..200.0_f64, 0..40)) {
        let chosen = e_benjamini_hochberg(&values, 0.05);
        let least = values.iter().zip(&chosen).filter(|(_, is)| **is).map(|(value, _)| *value);
        let least = least.fold(f64::INFINITY, f64::min);
        for (value, chosen) in values.iter().zip(&chosen) {
            prop_assert_eq!(*chosen, *value >= least);
        }
    }
}

#[test]
fn values_worked_out_by_hand() {
    // 2 ∫ 2θ dθ over (½, 1) = 2 (1 − ¼), and so on.
    assert!(close(discordant_e_value(1, 0), 1.5));
    assert!(close(discordant_e_value(0, 0), 1.0));
    assert!(close(discordant_e_value(7, 0), 255.0 / 8.0));
    assert!(close(discordant_e_value(8, 0), 511.0 / 9.0));
    assert!(close(rate_e_value_above(1, 0, 0.8), (1.0 - 0.64) / 2.0 / 0.2 / 0.8));
}

#[test]
fn rates_at_the_ends() {
    assert!(rate_e_value_above(3, 2, 0.0).is_infinite());
    assert!(rate_e_value_below(3, 1, 1.0).is_infinite());
    assert!(close(rate_e_value_above(30, 0, 1.0), 1.0), "nothing is above 1");
    assert!(close(rate_e_value_below(0, 30, 0.0), 1.0), "nothing is below 0");
    assert!(close(rate_e_value_below(30, 0, 1.0), 1.0 / 31.0));
}

#[test]
fn large_counts_neither_break_nor_take_long() {
    assert!(discordant_e_value(100_000, 0).is_infinite());
    assert!(discordant_e_value(0, 100_000) < 1e-4);
    let even = discordant_e_value(50_000, 50_000);
    assert!(even > 0.0 && even < 0.1, "{even}");
}

#[test]
fn nothing_is_chosen_from_nothing() {
    assert!(e_benjamini_hochberg(&[], 0.05).is_empty());
    assert_eq!(e_benjamini_hochberg(&[f64::INFINITY, 0.0], 0.05), [true, false]);
}

/// A small generator with a fixed seed, so that the test says the same every time.
struct Random(u64);

impl Random {
    fn hits(&mut self, rate: f64) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 random bits")]
        let drawn = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < rate
    }
}

/// The share of sequences of 200 attempts whose e-value ever reaches `enough`.
fn ever_reached(rate: f64, enough: f64, e_value: impl Fn(u64, u64) -> f64) -> f64 {
    const SEQUENCES: u32 = 2000;
    let mut random = Random(11);
    let mut reached = 0_u32;
    for _ in 0..SEQUENCES {
        let (mut passes, mut failures) = (0, 0);
        for _ in 0..200 {
            if random.hits(rate) {
                passes += 1;
            } else {
                failures += 1;
            }
            if e_value(passes, failures) >= enough {
                reached += 1;
                break;
            }
        }
    }
    f64::from(reached) / f64::from(SEQUENCES)
}

#[test]
fn looking_after_every_attempt_raises_no_more_false_alarms() {
    let share = ever_reached(0.5, 40.0, discordant_e_value);
    assert!(share <= 0.025, "{share}");
    for rate in [0.5, 0.8, 0.95] {
        let above = ever_reached(rate, 20.0, |s, f| rate_e_value_above(s, f, rate));
        let below = ever_reached(rate, 20.0, |s, f| rate_e_value_below(s, f, rate));
        assert!(above <= 0.05 && below <= 0.05, "{rate}: {above} {below}");
    }
    let shown = ever_reached(0.8, 20.0, |s, f| rate_e_value_above(s, f, 0.5));
    assert!(shown > 0.99, "and what is so is found: {shown}");
}
