//! A model that fills what is left: one of `[models]` in proctor.toml, recorded to or replayed from a cassette.

use std::path::Path;
use std::time::Instant;

use proctor_converse::{Cassette, SingleModel, SingleModelSetup, model_call};
use proctor_cover::{
    Answer, FillError, FillRequest, Filler, PromptMessage, SYSTEM_PROMPT, prompt_messages,
    read_model_answer,
};
use proctor_events::{Bus, Event};
use proctor_llm::{Message, Purpose, ReplayMode, Request};
use proctor_process::Guard;

use crate::commands::cover::arguments::CoverArguments;
use crate::commands::{own_guard, own_program, scenarios};
use crate::config::Config;
use crate::error::CommandError;
use crate::secrets;

/// The model behind `--model`.
pub(super) struct ModelFiller {
    model: SingleModel,
    runtime: tokio::runtime::Runtime,
    bus: Bus,
}

impl ModelFiller {
    /// The model that the arguments name.
    pub(super) fn open(
        arguments: &CoverArguments,
        config: &Config,
        root: &Path,
        bus: &Bus,
    ) -> Result<Option<Self>, CommandError> {
        let Some(name) = &arguments.model else {
            if arguments.replay.is_some() || arguments.record.is_some() {
                return Err(CommandError::usage("--record and --replay are about a model")
                    .hint("name it with --model"));
            }
            return Ok(None);
        };
        let known = &config.conversations.models;
        let fields = known.get(name).ok_or_else(|| {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            let error = CommandError::usage(format_args!(
                "--model {name}: there is no [models.{name}] in proctor.toml"
            ));
            if names.is_empty() {
                error.hint("describe one, for example: [models.writer] command = \"claude -p\"")
            } else {
                error.hint(format!("there are: {}", names.join(", ")))
            }
        })?;
        let program = own_program()?;
        let setup = SingleModelSetup {
            root: root.to_owned(),
            bin: program.parent().unwrap_or(root).to_owned(),
            guard: Guard::Program(own_guard()?),
            environment: scenarios::environment(),
            pass_env: config.conversations.how.pass_env.clone(),
            budget_usd: arguments.budget.or(config.conversations.how.budget_usd),
            cassette: match (&arguments.record, &arguments.replay) {
                (Some(path), _) => Cassette::Record(path.clone()),
                (None, Some(path)) => Cassette::Replay(path.clone(), ReplayMode::Sequence),
                (None, None) => Cassette::Off,
            },
            redactor: secrets::redactor().clone(),
            seed: u64::from(std::process::id()),
        };
        let model = SingleModel::open(name, fields, setup).map_err(|failure| {
            CommandError::configuration(format_args!("--model {name}: {}", failure.message))
        })?;
        let runtime = crate::commands::agent_tools::runtime()?;
        Ok(Some(Self { model, runtime, bus: bus.clone() }))
    }
}

impl Filler for ModelFiller {
    fn fill(&self, request: &FillRequest<'_>) -> Result<Answer, FillError> {
        let SingleModel { model, max_tokens, temperature } = &self.model;
        let messages = prompt_messages(request).into_iter().map(|message| match message {
            PromptMessage::User(text) => Message::user(text),
            PromptMessage::Model(text) => Message::assistant(text),
        });
        let asked = Request {
            system: Some(SYSTEM_PROMPT.to_owned()),
            messages: messages.collect(),
            max_tokens: Some(*max_tokens),
            temperature: *temperature,
            purpose: Purpose::Other,
            label: "cover".to_owned(),
            conversation: request.item.id.clone(),
            ..Request::default()
        };
        let started = Instant::now();
        let outcome = self.runtime.block_on(model.ask(&asked));
        let mut call = model_call(&**model, Purpose::Other, &outcome, started.elapsed());
        call.purpose = Some("cover".to_owned());
        self.bus.publish(Event::new(*call));
        outcome
            .map(|answer| read_model_answer(&answer.text))
            .map_err(|error| FillError { source: error.into() })
    }

    fn name(&self) -> String {
        self.model.model.identity().model.clone()
    }
}
