//! The tables of mistakes and of valid files in `crates/proctor/tests/formats`, tried on the reader of scenarios. The
//! schema is tried on the same tables by `schemas.py` beside them.

use std::path::{Path, PathBuf};

use proctor_dialogue::{Row, RowFormat, RowsError, parse, parse_rows};
use proctor_events::StableIds;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of a table that are about scenarios.
fn table(name: &str) -> Vec<Row> {
    let path = repository().join("crates/proctor/tests/formats").join(name);
    let text = std::fs::read_to_string(path).expect("the table is there");
    let rows = parse_rows(&text, RowFormat::Yaml).expect("the table is a list");
    rows.into_iter().filter(|row| row["kind"] == "scenario").collect()
}

/// The rows of a set as the runner reads them; a file that is not there has one row.
fn rows(folder: &Path, name: &str) -> Result<Vec<Row>, RowsError> {
    let format = RowFormat::of_file(name).ok_or(RowsError::UnknownEnding)?;
    match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => parse_rows(&text, format),
        Err(_) => Ok(vec![Row::from_iter([("says".to_owned(), "Hi".into())])]),
    }
}

/// What the reader finds wrong, in the order of the file.
fn problems(text: &str, folder: &Path) -> Vec<String> {
    let read = parse(text, "a.scenario.yaml").and_then(|file| {
        file.examples(&mut StableIds::default(), &mut |name| rows(folder, name)).map(drop)
    });
    read.err().into_iter().flatten().map(|problem| problem.to_string()).collect()
}

#[test]
fn every_mistake_is_refused_for_its_own_reason() {
    let mistakes = table("mistakes.yaml");
    assert!(mistakes.len() >= 80, "{}", mistakes.len());
    let mut wrong = Vec::new();
    for row in &mistakes {
        let text = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("{row:?}: {key}"));
        let found = problems(text("text"), Path::new("."));
        if !matches!(found.as_slice(), [one] if one.contains(text("tool"))) {
            wrong.push(format!("{}\nexpected {}\nfound {found:#?}", text("name"), text("tool")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A part of a scenario file as a whole one.
fn completed(block: &str) -> String {
    let has = |key: &str| block.lines().any(|line| line.starts_with(key));
    let title = if has("describe:") { "" } else { "describe: Sample\n" };
    let is_whole = has("examples:") || has("sets:") || has("contexts:");
    let tests = if is_whole { "" } else { "examples: [{it: works, pending: a sample}]\n" };
    format!("{title}{block}{tests}")
}

/// All examples, all samples of the pages, and the table of valid files. The page about scenarios shows parts of files too.
#[test]
fn no_valid_file_is_refused() {
    let mut files: Vec<(String, String)> = table("valid.yaml")
        .iter()
        .map(|row| (row["name"].to_string(), row["text"].as_str().unwrap().to_owned()))
        .collect();
    let examples = repository().join("examples");
    for entry in std::fs::read_dir(&examples).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".scenario.yaml") {
            files.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    let pages = std::fs::read_dir(repository().join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().path()).chain([repository().join("README.md")]);
    for page in pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let is_about_scenarios = page.ends_with("conversations.md");
        for block in blocks {
            let is_whole = block.lines().any(|line| line.starts_with("describe:"));
            if is_whole || is_about_scenarios {
                files.push((page.display().to_string(), completed(block)));
            }
        }
    }
    assert!(files.len() >= 15, "{}", files.len());
    for (name, text) in files {
        let found = problems(&text, &examples);
        assert!(found.is_empty(), "{name}: {found:#?}\n{text}");
    }
}
