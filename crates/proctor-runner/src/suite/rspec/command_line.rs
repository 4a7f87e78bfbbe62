//! What follows `rspec` on a command line, from what was asked of Proctor.

use std::path::Path;

use crate::suite::filter::pattern_in;
use crate::suite::ruby::relative_to_root;

/// What was asked, in Proctor's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RspecRequest<'a> {
    /// Texts of descriptions, or `/REGEX/` in Ruby's syntax.
    pub(crate) examples: &'a [String],
    /// Tags, or `~tag` for those to leave out.
    pub(crate) tags: &'a [String],
    /// The seed that orders the examples.
    pub(crate) seed: Option<u64>,
    /// Further options for RSpec itself.
    pub(crate) options: &'a [String],
    /// Files and folders, as typed in `from`; empty for all specs.
    pub(crate) paths: &'a [String],
    /// The folder in which the paths were typed.
    pub(crate) from: &'a Path,
    /// The project's root, where RSpec runs.
    pub(crate) root: &'a Path,
}

impl RspecRequest<'_> {
    /// The arguments for RSpec.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut all = Vec::new();
        for text in self.examples {
            match pattern_in(text) {
                Some(pattern) => all.extend(["-E".to_owned(), pattern.to_owned()]),
                None => all.extend(["-e".to_owned(), text.clone()]),
            }
        }
        for tag in self.tags {
            all.extend(["--tag".to_owned(), tag.clone()]);
        }
        if let Some(seed) = self.seed {
            all.extend(["--seed".to_owned(), seed.to_string()]);
        }
        all.extend(self.options.iter().cloned());
        all.extend(self.paths.iter().map(|path| relative_to_root(path, self.from, self.root)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_paths_and_paths_are_seen_from_the_root() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("spec/models");
        std::fs::create_dir_all(&from).unwrap();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (examples, tags): (Vec<String>, Vec<String>) =
            (words(&["adds", "/(?=a)b/", "//"]), words(&["~slow"]));
        let (options, paths): (Vec<String>, Vec<String>) =
            (words(&["--order", "random"]), words(&["cart_spec.rb:3", "/abs/x_spec.rb"]));
        let request = RspecRequest {
            examples: &examples,
            tags: &tags,
            seed: Some(7),
            options: &options,
            paths: &paths,
            from: &from,
            root: root.path(),
        };
        let expected = "-e adds -E (?=a)b -e // --tag ~slow --seed 7 --order random \
                        spec/models/cart_spec.rb:3 /abs/x_spec.rb";
        assert_eq!(request.arguments().join(" "), expected);
    }
}
