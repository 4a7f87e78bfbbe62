//! Words and operators of a shell command line: quotes, comments, redirections and here-documents are read as a shell
//! reads them. Nothing is expanded.

use std::collections::VecDeque;

/// A word, an operator, or the text of a command substitution that stands in the next word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word; `quoted` if any of it was, so that it cannot be a reserved word.
    Word { text: String, quoted: bool },
    /// `;`, `&`, `&&`, `||`, `|`, `(`, `)`, `;;`; a line break is `;`.
    Operator(&'static str),
    /// The commands of `$(…)`, backquotes or `<(…)`.
    Substitution(String),
}

/// The tokens of a line, in order.
pub(super) fn tokens(line: &str) -> Vec<Token> {
    let mut lexer = Lexer { rest: line.chars().collect(), ..Lexer::default() };
    lexer.run();
    lexer.found
}

#[derive(Default)]
struct Lexer {
    rest: VecDeque<char>,
    found: Vec<Token>,
    /// The word that is being read; an empty one in quotes is a word too.
    word: Option<String>,
    quoted: bool,
    /// Whether the next word is the target of a redirection.
    redirecting: bool,
    /// The delimiters of here-documents that begin after this line.
    documents: VecDeque<String>,
    /// Whether the next word is such a delimiter.
    names_document: bool,
}

impl Lexer {
    fn run(&mut self) {
        while let Some(letter) = self.rest.pop_front() {
            match letter {
                '\'' => {
                    let text = self.until('\'');
                    self.quote().push_str(&text);
                }
                '"' => self.double_quoted(),
                '\\' => match self.rest.pop_front() {
                    Some('\n') | None => {}
                    Some(letter) => self.quote().push(letter),
                },
                '`' => self.backquoted(),
                '$' | '<' | '>' if self.rest.front() == Some(&'(') => self.substitution(),
                '#' if self.word.is_none() => self.skip_comment(),
                '<' | '>' => self.redirect(letter),
                '&' if self.rest.front() == Some(&'>') => self.end_word(),
                '\n' => {
                    self.operator(";");
                    self.skip_documents();
                }
                ';' | '&' | '|' | '(' | ')' => self.read_operator(letter),
                ' ' | '\t' | '\r' => self.end_word(),
                letter => self.word().push(letter),
            }
        }
        self.end_word();
    }

    fn read_operator(&mut self, letter: char) {
        let doubled = self.rest.front() == Some(&letter);
        let name = match (letter, doubled) {
            (';', true) => ";;",
            ('&', true) => "&&",
            ('|', true) => "||",
            (';', false) => ";",
            ('&', false) => "&",
            ('(', _) => "(",
            (')', _) => ")",
            _ => "|",
        };
        if name.len() == 2 || (name == "|" && self.rest.front() == Some(&'&')) {
            self.rest.pop_front();
        }
        self.operator(name);
    }

    fn operator(&mut self, name: &'static str) {
        self.end_word();
        (self.redirecting, self.names_document) = (false, false);
        self.found.push(Token::Operator(name));
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn quote(&mut self) -> &mut String {
        self.quoted = true;
        self.word()
    }

    fn end_word(&mut self) {
        let quoted = std::mem::take(&mut self.quoted);
        let Some(text) = self.word.take() else { return };
        if std::mem::take(&mut self.names_document) {
            self.documents.push_back(text.trim_start_matches('-').to_owned());
        } else if !std::mem::take(&mut self.redirecting) {
            self.found.push(Token::Word { text, quoted });
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
        self.quote();
        while let Some(letter) = self.rest.pop_front() {
            match letter {
                '"' => return,
                '\\' if self.rest.front().is_some_and(|next| "\"\\$`\n".contains(*next)) => {
                    if let Some(letter) = self.rest.pop_front().filter(|letter| *letter != '\n') {
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
        self.found.push(Token::Substitution(inner));
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
        self.found.push(Token::Substitution(inner));
        self.word().push('$');
    }

    fn skip_comment(&mut self) {
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
