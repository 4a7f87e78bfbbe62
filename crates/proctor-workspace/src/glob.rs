//! Patterns over paths: `*` and `?` within a name, `**` over folders, `[abc]`, `{a,b}`. Pure.
//!
//! A pattern without a slash is compared with the file's name and with every folder above it, so that
//! `target` or `*.log` mean what people expect; one that ends in a slash means the whole folder.

use regex::Regex;

/// A set of patterns; empty matches nothing.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs(Vec<Regex>);

impl PathGlobs {
    /// Compiles patterns; the error names the bad one.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        patterns.iter().map(|pattern| compile(pattern.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// Whether any pattern matches the path.
    pub fn matches(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.is_match(path))
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let bad = |why: &str| format!("the pattern {pattern:?} is no path pattern: {why}");
    if pattern.is_empty() {
        return Err(bad("it is empty"));
    }
    let trimmed = pattern.trim_start_matches("./").trim_start_matches('/');
    let body = translate(trimmed.trim_end_matches('/')).map_err(|why| bad(&why))?;
    let led = pattern.starts_with("./") || pattern.starts_with('/');
    let anchored = led || trimmed.trim_end_matches('/').contains('/');
    let start = if anchored { "^" } else { "^(?:.*/)?" };
    Regex::new(&format!("{start}{body}(?:/.*)?$")).map_err(|error| bad(&error.to_string()))
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut letters = pattern.chars().peekable();
    let mut depth = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.peek() == Some(&'*') => {
                letters.next();
                // `**/` may also stand for no folder at all.
                if letters.peek() == Some(&'/') {
                    letters.next();
                    out.push_str("(?:.*/)?");
                } else {
                    out.push_str(".*");
                }
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => out.push_str(&class(&mut letters)?),
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            ',' if depth > 0 => out.push('|'),
            '\\' => out.push_str(&regex::escape(&letters.next().unwrap_or('\\').to_string())),
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    if depth > 0 { Err("a `{` is not closed".to_owned()) } else { Ok(out) }
}

fn class(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, String> {
    let mut out = String::from("[");
    if letters.next_if(|letter| matches!(letter, '!' | '^')).is_some() {
        out.push('^');
    }
    for letter in letters {
        match letter {
            ']' if out.len() > 1 && !out.ends_with('^') => return Ok(format!("{out}]")),
            '-' => out.push('-'),
            '/' => return Err("a `[…]` cannot contain a slash".to_owned()),
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    Err("a `[` is not closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        PathGlobs::new(&[pattern]).unwrap().matches(path)
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
        assert!(!matches("a.c", "abc") && matches("?.md", "x.md"));
    }

    #[test]
    fn bad_patterns_are_named() {
        for bad in ["", "{a", "[a", "[a/b]"] {
            assert!(PathGlobs::new(&[bad]).unwrap_err().contains(bad), "{bad}");
        }
    }
}
