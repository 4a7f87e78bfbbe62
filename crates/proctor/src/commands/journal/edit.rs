//! update, resolve, abandon, annotate: what changes an entry that is there.

use clap::Args;
use proctor_journal::capture::Expectation;
use proctor_journal::{
    Annotation, Change, Entry, JournalResult, Lesson, OutcomeStatus, Resolution, RootCause,
    Strategy,
};

use super::context::{JournalContext, now, print_warnings};
use super::entry_text::Changed;
use super::values::{expectation, status, strategy, text};
use crate::cli::Format;
use crate::commands::journal::values::Printed;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal update --hypothesis 'the cookie goes to the wrong host' --note 'seen in the log'

A different hypothesis, action or prediction is a new iteration; strategy, note, confidence and expectation alone \
are not. Goal and domain never change: abandon the entry and create another.")]
pub(crate) struct UpdateArguments {
    /// What you believe now
    #[arg(short = 'H', long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) hypothesis: Option<String>,

    /// What you do about it
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) action: Option<String>,

    /// What you will see if the belief is right
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) prediction: Option<String>,

    /// The approach
    #[arg(short, long, value_name = "STRATEGY", value_parser = strategy())]
    pub(crate) strategy: Option<Strategy>,

    /// A remark to append
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) note: Option<String>,

    /// The probability that the prediction comes true, from 0 to 1
    #[arg(short, long, value_name = "P")]
    pub(crate) confidence: Option<f64>,

    /// What the next run will do: pass, fail, exit:N or match:RE
    #[arg(short, long, value_name = "EXPECT", value_parser = expectation)]
    pub(crate) expect: Option<Expectation>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

/// What was learned.
#[derive(Debug, Args)]
pub(crate) struct Learned {
    /// What was unexpected
    #[arg(long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) surprise: Option<String>,

    /// Why the prediction failed, in a word: wrong-assumption, missing-knowledge, oversight, environment-issue,
    /// misleading-symptom, incomplete-fix, wrong-scope, test-isolation, timing-issue, or your own
    #[arg(long, value_name = "WORD", value_parser = text(), allow_hyphen_values = true, requires = "because")]
    pub(crate) root_cause: Option<String>,

    /// The root cause in a sentence
    #[arg(long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true, requires = "root_cause")]
    pub(crate) because: Option<String>,

    /// What worked in the end
    #[arg(long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) lesson: Option<String>,

    /// The general rule
    #[arg(long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true, requires = "lesson")]
    pub(crate) takeaway: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal resolve confirmed --result 'ten of ten in random order'
  proctor journal resolve falsified --result 'still red' --surprise 'the cookie was never set' \\
      --root-cause wrong-assumption --because 'the test client drops secure cookies' \\
      --lesson 'log the headers first' --takeaway 'look at the wire before the code'

Resolved by hand an entry is silver. `proctor journal run` lets a command decide, which is gold.")]
pub(crate) struct ResolveArguments {
    /// How it ended
    #[arg(value_parser = status())]
    pub(crate) status: OutcomeStatus,

    /// What happened
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) result: String,

    #[command(flatten)]
    pub(crate) learned: Learned,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal abandon 'the feature was dropped'")]
pub(crate) struct AbandonArguments {
    /// Why
    #[arg(value_parser = text(), allow_hyphen_values = true)]
    pub(crate) reason: String,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  proctor journal annotate a1b2c3 --surprise 'the suite loads the file twice' \\
      --root-cause misleading-symptom --because 'the error named the second load'
  proctor journal list --needs-annotation      falsified entries without an annotation

Later values replace earlier ones; notes are added.")]
pub(crate) struct AnnotateArguments {
    /// The entry's id, or enough of its start or end
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) learned: Learned,

    /// A remark to append
    #[arg(short, long, value_name = "TEXT", value_parser = text(), allow_hyphen_values = true)]
    pub(crate) note: Option<String>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

pub(super) fn update(
    arguments: &UpdateArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let change = Change {
        hypothesis: arguments.hypothesis.clone(),
        action: arguments.action.clone(),
        prediction: arguments.prediction.clone(),
        strategy: arguments.strategy,
        note: arguments.note.clone(),
        confidence: arguments.confidence,
        expectation: arguments.expect.clone(),
    };
    if change.is_empty() {
        return Err(nothing_to_change("proctor journal update --note TEXT"));
    }
    refuse_blank(change.blank_field())?;
    let updated = context.journal.update(change, &now());
    answer(updated, "updated", context, arguments.printed.format, terminal)
}

pub(super) fn resolve(
    arguments: &ResolveArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let learned = &arguments.learned;
    let resolution = Resolution {
        surprise: learned.surprise.clone(),
        root_cause: root_cause(learned),
        lesson: lesson(learned),
        ..Resolution::new(arguments.status, &arguments.result)
    };
    let resolved = context.journal.resolve(resolution, &now());
    answer(resolved, arguments.status.as_str(), context, arguments.printed.format, terminal)
}

pub(super) fn abandon(
    arguments: &AbandonArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let abandoned = context.journal.abandon(&arguments.reason, &now());
    answer(abandoned, "abandoned", context, arguments.printed.format, terminal)
}

pub(super) fn annotate(
    arguments: &AnnotateArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let annotation = Annotation {
        surprise: arguments.learned.surprise.clone(),
        root_cause: root_cause(&arguments.learned),
        lesson: lesson(&arguments.learned),
        note: arguments.note.clone(),
    };
    if annotation.is_empty() {
        return Err(nothing_to_change("proctor journal annotate ID --surprise TEXT"));
    }
    let annotated = context.journal.annotate(&arguments.id, annotation, &now());
    answer(annotated, "annotated", context, arguments.printed.format, terminal)
}

fn root_cause(learned: &Learned) -> Option<RootCause> {
    let (category, description) = (learned.root_cause.as_ref()?, learned.because.as_ref()?);
    Some(RootCause::new(category, description))
}

fn lesson(learned: &Learned) -> Option<Lesson> {
    Some(Lesson::new(learned.lesson.as_ref()?, learned.takeaway.clone()))
}

pub(super) fn refuse_blank(field: Option<&'static str>) -> Result<(), CommandError> {
    match field {
        None => Ok(()),
        Some(field) => Err(CommandError::usage(format_args!("the {field} is blank"))
            .hint(format!("say in a sentence what the {field} is"))),
    }
}

fn nothing_to_change(example: &str) -> CommandError {
    CommandError::usage("nothing was given to change").hint(format!("for example `{example}`"))
}

/// Says what happened to an entry.
fn answer(
    done: JournalResult<Entry>,
    verb: &str,
    context: &JournalContext,
    format: Format,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let done = done?;
    print_warnings(&done.warnings, terminal);
    let changed = Changed::new(&done.value, context.journal.lane_name(), &done.warnings);
    match format {
        Format::Json => terminal.json(&changed),
        Format::Text => terminal.print(&changed_text(&changed, verb)),
    }
}

pub(super) fn changed_text(changed: &Changed<'_>, verb: &str) -> String {
    let tier = changed.tier.map(|tier| format!(", {tier}")).unwrap_or_default();
    let mut text = format!("{verb} {} (iteration {}{tier})\n", changed.id, changed.iteration);
    if changed.needs_annotation {
        text += &format!(
            "the entry has no annotation yet: `proctor journal annotate {} --surprise TEXT --root-cause WORD --because TEXT`\n",
            changed.id
        );
    }
    text
}
