//! Conversations that were held before, to be judged again: agent, user and tools say what they said then.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proctor_dialogue::{AgentAnswer, Role, SimulatorRequest, ToolCall, ToolOutcome};
use proctor_events::{ExampleId, Fault, Status};
use proctor_llm::ToolSpec;

use crate::BoxFuture;
use crate::agent::{Agent, AgentTurn, Session};
use crate::attempt_id::AttemptId;
use crate::failure::{Failure, PartyAnswer};
use crate::simulator::Simulator;
use crate::tools::Tools;

/// What was said and done in one conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SavedConversation {
    /// What the user said, turn by turn.
    pub users: Vec<String>,
    /// Which of those a simulated user said.
    pub simulated: Vec<String>,
    /// What the agent answered, one after the other.
    pub answers: Vec<AgentAnswer>,
    /// What tools answered that the host called: by the id of the call, in the order of the calls with that id.
    pub tools: HashMap<String, Vec<SavedCall>>,
    /// The error with which the agent ended it: class and message.
    pub agent_error: Option<(String, String)>,
    /// How it ended, where no check ended it.
    pub ending: Option<SavedEnding>,
}

/// What came of a call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum SavedCall {
    /// The tool answered, be it with an error that the agent was told.
    Answered(ToolOutcome),
    /// The tool could not be called, for this reason; that ended the conversation.
    Failed(String),
    /// The conversation ended before the tool did.
    Unanswered,
}

/// How a conversation ended that no check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedEnding {
    /// The status of the attempt.
    pub status: Status,
    /// Whose fault it was.
    pub fault: Option<Fault>,
    /// Why, for people.
    pub message: String,
}

impl SavedConversation {
    fn has_failed_call(&self) -> bool {
        self.tools.values().flatten().any(|call| matches!(call, SavedCall::Failed(_)))
    }

    /// What follows where the saved conversation stops: how it ended then. If a check ended it that now holds, the
    /// continuation is unknown.
    fn end_failure(&self, who: &str) -> Failure {
        if who == "the agent"
            && let Some((class, message)) = &self.agent_error
        {
            return Failure::party(class.clone(), message.clone());
        }
        match &self.ending {
            Some(SavedEnding { status, fault, message }) => {
                Failure::ending(status.clone(), fault.clone(), message.clone())
            }
            None => not_saved(&format!(
                "the saved conversation ends here; what {who} would say next is not known"
            )),
        }
    }
}

fn not_saved(message: &str) -> Failure {
    Failure::ending(Status::Inconclusive, Some(Fault::Harness), message.to_owned())
}

/// The conversations of a run, by example, repetition and attempt.
#[derive(Debug, Default)]
pub struct SavedConversations {
    conversations: HashMap<(ExampleId, u32), BTreeMap<u32, Arc<SavedConversation>>>,
    progress: Mutex<HashMap<AttemptId, Progress>>,
}

/// How much of a conversation has been said again.
#[derive(Debug, Default)]
struct Progress {
    /// Messages of the simulated user.
    messages_used: usize,
    /// Calls of tools, by id.
    calls_used: HashMap<String, usize>,
}

impl SavedConversations {
    /// These conversations.
    pub fn new(conversations: impl IntoIterator<Item = (AttemptId, SavedConversation)>) -> Self {
        let mut saved = Self::default();
        for (attempt_id, conversation) in conversations {
            let attempts =
                saved.conversations.entry((attempt_id.example, attempt_id.repeat)).or_default();
            attempts.insert(attempt_id.attempt, Arc::new(conversation));
        }
        saved
    }

    /// How often an example was run.
    pub fn repeats(&self, example: &ExampleId) -> Option<u32> {
        let of_example = self.conversations.keys().filter(|(id, _)| id == example);
        of_example.map(|(_, repeat)| *repeat).max()
    }

    /// How many attempts any repetition took.
    pub fn most_attempts(&self) -> u32 {
        let last = |attempts: &BTreeMap<u32, _>| attempts.keys().next_back().copied();
        self.conversations.values().filter_map(last).max().unwrap_or(1)
    }

    /// The conversation of an attempt. An attempt more than there was judges the last one again.
    fn conversation(&self, attempt_id: &AttemptId) -> Result<&Arc<SavedConversation>, Failure> {
        let attempts = self.conversations.get(&(attempt_id.example.clone(), attempt_id.repeat));
        let found = attempts.and_then(|attempts| {
            let before = attempts.range(..=attempt_id.attempt).next_back();
            before.or_else(|| attempts.first_key_value()).map(|(_, conversation)| conversation)
        });
        found.ok_or_else(|| {
            not_saved(&format!("no conversation of repetition {} was saved", attempt_id.repeat))
        })
    }

    fn progress(&self) -> MutexGuard<'_, HashMap<AttemptId, Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent for SavedConversations {
    fn open<'a>(
        &'a self,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session = self.conversation(attempt_id).map(|conversation| -> Box<dyn Session> {
            Box::new(ReplayedSession { conversation: Arc::clone(conversation), next: 0 })
        });
        Box::pin(std::future::ready(session))
    }

    fn is_recorded(&self) -> bool {
        true
    }
}

struct ReplayedSession {
    conversation: Arc<SavedConversation>,
    next: usize,
}

impl ReplayedSession {
    fn answer(&mut self, turn: AgentTurn<'_>) -> Result<AgentAnswer, Failure> {
        let place = (turn.turn as usize).saturating_sub(1);
        let user_message = turn.messages.iter().rev().find(|message| message.role == Role::User);
        let then = self.conversation.users.get(place);
        if let (Some(user_message), Some(then)) = (user_message, then)
            && user_message.content != *then
        {
            return Err(Failure::harness(format!(
                "the scenario has changed: the user says {:?} in turn {}, but the saved conversation has {then:?}",
                user_message.content, turn.turn
            )));
        }
        let answer = self.conversation.answers.get(self.next).cloned();
        let answer = answer.ok_or_else(|| self.conversation.end_failure("the agent"))?;
        self.next += 1;
        Ok(answer)
    }
}

impl Session for ReplayedSession {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, PartyAnswer<AgentAnswer>> {
        let outcome = self.answer(turn);
        Box::pin(std::future::ready(PartyAnswer::plain(outcome)))
    }
}

impl Simulator for SavedConversations {
    fn say<'a>(
        &'a self,
        _: &'a SimulatorRequest,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, PartyAnswer<String>> {
        let outcome = self.conversation(attempt_id).and_then(|conversation| {
            let mut progress = self.progress();
            let used = &mut progress.entry(attempt_id.clone()).or_default().messages_used;
            let text = conversation
                .simulated
                .get(*used)
                .cloned()
                .ok_or_else(|| conversation.end_failure("the user"))?;
            *used += 1;
            Ok(text)
        });
        Box::pin(std::future::ready(PartyAnswer::plain(outcome)))
    }

    fn forget(&self, attempt_id: &AttemptId) {
        self.progress().remove(attempt_id);
    }
}

impl Tools for SavedConversations {
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[ToolSpec]>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new().into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        attempt_id: &'a AttemptId,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>> {
        let outcome = self.conversation(attempt_id).and_then(|conversation| {
            let mut progress = self.progress();
            let calls_used = &mut progress.entry(attempt_id.clone()).or_default().calls_used;
            let count = calls_used.entry(call.id.clone()).or_default();
            let saved =
                conversation.tools.get(&call.id).and_then(|calls| calls.get(*count)).cloned();
            *count += 1;
            match saved {
                Some(SavedCall::Answered(outcome)) => Ok(Some(outcome)),
                Some(SavedCall::Failed(message)) => Err(Failure::party("Recorded", message)),
                // The call beside it ends the conversation, as it did then.
                Some(SavedCall::Unanswered) if conversation.has_failed_call() => Ok(None),
                Some(SavedCall::Unanswered) | None => Err(conversation.end_failure("the tool")),
            }
        });
        let outcome = match outcome {
            Ok(None) => return Box::pin(std::future::pending()),
            Ok(Some(outcome)) => Ok(outcome),
            Err(failure) => Err(failure),
        };
        Box::pin(std::future::ready(outcome))
    }
}
