//! How the programs that a scenario starts are confined.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::schema::no_blank_items;

/// Whether a program is confined, and what it may reach then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sandbox {
    /// `false`: not confined, even where the group around it says otherwise.
    Off,
    /// `true`, or a mapping.
    On(SandboxFields),
}

/// What a confined program may reach besides the system's folders and the project's root, which it can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxFields {
    /// `none`: an own loopback only. `host`: what this machine reaches. `host` for a server that is spoken to by `chat` or `http`,
    /// `none` for everything else when absent.
    pub network: Option<SandboxNetwork>,
    /// Further folders and files that can be read; relative to the project's root.
    #[schemars(transform = no_blank_items)]
    pub read: Vec<String>,
    /// Folders and files that can be changed; relative to the project's root.
    #[schemars(transform = no_blank_items)]
    pub write: Vec<String>,
    /// Address space of each process in MiB; 16384 when absent.
    pub memory_mb: Option<NonZeroU64>,
    /// How much all folders of `write` together may grow, in MiB; 1024 when absent. A program that writes more is ended.
    pub disk_mb: Option<NonZeroU64>,
    /// Processes and threads together; 256 when absent.
    pub processes: Option<NonZeroU32>,
    /// Whether the program runs although this machine lacks a layer of the sandbox; the run then names the missing layers.
    pub allow_missing: bool,
}

/// What a confined program can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    /// An own loopback only.
    None,
    /// The network of this machine.
    Host,
}

impl Sandbox {
    /// What it says, unless it is `false`.
    pub fn fields(&self) -> Option<&SandboxFields> {
        match self {
            Self::Off => None,
            Self::On(fields) => Some(fields),
        }
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let fields = self.fields()?;
        let blank = fields.read.iter().chain(&fields.write).any(|path| path.trim().is_empty());
        blank.then_some("a path of `sandbox` is empty")
    }

    /// Whether it says that nothing of this machine's network is reached.
    pub(crate) fn cuts_off_network(&self) -> bool {
        self.fields().is_some_and(|fields| fields.network == Some(SandboxNetwork::None))
    }

    /// The same for a server, which is reached over the network.
    pub(crate) fn server_problem(&self) -> Option<&'static str> {
        self.cuts_off_network().then_some(
            "`network: none` of `sandbox` would cut off a server that is spoken to by `chat` or `http`",
        )
    }
}

impl<'de> Deserialize<'de> for Sandbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Sandbox;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a mapping of what is allowed")
            }

            fn visit_bool<E: de::Error>(self, confined: bool) -> Result<Sandbox, E> {
                Ok(if confined { Sandbox::On(SandboxFields::default()) } else { Sandbox::Off })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sandbox, A::Error> {
                SandboxFields::deserialize(MapAccessDeserializer::new(map)).map(Sandbox::On)
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl JsonSchema for Sandbox {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sandbox".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<SandboxFields>();
        json_schema!({"anyOf": [{"type": "boolean"}, fields]})
    }
}
