//! Conversations that were held before, to be judged again: agent, user and tools say what they said then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use proctor_dialogue::{AgentAnswer, Role, SimulatorRequest, ToolCall, ToolOutcome};
use proctor_events::ExampleId;
use proctor_llm::ToolSpec;

use crate::BoxFuture;
use crate::agent::{Agent, AgentTurn, Session};
use crate::failure::{Asked, Failure};
use crate::lane::Lane;
use crate::simulator::Simulator;
use crate::tools::Tools;

/// What was said and done in one conversation.
#[derive(Debug, Clone, Default)]
pub struct SavedTalk {
    /// What the user said, turn by turn.
    pub users: Vec<String>,
    /// Which of those a simulated user said.
    pub simulated: Vec<String>,
    /// What the agent answered, one after the other.
    pub answers: Vec<AgentAnswer>,
    /// What tools answered that the host called, by the id of the call.
    pub tools: HashMap<String, ToolOutcome>,
}

/// The conversations of a run, by example and repetition.
#[derive(Debug, Default)]
pub struct Saved {
    talks: HashMap<(ExampleId, u32), Arc<SavedTalk>>,
    /// How many messages of the simulated user have been said again.
    said: Mutex<HashMap<Lane, usize>>,
}

impl Saved {
    /// These conversations.
    pub fn new(talks: impl IntoIterator<Item = ((ExampleId, u32), SavedTalk)>) -> Self {
        let talks = talks.into_iter().map(|(key, talk)| (key, Arc::new(talk))).collect();
        Self { talks, said: Mutex::default() }
    }

    fn talk(&self, lane: &Lane) -> Result<&Arc<SavedTalk>, Failure> {
        self.talks.get(&(lane.example.clone(), lane.repeat)).ok_or_else(|| {
            Failure::harness(format!("no conversation of repetition {} was saved", lane.repeat))
        })
    }
}

/// Where the saved conversation stops, nobody knows how it would have gone on.
fn over(who: &str) -> Failure {
    Failure::party(
        "SavedTalkIsOver",
        format!("the saved conversation ends here; what {who} would say next is not known"),
    )
}

impl Agent for Saved {
    fn open<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<Box<dyn Session>, Failure>> {
        let session = self.talk(lane).map(|talk| -> Box<dyn Session> {
            Box::new(Again { talk: Arc::clone(talk), next: 0 })
        });
        Box::pin(std::future::ready(session))
    }
}

struct Again {
    talk: Arc<SavedTalk>,
    next: usize,
}

impl Again {
    fn answer(&mut self, turn: AgentTurn<'_>) -> Result<AgentAnswer, Failure> {
        let place = (turn.turn as usize).saturating_sub(1);
        let said = turn.messages.iter().rev().find(|message| message.role == Role::User);
        let then = self.talk.users.get(place);
        if let (Some(said), Some(then)) = (said, then)
            && said.content != *then
        {
            return Err(Failure::harness(format!(
                "the scenario has changed: the user says {:?} in turn {}, but the saved conversation has {then:?}",
                said.content, turn.turn
            )));
        }
        let answer = self.talk.answers.get(self.next).cloned().ok_or_else(|| over("the agent"))?;
        self.next += 1;
        Ok(answer)
    }
}

impl Session for Again {
    fn chat<'a>(&'a mut self, turn: AgentTurn<'a>) -> BoxFuture<'a, Asked<AgentAnswer>> {
        let outcome = self.answer(turn);
        Box::pin(std::future::ready(Asked::plain(outcome)))
    }
}

impl Simulator for Saved {
    fn say<'a>(&'a self, _: &'a SimulatorRequest, lane: &'a Lane) -> BoxFuture<'a, Asked<String>> {
        let outcome = self.talk(lane).and_then(|talk| {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            let count = said.entry(lane.clone()).or_default();
            let text = talk.simulated.get(*count).cloned().ok_or_else(|| over("the user"))?;
            *count += 1;
            Ok(text)
        });
        Box::pin(std::future::ready(Asked::plain(outcome)))
    }

    fn forget(&self, lane: &Lane) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(lane);
    }
}

impl Tools for Saved {
    fn specs(&self) -> BoxFuture<'_, Result<Arc<[ToolSpec]>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new().into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        lane: &'a Lane,
    ) -> BoxFuture<'a, Result<ToolOutcome, Failure>> {
        let outcome = self
            .talk(lane)
            .and_then(|talk| talk.tools.get(&call.id).cloned().ok_or_else(|| over("the tool")));
        Box::pin(std::future::ready(outcome))
    }
}
