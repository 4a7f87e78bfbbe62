//! Repairs that change the words or the order of a spec and nothing that it says about the code. Pure.
//!
//! Focus is taken away, situations in `describe` become contexts, first words of contexts and descriptions are put right, and
//! the happy path is put first. Everything else is for people.

use super::rules::{Finding, check, corrected_context, corrected_example};
use super::tree::{self, Example, Group, Item};
use crate::blocks;

/// A repaired spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedSpec {
    /// Its text.
    pub text: String,
    /// What was repaired, with the places as they were.
    pub applied: Vec<Finding>,
}

/// Repairs what can be repaired safely.
#[must_use]
pub fn fix(path: &str, text: &str) -> FixedSpec {
    let found = check(path, text);
    let intact = blocks::intact(text);
    let worded = reword(text, &found);
    let ordered = reorder(&worded).unwrap_or(worded);
    let fresh = blocks::with_new_hashes(&ordered, &intact);
    let unchanged = || FixedSpec { text: text.to_owned(), applied: Vec::new() };
    if fresh == text || !ruby_prism::parse(fresh.as_bytes()).is_success() {
        return unchanged();
    }
    let left = check(path, &fresh);
    let count = |list: &[Finding], rule: u32| list.iter().filter(|one| one.rule == rule).count();
    // What was repaired is what is no longer found; rules are compared by number, since lines may have moved.
    let mut applied = Vec::new();
    for one in found.iter().filter(|one| one.is_fixable) {
        let gone = count(&found, one.rule).saturating_sub(count(&left, one.rule));
        if applied.iter().filter(|done: &&Finding| done.rule == one.rule).count() < gone {
            applied.push(one.clone());
        }
    }
    if left.len() > found.len() || applied.is_empty() {
        return unchanged();
    }
    FixedSpec { text: fresh, applied }
}

type Edit = ((usize, usize), String);

fn reword(text: &str, found: &[Finding]) -> String {
    let Some(items) = tree::read(text) else { return text.to_owned() };
    let mut edits: Vec<Edit> = Vec::new();
    collect(&items, text, found, &mut edits);
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(*span));
    let mut fresh = text.to_owned();
    for ((start, end), replacement) in edits {
        fresh.replace_range(start..end, &replacement);
    }
    fresh
}

fn collect(items: &[Item], text: &str, found: &[Finding], edits: &mut Vec<Edit>) {
    for item in items {
        match item {
            Item::Group(group) => {
                group_edits(group, text, found, edits);
                collect(&group.items, text, found, edits);
            }
            Item::Example(example) => example_edits(example, text, found, edits),
            Item::Loop { items, .. } => collect(items, text, found, edits),
            _ => {}
        }
    }
}

fn has_finding(found: &[Finding], rule: u32, line: u32) -> bool {
    found.iter().any(|one| one.rule == rule && one.line == line && one.is_fixable)
}

fn group_edits(group: &Group, text: &str, found: &[Finding], edits: &mut Vec<Edit>) {
    if has_finding(found, 28, group.line) {
        remove_focus(&group.word, group.word_span, text, edits);
    }
    if !has_finding(found, 20, group.line) {
        return;
    }
    if group.word.ends_with("describe") {
        edits.push((group.word_span, group.word.replace("describe", "context")));
    } else if let Some(span) = group.words.as_ref().and_then(|words| words.span) {
        edits.extend(corrected_context(&text[span.0..span.1]).map(|better| (span, better)));
    }
}

fn example_edits(example: &Example, text: &str, found: &[Finding], edits: &mut Vec<Edit>) {
    if has_finding(found, 28, example.line) {
        remove_focus(&example.word, example.word_span, text, edits);
    }
    let Some(span) = example.words.as_ref().and_then(|words| words.span) else { return };
    let mut words = text[span.0..span.1].to_owned();
    if has_finding(found, 19, example.line) {
        words = corrected_example(&words).unwrap_or(words);
    }
    if has_finding(found, 17, example.line) {
        let plain = words.trim().trim_end_matches('.').to_owned();
        let mut letters = plain.chars();
        if let Some(first) = letters.next() {
            words = first.to_lowercase().chain(letters).collect();
        }
    }
    if words != text[span.0..span.1] {
        edits.push((span, words));
    }
}

/// `fit` becomes `it`; a tag goes with its comma.
fn remove_focus(word: &str, span: (usize, usize), text: &str, edits: &mut Vec<Edit>) {
    if let Some(plain) = word
        .strip_prefix('f')
        .filter(|plain| matches!(*plain, "it" | "describe" | "context" | "specify" | "example"))
    {
        edits.push((span, plain.to_owned()));
        return;
    }
    let end = text[span.1..].find('\n').map_or(text.len(), |place| span.1 + place);
    for tag in [", focus: true", ", :focus => true", ", :focus"] {
        if let Some(place) = text[span.1..end].find(tag) {
            let start = span.1 + place;
            edits.push(((start, start + tag.len()), String::new()));
            return;
        }
    }
}

/// The first group whose contexts are in the wrong order is put right, then the next.
fn reorder(text: &str) -> Option<String> {
    let mut text = text.to_owned();
    let mut changed = false;
    for _ in 0..50 {
        let items = tree::read(&text)?;
        let Some(fresh) = fix_first_group(&items, &text) else { break };
        text = fresh;
        changed = true;
    }
    changed.then_some(text)
}

fn fix_first_group(items: &[Item], text: &str) -> Option<String> {
    for item in items {
        let Item::Group(group) = item else { continue };
        if let Some(fresh) =
            swap_contexts(group, text).or_else(|| fix_first_group(&group.items, text))
        {
            return Some(fresh);
        }
    }
    None
}

fn swap_contexts(group: &Group, text: &str) -> Option<String> {
    let contexts: Vec<&Group> = group
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Group(inner) if inner.word.ends_with("context") && !inner.is_shared => {
                Some(inner)
            }
            _ => None,
        })
        .collect();
    let first = contexts.first()?;
    let unhappy = |group: &Group| super::rules::is_unhappy_context(group);
    if !unhappy(first) || contexts.iter().all(|one| unhappy(one)) {
        return None;
    }
    let slots: Vec<(usize, usize)> =
        contexts.iter().map(|one| whole_lines(text, one.span)).collect::<Option<_>>()?;
    let mut order: Vec<usize> = (0..contexts.len()).collect();
    order.sort_by_key(|place| unhappy(contexts[*place]));
    let mut fresh = String::new();
    let mut last = 0;
    for (slot, place) in slots.iter().zip(&order) {
        fresh.push_str(&text[last..slot.0]);
        let (from, to) = slots[*place];
        fresh.push_str(&text[from..to]);
        last = slot.1;
    }
    fresh.push_str(&text[last..]);
    Some(fresh)
}

/// The lines of a group with the comments right above it, if nothing else stands on them.
fn whole_lines(text: &str, (start, end): (usize, usize)) -> Option<(usize, usize)> {
    let mut from = text[..start].rfind('\n').map_or(0, |place| place + 1);
    let to = text[end..].find('\n').map_or(text.len(), |place| end + place);
    if !text[from..start].trim().is_empty() || !text[end..to].trim().is_empty() {
        return None;
    }
    while from > 0 {
        let above = text[..from - 1].rfind('\n').map_or(0, |place| place + 1);
        if !text[above..from].trim_start().starts_with('#') {
            break;
        }
        from = above;
    }
    let managed =
        blocks::find(text).iter().any(|block| (block.body.0..block.body.1).contains(&from));
    (!managed && !text[from..to].contains("# proctor:")).then_some((from, to))
}
