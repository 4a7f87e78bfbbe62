//! How a project wants its specs to be written: its `RuboCop` configuration, or else the quotes of its hand-written specs.

use std::fs;
use std::path::{Component, Path};

use proctor_ruby::spec::{Style, TrailingComma};
use serde_json::{Map, Value};

use crate::blocks;

/// Configuration files may inherit from each other so deep.
const MAX_DEPTH: usize = 5;
/// Hand-written specs that are looked at for their quotes.
const MAX_SPECS: usize = 200;

/// The style of the project in this folder. Without a configuration `RuboCop`'s defaults hold, except for the quotes if the
/// project's own specs have others.
#[must_use]
pub(crate) fn project_style(root: &Path) -> Style {
    let mut style = Style::default();
    let mut cops = Map::new();
    if root.join(".standard.yml").is_file() {
        apply_preset(&mut style, "standard");
    }
    let found = read_configuration(root, &root.join(".rubocop.yml"), &mut cops, &mut style, 0);
    if found {
        apply(&mut style, &cops);
    } else if !root.join(".standard.yml").is_file() && prefers_double_quotes(root) {
        style.single_quotes = false;
    }
    style
}

/// Collects the cops of a file and of those it inherits from; whether it is there.
fn read_configuration(
    root: &Path,
    path: &Path,
    cops: &mut Map<String, Value>,
    style: &mut Style,
    depth: usize,
) -> bool {
    let text = proctor_files::read_text(path, proctor_files::limits::RUBY_SOURCE);
    let Ok(text) = text else { return false };
    let Ok(Value::Object(own)) = serde_saphyr::from_str::<Value>(&text) else { return true };
    for key in ["inherit_gem", "require", "plugins"] {
        for gem in names(own.get(key)) {
            apply_preset(style, &gem);
        }
    }
    let inherited = names(own.get("inherit_from"));
    for name in inherited.iter().filter(|_| depth < MAX_DEPTH) {
        let inside = Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if inside {
            let folder = path.parent().unwrap_or(root);
            read_configuration(root, &folder.join(name), cops, style, depth + 1);
        }
    }
    for (cop, settings) in own {
        match (cops.get_mut(&cop), settings) {
            (Some(Value::Object(known)), Value::Object(settings)) => known.extend(settings),
            (_, settings) => drop(cops.insert(cop, settings)),
        }
    }
    true
}

/// A name, a list of names, or the keys of a table.
fn names(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::Object(table)) => table.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

/// What well-known configurations ask for.
fn apply_preset(style: &mut Style, gem: &str) {
    match gem {
        "standard" | "standard-rails" | "rubocop-standard" => {
            style.single_quotes = false;
            style.spaces_in_braces = false;
            style.width = 120;
            style.word_arrays_from = None;
            style.symbol_arrays_from = None;
            style.underscores_from = None;
            style.frozen_comment = false;
        }
        "rubocop-rails-omakase" => {
            style.single_quotes = false;
            style.spaces_in_brackets = true;
            style.word_arrays_from = None;
            style.symbol_arrays_from = None;
            style.frozen_comment = false;
        }
        _ => {}
    }
}

fn apply(style: &mut Style, cops: &Map<String, Value>) {
    let cop = |name: &str| cops.get(name).and_then(Value::as_object);
    let enforced = |name: &str| cop(name)?.get("EnforcedStyle")?.as_str();
    let is_off =
        |name: &str| cop(name).and_then(|one| one.get("Enabled")) == Some(&Value::Bool(false));
    let number = |name: &str, key: &str| {
        cop(name)?.get(key)?.as_u64().and_then(|count| usize::try_from(count).ok())
    };
    match enforced("Style/StringLiterals") {
        Some("double_quotes") => style.single_quotes = false,
        Some("single_quotes") => style.single_quotes = true,
        _ => {}
    }
    match enforced("Style/FrozenStringLiteralComment") {
        Some("never") => style.frozen_comment = false,
        Some("always" | "always_true") => style.frozen_comment = true,
        _ => {}
    }
    match enforced("Layout/SpaceInsideHashLiteralBraces") {
        Some("no_space") => style.spaces_in_braces = false,
        Some("space") => style.spaces_in_braces = true,
        _ => {}
    }
    match enforced("Layout/SpaceInsideArrayLiteralBrackets") {
        Some("space") => style.spaces_in_brackets = true,
        Some("no_space") => style.spaces_in_brackets = false,
        _ => {}
    }
    let from = |name: &str, default: Option<usize>| match enforced(name) {
        Some("brackets") => None,
        Some("percent") => Some(number(name, "MinSize").unwrap_or(2)),
        _ => number(name, "MinSize").or(default),
    };
    style.word_arrays_from = from("Style/WordArray", style.word_arrays_from);
    style.symbol_arrays_from = from("Style/SymbolArray", style.symbol_arrays_from);
    if let Some(digits) = number("Style/NumericLiterals", "MinDigits") {
        style.underscores_from = Some(digits);
    }
    let commas = &mut style.trailing_commas;
    for (name, comma) in [
        ("Style/TrailingCommaInArguments", &mut commas.arguments),
        ("Style/TrailingCommaInArrayLiteral", &mut commas.arrays),
        ("Style/TrailingCommaInHashLiteral", &mut commas.hashes),
    ] {
        let wanted = cop(name).filter(|_| !is_off(name));
        let wanted = wanted.and_then(|one| one.get("EnforcedStyleForMultiline"));
        match wanted.and_then(Value::as_str) {
            Some("comma") => *comma = TrailingComma::IfApart,
            Some("consistent_comma") => *comma = TrailingComma::Always,
            Some("no_comma") => *comma = TrailingComma::Never,
            _ => {}
        }
    }
    let limits = [
        ("Layout/LineLength", &mut style.width),
        ("RSpec/ExampleLength", &mut style.example_lines),
        ("RSpec/MultipleMemoizedHelpers", &mut style.helpers),
    ];
    for (name, limit) in limits {
        if let Some(most) = number(name, "Max").filter(|_| !is_off(name)) {
            *limit = most;
        }
    }
    style.described_class = enforced("RSpec/DescribedClass") != Some("explicit");
}

/// Whether more titles of hand-written specs stand in double quotes than in single ones.
fn prefers_double_quotes(root: &Path) -> bool {
    let (mut double, mut single) = (0_usize, 0_usize);
    let mut folders = vec![root.join("spec")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with("_spec.rb") && read < MAX_SPECS {
                read += 1;
                let limit = proctor_files::limits::RUBY_SOURCE;
                let text = proctor_files::read_text(&path, limit).unwrap_or_default();
                let (more_double, more_single) = quotes_of_titles(&text);
                double += more_double;
                single += more_single;
            }
        }
    }
    double > single
}

/// Titles in double and in single quotes, outside of our blocks.
fn quotes_of_titles(text: &str) -> (usize, usize) {
    let ours = blocks::find(text);
    let (mut double, mut single) = (0, 0);
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let plain = line.trim_start();
        let inside = ours.iter().any(|block| (block.body.0..block.body.1).contains(&offset));
        offset += line.len();
        let title = ["it ", "describe ", "context ", "specify "]
            .iter()
            .find_map(|word| plain.strip_prefix(word));
        match title.and_then(|rest| rest.chars().next()).filter(|_| !inside) {
            Some('"') => double += 1,
            Some('\'') => single += 1,
            _ => {}
        }
    }
    (double, single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn without_a_configuration_the_defaults_hold() {
        assert_eq!(project_style(project(&[]).path()), Style::default());
        let broken = project(&[(".rubocop.yml", "a: [")]);
        assert_eq!(project_style(broken.path()), Style::default());
    }

    #[test]
    fn the_configuration_decides_with_what_it_inherits() {
        let folder = project(&[
            (
                ".rubocop.yml",
                "inherit_from: .rubocop_todo.yml\nStyle/StringLiterals:\n  EnforcedStyle: double_quotes\n\
                 Layout/LineLength:\n  Max: 90\nRSpec/ExampleLength:\n  Enabled: false\n  Max: 2\n",
            ),
            (
                ".rubocop_todo.yml",
                "Layout/LineLength:\n  Max: 200\nRSpec/MultipleMemoizedHelpers:\n  Max: 9\n",
            ),
        ]);
        let wanted = Style { width: 90, helpers: 9, ..Style::double_quotes() };
        assert_eq!(project_style(folder.path()), wanted);
    }

    #[test]
    fn known_presets_are_known() {
        let folder =
            project(&[(".rubocop.yml", "inherit_gem:\n  rubocop-rails-omakase: rubocop.yml\n")]);
        let style = project_style(folder.path());
        assert!(!style.single_quotes && style.spaces_in_brackets);
    }

    #[test]
    fn hand_written_specs_show_the_quotes() {
        let folder = project(&[(
            "spec/a_spec.rb",
            "RSpec.describe A do\n  it \"x\" do\n  end\n  it \"y\" do\n  end\nend\n",
        )]);
        assert!(!project_style(folder.path()).single_quotes);
    }
}
