//! Cassettes: a run, mock or real, as a script for the mock, and what differs when it is replayed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{ErrorKind, ToolError};
use crate::mock::MockResponse;
use crate::mock::log::{self, ModelCall};
use crate::mock::prompt::Prompt;
use crate::mock::script::Script;
use crate::registry::Place;
use crate::session::{SessionRecord, view};
use crate::snapshot::store::hash_of;
use crate::snapshot::walk::hex_of;
use crate::tools::run::conclude;
use crate::tools::run::folder;

const VERSION: u32 = 1;

/// One call of the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CassetteCall {
    /// The hat it was made for.
    pub hat: Option<String>,
    /// SHA-256 of the part of the prompt that changes from call to call.
    pub prompt_sha256: String,
    /// What was answered and done.
    pub response: MockResponse,
}

/// A run that can be replayed by the mock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cassette {
    /// The version of this format: 1.
    pub version: u32,
    /// The task of the run.
    pub task: String,
    /// The calls, in order.
    pub calls: Vec<CassetteCall>,
    /// The topics of the run's events, in order.
    pub topics: Vec<String>,
    /// The hats of its iterations, in order.
    pub hats: Vec<String>,
    /// Why it ended.
    pub termination_reason: String,
}

impl Cassette {
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.version == VERSION {
            return Ok(());
        }
        Err(ToolError::invalid(format!(
            "this cassette has version {}, known is {VERSION}",
            self.version
        )))
    }

    /// Makes a cassette of a concluded run.
    pub(crate) fn of_run(config: &Config, place: &Place, number: u32) -> Result<Self, ToolError> {
        let chosen = folder::choose(place, Some(number))?;
        let Some((run, start)) = chosen.and_then(|run| Some((run.clone(), run.start().ok()??)))
        else {
            return Err(ToolError::new(ErrorKind::NoRun, format!("there is no run {number}")));
        };
        let Some(result) = run.result()? else { return Err(conclude::still_running(number)) };
        let records = folder::records(place, number, config.limits.read_bytes)?;
        let script: Script =
            crate::disk::read_json(&run.path.join("script.json"))?.unwrap_or_default();
        let calls = log::read(&run.path).into_iter().filter(|call| call.refused.is_none());
        Ok(Self {
            version: VERSION,
            task: start.task,
            calls: calls.map(|call| cassette_call(&call, &script)).collect(),
            topics: topics(&records),
            hats: view::hats(&records),
            termination_reason: result.termination_reason,
        })
    }

    /// The calls as a script. They are answered by position; a wrong hat is drift, not a missing answer.
    pub(crate) fn responses(&self) -> Vec<MockResponse> {
        self.calls.iter().map(|call| call.response.clone()).collect()
    }
}

fn cassette_call(call: &ModelCall, script: &Script) -> CassetteCall {
    let scripted = call.response.and_then(|index| script.responses.get(index)).cloned();
    let spoken = || MockResponse {
        output: call.output.clone().unwrap_or_default(),
        exit_code: u8::try_from(call.exit_code.unwrap_or_default()).unwrap_or(1),
        ..MockResponse::default()
    };
    let mut response = call.recorded.clone().or(scripted).unwrap_or_else(spoken);
    response.hat = None;
    response.trigger_pattern = None;
    response.whole_prompt = false;
    response.times = None;
    CassetteCall { hat: call.hat.clone(), prompt_sha256: fingerprint(&call.prompt), response }
}

fn fingerprint(prompt: &str) -> String {
    hex_of(&hash_of(Prompt::of(prompt.to_owned()).dynamic.as_bytes()))
}

/// The topics of a session, but for the orchestrator's own closing word.
fn topics(records: &[SessionRecord]) -> Vec<String> {
    let events = records.iter().filter(|record| record.is_bus());
    let topics = events.filter_map(|record| record.topic().map(str::to_owned));
    topics.filter(|topic| topic != "loop.terminate").collect()
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What: `prompt`, `hat`, `calls`, `topics`, `hats` or `termination_reason`.
    pub what: String,
    /// The call it is about, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// What the cassette says.
    pub expected: String,
    /// What the replay did.
    pub actual: String,
}

/// Most differences that are reported.
const MOST_DIFFERENCES: usize = 100;

/// A value for a report: a long one is cut to the part where it starts to differ from the other.
fn difference_excerpt(value: &str, other: &str) -> String {
    const MOST: usize = 500;
    if value.len() <= MOST {
        return value.to_owned();
    }
    let same = value.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let from = value.floor_char_boundary(same.saturating_sub(60));
    let (shown, _) = crate::tools::cut(&value[from..], MOST);
    format!("…{shown}…")
}

/// What a replay did differently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Something differs.
    pub drifted: bool,
    /// All differences.
    pub differences: Vec<Difference>,
}

impl Drift {
    pub(crate) fn between(
        cassette: &Cassette,
        calls: &[ModelCall],
        records: &[SessionRecord],
        reason: &str,
    ) -> Self {
        let mut differences = Vec::new();
        let mut differ = |what: &str, call: Option<usize>, expected: String, actual: String| {
            if expected != actual && differences.len() < MOST_DIFFERENCES {
                let (expected, actual) = (
                    difference_excerpt(&expected, &actual),
                    difference_excerpt(&actual, &expected),
                );
                differences.push(Difference { what: what.to_owned(), call, expected, actual });
            }
        };
        let hat = |hat: &Option<String>| hat.clone().unwrap_or_else(|| "none".to_owned());
        for (index, (then, now)) in cassette.calls.iter().zip(calls).enumerate() {
            differ("hat", Some(index + 1), hat(&then.hat), hat(&now.hat));
            differ("prompt", Some(index + 1), then.prompt_sha256.clone(), fingerprint(&now.prompt));
        }
        differ("calls", None, cassette.calls.len().to_string(), calls.len().to_string());
        differ("topics", None, cassette.topics.join(", "), topics(records).join(", "));
        differ("hats", None, cassette.hats.join(", "), view::hats(records).join(", "));
        differ("termination_reason", None, cassette.termination_reason.clone(), reason.to_owned());
        Self { drifted: !differences.is_empty(), differences }
    }
}
