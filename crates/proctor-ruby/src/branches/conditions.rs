//! What a condition asks, in words: its kind, its two answers, and where the value that it asks about comes from.

use ruby_prism::Node;

use super::flow::Inputs;
use super::predicates::predicate;
use super::{BodyAnalysis, patterns, wording};
use crate::facts::{CharacteristicKind, Origin, Setup, SetupKind};
use crate::probes::{grouped, negated};
use crate::source::{is_literal, literal_code, name, owned, text};
use crate::words::{constant_for, excerpt, humanize, short};

/// What a condition asks.
pub(super) struct Condition {
    pub(super) name: String,
    pub(super) kind: CharacteristicKind,
    /// Value and wording if the probe says yes, and if it says no.
    pub(super) yes: (String, String),
    pub(super) no: (String, String),
    /// Whether the "no" is the ordinary case and stands first.
    pub(super) no_first: bool,
    pub(super) threshold: Option<(String, String)>,
    pub(super) origin: Option<Origin>,
    pub(super) setup: Setup,
    /// What the value that it asks about is made of.
    pub(super) inputs: Inputs,
}

impl<'a> BodyAnalysis<'a> {
    pub(super) fn question(&mut self, node: &Node<'a>) -> Condition {
        let origin = self.flow.origin(node);
        let setup = setup(Some(node), origin.as_ref());
        let inputs = self.flow.inputs(node);
        let mut question = Condition { setup, inputs, ..plain_condition(node) };
        if origin.is_some() && question.kind == CharacteristicKind::Presence {
            question.kind = CharacteristicKind::Boolean;
            "true".clone_into(&mut question.yes.0);
            "false".clone_into(&mut question.no.0);
        }
        if let Some(origin) = &origin
            && let Some(worked) = asks_whether_it_worked(node, origin)
        {
            name_result(&mut question, origin, worked);
        }
        question.origin = origin;
        question
    }
}

/// Whether a condition asks if a call of another class worked (`Some(true)`) or failed (`Some(false)`).
fn asks_whether_it_worked(node: &Node<'_>, origin: &Origin) -> Option<bool> {
    let method = origin.method.as_deref()?;
    let call = node.as_call_node();
    let asked = call.as_ref().map(|call| name(call.name().as_slice()));
    match asked.as_deref() {
        Some("success?" | "successful?" | "succeeded?" | "ok?") => Some(true),
        Some("failure?" | "failed?" | "error?" | "failure") => Some(false),
        // The call itself, or the local that has its answer. What is looked for is there or not.
        Some(asked) if asked != method => None,
        _ if is_search(method) || method.ends_with('?') => None,
        _ => {
            let plain = node.as_local_variable_read_node().is_some()
                || node.as_local_variable_write_node().is_some()
                || call.is_some();
            plain.then_some(true)
        }
    }
}

fn is_search(method: &str) -> bool {
    let words = ["find", "where", "first", "last", "get", "fetch", "lookup", "search", "detect"];
    words.iter().any(|word| method.starts_with(word)) || matches!(method, "[]" | "take" | "new")
}

/// "payment gateway charge succeeds" and "payment gateway charge fails".
fn name_result(question: &mut Condition, origin: &Origin, worked: bool) {
    let class = origin.class.as_deref().unwrap_or_default().trim_start_matches("::");
    let method = origin.method.as_deref().unwrap_or_default();
    let word = format!("{} {}", humanize(class), humanize(method));
    let (yes, no) = (format!("{word} succeeds"), format!("{word} fails"));
    question.name = format!("{word} result");
    (question.yes.1, question.no.1) = if worked { (yes, no) } else { (no, yes) };
    question.no_first = !worked;
}

pub(super) fn plain_condition(node: &Node<'_>) -> Condition {
    if let Some(call) = node.as_call_node() {
        let method = name(call.name().as_slice());
        if compares(&method)
            && let Some(first) =
                call.arguments().and_then(|arguments| arguments.arguments().first())
            && let Some(receiver) = call.receiver()
            && let Some(question) = comparison(&method, &receiver, &first)
        {
            return question;
        }
        if method.ends_with('?') {
            return predicate(&call, &method);
        }
        if is_command_verb(&method) {
            let word = phrase(node);
            let (yes, no) = ([&word, " succeeds"].concat(), [&word, " fails"].concat());
            return presence_with(word, yes, no);
        }
    }
    if node.as_or_node().is_some() || node.as_and_node().is_some() {
        let (yes, no) = answered(node);
        return boolean(short(&text(node)).into_owned(), yes, no);
    }
    if let Some(defined) = node.as_defined_node() {
        let word = wording::expression(&defined.value());
        let word = word.unwrap_or_else(|| "the expression".to_owned());
        let (yes, no) = ([&word, " is defined"].concat(), [&word, " is not defined"].concat());
        return boolean(short(&text(node)).into_owned(), yes, no);
    }
    if let Some(asked) = node.as_match_predicate_node() {
        let word = phrase(&asked.value());
        let yes = patterns::pattern(&word, &asked.pattern());
        let no = [&word, " does not match the pattern"].concat();
        let yes = yes.unwrap_or_else(|| [&word, " matches the pattern"].concat());
        return boolean(short(&text(node)).into_owned(), yes, no);
    }
    // `if (match = text.match(pattern))` asks for what was assigned.
    if let Some(write) = node.as_local_variable_write_node() {
        let word = humanize(&name(write.name().as_slice()));
        let value = write.value();
        if let Some((yes, no)) = match_words(&value) {
            return presence_with(word, yes, no);
        }
        return presence(node, &word);
    }
    match match_words(node) {
        Some((yes, no)) => presence_with(phrase(node), yes, no),
        None => presence(node, &phrase(node)),
    }
}

/// The two answers to a condition in words, whatever it is made of.
pub(super) fn answered(node: &Node<'_>) -> (String, String) {
    if let Some(inner) = grouped(node) {
        return answered(&inner);
    }
    if let Some(inner) = negated(node) {
        let (yes, no) = answered(&inner);
        return (no, yes);
    }
    let sides = node.as_or_node().map(|either| (either.left(), either.right(), true));
    let sides = sides.or_else(|| node.as_and_node().map(|both| (both.left(), both.right(), false)));
    let Some((left, right, either)) = sides else {
        let question = plain_condition(node);
        return (question.yes.1, question.no.1);
    };
    let (left, right) = (answered(&left), answered(&right));
    let join = |left: &str, right: &str, either: bool| {
        [left, if either { " or " } else { " and " }, without_subject(left, right)].concat()
    };
    let yes = join(&left.0, &right.0, either);
    let no = join(&left.1, &right.1, !either);
    if yes.len().max(no.len()) <= MAX_JOINED {
        return (yes, no);
    }
    let (some, none) = ("one of the conditions holds", "none of the conditions holds");
    let (all, not_all) = ("all of the conditions hold", "not all of the conditions hold");
    let (yes, no) = if either { (some, none) } else { (all, not_all) };
    (yes.to_owned(), no.to_owned())
}

/// Longer sentences than this are not read.
const MAX_JOINED: usize = 90;

/// A second sentence without its subject, if the first one ends with the same: "a is nil" after "a is empty" is "is nil".
fn without_subject<'s>(first: &str, second: &'s str) -> &'s str {
    let verbs = ["is ", "has ", "matches ", "includes ", "starts ", "ends "];
    let last = first.rsplit(" or ").next().unwrap_or(first);
    let last = last.rsplit(" and ").next().unwrap_or(last);
    let goes_on = verbs.iter().any(|verb| last.starts_with(verb));
    for verb in verbs {
        let Some(place) = second.find(&[" ", verb].concat()) else { continue };
        let subject = &second[..=place];
        if first.starts_with(subject) && (goes_on || last.starts_with(subject)) {
            return &second[place + 1..];
        }
    }
    second
}

/// `text.match(/x/)`, `text[/x/]`
fn match_words(node: &Node<'_>) -> Option<(String, String)> {
    let call = node.as_call_node()?;
    let first = call.arguments()?.arguments().first()?;
    let looks = matches!(call.name().as_slice(), b"match" | b"[]" | b"slice" | b"scan");
    let is_pattern = first.as_regular_expression_node().is_some();
    let owner = call.receiver().filter(|_| looks && is_pattern)?;
    let (word, (yes, no)) = (phrase(&owner), patterns::matched(&first));
    Some((format!("{word} {yes}"), format!("{word} {no}")))
}

/// Methods that do something and say whether it worked.
fn is_command_verb(method: &str) -> bool {
    matches!(
        method.trim_end_matches('!'),
        "save"
            | "update"
            | "update_attributes"
            | "destroy"
            | "create"
            | "call"
            | "run"
            | "perform"
            | "execute"
            | "process"
            | "charge"
            | "submit"
            | "deliver"
            | "authenticate"
            | "authorize"
            | "validate"
            | "connect"
            | "upload"
            | "import"
            | "refund"
            | "capture"
            | "withdraw"
            | "transfer"
            | "pay"
            | "publish"
            | "notify"
    )
}

/// Whether something is there.
pub(super) fn presence(node: &Node<'_>, word: &str) -> Condition {
    let word = humanize(word);
    let is_code = word.len() > 60 || word.contains(['(', '[', '{', '"', '=', '<', '>', '&', '|']);
    let in_words = || wording::expression(node).unwrap_or_else(|| "the value".to_owned());
    let word = if is_code { in_words() } else { word };
    let yes = [&word, " is present"].concat();
    let no = [&word, " is missing"].concat();
    presence_with(word, yes, no)
}

fn presence_with(word: String, yes: String, no: String) -> Condition {
    let (yes, no) = (("present".to_owned(), yes), ("nil".to_owned(), no));
    build_condition(CharacteristicKind::Presence, word, yes, no)
}

/// How a test brings the value of an expression about.
pub(super) fn setup(node: Option<&Node<'_>>, origin: Option<&Origin>) -> Setup {
    if origin.is_some() || node.is_some_and(|node| is_ambient(node.location().as_slice())) {
        return Setup { kind: SetupKind::Action, class: None };
    }
    let owner = node.and_then(|node| {
        let receiver = node.as_call_node()?.receiver()?;
        if let Some(read) = receiver.as_local_variable_read_node() {
            return Some(read.name().as_slice());
        }
        let inner = receiver.as_call_node()?;
        inner.receiver().is_none().then(|| inner.name().as_slice())
    });
    Setup { kind: SetupKind::Data, class: owner.map(|owner| constant_for(&name(owner))) }
}

/// Whether code asks the clock or the visitor's state, by its text.
fn is_ambient(code: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [b"Time.now", b"Date.today", b"session[", b"cookies["];
    let at = |place: usize| marks.iter().any(|mark| code[place..].starts_with(mark));
    code.iter()
        .enumerate()
        .any(|(place, byte)| matches!(byte, b'T' | b'D' | b's' | b'c') && at(place))
}

/// A question with its values and words.
pub(super) fn build_condition(
    kind: CharacteristicKind,
    name: String,
    yes: (String, String),
    no: (String, String),
) -> Condition {
    Condition {
        name,
        kind,
        yes,
        no,
        no_first: false,
        threshold: None,
        origin: None,
        setup: Setup { kind: SetupKind::Data, class: None },
        inputs: 0,
    }
}

pub(super) fn boolean(name: String, yes: String, no: String) -> Condition {
    build_condition(
        CharacteristicKind::Boolean,
        name,
        ("true".to_owned(), yes),
        ("false".to_owned(), no),
    )
}

pub(super) fn plain_value(node: &Node<'_>) -> String {
    if let Some(symbol) = node.as_symbol_node() {
        return owned(symbol.unescaped());
    }
    if let Some(string) = node.as_string_node() {
        return owned(string.unescaped());
    }
    excerpt(node).into_owned()
}

fn compares(method: &str) -> bool {
    matches!(method, "<" | "<=" | ">" | ">=" | "==" | "!=" | "===" | "=~" | "!~")
}

fn comparison(method: &str, left: &Node<'_>, right: &Node<'_>) -> Option<Condition> {
    let word = phrase(left);
    let other = wording::operand(right);
    let timed =
        [&word, &other].iter().any(|side| matches!(side.as_str(), "the current time" | "today"));
    let words = match method {
        "<" if timed => ("before", "at or after"),
        "<=" if timed => ("at or before", "after"),
        ">" if timed => ("after", "at or before"),
        ">=" if timed => ("at or after", "before"),
        "<" => ("less than", "at least"),
        "<=" => ("at most", "greater than"),
        ">" => ("greater than", "at most"),
        ">=" => ("at least", "less than"),
        "==" | "!=" => {
            let value = literal_code(right).map_or_else(|| other.clone(), |_| plain_value(right));
            let same = (value, [&word, " is ", &other].concat());
            let differs = ("other".to_owned(), [&word, " is not ", &other].concat());
            let equal = method == "==";
            let kind = if is_literal(right) {
                CharacteristicKind::Enum
            } else {
                CharacteristicKind::Boolean
            };
            let (yes, no) = if equal { (same, differs) } else { (differs, same) };
            return Some(build_condition(kind, word, yes, no));
        }
        "=~" | "!~" => {
            let is_left = left.as_regular_expression_node().is_some();
            let (word, pattern) = if is_left { (other, left) } else { (word, right) };
            let (hit, miss) = patterns::matched(pattern);
            let (hit, miss) = (format!("{word} {hit}"), format!("{word} {miss}"));
            let (yes, no) = if method == "=~" { (hit, miss) } else { (miss, hit) };
            return Some(boolean([&word, " match"].concat(), yes, no));
        }
        "===" => {
            let yes = format!("{other} matches {word}");
            let no = format!("{other} does not match {word}");
            return Some(boolean([&other, " match"].concat(), yes, no));
        }
        _ => return None,
    };
    let side =
        |words| ([words, " ", &other].concat(), [&word, " is ", words, " ", &other].concat());
    let (yes, no) = (side(words.0), side(words.1));
    Some(Condition {
        threshold: Some((excerpt(right).into_owned(), method.to_owned())),
        ..build_condition(CharacteristicKind::Range, word, yes, no)
    })
}

/// A question whose "no" is the ordinary case.
pub(super) fn missing_first(
    owner: String,
    yes: (String, String),
    no: (String, String),
) -> Condition {
    Condition { no_first: true, ..build_condition(CharacteristicKind::Presence, owner, yes, no) }
}

/// Words for an expression: `payment.status` is "payment status".
pub(super) fn phrase(node: &Node<'_>) -> String {
    if node.location().as_slice().len() > 60 {
        return wording::expression(node).unwrap_or_else(|| "the value".to_owned());
    }
    let code = text(node);
    let simple = code.chars().all(|letter| {
        letter.is_alphanumeric() || matches!(letter, '_' | '.' | '@' | '?' | '!' | '&' | '$')
    });
    let converts =
        node.as_call_node().is_some() && code.contains(".to_") || code.contains(".strip");
    let asks_clock = code.starts_with("Time.") || code.starts_with("Date");
    if !simple || converts || asks_clock {
        return wording::expression(node).unwrap_or_else(|| "the value".to_owned());
    }
    // A block without names for its parameters.
    let (first, rest) = code.split_once('.').unwrap_or((&code, ""));
    if matches!(first, "it" | "_1") && is_unnamed(node) {
        return humanize(&format!("element_{}", rest.replace('.', "_")));
    }
    match (rest.is_empty(), code.contains('&')) {
        (true, _) => humanize(&code),
        (false, false) => humanize(&code.replace('.', "_")),
        (false, true) => humanize(&code.replace("&.", "_").replace('.', "_")),
    }
}

/// Whether an expression begins with a parameter that a block does not name.
fn is_unnamed(node: &Node<'_>) -> bool {
    match node.as_call_node().and_then(|call| call.receiver()) {
        Some(receiver) => is_unnamed(&receiver),
        None => {
            node.as_it_local_variable_read_node().is_some()
                || node.as_local_variable_read_node().is_some()
        }
    }
}
