//! What changed between two manifests, and the lines that changed. Pure but for reading contents through
//! the functions it is given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::{Manifest, Selection};
use crate::error::ToolError;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// What a file takes in an answer beside its path and its lines.
const ENTRY: usize = 160;
/// After this time the rest of a file is reported as one change: correct, but coarser.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// Which files differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) changed: Vec<String>,
    pub(crate) added: Vec<String>,
    pub(crate) deleted: Vec<String>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty() && self.deleted.is_empty()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        self.changed.iter().chain(&self.added).chain(&self.deleted)
    }
}

/// A run of changed lines with some context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hunk {
    /// First line of the hunk in the new file, from 1.
    pub start: usize,
    /// Last line of the hunk in the new file.
    pub end: usize,
    /// First line of the hunk in the old file, from 1.
    pub old_start: usize,
    /// Last line of the hunk in the old file.
    pub old_end: usize,
    /// The lines: `-` removed, `+` added, a space for context.
    pub content: String,
}

/// How one file changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiff {
    /// How many lines were added.
    pub additions: usize,
    /// How many lines were removed.
    pub deletions: usize,
    /// The changes; empty for a binary file.
    pub hunks: Vec<Hunk>,
    /// The file is not text: only its sizes are told.
    #[serde(default)]
    pub binary: bool,
    /// Its size before; absent if it was not there.
    pub old_bytes: Option<u64>,
    /// Its size now; absent if it is gone.
    pub new_bytes: Option<u64>,
    /// Hunks were left out or cut because the answer would be too long.
    #[serde(default)]
    pub truncated: bool,
}

/// Two states, reduced to the files that both of them and the caller select.
pub(crate) struct Compared {
    pub(crate) old: Manifest,
    pub(crate) new: Manifest,
    pub(crate) changes: Changes,
    /// Patterns and selections that left nothing to compare.
    pub(crate) warnings: Vec<String>,
}

impl Compared {
    /// A file that only one of the two snapshots was taken of is not compared: it was neither added nor deleted.
    pub(crate) fn new(
        mut old: Manifest,
        mut new: Manifest,
        selection: &Selection,
    ) -> Result<Self, ToolError> {
        let both = old.selection()?.and(&new.selection()?).and(selection);
        let had_files = !old.entries.is_empty() || !new.entries.is_empty();
        old.keep_only(&both);
        new.keep_only(&both);
        let paths = || old.entries.keys().chain(new.entries.keys());
        let mut warnings = selection.warnings(&paths());
        if had_files && warnings.is_empty() && paths().next().is_none() {
            warnings.push("no file is selected on both sides: nothing was compared".to_owned());
        }
        let changes = compare(&old, &new);
        Ok(Self { old, new, changes, warnings })
    }
}

pub(crate) fn compare(old: &Manifest, new: &Manifest) -> Changes {
    let mut changes = Changes::default();
    for (path, entry) in &old.entries {
        match new.entries.get(path) {
            None => changes.deleted.push(path.clone()),
            Some(now) if !now.same_as(entry) => changes.changed.push(path.clone()),
            Some(_) => {}
        }
    }
    let new_paths = new.entries.keys().filter(|path| !old.entries.contains_key(*path));
    changes.added.extend(new_paths.cloned());
    changes
}

/// Whether a content is not to be shown as lines.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(8192)].contains(&0)
}

/// The difference of two contents, `None` for a file that is not there.
pub(crate) fn lines(old: Option<&[u8]>, new: Option<&[u8]>) -> FileDiff {
    let mut diff = FileDiff {
        old_bytes: old.map(|bytes| bytes.len() as u64),
        new_bytes: new.map(|bytes| bytes.len() as u64),
        ..FileDiff::default()
    };
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if is_binary(old) || is_binary(new) {
        diff.binary = true;
        return diff;
    }
    let (old, new) = (split_lines(old), split_lines(new));
    let deadline = Instant::now() + DIFF_TIMEOUT;
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));
    for group in group_diff_ops(ops, CONTEXT) {
        diff.hunks.push(hunk(&group, &old, &new, &mut diff.additions, &mut diff.deletions));
    }
    diff
}

fn split_lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn hunk(
    group: &[DiffOp],
    old: &[&[u8]],
    new: &[&[u8]],
    additions: &mut usize,
    deletions: &mut usize,
) -> Hunk {
    let mut content = String::new();
    for change in group.iter().flat_map(|op| op.iter_changes(old, new)) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => {
                *deletions += 1;
                '-'
            }
            ChangeTag::Insert => {
                *additions += 1;
                '+'
            }
        };
        let line = String::from_utf8_lossy(change.value());
        content.push(sign);
        content.push_str(line.strip_suffix('\n').unwrap_or(&line));
        content.push('\n');
        if !line.ends_with('\n') {
            content.push_str("\\ no newline at the end\n");
        }
    }
    let (first, last) = (group.first(), group.last());
    let old_start = first.map_or(0, |op| op.old_range().start);
    let new_start = first.map_or(0, |op| op.new_range().start);
    Hunk {
        start: new_start + 1,
        end: last.map_or(0, |op| op.new_range().end),
        old_start: old_start + 1,
        old_end: last.map_or(0, |op| op.old_range().end),
        content,
    }
}

/// A source of contents by path.
pub(crate) type Contents<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>, ToolError>;

/// The differences of all changed files, in an answer of at most `most` bytes.
pub(crate) fn diffs(
    changes: &Changes,
    old: Contents<'_>,
    new: Contents<'_>,
    field: usize,
    most: usize,
) -> (BTreeMap<String, FileDiff>, bool) {
    let mut room = most;
    let mut truncated = false;
    let mut diffs = BTreeMap::new();
    for path in changes.all() {
        room = room.saturating_sub(path.len() + ENTRY);
        if room == 0 {
            // No line of the rest would be shown, so none is looked for.
            truncated = true;
            break;
        }
        let diff = match (old(path), new(path)) {
            (Ok(before), Ok(after)) => lines(before.as_deref(), after.as_deref()),
            // Too large to be kept: it changed, and that is all that can be said.
            _ => FileDiff { binary: true, truncated: true, ..FileDiff::default() },
        };
        let diff = shortened(diff, field.min(room));
        truncated |= diff.truncated;
        let used: usize = diff.hunks.iter().map(|hunk| hunk.content.len() + ENTRY).sum();
        room = room.saturating_sub(used);
        diffs.insert(path.clone(), diff);
    }
    (diffs, truncated)
}

fn shortened(mut diff: FileDiff, most: usize) -> FileDiff {
    let mut room = most;
    let mut kept = Vec::new();
    for hunk in std::mem::take(&mut diff.hunks) {
        let size = hunk.content.len() + ENTRY;
        if size > room {
            diff.truncated = true;
            break;
        }
        room -= size;
        kept.push(hunk);
    }
    diff.hunks = kept;
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hunks_have_lines_of_both_files() {
        let old = b"a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = b"a\nb\nc\nd\nE\nf\ng\nh\ni";
        let diff = lines(Some(old), Some(new));
        assert_eq!((diff.additions, diff.deletions, diff.hunks.len()), (2, 1, 1));
        let hunk = &diff.hunks[0];
        assert_eq!((hunk.start, hunk.end, hunk.old_start, hunk.old_end), (2, 9, 2, 8));
        assert!(hunk.content.contains("-e\n+E\n") && hunk.content.contains("+i\n\\ no newline"));
    }

    #[test]
    fn binary_and_odd_encodings_are_handled() {
        let diff = lines(Some(b"a\0b"), Some(b"c"));
        assert!(diff.binary && diff.hunks.is_empty());
        let diff = lines(Some(b"caf\xe9\n"), Some(b"cafe\n"));
        assert_eq!((diff.binary, diff.additions, diff.deletions), (false, 1, 1));
        assert!(lines(None, Some(b"")).hunks.is_empty());
        assert_eq!(lines(None, Some(b"x\n")).additions, 1);
    }

    proptest! {
        /// Applying the added and context lines of a whole-file diff gives the new file.
        #[test]
        fn a_diff_rebuilds_the_new_file(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
            let before = split_lines(old.as_bytes());
            let after = split_lines(new.as_bytes());
            let ops = capture_diff_slices_deadline(Algorithm::Myers, &before, &after, None);
            let mut counts = (0, 0);
            hunk(&ops, &before, &after, &mut counts.0, &mut counts.1);
            prop_assert_eq!(before.len() + counts.0, after.len() + counts.1);
            let rebuilt: Vec<u8> = ops.iter().flat_map(|op| op.iter_changes(&before, &after))
                .filter(|change| change.tag() != ChangeTag::Delete)
                .flat_map(|change| change.value().to_vec()).collect();
            prop_assert_eq!(rebuilt, new.into_bytes());
        }
    }
}
