//! Keys as values that cannot slip out, and the filter for everything that is written.
//!
//! [`Secret`] shows itself to nobody but the code that puts it into a header. [`Redactor`] cleans
//! texts and JSON before they are stored or put into messages: known secrets wherever they stand,
//! members whose name says they hold one, and the well-known shapes of keys.

use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard};

use regex::Regex;
use serde_json::Value;

/// What stands in the place of a secret.
const MASK: &str = "[redacted]";

/// Shorter values are no secrets: to mask every `a` would destroy texts and protect nothing.
const SHORTEST: usize = 6;

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a value. White space around it, as files and shells leave it, is dropped.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().into())
    }

    /// The value itself, for the one place that must send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([redacted])")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

/// Removes secrets from what is written. Clones are one filter: what one learns, all know.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Vec<Secret>>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor({} known)", self.known().len())
    }
}

impl Redactor {
    /// A filter that knows these values, beside the shapes every filter knows.
    pub fn new(known: impl IntoIterator<Item = Secret>) -> Self {
        let redactor = Self::default();
        known.into_iter().for_each(|secret| redactor.learn(secret));
        redactor
    }

    /// From now on this value is filtered too.
    pub fn learn(&self, secret: Secret) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if secret.reveal().len() >= SHORTEST && !known.contains(&secret) {
            // The longest first: a key that contains another must go as a whole.
            let length = secret.reveal().len();
            let place = known.partition_point(|other| other.reveal().len() >= length);
            known.insert(place, secret);
        }
    }

    /// Whether it was told anything.
    pub fn knows_any(&self) -> bool {
        !self.known().is_empty()
    }

    fn known(&self) -> RwLockReadGuard<'_, Vec<Secret>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let clean = self.without_known(text);
        let clean = clean.as_deref().unwrap_or(text);
        KEY_SHAPES.replace_all(clean, MASK).into_owned()
    }

    /// The text, or JSON, without the values that this filter was told; nothing where none occurs.
    pub fn without_known(&self, text: &str) -> Option<String> {
        let mut clean: Option<String> = None;
        for secret in self.known().iter() {
            let plain = secret.reveal();
            let quoted = Value::from(plain).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            for form in [plain, escaped] {
                let now = clean.as_deref().unwrap_or(text);
                if now.contains(form) {
                    clean = Some(now.replace(form, MASK));
                }
            }
        }
        clean
    }

    /// The value without secrets.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, inner)| (name.clone(), self.member(name, inner)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    fn member(&self, name: &str, value: &Value) -> Value {
        if value.is_string() && names_a_secret(name) { MASK.into() } else { self.value(value) }
    }
}

/// Keys of the large providers, and anything said to be a bearer token.
static KEY_SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by every test")]
    Regex::new(r"\b(?:sk|rk|pk|gsk|xai)-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}|\bgh[opsu]_[A-Za-z0-9]{30,}|(?:Bearer|Basic) [A-Za-z0-9._~+/=-]{12,}")
        .unwrap()
});

fn names_a_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    matches!(
        plain.as_str(),
        "authorization"
            | "proxyauthorization"
            | "cookie"
            | "setcookie"
            | "apikey"
            | "xapikey"
            | "password"
            | "secret"
            | "clientsecret"
            | "accesstoken"
            | "refreshtoken"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let secret = Secret::new(" hunter2-hunter2\n");
        assert_eq!(secret.reveal(), "hunter2-hunter2");
        assert_eq!(format!("{secret:?}"), "Secret([redacted])");
        assert_eq!(format!("{:?}", Redactor::new([secret])), "Redactor(1 known)");
    }

    #[test]
    fn known_values_go_wherever_they_stand() {
        let redactor = Redactor::new([Secret::new("abc\"def-ghi"), Secret::new("abc")]);
        assert_eq!(redactor.text(r#"x abc"def-ghi y"#), "x [redacted] y");
        assert_eq!(redactor.text(r#"{"k":"abc\"def-ghi"}"#), r#"{"k":"[redacted]"}"#);
        assert_eq!(
            redactor.text("abc stays: too short to be a secret"),
            "abc stays: too short to be a secret"
        );
    }

    #[test]
    fn what_one_learns_its_clones_know() {
        let redactor = Redactor::new([Secret::new("short-key")]);
        let clone = redactor.clone();
        redactor.learn(Secret::new("a-short-key-and-more"));
        redactor.learn(Secret::new("short-key"));
        assert_eq!(clone.text("a-short-key-and-more, short-key"), "[redacted], [redacted]");
        assert_eq!(format!("{clone:?}"), "Redactor(2 known)");
    }

    #[test]
    fn names_and_shapes_are_known() {
        let dirty = json!({
            "X-Api-Key": "short", "headers": [{"authorization": "Bearer abcdefghijklmnop"}],
            "text": format!("use sk-ant-{}, or not", "a1B2".repeat(6)), "password": 7,
        });
        assert_eq!(
            Redactor::default().value(&dirty),
            json!({
                "X-Api-Key": "[redacted]", "headers": [{"authorization": "[redacted]"}],
                "text": "use [redacted], or not", "password": 7,
            })
        );
    }
}
