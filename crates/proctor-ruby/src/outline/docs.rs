//! The comments of a file, found by the line below them.

use ruby_prism::ParseResult;

use crate::source::{Source, name};

/// Where comments are.
pub(super) struct Docs<'a> {
    bytes: &'a [u8],
    /// Line, start and end of each, in order.
    comments: Vec<(u32, u32, u32)>,
}

impl<'a> Docs<'a> {
    pub(super) fn of(parsed: &ParseResult<'a>, source: &Source<'_>) -> Self {
        let place = |location: ruby_prism::Location<'_>| {
            (source.line(location.start()), location.start(), location.end())
        };
        let comments = parsed.comments().map(|comment| place(comment.location())).collect();
        Self { bytes: parsed.source(), comments }
    }

    /// The comments that end above a line, if they say anything about parameters.
    pub(super) fn above(&self, line: u32) -> Option<String> {
        let end = self.comments.partition_point(|comment| comment.0 < line);
        // A comment on the line itself goes on with those above.
        if self.comments.get(end).is_some_and(|comment| comment.0 == line) {
            return None;
        }
        let mut start = end;
        let mut wanted = line;
        while start > 0 && self.comments[start - 1].0 + 1 == wanted {
            start -= 1;
            wanted -= 1;
        }
        let text = |comment: &(u32, u32, u32)| &self.bytes[comment.1 as usize..comment.2 as usize];
        let block = &self.comments[start..end];
        let tagged = |comment: &(u32, u32, u32)| text(comment).contains(&b'@');
        if !block.iter().any(tagged) {
            return None;
        }
        let mut words = String::new();
        for comment in block {
            words.push_str(&name(text(comment)));
            words.push('\n');
        }
        Some(words)
    }
}
