//! The loop at the edge: reports of workers in, effects of the dispatcher out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{Body, Event, ExampleId, Progress, Status};
use proctor_verdict::{RunState, StopCause};
use tokio::sync::mpsc;

use super::execute::{Gathered, nothing_found};
use super::publish::Publisher;
use super::tracker::JobTracker;
use super::verdicts::Verdicts;
use super::{Control, RunOptions, RunResult, RunSetup, RunStatus, Shared};
use crate::dispatch::{Assigned, Dispatcher, Effect, Exit, Input, JobId, Moment, StopReason};
use crate::example::Example;
use crate::plan::{PlanOptions, plan, times};
use crate::suite::Finished;
use crate::worker::said::{Said, understand};
use crate::worker::{
    self, Farewell, FromWorker, Inbox, Item, Launcher, Order, Owner, Report, Tails,
};

/// How many reports may wait for us; workers are held up beyond that.
const INBOX: usize = 1024;
/// Progress is told at most so often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A worker as the loop knows it.
struct Handle {
    generation: u32,
    orders: mpsc::UnboundedSender<Order>,
    pid: Option<u32>,
    killed: bool,
    /// What it has sent, as far as it arrived.
    received: Received,
    /// What it says it has sent.
    farewell: Option<Farewell>,
}

/// How much of a worker has arrived.
#[derive(Debug, Clone, Copy, Default)]
struct Received {
    started: u64,
    finished: u64,
    errors: u64,
}

pub(super) struct Run<'a> {
    options: &'a RunOptions,
    /// What became of every job.
    tracker: JobTracker,
    /// Job ids by pool, key and repetition.
    names: Vec<HashMap<String, Vec<JobId>>>,
    pool_of_slot: Vec<usize>,
    launchers: Vec<Arc<dyn Launcher>>,
    dispatcher: Dispatcher,
    workers: BTreeMap<u32, Handle>,
    started: Instant,
    shared: &'a Arc<Shared>,
    inbox: mpsc::Sender<FromWorker>,
    reports: Option<mpsc::Receiver<FromWorker>>,
    marks: Arc<str>,
    told: Option<Instant>,
    durations: HashMap<ExampleId, f64>,
    notes: Vec<String>,
    /// What stopped the run before its end.
    stopped: Option<StopCause>,
    pub(super) killed: bool,
    ended: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        setup: &'a RunSetup,
        examples: Vec<Example>,
        gathered: &Gathered,
        launchers: Vec<Arc<dyn Launcher>>,
        publisher: Publisher,
        started: Instant,
        shared: &'a Arc<Shared>,
    ) -> Self {
        let options = &setup.options;
        let slots = gathered.slots.iter().map(|own| own.unwrap_or(options.workers)).collect();
        let slots: Vec<u32> = slots;
        let pool = |example: &Example| gathered.pools.get(&example.suite).copied().unwrap_or(0);
        let how = PlanOptions {
            repeats: options.repeats,
            split_groups: options.split_groups,
            workers: options.workers,
        };
        let plan = plan(&examples, pool, &options.estimates, how);
        let mut names: Vec<HashMap<String, Vec<JobId>>> = vec![HashMap::new(); launchers.len()];
        for (number, job) in (0..).zip(&plan.jobs) {
            let example = &examples[job.example];
            names[pool(example)].entry(example.key.clone()).or_default().push(JobId(number));
        }
        let pool_of_slot = slots
            .iter()
            .enumerate()
            .flat_map(|(pool, count)| std::iter::repeat_n(pool, *count as usize))
            .collect();
        let repetitions = |example: &Example| times(example, options.repeats);
        let verdicts = Verdicts::new(&examples, repetitions, options.verdict_policy());
        let mut policy = options.policy(slots, gathered.fail_fast);
        let gated =
            (0..).zip(&plan.jobs).filter(|(_, job)| examples[job.example].pass_rate.is_some());
        policy.gated = gated.map(|(number, _)| JobId(number)).collect();
        let (inbox, reports) = mpsc::channel(INBOX);
        shared.advance(0, plan.jobs.len() as u64, 0);
        Self {
            options,
            dispatcher: Dispatcher::new(policy, plan.specs),
            tracker: JobTracker::new(examples, plan.jobs, verdicts, publisher),
            names,
            pool_of_slot,
            launchers,
            workers: BTreeMap::new(),
            started,
            shared,
            inbox,
            reports: Some(reports),
            marks: marks(setup.bus.run_id().as_str()).into(),
            told: None,
            durations: HashMap::new(),
            notes: Vec::new(),
            stopped: None,
            killed: false,
            ended: false,
        }
    }

    fn now(&self) -> Moment {
        Moment::try_from(self.started.elapsed().as_micros()).unwrap_or(Moment::MAX)
    }

    pub(super) async fn run_all(&mut self, orders: &mut mpsc::UnboundedReceiver<Control>) {
        let Some(mut reports) = self.reports.take() else { return };
        self.tracker.publisher.flush();
        self.step(Input::Begin);
        let mut batch = Vec::new();
        while !self.ended {
            let deadline = self.dispatcher.next_deadline();
            let wait = deadline.map(|at| Duration::from_micros(at.saturating_sub(self.now())));
            tokio::select! {
                biased;
                Some(control) = orders.recv() => self.control(control),
                _ = reports.recv_many(&mut batch, 64) => {
                    for report in batch.drain(..) {
                        self.take(report);
                    }
                }
                () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                    self.step(Input::Tick);
                }
            }
            self.tell_progress(false);
            self.tracker.publisher.flush();
        }
        self.tell_progress(true);
        self.tracker.publisher.flush();
    }

    /// Somebody wants the run to end before it does by itself.
    pub(super) fn stopped_by(&mut self, control: Control) {
        self.stopped.get_or_insert(control.cause());
        self.killed |= matches!(control, Control::Kill(_));
    }

    fn control(&mut self, control: Control) {
        self.stopped_by(control);
        self.step(match control {
            Control::Stop(_) => Input::Stop(StopReason::Cancelled),
            Control::Kill(_) => Input::KillNow,
        });
    }

    fn tell_progress(&mut self, last: bool) {
        let completed = self.tracker.publisher.results;
        let (total, failures) = (self.tracker.jobs.len() as u64, self.tracker.verdicts.failures());
        self.shared.advance(completed, total, failures);
        if last || self.told.is_none_or(|told| told.elapsed() >= PROGRESS_EVERY) {
            self.told = Some(Instant::now());
            self.tracker.publisher.publish(Progress { completed, total, failures });
        }
    }

    fn step(&mut self, input: Input) {
        let now = self.now();
        for effect in self.dispatcher.step(now, input) {
            self.carry_out(effect);
        }
        while let Some(input) = self.tracker.next_follow_up() {
            for effect in self.dispatcher.step(now, input) {
                self.carry_out(effect);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start { slot, generation } => self.start(slot, generation),
            Effect::Assign { slot, units, failures_left } => {
                let units = units
                    .iter()
                    .map(|unit| unit.iter().map(|assigned| self.item(*assigned)).collect())
                    .collect();
                self.order(slot, Order::Run { units, failures_left });
            }
            Effect::ChangeFailuresLeft { slot, by } => {
                self.order(slot, Order::ChangeFailuresLeft(by));
            }
            Effect::TakeBack { slot, jobs } => {
                let keys = jobs.iter().map(|job| self.tracker.example(*job).key.clone()).collect();
                self.order(slot, Order::GiveBack(keys));
            }
            Effect::Shutdown { slot } => self.order(slot, Order::Shutdown),
            Effect::Kill { slot, timed_out } => {
                if let Some(worker) = self.workers.get_mut(&slot) {
                    worker.killed = true;
                }
                self.order(slot, Order::Kill { timed_out });
            }
            Effect::Announce { slot, assigned } => {
                self.tracker.announce(assigned, self.worker_number(slot));
            }
            Effect::Report { slot, assigned, outcome } => self.report(slot, assigned, *outcome),
            Effect::Slow { slot, assigned, running } => {
                let line = format!("still running after {} s", running / 1_000_000);
                let attempt = self.tracker.attempt(assigned, self.worker_number(slot));
                self.tracker.publisher.printed(Some(attempt), None, true, &line);
            }
            Effect::Lost { slot, message, exit } => self.tracker.lost(slot, message, *exit),
            Effect::Odd { slot, what } => {
                self.tracker.mistrust(slot, format!("worker {} {what}", slot + 1));
            }
            Effect::Done => self.ended = true,
        }
    }

    fn report(
        &mut self,
        slot: Option<u32>,
        assigned: Assigned,
        outcome: proctor_events::ExampleFinished,
    ) {
        if let (Some(taken), Status::Passed | Status::Failed) =
            (outcome.duration_ms, &outcome.status)
        {
            let id = self.tracker.example(assigned.job).id.clone();
            self.durations.insert(id, taken.get());
        }
        let worker = slot.and_then(|slot| self.worker_number(slot));
        self.tracker.report(assigned, worker, outcome);
    }

    fn start(&mut self, slot: u32, generation: u32) {
        let (orders, received) = mpsc::unbounded_channel();
        let inbox = Inbox::new(slot, generation, self.inbox.clone());
        let place = worker::Place { inbox, marks: Arc::clone(&self.marks) };
        tokio::spawn(Arc::clone(self.launcher(slot)).serve(place, received));
        let handle = Handle {
            generation,
            orders,
            pid: None,
            killed: false,
            received: Received::default(),
            farewell: None,
        };
        self.workers.insert(slot, handle);
    }

    fn launcher(&self, slot: u32) -> &Arc<dyn Launcher> {
        &self.launchers[self.pool_of_slot[slot as usize]]
    }

    /// The number of the worker process behind a slot, if there is one.
    fn worker_number(&self, slot: u32) -> Option<u32> {
        self.launcher(slot).has_processes().then_some(slot)
    }

    fn order(&self, slot: u32, order: Order) {
        if let Some(worker) = self.workers.get(&slot) {
            // A worker that has just ended will say so.
            let _ = worker.orders.send(order);
        }
    }

    fn item(&self, assigned: Assigned) -> Item {
        let repeat = self.tracker.jobs[assigned.job.0 as usize].repeat;
        Item {
            key: self.tracker.example(assigned.job).key.clone(),
            repeat,
            attempt: assigned.attempt,
        }
    }

    fn job(&self, slot: u32, key: &str, repeat: u32) -> Option<JobId> {
        let pool = *self.pool_of_slot.get(slot as usize)?;
        self.names[pool].get(key)?.get(repeat.checked_sub(1)? as usize).copied()
    }

    fn take(&mut self, message: FromWorker) {
        let FromWorker { slot, generation, report } = message;
        match report {
            Report::Ready { pid } => {
                let Some(worker) = self.worker(slot, generation) else { return };
                worker.pid = pid;
                if self.launcher(slot).has_processes() {
                    self.tracker.publisher.worker_started(slot, generation, pid);
                }
                self.step(Input::Ready { slot, generation });
            }
            Report::StartFailed(message) => {
                self.step(Input::StartFailed { slot, generation, message });
            }
            Report::Said(notification) => {
                let said = understand(&notification.kind, notification.body.as_str());
                self.hear(slot, generation, said);
            }
            Report::Heard(all) => {
                for said in all {
                    self.hear(slot, generation, said);
                }
            }
            Report::StopRun => self.step(Input::Stop(StopReason::Spent)),
            Report::Returned(items) => {
                let jobs =
                    items.iter().filter_map(|(key, repeat)| self.job(slot, key, *repeat)).collect();
                self.step(Input::Returned { slot, generation, jobs });
            }
            Report::Refused(items, why) => {
                let jobs =
                    items.iter().filter_map(|(key, repeat)| self.job(slot, key, *repeat)).collect();
                self.step(Input::Refused { slot, generation, jobs, why });
            }
            Report::Farewell(farewell) => {
                if let Some(worker) = self.worker(slot, generation) {
                    worker.farewell = Some(farewell);
                }
            }
            Report::Printed { stderr, owner, line } => {
                self.print(slot, owner.as_deref(), stderr, &line);
            }
            Report::Problem(problem) => self.complain(slot, &problem),
            Report::Exited { exit, tails } => self.exited(slot, generation, exit, &tails),
        }
    }

    fn worker(&mut self, slot: u32, generation: u32) -> Option<&mut Handle> {
        self.workers.get_mut(&slot).filter(|worker| worker.generation == generation)
    }

    fn exited(&mut self, slot: u32, generation: u32, mut exit: Exit, tails: &Tails) {
        let running = self.dispatcher.running(slot, generation).map(|assigned| {
            let Item { key, repeat, attempt } = self.item(assigned);
            Owner { key, turn: Some((repeat, attempt)) }
        });
        exit.output_tail = tails.lines(running.as_ref());
        self.compare_counts(slot, generation);
        let worker = self.workers.get(&slot).filter(|worker| worker.generation == generation);
        let pid = worker.and_then(|worker| worker.pid);
        let expected = exit.status == Some(0) || worker.is_some_and(|worker| worker.killed);
        if self.launcher(slot).has_processes() {
            self.tracker.publisher.worker_exited(slot, generation, pid, &exit, expected);
        }
        self.step(Input::Exited { slot, generation, exit });
    }

    /// A worker that ends properly says how much it has sent: a difference is an error, for a result may be missing.
    fn compare_counts(&mut self, slot: u32, generation: u32) {
        let Some(worker) = self.worker(slot, generation) else { return };
        let (received, said) = (worker.received, worker.farewell.take().unwrap_or_default());
        let pairs = [
            ("starts", said.started, received.started),
            ("results", said.finished, received.finished),
            ("errors outside examples", said.errors, received.errors),
        ];
        for (what, said, arrived) in pairs {
            if let Some(sent) = said.filter(|sent| *sent != arrived) {
                let who = slot + 1;
                self.tracker.mistrust(
                    slot,
                    format!("worker {who} says that it sent {sent} {what}, but {arrived} arrived"),
                );
            }
        }
    }

    fn hear(&mut self, slot: u32, generation: u32, said: Said) {
        if let Some(worker) = self.worker(slot, generation) {
            match &said {
                Said::Started { .. } => worker.received.started += 1,
                Said::Finished { .. } => worker.received.finished += 1,
                Said::Event { event, .. } if matches!(event.body, Body::ErrorOutsideExample(_)) => {
                    worker.received.errors += 1;
                }
                _ => {}
            }
        }
        match said {
            Said::Started { key, repeat } => match self.job(slot, &key, repeat) {
                Some(job) => self.step(Input::Started { slot, generation, job }),
                None => {
                    self.complain(slot, &format!("the worker started an unknown example {key}"));
                }
            },
            Said::Finished { key, repeat, outcome } => {
                if let Some(job) = self.job(slot, &key, repeat) {
                    self.step(Input::Finished { slot, generation, job, outcome });
                } else {
                    let who = slot + 1;
                    let what = format!("{key} ({})", outcome.status.as_str());
                    let message =
                        format!("worker {who} reports an example that was never listed: {what}");
                    self.tracker.mistrust(slot, message);
                }
            }
            Said::Event { key, event } => self.pass_on(slot, key.as_deref(), *event),
            Said::Log { level, message } => {
                self.tracker.publisher.printed(
                    None,
                    Some(slot),
                    true,
                    &format!("{level}: {message}"),
                );
            }
            Said::Unreadable(what) => {
                self.complain(slot, &what);
                self.step(Input::Unreadable { slot, generation, what });
            }
        }
    }

    /// An event of the example itself: a message, a tool call, a group, an error outside.
    fn pass_on(&mut self, slot: u32, key: Option<&str>, mut event: Event) {
        let repeat = event.repeat.unwrap_or(1);
        let job = key.and_then(|key| self.job(slot, key, repeat));
        event.example_id = job.map(|job| self.tracker.example(job).id.clone());
        event.repeat = job.map(|_| repeat);
        event.attempt = job.map(|job| self.tracker.current_attempt(job));
        event.worker = self.worker_number(slot);
        if matches!(event.body, proctor_events::Body::ErrorOutsideExample(_)) {
            self.tracker.publisher.errors += 1;
        }
        self.tracker.publisher.publish(event);
    }

    fn print(&self, slot: u32, owner: Option<&Owner>, stderr: bool, line: &str) {
        let attempt = owner.and_then(|owner| {
            let repeat = owner.turn.map_or(1, |(repeat, _)| repeat);
            let job = self.job(slot, &owner.key, repeat)?;
            let attempt =
                owner.turn.map_or(self.tracker.current_attempt(job), |(_, attempt)| attempt);
            Some(self.tracker.attempt(Assigned { job, attempt }, Some(slot)))
        });
        self.tracker.publisher.printed(attempt, Some(slot), stderr, line);
    }

    fn complain(&self, slot: u32, problem: &str) {
        self.tracker.publisher.printed(None, Some(slot), true, &format!("proctor: {problem}"));
    }

    pub(super) fn suite_ended(&mut self, finished: Finished) {
        for line in &finished.output {
            self.tracker.publisher.printed(None, None, true, line);
        }
        for leaked in &finished.leaked {
            let line = format!(
                "left behind by the suite and ended: {} (pid {})",
                leaked.command, leaked.pid
            );
            self.tracker.publisher.printed(None, None, true, &line);
        }
        for error in finished.errors {
            self.tracker.publisher.error(error);
        }
        self.notes.extend(finished.notes);
    }

    pub(super) fn result(
        mut self,
        gathered: Gathered,
        loaded: bool,
        setup: &RunSetup,
    ) -> RunResult {
        let policy = self.options.verdict_policy();
        let (facts, verdict) =
            self.tracker.conclude(loaded, self.stopped, policy, self.started.elapsed());
        let nothing = verdict.state() == RunState::NothingFound;
        RunResult {
            status: RunStatus::of(&verdict),
            counts: facts.counts,
            problem: nothing.then(|| nothing_found(setup)),
            notes: [gathered.notes, self.notes].concat(),
            durations: self.durations,
            failed: self.tracker.verdicts.failed(&self.tracker.examples),
            verdict,
        }
    }
}

/// A text that no test prints by chance: it is made from the run's random id.
fn marks(run_id: &str) -> String {
    format!("\u{1}proctor-{run_id}\u{1}")
}
