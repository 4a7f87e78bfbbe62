//! What the conversations of a run share: descriptions that were read once, and the registries of their parties.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{EndReport, Parties, PartyRegistry, Settings};
use proctor_dialogue::{ExampleOrigin, OpenEnded, PartySpecs};
use proctor_process::protocol::{ReplyError, code};

/// How many descriptions are remembered; groups of a suite have one each, most of them the same.
const MAX_REMEMBERED: usize = 1024;

/// The parties of a run's conversations.
pub struct ConversationHost {
    settings: Settings,
    cache: Mutex<HostCache>,
}

#[derive(Default)]
struct HostCache {
    descriptions: HashMap<String, ConversationSetup>,
    /// By the descriptions of the parties; nearly always there is one.
    registries: Vec<(Arc<PartySpecs>, Arc<PartyRegistry>)>,
}

/// A description in use.
#[derive(Clone)]
pub(crate) struct ConversationSetup {
    pub(crate) description: OpenEnded,
    pub(crate) parties: Arc<Parties>,
}

impl ConversationHost {
    /// The host of a run with these settings. Nothing is started before it is needed.
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings, cache: Mutex::default() })
    }

    /// Reads a description and makes its parties, unless that has been done before.
    pub(crate) fn describe(&self, text: &str) -> Result<ConversationSetup, ReplyError> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(described) = cache.descriptions.get(text) {
            return Ok(described.clone());
        }
        let description = OpenEnded::read(text)
            .map_err(|problems| ReplyError::new(code::BAD_REQUEST, problems.join("\n")))?;
        let described = self.make_setup(&mut cache, description)?;
        if cache.descriptions.len() >= MAX_REMEMBERED {
            cache.descriptions.clear();
        }
        cache.descriptions.insert(text.to_owned(), described.clone());
        Ok(described)
    }

    fn make_setup(
        &self,
        cache: &mut HostCache,
        description: OpenEnded,
    ) -> Result<ConversationSetup, ReplyError> {
        let same = cache.registries.iter().find(|(specs, _)| **specs == **description.parties());
        let registry = if let Some((_, registry)) = same {
            Arc::clone(registry)
        } else {
            let registry = Arc::new(self.new_registry(&description)?);
            cache.registries.push((Arc::clone(description.parties()), Arc::clone(&registry)));
            registry
        };
        let parties =
            registry.parties_of(&description.example(ExampleOrigin::default())).map(Arc::clone);
        let parties = parties.ok_or_else(|| {
            ReplyError::failed("the description has no parties; this is a bug in proctor")
        })?;
        Ok(ConversationSetup { description, parties })
    }

    fn new_registry(&self, description: &OpenEnded) -> Result<PartyRegistry, ReplyError> {
        let example = Arc::new(description.example(ExampleOrigin::default()));
        PartyRegistry::open(self.settings.clone(), &[example]).map_err(|problems| {
            let all: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            ReplyError::failed(all.join("\n"))
        })
    }

    /// Ends what the parties have started, and says what a person should know.
    pub async fn end(&self, at_once: bool) -> EndReport {
        let registries = {
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache.descriptions.clear();
            std::mem::take(&mut cache.registries)
        };
        let mut ended = EndReport::default();
        for (_, registry) in registries {
            ended.notes.extend(registry.end(at_once).await.notes);
        }
        ended
    }
}
