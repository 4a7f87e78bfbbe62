//! A recording in chunks of whole lines, for scans that parse few of the lines.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use memchr::{memchr, memrchr};

use super::recording_file::read_at;

/// A recording of which single places are looked at.
#[derive(Debug)]
pub struct RecordingBytes(File);

impl RecordingBytes {
    /// Opens a recording.
    pub fn open(path: &Path) -> io::Result<Self> {
        proctor_files::open(path).map(Self)
    }

    /// The bytes of a range; fewer where the file ends before.
    pub fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let length = usize::try_from(range.end.saturating_sub(range.start));
        let mut bytes = vec![0; length.map_err(io::Error::other)?];
        let filled = read_at(&self.0, &mut bytes, range.start)?;
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// Reads the lines that begin within a part of a recording once, from front to back. The last chunk of a file ends with it, be the last line
/// complete or not.
#[derive(Debug)]
pub struct RecordingChunks {
    file: File,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    offset: u64,
    /// How much of the buffer was handed out.
    used: usize,
    /// How much of the buffer is filled.
    filled: usize,
    /// No line that begins from here on is handed out.
    end: u64,
}

impl RecordingChunks {
    const SIZE: usize = 1 << 20;

    /// Opens a recording.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_part(path, 0..u64::MAX)
    }

    /// Opens a recording for the lines that begin within a range of its bytes. Parts that follow each other have every line once.
    pub fn open_part(path: &Path, part: Range<u64>) -> io::Result<Self> {
        let mut chunks = Self {
            file: proctor_files::open(path)?,
            buffer: vec![0; Self::SIZE],
            offset: 0,
            used: 0,
            filled: 0,
            end: part.end,
        };
        if let Some(before) = part.start.checked_sub(1) {
            chunks.file.seek(SeekFrom::Start(before))?;
            chunks.offset = before;
            chunks.skip_line()?;
        }
        Ok(chunks)
    }

    /// The next chunk and where it begins in the file; `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "chunks are borrowed from the buffer")]
    pub fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.drop_used();
        if self.offset >= self.end {
            return Ok(None);
        }
        loop {
            let fresh = self.filled;
            let read = self.fill()?;
            let last_end = memrchr(b'\n', &self.buffer[fresh..self.filled]);
            self.used = match last_end {
                _ if read == 0 => self.filled,
                Some(end) if self.filled >= self.buffer.len() / 2 => fresh + end + 1,
                _ => continue,
            };
            self.used = self.used.min(self.end_of_last_line());
            return Ok((self.used > 0).then(|| (self.offset, &self.buffer[..self.used])));
        }
    }

    /// Where in the buffer the line ends that is the last to begin before `end`.
    fn end_of_last_line(&self) -> usize {
        let Ok(last) = usize::try_from(self.end - 1 - self.offset) else { return usize::MAX };
        let Some(rest) = self.buffer[..self.used].get(last..) else { return usize::MAX };
        memchr(b'\n', rest).map_or(usize::MAX, |feed| last + feed + 1)
    }

    /// Passes over what is left of the line that was begun before.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            self.drop_used();
            let read = self.fill()?;
            let feed = memchr(b'\n', &self.buffer[..self.filled]);
            self.used = feed.map_or(self.filled, |feed| feed + 1);
            if feed.is_some() || read == 0 {
                return Ok(());
            }
        }
    }

    fn drop_used(&mut self) {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.offset += self.used as u64;
        self.filled -= self.used;
        self.used = 0;
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.filled == self.buffer.len() {
            // One line is longer than the buffer.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.file.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.filled += read;
                    return Ok(read);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines_of(mut chunks: RecordingChunks) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Vec::new();
        while let Some((offset, chunk)) = chunks.next().unwrap() {
            let mut at = offset;
            for line in chunk.split_inclusive(|byte| *byte == b'\n') {
                lines.push((at, line.to_vec()));
                at += line.len() as u64;
            }
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// However a file is divided, its parts together have every line once, with its place.
        #[test]
        fn parts_have_every_line_once(
            lengths in prop::collection::vec(prop_oneof![9 => 0..40_usize, 1 => 1_000_000..1_100_000_usize], 0..9),
            torn in any::<bool>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut text: String = (b'a'..).zip(&lengths)
                .map(|(letter, length)| char::from(letter).to_string().repeat(*length) + "\n")
                .collect();
            if torn {
                text.pop();
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("events.jsonl");
            std::fs::write(&path, &text).unwrap();
            let bytes = RecordingBytes::open(&path).unwrap();
            let middle = cut.index(text.len() + 1);
            prop_assert!(bytes.read(0..middle as u64).unwrap() == text.as_bytes()[..middle]);
            let rest = bytes.read(middle as u64..text.len() as u64 + 9).unwrap();
            prop_assert!(rest == text.as_bytes()[middle..]);
            let whole = lines_of(RecordingChunks::open(&path).unwrap());
            let joined: Vec<u8> = whole.iter().flat_map(|(_, line)| line.clone()).collect();
            prop_assert!(joined == text.as_bytes());
            let cut = cut.index(text.len() + 2) as u64;
            let mut parts = lines_of(RecordingChunks::open_part(&path, 0..cut).unwrap());
            prop_assert!(parts.iter().all(|(offset, _)| *offset < cut));
            parts.extend(lines_of(RecordingChunks::open_part(&path, cut..u64::MAX).unwrap()));
            prop_assert!(parts == whole);
        }
    }
}
