//! What the runner tells the side that serves a slot: numbered orders, as wire types.
//!
//! The types hold plain data and know no process, channel or dispatcher. Unknown fields are ignored when they are read; an
//! unknown order is an error, because ignoring it would leave both sides with different ideas of the slot.

use serde::{Deserialize, Serialize};

/// The version of orders and reports that this crate writes and reads.
pub(crate) const WIRE_VERSION: u32 = 1;

/// One order to one slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) version: u32,
    /// Counts the orders to one generation of one slot, from 1. An order that arrives twice is carried out once.
    pub(crate) number: u64,
    pub(crate) action: OrderAction,
}

/// What is ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderAction {
    /// Run these units in order; after so many failures, wait for [`OrderAction::ChangeFailuresLeft`].
    Run {
        units: Vec<Vec<ExampleRun>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failures_left: Option<u32>,
    },
    /// Prepare a process of `proctor mutate` before its first example; answered by [`Report::Prepared`](super::reports::Report).
    Prepare { request: serde_json::Value },
    /// So many more failures are allowed, or fewer.
    ChangeFailuresLeft { by: i32 },
    /// Give back those of these examples that have not been started.
    GiveBack { examples: Vec<ExampleRun> },
    /// Start nothing more, and end when what runs has ended. What the worker has defined itself is run before, unless the whole run
    /// was stopped.
    Shutdown { stopped: bool },
    /// End now; `timed_out` if it is of interest where the worker hangs.
    Kill { timed_out: bool },
}

/// One execution of an example.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ExampleRun {
    /// The name of the example within the suite that has listed it.
    pub(crate) key: String,
    /// From 1.
    pub(crate) repeat: u32,
    /// From 1.
    pub(crate) attempt: u32,
    /// How long it may take, in milliseconds. The side that runs the example judges it, and ends the worker when the time is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit_ms: Option<u64>,
}

/// Numbers the orders to one generation of one slot.
#[derive(Debug, Default)]
pub(crate) struct OrderNumbers(u64);

impl OrderNumbers {
    pub(crate) fn number(&mut self, action: OrderAction) -> Order {
        self.0 += 1;
        Order { version: WIRE_VERSION, number: self.0, action }
    }
}

/// The highest number that has arrived: messages of a link arrive in order, or again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastNumber(u64);

impl LastNumber {
    /// Whether a message with this number is new.
    pub(crate) fn accept(&mut self, number: u64) -> bool {
        let is_new = number > self.0;
        self.0 = self.0.max(number);
        is_new
    }

    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::worker_link) fn any_run() -> impl Strategy<Value = ExampleRun> {
        let run = (".{0,12}", 1_u32..9, 1_u32..4, prop::option::of(any::<u64>()));
        run.prop_map(|(key, repeat, attempt, limit_ms)| ExampleRun {
            key,
            repeat,
            attempt,
            limit_ms,
        })
    }

    fn any_action() -> impl Strategy<Value = OrderAction> {
        let runs = || prop::collection::vec(any_run(), 0..4);
        prop_oneof![
            (prop::collection::vec(runs(), 0..3), prop::option::of(any::<u32>()))
                .prop_map(|(units, failures_left)| OrderAction::Run { units, failures_left }),
            any::<i32>().prop_map(|by| OrderAction::ChangeFailuresLeft { by }),
            any::<i32>().prop_map(|line| OrderAction::Prepare { request: json!([line, "a"]) }),
            runs().prop_map(|examples| OrderAction::GiveBack { examples }),
            any::<bool>().prop_map(|stopped| OrderAction::Shutdown { stopped }),
            any::<bool>().prop_map(|timed_out| OrderAction::Kill { timed_out }),
        ]
    }

    /// Puts a field that no version knows into every object of a tree.
    pub(in crate::worker_link) fn add_unknown_fields(value: &mut Value) {
        match value {
            Value::Object(members) => {
                // An object with one member may be the tag of a variant, where a second member is an error.
                members.values_mut().for_each(add_unknown_fields);
                if members.len() > 1 {
                    members.insert("from_a_later_version".to_owned(), json!({"a": [1, null]}));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn orders_come_back_as_they_were_also_with_unknown_fields(
            number in any::<u64>(),
            action in any_action(),
        ) {
            let order = Order { version: WIRE_VERSION, number, action };
            let text = serde_json::to_string(&order).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Order>(&text).unwrap(), &order);
            let mut tree: Value = serde_json::from_str(&text).unwrap();
            add_unknown_fields(&mut tree);
            prop_assert_eq!(serde_json::from_str::<Order>(&tree.to_string()).unwrap(), order);
        }

        #[test]
        fn a_number_is_new_once(numbers in prop::collection::vec(1_u64..20, 0..40)) {
            let mut last = LastNumber::default();
            let mut highest = 0;
            for number in numbers {
                prop_assert_eq!(last.accept(number), number > highest);
                highest = highest.max(number);
                prop_assert_eq!(last.get(), highest);
            }
        }
    }

    #[test]
    fn an_unknown_order_is_refused() {
        let text = r#"{"version":1,"number":1,"action":{"dance":{}}}"#;
        assert!(serde_json::from_str::<Order>(text).is_err());
    }
}
