//! From a plan to text.

use super::helpers::{Helpers, Prepared, Step, arrange, mentions};
use super::layout::laid_out;
use super::restyle::restyled;
use super::style::Style;
use super::{ClassPlan, ExampleBody, ExamplePlan, Keep, MethodPlan, Observed, SpecPlan};
use crate::source::string_code;
use crate::words::underscore;

/// The first lines of every file we make.
const NOTICE: &str = "\
# Characterisation specs: what the code does today, observed by running it
# (proctor cover). Blocks between proctor:begin and proctor:end are written
# again when their method changes, unless they were edited by hand.
";

/// A whole new file: one group, for the first class, in which the methods of other classes stand with their names.
#[must_use]
pub fn file(plan: &SpecPlan) -> String {
    let mut text = String::new();
    if plan.style.frozen_comment {
        text.push_str("# frozen_string_literal: true\n\n");
    }
    text.push_str(NOTICE);
    text.push('\n');
    for line in &plan.requires {
        text.push_str(&restyled(line, &plan.style, None));
        text.push('\n');
    }
    let Some(outer) = outer_class(plan) else { return text };
    text.push('\n');
    text.push_str(&group(outer, &plan.classes, &plan.style));
    text
}

/// The class that a file is about: the one that the others lie in, or the first.
fn outer_class(plan: &SpecPlan) -> Option<&str> {
    let names: Vec<&str> = plan.classes.iter().map(|class| class.name.as_str()).collect();
    let first = names.first()?;
    let is_inside = |name: &str, outer: &str| {
        name == outer || name.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
    };
    let mut outer: &str = first;
    while !names.iter().all(|name| is_inside(name, outer)) {
        match outer.rsplit_once("::") {
            Some((shorter, _)) => outer = shorter,
            None => return Some(first),
        }
    }
    Some(outer)
}

/// The group of a class, complete, with the methods of these classes.
pub(super) fn group(outer: &str, classes: &[ClassPlan], style: &Style) -> String {
    let blocks: Vec<String> = classes
        .iter()
        .flat_map(|class| class.methods.iter().map(move |method| (class, method)))
        .map(|(class, method)| block(outer, class, method, style))
        .filter(|block| !block.is_empty())
        .collect();
    format!("RSpec.describe {outer} do\n{}end\n", blocks.join("\n"))
}

/// The managed block of a method, with its marks; empty if there is nothing to say. `outer` is the class whose group it stands in.
#[must_use]
pub fn block(outer: &str, class: &ClassPlan, method: &MethodPlan, style: &Style) -> String {
    if method.contexts.iter().all(|context| context.examples.is_empty()) {
        return String::new();
    }
    let pen = Pen { class: &class.name, style };
    let about = if outer == class.name { String::new() } else { format!("{}, ", class.name) };
    let mut lines = vec![format!("  describe {about}{} do", style.text(&method.label))];
    let (helpers, inner, bodies) = bodies(class, method, &pen);
    let mut parts: Vec<Vec<String>> = pen.helpers(&helpers, 4);
    parts.extend(around(&pen, method));
    let mut bodies = bodies.into_iter();
    for (context, own) in method.contexts.iter().zip(&inner) {
        if context.examples.is_empty() {
            continue;
        }
        let indent = if context.name.is_some() { 6 } else { 4 };
        let mut within: Vec<Vec<String>> = pen.helpers(own, indent);
        for example in &context.examples {
            let body = bodies.next().unwrap_or_default();
            within.push(pen.example(example, &body, indent));
        }
        match &context.name {
            None => parts.extend(within),
            Some(name) => {
                let mut lines = vec![format!("    context {} do", style.text(name))];
                lines.extend(within.join(&String::new()));
                lines.push("    end".to_owned());
                parts.push(lines);
            }
        }
    }
    lines.extend(parts.join(&String::new()));
    lines.push("  end".to_owned());
    let body = lines.join("\n") + "\n";
    let hash = super::merge::fingerprint(&body);
    format!("  # proctor:begin {} {hash}\n{body}  # proctor:end {}\n", method.id, method.id)
}

/// Writes statements in a style, within the group of a class.
struct Pen<'a> {
    class: &'a str,
    style: &'a Style,
}

impl Pen<'_> {
    /// A statement over the lines that it needs, each with its indentation.
    fn statement(&self, code: &str, indent: usize) -> Vec<String> {
        let code = restyled(code, self.style, Some(self.class));
        let pad = " ".repeat(indent);
        laid_out(&code, indent, self.style).iter().map(|line| format!("{pad}{line}")).collect()
    }

    /// The parts at the beginning of a group.
    fn helpers(&self, helpers: &Helpers, indent: usize) -> Vec<Vec<String>> {
        let mut parts = Vec::new();
        if let Some((name, code)) = &helpers.subject {
            parts.push(self.memoized("subject", name, code, indent));
        }
        if !helpers.lets.is_empty() {
            let lets = helpers.lets.iter();
            parts.push(
                lets.flat_map(|(name, code)| self.memoized("let", name, code, indent)).collect(),
            );
        }
        if !helpers.before.is_empty() {
            parts.push(self.before(&helpers.before, indent));
        }
        parts
    }

    fn memoized(&self, word: &str, name: &str, code: &str, indent: usize) -> Vec<String> {
        self.with_block(&format!("{word}(:{name})"), &[code.to_owned()], indent)
    }

    fn before(&self, codes: &[String], indent: usize) -> Vec<String> {
        self.with_block("before", codes, indent)
    }

    /// Statements in a block, on one line if there is one that fits.
    fn with_block(&self, head: &str, codes: &[String], indent: usize) -> Vec<String> {
        let pad = " ".repeat(indent);
        if let [only] = codes {
            let code = restyled(only, self.style, Some(self.class));
            let line = format!("{pad}{head} {{ {code} }}");
            let is_one = laid_out(&code, 0, self.style).len() == 1;
            if is_one && line.chars().count() <= self.style.width {
                return vec![line];
            }
        }
        let mut lines = vec![format!("{pad}{head} do")];
        lines.extend(codes.iter().flat_map(|code| self.statement(code, indent + 2)));
        lines.push(format!("{pad}end"));
        lines
    }

    fn example(&self, example: &ExamplePlan, body: &[String], indent: usize) -> Vec<String> {
        let pad = " ".repeat(indent);
        let mut lines = vec![format!("{pad}it {} do", self.style.text(&example.description))];
        match &example.body {
            ExampleBody::Pending(reason) => {
                let line = |reason: &str| format!("{pad}  skip {}", self.style.text(reason));
                let short = reason.replacen("no input was found for which", "open:", 1);
                let fits = line(reason).chars().count() <= self.style.width;
                lines.push(line(if fits { reason } else { &short }));
            }
            ExampleBody::Lines(own) => {
                lines.extend(own.iter().map(|line| format!("{pad}  {line}")));
            }
            ExampleBody::Observed(_) => {
                lines.extend(body.iter().flat_map(|code| self.statement(code, indent + 2)));
            }
        }
        lines.push(format!("{pad}end"));
        lines
    }
}

/// The helpers of the method's group and of its contexts, and the statements of every example in order.
fn bodies(
    class: &ClassPlan,
    method: &MethodPlan,
    pen: &Pen<'_>,
) -> (Helpers, Vec<Helpers>, Vec<Vec<String>>) {
    let contexts = method.contexts.len();
    let named: Vec<bool> = method.contexts.iter().map(|context| context.name.is_some()).collect();
    let mut prepared: Vec<Prepared> = Vec::new();
    let mut places: Vec<Option<usize>> = Vec::new();
    let repeated = repeated_receivers(method);
    let is_plain = method.plain;
    for (place, context) in method.contexts.iter().enumerate() {
        for example in &context.examples {
            let ExampleBody::Observed(observed) = &example.body else {
                places.push(None);
                continue;
            };
            let mut one = prepare(
                class,
                observed,
                !is_plain && repeated.contains(&observed.receiver.as_str()),
            );
            one.context = place;
            one.act_lines = one.act.iter().map(|code| pen.statement(code, 8).len()).sum();
            places.push(Some(prepared.len()));
            prepared.push(one);
        }
    }
    let (group, inner) = if is_plain || prepared.is_empty() {
        (Helpers::default(), vec![Helpers::default(); contexts])
    } else {
        let (mut group, mut inner) = arrange(&mut prepared, contexts, &named, pen.style);
        for one in &mut prepared {
            let helpers = if named[one.context] { &mut inner[one.context] } else { &mut group };
            name_expected(one, helpers, pen);
        }
        (group, inner)
    };
    let text = |place: Option<usize>| {
        place.map_or_else(Vec::new, |place| {
            let one = &prepared[place];
            let steps = one.steps.iter().map(|step| match step {
                Step::Variable(name, code) => format!("{name} = {code}"),
                Step::Statement(code) => code.clone(),
            });
            steps.chain(one.act.iter().cloned()).collect()
        })
    };
    (group, inner, places.into_iter().map(text).collect())
}

/// Matchers whose argument may have a name of its own.
const WITH_EXPECTED: &[&str] = &["eq(", "match(", "have_attributes("];

/// An expectation that is too long for its example gets its value from a `let`.
fn name_expected(example: &mut Prepared, helpers: &mut Helpers, pen: &Pen<'_>) {
    let lines: usize = example.act.iter().map(|code| pen.statement(code, 8).len()).sum();
    let is_free = !helpers.lets.iter().any(|(name, _)| name == "expected");
    let room = helpers.lets.len() < pen.style.helpers;
    let Some(act) = example.act.last_mut().filter(|_| is_free && room) else { return };
    if lines + example.steps.len() <= pen.style.example_lines {
        return;
    }
    let Some((head, matcher)) = act.split_once(").to ") else { return };
    let place = WITH_EXPECTED.iter().find_map(|word| matcher.find(word).map(|at| (at, *word)));
    let Some((at, word)) = place else { return };
    let closing = matcher.len() - matcher.trim_end_matches(')').len();
    let depth = matcher[..at].matches('(').count() - matcher[..at].matches(')').count();
    if closing < depth + 1 {
        return;
    }
    let value = &matcher[at + word.len()..matcher.len() - depth - 1];
    let code = if word == "have_attributes(" { format!("{{ {value} }}") } else { value.to_owned() };
    if !ruby_prism::parse(code.as_bytes()).is_success() {
        return;
    }
    let end = ")".repeat(depth + 1);
    helpers.lets.push(("expected".to_owned(), code));
    *act = format!("{head}).to {}{word}expected{end}", &matcher[..at]);
}

/// Codes of receivers that several examples of a method have.
fn repeated_receivers(method: &MethodPlan) -> Vec<&str> {
    let mut codes: Vec<&str> = method
        .contexts
        .iter()
        .flat_map(|context| &context.examples)
        .filter_map(|example| match &example.body {
            ExampleBody::Observed(observed) => Some(observed.receiver.as_str()),
            _ => None,
        })
        .collect();
    codes.sort_unstable();
    let mut found: Vec<&str> =
        codes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    found.dedup();
    found
}

/// Whether an example needs files.
fn uses_files(example: &ExamplePlan) -> bool {
    let ExampleBody::Observed(one) = &example.body else { return false };
    let codes = one.args.iter().chain(one.keys.iter().map(|(_, code)| code)).chain(&one.setup);
    codes.chain([&one.receiver]).chain(&one.block).any(|code| code.contains("file_named("))
}

/// What puts settings back after each example of a method that changes them, and what gives examples files.
fn around(pen: &Pen<'_>, method: &MethodPlan) -> Vec<Vec<String>> {
    let files = method.contexts.iter().flat_map(|context| &context.examples).any(uses_files);
    if method.keeps.is_empty() && !files {
        return Vec::new();
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut used: Vec<String> = vec!["example".to_owned(), "folder".to_owned()];
    for Keep(name, read, write) in &method.keeps {
        let mut local = name.trim_matches('_').to_owned();
        while local.is_empty() || used.contains(&local) || TAKEN.contains(&local.as_str()) {
            local.push_str(if local.is_empty() { "setting" } else { "_before" });
        }
        before.extend(pen.statement(&format!("{local} = {read}"), 6));
        after.extend(pen.statement(&write.replace("%s", &local), 6));
        used.push(local);
    }
    let mut parts = Vec::new();
    if files {
        parts.push(vec!["    let(:folder) { Dir.mktmpdir }".to_owned()]);
        before.extend(pen.statement("require \"tmpdir\"", 6));
        before.push("      folder".to_owned());
        after.push("      FileUtils.remove_entry(folder)".to_owned());
    }
    let mut lines = vec!["    around do |example|".to_owned()];
    lines.append(&mut before);
    lines.push("      example.run".to_owned());
    lines.append(&mut after);
    lines.push("    end".to_owned());
    parts.push(lines);
    if files {
        parts.push(FILE_NAMED.iter().map(|line| (*line).to_owned()).collect());
    }
    parts
}

/// How examples come by files; what [`uses_files`] looks for.
const FILE_NAMED: &[&str] = &[
    "    def file_named(name, text)",
    "      File.join(folder, name).tap { |path| File.write(path, text) }",
    "    end",
];

/// The line of the expectation, for places that show one line only.
#[must_use]
pub fn example_line(class: &ClassPlan, observed: &Observed) -> String {
    let prepared = prepare(class, observed, false);
    let steps = prepared.steps.iter().map(|step| match step {
        Step::Variable(name, code) => format!("{name} = {code}"),
        Step::Statement(code) => code.clone(),
    });
    let style = Style { single_quotes: false, ..Style::default() };
    let lines: Vec<String> = steps.chain(prepared.act.iter().cloned()).collect();
    lines
        .iter()
        .map(|line| restyled(line, &style, Some(&class.name)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Longer receivers get a name.
const LONG_RECEIVER: usize = 60;

/// What an example does, its set-up apart from its call. Whether the receiver is that of other examples, too, decides whether
/// it has a name.
fn prepare(class: &ClassPlan, observed: &Observed, repeated: bool) -> Prepared {
    let mut steps: Vec<Step> = observed.setup.iter().map(|line| step(line)).collect();
    let receiver = &observed.receiver;
    // RuboCop takes the same code on both sides of an operator for a mistake.
    let twice =
        INFIX.contains(&observed.method.as_str()) && observed.args.first() == Some(receiver);
    let needs_local = observed.matcher.contains("RECEIVER") || observed.kind == "state" || twice;
    let made = receiver.contains(['(', '.']) && *receiver != class.name;
    let owner = if is_variable(receiver) || *receiver == class.name {
        receiver.clone()
    } else if needs_local || (made && (repeated || receiver.len() > LONG_RECEIVER)) {
        let local = free_name(local_name(class), &steps);
        steps.push(Step::Variable(local.clone(), receiver.clone()));
        local
    } else {
        receiver.clone()
    };
    let mut act = Vec::new();
    act_lines(observed, &owner, &mut act);
    name_only_what_is_used(&mut steps, &act);
    let owner = is_variable(&owner).then_some(owner);
    Prepared { steps, owner, act, ordered: needs_rows_first(observed), ..Prepared::default() }
}

fn free_name(mut name: String, steps: &[Step]) -> String {
    while steps.iter().any(|step| matches!(step, Step::Variable(own, _) if *own == name)) {
        name.push_str("_object");
    }
    name
}

fn step(line: &str) -> Step {
    match line.split_once(" = ").filter(|(name, _)| is_variable(name)) {
        Some((name, code)) => Step::Variable(name.to_owned(), code.to_owned()),
        None => Step::Statement(line.to_owned()),
    }
}

/// Stored objects that nothing names are only made.
fn name_only_what_is_used(steps: &mut [Step], act: &[String]) {
    let names = |code: &str, name: &str| {
        code.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .any(|word| word == name)
    };
    for place in 0..steps.len() {
        let Step::Variable(name, code) = &steps[place] else { continue };
        let in_others = steps.iter().enumerate().any(|(other, step)| {
            let (Step::Variable(_, code) | Step::Statement(code)) = step;
            other != place && names(code, name)
        });
        if is_stored(code) && !in_others && !act.iter().any(|line| names(line, name)) {
            steps[place] = Step::Statement(code.clone());
        }
    }
}

/// Whether code puts an object into the database: it must run when it stands there, not when its name is first used.
fn is_stored(code: &str) -> bool {
    code.split('(').next().is_some_and(|call| {
        call.ends_with(".create!") || call == "create" || call == "FactoryBot.create"
    })
}

/// Whether rows must be there before the call: what it changes is counted, or it finds rows that it is not given.
fn needs_rows_first(observed: &Observed) -> bool {
    let made: Vec<(&str, &str)> =
        observed.setup.iter().filter_map(|line| line.split_once(" = ")).collect();
    let mut stored = made.iter().filter(|(_, code)| is_stored(code)).map(|(name, _)| *name);
    if ["change", "effect"].contains(&observed.kind.as_str()) {
        return stored.next().is_some() || is_stored(&observed.receiver);
    }
    let keys = observed.keys.iter().map(|(_, code)| code);
    let given: Vec<&String> =
        observed.args.iter().chain(keys).chain([&observed.receiver]).collect();
    stored.any(|name| {
        !given.iter().any(|code| mentions(code, name))
            && !made.iter().any(|(other, code)| *other != name && mentions(code, name))
    })
}

/// The call and the expectation.
fn act_lines(observed: &Observed, owner: &str, lines: &mut Vec<String>) {
    let (name, mut args, dropped) = as_sent(observed);
    let name = name.as_str();
    let is_setter = name.len() > 1
        && name.ends_with('=')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let mut matcher = observed.matcher.replace("RECEIVER", owner);
    if let (true, Some(attributes)) = (name == "new", attributes_only(&matcher)) {
        matcher = attributes;
    }
    let index = observed.index.and_then(|index| index.checked_sub(dropped));
    if let (Some(index), "argument") = (index, observed.kind.as_str())
        && let Some(arg) = args.get_mut(index)
    {
        lines.push(format!("argument = {}{arg}", if arg.starts_with('"') { "+" } else { "" }));
        "argument".clone_into(arg);
    }
    // An assignment gives back what is assigned, whatever the method returns.
    let sent = observed.kind == "return" && (is_setter || name == "[]=");
    let call = if sent {
        format!("{owner}.public_send({}, {})", crate::source::symbol_code(name), args.join(", "))
    } else {
        call(owner, name, &args, observed)
    };
    match observed.kind.as_str() {
        "raise" | "output" | "effect" | "change" => {
            lines.push(format!("expect {{ {call} }}.to {matcher}"));
        }
        "listing" => lines.push(format!("expect({call}.first(50)).to {matcher}")),
        "yield" => {
            let verb = if matcher == "not_yield" {
                "not_to yield_control".to_owned()
            } else {
                format!("to {matcher}")
            };
            lines.push(format!("expect {{ |probe| {call} }}.{verb}"));
        }
        "kind" => lines.push(format!("expect({matcher} === {call}).to be(true)")),
        // The matcher begins with whom is asked.
        "call" | "record" => {
            lines.push(call);
            lines.push(format!("expect({matcher})"));
        }
        "state" => {
            lines.push(call);
            lines.push(format!("expect({owner}).to {matcher}"));
        }
        "argument" => {
            lines.push(call);
            lines.push(format!("expect(argument).to {matcher}"));
        }
        _ => lines.push(
            answers_message(owner, name, &args, &matcher)
                .unwrap_or_else(|| expectation(observed, owner, &call, &matcher)),
        ),
    }
}

/// The attributes of an object whose class nobody doubts.
fn attributes_only(matcher: &str) -> Option<String> {
    let rest = matcher.strip_prefix("be_an_instance_of(")?;
    let (_, attributes) = rest.split_once(").and(")?;
    attributes.strip_suffix(')').map(str::to_owned)
}

/// Questions that `RuboCop` wants to be asked by another name are asked by their matcher.
const RENAMED: &[(&str, &str)] = &[("has_key?", "have_key"), ("has_value?", "have_value")];

fn expectation(observed: &Observed, owner: &str, call: &str, matcher: &str) -> String {
    let renamed = RENAMED.iter().find(|(name, _)| *name == observed.method);
    let verb = match matcher {
        "be(true)" => "to",
        "be(false)" => "not_to",
        _ => "",
    };
    match renamed.filter(|_| !verb.is_empty() && observed.block.is_none()) {
        Some((_, word)) => format!("expect({owner}).{verb} {word}({})", observed.args.join(", ")),
        None => format!("expect({call}).to {matcher}"),
    }
}

/// The expectation that an object answers a message, or does not, in RSpec's words.
fn answers_message(owner: &str, name: &str, args: &[String], matcher: &str) -> Option<String> {
    let [message] = args else { return None };
    let verb = match (name, matcher) {
        ("respond_to?", "be(true)") => "to",
        ("respond_to?", "be(false)") => "not_to",
        _ => return None,
    };
    Some(format!("expect({owner}).{verb} respond_to({message})"))
}

/// The message that a caller sends, its arguments, and how many of the observed ones stand in the name. Messages without a
/// method of their own are sent by their names.
fn as_sent(observed: &Observed) -> (String, Vec<String>, usize) {
    let args = observed.args.clone();
    match (observed.method.as_str(), args.split_first()) {
        ("initialize", _) => ("new".to_owned(), args, 0),
        ("respond_to_missing?", _) => ("respond_to?".to_owned(), args, 0),
        ("method_missing", Some((message, rest))) if message.starts_with(':') => {
            (message[1..].trim_matches('"').to_owned(), rest.to_vec(), 1)
        }
        _ => (observed.method.clone(), args, 0),
    }
}

/// Operators that are written between their operands.
const INFIX: &[&str] = &[
    "+", "-", "*", "/", "%", "**", "==", "!=", "<", ">", "<=", ">=", "<=>", "===", "<<", ">>", "&",
    "|", "^", "=~", "!~",
];

fn call(owner: &str, name: &str, args: &[String], observed: &Observed) -> String {
    let mut list = args.to_vec();
    list.extend(observed.keys.iter().map(|(key, value)| format!("{key}: {value}")));
    if observed.block.as_deref() == Some("&probe") {
        list.push("&probe".to_owned());
    }
    let block = match observed.block.as_deref() {
        Some(code) if code != "&probe" => format!(" {code}"),
        _ => String::new(),
    };
    let joined = list.join(", ");
    let plain = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    match name {
        "[]" => format!("{owner}[{joined}]"),
        "[]=" if list.len() == 2 => format!("{owner}[{}] = {}", list[0], list[1]),
        _ if INFIX.contains(&name) && args.len() == 1 => format!("{owner} {name} {joined}"),
        "!" => format!("!{owner}"),
        "-@" | "+@" => format!("{}{owner}", &name[..1]),
        "~" => format!("~{owner}"),
        _ if plain && name.ends_with('=') && args.len() == 1 => {
            format!("{owner}.{} = {joined}", name.trim_end_matches('='))
        }
        _ if plain && list.is_empty() => format!("{owner}.{name}{block}"),
        _ if plain => format!("{owner}.{name}({joined}){block}"),
        _ => format!("{owner}.public_send({}, {joined}){block}", string_code(name)),
    }
}

/// Whether a code is nothing but the name of a variable.
fn is_variable(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && code.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !matches!(code, "nil" | "true" | "false" | "self")
}

/// Words that cannot be names of locals in an example.
pub(super) const TAKEN: &[&str] = &[
    "class", "module", "end", "def", "self", "in", "do", "if", "then", "case", "when", "begin",
    "not", "and", "or", "argument", "double", "expect", "alias", "next", "nil", "true", "false",
    "return", "super", "yield", "rescue", "ensure", "unless", "until", "while", "for", "break",
    "redo", "retry", "else", "elsif", "undef", "defined", "it", "subject",
];

fn local_name(class: &ClassPlan) -> String {
    let last = class.name.rsplit("::").next().unwrap_or("object");
    let name = underscore(last);
    if TAKEN.contains(&name.as_str()) { format!("{name}_object") } else { name }
}
