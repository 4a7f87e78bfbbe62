//! Attributing what a worker prints to the example that printed it.
//!
//! The worker writes marks into both streams: `<nonce> <key>` before an example, `<nonce>` after it. Bytes
//! between them belong to that example, its child processes' included. A mark may stand in the middle of a
//! line, because a test need not end its output with a line feed. After the key may stand, behind tabs,
//! the repetition and the attempt: output may be read when the next attempt has long begun elsewhere. A line that is too
//! long comes in pieces, and a mark may be cut in two by that: what may be the beginning of one is held back.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_process::{Line, OutputStream};

use super::ReportSender;
use super::reports::{OutputOwner, OutputTails, PrintedLine, Report, StreamTail, TAIL_LINES};

impl OutputOwner {
    /// Reads what stands behind the nonce of a mark; nothing where the mark ends an example.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('\t');
        let key = parts.next().filter(|key| !key.is_empty())?;
        // A key with control characters comes as JSON.
        let quoted = key.starts_with('"').then(|| serde_json::from_str::<String>(key).ok());
        let key = quoted.flatten().unwrap_or_else(|| key.to_owned());
        let mut number = || parts.next()?.trim_end().parse().ok();
        let turn = number().zip(number());
        Some(Self { key, turn })
    }
}

/// The last lines of one stream since its last mark.
#[derive(Debug, Default)]
struct LastLines {
    marked: bool,
    owner: Option<Arc<OutputOwner>>,
    /// Each with a number that orders the lines of both streams.
    lines: VecDeque<(u64, String)>,
}

impl LastLines {
    fn mark(&mut self, owner: Option<Arc<OutputOwner>>) {
        self.marked = true;
        self.owner = owner;
        self.lines.clear();
    }

    fn push(&mut self, number: u64, line: &str) {
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((number, line.to_owned()));
    }
}

/// Collects the last lines of both streams while the worker prints.
#[derive(Debug, Clone, Default)]
pub(super) struct TailRecorder {
    count: Arc<AtomicU64>,
    streams: [Arc<Mutex<LastLines>>; 2],
}

impl TailRecorder {
    fn stream(&self, stderr: bool) -> MutexGuard<'_, LastLines> {
        self.streams[usize::from(stderr)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines, once the worker has ended.
    pub(super) fn take(&self) -> OutputTails {
        let tail = |stderr: bool| {
            let LastLines { marked, owner, lines } = std::mem::take(&mut *self.stream(stderr));
            StreamTail { marked, owner: owner.as_deref().cloned(), lines: lines.into() }
        };
        OutputTails { stdout: tail(false), stderr: tail(true) }
    }
}

/// A part of the output: text, or the boundary of an example.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text { owner: Option<OutputOwner>, text: String },
    Mark { owner: Option<Arc<OutputOwner>> },
}

/// Whose output it is.
#[derive(Debug, Default)]
struct Attribution {
    owner: Option<Arc<OutputOwner>>,
    /// The end of a piece of a line that goes on, where a mark may have begun.
    held: String,
}

impl Attribution {
    /// Splits a line, or a piece of one that was too long, at the mark in it.
    fn take(&mut self, line: &Line, nonce: &str, pieces: &mut Vec<Piece>) {
        let whole = if self.held.is_empty() {
            Cow::Borrowed(&*line.text)
        } else {
            Cow::Owned(std::mem::take(&mut self.held) + &line.text)
        };
        let Some(place) = memchr::memmem::find(whole.as_bytes(), nonce.as_bytes()) else {
            let kept = if line.ended { whole.len() } else { before_partial(&whole, nonce) };
            whole[kept..].clone_into(&mut self.held);
            return pieces.extend(self.text(&whole[..kept], line.ended));
        };
        // What stands before a mark was printed without a line feed.
        pieces.extend(self.text(&whole[..place], false));
        if line.ended {
            let owner = OutputOwner::parse(whole[place + nonce.len()..].trim_start());
            self.owner = owner.map(Arc::new);
            pieces.push(Piece::Mark { owner: self.owner.clone() });
        } else {
            whole[place..].clone_into(&mut self.held);
        }
    }

    /// Text of the present owner. An empty line is one; an empty rest of a line is nothing.
    fn text(&self, text: &str, is_line: bool) -> Option<Piece> {
        let owner = || self.owner.as_deref().cloned();
        let piece = || Piece::Text { owner: owner(), text: text.to_owned() };
        (is_line || !text.is_empty()).then(piece)
    }

    /// What was held back when the stream ended in the middle of a line.
    fn rest(&mut self, nonce: &str, pieces: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.take(&Line { text: held.into(), continues: true, ended: true }, nonce, pieces);
        }
    }
}

/// Where the longest end of a text begins that could be the beginning of the nonce.
fn before_partial(text: &str, nonce: &str) -> usize {
    let possible = text.len().saturating_sub(nonce.len())..text.len();
    possible
        .filter(|start| text.is_char_boundary(*start))
        .find(|start| nonce.starts_with(&text[*start..]))
        .unwrap_or(text.len())
}

/// So many bytes of lines that wait are reported together.
const BATCH_BYTES: usize = 64 * 1024;

/// Reads a stream to its end and reports every line with its example.
pub(super) async fn report_lines(
    stream: OutputStream,
    stderr: bool,
    nonce: Arc<str>,
    tails: TailRecorder,
    reports: ReportSender,
) {
    let mut attribution = Attribution::default();
    let (mut waiting, mut lines, mut pieces) = (stream.lines(), Vec::new(), Vec::new());
    loop {
        waiting.next_lines(BATCH_BYTES, &mut lines).await;
        for line in &lines {
            attribution.take(line, &nonce, &mut pieces);
        }
        let has_ended = lines.is_empty();
        if has_ended {
            // The last line of all may have no end; a mark in it is one all the same.
            attribution.rest(&nonce, &mut pieces);
        }
        let printed: Vec<Report> =
            pieces.drain(..).filter_map(|piece| record_piece(piece, stderr, &tails)).collect();
        if !printed.is_empty() {
            reports.send_all(printed).await;
        }
        if has_ended {
            return;
        }
    }
}

/// Notes a piece among the last lines; the report of it, if it is text.
fn record_piece(piece: Piece, stderr: bool, tails: &TailRecorder) -> Option<Report> {
    match piece {
        Piece::Mark { owner } => {
            tails.stream(stderr).mark(owner);
            None
        }
        Piece::Text { owner, text } => {
            let number = tails.count.fetch_add(1, Ordering::Relaxed);
            tails.stream(stderr).push(number, &text);
            Some(Report::Printed(PrintedLine { stderr, owner, text }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line { text: text.into(), continues: false, ended: true }
    }

    fn piece(text: &str) -> Line {
        Line { text: text.into(), continues: true, ended: false }
    }

    fn shown(lines: &[Line]) -> Vec<String> {
        let (mut attribution, mut pieces) = (Attribution::default(), Vec::new());
        for line in lines {
            attribution.take(line, "NONCE", &mut pieces);
        }
        attribution.rest("NONCE", &mut pieces);
        let text = |piece: Piece| match piece {
            Piece::Text { owner, text } => {
                Some(format!("{}={text}", owner.map(|o| o.key.clone()).unwrap_or_default()))
            }
            Piece::Mark { .. } => None,
        };
        pieces.into_iter().filter_map(text).collect()
    }

    #[test]
    fn marks_split_the_stream_even_in_the_middle_of_a_line() {
        let lines =
            ["loading", "NONCE ./a[1:1]", "one", "", "twoNONCE", "NONCE ./a[1:2]", "NONCE", "late"];
        assert_eq!(
            shown(&lines.map(line)),
            ["=loading", "./a[1:1]=one", "./a[1:1]=", "./a[1:1]=two", "=late"]
        );
    }

    /// Audit B7: with 65,516 bytes before the mark, the longest line ended inside it.
    #[test]
    fn b7_a_mark_that_is_cut_in_two_is_still_a_mark() {
        let text = "x".repeat(10) + "NONCE ./a[1:1]\t1\t1";
        for cut in 1..text.len() {
            let lines = [piece(&text[..cut]), line(&text[cut..]), line("mine")];
            let all = shown(&lines);
            assert_eq!(all.last().unwrap(), "./a[1:1]=mine", "cut at {cut}");
            let before: String = all[..all.len() - 1].iter().map(|piece| &piece[1..]).collect();
            assert_eq!(before, "x".repeat(10), "cut at {cut}");
        }
        assert_eq!(shown(&[piece("xxNON"), line("SENSE")]), ["=xx", "=NONSENSE"]);
        assert_eq!(shown(&[piece("xxNON")]), ["=xx", "=NON"]);
    }

    #[test]
    fn a_mark_may_name_the_repetition_and_the_attempt() {
        let owner = OutputOwner::parse("./a b[1:1]\t2\t3").unwrap();
        assert_eq!((owner.key.as_str(), owner.turn), ("./a b[1:1]", Some((2, 3))));
        assert_eq!(OutputOwner::parse("./a[1:1]").unwrap().turn, None);
        assert_eq!(OutputOwner::parse(""), None);
    }

    #[test]
    fn b7_a_key_with_a_tab_or_a_line_feed_comes_as_json() {
        let owner = OutputOwner::parse("\"./a\\tb\\nc[1:1]\"\t2\t3").unwrap();
        assert_eq!((owner.key.as_str(), owner.turn), ("./a\tb\nc[1:1]", Some((2, 3))));
        assert_eq!(OutputOwner::parse("\"odd\t1\t1").unwrap().key, "\"odd");
    }

    #[test]
    fn a_mark_begins_new_last_lines_and_only_the_last_are_kept() {
        let tails = TailRecorder::default();
        let owner = OutputOwner::parse("a").unwrap();
        tails.stream(false).push(0, "outside");
        tails.stream(false).mark(Some(Arc::new(owner.clone())));
        for number in 0..30 {
            tails.stream(false).push(number, &number.to_string());
        }
        let taken = tails.take();
        assert_eq!((taken.stdout.marked, taken.stdout.owner), (true, Some(owner)));
        assert_eq!((taken.stdout.lines.len(), taken.stdout.lines[0].0), (TAIL_LINES, 10));
        assert_eq!(taken.stderr, StreamTail::default());
    }
}
