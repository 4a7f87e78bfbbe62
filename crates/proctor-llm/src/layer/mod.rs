//! Layers: models that wrap a model.
//!
//! Each does one thing and is a [`Model`] itself; [`Layers`] puts them on in the order that makes
//! sense. From the outside in: the recorder sees what the run sees; the cache saves everything
//! below it; the meter refuses before money is spent; a retry passes the gate again each time.

mod budget;
mod cache;
mod gate;
mod retry;

use std::sync::Arc;

pub use budget::{Budget, Metered, UnknownPrice};
pub use cache::{Cache, CacheStats, Cached};
pub use gate::{Gate, Limited, Limits};
pub use retry::{Jitter, Retry, RetryPolicy};

use crate::cassette::{Recorded, Recorder};
use crate::model::Model;
use crate::price::PriceTable;

/// Which layers to put over a backend.
#[derive(Clone, Default)]
pub struct Layers {
    /// Shared limits of the backend.
    pub gate: Option<Arc<Gate>>,
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
    pub fn over(self, backend: impl Model + 'static) -> Arc<dyn Model> {
        let mut model: Arc<dyn Model> = Arc::new(backend);
        if let Some(gate) = self.gate {
            model = Arc::new(Limited::new(model, gate));
        }
        if let Some((policy, jitter)) = self.retry {
            model = Arc::new(Retry::new(model, policy, jitter));
        }
        if self.prices.is_some() || self.budget.is_some() {
            model = Arc::new(Metered::new(model, self.prices.unwrap_or_default(), self.budget));
        }
        if let Some(cache) = self.cache {
            model = Arc::new(Cached::new(model, cache));
        }
        if let Some(recorder) = self.recorder {
            model = Arc::new(Recorded::new(model, recorder));
        }
        model
    }
}

#[cfg(test)]
mod tests;
