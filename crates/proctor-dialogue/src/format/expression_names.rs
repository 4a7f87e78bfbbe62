//! The names in a CEL expression, held against what a conversation has.
//!
//! A mistyped name would be found only when the expression is evaluated, after the agent was paid for, or never, if the
//! other side of an `||` is true.

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, SelectExpr};
use cel::{Context, IdedExpr};

use crate::expression::STDLIB;

/// What expressions can ask for.
const VARIABLES: [&str; 8] =
    ["turn", "turns", "turn_count", "tool_calls", "topic", "topics", "goal", "row"];
const OF_A_TURN: [&str; 8] = [
    "number",
    "user",
    "agent",
    "tool_calls",
    "known_tool_calls",
    "topic",
    "latency_ms",
    "cost_usd",
];
const OF_A_CALL: [&str; 6] = ["id", "name", "arguments", "result", "error", "duration_ms"];
/// Names of types, which `type(…)` is compared with.
const TYPES: [&str; 13] = [
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "dyn",
    "google",
    "optional",
];
/// The functions that are suggested for a mistyped one.
const FUNCTIONS: [&str; 16] = [
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "size",
    "exists",
    "all",
    "exists_one",
    "map",
    "filter",
    "has",
    "int",
    "double",
    "string",
    "bool",
    "type",
];

/// A name that stands for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownName {
    pub(crate) name: String,
    pub(crate) known: &'static [&'static str],
}

/// The first name in an expression that stands for nothing.
pub(crate) fn unknown_name(expression: &IdedExpr) -> Option<UnknownName> {
    let mut names = Names::default();
    names.of(expression);
    names.unknown
}

/// Whether CEL has the function; it gives away no list, but refuses a second function of the same name.
fn is_function(name: &str) -> bool {
    Context::with_env(Arc::clone(&STDLIB)).add_function(name, |value: i64| value).is_err()
}

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Turn,
    Turns,
    Call,
    Calls,
    Any,
}

impl Kind {
    fn element(self) -> Self {
        match self {
            Self::Turns => Self::Turn,
            Self::Calls => Self::Call,
            _ => Self::Any,
        }
    }
}

#[derive(Default)]
struct Names {
    /// Variables of the macros around, innermost last.
    bound: HashMap<String, Vec<Kind>>,
    unknown: Option<UnknownName>,
}

impl Names {
    fn of(&mut self, expression: &IdedExpr) -> Kind {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Kind::Any,
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => self.field(select),
            Expr::Call(call) => {
                let target = call.target.as_deref().into_iter();
                let kinds: Vec<Kind> = target.chain(&call.args).map(|part| self.of(part)).collect();
                let qualified = match call.target.as_deref().map(|target| &target.expr) {
                    Some(Expr::Ident(of)) => is_function(&format!("{of}.{}", call.func_name)),
                    _ => false,
                };
                if !qualified {
                    self.function(&call.func_name);
                }
                match (call.func_name.as_str(), kinds.first()) {
                    ("_[_]", Some(list)) => list.element(),
                    _ => Kind::Any,
                }
            }
            Expr::List(list) => {
                for element in &list.elements {
                    self.of(element);
                }
                Kind::Any
            }
            Expr::Map(map) => self.entries(&map.entries),
            Expr::Struct(fields) => self.entries(&fields.entries),
            Expr::Comprehension(all) => self.comprehension(all),
        }
    }

    fn variable(&mut self, name: &str) -> Kind {
        if let Some(kind) = self.bound.get(name).and_then(|kinds| kinds.last()) {
            return *kind;
        }
        match name {
            "turn" => Kind::Turn,
            "turns" => Kind::Turns,
            "tool_calls" => Kind::Calls,
            _ if VARIABLES.contains(&name) || TYPES.contains(&name) => Kind::Any,
            _ => self.is_unknown(name, &VARIABLES),
        }
    }

    fn field(&mut self, select: &SelectExpr) -> Kind {
        let known: &'static [&'static str] = match self.of(&select.operand) {
            Kind::Turn => &OF_A_TURN,
            Kind::Call => &OF_A_CALL,
            _ => return Kind::Any,
        };
        match select.field.as_str() {
            "tool_calls" | "known_tool_calls" if known == OF_A_TURN => Kind::Calls,
            field if known.contains(&field) => Kind::Any,
            field => self.is_unknown(field, known),
        }
    }

    /// CEL implements operators as functions with internal names.
    fn function(&mut self, name: &str) {
        let written = name.starts_with(|first: char| first.is_ascii_alphabetic());
        if written && !is_function(name) {
            self.is_unknown(name, &FUNCTIONS);
        }
    }

    fn is_unknown(&mut self, name: &str, known: &'static [&'static str]) -> Kind {
        self.unknown.get_or_insert_with(|| UnknownName { name: name.to_owned(), known });
        Kind::Any
    }

    fn entries(&mut self, entries: &[IdedEntryExpr]) -> Kind {
        for entry in entries {
            match &entry.expr {
                EntryExpr::StructField(field) => {
                    self.of(&field.value);
                }
                EntryExpr::MapEntry(entry) => {
                    self.of(&entry.key);
                    self.of(&entry.value);
                }
            }
        }
        Kind::Any
    }

    /// `exists`, `all`, `map`, `filter`: their variables are known inside.
    fn comprehension(&mut self, all: &ComprehensionExpr) -> Kind {
        let range = self.of(&all.iter_range);
        self.of(&all.accu_init);
        let second = all.iter_var2.as_deref().map(|name| (name, Kind::Any));
        let element = (all.iter_var.as_str(), range.element());
        let bound: Vec<(&str, Kind)> =
            [element, (all.accu_var.as_str(), Kind::Any)].into_iter().chain(second).collect();
        for (name, kind) in &bound {
            self.bound.entry((*name).to_owned()).or_default().push(*kind);
        }
        for inside in [&all.loop_cond, &all.loop_step, &all.result] {
            self.of(inside);
        }
        for (name, _) in &bound {
            self.bound.get_mut(*name).and_then(Vec::pop);
        }
        Kind::Any
    }
}

#[cfg(test)]
mod tests {
    use crate::format::Expression;

    /// U10: found while the file is read.
    #[test]
    fn u10_unknown_names_in_expressions_are_found_while_loading() {
        for (source, part) in [
            ("turn_cout == 1", "`turn_cout` is unknown; did you mean `turn_count`?"),
            ("true || zebra", "`zebra` is unknown; known: turn, turns"),
            ("turn.agnet == 'x'", "`agnet` is unknown; did you mean `agent`?"),
            ("turns[0].agnet == 'x'", "`agnet` is unknown"),
            ("turns.all(t, t.agnet == 'x')", "`agnet` is unknown"),
            ("tool_calls.exists(c, c.nmae == 'x')", "`nmae` is unknown; did you mean `name`?"),
            ("turns.all(t, t.tool_calls.all(c, c.args == 1))", "`args` is unknown"),
            ("turns.all(t, true) && t == 1", "`t` is unknown"),
            ("turn.agent.contain('x')", "`contain` is unknown; did you mean `contains`?"),
            ("len(turns) > 1", "`len` is unknown"),
            ("has(turn.cots_usd)", "`cots_usd` is unknown"),
        ] {
            let problem = Expression::new(source).unwrap_err().to_string();
            assert!(problem.contains(part), "{source}: {problem}");
        }
    }

    #[test]
    fn names_that_are_there_are_known() {
        for source in [
            "turn_count == 1 && topic == 'a' && goal != null && 'a' in topics",
            "row.anything.at_all == 1",
            "tool_calls[0].arguments.guests == row.guests",
            "turns.filter(t, t.latency_ms > 1.0).size() == 0",
            "turns.exists(turn, turn.number == 2)",
            "tool_calls.map(c, c.name) == ['a', 'b']",
            "type(turn_count) == int",
            "turn.agent.matches('a+') || turn.agent.startsWith('b') || turn.agent.endsWith('c')",
            "size(turns) == 1 && int('1') == 1 && double(turn_count) < 2.0 && string(1) == '1'",
            "turns.exists_one(t, t.number == 1) && !turns.all(t, -t.number < 0 || t.number % 2 == 0)",
            "optional.of(1).hasValue() && dyn(1) == 1",
            "[1, 2].exists(x, x == turn_count)",
            "has(turn.cost_usd) ? turn.cost_usd < 1.0 : false",
        ] {
            assert!(Expression::new(source).is_ok(), "{source}: {:?}", Expression::new(source));
        }
    }
}
