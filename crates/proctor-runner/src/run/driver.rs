//! The loop at the edge: reports of workers in, effects of the dispatcher out.

mod machines;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{Body, ErrorOutsideExample, Event, ExampleId, Status};
use proctor_verdict::{RunState, StopCause};
use tokio::sync::mpsc;

pub(super) use self::machines::{Crew, WantedCrew};
use super::execute::{OpenedSuites, Planned, SuiteLinks, nothing_found};
use super::publish::Publisher;
use super::tracker::JobTracker;
use super::{Control, RunOptions, RunResult, RunSetup, RunStatus, Shared};
use crate::dispatch::{Assigned, Dispatcher, Effect, Exit, Input, JobId, Moment, StopReason};
use crate::example::Listed;
use crate::suite::{SuiteEnd, leaked_line};
use crate::worker_link::orders::{ExampleRun, LastNumber, Order, OrderAction, OrderNumbers};
use crate::worker_link::reports::{
    ExitFacts, FinalCounts, OutputOwner, OutputTails, PrintedLine, Report, ReportBatch,
};
use crate::worker_link::{LinkFactory, SlotSeat, WorkerLink};

/// How many batches of reports may wait; workers are held up beyond that.
const INBOX: usize = 1024;

/// The generation that serves a slot.
struct ServedSlot {
    generation: u32,
    orders: mpsc::UnboundedSender<Order>,
    order_numbers: OrderNumbers,
    /// The last batch of reports that has arrived.
    last_batch: LastNumber,
    pid: Option<u32>,
    killed: bool,
    /// What it has sent, as far as it arrived.
    received: ReceivedCounts,
    /// What it says it has sent.
    farewell: Option<FinalCounts>,
}

/// How much of a worker has arrived.
#[derive(Debug, Clone, Copy, Default)]
struct ReceivedCounts {
    started: u64,
    finished: u64,
    errors: u64,
}

/// A run in progress: the dispatcher and everything it decides for.
pub(super) struct RunDriver<'a> {
    options: &'a RunOptions,
    /// What became of every job.
    tracker: JobTracker,
    /// Job ids by suite, key and repetition.
    names: Vec<HashMap<String, Vec<JobId>>>,
    /// Every slot with the index of its suite and its link.
    slots: Vec<(usize, Arc<dyn WorkerLink>)>,
    /// What makes the links of further slots, by suite.
    link_factories: Vec<LinkFactory>,
    dispatcher: Dispatcher,
    workers: BTreeMap<u32, ServedSlot>,
    started: Instant,
    shared: &'a Arc<Shared>,
    inbox: mpsc::Sender<ReportBatch>,
    reports: Option<mpsc::Receiver<ReportBatch>>,
    marks: Arc<str>,
    durations: HashMap<ExampleId, f64>,
    notes: Vec<String>,
    /// Errors of suite hooks that were published: phase, place, class and message.
    suite_hook_errors: HashSet<(String, Option<String>, String)>,
    /// What stopped the run before its end.
    stopped: Option<StopCause>,
    pub(super) killed: bool,
    ended: bool,
}

impl<'a> RunDriver<'a> {
    pub(super) fn new(
        setup: &'a RunSetup,
        planned: Planned,
        fail_fast: Option<u32>,
        links: Vec<SuiteLinks>,
        publisher: Publisher,
        started: Instant,
        shared: &'a Arc<Shared>,
    ) -> Self {
        let options = &setup.options;
        let counts = links.iter().map(|suite| u32::try_from(suite.links.len()).unwrap_or(u32::MAX));
        let mut policy = options.policy(counts.collect(), fail_fast);
        // A suite without slots has them at other machines.
        policy.awaits_slots = policy.slots.iter().all(|count| *count == 0);
        let names = vec![HashMap::new(); links.len()];
        let (mut slots, mut link_factories) = (Vec::new(), Vec::new());
        for (suite, SuiteLinks { links, make_link }) in links.into_iter().enumerate() {
            slots.extend(links.into_iter().map(|link| (suite, link)));
            link_factories.push(make_link);
        }
        let at_once = policy.slots.iter().copied().max().filter(|count| *count > 0);
        let at_once = at_once.unwrap_or(options.workers);
        let (tracker, specs) = JobTracker::plan(planned, options, at_once, publisher);
        let (inbox, reports) = mpsc::channel(INBOX);
        shared.advance(0, tracker.jobs.len() as u64, 0);
        let mut run = Self {
            options,
            dispatcher: Dispatcher::new(policy, specs),
            tracker,
            names,
            slots,
            link_factories,
            workers: BTreeMap::new(),
            started,
            shared,
            inbox,
            reports: Some(reports),
            marks: marks(setup.bus.run_id().as_str()).into(),
            durations: HashMap::new(),
            notes: Vec::new(),
            suite_hook_errors: HashSet::new(),
            stopped: None,
            killed: false,
            ended: false,
        };
        run.name_jobs(0);
        run
    }

    /// Lets the jobs from this one on be found by the names that workers use.
    fn name_jobs(&mut self, first: usize) {
        for (number, job) in self.tracker.jobs.iter().enumerate().skip(first) {
            let example = &self.tracker.examples[job.example];
            let id = JobId(u32::try_from(number).unwrap_or(u32::MAX));
            self.names[example.suite_index].entry(example.key.clone()).or_default().push(id);
        }
    }

    fn now(&self) -> Moment {
        Moment::try_from(self.started.elapsed().as_micros()).unwrap_or(Moment::MAX)
    }

    pub(super) async fn run_all(&mut self, orders: &mut mpsc::UnboundedReceiver<Control>) {
        let Some(mut reports) = self.reports.take() else { return };
        self.tracker.publisher.flush();
        self.step(Input::Begin);
        let mut batches = Vec::new();
        while !self.ended {
            let deadline = self.dispatcher.next_deadline();
            let wait = deadline.map(|at| Duration::from_micros(at.saturating_sub(self.now())));
            tokio::select! {
                biased;
                Some(control) = orders.recv() => self.handle_control(control),
                _ = reports.recv_many(&mut batches, 64) => {
                    for batch in batches.drain(..) {
                        self.handle_batch(batch);
                    }
                }
                () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                    self.step(Input::Tick);
                }
            }
            self.publish_progress(false);
            self.tracker.publisher.flush();
        }
        self.publish_progress(true);
        self.tracker.publisher.flush();
    }

    /// Handles a request to stop the run early.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    pub(super) fn stopped_by(&mut self, control: Control) {
        self.stopped.get_or_insert(control.cause());
        self.killed |= matches!(control, Control::Kill(_));
    }

    fn handle_control(&mut self, control: Control) {
        self.stopped_by(control);
        self.step(match control {
            Control::Stop(_) => Input::Stop(StopReason::Cancelled),
            Control::Kill(_) => Input::KillNow,
        });
    }

    fn publish_progress(&mut self, last: bool) {
        let completed = self.tracker.publisher.results;
        let (total, failures) = (self.tracker.jobs.len() as u64, self.tracker.verdicts.failures());
        self.shared.advance(completed, total, failures);
        self.tracker.publisher.progress(total, failures, last);
    }

    fn step(&mut self, input: Input) {
        let now = self.now();
        let mut effects = self.dispatcher.take_input(now, input);
        loop {
            for effect in effects {
                self.apply_effect(effect);
            }
            let known = self.tracker.jobs.len();
            let stopping = self.dispatcher.is_stopping();
            if let Some(input) = self.tracker.next_follow_up(stopping) {
                self.name_jobs(known);
                effects = self.dispatcher.take_input(now, input);
                continue;
            }
            effects = self.dispatcher.give_out();
            if effects.is_empty() {
                break;
            }
        }
    }

    fn apply_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Start { slot, generation } => self.start(slot, generation),
            Effect::Assign { slot, units, failures_left } => {
                let units = units
                    .iter()
                    .map(|unit| unit.iter().map(|assigned| self.example_run(*assigned)).collect())
                    .collect();
                self.send_order(slot, OrderAction::Run { units, failures_left });
            }
            Effect::ChangeFailuresLeft { slot, by } => {
                self.send_order(slot, OrderAction::ChangeFailuresLeft { by });
            }
            Effect::TakeBack { slot, jobs } => {
                let run = |job: &JobId| {
                    let attempt = self.tracker.current_attempt(*job);
                    self.example_run(Assigned { job: *job, attempt })
                };
                let examples = jobs.iter().map(run).collect();
                self.send_order(slot, OrderAction::GiveBack { examples });
            }
            Effect::Shutdown { slot } => {
                let stopped = self.dispatcher.is_stopping();
                self.send_order(slot, OrderAction::Shutdown { stopped });
            }
            Effect::Kill { slot, timed_out } => {
                if let Some(worker) = self.workers.get_mut(&slot) {
                    worker.killed = true;
                }
                self.send_order(slot, OrderAction::Kill { timed_out });
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
                self.tracker.protocol_error(slot, format!("worker {slot} {what}"));
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
        let marks = Arc::clone(&self.marks);
        let (seat, orders) = SlotSeat::new((slot, generation), self.inbox.clone(), marks);
        tokio::spawn(Arc::clone(self.link(slot)).serve(seat));
        let served = ServedSlot {
            generation,
            orders,
            order_numbers: OrderNumbers::default(),
            last_batch: LastNumber::default(),
            pid: None,
            killed: false,
            received: ReceivedCounts::default(),
            farewell: None,
        };
        self.workers.insert(slot, served);
    }

    fn link(&self, slot: u32) -> &Arc<dyn WorkerLink> {
        &self.slots[slot as usize].1
    }

    /// The number of the worker process behind a slot, if there is one.
    fn worker_number(&self, slot: u32) -> Option<u32> {
        self.link(slot).has_process().then_some(slot)
    }

    fn send_order(&mut self, slot: u32, action: OrderAction) {
        if let Some(worker) = self.workers.get_mut(&slot) {
            // The receiver is dropped when the worker has just ended; its exit is reported.
            let _ = worker.orders.send(worker.order_numbers.number(action));
        }
    }

    fn example_run(&self, assigned: Assigned) -> ExampleRun {
        let repeat = self.tracker.jobs[assigned.job.0 as usize].repeat;
        ExampleRun {
            key: self.tracker.example(assigned.job).key.clone(),
            repeat,
            attempt: assigned.attempt,
            limit_ms: self.options.timeout,
        }
    }

    fn job(&self, slot: u32, key: &str, repeat: u32) -> Option<JobId> {
        let (suite, _) = self.slots.get(slot as usize)?;
        self.names[*suite].get(key)?.get(repeat.checked_sub(1)? as usize).copied()
    }

    /// Handles the reports of a batch, unless it has arrived before.
    fn handle_batch(&mut self, batch: ReportBatch) {
        let ReportBatch { number, slot, generation, reports, .. } = batch;
        let worker = self.worker(slot, generation);
        if worker.is_some_and(|worker| !worker.last_batch.accept(number)) {
            return;
        }
        for report in reports {
            self.handle_report(slot, generation, report);
        }
    }

    fn handle_report(&mut self, slot: u32, generation: u32, report: Report) {
        self.count_report(slot, generation, &report);
        match report {
            Report::Ready { pid } => self.ready(slot, generation, pid),
            Report::StartFailed { message, .. } => {
                self.step(Input::StartFailed { slot, generation, message });
            }
            Report::Started { key, repeat } => match self.job(slot, &key, repeat) {
                Some(job) => self.step(Input::Started { slot, generation, job }),
                None => self
                    .publish_problem(slot, &format!("the worker started an unknown example {key}")),
            },
            Report::Finished { key, repeat, outcome } => match self.job(slot, &key, repeat) {
                Some(job) => self.step(Input::Finished { slot, generation, job, outcome }),
                None => self.unlisted_result(slot, &key, &outcome.status),
            },
            Report::Event { key, event } => self.publish_event(slot, key.as_deref(), *event),
            Report::Log { level, message } => {
                self.publish_log(slot, &format!("{level}: {message}"));
            }
            Report::Unreadable { message } => {
                self.publish_problem(slot, &message);
                self.step(Input::Unreadable { slot, generation, what: message });
            }
            Report::BudgetSpent => self.step(Input::Stop(StopReason::Spent)),
            // Answers to orders that a run does not give.
            Report::Prepared { .. } | Report::Mutation { .. } => {}
            Report::Returned { examples } => {
                let named = examples.iter().map(|each| (each.key.as_str(), each.repeat));
                let jobs = self.jobs(slot, named);
                self.step(Input::Returned { slot, generation, jobs });
            }
            Report::LateExamples { examples } => self.add_late(slot, generation, examples),
            Report::SlotJoined => self.add_slot(slot),
            Report::SlotLeft => self.step(Input::SlotLeft { slot }),
            Report::Refused { examples, reason } => {
                let named = examples.iter().map(|each| (each.key.as_str(), each.repeat));
                let jobs = self.jobs(slot, named);
                self.step(Input::Refused { slot, generation, jobs, why: reason });
            }
            Report::Farewell(farewell) => {
                if let Some(worker) = self.worker(slot, generation) {
                    worker.farewell = Some(farewell);
                }
            }
            Report::Printed(line) => self.publish_line(slot, line),
            Report::Problem { message } => self.publish_problem(slot, &message),
            Report::Exited { exit, tails } => self.exited(slot, generation, exit, tails),
            Report::Unreachable { message } => self.lost_contact(slot, generation, message),
        }
    }

    /// Counts what the farewell of the worker is compared with.
    fn count_report(&mut self, slot: u32, generation: u32, report: &Report) {
        let Some(worker) = self.worker(slot, generation) else { return };
        match report {
            Report::Started { .. } => worker.received.started += 1,
            Report::Finished { .. } => worker.received.finished += 1,
            Report::Event { event, .. } if matches!(event.body, Body::ErrorOutsideExample(_)) => {
                worker.received.errors += 1;
            }
            _ => {}
        }
    }

    fn jobs<'k>(&self, slot: u32, named: impl Iterator<Item = (&'k str, u32)>) -> Vec<JobId> {
        named.filter_map(|(key, repeat)| self.job(slot, key, repeat)).collect()
    }

    fn ready(&mut self, slot: u32, generation: u32, pid: Option<u32>) {
        let Some(worker) = self.worker(slot, generation) else { return };
        worker.pid = pid;
        if self.link(slot).has_process() {
            self.tracker.publisher.worker_started(slot, generation, pid);
        }
        self.step(Input::Ready { slot, generation });
    }

    /// Adds examples that a worker has defined while it ran others.
    fn add_late(&mut self, slot: u32, generation: u32, examples: Vec<Listed>) {
        let suite = self.slots[slot as usize].0;
        let known = self.tracker.jobs.len();
        let jobs =
            examples.into_iter().map(|listed| self.tracker.add_late(suite, listed)).collect();
        self.name_jobs(known);
        self.step(Input::OwnJobs { slot, generation, jobs });
    }

    /// Adds a slot to the suite of this one.
    fn add_slot(&mut self, beside: u32) {
        let suite = self.slots[beside as usize].0;
        let number = self.slots.iter().filter(|(other, _)| *other == suite).count();
        let link = (self.link_factories[suite])(u32::try_from(number).unwrap_or(u32::MAX));
        self.slots.push((suite, link));
        self.step(Input::SlotJoined { pool: suite });
    }

    fn unlisted_result(&mut self, slot: u32, key: &str, status: &Status) {
        let status = status.as_str();
        self.tracker.protocol_error(
            slot,
            format!("worker {slot} reports an example that was never listed: {key} ({status})"),
        );
    }

    fn worker(&mut self, slot: u32, generation: u32) -> Option<&mut ServedSlot> {
        self.workers.get_mut(&slot).filter(|worker| worker.generation == generation)
    }

    fn exited(&mut self, slot: u32, generation: u32, exit: ExitFacts, tails: OutputTails) {
        let running = self.dispatcher.running(slot, generation).map(|assigned| {
            let ExampleRun { key, repeat, attempt, .. } = self.example_run(assigned);
            OutputOwner { key, turn: Some((repeat, attempt)) }
        });
        let exit = exit.into_exit(tails.lines_of(running.as_ref()));
        self.compare_counts(slot, generation);
        let worker = self.workers.get(&slot).filter(|worker| worker.generation == generation);
        let pid = worker.and_then(|worker| worker.pid);
        let ended_by_us = exit.timed_out || worker.is_some_and(|worker| worker.killed);
        let expected = exit.status == Some(0) || ended_by_us;
        if self.link(slot).has_process() {
            self.tracker.publisher.worker_exited(slot, generation, pid, &exit, expected);
        }
        self.step(Input::Exited { slot, generation, exit });
    }

    /// The link to a worker is lost. Its counts cannot be compared: messages may have been lost.
    fn lost_contact(&mut self, slot: u32, generation: u32, message: String) {
        let pid = self.worker(slot, generation).and_then(|worker| worker.pid);
        if self.link(slot).has_process() {
            let exit = Exit { message: Some(message.clone()), ..Exit::default() };
            self.tracker.publisher.worker_exited(slot, generation, pid, &exit, false);
        }
        self.publish_problem(slot, &format!("the worker cannot be reached: {message}"));
        self.step(Input::Unreachable { slot, generation, message });
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
                self.tracker.protocol_error(
                    slot,
                    format!("worker {slot} says that it sent {sent} {what}, but {arrived} arrived"),
                );
            }
        }
    }

    /// An event of the example itself: a message, a tool call, a group, an error outside.
    fn publish_event(&mut self, slot: u32, key: Option<&str>, mut event: Event) {
        let repeat = event.repeat.unwrap_or(1);
        let job = key.and_then(|key| self.job(slot, key, repeat));
        event.example_id = job.map(|job| self.tracker.example(job).id.clone());
        event.repeat = job.map(|_| repeat);
        event.attempt = job.map(|job| self.tracker.current_attempt(job));
        event.worker = self.worker_number(slot);
        if let Body::ErrorOutsideExample(error) = &event.body {
            if !self.is_first_of_suite_hook(error) {
                return;
            }
            self.tracker.publisher.errors += 1;
        }
        self.tracker.publisher.publish(event);
    }

    /// Suite hooks run in every worker: the same error of the same hook is published once.
    fn is_first_of_suite_hook(&mut self, error: &ErrorOutsideExample) -> bool {
        let Some(phase) = error.phase.as_deref().filter(|phase| phase.ends_with("_suite")) else {
            return true;
        };
        let exception = error.exception.as_ref();
        let place = exception.and_then(|exception| exception.backtrace.first().cloned());
        let what = exception.map(|exception| (exception.class.clone(), exception.message.clone()));
        self.suite_hook_errors.insert((phase.to_owned(), place, format!("{what:?}")))
    }

    fn publish_line(&self, slot: u32, line: PrintedLine) {
        let PrintedLine { stderr, owner, text } = line;
        let attempt = owner.and_then(|owner| {
            let repeat = owner.turn.map_or(1, |(repeat, _)| repeat);
            let job = self.job(slot, &owner.key, repeat)?;
            let attempt =
                owner.turn.map_or(self.tracker.current_attempt(job), |(_, attempt)| attempt);
            Some(self.tracker.attempt(Assigned { job, attempt }, Some(slot)))
        });
        self.tracker.publisher.printed(attempt, Some(slot), stderr, &text);
    }

    /// A remark of a worker about itself.
    fn publish_log(&self, slot: u32, text: &str) {
        self.tracker.publisher.printed(None, Some(slot), true, text);
    }

    /// Something that went wrong between the run and a worker, as a line of the worker's output.
    fn publish_problem(&self, slot: u32, problem: &str) {
        self.publish_log(slot, &format!("proctor: {problem}"));
    }

    pub(super) fn suite_ended(&mut self, finished: SuiteEnd) {
        for line in &finished.output {
            self.tracker.publisher.printed(None, None, true, line);
        }
        for leaked in &finished.leaked {
            self.tracker.publisher.printed(None, None, true, &leaked_line(leaked));
        }
        for error in finished.errors {
            self.tracker.publisher.error(error);
        }
        self.notes.extend(finished.notes);
    }

    pub(super) fn result(
        mut self,
        gathered: OpenedSuites,
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
            repeats: self.tracker.repeat_report(),
            failure_exit: gathered.failure_exit,
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
