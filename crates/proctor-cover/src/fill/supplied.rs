//! An answer that gives values instead of a whole example: the call that they make, and the example that expects what came of
//! it. Pure; `gate` runs the call in between.

use std::collections::BTreeMap;

use proctor_ruby::{Param, ParamKind};
use serde::Deserialize;

use super::Refusal;
use crate::syntax::word;

/// The key of the object that the method is called on.
pub(super) const OBJECT: &str = "self";
/// The key of the block of a method that names none.
const BLOCK: &str = "block";
/// Names that a variable of an example cannot have.
const TAKEN_NAMES: &[&str] = &[
    "it",
    "subject",
    "described_class",
    "expect",
    "allow",
    "example",
    "class",
    "module",
    "end",
    "in",
    "do",
    "if",
    "then",
    "case",
    "when",
    "begin",
    "not",
    "and",
    "or",
    "next",
    "unless",
    "until",
    "while",
    "for",
    "break",
    "redo",
    "retry",
    "rescue",
    "ensure",
    "return",
    "super",
    "yield",
    "double",
];

/// How a method is called, and how the object for it is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallShape {
    /// Its name.
    pub(crate) name: String,
    /// Its parameters.
    pub(crate) params: Vec<Param>,
    /// Whether it takes a block that it does not name.
    pub(crate) yields: bool,
    /// What it is called on.
    pub(crate) receiver: ReceiverShape,
}

/// What a method is called on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum ReceiverShape {
    /// The class or module itself.
    #[default]
    Class,
    /// An object that `new` makes with these parameters.
    New(Vec<Param>),
    /// An object that only the answer can tell.
    Unknown,
}

impl CallShape {
    /// The names under which values can be given, those that must be given first.
    pub(crate) fn names(&self) -> (Vec<String>, Vec<String>) {
        let mut required: Vec<String> = Vec::new();
        let mut optional: Vec<String> = Vec::new();
        match &self.receiver {
            ReceiverShape::Class => {}
            ReceiverShape::New(params) => {
                sort_names(params, &mut required, &mut optional);
                optional.push(OBJECT.to_owned());
            }
            ReceiverShape::Unknown => required.push(OBJECT.to_owned()),
        }
        sort_names(&self.params, &mut required, &mut optional);
        if self.yields && !self.params.iter().any(|one| one.kind == ParamKind::Block) {
            optional.push(BLOCK.to_owned());
        }
        optional.retain(|name| !required.contains(name));
        (required, optional)
    }

    /// The call that these values make.
    pub(super) fn call(&self, values: &BTreeMap<String, String>) -> Result<SuppliedCall, Refusal> {
        self.check(values)?;
        let mut parts = Parts { values, setup: Vec::new() };
        let receiver = match (&self.receiver, values.get(OBJECT)) {
            (_, Some(code)) => code.trim().to_owned(),
            (ReceiverShape::New(params), None) => {
                format!("described_class.new{}", in_brackets(&parts.arguments(params)?))
            }
            _ => "described_class".to_owned(),
        };
        let mut arguments = parts.arguments(&self.params)?;
        if let Some(code) = values.get(BLOCK)
            && !self.params.iter().any(|one| one.name == BLOCK)
        {
            arguments.push(format!("&{}", code.trim()));
        }
        Ok(SuppliedCall { setup: parts.setup, receiver, call: called(&self.name, &arguments) })
    }

    fn check(&self, values: &BTreeMap<String, String>) -> Result<(), Refusal> {
        let (required, optional) = self.names();
        let list = |names: &[String]| names.join(", ");
        let known = || {
            let all: Vec<String> = required.iter().chain(&optional).cloned().collect();
            if all.is_empty() {
                "this call takes no values: send a body".to_owned()
            } else {
                format!("values can be given for: {}", list(&all))
            }
        };
        let is_known = |name: &String| required.contains(name) || optional.contains(name);
        if let Some(name) = values.keys().find(|name| !is_known(name)) {
            return Err(Refusal::new("values", format!("there is no `{name}` to supply"), known()));
        }
        let object_given = values.contains_key(OBJECT);
        let own = |name: &String| self.params.iter().any(|one| one.name == *name);
        let absent: Vec<String> = required
            .iter()
            .filter(|name| !values.contains_key(*name) && (own(name) || !object_given))
            .cloned()
            .collect();
        if !absent.is_empty() {
            let message = format!("no value is given for {}", list(&absent));
            return Err(Refusal::new("values", message, known()));
        }
        values.iter().try_for_each(|(name, code)| check_expression(name, code))
    }
}

/// Sorts parameters that have a name into those without and with a default.
fn sort_names(params: &[Param], required: &mut Vec<String>, optional: &mut Vec<String>) {
    for param in params.iter().filter(|param| !param.name.is_empty()) {
        let list = match param.kind {
            ParamKind::Required | ParamKind::Key => &mut *required,
            _ => &mut *optional,
        };
        if !list.contains(&param.name) {
            list.push(param.name.clone());
        }
    }
}

/// A value is one expression.
fn check_expression(name: &str, code: &str) -> Result<(), Refusal> {
    let parsed = ruby_prism::parse(code.as_bytes());
    let refuse = |why: String| {
        Refusal::new(
            "values",
            format!("the value of `{name}` {why}"),
            "give one Ruby expression for each name",
        )
    };
    if let Some(error) = parsed.errors().next() {
        return Err(refuse(format!("is not valid Ruby: {}", word(error.message()))));
    }
    let node = parsed.node();
    let count = node.as_program_node().map_or(0, |one| one.statements().body().iter().count());
    // In brackets, a comment or a second line would swallow what follows it.
    let wrapped = format!("[{code}]");
    if count != 1 || code.contains('\n') || !ruby_prism::parse(wrapped.as_bytes()).is_success() {
        return Err(refuse("is not one expression on one line".to_owned()));
    }
    Ok(())
}

struct Parts<'a> {
    values: &'a BTreeMap<String, String>,
    setup: Vec<String>,
}

impl Parts<'_> {
    fn arguments(&mut self, params: &[Param]) -> Result<Vec<String>, Refusal> {
        let mut list = Vec::new();
        let mut left_out: Option<&str> = None;
        for param in params {
            let Some(code) = self.values.get(&param.name).map(|code| code.trim().to_owned()) else {
                left_out = left_out.or((param.kind == ParamKind::Optional).then_some(&param.name));
                continue;
            };
            let value = self.named(&param.name, code);
            let positional = matches!(param.kind, ParamKind::Optional | ParamKind::Rest);
            if let Some(before) = left_out.filter(|_| positional) {
                return Err(Refusal::new(
                    "values",
                    format!("`{}` cannot be given without `{before}`", param.name),
                    "give both, or neither",
                ));
            }
            list.push(match param.kind {
                ParamKind::Required | ParamKind::Optional | ParamKind::Forward => value,
                ParamKind::Rest => format!("*{value}"),
                ParamKind::Key | ParamKind::OptionalKey => format!("{}: {value}", param.name),
                ParamKind::KeyRest => format!("**{value}"),
                ParamKind::Block => format!("&{value}"),
            });
        }
        Ok(list)
    }

    /// A plain value as it is; what is made by a call gets a name.
    fn named(&mut self, name: &str, code: String) -> String {
        if is_plain(&code) {
            return code;
        }
        let name =
            if TAKEN_NAMES.contains(&name) { format!("given_{name}") } else { name.to_owned() };
        let line = format!("{name} = {code}");
        if !self.setup.contains(&line) {
            self.setup.push(line);
        }
        name
    }
}

/// Whether code is a short value without calls.
fn is_plain(code: &str) -> bool {
    let parsed = ruby_prism::parse(code.as_bytes());
    let node = parsed.node();
    let only = node.as_program_node().and_then(|one| one.statements().body().iter().next());
    let literal = only.is_some_and(|one| {
        one.as_integer_node().is_some()
            || one.as_float_node().is_some()
            || one.as_string_node().is_some()
            || one.as_symbol_node().is_some()
            || one.as_nil_node().is_some()
            || one.as_true_node().is_some()
            || one.as_false_node().is_some()
            || one.as_constant_read_node().is_some()
            || one.as_constant_path_node().is_some()
            || one.as_lambda_node().is_some()
            || (one.as_array_node().is_some() && !code.contains('('))
            || (one.as_hash_node().is_some() && !code.contains('('))
    });
    literal && code.len() <= 60
}

fn in_brackets(arguments: &[String]) -> String {
    if arguments.is_empty() { String::new() } else { format!("({})", arguments.join(", ")) }
}

/// The call without its receiver.
fn called(name: &str, arguments: &[String]) -> String {
    let (base, rest) = name.split_at(name.len() - usize::from(name.ends_with(['?', '!'])));
    let is_word = !base.is_empty()
        && !base.starts_with(|letter: char| letter.is_ascii_digit())
        && base.chars().all(|letter| letter == '_' || letter.is_alphanumeric());
    if is_word {
        return format!(".{base}{rest}{}", in_brackets(arguments));
    }
    let list: Vec<String> =
        std::iter::once(symbol(name)).chain(arguments.iter().cloned()).collect();
    format!(".public_send({})", list.join(", "))
}

fn symbol(name: &str) -> String {
    format!(":{name}")
}

/// A call made of supplied values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuppliedCall {
    setup: Vec<String>,
    receiver: String,
    call: String,
}

/// What came of the call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum CallResult {
    /// It returned something.
    Return { matcher: String },
    /// It raised an error on purpose.
    Raise { matcher: String },
    /// It returned nothing worth saying, and changed its object.
    State { matcher: String },
    /// It raised an error because the values are unfit.
    Accident { message: String },
    /// It ended in a way that code cannot say.
    Unknown { message: String },
    /// The example did not get as far as its end.
    Failed { message: String },
}

/// The place that a matcher keeps free for the object.
const RECEIVER_PLACE: &str = "RECEIVER";

impl SuppliedCall {
    /// The body that is only looked at: is it within what an example may do?
    pub(super) fn checked_body(&self) -> String {
        self.body(&format!("expect({}{}).to be_nil", self.receiver, self.call))
    }

    /// The body of the run in which the call is watched.
    pub(super) fn watched_body(&self) -> String {
        self.body(&format!(
            "proctor_receiver = {}\nProctorSupplied.watch(proctor_receiver) {{ proctor_receiver{} }}",
            self.receiver, self.call
        ))
    }

    /// The body of the example that expects what was seen.
    pub(super) fn expecting_body(&self, seen: &CallResult) -> Result<String, Refusal> {
        let Self { receiver, call, .. } = self;
        let refuse = |message: &str, hint: &str| Err(Refusal::new("values", message, hint));
        match seen {
            CallResult::Return { matcher } if matcher.contains(RECEIVER_PLACE) => {
                let matcher = matcher.replace(RECEIVER_PLACE, "object");
                Ok(self.body(&format!("object = {receiver}\nexpect(object{call}).to {matcher}")))
            }
            CallResult::Return { matcher } => {
                Ok(self.body(&format!("expect({receiver}{call}).to {matcher}")))
            }
            CallResult::Raise { matcher } => {
                Ok(self.body(&format!("expect {{ {receiver}{call} }}.to {matcher}")))
            }
            CallResult::State { matcher } => Ok(self
                .body(&format!("object = {receiver}\nobject{call}\nexpect(object).to {matcher}"))),
            CallResult::Accident { message } => refuse(
                &format!("with these values the call fails by accident: {message}"),
                "give values that the method is made for",
            ),
            CallResult::Unknown { message } => {
                refuse(message, "send a body with an expectation of your own")
            }
            CallResult::Failed { message } => refuse(
                &format!("the call could not be made: {message}"),
                "repair the values; objects are made with plain code or verified doubles",
            ),
        }
    }

    fn body(&self, last: &str) -> String {
        let lines: Vec<&str> = self.setup.iter().map(String::as_str).chain([last]).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str, kind: ParamKind) -> Param {
        Param {
            name: name.to_owned(),
            kind,
            default: None,
            types: Vec::new(),
            usage: proctor_ruby::Usage::default(),
        }
    }

    fn shape() -> CallShape {
        CallShape {
            name: "pay!".to_owned(),
            params: vec![
                param("amount", ParamKind::Required),
                param("note", ParamKind::Optional),
                param("rest", ParamKind::Rest),
                param("in", ParamKind::OptionalKey),
            ],
            yields: true,
            receiver: ReceiverShape::New(vec![param("gateway", ParamKind::Required)]),
        }
    }

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, code)| ((*name).to_owned(), (*code).to_owned())).collect()
    }

    fn body(pairs: &[(&str, &str)]) -> Result<String, String> {
        let call = shape().call(&values(pairs)).map_err(|refusal| refusal.message)?;
        call.expecting_body(&CallResult::Return { matcher: "eq(1)".to_owned() })
            .map_err(|refusal| refusal.message)
    }

    #[test]
    fn values_become_a_call_with_objects_in_variables() {
        assert_eq!(
            body(&[("gateway", "instance_double(Gateway, charge: true)"), ("amount", "5")])
                .unwrap(),
            "gateway = instance_double(Gateway, charge: true)\nexpect(described_class.new(gateway).pay!(5)).to eq(1)"
        );
        assert_eq!(
            body(&[
                ("self", "Shop.default"),
                ("amount", "5"),
                ("in", "Money.new(3)"),
                ("block", "-> { 1 }")
            ])
            .unwrap(),
            "given_in = Money.new(3)\nexpect(Shop.default.pay!(5, in: given_in, &-> { 1 })).to eq(1)"
        );
    }

    #[test]
    fn what_cannot_be_called_is_refused_by_name() {
        for (pairs, words) in [
            (&[("amount", "5")][..], "no value is given for gateway"),
            (&[("gateway", "1")], "no value is given for amount"),
            (&[("gateway", "1"), ("amount", "5"), ("sum", "1")], "there is no `sum` to supply"),
            (&[("gateway", "1"), ("amount", "5; 6")], "not one expression"),
            (&[("gateway", "1"), ("amount", "5 # five")], "not one expression"),
            (&[("gateway", "1"), ("amount", "5)")], "not valid Ruby"),
            (&[("gateway", "1"), ("amount", "")], "not one expression"),
            (&[("gateway", "1"), ("amount", "5"), ("rest", "[1]")], "without `note`"),
        ] {
            let refused = body(pairs).unwrap_err();
            assert!(refused.contains(words), "{pairs:?}: {refused}");
        }
    }

    #[test]
    fn an_accident_is_no_example() {
        let call = shape().call(&values(&[("gateway", "1"), ("amount", "nil")])).unwrap();
        let seen: CallResult =
            serde_json::from_str(r#"{"kind":"accident","message":"TypeError: nil"}"#).unwrap();
        assert_eq!(call.expecting_body(&seen).unwrap_err().reason, "values");
    }

    #[test]
    fn operators_and_changed_objects_are_written_as_people_would() {
        let plus = CallShape {
            name: "+".to_owned(),
            params: vec![param("other", ParamKind::Required)],
            receiver: ReceiverShape::New(Vec::new()),
            ..CallShape::default()
        };
        let call = plus.call(&values(&[("other", "2")])).unwrap();
        let state = CallResult::State { matcher: "have_attributes(sum: 2)".to_owned() };
        assert_eq!(
            call.expecting_body(&state).unwrap(),
            "object = described_class.new\nobject.public_send(:+, 2)\nexpect(object).to have_attributes(sum: 2)"
        );
        let itself = CallResult::Return { matcher: "be(RECEIVER)".to_owned() };
        assert!(call.expecting_body(&itself).unwrap().ends_with("to be(object)"));
    }
}
