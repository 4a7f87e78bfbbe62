//! What the tests share: a scenario in, its verdicts and events out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_converse::{
    AttemptId, BoxFuture, Cassette, Conversation, EventSink, PartyRegistry, Settings,
    SharedResources,
};
use proctor_dialogue::{ConversationOutcome, Example, RowsError, parse};
use proctor_events::{Body, StableIds};
use proctor_process::Guard;

/// A conversation that is over.
pub(crate) struct FinishedConversation {
    pub(crate) verdict: ConversationOutcome,
    pub(crate) events: Vec<Body>,
}

impl FinishedConversation {
    pub(crate) fn status(&self) -> &str {
        self.verdict.status.as_str()
    }

    pub(crate) fn fault(&self) -> &str {
        self.verdict.fault.as_ref().map_or("", |fault| fault.as_str())
    }

    pub(crate) fn message(&self) -> &str {
        self.verdict.message.as_deref().unwrap_or_default()
    }

    /// Names of the events, in order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events.iter().filter_map(|body| Some(body.event_type()?.name())).collect()
    }

    /// What the agent said, answer by answer.
    pub(crate) fn said(&self) -> Vec<&str> {
        let responses = self.events.iter().filter_map(|body| match body {
            Body::AgentResponse(response) => Some(response.text.as_str()),
            _ => None,
        });
        responses.collect()
    }
}

#[derive(Default)]
pub(crate) struct Collect(pub(crate) Vec<Body>);

impl EventSink for Collect {
    fn emit(&mut self, body: Body) {
        self.0.push(body);
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) settings: Settings,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            root: folder.path().to_owned(),
            bin: PathBuf::from("/nowhere"),
            guard: Guard::None,
            unpacked: folder.path().join("cache"),
            environment: Arc::new(|_| None),
            pass_env: Vec::new(),
            agents: std::collections::BTreeMap::default(),
            models: std::collections::BTreeMap::default(),
            agent: None,
            agent_for_all: None,
            saved: None,
            cassette: Cassette::Off,
            cache: None,
            budget_usd: None,
            record_tapes: false,
            seed: 7,
            shared: SharedResources::default(),
        };
        Self { folder, settings }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn examples(text: &str) -> Vec<Arc<Example>> {
        Self::examples_of("./a.scenario.yaml", text)
    }

    /// The examples of a scenario that stands in this file.
    pub(crate) fn examples_of(file: &str, text: &str) -> Vec<Arc<Example>> {
        let file = parse(text, file).unwrap_or_else(|problems| {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}\n{text}", all.join("\n"))
        });
        let mut rows = |_: &str| Err(RowsError::UnknownEnding);
        let examples = file.examples(&mut StableIds::default(), &mut rows).unwrap();
        examples.into_iter().map(Arc::new).collect()
    }

    pub(crate) fn registry(&self, examples: &[Arc<Example>]) -> PartyRegistry {
        PartyRegistry::open(self.settings.clone(), examples)
            .unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    /// Conducts all conversations of a scenario, one after the other, and returns what is said at the end.
    pub(crate) async fn conduct_all(&self, text: &str) -> (Vec<FinishedConversation>, Vec<String>) {
        let examples = Self::examples(text);
        let registry = self.registry(&examples);
        let mut conversations = Vec::new();
        for example in &examples {
            conversations.push(conduct_example(&registry, example, 1).await);
        }
        (conversations, registry.end(false).await.notes)
    }

    pub(crate) async fn conduct(&self, text: &str) -> FinishedConversation {
        self.conduct_all(text).await.0.remove(0)
    }
}

pub(crate) async fn conduct_example(
    registry: &PartyRegistry,
    example: &Arc<Example>,
    repeat: u32,
) -> FinishedConversation {
    let parties = Arc::clone(registry.parties_of(example).unwrap());
    let attempt_id = AttemptId { example: example.id.id.clone(), repeat, attempt: 1 };
    let mut conversation = Conversation::new(Arc::clone(example), parties, attempt_id);
    let mut sink = Collect::default();
    let verdict = conversation.run(&mut sink).await;
    conversation.close().await;
    FinishedConversation { verdict, events: sink.0 }
}

pub(crate) fn python() -> String {
    let found = std::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}
