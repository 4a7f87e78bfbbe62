//! Probes: which places of a method tell what an execution did, and the source with calls at those places.
//!
//! A probe either asks a condition for its truth or marks that a place was reached. Numbers are given in
//! source order and are the same for the analysis and for the instrumented text. Only insertions within lines:
//! line numbers stay true. A result that does not parse is thrown away in favour of the untouched source.
//! Comparisons get notes besides (see [`notes`](self::notes)): what was compared with what, so that a search knows what was missing.

mod by_place;
mod notes;

use ruby_prism::{
    AndNode, BlockNode, CallNode, CaseMatchNode, CaseNode, DefNode, IfNode, LambdaNode, Node,
    OrNode, RescueModifierNode, RescueNode, UnlessNode, UntilNode, Visit, WhileNode,
};

use self::by_place::ByPlace;
use crate::deep_stack::with_deep_stack;
use crate::mentions::Mentions;
use crate::outline::records::seen_through;
use crate::source::{constant, first_of, listed, statements};

/// The name of the module that instrumented code calls.
const MODULE: &str = "::ProctorProbe";

/// Where probes are: by what they look at and the offset where it starts.
#[derive(Debug, Default)]
pub(crate) struct ProbeMap {
    conditions: ByPlace<(u32, u32), u32>,
    places: ByPlace<u32, u32>,
    entries: ByPlace<u32, (u32, u32, u32)>,
    pub(crate) count: u32,
    notes: u32,
    edits: Vec<Edit>,
}

#[derive(Debug)]
struct Edit {
    offset: u32,
    /// Closing texts come before opening ones at the same place.
    closes: bool,
    order: i64,
    text: String,
}

impl ProbeMap {
    /// Where the probes are; the text that puts them there is made for [`instrument`] only. The constants that are named
    /// are noted on the same walk.
    pub(crate) fn of<'pr>(root: &Node<'pr>) -> (Self, Mentions<'pr>) {
        Self::place_all(root, false)
    }

    fn place_all<'pr>(root: &Node<'pr>, written: bool) -> (Self, Mentions<'pr>) {
        let mut placer = ProbePlacer {
            map: Self::default(),
            mentions: Mentions::default(),
            depth: 0,
            in_def: false,
            written,
        };
        placer.visit(root);
        let mut map = placer.map;
        map.conditions.settle();
        map.places.settle();
        map.entries.settle();
        (map, placer.mentions)
    }

    /// The probe that asks this condition.
    pub(crate) fn condition(&self, node: &Node<'_>) -> Option<u32> {
        let location = node.location();
        self.conditions.get((location.start(), location.end()))
    }

    /// The probe that marks this place (the offset of the clause's keyword).
    pub(crate) fn place(&self, offset: u32) -> Option<u32> {
        self.places.get(offset)
    }

    /// All probes that mark a place.
    pub(crate) fn marks(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.places.values().collect();
        ids.sort_unstable();
        ids
    }

    /// Entry probe, first and one past the last probe of the method that starts here.
    pub(crate) fn method(&self, offset: u32) -> Option<(u32, u32, u32)> {
        self.entries.get(offset)
    }
}

/// The source with probes; numbers start at `base`. Gives the source back where it cannot be done.
#[must_use]
pub fn instrument(source: &[u8], base: u32) -> Vec<u8> {
    with_deep_stack(source, || instrument_here(source, base))
}

fn instrument_here(source: &[u8], base: u32) -> Vec<u8> {
    let parsed = ruby_prism::parse(source);
    if !parsed.is_success() {
        return source.to_vec();
    }
    let (mut map, _) = ProbeMap::place_all(&parsed.node(), true);
    map.edits.sort_by_key(|edit| (edit.offset, !edit.closes, edit.order));
    let mut result = Vec::with_capacity(source.len() * 2);
    let mut from = 0;
    for edit in &map.edits {
        let offset = edit.offset as usize;
        result.extend_from_slice(&source[from..offset]);
        result.extend_from_slice(numbered(&edit.text, base).as_bytes());
        from = offset;
    }
    result.extend_from_slice(&source[from..]);
    if ruby_prism::parse(&result).is_success() { result } else { source.to_vec() }
}

/// Replaces the mark `<n>` by the final number.
fn numbered(text: &str, base: u32) -> String {
    let Some((before, rest)) = text.split_once('<') else { return text.to_owned() };
    let Some((number, after)) = rest.split_once('>') else { return text.to_owned() };
    format!("{before}{}{after}", number.parse::<u32>().unwrap_or(0) + base)
}

struct ProbePlacer<'pr> {
    map: ProbeMap,
    mentions: Mentions<'pr>,
    depth: i64,
    in_def: bool,
    /// Whether the edits are wanted, or only the numbers.
    written: bool,
}

impl<'pr> ProbePlacer<'pr> {
    fn next(&mut self) -> u32 {
        self.map.count += 1;
        self.map.count - 1
    }

    fn edit(&mut self, offset: u32, closes: bool, text: String) {
        // Among openings the outer comes first, among closings the inner.
        let order = if closes { -self.depth } else { self.depth };
        self.map.edits.push(Edit { offset, closes, order, text });
    }

    fn wrap(&mut self, node: &Node<'_>, letter: char) -> u32 {
        let id = self.next();
        self.depth += 1;
        if self.written {
            self.edit(node.location().start(), false, format!("{MODULE}.{letter}(<{id}>,("));
            self.edit(node.location().end(), true, "))".to_owned());
        }
        id
    }

    fn condition(&mut self, node: &Node<'pr>) {
        if let Some(both) = node.as_and_node() {
            self.condition(&both.left());
            return self.condition(&both.right());
        }
        if let Some(either) = node.as_or_node() {
            // The whole is one characteristic, so it is asked as well.
            let id = self.wrap(node, 'c');
            let location = node.location();
            self.map.conditions.insert((location.start(), location.end()), id);
            self.condition(&either.left());
            return self.condition(&either.right());
        }
        if let Some(inner) = grouped(node) {
            return self.condition(&inner);
        }
        if let Some(negated) = negated(node) {
            return self.condition(&negated);
        }
        if !can_wrap(node) {
            return self.visit(node);
        }
        let id = self.wrap(node, 'c');
        let location = node.location();
        self.map.conditions.insert((location.start(), location.end()), id);
        self.visit(node);
    }

    /// Marks that the clause whose keyword is at `key` was reached; `first` is its first statement.
    fn reached(&mut self, key: u32, first: Option<u32>, empty_at: u32) {
        let id = self.next();
        self.map.places.insert(key, id);
        self.depth += 1;
        if !self.written {
            return;
        }
        match first {
            Some(offset) => self.edit(offset, false, format!("{MODULE}.h(<{id}>);")),
            // After everything that closes there.
            None => self.map.edits.push(Edit {
                offset: empty_at,
                closes: true,
                order: i64::MAX,
                text: format!(";{MODULE}.h(<{id}>);nil "),
            }),
        }
    }

    /// Notes the constants of a part that gets no probes.
    fn mentioned(&mut self, part: Option<&Node<'pr>>) {
        if let Some(part) = part {
            self.mentions.visit(part);
        }
    }

    fn value(&mut self, key: u32, node: &Node<'_>) {
        if can_wrap(node) {
            let id = self.wrap(node, 'v');
            self.map.places.insert(key, id);
        }
    }

    fn body(&mut self, key: u32, body: Option<Node<'_>>) {
        if let Some(first) = first_statement(body) {
            self.reached(key, Some(first), first);
        }
    }

    /// Marks that the value of `x ||= value` or `x &&= value` was needed.
    fn needed(&mut self, key: u32, node: &Node<'_>) {
        if self.in_def {
            self.value(key, node);
        }
    }
}

/// The only statement in parentheses.
pub(crate) fn grouped<'pr>(node: &Node<'pr>) -> Option<Node<'pr>> {
    let body = node.as_parentheses_node()?.body()?;
    let list = body.as_statements_node()?.body();
    let mut inner = list.iter();
    let only = inner.next()?;
    inner.next().is_none().then_some(only)
}

/// What `!x` or `not x` negates.
pub(crate) fn negated<'pr>(node: &Node<'pr>) -> Option<Node<'pr>> {
    let call = node.as_call_node()?;
    if call.name().as_slice() == b"!" && call.arguments().is_none() {
        call.receiver()
    } else {
        None
    }
}

fn can_wrap(node: &Node<'_>) -> bool {
    let leaves = node.as_return_node().is_some()
        || node.as_break_node().is_some()
        || node.as_next_node().is_some()
        || node.as_redo_node().is_some()
        || node.as_retry_node().is_some();
    let special = node.as_match_last_line_node().is_some()
        || node.as_interpolated_match_last_line_node().is_some()
        || node.as_flip_flop_node().is_some()
        || node.as_splat_node().is_some()
        || node.as_array_node().is_some_and(|array| array.opening_loc().is_none());
    !leaves && !special
}

fn first_statement(body: Option<Node<'_>>) -> Option<u32> {
    let body = body?;
    let first = if let Some(begin) = body.as_begin_node() {
        first_of(begin.statements().as_ref())
    } else if let Some(list) = body.as_statements_node() {
        first_of(Some(&list))
    } else {
        Some(body)
    };
    first.map(|first| first.location().start())
}

/// Assignments that depend on what is there already.
macro_rules! assignments {
    ($($visit:ident: $node:ident),+ $(,)?) => {
        $(fn $visit(&mut self, node: &ruby_prism::$node<'pr>) {
            self.needed(node.location().start(), &node.value());
            ruby_prism::$visit(self, node);
        })+
    };
}

impl<'pr> Visit<'pr> for ProbePlacer<'pr> {
    fn visit_def_node(&mut self, node: &DefNode<'pr>) {
        let was = std::mem::replace(&mut self.in_def, true);
        let from = self.map.count;
        let start = node.location().start();
        if node.equal_loc().is_some() {
            if let Some(first) = statements(node.body()).first() {
                self.value(start, first);
            }
        } else {
            self.body(start, node.body());
        }
        // Only the body: defaults of parameters are left alone.
        for part in [node.receiver(), node.parameters().map(|list| list.as_node())] {
            self.mentioned(part.as_ref());
        }
        if let Some(body) = node.body() {
            self.visit(&body);
        }
        self.map.entries.insert(start, (from, from, self.map.count));
        self.in_def = was;
    }

    fn visit_if_node(&mut self, node: &IfNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_if_node(self, node);
        }
        self.condition(&node.predicate());
        if let Some(list) = node.statements() {
            self.visit(&list.as_node());
        }
        if let Some(next) = node.subsequent() {
            self.visit(&next);
        }
    }

    fn visit_unless_node(&mut self, node: &UnlessNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_unless_node(self, node);
        }
        self.condition(&node.predicate());
        if let Some(list) = node.statements() {
            self.visit(&list.as_node());
        }
        if let Some(next) = node.else_clause() {
            self.visit(&next.as_node());
        }
    }

    fn visit_while_node(&mut self, node: &WhileNode<'pr>) {
        if self.in_def {
            self.condition(&node.predicate());
        } else {
            self.mentioned(Some(&node.predicate()));
        }
        if let Some(list) = node.statements() {
            self.visit(&list.as_node());
        }
    }

    fn visit_until_node(&mut self, node: &UntilNode<'pr>) {
        if self.in_def {
            self.condition(&node.predicate());
        } else {
            self.mentioned(Some(&node.predicate()));
        }
        if let Some(list) = node.statements() {
            self.visit(&list.as_node());
        }
    }

    fn visit_and_node(&mut self, node: &AndNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_and_node(self, node);
        }
        self.condition(&node.left());
        self.visit(&node.right());
    }

    fn visit_or_node(&mut self, node: &OrNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_or_node(self, node);
        }
        self.condition(&node.left());
        self.visit(&node.right());
    }

    fn visit_case_node(&mut self, node: &CaseNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_case_node(self, node);
        }
        let note = node.predicate().map(|subject| self.note_subject(&subject));
        for condition in &node.conditions() {
            let Some(when) = condition.as_when_node() else { continue };
            let list = listed(when.statements());
            let last = when.conditions().iter().last().map_or(0, |last| last.location().end());
            let empty = when.then_keyword_loc().map_or(last, |then| then.end());
            let first = list.first().map(|first| first.location().start());
            for pattern in &when.conditions() {
                // Without a subject the conditions are ordinary ones.
                match note {
                    Some(note) => self.note_pattern(note, &pattern),
                    None => self.condition(&pattern),
                }
            }
            self.reached(when.location().start(), first, empty);
            for statement in &list {
                self.visit(statement);
            }
        }
        let end = node.end_keyword_loc().start();
        if let Some(other) = node.else_clause() {
            let list = listed(other.statements());
            if let Some(first) = list.first() {
                self.reached(other.location().start(), Some(first.location().start()), 0);
            }
            for statement in &list {
                self.visit(statement);
            }
        } else {
            let id = self.next();
            self.map.places.insert(end, id);
            if self.written {
                self.edit(end, true, format!(";else {MODULE}.h(<{id}>);nil;"));
            }
        }
    }

    fn visit_case_match_node(&mut self, node: &CaseMatchNode<'pr>) {
        if !self.in_def {
            return ruby_prism::visit_case_match_node(self, node);
        }
        self.note_matched(node);
        for condition in &node.conditions() {
            let Some(arm) = condition.as_in_node() else { continue };
            self.mentioned(Some(&arm.pattern()));
            let list = listed(arm.statements());
            if let Some(first) = list.first() {
                self.reached(arm.location().start(), Some(first.location().start()), 0);
            }
            for statement in &list {
                self.visit(statement);
            }
        }
        if let Some(other) = node.else_clause() {
            let list = listed(other.statements());
            if let Some(first) = list.first() {
                self.reached(other.location().start(), Some(first.location().start()), 0);
            }
            for statement in &list {
                self.visit(statement);
            }
        }
    }

    fn visit_rescue_node(&mut self, node: &RescueNode<'pr>) {
        if self.in_def
            && let Some(first) = first_of(node.statements().as_ref())
        {
            self.reached(node.location().start(), Some(first.location().start()), 0);
        }
        ruby_prism::visit_rescue_node(self, node);
    }

    fn visit_rescue_modifier_node(&mut self, node: &RescueModifierNode<'pr>) {
        self.visit(&node.expression());
        if self.in_def {
            self.value(node.keyword_loc().start(), &node.rescue_expression());
        }
        self.visit(&node.rescue_expression());
    }

    fn visit_block_node(&mut self, node: &BlockNode<'pr>) {
        if self.in_def {
            self.body(node.location().start(), node.body());
        }
        ruby_prism::visit_block_node(self, node);
    }

    /// A lambda of a class is called later, like a method.
    fn visit_lambda_node(&mut self, node: &LambdaNode<'pr>) {
        let was = std::mem::replace(&mut self.in_def, true);
        self.body(node.location().start(), node.body());
        ruby_prism::visit_lambda_node(self, node);
        self.in_def = was;
    }

    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let plain = node.equal_loc().is_none();
        if self.in_def
            && node.is_safe_navigation()
            && plain
            && let Some(receiver) = node.receiver()
            && can_wrap(&receiver)
        {
            let id = self.wrap(&receiver, 'c');
            let location = receiver.location();
            self.map.conditions.insert((location.start(), location.end()), id);
        } else if self.in_def && !node.is_safe_navigation() {
            self.note_call(node);
        }
        let later = node.receiver().is_none()
            && matches!(
                node.name().as_slice(),
                b"define_method" | b"define_singleton_method" | b"lambda" | b"proc"
            )
            || node.receiver().is_none() && seen_through(node.name().as_slice()).is_some();
        let was = self.in_def;
        let from = self.map.count;
        self.in_def |= later;
        ruby_prism::visit_call_node(self, node);
        self.in_def = was;
        let defines = matches!(node.name().as_slice(), b"define_method" | b"scope")
            || seen_through(node.name().as_slice()).is_some();
        if defines && from < self.map.count {
            self.map.entries.insert(node.location().start(), (from, from, self.map.count));
        }
    }

    /// What is only asked for its existence is not evaluated.
    fn visit_defined_node(&mut self, node: &ruby_prism::DefinedNode<'pr>) {
        self.mentioned(Some(&node.value()));
    }

    fn visit_constant_read_node(&mut self, node: &ruby_prism::ConstantReadNode<'pr>) {
        self.mentions.visit_constant_read_node(node);
    }

    /// Its outer parts are no mentions of their own.
    fn visit_constant_path_node(&mut self, node: &ruby_prism::ConstantPathNode<'pr>) {
        self.mentions.visit_constant_path_node(node);
        if constant(&node.as_node()).is_none() {
            let mentions = std::mem::take(&mut self.mentions);
            ruby_prism::visit_constant_path_node(self, node);
            self.mentions = mentions;
        }
    }

    assignments! {
        visit_local_variable_or_write_node: LocalVariableOrWriteNode,
        visit_local_variable_and_write_node: LocalVariableAndWriteNode,
        visit_instance_variable_or_write_node: InstanceVariableOrWriteNode,
        visit_instance_variable_and_write_node: InstanceVariableAndWriteNode,
        visit_class_variable_or_write_node: ClassVariableOrWriteNode,
        visit_class_variable_and_write_node: ClassVariableAndWriteNode,
        visit_global_variable_or_write_node: GlobalVariableOrWriteNode,
        visit_global_variable_and_write_node: GlobalVariableAndWriteNode,
        visit_index_or_write_node: IndexOrWriteNode,
        visit_index_and_write_node: IndexAndWriteNode,
        visit_call_or_write_node: CallOrWriteNode,
        visit_call_and_write_node: CallAndWriteNode,
    }
}
