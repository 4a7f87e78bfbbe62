//! Conversations without a script: the caller decides, message by message, how they go on.
//!
//! What differs from scripted ones: the conversation pauses where others conclude, and a failure does not end it;
//! the first topic is announced with the first turn in it; a simulation has the topic it ends in checked before it is
//! over, because it is unknown whether anything follows.

use std::sync::Arc;

use proctor_events::{EvaluationMode, TerminationReason, TopicChanged, TopicTrigger};

use super::{ConversationOutcome, Effect, Engine, Next, WaitState, WorkItem};
use crate::format::Assertion;
use crate::scenario::Example;
use proctor_yaml::{At, Place};

/// What only an open-ended conversation has to remember.
#[derive(Debug, Default)]
pub(super) struct OpenEndedState {
    /// Whether the first topic has been announced.
    announced: bool,
    /// The last topic whose invariants were checked, and the turn after which they were.
    checked: Option<(String, u32)>,
}

impl Engine {
    /// An engine for a conversation whose steps the caller gives one by one.
    pub fn open_ended(example: Arc<Example>) -> Self {
        let mut engine = Self::new(example);
        engine.open_ended_state = Some(OpenEndedState::default());
        engine
    }

    /// Whether it waits for [`Input::Next`](super::Input::Next).
    pub fn is_paused(&self) -> bool {
        matches!(self.waiting, WaitState::Next)
    }

    pub(super) fn pause(&mut self, verdict: ConversationOutcome) {
        self.work.clear();
        self.batch = None;
        self.expired = None;
        self.waiting = WaitState::Next;
        self.effects.push(Effect::Pause(verdict));
    }

    pub(super) fn next(&mut self, next: Next) {
        if !self.is_paused() {
            return;
        }
        match next {
            Next::Say { text, metadata } => {
                let source = proctor_events::MessageSource::Script;
                self.work.push_back(WorkItem::User { text, source, metadata });
            }
            Next::Simulate(simulate) => {
                self.start_simulation(&simulate);
                self.work.push_back(WorkItem::NextSimulated);
            }
            Next::Check { assertions, mode, scope } => {
                let assertions: Vec<At<Assertion>> = assertions
                    .into_iter()
                    .map(|value| At { value, place: Place::default() })
                    .collect();
                let checks = match mode {
                    EvaluationMode::Soft => self.planned_checks(&[], &assertions),
                    _ => self.planned_checks(&assertions, &[]),
                };
                self.work.push_back(WorkItem::CheckNow(checks, scope));
            }
            Next::End => self.end(),
        }
        self.run_queued_work();
    }

    fn end(&mut self) {
        let checked =
            self.open_ended_state.take().and_then(|open_ended_state| open_ended_state.checked);
        let Some(topic) = self.transcript.topic().map(str::to_owned) else { return };
        if checked != Some((topic.clone(), self.turn_number())) {
            self.work.push_back(WorkItem::CheckTopic(topic));
        }
    }

    pub(super) fn topic_is_checked(&mut self, topic: &str) {
        let turn = self.turn_number();
        if let Some(open_ended_state) = &mut self.open_ended_state {
            open_ended_state.checked = Some((topic.to_owned(), turn));
        }
    }

    pub(super) fn announce_first_topic(&mut self) {
        let turn_number = self.turn_number();
        let Some(to_topic) = self.transcript.topic().map(str::to_owned) else { return };
        let Some(open_ended_state) = &mut self.open_ended_state else { return };
        if !std::mem::replace(&mut open_ended_state.announced, true) {
            let trigger = Some(TopicTrigger::Initial);
            self.emit(TopicChanged { turn_number, from_topic: None, to_topic, trigger });
        }
    }

    /// A simulation has come to its own end.
    pub(super) fn leave_simulation(&mut self, reason: TerminationReason) {
        match self.transcript.topic().map(str::to_owned).filter(|_| self.open_ended_state.is_some())
        {
            Some(topic) => {
                self.queue_first([WorkItem::CheckTopic(topic), WorkItem::EndSimulation(reason)]);
            }
            None => self.end_simulation(reason),
        }
    }
}
