//! Ruby source to facts, facts to plans, plans to spec text.
//!
//! Purpose: everything about Ruby code that can be known by reading it. Pure: text in, values out; no files, no
//! processes, no clock. What it must not know: runtimes, networks, terminals, how code is executed.
//!
//! - [`analyze`]: classes, methods, branches, behaviours, side effects and hints of one file; [`analyze_all`] of many.
//! - [`instrument`]: the same source with probes, so that an execution tells which branches it took.
//! - [`mutants`]: small faults for a method, as byte ranges and replacements.
//! - [`spec`]: spec text from a plan, and its careful insertion into an existing file.

mod branches;
mod effects;
mod facts;
mod literals;
mod many;
mod mentions;
mod mutants;
mod outline;
mod probes;
mod source;
pub mod spec;
mod usage;
mod words;

pub use facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, ClassFacts, ClassKind,
    ConstantName, FileFacts, Input, InputKind, Limit, MethodFacts, Nesting, Origin, Param,
    ParamKind, Scope, Setup, SetupKind, SideEffect, SyntaxError, Usage, Uses, Visibility,
};
pub use literals::{FoundLiterals, collect_literals, collect_usage_literals};
pub use many::analyze_all;
pub use mutants::{Mutant, mutants};
pub use outline::analyze;
pub use probes::instrument;
pub use words::{constant_for, humanize, underscore};

/// A text as double-quoted Ruby code.
#[must_use]
pub fn string_code(text: &str) -> String {
    source::string_code(text)
}
