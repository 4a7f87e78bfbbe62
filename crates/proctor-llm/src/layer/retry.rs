//! Retries of transient failures, with exponential back-off.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::request::Request;

/// Random numbers from 0 up to 1, from a seed that is passed in.
#[derive(Clone, Debug)]
pub struct Jitter(Arc<Mutex<u64>>);

impl Jitter {
    /// A source that gives the same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(seed)))
    }

    /// The next number (`SplitMix64`).
    pub fn next(&self) -> f64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let upper = u32::try_from(mixed >> 32).unwrap_or_default();
        f64::from(upper) / (f64::from(u32::MAX) + 1.0)
    }
}

/// When to try again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Tries in all, the first included.
    pub max_tries: u32,
    /// Wait before the second try; doubles with every further one.
    pub first_delay: Duration,
    /// Longest wait of our own choosing.
    pub max_delay: Duration,
    /// Longest wait that a peer may ask for; if it asks for more, we give up at once.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_tries: 4,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(20),
            max_retry_after: Duration::from_secs(90),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after this failure of the `tries`-th try; `None` to give up. `jitter` is
    /// from 0 to 1 and spreads the second half of the wait.
    pub fn wait(&self, error: &ModelError, tries: u32, jitter: f64) -> Option<Duration> {
        if tries >= self.max_tries || !Self::can_help(error.kind, tries) {
            return None;
        }
        let doubled = self.first_delay.saturating_mul(1_u32 << (tries.saturating_sub(1)).min(20));
        let own = doubled.min(self.max_delay).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        match error.retry_after {
            Some(asked) if asked > self.max_retry_after => None,
            // Later than asked, never earlier; a little apart, so that not all come back at once.
            Some(asked) => Some(asked + own.min(asked.mul_f64(0.1) + Duration::from_millis(100))),
            None => Some(own),
        }
    }

    /// An answer that cannot be understood is worth one more try, not four paid ones.
    fn can_help(kind: ErrorKind, tries: u32) -> bool {
        kind.is_transient() && (kind != ErrorKind::Malformed || tries < 2)
    }
}

/// A model that is asked again when that can help.
#[derive(Debug)]
pub struct RetryingModel<M> {
    inner: M,
    policy: RetryPolicy,
    jitter: Jitter,
}

impl<M: Model> RetryingModel<M> {
    /// Wraps a model.
    pub fn new(inner: M, policy: RetryPolicy, jitter: Jitter) -> Self {
        Self { inner, policy, jitter }
    }
}

impl<M: Model> Model for RetryingModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let mut tries = 1;
            loop {
                let error = match self.inner.ask(request).await {
                    Ok(answer) => return Ok(crate::Answer { tries, ..answer }),
                    Err(error) => error,
                };
                match self.policy.wait(&error, tries, self.jitter.next()) {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return Err(ModelError { tries, ..error }),
                }
                tries += 1;
            }
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}
