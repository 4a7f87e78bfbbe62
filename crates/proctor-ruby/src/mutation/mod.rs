//! Mutants of a whole Ruby file for `proctor mutate`: every change, and where its code lives.
//!
//! Unlike [`mutants`](crate::mutants), which makes faults for the methods that cover observes, this also changes code outside of methods
//! and says for each change how it can be put into a loaded process: by evaluating one `def` again, or only by loading
//! the file. No mutant touches a heredoc's markers or text, a comment or a `require`, and each parses.

mod equivalent_marks;
mod operators;
mod places;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::equivalent_marks::{EquivalentMark, MarkMistake};
pub use self::places::{CodePlace, MethodPlace};
use crate::source::Source;

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMutant {
    /// Byte offset where the replaced text starts.
    pub start: u32,
    /// Byte offset where it ends.
    pub end: u32,
    /// What stands there instead.
    pub replacement: Vec<u8>,
    /// The operator's name.
    pub operator: String,
    /// The line in which it starts, from 1.
    pub line: u32,
    /// The line in which it ends.
    pub end_line: u32,
    /// First and last line of the innermost statement around it; `None` in the head of a method.
    pub statement: Option<(u32, u32)>,
    /// Index into [`FileMutants::places`].
    pub place: usize,
    /// Whether it is in a block inside of its method: blocks that a call of the method has made stay as they are when the method is
    /// evaluated again.
    pub in_inner_block: bool,
    /// Why it changes nothing that could be noticed, as marked in the code.
    pub equivalent: Option<String>,
}

/// All mutants of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMutants {
    /// In source order.
    pub mutants: Vec<SourceMutant>,
    /// Where their code lives.
    pub places: Vec<CodePlace>,
    /// Marks that cannot be honoured.
    pub mistakes: Vec<MarkMistake>,
}

/// A file that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct UnreadableSource {
    /// The line of the first mistake.
    pub line: u32,
    /// What the parser says.
    pub message: String,
}

/// All mutants of a file.
pub fn file_mutants(source: &[u8]) -> Result<FileMutants, UnreadableSource> {
    let parsed = ruby_prism::parse(source);
    let lines = Source::new(source);
    if let Some(error) = parsed.errors().next() {
        let line = lines.line(error.location().start());
        return Err(UnreadableSource {
            line,
            message: String::from_utf8_lossy(error.message()).into_owned(),
        });
    }
    let found = operators::collect(&parsed, &lines);
    let (marks, mistakes) = equivalent_marks::read(&parsed, &lines, source);
    let mut file = FileMutants { places: found.places, mistakes, ..FileMutants::default() };
    let mut seen = BTreeSet::new();
    for mut mutant in found.mutants {
        if seen.insert(smallest_change(source, &mutant))
            && still_parses(source, &mutant, &file.places)
        {
            mutant.equivalent = equivalent_marks::reason(&marks, &mutant);
            file.mutants.push(mutant);
        }
    }
    Ok(file)
}

impl SourceMutant {
    /// The file with the change in it.
    #[must_use]
    pub fn apply(&self, source: &[u8]) -> Vec<u8> {
        let mut changed = source[..self.start as usize].to_vec();
        changed.extend_from_slice(&self.replacement);
        changed.extend_from_slice(&source[self.end as usize..]);
        changed
    }

    /// By how many bytes the file grows.
    #[must_use]
    pub fn growth(&self) -> i64 {
        let length = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
        length(self.replacement.len()) - i64::from(self.end) + i64::from(self.start)
    }
}

/// The change without what both texts begin and end with: two mutants with the same one make the same file.
fn smallest_change(source: &[u8], mutant: &SourceMutant) -> (usize, usize, Vec<u8>) {
    let (start, end) = (mutant.start as usize, mutant.end as usize);
    let (old, new) = (&source[start..end], &mutant.replacement[..]);
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = (old.len() - head).min(new.len() - head);
    let tails = old.iter().rev().zip(new.iter().rev()).take(rest);
    let tail = tails.take_while(|(a, b)| a == b).count();
    (start + head, end - tail, new[head..new.len() - tail].to_vec())
}

/// Whether the code still parses with the change in it, and is another one. Only the method is parsed where there is one: large files
/// have many mutants.
fn still_parses(source: &[u8], mutant: &SourceMutant, places: &[CodePlace]) -> bool {
    let is_utf8 = std::str::from_utf8(source).is_ok();
    let method = places[mutant.place].method.as_ref().filter(|_| is_utf8);
    let (from, to) = method.map_or((0, source.len()), |it| (it.start as usize, it.end as usize));
    let mut changed = source[from..mutant.start as usize].to_vec();
    changed.extend_from_slice(&mutant.replacement);
    changed.extend_from_slice(&source[mutant.end as usize..to]);
    changed != source[from..to] && ruby_prism::parse(&changed).is_success()
}

#[cfg(test)]
mod tests;
