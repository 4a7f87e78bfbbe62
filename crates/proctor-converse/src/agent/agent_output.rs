//! Output of agents' programs, attributed to conversations.
//!
//! A program that serves one conversation at a time prints for that one, until it serves another: a line may come a moment
//! after the answer. While it serves several at once, lines cannot be attributed and belong to the run. Lines wait here, a bounded number of them,
//! until the run reads them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_process::{ManagedProcess, OutputStream};
use proctor_redact::Redactor;
use tokio::sync::Notify;

use super::malformed_lines::MalformedLines;
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

/// Reads the output of one process and attributes its lines to conversations.
#[derive(Debug)]
pub(crate) struct OutputListener {
    agent: Arc<str>,
    printed: Arc<AgentOutput>,
    served: Mutex<ServedConversations>,
    malformed: Arc<MalformedLines>,
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
        agent: &str,
        printed: &Arc<AgentOutput>,
        malformed: Arc<MalformedLines>,
    ) -> Arc<Self> {
        let listener = Arc::new(Self {
            agent: agent.into(),
            printed: Arc::clone(printed),
            served: Mutex::default(),
            malformed,
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
