//! `proctor rejudge`: saved conversations are judged again, without their agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser as _};
use proctor_converse::SavedConversations;
use proctor_record::RunChoice;
use proctor_runner::{RecordedConversation, recorded_conversations};
use proctor_tui::CanRunAgain;
use proctor_verdict::Policy;

use super::{recording_path, run};
use crate::cli::{Cli, Command};
use crate::commands::RECORDING_HELP;
use crate::commands::run::arguments::{RunArguments, Tolerance, UiChoice, Unchecked};
use crate::commands::run::conversations::ConversationArguments;
use crate::error::{CommandError, Kind};
use crate::project;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
The conversations are taken from the recording: no agent, no simulated user and no tool is asked, only the judge. What is
expected is what the scenario files say now. The result is a run of its own: compare it with `proctor compare`.
Examples:
  proctor rejudge last
  proctor rejudge last~2 --only a3f2")]
pub(crate) struct RejudgeArguments {
    #[arg(help = RECORDING_HELP, default_value = "last")]
    pub(crate) recording: String,

    /// Only examples whose stable id begins with this
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,

    /// How to show the run [default: by terminal, CI and coding agent]
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) ui: Option<UiChoice>,

    #[command(flatten)]
    pub(crate) conversation: ConversationArguments,
}

pub(crate) fn run(
    arguments: &RejudgeArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let path = recording_path(&arguments.recording, cli)?;
    let loaded = proctor_record::load(&path, &RunChoice::Last)?;
    let (root, config) = project::open(cli, terminal)?;
    let conversations = recorded_conversations(&path, &loaded.run, &arguments.only)
        .map_err(|error| CommandError::io("read", &path, error))?;
    if conversations.is_empty() {
        return Err(CommandError::input(format_args!(
            "{} holds no conversation of a scenario file to judge again",
            path.display()
        )));
    }
    let mut run_arguments = run_arguments(arguments, &conversations, &root)?;
    keep_policy(&mut run_arguments, loaded.run.policy);
    let saved = Arc::new(SavedConversations::new(
        conversations.into_iter().map(|conversation| (conversation.attempt_id, conversation.said)),
    ));
    run_arguments.retries = Some(saved.most_attempts() - 1);
    let mut ended = run::run_once(&run_arguments, &root, &config, Some(&saved), terminal)?;
    ended.review(CanRunAgain::No)?;
    Ok(ended.code)
}

/// What the recorded run tolerated and refused holds for the new one: only what is judged otherwise may change its verdict.
fn keep_policy(run: &mut RunArguments, policy: Policy) {
    let tolerance = |fails| if fails { Tolerance::Fail } else { Tolerance::Ok };
    run.flaky = tolerance(policy.flaky_fails);
    run.inconclusive = tolerance(policy.inconclusive_fails);
    run.unchecked = if policy.unchecked_fails { Unchecked::Fail } else { Unchecked::Warn };
}

/// The arguments of `proctor run` that conduct just these conversations.
fn run_arguments(
    arguments: &RejudgeArguments,
    conversations: &[RecordedConversation],
    root: &Path,
) -> Result<RunArguments, CommandError> {
    let files: BTreeSet<String> = conversations
        .iter()
        .map(|conversation| root.join(&conversation.file).to_string_lossy().into_owned())
        .collect();
    let words = ["proctor", "run"].into_iter().chain(files.iter().map(String::as_str));
    let parsed =
        Cli::try_parse_from(words).map_err(|error| CommandError::caused(Kind::Bug, error))?;
    let Command::Run(mut run) = parsed.command else {
        return Err(CommandError::bug("cannot assemble the run; this is a bug in proctor"));
    };
    let ids: BTreeSet<&str> =
        conversations.iter().map(|conversation| conversation.attempt_id.example.as_str()).collect();
    run.selection.stable_id = ids.into_iter().map(str::to_owned).collect();
    run.ui = arguments.ui;
    run.conversation = arguments.conversation.clone();
    Ok(*run)
}
