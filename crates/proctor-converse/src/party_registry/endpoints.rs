//! From `model:` of an agent to what answers its calls.

use std::path::PathBuf;
use std::sync::Arc;

use proctor_dialogue::{
    AgentFields, EndpointFault, Example, ModelAnswer, ModelEndpoint, ModelSpec, OnDrift, PartySpecs,
};
use proctor_endpoint::{
    Applies, CallRequested, Fault, Forward, OnDrift as ReplayDrift, Recording, Replay, Script,
    ScriptItem, ScriptedAnswer, Source,
};
use proctor_llm::Usage;
use proctor_llm::cassette::Tape;
use serde_json::{Value, json};

use super::placeholder_values::PlaceholderValues;
use super::{PartyBuilder, Role, models};
use crate::agent::{EndpointHost, EndpointNotes, MakeSource};
use crate::attempt_id::AttemptId;
use crate::failure::Failure;

/// What the endpoints of an agent's conversations are made with.
#[derive(Clone)]
pub(super) struct EndpointParts {
    pub(super) make_source: MakeSource,
    pub(super) faults: Vec<Fault>,
    pub(super) host: Arc<EndpointHost>,
    pub(super) notes: Arc<EndpointNotes>,
}

/// What is done with a tape.
enum TapeUse {
    Record(Arc<Forward>),
    Replay,
}

/// The agent with the endpoint that its group or example gives it, and with the real model in place of its name: the same name may stand
/// for another model elsewhere.
pub(super) fn with_endpoint(
    builder: &mut PartyBuilder<'_>,
    fields: &AgentFields,
    specs: &PartySpecs,
    example: &Example,
) -> Result<AgentFields, Failure> {
    let mut fields = fields.clone();
    if let Some(given) = &specs.agent_model {
        fields.model = Some(Box::new(given.value.clone()));
    }
    let records = builder.settings.record_tapes;
    if let Some(model) = &mut fields.model
        && (model.forward.is_some()
            || model.record.is_some()
            || (records && model.replay.is_some()))
    {
        let place = specs.agent_model.as_ref().map(|at| at.place);
        let place = place.or(specs.agent.as_ref().map(|at| at.place)).unwrap_or_default();
        let spec = model.forward.take().map(|value| proctor_dialogue::At { value, place });
        let (real, _) = builder.find_model(spec.as_ref(), Role::Agent, specs, example)?;
        model.forward = Some(ModelSpec::from(real.clone()));
    }
    Ok(fields)
}

/// What answers in the conversations of this agent.
pub(super) fn endpoint_parts(
    builder: &PartyBuilder<'_>,
    model: &ModelEndpoint,
    placeholders: &PlaceholderValues,
) -> Result<EndpointParts, Failure> {
    let shared = &builder.settings.shared;
    Ok(EndpointParts {
        make_source: make_source(builder, model, placeholders)?,
        faults: model.faults.iter().map(fault).collect(),
        host: shared.endpoint_host(),
        notes: shared.endpoint_notes(),
    })
}

fn make_source(
    builder: &PartyBuilder<'_>,
    model: &ModelEndpoint,
    placeholders: &PlaceholderValues,
) -> Result<MakeSource, Failure> {
    if let Some(answers) = &model.script {
        let items: Vec<ScriptItem> = answers.iter().map(script_item).collect();
        return Ok(Arc::new(move |_: &AttemptId| Source::Script(Script::new(items.clone()))));
    }
    let forward = || match &model.forward {
        Some(ModelSpec::Given(fields)) => {
            let make = || models::forward(fields, placeholders, &builder.common_with_price(fields));
            builder.settings.shared.forward(fields, &placeholders.here, make)
        }
        _ => Err(Failure::harness(
            "the real model of `model:` is not known; this is a bug in proctor",
        )),
    };
    let (file, used) = match (&model.record, &model.replay) {
        (Some(file), _) => (file, TapeUse::Record(forward()?)),
        (None, Some(file)) if builder.settings.record_tapes => (file, TapeUse::Record(forward()?)),
        (None, Some(file)) => (file, TapeUse::Replay),
        (None, None) => {
            let forward = forward()?;
            return Ok(Arc::new(move |_: &AttemptId| Source::Forward(Arc::clone(&forward))));
        }
    };
    let path = placeholders.root.join(PathBuf::from(placeholders.text(file)?));
    let may_be_new = matches!(used, TapeUse::Record(_));
    let tape = builder.settings.shared.tape(&path, may_be_new)?;
    let source: MakeSource = match used {
        TapeUse::Record(forward) => Arc::new(move |attempt_id: &AttemptId| {
            let recording = Recording::new(Arc::clone(&tape), conversation(attempt_id));
            Source::Record(Arc::clone(&forward), recording)
        }),
        TapeUse::Replay => replay(tape, model),
    };
    Ok(source)
}

/// Attempts at the same example record to the same place; only repeats differ.
fn conversation(attempt_id: &AttemptId) -> String {
    format!("{}.{}", attempt_id.example, attempt_id.repeat)
}

fn replay(tape: Arc<Tape>, model: &ModelEndpoint) -> MakeSource {
    let ignore = model.ignore.clone();
    let on_drift = match model.on_drift {
        None | Some(OnDrift::Fail) => ReplayDrift::Fail,
        Some(OnDrift::Report) => ReplayDrift::Report,
    };
    Arc::new(move |attempt_id: &AttemptId| {
        // A repeat that was not recorded has the answers of the first.
        let first = format!("{}.1", attempt_id.example);
        let names = [conversation(attempt_id), first];
        Source::Replay(Replay::new(Arc::clone(&tape), &names, ignore.clone(), on_drift))
    })
}

fn script_item(answer: &ModelAnswer) -> ScriptItem {
    let tool_calls = answer.tool_calls.iter().map(|call| CallRequested {
        id: call.id.clone().unwrap_or_default(),
        name: call.name.clone(),
        arguments: Value::Object(call.arguments.clone()),
    });
    let usage = answer.usage.map(|usage| Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        ..Usage::default()
    });
    let when = answer.when.clone();
    ScriptItem {
        answer: ScriptedAnswer {
            text: answer.text.clone(),
            tool_calls: tool_calls.collect(),
            usage,
        },
        applies: when.map(|when| Arc::new(move |prompt: &str| when.occurs_in(prompt)) as Applies),
        times: answer.times.map_or(1, std::num::NonZeroU32::get),
    }
}

fn fault(fault: &EndpointFault) -> Fault {
    match *fault {
        EndpointFault::None => Fault::None,
        EndpointFault::Status(status, after) => Fault::Status(status, after.map(|span| span.0)),
        EndpointFault::Timeout => Fault::Timeout,
        EndpointFault::CutStream => Fault::CutStream,
        EndpointFault::Malformed => Fault::Malformed,
        EndpointFault::Slow(span) => Fault::Slow(span.0),
    }
}

/// An endpoint as cassettes keep it.
pub(super) fn described(model: &ModelEndpoint) -> Value {
    let script = model.script.as_ref().map(|answers| {
        let answer = |answer: &ModelAnswer| {
            let calls: Vec<Value> = answer
                .tool_calls
                .iter()
                .map(|call| json!([call.name, call.arguments, call.id]))
                .collect();
            let when = answer.when.as_ref().map(ToString::to_string);
            json!([answer.text, calls, when, answer.times])
        };
        answers.iter().map(answer).collect::<Value>()
    });
    let forward = model.forward.as_ref().and_then(|spec| match spec {
        ModelSpec::Named(name) => Some(name.clone()),
        ModelSpec::Given(fields) => fields.openai.clone().or_else(|| fields.anthropic.clone()),
    });
    let faults: Vec<String> = model.faults.iter().map(|fault| format!("{fault:?}")).collect();
    json!([script, model.record, model.replay, forward, faults])
}
