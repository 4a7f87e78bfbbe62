//! The cost of answers, and the budget of a run.
//!
//! Before a call its worst case is reserved, so that many at once cannot overshoot together. A call whose
//! worst case does not fit beside those under way waits until they have cost what they cost, in the order of
//! asking; it is refused only if it does not fit with what is really spent. So the same calls are made
//! whether they are made one by one or all at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::limiter::DEFAULT_OUTPUT_TOKENS;
use crate::answer::{Answer, Usage};
use crate::error::{ErrorKind, ModelError};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::price::{Cost, PriceTable};
use crate::request::Request;

/// What a budget does with a model that has no price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownPrice {
    /// It is not asked: a budget that cannot count is none.
    #[default]
    Refuse,
    /// It is asked, and counted as nothing.
    Allow,
}

#[derive(Debug, Default)]
struct Spending {
    spent: Cost,
    reserved: Cost,
    refused: u64,
}

/// The budget of a run, shared by everything in it.
#[derive(Debug)]
pub struct Budget {
    limit: Cost,
    unknown: UnknownPrice,
    spending: Mutex<Spending>,
    /// Held by the call that waits for others to settle, so that later calls do not overtake it.
    queue: tokio::sync::Mutex<()>,
    settled: Notify,
}

impl Budget {
    /// A budget of which nothing is spent.
    pub fn new(limit: Cost, unknown: UnknownPrice) -> Self {
        Self {
            limit,
            unknown,
            spending: Mutex::default(),
            queue: tokio::sync::Mutex::default(),
            settled: Notify::new(),
        }
    }

    /// What has been spent.
    pub fn spent(&self) -> Cost {
        self.spending().spent
    }

    /// Whether a call has been refused: the run should dispatch nothing more.
    pub fn is_exhausted(&self) -> bool {
        self.spending().refused > 0
    }

    fn spending(&self) -> MutexGuard<'_, Spending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the worst case of a call aside, as soon as that fits beside the calls under way.
    async fn reserve(&self, worst_case: Cost) -> Result<Reservation<'_>, ModelError> {
        let _head = self.queue.lock().await;
        loop {
            // Waiting begins before looking: what settles in between is not missed.
            let settled = self.settled.notified();
            if let Some(reserved) = self.try_reserve(worst_case)? {
                return Ok(reserved);
            }
            settled.await;
        }
    }

    /// Nothing while calls under way hold what is missing.
    fn try_reserve(&self, worst_case: Cost) -> Result<Option<Reservation<'_>>, ModelError> {
        let mut spending = self.spending();
        // What is spent never becomes less: no waiting helps.
        if spending.spent + worst_case > self.limit {
            spending.refused += 1;
            let (limit, spent) = (self.limit, spending.spent);
            return Err(ModelError::new(
                ErrorKind::BudgetExhausted,
                format!(
                    "the budget of {limit} does not cover the next call (up to {worst_case}): {spent} is spent; raise the budget or lower max_tokens"
                ),
            ));
        }
        if spending.spent + spending.reserved + worst_case > self.limit {
            return Ok(None);
        }
        spending.reserved = spending.reserved + worst_case;
        Ok(Some(Reservation { budget: self, worst_case }))
    }
}

/// A worst case that is set aside until the call is over, however it ends.
struct Reservation<'a> {
    budget: &'a Budget,
    worst_case: Cost,
}

impl Reservation<'_> {
    fn spend(&self, cost: Cost) {
        let mut spending = self.budget.spending();
        spending.spent = spending.spent + cost;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut spending = self.budget.spending();
        spending.reserved = spending.reserved.saturating_sub(self.worst_case);
        drop(spending);
        self.budget.settled.notify_one();
    }
}

/// A model whose answers carry their cost, within a budget if there is one.
#[derive(Debug)]
pub struct BudgetedModel<M> {
    inner: M,
    prices: Arc<PriceTable>,
    budget: Option<Arc<Budget>>,
}

impl<M: Model> BudgetedModel<M> {
    /// Wraps a model.
    pub fn new(inner: M, prices: Arc<PriceTable>, budget: Option<Arc<Budget>>) -> Self {
        Self { inner, prices, budget }
    }

    /// The most a request can be expected to cost.
    fn worst_case(&self, request: &Request) -> Option<Cost> {
        let identity = self.inner.identity();
        if identity.billing != Billing::ByTokens {
            return Some(Cost::ZERO);
        }
        let output_tokens = u64::from(request.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS));
        let input_tokens = request.estimated_input_tokens();
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        self.prices.price(&identity.model).map(|price| price.cost(&usage))
    }

    /// What an answer cost, by the price of the model that answered, else of the one asked for.
    fn cost(&self, answer: &Answer) -> Option<Cost> {
        let identity = self.inner.identity();
        if identity.billing == Billing::Free {
            return Some(Cost::ZERO);
        }
        let price = self.prices.price(&answer.model).or_else(|| self.prices.price(&identity.model));
        Some(price?.cost(&answer.usage?))
    }

    async fn reserve(
        &self,
        request: &Request,
    ) -> Result<Option<(Reservation<'_>, Cost)>, ModelError> {
        let Some(budget) = &self.budget else { return Ok(None) };
        let worst_case = match (self.worst_case(request), budget.unknown) {
            (Some(worst_case), _) => worst_case,
            (None, UnknownPrice::Allow) => Cost::ZERO,
            (None, UnknownPrice::Refuse) => {
                let model = &self.inner.identity().model;
                return Err(ModelError::new(
                    ErrorKind::Config,
                    format!(
                        "the budget cannot be enforced, because the price of the model `{model}` is not known: set its price, or allow unknown prices"
                    ),
                ));
            }
        };
        Ok(Some((budget.reserve(worst_case).await?, worst_case)))
    }
}

impl<M: Model> Model for BudgetedModel<M> {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(async move {
            let reserved = self.reserve(request).await?;
            let mut answer = self.inner.ask(request).await?;
            // A backend that knows its own price (a command may) is believed.
            answer.cost = answer.cost.or_else(|| self.cost(&answer));
            if let Some((reserved, worst_case)) = &reserved {
                // Answered without usage: what was set aside is the best guess. An answer from
                // a store carries what it cost when it was made, and costs nothing now.
                let cost = answer.cost.unwrap_or(*worst_case);
                reserved.spend(if answer.cached { Cost::ZERO } else { cost });
            }
            Ok(answer)
        })
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }
}
