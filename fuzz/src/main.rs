//! libFuzzer calls one reader, named by the variable `PROCTOR_FUZZ_TARGET`.
#![no_main]

use std::sync::LazyLock;

use proctor_fuzz_targets::{TARGETS, Target, target};

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PROCTOR_FUZZ_TARGET").unwrap_or_default();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    target(&name).unwrap_or_else(|| panic!("PROCTOR_FUZZ_TARGET must be one of: {}", names.join(", ")))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| CHOSEN(data));
