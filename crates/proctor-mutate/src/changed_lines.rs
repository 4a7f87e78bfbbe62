//! Which lines were changed against a commit: reads `git diff --unified=0`. Pure.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// By path from the root of the diff: the ranges of lines that are new or changed.
pub(crate) type ChangedLines = BTreeMap<String, Vec<RangeInclusive<u32>>>;

/// Reads the output of `git diff --unified=0 --no-prefix --no-color`.
pub(crate) fn read_diff(diff: &str) -> ChangedLines {
    let mut changed = ChangedLines::new();
    let mut path: Option<String> = None;
    // Lines of a hunk may look like headers; they are counted and skipped.
    let mut skip = 0_u32;
    for line in diff.lines() {
        if skip > 0 && matches!(line.as_bytes().first(), Some(b'+' | b'-' | b' ')) {
            skip -= 1;
        } else if let Some(name) = line.strip_prefix("+++ ") {
            path = (name != "/dev/null").then(|| unquoted(name));
        } else if let Some((old, new)) = hunk(line) {
            skip = old.1 + new.1;
            if let Some(path) = path.as_ref().filter(|_| new.1 > 0) {
                let lines = new.0..=new.0 + new.1 - 1;
                changed.entry(path.clone()).or_default().push(lines);
            }
        }
    }
    changed
}

/// `@@ -1,2 +3,4 @@` as ((1, 2), (3, 4)).
fn hunk(line: &str) -> Option<((u32, u32), (u32, u32))> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let old = span(words.next()?.strip_prefix('-')?)?;
    let new = span(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

fn span(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// A path as git writes it: names with unusual bytes stand in quotes.
fn unquoted(name: &str) -> String {
    let name = name.trim_end_matches('\t');
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(digit @ b'0'..=b'7') => {
                let more = [rest.next(), rest.next()].into_iter().flatten();
                let value = more.fold(u32::from(digit - b'0'), |sum, next| {
                    sum * 8 + u32::from(next.saturating_sub(b'0'))
                });
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_name_new_lines_and_removed_ones_count_for_nothing() {
        let diff = "diff --git lib/a.rb lib/a.rb\n--- lib/a.rb\n+++ lib/a.rb\n@@ -3 +3,2 @@ def a\n-  x\n+  y\n++++ z\n@@ -9,2 +10,0 @@\n--- a\n-b\n@@ -20 +19 @@\n-a\n+b\ndiff --git lib/b.rb lib/b.rb\n--- lib/b.rb\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        let changed = read_diff(diff);
        assert_eq!(changed.len(), 1);
        assert_eq!(changed["lib/a.rb"], [3..=4, 19..=19]);
    }

    #[test]
    fn quoted_names_are_read() {
        let diff = "--- \"lib/\\303\\244.rb\"\n+++ \"lib/\\303\\244.rb\"\n@@ -0,0 +1 @@\n+x\n";
        assert_eq!(read_diff(diff)["lib/ä.rb"], [1..=1]);
    }
}
