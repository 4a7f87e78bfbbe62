//! From a plan to text.

use super::{ClassPlan, ExampleBody, ExamplePlan, Keep, MethodPlan, Observed, SpecPlan};
use crate::source::string_code;
use crate::words::underscore;

/// The first lines of every file we make.
const NOTICE: &str = "\
# Characterisation specs: what the code does today, observed by running it (proctor cover).
# Blocks between proctor:begin and proctor:end are written again when their method changes,
# unless they were edited by hand.
";

/// A whole new file.
#[must_use]
pub fn file(plan: &SpecPlan) -> String {
    let mut text = String::from("# frozen_string_literal: true\n\n");
    text.push_str(NOTICE);
    text.push('\n');
    for line in &plan.requires {
        text.push_str(line);
        text.push('\n');
    }
    for class in &plan.classes {
        text.push('\n');
        text.push_str(&group(class));
    }
    text
}

/// The group of one class, complete.
pub(super) fn group(class: &ClassPlan) -> String {
    let blocks: Vec<String> = class
        .methods
        .iter()
        .map(|method| block(class, method))
        .filter(|block| !block.is_empty())
        .collect();
    format!("RSpec.describe {} do\n{}end\n", class.name, blocks.join("\n"))
}

/// The managed block of a method, with its marks; empty if there is nothing to say.
#[must_use]
pub fn block(class: &ClassPlan, method: &MethodPlan) -> String {
    if method.contexts.iter().all(|context| context.examples.is_empty()) {
        return String::new();
    }
    let mut lines = vec![format!("  describe {} do", string_code(&method.label))];
    lines.extend(around(class, method));
    if method.contexts.iter().flat_map(|context| &context.examples).any(uses_files) {
        lines.extend(FILES.iter().map(|line| (*line).to_owned()));
    }
    let mut first = true;
    for context in method.contexts.iter().filter(|context| !context.examples.is_empty()) {
        if !std::mem::take(&mut first) {
            lines.push(String::new());
        }
        let indent = if context.name.is_some() { "      " } else { "    " };
        if let Some(name) = &context.name {
            lines.push(format!("    context {} do", string_code(name)));
        }
        for (place, example) in context.examples.iter().enumerate() {
            if place > 0 {
                lines.push(String::new());
            }
            lines
                .extend(example_lines(class, example).iter().map(|line| format!("{indent}{line}")));
        }
        if context.name.is_some() {
            lines.push("    end".to_owned());
        }
    }
    lines.push("  end".to_owned());
    let body = lines.join("\n") + "\n";
    let hash = super::merge::fingerprint(&body);
    format!("  # proctor:begin {} {hash}\n{body}  # proctor:end {}\n", method.id, method.id)
}

/// How examples come by files; what [`uses_files`] looks for.
const FILES: &[&str] = &[
    "    let(:folder) { Dir.mktmpdir }",
    "",
    "    around do |example|",
    "      require \"tmpdir\"",
    "      folder",
    "      example.run",
    "      FileUtils.remove_entry(folder)",
    "    end",
    "",
    "    def file_named(name, text)",
    "      File.join(folder, name).tap { |path| File.write(path, text) }",
    "    end",
    "",
];

/// Whether an example needs files.
fn uses_files(example: &ExamplePlan) -> bool {
    let ExampleBody::Observed(one) = &example.body else { return false };
    let codes = one.args.iter().chain(one.keys.iter().map(|(_, code)| code)).chain(&one.setup);
    codes.chain([&one.receiver]).chain(&one.block).any(|code| code.contains("file_named("))
}

/// The hook that puts settings back after each example of a method that changes them.
fn around(class: &ClassPlan, method: &MethodPlan) -> Vec<String> {
    if method.keeps.is_empty() {
        return Vec::new();
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut used: Vec<String> = vec!["example".to_owned()];
    for Keep(name, read, write) in &method.keeps {
        let mut local = name.clone();
        while used.contains(&local) || TAKEN.contains(&local.as_str()) {
            local.push_str("_before");
        }
        before.push(format!("      {local} = {}", described(class, read)));
        after.push(format!("      {}", described(class, &write.replace("%s", &local))));
        used.push(local);
    }
    let mut lines = vec!["    around do |example|".to_owned()];
    lines.append(&mut before);
    lines.push("      example.run".to_owned());
    lines.append(&mut after);
    lines.extend(["    end".to_owned(), String::new()]);
    lines
}

fn example_lines(class: &ClassPlan, example: &ExamplePlan) -> Vec<String> {
    let mut lines = Vec::new();
    if !example.kills && !matches!(example.body, ExampleBody::Pending(_)) {
        lines.push("# No fault was found that only this example notices.".to_owned());
    }
    lines.push(format!("it {} do", string_code(&example.description)));
    match &example.body {
        ExampleBody::Pending(reason) => lines.push(format!("  skip {}", string_code(reason))),
        ExampleBody::Lines(own) => lines.extend(own.iter().map(|line| format!("  {line}"))),
        ExampleBody::Observed(observed) => {
            lines.extend(observed_lines(class, observed).iter().map(|line| format!("  {line}")));
        }
    }
    lines.push("end".to_owned());
    lines
}

/// The line of the expectation, for places that show one line only.
#[must_use]
pub fn example_line(class: &ClassPlan, observed: &Observed) -> String {
    observed_lines(class, observed).join("; ")
}

fn observed_lines(class: &ClassPlan, observed: &Observed) -> Vec<String> {
    let receiver = described(class, &observed.receiver);
    let local = local_name(class);
    let name = if observed.method == "initialize" { "new" } else { &observed.method };
    let is_setter = name.len() > 1
        && name.ends_with('=')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let matcher = observed.matcher.replace("RECEIVER", &local);
    let needs_local = observed.matcher.contains("RECEIVER") || observed.kind == "state";
    let mut lines: Vec<String> = observed.setup.iter().map(|line| described(class, line)).collect();
    let owner = if needs_local {
        lines.push(format!("{local} = {receiver}"));
        local.clone()
    } else {
        receiver
    };
    let mut args = observed.args.clone();
    if let (Some(index), "argument") = (observed.index, observed.kind.as_str())
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
        call(&owner, name, &args, observed)
    };
    match observed.kind.as_str() {
        "raise" | "output" => lines.push(format!("expect {{ {call} }}.to {matcher}")),
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
        "call" => {
            lines.push(call);
            lines.push(format!("expect({matcher})"));
        }
        "state" => {
            lines.push(call);
            lines.push(format!("expect({local}).to {matcher}"));
        }
        "argument" => {
            lines.push(call);
            lines.push(format!("expect(argument).to {matcher}"));
        }
        _ => lines.push(format!("expect({call}).to {matcher}")),
    }
    lines
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
        _ if INFIX.contains(&name) && args.len() == 1 => format!("({owner} {name} {joined})"),
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

/// The class itself is `described_class`.
fn described(class: &ClassPlan, code: &str) -> String {
    match code.strip_prefix(&class.name) {
        Some("") => "described_class".to_owned(),
        Some(rest) if rest.starts_with('.') => format!("described_class{rest}"),
        _ => code.to_owned(),
    }
}

/// Words that cannot be names of locals in an example.
const TAKEN: &[&str] = &[
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
