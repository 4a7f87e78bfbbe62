//! Where a report goes that is written piece by piece: a file or standard output, without secrets.

use std::io;
use std::path::Path;

use crate::error::CommandError;
use crate::secrets::{self, PieceFile};
use crate::terminal::Terminal;

/// What a report is made of, which says how secrets are taken out of its pieces.
#[derive(Debug, Clone, Copy)]
pub(super) enum PieceKind {
    /// A piece ends where a text may be cut, at a line or an element.
    Text,
    /// A piece of a JSON document ends behind a member of a list.
    Json,
}

/// A file or standard output.
pub(super) enum Output<'a> {
    File(PieceFile<'a>),
    Terminal(&'a mut Terminal),
}

impl<'a> Output<'a> {
    /// The file of this name; `-` is standard output.
    pub(super) fn to(path: &'a Path, terminal: &'a mut Terminal) -> Result<Self, CommandError> {
        if path == Path::new("-") {
            return Ok(Self::Terminal(terminal));
        }
        PieceFile::create(path).map(Self::File)
    }

    fn put(&mut self, kind: PieceKind, piece: &str) -> Result<(), CommandError> {
        let piece = match kind {
            PieceKind::Text => secrets::redactor().redact_text(piece),
            PieceKind::Json => secrets::without_in_json_part(piece),
        };
        match self {
            Self::File(file) => file.write_filtered(&piece),
            Self::Terminal(terminal) => terminal.print_piece(&piece),
        }
    }

    /// Writes all pieces. An error in making them is one of reading `recording`.
    pub(super) fn write_pieces(
        mut self,
        kind: PieceKind,
        recording: &Path,
        write_all: impl FnOnce(&mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()>,
    ) -> Result<(), CommandError> {
        let mut failure = None;
        let made = write_all(&mut |piece| {
            self.put(kind, piece).map_err(|error| {
                failure = Some(error);
                io::ErrorKind::Other.into()
            })
        });
        match failure {
            Some(error) => Err(error),
            None => made.map_err(|error| CommandError::io("read", recording, error)),
        }
    }
}
