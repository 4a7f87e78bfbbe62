//! The guide's rules that a program can check on a spec file, by the guide's numbers. Pure.
//!
//! Each rule looks at the tree of a spec and says what is wrong, where, and what to do. Rules about words are in `words`,
//! rules about code in `code`, rules that compare parts of a spec in `shape`. `docs/cover.md` lists them.

mod code;
mod shape;
mod words;

use serde::Serialize;

use super::tree::{self, Example, Group, Item};

pub(crate) use words::{
    corrected_context, corrected_example, is_failure_context as is_unhappy_context,
};

/// A violated rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's number in the guide.
    pub rule: u32,
    /// The line.
    pub line: u32,
    /// must, should
    pub severity: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: String,
    /// Whether `--fix` does it.
    pub is_fixable: bool,
}

/// The rules that are checked: number and what it demands.
pub const RULES: &[(u32, &str)] = &[
    (1, "behaviour, not implementation"),
    (2, "a test fails when its rule is broken"),
    (3, "one behaviour per example"),
    (6, "no setup or example twice"),
    (7, "the happy path first"),
    (9, "each context shows its difference"),
    (10, "an explicit subject"),
    (11, "three phases, with let instead of instance variables"),
    (15, "no programming in tests"),
    (17, "descriptions form a sentence"),
    (19, "present tense, third person, no modal verbs"),
    (20, "contexts begin with when, with or without"),
    (22, "no any_instance"),
    (24, "doubles are verified"),
    (26, "request specs rather than controller specs"),
    (27, "stable time and chance"),
    (28, "readable failures; nothing focused, empty or printed"),
];

/// Rules that must hold; the others should.
const MUST_RULES: &[u32] = &[1, 2, 4, 7, 11, 20, 22];

/// Checks a spec file. A file that is not Ruby has no findings: that is reported elsewhere.
#[must_use]
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some(items) = tree::read(text) else { return Vec::new() };
    let managed = managed(text);
    let mut checker = Checker { found: Vec::new(), path, constants: constants(text), managed };
    checker.items(&items, &Scope::default());
    shape::variables(&items, &mut checker.found);
    let mut found = checker.found;
    found.sort_by_key(|finding| (finding.line, finding.rule));
    found.dedup_by_key(|finding| (finding.line, finding.rule));
    found
}

/// First and last lines of the blocks that we manage: their analysis knows the happy path better than words do.
fn managed(text: &str) -> Vec<(u32, u32)> {
    let line =
        |offset: usize| u32::try_from(text[..offset].matches('\n').count() + 1).unwrap_or(u32::MAX);
    crate::blocks::find(text).iter().map(|block| (line(block.body.0), line(block.body.1))).collect()
}

/// Words that are names of code: no sentence begins wrongly with them.
fn constants(text: &str) -> Vec<String> {
    let strings: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let mut found: Vec<String> = Vec::new();
    for line in strings {
        // What stands between quotes is what is being judged.
        let code: String = line.split(['"', '\'']).step_by(2).collect::<Vec<_>>().join(" ");
        for word in code.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            if word.starts_with(char::is_uppercase) && !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}

/// What holds around a place.
#[derive(Default, Clone)]
pub(super) struct Scope<'t> {
    pub(super) groups: Vec<&'t Group>,
    /// Time is held still here.
    pub(super) frozen: bool,
    /// A subject is defined here.
    pub(super) subject: bool,
    pub(super) shared: bool,
}

pub(super) struct Checker<'t> {
    pub(super) found: Vec<Finding>,
    pub(super) path: &'t str,
    pub(super) constants: Vec<String>,
    pub(super) managed: Vec<(u32, u32)>,
}

impl<'t> Checker<'t> {
    pub(super) fn add(&mut self, rule: u32, line: u32, message: &str, fix: &str) {
        self.found.push(finding(rule, line, message, fix, false));
    }

    pub(super) fn add_fixable(&mut self, rule: u32, line: u32, message: &str, fix: &str) {
        self.found.push(finding(rule, line, message, fix, true));
    }

    fn items(&mut self, items: &'t [Item], scope: &Scope<'t>) {
        let scope = Scope {
            frozen: scope.frozen || items.iter().any(code::freezes_time),
            subject: scope.subject
                || items.iter().any(|item| matches!(item, Item::Subject { .. } | Item::Included)),
            ..scope.clone()
        };
        for item in items {
            match item {
                Item::Group(group) => self.group(group, &scope),
                Item::Example(example) => self.example(example, &scope),
                Item::Let { body, .. } | Item::Subject { body } => {
                    self.setup(body, &scope, "let");
                }
                Item::Hook { word, body, .. } => self.setup(body, &scope, word),
                Item::Loop { line, items } => {
                    self.add(
                        15,
                        *line,
                        "a loop generates examples",
                        "write them out, or use shared examples",
                    );
                    self.items(items, &scope);
                }
                Item::Other { body } => self.check_other_statements(body, &scope),
                Item::Included => {}
            }
        }
    }

    fn group(&mut self, group: &'t Group, scope: &Scope<'t>) {
        self.group_words(group, scope);
        self.group_code(group);
        self.group_shape(group, scope);
        let mut inner = scope.clone();
        inner.groups.push(group);
        inner.shared |= group.is_shared;
        inner.frozen |= group.tags.iter().any(|tag| code::is_time_tag(tag));
        self.items(&group.items, &inner);
    }

    fn example(&mut self, example: &'t Example, scope: &Scope<'t>) {
        self.example_words(example);
        self.example_code(example, scope);
    }
}

pub(in crate::review) fn finding(
    rule: u32,
    line: u32,
    message: &str,
    fix: &str,
    is_fixable: bool,
) -> Finding {
    let severity = if MUST_RULES.contains(&rule) { "must" } else { "should" };
    Finding { rule, line, severity, message: message.to_owned(), fix: fix.to_owned(), is_fixable }
}
