//! Problems of a file, with line, column, excerpt and hint.

use std::collections::BTreeSet;
use std::fmt;

use crate::node::Place;

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The file's name as the caller gave it.
    pub file: String,
    /// The line, from 1; 0 when no line is to blame.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
    /// The line itself.
    pub snippet: String,
}

/// How many characters of a line are shown.
const MAX_SNIPPET: usize = 160;

impl FileProblem {
    /// `file:line:column`.
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }

    /// Message, source line and hint, without the position.
    pub fn details(&self) -> String {
        struct Details<'a>(&'a FileProblem);
        impl fmt::Display for Details<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write_details(f)
            }
        }
        Details(self).to_string()
    }

    /// The line as far as it is shown, and the index of the column in it: all of it, or what is around the column.
    fn shown_part(&self) -> (String, usize) {
        let column = self.column.saturating_sub(1) as usize;
        if self.snippet.chars().count() <= MAX_SNIPPET {
            return (self.snippet.clone(), column);
        }
        let first = column.saturating_sub(MAX_SNIPPET / 2);
        let part: String = self.snippet.chars().skip(first).take(MAX_SNIPPET).collect();
        let left = if first > 0 { "…" } else { "" };
        let right = if self.snippet.chars().count() > first + MAX_SNIPPET { "…" } else { "" };
        (format!("{left}{part}{right}"), column - first + left.chars().count())
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.snippet.is_empty() {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            let (shown, column) = self.shown_part();
            let indent = " ".repeat(column);
            write!(f, "\n {number} | {shown}\n {margin} | {indent}^")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n   hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place())?;
        self.write_details(f)
    }
}

impl std::error::Error for FileProblem {}

/// A problem without its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Where; the default place where no line is to blame.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if known.
    pub hint: Option<String>,
    /// The names it reports as missing.
    absent: Vec<String>,
}

impl Finding {
    /// A finding without a hint.
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), hint: None, absent: Vec::new() }
    }

    /// Marks the finding as one about missing names.
    #[must_use]
    pub fn absent<'name>(mut self, names: impl IntoIterator<Item = &'name str>) -> Self {
        self.absent = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// Message and hint, for a finding without a position.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the name that was probably meant, or what there is to choose from.
    #[must_use]
    pub fn nearest<'name>(self, word: &str, known: impl IntoIterator<Item = &'name str>) -> Self {
        match nearest_or_known(word, known) {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// The finding with the file's name and the line it is about.
    pub fn in_file(self, file: &str, text: &str) -> FileProblem {
        let line = usize::try_from(self.place.line).unwrap_or_default();
        let snippet = line.checked_sub(1).and_then(|index| text.lines().nth(index));
        FileProblem {
            file: file.to_owned(),
            line: self.place.line,
            column: self.place.column,
            message: self.message,
            hint: self.hint,
            snippet: snippet.unwrap_or_default().to_owned(),
        }
    }
}

/// What was found wrong with a text, and what could not be read for that.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Finding>,
    /// The names in what could not be read.
    left_out: BTreeSet<String>,
}

impl Findings {
    /// Adds a finding.
    pub fn push(&mut self, finding: Finding) {
        self.found.push(finding);
    }

    /// These names stand in something that could not be read.
    pub(crate) fn left_out(&mut self, names: BTreeSet<String>) {
        self.left_out.extend(names);
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// In order of place, each once. That something is not there is said only if it does not stand in what could not
    /// be read.
    pub fn into_sorted(self) -> Vec<Finding> {
        let Self { mut found, left_out } = self;
        found.retain(|finding| !finding.absent.iter().any(|name| left_out.contains(name)));
        found.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        found.dedup_by(|a, b| a.place == b.place && a.message == b.message);
        found
    }
}

/// The known name that was probably meant, or all known names. None if there are none.
pub fn nearest_or_known<'name>(
    word: &str,
    known: impl IntoIterator<Item = &'name str>,
) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    match proctor_text::nearest(word, known.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known: {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_place_line_and_way_out() {
        let place = Place { line: 2, column: 3 };
        let problem = Finding::new(place, "unknown key `topcis`")
            .nearest("topcis", ["tags", "topics"])
            .in_file("a.scenario.yaml", "describe: x\n  topcis: 1\n");
        insta::assert_snapshot!(problem, @r"
        a.scenario.yaml:2:3: unknown key `topcis`
         2 |   topcis: 1
           |   ^
           hint: did you mean `topics`?
        ");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_column_is_shown() {
        let line = format!("{}é!{}", "a".repeat(500), "b".repeat(500));
        let place = Place { line: 1, column: 502 };
        let shown = Finding::new(place, "x").in_file("f", &line).details();
        let rows: Vec<&str> = shown.lines().collect();
        assert_eq!(rows[1], format!(" 1 | …{}é!{}…", "a".repeat(79), "b".repeat(79)));
        let mark = rows[2].chars().position(|letter| letter == '^').unwrap();
        assert_eq!(rows[1].chars().nth(mark), Some('!'));
    }

    #[test]
    fn a_word_far_from_all_gets_the_list() {
        let finding = Finding::new(Place::default(), "x").nearest("zebra", ["tags", "topics"]);
        assert_eq!(finding.hint.as_deref(), Some("known: tags, topics"));
    }
}
