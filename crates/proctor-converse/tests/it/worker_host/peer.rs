//! A worker by hand: sends requests, answers what the host asks for, and keeps what it was asked.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proctor_converse::worker_host::{
    ConversationHost, WorkerAttempt, WorkerConnection, WorkerEvents,
};
use proctor_converse::{Cassette, Settings, SharedResources};
use proctor_events::{Body, Event};
use proctor_process::{Channel, ChannelConfig, Guard};
use serde_json::{Value, json};

/// Everything that was published.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<(WorkerAttempt, Value)>>);

impl WorkerEvents for Heard {
    fn publish(&self, attempt: &WorkerAttempt, event: Body) {
        let event = serde_json::from_str(&Event::new(event).to_json()).unwrap();
        self.0.lock().unwrap().push((attempt.clone(), event));
    }
}

pub(crate) struct Peer {
    stream: BufReader<UnixStream>,
    received: Arc<Heard>,
    count: u32,
    /// What the host asked for.
    pub(crate) asked: Vec<Value>,
    _runtime: tokio::runtime::Runtime,
    _connection: Arc<WorkerConnection>,
}

fn settings(folder: &std::path::Path) -> Settings {
    let models = json!({
        "judge": {"verdicts": [
            {"about": "goal", "seen": "Booked", "satisfied": true, "because": "it is booked"},
            {"about": "goal", "satisfied": false, "because": "nothing is booked"},
            {"asked": "rude", "satisfied": false, "because": "it is polite"},
            {"about": "criterion", "satisfied": true, "because": "as seen"},
        ]},
        "simulator": {"script": ["Hello", "Book it", "Thanks"]},
    });
    Settings {
        root: folder.to_owned(),
        bin: folder.to_owned(),
        guard: Guard::None,
        unpacked: folder.join("cache"),
        environment: Arc::new(|_| None),
        pass_env: Vec::new(),
        agents: std::collections::BTreeMap::new(),
        models: serde_json::from_value(models).unwrap(),
        agent: None,
        agent_for_all: None,
        saved: None,
        cassette: Cassette::Off,
        cache: None,
        budget_usd: None,
        record_tapes: false,
        seed: 7,
        shared: SharedResources::default(),
    }
}

impl Peer {
    pub(crate) fn connect() -> Self {
        Self::with(|_| {})
    }

    /// A peer of a host attempt settings are changed first.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings(folder.path());
        change(&mut settings);
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let received = Arc::new(Heard::default());
        let host = ConversationHost::new(settings);
        let connection =
            WorkerConnection::new(host, Arc::clone(&received) as Arc<dyn WorkerEvents>);
        let config = ChannelConfig::default().handler(connection.handler());
        let inside = runtime.enter();
        let channel = Channel::over_socket(OwnedFd::from(theirs), "peer", config).unwrap();
        connection.connect(channel);
        drop(inside);
        Self {
            stream: BufReader::new(ours),
            received,
            count: 0,
            asked: Vec::new(),
            _runtime: runtime,
            _connection: connection,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.stream.get_mut(), "{message}").unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Asks the host; what it asks meanwhile is answered by `answer`.
    pub(crate) fn ask(
        &mut self,
        action: &str,
        mut fields: Value,
        mut answer: impl FnMut(&Value) -> Value,
    ) -> Value {
        self.count += 1;
        let id = format!("w{}", self.count);
        fields["id"] = id.clone().into();
        fields["action"] = action.into();
        self.send(&fields);
        loop {
            let message = self.receive();
            if message["reply_to"] == id.as_str() {
                return message;
            }
            let mut reply = answer(&message);
            reply["reply_to"] = message["id"].clone();
            self.asked.push(message);
            self.send(&reply);
        }
    }

    /// Starts a conversation with this definition.
    pub(crate) fn start(&mut self, name: &str, definition: &Value) -> Value {
        self.start_of("./a_spec.rb[1:1]", 1, name, definition)
    }

    /// The same for one of several examples that are described alike.
    pub(crate) fn start_of(
        &mut self,
        key: &str,
        ordinal: u32,
        name: &str,
        definition: &Value,
    ) -> Value {
        let fields = json!({
            "conversation": name, "key": key, "file": "./a_spec.rb", "line": 3,
            "path": ["Agent", "works"], "ordinal": ordinal, "definition": definition,
        });
        self.ask("conversation.start", fields, |asked| panic!("nobody was to be asked: {asked}"))
    }

    /// The names of all events, in order.
    pub(crate) fn event_types(&self) -> Vec<String> {
        let received = self.received.0.lock().unwrap();
        received.iter().map(|(_, event)| event["event_type"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until this was published, for as long as only a hang takes.
    pub(crate) fn wait_for_event(&self, kind: &str) {
        let deadline = std::time::Instant::now() + Duration::from_mins(1);
        while self.events(kind).is_empty() {
            assert!(std::time::Instant::now() < deadline, "waited in vain for {kind}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let received = self.received.0.lock().unwrap();
        let all = received.iter().map(|(_, event)| event);
        all.filter(|event| event["event_type"] == kind).cloned().collect()
    }
}
