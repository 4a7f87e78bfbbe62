//! Attributing what a worker prints to the example that printed it.
//!
//! The worker writes marks into both streams: `<nonce> <key>` before an example, `<nonce>` after it. Bytes
//! between them belong to that example, its child processes' included. A mark may stand in the middle of a
//! line, because nobody makes a test end its output with a line feed. After the key may stand, behind tabs,
//! the repetition and the attempt: output may be read when the next attempt has long begun elsewhere. A line that is too
//! long comes in pieces, and a mark may be cut in two by that: what may be the beginning of one is held back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_process::{Line, OutputStream};

use super::{Inbox, Report};

/// How many lines are kept for the report of a crash.
const KEPT: usize = 20;

/// Whose output it is, as a mark names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) key: String,
    /// Repetition and attempt, where the worker says so.
    pub(crate) turn: Option<(u32, u32)>,
}

impl Owner {
    fn parse(text: &str) -> Option<Arc<Self>> {
        let mut parts = text.split('\t');
        let key = parts.next().filter(|key| !key.is_empty())?;
        // A key with control characters comes as JSON.
        let quoted = key.starts_with('"').then(|| serde_json::from_str::<String>(key).ok());
        let key = quoted.flatten().unwrap_or_else(|| key.to_owned());
        let mut number = || parts.next()?.trim_end().parse().ok();
        let turn = number().zip(number());
        Some(Arc::new(Self { key, turn }))
    }
}

/// The last lines of one stream, for the report of a crash.
///
/// They belong to whatever was open when they were printed: of an example that printed nothing there are none, rather than
/// those of the one before.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Whether the worker marks its output at all.
    marked: bool,
    owner: Option<Arc<Owner>>,
    /// With a number that orders the lines of both streams.
    lines: VecDeque<(u64, Arc<str>)>,
}

impl Tail {
    fn mark(&mut self, owner: Option<&Arc<Owner>>) {
        self.marked = true;
        self.owner = owner.cloned();
        self.lines.clear();
    }

    fn push(&mut self, number: u64, line: &Arc<str>) {
        if self.lines.len() == KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back((number, Arc::clone(line)));
    }

    /// Whether its lines are those of an example, or of nothing in particular.
    fn is_of(&self, running: Option<&Owner>) -> bool {
        let owner = self.owner.as_deref();
        !self.marked
            || match (owner, running) {
                (Some(owner), Some(running)) => {
                    owner.key == running.key
                        && owner.turn.is_none_or(|turn| Some(turn) == running.turn)
                }
                (owner, running) => owner.is_none() && running.is_none(),
            }
    }
}

/// The last lines of both streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tails {
    count: Arc<AtomicU64>,
    streams: [Arc<Mutex<Tail>>; 2],
}

impl Tails {
    fn of(&self, stderr: bool) -> MutexGuard<'_, Tail> {
        self.streams[usize::from(stderr)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last lines printed by what was running, in the order in which they were read.
    pub(crate) fn lines(&self, running: Option<&Owner>) -> Vec<String> {
        let mut all: Vec<(u64, Arc<str>)> = Vec::new();
        for stream in [false, true] {
            let tail = self.of(stream);
            if tail.is_of(running) {
                all.extend(tail.lines.iter().cloned());
            }
        }
        all.sort_by_key(|(number, _)| *number);
        let first = all.len().saturating_sub(KEPT);
        all.split_off(first).into_iter().map(|(_, line)| (*line).to_owned()).collect()
    }
}

/// A part of the output: text, or the boundary of an example.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text { owner: Option<Arc<Owner>>, text: String },
    Mark { owner: Option<Arc<Owner>> },
}

/// Whose output it is.
#[derive(Debug, Default)]
struct Attribution {
    owner: Option<Arc<Owner>>,
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
            self.owner = Owner::parse(whole[place + nonce.len()..].trim_start());
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
pub(super) async fn attribute(
    stream: OutputStream,
    stderr: bool,
    nonce: Arc<str>,
    tails: Tails,
    inbox: Inbox,
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
            publish(piece, stderr, &tails, &inbox).await;
        }
        if line.is_none() {
            return;
        }
    }
}

async fn publish(piece: Piece, stderr: bool, tails: &Tails, inbox: &Inbox) {
    match piece {
        Piece::Mark { owner } => tails.of(stderr).mark(owner.as_ref()),
        Piece::Text { owner, text } => {
            let line: Arc<str> = text.into();
            let number = tails.count.fetch_add(1, Ordering::Relaxed);
            tails.of(stderr).push(number, &line);
            inbox.send(Report::Printed { stderr, owner, line }).await;
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
        let owner = Owner::parse("./a b[1:1]\t2\t3").unwrap();
        assert_eq!((owner.key.as_str(), owner.turn), ("./a b[1:1]", Some((2, 3))));
        assert_eq!(Owner::parse("./a[1:1]").unwrap().turn, None);
        assert_eq!(Owner::parse(""), None);
    }

    #[test]
    fn b7_a_key_with_a_tab_or_a_line_feed_comes_as_json() {
        let owner = Owner::parse("\"./a\\tb\\nc[1:1]\"\t2\t3").unwrap();
        assert_eq!((owner.key.as_str(), owner.turn), ("./a\tb\nc[1:1]", Some((2, 3))));
        assert_eq!(Owner::parse("\"odd\t1\t1").unwrap().key, "\"odd");
    }

    /// Audit B5: the last line of the example before was shown as the last of one that had printed nothing.
    #[test]
    fn b5_the_tail_belongs_to_what_was_running() {
        let tails = Tails::default();
        let (a, b) = (Owner::parse("a").unwrap(), Owner::parse("b").unwrap());
        tails.of(false).push(0, &"outside".into());
        assert_eq!(tails.lines(Some(&a)), ["outside"], "without marks whatever was last");
        tails.of(false).mark(Some(&a));
        tails.of(false).push(1, &"old".into());
        tails.of(true).mark(Some(&b));
        for n in 0..30 {
            tails.of(true).push(n + 2, &n.to_string().into());
        }
        assert_eq!(tails.lines(Some(&a)), ["old"]);
        assert_eq!((tails.lines(Some(&b)).len(), tails.lines(Some(&b))[0].as_str()), (KEPT, "10"));
        tails.of(false).mark(Some(&b));
        tails.of(false).push(40, &"last".into());
        assert_eq!(tails.lines(Some(&b)).last().unwrap(), "last");
        tails.of(true).mark(None);
        assert_eq!(tails.lines(None), [] as [&str; 0]);
    }
}
