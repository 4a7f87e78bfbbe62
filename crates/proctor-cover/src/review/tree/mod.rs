//! A spec file as a tree of groups, examples and setup: plain data that rules look at. No rule is decided here.

mod body;

use ruby_prism::{CallNode, Node};

pub(crate) use body::{Body, Call, Expectation};

use crate::syntax::{
    Lines, arguments, block_statements, constant, name, normalize_whitespace, options, span, text,
    word,
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
    pub(crate) words: Option<Description>,
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
pub(crate) struct Description {
    pub(crate) text: String,
    /// What is between the quotes; none where something is filled in.
    pub(crate) span: Option<(usize, usize)>,
}

/// An example.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) word: String,
    pub(crate) words: Option<Description>,
    pub(crate) tags: Vec<String>,
    pub(crate) line: u32,
    pub(crate) word_span: (usize, usize),
    pub(crate) has_block: bool,
    /// Its code with evened white space.
    pub(crate) code: String,
    pub(crate) body: Body,
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
                code: normalize_whitespace(&text(node)),
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
                code: normalize_whitespace(&text(node)),
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
                .map(|statement| normalize_whitespace(&text(statement)))
                .collect::<Vec<_>>()
                .join("; "),
            body: self.body(&body),
        }
    }

    #[expect(clippy::unused_self, reason = "beside its siblings")]
    fn words(&self, node: &Node<'_>) -> Option<Description> {
        if let Some(string) = node.as_string_node() {
            return Some(Description {
                text: word(string.unescaped()),
                span: Some(span(&string.content_loc())),
            });
        }
        let parts = node.as_interpolated_string_node()?;
        let first = parts.parts().iter().next()?;
        let start = first.as_string_node().map(|string| word(string.unescaped()));
        Some(Description { text: start.unwrap_or_else(|| "…".to_owned()), span: None })
    }

    fn body(&self, statements: &[Node<'_>]) -> Body {
        body::read_body(self.lines, statements)
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
