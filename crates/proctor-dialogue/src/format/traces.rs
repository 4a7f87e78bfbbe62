//! Whether the OpenTelemetry spans of an agent's program are evidence.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::schema::above_zero;
use super::values::TimeSpan;

/// Whether spans are received, and how long they are waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceEvidence {
    /// `false`: they are not.
    Off,
    /// `true`, or a mapping.
    On(TraceFields),
}

/// How spans are received.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceFields {
    /// How long the spans of a turn may take after its answer; 5 seconds when absent. Then what depends on them is unknown.
    #[schemars(transform = above_zero)]
    pub within: Option<TimeSpan>,
}

impl TraceEvidence {
    /// What it says, unless it is `false`.
    pub fn fields(&self) -> Option<&TraceFields> {
        match self {
            Self::Off => None,
            Self::On(fields) => Some(fields),
        }
    }
}

impl<'de> Deserialize<'de> for TraceEvidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = TraceEvidence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a mapping with `within`")
            }

            fn visit_bool<E: de::Error>(self, received: bool) -> Result<TraceEvidence, E> {
                Ok(if received {
                    TraceEvidence::On(TraceFields::default())
                } else {
                    TraceEvidence::Off
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TraceEvidence, A::Error> {
                TraceFields::deserialize(MapAccessDeserializer::new(map)).map(TraceEvidence::On)
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl JsonSchema for TraceEvidence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TraceEvidence".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<TraceFields>();
        json_schema!({"anyOf": [{"type": "boolean"}, fields]})
    }
}
