//! Rules that compare parts of a spec: 6, 7, 9, and instance variables over a whole file (11).

use std::collections::{BTreeMap, HashMap};

use super::words::is_failure_context;
use super::{Checker, Finding, Scope, finding};
use crate::review::tree::{Body, Group, Item};

impl Checker<'_> {
    pub(super) fn group_shape(&mut self, group: &Group, scope: &Scope<'_>) {
        let contexts: Vec<&Group> = group.items.iter().filter_map(context).collect();
        self.check_happy_path_first(&contexts);
        self.same_setup(group, &contexts);
        self.same_examples(group);
        self.difference(group, scope);
    }

    fn check_happy_path_first(&mut self, contexts: &[&Group]) {
        let Some((first, rest)) = contexts.split_first() else { return };
        if self.managed.iter().any(|(from, to)| (*from..=*to).contains(&first.line)) {
            return;
        }
        if is_failure_context(first) && rest.iter().any(|other| !is_failure_context(other)) {
            self.add_fixable(
                7,
                first.line,
                "an error case stands before the happy path",
                "put the happy path first",
            );
        }
    }

    /// A `let` or hook that is the same in every sibling belongs above them.
    fn same_setup(&mut self, group: &Group, contexts: &[&Group]) {
        if contexts.len() < 2 {
            return;
        }
        let setups =
            |group: &Group| -> Vec<String> { group.items.iter().filter_map(setup_code).collect() };
        let (first, rest) = (setups(contexts[0]), &contexts[1..]);
        let all_else = group.items.iter().all(|item| !matches!(item, Item::Example(_)));
        for code in first {
            if all_else && rest.iter().all(|other| setups(other).contains(&code)) {
                self.add(
                    6,
                    contexts[0].line,
                    "every context has the same setup",
                    "move it to the group around them",
                );
                return;
            }
        }
    }

    fn same_examples(&mut self, group: &Group) {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for item in &group.items {
            let Item::Example(example) = item else { continue };
            if example.code.len() < 12 || example.body.expectations.is_empty() {
                continue;
            }
            if seen.insert(&example.code, example.line).is_some() {
                self.add(
                    6,
                    example.line,
                    "the example does the same as one before",
                    "keep one of them",
                );
            }
        }
    }

    /// A context whose examples look only at the subject must set something up.
    fn difference(&mut self, group: &Group, scope: &Scope<'_>) {
        if !group.word.ends_with("context")
            || group.is_shared
            || scope.shared
            || group.tags.iter().any(|tag| !tag.starts_with("focus"))
        {
            return;
        }
        let has_setup =
            group.items.iter().any(|item| !matches!(item, Item::Example(_) | Item::Group(_)));
        let has_groups = group.items.iter().any(|item| matches!(item, Item::Group(_)));
        let examples: Vec<&Body> = group
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Example(example) if example.has_block => Some(&example.body),
                _ => None,
            })
            .collect();
        if has_setup || has_groups || examples.is_empty() {
            return;
        }
        if examples.iter().all(|body| expects_only_subject(body)) {
            self.add(
                9,
                group.line,
                "the context sets up nothing of its own",
                "show the difference with let or before",
            );
        }
    }
}

/// One demand on the subject as it is, with nothing done before.
fn expects_only_subject(body: &Body) -> bool {
    body.statements == 1
        && body.expectations.len() == 1
        && body.expectations.iter().all(|one| {
            let subject = one.subject.as_str();
            subject.is_empty() || subject == "subject" || subject == "result"
        })
}

fn context(item: &Item) -> Option<&Group> {
    match item {
        Item::Group(group) if group.word.ends_with("context") && !group.is_shared => Some(group),
        _ => None,
    }
}

fn setup_code(item: &Item) -> Option<String> {
    match item {
        Item::Let { code, .. } => Some(code.clone()),
        Item::Hook { word, code, .. } if word == "before" => Some(code.clone()),
        _ => None,
    }
}

/// Instance variables: each is reported once, where it is first set.
pub(super) fn variables(items: &[Item], found: &mut Vec<Finding>) {
    let mut first: BTreeMap<String, (u32, bool)> = BTreeMap::new();
    walk(items, &mut |body| {
        for (line, name, is_set) in &body.variables {
            let entry = first.entry(name.clone()).or_insert((*line, *is_set));
            if *is_set && (!entry.1 || *line < entry.0) {
                *entry = (*line, true);
            }
        }
    });
    for (name, (line, _)) in first {
        found.push(finding(
            11,
            line,
            &format!("the instance variable {name} is used"),
            "use let",
            false,
        ));
    }
}

fn walk(items: &[Item], look: &mut dyn FnMut(&Body)) {
    for item in items {
        match item {
            Item::Group(group) => walk(&group.items, look),
            Item::Loop { items, .. } => walk(items, look),
            Item::Example(example) => look(&example.body),
            Item::Let { body, .. } | Item::Subject { body } | Item::Hook { body, .. } => look(body),
            Item::Other { .. } | Item::Included => {}
        }
    }
}
