//! Numbers compared by their digits.
//!
//! JSON has one kind of number and no limit to its digits. `50`, `50.0` and `5e1` are the same number here;
//! `12345678901234567890` and `12345678901234567891` are not, although both are the same `f64`.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// How two numbers compare; nothing when an exponent is too large to be looked at.
pub fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    Some(Decimal::of(left)?.cmp(&Decimal::of(right)?))
}

/// Whether two values are the same. Numbers are, at any depth, if they have the same value.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match compare(a, b) {
            Some(order) => order.is_eq(),
            None => a.to_string() == b.to_string(),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// The number that a text writes, with all its digits; the shortest spelling where an `f64` is exact enough to have
/// the same value.
pub fn read_number(text: &str) -> Option<Number> {
    let written: Number = serde_json::from_str(text.strip_prefix('+').unwrap_or(text)).ok()?;
    if written.as_i64().is_some() || written.as_u64().is_some() {
        return Some(written);
    }
    let short = written.as_f64().and_then(Number::from_f64);
    let short = short.filter(|short| compare(short, &written) == Some(Ordering::Equal));
    Some(short.unwrap_or(written))
}

/// Whether a number is written without fraction and exponent.
pub fn is_whole(number: &Number) -> bool {
    !number.to_string().contains(['.', 'e', 'E'])
}

/// `0.digits × 10^exponent`, without zeros at either end of the digits.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let zeros = i64::try_from(all.len() - significant.len()).ok()?;
        let point = i64::try_from(whole.len()).ok()? - zeros;
        let digits = significant.trim_end_matches('0').to_owned();
        Some(Self { negative, digits, exponent: point.checked_add(power)? })
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => {
                self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
            }
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    fn order(left: &str, right: &str) -> Option<Ordering> {
        compare(&number(left), &number(right))
    }

    #[test]
    fn d6_spellings_of_one_number_are_equal() {
        for (left, right) in [
            ("50", "50.0"),
            ("50", "5e1"),
            ("-0", "0"),
            ("0.0", "0e9"),
            ("0.05", "5e-2"),
            (
                "1234567890123456789012345678901234567890",
                "123456789012345678901234567890123456789e1",
            ),
        ] {
            assert_eq!(order(left, right), Some(Ordering::Equal), "{left} {right}");
        }
    }

    #[test]
    fn d6_digits_beyond_a_float_count() {
        for (less, more) in [
            ("1234567890123456788", "1234567890123456789"),
            ("18446744073709551615", "18446744073709551616"),
            ("123456789012345678901234567890", "123456789012345678901234567891"),
            ("-123456789012345678901234567891", "-123456789012345678901234567890"),
            ("0.1", "0.1000000000000000000000001"),
            ("9", "10"),
            ("-1", "0"),
            ("1e308", "1e400"),
        ] {
            assert_eq!(order(less, more), Some(Ordering::Less), "{less} {more}");
            assert_eq!(order(more, less), Some(Ordering::Greater), "{less} {more}");
        }
    }

    #[test]
    fn an_exponent_beyond_all_limits_is_equal_only_to_itself() {
        let huge = |text: &str| Value::Number(number(text));
        assert!(same(&huge("1e99999999999999999999"), &huge("1e99999999999999999999")));
        assert!(!same(&huge("1e99999999999999999999"), &huge("1e99999999999999999998")));
    }

    #[test]
    fn a_number_is_shortened_only_where_nothing_is_lost() {
        let read = |text| read_number(text).map(|number| number.to_string());
        assert_eq!(read("2.50").as_deref(), Some("2.5"));
        assert_eq!(read("+7").as_deref(), Some("7"));
        assert_eq!(read("123456789012345678901").as_deref(), Some("123456789012345678901"));
        assert_eq!(read("0.1000000000000000000001").as_deref(), Some("0.1000000000000000000001"));
        assert_eq!(read("seven"), None);
    }

    proptest! {
        #[test]
        fn d6_integers_compare_as_integers(left in any::<i128>(), right in any::<i128>()) {
            prop_assert_eq!(order(&left.to_string(), &right.to_string()), Some(left.cmp(&right)));
        }

        #[test]
        fn d6_neighbours_differ(value in any::<i128>()) {
            let next = value.wrapping_add(1);
            let (value, next) = (number(&value.to_string()), number(&next.to_string()));
            prop_assert!(!same(&Value::Number(value), &Value::Number(next)));
        }

        #[test]
        fn floats_compare_as_floats(left in -1e12..1e12_f64, right in -1e12..1e12_f64) {
            let (a, b) = (Number::from_f64(left).unwrap(), Number::from_f64(right).unwrap());
            prop_assert_eq!(compare(&a, &b), left.partial_cmp(&right));
        }
    }
}
