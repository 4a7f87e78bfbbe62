//! How the specs that people wrote in a project begin: what they require, and which type they name. New specs do the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_files::limits;

/// The folders of `spec/` and the types that rspec-rails has for them.
const TYPES: &[(&str, &str)] = &[
    ("channels", "channel"),
    ("controllers", "controller"),
    ("features", "feature"),
    ("helpers", "helper"),
    ("jobs", "job"),
    ("mailboxes", "mailbox"),
    ("mailers", "mailer"),
    ("models", "model"),
    ("requests", "request"),
    ("routing", "routing"),
    ("system", "system"),
    ("views", "view"),
];

/// How many specs of a folder are looked at.
const MAX_SPECS: usize = 40;

/// The beginning of a new spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SpecStyle {
    /// The type that its groups name.
    pub(crate) kind: Option<String>,
    /// A helper that `.rspec` loads, so that specs need not.
    loaded_helper: Option<String>,
}

impl SpecStyle {
    /// Looks at the project for a spec that is to lie at this path.
    pub(crate) fn of(root: &Path, spec: &str) -> Self {
        let package = spec.find("spec/").map_or("", |place| &spec[..place]);
        let folder = root.join(package).join("spec");
        let own: Vec<String> = human_specs(&root.join(spec).with_file_name(""));
        let others = if own.is_empty() { human_specs(&folder) } else { own.clone() };
        let helper = helper_in_options(&root.join(package)).filter(|name| {
            let line = |quote: char| format!("require {quote}{name}{quote}");
            !others.iter().any(|text| text.contains(&line('"')) || text.contains(&line('\'')))
        });
        Self { kind: kind(&own, &folder, spec), loaded_helper: helper }
    }

    /// Lines that load what is tested, without what is loaded anyway.
    pub(crate) fn required(&self, lines: Vec<String>) -> Vec<String> {
        let spare = self.loaded_helper.as_ref().map(|name| format!("require \"{name}\""));
        lines.into_iter().filter(|line| Some(line) != spare.as_ref()).collect()
    }

    /// The text of a new spec with the type at its outer groups, and without the place of lines that were left out.
    pub(crate) fn applied(&self, text: &str) -> String {
        let text = text.replacen("\n\n\n", "\n\n", 1);
        let Some(kind) = &self.kind else { return text };
        let line = |line: &str| match line.strip_suffix(" do") {
            Some(head) if line.starts_with("RSpec.describe ") && !head.contains("type:") => {
                format!("{head}, type: :{kind} do\n")
            }
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }
}

/// The type that most specs of the folder name; where there are none and rspec-rails does not infer it, the one it has for the folder.
fn kind(own: &[String], folder: &Path, spec: &str) -> Option<String> {
    let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
    for text in own {
        *counts.entry(named_type(text)).or_default() += 1;
    }
    if let Some((kind, _)) = counts.into_iter().max_by_key(|(_, count)| *count) {
        return kind;
    }
    let helpers: String = ["rails_helper.rb", "spec_helper.rb"]
        .iter()
        .filter_map(|name| proctor_files::read_text(&folder.join(name), limits::RUBY_SOURCE).ok())
        .collect();
    let says = |words: &str| {
        helpers.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(words))
    };
    if !says("rspec/rails") || says("infer_spec_type_from_file_location!") {
        return None;
    }
    let inside = spec.rsplit("spec/").find(|part| part.contains('/')).unwrap_or_default();
    let first = inside.split('/').next().unwrap_or_default();
    TYPES.iter().find(|(name, _)| *name == first).map(|(_, kind)| (*kind).to_owned())
}

/// The type that the first group of a spec names.
fn named_type(text: &str) -> Option<String> {
    let line = text
        .lines()
        .find(|line| line.starts_with("RSpec.describe ") || line.starts_with("describe "))?;
    let (_, rest) = line.split_once("type: :")?;
    let word: String =
        rest.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// A helper that the options of the project load for every spec.
fn helper_in_options(root: &Path) -> Option<String> {
    let text = proctor_files::read_text(&root.join(".rspec"), limits::RUBY_SOURCE).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| matches!(pair[0], "--require" | "-r"));
    let mut names = pairs.map(|pair| pair[1]).filter(|name| name.ends_with("_helper"));
    names.next_back().map(str::to_owned)
}

/// Specs in a folder that people wrote, without what we wrote.
fn human_specs(folder: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut open = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < 4 {
                open.push((path, depth + 1));
            } else if kind.is_file() && path.to_string_lossy().ends_with("_spec.rb") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
        .iter()
        .take(MAX_SPECS)
        .filter_map(|path| proctor_files::read_text(path, limits::RUBY_SOURCE).ok())
        .filter(|text| !text.contains("proctor:begin"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(files: &[(&str, &str)], spec: &str) -> SpecStyle {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        SpecStyle::of(folder.path(), spec)
    }

    const HELPER: (&str, &str) = ("spec/rails_helper.rb", "require 'rspec/rails'\n");

    #[test]
    fn the_type_is_what_the_other_specs_name() {
        let named = ("spec/services/a_spec.rb", "RSpec.describe A, type: :service do\nend\n");
        let plain = ("spec/models/a_spec.rb", "RSpec.describe A do\nend\n");
        let ours =
            ("spec/models/b_spec.rb", "# proctor:begin\nRSpec.describe B, type: :x do\nend\n");
        let kind = |files: &[(&str, &str)], spec: &str| style(files, spec).kind;
        assert_eq!(kind(&[named], "spec/services/b_spec.rb").as_deref(), Some("service"));
        assert_eq!(kind(&[HELPER, plain, ours], "spec/models/c_spec.rb"), None);
        assert_eq!(kind(&[HELPER], "spec/models/c_spec.rb").as_deref(), Some("model"));
        assert_eq!(kind(&[HELPER], "spec/services/c_spec.rb"), None);
        let infers = (HELPER.0, "require 'rspec/rails'\nc.infer_spec_type_from_file_location!\n");
        assert_eq!(kind(&[infers], "spec/models/c_spec.rb"), None);
        let comment =
            (HELPER.0, "require 'rspec/rails'\n# c.infer_spec_type_from_file_location!\n");
        assert_eq!(kind(&[comment], "spec/jobs/c_spec.rb").as_deref(), Some("job"));
        assert_eq!(kind(&[], "spec/models/c_spec.rb"), None);
    }

    #[test]
    fn the_type_stands_at_outer_groups_only() {
        let style = SpecStyle { kind: Some("model".to_owned()), loaded_helper: None };
        let text = "RSpec.describe A do\n  describe \"#b\" do\n  end\nend\n";
        assert_eq!(
            style.applied(text),
            "RSpec.describe A, type: :model do\n  describe \"#b\" do\n  end\nend\n"
        );
    }

    #[test]
    fn a_helper_that_is_loaded_anyway_is_required_only_where_others_do() {
        let options = (".rspec", "--color\n--require spec_helper\n");
        let lines = || vec!["require \"spec_helper\"".to_owned(), "require \"a\"".to_owned()];
        let without = style(&[options], "spec/a_spec.rb").required(lines());
        assert_eq!(without, ["require \"a\""]);
        let other = ("spec/b_spec.rb", "require 'spec_helper'\nRSpec.describe B do\nend\n");
        assert_eq!(style(&[options, other], "spec/a_spec.rb").required(lines()).len(), 2);
        assert_eq!(style(&[], "spec/a_spec.rb").required(lines()).len(), 2);
    }
}
