//! Reads factories from their files, by their syntax alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ruby_prism::{CallNode, Node, Visit};
use serde::Serialize;
use serde_json::{Value, json};

use crate::syntax::{
    Lines, arguments, block_statements, constant, name, normalize_whitespace, options, plain, text,
    word,
};

/// Where factories lie, relative to a project.
const PLACES: &[&str] = &[
    "spec/factories.rb",
    "spec/factories",
    "test/factories.rb",
    "test/factories",
    "factories.rb",
    "factories",
    "spec/support/factories",
];

/// Words of a definition that are no attributes.
const RESERVED: &[&str] = &[
    "factory",
    "trait",
    "traits_for_enum",
    "transient",
    "sequence",
    "association",
    "after",
    "before",
    "callback",
    "to_create",
    "initialize_with",
    "skip_create",
    "add_attribute",
    "ignore",
    "include",
    "extend",
];

/// One factory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Factory {
    /// Its name.
    pub name: String,
    /// The class it makes.
    pub class: String,
    /// The factory it builds on.
    pub parent: Option<String>,
    /// Where it is defined, `file:line`.
    pub place: String,
    /// Attributes with the code of their values; empty where there is none.
    pub attributes: BTreeMap<String, String>,
    /// Traits with their attributes.
    pub traits: BTreeMap<String, BTreeMap<String, String>>,
}

/// All factories of a project.
#[derive(Debug, Clone, Default)]
pub struct Factories {
    /// By name; aliases are entries of their own.
    pub all: BTreeMap<String, Factory>,
    /// Traits for every factory.
    pub shared: BTreeMap<String, BTreeMap<String, String>>,
    /// Files that cannot be read.
    pub trouble: Vec<String>,
}

impl Factories {
    /// The factory of a class: by the class it names, else by its own name.
    #[must_use]
    pub fn of_class(&self, class: &str) -> Option<&Factory> {
        let name = proctor_ruby::underscore(class.rsplit("::").next().unwrap_or(class));
        let same = |factory: &&Factory| factory.class == class && factory.parent.is_none();
        self.all
            .get(&name)
            .filter(|factory| factory.class == class)
            .or_else(|| self.all.values().find(same))
            .or_else(|| self.all.get(&name))
    }

    /// Traits of a factory, with those it inherits.
    #[must_use]
    pub fn traits(&self, factory: &Factory) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut found = self.shared.clone();
        for one in self.chain(factory).iter().rev() {
            found.extend(one.traits.clone());
        }
        found
    }

    /// Attributes of a factory, with those it inherits.
    #[must_use]
    pub fn attributes(&self, factory: &Factory) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for one in self.chain(factory).iter().rev() {
            found.extend(one.attributes.clone());
        }
        found
    }

    fn chain<'a>(&'a self, factory: &'a Factory) -> Vec<&'a Factory> {
        let mut found = vec![factory];
        while let Some(parent) =
            found.last().and_then(|one| one.parent.as_ref()).and_then(|name| self.all.get(name))
        {
            if found.len() > 8 || found.iter().any(|one| one.name == parent.name) {
                break;
            }
            found.push(parent);
        }
        found
    }

    /// Names, places and traits.
    #[must_use]
    pub fn summary(&self) -> Value {
        let list = self.all.values().map(|factory| {
            json!({ "name": factory.name, "class": factory.class, "place": factory.place, "traits": self.traits(factory).keys().collect::<Vec<_>>() })
        });
        Value::Array(list.collect())
    }
}

/// Reads the factories of a project.
#[must_use]
pub(crate) fn read(root: &Path) -> Factories {
    let mut found = Factories::default();
    let mut files = Vec::new();
    for place in PLACES {
        collect(&root.join(place), &mut files, 0);
    }
    files.sort();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        match proctor_files::read(&path, proctor_files::limits::RUBY_SOURCE) {
            Ok(bytes) => read_file(&String::from_utf8_lossy(&bytes), &shown, &mut found),
            Err(error) => found.trouble.push(format!("{shown}: {error}")),
        }
    }
    found
}

/// The files of factories with their texts, as far as they can be read.
pub(crate) fn factory_files(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for place in PLACES {
        collect(&root.join(place), &mut files, 0);
    }
    files.sort();
    let read = |path: PathBuf| {
        let text = proctor_files::read_text(&path, proctor_files::limits::RUBY_SOURCE).ok()?;
        Some((path.strip_prefix(root).ok()?.to_string_lossy().into_owned(), text))
    };
    files.into_iter().filter_map(read).collect()
}

fn collect(path: &Path, found: &mut Vec<PathBuf>, depth: u32) {
    if path.is_dir() && depth < 8 {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), found, depth + 1);
        }
    } else if path.is_file()
        && path.extension().is_some_and(|end| end == "rb")
        && !found.contains(&path.to_path_buf())
    {
        found.push(path.to_path_buf());
    }
}

fn read_file(text: &str, path: &str, found: &mut Factories) {
    let parsed = ruby_prism::parse(text.as_bytes());
    if let Some(error) = parsed.errors().next() {
        let line = Lines::new(text).of(error.location().start());
        found
            .trouble
            .push(format!("{path}:{line}: factories cannot be read: {}", word(error.message())));
        return;
    }
    let mut reader = Reader { lines: Lines::new(text), path, found };
    reader.visit(&parsed.node());
}

struct Reader<'a> {
    lines: Lines,
    path: &'a str,
    found: &'a mut Factories,
}

impl<'pr> Visit<'pr> for Reader<'_> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let owner = node.receiver().map(|receiver| text(&receiver));
        let defines =
            matches!(owner.as_deref(), Some("FactoryBot" | "FactoryGirl" | "::FactoryBot"))
                && matches!(name(node).as_str(), "define" | "modify");
        if defines {
            for statement in block_statements(node) {
                if let Some(call) = statement.as_call_node() {
                    self.definition(&call);
                }
            }
            return;
        }
        ruby_prism::visit_call_node(self, node);
    }
}

impl Reader<'_> {
    fn definition(&mut self, call: &CallNode<'_>) {
        match name(call).as_str() {
            "factory" => self.factory(call, None),
            "trait" => {
                let named = arguments(call).first().and_then(plain);
                self.found.shared.extend(named.map(|named| (named, attributes(call))));
            }
            _ => {}
        }
    }

    fn factory(&mut self, call: &CallNode<'_>, outer: Option<&Factory>) {
        let Some(named) = arguments(call).first().and_then(plain) else { return };
        let given = options(call);
        let option = |key: &str| given.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        let class = option("class").and_then(|value| {
            constant(value).or_else(|| {
                plain(value).map(|name| {
                    if name.starts_with(char::is_uppercase) {
                        name
                    } else {
                        proctor_ruby::constant_for(&name)
                    }
                })
            })
        });
        let parent =
            option("parent").and_then(plain).or_else(|| outer.map(|outer| outer.name.clone()));
        let inherited = || {
            outer
                .map(|outer| outer.class.clone())
                .or_else(|| Some(self.found.all.get(parent.as_ref()?)?.class.clone()))
        };
        let class = class.or_else(inherited).unwrap_or_else(|| proctor_ruby::constant_for(&named));
        let mut factory = Factory {
            class: class.trim_start_matches("::").to_owned(),
            place: format!("{}:{}", self.path, self.lines.of(call.location().start())),
            attributes: attributes(call),
            traits: traits(call),
            name: named,
            parent,
        };
        for statement in block_statements(call) {
            if let Some(inner) = statement.as_call_node().filter(|inner| name(inner) == "factory") {
                self.factory(&inner, Some(&factory));
            }
        }
        let aliases = option("aliases")
            .and_then(Node::as_array_node)
            .map(|list| list.elements().iter().filter_map(|one| plain(&one)).collect::<Vec<_>>())
            .unwrap_or_default();
        self.found.all.insert(factory.name.clone(), factory.clone());
        for alias in aliases {
            factory.name.clone_from(&alias);
            self.found.all.insert(alias, factory.clone());
        }
    }
}

fn traits(call: &CallNode<'_>) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for inner in block_statements(call).iter().filter_map(Node::as_call_node) {
        match name(&inner).as_str() {
            "trait" => found.extend(
                arguments(&inner).first().and_then(plain).map(|named| (named, attributes(&inner))),
            ),
            "traits_for_enum" => {
                let list = arguments(&inner);
                let attribute = list.first().and_then(plain).unwrap_or_default();
                let values = list.get(1).and_then(Node::as_array_node);
                for value in values
                    .iter()
                    .flat_map(|list| list.elements().iter())
                    .filter_map(|one| plain(&one))
                {
                    found.insert(
                        value.clone(),
                        BTreeMap::from([(attribute.clone(), format!(":{value}"))]),
                    );
                }
            }
            _ => {}
        }
    }
    found
}

fn attributes(call: &CallNode<'_>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for inner in block_statements(call)
        .iter()
        .filter_map(Node::as_call_node)
        .filter(|inner| inner.receiver().is_none())
    {
        let word = name(&inner);
        let code = || {
            block_statements(&inner)
                .iter()
                .map(|one| normalize_whitespace(&text(one)))
                .collect::<Vec<_>>()
                .join("; ")
        };
        match word.as_str() {
            "sequence" | "association" | "add_attribute" => {
                found
                    .extend(arguments(&inner).first().and_then(plain).map(|named| (named, code())));
            }
            word if RESERVED.contains(&word) => {}
            _ => {
                found.insert(word, code());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_classes_parents_aliases_traits_and_attributes_are_found() {
        let mut found = Factories::default();
        let text = "
            FactoryBot.define do
              trait(:old) { created_at { 1.year.ago } }
              factory :payment, class: \"Billing::Payment\", aliases: [:charge] do
                sequence(:number) { |n| n }
                status { :pending }
                user
                trait :completed do
                  status { :completed }
                end
                traits_for_enum :kind, %i[card cash]
                factory :refunded_payment do
                  refunded { true }
                end
              end
              factory(:admin, parent: :user) { role { 'admin' } }
            end";
        read_file(text, "spec/factories/all.rb", &mut found);
        let names: Vec<&str> = found.all.keys().map(String::as_str).collect();
        assert_eq!(names, ["admin", "charge", "payment", "refunded_payment"]);
        let payment = &found.all["payment"];
        assert_eq!(
            (payment.class.as_str(), payment.place.as_str()),
            ("Billing::Payment", "spec/factories/all.rb:4")
        );
        assert_eq!(payment.attributes["status"], ":pending");
        let refunded = &found.all["refunded_payment"];
        assert_eq!(
            (refunded.class.as_str(), refunded.parent.as_deref()),
            ("Billing::Payment", Some("payment"))
        );
        let traits: Vec<String> = found.traits(refunded).into_keys().collect();
        assert_eq!(traits, ["card", "cash", "completed", "old"]);
        assert_eq!(found.of_class("Billing::Payment").unwrap().name, "payment");
        read_file("FactoryBot.define do", "broken.rb", &mut found);
        assert!(found.trouble[0].starts_with("broken.rb:1: "), "{:?}", found.trouble);
    }
}
