//! Words that a POSIX shell reads back unchanged, for commands that people copy and for scripts that are written.
//!
//! By hand: it is ten lines, and `shlex` refuses words with NUL, which a message must still show.

use std::borrow::Cow;

/// The text as one word: as it is if no shell reads anything into it, else in single quotes.
pub fn shell_quote(word: &str) -> Cow<'_, str> {
    let is_harmless = |c: char| c.is_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_harmless) && !is_assignment(word) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// `NAME=value` in front of a command would set a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Words as one line of a shell.
pub fn shell_join<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&shell_quote(word.as_ref()));
    }
    line
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn harmless_words_stay_readable() {
        assert_eq!(
            shell_join(["proctor", "run", "./spec/a_spec.rb:3"]),
            "proctor run ./spec/a_spec.rb:3"
        );
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("it's here"), r"'it'\''s here'");
        assert_eq!(shell_quote("a[1]"), "'a[1]'");
        assert_eq!(shell_quote("NAME=value"), "'NAME=value'");
        assert_eq!(shell_quote("--name=value"), "--name=value");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_the_words_back(words in proptest::collection::vec("[ -~\n\té漢]{0,8}", 1..5)) {
            let script = format!("printf '%s\\0' {}", shell_join(&words));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let read: Vec<&str> = std::str::from_utf8(&output.stdout).unwrap().split_terminator('\0').collect();
            prop_assert_eq!(read, words);
        }
    }
}
