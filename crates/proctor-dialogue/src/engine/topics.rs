//! Topics: where the conversation is, and what shows that it has moved.

use std::sync::Arc;

use proctor_events::{Fault, Status, TerminationReason, TopicChanged, TopicTrigger};

use super::judging::Purpose;
use super::{Engine, Work};
use crate::check::calls_tool;
use crate::expression::evaluate;
use crate::format::{Topic, Trigger};
use crate::judge::{JudgeQuestion, TopicChoice};
use crate::transcript::Visit;

impl Engine {
    pub(super) fn enter_first_topic(&mut self) {
        let first = self.example.topics.names().next().map(str::to_owned);
        if let Some(topic) = first {
            self.move_to(&topic, TopicTrigger::Initial);
        }
    }

    /// The current topic's triggers first, then its successors' in order, then the judge.
    pub(super) fn classify(&mut self) {
        let example = Arc::clone(&self.example);
        let Some(current) = self.transcript.topic().map(str::to_owned) else { return };
        let Some(topic) = example.topics.get(&current) else { return };
        let successors: Vec<(&str, &Topic)> = topic
            .next
            .0
            .iter()
            .filter_map(|next| example.topics.get(next).map(|topic| (next.value.as_str(), topic)))
            .collect();
        let candidates =
            std::iter::once((current.as_str(), topic)).chain(successors.iter().copied());
        for (name, candidate) in candidates {
            match self.triggered(candidate) {
                Ok(true) => return self.belongs_to(name, TopicTrigger::TriggerMatch),
                Ok(false) => {}
                Err(message) => return self.broken_expression(&message),
            }
        }
        let choices: Vec<TopicChoice> = successors
            .iter()
            .filter(|(_, topic)| topic.characteristic.is_some())
            .map(|(name, topic)| choice(name, topic))
            .collect();
        if choices.is_empty() {
            return self.belongs_to(&current, TopicTrigger::TriggerMatch);
        }
        let choices = std::iter::once(choice(&current, topic)).chain(choices).collect();
        let focus = vec![self.turn_number()];
        self.ask_judge(vec![JudgeQuestion::Topic(choices)], focus, Purpose::Topic);
    }

    fn triggered(&self, topic: &Topic) -> Result<bool, String> {
        for trigger in &topic.triggers {
            if self.trigger_holds(trigger)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn trigger_holds(&self, trigger: &Trigger) -> Result<bool, String> {
        let Some(turn) = self.transcript.turns.last() else { return Ok(false) };
        Ok(match trigger {
            Trigger::CallTool(tool) => calls_tool(tool, turn),
            Trigger::Response(pattern) => pattern.occurs_in(&turn.agent),
            Trigger::User(pattern) => pattern.occurs_in(&turn.user),
            Trigger::TurnsIn(turns) => {
                self.transcript.turns_in(&turns.topic).len() >= turns.count as usize
            }
            Trigger::Condition(expression) => evaluate(expression, &self.transcript, None)?,
        })
    }

    pub(super) fn broken_expression(&mut self, message: &str) {
        let text = format!("turn {}: {message}", self.turn_number());
        self.break_down(Status::Errored, Some(Fault::Harness), text, TerminationReason::Error);
    }

    /// The last turn belongs to this topic. Leaving another one has its invariants checked.
    pub(super) fn belongs_to(&mut self, topic: &str, trigger: TopicTrigger) {
        let left = self.transcript.topic().filter(|now| *now != topic).map(str::to_owned);
        if left.is_some() {
            self.move_to(topic, trigger);
        }
        let number = self.turn_number();
        if let Some(visit) = self.transcript.visits.last_mut() {
            visit.turns.push(number);
        }
        if let Some(turn) = self.transcript.turns.last_mut() {
            turn.topic = Some(topic.to_owned());
        }
        if let Some(left) = left {
            self.do_first([Work::CheckTopic(left)]);
        }
    }

    fn move_to(&mut self, topic: &str, trigger: TopicTrigger) {
        let from_topic = self.transcript.topic().map(str::to_owned);
        self.emit(TopicChanged {
            turn_number: self.turn_number(),
            from_topic,
            to_topic: topic.to_owned(),
            trigger: Some(trigger),
        });
        self.transcript.visits.push(Visit { topic: topic.to_owned(), turns: Vec::new() });
    }
}

fn choice(name: &str, topic: &Topic) -> TopicChoice {
    TopicChoice {
        name: name.to_owned(),
        characteristic: topic.characteristic.clone(),
        agent_intent: topic.agent_intent.clone(),
    }
}
