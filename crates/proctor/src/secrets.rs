//! The one filter of secrets of this process: what the environment holds, and what is learned later from `${env:…}`.
//!
//! Everything that is recorded, printed, answered or sent passes it, at one place for each way out (ARCHITECTURE.md has the table). Files that the
//! binary itself writes are written by [`write_file`] or are a [`PieceFile`]; a test holds that nothing else in it writes any.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use proctor_events::TextFilter;
use proctor_redact::Redactor;

use crate::error::CommandError;

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

/// Lines of JSON or text without secrets; nothing where there are none.
pub(crate) fn filter_bytes(bytes: &[u8]) -> Option<Vec<u8>> {
    match redactor().redact_json_line(bytes) {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    }
}

/// Writes a file that a user has asked for by name, without secrets.
pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(path, without(text).as_bytes())
        .map_err(|error| CommandError::io("write", path, error))
}

/// A file that a user has asked for by name and that is written piece by piece. Secrets are taken out of the pieces by who makes them.
pub(crate) struct PieceFile<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> PieceFile<'a> {
    pub(crate) fn create(path: &'a Path) -> Result<Self, CommandError> {
        let file = File::create(path).map_err(|error| CommandError::io("write", path, error))?;
        Ok(Self { path, file })
    }

    pub(crate) fn write_filtered(&mut self, piece: &str) -> Result<(), CommandError> {
        let written = self.file.write_all(piece.as_bytes());
        written.map_err(|error| CommandError::io("write", self.path, error))
    }
}

/// A part of a JSON document without secrets. It is cut between members of lists.
pub(crate) fn without_in_json_part(text: &str) -> Cow<'_, str> {
    match redactor().redact_json_part(text.as_bytes()) {
        Cow::Borrowed(_) => text.into(),
        Cow::Owned(clean) => String::from_utf8_lossy(&clean).into_owned().into(),
    }
}

/// Bytes without secrets, whether they are text or not. JSON stays JSON.
pub(crate) fn without_in_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(bytes).map(without) {
        Ok(Cow::Borrowed(_)) => bytes.into(),
        Ok(Cow::Owned(clean)) => clean.into_bytes().into(),
        Err(_) => redactor().redact_bytes(bytes),
    }
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
