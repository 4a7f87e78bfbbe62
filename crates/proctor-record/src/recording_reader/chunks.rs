//! A recording in chunks of whole lines, for scans that parse few of the lines.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use memchr::memrchr;

/// Reads a recording once, from front to back. The last chunk ends with the file, be the last line complete or not.
#[derive(Debug)]
pub struct RecordingChunks {
    file: File,
    buffer: Vec<u8>,
    /// How much of the buffer was handed out.
    used: usize,
    /// How much of the buffer is filled.
    filled: usize,
}

impl RecordingChunks {
    const SIZE: usize = 1 << 20;

    /// Opens a recording.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: proctor_files::open(path)?,
            buffer: vec![0; Self::SIZE],
            used: 0,
            filled: 0,
        })
    }

    /// The next chunk; `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "chunks are borrowed from the buffer")]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        loop {
            if self.filled == self.buffer.len() {
                // One line is longer than the buffer.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let read = match self.file.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let fresh = self.filled;
            self.filled += read;
            let last_end = memrchr(b'\n', &self.buffer[fresh..self.filled]);
            self.used = match last_end {
                _ if read == 0 => self.filled,
                Some(end) if self.filled >= self.buffer.len() / 2 => fresh + end + 1,
                _ => continue,
            };
            return Ok((self.used > 0).then(|| &self.buffer[..self.used]));
        }
    }
}
