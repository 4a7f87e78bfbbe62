//! Factories of a project: which there are, and which of them make the values that a method depends on. Nothing is executed.
//!
//! `read` reads `FactoryBot.define` from `spec/factories` and its relatives; `propose` matches characteristics of stored objects
//! with factories and traits, and sketches those that are missing; `write` is the text of what is missing, for a new file or one
//! that exists. Whether a factory really builds its object is found out in `pipeline/factory_files`.

mod propose;
mod read;
mod write;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use propose::{attribute_of, propose, trait_name};
pub use read::{Factories, Factory};
pub(crate) use read::{factory_files, read};
pub(crate) use write::{FactoryDefinition, Quotes, extended, new_file};

use crate::answers;
use crate::metadata::Metadata;

/// How one value of a characteristic can be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// `Class#name`
    pub method: String,
    /// The characteristic.
    pub characteristic: String,
    /// Its value.
    pub value: String,
    /// The class of the stored object.
    pub class: String,
    /// The factory.
    pub factory: String,
    /// Whether it exists.
    pub exists: bool,
    /// Where it is defined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The trait that makes the value.
    #[serde(default, rename = "trait", skip_serializing_if = "Option::is_none")]
    pub trait_name: Option<String>,
    /// A trait that is missing for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_trait: Option<String>,
    /// Code that makes the object.
    pub code: String,
    /// A sketch of what is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sketch: Option<String>,
}

/// The stage's answer for one file.
pub(crate) fn answer(metadata: &Metadata, known: &Value) -> Value {
    if metadata.factories.is_empty() {
        return answers::skipped("plain objects need no factories");
    }
    json!({ "status": "success", "data": { "slug": metadata.slug, "known": known, "proposals": metadata.factories } })
}
