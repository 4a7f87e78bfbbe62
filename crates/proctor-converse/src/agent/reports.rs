//! What agents report while they work: calls that they make themselves, and that their answer has begun.
//!
//! An [`AgentReporter`] belongs to one question to an agent. Reports go on to the engine at once; they are also kept, so that the answer
//! lists every call that was reported: a cassette keeps the answer and nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_dialogue::{AgentAnswer, CallReport, LiveCalls, read_made_call};
use proctor_events::ModelCall;
use proctor_process::protocol::Notification;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::failure::Failure;

/// The notifications of a program that are reports; requests of a worker use the same words.
const STARTED: &str = "agent.tool_call_started";
const COMPLETED: &str = "agent.tool_call_completed";
const FIRST_TOKEN: &str = "agent.first_token";
const SPANS_FLUSHED: &str = "agent.spans_flushed";

/// What is passed on while an agent works.
#[derive(Debug)]
pub(crate) enum LiveReport {
    /// A call of a tool that it makes itself.
    Tool(CallReport),
    /// A call of its model, seen at the model endpoint.
    Model(Box<ModelCall>),
}

/// Takes the reports of one question. Clones belong to the same question.
#[derive(Debug, Clone)]
pub struct AgentReporter(Arc<Mutex<Reported>>);

#[derive(Debug)]
struct Reported {
    began: Instant,
    first_token_ms: Option<f64>,
    calls: LiveCalls,
    /// The first report that could not be read.
    problem: Option<String>,
    /// Whether the program has sent all spans that had ended; nothing if it does not say.
    spans_flushed: Option<bool>,
    forward: Option<mpsc::UnboundedSender<LiveReport>>,
}

impl AgentReporter {
    /// A reporter that passes reports of calls on.
    pub(crate) fn new(forward: mpsc::UnboundedSender<LiveReport>) -> Self {
        Self(Arc::new(Mutex::new(Reported {
            began: Instant::now(),
            first_token_ms: None,
            calls: LiveCalls::default(),
            problem: None,
            spans_flushed: None,
            forward: Some(forward),
        })))
    }

    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent is asked now; an agent may have to be started first.
    pub(crate) fn begin(&self) {
        self.reported().began = Instant::now();
    }

    /// The agent makes a call.
    pub fn call(&self, report: CallReport) {
        let mut reported = self.reported();
        reported.calls.report(report.clone(), String::new);
        if let Some(forward) = &reported.forward {
            // The receiver may already be dropped: the conversation was given up.
            let _ = forward.send(LiveReport::Tool(report));
        }
    }

    /// The agent has called its model.
    pub(crate) fn model_call(&self, call: ModelCall) {
        if let Some(forward) = &self.reported().forward {
            // As above.
            let _ = forward.send(LiveReport::Model(Box::new(call)));
        }
    }

    /// The first part of the answer is there.
    pub fn first_token(&self) {
        let mut reported = self.reported();
        let taken = reported.began.elapsed().as_secs_f64() * 1000.0;
        reported.first_token_ms.get_or_insert(taken);
    }

    /// Whether the program has sent all spans that had ended; nothing if it does not say.
    pub(crate) fn spans_flushed(&self) -> Option<bool> {
        self.reported().spans_flushed
    }

    /// Takes a report as JSON; false if `kind` is no report. A report that cannot be read fails the answer: the call that it is about
    /// would be missing.
    pub(crate) fn read(&self, kind: &str, fields: &Value) -> bool {
        let call = match kind {
            STARTED | COMPLETED => read_made_call(fields),
            FIRST_TOKEN => {
                self.first_token();
                return true;
            }
            SPANS_FLUSHED => {
                self.reported().spans_flushed = Some(fields["complete"].as_bool() != Some(false));
                return true;
            }
            _ => return false,
        };
        match call {
            Ok(done) if kind == STARTED => self.call(CallReport::Started(done.call)),
            Ok(done) => self.call(CallReport::Completed(done)),
            Err(problem) => {
                let problem = format!("malformed `{kind}`: {problem}");
                self.reported().problem.get_or_insert(problem);
            }
        }
        true
    }

    /// Adds what was reported to the answer, and takes no further reports.
    pub(crate) fn complete(&self, answer: &mut AgentAnswer) -> Result<(), Failure> {
        let mut reported = self.reported();
        reported.forward = None;
        if let Some(problem) = reported.problem.take() {
            return Err(Failure::party("Malformed", problem));
        }
        answer.first_token_ms = answer.first_token_ms.or(reported.first_token_ms);
        let calls = std::mem::take(&mut reported.calls);
        if !calls.is_empty() {
            // An agent that reports its calls reports all of them, as one that lists them does.
            answer.calls_listed = true;
            answer.tool_calls = calls.settle(std::mem::take(&mut answer.tool_calls), String::new).0;
        }
        Ok(())
    }
}

/// The open questions to one program, by conversation.
#[derive(Debug, Default)]
pub(crate) struct ReportRoutes(Mutex<HashMap<String, AgentReporter>>);

impl ReportRoutes {
    fn open(&self) -> MutexGuard<'_, HashMap<String, AgentReporter>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports about this conversation go to the reporter until the guard is dropped.
    pub(crate) fn route(self: &Arc<Self>, conversation: &str, to: &AgentReporter) -> OpenRoute {
        self.open().insert(conversation.to_owned(), to.clone());
        OpenRoute { routes: Arc::clone(self), conversation: conversation.to_owned() }
    }

    /// Takes a notification; false if it is no report about an open question.
    pub(crate) fn take(&self, notification: &Notification) -> bool {
        if ![STARTED, COMPLETED, FIRST_TOKEN, SPANS_FLUSHED].contains(&&*notification.kind) {
            return false;
        }
        let fields: Value = serde_json::from_str(notification.body.as_str()).unwrap_or_default();
        self.take_report(&notification.kind, &fields)
    }

    /// The same for fields that were read. A program with one open question need not name the conversation.
    pub(crate) fn take_report(&self, kind: &str, fields: &Value) -> bool {
        let open = self.open();
        let reporter = match fields["conversation_id"].as_str() {
            Some(name) => open.get(name),
            None => open.values().next().filter(|_| open.len() == 1),
        };
        reporter.is_some_and(|reporter| reporter.read(kind, fields))
    }
}

/// A question that reports belong to.
pub(crate) struct OpenRoute {
    routes: Arc<ReportRoutes>,
    conversation: String,
}

impl Drop for OpenRoute {
    fn drop(&mut self) {
        self.routes.open().remove(&self.conversation);
    }
}
