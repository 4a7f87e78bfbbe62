//! Ruby source to facts, facts to plans, plans to spec text.
//!
//! Purpose: everything about Ruby code that can be known by reading it. Pure: text in, values out; no files, no
//! processes, no clock. What it must not know: runtimes, networks, terminals, how code is executed.
//!
//! - [`analyze`]: classes, methods, branches, behaviours, side effects and hints of one file; [`analyze_all`] of many.
//! - [`absorb`]: a public method with what its private methods decide and do.
//! - [`instrument`]: the same source with probes, so that an execution tells which branches it took.
//! - [`mutants`]: small faults for a method, as byte ranges and replacements.
//! - [`mutation`]: changes of a whole file for mutation testing, each with how it can be put into force.
//! - [`spec`]: spec text from a plan, and its careful insertion into an existing file.

mod absorb;
mod branches;
mod deep_stack;
mod effects;
mod facts;
mod literals;
mod many;
mod mentions;
mod mutants;
pub mod mutation;
mod outline;
mod probes;
mod sentence;
mod source;
pub mod spec;
mod statements;
mod usage;
mod words;

pub use absorb::{WholeMethod, absorb};
pub use facts::{
    Arm, Behavior, BehaviorKind, Characteristic, CharacteristicKind, ClassFacts, ClassKind,
    ConstantName, Ending, FileFacts, Input, InputKind, Limit, MethodFacts, Nesting, Origin,
    OwnCall, Param, ParamKind, Place, Scope, Setup, SetupKind, SideEffect, SyntaxError, Usage,
    Uses, Visibility,
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
