//! Models: everything Proctor asks over a prompt, and everything that stands between.
//!
//! Judge, simulator and agents under test are asked through one trait, [`Model`]. *Backends*
//! answer: [`HttpModel`] (Anthropic messages or any OpenAI-compatible chat), [`CommandModel`],
//! [`ScriptedModel`], [`ReplayedModel`] of a cassette, and [`MappedAgent`] for agents with an HTTP
//! interface of their own. *Layers* wrap a model and are models themselves: [`RetryingModel`],
//! [`LimitedModel`], [`BudgetedModel`] (cost and budget), [`CachedModel`], [`RecordedModel`]; [`Layers`] puts them on
//! in the order that works.
//!
//! What is decided is pure and tested without a clock or a socket: the wire formats ([`wire`]),
//! the event-stream decoder ([`sse`]), rate accounting ([`rate`]), back-off ([`RetryPolicy`]),
//! prices ([`price`]), and how a request differs from a recorded one ([`cassette`]).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), proctor_llm::ModelError> {
//! use std::sync::Arc;
//! use proctor_llm::{Jitter, Layers, Limits, Model, Purpose, Request, RequestLimiter, RetryPolicy, Rule, ScriptedModel};
//!
//! let judge = ScriptedModel::new("judge", vec![Rule::queue(["yes"]).for_purpose(Purpose::Judge)]);
//! let judge = Layers {
//!     limiter: Some(Arc::new(RequestLimiter::new(Limits { concurrency: Some(8), ..Limits::default() }))),
//!     retry: Some((RetryPolicy::default(), Jitter::seeded(7))),
//!     ..Layers::default()
//! }
//! .wrap(judge);
//! let answer = judge.ask(&Request::ask(Purpose::Judge, "Was it polite?").in_conversation("ex1")).await?;
//! assert_eq!(answer.text, "yes");
//! # Ok(()) }
//! ```
//!
//! This crate does not print and does not read the environment: keys come in as [`proctor_redact::Secret`]s,
//! which no `Debug` output, error message, cache or cassette ever shows. It knows nothing of
//! conversations, criteria or events.

mod answer;
mod canonical;
pub mod cassette;
mod command;
mod error;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "http")]
mod http;
mod layer;
#[cfg(feature = "http")]
mod mapping;
mod model;
pub mod price;
pub mod rate;
mod request;
mod scripted;
pub mod sse;
#[cfg(feature = "http")]
mod template;
#[cfg(test)]
mod testing;
pub mod wire;

pub use answer::{Answer, StopReason, Timings, Usage};
pub use canonical::{canonical_request, request_hash, without_mark};
pub use cassette::{Player, RecordedModel, Recorder, ReplayMode, ReplayedModel};
pub use command::{
    CommandConfig, CommandInput, CommandModel, CommandOutput, LauncherWords, Program, ProgramOutput,
};
pub use error::{ErrorKind, ModelError};
#[cfg(feature = "http")]
pub use http::{
    Endpoint, ForwardedCall, HttpModel, JsonEndpoint, JsonReplies, WallClock, parse_retry_after,
};
pub use layer::{
    Budget, BudgetedModel, Cache, CacheStats, CachedModel, Jitter, Layers, LimitedModel, Limits,
    RequestLimiter, RetryPolicy, RetryingModel, UnknownPrice, WaitCounts, WaitPolicy, WaitingModel,
};
#[cfg(feature = "http")]
pub use mapping::{MappedAgent, Mapping, ToolCallPaths};
pub use model::{Billing, Identity, Model, ModelFuture};
pub use price::{Cost, Price, PriceTable};
pub use request::{
    Acceptance, ConversationId, Message, Purpose, Request, Role, ToolCall, ToolChoice, ToolResult,
    ToolSpec,
};
pub use scripted::{Rule, ScriptedModel, ScriptedReply, WhenSpent};
