//! Output of agents' programs, attributed to conversations.
//!
//! A program that serves one conversation at a time prints for that one, until it serves another: a line may come a moment
//! after the answer. While it serves several at once, lines cannot be attributed and belong to the run. Lines wait here, a bounded number of them,
//! until the run reads them. A program that knows for which conversation it prints says so (`agent.output`), whatever else it serves.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_process::protocol::Notification;
use proctor_process::{ManagedProcess, OutputStream};
use proctor_redact::Redactor;
use serde::Deserialize;
use tokio::sync::Notify;

use super::malformed_lines::MalformedLines;
use super::reports::ReportRoutes;
use crate::attempt_id::AttemptId;

/// The most lines that are kept until they are read; older ones are dropped.
const MAX_WAITING_LINES: usize = 10_000;

/// One line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOutputLine {
    /// The agent whose program printed it.
    pub agent: Arc<str>,
    /// The conversation it was printed for, where that is known.
    pub attempt_id: Option<AttemptId>,
    /// Whether it went to standard error.
    pub stderr: bool,
    /// Without line feed and without known secrets.
    pub text: Arc<str>,
}

/// Lines that wait to be taken.
#[derive(Debug, Default)]
pub struct AgentOutput {
    waiting: Mutex<VecDeque<AgentOutputLine>>,
    arrived: Notify,
    redactor: Redactor,
}

impl AgentOutput {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<AgentOutputLine>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, mut line: AgentOutputLine) {
        if let Some(clean) = self.redactor.without_known(&line.text) {
            line.text = clean.into();
        }
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING_LINES {
            waiting.pop_front();
        }
        waiting.push_back(line);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// What has been printed, as soon as there is anything.
    pub async fn next(&self) -> Vec<AgentOutputLine> {
        loop {
            let lines = self.rest();
            if !lines.is_empty() {
                return lines;
            }
            self.arrived.notified().await;
        }
    }

    /// What has been printed and not been taken.
    pub fn rest(&self) -> Vec<AgentOutputLine> {
        self.waiting().drain(..).collect()
    }
}

/// The notification that carries output of one conversation.
const OUTPUT: &str = "agent.output";
/// The most reported lines that are kept for the message about the end of a process.
const RECENT_LINES: usize = 5;

#[derive(Deserialize)]
struct OutputReport {
    conversation_id: String,
    #[serde(default)]
    stream: String,
    text: String,
}

/// Output that a process reports over its channel instead of printing it.
#[derive(Debug)]
pub(crate) struct ReportedOutput {
    agent: Arc<str>,
    printed: Arc<AgentOutput>,
    conversations: Mutex<HashMap<String, AttemptId>>,
    recent: Mutex<VecDeque<String>>,
}

impl ReportedOutput {
    pub(crate) fn new(agent: &str, printed: &Arc<AgentOutput>) -> Self {
        let (conversations, recent) = (Mutex::default(), Mutex::default());
        Self { agent: agent.into(), printed: Arc::clone(printed), conversations, recent }
    }

    /// Takes a notification; false if it is no output.
    pub(crate) fn take(&self, notification: &Notification) -> bool {
        if *notification.kind != *OUTPUT {
            return false;
        }
        let Ok(report) = notification.body.parse::<OutputReport>() else { return false };
        let attempt_id = lock(&self.conversations).get(&report.conversation_id).cloned();
        for line in report.text.lines() {
            self.keep_recent(line);
            let (agent, attempt_id) = (Arc::clone(&self.agent), attempt_id.clone());
            let stderr = report.stream == "stderr";
            self.printed.push(AgentOutputLine { agent, attempt_id, stderr, text: line.into() });
        }
        true
    }

    fn keep_recent(&self, line: &str) {
        let mut recent = lock(&self.recent);
        if recent.len() >= RECENT_LINES {
            recent.pop_front();
        }
        recent.push_back(line.to_owned());
    }

    /// The last lines, the oldest first.
    pub(crate) fn recent(&self) -> Vec<String> {
        lock(&self.recent).iter().cloned().collect()
    }

    /// Output with this name belongs to the attempt until [`Self::forget`].
    pub(crate) fn register(&self, conversation: &str, attempt_id: &AttemptId) {
        lock(&self.conversations).insert(conversation.to_owned(), attempt_id.clone());
    }

    pub(crate) fn forget(&self, conversation: &str) {
        lock(&self.conversations).remove(conversation);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the output of one process and attributes its lines to conversations.
#[derive(Debug)]
pub(crate) struct OutputListener {
    agent: Arc<str>,
    printed: Arc<AgentOutput>,
    reported: Arc<ReportedOutput>,
    served: Mutex<ServedConversations>,
    malformed: Arc<MalformedLines>,
    reports: Arc<ReportRoutes>,
}

/// The conversations that the process serves.
#[derive(Debug, Default)]
struct ServedConversations {
    now: Vec<AttemptId>,
    /// The conversation that lines belong to: the only one that is served, or was served last.
    line_owner: Option<AttemptId>,
}

impl OutputListener {
    /// Listens to a process until it ends.
    pub(crate) fn start(
        process: &ManagedProcess,
        reported: Arc<ReportedOutput>,
        malformed: Arc<MalformedLines>,
        reports: Arc<ReportRoutes>,
    ) -> Arc<Self> {
        let listener = Arc::new(Self {
            agent: Arc::clone(&reported.agent),
            printed: Arc::clone(&reported.printed),
            reported,
            served: Mutex::default(),
            malformed,
            reports,
        });
        Arc::clone(&listener).follow(process.stdout(), false);
        Arc::clone(&listener).follow(process.stderr(), true);
        listener
    }

    /// Adds a line about the process to its output.
    pub(crate) fn add_note(&self, text: &str) {
        let (agent, text) = (Arc::clone(&self.agent), text.into());
        self.printed.push(AgentOutputLine { agent, attempt_id: None, stderr: true, text });
    }

    /// Output that the process reports over its channel.
    pub(crate) fn reported(&self) -> &Arc<ReportedOutput> {
        &self.reported
    }

    /// Where reports of the process go.
    pub(crate) fn reports(&self) -> &Arc<ReportRoutes> {
        &self.reports
    }

    /// How many unreadable lines the process has sent on its channel.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed.count()
    }

    /// The last unreadable line, if there were more than this many; for the end of a sentence.
    pub(crate) fn malformed_since(&self, count: u64) -> String {
        let last = self.malformed.since(count);
        self.printed.redactor.without_known(&last).unwrap_or(last)
    }

    fn follow(self: Arc<Self>, stream: &OutputStream, stderr: bool) {
        let mut lines = stream.lines();
        tokio::spawn(async move {
            while let Some(line) = lines.next().await {
                let attempt_id = self.served().line_owner.clone();
                let agent = Arc::clone(&self.agent);
                self.printed.push(AgentOutputLine { agent, attempt_id, stderr, text: line.text });
            }
        });
    }

    fn served(&self) -> MutexGuard<'_, ServedConversations> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A conversation is being served until the guard is dropped.
    pub(crate) fn serving(self: &Arc<Self>, attempt_id: &AttemptId) -> ServedConversation {
        let mut served = self.served();
        served.now.push(attempt_id.clone());
        served.line_owner = (served.now.len() == 1).then(|| attempt_id.clone());
        drop(served);
        ServedConversation { listener: Arc::clone(self), attempt_id: attempt_id.clone() }
    }
}

/// A conversation that is being served.
pub(crate) struct ServedConversation {
    listener: Arc<OutputListener>,
    attempt_id: AttemptId,
}

impl Drop for ServedConversation {
    fn drop(&mut self) {
        let mut served = self.listener.served();
        if let Some(place) = served.now.iter().position(|attempt_id| *attempt_id == self.attempt_id)
        {
            served.now.remove(place);
        }
    }
}
