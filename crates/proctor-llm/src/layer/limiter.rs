//! Limits of a backend, for all of its users together: requests at once, requests and tokens per minute.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use crate::answer::{Answer, Usage};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::rate::{Accounts, Ticket};
use crate::request::Request;

/// The pause after a 429 that does not say how long.
const DEFAULT_PAUSE: Duration = Duration::from_secs(2);

/// The output that is reserved for a request without a limit of its own.
pub(super) const DEFAULT_OUTPUT_TOKENS: u32 = 1024;

/// Limits of one backend; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens a minute, input and output together.
    pub tokens_per_minute: Option<u64>,
    /// Requests at the same time.
    pub concurrency: Option<usize>,
}

/// The shared state of the limits. Make one per backend, and give it to all of its users.
#[derive(Debug)]
pub struct RequestLimiter {
    accounts: Mutex<Accounts>,
    concurrency_slots: Option<Semaphore>,
    queue: tokio::sync::Mutex<()>,
    changed: Notify,
    started: Instant,
}

impl RequestLimiter {
    /// A limiter. Reads tokio's clock, so it must be made inside a runtime if that clock is paused.
    pub fn new(limits: Limits) -> Self {
        let Limits { requests_per_minute, tokens_per_minute, concurrency } = limits;
        let accounts = Accounts::new(requests_per_minute, tokens_per_minute, Duration::ZERO);
        Self {
            accounts: Mutex::new(accounts),
            concurrency_slots: concurrency.map(|concurrency_slots| {
                Semaphore::new(concurrency_slots.clamp(1, Semaphore::MAX_PERMITS))
            }),
            queue: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            started: Instant::now(),
        }
    }

    /// The pace in thousandths of the configured one: below 1000 after the peer slowed us down.
    pub fn pace(&self) -> u32 {
        self.accounts().pace()
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a request of about this many tokens. First come, first served: only
    /// the head of the queue looks at the accounts, and a request that gives up leaves the queue.
    async fn wait_for_turn(&self, tokens: u64) -> Ticket {
        let _head = self.queue.lock().await;
        loop {
            let taken = self.accounts().take(self.now(), tokens);
            let wait = match taken {
                Ok(ticket) => return ticket,
                Err(wait) => wait,
            };
            // A call that ends may give tokens back, or bring a pause.
            let _ = tokio::time::timeout(wait, self.changed.notified()).await;
        }
    }

    fn settle(&self, ticket: Ticket, reserved: u64, outcome: &Result<Answer, ModelError>) {
        let now = self.now();
        match outcome {
            Ok(answer) => {
                let used = answer.usage.as_ref().map_or(reserved, Usage::total);
                self.accounts().settle(now, ticket, reserved, used);
            }
            Err(error) if error.kind == ErrorKind::RateLimited => {
                self.accounts().slow_down(now, error.retry_after.unwrap_or(DEFAULT_PAUSE));
            }
            Err(_) => return,
        }
        self.changed.notify_one();
    }
}

/// A model whose requests wait for a limiter.
#[derive(Debug)]
pub struct LimitedModel<M> {
    inner: M,
    limiter: Arc<RequestLimiter>,
}

impl<M: Model> LimitedModel<M> {
    /// Lets a model wait for a limiter.
    pub fn new(inner: M, limiter: Arc<RequestLimiter>) -> Self {
        Self { inner, limiter }
    }
}

impl<M: Model> Model for LimitedModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let output = u64::from(request.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS));
            let tokens = request.estimated_input_tokens() + output;
            // The place first: a turn that is let through but finds no place would be sent late,
            // together with others.
            let _place = match &self.limiter.concurrency_slots {
                Some(concurrency_slots) => concurrency_slots.acquire().await.ok(),
                None => None,
            };
            let ticket = self.limiter.wait_for_turn(tokens).await;
            let outcome = self.inner.ask(request).await;
            self.limiter.settle(ticket, tokens, &outcome);
            outcome
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}
