//! How a method uses its parameters and the object's variables.
//!
//! A walk over the body keeps, for every local, which value it stands for: a parameter, an instance variable, an
//! element or attribute of one of these. What is called on such a value, and what it is compared with, is noted on it.

mod patterns;

use std::collections::{BTreeMap, HashMap};

use ruby_prism::{CallNode, Node, Visit};

use crate::facts::Usage;
use crate::source::{constant, literal_code, name, text};

/// What was learned about the values of one method.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) params: BTreeMap<String, Usage>,
    pub(crate) variables: BTreeMap<String, Usage>,
    pub(crate) stores: Vec<(String, String)>,
}

/// Follows the values through a body. `readers` are attributes: calling one is reading its variable.
pub(crate) fn learn(body: Option<Node<'_>>, params: &[String], readers: &[String]) -> Learned {
    let mut walker = Walker {
        readers,
        nodes: vec![],
        roots: BTreeMap::new(),
        locals: HashMap::new(),
        stores: vec![],
    };
    for param in params {
        let root = walker.root(param);
        walker.locals.insert(param.clone(), root);
    }
    if let Some(body) = body {
        walker.visit(&body);
    }
    let mut learned = Learned { stores: walker.stores.clone(), ..Learned::default() };
    for (key, id) in &walker.roots {
        let usage = walker.usage(*id, 0);
        if key.starts_with('@') {
            learned.variables.insert(key.clone(), usage);
        } else {
            learned.params.insert(key.clone(), usage);
        }
    }
    learned
}

/// Adds what `other` knows.
pub(crate) fn merge(into: &mut Usage, other: &Usage, depth: u32) {
    if depth > 4 {
        return;
    }
    for (key, usage) in &other.calls {
        merge(into.calls.entry(key.clone()).or_default(), usage, depth + 1);
    }
    for (key, usage) in &other.keys {
        merge(into.keys.entry(key.clone()).or_default(), usage, depth + 1);
    }
    if let Some(element) = &other.element {
        merge(into.element.get_or_insert_with(Box::default), element, depth + 1);
    }
    for (list, more) in [
        (&mut into.equals, &other.equals),
        (&mut into.bounds, &other.bounds),
        (&mut into.patterns, &other.patterns),
        (&mut into.classes, &other.classes),
        (&mut into.flows, &other.flows),
    ] {
        for item in more {
            if !list.contains(item) && list.len() < 40 {
                list.push(item.clone());
            }
        }
    }
    into.truth |= other.truth;
}

#[derive(Debug, Default)]
struct Value {
    own: Usage,
    calls: BTreeMap<String, usize>,
    keys: BTreeMap<String, usize>,
    element: Option<usize>,
}

struct Walker<'a> {
    readers: &'a [String],
    nodes: Vec<Value>,
    roots: BTreeMap<String, usize>,
    locals: HashMap<String, usize>,
    stores: Vec<(String, String)>,
}

/// Methods whose block gets the elements.
const EACH: &[&str] = &[
    "each",
    "map",
    "collect",
    "select",
    "filter",
    "reject",
    "find",
    "detect",
    "any?",
    "all?",
    "none?",
    "flat_map",
    "each_with_index",
    "each_with_object",
    "sort_by",
    "min_by",
    "max_by",
    "group_by",
    "partition",
    "sum",
    "count",
    "find_index",
    "index",
    "filter_map",
    "take_while",
    "drop_while",
    "each_char",
    "each_line",
    "map!",
    "reject!",
    "delete_if",
    "each_slice",
    "zip",
    "uniq",
    "to_h",
    "reverse_each",
    "each_entry",
    "inject",
    "reduce",
];

impl Walker<'_> {
    fn root(&mut self, key: &str) -> usize {
        if let Some(id) = self.roots.get(key) {
            return *id;
        }
        let id = self.fresh();
        self.roots.insert(key.to_owned(), id);
        id
    }

    fn fresh(&mut self) -> usize {
        self.nodes.push(Value::default());
        self.nodes.len() - 1
    }

    fn called(&mut self, id: usize, method: &str) -> usize {
        if let Some(child) = self.nodes[id].calls.get(method) {
            return *child;
        }
        let child = self.fresh();
        self.nodes[id].calls.insert(method.to_owned(), child);
        child
    }

    fn keyed(&mut self, id: usize, key: &str) -> usize {
        if let Some(child) = self.nodes[id].keys.get(key) {
            return *child;
        }
        let child = self.fresh();
        self.nodes[id].keys.insert(key.to_owned(), child);
        child
    }

    fn element(&mut self, id: usize) -> usize {
        if let Some(child) = self.nodes[id].element {
            return child;
        }
        let child = self.fresh();
        self.nodes[id].element = Some(child);
        child
    }

    fn usage(&self, id: usize, depth: u32) -> Usage {
        let value = &self.nodes[id];
        let mut usage = value.own.clone();
        if depth < 5 {
            for (key, child) in &value.calls {
                usage.calls.insert(key.clone(), self.usage(*child, depth + 1));
            }
            for (key, child) in &value.keys {
                usage.keys.insert(key.clone(), self.usage(*child, depth + 1));
            }
            usage.element = value.element.map(|child| Box::new(self.usage(child, depth + 1)));
        }
        usage
    }

    /// The value that an expression stands for, if we follow it.
    fn resolve(&mut self, node: &Node<'_>) -> Option<usize> {
        if let Some(read) = node.as_local_variable_read_node() {
            return self.locals.get(&name(read.name().as_slice())).copied();
        }
        if let Some(read) = node.as_instance_variable_read_node() {
            return Some(self.root(&name(read.name().as_slice())));
        }
        if let Some(inner) = crate::probes::grouped(node) {
            return self.resolve(&inner);
        }
        if let Some(or) = node.as_or_node() {
            return self.resolve(&or.left());
        }
        if let Some(write) = node.as_local_variable_write_node() {
            return self.resolve(&write.value());
        }
        let call = node.as_call_node()?;
        let method = name(call.name().as_slice());
        let Some(receiver) = call.receiver().filter(|receiver| receiver.as_self_node().is_none())
        else {
            let is_reader = call.arguments().is_none() && self.readers.contains(&method);
            return is_reader.then(|| self.root(&format!("@{method}")));
        };
        let owner = self.resolve(&receiver)?;
        let first = first_argument(&call);
        match (method.as_str(), first.as_ref().and_then(|first| literal_code(first))) {
            ("[]" | "fetch" | "dig" | "delete" | "key?" | "has_key?" | "include?", Some(key))
                if key.starts_with(':') || key.starts_with('"') =>
            {
                Some(self.keyed(owner, &key))
            }
            ("[]" | "first" | "last" | "pop" | "shift" | "sample", _) => {
                self.called(owner, &method);
                Some(self.element(owner))
            }
            // These change the value but not what it is.
            (
                "to_s" | "strip" | "downcase" | "upcase" | "dup" | "to_sym" | "to_i" | "freeze"
                | "chomp" | "to_a" | "compact" | "clone",
                _,
            ) => {
                self.called(owner, &method);
                Some(owner)
            }
            _ => Some(self.called(owner, &method)),
        }
    }

    fn note(list: &mut Vec<String>, item: String) {
        if !list.contains(&item) && list.len() < 40 {
            list.push(item);
        }
    }

    fn truth(&mut self, node: &Node<'_>) {
        if let Some(id) = self.resolve(node) {
            self.nodes[id].own.truth = true;
        }
    }

    fn compare(&mut self, left: &Node<'_>, right: &Node<'_>, ordered: bool) {
        for (one, other) in [(left, right), (right, left)] {
            let Some(code) = comparable(other) else { continue };
            if let Some(id) = self.resolve(one) {
                let own = &mut self.nodes[id].own;
                Self::note(if ordered { &mut own.bounds } else { &mut own.equals }, code);
            }
        }
    }

    fn pattern(&mut self, value: &Node<'_>, pattern: &Node<'_>) {
        let Some(id) = self.resolve(value) else { return };
        let own = &mut self.nodes[id].own;
        if pattern.as_regular_expression_node().is_some() {
            Self::note(&mut own.patterns, text(pattern));
        } else if pattern.as_self_node().is_some() {
            Self::note(&mut own.classes, "self".to_owned());
        } else if let Some(class) = constant(pattern) {
            let shouted = class
                .rsplit("::")
                .next()
                .is_some_and(|last| last.len() > 1 && last.to_uppercase() == last);
            Self::note(if shouted { &mut own.patterns } else { &mut own.classes }, class);
        } else if let Some(code) = literal_code(pattern) {
            Self::note(&mut own.equals, code);
        } else if let Some(splat) = pattern.as_splat_node()
            && let Some(inner) = splat.expression()
        {
            self.member(value, &inner);
        }
    }

    /// A value that is looked up in a list or table.
    fn member(&mut self, value: &Node<'_>, list: &Node<'_>) {
        if let Some(table) = constant(list) {
            if let Some(id) = self.resolve(value) {
                Self::note(&mut self.nodes[id].own.patterns, table);
            }
            return;
        }
        let Some(array) = list.as_array_node() else { return };
        for element in &array.elements() {
            if let (Some(id), Some(code)) = (self.resolve(value), literal_code(&element)) {
                Self::note(&mut self.nodes[id].own.equals, code);
            }
        }
    }

    fn flows(&mut self, call: &CallNode<'_>) {
        let target = match call.receiver() {
            None => name(call.name().as_slice()),
            Some(receiver) if receiver.as_self_node().is_some() || is_own_class(&receiver) => {
                name(call.name().as_slice())
            }
            Some(receiver) => match constant(&receiver) {
                Some(class) => format!("{class}.{}", name(call.name().as_slice())),
                None => return,
            },
        };
        let Some(arguments) = call.arguments() else { return };
        for (place, argument) in arguments.arguments().iter().enumerate() {
            if let Some(pairs) = argument.as_keyword_hash_node() {
                for pair in &pairs.elements() {
                    let Some(pair) = pair.as_assoc_node() else { continue };
                    let key = pair.key().as_symbol_node().map(|key| name(key.unescaped()));
                    if let (Some(key), Some(id)) = (key, self.resolve(&pair.value())) {
                        Self::note(&mut self.nodes[id].own.flows, format!("{target}:{key}"));
                    }
                }
            } else if let Some(id) = self.resolve(&argument) {
                Self::note(&mut self.nodes[id].own.flows, format!("{target}:{place}"));
            }
        }
    }

    fn bind_block(&mut self, call: &CallNode<'_>) {
        let Some(receiver) = call.receiver() else { return };
        let Some(block) = call.block().and_then(|block| block.as_block_node()) else { return };
        let Some(params) = block.parameters().and_then(|params| params.as_block_parameters_node())
        else {
            return;
        };
        let names: Vec<String> = params
            .parameters()
            .map(|params| {
                params
                    .requireds()
                    .iter()
                    .filter_map(|param| {
                        param
                            .as_required_parameter_node()
                            .map(|param| name(param.name().as_slice()))
                    })
                    .collect()
            })
            .unwrap_or_default();
        let method = name(call.name().as_slice());
        let owner = self.resolve(&receiver);
        for (place, param) in names.iter().enumerate() {
            let value = match owner {
                Some(owner) if place == 0 && EACH.contains(&method.as_str()) => self.element(owner),
                _ => self.fresh(),
            };
            self.locals.insert(param.clone(), value);
        }
    }
}

/// `self.class`, on which the same names are known.
fn is_own_class(node: &Node<'_>) -> bool {
    node.as_call_node().is_some_and(|call| {
        call.name().as_slice() == b"class"
            && call.receiver().is_none_or(|receiver| receiver.as_self_node().is_some())
    })
}

fn comparable(node: &Node<'_>) -> Option<String> {
    literal_code(node).or_else(|| constant(node).filter(|name| !name.is_empty()))
}

fn first_argument<'pr>(call: &CallNode<'pr>) -> Option<Node<'pr>> {
    call.arguments().and_then(|arguments| arguments.arguments().first())
}

impl<'pr> Visit<'pr> for Walker<'_> {
    fn visit_local_variable_write_node(&mut self, node: &ruby_prism::LocalVariableWriteNode<'pr>) {
        self.visit(&node.value());
        let key = name(node.name().as_slice());
        match self.resolve(&node.value()) {
            Some(id) => drop(self.locals.insert(key, id)),
            None => drop(self.locals.remove(&key)),
        }
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'pr>,
    ) {
        self.visit(&node.value());
        let key = name(node.name().as_slice());
        if let Some(id) = self.resolve(&node.value()) {
            let param =
                self.roots.iter().find(|(root, other)| **other == id && !root.starts_with('@'));
            if let Some((param, _)) = param {
                self.stores.push((key, param.clone()));
            }
        }
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        self.truth(&node.predicate());
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'pr>) {
        self.truth(&node.predicate());
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_and_node(&mut self, node: &ruby_prism::AndNode<'pr>) {
        self.truth(&node.left());
        ruby_prism::visit_and_node(self, node);
    }

    fn visit_or_node(&mut self, node: &ruby_prism::OrNode<'pr>) {
        self.truth(&node.left());
        ruby_prism::visit_or_node(self, node);
    }

    fn visit_case_node(&mut self, node: &ruby_prism::CaseNode<'pr>) {
        if let Some(subject) = node.predicate() {
            for condition in &node.conditions() {
                let Some(when) = condition.as_when_node() else { continue };
                for pattern in &when.conditions() {
                    self.pattern(&subject, &pattern);
                }
            }
        }
        ruby_prism::visit_case_node(self, node);
    }

    fn visit_case_match_node(&mut self, node: &ruby_prism::CaseMatchNode<'pr>) {
        if let Some(id) = node.predicate().and_then(|subject| self.resolve(&subject)) {
            for condition in &node.conditions() {
                let Some(arm) = condition.as_in_node() else { continue };
                for code in patterns::accepted(&arm.pattern()) {
                    Self::note(&mut self.nodes[id].own.equals, code);
                }
            }
        }
        ruby_prism::visit_case_match_node(self, node);
    }

    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        self.bind_block(node);
        let method = name(node.name().as_slice());
        let first = first_argument(node);
        if let (Some(receiver), Some(first)) = (node.receiver(), first.as_ref()) {
            match method.as_str() {
                "==" | "!=" | "eql?" | "equal?" | "start_with?" | "end_with?" => self.compare(&receiver, first, false),
                "<" | ">" | "<=" | ">=" => self.compare(&receiver, first, true),
                "===" => self.pattern(first, &receiver),
                "=~" | "match" | "match?" | "!~" | "scan" | "gsub" | "sub" | "split" | "slice"
                | "gsub!" | "sub!" => {
                    if first.as_regular_expression_node().is_some()
                        || method.starts_with(['=', 'm', '!'])
                    {
                        self.pattern(&receiver, first);
                    }
                    if receiver.as_regular_expression_node().is_some()
                        || constant(&receiver).is_some()
                    {
                        self.pattern(first, &receiver);
                    }
                }
                "is_a?" | "kind_of?" | "instance_of?" => self.pattern(&receiver, first),
                "include?" | "member?" | "key?" | "has_key?" | "fetch" | "dig" => {
                    self.member(first, &receiver);
                }
                "[]"
                    // `str[/regex/]`
                    if first.as_regular_expression_node().is_some() => {
                        self.pattern(&receiver, first);
                    }
                "[]" if constant(&receiver).is_some() => self.member(first, &receiver),
                _ => {}
            }
        }
        self.flows(node);
        self.resolve(&node.as_node());
        ruby_prism::visit_call_node(self, node);
    }
}
