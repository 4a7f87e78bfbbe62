//! Agents under test with an HTTP interface of their own.
//!
//! A [`Mapping`] says how a turn becomes a request (address, headers and body are templates) and
//! where the answer stands in the response (JSON pointers). Agents that speak chat completions
//! need none: they are an [`HttpModel`](crate::HttpModel).
//!
//! Names in templates: `message` (the last words of the user), `messages` and `tools` (in the
//! shape of chat completions), `system`, `lane`, `turn`, `repeat`, `seed`, `model`, the names of
//! `secrets`, and the values that `remember` took from earlier answers of the same conversation.

mod config;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proctor_text::shorten;
use serde_json::{Value, json};
use tokio::time::Instant;

pub use config::{Mapping, ToolCallPaths};

use proctor_redact::{Redactor, Secret};

use crate::answer::{Answer, StopReason, Timings, Usage};
use crate::error::{ErrorKind, ModelError};
use crate::http::{HttpCall, Peer, ResponseBody, Transport, with_traceparent};
use crate::model::{Billing, Identity, Model, ModelFuture};
use crate::request::{Request, Role, ToolCall};
use crate::sse::{SseDecoder, SseEvent};
use crate::template::{TemplateError, Variables, fill, fill_text};
use crate::wire::{chat_messages, chat_tools};

/// An agent behind a mapping.
#[derive(Debug)]
pub struct MappedAgent {
    mapping: Mapping,
    identity: Identity,
    transport: Transport,
    peer: Peer,
    remembered: Mutex<HashMap<String, Variables>>,
}

impl MappedAgent {
    /// An agent behind a mapping. The address's templates are filled per call; its scheme must be
    /// plain to see.
    pub fn new(mapping: Mapping) -> Result<Self, ModelError> {
        if let Some(wrong) = mapping.pointers().find(|pointer| !pointer.starts_with('/')) {
            let message = format!(
                "the mapping of agent `{}`: `{wrong}` is not a JSON pointer; write `/{wrong}`",
                mapping.name
            );
            return Err(ModelError::new(ErrorKind::Config, message));
        }
        let shown = mapping.url.split(['?', '$']).next().unwrap_or_default();
        let transport = Transport::new(shown, None)?;
        let peer = Peer {
            name: format!("agent `{}` at {}", mapping.name, transport.shown()),
            redactor: Redactor::new(mapping.secrets.values().cloned()),
            has_key: !mapping.secrets.is_empty(),
            key_hint: String::new(),
            clock: mapping.clock.clone(),
        };
        let identity = Identity {
            backend: "agent",
            model: mapping.name.clone(),
            billing: Billing::Elsewhere,
            fingerprint: String::new(),
        };
        Ok(Self { mapping, identity, transport, peer, remembered: Mutex::default() })
    }

    /// Drops what was remembered of a conversation that is over.
    pub fn forget(&self, conversation: &str) {
        self.remembered().remove(conversation);
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, Variables>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn variables(&self, request: &Request) -> Variables {
        let users = request.messages.iter().filter(|message| message.role == Role::User);
        let turn = users.filter(|message| message.tool_results.is_empty()).count();
        let mut variables: Variables = [
            ("message", request.last_user_text().into()),
            ("messages", chat_messages(request)),
            ("tools", chat_tools(request)),
            ("system", request.system.clone().into()),
            ("lane", request.conversation.clone().into()),
            ("turn", turn.into()),
            ("repeat", request.repeat.into()),
            ("seed", request.seed.into()),
            ("model", self.mapping.name.clone().into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        variables.extend(self.mapping.remember.keys().map(|name| (name.clone(), Value::Null)));
        variables.extend(self.mapping.initially.clone());
        variables.extend(self.remembered().get(&request.conversation).cloned().unwrap_or_default());
        let secrets = self.mapping.secrets.iter();
        variables.extend(secrets.map(|(name, secret)| (name.clone(), secret.reveal().into())));
        variables
    }

    async fn answer(&self, request: &Request) -> Result<Answer, ModelError> {
        let variables = self.variables(request);
        let hole = |problem: TemplateError| {
            let message = format!("the mapping of agent `{}`: {problem}", self.mapping.name);
            ModelError::new(
                ErrorKind::Config,
                self.peer.redactor.redact_text(&message).into_owned(),
            )
        };
        let url = fill_text(&self.mapping.url, &variables).map_err(hole)?;
        let headers = self.mapping.headers.iter();
        let headers = headers
            .map(|(name, value)| Ok((name.clone(), Secret::new(fill_text(value, &variables)?))))
            .collect::<Result<Vec<_>, TemplateError>>()
            .map_err(hole)?;
        let body = self.mapping.body.as_ref().map(|body| fill(body, &variables));
        let body = body.transpose().map_err(hole)?.map(|body| body.to_string());
        let call = HttpCall {
            method: &self.mapping.method,
            url: &url,
            headers: &with_traceparent(&headers, request),
            body,
            idle_timeout: self.mapping.timeout,
            max_bytes: self.mapping.max_bytes,
        };
        let began = Instant::now();
        let exchange = async {
            let mut body = self.transport.send(call, &self.peer).await?;
            match &self.mapping.delta {
                Some(delta) if body.is_event_stream() => {
                    self.read_stream(delta, request, &mut body, began).await
                }
                _ => {
                    let raw = body.text(&self.peer).await?;
                    let answer = self.parse_answer(request, &raw, &body.content_type)?;
                    Ok((answer, raw, None))
                }
            }
        };
        let limit = self.mapping.timeout;
        let exchanged = tokio::time::timeout(limit, exchange).await;
        let (mut answer, raw, first_token) =
            exchanged.map_err(|_| self.peer.timeout_error(limit))??;
        answer.timings = Timings { total: began.elapsed(), first_token };
        answer.raw = self.peer.redactor.redact_text(&raw).into_owned();
        Ok(answer)
    }

    fn parse_answer(&self, request: &Request, raw: &str, kind: &str) -> Result<Answer, ModelError> {
        let Some(text_path) = &self.mapping.text else {
            return Ok(self.complete(request, raw.to_owned(), Vec::new(), &Value::Null));
        };
        let body = self.peer.json(raw, kind)?;
        self.check_reported_error(&body)?;
        let tool_calls = self.tool_calls(&body)?;
        let text = match body.pointer(text_path) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None if !tool_calls.is_empty() => String::new(),
            Some(other) if !other.is_null() => other.to_string(),
            _ => {
                let shown = shorten(raw, 160);
                return Err(self.malformed(&format!(
                    "answered without anything at `{text_path}`, where its text should be; the answer was {shown}"
                )));
            }
        };
        Ok(self.complete(request, text, tool_calls, &body))
    }

    /// Follows a stream of events. It has no mark of its own for the end: the end of the body is.
    async fn read_stream(
        &self,
        delta: &str,
        request: &Request,
        body: &mut ResponseBody,
        began: Instant,
    ) -> Result<(Answer, String, Option<Duration>), ModelError> {
        let mut decoder = SseDecoder::new(self.mapping.max_bytes);
        let (mut raw, mut text, mut first_token) = (Vec::new(), String::new(), None);
        let mut whole = json!({});
        let mut take = |event: &SseEvent| {
            // Events that are no JSON are marks of the agent's own, such as `[DONE]`.
            let Ok(data) = serde_json::from_str::<Value>(&event.data) else { return Ok(()) };
            self.check_reported_error(&data)?;
            if let Some(piece) = data.pointer(delta).and_then(Value::as_str) {
                text += piece;
                first_token.get_or_insert_with(|| began.elapsed());
            }
            if let (Value::Object(whole), Value::Object(data)) = (&mut whole, data) {
                whole.extend(data);
            }
            Ok::<_, ModelError>(())
        };
        while let Some(piece) = body.piece(&self.peer).await? {
            raw.extend_from_slice(&piece);
            decoder.push(&piece).map_err(|problem| self.malformed(&problem.to_string()))?;
            while let Some(event) = decoder.next_event() {
                take(&event)?;
            }
        }
        if let Some(event) = decoder.finish() {
            take(&event)?;
        }
        let tool_calls = self.tool_calls(&whole)?;
        if text.is_empty() && tool_calls.is_empty() {
            return Err(
                self.malformed(&format!("streamed an answer without anything at `{delta}`"))
            );
        }
        let answer = self.complete(request, text, tool_calls, &whole);
        Ok((answer, String::from_utf8_lossy(&raw).into_owned(), first_token))
    }

    fn check_reported_error(&self, body: &Value) -> Result<(), ModelError> {
        let words = self.mapping.error.as_ref().and_then(|path| body.pointer(path));
        let Some(words) = words.filter(|words| !words.is_null()) else { return Ok(()) };
        let words = words.as_str().map_or_else(|| words.to_string(), str::to_owned);
        Err(self.malformed(&format!("reported an error: {words}")))
    }

    fn complete(
        &self,
        request: &Request,
        text: String,
        tool_calls: Vec<ToolCall>,
        body: &Value,
    ) -> Answer {
        self.remember(&request.conversation, body);
        let count = |path: &str| body.pointer(path).and_then(Value::as_u64);
        let usage = self.mapping.usage.as_ref().and_then(|(input, output)| {
            let (input_tokens, output_tokens) = (count(input)?, count(output)?);
            Some(Usage { input_tokens, output_tokens, ..Usage::default() })
        });
        let stop = if tool_calls.is_empty() { StopReason::End } else { StopReason::ToolUse };
        let model = self.mapping.name.clone();
        Answer { tool_calls, usage, model, stop, ..Answer::text(text) }
    }

    fn tool_calls(&self, body: &Value) -> Result<Vec<ToolCall>, ModelError> {
        let Some(paths) = &self.mapping.tool_calls else { return Ok(Vec::new()) };
        let calls = match body.pointer(&paths.list) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(calls)) => calls.iter().enumerate(),
            Some(other) => {
                let (path, shown) = (&paths.list, shorten(&other.to_string(), 160));
                let words =
                    format!("has {shown} at `{path}`, where a list of tool calls should be");
                return Err(self.malformed(&words));
            }
        };
        calls
            .map(|(number, call)| {
                let text = |path: &str| call.pointer(path).and_then(Value::as_str);
                let shown = || shorten(&call.to_string(), 160);
                let name = text(&paths.name).or_else(|| text("/function/name"));
                let name = name.filter(|name| !name.trim().is_empty()).ok_or_else(|| {
                    let path = &paths.name;
                    self.malformed(&format!(
                        "made a tool call without a name at `{path}`; found {}",
                        shown()
                    ))
                })?;
                if call.get("result").or_else(|| call.get("output")).is_some() {
                    return Err(self.malformed(&format!(
                        "lists the call of `{name}` with its result among the calls that it asks for; if the agent makes its calls itself, say `made_calls: {}` instead of `tool_calls`; found {}",
                        paths.list,
                        shown()
                    )));
                }
                let id = text(&paths.id).map_or_else(|| format!("call_{number}"), str::to_owned);
                let arguments = call.pointer(&paths.arguments);
                let arguments = match arguments.or_else(|| call.pointer("/function/arguments")) {
                    Some(Value::String(json)) => {
                        serde_json::from_str(json).unwrap_or_else(|_| json.clone().into())
                    }
                    Some(value) => value.clone(),
                    None => json!({}),
                };
                Ok(ToolCall { id, name: name.to_owned(), arguments })
            })
            .collect()
    }

    fn remember(&self, conversation: &str, body: &Value) {
        if self.mapping.remember.is_empty() {
            return;
        }
        let found = self.mapping.remember.iter().filter_map(|(name, path)| {
            Some((name.clone(), body.pointer(path).filter(|value| !value.is_null())?.clone()))
        });
        self.remembered().entry(conversation.to_owned()).or_default().extend(found);
    }

    fn malformed(&self, words: &str) -> ModelError {
        self.peer.fault(crate::wire::WireFault::malformed(words))
    }
}

impl Model for MappedAgent {
    fn ask<'a>(&'a self, request: &'a Request) -> ModelFuture<'a> {
        Box::pin(self.answer(request))
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}
