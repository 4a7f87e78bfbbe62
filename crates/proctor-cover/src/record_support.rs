//! Files under `spec/support/` that specs of stored classes (`ActiveRecord`) require where the project has nothing of the kind:
//! one connects to SQLite in memory and makes the tables, one rolls back after each example. Pure, but for looking which files exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::project::SourceFile;

/// A file that specs may require, relative to the root, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SupportFile {
    pub(crate) path: &'static str,
    /// The line of a spec that loads it; RSpec searches `spec/`.
    pub(crate) require: &'static str,
    pub(crate) text: String,
    /// Whether a spec names the file that it is about beside it: nothing loads it on demand.
    pub(crate) names_file: bool,
}

const DATABASE: &str = "spec/support/in_memory_database.rb";
pub(crate) const ROLLBACK: &str = "spec/support/rollback.rb";
const REQUIRE_DATABASE: &str = "require \"support/in_memory_database\"";
const REQUIRE_ROLLBACK: &str = "require \"support/rollback\"";

/// How specs call actions of controllers and helpers of views.
pub(crate) const REQUESTS: &str = "spec/support/requests.rb";
pub(crate) const REQUIRE_REQUESTS: &str = "require \"support/requests\"";
pub(crate) const REQUESTS_TEXT: &str = include_str!("../ruby/spec_requests.rb");

/// All lines that load such a file, each with its path.
pub(crate) const SUPPORT_LINES: &[(&str, &str)] =
    &[(REQUIRE_DATABASE, DATABASE), (REQUIRE_ROLLBACK, ROLLBACK), (REQUIRE_REQUESTS, REQUESTS)];

/// Whether some class of the project is stored: it inherits from `ActiveRecord::Base`, perhaps through others.
pub(crate) fn stores_records(all: &[SourceFile]) -> bool {
    all.iter().flat_map(|file| &file.facts.classes).any(|class| is_stored(&class.name, all))
}

/// Whether a class is stored. A superclass that the project does not define counts by its name.
pub(crate) fn is_stored(class: &str, all: &[SourceFile]) -> bool {
    let mut name = class.to_owned();
    for _ in 0..12 {
        let found = all.iter().flat_map(|file| &file.facts.classes).find(|one| {
            one.superclass.is_some()
                && (one.name == name || one.name.ends_with(&format!("::{name}")))
        });
        let Some(parent) = found.and_then(|one| one.superclass.as_deref()) else { return false };
        let parent = parent.trim_start_matches("::");
        if parent == "ActiveRecord::Base" || parent == "ApplicationRecord" {
            return true;
        }
        parent.clone_into(&mut name);
    }
    false
}

/// The files that may help, the one that changes least first. `library` is the feature that loads a library as a whole, after
/// the frameworks that it leaves to applications, in each way that may work.
pub(crate) fn support_files(
    root: &Path,
    all: &[SourceFile],
    library: &[(&str, Vec<&str>)],
) -> Vec<SupportFile> {
    let rollback = SupportFile {
        path: ROLLBACK,
        require: REQUIRE_ROLLBACK,
        text: format!(
            "# frozen_string_literal: true\n\n# What an example writes to the database is rolled back after it.\n{HOOK}"
        ),
        names_file: true,
    };
    let mut found = vec![rollback];
    if root.join("config/environment.rb").is_file() {
        let store =
            all.iter().flat_map(|file| &file.facts.mentions).any(|name| name == "RequestStore");
        let forget = if store { "    RequestStore.clear!\n" } else { "" };
        let hook = HOOK.trim_end().trim_end_matches("end").to_owned();
        found.push(database(&format!(
            "{RAILS}{}{hook}\n  # What a request remembers until it ends.\n  config.after do\n    ActiveSupport::CurrentAttributes.reset_all\n{forget}  end\nend\n",
            tables(root)
        )));
    }
    for (feature, frameworks) in library {
        let mut features = frameworks.clone();
        if !features.contains(&"active_record") {
            features.push("active_record");
        }
        features.push(feature);
        let requires: String =
            features.iter().map(|name| format!("require \"{name}\"\n")).collect();
        let tables = library_tables(root);
        let text = database(&format!("{requires}{CONNECTION}{tables}{HOOK}"));
        found.push(SupportFile { names_file: true, ..text });
    }
    found.push(database(&format!("{}{CONNECTION}{}{HOOK}", autoload(root, all), tables(root))));
    found
}

fn database(body: &str) -> SupportFile {
    let text = format!("# frozen_string_literal: true\n\n{NOTICE}{body}");
    SupportFile { path: DATABASE, require: REQUIRE_DATABASE, text, names_file: false }
}

const NOTICE: &str = "\
# Written once by proctor cover, since no helper of this project connects to a database. It belongs to the project now.
# Connects to SQLite in memory, makes the tables, and rolls back after each example.
";

const CONNECTION: &str = "
ActiveRecord::Base.establish_connection(adapter: \"sqlite3\", database: \":memory:\")
";

const RAILS: &str = "ENV[\"RAILS_ENV\"] ||= \"test\"
require_relative \"../../config/environment\"

ActiveRecord::Base.establish_connection(adapter: \"sqlite3\", database: \":memory:\")
";

const HOOK: &str = "
RSpec.configure do |config|
  config.around do |example|
    ActiveRecord::Base.transaction(joinable: false) do
      example.run
      raise ActiveRecord::Rollback
    end
  end
end
";

const QUIET: &str = "ActiveRecord::Migration.verbose = false\n";

/// How the tables come about, from what the project has.
fn tables(root: &Path) -> String {
    tables_below(root, "")
}

/// The same for a folder of the project, empty for its root or with a slash at its end.
fn tables_below(root: &Path, folder: &str) -> String {
    let place = |name: &str| format!("File.expand_path(\"../../{folder}{name}\", __dir__)");
    let at = root.join(folder);
    if at.join("db/schema.rb").is_file() {
        return format!("{QUIET}load {}\n", place("db/schema.rb"));
    }
    if at.join("db/structure.sql").is_file() {
        return format!(
            "structure = File.read({})\n\
             ActiveRecord::Base.connection.raw_connection.execute_batch(structure)\n",
            place("db/structure.sql")
        );
    }
    if at.join("db/migrate").is_dir() {
        return format!(
            "{QUIET}ActiveRecord::MigrationContext.new({}, ActiveRecord::SchemaMigration).migrate\n",
            place("db/migrate")
        );
    }
    String::new()
}

/// The tables of a library: its own schema or migrations, wherever they lie, else what its generators write for applications.
fn library_tables(root: &Path) -> String {
    let mut folders = vec![String::new()];
    folders_with_schema(root, &root.join("lib"), &mut folders, 0);
    for folder in folders {
        let text = tables_below(root, &folder);
        if !text.is_empty() {
            return text;
        }
    }
    let mut found = Vec::new();
    template_tables(&root.join("lib"), &mut found, 0);
    if found.is_empty() {
        return String::new();
    }
    found.sort();
    found.dedup_by(|one, other| one.0 == other.0);
    let blocks: String = found.into_iter().map(|(_, block)| block).collect();
    format!(
        "{QUIET}# The tables that the generators of this library make.\nActiveRecord::Schema.define do\n{blocks}end\n"
    )
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// How deep folders of a library are searched.
const DEPTH: u32 = 6;

fn folders_with_schema(root: &Path, folder: &Path, found: &mut Vec<String>, depth: u32) {
    for path in sorted_entries(folder) {
        if depth < DEPTH && path.is_dir() {
            if path.join("db").is_dir()
                && let Ok(inside) = path.strip_prefix(root)
            {
                found.push(format!("{}/", inside.to_string_lossy()));
            }
            folders_with_schema(root, &path, found, depth + 1);
        }
    }
}

/// Tables of migrations that generators copy: the name and the block of each `create_table`, without what is filled in later.
fn template_tables(folder: &Path, found: &mut Vec<(String, String)>, depth: u32) {
    for path in sorted_entries(folder) {
        if path.is_dir() {
            if depth < DEPTH {
                template_tables(&path, found, depth + 1);
            }
            continue;
        }
        let Ok(text) = proctor_files::read_text(&path, proctor_files::limits::RUBY_SOURCE) else {
            continue;
        };
        if text.contains("ActiveRecord::Migration") {
            found.extend(created_tables(&text));
        }
    }
}

/// The blocks of `create_table` in a migration, indented by two.
fn created_tables(text: &str) -> Vec<(String, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.trim_start().strip_prefix("create_table ") else { continue };
        let name: String = rest
            .trim_start_matches([':', '"', '\''])
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        let parameter = rest.split('|').nth(1).map(str::trim);
        let (Some(parameter), false) = (parameter, name.is_empty()) else { continue };
        let own = indent(line);
        let columns: Vec<&str> =
            lines.by_ref().take_while(|line| line.trim() != "end" || indent(line) > own).collect();
        let columns: String = columns
            .into_iter()
            .map(plain_column)
            .filter(|line| line.starts_with(&format!("{parameter}.")))
            .map(|line| format!("    {line}\n"))
            .collect();
        let block = format!("  create_table :{name} do |{parameter}|\n{columns}  end\n");
        found.push((name, block));
    }
    found
}

/// Constants are loaded on demand from `app/` and `lib/`, by the names of their files.
fn autoload(root: &Path, all: &[SourceFile]) -> String {
    let mut text = String::from("require \"active_record\"\n");
    let folders = [("app/*/", "app"), ("app/*/concerns/", "app"), ("lib/", "lib")];
    let there: Vec<&str> = folders
        .iter()
        .filter(|(_, folder)| root.join(folder).is_dir())
        .map(|(pattern, _)| *pattern)
        .collect();
    if there.is_empty() {
        return text;
    }
    text += "require \"zeitwerk\"\n\nloader = Zeitwerk::Loader.new\n";
    for (stem, constant) in odd_names(all) {
        let _ = writeln!(text, "loader.inflector.inflect(\"{stem}\" => \"{constant}\")");
    }
    let _ = writeln!(
        text,
        "Dir.glob(%w[{}], base: File.expand_path(\"../..\", __dir__)).each do |folder|",
        there.join(" ")
    );
    text +=
        "  loader.push_dir(File.expand_path(\"../../#{folder}\", __dir__))\nend\nloader.setup\n";
    text
}

/// Files whose constant is not written as their name suggests: `api_client.rb` with `APIClient`.
fn odd_names(all: &[SourceFile]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for file in all {
        let stem = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rb"));
        let Some(stem) = stem else { continue };
        let plain = stem.replace('_', "");
        let names = file.facts.classes.iter().filter_map(|class| class.name.rsplit("::").next());
        let own = names.into_iter().find(|name| name.eq_ignore_ascii_case(&plain));
        if let Some(own) = own.filter(|own| **own != camelize(stem)) {
            found.insert(stem.to_owned(), own.to_owned());
        }
    }
    found
}

fn camelize(stem: &str) -> String {
    let word = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    stem.split('_').filter_map(word).collect()
}

/// A column without what the generator fills in, and without options that constants of its migration say.
fn plain_column(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.trim();
    while let Some((before, after)) = rest.split_once("<%") {
        text.push_str(before);
        rest = after.split_once("%>").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let is_constant = |option: &&str| {
        option.split_once(": ").is_some_and(|(_, value)| {
            let value = value.trim();
            value.len() > 1
                && value.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        })
    };
    text.trim_end().split(", ").filter(|option| !is_constant(option)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_migration_for_applications_are_read() {
        let template = "class CreateNotes < ActiveRecord::Migration<%= version %>\n  def change\n    create_table :notes<%= options %> do |t|\n      t.string :title<%= more %>, limit: BYTES\n      <%= extra %>\n    end\n    add_index :notes, :title\n  end\nend\n";
        let expected = "  create_table :notes do |t|\n    t.string :title\n  end\n";
        assert_eq!(created_tables(template), [("notes".to_owned(), expected.to_owned())]);
    }
}
