//! Layers: models that wrap a model.
//!
//! Each does one thing and is a [`Model`] itself; [`Layers`] puts them on in the order that makes
//! sense. From the outside in: the recorder sees what the run sees; the cache saves everything
//! below it; the meter refuses before money is spent; a retry waits for the limiter again each time.

mod budget;
mod cache;
mod limiter;
mod retry;
mod wait;

use std::sync::Arc;

pub use budget::{Budget, BudgetedModel, UnknownPrice};
pub use cache::{Cache, CacheStats, CachedModel};
pub use limiter::{LimitedModel, Limits, RequestLimiter};
pub use retry::{Jitter, RetryPolicy, RetryingModel};
pub use wait::{WaitCounts, WaitPolicy, WaitingModel};

use crate::cassette::{RecordedModel, Recorder};
use crate::model::Model;
use crate::price::PriceTable;

/// Which layers to put over a backend.
#[derive(Clone, Default)]
pub struct Layers {
    /// Shared limits of the backend.
    pub limiter: Option<Arc<RequestLimiter>>,
    /// How long to wait for an agent that says that it is busy.
    pub wait: Option<WaitPolicy>,
    /// When to try again, and the source of jitter.
    pub retry: Option<(RetryPolicy, Jitter)>,
    /// Prices; without them no answer has a cost.
    pub prices: Option<Arc<PriceTable>>,
    /// The budget of the run.
    pub budget: Option<Arc<Budget>>,
    /// The disk cache.
    pub cache: Option<Arc<Cache>>,
    /// The cassette being recorded.
    pub recorder: Option<Arc<Recorder>>,
}

impl Layers {
    /// The backend with these layers over it.
    pub fn wrap(self, backend: impl Model + 'static) -> Arc<dyn Model> {
        let mut model: Arc<dyn Model> = Arc::new(backend);
        if let Some(limiter) = self.limiter {
            model = Arc::new(LimitedModel::new(model, limiter));
        }
        if let Some(policy) = self.wait {
            model = Arc::new(WaitingModel::new(model, policy));
        }
        if let Some((policy, jitter)) = self.retry {
            model = Arc::new(RetryingModel::new(model, policy, jitter));
        }
        if self.prices.is_some() || self.budget.is_some() {
            model =
                Arc::new(BudgetedModel::new(model, self.prices.unwrap_or_default(), self.budget));
        }
        if let Some(cache) = self.cache {
            model = Arc::new(CachedModel::new(model, cache));
        }
        if let Some(recorder) = self.recorder {
            model = Arc::new(RecordedModel::new(model, recorder));
        }
        model
    }
}

#[cfg(test)]
mod tests;
