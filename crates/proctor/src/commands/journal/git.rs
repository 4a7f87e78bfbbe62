//! What is checked out in the current folder, as evidence of an entry.

use std::path::Path;
use std::time::Duration;

use proctor_process::git::{Checkout, Git};

/// If git takes longer, the evidence says nothing about the checkout.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// What is checked out; `None` outside of a repository, or if git does not answer.
pub(super) fn checkout() -> Option<Checkout> {
    Git::with_user_settings(Path::new(".")).time_limit(TIME_LIMIT).checkout().ok().flatten()
}
