//! The simple commands of a shell command line: quotes, comments, pipelines, redirections and substitutions are read as
//! a shell reads them. Nothing is expanded.

use std::collections::VecDeque;

/// How deep commands may stand in commands.
const DEEPEST: usize = 8;

/// The words of every command that the line would start, in order. A substitution counts as commands of its own.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    read(line, DEEPEST, &mut found);
    found
}

fn read(line: &str, depth: usize, found: &mut Vec<Vec<String>>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut shell = Shell { rest: line.chars().collect(), depth, ..Shell::default() };
    shell.run();
    shell.end_command();
    found.append(&mut shell.found);
}

#[derive(Default)]
struct Shell {
    rest: VecDeque<char>,
    depth: usize,
    found: Vec<Vec<String>>,
    words: Vec<String>,
    /// The word that is being read; an empty one in quotes is a word too.
    word: Option<String>,
    /// Whether the next word is the target of a redirection.
    redirecting: bool,
    /// The delimiters of here-documents that begin after this line.
    documents: VecDeque<String>,
    /// Whether the next word is such a delimiter.
    names_document: bool,
}

impl Shell {
    fn run(&mut self) {
        while let Some(letter) = self.rest.pop_front() {
            match letter {
                '\'' => {
                    let text = self.until('\'');
                    self.word().push_str(&text);
                }
                '"' => self.double_quoted(),
                '\\' => match self.rest.pop_front() {
                    Some('\n') | None => {}
                    Some(letter) => self.word().push(letter),
                },
                '`' => self.backquoted(),
                '$' if self.rest.front() == Some(&'(') => self.substitution(),
                '#' if self.word.is_none() => self.comment(),
                '<' | '>' => self.redirect(letter),
                '&' if self.rest.front() == Some(&'>') => self.end_word(),
                '\n' => {
                    self.end_command();
                    self.skip_documents();
                }
                ';' | '&' | '|' | '(' | ')' => self.end_command(),
                ' ' | '\t' | '\r' => self.end_word(),
                letter => self.word().push(letter),
            }
        }
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.names_document) {
            self.documents.push_back(word.trim_start_matches('-').to_owned());
        } else if !std::mem::take(&mut self.redirecting) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        (self.redirecting, self.names_document) = (false, false);
        if !self.words.is_empty() {
            self.found.push(std::mem::take(&mut self.words));
        }
    }

    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(letter) = self.rest.pop_front().filter(|letter| *letter != end) {
            text.push(letter);
        }
        text
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(letter) = self.rest.pop_front() {
            match letter {
                '"' => return,
                '\\' if self.rest.front().is_some_and(|next| "\"\\$`\n".contains(*next)) => {
                    if let Some(letter) = self.rest.pop_front() {
                        self.word().push(letter);
                    }
                }
                '`' => self.backquoted(),
                '$' if self.rest.front() == Some(&'(') => self.substitution(),
                letter => self.word().push(letter),
            }
        }
    }

    fn backquoted(&mut self) {
        let inner = self.until('`');
        read(&inner, self.depth, &mut self.found);
        self.word().push('$');
    }

    /// `$(…)`, up to the bracket that belongs to it.
    fn substitution(&mut self) {
        self.rest.pop_front();
        let (mut inner, mut open, mut quote) = (String::new(), 1, None);
        while let Some(letter) = self.rest.pop_front() {
            match (quote, letter) {
                (None, '\'' | '"') => quote = Some(letter),
                (Some(mark), letter) if mark == letter => quote = None,
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(letter);
        }
        read(&inner, self.depth, &mut self.found);
        self.word().push('$');
    }

    fn comment(&mut self) {
        while self.rest.front().is_some_and(|letter| *letter != '\n') {
            self.rest.pop_front();
        }
    }

    fn redirect(&mut self, letter: char) {
        // `2>` names a stream, not a word.
        if self.word.as_ref().is_some_and(|word| word.chars().all(|each| each.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        if letter == '<' && self.rest.front() == Some(&'<') {
            self.rest.pop_front();
            if self.rest.front() == Some(&'<') {
                self.rest.pop_front();
                self.redirecting = true;
            } else {
                self.names_document = true;
            }
            return;
        }
        while self.rest.front().is_some_and(|next| "<>&|".contains(*next)) {
            self.rest.pop_front();
        }
        self.redirecting = true;
    }

    fn skip_documents(&mut self) {
        while let Some(end) = self.documents.pop_front() {
            loop {
                if self.rest.is_empty() || self.until('\n').trim_matches('\t') == end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let all: Vec<String> = commands(line).iter().map(|words| words.join("·")).collect();
        all.join(" / ")
    }

    #[test]
    fn lines_are_read_as_a_shell_reads_them() {
        for (line, expected) in [
            ("a b", "a·b"),
            ("a 'b c' \"d e\" f\\ g", "a·b c·d e·f g"),
            ("a && b || c; d & e | f |& g", "a / b / c / d / e / f / g"),
            ("a # b; c\nd", "a / d"),
            ("a x#y", "a·x#y"),
            ("a > out.txt 2>&1 < in b", "a·b"),
            ("a &> out b", "a·b"),
            ("(a; b) && { c; }", "a / b / {·c / }"),
            ("a $(b c) `d`", "b·c / d / a·$·$"),
            ("a \"x $(b 'c)') y\"", "b·c) / a·x $ y"),
            ("cat <<EOF | a\nb; c\nEOF\nd", "cat / a / d"),
            ("cat <<'EOF'\nb\nEOF\nd", "cat / d"),
            ("a <<< \"b; c\" d", "a·d"),
            ("a \\\n b", "a·b"),
            ("a ''", "a·"),
            ("a 'b", "a·b"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn nothing_makes_it_run_for_ever() {
        let deep = "$(".repeat(5000);
        assert!(commands(&deep).len() < 10);
        assert!(commands(&"`".repeat(999)).len() < 10);
    }
}
