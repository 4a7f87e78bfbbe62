//! Special functions that the tests need: log-gamma, log-binomials, the incomplete beta function, normal and Student tails.

use std::f64::consts::PI;
use std::sync::LazyLock;

/// Lanczos coefficients for g = 7, nine terms: about 15 significant digits.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// The natural logarithm of the gamma function, for positive arguments.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let base = x + 7.5;
    let mut sum = LANCZOS[0];
    let mut position = x;
    for coefficient in &LANCZOS[1..] {
        position += 1.0;
        sum += coefficient / position;
    }
    0.5 * (2.0 * PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// The natural logarithm of «n choose k»; minus infinity where k is greater than n.
pub(crate) fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    if k == 0 || k == n {
        return 0.0;
    }
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// The logarithm of n!. Most counts are small, and these are kept.
fn ln_factorial(n: u64) -> f64 {
    static LN_FACTORIALS: LazyLock<Vec<f64>> =
        LazyLock::new(|| (0..4096).map(|n| ln_gamma(as_float(n) + 1.0)).collect());
    let stored = usize::try_from(n).ok().and_then(|place| LN_FACTORIALS.get(place));
    stored.copied().unwrap_or_else(|| ln_gamma(as_float(n) + 1.0))
}

/// A count as a number. Counts of attempts are far below 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "counts of attempts are far below 2^53")]
pub(crate) fn as_float(count: u64) -> f64 {
    count as f64
}

/// The regularised incomplete beta function `I_x(a, b)`.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The continued fraction converges fast on one side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = lower;
    for step in 1..=500_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        lower = 1.0 / away_from_zero(1.0 + even * lower);
        upper = away_from_zero(1.0 + even / upper);
        fraction *= lower * upper;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        lower = 1.0 / away_from_zero(1.0 + odd * lower);
        upper = away_from_zero(1.0 + odd / upper);
        let change = lower * upper;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The probability that a standard normal variable exceeds `z`.
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if z < 3.0 {
        // A series in odd powers of z.
        let (mut term, mut sum) = (z, z);
        for n in 1..200_u32 {
            term *= z * z / f64::from(2 * n + 1);
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return 0.5 - density * sum;
    }
    // The continued fraction of Mills's ratio, from its far end.
    let fraction = (1..=80_u32).rev().fold(z, |below, n| z + f64::from(n) / below);
    density / fraction
}

/// The value that a standard normal variable exceeds with this probability, between −38 and 38.
pub fn normal_quantile(tail: f64) -> f64 {
    bisect(-38.0, 38.0, |z| normal_tail(z) > tail)
}

/// The probability that a variable with Student's t distribution exceeds `t`.
pub fn student_t_tail(t: f64, degrees: f64) -> f64 {
    let half = 0.5 * incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t));
    if t < 0.0 { 1.0 - half } else { half }
}

/// Where a condition that holds at the low end stops to hold.
pub(crate) fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
