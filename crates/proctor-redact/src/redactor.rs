//! The filter: what it knows, and what it does to texts and values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use proctor_text::MASK;
use serde_json::{Map, Value};

use crate::json_line::{self, Extent};
use crate::matcher::{Matcher, Scope};
use crate::names_a_secret;
use crate::secret::{SHORTEST_SECRET, Secret};
use crate::variables::{is_secret_variable, url_password};

/// How often a text is searched again because a mask could have made a known value together with its neighbours.
const MOST_ROUNDS: usize = 8;

/// Removes secrets from what is written. Clones are one filter: what one learns, all know.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    secrets: Vec<Secret>,
    /// Compiled when it is first needed after a value was learned.
    matcher: OnceLock<Arc<Matcher>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        write!(formatter, "Redactor({} known)", known.secrets.len())
    }
}

impl Redactor {
    /// A filter that knows these values, beside the shapes every filter knows.
    pub fn new(known: impl IntoIterator<Item = Secret>) -> Self {
        let redactor = Self::default();
        for secret in known {
            redactor.add_secret(secret);
        }
        redactor
    }

    /// From now on this value is filtered too. Says whether it is: values of less than [`SHORTEST_SECRET`] characters
    /// are not.
    pub fn add_secret(&self, secret: Secret) -> bool {
        if secret.reveal().chars().count() < SHORTEST_SECRET {
            return false;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.secrets.contains(&secret) {
            known.secrets.push(secret);
            known.matcher = OnceLock::new();
        }
        true
    }

    /// Learns the values of those variables that [`is_secret_variable`] names; of a URL also its password. A URL without a password is no
    /// secret. Returns the names of variables whose values are too short to be filtered.
    pub fn learn_variables<N: AsRef<str>, V: AsRef<str>>(
        &self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Vec<String> {
        let mut too_short = Vec::new();
        for (name, value) in variables {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if value.is_empty() || !is_secret_variable(name) {
                continue;
            }
            let password = url_password(value);
            if value.contains("://") && password.is_none() {
                continue;
            }
            let learned = password.is_none_or(|password| self.add_secret(Secret::new(password)));
            if !self.add_secret(Secret::new(value)) || !learned {
                too_short.push(name.to_owned());
            }
        }
        too_short
    }

    /// Whether it was told anything.
    pub fn has_secrets(&self) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        !known.secrets.is_empty()
    }

    /// The text without secrets. Borrowed if it has none.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redact(&self.matcher(), text, Scope::All)
    }

    /// The bytes without secrets, whether they are UTF-8 or not. Borrowed if they have none.
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        redact_bytes(&self.matcher(), bytes, Scope::All)
    }

    /// The text without the values that this filter was told; nothing where none occurs.
    pub fn without_known(&self, text: &str) -> Option<String> {
        match redact(&self.matcher(), text, Scope::Known) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        }
    }

    /// One JSON document, for example an event, without secrets. Borrowed if it has none. Only the contents of strings, whole numbers and
    /// names of members that do not look like fields change, so that it stays valid and keeps its structure. What is not JSON is redacted
    /// as text.
    pub fn redact_json_line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let is_known = |text: &str| self.is_known(text);
        json_line::redact_line(&self.matcher(), line, Extent::Whole, &is_known)
    }

    /// A part of a JSON document that is cut between members of lists, without secrets. All parts together are what
    /// [`redact_json_line`](Self::redact_json_line) makes of the whole, if the objects around those lists have names of members that look like
    /// fields.
    pub fn redact_json_part<'a>(&self, part: &'a [u8]) -> Cow<'a, [u8]> {
        let is_known = |text: &str| self.is_known(text);
        json_line::redact_line(&self.matcher(), part, Extent::Part, &is_known)
    }

    /// The value without secrets.
    pub fn redact_value(&self, value: &Value) -> Value {
        self.redact_inner(&self.matcher(), value)
    }

    fn redact_inner(&self, matcher: &Matcher, value: &Value) -> Value {
        match value {
            Value::String(text) => redact(matcher, text, Scope::All).into(),
            Value::Number(number) if self.is_known(&number.to_string()) => MASK.into(),
            Value::Array(items) => {
                items.iter().map(|item| self.redact_inner(matcher, item)).collect()
            }
            Value::Object(members) => Value::Object(self.redact_members(matcher, members)),
            other => other.clone(),
        }
    }

    fn redact_members(
        &self,
        matcher: &Matcher,
        members: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut taken: BTreeSet<String> = members.keys().cloned().collect();
        let named = members.iter().map(|(name, inner)| {
            let name_clean = match redact_member_name(matcher, name) {
                Some(clean) => unused_name(&mut taken, &clean),
                None => name.clone(),
            };
            let masked = inner.is_string() && names_a_secret(name);
            (name_clean, if masked { MASK.into() } else { self.redact_inner(matcher, inner) })
        });
        named.collect()
    }

    fn is_known(&self, text: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.secrets.iter().any(|secret| secret.reveal() == text)
    }

    pub(crate) fn matcher(&self) -> Arc<Matcher> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let values = || known.secrets.iter().map(Secret::reveal);
        known.matcher.get_or_init(|| Arc::new(Matcher::new(values()))).clone()
    }
}

/// The name of a member without known values, if it has any. One that looks like a field's name is one, and not a secret.
pub(crate) fn redact_member_name(matcher: &Matcher, name: &str) -> Option<String> {
    let is_field = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_field {
        return None;
    }
    match redact(matcher, name, Scope::Known) {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    }
}

/// A name that no other member of the object has.
pub(crate) fn unused_name(taken: &mut BTreeSet<String>, name: &str) -> String {
    let numbered = (2_usize..).map(|number| format!("{name} {number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let unused = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(unused.clone());
    unused
}

fn redact<'a>(matcher: &Matcher, text: &'a str, scope: Scope) -> Cow<'a, str> {
    let mut ranges = matcher.search(text.as_bytes(), scope).ranges;
    if ranges.is_empty() {
        return text.into();
    }
    for range in &mut ranges {
        *range = text.floor_char_boundary(range.start)..text.ceil_char_boundary(range.end);
    }
    let clean = masked(text.as_bytes(), &ranges);
    let clean = again(matcher, clean, scope);
    String::from_utf8(clean)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        .into()
}

pub(crate) fn redact_bytes<'a>(matcher: &Matcher, bytes: &'a [u8], scope: Scope) -> Cow<'a, [u8]> {
    let ranges = matcher.search(bytes, scope).ranges;
    if ranges.is_empty() {
        return bytes.into();
    }
    again(matcher, masked(bytes, &ranges), scope).into()
}

/// Searches what was masked until a mask makes no known value together with its neighbours.
fn again(matcher: &Matcher, mut clean: Vec<u8>, scope: Scope) -> Vec<u8> {
    if matcher.touches_mask() {
        for _ in 0..MOST_ROUNDS {
            let ranges = matcher.search(&clean, scope).ranges;
            if ranges.is_empty() {
                break;
            }
            clean = masked(&clean, &ranges);
        }
    }
    clean
}

/// The bytes with a mask in the place of each range. Ranges are sorted; they may touch, and overlap after they were widened.
pub(crate) fn masked(bytes: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len() + MASK.len());
    let mut at = 0;
    for range in ranges {
        if range.end <= at {
            continue;
        }
        clean.extend_from_slice(&bytes[at..range.start.max(at)]);
        clean.extend_from_slice(MASK.as_bytes());
        at = range.end;
    }
    clean.extend_from_slice(&bytes[at..]);
    clean
}
