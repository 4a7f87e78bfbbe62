//! Times as the journal's files write them, and the moment an operation happens at.
//!
//! The crate never asks for the time or for random bits: the caller passes a [`Moment`].

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time in UTC.
///
/// Written as ISO 8601 ending in `Z` with no, three or six fraction digits: the forms every Python
/// since 3.7 can read. Read with `Z`, any offset or none (taken as UTC) and up to nine digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime(Timestamp);

impl UtcTime {
    /// A time, cut to microseconds because that is all the files can hold.
    pub fn new(time: Timestamp) -> Self {
        Self(Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time))
    }

    /// The same point in time for calculations.
    pub const fn timestamp(self) -> Timestamp {
        self.0
    }

    /// Seconds since 1970.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_second()
    }

    /// `20251203`
    pub fn compact_date(self) -> String {
        let date = self.civil().date();
        format!("{:04}{:02}{:02}", date.year(), date.month(), date.day())
    }

    /// `143022`
    pub fn compact_clock(self) -> String {
        let clock = self.civil().time();
        format!("{:02}{:02}{:02}", clock.hour(), clock.minute(), clock.second())
    }

    /// `2025-12`
    pub fn month(self) -> String {
        let date = self.civil().date();
        format!("{:04}-{:02}", date.year(), date.month())
    }

    /// The calendar date and clock in UTC.
    pub fn civil(self) -> DateTime {
        TimeZone::UTC.to_datetime(self.0)
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        )?;
        let micros = at.subsec_nanosecond() / 1_000;
        match micros {
            0 => f.write_str("Z"),
            _ if micros % 1_000 == 0 => write!(f, ".{:03}Z", micros / 1_000),
            _ => write!(f, ".{micros:06}Z"),
        }
    }
}

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: write it like 2025-12-03T14:30:22Z")]
pub struct NotATime(String);

impl FromStr for UtcTime {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        let with_offset = text.parse::<Timestamp>().ok();
        let taken_as_utc = || {
            let civil = text.parse::<DateTime>().ok()?;
            Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
        };
        with_offset.or_else(taken_as_utc).map(Self::new).ok_or_else(|| NotATime(text.to_owned()))
    }
}

impl Serialize for UtcTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UtcTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = UtcTime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in ISO 8601")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<UtcTime, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// When an operation happens, and the random bits it may use for ids and temporary names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub now: UtcTime,
    /// Random bits, fresh for every operation.
    pub nonce: u64,
}

impl Moment {
    /// A moment from the caller's clock and source of randomness.
    pub fn new(now: Timestamp, nonce: u64) -> Self {
        Self { now: UtcTime::new(now), nonce }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        text.parse::<UtcTime>().unwrap().to_string()
    }

    #[test]
    fn accepted_forms_are_written_in_one_form() {
        assert_eq!(round("2025-12-03T14:30:22Z"), "2025-12-03T14:30:22Z");
        assert_eq!(round("2025-12-03T14:30:22+00:00"), "2025-12-03T14:30:22Z");
        assert_eq!(round("2025-12-03T16:30:22+02:00"), "2025-12-03T14:30:22Z");
        assert_eq!(round("2025-12-03T14:30:22"), "2025-12-03T14:30:22Z");
        assert_eq!(round("2025-12-03T14:30:22.5Z"), "2025-12-03T14:30:22.500Z");
        assert_eq!(round("2025-12-03T14:30:22.123456+00:00"), "2025-12-03T14:30:22.123456Z");
        assert_eq!(round("2025-12-03T14:30:22.123456789Z"), "2025-12-03T14:30:22.123456Z");
    }

    #[test]
    fn other_texts_are_refused_by_name() {
        let refused = "yesterday".parse::<UtcTime>().unwrap_err().to_string();
        assert_eq!(refused, "`yesterday` is not a time: write it like 2025-12-03T14:30:22Z");
    }
}
