//! What a model answered, with what it cost in tokens and time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::price::Cost;
use crate::request::ToolCall;

/// Tokens of one call. The kinds of input do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input read at the full price.
    pub input_tokens: u64,
    /// Output written, reasoning included.
    pub output_tokens: u64,
    /// Input that the provider had in its prompt cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Input that the provider put into its prompt cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

impl Usage {
    /// All tokens.
    pub fn total(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    /// It had said everything.
    #[default]
    End,
    /// The limit on output tokens cut it off.
    MaxTokens,
    /// It waits for tool results.
    ToolUse,
    /// It came to a stop word.
    StopSequence,
    /// It, or a filter, declined.
    Refusal,
    /// A reason this crate has no word for, as the provider spelled it.
    Other(String),
}

impl From<String> for StopReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "end" => Self::End,
            "max_tokens" => Self::MaxTokens,
            "tool_use" => Self::ToolUse,
            "stop_sequence" => Self::StopSequence,
            "refusal" => Self::Refusal,
            _ => Self::Other(word),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::End => "end".into(),
            StopReason::MaxTokens => "max_tokens".into(),
            StopReason::ToolUse => "tool_use".into(),
            StopReason::StopSequence => "stop_sequence".into(),
            StopReason::Refusal => "refusal".into(),
            StopReason::Other(word) => word,
        }
    }
}

/// How long an answer took. Waiting for limits and earlier tries are not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timings {
    /// From sending the request to the last byte.
    #[serde(rename = "total_ms", with = "milliseconds")]
    pub total: Duration,
    /// To the first piece of content, where the answer was streamed.
    #[serde(rename = "first_token_ms", with = "maybe_milliseconds", default)]
    pub first_token: Option<Duration>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The words.
    pub text: String,
    /// Tool calls it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Tokens, where the backend counts them.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The model that answered, as it names itself.
    pub model: String,
    /// Why it stopped.
    #[serde(default)]
    pub stop: StopReason,
    /// How long it took.
    #[serde(default)]
    pub timings: Timings,
    /// The body as received (the whole event stream where it was streamed).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub raw: String,
    /// Whether it came from a cache or a cassette.
    #[serde(default)]
    pub cached: bool,
    /// How often it was asked until it came.
    #[serde(default = "one")]
    pub tries: u32,
    /// How long the peer was waited for between the tries, because it said that it was busy.
    #[serde(skip)]
    pub waited: Duration,
    /// What it cost when it was made; `None` where the price is not known, which is not the same
    /// as nothing. Only answers that are not `cached` have cost this run anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

impl Answer {
    /// An answer of words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), tries: 1, ..Self::default() }
    }
}

fn one() -> u32 {
    1
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

mod maybe_milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde asks for this signature")]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|some| u64::try_from(some.as_millis()).unwrap_or(u64::MAX)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}
