//! What the code of a project asks of the outputs of a run: further destinations for events, and the events themselves.
//!
//! The run's recording belongs to the caller, so the caller answers: [`RunOutputs`] is what it has to offer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use proctor_process::protocol::{IncomingRequest, ReplyError};
use proctor_process::{HandlerFuture, HandlerResult, Payload};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

/// The action by which a process asks for events.
pub(crate) const READ_EVENTS: &str = "events.read";

/// Some events of a run, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedEvents {
    /// The events as JSON.
    pub events: Vec<Arc<str>>,
    /// The number of the last event that was looked at; the next request names it.
    pub last: u64,
    /// Events that are too large to be sent.
    pub left_out: u64,
    /// Whether no event will follow.
    pub ended: bool,
}

/// Reading events of a run.
pub type EventsRead = Pin<Box<dyn Future<Output = io::Result<ServedEvents>> + Send>>;

/// The outputs of a run.
pub trait RunOutputs: Send + Sync {
    /// Sends events to these places too, from the first event on. Returns a warning for each place that cannot be used; those that are
    /// in use already count once.
    fn add_destinations(&self, destinations: &[String]) -> Vec<String>;

    /// Events after this number; with `wait`, not before there is one or the run has ended.
    fn read_events(&self, after: u64, wait: bool) -> EventsRead;
}

#[derive(Deserialize)]
struct ReadRequest {
    #[serde(default)]
    after: u64,
    #[serde(default)]
    wait: bool,
}

/// Answers a request for events. `all_published` becomes true where the run ends without its last event.
pub(crate) fn answer_read(
    outputs: &Arc<dyn RunOutputs>,
    request: &IncomingRequest,
    all_published: Option<watch::Receiver<bool>>,
) -> HandlerFuture {
    let outputs = Arc::clone(outputs);
    let asked = request.body.parse::<ReadRequest>();
    Box::pin(async move {
        let asked = asked.map_err(|error| ReplyError::failed(error.to_string()))?;
        let nothing_follows = async {
            match all_published {
                Some(mut flag) => becomes_true(&mut flag).await,
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            biased;
            () = nothing_follows => {
                let rest = outputs.read_events(asked.after, false).await;
                rest.map(|rest| ServedEvents { ended: rest.last == asked.after, ..rest })
            }
            read = outputs.read_events(asked.after, asked.wait) => read,
        };
        reply(&read.map_err(|error| ReplyError::failed(error.to_string()))?)
    })
}

/// Waits for ever if nobody can set it any more.
pub(crate) async fn becomes_true(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|set| *set).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn reply(read: &ServedEvents) -> HandlerResult {
    let ServedEvents { events, last, left_out, ended } = read;
    // Events are JSON already; only the frame is written here.
    let events = events.join(",");
    let bytes = events.len();
    let text = format!(
        r#"{{"events":[{events}],"bytes":{bytes},"last":{last},"left_out":{left_out},"ended":{ended}}}"#
    );
    let raw = RawValue::from_string(text).map_err(|error| ReplyError::failed(error.to_string()))?;
    Payload::new(&raw)
}
