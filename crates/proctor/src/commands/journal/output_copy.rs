//! A command's output: passed on byte by byte as it comes, and kept line by line as evidence.
//!
//! Both streams are kept in one text in the order their lines ended, so that a summary on one stream is not torn by a
//! warning on the other. Only the end of a very long output is kept.

use std::io::{PipeReader, Read as _};
use std::mem::take;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::terminal::{Stream, pass_on};

/// How much of the end is kept.
const LIMIT: usize = 8 * 1024 * 1024;

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Kept {
    fn add(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        // Cut seldom, so that the moving of bytes costs little.
        if self.bytes.len() > 2 * LIMIT {
            self.bytes.drain(..self.bytes.len() - LIMIT);
            self.is_cut = true;
        }
    }
}

/// Threads that pass streams on.
pub(super) struct OutputCopy {
    kept: Arc<Mutex<Kept>>,
    ended: Receiver<()>,
    sender: Sender<()>,
    streams: usize,
}

impl OutputCopy {
    pub(super) fn new() -> Self {
        let (sender, ended) = channel();
        Self { kept: Arc::default(), ended, sender, streams: 0 }
    }

    /// Passes a stream on until its end.
    pub(super) fn follow(&mut self, pipe: PipeReader, stream: Stream) -> std::io::Result<()> {
        let (kept, ended) = (Arc::clone(&self.kept), self.sender.clone());
        std::thread::Builder::new().name("tee".to_owned()).spawn(move || {
            pass(pipe, stream, &kept);
            let _ = ended.send(());
        })?;
        self.streams += 1;
        Ok(())
    }

    /// Waits for the end of the streams and returns what was kept, and whether something is missing.
    ///
    /// A process that the command left in the background may hold a stream open for ever, so this does not wait
    /// longer than that.
    pub(super) fn finish(self, patience: Duration) -> (String, bool) {
        let deadline = Instant::now() + patience;
        let mut is_open = false;
        for _ in 0..self.streams {
            let left = deadline.saturating_duration_since(Instant::now());
            is_open |= self.ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
        }
        let kept = take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        (String::from_utf8_lossy(&kept.bytes).into_owned(), kept.is_cut || is_open)
    }
}

fn pass(mut pipe: PipeReader, stream: Stream, kept: &Mutex<Kept>) {
    let mut chunk = vec![0; 64 * 1024];
    let mut line = Vec::new();
    let mut is_heard = true;
    let keep = |line: &mut Vec<u8>| {
        kept.lock().unwrap_or_else(PoisonError::into_inner).add(line);
        line.clear();
    };
    loop {
        let bytes = match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => chunk.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        // The reader of the output may be gone; the evidence is still needed.
        is_heard = is_heard && pass_on(stream, bytes).is_ok();
        line.extend_from_slice(bytes);
        if let Some(end) = line.iter().rposition(|byte| *byte == b'\n') {
            let rest = line.split_off(end + 1);
            keep(&mut line);
            line = rest;
        } else if line.len() > LIMIT {
            keep(&mut line);
        }
    }
    if !line.is_empty() {
        line.push(b'\n');
        keep(&mut line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let mut kept = Kept::default();
        kept.add(&vec![b'a'; 2 * LIMIT]);
        assert!(!kept.is_cut);
        kept.add(b"end");
        assert!(kept.is_cut && kept.bytes.len() == LIMIT && kept.bytes.ends_with(b"aend"));
    }
}
