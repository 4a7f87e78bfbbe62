use serde_json::Value;

use super::*;
use crate::message_form::{MessageFormat, ProgressFrequency};

/// A client that takes a message every so often.
struct SlowClient {
    pace: Duration,
    texts: std::sync::Arc<std::sync::Mutex<Vec<Value>>>,
    closed: std::sync::Arc<std::sync::Mutex<Option<(u16, String)>>>,
}

impl Connection for SlowClient {
    type Error = io::Error;

    async fn feed(&mut self, text: &str) -> io::Result<()> {
        tokio::time::sleep(self.pace).await;
        self.texts.lock().unwrap().push(serde_json::from_str(text).unwrap());
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn receive(&mut self) -> bool {
        std::future::pending().await
    }

    async fn close(&mut self, code: u16, reason: &str) {
        *self.closed.lock().unwrap() = Some((code, reason.to_owned()));
    }
}

/// Events 1 to `last`; the stream has ended.
struct Finished {
    next: u64,
    last: u64,
}

impl EventCursor for Finished {
    async fn read(&mut self, limit: usize) -> io::Result<Option<Vec<StreamEvent>>> {
        if self.next > self.last {
            return Ok(None);
        }
        let end = self.last.min(self.next + limit as u64 - 1);
        let events = (self.next..=end).map(|seq| StreamEvent {
            seq,
            text: format!(r#"{{"seq":{seq},"event_type":"WorkerLog","line":"x"}}"#).into(),
        });
        self.next = end + 1;
        Ok(Some(events.collect()))
    }

    async fn changed(&mut self) {}

    async fn catch_up(&mut self) {}

    async fn earlier(&mut self, _: &[&str]) -> io::Result<Vec<StreamEvent>> {
        Ok(Vec::new())
    }

    fn has_ended(&self) -> bool {
        true
    }

    fn behind(&self) -> u64 {
        self.last + 1 - self.next
    }

    fn recording(&self) -> Recording {
        Recording { run: Some("r".into()), path: "/runs/r/events.jsonl".into() }
    }
}

/// What a client got, how its connection was closed, and why.
struct Outcome {
    texts: Vec<Value>,
    closed: Option<(u16, String)>,
    end: SessionEnd,
}

fn play(pace_ms: u64, stop_after: Option<Duration>, since: u64, format: MessageFormat) -> Outcome {
    let options = MessageOptions { format, ..MessageOptions::default() };
    play_with_pace(pace_ms, stop_after, since, options, None)
}

/// The clock jumps from one timer to the next, so nothing here depends on how busy the machine is.
fn play_with_pace(
    pace_ms: u64,
    stop_after: Option<Duration>,
    since: u64,
    options: MessageOptions,
    end_pace: Option<EndPace>,
) -> Outcome {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (texts, closed) = (std::sync::Arc::default(), std::sync::Arc::default());
        let client = SlowClient {
            pace: Duration::from_millis(pace_ms),
            texts: std::sync::Arc::clone(&texts),
            closed: std::sync::Arc::clone(&closed),
        };
        let (stop, stopped) = watch::channel(false);
        let limits = SessionLimits {
            stall_after: Duration::from_hours(1),
            after_stop: Duration::ZERO,
            close_timeout: Duration::from_secs(5),
            end_pace,
        };
        let mut session = Session::new(client, WriteProgress::default(), limits, stopped);
        let mut cursor = Finished { next: since + 1, last: 3000 };
        let streaming = session.stream(&mut cursor, options, since);
        let stopping = async {
            match stop_after {
                Some(after) => {
                    tokio::time::sleep(after).await;
                    stop.send_replace(true);
                }
                None => std::future::pending().await,
            }
            std::future::pending::<()>().await;
        };
        let end = tokio::select! { end = streaming => end, () = stopping => unreachable!() };
        session.close(end).await;
        let texts = std::mem::take(&mut *texts.lock().unwrap());
        let closed = closed.lock().unwrap().clone();
        Outcome { texts, closed, end }
    })
}

fn of_type<'a>(outcome: &'a Outcome, name: &str) -> Vec<&'a Value> {
    outcome.texts.iter().filter(|it| it["event_type"] == name || it["event"] == name).collect()
}

#[test]
fn a_quick_client_gets_events_and_nothing_else() {
    let outcome = play(0, None, 2990, MessageFormat::Flat);
    let seqs: Vec<u64> = outcome.texts.iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (2991..=3000).collect::<Vec<_>>());
    assert_eq!(outcome.end, SessionEnd::StreamEnded);
    assert_eq!(outcome.closed, Some((1000, "the run is over".to_owned())));
}

#[test]
fn a_slow_client_is_told_how_far_it_is_behind() {
    let outcome = play(2, None, 0, MessageFormat::Flat);
    let reports = of_type(&outcome, "StreamLag");
    assert!(!reports.is_empty());
    for report in reports {
        let (seq, behind) = (report["seq"].as_u64().unwrap(), report["behind"].as_u64().unwrap());
        assert_eq!(seq + behind, 3000, "counted from the last event that was sent");
        assert!(behind >= LAG_EVENTS);
    }
    let seqs: Vec<u64> =
        of_type(&outcome, "WorkerLog").iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=3000).collect::<Vec<_>>(), "and misses nothing");
}

/// Audit R7.
#[test]
fn r7_a_client_that_is_cut_off_is_told_where_to_resume() {
    for format in [MessageFormat::Flat, MessageFormat::Envelope] {
        let outcome = play(2, Some(Duration::from_millis(300)), 0, format);
        assert_eq!(outcome.end, SessionEnd::CutOff);
        let sent = of_type(&outcome, "WorkerLog").len() as u64;
        assert!(sent > 0 && sent < 3000, "{sent}");
        let last = outcome.texts.last().unwrap();
        let fields = if format == MessageFormat::Flat { last } else { &last["data"] };
        let expected = json!({
            "seq": sent, "behind": 3000 - sent, "run_id": "r", "recording": "/runs/r/events.jsonl",
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&fields[name], value, "{name}: {last}");
        }
        assert_eq!(of_type(&outcome, "StreamClosing").len(), 1);
        let (code, reason) = outcome.closed.unwrap();
        assert_eq!(code, close_code::AWAY);
        assert!(reason.contains(&format!("since={sent}")) && reason.len() < 124, "{reason}");
    }
}

/// Audit R7: five minutes of 5-second windows, in which a client that needs almost all of them is served to the end.
#[test]
fn r7_a_slow_client_that_keeps_pace_gets_everything_after_the_end() {
    let pace = EndPace { window: Duration::from_secs(5), windows: 60 };
    for (milliseconds, served) in [(1, true), (95, true), (120, false), (4000, false)] {
        let options = MessageOptions::default();
        let outcome = play_with_pace(milliseconds, None, 0, options, Some(pace));
        let sent = of_type(&outcome, "WorkerLog").len();
        assert_eq!(sent == 3000, served, "{milliseconds} ms an event: {sent}");
        let end = if served { SessionEnd::StreamEnded } else { SessionEnd::CutOff };
        assert_eq!(outcome.end, end, "{milliseconds} ms an event");
        assert_eq!(of_type(&outcome, "StreamClosing").len(), usize::from(!served));
    }
}

#[test]
fn a_client_that_wants_progress_after_each_result_gets_it_in_both_forms() {
    let result = |seq: u64, status: &str| {
        StreamEvent {
        seq,
        text: format!(
            r#"{{"seq":{seq},"run_id":"r","event_type":"ExampleFinished","example_id":"e{seq}","status":"{status}"}}"#
        )
        .into(),
    }
    };
    let recorded = StreamEvent {
        seq: 5,
        text: r#"{"seq":5,"event_type":"Progress","completed":2,"total":3,"failures":1}"#.into(),
    };
    for format in [MessageFormat::Flat, MessageFormat::Envelope] {
        let options = MessageOptions { format, progress: ProgressFrequency::Each };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut cursor = Finished { next: 1, last: 0 };
        let mut form = runtime.block_on(MessageForm::new(options, &mut cursor)).unwrap();
        let mut messages = |event: &StreamEvent| {
            let texts = form.messages(event).into_iter().flatten();
            texts.map(|text| serde_json::from_str::<Value>(&text).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(messages(&result(3, "passed")).len(), 2);
        let failed = messages(&result(4, "failed"));
        let progress = match format {
            MessageFormat::Flat => json!({"seq": 4, "run_id": "r", "event_type": "Progress",
                "completed": 2, "total": 2, "failures": 1}),
            MessageFormat::Envelope => json!({"seq": 4, "run_id": "r", "event": "progress",
                "data": {"completed": 2, "total": 2, "failures": 1}}),
        };
        assert_eq!(failed[1], progress);
        assert_eq!(messages(&recorded).len(), 1, "the runner knows the total");
        assert_eq!(messages(&recorded).len(), 0, "which has been told now");
    }
}

#[test]
fn lag_is_told_at_most_once_a_second() {
    let start = Instant::now();
    let mut reports = LagReports::new(start);
    let at = |ms| start + Duration::from_millis(ms);
    assert!(!reports.is_due(5000, at(999)), "a client that has just come catches up");
    assert!(!reports.is_due(LAG_EVENTS - 1, at(1000)));
    assert!(reports.is_due(LAG_EVENTS, at(1000)));
    assert!(!reports.is_due(5000, at(1999)));
    assert!(reports.is_due(5000, at(2000)));
}
