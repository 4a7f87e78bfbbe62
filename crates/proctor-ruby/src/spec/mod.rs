//! Spec text: from a plan to Ruby, and into an existing file without losing what people wrote.

mod code_parts;
mod helpers;
mod layout;
mod merge;
mod restyle;
mod style;
mod write;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use code_parts::{Arguments, constructor_arguments, list_items};
pub use layout::laid_out;
pub use merge::{Merged, merge};
pub use restyle::restyled;
pub use style::{Style, TrailingComma, TrailingCommas};
pub use write::{block, example_line, file};

/// A spec file to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecPlan {
    /// Lines that load what is tested.
    pub requires: Vec<String>,
    /// One group per class.
    pub classes: Vec<ClassPlan>,
    /// How it is written.
    #[serde(default)]
    pub style: Style,
}

/// The group of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassPlan {
    /// Full name.
    pub name: String,
    /// Methods in source order.
    pub methods: Vec<MethodPlan>,
}

/// The group of one method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodPlan {
    /// `Class#name`
    pub id: String,
    /// `#name`
    pub label: String,
    /// Whether each example stands for itself, without `let`, `subject` and `before`.
    #[serde(default)]
    pub plain: bool,
    /// Settings that its examples change.
    #[serde(default)]
    pub keeps: BTreeSet<Keep>,
    /// Situations, the happy path first.
    pub contexts: Vec<ContextPlan>,
}

/// A setting that examples change: a name for it, code that reads it, and code that puts it back, with `%s` for the name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Keep(pub String, pub String, pub String);

/// One situation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPlan {
    /// `when …`; `None` stands directly in the method's group.
    pub name: Option<String>,
    /// What happens then.
    pub examples: Vec<ExamplePlan>,
}

/// One example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExamplePlan {
    /// Present tense, third person.
    pub description: String,
    /// What it does.
    pub body: ExampleBody,
    /// Whether a fault in the code makes it fail.
    pub kills: bool,
}

/// What an example does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExampleBody {
    /// Nothing yet, for this reason.
    Pending(String),
    /// A call and what was observed.
    Observed(Observed),
    /// Lines as they are (a model's answer that was accepted).
    Lines(Vec<String>),
}

/// A call and what it is expected to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Name of the method.
    pub method: String,
    /// Code of the receiver.
    pub receiver: String,
    /// Codes of positional arguments.
    pub args: Vec<String>,
    /// Codes of keyword arguments.
    pub keys: Vec<(String, String)>,
    /// Code of the block.
    pub block: Option<String>,
    /// Lines before the call: what the world outside answers.
    #[serde(default)]
    pub setup: Vec<String>,
    /// return, listing, raise, state, argument, output, yield, call
    pub kind: String,
    /// The matcher.
    pub matcher: String,
    /// The argument looked at, for `argument`.
    pub index: Option<usize>,
}
