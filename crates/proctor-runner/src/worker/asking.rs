//! Workers that ask: the host conducts the conversations of their examples, and the run gets the events.
//!
//! Owns the desk of one worker and the queue between it and the run. Events wait here until everything the worker
//! had said before has been passed on; the worker waits for its answer meanwhile, so the queue stays short.

use std::sync::Arc;

use proctor_events::{Body, Event};
use proctor_host::{Attempt, Desk, Events, Host};
use proctor_process::protocol::IncomingRequest;
use proctor_process::{Channel, ChannelConfig, RequestHandler};
use tokio::sync::mpsc;

use super::said::Said;
use crate::run::pace;

/// What one worker may ask.
pub(crate) struct Asking {
    desk: Arc<Desk>,
    heard: mpsc::UnboundedReceiver<Said>,
}

struct Passing(mpsc::UnboundedSender<Said>);

impl Events for Passing {
    fn take(&self, whose: &Attempt, event: Body) {
        let mut event = Box::new(Event::new(event));
        event.repeat = Some(whose.repeat);
        // A run that is over hears nothing more.
        let _ = self.0.send(Said::Event { key: Some(whose.key.clone()), event });
    }
}

impl Asking {
    pub(crate) fn new(host: &Arc<Host>) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        Self { desk: Desk::new(Arc::clone(host), Arc::new(Passing(sender))), heard }
    }

    /// The configuration of a channel whose requests are answered, if there is anybody to answer them. Lines that cannot be read
    /// are reported among the notifications: one of them may have been a result.
    pub(crate) fn config(asking: Option<&Self>, config: ChannelConfig) -> ChannelConfig {
        let config = ChannelConfig { report_unreadable: true, ..config };
        match asking {
            Some(asking) => {
                let answer = asking.desk.handler();
                config.handler(move |request: IncomingRequest| {
                    pace::asked();
                    answer.handle(request)
                })
            }
            None => config,
        }
    }

    pub(crate) fn connect(&self, channel: Channel) {
        self.desk.connect(channel);
    }

    /// What happened, as soon as there is anything. It may be dropped at any point.
    pub(crate) async fn next(&mut self) -> Vec<Said> {
        let mut all = Vec::new();
        // The desk holds the other end, so there is always something to wait for.
        self.heard.recv_many(&mut all, 256).await;
        all
    }

    /// What is left when the worker is gone.
    pub(crate) fn rest(&mut self) -> Vec<Said> {
        self.desk.close();
        std::iter::from_fn(|| self.heard.try_recv().ok()).collect()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // The desk holds the channel, and the channel the desk.
        self.desk.close();
    }
}
