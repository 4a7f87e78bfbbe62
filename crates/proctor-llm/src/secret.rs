//! Keys as values that cannot slip out, and the filter for everything that is written.
//!
//! [`Secret`] is shown only to the code that puts it into a header. [`Redactor`] cleans
//! texts and JSON before they are stored or put into messages: known secrets wherever they stand
//! and however often they were escaped on the way, members whose name says they hold one, and the
//! well-known shapes of keys. In JSON only the contents of strings and whole numbers are looked at, and names of members
//! that do not look like fields: a secret that is also the name of a field leaves the JSON what it is.

mod spelling;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock, RwLockReadGuard};

use regex::Regex;
use serde_json::Value;

/// What stands in the place of a secret.
const MASK: &str = "[redacted]";

/// How many characters a value has at least to be filtered. To mask every `on` would destroy texts and protect nothing.
pub const SHORTEST_SECRET: usize = 6;

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
    known: Arc<RwLock<KnownSecrets>>,
}

#[derive(Default)]
struct KnownSecrets {
    /// The longest first: a key that contains another must go as a whole.
    secrets: Vec<Secret>,
    /// Finds those in all their spellings that are not too large for it.
    pattern: Option<Regex>,
}

impl KnownSecrets {
    /// Secrets that no pattern finds.
    fn without_pattern(&self) -> impl Iterator<Item = &str> {
        let all = self.secrets.iter().map(Secret::reveal);
        all.filter(|text| self.pattern.is_none() || !spelling::fits_in_pattern(text))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Redactor({} known)", self.known().secrets.len())
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
            let length = secret.reveal().len();
            let place = known.secrets.partition_point(|other| other.reveal().len() >= length);
            known.secrets.insert(place, secret);
            let fitting = known.secrets.iter().map(Secret::reveal);
            known.pattern =
                spelling::pattern(fitting.filter(|text| spelling::fits_in_pattern(text)));
        }
        true
    }

    /// Whether it was told anything.
    pub fn has_secrets(&self) -> bool {
        !self.known().secrets.is_empty()
    }

    fn known(&self) -> RwLockReadGuard<'_, KnownSecrets> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let clean = self.without_known(text);
        let clean = clean.as_deref().unwrap_or(text);
        KEY_SHAPES.replace_all(clean, MASK).into_owned()
    }

    /// The text without the values that this filter was told; nothing where none occurs.
    pub fn without_known(&self, text: &str) -> Option<String> {
        let known = self.known();
        let mut clean = Cow::Borrowed(text);
        for form in known.without_pattern().flat_map(spelling::usual_spellings) {
            if clean.contains(&form) {
                clean = clean.replace(&form, MASK).into();
            }
        }
        if let Some(pattern) = &known.pattern
            && let Cow::Owned(filtered) = pattern.replace_all(&clean, MASK)
        {
            clean = filtered.into();
        }
        match clean {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        }
    }

    /// The value without secrets.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if self.is_known(&number.to_string()) => MASK.into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, inner)| (self.name(name), self.member(name, inner)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    fn is_known(&self, text: &str) -> bool {
        self.known().secrets.iter().any(|secret| secret.reveal() == text)
    }

    /// The name of a member. One that looks like a field's name is one, and not a secret.
    fn name(&self, name: &str) -> String {
        let is_field = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let clean = if is_field { None } else { self.without_known(name) };
        clean.unwrap_or_else(|| name.to_owned())
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

/// Whether the name of a header or member says that its value is a secret.
pub fn names_a_secret(name: &str) -> bool {
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
    use proptest::prelude::*;
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

    /// Audit D11: values with quotes, backslashes, tabs and line feeds leaked once they were escaped twice.
    #[test]
    fn d11_escaping_does_not_hide_a_secret() {
        let nasty = "pass\"word\\with\ttab\nand/slash é<&'🦀";
        let redactor = Redactor::new([Secret::new(nasty)]);
        let mut text = nasty.to_owned();
        for depth in 0..5 {
            assert_eq!(redactor.text(&format!("a {text} b")), "a [redacted] b", "{depth}: {text}");
            let quoted = Value::from(text).to_string();
            text = quoted[1..quoted.len() - 1].to_owned();
        }
        // As Python, Go, PHP and Ruby write JSON.
        for spelled in [
            r#"pass\"word\\with\ttab\nand/slash \u00e9<&'\ud83e\udd80"#,
            r#"pass\"word\\with\ttab\nand/slash é\u003c\u0026\u0027🦀"#,
            r"pass\u0022word\u005Cwith\u0009tab\u000Aand\/slash \u00E9<&'\uD83E\uDD80",
            r"pass\\u0022word\\u005cwith\\u0009tab\\u000aand\\/slash \\u00e9<&'\\ud83e\\udd80",
        ] {
            assert_eq!(redactor.text(&format!("a {spelled} b")), "a [redacted] b", "{spelled}");
        }
    }

    /// Audit D11: a value that is also the name of a field, or a word of JSON, changes nothing but texts.
    #[test]
    fn d11_names_of_fields_and_words_of_json_stay() {
        let redactor =
            Redactor::new(["arguments", "metadata", "12345678", "Hush-Hush"].map(Secret::new));
        let value = json!({
            "arguments": {"metadata": "metadata!", "n": 12_345_678, "m": 123_456_789},
            "Hush-Hush": true, "say": ["arguments"],
        });
        assert_eq!(
            redactor.value(&value),
            json!({
                "arguments": {"metadata": "[redacted]!", "n": "[redacted]", "m": 123_456_789},
                "[redacted]": true, "say": ["[redacted]"],
            })
        );
    }

    #[test]
    fn values_that_are_too_short_are_told_apart() {
        let redactor = Redactor::default();
        assert!(!redactor.add_secret(Secret::new("12345")));
        assert!(!redactor.add_secret(Secret::new("ééééé")), "characters count, not bytes");
        assert!(redactor.add_secret(Secret::new("123456")));
        assert!(redactor.add_secret(Secret::new("123456")), "known already");
        assert_eq!(redactor.text("12345 123456"), "12345 [redacted]");
    }

    #[test]
    fn a_value_too_large_for_a_pattern_is_filtered_all_the_same() {
        let large = "\"é".repeat(40_000);
        let redactor = Redactor::new([Secret::new(&large)]);
        let escaped = Value::from(large.as_str()).to_string();
        for text in [large.clone(), escaped.clone(), Value::from(escaped).to_string()] {
            assert!(!redactor.text(&format!("a {text}")).contains('é'));
        }
    }

    proptest! {
        /// However often it is quoted, in whatever it stands: the secret goes, and JSON stays JSON.
        #[test]
        fn d11_no_secret_survives_in_json(
            secret in "[a-z\"\\\\\t\n\r/é ]{4}[a-z\"\\\\/é][a-z]{3}",
            before in "[^\\\\]{0,4}",
            depth in 0_usize..4,
        ) {
            let secret = Secret::new(secret);
            prop_assume!(secret.reveal().chars().count() >= SHORTEST_SECRET);
            let redactor = Redactor::new([secret.clone()]);
            let mut quoted = format!("{before}{} and more", secret.reveal());
            for _ in 0..depth {
                quoted = json!({ "inner": quoted }).to_string();
            }
            let mut clean = redactor.value(&json!({ "text": quoted }))["text"].as_str().unwrap().to_owned();
            for _ in 0..depth {
                clean = match serde_json::from_str::<Value>(&clean) {
                    Ok(value) => value["inner"].as_str().unwrap().to_owned(),
                    // The text before the secret may take part in a match; then there is nothing left to unpack.
                    Err(_) => clean,
                };
            }
            prop_assert!(!clean.contains(secret.reveal()), "{clean}");
            prop_assert!(clean.contains(MASK));
        }
    }

    #[test]
    fn what_one_learns_its_clones_know() {
        let redactor = Redactor::new([Secret::new("short-key")]);
        let clone = redactor.clone();
        redactor.add_secret(Secret::new("a-short-key-and-more"));
        redactor.add_secret(Secret::new("short-key"));
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
