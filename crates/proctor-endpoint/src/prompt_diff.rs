//! How two prompts differ, as lines: what was recorded behind `-`, what is there now behind `+`, with a line around each change.

use std::time::{Duration, Instant};

use proctor_text::{pluralize, truncate};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 1;
/// The most lines that are shown.
const MAX_LINES: usize = 40;
/// The most characters of a line that are shown, and how many of them stand before the place where it changed.
const MAX_CHARS: usize = 160;
const BEFORE: usize = 40;
/// After this time the rest is shown as one change.
const DEADLINE: Duration = Duration::from_secs(1);

/// The changed lines, indented; `None` if there are none.
pub(crate) fn prompt_difference(recorded: &str, now: &str) -> Option<String> {
    if recorded.lines().eq(now.lines()) {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (recorded.lines().collect(), now.lines().collect());
    let deadline = Some(Instant::now() + DEADLINE);
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let mut lines = Vec::new();
    for (number, group) in group_diff_ops(operations, CONTEXT).iter().enumerate() {
        if number > 0 {
            lines.push("    …".to_owned());
        }
        for operation in group {
            show(operation, &old, &new, &mut lines);
        }
    }
    let hidden = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    if hidden > 0 {
        lines.push(format!("    … {} more", pluralize(hidden, "line")));
    }
    Some(lines.join("\n"))
}

fn show(operation: &DiffOp, old: &[&str], new: &[&str], lines: &mut Vec<String>) {
    let (removed, added) = (&old[operation.old_range()], &new[operation.new_range()]);
    if let DiffOp::Equal { .. } = operation {
        lines.extend(added.iter().map(|line| format!("    {}", part(line, 0))));
        return;
    }
    // Where two lines stand opposite each other, they are shown from shortly before the place where they part.
    let from = |index: usize| match (removed.get(index), added.get(index)) {
        (Some(removed), Some(added)) => common(removed, added).saturating_sub(BEFORE),
        _ => 0,
    };
    let shown =
        |mark: char, index: usize, line: &str| format!("  {mark} {}", part(line, from(index)));
    lines.extend(removed.iter().enumerate().map(|(index, line)| shown('-', index, line)));
    lines.extend(added.iter().enumerate().map(|(index, line)| shown('+', index, line)));
}

/// How many characters two lines have in common at their beginning.
fn common(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count()
}

/// The part of a line that is shown, with a mark where something is left out.
fn part(line: &str, from: usize) -> String {
    if line.chars().nth(MAX_CHARS).is_none() {
        return line.to_owned();
    }
    let rest: String = line.chars().skip(from).collect();
    let mark = if from > 0 { "…" } else { "" };
    format!("{mark}{}", truncate(&rest, MAX_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_a_line_around_them() {
        let recorded = "system: Be kind.\n\nuser: one\n\nassistant: first\n\nuser: two";
        let now = "system: Be kind.\n\nuser: one\n\nassistant: first\n\nuser: three";
        let shown = prompt_difference(recorded, now).unwrap();
        assert_eq!(shown, "    \n  - user: two\n  + user: three");
        assert_eq!(prompt_difference(recorded, recorded), None);
    }

    /// Compared place by place, everything behind an inserted message would differ.
    #[test]
    fn an_inserted_message_is_one_change() {
        let recorded = "system: a\n\nuser: one\n\nuser: two";
        let now = "system: a\n\nsystem: b\n\nuser: one\n\nuser: two";
        let shown = prompt_difference(recorded, now).unwrap();
        assert_eq!(shown.lines().filter(|line| line.starts_with("  + ")).count(), 2, "{shown}");
        assert!(!shown.contains("  - "), "{shown}");
        assert!(shown.contains("  + system: b"), "{shown}");
    }

    #[test]
    fn long_lines_are_shown_where_they_part() {
        let line = |word: &str| format!("user: {} {word} {}", "a".repeat(1000), "b".repeat(1000));
        let shown = prompt_difference(&line("left"), &line("right")).unwrap();
        assert!(shown.contains("left") && shown.contains("right"), "{shown}");
        assert!(shown.len() < 500, "{shown}");
        assert!(shown.lines().all(|line| line.contains('…')), "a cut keeps a mark: {shown}");
    }

    #[test]
    fn many_changes_are_cut() {
        let text = |word: &str| vec![word; 1000].join("\n");
        let shown = prompt_difference(&text("a"), &text("b")).unwrap();
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("… 1960 lines more"), "{shown}");
    }

    proptest::proptest! {
        #[test]
        fn what_differs_is_shown(left in "[ab\n]{0,30}", right in "[ab\n]{0,30}") {
            let shown = prompt_difference(&left, &right);
            let is_same = left.lines().eq(right.lines());
            let has_change = shown.is_some_and(|text| text.lines().any(|line| line.starts_with("  -") || line.starts_with("  +")));
            proptest::prop_assert_eq!(has_change, !is_same);
        }
    }
}
