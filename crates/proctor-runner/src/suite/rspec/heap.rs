//! Room for the objects of a loaded suite.
//!
//! Ruby starts with a small heap and collects garbage each time it has filled what it has. Loading even a small suite
//! makes it do so a score of times, nearly always in vain, because what is loaded stays; and in a forked worker each
//! collection copies memory that was shared until then. With room from the start a short suite is never interrupted.
//! The room is address space: memory is taken only as objects come to be.

use std::collections::BTreeMap;

/// Slots of the heap, under the names that the versions of Ruby have for them: one kind of slot until 3.2, since then
/// five of growing size, where most objects are of the first two.
pub(super) const ROOM: &[(&str, &str)] = &[
    ("RUBY_GC_HEAP_INIT_SLOTS", "600000"),
    ("RUBY_GC_HEAP_0_INIT_SLOTS", "400000"),
    ("RUBY_GC_HEAP_1_INIT_SLOTS", "150000"),
    ("RUBY_GC_HEAP_2_INIT_SLOTS", "50000"),
    ("RUBY_GC_HEAP_3_INIT_SLOTS", "10000"),
    ("RUBY_GC_HEAP_4_INIT_SLOTS", "4000"),
];

/// The variables for a Ruby process, and the word to its library to forget them: the project and the programs it starts
/// must not find them.
pub(super) fn env() -> BTreeMap<String, String> {
    let names: Vec<&str> = ROOM.iter().map(|(name, _)| *name).collect();
    let room = ROOM.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    room.chain([("PROCTOR_FORGET".to_owned(), names.join(","))]).collect()
}
