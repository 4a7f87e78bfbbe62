//! The interfaces of models that agents speak, and how their answers are read, streamed or not.

use serde_json::Value;

use super::{AnswerParts, Dialect, WireFault, responses};
use crate::sse::SseDecoder;

/// An interface of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Chat completions of `OpenAI`.
    ChatCompletions,
    /// Responses of `OpenAI`.
    Responses,
    /// Messages of Anthropic.
    Messages,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ChatCompletions, Self::Responses, Self::Messages];

    /// The word used in files and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

    /// How its address ends, behind the base address that clients are given.
    pub fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }

    /// The provider whose interface it is.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::ChatCompletions | Self::Responses => Dialect::OpenAi,
            Self::Messages => Dialect::Anthropic,
        }
    }

    /// The answer in a whole body.
    pub fn decode(self, body: &Value) -> Result<AnswerParts, WireFault> {
        match self {
            Self::Responses => responses::decode(body),
            Self::ChatCompletions | Self::Messages => self.dialect().decode(body),
        }
    }

    /// The answer in a whole stream of events.
    pub fn decode_stream(self, text: &str) -> Result<AnswerParts, WireFault> {
        let mut events = SseDecoder::new(text.len().max(1));
        let pushed = events.push(text.as_bytes());
        pushed.map_err(|problem| WireFault::malformed(problem.to_string()))?;
        let mut fold = match self {
            Self::Responses => responses::stream_decoder(),
            Self::ChatCompletions | Self::Messages => self.dialect().stream_decoder(),
        };
        while let Some(event) = events.next_event() {
            if fold.event(&event)?.done {
                break;
            }
        }
        fold.finish()
    }
}
