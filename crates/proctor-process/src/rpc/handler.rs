//! The host's side of requests that a child sends.
//!
//! A handler is any async function from [`IncomingRequest`] to a payload or a [`ReplyError`]. It
//! owns no connection: the channel calls it, concurrently, and sends the reply.

use crate::protocol::{IncomingRequest, ReplyError};
use serde::Serialize;
use serde_json::value::RawValue;
use std::future::Future;
use std::pin::Pin;

/// The payload of a reply: a JSON object.
#[derive(Debug, Clone)]
pub struct Payload(pub(crate) Box<RawValue>);

impl Payload {
    /// Serialises the payload of a reply; anything but an object is found out when it is sent.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, ReplyError> {
        serde_json::value::to_raw_value(value)
            .map(Self)
            .map_err(|error| ReplyError::failed(format!("the reply cannot be written: {error}")))
    }

    /// A reply that says no more than that it is one.
    pub fn empty() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

/// What a handler gives back.
pub type HandlerResult = Result<Payload, ReplyError>;
/// A handler at work.
pub type HandlerFuture = Pin<Box<dyn Future<Output = HandlerResult> + Send>>;

/// Answers requests of a child. Closures `Fn(IncomingRequest) -> impl Future<…>` qualify.
///
/// A handler that does not know the action returns [`ReplyError::unknown_action`]. When the child
/// cancels the request or the channel closes, the future is dropped.
pub trait RequestHandler: Send + Sync + 'static {
    /// Begins to answer one request.
    fn handle(&self, request: IncomingRequest) -> HandlerFuture;
}

impl<F, Answer> RequestHandler for F
where
    F: Fn(IncomingRequest) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = HandlerResult> + Send + 'static,
{
    fn handle(&self, request: IncomingRequest) -> HandlerFuture {
        Box::pin(self(request))
    }
}
