//! The trait [`Model`] and the identity of a model.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::answer::Answer;
use crate::error::ModelError;
use crate::request::Request;

/// A pending request. Dropping it cancels it: connections are closed, child processes end.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// Provider and model that answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The sort of backend: `anthropic`, `openai`, `command`, `scripted`, `replay`, `agent`.
    pub backend: &'static str,
    /// The model, as it is asked for.
    pub model: String,
    /// Who pays for answers.
    pub billing: Billing,
    /// Digest of everything in the configuration that can change an answer: address, headers, further members of
    /// the body, the words of a command. Part of the keys of a cache; empty where answers are not worth keeping.
    pub fingerprint: String,
}

/// Who pays for answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Billing {
    /// Free of charge: scripts and cassettes.
    Free,
    /// The user, per token. A budget refuses requests without a known price.
    ByTokens,
    /// Unknown: an agent under test. Its cost is known only where it names a model
    /// with a price and counts its tokens; a budget counts that, and never refuses if it is missing.
    Elsewhere,
}

/// Anything that can be asked.
pub trait Model: Send + Sync {
    /// Asks once.
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a>;

    /// Provider and model that answer; for records and cache keys.
    fn identity(&self) -> &Identity;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        (**self).ask(request)
    }

    fn identity(&self) -> &Identity {
        (**self).identity()
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        (**self).ask(request)
    }

    fn identity(&self) -> &Identity {
        (**self).identity()
    }
}
