//! Ids of entries, sessions and lanes: how they are made and which may become part of a path.

use sha2::{Digest, Sha256};

use crate::time::{Moment, UtcTime};

/// `ghap_{YYYYMMDD}_{HHMMSS}_{random6}`
pub fn entry_id(moment: &Moment) -> String {
    make_id("ghap", moment.now, moment.nonce)
}

/// `session_{YYYYMMDD}_{HHMMSS}_{random6}`
///
/// Takes other bits of the nonce than [`entry_id`]: one operation may make both.
pub fn session_id(moment: &Moment) -> String {
    make_id("session", moment.now, moment.nonce >> 24)
}

fn make_id(kind: &str, now: UtcTime, bits: u64) -> String {
    format!("{kind}_{}_{}_{:06x}", now.compact_date(), now.compact_clock(), bits & 0xff_ffff)
}

/// Whether a name may stand in a path: 1 to 128 of `A-Z a-z 0-9 _ -`.
pub fn is_safe(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The part of an archive's file name that stands for its session.
///
/// A session id that cannot stand in a path is replaced by a hash of itself: the lines keep the
/// real id, the file merely needs a name.
pub(crate) fn archive_stem(session_id: &str) -> String {
    if is_safe(session_id) {
        return session_id.to_owned();
    }
    let digest = Sha256::digest(session_id.as_bytes());
    let hex = digest.iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    format!("unknown_{hex}")
}

/// The date a generated session id carries.
pub(crate) fn session_date(session_id: &str) -> Option<&str> {
    let date = session_id.strip_prefix("session_")?.get(..8)?;
    date.bytes().all(|b| b.is_ascii_digit()).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(nonce: u64) -> Moment {
        Moment { now: "2025-12-03T14:30:22Z".parse().unwrap(), nonce }
    }

    #[test]
    fn ids_have_the_documented_form() {
        assert_eq!(entry_id(&moment(0x00a1_b2c3)), "ghap_20251203_143022_a1b2c3");
        assert_eq!(session_id(&moment(0x0bc1 << 24)), "session_20251203_143022_000bc1");
    }

    #[test]
    fn id_generation_is_unique_over_nonces() {
        let ids: std::collections::BTreeSet<_> =
            (0..10_000).map(|n| entry_id(&moment(n))).collect();
        assert_eq!(ids.len(), 10_000);
    }

    #[test]
    fn only_plain_names_may_stand_in_a_path() {
        assert!(is_safe("session_20251203_140000_x7y8z9"));
        for bad in ["", "../x", "a/b", "a b", "é", &"x".repeat(129)] {
            assert!(!is_safe(bad), "{bad}");
        }
        assert!(is_safe(&archive_stem("../../etc/passwd")));
        assert_ne!(archive_stem("a/b"), archive_stem("a/c"));
    }

    #[test]
    fn the_date_comes_from_generated_ids_only() {
        assert_eq!(session_date("session_20251203_140000_x7y8z9"), Some("20251203"));
        assert_eq!(session_date("session_hello"), None);
        assert_eq!(session_date("4b1d7a4e-aaaa"), None);
    }
}
