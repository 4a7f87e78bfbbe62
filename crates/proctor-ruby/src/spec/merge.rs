//! Into an existing file: managed blocks are replaced if they were not edited, everything else stays as it is.

use ruby_prism::{Node, Visit};
use sha2::{Digest as _, Sha256};

use super::style::Style;
use super::write::{block, file, group};
use super::{ClassPlan, SpecPlan};
use crate::source::constant;

/// A file after the plan was put into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The new text.
    pub text: String,
    /// Methods whose block was edited by hand and therefore kept.
    pub kept: Vec<String>,
    /// Methods whose block was written.
    pub written: Vec<String>,
}

/// A short hash of a managed block.
pub(super) fn fingerprint(body: &str) -> String {
    Sha256::digest(body.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Puts a plan into a file. `methods` are those to be written; managed blocks of other methods stay.
/// Gives back `None` if the existing text is not Ruby: then nothing can be put into it.
#[must_use]
pub fn merge(existing: Option<&str>, plan: &SpecPlan) -> Option<Merged> {
    let Some(existing) = existing.filter(|text| !text.trim().is_empty()) else {
        let written = methods(plan).map(|(_, method)| method.id.clone()).collect();
        return Some(Merged { text: file(plan), kept: Vec::new(), written });
    };
    if !ruby_prism::parse(existing.as_bytes()).is_success() {
        return None;
    }
    let newline = if existing.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = existing.replace("\r\n", "\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let (mut kept, mut written) = (Vec::new(), Vec::new());
    for (class, method) in methods(plan) {
        let group = group_for(&text, &class.name);
        let outer = group.as_ref().map_or(class.name.as_str(), |group| &group.class);
        let fresh = block(outer, class, method, &plan.style);
        match managed(&text, &method.id) {
            Some(found) if found.edited => kept.push(method.id.clone()),
            Some(found) => {
                text.replace_range(found.range, &fresh);
                written.push(method.id.clone());
            }
            None if fresh.is_empty() => {}
            None => {
                insert(&mut text, class, &fresh, &plan.style);
                written.push(method.id.clone());
            }
        }
    }
    if newline == "\r\n" {
        text = text.replace('\n', "\r\n");
    }
    Some(Merged { text, kept, written })
}

fn methods(plan: &SpecPlan) -> impl Iterator<Item = (&ClassPlan, &super::MethodPlan)> {
    plan.classes.iter().flat_map(|class| class.methods.iter().map(move |method| (class, method)))
}

struct Managed {
    range: std::ops::Range<usize>,
    edited: bool,
}

fn managed(text: &str, id: &str) -> Option<Managed> {
    let begin = format!("# proctor:begin {id} ");
    let end = format!("# proctor:end {id}\n");
    let mark = text.find(&begin)?;
    let start = text[..mark].rfind('\n').map_or(0, |place| place + 1);
    let body_start = text[mark..].find('\n')? + mark + 1;
    let end_mark = text[body_start..].find(&end)? + body_start;
    let body_end = text[..end_mark].rfind('\n').map_or(0, |place| place + 1);
    let hash = text[mark + begin.len()..body_start].trim();
    let edited = fingerprint(&text[body_start..body_end]) != hash;
    Some(Managed { range: start..end_mark + end.len(), edited })
}

/// Puts a block at the end of the class's group, or a new group at the end of the file.
fn insert(text: &mut String, class: &ClassPlan, block: &str, style: &Style) {
    if let Some(group) = group_for(text, &class.name) {
        let line = text[..group.end].rfind('\n').map_or(0, |place| place + 1);
        let blank = if group.is_empty { "" } else { "\n" };
        text.insert_str(line, &format!("{blank}{block}"));
        return;
    }
    let shell = group(&class.name, &[], style);
    let group = shell.replacen("do\n", &format!("do\n{block}"), 1);
    text.push('\n');
    text.push_str(&group);
}

/// A group about a class.
struct Group {
    class: String,
    /// Offset of its `end`.
    end: usize,
    is_empty: bool,
}

/// The group that the methods of a class belong to: its own, or that of the class or module that it lies in.
fn group_for(text: &str, class: &str) -> Option<Group> {
    let parsed = ruby_prism::parse(text.as_bytes());
    let mut finder = Finder { found: Vec::new() };
    finder.visit(&parsed.node());
    let holds = |group: &Group| {
        class == group.class
            || class.strip_prefix(&group.class).is_some_and(|rest| rest.starts_with("::"))
    };
    let mut found: Vec<Group> = finder.found.into_iter().filter(holds).collect();
    let longest = found.iter().map(|group| group.class.len()).max()?;
    let place = found.iter().position(|group| group.class.len() == longest)?;
    Some(found.swap_remove(place))
}

struct Finder {
    found: Vec<Group>,
}

impl<'pr> Visit<'pr> for Finder {
    fn visit_call_node(&mut self, node: &ruby_prism::CallNode<'pr>) {
        let describes = matches!(node.name().as_slice(), b"describe" | b"context" | b"feature");
        let arguments: Vec<Node<'_>> =
            node.arguments().map(|list| list.arguments().iter().collect()).unwrap_or_default();
        let about = arguments.first().and_then(constant);
        // `describe Cart, "#add"` is about one method.
        let whole = arguments.get(1).is_none_or(|second| second.as_string_node().is_none());
        let block = node.block().and_then(|block| block.as_block_node());
        if let (true, true, Some(about), Some(block)) = (describes, whole, about, block)
            && block.opening_loc().as_slice() == b"do"
        {
            self.found.push(Group {
                class: about.trim_start_matches("::").to_owned(),
                end: block.closing_loc().start() as usize,
                is_empty: block.body().is_none(),
            });
        }
        ruby_prism::visit_call_node(self, node);
    }
}
