//! The tools of a group: what each answers, or the word `none`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::schema::NOT_BLANK;
use super::{OneOrMany, ToolStub};

/// Tools that the agent can ask the host to call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostTools {
    /// What each tool answers, by name.
    pub stubs: BTreeMap<String, OneOrMany<ToolStub>>,
    /// Whether the group says that there are no tools, neither the host's nor the agent's own.
    pub none: bool,
}

impl HostTools {
    /// Adds what an inner group says. Tools inside `none`, and `none` inside tools, replace what is outside.
    pub(crate) fn extend(&mut self, inner: &Self) {
        if inner.none {
            *self = inner.clone();
        } else if !inner.stubs.is_empty() {
            self.none = false;
            self.stubs.extend(inner.stubs.clone());
        }
    }
}

impl<'de> Deserialize<'de> for HostTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = HostTools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of tools, or `none`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HostTools, E> {
                if text == "none" {
                    return Ok(HostTools { none: true, ..HostTools::default() });
                }
                Err(E::invalid_value(de::Unexpected::Str(text), &self))
            }

            fn visit_unit<E>(self) -> Result<HostTools, E> {
                Ok(HostTools::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostTools, A::Error> {
                let stubs = BTreeMap::deserialize(MapAccessDeserializer::new(map))?;
                Ok(HostTools { stubs, none: false })
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl JsonSchema for HostTools {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HostTools".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let stubs = generator.subschema_for::<OneOrMany<ToolStub>>();
        let answers = json_schema!({"allOf": [stubs, {"not": {"enum": [[], null]}}]});
        json_schema!({"anyOf": [
            {"const": "none", "description": "there are no tools, neither the host's nor the agent's own"},
            {"type": ["object", "null"], "additionalProperties": answers, "propertyNames": {"pattern": NOT_BLANK}},
        ]})
    }
}
