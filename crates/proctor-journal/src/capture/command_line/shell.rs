//! The simple commands of a shell command line, and whether the exit code of the line speaks for each of them.
//!
//! `pytest | tail` ends with the exit code of `tail`, `pytest; ls` with that of `ls`, `pytest || true` with 0. Where a
//! rule of the shell is subtle, the exit code is said not to speak for the command.

use super::lexer::{Token, tokens};

/// How deep commands may be nested.
const MAX_NESTING: usize = 8;

/// One command that a line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<String>,
    /// Whether the line ends with exit code 0 only if this command did, or was not reached.
    pub(super) sets_exit: bool,
}

/// Options of the shell that change what its exit code says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellOptions {
    /// `set -e`: the first failing command ends the line.
    pub(super) errexit: bool,
    /// `set -o pipefail`: a pipeline fails if any of its commands does.
    pub(super) pipefail: bool,
}

impl ShellOptions {
    /// Reads the words behind `set`, or the options of a shell.
    pub(super) fn read(&mut self, words: &[&str]) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (Some(on), letters) = (sign(word), word.get(1..).unwrap_or_default()) else {
                return;
            };
            if !letters.starts_with('-') && letters.contains('e') {
                self.errexit = on;
            }
            if letters.ends_with('o') {
                match words.next() {
                    Some(&"pipefail") => self.pipefail = on,
                    Some(&"errexit") => self.errexit = on,
                    _ => {}
                }
            }
        }
    }
}

fn sign(word: &str) -> Option<bool> {
    match word.chars().next() {
        Some('-') => Some(true),
        Some('+') => Some(false),
        _ => None,
    }
}

/// Every command that the line would start, in order. A substitution counts as commands of its own.
pub(super) fn commands(line: &str, options: ShellOptions) -> Vec<Command> {
    parse(line, options, MAX_NESTING)
}

fn parse(line: &str, options: ShellOptions, depth: usize) -> Vec<Command> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let mut parser = Parser { tokens: tokens(line), place: 0, options, depth, nested: 0 };
    let mut found = Vec::new();
    while parser.place < parser.tokens.len() {
        let before = parser.place;
        let list = parser.list();
        // What stands before a stray closing word does not set the exit code.
        hide(&mut found);
        found.extend(list);
        if parser.place == before {
            parser.place += 1;
        }
    }
    found
}

/// Marks commands whose result the exit code does not include.
fn hide(commands: &mut [Command]) {
    for command in commands {
        command.sets_exit = false;
    }
}

struct Parser {
    tokens: Vec<Token>,
    place: usize,
    options: ShellOptions,
    depth: usize,
    /// How many brackets and reserved words are open.
    nested: usize,
}

/// How many brackets may be open; beyond, they are skipped.
const NESTED: usize = 64;

impl Parser {
    /// The next word, if it can be a reserved one.
    fn reserved(&self) -> Option<&str> {
        match self.tokens.get(self.place) {
            Some(Token::Word { text, quoted: false }) => Some(text),
            _ => None,
        }
    }

    fn operator(&self) -> Option<&'static str> {
        match self.tokens.get(self.place) {
            Some(Token::Operator(name)) => Some(name),
            _ => None,
        }
    }

    fn take_operator(&mut self, name: &str) -> bool {
        let is_next = self.operator() == Some(name);
        self.place += usize::from(is_next);
        is_next
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.reserved() == Some(word);
        self.place += usize::from(is_next);
        is_next
    }

    fn ends_list(&self) -> bool {
        self.place >= self.tokens.len()
            || matches!(self.operator(), Some(")" | ";;"))
            || matches!(
                self.reserved(),
                Some("then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}")
            )
    }

    /// Commands up to a word that closes what is open. All but the last are cut off from the exit code, unless
    /// `set -e` holds and they stand alone.
    fn list(&mut self) -> Vec<Command> {
        let mut found: Vec<Command> = Vec::new();
        loop {
            while self.take_operator(";") {}
            if self.ends_list() {
                return found;
            }
            let before = self.place;
            let mut next = self.and_or();
            if self.take_operator("&") {
                hide(&mut next.commands);
            }
            let is_last = self.rest_is_empty();
            let is_checked = self.options.errexit && next.stands_alone;
            if !is_last && !is_checked {
                hide(&mut next.commands);
            }
            found.extend(next.commands);
            self.place = self.place.max(before + 1);
        }
    }

    fn rest_is_empty(&self) -> bool {
        let rest = self.tokens.get(self.place..).unwrap_or_default();
        let mut rest = rest.iter().skip_while(|token| **token == Token::Operator(";"));
        match rest.next() {
            None | Some(Token::Operator(")" | ";;")) => true,
            Some(Token::Word { text, quoted: false }) => {
                matches!(&**text, "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}")
            }
            _ => false,
        }
    }

    fn and_or(&mut self) -> Statement {
        let mut commands = self.pipeline();
        let mut stands_alone = true;
        loop {
            if self.take_operator("&&") {
                commands.extend(self.pipeline());
            } else if self.take_operator("||") {
                let next = self.pipeline();
                if !always_fails(&next) {
                    hide(&mut commands);
                }
                commands.extend(next);
            } else {
                return Statement { commands, stands_alone };
            }
            // `set -e` does not hold for the left side of `&&` and `||`.
            stands_alone = false;
        }
    }

    fn pipeline(&mut self) -> Vec<Command> {
        let mut is_negated = false;
        while matches!(self.reserved(), Some("!" | "time")) {
            is_negated |= self.reserved() == Some("!");
            self.place += 1;
        }
        while self.take_operator(";") {}
        let mut found = self.command();
        while self.take_operator("|") {
            while self.take_operator(";") {}
            if !self.options.pipefail {
                hide(&mut found);
            }
            found.extend(self.command());
        }
        if is_negated {
            hide(&mut found);
        }
        found
    }

    fn command(&mut self) -> Vec<Command> {
        self.nested += 1;
        let found = if self.nested > NESTED { self.simple() } else { self.compound() };
        self.nested -= 1;
        found
    }

    fn compound(&mut self) -> Vec<Command> {
        if self.take_operator("(") {
            let options = self.options;
            let found = self.list();
            self.options = options;
            self.take_operator(")");
            return found;
        }
        match self.reserved() {
            Some("{") => {
                self.place += 1;
                let found = self.list();
                self.take_word("}");
                found
            }
            Some("if") => self.conditional(),
            Some("while" | "until" | "for" | "select") => self.repeated(),
            Some("case") => self.choice(),
            Some("function") => {
                self.place += 2;
                self.function()
            }
            _ => self.simple(),
        }
    }

    fn conditional(&mut self) -> Vec<Command> {
        let mut found = Vec::new();
        self.place += 1;
        loop {
            let mut condition = self.list();
            hide(&mut condition);
            found.extend(condition);
            if self.take_word("then") {
                found.extend(self.list());
            }
            if self.take_word("elif") {
                continue;
            }
            if self.take_word("else") {
                found.extend(self.list());
            }
            self.take_word("fi");
            return found;
        }
    }

    /// A loop ends with the exit code of its last round.
    fn repeated(&mut self) -> Vec<Command> {
        let has_header = matches!(self.reserved(), Some("for" | "select"));
        self.place += 1;
        let mut found = self.list();
        if has_header {
            // `x in a b` starts nothing.
            found.pop();
        }
        hide(&mut found);
        if self.take_word("do") {
            let mut body = self.list();
            if !self.options.errexit {
                hide(&mut body);
            }
            found.extend(body);
        }
        self.take_word("done");
        found
    }

    fn choice(&mut self) -> Vec<Command> {
        let mut found = Vec::new();
        while self.place < self.tokens.len() && !self.take_word("in") {
            self.place += 1;
        }
        loop {
            while self.take_operator(";") || self.take_operator(";;") {}
            if self.place >= self.tokens.len() || self.take_word("esac") {
                return found;
            }
            while self.place < self.tokens.len() && !self.take_operator(")") {
                self.place += 1;
            }
            found.extend(self.list());
        }
    }

    /// A function's body runs later, if at all.
    fn function(&mut self) -> Vec<Command> {
        while self.take_operator("(") || self.take_operator(")") || self.take_operator(";") {}
        let mut body = self.command();
        hide(&mut body);
        body
    }

    fn simple(&mut self) -> Vec<Command> {
        let (mut words, mut found) = (Vec::new(), Vec::new());
        loop {
            match self.tokens.get(self.place) {
                Some(Token::Word { text, .. }) => words.push(text.clone()),
                Some(Token::Substitution(line)) => {
                    let mut inner = parse(line, ShellOptions::default(), self.depth);
                    hide(&mut inner);
                    found.append(&mut inner);
                }
                Some(Token::Operator("(")) if words.len() == 1 && self.nested <= NESTED => {
                    return self.function();
                }
                _ => break,
            }
            self.place += 1;
        }
        if words.first().is_some_and(|word| word == "set") {
            let rest: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
            self.options.read(&rest);
        }
        if !words.is_empty() {
            found.push(Command { words, sets_exit: true });
        }
        found
    }
}

struct Statement {
    commands: Vec<Command>,
    /// Whether it is one pipeline, to which `set -e` applies.
    stands_alone: bool,
}

/// Whether what stands behind `||` makes the line fail all the same.
fn always_fails(commands: &[Command]) -> bool {
    let [Command { words, .. }] = commands else { return false };
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["false"] => true,
        ["exit" | "return", code] => code.parse::<u8>().is_ok_and(|code| code != 0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands separated by ` / `; `!` marks those for which the exit code speaks.
    fn shown(line: &str) -> String {
        let all: Vec<String> = commands(line, ShellOptions::default())
            .iter()
            .map(|command| {
                format!("{}{}", if command.sets_exit { "!" } else { "" }, command.words.join("·"))
            })
            .collect();
        all.join(" / ")
    }

    #[test]
    fn lines_are_read_as_a_shell_reads_them() {
        for (line, expected) in [
            ("a b", "!a·b"),
            ("a 'b c' \"d e\" f\\ g", "!a·b c·d e·f g"),
            ("a # b; c\nd", "a / !d"),
            ("a x#y", "!a·x#y"),
            ("a > out.txt 2>&1 < in b", "!a·b"),
            ("a &> out b", "!a·b"),
            ("a $(b c) `d`", "b·c / d / !a·$·$"),
            ("a \"x $(b 'c)') y\"", "b·c) / !a·x $ y"),
            ("diff <(a b) c", "a·b / !diff·$·c"),
            ("cat <<EOF | a\nb; c\nEOF\nd", "cat / a / !d"),
            ("cat <<'EOF'\nb\nEOF\nd", "cat / !d"),
            ("a <<< \"b; c\" d", "!a·d"),
            ("a \\\n b", "!a·b"),
            ("a ''", "!a·"),
            ("a 'b", "!a·b"),
            ("'if' a", "!if·a"),
            ("f() { a; }; b", "a / !b"),
            ("case $x in a|b) c;; *) d; e;; esac", "!c / d / !e"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn the_exit_code_speaks_only_for_what_sets_it() {
        for (line, expected) in [
            ("a && b", "!a / !b"),
            ("a; b", "a / !b"),
            ("a\nb", "a / !b"),
            ("a || b", "a / !b"),
            ("a || true", "a / !true"),
            ("a || exit 1", "!a / !exit·1"),
            ("a || exit 0", "a / !exit·0"),
            ("a && b || c", "a / b / !c"),
            ("a | b", "a / !b"),
            ("a |& b", "a / !b"),
            ("set -o pipefail; a | b", "set·-o·pipefail / !a / !b"),
            ("set -euo pipefail\na | b\nc", "!set·-euo·pipefail / !a / !b / !c"),
            ("set -e; a; b", "!set·-e / !a / !b"),
            ("set -e; set +e; a; b", "!set·-e / set·+e / a / !b"),
            ("set -e; a && b; c", "!set·-e / a / b / !c"),
            ("! a", "a"),
            ("time a", "!a"),
            ("a &", "a"),
            ("a & b", "a / !b"),
            ("(a; b) && { c; }", "a / !b / !c"),
            ("(a) | b", "a / !b"),
            ("if a; then b; c; else d; fi", "a / b / !c / !d"),
            ("if a; then b; fi; c", "a / b / !c"),
            ("for f in x; do a; done", "a"),
            ("for f in $(b); do a; done", "b / a"),
            ("set -e; for f in x; do a; b; done", "!set·-e / !a / !b"),
            ("while a; do b; done", "a / b"),
            ("a; }", "a"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn nothing_makes_it_run_for_ever() {
        for part in ["$(", "`", "(", "{ ", "if ", "case ", "|", "&&", ")", "done;", "f() "] {
            assert!(shown(&part.repeat(5000)).len() < 100_000, "{part}");
        }
    }
}
