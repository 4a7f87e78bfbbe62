//! Conversations as trajectories in the Agent Trajectory Interchange Format, version 1.7: one per attempt, with the verdict in
//! `extra`.
//!
//! A message of the user is a step, and so is each message of the agent; tools are called by the first message of the agent in the turn that
//! can have called them. Tokens and costs of the agent's own model calls are in the final metrics.

use proctor_events::{Json, Timestamp};
use proctor_record::{AgentMessage, Attempt, Example, ModelUse, RunData, ToolCall, Turn};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The version of the format.
pub const ATIF_VERSION: &str = "ATIF-v1.7";

/// One attempt as a trajectory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trajectory {
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// Names the attempt: example, repetition, attempt.
    pub trajectory_id: String,
    agent: Value,
    steps: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_metrics: Option<Value>,
    extra: Value,
}

/// Every attempt of the run that has at least one message.
pub fn trajectories(run: &RunData) -> Vec<Trajectory> {
    run.examples.iter().flat_map(|example| trajectories_of(run, example)).collect()
}

/// Those of one example of the run.
pub fn trajectories_of(run: &RunData, example: &Example) -> Vec<Trajectory> {
    example.attempts.iter().filter_map(|attempt| trajectory(run, example, attempt)).collect()
}

fn trajectory(run: &RunData, example: &Example, attempt: &Attempt) -> Option<Trajectory> {
    let mut steps = Vec::new();
    for turn in &attempt.conversation.as_ref()?.turns {
        turn_steps(turn, &mut steps);
    }
    if steps.is_empty() {
        return None;
    }
    for (number, step) in (1_u64..).zip(&mut steps) {
        step["step_id"] = json!(number);
    }
    let id = example.id.as_ref().map_or("example", |id| id.as_str());
    Some(Trajectory {
        schema_version: ATIF_VERSION,
        session_id: run.run_id.as_ref().map(ToString::to_string),
        trajectory_id: format!("{id}-{}-{}", attempt.repeat, attempt.attempt),
        agent: agent(attempt),
        final_metrics: Some(final_metrics(attempt, steps.len())),
        steps,
        extra: verdict(example, attempt),
    })
}

fn agent_calls(attempt: &Attempt) -> impl Iterator<Item = &ModelUse> {
    attempt.model_calls.iter().filter(|call| call.purpose.as_deref() == Some("agent"))
}

fn agent(attempt: &Attempt) -> Value {
    let model = agent_calls(attempt).find_map(|call| call.model.clone());
    let mut agent = json!({"name": "agent under test", "version": "unknown"});
    if let Some(model) = model {
        agent["model_name"] = json!(model);
    }
    agent
}

fn turn_steps(turn: &Turn, steps: &mut Vec<Value>) {
    if let Some(user) = &turn.user {
        let mut step = step("user", &user.text, user.time);
        step["extra"] = json!({"turn": turn.number, "source": user.source});
        steps.push(step);
    }
    let first = steps.len();
    steps.extend(turn.responses.iter().map(|message| agent_step(turn, message)));
    if turn.tool_calls.is_empty() {
        return;
    }
    if steps.len() == first {
        // The agent called tools and never got to speak.
        steps.push(step("agent", "", turn.tool_calls[0].time));
    }
    tools(&mut steps[first], turn);
}

fn step(source: &str, message: &str, time: Option<Timestamp>) -> Value {
    let mut step = json!({"step_id": 0, "source": source, "message": message});
    if let Some(time) = time {
        step["timestamp"] = json!(time.to_string());
    }
    step
}

fn agent_step(turn: &Turn, message: &AgentMessage) -> Value {
    let mut step = step("agent", &message.text, message.time);
    let mut extra = Map::new();
    extra.insert("turn".to_owned(), json!(turn.number));
    extra.extend(turn.topic.as_ref().map(|topic| ("topic".to_owned(), json!(topic))));
    extra.extend(message.duration_ms.map(|ms| ("duration_ms".to_owned(), json!(ms))));
    step["extra"] = Value::Object(extra);
    step
}

fn tools(step: &mut Value, turn: &Turn) {
    let id = |place: usize, call: &ToolCall| {
        call.id.clone().unwrap_or_else(|| format!("turn-{}-call-{}", turn.number, place + 1))
    };
    let calls = turn.tool_calls.iter().enumerate().map(|(place, call)| {
        json!({
            "tool_call_id": id(place, call),
            "function_name": call.name,
            "arguments": arguments(call.arguments.as_ref()),
        })
    });
    let results = turn.tool_calls.iter().enumerate().filter(|(_, call)| call.completed).map(
        |(place, call)| {
            let content = match (&call.error, &call.result) {
                (Some(error), _) => error.clone(),
                (None, Some(result)) => result.text().to_owned(),
                (None, None) => String::new(),
            };
            json!({"source_call_id": id(place, call), "content": content})
        },
    );
    step["tool_calls"] = calls.collect();
    let results: Vec<Value> = results.collect();
    if !results.is_empty() {
        step["observation"] = json!({"results": results});
    }
}

/// The format wants an object.
fn arguments(arguments: Option<&Json>) -> Value {
    match arguments.map(Json::to_value) {
        Some(object @ Value::Object(_)) => object,
        None | Some(Value::Null) => json!({}),
        Some(other) => json!({"value": other}),
    }
}

fn final_metrics(attempt: &Attempt, steps: usize) -> Value {
    let mut metrics = json!({"total_steps": steps});
    let sum = |tokens: fn(&ModelUse) -> Option<u64>| {
        let all: Vec<u64> = agent_calls(attempt).filter_map(tokens).collect();
        (!all.is_empty()).then(|| all.iter().sum::<u64>())
    };
    if let Some(tokens) = sum(|call| call.input_tokens) {
        metrics["total_prompt_tokens"] = json!(tokens);
    }
    if let Some(tokens) = sum(|call| call.output_tokens) {
        metrics["total_completion_tokens"] = json!(tokens);
    }
    let costs: Vec<f64> = agent_calls(attempt).filter_map(|call| call.cost_usd).collect();
    if !costs.is_empty() {
        metrics["total_cost_usd"] = json!(costs.iter().sum::<f64>());
    }
    metrics
}

fn verdict(example: &Example, attempt: &Attempt) -> Value {
    let evaluations: Vec<Value> = attempt
        .evaluations
        .iter()
        .map(|evaluation| {
            json!({
                "name": evaluation.name,
                "description": evaluation.description,
                "mode": evaluation.mode,
                "turn": evaluation.turn,
                "passed": evaluation.passed,
                "score": evaluation.score,
                "reasoning": evaluation.reasoning,
            })
        })
        .collect();
    json!({"proctor": {
        "example_id": example.id,
        "title": example.title(),
        "file": example.file,
        "repeat": attempt.repeat,
        "attempt": attempt.attempt,
        "status": attempt.status,
        "fault": attempt.fault,
        "duration_ms": attempt.duration_ms,
        "evaluations": evaluations,
    }})
}

#[cfg(test)]
mod tests;
