//! Managed blocks of a spec: where they stand, and whether they were edited. Pure.
//!
//! A block stands between `# proctor:begin ID HASH` and `# proctor:end ID`; the hash is over the lines between. A block
//! whose lines and hash disagree was edited by hand, and is never written again.

use crate::metadata::hash;

/// One managed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// `Class#name`
    pub(crate) id: String,
    /// Offset of the hash in the first line.
    hash: (usize, usize),
    /// Offsets of the lines between the marks.
    pub(crate) body: (usize, usize),
}

impl Block {
    /// Whether it was not edited.
    pub(crate) fn is_intact(&self, text: &str) -> bool {
        text[self.hash.0..self.hash.1] == block_hash(&text[self.body.0..self.body.1])
    }
}

fn block_hash(body: &str) -> String {
    hash(body.replace("\r\n", "\n").as_bytes())[..12].to_owned()
}

/// All blocks, in order.
pub(crate) fn find(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(String, (usize, usize), usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let plain = line.trim();
        if let Some(rest) = plain.strip_prefix("# proctor:begin ") {
            open = rest.rsplit_once(' ').map(|(id, hash)| {
                let start = offset + line.find(plain).unwrap_or(0) + plain.len() - hash.len();
                (id.to_owned(), (start, start + hash.len()), offset + line.len())
            });
        } else if let Some(id) = plain.strip_prefix("# proctor:end ")
            && let Some((_, hash, start)) = open.take_if(|(open, ..)| open == id)
        {
            found.push(Block { id: id.to_owned(), hash, body: (start, offset) });
        }
        offset += line.len();
    }
    found
}

/// Ids of the blocks that were not edited.
pub(crate) fn intact(text: &str) -> Vec<String> {
    find(text).into_iter().filter(|block| block.is_intact(text)).map(|block| block.id).collect()
}

/// The text with the hashes of these blocks made anew, after a change of ours.
pub(crate) fn with_new_hashes(text: &str, ids: &[String]) -> String {
    let mut fresh = text.to_owned();
    // From the end, so that places before stay where they are; hashes have one length anyway.
    for block in find(text).iter().rev().filter(|block| ids.contains(&block.id)) {
        let hash = block_hash(&text[block.body.0..block.body.1]);
        fresh.replace_range(block.hash.0..block.hash.1, &hash);
    }
    fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_breaks_the_seal_and_ours_makes_it_anew() {
        let body = "  describe \"#add\" do\n  end\n";
        let text = format!(
            "x\n  # proctor:begin Cart#add 000000000000\n{body}  # proctor:end Cart#add\ny\n"
        );
        assert!(intact(&text).is_empty());
        let sealed = with_new_hashes(&text, &["Cart#add".to_owned()]);
        assert_eq!(intact(&sealed), ["Cart#add"]);
        assert!(intact(&sealed.replace("#add\" do", "#add\" do # mine")).is_empty());
        assert_eq!(intact(&sealed.replace('\n', "\r\n")), ["Cart#add"], "line ends do not count");
    }

    #[test]
    fn our_seal_is_the_writers() {
        use proctor_ruby::spec::{
            ClassPlan, ContextPlan, ExampleBody, ExamplePlan, MethodPlan, SpecPlan, file,
        };
        let example = ExamplePlan {
            description: "works".to_owned(),
            body: ExampleBody::Pending("later".to_owned()),
            kills: false,
        };
        let method = MethodPlan {
            id: "A#x".to_owned(),
            label: "#x".to_owned(),
            contexts: vec![ContextPlan { name: None, examples: vec![example] }],
            ..MethodPlan::default()
        };
        let plan = SpecPlan {
            requires: Vec::new(),
            classes: vec![ClassPlan { name: "A".to_owned(), methods: vec![method] }],
            ..SpecPlan::default()
        };
        assert_eq!(intact(&file(&plan)), ["A#x"]);
    }
}
