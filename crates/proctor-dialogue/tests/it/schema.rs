//! `schema/scenario.schema.json` is generated, checked in, and checked here.
//! `PROCTOR_REGENERATE=1 cargo test -p proctor-dialogue schema` writes it anew.

use std::path::Path;

use proctor_dialogue::{Assertion, scenario_schema};

#[test]
fn the_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json");
    let mut wanted = serde_json::to_string_pretty(&scenario_schema()).unwrap();
    wanted.push('\n');
    if std::env::var_os("PROCTOR_REGENERATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        present == wanted,
        "{} is out of date; run: PROCTOR_REGENERATE=1 cargo test -p proctor-dialogue schema",
        path.display()
    );
}

#[test]
fn the_schema_knows_every_assertion() {
    let text = scenario_schema()["$defs"]["Assertion"].to_string();
    for kind in Assertion::KINDS {
        assert!(text.contains(&format!("\"{kind}\"")), "{kind}");
    }
}
