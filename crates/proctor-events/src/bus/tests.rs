use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;
use crate::{Progress, UserMessage, WorkerLog};

const PATIENCE: Duration = Duration::from_secs(20);

fn bus_with(on_warning: impl Fn(BusWarning) + Send + Sync + 'static) -> Bus {
    Bus::new(BusConfig {
        run_id: "run".into(),
        clock: Box::new(|| "2026-01-22T10:30:00.123Z".parse().unwrap()),
        on_warning: Box::new(on_warning),
    })
}

fn bus() -> Bus {
    bus_with(|warning| panic!("unexpected: {warning}"))
}

fn line(text: &str) -> Event {
    WorkerLog { line: text.into(), stream: None }.into()
}

fn message(text: &str) -> Event {
    UserMessage { turn_number: 1, text: text.into(), ..Default::default() }.into()
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<Arc<Published>>>>);

impl Recorder for Memory {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        lock(&self.0).extend_from_slice(batch);
        Ok(())
    }
}

#[test]
fn publish_fills_the_envelope() {
    let bus = bus();
    let subscription = bus.subscribe("test", Filter::All, 4);
    assert_eq!(bus.publish(message("hi")), Some(1));
    let event = subscription.try_recv().unwrap();
    assert_eq!(
        event.to_json(),
        r#"{"v":1,"seq":1,"run_id":"run","time":"2026-01-22T10:30:00.123000Z","event_type":"UserMessage","turn_number":1,"text":"hi"}"#
    );
}

#[test]
fn a_filter_lets_only_its_types_through() {
    let bus = bus();
    let filter = Filter::Types(vec![EventType::UserMessage, EventType::Progress]);
    let subscription = bus.subscribe("test", filter, 8);
    bus.publish(message("hi"));
    bus.publish(line("noise"));
    bus.publish(Progress::default().into());
    bus.close(PATIENCE);
    let types: Vec<String> =
        std::iter::from_fn(|| subscription.recv()).map(|e| e.type_name().to_owned()).collect();
    assert_eq!(types, ["UserMessage", "Progress"]);
}

/// Sixteen threads at once: no gap, no repeat, one order for all.
#[test]
fn many_publishers_one_order_exactly_once() {
    const THREADS: u64 = 16;
    const EACH: u64 = 500;
    let bus = bus();
    let memory = Memory::default();
    bus.add_recorder(memory.clone());
    let capacity = usize::try_from(THREADS * EACH).unwrap();
    let subscription = bus.subscribe("test", Filter::All, capacity);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let bus = &bus;
            scope.spawn(move || {
                for n in 0..EACH {
                    bus.publish(line(&format!("{thread} {n}"))).unwrap();
                }
            });
        }
    });
    bus.close(PATIENCE);
    let seen: Vec<Arc<Published>> = std::iter::from_fn(|| subscription.recv()).collect();
    let seqs: Vec<u64> = seen.iter().filter_map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=THREADS * EACH).collect::<Vec<_>>());
    let texts: HashSet<String> = seen.iter().map(|event| format!("{:?}", event.body)).collect();
    assert_eq!(texts.len(), capacity, "every published event exactly once");
    let recorded: Vec<Option<u64>> = lock(&memory.0).iter().map(|event| event.seq).collect();
    assert_eq!(
        recorded,
        seqs.into_iter().map(Some).collect::<Vec<_>>(),
        "recording and subscription agree"
    );
}

#[test]
fn publish_returns_only_after_recording() {
    let bus = bus();
    let memory = Memory::default();
    bus.add_recorder(memory.clone());
    for n in 1..100 {
        let seq = bus.publish(line("x")).unwrap();
        assert_eq!(seq, n);
        assert_eq!(lock(&memory.0).last().and_then(|event| event.seq), Some(n));
    }
}

#[test]
fn a_recorder_that_joins_late_starts_there() {
    let bus = bus();
    bus.publish(line("before"));
    let memory = Memory::default();
    bus.add_recorder(memory.clone());
    bus.publish(line("after"));
    assert_eq!(lock(&memory.0).iter().map(|event| event.seq).collect::<Vec<_>>(), [Some(2)]);
}

struct Hooks(mpsc::Sender<String>);

impl Observer for Hooks {
    fn on_user_message(&mut self, event: &Event, message: &UserMessage) -> Result<(), BoxedError> {
        self.0.send(format!("{:?} {}", event.seq, message.text))?;
        Ok(())
    }

    fn on_close(&mut self) {
        let _ = self.0.send("closed".into());
    }
}

#[test]
fn an_observer_gets_its_hooks_in_order_and_is_drained_at_the_end() {
    let bus = bus();
    let (sender, receiver) = mpsc::channel();
    bus.observe("hooks", Filter::All, Hooks(sender));
    bus.publish(message("one"));
    bus.publish(line("noise"));
    bus.publish(message("two"));
    let report = bus.close(PATIENCE);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), ["Some(1) one", "Some(3) two", "closed"]);
    assert_eq!(report.observers[0].delivered, 3);
    assert_eq!(bus.publish(message("late")), None);
}

struct Faulty(u32);

impl Observer for Faulty {
    fn on_event(&mut self, _: &Event) -> Result<(), BoxedError> {
        self.0 += 1;
        assert!(self.0 != 2, "second event");
        if self.0 == 3 { Err("third event".into()) } else { Ok(()) }
    }
}

#[test]
fn a_panicking_or_failing_observer_harms_nobody_and_is_reported_once() {
    let (sender, warnings) = mpsc::channel();
    let sender = Mutex::new(sender);
    let bus = bus_with(move |warning| lock(&sender).send(warning).unwrap());
    bus.observe("faulty", Filter::All, Faulty(0));
    let (good, received) = mpsc::channel();
    bus.observe("good", Filter::All, Hooks(good));
    for _ in 0..5 {
        bus.publish(message("x"));
    }
    let report = bus.close(PATIENCE);
    assert_eq!((report.observers[0].delivered, report.observers[0].failed), (5, 2));
    assert_eq!(received.iter().count(), 6, "five messages and the close");
    drop(bus);
    let warnings: Vec<String> = warnings.iter().map(|warning| warning.to_string()).collect();
    assert_eq!(warnings, ["observer `faulty` failed on UserMessage: it panicked: second event"]);
}

struct Stuck(mpsc::Receiver<()>);

impl Observer for Stuck {
    fn on_event(&mut self, _: &Event) -> Result<(), BoxedError> {
        let _ = self.0.recv();
        Ok(())
    }
}

#[test]
fn a_stuck_observer_is_counted_warned_about_and_left_behind() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let bus = bus_with(move |warning| {
        assert!(matches!(warning, BusWarning::Dropping { .. }));
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let (release, blocked) = mpsc::channel();
    bus.observe("stuck", Filter::All, Stuck(blocked));
    let published = DEFAULT_QUEUE as u64 + 100;
    for _ in 0..published {
        bus.publish(line("x"));
    }
    let report = bus.close(Duration::from_millis(50));
    let observer = &report.observers[0];
    assert!(observer.stuck);
    assert!(observer.dropped >= 99, "{observer:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    drop(release);
}

struct Broken;

impl Recorder for Broken {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        if batch.iter().any(|event| event.seq == Some(2)) {
            return Err("no space left on device".into());
        }
        Ok(())
    }
}

#[test]
fn a_broken_recorder_is_reported_and_the_others_go_on() {
    let warnings = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&warnings);
    let bus = bus_with(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let memory = Memory::default();
    bus.add_recorder(Broken);
    bus.add_recorder(memory.clone());
    for _ in 0..4 {
        assert!(bus.publish(line("x")).is_some());
    }
    let report = bus.close(PATIENCE);
    assert_eq!(lock(&memory.0).len(), 4);
    assert_eq!(warnings.load(Ordering::SeqCst), 1);
    let texts: Vec<String> = report.recording_failures.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["recording failed at event 2: no space left on device"]);
}

#[test]
fn a_dropped_subscription_is_forgotten() {
    let bus = bus();
    drop(bus.subscribe("gone", Filter::All, 1));
    for _ in 0..10 {
        bus.publish(line("x"));
    }
    assert!(bus.state().queues.is_empty());
}

/// An observer may publish: the bus holds no lock while foreign code runs.
#[test]
fn an_observer_may_publish() {
    struct Echo(Bus);
    impl Observer for Echo {
        fn on_user_message(&mut self, _: &Event, _: &UserMessage) -> Result<(), BoxedError> {
            self.0.publish(line("echo"));
            Ok(())
        }
    }
    let bus = bus();
    let subscription = bus.subscribe("test", Filter::Types(vec![EventType::WorkerLog]), 4);
    bus.observe("echo", Filter::All, Echo(bus.clone()));
    bus.publish(message("hi"));
    let event = subscription.recv_timeout(PATIENCE).unwrap().unwrap();
    assert_eq!(event.seq, Some(2));
    bus.close(PATIENCE);
}
