//! A spec file as a tree of groups, examples and setup: plain data that rules look at. No rule is decided here.

use ruby_prism::{CallNode, Node, Visit};

use crate::syntax::{
    Lines, arguments, block_statements, constant, evened, name, options, span, text, word,
};

const GROUPS: &[&str] = &[
    "describe",
    "context",
    "feature",
    "fdescribe",
    "fcontext",
    "xdescribe",
    "xcontext",
    "example_group",
];
const SHARED: &[&str] = &[
    "shared_examples",
    "shared_examples_for",
    "shared_context",
    "it_behaves_like",
    "include_examples",
    "include_context",
    "it_should_behave_like",
];
const EXAMPLES: &[&str] = &[
    "it", "specify", "example", "scenario", "fit", "xit", "fspecify", "xspecify", "fexample",
    "xexample", "its", "pending", "skip",
];
const HOOKS: &[&str] =
    &["before", "after", "around", "prepend_before", "append_after", "background"];
const LETS: &[&str] = &["let", "let!", "given", "given!"];

/// One thing that stands in a group, in order.
#[derive(Debug)]
pub(crate) enum Item {
    Group(Group),
    Example(Example),
    Let {
        code: String,
        body: Body,
    },
    Subject {
        body: Body,
    },
    Hook {
        word: String,
        code: String,
        body: Body,
    },
    /// A call that brings in shared parts.
    Included,
    /// Examples made by a loop.
    Loop {
        line: u32,
        items: Vec<Item>,
    },
    /// Anything else.
    Other {
        body: Body,
    },
}

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// `describe`, `context`, …
    pub(crate) word: String,
    /// Its words, if it has some.
    pub(crate) words: Option<Words>,
    /// The constant it is about.
    pub(crate) constant: Option<String>,
    /// Tags, as `focus` or `type: :controller`.
    pub(crate) tags: Vec<String>,
    pub(crate) line: u32,
    /// Where it stands, from its first letter to its last.
    pub(crate) span: (usize, usize),
    /// Where its word stands.
    pub(crate) word_span: (usize, usize),
    pub(crate) is_shared: bool,
    pub(crate) items: Vec<Item>,
}

/// A description.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// What is between the quotes; none where something is filled in.
    pub(crate) span: Option<(usize, usize)>,
}

/// An example.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) word: String,
    pub(crate) words: Option<Words>,
    pub(crate) tags: Vec<String>,
    pub(crate) line: u32,
    pub(crate) word_span: (usize, usize),
    pub(crate) has_block: bool,
    /// Its code with evened white space.
    pub(crate) code: String,
    pub(crate) body: Body,
}

/// What the code of an example, hook or `let` does.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) statements: usize,
    pub(crate) expectations: Vec<Expectation>,
    /// `expect(…)` that nothing is demanded of.
    pub(crate) bare_expects: Vec<u32>,
    pub(crate) calls: Vec<Call>,
    /// Conditionals, loops by keyword and rescues: line and keyword.
    pub(crate) decisions: Vec<(u32, &'static str)>,
    /// Instance variables: line, name, whether it is set.
    pub(crate) variables: Vec<(u32, String, bool)>,
    /// Iterations that expect something inside: line.
    pub(crate) expecting_loops: Vec<u32>,
}

/// A demand.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) line: u32,
    /// What is looked at; empty for `is_expected`.
    pub(crate) subject: String,
    /// Whether `subject` is a block.
    pub(crate) is_block: bool,
    /// Whether `subject` is a literal.
    pub(crate) is_literal: bool,
    pub(crate) negated: bool,
    /// The matcher's name.
    pub(crate) matcher: String,
    /// The matcher's arguments, evened.
    pub(crate) wanted: String,
    /// Whether the matcher's first argument is a literal.
    pub(crate) wants_literal: bool,
    /// For a call: its receiver and name.
    pub(crate) call: Option<(Option<String>, String)>,
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) receiver: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) has_block: bool,
}

/// Reads a spec. `None` if it is not Ruby.
pub(crate) fn read(source: &str) -> Option<Vec<Item>> {
    let parsed = ruby_prism::parse(source.as_bytes());
    if !parsed.is_success() {
        return None;
    }
    let lines = Lines::new(source);
    let node = parsed.node();
    let program = node.as_program_node()?;
    let all: Vec<Node<'_>> = program.statements().body().iter().collect();
    Some(Reader { lines: &lines }.items(&all))
}

struct Reader<'a> {
    lines: &'a Lines,
}

impl Reader<'_> {
    fn items(&self, statements: &[Node<'_>]) -> Vec<Item> {
        statements.iter().flat_map(|statement| self.item(statement)).collect()
    }

    fn item(&self, node: &Node<'_>) -> Vec<Item> {
        // Groups within modules and classes are groups all the same.
        if let Some(module) = node.as_module_node() {
            return self.items(&crate::syntax::statements(module.body()));
        }
        let Some(call) = node.as_call_node() else {
            return vec![Item::Other { body: self.body(std::slice::from_ref(node)) }];
        };
        let word = name(&call);
        let receiver = call.receiver().map(|receiver| text(&receiver));
        let own =
            receiver.as_deref().is_none_or(|receiver| receiver == "RSpec" || receiver == "::RSpec");
        let word_text = word.as_str();
        let has_block = call.block().is_some_and(|block| block.as_block_node().is_some());
        match () {
            () if own
                && has_block
                && (GROUPS.contains(&word_text) || SHARED.contains(&word_text)) =>
            {
                vec![Item::Group(self.group(&call))]
            }
            () if own && SHARED.contains(&word_text) => vec![Item::Included],
            () if receiver.is_none()
                && EXAMPLES.contains(&word_text)
                && (has_block || !arguments(&call).is_empty()) =>
            {
                vec![Item::Example(self.example(&call))]
            }
            () if receiver.is_none() && LETS.contains(&word_text) => vec![Item::Let {
                code: evened(&text(node)),
                body: self.body(&block_statements(&call)),
            }],
            () if receiver.is_none()
                && matches!(word_text, "subject" | "subject!")
                && has_block =>
            {
                vec![Item::Subject { body: self.body(&block_statements(&call)) }]
            }
            () if receiver.is_none() && HOOKS.contains(&word_text) => vec![Item::Hook {
                word,
                code: evened(&text(node)),
                body: self.body(&block_statements(&call)),
            }],
            () if has_block && makes_examples(&call) => vec![Item::Loop {
                line: self.lines.of(call.location().start()),
                items: self.items(&block_statements(&call)),
            }],
            () => vec![Item::Other { body: self.body(std::slice::from_ref(node)) }],
        }
    }

    fn group(&self, call: &CallNode<'_>) -> Group {
        let list = arguments(call);
        let first = list.first();
        let word = name(call);
        Group {
            words: first.and_then(|first| self.words(first)),
            constant: first.and_then(constant),
            tags: tags(call),
            line: self.lines.of(call.location().start()),
            span: span(&call.location()),
            word_span: call.message_loc().map(|place| span(&place)).unwrap_or_default(),
            is_shared: SHARED.contains(&word.as_str()),
            items: self.items(&block_statements(call)),
            word,
        }
    }

    fn example(&self, call: &CallNode<'_>) -> Example {
        let list = arguments(call);
        let body = block_statements(call);
        Example {
            word: name(call),
            words: list.first().and_then(|first| self.words(first)),
            tags: tags(call),
            line: self.lines.of(call.location().start()),
            word_span: call.message_loc().map(|place| span(&place)).unwrap_or_default(),
            has_block: call.block().is_some(),
            code: body
                .iter()
                .map(|statement| evened(&text(statement)))
                .collect::<Vec<_>>()
                .join("; "),
            body: self.body(&body),
        }
    }

    #[expect(clippy::unused_self, reason = "beside its siblings")]
    fn words(&self, node: &Node<'_>) -> Option<Words> {
        if let Some(string) = node.as_string_node() {
            return Some(Words {
                text: word(string.unescaped()),
                span: Some(span(&string.content_loc())),
            });
        }
        let parts = node.as_interpolated_string_node()?;
        let first = parts.parts().iter().next()?;
        let start = first.as_string_node().map(|string| word(string.unescaped()));
        Some(Words { text: start.unwrap_or_else(|| "…".to_owned()), span: None })
    }

    fn body(&self, statements: &[Node<'_>]) -> Body {
        let mut looker = Looker { lines: self.lines, body: Body::default(), inside_expect: 0 };
        for statement in statements {
            looker.visit(statement);
        }
        looker.body.statements = statements.len();
        looker.body
    }
}

/// `[…].each do … it … end`
fn makes_examples(call: &CallNode<'_>) -> bool {
    call.receiver().is_some()
        && block_statements(call).iter().any(|statement| {
            statement.as_call_node().is_some_and(|inner| {
                let word = name(&inner);
                inner.receiver().is_none()
                    && inner.block().is_some()
                    && (EXAMPLES.contains(&word.as_str()) || GROUPS.contains(&word.as_str()))
            })
        })
}

fn tags(call: &CallNode<'_>) -> Vec<String> {
    let symbols = arguments(call)
        .into_iter()
        .skip(1)
        .filter_map(|argument| argument.as_symbol_node().map(|symbol| word(symbol.unescaped())));
    let pairs = options(call).into_iter().map(|(key, value)| format!("{key}: {}", text(&value)));
    symbols.chain(pairs).collect()
}

struct Looker<'a> {
    lines: &'a Lines,
    body: Body,
    inside_expect: u32,
}

impl Looker<'_> {
    fn line(&self, node: &Node<'_>) -> u32 {
        self.lines.of(node.location().start())
    }

    fn decides(&mut self, node: &Node<'_>, keyword: &'static str) {
        let line = self.line(node);
        self.body.decisions.push((line, keyword));
    }

    fn variable(&mut self, offset: u32, name: &[u8], is_set: bool) {
        self.body.variables.push((self.lines.of(offset), word(name), is_set));
    }

    /// `expect(x).to matcher`, `is_expected.not_to matcher`
    fn demand(&mut self, call: &CallNode<'_>) -> bool {
        let verb = name(call);
        if !matches!(verb.as_str(), "to" | "not_to" | "to_not") {
            return false;
        }
        let Some(looked) = call.receiver().and_then(|receiver| receiver.as_call_node()) else {
            return false;
        };
        let what = name(&looked);
        if looked.receiver().is_some()
            || !matches!(what.as_str(), "expect" | "is_expected" | "expect_any_instance_of")
        {
            return false;
        }
        let list = arguments(&looked);
        let subject = list.first();
        let block = looked.block().and_then(|block| block.as_block_node());
        let matcher = arguments(call).into_iter().next();
        let matcher_call = matcher.as_ref().and_then(Node::as_call_node);
        let wanted = matcher_call.as_ref().map(arguments).unwrap_or_default();
        self.body.expectations.push(Expectation {
            line: self.lines.of(call.location().start()),
            subject: match (subject, &block) {
                (Some(subject), _) => evened(&text(subject)),
                (None, Some(block)) => evened(
                    &crate::syntax::statements(block.body())
                        .iter()
                        .map(text)
                        .collect::<Vec<_>>()
                        .join("; "),
                ),
                (None, None) => String::new(),
            },
            is_block: block.is_some(),
            is_literal: subject.is_some_and(is_literal),
            negated: verb != "to",
            matcher: matcher_call.as_ref().map(root_name).unwrap_or_default(),
            wanted: wanted.iter().map(|one| evened(&text(one))).collect::<Vec<_>>().join(", "),
            wants_literal: wanted.first().is_some_and(is_literal),
            call: subject.and_then(|subject| {
                let subject = unwrapped(subject)?;
                Some((subject.receiver().map(|receiver| evened(&text(&receiver))), name(&subject)))
            }),
        });
        true
    }
}

/// A call, with or without parentheses around it.
fn unwrapped<'pr>(node: &Node<'pr>) -> Option<CallNode<'pr>> {
    if let Some(call) = node.as_call_node() {
        return Some(call);
    }
    let inner = node.as_parentheses_node()?;
    crate::syntax::statements(inner.body()).first()?.as_call_node()
}

/// `change { }.from(1).to(2)` is `change`; `a.and b` is `a`.
fn root_name(call: &CallNode<'_>) -> String {
    match call.receiver().and_then(|receiver| receiver.as_call_node()) {
        Some(inner) => root_name(&inner),
        None => name(call),
    }
}

fn is_literal(node: &Node<'_>) -> bool {
    node.as_integer_node().is_some()
        || node.as_float_node().is_some()
        || node.as_string_node().is_some()
        || node.as_symbol_node().is_some()
        || node.as_true_node().is_some()
        || node.as_false_node().is_some()
        || node.as_nil_node().is_some()
}

/// Calls that go through a collection.
const ITERATIONS: &[&str] = &[
    "each",
    "each_with_index",
    "each_with_object",
    "times",
    "upto",
    "downto",
    "step",
    "map",
    "each_pair",
    "each_key",
    "each_value",
    "loop",
    "zip",
    "each_slice",
    "each_cons",
    "select",
    "reject",
];

impl<'pr> Visit<'pr> for Looker<'_> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let word = name(node);
        let line = self.lines.of(node.location().start());
        let is_demand = self.demand(node);
        let bare = node.receiver().is_none();
        if bare && word == "expect" && self.inside_expect == 0 {
            self.body.bare_expects.push(line);
        }
        if matches!(word.as_str(), "should" | "should_not") && !bare {
            let subject =
                node.receiver().map(|receiver| evened(&text(&receiver))).unwrap_or_default();
            let matcher =
                arguments(node).first().map(|first| evened(&text(first))).unwrap_or_default();
            self.body.expectations.push(Expectation {
                line,
                subject,
                is_block: false,
                is_literal: false,
                negated: word == "should_not",
                matcher: matcher.split(['(', ' ', '.']).next().unwrap_or_default().to_owned(),
                wanted: String::new(),
                wants_literal: false,
                call: None,
            });
        }
        self.body.calls.push(Call {
            line,
            receiver: node.receiver().map(|receiver| evened(&text(&receiver))),
            arguments: arguments(node).iter().map(|argument| evened(&text(argument))).collect(),
            has_block: node.block().is_some(),
            name: word.clone(),
        });
        let before = self.body.expectations.len();
        if is_demand {
            self.inside_expect += 1;
        }
        ruby_prism::visit_call_node(self, node);
        if is_demand {
            self.inside_expect -= 1;
        }
        let is_loop = ITERATIONS.contains(&word.as_str())
            && node.block().is_some_and(|block| block.as_block_node().is_some());
        if is_loop && self.body.expectations.len() > before && self.inside_expect == 0 {
            self.body.expecting_loops.push(line);
        }
    }

    fn visit_if_node(&mut self, node: &ruby_prism::IfNode<'pr>) {
        self.decides(&node.as_node(), "if");
        ruby_prism::visit_if_node(self, node);
    }

    fn visit_unless_node(&mut self, node: &ruby_prism::UnlessNode<'pr>) {
        self.decides(&node.as_node(), "unless");
        ruby_prism::visit_unless_node(self, node);
    }

    fn visit_case_node(&mut self, node: &ruby_prism::CaseNode<'pr>) {
        self.decides(&node.as_node(), "case");
        ruby_prism::visit_case_node(self, node);
    }

    fn visit_while_node(&mut self, node: &ruby_prism::WhileNode<'pr>) {
        self.decides(&node.as_node(), "while");
        ruby_prism::visit_while_node(self, node);
    }

    fn visit_until_node(&mut self, node: &ruby_prism::UntilNode<'pr>) {
        self.decides(&node.as_node(), "until");
        ruby_prism::visit_until_node(self, node);
    }

    fn visit_for_node(&mut self, node: &ruby_prism::ForNode<'pr>) {
        self.decides(&node.as_node(), "for");
        ruby_prism::visit_for_node(self, node);
    }

    fn visit_begin_node(&mut self, node: &ruby_prism::BeginNode<'pr>) {
        if node.rescue_clause().is_some() {
            self.decides(&node.as_node(), "rescue");
        }
        ruby_prism::visit_begin_node(self, node);
    }

    fn visit_rescue_modifier_node(&mut self, node: &ruby_prism::RescueModifierNode<'pr>) {
        self.decides(&node.as_node(), "rescue");
        ruby_prism::visit_rescue_modifier_node(self, node);
    }

    fn visit_instance_variable_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableWriteNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
        ruby_prism::visit_instance_variable_write_node(self, node);
    }

    fn visit_instance_variable_or_write_node(
        &mut self,
        node: &ruby_prism::InstanceVariableOrWriteNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
        ruby_prism::visit_instance_variable_or_write_node(self, node);
    }

    fn visit_instance_variable_read_node(
        &mut self,
        node: &ruby_prism::InstanceVariableReadNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), false);
    }

    fn visit_instance_variable_target_node(
        &mut self,
        node: &ruby_prism::InstanceVariableTargetNode<'pr>,
    ) {
        self.variable(node.location().start(), node.name().as_slice(), true);
    }

    // Helper methods are no part of the example that stands beside them.
    fn visit_def_node(&mut self, _node: &ruby_prism::DefNode<'pr>) {}
    fn visit_class_node(&mut self, _node: &ruby_prism::ClassNode<'pr>) {}
}
