//! Waiting for an agent that says that it is busy: status 429 or 503.
//!
//! Unlike [`RetryingModel`](super::RetryingModel), which repeats whatever can succeed later, this waits only where the peer has refused
//! the request before working on it: another failure of an agent is a result of the test. All waits and tries of a turn together
//! stay within its time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::Jitter;
use crate::error::{ErrorKind, ModelError};
use crate::model::{Identity, Model, ModelFuture};
use crate::request::Request;

/// The first wait without `Retry-After`; doubles with every further one.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The longest wait without `Retry-After`.
const MAX_DELAY: Duration = Duration::from_secs(4);
/// How many waits without `Retry-After` there are.
const MAX_OWN_WAITS: u32 = 4;
/// The shortest wait, so that `Retry-After: 0` is no busy loop.
const SHORTEST: Duration = Duration::from_millis(50);

/// How often and how long agents were waited for in a run.
#[derive(Debug, Default)]
pub struct WaitCounts {
    waits: AtomicU64,
    milliseconds: AtomicU64,
}

impl WaitCounts {
    fn add(&self, waited: Duration) {
        let milliseconds = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.milliseconds.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// How often.
    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// How long in all.
    pub fn waited(&self) -> Duration {
        Duration::from_millis(self.milliseconds.load(Ordering::Relaxed))
    }
}

/// How an agent is waited for.
#[derive(Debug, Clone)]
pub struct WaitPolicy {
    /// What one turn may take with all waits.
    pub limit: Duration,
    /// Spreads the waits that nobody asked for.
    pub jitter: Jitter,
    /// Counts the waits of the run.
    pub counts: Arc<WaitCounts>,
}

/// A model that is asked again when it says that it is busy.
#[derive(Debug)]
pub struct WaitingModel<M> {
    inner: M,
    policy: WaitPolicy,
}

impl<M: Model> WaitingModel<M> {
    /// Wraps a model.
    pub fn new(inner: M, policy: WaitPolicy) -> Self {
        Self { inner, policy }
    }

    /// How long to wait after this failure; nothing if waiting is no use.
    fn wait(&self, error: &ModelError, waits: u32) -> Option<Duration> {
        let is_busy = matches!(error.status, Some(429 | 503))
            && matches!(error.kind, ErrorKind::RateLimited | ErrorKind::Overloaded);
        if !is_busy {
            return None;
        }
        if let Some(asked) = error.retry_after {
            return Some(asked.max(SHORTEST));
        }
        if waits >= MAX_OWN_WAITS {
            return None;
        }
        let doubled = FIRST_DELAY.saturating_mul(1 << waits.min(20)).min(MAX_DELAY);
        Some(doubled.mul_f64(0.5 + self.policy.jitter.next() / 2.0))
    }
}

impl<M: Model> Model for WaitingModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let limit = self.policy.limit;
            let began = Instant::now();
            let (mut waits, mut waited) = (0_u32, Duration::ZERO);
            loop {
                let left = limit.saturating_sub(began.elapsed());
                let asked = if waits == 0 {
                    self.inner.ask(request).await
                } else {
                    // The first try has the limit of its own; later ones have what is left.
                    let asked = tokio::time::timeout(left, self.inner.ask(request)).await;
                    asked.unwrap_or_else(|_| Err(too_late(limit, waits, waited)))
                };
                let tries = waits + 1;
                let error = match asked {
                    Ok(answer) => {
                        return Ok(crate::Answer {
                            tries: answer.tries.max(tries),
                            waited,
                            ..answer
                        });
                    }
                    Err(error) => ModelError { tries: error.tries.max(tries), ..error },
                };
                let Some(wait) = self.wait(&error, waits) else {
                    return Err(with_waits(&error, waits, waited));
                };
                let left = limit.saturating_sub(began.elapsed());
                if wait >= left {
                    return Err(beyond_limit(&error, wait, limit, waits, waited));
                }
                tokio::time::sleep(wait).await;
                self.policy.counts.add(wait);
                waits += 1;
                waited += wait;
            }
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}

fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    format!("{tenths} s")
}

/// What was waited before, for the end of a sentence.
fn waits_before(waits: u32, waited: Duration) -> String {
    if waits == 0 {
        return String::new();
    }
    let times = if waits == 1 { "once".to_owned() } else { format!("{waits} times") };
    format!("; it was waited for {times} before, {} in all", seconds(waited))
}

fn with_waits(error: &ModelError, waits: u32, waited: Duration) -> ModelError {
    let message = format!("{}{}", error.message, waits_before(waits, waited));
    ModelError { message, ..error.clone() }
}

fn too_late(limit: Duration, waits: u32, waited: Duration) -> ModelError {
    let message = format!(
        "the agent did not finish its answer within {}, which a turn may take (`timeout`){}",
        seconds(limit),
        waits_before(waits, waited)
    );
    ModelError::new(ErrorKind::Timeout, message)
}

fn beyond_limit(
    error: &ModelError,
    wait: Duration,
    limit: Duration,
    waits: u32,
    waited: Duration,
) -> ModelError {
    let asks = match error.retry_after {
        Some(asked) => format!("it asks to be asked again after {} (Retry-After)", seconds(asked)),
        None => format!("the next try would be after {}", seconds(wait)),
    };
    let message = format!(
        "{}; {asks}, which is beyond the {} that a turn may take (`timeout`){}",
        error.message,
        seconds(limit),
        waits_before(waits, waited)
    );
    ModelError { message, ..error.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::testing::FakeModel;

    fn busy(status: u16, after: Option<u64>) -> Result<Answer, ModelError> {
        let kind = if status == 429 { ErrorKind::RateLimited } else { ErrorKind::Overloaded };
        let retry_after = after.map(Duration::from_secs);
        Err(ModelError { status: Some(status), retry_after, ..ModelError::new(kind, "is busy") })
    }

    struct Asked {
        outcome: Result<Answer, ModelError>,
        took: Duration,
        waits: u64,
    }

    async fn ask(
        replies: impl IntoIterator<Item = Result<Answer, ModelError>>,
        limit: Duration,
    ) -> Asked {
        let counts = Arc::<WaitCounts>::default();
        let policy = WaitPolicy { limit, jitter: Jitter::seeded(1), counts: Arc::clone(&counts) };
        let model = WaitingModel::new(FakeModel::new(replies), policy);
        let began = Instant::now();
        let outcome = model.ask(&Request::default()).await;
        Asked { outcome, took: began.elapsed(), waits: counts.waits() }
    }

    const MINUTE: Duration = Duration::from_mins(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_for_is_waited_and_counted() {
        let replies = [busy(429, Some(7)), busy(503, Some(2)), Ok(Answer::text("yes"))];
        let asked = ask(replies, MINUTE).await;
        let answer = asked.outcome.unwrap();
        assert_eq!((answer.tries, answer.waited), (3, Duration::from_secs(9)));
        assert_eq!((asked.took, asked.waits), (Duration::from_secs(9), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_beyond_the_limit_is_an_error_at_once() {
        let asked = ask([busy(429, Some(7)), busy(429, Some(55))], MINUTE).await;
        assert_eq!((asked.took, asked.waits), (Duration::from_secs(7), 1));
        let error = asked.outcome.unwrap_err();
        assert_eq!((error.kind, error.tries), (ErrorKind::RateLimited, 2));
        assert_eq!(
            error.message,
            "is busy; it asks to be asked again after 55 s (Retry-After), which is beyond the 60 s that a turn may take (`timeout`); it was waited for once before, 7 s in all"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_header_there_are_a_few_short_waits() {
        let asked = ask((0..20).map(|_| busy(503, None)), MINUTE).await;
        let error = asked.outcome.unwrap_err();
        assert_eq!((asked.waits, error.tries), (4, 5));
        assert!(asked.took <= Duration::from_secs(4), "{:?}", asked.took);
        assert!(error.message.contains("it was waited for 4 times before"), "{}", error.message);
    }

    #[tokio::test(start_paused = true)]
    async fn other_failures_are_results() {
        let failure = |status, kind| Err(ModelError { status, ..ModelError::new(kind, "no") });
        for reply in [
            failure(Some(500), ErrorKind::Overloaded),
            failure(None, ErrorKind::Unreachable),
            failure(Some(429), ErrorKind::QuotaExhausted),
        ] {
            let asked = ask([reply, Ok(Answer::text("yes"))], MINUTE).await;
            assert_eq!((asked.waits, asked.outcome.unwrap_err().message.as_str()), (0, "no"));
        }
    }
}
