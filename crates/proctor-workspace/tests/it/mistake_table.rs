//! The tables of mistakes and of valid files in `crates/proctor/tests/formats`, tried on the reader of workspace files.
//! The schema is tried on the same tables by `schemas.py` beside them.

use std::path::{Path, PathBuf};

use proctor_workspace::file;
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    name: String,
    kind: String,
    text: String,
    #[serde(default)]
    tool: String,
    #[serde(default, rename = "schema")]
    _schema: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of a table that are about workspaces.
fn table(name: &str) -> Vec<Row> {
    let path = repository().join("crates/proctor/tests/formats").join(name);
    let rows: Vec<Row> = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    rows.into_iter().filter(|row| row.kind == "workspace").collect()
}

fn problems(text: &str) -> Vec<String> {
    let read = file::read("a.workspace.yaml", text);
    read.err().into_iter().flatten().map(|problem| problem.to_string()).collect()
}

#[test]
fn every_mistake_is_refused_for_its_own_reason() {
    let mistakes = table("mistakes.yaml");
    assert!(mistakes.len() >= 50, "{}", mistakes.len());
    let mut wrong = Vec::new();
    for Row { name, text, tool, .. } in &mistakes {
        let found = problems(text);
        if !matches!(found.as_slice(), [one] if one.contains(tool)) {
            wrong.push(format!("{name}\nexpected {tool}\nfound {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// All examples and the table of valid files; the samples of the page have a test of their own.
#[test]
fn no_valid_file_is_refused() {
    let mut files: Vec<(String, String)> =
        table("valid.yaml").into_iter().map(|row| (row.name, row.text)).collect();
    for entry in std::fs::read_dir(repository().join("examples/workspaces")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(file::ENDING) {
            files.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(files.len() >= 15, "{}", files.len());
    for (name, text) in files {
        let found = problems(&text);
        assert!(found.is_empty(), "{name}: {found:#?}\n{text}");
    }
}

/// The binary prints the same; this test needs no binary.
#[test]
fn the_schema_is_current() {
    let path = repository().join("schema/workspace.schema.json");
    let mut wanted = serde_json::to_string_pretty(&file::schema().to_value()).unwrap();
    wanted.push('\n');
    if std::env::var_os("PROCTOR_REGENERATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        present == wanted,
        "{} is out of date; run: PROCTOR_REGENERATE=1 cargo test -p proctor-workspace schema",
        path.display()
    );
}
