//! The rules that compare a spec with the analysis: every terminal branch has a context (5), and so has the other side of
//! every decision (8). What was executed decides, not the words of the spec. Pure.
//!
//! A method that no example executes is no finding here: it is reported as not reached. Neither is what waits in the spec as a
//! skipped example, nor what somebody switched off.

use std::collections::BTreeSet;

use proctor_ruby::{Characteristic, ClassFacts, FileFacts, MethodFacts, absorb};

use super::rules::{Finding, finding};
use super::tree::{self, Group, Item};

/// The rules that are checked here: number and what it demands.
pub const BRANCH_RULES: &[(u32, &str)] =
    &[(5, "every terminal branch has a context"), (8, "both sides of a decision are shown")];

/// What a run of the specs with probes showed of a file.
pub(crate) struct ExecutedProbes<'a> {
    pub(crate) seen: &'a BTreeSet<u64>,
    /// The number of the file's first probe.
    pub(crate) base: u32,
}

impl ExecutedProbes<'_> {
    fn reached(&self, probe: u32, answer: Option<bool>) -> bool {
        let key = (u64::from(probe + self.base) << 1) + u64::from(answer.unwrap_or(true));
        self.seen.contains(&key)
    }
}

/// Branches of these methods that no example of the spec takes.
pub(crate) fn check(
    facts: &FileFacts,
    spec: &str,
    probes: &ExecutedProbes<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
    disabled: &BTreeSet<String>,
) -> Vec<Finding> {
    let Some(items) = tree::read(spec) else { return Vec::new() };
    let mut told: BTreeSet<(u32, Option<bool>)> = BTreeSet::new();
    let mut found = Vec::new();
    for (class, method) in facts.methods().filter(|(_, method)| method.is_testable()) {
        let executed = method.entry_probe.is_some_and(|entry| probes.reached(entry, None));
        if !executed || !is_wanted(&method.id(&class.name)) {
            continue;
        }
        for (one, place) in missing(class, method, probes) {
            let arm = &one.arms[place];
            let switched_off = arm
                .behavior
                .as_ref()
                .is_some_and(|behavior| disabled.contains(&behavior.description));
            if switched_off
                || spec.contains(&arm.description)
                || !arm.probe.is_some_and(|probe| told.insert(probe))
            {
                continue;
            }
            let line = group_line(&items, &method.label()).unwrap_or(1);
            found.push(branch_finding(line, method, &one, place));
        }
    }
    found
}

/// Values that nothing takes, of decisions that are reached: where nothing is reached, the decision before has the finding.
fn missing(
    class: &ClassFacts,
    method: &MethodFacts,
    probes: &ExecutedProbes<'_>,
) -> Vec<(Characteristic, usize)> {
    let whole = absorb(class, method);
    let taken = |one: &Characteristic, place: usize| {
        one.arms[place].probe.is_some_and(|(probe, answer)| probes.reached(probe, answer))
    };
    let mut found = Vec::new();
    for one in &whole.characteristics {
        let all = 0..one.arms.len();
        if all.clone().any(|place| taken(one, place)) {
            let open = all.filter(|place| one.arms[*place].probe.is_some() && !taken(one, *place));
            found.extend(open.map(|place| (one.clone(), place)));
        }
    }
    found
}

fn branch_finding(line: u32, method: &MethodFacts, one: &Characteristic, place: usize) -> Finding {
    let arm = &one.arms[place];
    let (rule, words) = if arm.terminal {
        (5, "missing terminal branch context")
    } else {
        (8, "only one side of a decision is shown")
    };
    let label = method.label();
    let message = format!("{words}: {label} when {} (line {})", arm.description, one.lines.0);
    let fix = format!("add a context with \"when {}\"", arm.description);
    finding(rule, line, &message, &fix, false)
}

/// The line of the group that is about a method.
fn group_line(items: &[Item], label: &str) -> Option<u32> {
    let groups = items.iter().filter_map(|item| match item {
        Item::Group(group) => Some(group),
        _ => None,
    });
    let is_about = |group: &Group| group.words.as_ref().is_some_and(|words| words.text == label);
    let mut groups: Vec<&Group> = groups.collect();
    groups.sort_by_key(|group| !is_about(group));
    groups.iter().find_map(|group| {
        if is_about(group) { Some(group.line) } else { group_line(&group.items, label) }
    })
}
