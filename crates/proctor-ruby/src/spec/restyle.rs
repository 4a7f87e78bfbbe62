//! Code in the style of a project: quotes, word lists, numbers, the class under test by its role. Pure; code that cannot be
//! parsed stays as it is.

use std::ops::Range;

use ruby_prism::{Location, Node, Visit};

use super::style::Style;
use crate::source::{constant, name, owned, symbol_code, text};
use crate::words::underscore;

/// This code in this style. `class` is the one under test, whose name is `described_class` in its group.
#[must_use]
pub fn restyled(code: &str, style: &Style, class: Option<&str>) -> String {
    let mut code = code.to_owned();
    // What is inside of something that was replaced comes in the next round.
    for _ in 0..4 {
        let next = restyled_once(&code, style, class);
        if next == code {
            break;
        }
        code = next;
    }
    code
}

fn restyled_once(code: &str, style: &Style, class: Option<&str>) -> String {
    let parsed = ruby_prism::parse(code.as_bytes());
    if !parsed.is_success() {
        return code.to_owned();
    }
    let class = class.filter(|_| style.described_class);
    let mut finder = Finder { style, class, edits: Vec::new() };
    finder.visit(&parsed.node());
    let mut edits = finder.edits;
    edits.sort_by_key(|(range, _)| range.start);
    let mut result = String::with_capacity(code.len());
    let mut from = 0;
    for (range, new) in edits {
        if range.start < from {
            continue;
        }
        result.push_str(&code[from..range.start]);
        result.push_str(&new);
        from = range.end;
    }
    result.push_str(&code[from..]);
    result
}

struct Finder<'a> {
    style: &'a Style,
    class: Option<&'a str>,
    edits: Vec<(Range<usize>, String)>,
}

pub(super) fn range(location: &Location<'_>) -> Range<usize> {
    location.start() as usize..location.end() as usize
}

impl Finder<'_> {
    fn replace(&mut self, location: &Location<'_>, new: String) {
        self.edits.push((range(location), new));
    }

    /// The class under test, by its role.
    fn is_described(&mut self, node: &Node<'_>) -> bool {
        let found = self.class.is_some_and(|class| constant(node).as_deref() == Some(class));
        if found {
            self.replace(&node.location(), "described_class".to_owned());
        }
        found
    }

    /// `%w[a b]` or `%i[a b]` for a list of words.
    fn word_list(&self, elements: &[Node<'_>]) -> Option<String> {
        let reaches = |from: Option<usize>| from.is_some_and(|from| elements.len() >= from.max(1));
        let words = |read: &dyn Fn(&Node<'_>) -> Option<String>| {
            elements.iter().map(read).collect::<Option<Vec<String>>>().map(|words| words.join(" "))
        };
        let plain = |node: &Node<'_>| {
            let string = node.as_string_node()?;
            let quotes = string.opening_loc()?;
            let word = owned(string.unescaped());
            (matches!(quotes.as_slice(), b"\"" | b"'") && is_word(&word)).then_some(word)
        };
        let symbol = |node: &Node<'_>| {
            let symbol = node.as_symbol_node()?;
            let word = owned(symbol.unescaped());
            (text(node) == symbol_code(&word) && !text(node).contains('"')).then_some(word)
        };
        if reaches(self.style.word_arrays_from)
            && let Some(list) = words(&plain)
        {
            return Some(format!("%w[{list}]"));
        }
        if reaches(self.style.symbol_arrays_from) {
            return Some(format!("%i[{}]", words(&symbol)?));
        }
        None
    }
}

/// What `RuboCop` takes for a word.
fn is_word(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    !text.is_empty() && text.split('-').all(|part| !part.is_empty() && part.chars().all(is_letter))
}

/// `10000` is `10_000`.
fn with_underscores(number: &str, from: usize) -> Option<String> {
    let (sign, rest) = number.split_at(usize::from(number.starts_with('-')));
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, tail) = rest.split_at(digits);
    let plain = tail.is_empty() || tail.starts_with('.') || tail.starts_with(['e', 'r', 'i']);
    if digits < from || !plain {
        return None;
    }
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (digits - place) % 3 == 0 {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    Some(format!("{sign}{grouped}{tail}"))
}

impl<'pr> Visit<'pr> for Finder<'_> {
    fn visit_string_node(&mut self, node: &ruby_prism::StringNode<'pr>) {
        let code = name(node.location().as_slice()).into_owned();
        let new = match code.as_bytes().first() {
            Some(b'"') => self.style.quoted(&code),
            Some(b'\'') if !self.style.single_quotes => self.style.text(&owned(node.unescaped())),
            _ => return,
        };
        if new != code {
            self.replace(&node.location(), new);
        }
    }

    fn visit_array_node(&mut self, node: &ruby_prism::ArrayNode<'pr>) {
        let elements: Vec<Node<'_>> = node.elements().iter().collect();
        let brackets = node.opening_loc().is_some_and(|opening| opening.as_slice() == b"[");
        let words = self.word_list(&elements).filter(|_| brackets && !elements.is_empty());
        if let Some(list) = words {
            return self.replace(&node.location(), list);
        }
        if let (true, true, Some(open), Some(close)) =
            (brackets, self.style.spaces_in_brackets, node.opening_loc(), node.closing_loc())
            && let (Some(first), Some(last)) = (elements.first(), elements.last())
            && first.location().start() == open.end()
            && last.location().end() == close.start()
        {
            self.replace(&open, "[ ".to_owned());
            self.replace(&close, " ]".to_owned());
        }
        ruby_prism::visit_array_node(self, node);
    }

    fn visit_hash_node(&mut self, node: &ruby_prism::HashNode<'pr>) {
        let (open, close) = (node.opening_loc(), node.closing_loc());
        if let (Some(first), Some(last)) =
            (node.elements().iter().next(), node.elements().iter().last())
            && !self.style.spaces_in_braces
            && first.location().start() == open.end() + 1
            && last.location().end() + 1 == close.start()
        {
            self.edits.push((range(&open).start..range(&first.location()).start, "{".to_owned()));
            self.edits.push((range(&last.location()).end..range(&close).end, "}".to_owned()));
        }
        ruby_prism::visit_hash_node(self, node);
    }

    /// `:a => 1` is `a: 1`.
    fn visit_assoc_node(&mut self, node: &ruby_prism::AssocNode<'pr>) {
        let arrow = node.operator_loc().is_some_and(|operator| operator.as_slice() == b"=>");
        if let Some(symbol) = node.key().as_symbol_node().filter(|_| arrow) {
            let word = owned(symbol.unescaped());
            let code = symbol_code(&word);
            let label = if code.contains('"') { self.style.text(&word) } else { word };
            let end = range(&node.value().location()).start;
            self.edits.push((range(&node.location()).start..end, format!("{label}: ")));
            self.visit(&node.value());
        } else {
            ruby_prism::visit_assoc_node(self, node);
        }
    }

    fn visit_integer_node(&mut self, node: &ruby_prism::IntegerNode<'pr>) {
        self.number(&node.location());
    }

    fn visit_float_node(&mut self, node: &ruby_prism::FloatNode<'pr>) {
        self.number(&node.location());
    }

    fn visit_constant_read_node(&mut self, node: &ruby_prism::ConstantReadNode<'pr>) {
        self.is_described(&node.as_node());
    }

    fn visit_constant_path_node(&mut self, node: &ruby_prism::ConstantPathNode<'pr>) {
        // What lies within the class is named by its whole name.
        self.is_described(&node.as_node());
    }

    /// `/a\/b/` is `%r{a/b}`.
    fn visit_regular_expression_node(&mut self, node: &ruby_prism::RegularExpressionNode<'pr>) {
        let content = name(node.content_loc().as_slice()).into_owned();
        if node.opening_loc().as_slice() == b"/" && content.contains("\\/") {
            let flags = name(&node.closing_loc().as_slice()[1..]).into_owned();
            self.replace(&node.location(), format!("%r{{{}}}{flags}", content.replace("\\/", "/")));
        }
    }

    fn visit_call_node(&mut self, node: &ruby_prism::CallNode<'pr>) {
        let block = node.block().and_then(|block| block.as_block_node());
        let Some(block) = block else { return ruby_prism::visit_call_node(self, node) };
        if let Some(method) = method_of_parameter(&block) {
            self.method_as_block(node, &block, &method);
        } else if let Some(new) = without_it(node, &block) {
            self.replace(&block.location(), new);
        } else if changes_self(node) {
            // The role is known to the example only.
            let class = self.class.take();
            self.visit_block_node(&block);
            self.class = class;
        } else {
            self.visit_block_node(&block);
        }
        if let Some(receiver) = node.receiver() {
            self.visit(&receiver);
        }
        if let Some(arguments) = node.arguments() {
            self.visit_arguments_node(&arguments);
        }
    }
}

impl Finder<'_> {
    fn number(&mut self, location: &Location<'_>) {
        let code = name(location.as_slice()).into_owned();
        let new = self.style.underscores_from.and_then(|from| with_underscores(&code, from));
        if let Some(new) = new {
            self.replace(location, new);
        }
    }

    /// `each { |item| item.clear }` is `each(&:clear)`.
    fn method_as_block(
        &mut self,
        call: &ruby_prism::CallNode<'_>,
        block: &ruby_prism::BlockNode<'_>,
        method: &str,
    ) {
        let end = range(&block.location()).end;
        match (call.closing_loc(), call.arguments()) {
            (Some(close), Some(_)) => {
                self.edits.push((range(&close).start..end, format!(", &:{method})")));
            }
            (Some(close), None) => {
                self.edits.push((range(&close).start..end, format!("&:{method})")));
            }
            (None, None) => {
                if let Some(message) = call.message_loc() {
                    self.edits.push((range(&message).end..end, format!("(&:{method})")));
                }
            }
            (None, Some(_)) => {}
        }
    }
}

/// Calls whose blocks have another object as `self`.
fn changes_self(call: &ruby_prism::CallNode<'_>) -> bool {
    match call.name().as_slice() {
        b"class_eval" | b"instance_eval" | b"module_eval" | b"class_exec" | b"instance_exec" => {
            true
        }
        b"new" => {
            call.receiver().as_ref().and_then(constant).is_some_and(|class| {
                matches!(class.as_ref(), "Class" | "Module" | "Struct" | "Data")
            })
        }
        _ => false,
    }
}

/// The one method without arguments that a block calls on its one parameter.
fn method_of_parameter(block: &ruby_prism::BlockNode<'_>) -> Option<String> {
    let (parameter, body) = (parameter_of(block)?, block.body()?);
    let body = body.as_statements_node()?.body();
    let only = (body.len() == 1).then(|| body.first())??;
    let call = only.as_call_node()?;
    let plain = call.arguments().is_none()
        && call.block().is_none()
        && !call.is_safe_navigation()
        && call.name().as_slice().first().is_some_and(u8::is_ascii_alphabetic);
    let receiver = call.receiver()?.as_local_variable_read_node()?;
    let same = receiver.name().as_slice() == parameter.as_bytes();
    (plain && same).then(|| owned(call.name().as_slice()))
}

/// The only parameter of a block.
fn parameter_of(block: &ruby_prism::BlockNode<'_>) -> Option<String> {
    let parameters = block.parameters()?.as_block_parameters_node()?.parameters()?;
    let required: Vec<Node<'_>> = parameters.requireds().iter().collect();
    let others = parameters.optionals().len() + parameters.keywords().len();
    let [only] = required.as_slice() else { return None };
    let only = only.as_required_parameter_node()?;
    (others == 0 && parameters.rest().is_none()).then(|| owned(only.name().as_slice()))
}

/// A block whose parameter is called `it`, which is the word for examples, with another name for it.
fn without_it(
    call: &ruby_prism::CallNode<'_>,
    block: &ruby_prism::BlockNode<'_>,
) -> Option<String> {
    struct Uses(Vec<Range<usize>>);
    impl<'pr> Visit<'pr> for Uses {
        fn visit_local_variable_read_node(
            &mut self,
            node: &ruby_prism::LocalVariableReadNode<'pr>,
        ) {
            if node.name().as_slice() == b"it" {
                self.0.push(range(&node.location()));
            }
        }
        fn visit_required_parameter_node(&mut self, node: &ruby_prism::RequiredParameterNode<'pr>) {
            if node.name().as_slice() == b"it" {
                self.0.push(range(&node.location()));
            }
        }
    }
    if parameter_of(block)? != "it" {
        return None;
    }
    let own = first_constant(call)
        .map(|class| format!("new_{}", underscore(class.rsplit("::").next().unwrap_or_default())));
    let word = own.unwrap_or_else(|| "object".to_owned());
    let mut uses = Uses(Vec::new());
    uses.visit_block_node(block);
    let start = range(&block.location()).start;
    let mut code = name(block.location().as_slice()).into_owned();
    uses.0.sort_by_key(|range| std::cmp::Reverse(range.start));
    uses.0.dedup();
    for place in uses.0 {
        code.replace_range(place.start - start..place.end - start, &word);
    }
    Some(code)
}

/// The class that a chain of calls begins with.
fn first_constant(call: &ruby_prism::CallNode<'_>) -> Option<String> {
    let receiver = call.receiver()?;
    match receiver.as_call_node() {
        Some(inner) => first_constant(&inner),
        None => constant(&receiver).map(std::borrow::Cow::into_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styled(code: &str) -> String {
        restyled(code, &Style::default(), Some("A::B"))
    }

    #[test]
    fn literals_and_blocks_are_written_as_the_style_asks() {
        let cases = [
            ("x(\"a\", \"b\\n\", \"it's\")", "x('a', \"b\\n\", \"it's\")"),
            ("x([\"a\", \"b-c\"], [\"a b\", \"c\"])", "x(%w[a b-c], ['a b', 'c'])"),
            ("x([:a, :b?], [:\"a b\", :c])", "x(%i[a b?], [:\"a b\", :c])"),
            ("x(86400, 1234, -12345.5)", "x(86_400, 1234, -12_345.5)"),
            (
                "A::B.new(A::B, A::B::C.new, ::A::B)",
                "described_class.new(described_class, A::B::C.new, described_class)",
            ),
            ("x({ :a => 1, :\"b c\" => \"d\" })", "x({ a: 1, 'b c': 'd' })"),
            ("x(/a\\/b/i)", "x(%r{a/b}i)"),
            ("x.each(1) { |a| a.clear }", "x.each(1, &:clear)"),
            (
                "A::List.new.tap { |it| it.add(1) }",
                "A::List.new.tap { |new_list| new_list.add(1) }",
            ),
            ("Class.new { x(A::B) }", "Class.new { x(A::B) }"),
            ("expect(", "expect("),
        ];
        for (code, wanted) in cases {
            assert_eq!(styled(code), wanted, "{code}");
        }
    }

    #[test]
    fn a_project_may_ask_for_something_else() {
        let style = Style {
            single_quotes: false,
            spaces_in_braces: false,
            word_arrays_from: None,
            underscores_from: None,
            described_class: false,
            ..Style::default()
        };
        let code = "x({ a: 'b' }, [\"a\", \"b\"], 86400, A)";
        assert_eq!(restyled(code, &style, Some("A")), "x({a: \"b\"}, [\"a\", \"b\"], 86400, A)");
    }
}
