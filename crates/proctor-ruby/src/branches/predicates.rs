//! Question-mark methods as sentences: `order.paid?` is "order is paid", `LIST.include?(kind)` is "kind is one of the list".

use ruby_prism::{CallNode, Node};

use super::conditions::{Condition, boolean, build_condition, missing_first, phrase};
use super::patterns::{matched, ranged};
use super::wording::{self, with_article};
use crate::facts::CharacteristicKind;
use crate::source::{constant, name, nodes};
use crate::words::humanize;

/// What a question-mark method asks.
pub(super) fn predicate(call: &CallNode<'_>, method: &str) -> Condition {
    let owner = call.receiver().map_or_else(|| "it".to_owned(), |receiver| phrase(&receiver));
    let arguments = call.arguments().map(|list| nodes(&list.arguments())).unwrap_or_default();
    let word = humanize(method);
    match method {
        "nil?" => {
            let yes = ("nil".to_owned(), [&owner, " is nil"].concat());
            let no = ("present".to_owned(), [&owner, " is not nil"].concat());
            return missing_first(owner, yes, no);
        }
        "empty?" | "blank?" | "zero?" if arguments.is_empty() => {
            let no = ("present".to_owned(), [&owner, " is not ", &word].concat());
            let yes = [&owner, " is ", &word].concat();
            return missing_first(owner, (word, yes), no);
        }
        "present?" | "any?" if arguments.is_empty() && call.block().is_none() => {
            let yes = ("present".to_owned(), [&owner, " is present"].concat());
            let no = ("nil".to_owned(), [&owner, " is missing"].concat());
            return build_condition(CharacteristicKind::Presence, owner, yes, no);
        }
        _ => {}
    }
    let (yes, no) = answers(call, method, &owner, &arguments);
    if method == "any?" {
        let (yes, no) = (("present".to_owned(), yes), ("nil".to_owned(), no));
        return build_condition(CharacteristicKind::Presence, owner, yes, no);
    }
    let name = if owner == "it" { word } else { [&owner, " ", &word].concat() };
    boolean(name, yes, no)
}

/// The two sentences of a question.
fn answers(
    call: &CallNode<'_>,
    method: &str,
    owner: &str,
    arguments: &[Node<'_>],
) -> (String, String) {
    let words: Vec<String> = arguments.iter().map(wording::operand).collect();
    let first = words.first().map_or("", String::as_str);
    let all = words.join(" or ");
    let pair = |yes: String, no: String| (yes, no);
    let said = |yes: &str, no: &str| pair(format!("{owner} {yes}"), format!("{owner} {no}"));
    let about = |yes: &str, no: &str| said(&format!("{yes} {all}"), &format!("{no} {all}"));
    match method {
        "is_a?" | "kind_of?" | "instance_of?" => {
            let class = with_article(first);
            said(&format!("is {class}"), &format!("is not {class}"))
        }
        "respond_to?" => about("responds to", "does not respond to"),
        "include?" | "member?" | "cover?" | "in?" if arguments.len() == 1 => {
            membership(call, method, owner, &arguments[0])
        }
        "key?" | "has_key?" => about("has the key", "lacks the key"),
        "value?" | "has_value?" => about("has the value", "lacks the value"),
        "start_with?" | "starts_with?" => about("starts with", "does not start with"),
        "end_with?" | "ends_with?" => about("ends with", "does not end with"),
        "match?" if arguments.len() == 1 => {
            let (text, pattern) = match call.receiver() {
                Some(pattern) if is_pattern(&pattern) => (first.to_owned(), matched(&pattern)),
                _ => (owner.to_owned(), matched(&arguments[0])),
            };
            pair(format!("{text} {}", pattern.0), format!("{text} {}", pattern.1))
        }
        "between?" if words.len() == 2 => {
            let range = format!("between {} and {}", words[0], words[1]);
            said(&format!("is {range}"), &format!("is not {range}"))
        }
        "eql?" => about("equals", "does not equal"),
        "equal?" => about("is the same object as", "is not the same object as"),
        "all?" | "any?" | "none?" | "one?" => quantified(call, method, owner, &words),
        "block_given?" => pair("a block is given".to_owned(), "no block is given".to_owned()),
        "instance_variable_defined?" => {
            pair(format!("{first} is set"), format!("{first} is not set"))
        }
        "exist?" | "exists?" if is_about_files(call) => {
            pair(format!("{first} exists"), format!("{first} does not exist"))
        }
        "file?" | "directory?" if is_about_files(call) => {
            let kind = humanize(method);
            pair(format!("{first} is a {kind}"), format!("{first} is no {kind}"))
        }
        _ if is_about_files(call) && words.len() == 1 => plain_question(method, first, ""),
        _ if call.receiver().is_none() && words.len() == 1 && !ends_open(method) => {
            plain_question(method, first, "")
        }
        _ => plain_question(method, owner, &all),
    }
}

fn is_pattern(node: &Node<'_>) -> bool {
    node.as_regular_expression_node().is_some()
        || constant(node).is_some_and(|name| name.to_uppercase() == name)
}

/// Whether a class that knows files is asked about one.
fn is_about_files(call: &CallNode<'_>) -> bool {
    let class = call.receiver().as_ref().and_then(constant);
    call.arguments().is_some()
        && class.is_some_and(|class| matches!(class.as_ref(), "File" | "Dir" | "FileTest"))
}

/// Whether the name of a question ends with a word that something must follow.
fn ends_open(method: &str) -> bool {
    let word = humanize(method);
    let last = word.rsplit(' ').next().unwrap_or_default();
    matches!(
        last,
        "of" | "for" | "to" | "with" | "by" | "in" | "from" | "as" | "on" | "at" | "than" | "has"
    )
}

/// `LIST.include?(x)`, `x.in?(list)`, `(1..5).cover?(x)`
fn membership(
    call: &CallNode<'_>,
    method: &str,
    owner: &str,
    argument: &Node<'_>,
) -> (String, String) {
    let is_in = method == "in?";
    let argument_words = wording::operand(argument);
    let list = if is_in { None } else { call.receiver() };
    let list = list.as_ref().unwrap_or(argument);
    let one = if is_in { owner } else { &argument_words };
    let inner = crate::probes::grouped(list);
    let list = inner.as_ref().unwrap_or(list);
    if let Some(range) = ranged(list) {
        return (format!("{one} is {range}"), format!("{one} is not {range}"));
    }
    if let Some(listed) = list.as_array_node().map(|array| nodes(&array.elements())) {
        let named = (2..=4).contains(&listed.len());
        let words: Vec<String> = listed.iter().map(wording::operand).collect();
        let words =
            if named { words.join(" or ") } else { format!("one of {} values", listed.len()) };
        let no = if named { "is neither" } else { "is not" };
        return (
            format!("{one} is {words}"),
            format!("{one} {no} {}", words.replace(" or ", " nor ")),
        );
    }
    if is_in || constant(list).is_some() {
        let list = wording::operand(list);
        return (format!("{one} is one of the {list}"), format!("{one} is none of the {list}"));
    }
    (format!("{owner} includes {one}"), format!("{owner} does not include {one}"))
}

/// `all?`, `any?`, `none?` and `one?` with a block or a pattern.
fn quantified(
    call: &CallNode<'_>,
    method: &str,
    owner: &str,
    words: &[String],
) -> (String, String) {
    let by_name = call.block().and_then(|block| {
        let symbol = block.as_block_argument_node()?.expression()?;
        Some(humanize(&name(symbol.as_symbol_node()?.unescaped())))
    });
    let meets = match (by_name, words.first()) {
        (Some(word), _) => format!("are {word}"),
        (None, Some(word)) => format!("match {word}"),
        (None, None) => "meet the condition".to_owned(),
    };
    let say = |quantity: &str| format!("{quantity} of {owner} {meets}");
    match method {
        "all?" => (say("all"), say("not all")),
        "any?" => (say("some"), say("none")),
        "none?" => (say("none"), say("some")),
        _ => (say("exactly one"), say("not exactly one")),
    }
}

/// Verbs in the third person that are names of questions: `exists?`, `allows?`.
const VERBS: &[&str] = &[
    "accepts", "allows", "applies", "belongs", "changes", "contains", "covers", "depends",
    "equals", "exceeds", "exists", "expires", "fits", "includes", "knows", "matches", "needs",
    "overlaps", "owns", "requires", "responds", "supports", "uses", "wants", "works",
];

/// Nouns that name what somebody or something is.
const NOUNS: &[&str] = &[
    "admin",
    "author",
    "customer",
    "employee",
    "guest",
    "leader",
    "leaf",
    "manager",
    "member",
    "moderator",
    "owner",
    "root",
    "staff member",
    "subscriber",
    "success",
    "user",
    "weekend",
];

/// Nouns of which there may be some.
const THINGS: &[&str] =
    &["changes", "children", "content", "data", "errors", "more", "next", "parent", "stock"];

/// How a question reads when it is answered, and when it is not.
fn plain_question(method: &str, owner: &str, about: &str) -> (String, String) {
    let word = humanize(method);
    let (first, rest) = word.split_once(' ').unwrap_or((&word, ""));
    let (yes, no) = match first {
        "has" => (format!("has {rest}"), format!("has no {rest}")),
        "can" => (format!("can {rest}"), format!("cannot {rest}")),
        "is" => (format!("is {rest}"), format!("is not {rest}")),
        "should" | "must" | "may" | "will" => {
            (format!("{first} {rest}"), format!("{first} not {rest}"))
        }
        _ if word == "success" => ("is a success".to_owned(), "is no success".to_owned()),
        _ if NOUNS.contains(&word.as_str()) => {
            (format!("is {}", with_article(&word)), format!("is no {word}"))
        }
        _ if THINGS.contains(&word.as_str()) => (format!("has {word}"), format!("has no {word}")),
        _ if VERBS.contains(&first) => {
            let stem = match first {
                "applies" => "apply",
                "matches" => "match",
                _ => first.trim_end_matches('s'),
            };
            (word.clone(), format!("does not {stem} {rest}"))
        }
        _ => (format!("is {word}"), format!("is not {word}")),
    };
    let takes_object = matches!(first, "can" | "should" | "must" | "may" | "will");
    let takes_object = takes_object || ends_open(method) || VERBS.contains(&first);
    let about = match (about, takes_object) {
        ("", _) => String::new(),
        (about, true) => about.to_owned(),
        (about, false) => format!("for {about}"),
    };
    let tidy = |words: &str| {
        format!("{owner} {words} {about}").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    (tidy(&yes), tidy(&no))
}
