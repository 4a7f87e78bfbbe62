//! The digests of one run's lines.

use super::{DigestState, Findings};
use crate::line_digest::{self, LineDigest};

/// How far the digests of a run have been followed.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// What the digest of the last line may be: as it stands there, and as it should be. Empty where that line could not be read.
    last: Vec<LineDigest>,
    /// Whether any line has been seen.
    begun: bool,
    with: u64,
    without: u64,
    differs: bool,
}

impl Chain {
    /// Follows a line. `in_place` is whether its number follows the one before: if not, that has been reported already.
    pub(super) fn line(
        &mut self,
        number: u64,
        bytes: &[u8],
        in_place: bool,
        findings: &mut Findings,
    ) -> bool {
        let first = !std::mem::replace(&mut self.begun, true);
        let Some((fields, stands)) = line_digest::split(bytes) else {
            return self.without_digest(number, findings);
        };
        self.with += 1;
        // Nearly every line: it follows one that is as it was written.
        if let [last] = &mut self.last[..]
            && line_digest::digest(Some(last), fields) == stands
        {
            *last = stands;
            return true;
        }
        let last = std::mem::replace(&mut self.last, vec![stands]);
        if self.without > 0 && self.with == 1 {
            self.differs = true;
            findings.error(Some(number), "has a digest, but the lines before it have none");
            return false;
        }
        let expected: Vec<LineDigest> = if first {
            vec![line_digest::digest(None, fields)]
        } else {
            last.iter().map(|last| line_digest::digest(Some(last), fields)).collect()
        };
        // After an unreadable line there is nothing to compare with.
        if expected.is_empty() || expected.contains(&stands) {
            return true;
        }
        self.last.extend(expected);
        self.differs = true;
        if in_place {
            findings.error(Some(number), "was changed after it was written");
        }
        false
    }

    fn without_digest(&mut self, number: u64, findings: &mut Findings) -> bool {
        self.without += 1;
        self.last.clear();
        if self.with == 0 {
            return true;
        }
        self.differs = true;
        findings.error(
            Some(number),
            "was changed after it was written: it has no digest, and the lines before it do",
        );
        false
    }

    /// A line that is no event; its digest may be readable all the same.
    pub(super) fn unreadable(&mut self, bytes: &[u8]) {
        self.begun = true;
        self.last = line_digest::split(bytes).map(|(_, digest)| digest).into_iter().collect();
    }

    pub(super) fn state(&self) -> DigestState {
        match (self.differs, self.with) {
            (true, _) => DigestState::Differs,
            (false, 0) => DigestState::Absent,
            (false, _) => DigestState::Matches,
        }
    }
}
