//! Who plays the user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_dialogue::{Say, ScriptRule, SimulatorRequest, clean_simulator_answer};
use proctor_events::ModelCall;
use proctor_llm::{Acceptance, Model, Purpose, Request};
use proctor_redact::Redactor;

use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use crate::judge::ask_model;

/// Plays the user.
pub trait Simulator: Send + Sync {
    /// The user's next message, as the model wrote it.
    fn say<'a>(
        &'a self,
        request: &'a SimulatorRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>>;

    /// A conversation is over.
    fn forget(&self, _attempt_id: &AttemptId) {}
}

/// A model that plays the user. Secrets are filtered from its prompts.
pub struct ModelSimulator {
    model: Arc<dyn Model>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    redactor: Redactor,
}

impl ModelSimulator {
    /// Lets a model play the user.
    pub fn new(
        model: Arc<dyn Model>,
        max_tokens: Option<u32>,
        temperature: Option<f64>,
        redactor: Redactor,
    ) -> Self {
        Self { model, max_tokens, temperature, redactor }
    }
}

impl Simulator for ModelSimulator {
    fn say<'a>(
        &'a self,
        request: &'a SimulatorRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        let prompt = &request.prompt;
        Box::pin(async move {
            let request = Request {
                max_tokens: self.max_tokens,
                temperature: self.temperature,
                label: "user".into(),
                repeat: attempt_id.repeat,
                acceptance: Acceptance::new(|_, answer| {
                    clean_simulator_answer(&answer.text).is_some()
                }),
                ..Request::ask(
                    Purpose::Simulator,
                    self.redactor.redact_text(&prompt.user).into_owned(),
                )
                .with_system(self.redactor.redact_text(&prompt.system).into_owned())
                .in_conversation(attempt_id.name())
            };
            ask_model(&*self.model, &request).await
        })
    }
}

/// A simulator that cannot be used: every request fails with the same message.
pub(crate) struct NoSimulator(pub(crate) Failure);

impl Simulator for NoSimulator {
    fn say<'a>(
        &'a self,
        _: &'a SimulatorRequest,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        Box::pin(async { PartyAnswer::plain(Err(self.0.clone())) })
    }
}

/// A user that follows a script. Each conversation sees it from its beginning.
pub struct ScriptedSimulator {
    rules: Arc<[ScriptRule]>,
    /// How often each rule has spoken, by conversation.
    used: Mutex<HashMap<AttemptId, Vec<usize>>>,
}

impl ScriptedSimulator {
    /// A user of these rules.
    pub fn new(rules: Arc<[ScriptRule]>) -> Self {
        Self { rules, used: Mutex::default() }
    }

    fn next(&self, last: &str, attempt_id: &AttemptId) -> Result<Say, Failure> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = used.entry(attempt_id.clone()).or_insert_with(|| vec![0; self.rules.len()]);
        for (rule, count) in self.rules.iter().zip(counts) {
            let applies = rule.when.as_ref().is_none_or(|pattern| pattern.occurs_in(last));
            if applies && let Some(say) = rule.reply(*count) {
                *count += 1;
                return Ok(say.clone());
            }
        }
        let last_shown = proctor_text::truncate(last, 80);
        let message = format!(
            "the simulated user's script has no reply to {last_shown:?}; add a line or a rule that repeats"
        );
        Err(Failure::party("ScriptExhausted", message))
    }
}

impl Simulator for ScriptedSimulator {
    fn say<'a>(
        &'a self,
        request: &'a SimulatorRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        let reply = self.next(&request.last_answer, attempt_id);
        let call = ModelCall {
            backend: Some("scripted".into()),
            purpose: Some(Purpose::Simulator.as_str().into()),
            error: reply.as_ref().err().map(|failure| failure.message.clone()),
            ..ModelCall::default()
        };
        Box::pin(async move {
            let outcome = match reply {
                Ok(Say { fail: Some(message), .. }) => Err(Failure::party("Scripted", message)),
                Ok(say) => {
                    if let Some(delay) = say.delay {
                        tokio::time::sleep(delay.0).await;
                    }
                    Ok(say.text)
                }
                Err(failure) => Err(failure),
            };
            PartyAnswer::of_model(outcome, Box::new(call))
        })
    }

    fn forget(&self, attempt_id: &AttemptId) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(attempt_id);
    }
}
