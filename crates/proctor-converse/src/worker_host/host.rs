//! What the conversations of a run share: descriptions that were read once, and the stages of their parties.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Ended, Parties, PartyRegistry, Settings};
use proctor_dialogue::{ExampleOrigin, OpenEnded, PartySpecs};
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
    /// By the descriptions of the parties; nearly always there is one.
    registries: Vec<(Arc<PartySpecs>, Arc<PartyRegistry>)>,
}

/// A description in use.
#[derive(Clone)]
pub(crate) struct Described {
    pub(crate) holds: OpenEnded,
    pub(crate) parties: Arc<Parties>,
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
        let described = self.set_up(&mut known, holds)?;
        if known.descriptions.len() >= REMEMBERED {
            known.descriptions.clear();
        }
        known.descriptions.insert(text.to_owned(), described.clone());
        Ok(described)
    }

    fn set_up(&self, known: &mut Known, holds: OpenEnded) -> Result<Described, ReplyError> {
        let same = known.registries.iter().find(|(specs, _)| **specs == **holds.parties());
        let registry = if let Some((_, registry)) = same {
            Arc::clone(registry)
        } else {
            let registry = Arc::new(self.new_registry(&holds)?);
            known.registries.push((Arc::clone(holds.parties()), Arc::clone(&registry)));
            registry
        };
        let parties = registry.parties_of(&holds.example(ExampleOrigin::default())).map(Arc::clone);
        let parties =
            parties.ok_or_else(|| ReplyError::failed("a description without its parties"))?;
        Ok(Described { holds, parties })
    }

    fn new_registry(&self, holds: &OpenEnded) -> Result<PartyRegistry, ReplyError> {
        let example = Arc::new(holds.example(ExampleOrigin::default()));
        PartyRegistry::open(self.settings.clone(), &[example]).map_err(|problems| {
            let all: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            ReplyError::failed(all.join("\n"))
        })
    }

    /// Ends what the parties have started, and says what a person should know.
    pub async fn end(&self, at_once: bool) -> Ended {
        let registries = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.descriptions.clear();
            std::mem::take(&mut known.registries)
        };
        let mut ended = Ended::default();
        for (_, registry) in registries {
            ended.notes.extend(registry.end(at_once).await.notes);
        }
        ended
    }
}
