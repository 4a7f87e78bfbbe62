//! Titles that several examples of a context share are made different by what differs between the calls, in words: the
//! parameter's name and a plain value, never code. Pure.

use std::collections::{BTreeMap, BTreeSet};

use proctor_ruby::spec::{ExampleBody, ExamplePlan, Observed};
use proctor_ruby::{Param, ParamKind};

/// Longer titles are not read.
const MAX_TITLE: usize = 96;

/// The parameters that the inputs of a method's examples belong to.
pub(crate) struct InputNames<'a> {
    /// Of the method.
    pub(crate) method: &'a [Param],
    /// Of the constructor, for calls on a new object.
    pub(crate) constructor: &'a [Param],
}

/// One input of a call: what it is called, and its code; none if it is not given.
type Inputs = BTreeMap<String, Option<String>>;

/// Makes descriptions different.
pub(crate) fn distinguish(examples: &mut [ExamplePlan], names: &InputNames<'_>) {
    name_messages(examples);
    let mut by_title: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, example) in examples.iter().enumerate() {
        by_title.entry(example.description.clone()).or_default().push(place);
    }
    for places in by_title.into_values().filter(|places| places.len() > 1) {
        let inputs: Vec<Inputs> =
            places.iter().map(|place| inputs_of(&examples[*place], names)).collect();
        for (place, own) in places.iter().zip(&inputs) {
            let words = differences(own, &inputs);
            let title = &mut examples[*place].description;
            for count in (1..=words.len().min(3)).rev() {
                let longer = format!("{title} {}", words[..count].join(" and "));
                if longer.chars().count() <= MAX_TITLE {
                    *title = longer;
                    break;
                }
            }
        }
    }
    number_the_rest(examples);
}

/// Errors of one class are told apart by what they say.
fn name_messages(examples: &mut [ExamplePlan]) {
    let titles: Vec<String> = examples.iter().map(|one| one.description.clone()).collect();
    for (place, example) in examples.iter_mut().enumerate() {
        let shared = titles
            .iter()
            .enumerate()
            .any(|(other, title)| other != place && *title == example.description);
        let ExampleBody::Observed(observed) = &example.body else { continue };
        if !shared || observed.kind != "raise" {
            continue;
        }
        let message =
            observed.matcher.split_once(", \"").map(|(_, rest)| rest.trim_end_matches("\")"));
        let said = message.map(|text| text.split("\\n").next().unwrap_or_default());
        if let Some(said) = said.filter(|text| is_sayable(text) && text.len() <= 50) {
            example.description = format!("{} saying \"{said}\"", example.description);
        }
    }
}

/// The inputs of a call by their names.
fn inputs_of(example: &ExamplePlan, names: &InputNames<'_>) -> Inputs {
    let mut found = Inputs::new();
    let ExampleBody::Observed(observed) = &example.body else { return found };
    add_arguments(&mut found, names.method, &observed.args, &observed.keys);
    let (receiver, steps) = receiver_of(observed);
    if let Some((args, keys)) = proctor_ruby::spec::constructor_arguments(&receiver) {
        add_arguments(&mut found, names.constructor, &args, &keys);
    }
    found.insert("block".to_owned(), observed.block.as_ref().map(|_| "true".to_owned()));
    for step in steps {
        found.insert(step, Some("true".to_owned()));
    }
    found
}

/// The code of the object under test, and what was done with it before, in words.
fn receiver_of(observed: &Observed) -> (String, Vec<String>) {
    let name = &observed.receiver;
    let made = observed.setup.iter().find_map(|line| {
        line.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(" = "))
    });
    let Some(made) = made else { return (name.clone(), Vec::new()) };
    let mut steps: Vec<String> = Vec::new();
    for line in &observed.setup {
        let call = line.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        if let Some(word) = call.and_then(|call| call.split(|letter| !is_part(letter)).next()) {
            let times = steps.iter().filter(|step| step.starts_with(&after(word))).count();
            steps.push(after(word) + ["", " twice", " three times", " often"][times.min(3)]);
        }
    }
    (made.to_owned(), steps)
}

fn after(method: &str) -> String {
    format!("after {}", proctor_ruby::humanize(method))
}

fn add_arguments(found: &mut Inputs, params: &[Param], args: &[String], keys: &[(String, String)]) {
    let positional = |param: &&Param| {
        matches!(param.kind, ParamKind::Required | ParamKind::Optional | ParamKind::Rest)
    };
    let mut rest = args.iter();
    for param in params.iter().filter(positional) {
        found.insert(param.name.clone(), rest.next().cloned());
    }
    for param in params.iter().filter(|param| param.kind == ParamKind::OptionalKey) {
        found.insert(param.name.clone(), None);
    }
    for (name, code) in keys {
        found.insert(name.clone(), Some(code.clone()));
    }
}

/// The inputs that are not the same everywhere, in words.
fn differences(own: &Inputs, all: &[Inputs]) -> Vec<String> {
    let mut with: Vec<String> = Vec::new();
    let mut other: Vec<String> = Vec::new();
    for (name, code) in own {
        if all.iter().all(|inputs| inputs.get(name) == Some(code)) {
            continue;
        }
        if name.starts_with("after ") {
            other.push(name.clone());
            continue;
        }
        let name = proctor_ruby::humanize(name);
        if let Some(words) = input_words(&name, code.as_deref()) {
            with.push(words);
        }
    }
    // "with a 1 and with b 2" is "with a 1 and b 2".
    let mut seen = false;
    for words in &mut with {
        if let Some(rest) = words.strip_prefix("with ") {
            if std::mem::replace(&mut seen, true) {
                *words = rest.to_owned();
            }
        } else {
            seen = false;
        }
    }
    with.extend(other);
    with
}

/// A value and its name, in words.
fn input_words(name: &str, code: Option<&str>) -> Option<String> {
    let code = match code {
        None | Some("nil" | "false") => return Some(format!("without {name}")),
        Some(code) => code,
    };
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let inner = code.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let symbol = code.strip_prefix(':');
    let is_word =
        |text: &&str| text.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if matches!(code, "\"\"" | "[]" | "{}") {
        return Some(format!("with an empty {name}"));
    }
    if code == "true" {
        return Some(format!("with {name}"));
    }
    if code.parse::<f64>().is_ok() {
        return Some(format!("with {name} {code}"));
    }
    if let Some(text) = inner.filter(|text| is_sayable(text) && text.len() <= 30) {
        return Some(format!("with {name} \"{text}\""));
    }
    if let Some(text) = inner {
        let lines = text.matches("\\n").count() + 1;
        let length = text.chars().count();
        return Some(if lines > 1 {
            format!("with {article} {name} of {lines} lines")
        } else {
            format!("with {article} {name} of {length} characters")
        });
    }
    if let Some(word) = symbol.filter(is_word) {
        return Some(format!("with {name} {}", word.trim_matches('_').replace('_', " ")));
    }
    let items = proctor_ruby::spec::list_items(code)?;
    let noun = if items.len() == 1 { "item" } else { "items" };
    let scalars: Option<Vec<&str>> = items.iter().map(|item| scalar_words(item)).collect();
    match scalars.filter(|words| words.iter().map(|word| word.len()).sum::<usize>() <= 40) {
        Some(words) if words.len() > 1 => {
            let (last, first) = words.split_last()?;
            Some(format!("with {name} {} and {last}", first.join(", ")))
        }
        Some(words) if words.len() == 1 => Some(format!("with {name} of only {}", words[0])),
        _ => Some(format!("with {article} {name} of {} {noun}", items.len())),
    }
}

/// An element of a list that may stand in a sentence.
fn scalar_words(code: &str) -> Option<&str> {
    let inner = code.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
    if code == "nil" || code.parse::<f64>().is_ok() || inner.is_some_and(is_sayable) {
        return Some(code);
    }
    code.strip_prefix(':').filter(|word| is_word(word))
}

fn is_sayable(text: &str) -> bool {
    !text.contains(['"', '\\', '#']) && text.chars().any(char::is_alphanumeric)
}

/// What nothing sayable tells apart.
fn number_the_rest(examples: &mut [ExamplePlan]) {
    const WORDS: [&str; 9] =
        ["second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];
    let mut used: BTreeSet<String> = BTreeSet::new();
    for example in examples.iter_mut() {
        let plain = example.description.clone();
        let mut number = 0;
        while !used.insert(example.description.clone()) {
            let word = WORDS.get(number).copied().unwrap_or("further");
            let more = if number < WORDS.len() { String::new() } else { format!(" {number}") };
            example.description = format!("{plain} in a {word} case{more}");
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str) -> Param {
        Param {
            name: name.to_owned(),
            kind: ParamKind::Required,
            default: None,
            types: Vec::new(),
            usage: proctor_ruby::Usage::default(),
        }
    }

    fn example(receiver: &str, args: &[&str]) -> ExamplePlan {
        ExamplePlan {
            description: "returns pleasant".to_owned(),
            kills: true,
            body: ExampleBody::Observed(Observed {
                method: "comfort".to_owned(),
                receiver: receiver.to_owned(),
                args: args.iter().map(|code| (*code).to_owned()).collect(),
                keys: Vec::new(),
                block: None,
                setup: Vec::new(),
                kind: "return".to_owned(),
                matcher: "eq(:pleasant)".to_owned(),
                index: None,
            }),
        }
    }

    fn titles(mut examples: Vec<ExamplePlan>) -> Vec<String> {
        let (method, constructor) = ([param("wind"), param("place")], [param("degrees")]);
        distinguish(&mut examples, &InputNames { method: &method, constructor: &constructor });
        examples.into_iter().map(|one| one.description).collect()
    }

    #[test]
    fn what_differs_is_said() {
        let found = titles(vec![
            example("T.new(10)", &["nil", "\"sea\""]),
            example("T.new(25)", &["\"\"", "\"sea\""]),
            example("T.new(25)", &["[1, :calm]", "\"sea\""]),
        ]);
        let wanted = [
            "returns pleasant with degrees 10 and without wind",
            "returns pleasant with degrees 25 and an empty wind",
            "returns pleasant with degrees 25 and wind 1 and calm",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn code_is_never_said() {
        let found = titles(vec![
            example("T.new(x.y)", &["Foo.new(1)"]),
            example("T.new(x.z)", &["Foo.new(2)"]),
        ]);
        assert_eq!(found, ["returns pleasant", "returns pleasant in a second case"]);
    }
}
