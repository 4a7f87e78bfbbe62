//! The metadata file of a source file: the contract between stages, in the seed's schema.
//!
//! Each stage reads it, adds its part and its completion mark. Fields that we do not know survive. How the facts of a source
//! become entries is in `entries`.

mod entries;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proctor_ruby::{CharacteristicKind, SetupKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::factories::Proposal;
use crate::pipeline::FactoryFile;

/// The stages, in order, with the names their marks have.
pub const STAGES: &[(&str, &str)] = &[
    ("discover", "discovery_agent"),
    ("analyze", "code_analyzer"),
    ("isolate", "isolation_decider"),
    ("architect", "test_architect"),
    ("factories", "factory_agent"),
    ("implement", "test_implementer"),
    ("review", "test_reviewer"),
];

/// The version that our stages write.
pub const VERSION: &str = "1.0";

/// One metadata file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Name of this file without its extension.
    pub slug: String,
    /// The source.
    pub source_file: String,
    /// When the source was changed, in seconds since 1970: a hint only.
    pub source_mtime: i64,
    /// Hash of the source: decides whether the cache is valid.
    pub source_hash: String,
    /// Hash of the spec as it was written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub spec_hash: String,
    /// The class that the file is about.
    pub class_name: String,
    /// Further classes of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// library, rails, web or service: what kind of project the file is part of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project_type: String,
    /// Size.
    pub complexity: Complexity,
    /// Where the spec lies.
    pub spec_path: String,
    /// What was selected.
    pub methods_to_analyze: Vec<Selected>,
    /// What methods do, each once.
    pub behaviors: Vec<BankEntry>,
    /// What methods depend on.
    pub methods: Vec<MethodEntry>,
    /// The spec that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec_file: Option<String>,
    /// The outline of the spec.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::plain_numbers::optional"
    )]
    pub structure: Option<Value>,
    /// What could not be analysed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// Which factories make which values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factories: Vec<Proposal>,
    /// Files of factories that were made or added to for the examples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factories_written: Vec<FactoryFile>,
    /// Examples of models and agents that were accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<KeptAnswer>,
    /// What the review measured.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::plain_numbers::optional"
    )]
    pub review: Option<Value>,
    /// Marks, warnings, errors.
    #[serde(serialize_with = "crate::plain_numbers::map")]
    pub automation: BTreeMap<String, Value>,
    /// What others wrote.
    #[serde(flatten, serialize_with = "crate::plain_numbers::map")]
    pub further: BTreeMap<String, Value>,
}

/// An accepted answer, so that it can be put back when its block is written again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAnswer {
    /// The situation.
    pub id: String,
    /// `Class#name`
    pub method_id: String,
    /// The example's description.
    pub description: String,
    /// Its lines.
    pub lines: Vec<String>,
}

/// Size of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complexity {
    /// green, yellow, red
    pub zone: String,
    /// Lines of code.
    pub loc: u32,
    /// Public methods.
    pub methods: usize,
}

impl Complexity {
    /// The worse of the two signals decides.
    pub fn of(loc: u32, methods: usize) -> Self {
        let zone = if loc > 300 || methods > 12 {
            "red"
        } else if loc >= 150 || methods >= 7 {
            "yellow"
        } else {
            "green"
        };
        Self { zone: zone.to_owned(), loc, methods }
    }
}

/// A method and whether it was selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// Its name.
    pub name: String,
    /// Its class.
    #[serde(default)]
    pub class_name: String,
    /// new, modified, unchanged
    pub method_mode: String,
    /// First and last line.
    pub line_range: [u32; 2],
    /// Whether it is to be covered.
    pub selected: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
    /// `Class#name`
    #[serde(default)]
    pub method_id: String,
}

/// One behaviour of the bank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankEntry {
    /// Unique.
    pub id: String,
    /// For people.
    pub description: String,
    /// terminal, success, `side_effect`
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of side effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// Whether it yields examples.
    pub enabled: bool,
    /// How often it is used.
    pub used_by: u32,
}

/// One method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodEntry {
    /// Its name.
    pub name: String,
    /// Its class, where a file has several.
    pub class_name: String,
    /// instance, class
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it was looked at.
    pub analyzed: bool,
    /// new, modified, unchanged
    pub method_mode: String,
    /// Side effects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub side_effects: Vec<EffectEntry>,
    /// Characteristics.
    pub characteristics: Vec<CharacteristicEntry>,
    /// Classes it uses.
    pub dependencies: Vec<String>,
    /// What happens when nothing decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior_id: Option<String>,
    /// How it is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_config: Option<TestConfig>,
}

/// A side effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectEntry {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// In the bank.
    pub behavior_id: String,
    /// The characteristic that decides whether it happens; absent if it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<String>,
    /// The values of that characteristic under which it happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_parent: Option<Vec<String>>,
}

/// A characteristic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CharacteristicEntry {
    /// Unique in its method.
    pub name: String,
    /// For people.
    pub description: String,
    /// boolean, presence, enum, range, sequential
    #[serde(rename = "type")]
    pub kind: CharacteristicKind,
    /// Where the value comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<proctor_ruby::Origin>,
    /// Its values.
    pub values: Vec<ValueEntry>,
    /// Threshold of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_value: Option<String>,
    /// Operator of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_operator: Option<String>,
    /// `15-22` or `30`
    pub source_line: String,
    /// How to bring it about.
    pub setup: SetupEntry,
    /// From 1.
    pub level: u32,
    /// The parent's name.
    pub depends_on: Option<String>,
    /// The parent's values.
    pub when_parent: Option<Vec<String>>,
}

/// How to bring a characteristic about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupEntry {
    /// model, data, action
    #[serde(rename = "type")]
    pub kind: SetupKind,
    /// The class.
    pub class: Option<String>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueEntry {
    /// The value: true and false where it is one of these.
    #[serde(serialize_with = "crate::plain_numbers::value")]
    pub value: Value,
    /// For people.
    pub description: String,
    /// Whether the method ends here.
    pub terminal: bool,
    /// In the bank; leaves only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior_id: Option<String>,
}

/// How a method is tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestConfig {
    /// unit, integration, request
    pub test_level: String,
    /// What is real and what is not.
    pub isolation: Isolation,
    /// `build_stubbed`, `build` or `create`: how examples make stored objects, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_strategy: Option<String>,
    /// high, medium, low
    pub confidence: String,
    /// Why.
    pub decision_trace: Vec<String>,
}

/// What is real and what is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// real, stubbed, none
    pub db: String,
    /// real, stubbed, none
    pub external_http: String,
    /// real, stubbed, none
    pub queue: String,
}

/// A short hash of bytes.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// `app/services/payment.rb` to `app_services_payment`.
#[must_use]
pub fn slug(path: &str) -> String {
    path.strip_suffix(".rb").unwrap_or(path).replace('/', "_")
}

impl Metadata {
    /// Marks a stage as done.
    pub fn complete(&mut self, agent: &str) {
        self.automation.insert(format!("{agent}_completed"), Value::Bool(true));
        self.automation.insert(format!("{agent}_version"), Value::String(VERSION.to_owned()));
    }

    /// Marks a stage as not needed.
    pub fn skip(&mut self, agent: &str, reason: &str) {
        self.complete(agent);
        self.automation.insert(format!("{agent}_skipped"), Value::Bool(true));
        self.automation.insert(format!("{agent}_skip_reason"), Value::String(reason.to_owned()));
    }

    /// Whether a stage is done.
    #[must_use]
    pub fn is_complete(&self, agent: &str) -> bool {
        self.automation.get(&format!("{agent}_completed")) == Some(&Value::Bool(true))
    }

    /// Adds to a list under `automation`.
    pub fn note(&mut self, list: &str, message: String) {
        let entry =
            self.automation.entry(list.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(items) = entry {
            let message = Value::String(message);
            if !items.contains(&message) {
                items.push(message);
            }
        }
    }

    /// Reads a file. A damaged one is an error with its place.
    pub fn read(path: &Path) -> Result<Option<Self>, MetadataError> {
        let text = match proctor_files::read_text(path, proctor_files::limits::COVER_METADATA) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(MetadataError::Unreadable { path: path.into(), source }),
        };
        serde_saphyr::from_str(&text).map(Some).map_err(|source| MetadataError::Damaged {
            path: path.into(),
            source: Box::new(source),
        })
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_saphyr::to_string(self).map_err(io::Error::other)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let aside = path.with_extension("yml.new");
        fs::write(&aside, text)?;
        fs::rename(aside, path)
    }

    /// Keeps an accepted answer and the hash of the spec that has it.
    pub(crate) fn remember(&mut self, answer: KeptAnswer, spec_hash: String) {
        if let Some(Value::Object(review)) = &mut self.review
            && !self.answers.iter().any(|known| known.id == answer.id)
        {
            for (key, change) in [("examples", 1), ("pending", -1)] {
                if let Some(number) = review.get(key).and_then(Value::as_i64) {
                    review.insert(key.to_owned(), (number + change).max(0).into());
                }
            }
            if let Some(Value::Array(unreached)) = review.get_mut("unreached") {
                unreached.retain(|one| one["method"] != answer.method_id.as_str());
            }
            if let Some(Value::Array(open)) = review.get_mut("open") {
                let mine = format!("{} ", answer.method_id);
                if let Some(place) = open
                    .iter()
                    .position(|line| line.as_str().is_some_and(|line| line.starts_with(&mine)))
                {
                    open.remove(place);
                }
            }
        }
        self.answers.retain(|known| known.id != answer.id);
        self.answers.push(answer);
        self.spec_hash = spec_hash;
    }
}

/// Why a file of metadata cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum MetadataError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Damaged { path: PathBuf, source: Box<serde_saphyr::Error> },
}

/// Where the metadata of a source lies. A name taken by another source gets a short hash.
pub(crate) fn path_for(folder: &Path, source: &str) -> PathBuf {
    let plain = folder.join(format!("{}.yml", slug(source)));
    match Metadata::read(&plain) {
        Ok(Some(other)) if !other.source_file.is_empty() && other.source_file != source => {
            folder.join(format!("{}_{}.yml", slug(source), &hash(source.as_bytes())[..6]))
        }
        _ => plain,
    }
}
