//! Attributing what a worker prints to the example that printed it.
//!
//! The worker writes marks into both streams: `<nonce> <key>` before an example, `<nonce>` after it. Bytes
//! between them belong to that example, its child processes' included. A mark may stand in the middle of a
//! line, because nobody makes a test end its output with a line feed. After the key may stand, behind tabs,
//! the repetition and the attempt: output may be read when the next attempt has long begun elsewhere.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_process::OutputStream;

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
        let key = parts.next().filter(|key| !key.is_empty())?.to_owned();
        let mut number = || parts.next()?.trim_end().parse().ok();
        let turn = number().zip(number());
        Some(Arc::new(Self { key, turn }))
    }
}

/// The last lines that a worker printed within its present example.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    owner: Option<Arc<Owner>>,
    lines: VecDeque<Arc<str>>,
}

impl Tail {
    fn push(&mut self, owner: Option<&Arc<Owner>>, line: &Arc<str>) {
        if self.owner.as_ref() != owner {
            self.owner = owner.cloned();
            self.lines.clear();
        }
        if self.lines.len() == KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(Arc::clone(line));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.iter().map(|line| (**line).to_owned()).collect()
    }
}

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    owner: Option<Arc<Owner>>,
    text: String,
}

/// Whose output it is.
#[derive(Debug, Default)]
struct Attribution {
    owner: Option<Arc<Owner>>,
}

impl Attribution {
    /// Splits a line at the marks in it.
    fn take(&mut self, line: &str, nonce: &str) -> Option<Piece> {
        let Some(place) = line.find(nonce) else {
            return Some(Piece { owner: self.owner.clone(), text: line.to_owned() });
        };
        // What stands before a mark was printed without a line feed.
        let before = &line[..place];
        let owner = self.owner.take();
        let piece = (!before.is_empty()).then(|| Piece { owner, text: before.to_owned() });
        self.owner = Owner::parse(line[place + nonce.len()..].trim_start());
        piece
    }
}

/// Reads a stream to its end and reports every line with its example.
pub(super) async fn attribute(
    stream: OutputStream,
    stderr: bool,
    nonce: Arc<str>,
    tail: Arc<Mutex<Tail>>,
    inbox: Inbox,
) {
    let mut attribution = Attribution::default();
    let mut lines = stream.lines();
    while let Some(line) = lines.next().await {
        if let Some(piece) = attribution.take(&line.text, &nonce) {
            let text: Arc<str> = piece.text.into();
            tail.lock().unwrap_or_else(PoisonError::into_inner).push(piece.owner.as_ref(), &text);
            inbox.send(Report::Printed { stderr, owner: piece.owner, line: text }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_split_the_stream_even_in_the_middle_of_a_line() {
        let mut attribution = Attribution::default();
        let lines = ["loading", "N ./a[1:1]", "one", "twoN", "N ./a[1:2]", "N", "late"];
        let pieces: Vec<String> = lines
            .iter()
            .filter_map(|line| attribution.take(line, "N"))
            .map(|piece| {
                let owner = piece.owner.map(|owner| owner.key.clone());
                format!("{}={}", owner.unwrap_or_default(), piece.text)
            })
            .collect();
        assert_eq!(pieces, ["=loading", "./a[1:1]=one", "./a[1:1]=two", "=late"]);
    }

    #[test]
    fn a_mark_may_name_the_repetition_and_the_attempt() {
        let owner = Owner::parse("./a b[1:1]\t2\t3").unwrap();
        assert_eq!((owner.key.as_str(), owner.turn), ("./a b[1:1]", Some((2, 3))));
        assert_eq!(Owner::parse("./a[1:1]").unwrap().turn, None);
        assert_eq!(Owner::parse(""), None);
    }

    #[test]
    fn the_tail_belongs_to_one_example() {
        let mut tail = Tail::default();
        let (a, b) = (Owner::parse("a").unwrap(), Owner::parse("b").unwrap());
        tail.push(Some(&a), &"old".into());
        for n in 0..30 {
            tail.push(Some(&b), &n.to_string().into());
        }
        assert_eq!((tail.lines().len(), tail.lines()[0].as_str()), (KEPT, "10"));
    }
}
