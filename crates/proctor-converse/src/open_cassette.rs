//! The cassette around all parties: records what each answered, or answers in their place.
//!
//! One kind of entry per party, grouped by conversation. What is compared is what the party was asked and what else
//! decides its answer ([`PartySettings`]), without what changes by nature: the mark of a judge's question is written
//! as `MARK`. A judge's answer is kept with the mark it carries; replayed, it carries the mark of the new question.
//! Cassettes of version 1 know neither settings nor marks in answers.

use std::future::Future;
use std::sync::Arc;

use proctor_dialogue::{
    AgentAnswer, JudgeRequest, SimulatorRequest, ToolCall, ToolOutcome,
    add_mark_to_recorded_answer, judge_prompt, judge_prompt_without_mark,
};
use proctor_events::ModelCall;
use proctor_llm::cassette::Outcome;
use proctor_llm::{ErrorKind, ModelError, Player, Purpose, Recorder, without_mark};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::AgentTurn;
use crate::attempt_id::AttemptId;
use crate::conversation::Parties;
use crate::failure::{Failure, FailureOrigin, PartyAnswer};
use crate::tools::Tools;
use crate::wire::{WireAnswer, read_kept_answer};

/// Whether a run is recorded, replayed, or neither.
#[derive(Debug, Clone, Default)]
pub enum OpenCassette {
    /// Neither.
    #[default]
    Off,
    /// Every answer is recorded.
    Record(Arc<Recorder>),
    /// No party is asked; answers come from the cassette.
    Replay(Arc<Player>),
}

/// What beside the questions decides what the parties answer: models, limits, instructions, tools. Holds no secrets;
/// `null` where nothing is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartySettings {
    /// Of the agent.
    pub agent: Value,
    /// Of the simulated user.
    pub simulator: Value,
    /// Of the judge.
    pub judge: Value,
}

/// A judge's answer, with the mark it was to carry.
#[derive(Serialize, Deserialize)]
struct RecordedVerdict {
    mark: String,
    text: String,
}

impl OpenCassette {
    /// Whether answers come from a cassette that knows nothing of settings and marks.
    fn is_version_1(&self) -> bool {
        matches!(self, Self::Replay(player) if player.version() < 2)
    }

    /// A request as this cassette has it.
    fn request(&self, asked: Value, settings: &Value) -> Value {
        let mut request = asked;
        if !self.is_version_1() {
            request["settings"] = settings.clone();
        }
        request
    }

    pub(crate) async fn agent(
        &self,
        settings: &PartySettings,
        asking: impl Future<Output = PartyAnswer<AgentAnswer>>,
        turn: AgentTurn<'_>,
    ) -> PartyAnswer<AgentAnswer> {
        let request = || {
            let asked = json!({"turn": turn.turn, "messages": turn.messages});
            self.request(asked, &settings.agent)
        };
        let keep = |answer: &AgentAnswer| json!(WireAnswer::from(answer));
        let read = |value: Value| read_kept_answer(value).map_err(serde::de::Error::custom);
        self.record_or_replay(Purpose::Agent, turn.attempt_id, request, asking, keep, read).await
    }

    pub(crate) async fn simulator(
        &self,
        parties: &Parties,
        request: &SimulatorRequest,
        attempt_id: &AttemptId,
    ) -> PartyAnswer<String> {
        let prompt = &request.prompt;
        let asked = || {
            let asked = json!({"system": prompt.system, "user": prompt.user});
            self.request(asked, &parties.settings.simulator)
        };
        let asking = parties.simulator.say(request, attempt_id);
        self.record_or_replay(
            Purpose::Simulator,
            attempt_id,
            asked,
            asking,
            |text| json!(text),
            text,
        )
        .await
    }

    pub(crate) async fn judge(
        &self,
        parties: &Parties,
        request: &JudgeRequest,
        attempt_id: &AttemptId,
    ) -> PartyAnswer<String> {
        let mark = &request.mark;
        let asking = parties.judge.judge(request, attempt_id);
        if self.is_version_1() {
            let asked = || {
                let prompt = judge_prompt_without_mark(request);
                let plain = |text: &str| text.replace(mark, "MARK");
                json!({"system": plain(&prompt.system), "user": plain(&prompt.user)})
            };
            let read =
                |value| text(value).map(|recorded| add_mark_to_recorded_answer(&recorded, mark));
            return self
                .record_or_replay(
                    Purpose::Judge,
                    attempt_id,
                    asked,
                    asking,
                    |text| json!(text),
                    read,
                )
                .await;
        }
        let asked = || {
            let prompt = judge_prompt(request);
            let asked = json!({"system": prompt.system, "user": prompt.user});
            self.request(without_mark(asked, mark), &parties.settings.judge)
        };
        let keep =
            |text: &String| json!(RecordedVerdict { mark: mark.clone(), text: text.clone() });
        let read = |value| {
            let recorded: RecordedVerdict = serde_json::from_value(value)?;
            Ok(recorded.text.replace(&recorded.mark, mark))
        };
        self.record_or_replay(Purpose::Judge, attempt_id, asked, asking, keep, read).await
    }

    pub(crate) async fn tool(
        &self,
        tools: &dyn Tools,
        call: &ToolCall,
        attempt_id: &AttemptId,
    ) -> Result<ToolOutcome, Failure> {
        let request = || json!({"tool": call.name, "arguments": call.arguments});
        let asking = async { PartyAnswer::plain(tools.call(call, attempt_id).await) };
        let keep = |outcome: &ToolOutcome| match &outcome.result {
            Ok(result) => {
                let mut kept = json!({"result": result, "duration_ms": outcome.duration_ms});
                if let Some(metadata) = &outcome.metadata {
                    kept["metadata"] = metadata.clone();
                }
                kept
            }
            Err(error) => json!({"error": error, "duration_ms": outcome.duration_ms}),
        };
        let read = |value: Value| {
            let duration_ms = value["duration_ms"].as_f64();
            let result = match value.get("error").and_then(Value::as_str) {
                Some(error) => Err(error.to_owned()),
                None => Ok(value.get("result").cloned().unwrap_or_default()),
            };
            let metadata = value.get("metadata").cloned();
            Ok(ToolOutcome { result, duration_ms, metadata })
        };
        self.record_or_replay(Purpose::Tool, attempt_id, request, asking, keep, read).await.outcome
    }

    async fn record_or_replay<T>(
        &self,
        purpose: Purpose,
        attempt_id: &AttemptId,
        request: impl FnOnce() -> Value,
        asking: impl Future<Output = PartyAnswer<T>>,
        keep: impl FnOnce(&T) -> Value,
        read: impl FnOnce(Value) -> Result<T, serde_json::Error>,
    ) -> PartyAnswer<T> {
        match self {
            Self::Off => asking.await,
            Self::Replay(player) => PartyAnswer::of_model(
                replayed(player, purpose, attempt_id, &request(), read),
                Box::new(replay_call(purpose)),
            ),
            Self::Record(recorder) => {
                let ticket = recorder.begin(purpose, &attempt_id.name());
                let asked = asking.await;
                let outcome = match &asked.outcome {
                    Ok(answer) => Outcome::Answer(keep(answer)),
                    Err(failure) if failure.origin == FailureOrigin::Party => {
                        // The kind is kept as a word only; a replayed failure stays the party's.
                        let message = format!("{}: {}", failure.class, failure.message);
                        Outcome::Error(ModelError::new(ErrorKind::Unreachable, message))
                    }
                    // What we refused ourselves is no fact about a party.
                    Err(_) => return asked,
                };
                match recorder.record_outcome(ticket, &request(), outcome) {
                    Ok(()) => asked,
                    Err(error) => PartyAnswer { outcome: Err(error.into()), ..asked },
                }
            }
        }
    }
}

fn replayed<T>(
    player: &Player,
    purpose: Purpose,
    attempt_id: &AttemptId,
    request: &Value,
    read: impl FnOnce(Value) -> Result<T, serde_json::Error>,
) -> Result<T, Failure> {
    match player.take_outcome(purpose, &attempt_id.name(), request)? {
        Outcome::Answer(value) => read(value).map_err(|problem| {
            Failure::harness(format!(
                "the cassette has no answer of the {purpose} for this request: {problem}"
            ))
        }),
        Outcome::Error(error) => Err(Failure::party("Recorded", error.message)),
    }
}

fn replay_call(purpose: Purpose) -> ModelCall {
    ModelCall {
        backend: Some("replay".into()),
        purpose: Some(purpose.as_str().into()),
        cached: Some(true),
        ..ModelCall::default()
    }
}

fn text(value: Value) -> Result<String, serde_json::Error> {
    serde_json::from_value(value)
}
