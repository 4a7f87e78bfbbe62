//! create, update, resolve, abandon, annotate: what changes an entry.

use proctor_journal::{Annotation, Answer, Change, Draft, Entry, Lesson, Resolution, RootCause};
use serde::Serialize;

use super::desk::{Desk, now, say};
use super::errors::refused;
use super::show::{Changed, brief, status};
use crate::cli::Format;
use crate::cli::journal::{
    AbandonArguments, AnnotateArguments, CreateArguments, Learned, ResolveArguments,
    UpdateArguments,
};
use crate::env_vars;
use crate::error::CommandError;
use crate::terminal::Terminal;

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
            status: status(entry),
            goal: &entry.goal,
            hypothesis: &entry.hypothesis,
            surprise: entry.surprise.as_deref(),
            lesson: lesson.map(|l| l.takeaway.as_deref().unwrap_or(&l.what_worked)),
        }
    }

    fn text(&self) -> String {
        let mut text =
            format!("  {} {}: {}\n", brief(self.id, 128), self.status, brief(self.goal, 100));
        text += &format!("    thought: {}\n", brief(self.hypothesis, 120));
        for (name, words) in [("surprise", self.surprise), ("lesson", self.lesson)] {
            if let Some(words) = words {
                text += &format!("    {name}: {}\n", brief(words, 120));
            }
        }
        text
    }
}

pub(super) fn create(
    arguments: &CreateArguments,
    desk: &Desk,
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
    join_host_session(desk)?;
    let created = desk.journal.create(draft, &now()).map_err(refused)?;
    say(&created.warnings, terminal);
    // The entry is made; that nothing can be recalled must not look as if it were not.
    let similar = match desk.journal.recall(&created.value, SIMILAR, &now()) {
        Ok(similar) => similar.value,
        Err(error) => {
            terminal.warn(&format!("similar entries cannot be looked up: {error}"));
            Vec::new()
        }
    };
    let changed = Changed::new(&created.value, desk.journal.lane_name(), &created.warnings);
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
fn join_host_session(desk: &Desk) -> Result<(), CommandError> {
    if desk.journal.session_id().map_err(refused)?.is_some() {
        return Ok(());
    }
    match env_vars::CLAUDE_CODE_SESSION_ID.get() {
        Some(id) => desk.journal.start_session(Some(&id), &now()).map(drop).map_err(refused),
        None => Ok(()),
    }
}

pub(super) fn update(
    arguments: &UpdateArguments,
    desk: &Desk,
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
    let updated = desk.journal.update(change, &now());
    answer(updated, "updated", desk, arguments.printed.format, terminal)
}

pub(super) fn resolve(
    arguments: &ResolveArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let learned = &arguments.learned;
    let resolution = Resolution {
        surprise: learned.surprise.clone(),
        root_cause: root_cause(learned),
        lesson: lesson(learned),
        ..Resolution::new(arguments.status, &arguments.result)
    };
    let resolved = desk.journal.resolve(resolution, &now());
    answer(resolved, arguments.status.as_str(), desk, arguments.printed.format, terminal)
}

pub(super) fn abandon(
    arguments: &AbandonArguments,
    desk: &Desk,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let abandoned = desk.journal.abandon(&arguments.reason, &now());
    answer(abandoned, "abandoned", desk, arguments.printed.format, terminal)
}

pub(super) fn annotate(
    arguments: &AnnotateArguments,
    desk: &Desk,
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
    let annotated = desk.journal.annotate(&arguments.id, annotation, &now());
    answer(annotated, "annotated", desk, arguments.printed.format, terminal)
}

fn root_cause(learned: &Learned) -> Option<RootCause> {
    let (category, description) = (learned.root_cause.as_ref()?, learned.because.as_ref()?);
    Some(RootCause::new(category, description))
}

fn lesson(learned: &Learned) -> Option<Lesson> {
    Some(Lesson::new(learned.lesson.as_ref()?, learned.takeaway.clone()))
}

fn refuse_blank(field: Option<&'static str>) -> Result<(), CommandError> {
    match field {
        None => Ok(()),
        Some(field) => Err(CommandError::unusable(format_args!("the {field} is blank"))
            .hint(format!("say in a sentence what the {field} is"))),
    }
}

fn nothing_to_change(example: &str) -> CommandError {
    CommandError::unusable("nothing was given to change").hint(format!("for example `{example}`"))
}

/// Says what happened to an entry.
fn answer(
    done: Answer<Entry>,
    verb: &str,
    desk: &Desk,
    format: Format,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let done = done.map_err(refused)?;
    say(&done.warnings, terminal);
    let changed = Changed::new(&done.value, desk.journal.lane_name(), &done.warnings);
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
            "nobody has explained it yet: `proctor journal annotate {} --surprise TEXT --root-cause WORD --because TEXT`\n",
            changed.id
        );
    }
    text
}
