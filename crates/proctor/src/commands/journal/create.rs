//! create: begins an entry.

use clap::Args;
use proctor_journal::capture::Expectation;
use proctor_journal::{Domain, Draft, Entry, Strategy};
use proctor_text::shorten;
use serde::Serialize;

use super::context::{JournalContext, now, print_warnings};
use super::edit::refuse_blank;
use super::entry_text::{Changed, status as entry_status};
use super::values::{domain, expectation, strategy, text};
use crate::cli::Format;
use crate::commands::journal::values::Printed;
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal create --domain debugging --strategy read-the-error \\
      --goal 'the login spec passes again' --hypothesis 'the session cookie is not sent' \\
      --action 'set SameSite=Lax' --prediction 'login_spec.rb:12 passes' \\
      --expect pass --confidence 0.8

Answers with the entry's id and at most three similar entries of the past. Only one entry can be active in a \
lane. An expectation stated here and met by a later `proctor journal run` is gold.")]
pub(crate) struct CreateArguments {
    /// The kind of work
    #[arg(short, long, value_name = "DOMAIN", value_parser = domain())]
    pub(crate) domain: Domain,

    /// The approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Strategy,

    /// What is to be reached; it never changes
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) goal: String,

    /// What you believe
    #[arg(short = 'H', long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) hypothesis: String,

    /// What you do about it
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) action: String,

    /// What you will see if the belief is right
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) prediction: String,

    /// The probability that the prediction comes true, from 0 to 1
    #[arg(short, long, value_name = "P")]
    pub(crate) confidence: Option<f64>,

    /// What a run will do: pass, fail (counted tests), exit:N or match:RE
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// How many similar entries of the past a new one is answered with.
const SIMILAR: usize = 3;

#[derive(Serialize)]
struct Created<'a> {
    #[serde(flatten)]
    changed: Changed<'a>,
    similar: Vec<Similar<'a>>,
}

/// A past entry, in as few words as are useful.
#[derive(Serialize)]
struct Similar<'a> {
    id: &'a str,
    status: &'static str,
    goal: &'a str,
    hypothesis: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    surprise: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lesson: Option<&'a str>,
}

impl<'a> Similar<'a> {
    fn new(entry: &'a Entry) -> Self {
        let lesson = entry.lesson.as_ref();
        Self {
            id: &entry.id,
            status: entry_status(entry),
            goal: &entry.goal,
            hypothesis: &entry.hypothesis,
            surprise: entry.surprise.as_deref(),
            lesson: lesson.map(|l| l.takeaway.as_deref().unwrap_or(&l.what_worked)),
        }
    }

    fn text(&self) -> String {
        let mut text =
            format!("  {} {}: {}\n", shorten(self.id, 128), self.status, shorten(self.goal, 100));
        text += &format!("    thought: {}\n", shorten(self.hypothesis, 120));
        for (name, words) in [("surprise", self.surprise), ("lesson", self.lesson)] {
            if let Some(words) = words {
                text += &format!("    {name}: {}\n", shorten(words, 120));
            }
        }
        text
    }
}

pub(super) fn run(
    arguments: &CreateArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let draft = Draft {
        goal: arguments.goal.clone(),
        hypothesis: arguments.hypothesis.clone(),
        action: arguments.action.clone(),
        prediction: arguments.prediction.clone(),
        confidence: arguments.confidence,
        expectation: arguments.expect.clone(),
        ..Draft::new(arguments.domain, arguments.strategy)
    };
    refuse_blank(draft.blank_field())?;
    join_host_session(context)?;
    let created = context.journal.create(draft, &now())?;
    print_warnings(&created.warnings, terminal);
    // The entry is made; that nothing can be recalled must not look as if it were not.
    let similar = match context.journal.take_unshown_similar(&created.value, SIMILAR, &now()) {
        Ok(similar) => similar.value,
        Err(error) => {
            terminal.warn(&format!("similar entries cannot be looked up: {error}"));
            Vec::new()
        }
    };
    let changed = Changed::new(&created.value, context.journal.lane_name(), &created.warnings);
    let similar = similar.iter().map(Similar::new).collect();
    let created = Created { changed, similar };
    match arguments.printed.format {
        Format::Json => terminal.json(&created),
        Format::Text => terminal.print(&created_text(&created)),
    }
}

fn created_text(created: &Created<'_>) -> String {
    let mut text = format!("created {}\n", created.changed.id);
    if !created.similar.is_empty() {
        text += "similar entries of the past:\n";
        text.extend(created.similar.iter().map(Similar::text));
    }
    text
}

/// The first entry of an agent's session belongs to the session that its host names.
fn join_host_session(context: &JournalContext) -> Result<(), CommandError> {
    if context.journal.session_id()?.is_some() {
        return Ok(());
    }
    match env_vars::CLAUDE_CODE_SESSION_ID.get() {
        Some(id) => {
            context.journal.start_session(Some(&id), &now()).map(drop).map_err(CommandError::from)
        }
        None => Ok(()),
    }
}
