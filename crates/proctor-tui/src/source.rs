//! Where events come from: a live bus, something already read, or a file that may still grow.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proctor_events::{Event, Published, Subscription, TimedOut};
use proctor_record::{Growth, RecordedLine, RecordingFollower, RunSplitter};

/// What a source has to say.
#[derive(Debug)]
pub enum SourcePoll {
    /// An event.
    Event(Arc<Published>),
    /// What follows belongs to another run, or tells the same one from its start.
    Restarted,
    /// There is nothing now.
    Nothing,
    /// There will be nothing any more.
    Ended,
}

/// Something that gives events without ever waiting for them.
pub trait EventSource {
    /// What there is now.
    fn poll(&mut self) -> io::Result<SourcePoll>;

    /// How many events are known to be missing.
    fn dropped(&self) -> u64 {
        0
    }
}

impl EventSource for Subscription {
    fn poll(&mut self) -> io::Result<SourcePoll> {
        Ok(match self.recv_timeout(Duration::ZERO) {
            Ok(Some(event)) => SourcePoll::Event(event),
            Ok(None) => SourcePoll::Ended,
            Err(TimedOut) => SourcePoll::Nothing,
        })
    }

    fn dropped(&self) -> u64 {
        Subscription::dropped(self)
    }
}

/// Events that are already there.
#[derive(Debug)]
pub struct EventList<I>(pub I);

impl<I: Iterator<Item = Event>> EventSource for EventList<I> {
    fn poll(&mut self) -> io::Result<SourcePoll> {
        let event = self.0.next();
        Ok(event
            .map_or(SourcePoll::Ended, |event| SourcePoll::Event(Arc::new(Published::new(event)))))
    }
}

/// The last run of a recording, read as it grows. Lines that cannot be used are counted as missing.
#[derive(Debug)]
pub struct FollowedFile {
    follower: RecordingFollower,
    grows: bool,
    events: VecDeque<Event>,
    runs: RunSplitter,
    any_run: bool,
    /// The first event of a run whose beginning has been told.
    held: Option<Event>,
    unreadable: u64,
}

impl FollowedFile {
    /// Reads the file from its beginning. `grows` says whether its writer still lives; if not, its end is
    /// the end.
    pub fn new(path: &Path, grows: bool) -> Self {
        Self {
            follower: RecordingFollower::new(path),
            grows,
            events: VecDeque::new(),
            runs: RunSplitter::default(),
            any_run: false,
            held: None,
            unreadable: 0,
        }
    }

    fn restart(&mut self) -> SourcePoll {
        self.events.clear();
        self.runs = RunSplitter::default();
        self.any_run = false;
        self.unreadable = 0;
        SourcePoll::Restarted
    }

    /// The next of the events that were read.
    fn next_event(&mut self) -> Option<SourcePoll> {
        if let Some(event) = self.held.take() {
            return Some(SourcePoll::Event(Arc::new(Published::new(event))));
        }
        while let Some(event) = self.events.pop_front() {
            let another = self.runs.begins(&event).is_some() && self.any_run;
            self.any_run = true;
            if another {
                self.held = Some(event);
                return Some(SourcePoll::Restarted);
            }
            // Of several runs that write to one file at once, the newest is shown.
            if !self.runs.in_newest() {
                continue;
            }
            return Some(SourcePoll::Event(Arc::new(Published::new(event))));
        }
        None
    }
}

impl EventSource for FollowedFile {
    fn poll(&mut self) -> io::Result<SourcePoll> {
        loop {
            if let Some(next) = self.next_event() {
                return Ok(next);
            }
            let Self { follower, events, unreadable, .. } = self;
            let mut take = |line: RecordedLine<'_>| match line.event {
                Ok(event) => events.push_back(event),
                Err(_) => *unreadable += 1,
            };
            match follower.read_including_torn_line(&mut take)? {
                Growth::More => {}
                Growth::Restarted => return Ok(self.restart()),
                Growth::Nothing if self.grows => return Ok(SourcePoll::Nothing),
                Growth::Nothing => {
                    if !follower.take_torn_line(&mut take) {
                        return Ok(SourcePoll::Ended);
                    }
                }
            }
        }
    }

    fn dropped(&self) -> u64 {
        self.unreadable
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proctor_events::{Bus, BusConfig, Filter, WorkerLog};

    use super::*;

    /// What comes until nothing does, in short.
    fn poll_names(source: &mut impl EventSource) -> Vec<String> {
        let mut names = Vec::new();
        loop {
            match source.poll().unwrap() {
                SourcePoll::Event(event) => names.push(event.type_name().to_owned()),
                SourcePoll::Restarted => names.push("restarted".to_owned()),
                SourcePoll::Nothing => {
                    names.push("nothing".to_owned());
                    return names;
                }
                SourcePoll::Ended => {
                    names.push("ended".to_owned());
                    return names;
                }
            }
        }
    }

    #[test]
    fn a_subscription_ends_with_its_bus_and_counts_what_it_lost() {
        let bus = Bus::new(BusConfig {
            run_id: "run".into(),
            clock: Box::new(proctor_events::Timestamp::now),
            on_warning: Box::new(|_| {}),
        });
        let mut subscription = bus.subscribe("tui", Filter::All, 2);
        for _ in 0..3 {
            bus.publish(WorkerLog { line: "x".into(), stream: None }.into());
        }
        assert_eq!(poll_names(&mut subscription), ["WorkerLog", "WorkerLog", "nothing"]);
        assert_eq!(EventSource::dropped(&subscription), 1);
        bus.close(Duration::ZERO);
        assert_eq!(poll_names(&mut subscription), ["ended"]);
    }

    #[test]
    fn a_file_is_read_as_it_grows_and_a_new_run_in_it_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        let mut source = FollowedFile::new(&path, true);
        assert_eq!(poll_names(&mut source), ["nothing"]);
        writeln!(file, r#"{{"run_id":"a","event_type":"SuiteStarted"}}"#).unwrap();
        writeln!(file, "damaged").unwrap();
        assert_eq!(poll_names(&mut source), ["SuiteStarted", "nothing"]);
        assert_eq!(source.dropped(), 1);
        writeln!(file, r#"{{"run_id":"b","event_type":"SuiteStarted"}}"#).unwrap();
        assert_eq!(poll_names(&mut source), ["restarted", "SuiteStarted", "nothing"]);
        write!(file, r#"{{"run_id":"b","event_type":"GroupStarted"}}"#).unwrap();
        assert_eq!(poll_names(&mut source), ["GroupStarted", "nothing"], "its writer is gone");
        writeln!(file).unwrap();
        assert_eq!(poll_names(&mut source), ["nothing"], "and it comes once");
        let mut finished = FollowedFile::new(&path, false);
        let all = ["SuiteStarted", "restarted", "SuiteStarted", "GroupStarted", "ended"];
        assert_eq!(poll_names(&mut finished), all);
    }

    #[test]
    fn what_was_read_before_ends_at_its_end() {
        let event = Event::from_json(r#"{"event_type":"SuiteStarted"}"#).unwrap();
        assert_eq!(poll_names(&mut EventList([event].into_iter())), ["SuiteStarted", "ended"]);
    }
}
