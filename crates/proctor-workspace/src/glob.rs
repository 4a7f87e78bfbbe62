//! File patterns, by the crate `globset`: `*` and `?` within a name, `**` over folders, `[abc]`, `{a,b}`, `\` before
//! a character that is meant literally. Pure.
//!
//! Ours on top: a pattern without a slash is compared with the file's name and with every folder above it,
//! so that `target` and `*.log` mean what people expect; one that matches a folder means everything
//! below; a leading `./` or `/` stands for the workspace's folder. Hidden files are like all others.
//! What `globset` would read in another way than it looks (`a**b`, a class that holds a slash) is refused.

use std::iter::Peekable;
use std::str::Chars;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A text that is not a file pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a file pattern: {problem}")]
pub struct FilePatternError {
    /// The pattern as it was written.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

/// A set of file patterns; an empty one matches nothing.
#[derive(Debug, Clone, Default)]
pub struct FilePatterns {
    patterns: Vec<String>,
    /// Two globs for each pattern, in order: what it names, and what is below.
    globs: GlobSet,
}

impl FilePatterns {
    /// Compiles patterns.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, FilePatternError> {
        let patterns: Vec<String> =
            patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect();
        let mut globs = GlobSetBuilder::new();
        for pattern in &patterns {
            let error = |problem: String| FilePatternError { pattern: pattern.clone(), problem };
            let named = anchored(pattern).map_err(error)?;
            for text in [format!("{named}/**"), named] {
                let glob = GlobBuilder::new(&text)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .empty_alternates(true)
                    .build();
                globs.add(glob.map_err(|problem| error(problem.kind().to_string()))?);
            }
        }
        // The set as a whole may be too large for its regular expressions.
        let globs = globs.build().map_err(|problem| FilePatternError {
            pattern: patterns.join(" "),
            problem: problem.to_string(),
        })?;
        Ok(Self { patterns, globs })
    }

    /// Whether any pattern matches the path, which is relative to the workspace.
    pub fn matches(&self, path: &str) -> bool {
        self.globs.is_match(path)
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The patterns as they were written.
    pub fn as_written(&self) -> &[String] {
        &self.patterns
    }

    /// The patterns that match none of these paths.
    pub(crate) fn without_match<'path>(
        &self,
        paths: impl Iterator<Item = &'path String>,
    ) -> Vec<&str> {
        let mut matched = vec![false; self.patterns.len()];
        for path in paths {
            self.globs.matches(path).into_iter().for_each(|index| matched[index / 2] = true);
        }
        let unmatched = self.patterns.iter().zip(matched).filter(|(_, matched)| !matched);
        unmatched.map(|(pattern, _)| pattern.as_str()).collect()
    }
}

/// The pattern from the workspace's folder on.
fn anchored(pattern: &str) -> Result<String, String> {
    let inside = pattern.trim_start_matches("./").trim_start_matches('/');
    let body = inside.trim_end_matches('/');
    if body.is_empty() {
        return Err("it names no file".to_owned());
    }
    if body.split('/').any(|part| part == "..") {
        return Err("`..` leaves the workspace".to_owned());
    }
    let checked = checked(body)?;
    let from_folder = pattern.starts_with("./") || pattern.starts_with('/') || body.contains('/');
    Ok(if from_folder { checked } else { format!("**/{checked}") })
}

/// Refuses what `globset` reads in another way than it looks, and keeps `[!…]` within a name.
fn checked(body: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut letters = body.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        out.push(letter);
        match letter {
            '\\' => out.extend(letters.next()),
            '[' => class(&mut letters, &mut out)?,
            '*' if letters.peek() == Some(&'*') => {
                out.extend(letters.next());
                let begins = before.is_none_or(|letter| "/{,".contains(letter));
                let ends = letters.peek().is_none_or(|letter| "/},".contains(*letter));
                if !begins || !ends {
                    return Err("`**` must be a whole part between slashes".to_owned());
                }
            }
            _ => {}
        }
        before = Some(letter);
    }
    Ok(out)
}

/// Copies the rest of a `[…]`. A negated class would match a slash, so the slash joins what it excludes.
fn class(letters: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), String> {
    let negated = letters.next_if(|letter| matches!(letter, '!' | '^'));
    if let Some(sign) = negated {
        out.extend([sign, '/']);
    }
    let mut content = String::new();
    for letter in letters {
        if letter == ']' && !content.is_empty() {
            if negated.is_none() && holds_slash(&content) {
                return Err("a `[…]` cannot stand for a slash".to_owned());
            }
            out.push_str(&content);
            out.push(']');
            return Ok(());
        }
        content.push(letter);
    }
    Err("a `[` is not closed".to_owned())
}

fn holds_slash(content: &str) -> bool {
    let letters: Vec<char> = content.chars().collect();
    let spans = |range: &[char]| range[1] == '-' && (range[0]..=range[2]).contains(&'/');
    letters.contains(&'/') || letters.windows(3).any(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, path: &str) -> bool {
        FilePatterns::new(&[pattern]).unwrap_or_else(|error| panic!("{error}")).matches(path)
    }

    #[test]
    fn patterns_mean_what_people_expect() {
        assert!(matches("*.rs", "src/main.rs") && matches("*.rs", "main.rs"));
        assert!(matches("src/*.rs", "src/main.rs") && !matches("src/*.rs", "src/a/main.rs"));
        assert!(matches("src/**", "src/a/b.rs") && matches("**/b.rs", "b.rs"));
        assert!(matches("src/**/b.rs", "src/b.rs") && matches("src/**/b.rs", "src/x/y/b.rs"));
        assert!(matches("target", "a/target/x") && matches("target/", "target/x/y"));
        assert!(!matches("target", "targets/x") && matches("{a,b}.txt", "b.txt"));
        assert!(matches("[!a].txt", "b.txt") && !matches("[!a].txt", "a.txt"));
        assert!(matches("**", "any/thing") && matches(".ralph/**", ".ralph/x"));
        assert!(!matches("a.c", "abc") && matches("?.md", "x.md") && !matches("?", "aa/bb/cc"));
        assert!(matches("*", ".hidden") && matches("src/*", "src/.hidden/x"));
        assert!(matches("./a", "a") && !matches("./a", "b/a") && matches("/a", "a/b"));
        assert!(matches("{src/**,docs/**}", "docs/a/b") && matches("{,x}y", "y"));
        assert!(matches("src[!x]main", "src-main") && !matches("src[!x]main", "src/main"));
        assert!(matches(r"a\*", "a*") && !matches(r"a\*", "ab") && matches("[]]", "]"));
        assert!(matches("[!-]x", "ax") && !matches("[!-]x", "-x"));
    }

    #[test]
    fn what_is_no_file_pattern_is_refused_and_named() {
        for bad in [
            "", "/", "./", "{a", "a}", "[a", "[]", "[a/b]", "[.-0]", "a**b", "**a", "a/b**", "***",
            "../x", "a/..", "[z-a]", "a\\",
        ] {
            let error = FilePatterns::new(&["ok", bad]).unwrap_err();
            assert_eq!(error.pattern, bad, "{error}");
        }
    }

    #[test]
    fn patterns_without_a_match_are_named() {
        let patterns = FilePatterns::new(&["src", "*.md", "a/*"]).unwrap();
        let paths = ["src/main.rs".to_owned(), "x.txt".to_owned()];
        assert_eq!(patterns.without_match(paths.iter()), ["*.md", "a/*"]);
    }

    proptest! {
        #[test]
        fn a_literal_path_matches_itself_alone(path in "[a-z*?\\[\\]{},!\\\\. ]{1,8}(/[a-z*{]{1,4}){0,2}") {
            prop_assume!(!path.starts_with('/') && !path.split('/').any(|part| matches!(part, "." | "..")));
            let pattern = crate::snapshot::literal(&path);
            prop_assert!(matches(&pattern, &path), "{}", pattern);
            let other = format!("{path}x");
            prop_assert!(!matches(&pattern, &other), "{}", pattern);
        }

        #[test]
        fn any_text_is_compiled_or_refused(pattern in ".{0,12}", path in ".{0,12}") {
            if let Ok(patterns) = FilePatterns::new(&[pattern]) {
                patterns.matches(&path);
            }
        }
    }
}
