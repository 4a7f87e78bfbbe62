//! Rows of a scenario set, from JSON, YAML, CSV or JSON Lines text. Reading the file is the caller's job.
//!
//! CSV is split by hand: a quoted `"50"` is text and a bare `50` is a number, and the `csv` crate does not say which cells
//! were quoted.

use serde_json::{Map, Number, Value};

use proctor_yaml::decimal::is_whole;
use proctor_yaml::{BYTE_ORDER_MARK, Finding, read_yaml};

/// One row of a scenario set.
pub type Row = Map<String, Value>;

/// What a file of rows is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// A JSON array of objects.
    Json,
    /// A JSON object a line.
    JsonLines,
    /// A YAML list of mappings.
    Yaml,
    /// Comma-separated values with a header line.
    Csv,
}

impl RowFormat {
    /// The format that a file's ending stands for.
    pub fn of_file(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "yaml" | "yml" => Some(Self::Yaml),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// Why a file gives no rows. Rows count from 1, without the header line.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RowsError {
    /// For callers that read the file themselves: its ending names no format.
    #[error("its name ends neither in .json nor .jsonl nor .yaml nor .csv")]
    UnknownEnding,
    /// For callers that read the file themselves.
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    #[error("not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("line {line} is not JSON: {source}")]
    NotJsonLine { line: usize, source: serde_json::Error },
    #[error("line {line}: {message}")]
    NotYaml { line: u32, message: String },
    #[error("expected a list of rows")]
    NotAList,
    #[error("row {row}: expected a mapping, found {found}")]
    NotAMapping { row: usize, found: Value },
    #[error("the file is empty; its first line names the columns")]
    Empty,
    #[error("row {row}: {values} values for {columns} columns")]
    WrongLength { row: usize, values: usize, columns: usize },
    #[error("row {row}: a quote is never closed")]
    UnclosedQuote { row: usize },
}

/// Reads rows.
pub fn parse_rows(text: &str, format: RowFormat) -> Result<Vec<Row>, RowsError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let value = match format {
        RowFormat::Json => serde_json::from_str(text).map_err(RowsError::NotJson)?,
        RowFormat::Yaml => read_yaml(text).map(|node| node.to_value()).map_err(|error| {
            RowsError::NotYaml { line: error.place.line, message: error.message }
        })?,
        RowFormat::JsonLines => Value::Array(json_lines(text)?),
        RowFormat::Csv => return parse_csv(text),
    };
    let Value::Array(items) = value else { return Err(RowsError::NotAList) };
    items.into_iter().enumerate().map(|(index, item)| row(index, item)).collect()
}

/// The value of every line that is not blank.
fn json_lines(text: &str) -> Result<Vec<Value>, RowsError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line)| {
        serde_json::from_str(line)
            .map_err(|source| RowsError::NotJsonLine { line: index + 1, source })
    };
    lines.map(read).collect()
}

fn row(index: usize, item: Value) -> Result<Row, RowsError> {
    match item {
        Value::Object(row) => Ok(row),
        found => Err(RowsError::NotAMapping { row: index + 1, found }),
    }
}

/// The name of a row in descriptions: its `name`, its `id`, or its number.
pub fn row_name(row: &Row, index: usize) -> String {
    let named = ["name", "id"].iter().find_map(|key| row.get(*key));
    match named {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        Some(value @ Value::Number(_)) => value.to_string(),
        _ => format!("row {}", index + 1),
    }
}

/// Columns with dots make nested values; numbers, `true`, `false` and nothing are taken as such.
fn parse_csv(text: &str) -> Result<Vec<Row>, RowsError> {
    let mut records = csv_records(text)?.into_iter();
    let header = records.next().ok_or(RowsError::Empty)?;
    let mut rows = Vec::new();
    for (index, record) in records.enumerate() {
        if record.len() != header.len() {
            let (values, columns) = (record.len(), header.len());
            return Err(RowsError::WrongLength { row: index + 1, values, columns });
        }
        let mut row = Row::new();
        for (column, cell) in header.iter().zip(record) {
            put(&mut row, column.text.trim(), cell.into_value());
        }
        rows.push(row);
    }
    Ok(rows)
}

fn put(row: &mut Row, column: &str, value: Value) {
    match column.split_once('.') {
        None => {
            row.insert(column.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = row.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Cell {
    text: String,
    quoted: bool,
}

impl Cell {
    fn into_value(self) -> Value {
        if self.quoted {
            return Value::String(self.text);
        }
        let text = self.text.trim();
        match text {
            "" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
        }
    }
}

/// A number, unless writing it back would change it: `007` and `+49` are texts.
fn number(text: &str) -> Option<Value> {
    let number: Number = serde_json::from_str(text).ok()?;
    let shortest = number.as_f64().and_then(Number::from_f64);
    let same = is_whole(&number) || shortest.is_some_and(|shortest| shortest == number);
    (same && number.to_string() == text).then_some(Value::Number(number))
}

fn csv_records(text: &str) -> Result<Vec<Vec<Cell>>, RowsError> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut cell = Cell::default();
    let mut inside = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if inside && letters.peek() == Some(&'"') => {
                letters.next();
                cell.text.push('"');
            }
            '"' if inside => inside = false,
            '"' if cell.text.trim().is_empty() && !cell.quoted => {
                cell = Cell { text: String::new(), quoted: true };
                inside = true;
            }
            ',' if !inside => record.push(std::mem::take(&mut cell)),
            '\r' if !inside && letters.peek() == Some(&'\n') => {}
            '\n' if !inside => {
                record.push(std::mem::take(&mut cell));
                finish(&mut records, &mut record);
            }
            other => cell.text.push(other),
        }
    }
    if inside {
        return Err(RowsError::UnclosedQuote { row: records.len() });
    }
    record.push(cell);
    finish(&mut records, &mut record);
    Ok(records)
}

/// Empty lines are no records.
fn finish(records: &mut Vec<Vec<Cell>>, record: &mut Vec<Cell>) {
    let record = std::mem::take(record);
    if record.len() > 1 || record.iter().any(|cell| cell.quoted || !cell.text.trim().is_empty()) {
        records.push(record);
    }
}

/// What is wrong with rows that stand in a scenario file.
pub(crate) fn rows_finding(place: proctor_yaml::Place, file: &str, reason: &RowsError) -> Finding {
    Finding::new(place, format!("rows of `{file}`: {reason}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rows(text: &str, format: RowFormat) -> Value {
        json!(parse_rows(text, format).unwrap())
    }

    #[test]
    fn the_formats_give_the_same_rows() {
        let expected = json!([{"name": "Ada", "guests": 50, "venue": {"city": "Rome, It"}}]);
        let json = r#"[{"name": "Ada", "guests": 50, "venue": {"city": "Rome, It"}}]"#;
        let yaml = "- name: Ada\n  guests: 50\n  venue: {city: 'Rome, It'}\n";
        let csv = "name,guests,venue.city\r\nAda,50,\"Rome, It\"\r\n\r\n";
        let lines = format!("\n{}\r\n \n", &json[1..json.len() - 1]);
        assert_eq!(rows(json, RowFormat::Json), expected);
        assert_eq!(rows(&lines, RowFormat::JsonLines), expected);
        assert_eq!(rows(yaml, RowFormat::Yaml), expected);
        assert_eq!(rows(csv, RowFormat::Csv), expected);
    }

    #[test]
    fn csv_keeps_texts_that_look_like_numbers() {
        assert_eq!(
            rows("a,b,c,d\n007,+49,\"50\",\n", RowFormat::Csv),
            json!([{"a": "007", "b": "+49", "c": "50", "d": null}])
        );
    }

    #[test]
    fn d6_whole_numbers_of_rows_keep_their_digits() {
        let long = "123456789012345678901234567890";
        let cells = rows(&format!("id,price,code\n{long},2.50,12e4\n"), RowFormat::Csv);
        assert_eq!(
            cells[0].to_string(),
            format!(r#"{{"code":"12e4","id":{long},"price":"2.50"}}"#)
        );
        for (text, format) in [
            (format!(r#"[{{"id": {long}}}]"#), RowFormat::Json),
            (format!("- id: {long}\n"), RowFormat::Yaml),
        ] {
            assert_eq!(rows(&text, format)[0]["id"].to_string(), long);
        }
    }

    #[test]
    fn d16_a_byte_order_mark_is_no_part_of_a_column() {
        for (text, format) in [
            ("\u{feff}name,n\nAda,1\n", RowFormat::Csv),
            ("\u{feff}[{\"name\": \"Ada\", \"n\": 1}]", RowFormat::Json),
            ("\u{feff}- {name: Ada, n: 1}\n", RowFormat::Yaml),
        ] {
            assert_eq!(rows(text, format), json!([{"name": "Ada", "n": 1}]), "{text:?}");
        }
    }

    #[test]
    fn mistakes_name_the_row() {
        let error = |text, format| parse_rows(text, format).unwrap_err().to_string();
        assert_eq!(error("a,b\n1,2\n3\n", RowFormat::Csv), "row 2: 1 values for 2 columns");
        assert_eq!(error("[1]", RowFormat::Json), "row 1: expected a mapping, found 1");
        let torn = error("{\"a\": 1}\n{\"a\":", RowFormat::JsonLines);
        assert!(torn.starts_with("line 2 is not JSON"), "{torn}");
        assert_eq!(
            error("{}\n\n[1]", RowFormat::JsonLines),
            "row 2: expected a mapping, found [1]"
        );
        assert_eq!(error("a: 1", RowFormat::Yaml), "expected a list of rows");
        assert!(error("a\n\"x", RowFormat::Csv).contains("never closed"));
        assert!(error("", RowFormat::Csv).contains("empty"));
    }

    #[test]
    fn rows_are_named() {
        let row = |value: Value| value.as_object().unwrap().clone();
        assert_eq!(row_name(&row(json!({"name": "Ada"})), 0), "Ada");
        assert_eq!(row_name(&row(json!({"id": 7})), 0), "7");
        assert_eq!(row_name(&row(json!({})), 1), "row 2");
        assert_eq!(RowFormat::of_file("x/rows.YML"), Some(RowFormat::Yaml));
        assert_eq!(RowFormat::of_file("rows.jsonl"), Some(RowFormat::JsonLines));
    }

    proptest! {
        #[test]
        fn quoted_csv_cells_come_back(cells in proptest::collection::vec("[ -~\n\"]{0,12}", 1..5)) {
            let header: Vec<String> = (0..cells.len()).map(|index| format!("c{index}")).collect();
            let line: Vec<String> =
                cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let text = format!("{}\n{}\n", header.join(","), line.join(","));
            let rows = parse_rows(&text, RowFormat::Csv).unwrap();
            for (name, cell) in header.iter().zip(&cells) {
                prop_assert_eq!(rows[0][name].as_str(), Some(cell.as_str()));
            }
        }
    }
}
