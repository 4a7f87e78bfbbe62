//! A run as data for programs, with its examples handed out one after the other: the same JSON whether the run is in memory or on disk.

use proctor_events::{Millis, RunId, Timestamp};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

use crate::examples::ExampleSource;
use crate::model::{ModelUse, OutsideError, RunData, Worker};

/// A run to serialize.
pub struct SerializedRun<'a>(pub &'a dyn ExampleSource);

impl std::fmt::Debug for SerializedRun<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SerializedRun({} examples)", self.0.example_count())
    }
}

/// The fields of [`RunData`] that are serialized, in their order.
#[derive(Serialize)]
struct Fields<'a> {
    run_id: &'a Option<RunId>,
    format_version: &'a Option<u32>,
    started_at: &'a Option<Timestamp>,
    finished_at: &'a Option<Timestamp>,
    duration_ms: &'a Option<Millis>,
    seed: &'a Option<u64>,
    planned: &'a Option<u64>,
    planned_repetitions: &'a Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_limit: &'a Option<u32>,
    last_seq: &'a Option<u64>,
    event_count: u64,
    examples: Examples<'a>,
    errors: &'a [OutsideError],
    workers: &'a [Worker],
    model_calls: &'a [ModelUse],
    unknown_events: &'a std::collections::BTreeMap<String, u64>,
}

impl Serialize for SerializedRun<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A new field of the run must be put on one side or the other.
        let RunData {
            run_id,
            format_version,
            started_at,
            finished_at,
            duration_ms,
            seed,
            planned,
            planned_repetitions,
            repeat_limit,
            last_seq,
            event_count,
            errors,
            workers,
            model_calls,
            unknown_events,
            // They come from the source.
            examples: _,
            // Views show the verdict.
            exit_code: _,
            begun: _,
            ending: _,
            over: _,
            interrupted: _,
            policy: _,
            verdict_of_all: _,
        } = self.0.run();
        let fields = Fields {
            run_id,
            format_version,
            started_at,
            finished_at,
            duration_ms,
            seed,
            planned,
            planned_repetitions,
            repeat_limit,
            last_seq,
            event_count: *event_count,
            examples: Examples(self.0),
            errors,
            workers,
            model_calls,
            unknown_events,
        };
        fields.serialize(serializer)
    }
}

impl Serialize for RunData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SerializedRun(self).serialize(serializer)
    }
}

struct Examples<'a>(&'a dyn ExampleSource);

impl Serialize for Examples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = self.0.example_count();
        let mut list = serializer.serialize_seq(Some(count))?;
        for place in 0..count {
            let mut written = Ok(());
            let read = self.0.with_example(place, &mut |it| written = list.serialize_element(it));
            read.map_err(S::Error::custom)?;
            written?;
        }
        list.end()
    }
}
