//! Values as people type them: durations, shares, numbers of workers.

use std::num::NonZero;

/// The longest duration, in milliseconds: 10,000 hours.
const LONGEST: f64 = 36_000_000_000.0;

/// A duration in milliseconds: `500ms`, `30s`, `2m`, `1h`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "ms" => 1.0,
        "" | "s" => 1000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        other => return Err(format!("`{other}` is not a unit; use ms, s, m or h")),
    };
    let value: f64 =
        number.parse().map_err(|_| "use a number with a unit, as in 500ms or 30s".to_owned())?;
    let millis = (value * factor).round();
    if millis > LONGEST {
        return Err("use at most 10000h".to_owned());
    }
    // Not a number, too.
    if !(1.0..=LONGEST).contains(&millis) {
        return Err("use at least 1ms".to_owned());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok(millis as u64)
}

/// `2/4`: part 2 of 4.
pub(crate) fn shard(text: &str) -> Result<(u32, u32), String> {
    let parts =
        text.split_once('/').and_then(|(part, all)| Some((part.parse().ok()?, all.parse().ok()?)));
    match parts {
        Some((part, all)) if (1..=all).contains(&part) => Ok((part, all)),
        _ => Err("use K/N with K from 1 to N, as in 2/4".to_owned()),
    }
}

/// A number of workers, or `auto`.
pub(crate) fn workers(text: &str) -> Result<u32, String> {
    if text == "auto" {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        return Ok(u32::try_from(cores * 2).unwrap_or(8));
    }
    match text.parse() {
        Ok(number @ 1..=512) => Ok(number),
        _ => Err("use a number from 1 to 512, or auto".to_owned()),
    }
}

/// How often examples are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// So many times each.
    Times(u32),
    /// As often as their verdicts need, and at most so many times each.
    Auto { limit: u32 },
}

/// Default limit of repetitions under `--repeat auto`.
const REPEAT_LIMIT: u32 = 20;

/// A number of repetitions, `auto`, or `auto:MAX`.
pub(crate) fn repeat(text: &str) -> Result<Repeat, String> {
    let limit = match text.strip_prefix("auto") {
        None => {
            let times = text.parse().ok().filter(|times| *times > 0);
            let usage = "use a number from 1, `auto`, or `auto:MAX`";
            return times.map(Repeat::Times).ok_or_else(|| usage.to_owned());
        }
        Some("") => Some(REPEAT_LIMIT),
        Some(rest) => rest.strip_prefix(':').and_then(|limit| limit.parse().ok()),
    };
    match limit {
        Some(limit @ 2..=10_000) => Ok(Repeat::Auto { limit }),
        _ => Err("use `auto`, or `auto:MAX` with MAX from 2 to 10000".to_owned()),
    }
}

/// A name for a run or a baseline; one that could mean something else is refused.
pub(crate) fn run_tag(text: &str) -> Result<String, String> {
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let reserved = text.starts_with("last") || text.starts_with("baseline");
    if text.is_empty() || text.starts_with('.') || !text.chars().all(fit) {
        return Err("use letters, digits, `-`, `_` and `.`".to_owned());
    }
    if reserved {
        return Err("names that begin with `last` or `baseline` have a meaning already".to_owned());
    }
    Ok(text.to_owned())
}

/// Percentage points above 0 and below 100.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let points = text.strip_suffix('%').unwrap_or(text).trim();
    match points.parse::<f64>() {
        Ok(points) if points > 0.0 && points < 100.0 => Ok(points),
        _ => Err(format!("`{text}` is not a number of points above 0 and below 100, such as 5")),
    }
}

/// A factor of at least 1.
pub(crate) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor >= 1.0 && factor.is_finite() => Ok(factor),
        _ => Err(format!("`{text}` is not a factor of at least 1, such as 1.2")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats() {
        assert_eq!(repeat("5"), Ok(Repeat::Times(5)));
        assert_eq!(repeat("auto"), Ok(Repeat::Auto { limit: 20 }));
        assert_eq!(repeat("auto:8"), Ok(Repeat::Auto { limit: 8 }));
        for wrong in ["0", "-1", "", "automatic", "auto:", "auto:1", "auto:x", "auto8"] {
            assert!(repeat(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(500));
        assert_eq!(duration("1.5s"), Ok(1500));
        assert_eq!(duration("30"), Ok(30_000));
        assert_eq!(duration("2m"), Ok(120_000));
        assert!(
            duration("0s").is_err() && duration("5 parsecs").is_err() && duration("s").is_err()
        );
    }

    /// Audit B7: a duration that is too long was refused with the words for one that is too short.
    #[test]
    fn b7_a_duration_that_is_too_long_is_refused_with_the_right_words() {
        for long in ["999999999999h", "1e", "36000001s", &"9".repeat(400)] {
            let refused = duration(long).unwrap_err();
            assert!(refused.starts_with("use at most") || long == "1e", "{long}: {refused}");
        }
        assert_eq!(duration("10000h"), Ok(36_000_000_000));
        assert_eq!(duration("0.0001ms"), Err("use at least 1ms".to_owned()));
    }

    #[test]
    fn shares_and_workers() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        assert!(shard("0/4").is_err() && shard("5/4").is_err() && shard("x").is_err());
        assert_eq!(workers("3"), Ok(3));
        assert!(workers("auto").unwrap() >= 2 && workers("0").is_err());
    }
}
