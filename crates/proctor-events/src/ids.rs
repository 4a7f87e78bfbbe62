//! Names that last: run ids, example ids, and the rule that makes the latter stable.
//!
//! An example's id is made from its file and its description chain, so that it survives new lines and
//! new neighbours. The text is `file::A > B > C`, the id the first twelve hex digits of its SHA-256.
//! A second example with the same text gets ` #2` appended before hashing, a third ` #3`.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

macro_rules! name_type {
    ($(#[doc = $doc:literal])+ $Name:ident) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(Arc<str>);

        impl $Name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $Name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $Name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                std::borrow::Cow::<'de, str>::deserialize(deserializer).map(|text| Self::from(&*text))
            }
        }
    };
}

name_type! {
    /// The stable id of an example: twelve hex digits when we made it, any text when others did.
    ExampleId
}

name_type! {
    /// The id of a run.
    RunId
}

/// The text that a stable id hashes: `file::A > B > C`, empty descriptions left out.
pub fn stable_id_text<S: AsRef<str>>(file: &str, path: &[S]) -> String {
    let chain: Vec<&str> =
        path.iter().map(AsRef::as_ref).filter(|description| !description.is_empty()).collect();
    format!("{file}::{}", chain.join(" > "))
}

/// A stable id with the text it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StableId {
    /// The readable form, ordinal included.
    pub text: String,
    /// The short form.
    pub id: ExampleId,
}

impl StableId {
    /// The id of the `ordinal`-th (from 1) example with this file and chain.
    pub fn new<S: AsRef<str>>(file: &str, path: &[S], ordinal: u32) -> Self {
        let mut text = stable_id_text(file, path);
        if ordinal > 1 {
            text = format!("{text} #{ordinal}");
        }
        let id = short_hash(&text);
        Self { text, id }
    }
}

fn short_hash(text: &str) -> ExampleId {
    let digest = Sha256::digest(text.as_bytes());
    let mut number = [0; 8];
    number[2..].copy_from_slice(&digest[..6]);
    ExampleId::new(format!("{:012x}", u64::from_be_bytes(number)))
}

/// Two different examples whose short ids are the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("examples `{first}` and `{second}` have the same id {id}; rename one of them")]
pub struct Collision {
    /// The id that both have.
    pub id: ExampleId,
    /// The example that had it first.
    pub first: String,
    /// The example that was refused.
    pub second: String,
}

/// Hands out stable ids for one suite, telling duplicates apart and reporting collisions.
///
/// Feed it every example of the suite in order of definition, before any filter, or an ordinal will
/// depend on the filter.
#[derive(Debug, Default)]
pub struct StableIds {
    seen: HashMap<String, u32>,
    owners: HashMap<ExampleId, String>,
}

impl StableIds {
    /// The id of the next example with this file and chain.
    pub fn next<S: AsRef<str>>(&mut self, file: &str, path: &[S]) -> Result<StableId, Collision> {
        let count = self.seen.entry(stable_id_text(file, path)).or_insert(0);
        loop {
            *count += 1;
            let stable = StableId::new(file, path, *count);
            // An example may really be called `works #2`; the second `works` then becomes the third.
            if self.owners.get(&stable.id) != Some(&stable.text) {
                return claim(&mut self.owners, stable);
            }
        }
    }

    /// Takes an id with an ordinal that was counted elsewhere.
    pub fn claim(&mut self, stable: StableId) -> Result<StableId, Collision> {
        claim(&mut self.owners, stable)
    }
}

fn claim(owners: &mut HashMap<ExampleId, String>, stable: StableId) -> Result<StableId, Collision> {
    match owners.get(&stable.id) {
        Some(first) if *first != stable.text => {
            Err(Collision { id: stable.id, first: first.clone(), second: stable.text })
        }
        _ => {
            owners.insert(stable.id.clone(), stable.text.clone());
            Ok(stable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published test vector; `docs/events.md` shows the same lines.
    #[test]
    fn published_vector() {
        let file = "./spec/booking_spec.rb";
        let id = |path: &[&str], ordinal| StableId::new(file, path, ordinal).id.to_string();
        assert_eq!(id(&["BookingAgent", "handles timeout"], 1), "571cfcb1ea88");
        assert_eq!(id(&["BookingAgent", "handles timeout"], 2), "fc6541d1419b");
        assert_eq!(id(&["BookingAgent", "", "antwortet höflich ☂"], 1), "a43e8889f8cb");
        assert_eq!(id(&[], 1), "81c9eb474593");
    }

    #[test]
    fn duplicates_are_told_apart_in_order() {
        let mut ids = StableIds::default();
        let texts: Vec<String> =
            (0..3).map(|_| ids.next("./a_spec.rb", &["A", "works"]).unwrap().text).collect();
        assert_eq!(
            texts,
            ["./a_spec.rb::A > works", "./a_spec.rb::A > works #2", "./a_spec.rb::A > works #3"]
        );
    }

    /// An example that is really called `works #2` meets the second `works`.
    #[test]
    fn a_description_that_looks_like_an_ordinal_keeps_its_id() {
        let mut ids = StableIds::default();
        ids.next("./a_spec.rb", &["works"]).unwrap();
        let named = ids.next("./a_spec.rb", &["works #2"]).unwrap();
        let second = ids.next("./a_spec.rb", &["works"]).unwrap();
        assert_eq!(named.text, "./a_spec.rb::works #2");
        assert_eq!(second.text, "./a_spec.rb::works #3");
    }

    #[test]
    fn a_hash_collision_names_both_examples() {
        let mut ids = StableIds::default();
        let first = ids.next("./a_spec.rb", &["one"]).unwrap();
        let forged = StableId { text: "./b_spec.rb::two".into(), id: first.id };
        let collision = ids.claim(forged).unwrap_err();
        assert!(collision.to_string().contains("`./a_spec.rb::one` and `./b_spec.rb::two`"));
    }
}
