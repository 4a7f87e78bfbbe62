//! Follows a run that another process makes: plain `rspec` with the library reports over a socket, as a worker would.
//!
//! The other side lists its examples, says when each begins and how it ends, and may have conversations conducted.
//! Events are published exactly as for a run of our own. When the other side is gone, the run is over; if it is gone without having said so,
//! the recording gets no `SuiteFinished`: it was cut off.

use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_converse::worker_host::ConversationHost;
use proctor_events::{Bus, Event, ExampleFinished, Millis, Status, SuiteStarted};
use proctor_process::protocol::{HostInfo, IncomingRequest, Notification};
use proctor_process::{Channel, ChannelConfig};
use proctor_verdict::{Facts, Policy, RunVerdict, StopCause};
use serde::Deserialize;
use tokio::sync::watch;

use super::execute::finish;
use super::outputs::{READ_EVENTS, RunOutputs, answer_read};
use super::publish::{PublishedAttempt, Publisher};
use super::verdicts::Verdicts;
use crate::example::{Example, Listed, OutsideError, Register};
use crate::worker_link::HostRequests;
use crate::worker_link::reports::Report;
use crate::worker_link::worker_message::read_notification;

/// How long the other side may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Deserialize)]
struct Part {
    examples: Vec<Listed>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Begun {
    seed: Option<u64>,
    load_ms: Option<f64>,
    /// How many examples were listed, by the other side's count.
    count: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Over {
    errors: u64,
    interrupted: bool,
}

/// What Ctrl-C sends.
const SIGINT: u8 = 2;

/// What came of a run that another process made.
#[derive(Debug, Default)]
pub struct ExternalRun {
    /// Whether the user stopped it (Ctrl-C).
    pub interrupted: bool,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Follows the run at the other end of a socket until it is over. `suite` names what runs there.
pub async fn follow_external_run(
    suite: &str,
    socket: OwnedFd,
    host: Arc<ConversationHost>,
    bus: Bus,
    outputs: Arc<dyn RunOutputs>,
) -> std::io::Result<ExternalRun> {
    let mut host_requests = HostRequests::new(&host);
    let config = HostRequests::config(Some(&host_requests), ChannelConfig::default());
    let (published, all_published) = watch::channel(false);
    let config = answer_for_events(config, outputs, all_published);
    let channel = Channel::over_socket(socket, suite, config)?;
    host_requests.connect(channel.clone());
    let greeting = channel.clone();
    tokio::spawn(async move {
        let host =
            HostInfo { name: "proctor".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        // A peer that cannot answer fails by itself, and says so.
        let _ = greeting.hello(host, HELLO_TIMEOUT).await;
    });
    let mut run = FollowedRun::new(suite, bus);
    if let Some(mut notifications) = channel.notifications() {
        loop {
            run.publish_progress(false);
            run.publisher.flush();
            tokio::select! {
                biased;
                notification = notifications.next() => match notification {
                    Some(notification) => run.handle_notification(notification),
                    None => break,
                },
                events = host_requests.next() => {
                    for report in events {
                        run.handle_report(report);
                    }
                }
            }
            while let Some(notification) = notifications.try_next() {
                run.handle_notification(notification);
            }
            if run.over.is_some() || run.broken_off {
                // Observers at the other end wait for the last event.
                for report in host_requests.waiting() {
                    run.handle_report(report);
                }
                run.end();
                published.send_replace(true);
            }
        }
    }
    for report in host_requests.rest() {
        run.handle_report(report);
    }
    run.end();
    let interrupted = run.over.as_ref().is_some_and(|over| over.interrupted);
    drop(run);
    Ok(ExternalRun { interrupted, notes: host.end(false).await.notes })
}

/// Has requests for events answered here, all others as before.
fn answer_for_events(
    config: ChannelConfig,
    outputs: Arc<dyn RunOutputs>,
    all_published: watch::Receiver<bool>,
) -> ChannelConfig {
    let others = config.handler.clone();
    config.handler(move |request: IncomingRequest| match &others {
        Some(others) if &*request.action != READ_EVENTS => others.handle(request),
        _ => answer_read(&outputs, &request, Some(all_published.clone())),
    })
}

/// The run, as far as it has been reported.
struct FollowedRun {
    /// The name of what runs.
    suite: String,
    publisher: Publisher,
    register: Register,
    verdicts: Verdicts,
    places: HashMap<String, usize>,
    running: Option<usize>,
    /// Keys of examples that ran and were never listed.
    unlisted: HashSet<String>,
    began: Instant,
    begun: bool,
    /// The other side ends without saying how the run came out.
    broken_off: bool,
    /// Everything has been published.
    ended: bool,
    /// What the other side said at its end.
    over: Option<Over>,
}

impl FollowedRun {
    fn new(suite: &str, bus: Bus) -> Self {
        Self {
            suite: suite.to_owned(),
            publisher: Publisher::new(bus),
            register: Register::default(),
            verdicts: Verdicts::default(),
            places: HashMap::new(),
            running: None,
            unlisted: HashSet::new(),
            began: Instant::now(),
            begun: false,
            broken_off: false,
            ended: false,
            over: None,
        }
    }

    fn handle_notification(&mut self, notification: Notification) {
        if self.ended {
            return;
        }
        let body = notification.body.as_str();
        match &*notification.kind {
            "examples" => self.listed(body),
            "suite_started" => self.start(&serde_json::from_str(body).unwrap_or_default()),
            "suite_finished" => {
                let over: Over = serde_json::from_str(body).unwrap_or_default();
                self.publisher.errors = self.publisher.errors.max(over.errors);
                self.over = Some(over);
            }
            "suite_broken_off" => self.broken_off = true,
            _ => self.handle_report(read_notification(notification)),
        }
    }

    fn listed(&mut self, body: &str) {
        match serde_json::from_str::<Part>(body) {
            Ok(part) => {
                for listed in part.examples {
                    self.register.add(&self.suite, listed);
                }
            }
            Err(error) => {
                self.publish_problem(&format!("a listed example is malformed: {error}"));
            }
        }
        for (place, example) in self.register.examples.iter().enumerate().skip(self.places.len()) {
            self.places.insert(example.key.clone(), place);
            self.verdicts.add();
        }
    }

    fn start(&mut self, begun: &Begun) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.publisher.publish(SuiteStarted {
            seed: begun.seed,
            example_count: Some(self.register.examples.len() as u64),
            repetition_count: Some(self.register.examples.len() as u64),
            policy: Some(Policy::default().to_event()),
            load_time_ms: begun.load_ms.map(Millis::new),
            ..SuiteStarted::default()
        });
        for error in std::mem::take(&mut self.register.errors) {
            self.publisher.error(error);
        }
        let listed = self.register.listed;
        if let Some(announced) = begun.count.filter(|announced| *announced != listed) {
            self.error(format!(
                "{} announced {announced} examples, but {listed} were listed",
                self.suite
            ));
        }
    }

    fn handle_report(&mut self, report: Report) {
        if self.ended {
            return;
        }
        match report {
            Report::Started { key, .. } => {
                self.running = self.places.get(&key).copied();
                match self.running.map(|place| &self.register.examples[place]) {
                    Some(example) => self.publisher.started(attempt(example, true)),
                    None => self.unlisted(&key),
                }
            }
            Report::Finished { key, outcome, .. } => self.finished(&key, *outcome),
            Report::Event { key, event } => self.publish_event(key.as_deref(), *event),
            Report::Log { level, message } => {
                self.publisher.printed(None, None, true, &format!("{level}: {message}"));
            }
            Report::Unreadable { message } => self.publish_problem(&message),
            // A single process makes the whole run: it takes no orders, and is no slot.
            Report::Ready { .. }
            | Report::StartFailed { .. }
            | Report::BudgetSpent
            | Report::Returned { .. }
            | Report::LateExamples { .. }
            | Report::Refused { .. }
            | Report::Farewell(_)
            | Report::Printed(_)
            | Report::Problem { .. }
            | Report::Exited { .. }
            | Report::Unreachable { .. }
            | Report::SlotJoined
            | Report::SlotLeft
            | Report::Prepared { .. }
            | Report::Mutation { .. } => {}
        }
    }

    fn finished(&mut self, key: &str, mut outcome: ExampleFinished) {
        let Some(place) = self.places.get(key).copied() else { return self.unlisted(key) };
        outcome.r#final = Some(true);
        proctor_verdict::normalize_status(&mut outcome);
        let announced = self.running.take() == Some(place);
        self.verdicts.count(place, &outcome);
        self.publisher.finished(attempt(&self.register.examples[place], announced), outcome);
    }

    fn publish_event(&mut self, key: Option<&str>, mut event: Event) {
        let place = key.and_then(|key| self.places.get(key));
        event.example_id = place.map(|place| self.register.examples[*place].id.clone());
        event.repeat = place.map(|_| 1);
        event.attempt = place.map(|_| 1);
        self.publisher.publish(event);
    }

    fn publish_problem(&self, problem: &str) {
        self.publisher.printed(None, None, true, &format!("proctor: {problem}"));
    }

    /// An example that was defined while the suite ran has no id, so its results cannot be kept. That fails the run.
    fn unlisted(&mut self, key: &str) {
        if self.unlisted.insert(key.to_owned()) {
            self.error(format!("{key} ran, but it was not listed: it was defined while the suite ran, and its result is not recorded"));
        }
    }

    fn error(&mut self, message: String) {
        self.publisher.error(OutsideError {
            phase: self.suite.clone(),
            message: Some(message),
            ..OutsideError::default()
        });
    }

    /// The other side is gone: orderly, or with an example open.
    fn end(&mut self) {
        if !self.begun || std::mem::replace(&mut self.ended, true) {
            return;
        }
        let running = self.running.take();
        if let Some(place) = running {
            let message = format!("{} ended while this example ran", self.suite);
            let outcome = ExampleFinished {
                status: Status::Crashed,
                message: Some(message),
                r#final: Some(true),
                ..ExampleFinished::default()
            };
            self.verdicts.count(place, &outcome);
            self.publisher.finished(attempt(&self.register.examples[place], true), outcome);
        }
        let lost = (self.register.examples.len() as u64).saturating_sub(self.publisher.results);
        match (&self.over, running) {
            (None, None) => self.error(format!("{} ended before it was through", self.suite)),
            (Some(_), _) if lost > 0 => {
                self.error(format!("{lost} of the listed examples have no result: they got lost"));
            }
            _ => {}
        }
        // The outcome was not reported, so the recording has none.
        if self.over.is_some() {
            self.finish();
        }
        self.publisher.flush();
    }

    fn publish_progress(&self, last: bool) {
        if self.begun {
            let total = self.register.examples.len() as u64;
            self.publisher.progress(total, self.verdicts.failures(), last);
        }
    }

    fn finish(&mut self) {
        self.publish_progress(true);
        let total = self.register.examples.len() as u64;
        let mut counts = self.verdicts.counts(self.publisher.errors);
        counts.repetitions = total;
        let accounted = self.publisher.results == total;
        let interrupted = self.over.as_ref().is_some_and(|over| over.interrupted);
        let stopped = interrupted.then_some(StopCause::Signal(SIGINT));
        let facts = Facts { loaded: true, counts, accounted, stopped };
        let verdict = RunVerdict::conclude(&facts, Policy::default());
        finish(&self.publisher, &facts, &verdict, self.began.elapsed(), 0);
    }
}

/// The attempt of an example; plain `rspec` makes one of each.
fn attempt(example: &Example, announced: bool) -> PublishedAttempt<'_> {
    PublishedAttempt { example, repeat: 1, attempt: 1, worker: None, announced }
}
