//! What is generated is checked in, and checked. `PROCTOR_REGENERATE=1 cargo nextest run -p proctor generated`
//! writes the files anew.

use crate::env::{TestEnv, repository};

fn compare(path: &str, arguments: &[&str]) {
    let ran = TestEnv::new().run(arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let path = repository().join(path);
    if std::env::var_os("PROCTOR_REGENERATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &ran.stdout).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == ran.stdout,
        "{} is out of date; run: PROCTOR_REGENERATE=1 cargo nextest run -p proctor generated",
        path.display()
    );
}

#[test]
fn events_schema() {
    compare("schema/events.schema.json", &["schema", "events"]);
}

#[test]
fn config_schema() {
    compare("schema/proctor-toml.schema.json", &["schema", "config"]);
}

#[test]
fn workspace_schema() {
    compare("schema/workspace.schema.json", &["schema", "workspace"]);
}

#[test]
fn cover_schema() {
    compare("schema/cover.schema.json", &["schema", "cover"]);
}

#[test]
fn environment_page() {
    compare("docs/environment.md", &["doctor", "--environment"]);
}
