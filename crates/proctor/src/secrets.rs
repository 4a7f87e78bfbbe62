//! The one filter of secrets of this process: what the environment holds, and what is learned later from `${env:…}`.
//!
//! Everything that is recorded, printed or answered passes it: events before they reach the bus's recorders and subscribers, command lines
//! in `run.json`, output, errors, answers of tools, and what the journal captures.

use std::borrow::Cow;
use std::sync::OnceLock;

use proctor_events::TextFilter;
use proctor_redact::Redactor;

/// The filter; all its clones are one.
pub(crate) fn redactor() -> &'static Redactor {
    static REDACTOR: OnceLock<Redactor> = OnceLock::new();
    REDACTOR.get_or_init(|| {
        let redactor = Redactor::default();
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        // Values that are too short are not filtered; to warn of every one in every command would be noise.
        let _too_short = redactor.learn_variables(variables);
        redactor
    })
}

/// The filter of a bus.
pub(crate) fn text_filter() -> TextFilter {
    let redactor = redactor().clone();
    Box::new(move |text| match redactor.redact_text(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    })
}

/// A text without secrets. JSON stays JSON.
pub(crate) fn without(text: &str) -> Cow<'_, str> {
    let redactor = redactor();
    if !text.starts_with(['{', '[']) {
        return redactor.redact_text(text);
    }
    match redactor.redact_json_line(text.as_bytes()) {
        Cow::Borrowed(_) => text.into(),
        Cow::Owned(clean) => String::from_utf8_lossy(&clean).into_owned().into(),
    }
}
