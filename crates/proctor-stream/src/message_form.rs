//! The form of one client's messages: flat or `{event, data}`, with progress as it is recorded or after every result.

use std::io;
use std::sync::Arc;

use proctor_events::{Event, EventType, Translator};
use proctor_record::{ProgressCounter, StreamEvent};
use serde_json::{Value, json};

use crate::session::EventCursor;

/// In which form events are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageFormat {
    /// As they are recorded.
    #[default]
    Flat,
    /// The older `{event, data}`.
    Envelope,
}

/// When progress is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgressFrequency {
    /// As it is recorded: now and then, and at the end.
    #[default]
    Coalesced,
    /// After every result.
    Each,
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageOptions {
    /// The form of every message.
    pub format: MessageFormat,
    /// How much progress.
    pub progress: ProgressFrequency,
}

/// The state of one client's messages.
pub(crate) struct MessageForm {
    translator: Option<Box<Translator>>,
    counter: Option<Box<ProgressCounter>>,
}

impl MessageForm {
    /// In the older form results repeat what starts said, and progress counts all results: a client that resumes has had those.
    pub(crate) async fn new(
        options: MessageOptions,
        cursor: &mut impl EventCursor,
    ) -> io::Result<Self> {
        let mut form = Self {
            translator: (options.format == MessageFormat::Envelope).then(Box::default),
            counter: (options.progress == ProgressFrequency::Each).then(Box::default),
        };
        let mut types = Vec::new();
        if form.translator.is_some() || form.counter.is_some() {
            types.push(EventType::ExampleStarted.name());
        }
        if form.counter.is_some() {
            types.extend([EventType::SuiteStarted.name(), EventType::ExampleFinished.name()]);
        }
        if !types.is_empty() {
            for event in cursor.earlier(&types).await? {
                form.messages(&event);
            }
        }
        Ok(form)
    }

    /// The event as the client gets it, and the progress that follows from it.
    pub(crate) fn messages(&mut self, sent: &StreamEvent) -> [Option<Arc<str>>; 2] {
        let Self { translator, counter } = self;
        if translator.is_none() && counter.is_none() {
            return [Some(Arc::clone(&sent.text)), None];
        }
        let Ok(event) = Event::from_json(&sent.text) else {
            // The older form has no place for what is no event.
            return [translator.is_none().then(|| Arc::clone(&sent.text)), None];
        };
        let mut text =
            |event: &Event, recorded: Option<&Arc<str>>| match (translator.as_mut(), recorded) {
                (Some(translator), _) => translator.translate(event).to_string().into(),
                (None, Some(recorded)) => Arc::clone(recorded),
                (None, None) => event.to_json().into(),
            };
        let Some(counter) = counter else { return [Some(text(&event, Some(&sent.text))), None] };
        let recorded_progress = event.body.event_type() == Some(EventType::Progress);
        let progress = counter.apply(&event).map(|progress| {
            let mut derived = Event::new(progress);
            (derived.v, derived.seq, derived.time) = (event.v, event.seq, event.time);
            derived.run_id.clone_from(&event.run_id);
            derived
        });
        // Recorded progress is told where it says something new.
        let event = (!recorded_progress).then(|| text(&event, Some(&sent.text)));
        [event, progress.map(|progress| text(&progress, None))]
    }

    /// A message that is no event of the run.
    pub(crate) fn control(&self, name: &str, seq: u64, mut fields: Value) -> String {
        fields["seq"] = seq.into();
        if self.translator.is_some() {
            return json!({ "event": name, "data": fields }).to_string();
        }
        fields["event_type"] = name.into();
        fields.to_string()
    }
}
