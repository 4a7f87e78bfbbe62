//! One conversation of a worker, and the answer to each request about it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{BoxFuture, Conversation, EventSink};
use proctor_dialogue::{ConversationOutcome, Next};
use proctor_events::{Body, Event};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::connection::{WorkerAttempt, WorkerEvents};
use super::turn_updates::SentTurns;

/// A conversation that has been started and not ended.
pub(crate) struct OpenConversation {
    pub(crate) conversation: Conversation,
    pub(crate) sent_turns: Arc<SentTurns>,
    /// Whether the worker has rules for the simulated user that change with every turn.
    pub(crate) dynamic_rules: Arc<AtomicBool>,
    pub(crate) reporter: ConversationReporter,
}

/// The answer to one request about a conversation.
#[derive(Serialize)]
pub(crate) struct RequestOutcome {
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

impl OpenConversation {
    /// Runs the conversation up to the worker's first step.
    pub(crate) async fn begin(&mut self) -> RequestOutcome {
        let verdict = self.conversation.run(&mut self.reporter).await;
        self.outcome(verdict)
    }

    /// Runs one step.
    pub(crate) async fn proceed(&mut self, next: Next) -> RequestOutcome {
        let verdict = self.conversation.proceed(next, &mut self.reporter).await;
        self.outcome(verdict)
    }

    fn outcome(&mut self, verdict: ConversationOutcome) -> RequestOutcome {
        let failures = verdict.failures.iter();
        let failures = failures
            .map(|failure| json!({"turn": failure.turn, "message": failure.message}))
            .collect();
        RequestOutcome {
            status: verdict.status,
            fault: verdict.fault,
            message: verdict.message,
            failures,
            evaluations: std::mem::take(&mut self.reporter.evaluations),
            simulation: self.reporter.simulation.take(),
            conversation: self.sent_turns.unsent(self.conversation.transcript().to_value(None)),
            events: std::mem::take(&mut self.reporter.observed),
        }
    }
}

/// Publishes events, and collects those that the next answer to the worker contains.
pub(crate) struct ConversationReporter {
    pub(crate) events: Arc<dyn WorkerEvents>,
    pub(crate) attempt: WorkerAttempt,
    /// Whether the worker wants to see every event.
    pub(crate) observe: bool,
    pub(crate) evaluations: Vec<Value>,
    pub(crate) simulation: Option<Value>,
    pub(crate) observed: Vec<Box<RawValue>>,
}

impl EventSink for ConversationReporter {
    fn emit(&mut self, body: Body) {
        if let Body::EvaluationRecorded(recorded) = &body {
            self.evaluations.push(json!({
                "passed": recorded.passed,
                "message": recorded.failure_message,
                "type": recorded.evaluation_type,
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
        self.events.publish(&self.attempt, body);
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
