//! Attributing what a worker prints to the example that printed it.
//!
//! The worker writes marks into both streams: `<nonce> <key>` before an example, `<nonce>` after it. Bytes
//! between them belong to that example, its child processes' included. A mark may stand in the middle of a
//! line, because a test need not end its output with a line feed. After the key may stand, behind tabs,
//! the repetition and the attempt: output may be read when the next attempt has long begun elsewhere. A line that is too
//! long comes in pieces, and a mark may be cut in two by that: what may be the beginning of one is held back.

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
    owner: Option<OutputOwner>,
    /// Each with a number that orders the lines of both streams.
    lines: VecDeque<(u64, String)>,
}

impl LastLines {
    fn mark(&mut self, owner: Option<&OutputOwner>) {
        self.marked = true;
        self.owner = owner.cloned();
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
            StreamTail { marked, owner, lines: lines.into() }
        };
        OutputTails { stdout: tail(false), stderr: tail(true) }
    }
}

/// A part of the output: text, or the boundary of an example.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text { owner: Option<OutputOwner>, text: String },
    Mark { owner: Option<OutputOwner> },
}

/// Whose output it is.
#[derive(Debug, Default)]
struct Attribution {
    owner: Option<OutputOwner>,
    /// The end of a piece of a line that goes on, where a mark may have begun.
    held: String,
}

impl Attribution {
    /// Splits a line, or a piece of one that was too long, at the mark in it.
    fn take(&mut self, line: &Line, nonce: &str) -> Vec<Piece> {
        let whole = if self.held.is_empty() {
            line.text.to_string()
        } else {
            std::mem::take(&mut self.held) + &line.text
        };
        let Some(place) = whole.find(nonce) else {
            let kept = if line.ended { whole.len() } else { before_partial(&whole, nonce) };
            whole[kept..].clone_into(&mut self.held);
            return self.text(&whole[..kept], line.ended).into_iter().collect();
        };
        // What stands before a mark was printed without a line feed.
        let mut pieces: Vec<Piece> = self.text(&whole[..place], false).into_iter().collect();
        if line.ended {
            self.owner = OutputOwner::parse(whole[place + nonce.len()..].trim_start());
            pieces.push(Piece::Mark { owner: self.owner.clone() });
        } else {
            whole[place..].clone_into(&mut self.held);
        }
        pieces
    }

    /// Text of the present owner. An empty line is one; an empty rest of a line is nothing.
    fn text(&self, text: &str, is_line: bool) -> Option<Piece> {
        let piece = || Piece::Text { owner: self.owner.clone(), text: text.to_owned() };
        (is_line || !text.is_empty()).then(piece)
    }

    /// What was held back when the stream ended in the middle of a line.
    fn rest(&mut self, nonce: &str) -> Vec<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return Vec::new();
        }
        self.take(&Line { text: held.into(), continues: true, ended: true }, nonce)
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

/// Reads a stream to its end and reports every line with its example.
pub(super) async fn report_lines(
    stream: OutputStream,
    stderr: bool,
    nonce: Arc<str>,
    tails: TailRecorder,
    reports: ReportSender,
) {
    let mut attribution = Attribution::default();
    let mut lines = stream.lines();
    loop {
        let line = lines.next().await;
        let pieces = match &line {
            // The last line of all may have no end; a mark in it is one all the same.
            Some(line) => attribution.take(line, &nonce),
            None => attribution.rest(&nonce),
        };
        for piece in pieces {
            report_piece(piece, stderr, &tails, &reports).await;
        }
        if line.is_none() {
            return;
        }
    }
}

async fn report_piece(piece: Piece, stderr: bool, tails: &TailRecorder, reports: &ReportSender) {
    match piece {
        Piece::Mark { owner } => tails.stream(stderr).mark(owner.as_ref()),
        Piece::Text { owner, text } => {
            let number = tails.count.fetch_add(1, Ordering::Relaxed);
            tails.stream(stderr).push(number, &text);
            reports.send(Report::Printed(PrintedLine { stderr, owner, text })).await;
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
        let mut attribution = Attribution::default();
        let mut pieces: Vec<Piece> =
            lines.iter().flat_map(|line| attribution.take(line, "NONCE")).collect();
        pieces.extend(attribution.rest("NONCE"));
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
        tails.stream(false).mark(Some(&owner));
        for number in 0..30 {
            tails.stream(false).push(number, &number.to_string());
        }
        let taken = tails.take();
        assert_eq!((taken.stdout.marked, taken.stdout.owner), (true, Some(owner)));
        assert_eq!((taken.stdout.lines.len(), taken.stdout.lines[0].0), (TAIL_LINES, 10));
        assert_eq!(taken.stderr, StreamTail::default());
    }
}
