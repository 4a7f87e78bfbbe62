//! The conversations of a recording, as they are needed to judge them again without their agents.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use proctor_converse::{AttemptId, SavedConversation, SavedConversationBuilder};
use proctor_events::{Body, Event, ExampleFinished, ExampleId};
use proctor_record::{Entry, Reader, RunData, RunSplitter};

/// A conversation of a recording.
pub struct RecordedConversation {
    /// The attempt it belongs to.
    pub attempt_id: AttemptId,
    /// The scenario file, relative to the project's root.
    pub file: String,
    /// What was said, and how it ended.
    pub said: SavedConversation,
}

/// The conversations of scenario files in the last run of a recording, in their order; only of examples whose id begins with one
/// of `only`, unless that is empty.
pub fn recorded_conversations(
    path: &Path,
    run: &RunData,
    only: &[String],
) -> io::Result<Vec<RecordedConversation>> {
    let files: HashMap<&ExampleId, &str> = run
        .examples
        .iter()
        .filter(|example| example.suite.as_deref() == Some("scenario"))
        .filter_map(|example| Some((example.id.as_ref()?, example.file.as_deref()?)))
        .filter(|(id, _)| {
            only.is_empty() || only.iter().any(|start| id.as_str().starts_with(start))
        })
        .collect();
    let mut open: HashMap<AttemptId, SavedConversationBuilder> = HashMap::new();
    let mut order: Vec<AttemptId> = Vec::new();
    let mut ended: HashMap<AttemptId, ExampleFinished> = HashMap::new();
    for event in last_run(path)? {
        let Some(attempt_id) =
            attempt_of(&event).filter(|attempt_id| files.contains_key(&attempt_id.example))
        else {
            continue;
        };
        match event.body {
            Body::ExampleFinished(finished) => drop(ended.insert(attempt_id, finished)),
            Body::UserMessage(_) if !open.contains_key(&attempt_id) => {
                order.push(attempt_id.clone());
                open.entry(attempt_id).or_default().add(&event.body);
            }
            body => {
                if let Some(conversation) = open.get_mut(&attempt_id) {
                    conversation.add(&body);
                }
            }
        }
    }
    let conversations = order.into_iter().filter_map(|attempt_id| {
        let said = open.remove(&attempt_id)?.finish(ended.get(&attempt_id));
        let file = (*files.get(&attempt_id.example)?).to_owned();
        Some(RecordedConversation { attempt_id, file, said })
    });
    Ok(conversations.collect())
}

/// Which attempt an event belongs to.
fn attempt_of(event: &Event) -> Option<AttemptId> {
    let (repeat, attempt) = (event.repeat.unwrap_or(1), event.attempt.unwrap_or(1));
    Some(AttemptId { example: event.example_id.clone()?, repeat, attempt })
}

/// The events of the last run in a file.
fn last_run(path: &Path) -> io::Result<Vec<Event>> {
    let mut splitter = RunSplitter::default();
    let mut events = Vec::new();
    let mut newest = 0;
    for entry in Reader::open(path)? {
        let Entry::Event { event, .. } = entry else { continue };
        let (begins, place) = splitter.place(&event);
        if begins.is_some() {
            events.clear();
            newest = place;
        }
        if place == newest {
            events.push(*event);
        }
    }
    Ok(events)
}
