//! How often Ruby collects garbage in the process that loads a suite and in the workers it forks.
//!
//! Ruby begins with small limits and raises them while a process runs. These settings begin near Ruby's own upper bounds, because a
//! suite is loaded once and most of what it loads stays. What the user has set counts. The loading process takes the settings out of
//! its environment before it loads anything, so that neither examples nor their children see them; it knows them by their values,
//! which are one less than a number that a user would write.

use proctor_process::ChildEnvironment;

/// Names the settings for the process that is to take them out again.
const TAKEN_OUT: &str = "PROCTOR_RUBY_GC";

/// Bytes of `malloc` between two collections: 32 MiB, less one. Ruby begins with 16 MiB and goes up to 32 MiB.
const MALLOC_LIMIT: (&str, &str) = ("RUBY_GC_MALLOC_LIMIT", "33554431");
/// The same of old objects, between two full collections: 64 MiB, less one. Ruby begins with 16 MiB and goes up to 128 MiB.
const OLD_MALLOC_LIMIT: (&str, &str) = ("RUBY_GC_OLDMALLOC_LIMIT", "67108863");

/// Adds the settings that the user has not made.
pub(super) fn add_to(environment: ChildEnvironment) -> ChildEnvironment {
    let settings = [MALLOC_LIMIT, OLD_MALLOC_LIMIT];
    let names = settings.map(|(name, value)| format!("{name}={value}")).join(" ");
    let with_defaults = settings
        .into_iter()
        .fold(environment, |environment, (name, value)| environment.set_default(name, value));
    with_defaults.set(TAKEN_OUT, names)
}
