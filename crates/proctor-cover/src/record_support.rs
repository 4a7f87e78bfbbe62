//! Files under `spec/support/` that specs of stored classes (`ActiveRecord`) require where the project has nothing of the kind:
//! one connects to SQLite in memory and makes the tables, one rolls back after each example. Pure, but for looking which files exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::project::SourceFile;

/// A file that specs may require, relative to the root, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SupportFile {
    pub(crate) path: &'static str,
    /// The line of a spec that loads it; RSpec searches `spec/`.
    pub(crate) require: &'static str,
    pub(crate) text: String,
}

const DATABASE: &str = "spec/support/in_memory_database.rb";
pub(crate) const ROLLBACK: &str = "spec/support/rollback.rb";
const REQUIRE_DATABASE: &str = "require \"support/in_memory_database\"";
const REQUIRE_ROLLBACK: &str = "require \"support/rollback\"";

/// All lines that load such a file, each with its path.
pub(crate) const SUPPORT_LINES: &[(&str, &str)] =
    &[(REQUIRE_DATABASE, DATABASE), (REQUIRE_ROLLBACK, ROLLBACK)];

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

/// The files that may help, the one that changes least first.
pub(crate) fn support_files(root: &Path, all: &[SourceFile]) -> Vec<SupportFile> {
    let rollback = SupportFile {
        path: ROLLBACK,
        require: REQUIRE_ROLLBACK,
        text: format!(
            "# frozen_string_literal: true\n\n# What an example writes to the database is rolled back after it.\n{HOOK}"
        ),
    };
    let mut found = vec![rollback];
    if root.join("config/environment.rb").is_file() {
        found.push(database(&format!("{RAILS}{}{HOOK}", tables(root))));
    }
    found.push(database(&format!("{}{CONNECTION}{}{HOOK}", autoload(root, all), tables(root))));
    found
}

fn database(body: &str) -> SupportFile {
    let text = format!("# frozen_string_literal: true\n\n{NOTICE}{body}");
    SupportFile { path: DATABASE, require: REQUIRE_DATABASE, text }
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

/// How the tables come about, from what the project has.
fn tables(root: &Path) -> String {
    let quiet = "ActiveRecord::Migration.verbose = false\n";
    if root.join("db/schema.rb").is_file() {
        return format!("{quiet}load File.expand_path(\"../../db/schema.rb\", __dir__)\n");
    }
    if root.join("db/structure.sql").is_file() {
        return "structure = File.read(File.expand_path(\"../../db/structure.sql\", __dir__))\n\
                ActiveRecord::Base.connection.raw_connection.execute_batch(structure)\n"
            .to_owned();
    }
    if root.join("db/migrate").is_dir() {
        return format!(
            "{quiet}ActiveRecord::MigrationContext.new(File.expand_path(\"../../db/migrate\", __dir__), ActiveRecord::SchemaMigration).migrate\n"
        );
    }
    String::new()
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
