//! Events of a run for a process that asks for them, page by page.
//!
//! The asker names the last event that it has had, so nothing is kept for it here: a slow asker costs no memory, and one that
//! never asks again costs nothing.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use proctor_record::StreamEvent;

use crate::feed::{Feed, FeedCursor};
use crate::session::EventCursor as _;

/// How many events and bytes a page may have.
const PAGE_EVENTS: usize = 256;
const PAGE_BYTES: usize = 256 * 1024;
/// A longer event does not fit a message of the worker protocol.
const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;
/// Events that come close together share a page, so that the asker is woken less often.
const SETTLE: Duration = Duration::from_millis(5);

/// Events in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events as JSON.
    pub events: Vec<Arc<str>>,
    /// The number of the last event that this page deals with; the next page begins after it.
    pub last: u64,
    /// Events that are too large to be handed out.
    pub left_out: u64,
    /// Whether no event will follow.
    pub ended: bool,
}

impl Feed {
    /// Events after number `after`. With `wait`, an empty page means that the run has ended.
    pub async fn page(self: &Arc<Self>, after: u64, wait: bool) -> io::Result<EventPage> {
        let mut cursor = FeedCursor::new(Arc::clone(self), after);
        let mut page = EventPage { last: after, ..EventPage::default() };
        loop {
            let ended = cursor.has_ended();
            match cursor.read(PAGE_EVENTS).await? {
                Some(events) => {
                    page.fill(events);
                    if !page.is_empty() {
                        return Ok(page);
                    }
                    cursor = FeedCursor::new(Arc::clone(self), page.last);
                }
                None if ended => return Ok(EventPage { ended: true, ..page }),
                None if !wait => return Ok(page),
                None => {
                    cursor.changed().await;
                    tokio::time::sleep(SETTLE).await;
                }
            }
        }
    }
}

impl EventPage {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.left_out == 0
    }

    fn fill(&mut self, events: Vec<StreamEvent>) {
        let mut bytes = 0;
        for event in events {
            bytes += event.text.len();
            if bytes > PAGE_BYTES && !self.is_empty() {
                return;
            }
            self.last = event.seq;
            if event.text.len() > MAX_EVENT_BYTES {
                self.left_out += 1;
            } else if !is_observer_output(&event.text) {
                self.events.push(event.text);
            }
        }
    }
}

/// What an observer prints is recorded, but not handed to observers: one that prints every event would never end.
/// Quotation marks within texts are escaped, so only a field can look like this.
fn is_observer_output(text: &str) -> bool {
    text.contains(r#""event_type":"WorkerLog""#) && text.contains(r#""observer":true"#)
}

#[cfg(test)]
mod tests {
    use proctor_events::{Bus, BusConfig, Event, RunId, Timestamp, WorkerLog};

    use super::*;

    fn bus_with(feed: &Arc<Feed>) -> Bus {
        let bus = Bus::new(BusConfig {
            run_id: RunId::new("r"),
            clock: Box::new(Timestamp::now),
            on_warning: Box::new(|_| {}),
        });
        bus.add_recorder(feed.recorder());
        bus
    }

    fn log(line: &str) -> Event {
        WorkerLog { line: line.to_owned(), stream: None }.into()
    }

    fn seqs(page: &EventPage) -> Vec<u64> {
        let seq = |text: &Arc<str>| {
            serde_json::from_str::<serde_json::Value>(text).unwrap()["seq"].as_u64().unwrap()
        };
        page.events.iter().map(seq).collect()
    }

    #[tokio::test]
    async fn an_asker_gets_every_event_once_however_late_it_asks() {
        let folder = tempfile::tempdir().unwrap();
        let feed = Feed::new(&folder.path().join("events.jsonl"));
        let bus = bus_with(&feed);
        assert_eq!(feed.page(0, false).await.unwrap(), EventPage::default());
        for number in 0..600 {
            bus.publish(log(&number.to_string()));
        }
        let (mut after, mut seen) = (0, Vec::new());
        for _ in 0..3 {
            let page = feed.page(after, true).await.unwrap();
            seen.extend(seqs(&page));
            after = page.last;
        }
        assert_eq!(seen, (1..=600).collect::<Vec<u64>>());
        let waiting = tokio::spawn({
            let feed = Arc::clone(&feed);
            async move { feed.page(600, true).await.unwrap() }
        });
        bus.publish(log("late"));
        assert_eq!(seqs(&waiting.await.unwrap()), [601]);
        bus.close(Duration::from_secs(5));
        let page = feed.page(601, true).await.unwrap();
        assert!(page.ended && page.events.is_empty(), "{page:?}");
    }

    #[tokio::test]
    async fn what_observers_print_is_passed_over_and_what_does_not_fit_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let feed = Feed::new(&folder.path().join("events.jsonl"));
        let bus = bus_with(&feed);
        let mut printed = log("mine");
        printed.extra.push(("observer".into(), serde_json::Value::from(true).into()));
        bus.publish(printed);
        bus.publish(log("\"event_type\":\"WorkerLog\" \"observer\":true"));
        bus.publish(log(&"x".repeat(MAX_EVENT_BYTES)));
        let first = feed.page(0, true).await.unwrap();
        assert_eq!((seqs(&first), first.last), (vec![2], 2));
        let second = feed.page(2, true).await.unwrap();
        assert_eq!((second.events.len(), second.left_out, second.last), (0, 1, 3));
    }
}
