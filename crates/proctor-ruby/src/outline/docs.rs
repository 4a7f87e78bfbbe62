//! The comments of a file, found by the line below them, and what else is no code.

use ruby_prism::{CommentType, ParseResult};

use crate::source::{Source, name};

/// Where comments are.
pub(super) struct Docs<'a> {
    bytes: &'a [u8],
    /// Line, start and end of each, in order.
    comments: Vec<(u32, u32, u32)>,
    /// Ranges without code whose lines look like some.
    other: Vec<(u32, u32)>,
}

impl<'a> Docs<'a> {
    pub(super) fn of(parsed: &ParseResult<'a>, source: &Source<'_>) -> Self {
        let mut docs = Self { bytes: parsed.source(), comments: Vec::new(), other: Vec::new() };
        for comment in parsed.comments() {
            let (start, end) = (comment.location().start(), comment.location().end());
            docs.comments.push((source.line(start), start, end));
            if comment.type_() == CommentType::EmbDocComment {
                docs.other.push((start, end));
            }
        }
        // What stands behind `__END__` is data.
        docs.other.extend(parsed.data_loc().map(|data| (data.start(), u32::MAX)));
        docs
    }

    /// Lines of code.
    pub(super) fn loc(&self, source: &Source<'_>) -> u32 {
        source.loc(&self.other)
    }

    /// The comments that end above a line, if they say anything about parameters.
    pub(super) fn above(&self, line: u32) -> Option<String> {
        let end = self.comments.partition_point(|comment| comment.0 < line);
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
