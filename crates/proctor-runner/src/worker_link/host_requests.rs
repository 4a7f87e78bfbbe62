//! Requests of workers to the host, which conducts the conversations of their examples; the run gets the events.
//!
//! Owns the connection of one worker and the queue between it and the run. Events wait here until everything the worker
//! had reported before has been sent on; the worker waits for its answer meanwhile, so the queue stays short.

use std::sync::Arc;

use proctor_converse::worker_host::{
    ConversationHost, WorkerAttempt, WorkerConnection, WorkerEvents,
};
use proctor_events::{Body, Event};
use proctor_process::protocol::IncomingRequest;
use proctor_process::{Channel, ChannelConfig, RequestHandler};
use tokio::sync::mpsc;

use super::reports::Report;

/// What answers the requests of one worker.
pub(crate) struct HostRequests {
    connection: Arc<WorkerConnection>,
    events: mpsc::UnboundedReceiver<Report>,
}

struct EventQueue(mpsc::UnboundedSender<Report>);

impl WorkerEvents for EventQueue {
    fn publish(&self, attempt: &WorkerAttempt, event: Body) {
        let mut event = Box::new(Event::new(event));
        event.repeat = Some(attempt.repeat);
        // The receiver is dropped when the run is over.
        let _ = self.0.send(Report::Event { key: Some(attempt.key.clone()), event });
    }
}

impl HostRequests {
    pub(crate) fn new(host: &Arc<ConversationHost>) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        Self {
            connection: WorkerConnection::new(Arc::clone(host), Arc::new(EventQueue(sender))),
            events,
        }
    }

    /// The configuration of a channel whose requests are answered, where there is a host. Lines that cannot be read
    /// are reported among the notifications: one of them may have been a result.
    pub(crate) fn config(requests: Option<&Self>, config: ChannelConfig) -> ChannelConfig {
        let config = ChannelConfig { report_unreadable: true, ..config };
        match requests {
            Some(requests) => {
                let answer = requests.connection.handler();
                config.handler(move |request: IncomingRequest| answer.handle(request))
            }
            None => config,
        }
    }

    pub(crate) fn connect(&self, channel: Channel) {
        self.connection.connect(channel);
    }

    /// The next events, as soon as there are any. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Vec<Report> {
        let mut all = Vec::new();
        // The connection holds the other end, so there is always something to wait for.
        self.events.recv_many(&mut all, 256).await;
        all
    }

    /// The events that there are already.
    pub(crate) fn waiting(&mut self) -> Vec<Report> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// The events that are left when the worker is gone.
    pub(crate) fn rest(&mut self) -> Vec<Report> {
        self.connection.close();
        self.waiting()
    }
}

impl Drop for HostRequests {
    fn drop(&mut self) {
        // The connection holds the channel, and the channel the connection.
        self.connection.close();
    }
}
