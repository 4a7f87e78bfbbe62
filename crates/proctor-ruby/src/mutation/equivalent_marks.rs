//! Marks in the code: `# proctor:equivalent REASON` at the end of a line, or alone on the line before it, says that mutants of that
//! line change nothing that a test could notice. `# proctor:equivalent(change number, drop call) REASON` says it of these
//! operators alone. A mark without a reason is not honoured.

use ruby_prism::ParseResult;
use serde::{Deserialize, Serialize};

use super::SourceMutant;
use crate::source::Source;

const WORD: &str = "proctor:equivalent";

/// A mark and the line it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EquivalentMark {
    /// The line whose mutants are marked.
    pub line: u32,
    /// The operators it speaks of; all if there are none.
    pub operators: Vec<String>,
    /// Why they are equivalent.
    pub reason: String,
}

/// A mark that is not honoured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkMistake {
    /// Where it stands.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// The marks of a file.
pub(super) fn read(
    parsed: &ParseResult<'_>,
    lines: &Source<'_>,
    source: &[u8],
) -> (Vec<EquivalentMark>, Vec<MarkMistake>) {
    let (mut marks, mut mistakes) = (Vec::new(), Vec::new());
    for comment in parsed.comments() {
        let start = comment.location().start();
        let text = String::from_utf8_lossy(comment.text());
        let Some(rest) = text.trim_start_matches('#').trim().strip_prefix(WORD) else { continue };
        let own = lines.line(start);
        let line = if stands_alone(source, start) { own + 1 } else { own };
        match read_mark(rest, line) {
            Some(mark) => marks.push(mark),
            None => mistakes.push(MarkMistake {
                line: own,
                message: format!("`{WORD}` needs a reason: `# {WORD} WHY`"),
            }),
        }
    }
    (marks, mistakes)
}

/// Whether nothing but space stands before the comment.
fn stands_alone(source: &[u8], start: u32) -> bool {
    let before = source[..start as usize].iter().rev().take_while(|byte| **byte != b'\n');
    before.into_iter().all(u8::is_ascii_whitespace)
}

fn read_mark(rest: &str, line: u32) -> Option<EquivalentMark> {
    let (operators, reason) = match rest.strip_prefix('(') {
        Some(inner) => inner.split_once(')')?,
        None => ("", rest),
    };
    let reason = reason.trim_start_matches([':', ' ', '-']).trim();
    let operators = operators.split(',').map(|name| name.trim().to_owned());
    let operators = operators.filter(|name| !name.is_empty()).collect();
    (!reason.is_empty()).then(|| EquivalentMark { line, operators, reason: reason.to_owned() })
}

/// Why this mutant is marked, if it is.
pub(super) fn reason(marks: &[EquivalentMark], mutant: &SourceMutant) -> Option<String> {
    let speaks_of = |mark: &&EquivalentMark| {
        mark.line == mutant.line
            && (mark.operators.is_empty() || mark.operators.contains(&mutant.operator))
    };
    marks.iter().find(speaks_of).map(|mark| mark.reason.clone())
}
