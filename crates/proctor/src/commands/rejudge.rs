//! `proctor rejudge`: saved conversations are judged again, without their agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use proctor_converse::{Saved, SavedTalk};
use proctor_dialogue::{AgentAnswer, DoneCall, ToolCall, ToolOutcome};
use proctor_events::{ExampleId, Json, MessageSource};
use proctor_record::{Attempt, Conversation, Example, RunChoice, RunData, Turn};

use super::{recording_path, run};
use crate::cli::talk::RejudgeArguments;
use crate::cli::{Cli, Command, RunArguments};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &RejudgeArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    let loaded = proctor_record::load(&path, &RunChoice::Last).map_err(CommandError::unusable)?;
    let (root, config) = project::open(cli, terminal)?;
    let talks = talks(&loaded.run, &arguments.only);
    if talks.is_empty() {
        return Err(CommandError::unusable(format_args!(
            "{} holds no conversation of a scenario file to judge again",
            path.display()
        )));
    }
    let run_arguments = run_arguments(arguments, &talks, &root)?;
    let saved = talks.into_iter().map(|talk| ((talk.id, talk.repeat), talk.said));
    let saved = Arc::new(Saved::new(saved));
    Ok(run::once(&run_arguments, &root, &config, Some(&saved), terminal)?.code)
}

/// A conversation of the recording.
struct Talk {
    id: ExampleId,
    file: String,
    repeat: u32,
    said: SavedTalk,
}

fn talks(run: &RunData, only: &[String]) -> Vec<Talk> {
    let mut talks = Vec::new();
    for example in run.examples.iter().filter(|e| e.suite.as_deref() == Some("scenario")) {
        let (Some(id), Some(file)) = (&example.id, &example.file) else { continue };
        let wanted = only.is_empty() || only.iter().any(|start| id.as_str().starts_with(start));
        if wanted {
            talks.extend(talks_of(example, id, file));
        }
    }
    talks
}

fn talks_of<'a>(
    example: &'a Example,
    id: &'a ExampleId,
    file: &'a str,
) -> impl Iterator<Item = Talk> + 'a {
    example.deciding_attempts().filter_map(move |attempt: &Attempt| {
        let said = said(attempt.conversation.as_ref()?);
        Some(Talk { id: id.clone(), file: file.to_owned(), repeat: attempt.repeat, said })
    })
}

fn said(conversation: &Conversation) -> SavedTalk {
    let mut talk = SavedTalk::default();
    for turn in &conversation.turns {
        let user = turn.user.as_ref();
        let text = user.map(|user| user.text.clone()).unwrap_or_default();
        if user.is_some_and(|user| user.source == Some(MessageSource::Simulator)) {
            talk.simulated.push(text.clone());
        }
        talk.users.push(text);
        answers(turn, &mut talk);
    }
    talk
}

/// Tools that the host called are those that the agent asked it to; the others it called itself.
fn answers(turn: &Turn, talk: &mut SavedTalk) {
    let mut own: Vec<DoneCall> = Vec::new();
    let asked: Vec<ToolCall> = turn
        .responses
        .iter()
        .flat_map(|response| response.pending_tool_calls.iter().filter_map(pending))
        .collect();
    for call in &turn.tool_calls {
        let id = call.id.clone().unwrap_or_default();
        let result = call.result.as_ref().map(Json::to_value);
        let duration_ms = call.duration_ms.map(proctor_events::Millis::get);
        if asked.iter().any(|asked| asked.id == id) {
            let result = match &call.error {
                Some(error) => Err(error.clone()),
                None => Ok(result.unwrap_or_default()),
            };
            talk.tools.insert(id, ToolOutcome { result, duration_ms });
        } else {
            let arguments = call.arguments.as_ref().map(Json::to_value).unwrap_or_default();
            let (name, error) = (call.name.clone(), call.error.clone());
            own.push(DoneCall {
                call: ToolCall { id, name, arguments },
                result,
                error,
                duration_ms,
            });
        }
    }
    for response in &turn.responses {
        talk.answers.push(AgentAnswer {
            text: response.text.clone(),
            // The recording keeps them by turn; the first answer takes them all.
            tool_calls: std::mem::take(&mut own),
            pending_tool_calls: response.pending_tool_calls.iter().filter_map(pending).collect(),
            metadata: response.metadata.as_ref().map(Json::to_value),
            duration_ms: response.duration_ms.map(proctor_events::Millis::get),
            first_token_ms: response.first_token_ms.map(proctor_events::Millis::get),
            ..AgentAnswer::default()
        });
    }
}

fn pending(json: &Json) -> Option<ToolCall> {
    let call = json.to_value();
    Some(ToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name: call["name"].as_str()?.to_owned(),
        arguments: call["arguments"].clone(),
    })
}

/// The arguments of `proctor run` that conduct just these conversations.
fn run_arguments(
    arguments: &RejudgeArguments,
    talks: &[Talk],
    root: &Path,
) -> Result<RunArguments, CommandError> {
    let files: BTreeSet<String> =
        talks.iter().map(|talk| root.join(&talk.file).to_string_lossy().into_owned()).collect();
    let words = ["proctor", "run"].into_iter().chain(files.iter().map(String::as_str));
    let parsed = Cli::try_parse_from(words).map_err(CommandError::unusable)?;
    let Command::Run(mut run) = parsed.command else {
        return Err(CommandError::unusable("cannot put a run together; this is a bug in proctor"));
    };
    let ids: BTreeSet<&str> = talks.iter().map(|talk| talk.id.as_str()).collect();
    run.selection.stable_id = ids.into_iter().map(str::to_owned).collect();
    run.repeat = talks.iter().map(|talk| talk.repeat).max();
    run.ui = arguments.ui;
    run.talk = arguments.talk.clone();
    Ok(*run)
}
