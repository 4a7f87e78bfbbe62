//! What a condition asks, in words: its kind, its two answers, and where the value that it asks about comes from.

use ruby_prism::{CallNode, Node};

use super::Study;
use crate::effects::is_core;
use crate::facts::{CharacteristicKind, Origin, Setup, SetupKind};
use crate::source::{constant, is_literal, literal_code, name, owned, text};
use crate::words::{constant_for, excerpt, humanize, short};

/// What a condition asks.
pub(super) struct Question {
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
}

impl<'a> Study<'a> {
    pub(super) fn question(&self, node: &Node<'a>) -> Question {
        let origin = self.origin(node);
        let setup = Self::setup(Some(node), origin.as_ref());
        let mut question = Self::plain_question(node);
        question.origin = origin;
        question.setup = setup;
        if question.origin.is_some() && question.kind == CharacteristicKind::Presence {
            question.kind = CharacteristicKind::Boolean;
            "true".clone_into(&mut question.yes.0);
            "false".clone_into(&mut question.no.0);
        }
        question
    }

    pub(super) fn plain_question(node: &Node<'_>) -> Question {
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
            return boolean(
                &phrase(node),
                &format!("{code} holds"),
                &format!("{code} does not hold"),
            );
        }
        Self::presence(node, &phrase(node))
    }

    pub(super) fn presence(node: &Node<'_>, word: &str) -> Question {
        let word = humanize(word);
        let word = if word.len() > 60 || word.contains(['(', '[', '{', '"']) {
            excerpt(node)
        } else {
            word
        };
        Question {
            kind: CharacteristicKind::Presence,
            yes: ("present".to_owned(), format!("{word} is present")),
            no: ("nil".to_owned(), format!("{word} is missing")),
            ..boolean(&word, "", "")
        }
    }

    /// The other class that a value comes from.
    pub(super) fn origin(&self, node: &Node<'_>) -> Option<Origin> {
        if let Some(read) = node.as_local_variable_read_node() {
            return self.locals.get(read.name().as_slice()).cloned().flatten();
        }
        let call = node.as_call_node()?;
        let receiver = call.receiver()?;
        if let Some(class) = constant(&receiver) {
            let around = self.around.class.strip_suffix(class.as_ref());
            let foreign = around.is_none_or(|outer| !outer.is_empty() && !outer.ends_with("::"));
            return (foreign && !is_core(&class)).then(|| Origin {
                kind: "external".to_owned(),
                class: Some(class.into_owned()),
                method: Some(owned(call.name().as_slice())),
            });
        }
        self.origin(&receiver)
    }

    pub(super) fn setup(node: Option<&Node<'_>>, origin: Option<&Origin>) -> Setup {
        if origin.is_some() {
            return Setup { kind: SetupKind::Action, class: None };
        }
        let owner = node.and_then(|node| {
            let call = node.as_call_node()?;
            let receiver = call.receiver()?;
            let local = receiver.as_local_variable_read_node().map(|read| read.name().as_slice());
            local.or_else(|| {
                let inner = receiver.as_call_node()?;
                inner.receiver().is_none().then(|| inner.name().as_slice())
            })
        });
        if node.is_some_and(|node| is_ambient(node.location().as_slice())) {
            return Setup { kind: SetupKind::Action, class: None };
        }
        Setup { kind: SetupKind::Data, class: owner.map(|owner| constant_for(&name(owner))) }
    }
}

/// Whether code asks the clock or the visitor's state, by its text.
fn is_ambient(code: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [b"Time.now", b"Date.today", b"session[", b"cookies["];
    let at = |place: usize| marks.iter().any(|mark| code[place..].starts_with(mark));
    code.iter()
        .enumerate()
        .any(|(place, byte)| matches!(byte, b'T' | b'D' | b's' | b'c') && at(place))
}

pub(super) fn boolean(name: &str, yes: &str, no: &str) -> Question {
    Question {
        name: name.to_owned(),
        kind: CharacteristicKind::Boolean,
        yes: ("true".to_owned(), yes.to_owned()),
        no: ("false".to_owned(), no.to_owned()),
        no_first: false,
        threshold: None,
        origin: None,
        setup: Setup { kind: SetupKind::Data, class: None },
    }
}

pub(super) fn plain_value(node: &Node<'_>) -> String {
    if let Some(symbol) = node.as_symbol_node() {
        return owned(symbol.unescaped());
    }
    if let Some(string) = node.as_string_node() {
        return owned(string.unescaped());
    }
    excerpt(node)
}

fn compares(method: &str) -> bool {
    matches!(method, "<" | "<=" | ">" | ">=" | "==" | "!=" | "=~" | "!~")
}

pub(super) fn comparison(method: &str, left: &Node<'_>, right: &Node<'_>) -> Option<Question> {
    let word = phrase(left);
    let other = excerpt(right);
    let words = match method {
        "<" => ("less than", "at least"),
        "<=" => ("at most", "greater than"),
        ">" => ("greater than", "at most"),
        ">=" => ("at least", "less than"),
        "==" | "!=" => {
            let value = literal_code(right).map_or_else(|| other.clone(), |_| plain_value(right));
            let same = (value, format!("{word} is {other}"));
            let differs = ("other".to_owned(), format!("{word} is not {other}"));
            let equal = method == "==";
            return Some(Question {
                kind: if is_literal(right) {
                    CharacteristicKind::Enum
                } else {
                    CharacteristicKind::Boolean
                },
                yes: if equal { same.clone() } else { differs.clone() },
                no: if equal { differs } else { same },
                ..boolean(&word, "", "")
            });
        }
        "=~" | "!~" => {
            let hit = format!("{word} matches {other}");
            let miss = format!("{word} does not match {other}");
            let (yes, no) = if method == "=~" { (hit, miss) } else { (miss, hit) };
            return Some(boolean(&format!("{word} match"), &yes, &no));
        }
        _ => return None,
    };
    Some(Question {
        kind: CharacteristicKind::Range,
        yes: (format!("{} {other}", words.0), format!("{word} is {} {other}", words.0)),
        no: (format!("{} {other}", words.1), format!("{word} is {} {other}", words.1)),
        threshold: Some((other.clone(), method.to_owned())),
        ..boolean(&word, "", "")
    })
}

/// A question-mark method.
pub(super) fn predicate(call: &CallNode<'_>, method: &str) -> Question {
    let owner = call.receiver().map_or_else(|| "it".to_owned(), |receiver| phrase(&receiver));
    let argument =
        call.arguments().and_then(|list| list.arguments().first()).map(|first| excerpt(&first));
    let about = argument.map(|argument| format!(" {argument}")).unwrap_or_default();
    let word = humanize(method);
    let (yes, no) = match method {
        "nil?" => {
            return Question {
                kind: CharacteristicKind::Presence,
                yes: ("nil".to_owned(), format!("{owner} is nil")),
                no: ("present".to_owned(), format!("{owner} is not nil")),
                no_first: true,
                ..boolean(&owner, "", "")
            };
        }
        "empty?" | "blank?" | "zero?" => {
            return Question {
                kind: CharacteristicKind::Presence,
                yes: (word.clone(), format!("{owner} is {word}")),
                no: ("present".to_owned(), format!("{owner} is not {word}")),
                no_first: true,
                ..boolean(&owner, "", "")
            };
        }
        "present?" | "any?" => {
            return Question {
                kind: CharacteristicKind::Presence,
                yes: ("present".to_owned(), format!("{owner} is present")),
                no: ("nil".to_owned(), format!("{owner} is missing")),
                ..boolean(&owner, "", "")
            };
        }
        "is_a?" | "kind_of?" | "instance_of?" => {
            (format!("{owner} is a{about}"), format!("{owner} is not a{about}"))
        }
        "respond_to?" => {
            (format!("{owner} responds to{about}"), format!("{owner} does not respond to{about}"))
        }
        "include?" | "member?" => {
            (format!("{owner} includes{about}"), format!("{owner} does not include{about}"))
        }
        "key?" | "has_key?" => {
            (format!("{owner} has the key{about}"), format!("{owner} lacks the key{about}"))
        }
        "start_with?" => {
            (format!("{owner} starts with{about}"), format!("{owner} does not start with{about}"))
        }
        "end_with?" => {
            (format!("{owner} ends with{about}"), format!("{owner} does not end with{about}"))
        }
        "match?" => (format!("{owner} matches{about}"), format!("{owner} does not match{about}")),
        "block_given?" => ("a block is given".to_owned(), "no block is given".to_owned()),
        _ => (format!("{owner} is {word}{about}"), format!("{owner} is not {word}{about}")),
    };
    let name = if owner == "it" { word } else { format!("{owner} {word}") };
    boolean(&name, &yes, &no)
}

/// Words for an expression: `payment.status` is "payment status".
pub(super) fn phrase(node: &Node<'_>) -> String {
    if node.location().as_slice().len() > 60 {
        return excerpt(node);
    }
    let code = text(node);
    let simple = code.chars().all(|letter| letter.is_alphanumeric() || "_.@?!&$".contains(letter));
    if simple && code.len() <= 60 {
        humanize(&code.replace("&.", "_").replace('.', "_"))
    } else {
        short(&code)
    }
}
