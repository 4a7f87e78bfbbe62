//! Entry points of fuzz targets. Not part of the public interface.

use crate::cassette::format;

/// Reads a cassette.
pub fn cassette(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(format::parse(text, "cassette"));
    }
}
