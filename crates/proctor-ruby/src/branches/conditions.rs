//! What a condition asks, in words: its kind, its two answers, and where the value that it asks about comes from.

use ruby_prism::{CallNode, Node};

use super::BodyAnalysis;
use super::flow::Inputs;
use crate::facts::{CharacteristicKind, Origin, Setup, SetupKind};
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
        question.origin = origin;
        question
    }
}

fn plain_condition(node: &Node<'_>) -> Condition {
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
    }
    if node.as_or_node().is_some()
        || node.as_defined_node().is_some()
        || node.as_match_predicate_node().is_some()
    {
        let code = excerpt(node);
        let (yes, no) = ([&*code, " holds"].concat(), [&*code, " does not hold"].concat());
        return boolean(phrase(node), yes, no);
    }
    // `if (match = text.match(pattern))` asks for what was assigned.
    if let Some(write) = node.as_local_variable_write_node() {
        return presence(node, &name(write.name().as_slice()));
    }
    presence(node, &phrase(node))
}

/// Whether something is there.
pub(super) fn presence(node: &Node<'_>, word: &str) -> Condition {
    let word = humanize(word);
    let is_code = word.len() > 60 || word.contains(['(', '[', '{', '"']);
    let word = if is_code { excerpt(node).into_owned() } else { word };
    let yes = ("present".to_owned(), [&word, " is present"].concat());
    let no = ("nil".to_owned(), [&word, " is missing"].concat());
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
fn build_condition(
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

fn boolean(name: String, yes: String, no: String) -> Condition {
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
    matches!(method, "<" | "<=" | ">" | ">=" | "==" | "!=" | "=~" | "!~")
}

fn comparison(method: &str, left: &Node<'_>, right: &Node<'_>) -> Option<Condition> {
    let word = phrase(left);
    let other = excerpt(right);
    let words = match method {
        "<" => ("less than", "at least"),
        "<=" => ("at most", "greater than"),
        ">" => ("greater than", "at most"),
        ">=" => ("at least", "less than"),
        "==" | "!=" => {
            let value =
                literal_code(right).map_or_else(|| other.to_string(), |_| plain_value(right));
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
            let hit = [&word, " matches ", &other].concat();
            let miss = [&word, " does not match ", &other].concat();
            let (yes, no) = if method == "=~" { (hit, miss) } else { (miss, hit) };
            return Some(boolean([&word, " match"].concat(), yes, no));
        }
        _ => return None,
    };
    let side =
        |words| ([words, " ", &other].concat(), [&word, " is ", words, " ", &other].concat());
    let (yes, no) = (side(words.0), side(words.1));
    Some(Condition {
        threshold: Some((other.into_owned(), method.to_owned())),
        ..build_condition(CharacteristicKind::Range, word, yes, no)
    })
}

/// A question-mark method.
fn predicate(call: &CallNode<'_>, method: &str) -> Condition {
    let owner = call.receiver().map_or_else(|| "it".to_owned(), |receiver| phrase(&receiver));
    let argument =
        call.arguments().and_then(|list| list.arguments().first()).map(|first| excerpt(&first));
    let (gap, argument) = argument.map_or(("", "".into()), |argument| (" ", argument));
    let about = |words: &str| [&owner, words, gap, &argument].concat();
    let word = humanize(method);
    let (yes, no) = match method {
        "nil?" => {
            let yes = ("nil".to_owned(), [&owner, " is nil"].concat());
            let no = ("present".to_owned(), [&owner, " is not nil"].concat());
            return missing_first(owner, yes, no);
        }
        "empty?" | "blank?" | "zero?" => {
            let no = ("present".to_owned(), [&owner, " is not ", &word].concat());
            let yes = [&owner, " is ", &word].concat();
            return missing_first(owner, (word, yes), no);
        }
        "present?" | "any?" => {
            let yes = ("present".to_owned(), [&owner, " is present"].concat());
            let no = ("nil".to_owned(), [&owner, " is missing"].concat());
            return build_condition(CharacteristicKind::Presence, owner, yes, no);
        }
        "is_a?" | "kind_of?" | "instance_of?" => (about(" is a"), about(" is not a")),
        "respond_to?" => (about(" responds to"), about(" does not respond to")),
        "include?" | "member?" => (about(" includes"), about(" does not include")),
        "key?" | "has_key?" => (about(" has the key"), about(" lacks the key")),
        "start_with?" => (about(" starts with"), about(" does not start with")),
        "end_with?" => (about(" ends with"), about(" does not end with")),
        "match?" => (about(" matches"), about(" does not match")),
        "block_given?" => ("a block is given".to_owned(), "no block is given".to_owned()),
        _ => (about(&[" is ", &word].concat()), about(&[" is not ", &word].concat())),
    };
    let name = if owner == "it" { word } else { [&owner, " ", &word].concat() };
    boolean(name, yes, no)
}

/// A question whose "no" is the ordinary case.
fn missing_first(owner: String, yes: (String, String), no: (String, String)) -> Condition {
    Condition { no_first: true, ..build_condition(CharacteristicKind::Presence, owner, yes, no) }
}

/// Words for an expression: `payment.status` is "payment status".
pub(super) fn phrase(node: &Node<'_>) -> String {
    if node.location().as_slice().len() > 60 {
        return excerpt(node).into_owned();
    }
    let code = text(node);
    let simple = code.chars().all(|letter| {
        letter.is_alphanumeric() || matches!(letter, '_' | '.' | '@' | '?' | '!' | '&' | '$')
    });
    if !simple {
        return short(&code).into_owned();
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
