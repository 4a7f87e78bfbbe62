//! Documents of headings, paragraphs, lists and tables, as terminal text, Markdown or one HTML page.
//!
//! Entries hold whatever an agent wrote, and evidence whatever a command printed. Each renderer
//! makes that harmless for its medium in one place: no control characters reach a terminal, no
//! markup reaches Markdown or HTML. The page has no script and loads nothing.

use std::fmt::Write as _;

use proctor_text::one_line;

/// How a document is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a file in a repository.
    Markdown,
    /// One page that needs nothing else.
    Html,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading below the title.
    Heading(String),
    /// A paragraph.
    Paragraph(String),
    /// A list; each item may have lines below it.
    List(Vec<Item>),
    /// A table with a row of column names.
    Table {
        /// The column names.
        head: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
    },
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// The item.
    pub text: String,
    /// Lines below it.
    pub details: Vec<String>,
}

/// A document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Its parts.
    pub blocks: Vec<Block>,
}

impl Document {
    /// An empty document.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a heading and what stands below it, unless that is empty.
    pub(crate) fn section(&mut self, heading: &str, block: Block) {
        let is_empty = match &block {
            Block::List(items) => items.is_empty(),
            Block::Table { rows, .. } => rows.is_empty(),
            Block::Heading(text) | Block::Paragraph(text) => text.is_empty(),
        };
        if !is_empty {
            self.blocks.extend([Block::Heading(heading.to_owned()), block]);
        }
    }

    /// Writes the document.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Markdown => self.markdown(),
            Format::Html => self.html(),
        }
    }

    fn text(&self) -> String {
        let mut out = format!("{}\n", one_line(&self.title));
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) | Block::Paragraph(text) => out.push_str(&one_line(text)),
                Block::List(items) => text_list(&mut out, items),
                Block::Table { head, rows } => text_table(&mut out, head, rows),
            }
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        out
    }

    fn markdown(&self) -> String {
        let mut out = format!("# {}\n", for_markdown(&self.title));
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => line(&mut out, format_args!("## {}", for_markdown(text))),
                Block::Paragraph(text) => line(&mut out, format_args!("{}", for_markdown(text))),
                Block::List(items) => {
                    for item in items {
                        line(&mut out, format_args!("- {}", for_markdown(&item.text)));
                        for detail in &item.details {
                            line(&mut out, format_args!("  - {}", for_markdown(detail)));
                        }
                    }
                }
                Block::Table { head, rows } => {
                    line(&mut out, format_args!("{}", markdown_row(head)));
                    line(&mut out, format_args!("|{}", " --- |".repeat(head.len())));
                    for row in rows {
                        line(&mut out, format_args!("{}", markdown_row(row)));
                    }
                }
            }
        }
        out
    }

    fn html(&self) -> String {
        let title = for_html(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        for block in &self.blocks {
            match block {
                Block::Heading(text) => line(&mut out, format_args!("<h2>{}</h2>", for_html(text))),
                Block::Paragraph(text) => line(&mut out, format_args!("<p>{}</p>", for_html(text))),
                Block::List(items) => html_list(&mut out, items),
                Block::Table { head, rows } => html_table(&mut out, head, rows),
            }
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid #8884; padding: .3rem .8rem; text-align: left; }
li { margin: .4rem 0; overflow-wrap: anywhere; } li ul { color: GrayText; }
";

/// Writes a line; writing to a string does not fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _written = writeln!(out, "{text}");
}

fn text_list(out: &mut String, items: &[Item]) {
    for item in items {
        line(out, format_args!("- {}", one_line(&item.text)));
        for detail in &item.details {
            line(out, format_args!("    {}", one_line(detail)));
        }
    }
}

fn text_table(out: &mut String, head: &[String], rows: &[Vec<String>]) {
    let cells: Vec<Vec<String>> = std::iter::once(head)
        .chain(rows.iter().map(Vec::as_slice))
        .map(|row| row.iter().map(|cell| one_line(cell)).collect())
        .collect();
    let width = |column: usize| {
        cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    for row in &cells {
        let padded: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        line(out, format_args!("{}", padded.join("  ").trim_end()));
    }
}

fn markdown_row(cells: &[String]) -> String {
    cells.iter().fold("|".to_owned(), |row, cell| format!("{row} {} |", for_markdown(cell)))
}

fn html_list(out: &mut String, items: &[Item]) {
    out.push_str("<ul>\n");
    for item in items {
        let _written = write!(out, "<li>{}", for_html(&item.text));
        if !item.details.is_empty() {
            out.push_str("<ul>");
            for detail in &item.details {
                let _written = write!(out, "<li>{}</li>", for_html(detail));
            }
            out.push_str("</ul>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

fn html_table(out: &mut String, head: &[String], rows: &[Vec<String>]) {
    let row = |cells: &[String], tag: &str| {
        cells
            .iter()
            .fold(String::new(), |row, cell| format!("{row}<{tag}>{}</{tag}>", for_html(cell)))
    };
    line(out, format_args!("<table>\n<thead><tr>{}</tr></thead>\n<tbody>", row(head, "th")));
    for cells in rows {
        line(out, format_args!("<tr>{}</tr>", row(cells, "td")));
    }
    out.push_str("</tbody>\n</table>\n");
}

fn for_markdown(text: &str) -> String {
    one_line(text).chars().fold(String::new(), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
        out
    })
}

fn for_html(text: &str) -> String {
    one_line(text).chars().fold(String::new(), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> Document {
        let text = "<script>alert(1)</script> \u{1b}[31mred *x* | `y`".to_owned();
        Document {
            title: text.clone(),
            blocks: vec![
                Block::Heading(text.clone()),
                Block::Paragraph(text.clone()),
                Block::List(vec![Item { text: text.clone(), details: vec![text.clone()] }]),
                Block::Table { head: vec![text.clone()], rows: vec![vec![text]] },
            ],
        }
    }

    #[test]
    fn no_markup_survives_in_html() {
        let page = hostile().render(Format::Html);
        assert!(!page.contains("<script") && !page.contains('\u{1b}'));
        assert_eq!(page.matches("&lt;script&gt;").count(), 8);
    }

    #[test]
    fn no_markup_survives_in_markdown() {
        let text = hostile().render(Format::Markdown);
        assert!(!text.contains("<script") && !text.contains('\u{1b}') && !text.contains(" *x* "));
    }

    #[test]
    fn no_escape_reaches_a_terminal() {
        assert!(!hostile().render(Format::Text).contains('\u{1b}'));
    }

    #[test]
    fn tables_line_up() {
        let document = Document {
            title: "t".to_owned(),
            blocks: vec![Block::Table {
                head: vec!["name".to_owned(), "n".to_owned()],
                rows: vec![vec!["é".to_owned(), "10".to_owned()]],
            }],
        };
        assert_eq!(document.render(Format::Text), "t\n\nname  n\né     10\n");
    }
}
