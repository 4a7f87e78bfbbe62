//! Who judges: a model that is given a prompt, or a script that answers question by question.

use std::sync::Arc;

use proctor_dialogue::{
    JudgeItem, JudgeQuestion, JudgeRequest, QuestionKind, VerdictRule, judge_prompt,
    parse_judge_answer,
};
use proctor_events::{Millis, ModelCall};
use proctor_llm::{Acceptance, Model, Purpose, Request};
use proctor_redact::Redactor;
use proctor_text::has_mask;
use serde_json::{Map, Value, json};

use crate::BoxFuture;
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};

/// Judges conversations.
pub trait Judge: Send + Sync {
    /// The answer to a request, as it was written; the engine decides whether it counts.
    fn judge<'a>(
        &'a self,
        request: &'a JudgeRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>>;
}

/// Said to a judge that reads masked text: that a secret was told must not look like its being withheld.
const MASK_NOTE: &str = "\n\nNote: [redacted] was put in place of secrets (keys, passwords, tokens) before this was sent to you. Treat each [redacted] as if the secret itself stood there in plain text: whoever said it has revealed it.";

/// A model that judges. Secrets are filtered from its prompts.
pub struct ModelJudge {
    model: Arc<dyn Model>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    redactor: Redactor,
}

impl ModelJudge {
    /// Lets a model judge.
    pub fn new(
        model: Arc<dyn Model>,
        max_tokens: Option<u32>,
        temperature: Option<f64>,
        redactor: Redactor,
    ) -> Self {
        Self { model, max_tokens, temperature, redactor }
    }

    /// The question as the model is asked it. The whole question is kept with it, to tell usable answers by.
    fn request(&self, asked: &JudgeRequest, attempt_id: &AttemptId) -> Request {
        let prompt = judge_prompt(asked);
        let mut user = self.redactor.redact_text(&prompt.user).into_owned();
        if has_mask(&user) {
            user.push_str(MASK_NOTE);
        }
        let label = asked.items.first().map_or("", |item| question_kind(&item.question).as_str());
        let question = Arc::new(JudgeRequest { turns: Vec::new(), ..asked.clone() });
        Request {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            label: label.into(),
            repeat: attempt_id.repeat,
            vote: asked.vote,
            mark: Some(asked.mark.clone()),
            acceptance: Acceptance::new(move |_, answer| {
                parse_judge_answer(&answer.text, &question).is_ok()
            }),
            ..Request::ask(Purpose::Judge, user)
                .with_system(prompt.system)
                .in_conversation(attempt_id.name())
        }
    }
}

impl Judge for ModelJudge {
    fn judge<'a>(
        &'a self,
        request: &'a JudgeRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        Box::pin(async move {
            let request = self.request(request, attempt_id);
            ask_model(&*self.model, &request).await
        })
    }
}

/// Asks a model and tells what is to be recorded about it.
pub(crate) async fn ask_model(model: &dyn Model, request: &Request) -> PartyAnswer<String> {
    let began = tokio::time::Instant::now();
    let outcome = model.ask(request).await;
    let call = model_call(model, request.purpose, &outcome, began.elapsed());
    PartyAnswer::of_model(outcome.map(|answer| answer.text).map_err(Failure::from), call)
}

/// The event that records a call of a model: who was asked, what it cost, how it ended.
pub fn model_call(
    model: &dyn Model,
    purpose: Purpose,
    outcome: &Result<proctor_llm::Answer, proctor_llm::ModelError>,
    taken: std::time::Duration,
) -> Box<ModelCall> {
    let identity = model.identity();
    let mut call = ModelCall {
        backend: Some(identity.backend.into()),
        model: Some(identity.model.clone()),
        purpose: Some(purpose.as_str().into()),
        duration_ms: Some(Millis::from(taken)),
        ..ModelCall::default()
    };
    match outcome {
        Ok(answer) => {
            if !answer.model.is_empty() {
                call.model = Some(answer.model.clone());
            }
            let usage = answer.usage;
            call.input_tokens = usage.map(|usage| {
                usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            });
            call.output_tokens = usage.map(|usage| usage.output_tokens);
            call.cost_usd =
                answer.cost.map(|cost| if answer.cached { 0.0 } else { cost.dollars() });
            call.cached = Some(answer.cached);
            call.tries = Some(answer.tries);
        }
        Err(error) => {
            call.tries = Some(error.tries);
            call.error = Some(error.message.clone());
        }
    }
    Box::new(call)
}

/// A judge that follows rules, question by question. A question without a rule is an error, never a pass.
pub struct ScriptedJudge {
    rules: Vec<VerdictRule>,
    name: String,
}

impl ScriptedJudge {
    /// A judge of these rules, under a name.
    pub fn new(name: impl Into<String>, rules: Vec<VerdictRule>) -> Self {
        Self { rules, name: name.into() }
    }

    fn answer(&self, request: &JudgeRequest) -> Result<String, Failure> {
        let seen = judged_text(request);
        let answers: Result<Vec<Value>, Failure> =
            request.items.iter().map(|item| self.item(item, &seen)).collect();
        Ok(json!({"mark": request.mark, "answers": answers?}).to_string())
    }

    fn item(&self, item: &JudgeItem, seen: &str) -> Result<Value, Failure> {
        let (kind, asked) = (question_kind(&item.question), question_text(&item.question));
        let rule = self.rules.iter().find(|rule| {
            let is_topic = kind == QuestionKind::Topic;
            rule.about.is_none_or(|about| about == kind)
                && rule.topic.is_some() == is_topic
                && rule.asked.as_ref().is_none_or(|pattern| pattern.occurs_in(&asked))
                && rule.seen.as_ref().is_none_or(|pattern| pattern.occurs_in(seen))
                && rule.unseen.as_ref().is_none_or(|pattern| !pattern.occurs_in(seen))
        });
        let Some(rule) = rule else {
            let message = format!(
                "the scripted judge `{}` has no verdict for the {} question {asked:?}; add one",
                self.name,
                kind.as_str()
            );
            return Err(Failure::party("ScriptExhausted", message));
        };
        let mut answer = Map::new();
        answer.insert("id".into(), item.id.clone().into());
        answer.insert("reasoning".into(), rule.because.clone().into());
        match &rule.topic {
            Some(topic) => answer.insert("topic".into(), topic.clone().into()),
            None => answer.insert("satisfied".into(), rule.satisfied.unwrap_or(true).into()),
        };
        if let Some(score) = rule.score {
            answer.insert("score".into(), score.into());
        }
        Ok(Value::Object(answer))
    }
}

impl Judge for ScriptedJudge {
    fn judge<'a>(
        &'a self,
        request: &'a JudgeRequest,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        let outcome = self.answer(request);
        let call = ModelCall {
            backend: Some("scripted".into()),
            model: Some(self.name.clone()),
            purpose: Some(Purpose::Judge.as_str().into()),
            error: outcome.as_ref().err().map(|failure| failure.message.clone()),
            ..ModelCall::default()
        };
        Box::pin(std::future::ready(PartyAnswer::of_model(outcome, Box::new(call))))
    }
}

/// A judge that cannot be used: every question fails with the same message.
pub(crate) struct NoJudge(pub(crate) Failure);

impl Judge for NoJudge {
    fn judge<'a>(
        &'a self,
        _: &'a JudgeRequest,
        _: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        Box::pin(async { PartyAnswer::plain(Err(self.0.clone())) })
    }
}

/// What was said and done in the turns that are asked about.
fn judged_text(request: &JudgeRequest) -> String {
    let mut text = String::new();
    for turn in request.turns.iter().filter(|turn| request.focus.contains(&turn.number)) {
        text.push_str(&format!("user: {}\n", turn.user));
        for call in &turn.tool_calls {
            let result = call.result.as_ref().map(ToString::to_string);
            let outcome = result.or_else(|| call.error.clone()).unwrap_or_default();
            text.push_str(&format!(
                "tool: {}({}) {outcome}\n",
                call.call.name, call.call.arguments
            ));
        }
        text.push_str(&format!("agent: {}\n", turn.agent));
    }
    text
}

fn question_kind(question: &JudgeQuestion) -> QuestionKind {
    match question {
        JudgeQuestion::Criterion(_) => QuestionKind::Criterion,
        JudgeQuestion::Grounded(_) => QuestionKind::Grounded,
        JudgeQuestion::ForbiddenClaims(_) => QuestionKind::ForbiddenClaims,
        JudgeQuestion::Intent(_) => QuestionKind::Intent,
        JudgeQuestion::Goal(_) => QuestionKind::Goal,
        JudgeQuestion::Topic(_) => QuestionKind::Topic,
    }
}

fn question_text(question: &JudgeQuestion) -> String {
    match question {
        JudgeQuestion::Criterion(criterion) => criterion.description.clone(),
        JudgeQuestion::Grounded(grounding) => grounding.claims.join("\n"),
        JudgeQuestion::ForbiddenClaims(claims) => claims.join("\n"),
        JudgeQuestion::Intent(intent) => intent.name.clone(),
        JudgeQuestion::Goal(goal) => goal.clone(),
        JudgeQuestion::Topic(choices) => {
            choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}
