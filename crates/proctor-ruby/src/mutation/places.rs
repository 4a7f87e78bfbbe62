//! Where the code of a mutant lives, and what is around it.

use serde::{Deserialize, Serialize};

/// The code around a mutant, as far as it decides how the mutant can be put into force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The innermost method.
    pub method: Option<MethodPlace>,
    /// Whether it is in a block or lambda outside of any method: such code may run later than the file is loaded.
    pub in_block: bool,
}

/// A `def`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodPlace {
    /// Its name, without a receiver.
    pub name: String,
    /// Byte offset of `def`.
    pub start: u32,
    /// Byte offset behind it.
    pub end: u32,
    /// Its first and last line.
    pub lines: (u32, u32),
    /// Byte range of `self.` in `def self.x`, from `start`.
    pub receiver: Option<(u32, u32)>,
    /// The openers of the modules around it, outermost first (`module A`, `class << self`).
    pub nesting: Vec<String>,
    /// Why it cannot be evaluated again on its own; `None` if it can.
    pub obstacle: Option<String>,
}

/// What a piece of code is inside of, from the outside in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Enclosure {
    /// A module, class or singleton class, with its opener.
    Module(String),
    Method,
    /// A block, a lambda, or a call that gets a `def` as its argument and may keep or wrap the method.
    Block,
}

/// Why a `def` inside of these cannot be evaluated again on its own.
pub(super) fn obstacle(enclosures: &[Enclosure]) -> Option<&'static str> {
    enclosures.iter().find_map(|enclosure| match enclosure {
        Enclosure::Module(_) => None,
        Enclosure::Method => Some("it is defined by another method"),
        Enclosure::Block => Some("it is defined in a block or passed to a call"),
    })
}

/// The openers of the modules around.
pub(super) fn nesting(enclosures: &[Enclosure]) -> Vec<String> {
    let opener = |enclosure: &Enclosure| match enclosure {
        Enclosure::Module(opener) => Some(opener.clone()),
        Enclosure::Method | Enclosure::Block => None,
    };
    enclosures.iter().filter_map(opener).collect()
}
