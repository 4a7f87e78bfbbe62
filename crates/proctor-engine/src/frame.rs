//! How texts travel: several in one message, or one in several. Pure.
//!
//! A message holds whole lines, one text each, or a part of a line that is too long for one message. All but the last part of a
//! line are marked ([`Frame::more`]). Messages of one sender arrive in order, so the parts need no other name.

/// So much of one line goes into one message. Servers take 1 MiB by default, headers included.
pub(crate) const MAX_PART: usize = 512 * 1024;

/// What one message holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) body: String,
    /// Whether the line goes on in the next message.
    pub(crate) more: bool,
}

/// Packs texts, which contain no line feed, into as few messages as their size allows.
pub(crate) fn pack(texts: Vec<String>, max: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut open = String::new();
    for text in texts {
        if !open.is_empty() && open.len() + text.len() + 1 > max {
            frames.push(Frame { body: std::mem::take(&mut open), more: false });
        }
        if text.len() < max {
            open += &text;
            open.push('\n');
            continue;
        }
        let mut rest = text.as_str();
        while rest.len() >= max {
            let (part, behind) = rest.split_at(rest.floor_char_boundary(max.max(4)));
            frames.push(Frame { body: part.to_owned(), more: true });
            rest = behind;
        }
        frames.push(Frame { body: format!("{rest}\n"), more: false });
    }
    if !open.is_empty() {
        frames.push(Frame { body: open, more: false });
    }
    frames
}

/// Puts the messages of one sender together again.
#[derive(Debug, Default)]
pub(crate) struct Unpacker {
    begun: String,
}

impl Unpacker {
    /// The texts that are complete with this message.
    pub(crate) fn take(&mut self, body: &str, more: bool) -> Vec<String> {
        if more {
            self.begun += body;
            return Vec::new();
        }
        let all = std::mem::take(&mut self.begun) + body;
        all.split_terminator('\n').map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn texts_come_back_as_they_were_whatever_fits_into_a_message(
            texts in prop::collection::vec("[a-zäß𝄞]{1,40}", 0..12),
            max in 8_usize..60,
        ) {
            let frames = pack(texts.clone(), max);
            let mut unpacker = Unpacker::default();
            let mut back = Vec::new();
            for frame in &frames {
                prop_assert!(frame.body.len() <= max + 1, "{} > {max}", frame.body.len());
                back.extend(unpacker.take(&frame.body, frame.more));
            }
            prop_assert_eq!(back, texts);
            prop_assert!(frames.last().is_none_or(|last| !last.more));
        }
    }

    #[test]
    fn short_texts_share_a_message() {
        let texts = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(pack(texts, 100), [Frame { body: "a\nb\n".to_owned(), more: false }]);
        assert_eq!(pack(Vec::new(), 100), []);
    }
}
