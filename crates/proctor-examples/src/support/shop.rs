//! The shop's own systems: orders, refunds, tickets, and the tools that work on them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// A tool of the shop.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// Orders, refunds and tickets.
#[derive(Debug, Default)]
pub struct Shop {
    refunded: BTreeSet<String>,
    tickets: u32,
}

impl Shop {
    /// What the shop can do.
    pub fn tools() -> Vec<Tool> {
        let schema = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
        let text = json!({"type": "string"});
        vec![
            Tool {
                name: "lookup_order",
                description: "Status and amount of an order",
                schema: schema(json!({"order_id": text}), json!(["order_id"])),
            },
            Tool {
                name: "create_refund",
                description: "Pays an order back",
                schema: schema(
                    json!({"order_id": text, "amount": {"type": "number"}}),
                    json!(["order_id", "amount"]),
                ),
            },
            Tool {
                name: "open_ticket",
                description: "Hands the conversation to a person",
                schema: schema(json!({"reason": text}), json!(["reason"])),
            },
        ]
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        match tool {
            "lookup_order" => order(order_id(arguments)?),
            "create_refund" => self.refund(order_id(arguments)?, &arguments["amount"]),
            "open_ticket" => {
                self.tickets += 1;
                Ok(json!({"ticket": format!("T-{}", self.tickets)}))
            }
            _ => Err(format!("there is no tool {tool}")),
        }
    }

    fn refund(&mut self, id: &str, amount: &Value) -> Result<Value, String> {
        let order = order(id)?;
        if order["amount"] != *amount {
            return Err(format!("order {id} cost {}, not {amount}", order["amount"]));
        }
        if !self.refunded.insert(id.to_owned()) {
            return Err(format!("order {id} is already refunded"));
        }
        Ok(json!({"reference": format!("R-{id}"), "amount": amount}))
    }
}

fn order_id(arguments: &Value) -> Result<&str, String> {
    arguments["order_id"].as_str().ok_or_else(|| "`order_id` is missing".to_owned())
}

fn order(id: &str) -> Result<Value, String> {
    Ok(match id {
        "1001" => {
            json!({"item": "desk lamp", "amount": 49.9, "status": "delivered", "days_since_delivery": 6})
        }
        "1007" => {
            json!({"item": "office chair", "amount": 229.0, "status": "delivered", "days_since_delivery": 44})
        }
        "1042" => {
            json!({"item": "bookshelf", "amount": 120.0, "status": "shipped", "expected": "2027-03-09"})
        }
        "1050" => {
            json!({"item": "coffee table", "amount": 89.5, "status": "delivered", "days_since_delivery": 12})
        }
        "1063" => json!({"item": "armchair", "amount": 310.0, "status": "packing"}),
        _ => return Err(format!("unknown order {id}")),
    })
}
