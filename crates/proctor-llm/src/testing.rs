//! Helpers of the unit tests: a model that counts and follows a list, and futures that are ready.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use crate::{Answer, Billing, Identity, Model, ModelError, ModelFuture, Request};

/// The output of a future that does not have to wait.
pub(crate) fn now_or_never<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits for something"),
    }
}

/// Gives outcomes in order, the last one for ever, and counts.
pub(crate) struct FakeModel {
    identity: Identity,
    outcomes: Mutex<VecDeque<Result<Answer, ModelError>>>,
    pub(crate) asked: AtomicU32,
}

impl FakeModel {
    pub(crate) fn new(outcomes: impl IntoIterator<Item = Result<Answer, ModelError>>) -> Self {
        Self::of_model("gpt-4o", outcomes)
    }

    pub(crate) fn of_model(
        model: &str,
        outcomes: impl IntoIterator<Item = Result<Answer, ModelError>>,
    ) -> Self {
        Self {
            identity: Identity {
                backend: "fake",
                model: model.into(),
                billing: Billing::ByTokens,
                fingerprint: String::new(),
            },
            outcomes: Mutex::new(outcomes.into_iter().collect()),
            asked: AtomicU32::new(0),
        }
    }

    pub(crate) fn named(mut self, model: &str, billing: Billing) -> Self {
        self.identity = Identity { model: model.into(), billing, ..self.identity };
        self
    }

    pub(crate) fn count(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Model for FakeModel {
    fn ask<'a>(&'a self, _: &'a Request) -> ModelFuture<'a> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut outcomes = self.outcomes.lock().unwrap();
        let next =
            if outcomes.len() > 1 { outcomes.pop_front() } else { outcomes.front().cloned() };
        Box::pin(async move { next.unwrap() })
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
