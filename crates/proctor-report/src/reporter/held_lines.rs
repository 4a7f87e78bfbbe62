//! The lines of an example that are held back until it has ended: its first ones and its last, each cut.

use std::collections::VecDeque;

use proctor_text::{pluralize, truncate};

use crate::style::{Paint, Style};

const FIRST_LINES: usize = 50;
const LAST_LINES: usize = 150;
const LINE_LIMIT: usize = 500;

#[derive(Debug, Default)]
pub(super) struct HeldLines {
    first: Vec<String>,
    last: VecDeque<String>,
    dropped: u64,
}

impl HeldLines {
    pub(super) fn extend(&mut self, lines: &[String]) {
        for line in lines {
            self.push(truncate(line, LINE_LIMIT));
        }
    }

    fn push(&mut self, line: String) {
        if self.first.len() < FIRST_LINES {
            self.first.push(line);
            return;
        }
        if self.last.len() >= LAST_LINES {
            self.last.pop_front();
            self.dropped += 1;
        }
        self.last.push_back(line);
    }

    /// What is shown of them, with a line that says how many are not.
    pub(super) fn shown(&self, style: Style) -> Vec<String> {
        let mut all = self.first.clone();
        if self.dropped > 0 {
            let gap = format!("… {} left out", pluralize(self.dropped, "line"));
            all.push(style.paint(Paint::Dim, gap));
        }
        all.extend(self.last.iter().cloned());
        all
    }
}
