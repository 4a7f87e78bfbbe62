//! A model endpoint for agents under test: a server on the loopback that speaks chat completions, Responses and Messages, streamed or not.
//!
//! One [`EndpointServer`] serves all conversations of a run. Each [`OpenEndpoint`] has an address and a key of its own, so conversations
//! that run at the same time never mix, and it ends when it is dropped. Its [`Source`] answers: a script, a tape, or a real model that the
//! call is forwarded to; [`Fault`]s come before the answers. What goes over the wire is told as [`ObservedCall`]s.
//!
//! This crate knows nothing of conversations, scenarios or events, does not print and does not read the environment.

mod answer;
mod conversation;
mod fault;
mod forward;
mod prompt;
mod prompt_diff;
mod replay;
mod script;
mod server;

pub use answer::{CallRequested, ScriptedAnswer};
pub use conversation::{ObservedCall, Observer, OpenEndpoint, Source, Summary};
pub use fault::Fault;
pub use forward::{Forward, Recording};
pub use replay::{OnDrift, Replay};
pub use script::{Applies, Script, ScriptItem};
pub use server::EndpointServer;
