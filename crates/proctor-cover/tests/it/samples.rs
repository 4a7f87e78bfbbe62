//! The specs in `docs/cover-samples.md` are what comes out, and `RuboCop` with rubocop-rspec has nothing to say about any spec of that
//! project, with its defaults and with a configuration of the project's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::run;

use crate::golden::copy;
use crate::options;

/// The specs of a project by their names.
fn specs(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder.join("spec")).unwrap().map(Result::unwrap);
    entries
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "rb"))
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

fn covered(rubocop: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/cover/review/lib"),
        &folder.path().join("lib"),
    );
    if let Some(text) = rubocop {
        for name in ["age_group", "comment_thread", "feature_flags", "rate_limiter", "temperature"]
        {
            fs::remove_file(folder.path().join(format!("lib/{name}.rb"))).unwrap();
        }
        fs::write(folder.path().join(".rubocop.yml"), text).unwrap();
    }
    let mut options = options(folder.path());
    if rubocop.is_none() {
        options.effort = proctor_cover::Effort::default();
    }
    run(&options, &mut |_| {}).unwrap();
    folder
}

/// Lints the specs; whether there was nothing to say, and what was said.
fn offences(folder: &Path) -> (bool, String) {
    let output = Command::new("rubocop")
        .args(["--require", "rubocop-rspec", "--cache", "false", "--format", "emacs", "spec"])
        .current_dir(folder)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The page with the specs as they come out, each after the heading that names its source.
fn with_specs(page: &str, found: &BTreeMap<String, String>) -> String {
    let mut parts = page.split("```ruby\n");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let heading = text.rsplit("`lib/").next().unwrap();
        let name = heading.split(".rb`").next().unwrap();
        let rest = part.split_once("```\n").unwrap().1;
        text = format!("{text}```ruby\n{}```\n{rest}", found[&format!("{name}_spec.rb")]);
    }
    text
}

#[test]
fn samples_in_the_docs_are_what_comes_out_and_rubocop_has_nothing_to_say() {
    let folder = covered(None);
    let found = specs(folder.path());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cover-samples.md");
    let mut page = fs::read_to_string(&path).unwrap();
    if std::env::var_os("PROCTOR_REGENERATE").is_some() {
        page = with_specs(&page, &found);
        fs::write(&path, &page).unwrap();
    }
    for name in ["reserve_seat", "temperature", "duration_text", "parcel", "exchange_rates"] {
        let spec = &found[&format!("{name}_spec.rb")];
        assert!(page.contains(&format!("```ruby\n{spec}```\n")), "{name} comes out as\n{spec}");
    }
    let (clean, said) = offences(folder.path());
    assert!(clean, "{said}");
    assert!(found.values().all(|text| !text.contains("rubocop:disable")));
}

#[test]
fn the_configuration_of_the_project_is_respected() {
    let folder = covered(Some(
        "AllCops:\n  NewCops: disable\n  SuggestExtensions: false\nStyle/StringLiterals:\n  EnforcedStyle: double_quotes\n\
         Layout/LineLength:\n  Max: 90\nLayout/SpaceInsideHashLiteralBraces:\n  EnforcedStyle: no_space\n\
         Style/WordArray:\n  EnforcedStyle: brackets\nStyle/FrozenStringLiteralComment:\n  EnforcedStyle: never\n\
         RSpec/ExampleLength:\n  Max: 12\nStyle/TrailingCommaInArguments:\n  EnforcedStyleForMultiline: comma\n\
         Style/TrailingCommaInArrayLiteral:\n  EnforcedStyleForMultiline: consistent_comma\n",
    ));
    let (clean, said) = offences(folder.path());
    assert!(clean, "{said}");
}
