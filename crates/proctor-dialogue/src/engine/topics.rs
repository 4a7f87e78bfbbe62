//! Topics: where the conversation is, and what shows that it has moved.

use std::sync::Arc;

use proctor_events::{Fault, Status, TerminationReason, TopicChanged, TopicTrigger};

use super::judging::JudgePurpose;
use super::pending_command::CommandPurpose;
use super::votes::voted_topic;
use super::{Engine, WorkItem};
use crate::check::{CheckError, calls_tool, text_matches};
use crate::expression::evaluate;
use crate::format::{Topic, Trigger};
use crate::judge::{JudgeQuestion, TopicChoice};
use crate::scenario::Example;
use crate::transcript::{Scope, TopicVisit};
use proctor_yaml::At;

impl Engine {
    pub(super) fn enter_first_topic(&mut self) {
        let first = self.example.topics.names().next().map(str::to_owned);
        if let Some(topic) = first {
            // An open-ended conversation tells of its first topic when there is a turn in it.
            if self.open_ended_state.is_some() {
                self.transcript.visits.push(TopicVisit { topic, turns: Vec::new() });
            } else {
                self.move_to(&topic, TopicTrigger::Initial);
            }
        }
    }

    /// The current topic's triggers first, then its successors' in order, then the judge.
    pub(super) fn classify(&mut self) {
        self.announce_first_topic();
        self.topic_votes.clear();
        self.triggers_from(0, 0);
    }

    /// The triggers from one on; a block outside is asked for and answers later.
    pub(super) fn triggers_from(&mut self, first_candidate: usize, first_trigger: usize) {
        let example = Arc::clone(&self.example);
        let Some(current) = self.transcript.topic().map(str::to_owned) else { return };
        let candidates = candidates(&example, &current);
        let mut skipped = first_trigger;
        for (index, (name, candidate)) in candidates.iter().enumerate().skip(first_candidate) {
            for (number, trigger) in candidate.triggers.iter().enumerate().skip(skipped) {
                if let Trigger::Block(block) = trigger {
                    let purpose = CommandPurpose::Trigger(index, number);
                    let conversation = self.transcript.to_value(None);
                    return self.run_command(block.command(), conversation, purpose);
                }
                match self.trigger_holds(trigger) {
                    Ok(true) => return self.assign_turn_to_topic(name, TopicTrigger::TriggerMatch),
                    Ok(false) => {}
                    Err(error) => return self.end_with_expression_error(&error),
                }
            }
            skipped = 0;
        }
        self.ask_for_topic();
    }

    /// The judge chooses between the current topic and its successors.
    fn ask_for_topic(&mut self) {
        let example = Arc::clone(&self.example);
        let Some(current) = self.transcript.topic().map(str::to_owned) else { return };
        let candidates = candidates(&example, &current);
        let Some(((_, topic), successors)) = candidates.split_first() else { return };
        let choices: Vec<TopicChoice> = successors
            .iter()
            .filter(|(_, topic)| topic.characteristic.is_some())
            .map(|(name, topic)| choice(name, topic))
            .collect();
        if choices.is_empty() {
            return self.assign_turn_to_topic(&current, TopicTrigger::TriggerMatch);
        }
        let choices = std::iter::once(choice(&current, topic)).chain(choices).collect();
        let focus = vec![self.turn_number()];
        self.ask_judge(vec![JudgeQuestion::Topic(choices)], focus, JudgePurpose::Topic);
    }

    /// The judge has given one vote.
    pub(super) fn topic_chosen(&mut self, topic: String) {
        self.topic_votes.push(topic);
        let current = self.transcript.topic().unwrap_or_default();
        match voted_topic(&self.topic_votes, self.votes(), current).map(str::to_owned) {
            Some(topic) => self.assign_turn_to_topic(&topic, TopicTrigger::JudgeClassification),
            None => self.ask_for_topic(),
        }
    }

    /// A block outside has looked at a trigger.
    pub(super) fn trigger_answered(&mut self, candidate: usize, trigger: usize, holds: bool) {
        if !holds {
            return self.queue_first([WorkItem::Triggers(candidate, trigger + 1)]);
        }
        let example = Arc::clone(&self.example);
        let current = self.transcript.topic().map(str::to_owned).unwrap_or_default();
        if let Some((name, _)) = candidates(&example, &current).get(candidate) {
            self.assign_turn_to_topic(name, TopicTrigger::TriggerMatch);
        }
    }

    fn trigger_holds(&self, trigger: &Trigger) -> Result<bool, CheckError> {
        let Some(turn) = self.transcript.turns.last() else { return Ok(false) };
        Ok(match trigger {
            Trigger::CallTool(tool) => calls_tool(tool, turn, &self.transcript)?,
            Trigger::Response(pattern) => text_matches(pattern, &turn.agent, &self.transcript)?,
            Trigger::User(pattern) => text_matches(pattern, &turn.user, &self.transcript)?,
            Trigger::TurnsIn(turns) => {
                self.transcript.turns_in(&turns.topic).len() >= turns.count.get() as usize
            }
            Trigger::Condition(expression) => {
                evaluate(expression, &self.transcript, &Scope::Conversation)?
            }
            Trigger::Block(_) => false,
        })
    }

    pub(super) fn end_with_expression_error(&mut self, error: &CheckError) {
        let text = format!("turn {}: {error}", self.turn_number());
        self.abort_attempt(Status::Errored, Some(Fault::Harness), text, TerminationReason::Error);
    }

    /// The last turn belongs to this topic. Leaving another one has its invariants checked.
    pub(super) fn assign_turn_to_topic(&mut self, topic: &str, trigger: TopicTrigger) {
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
            self.queue_first([WorkItem::CheckTopic(left)]);
        }
    }

    pub(super) fn move_to(&mut self, topic: &str, trigger: TopicTrigger) {
        let from_topic = self.transcript.topic().map(str::to_owned);
        self.emit(TopicChanged {
            turn_number: self.turn_number(),
            from_topic,
            to_topic: topic.to_owned(),
            trigger: Some(trigger),
        });
        self.transcript.visits.push(TopicVisit { topic: topic.to_owned(), turns: Vec::new() });
    }
}

/// The current topic, then its successors in order.
fn candidates<'a>(example: &'a Example, current: &'a str) -> Vec<(&'a str, &'a Topic)> {
    let Some(topic) = example.topics.get(current) else { return Vec::new() };
    let known =
        |next: &'a At<String>| example.topics.get(next).map(|topic| (next.value.as_str(), topic));
    std::iter::once((current, topic)).chain(topic.next.0.iter().filter_map(known)).collect()
}

fn choice(name: &str, topic: &Topic) -> TopicChoice {
    TopicChoice {
        name: name.to_owned(),
        characteristic: topic.characteristic.clone(),
        agent_intent: topic.agent_intent.clone(),
    }
}
