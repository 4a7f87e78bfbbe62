//! What the conversations of a run share: descriptions that were read once, and the stages of their parties.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Ended, Parties, Settings, Stage};
use proctor_dialogue::{Cast, OpenEnded, Whereabouts};
use proctor_process::protocol::{ReplyError, code};

/// How many descriptions are remembered; groups of a suite have one each, most of them the same.
const REMEMBERED: usize = 1024;

/// The parties of a run's conversations.
pub struct ConversationHost {
    settings: Settings,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    descriptions: HashMap<String, Described>,
    /// One for every way to be cast; nearly always there is but one.
    stages: Vec<(Arc<Cast>, Arc<Stage>)>,
}

/// A description in use.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) holds: OpenEnded,
    pub(crate) room: Arc<Parties>,
}

impl ConversationHost {
    /// The host of a run with these settings. Nothing is started before it is needed.
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings, known: Mutex::default() })
    }

    /// Reads a description and makes its parties, unless that has been done before.
    pub(crate) fn describe(&self, text: &str) -> Result<Described, ReplyError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(described) = known.descriptions.get(text) {
            return Ok(described.clone());
        }
        let holds = OpenEnded::read(text)
            .map_err(|problems| ReplyError::new(code::BAD_REQUEST, problems.join("\n")))?;
        let described = self.cast(&mut known, holds)?;
        if known.descriptions.len() >= REMEMBERED {
            known.descriptions.clear();
        }
        known.descriptions.insert(text.to_owned(), described.clone());
        Ok(described)
    }

    fn cast(&self, known: &mut Known, holds: OpenEnded) -> Result<Described, ReplyError> {
        let same = known.stages.iter().find(|(cast, _)| **cast == **holds.cast());
        let stage = if let Some((_, stage)) = same {
            Arc::clone(stage)
        } else {
            let stage = Arc::new(self.stage(&holds)?);
            known.stages.push((Arc::clone(holds.cast()), Arc::clone(&stage)));
            stage
        };
        let room = stage.room(&holds.example(Whereabouts::default())).map(Arc::clone);
        let room = room.ok_or_else(|| ReplyError::failed("a description without its parties"))?;
        Ok(Described { holds, room })
    }

    fn stage(&self, holds: &OpenEnded) -> Result<Stage, ReplyError> {
        let example = Arc::new(holds.example(Whereabouts::default()));
        Stage::open(self.settings.clone(), &[example]).map_err(|problems| {
            let all: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            ReplyError::failed(all.join("\n"))
        })
    }

    /// Ends what the parties have started, and says what a person should know.
    pub async fn end(&self, at_once: bool) -> Ended {
        let stages = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.descriptions.clear();
            std::mem::take(&mut known.stages)
        };
        let mut ended = Ended::default();
        for (_, stage) in stages {
            ended.notes.extend(stage.end(at_once).await.notes);
        }
        ended
    }
}
