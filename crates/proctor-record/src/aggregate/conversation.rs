//! The part of the fold that handles conversations: turns, tools, topics, simulations.

use proctor_events::{
    AgentResponse, Body, Event, Json, SimulationEnded, SimulationStarted, ToolCallCompleted,
    ToolCallStarted, TopicChanged, UserMessage,
};

use super::detail::Detail;
use super::{push, reserve_one};
use crate::model::{AgentMessage, Conversation, Simulation, ToolCall, TopicVisit, Turn, UserTurn};

fn turn(conversation: &mut Conversation, number: u32) -> &mut Turn {
    let topic = conversation.current_topic().map(ToOwned::to_owned);
    let turns = &mut conversation.turns;
    let place = turns.partition_point(|turn| turn.number < number);
    if turns.get(place).is_none_or(|turn| turn.number != number) {
        reserve_one(turns);
        turns.insert(place, Turn { number, topic, ..Turn::default() });
    }
    &mut turns[place]
}

/// Folds the events that make up a conversation.
pub(super) fn apply_conversation_event(
    conversation: &mut Conversation,
    event: &Event,
    detail: Detail,
) {
    match &event.body {
        Body::SimulationStarted(payload) => simulation_started(conversation, payload, detail),
        Body::SimulationEnded(payload) => simulation_ended(conversation, payload),
        Body::UserMessage(payload) => user_message(conversation, event, payload, detail),
        Body::AgentResponse(payload) => agent_response(conversation, event, payload, detail),
        Body::TopicChanged(payload) => topic_changed(conversation, payload),
        Body::ToolCallStarted(payload) => tool_started(conversation, event, payload),
        Body::ToolCallCompleted(payload) => tool_completed(conversation, event, payload, detail),
        _ => {}
    }
}

fn simulation_started(
    conversation: &mut Conversation,
    payload: &SimulationStarted,
    detail: Detail,
) {
    conversation.simulations.push(Simulation {
        goal: detail.only_in_full(&payload.goal),
        max_turns: payload.max_turns,
        ..Simulation::default()
    });
}

fn simulation_ended(conversation: &mut Conversation, payload: &SimulationEnded) {
    let simulations = &mut conversation.simulations;
    let open = simulations.iter().rposition(|simulation| simulation.turn_count.is_none());
    let place = open.unwrap_or_else(|| {
        simulations.push(Simulation::default());
        simulations.len() - 1
    });
    simulations[place].turn_count = Some(payload.turn_count);
    simulations[place].termination_reason = Some(payload.termination_reason.clone());
}

fn user_message(
    conversation: &mut Conversation,
    event: &Event,
    payload: &UserMessage,
    detail: Detail,
) {
    turn(conversation, payload.turn_number).user = Some(UserTurn {
        text: detail.only_in_full(&payload.text),
        source: payload.source.clone(),
        time: event.time,
        metadata: detail.only_in_full(&payload.metadata),
    });
}

fn agent_response(
    conversation: &mut Conversation,
    event: &Event,
    payload: &AgentResponse,
    detail: Detail,
) {
    let turn = turn(conversation, payload.turn_number);
    let response = AgentMessage {
        text: detail.only_in_full(&payload.text),
        time: event.time,
        duration_ms: payload.duration_ms,
        first_token_ms: payload.first_token_ms,
        pending_tool_calls: detail.only_in_full(&payload.pending_tool_calls),
        metadata: detail.only_in_full(&payload.metadata),
        calls_listed: payload.calls_listed,
    };
    push(&mut turn.responses, response);
    for call in payload.tool_calls.iter().filter_map(reported_call) {
        let known = turn.tool_calls.iter().any(|seen| match (&seen.id, &call.id) {
            (Some(seen), Some(id)) => seen == id,
            _ => seen.name == call.name && seen.arguments == call.arguments,
        });
        if !known {
            turn.tool_calls.push(ToolCall { time: event.time, ..call });
        }
    }
}

/// A call as an agent reports it: a free-form object that has at least a name.
fn reported_call(json: &Json) -> Option<ToolCall> {
    let mut value = json.to_value();
    let object = value.as_object_mut()?;
    let text = |names: [&str; 2]| {
        names.iter().find_map(|name| object.get(*name)?.as_str().map(ToOwned::to_owned))
    };
    let name = text(["name", "tool_name"])?;
    let id = text(["id", "tool_call_id"]);
    let error = text(["error", "error_message"]);
    let mut part =
        |name: &str| object.remove(name).filter(|value| !value.is_null()).map(Json::from);
    Some(ToolCall {
        id,
        name,
        arguments: part("arguments"),
        result: part("result"),
        metadata: part("metadata"),
        error,
        completed: true,
        ..ToolCall::default()
    })
}

fn topic_changed(conversation: &mut Conversation, payload: &TopicChanged) {
    conversation.topics.push(TopicVisit {
        topic: payload.to_topic.clone(),
        turn: payload.turn_number,
        trigger: payload.trigger.as_ref().map(ToString::to_string),
    });
    for turn in &mut conversation.turns {
        if turn.number >= payload.turn_number {
            turn.topic = Some(payload.to_topic.clone());
        }
    }
}

fn tool_started(conversation: &mut Conversation, event: &Event, payload: &ToolCallStarted) {
    turn(conversation, payload.turn_number).tool_calls.push(ToolCall {
        id: payload.tool_call_id.clone(),
        name: payload.tool_name.clone(),
        arguments: payload.arguments.clone(),
        time: event.time,
        ..ToolCall::default()
    });
}

fn tool_completed(
    conversation: &mut Conversation,
    event: &Event,
    payload: &ToolCallCompleted,
    detail: Detail,
) {
    let calls = &mut turn(conversation, payload.turn_number).tool_calls;
    let open = calls.iter().position(|call| {
        !call.completed && call.name == payload.tool_name && call.id == payload.tool_call_id
    });
    let place = open.unwrap_or_else(|| {
        calls.push(ToolCall { time: event.time, ..ToolCall::default() });
        calls.len() - 1
    });
    let call = &mut calls[place];
    call.id.clone_from(&payload.tool_call_id);
    call.name.clone_from(&payload.tool_name);
    if payload.arguments.is_some() {
        call.arguments.clone_from(&payload.arguments);
    }
    call.result = detail.only_in_full(&payload.result);
    call.error = detail.only_in_full(&payload.error);
    call.metadata = detail.only_in_full(&payload.metadata);
    call.duration_ms = payload.duration_ms;
    call.completed = true;
}
