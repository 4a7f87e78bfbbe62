//! What a call costs. Exact integers, per-model prices, and an honest «unknown».
//!
//! The built-in table holds list prices in US dollars as they were known when this was written;
//! a project that pays others overrides them. A model that is in neither has no price: its cost is
//! unknown, not zero.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::answer::Usage;

/// Picodollars in a dollar.
const DOLLAR: u64 = 1_000_000_000_000;

/// An amount of money, in picodollars: a token at 0.05 dollars a million is still a whole number.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "f64", into = "f64")]
pub struct Cost(u64);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in dollars. Negative amounts and non-numbers are nothing.
    pub fn from_dollars(dollars: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "the cast saturates, which is what is wanted"
        )]
        Self((dollars * DOLLAR as f64).round() as u64)
    }

    /// The amount in dollars.
    #[expect(clippy::cast_precision_loss, reason = "for display and JSON")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }

    /// The amount less another, at least nothing.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

impl From<f64> for Cost {
    fn from(dollars: f64) -> Self {
        Self::from_dollars(dollars)
    }
}

impl From<Cost> for f64 {
    fn from(cost: Cost) -> Self {
        cost.dollars()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.dollars();
        if self.0 == 0 || dollars >= 1.0 {
            write!(formatter, "${dollars:.2}")
        } else {
            write!(formatter, "${dollars:.6}")
        }
    }
}

/// Prices of one model, in dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input found in the provider's cache; a tenth of the input price where not given.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input put into the provider's cache; a quarter above the input price where not given.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// Prices of input and output.
    pub const fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write: None }
    }

    /// A model that costs nothing, such as one on this machine.
    pub const FREE: Self = Self::new(0.0, 0.0);

    /// What these tokens cost.
    pub fn cost(&self, usage: &Usage) -> Cost {
        let kinds = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read.unwrap_or(self.input * 0.1)),
            (usage.cache_write_tokens, self.cache_write.unwrap_or(self.input * 1.25)),
        ];
        kinds
            .into_iter()
            .map(|(tokens, price)| {
                Cost(Cost::from_dollars(price / 1_000_000.0).0.saturating_mul(tokens))
            })
            .sum()
    }
}

/// Prices by the model's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    own: BTreeMap<String, Price>,
}

impl PriceTable {
    /// The built-in prices, with these before them.
    pub fn with_overrides(own: BTreeMap<String, Price>) -> Self {
        Self { own }
    }

    /// The price of a model: under its own name, or as a dated release of a known one.
    pub fn price(&self, model: &str) -> Option<Price> {
        let undated = undated(model);
        let built_in =
            |name: &str| BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, price)| *price);
        self.own
            .get(model)
            .or_else(|| self.own.get(undated))
            .copied()
            .or_else(|| built_in(model))
            .or_else(|| built_in(undated))
    }
}

/// The name without a release date: `-20250929`, `-2024-08-06` or `-latest`. Any other ending is
/// another model, whose price may be quite different.
fn undated(model: &str) -> &str {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(name) = model.strip_suffix("-latest") {
        return name;
    }
    if let Some((name, date)) = model.split_at_checked(model.len().saturating_sub(11))
        && let [b'-', y @ .., b'-', m1, m2, b'-', d1, d2] = date.as_bytes()
        && y.iter().chain([m1, m2, d1, d2]).all(u8::is_ascii_digit)
    {
        return name;
    }
    match model.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && digits(date) => name,
        _ => model,
    }
}

const fn cached(input: f64, output: f64, cache_read: f64) -> Price {
    Price { input, output, cache_read: Some(cache_read), cache_write: None }
}

/// List prices, dollars for a million tokens.
const BUILT_IN: &[(&str, Price)] = &[
    ("claude-opus-4-5", Price::new(5.0, 25.0)),
    ("claude-opus-4-1", Price::new(15.0, 75.0)),
    ("claude-opus-4", Price::new(15.0, 75.0)),
    ("claude-sonnet-4-5", Price::new(3.0, 15.0)),
    ("claude-sonnet-4", Price::new(3.0, 15.0)),
    ("claude-3-7-sonnet", Price::new(3.0, 15.0)),
    ("claude-haiku-4-5", Price::new(1.0, 5.0)),
    ("claude-3-5-haiku", Price::new(0.8, 4.0)),
    ("claude-3-haiku", Price::new(0.25, 1.25)),
    ("gpt-5", Price::new(1.25, 10.0)),
    ("gpt-5-mini", Price::new(0.25, 2.0)),
    ("gpt-5-nano", Price::new(0.05, 0.4)),
    ("gpt-4.1", cached(2.0, 8.0, 0.5)),
    ("gpt-4.1-mini", cached(0.4, 1.6, 0.1)),
    ("gpt-4.1-nano", cached(0.1, 0.4, 0.025)),
    ("gpt-4o", cached(2.5, 10.0, 1.25)),
    ("gpt-4o-mini", cached(0.15, 0.6, 0.075)),
    ("o3", cached(2.0, 8.0, 0.5)),
    ("o4-mini", cached(1.1, 4.4, 0.275)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    #[test]
    fn known_models_are_priced_under_their_dated_names_too() {
        let table = PriceTable::default();
        let price = table.price("claude-sonnet-4-5").unwrap();
        assert_eq!(table.price("claude-sonnet-4-5-20250929"), Some(price));
        assert_eq!(table.price("gpt-4o-2024-08-06"), table.price("gpt-4o"));
        assert_eq!(table.price("claude-3-5-haiku-latest"), table.price("claude-3-5-haiku"));
        assert_eq!(price.cost(&usage(1_000_000, 100_000)), Cost::from_dollars(4.5));
    }

    #[test]
    fn a_name_that_only_begins_alike_is_another_model() {
        let table = PriceTable::default();
        for name in
            ["gpt-4o-realtime", "claude-sonnet-4-9", "gpt-5-pro", "llama3", "", "é-2024-08-06"]
        {
            assert_eq!(table.price(name), None, "{name}");
        }
    }

    #[test]
    fn own_prices_win_and_free_is_not_unknown() {
        let own = [("gpt-4o".to_owned(), Price::new(1.0, 1.0)), ("llama3".to_owned(), Price::FREE)];
        let table = PriceTable::with_overrides(own.into());
        assert_eq!(table.price("gpt-4o-2024-08-06"), Some(Price::new(1.0, 1.0)));
        assert_eq!(table.price("llama3").unwrap().cost(&usage(5, 5)), Cost::ZERO);
    }

    #[test]
    fn caches_have_prices_of_their_own() {
        let tokens =
            Usage { cache_read_tokens: 1_000_000, cache_write_tokens: 1_000_000, ..usage(0, 0) };
        assert_eq!(Price::new(3.0, 15.0).cost(&tokens), Cost::from_dollars(0.3 + 3.75));
    }

    #[test]
    fn amounts_read_well() {
        assert_eq!(Cost::from_dollars(12.345).to_string(), "$12.35");
        assert_eq!(Cost::from_dollars(0.000_123).to_string(), "$0.000123");
        assert_eq!(Cost::ZERO.to_string(), "$0.00");
        assert_eq!(Cost::from_dollars(-1.0), Cost::ZERO);
        assert_eq!(serde_json::to_string(&Cost::from_dollars(0.25)).unwrap(), "0.25");
    }
}
