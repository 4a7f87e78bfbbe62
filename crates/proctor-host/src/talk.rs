//! One conversation of a worker, and what is told of each stretch of it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proctor_converse::{BoxFuture, Conversation, Sink};
use proctor_dialogue::{Next, Verdict};
use proctor_events::{Body, Event};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::desk::{Attempt, Events};
use crate::news::Told;

/// A conversation that is open.
pub(crate) struct Talk {
    pub(crate) conversation: Conversation,
    pub(crate) told: Arc<Told>,
    /// Whether the worker has rules for the simulated user that change with every turn.
    pub(crate) dynamic_rules: Arc<AtomicBool>,
    pub(crate) telling: Telling,
}

/// How a stretch of conversation went.
#[derive(Serialize)]
pub(crate) struct Outcome {
    status: proctor_events::Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<proctor_events::Fault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evaluations: Vec<Value>,
    /// How a simulation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Value>,
    conversation: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<Box<RawValue>>,
}

impl Talk {
    /// Begins it.
    pub(crate) async fn begin(&mut self) -> Outcome {
        let verdict = self.conversation.run(&mut self.telling).await;
        self.outcome(verdict)
    }

    /// Goes on with it.
    pub(crate) async fn proceed(&mut self, next: Next) -> Outcome {
        let verdict = self.conversation.proceed(next, &mut self.telling).await;
        self.outcome(verdict)
    }

    fn outcome(&mut self, verdict: Verdict) -> Outcome {
        let failures = verdict.failures.iter();
        let failures = failures
            .map(|failure| json!({"turn": failure.turn, "message": failure.message}))
            .collect();
        Outcome {
            status: verdict.status,
            fault: verdict.fault,
            message: verdict.message,
            failures,
            evaluations: std::mem::take(&mut self.telling.evaluations),
            simulation: self.telling.simulation.take(),
            conversation: self.told.news(self.conversation.transcript().to_value(None)),
            events: std::mem::take(&mut self.telling.observed),
        }
    }
}

/// Hands events on, and keeps what the worker is told in its answer.
pub(crate) struct Telling {
    pub(crate) events: Arc<dyn Events>,
    pub(crate) attempt: Attempt,
    /// Whether the worker wants to see every event.
    pub(crate) observe: bool,
    pub(crate) evaluations: Vec<Value>,
    pub(crate) simulation: Option<Value>,
    pub(crate) observed: Vec<Box<RawValue>>,
}

impl Sink for Telling {
    fn emit(&mut self, body: Body) {
        if let Body::EvaluationRecorded(recorded) = &body {
            self.evaluations.push(json!({
                "passed": recorded.passed,
                "message": recorded.failure_message,
                "description": recorded.description,
                "reasoning": recorded.reasoning,
                "score": recorded.score,
            }));
        }
        if let Body::SimulationEnded(ended) = &body {
            self.simulation = Some(json!({
                "turn_count": ended.turn_count,
                "termination_reason": ended.termination_reason,
            }));
        }
        if self.observe {
            let text = Event::new(body.clone()).to_json();
            self.observed.extend(RawValue::from_string(text).ok());
        }
        self.events.take(&self.attempt, body);
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
