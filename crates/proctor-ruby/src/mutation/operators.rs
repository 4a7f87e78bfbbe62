//! The operators: a walk over the tree that collects changes.

use ruby_prism::{CallNode, DefNode, Location, Node, ParseResult, Visit};

use super::SourceMutant;
use super::places::{CodePlace, Enclosure, MethodPlace, nesting, obstacle};
use crate::source::{Source, name, nodes};

/// Binary operators and what stands in for them.
const OPERATORS: &[(&[u8], &[&str])] = &[
    (b"==", &["!="]),
    (b"!=", &["=="]),
    (b"<", &["<=", ">"]),
    (b"<=", &["<", ">"]),
    (b">", &[">=", "<"]),
    (b">=", &[">", "<"]),
    (b"+", &["-"]),
    (b"-", &["+"]),
    (b"*", &["/"]),
    (b"/", &["*"]),
    (b"%", &["*"]),
    (b"**", &["*"]),
    (b"=~", &["!~"]),
    (b"!~", &["=~"]),
    (b"&", &["|"]),
    (b"|", &["&"]),
];

/// Methods and what stands in for them.
const METHODS: &[(&[u8], &str)] = &[
    (b"first", "last"),
    (b"last", "first"),
    (b"min", "max"),
    (b"max", "min"),
    (b"any?", "all?"),
    (b"all?", "any?"),
    (b"select", "reject"),
    (b"reject", "select"),
    (b"upcase", "downcase"),
    (b"downcase", "upcase"),
    (b"start_with?", "end_with?"),
    (b"end_with?", "start_with?"),
    (b"push", "unshift"),
    (b"unshift", "push"),
    (b"floor", "ceil"),
    (b"ceil", "floor"),
    (b"shift", "pop"),
    (b"pop", "shift"),
];

/// Calls that load code: another file, or none, would test the file system.
const LOADING: &[&[u8]] = &[b"require", b"require_relative", b"load", b"autoload", b"using"];
/// Calls whose absence nothing but another caller would notice.
const VISIBILITY: &[&[u8]] = &[
    b"private",
    b"protected",
    b"public",
    b"module_function",
    b"private_class_method",
    b"public_class_method",
    b"private_constant",
];
/// Names in a method whose meaning depends on the file being loaded as such.
const FILE_BOUND: &[&[u8]] = &[b"__dir__", b"require_relative"];
/// Names anywhere in a file after which a method cannot be evaluated on its own.
const FILE_OBSTACLES: &[(&[u8], &str)] = &[
    (b"using ", "the file uses refinements"),
    (b"refine ", "the file defines refinements"),
    (b"ruby2_keywords", "the file uses ruby2_keywords"),
];

/// What the walk has found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) mutants: Vec<SourceMutant>,
    pub(super) places: Vec<CodePlace>,
}

/// All changes of a file, in source order; some may not parse.
pub(super) fn collect(parsed: &ParseResult<'_>, lines: &Source<'_>) -> Found {
    let source = parsed.source();
    let file_obstacle = FILE_OBSTACLES.iter().find(|(word, _)| contains(source, word));
    let mut heredocs = Heredocs::default();
    heredocs.visit(&parsed.node());
    let mut walk = Walk {
        lines,
        source,
        heredocs: heredocs.0,
        file_obstacle: file_obstacle.map(|(_, why)| (*why).to_owned()),
        enclosures: Vec::new(),
        statement: None,
        place: 0,
        found: Found { places: vec![CodePlace::default()], ..Found::default() },
    };
    walk.visit(&parsed.node());
    let mut found = walk.found;
    found
        .mutants
        .sort_by(|a, b| (a.start, a.end, &a.replacement).cmp(&(b.start, b.end, &b.replacement)));
    found
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// Byte ranges of heredocs: their markers and their texts.
#[derive(Default)]
struct Heredocs(Vec<(u32, u32)>);

impl Heredocs {
    fn add(
        &mut self,
        opening: Option<Location<'_>>,
        closing: Option<Location<'_>>,
        parts: &[(u32, u32)],
    ) {
        let Some(opening) = opening.filter(|it| it.as_slice().starts_with(b"<<")) else { return };
        self.0.push((opening.start(), opening.end()));
        let end = closing.map_or(opening.end(), |closing| closing.end());
        let start = parts.iter().map(|part| part.0).min().unwrap_or(end);
        self.0.push((start.min(end), end));
    }
}

fn range(location: &Location<'_>) -> (u32, u32) {
    (location.start(), location.end())
}

impl<'pr> Visit<'pr> for Heredocs {
    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        self.add(node.opening_loc(), node.closing_loc(), &[range(&node.content_loc())]);
    }

    fn visit_interpolated_string_node(&mut self, node: &ruby_prism::InterpolatedStringNode<'pr>) {
        let parts: Vec<_> = nodes(&node.parts()).iter().map(|it| range(&it.location())).collect();
        self.add(node.opening_loc(), node.closing_loc(), &parts);
        ruby_prism::visit_interpolated_string_node(self, node);
    }

    fn visit_x_string_node(&mut self, node: &ruby_prism::XStringNode<'pr>) {
        self.add(Some(node.opening_loc()), Some(node.closing_loc()), &[range(&node.content_loc())]);
    }

    fn visit_interpolated_x_string_node(
        &mut self,
        node: &ruby_prism::InterpolatedXStringNode<'pr>,
    ) {
        let parts: Vec<_> = nodes(&node.parts()).iter().map(|it| range(&it.location())).collect();
        self.add(Some(node.opening_loc()), Some(node.closing_loc()), &parts);
        ruby_prism::visit_interpolated_x_string_node(self, node);
    }
}

struct Walk<'a> {
    lines: &'a Source<'a>,
    source: &'a [u8],
    heredocs: Vec<(u32, u32)>,
    file_obstacle: Option<String>,
    enclosures: Vec<Enclosure>,
    statement: Option<(u32, u32)>,
    place: usize,
    found: Found,
}

impl Walk<'_> {
    fn add(&mut self, (start, end): (u32, u32), replacement: &[u8], operator: &str) {
        if self.heredocs.iter().any(|(from, to)| start < *to && *from < end) {
            return;
        }
        self.found.mutants.push(SourceMutant {
            start,
            end,
            replacement: replacement.to_vec(),
            operator: operator.to_owned(),
            line: self.lines.line(start),
            end_line: self.lines.line(end.max(start + 1) - 1),
            statement: self.statement,
            place: self.place,
            in_inner_block: self.in_inner_block(),
            equivalent: None,
        });
    }

    fn in_inner_block(&self) -> bool {
        let method = self.enclosures.iter().rposition(|it| *it == Enclosure::Method);
        method.is_some_and(|at| self.enclosures[at..].contains(&Enclosure::Block))
    }

    fn replace(&mut self, node: &Node<'_>, replacement: &str, operator: &str) {
        self.add(range(&node.location()), replacement.as_bytes(), operator);
    }

    /// Puts the code of `kept` where `node` stands.
    fn keep(&mut self, node: &Node<'_>, kept: &Node<'_>, operator: &str) {
        self.wrap(node, kept, ("(", ")"), operator);
    }

    fn wrap(
        &mut self,
        node: &Node<'_>,
        kept: &Node<'_>,
        (left, right): (&str, &str),
        operator: &str,
    ) {
        let (start, end) = range(&kept.location());
        let code = &self.source[start as usize..end as usize];
        let text = [left.as_bytes(), code, right.as_bytes()].concat();
        self.add(range(&node.location()), &text, operator);
    }

    fn condition(&mut self, node: &Node<'_>, constants: &[&str]) {
        self.wrap(node, node, ("!(", ")"), "negate condition");
        for constant in constants {
            self.replace(node, constant, "force condition");
        }
    }

    /// Walks below a node with another enclosure, outside of the present statement.
    fn inside(&mut self, enclosure: Enclosure, walk: impl FnOnce(&mut Self)) {
        let (statement, place) = (self.statement.take(), self.place);
        self.enclosures.push(enclosure);
        walk(self);
        self.enclosures.pop();
        (self.statement, self.place) = (statement, place);
    }

    fn new_place(&mut self, place: CodePlace) {
        self.found.places.push(place);
        self.place = self.found.places.len() - 1;
    }

    /// Walks a module whose body is code of the file again, not of a method around it.
    fn module(&mut self, opener: String, body: Option<Node<'_>>) {
        self.inside(Enclosure::Module(opener), |walk| {
            if !walk.enclosures.contains(&Enclosure::Method) {
                let in_block = walk.enclosures.contains(&Enclosure::Block);
                walk.new_place(CodePlace { method: None, in_block });
            }
            if let Some(body) = body {
                walk.visit(&body);
            }
        });
    }

    fn code(location: &Location<'_>) -> String {
        name(location.as_slice()).into_owned()
    }

    fn method_place(&self, node: &DefNode<'_>) -> MethodPlace {
        let (start, end) = range(&node.location());
        let body = &self.source[start as usize..end as usize];
        let bound = FILE_BOUND.iter().any(|word| contains(body, word));
        let bound = bound.then(|| "it depends on the place of its file".to_owned());
        let foreign = node.receiver().is_some_and(|it| it.as_self_node().is_none());
        let foreign = foreign.then(|| "it is defined on another object".to_owned());
        let around = obstacle(&self.enclosures).map(str::to_owned);
        let receiver = node.operator_loc().zip(node.receiver());
        MethodPlace {
            name: name(node.name().as_slice()).into_owned(),
            start,
            end,
            lines: self.lines.lines(&node.location()),
            receiver: receiver
                .map(|(dot, receiver)| (receiver.location().start() - start, dot.end() - start)),
            nesting: nesting(&self.enclosures),
            obstacle: around.or(foreign).or(bound).or_else(|| self.file_obstacle.clone()),
        }
    }

    fn drop_statement(&mut self, node: &Node<'_>) {
        if node.as_return_node().is_some()
            || node.as_def_node().is_some()
            || node.as_class_node().is_some()
            || node.as_module_node().is_some()
            || node.as_singleton_class_node().is_some()
            || node.as_alias_method_node().is_some()
            || node.as_constant_write_node().is_some()
            || node.as_local_variable_write_node().is_some()
            || node.as_nil_node().is_some()
        {
            return;
        }
        if let Some(call) = node.as_call_node() {
            let called = call.name();
            let called = called.as_slice();
            if call.receiver().is_none()
                && (LOADING.contains(&called) || VISIBILITY.contains(&called))
            {
                return;
            }
            let is_raise = call.receiver().is_none() && matches!(called, b"raise" | b"fail");
            return self.replace(
                node,
                "nil",
                if is_raise { "remove raise" } else { "remove statement" },
            );
        }
        self.replace(node, "nil", "remove statement");
    }

    fn exchange(&mut self, node: &CallNode<'_>) {
        let Some(message) = node.message_loc() else { return };
        if node.receiver().is_none() {
            return;
        }
        // A unary minus has no argument; `-x` would become `+x`, which says little.
        if node.arguments().is_some() && node.call_operator_loc().is_none() {
            let found = OPERATORS.iter().find(|(from, _)| *from == message.as_slice());
            for to in found.map_or(&[][..], |(_, to)| to) {
                self.add(range(&message), to.as_bytes(), "exchange operator");
            }
        }
        if let Some((_, to)) = METHODS.iter().find(|(from, _)| *from == message.as_slice()) {
            self.add(range(&message), to.as_bytes(), "exchange method");
        }
    }

    /// `a.b(c)` becomes `a`, `f(a, b)` becomes `f(a)`, `a&.b` becomes `a.b`.
    fn shorten_call(&mut self, node: &CallNode<'_>) {
        if let (Some(receiver), Some(operator)) = (node.receiver(), node.call_operator_loc()) {
            if !node.is_attribute_write() {
                self.keep(&node.as_node(), &receiver, "drop call");
            }
            if operator.as_slice() == b"&." {
                self.add(range(&operator), b".", "drop safe navigation");
            }
        }
        let arguments = node.arguments().map(|list| nodes(&list.arguments()));
        if let Some([.., before, last]) = arguments.as_deref()
            && node.opening_loc().is_some_and(|it| it.as_slice() == b"(")
        {
            self.add((before.location().end(), last.location().end()), b"", "drop argument");
        }
    }

    fn logical(
        &mut self,
        node: &Node<'_>,
        sides: [Node<'_>; 2],
        operator: &Location<'_>,
        other: &str,
    ) {
        self.add(range(operator), other.as_bytes(), "exchange operator");
        for side in sides {
            self.keep(node, &side, "drop condition");
        }
    }

    fn is_safe_argument(node: &CallNode<'_>) -> bool {
        node.receiver().is_some() || !LOADING.contains(&node.name().as_slice())
    }
}

impl<'pr> Visit<'pr> for Walk<'_> {
    fn visit_statements_node(&mut self, node: &ruby_prism::StatementsNode<'pr>) {
        let before = self.statement;
        for statement in nodes(&node.body()) {
            self.statement = Some(self.lines.lines(&statement.location()));
            self.drop_statement(&statement);
            self.visit(&statement);
        }
        self.statement = before;
    }

    fn visit_class_node(&mut self, node: &ruby_prism::ClassNode<'pr>) {
        if let Some(superclass) = node.superclass() {
            self.visit(&superclass);
        }
        let opener = format!("class {}", Self::code(&node.constant_path().location()));
        self.module(opener, node.body());
    }

    fn visit_module_node(&mut self, node: &ruby_prism::ModuleNode<'pr>) {
        let opener = format!("module {}", Self::code(&node.constant_path().location()));
        self.module(opener, node.body());
    }

    fn visit_singleton_class_node(&mut self, node: &ruby_prism::SingletonClassNode<'pr>) {
        let opener = format!("class << {}", Self::code(&node.expression().location()));
        self.module(opener, node.body());
    }

    fn visit_def_node(&mut self, node: &DefNode<'pr>) {
        let place = CodePlace { method: Some(self.method_place(node)), in_block: false };
        self.inside(Enclosure::Method, |walk| {
            walk.new_place(place);
            if let Some(parameters) = node.parameters() {
                walk.visit(&parameters.as_node());
            }
            if let Some(body) = node.body() {
                walk.visit(&body);
            }
        });
    }

    fn visit_block_node(&mut self, node: &ruby_prism::BlockNode<'pr>) {
        self.block(|walk| ruby_prism::visit_block_node(walk, node));
    }

    fn visit_lambda_node(&mut self, node: &ruby_prism::LambdaNode<'pr>) {
        self.block(|walk| ruby_prism::visit_lambda_node(walk, node));
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        self.condition(&node.predicate(), &["true", "false"]);
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'pr>) {
        self.condition(&node.predicate(), &["true", "false"]);
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_while_node(&mut self, node: &ruby_prism::WhileNode<'pr>) {
        self.condition(&node.predicate(), &["false"]);
        ruby_prism::visit_while_node(self, node);
    }

    fn visit_until_node(&mut self, node: &ruby_prism::UntilNode<'pr>) {
        self.condition(&node.predicate(), &["true"]);
        ruby_prism::visit_until_node(self, node);
    }

    fn visit_and_node(&mut self, node: &ruby_prism::AndNode<'pr>) {
        let operator = node.operator_loc();
        let other = if operator.as_slice() == b"and" { "or" } else { "||" };
        self.logical(&node.as_node(), [node.left(), node.right()], &operator, other);
        ruby_prism::visit_and_node(self, node);
    }

    fn visit_or_node(&mut self, node: &ruby_prism::OrNode<'pr>) {
        let operator = node.operator_loc();
        let other = if operator.as_slice() == b"or" { "and" } else { "&&" };
        self.logical(&node.as_node(), [node.left(), node.right()], &operator, other);
        ruby_prism::visit_or_node(self, node);
    }

    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        if !Self::is_safe_argument(node) {
            return;
        }
        if node.name().as_slice() == b"!"
            && node.message_loc().is_some_and(|it| it.as_slice() != b"!~")
            && let Some(receiver) = node.receiver()
        {
            self.keep(&node.as_node(), &receiver, "drop negation");
        }
        self.exchange(node);
        self.shorten_call(node);
        let arguments = node.arguments().map(|list| nodes(&list.arguments())).unwrap_or_default();
        let gets_method = arguments.iter().any(|it| it.as_def_node().is_some());
        if gets_method && !VISIBILITY.contains(&node.name().as_slice()) {
            self.inside(Enclosure::Block, |walk| ruby_prism::visit_call_node(walk, node));
        } else {
            ruby_prism::visit_call_node(self, node);
        }
    }

    fn visit_integer_node(&mut self, node: &ruby_prism::IntegerNode<'pr>) {
        let code = Self::code(&node.location()).replace('_', "");
        if let Ok(number) = code.parse::<i64>() {
            self.replace(&node.as_node(), &number.wrapping_add(1).to_string(), "change number");
        }
    }

    fn visit_float_node(&mut self, node: &ruby_prism::FloatNode<'pr>) {
        let other = format!("{:?}", node.value() + 1.0);
        self.replace(&node.as_node(), &other, "change number");
    }

    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        let Some(opening) = node.opening_loc() else { return };
        if !matches!(opening.as_slice(), b"\"" | b"'") || node.closing_loc().is_none() {
            return;
        }
        let other = if node.unescaped().is_empty() { "\"mutant\"" } else { "\"\"" };
        self.replace(&node.as_node(), other, "change string");
    }

    fn visit_interpolated_string_node(&mut self, node: &ruby_prism::InterpolatedStringNode<'pr>) {
        if node.opening_loc().is_some_and(|it| it.as_slice() == b"\"") {
            self.replace(&node.as_node(), "\"\"", "change string");
        }
        ruby_prism::visit_interpolated_string_node(self, node);
    }

    fn visit_symbol_node(&mut self, node: &ruby_prism::SymbolNode<'pr>) {
        // Labels and the words of %i have no colon before them.
        if node.opening_loc().is_some_and(|it| it.as_slice() == b":") {
            self.replace(&node.as_node(), ":proctor_mutant", "change symbol");
        }
    }

    fn visit_regular_expression_node(&mut self, node: &ruby_prism::RegularExpressionNode<'pr>) {
        self.replace(&node.as_node(), "/(?!)/", "change regexp");
    }

    fn visit_true_node(&mut self, node: &ruby_prism::TrueNode<'pr>) {
        self.replace(&node.as_node(), "false", "flip boolean");
    }

    fn visit_false_node(&mut self, node: &ruby_prism::FalseNode<'pr>) {
        self.replace(&node.as_node(), "true", "flip boolean");
    }

    fn visit_nil_node(&mut self, node: &ruby_prism::NilNode<'pr>) {
        self.replace(&node.as_node(), "true", "change nil");
    }

    fn visit_array_node(&mut self, node: &ruby_prism::ArrayNode<'pr>) {
        let is_literal = node.opening_loc().is_some();
        if is_literal && !nodes(&node.elements()).is_empty() {
            self.replace(&node.as_node(), "[]", "empty literal");
        }
        ruby_prism::visit_array_node(self, node);
    }

    fn visit_hash_node(&mut self, node: &ruby_prism::HashNode<'pr>) {
        if !nodes(&node.elements()).is_empty() {
            self.replace(&node.as_node(), "{}", "empty literal");
        }
        ruby_prism::visit_hash_node(self, node);
    }

    fn visit_local_variable_write_node(&mut self, node: &ruby_prism::LocalVariableWriteNode<'pr>) {
        let value = node.value();
        if value.as_nil_node().is_none() {
            self.replace(&value, "nil", "assign nil");
        }
        ruby_prism::visit_local_variable_write_node(self, node);
    }

    fn visit_local_variable_operator_write_node(
        &mut self,
        node: &ruby_prism::LocalVariableOperatorWriteNode<'pr>,
    ) {
        self.exchange_assignment(&node.binary_operator_loc());
        ruby_prism::visit_local_variable_operator_write_node(self, node);
    }

    fn visit_instance_variable_operator_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableOperatorWriteNode<'pr>,
    ) {
        self.exchange_assignment(&node.binary_operator_loc());
        ruby_prism::visit_instance_variable_operator_write_node(self, node);
    }

    fn visit_return_node(&mut self, node: &ruby_prism::ReturnNode<'pr>) {
        match node.arguments() {
            Some(arguments) => {
                let list = nodes(&arguments.arguments());
                let location = arguments.location();
                if location.as_slice() != b"nil" {
                    self.add(range(&location), b"nil", "lose return value");
                }
                if let [only] = list.as_slice()
                    && only.as_splat_node().is_none()
                {
                    self.keep(&node.as_node(), only, "remove return");
                }
            }
            None => self.replace(&node.as_node(), "nil", "remove return"),
        }
        ruby_prism::visit_return_node(self, node);
    }

    fn visit_next_node(&mut self, node: &ruby_prism::NextNode<'pr>) {
        self.replace(&node.as_node(), "nil", "remove jump");
        ruby_prism::visit_next_node(self, node);
    }

    fn visit_break_node(&mut self, node: &ruby_prism::BreakNode<'pr>) {
        self.replace(&node.as_node(), "nil", "remove jump");
        ruby_prism::visit_break_node(self, node);
    }

    fn visit_rescue_node(&mut self, node: &ruby_prism::RescueNode<'pr>) {
        let exceptions = nodes(&node.exceptions());
        match (exceptions.first(), exceptions.last()) {
            (Some(first), Some(last)) => {
                let list = (first.location().start(), last.location().end());
                self.add(list, b"NoMemoryError", "change rescue");
            }
            _ => self.add(range(&node.keyword_loc()), b"rescue NoMemoryError", "change rescue"),
        }
        ruby_prism::visit_rescue_node(self, node);
    }

    fn visit_rescue_modifier_node(&mut self, node: &ruby_prism::RescueModifierNode<'pr>) {
        self.keep(&node.as_node(), &node.expression(), "change rescue");
        ruby_prism::visit_rescue_modifier_node(self, node);
    }
}

impl Walk<'_> {
    /// Walks a block. Inside of a method it is a part of the method.
    fn block(&mut self, walk: impl FnOnce(&mut Self)) {
        if self.enclosures.contains(&Enclosure::Method) {
            let statement = self.statement;
            self.enclosures.push(Enclosure::Block);
            walk(self);
            self.enclosures.pop();
            self.statement = statement;
        } else {
            let statement = self.statement;
            self.inside(Enclosure::Block, |inner| {
                inner.statement = statement;
                inner.new_place(CodePlace { method: None, in_block: true });
                walk(inner);
            });
        }
    }

    fn exchange_assignment(&mut self, operator: &Location<'_>) {
        let other: &[u8] = match operator.as_slice() {
            b"+=" => b"-=",
            b"-=" => b"+=",
            b"*=" => b"/=",
            b"/=" => b"*=",
            _ => return,
        };
        self.add(range(operator), other, "exchange operator");
    }
}
