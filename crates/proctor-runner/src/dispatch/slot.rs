//! One slot: the worker it has, what it was given, what it runs.

use std::collections::{HashSet, VecDeque};

use proctor_events::{ExampleFinished, Exception, Fault, Status};

use super::{Effect, JobId, Moment, Policy, Unit};

/// Where a slot's worker is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is none.
    Empty,
    /// It has been asked for.
    Starting,
    /// It takes work.
    Ready,
    /// It has been asked to end.
    Ending { kill_at: Moment },
    /// It has been killed; its exit is still to come.
    Killed,
}

/// Whether a worker has been asked to give back what it has not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnrunRequest {
    /// Not since it last did something.
    No,
    /// Its answer is still to come.
    Waiting,
    /// It gave nothing back, and has done nothing since.
    Refused,
}

/// Why a worker was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Killed {
    /// Its example took too long, or a hook did.
    TimedOut,
    /// The run was to end.
    Cancelled,
    /// Whatever the reason was, the example's own result came in time.
    AfterResult,
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) pool: usize,
    /// Whether it gets no further worker.
    pub(super) has_left: bool,
    pub(super) phase: Phase,
    pub(super) generation: u32,
    /// What it was given and has not started, in order.
    pub(super) units: VecDeque<Unit>,
    /// What its worker has defined and not started: only this worker can run it, in an order of its own.
    pub(super) own_jobs: Vec<JobId>,
    pub(super) running: Option<Running>,
    /// How many examples its worker has run.
    pub(super) count: u32,
    /// Whether it has been asked to give jobs back.
    pub(super) asked_back: UnrunRequest,
    /// Whether its worker has been told how many failures the run allows, and counts its own.
    pub(super) counts_failures: bool,
    /// A line of its worker that could not be read while it ran what it runs.
    pub(super) unreadable: Option<String>,
    /// Since when it could have started something.
    pub(super) quiet_since: Moment,
    killed: Option<Killed>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) job: JobId,
    pub(super) since: Moment,
    said_slow: bool,
}

/// What a worker leaves when it ends.
pub(super) struct EndedWorker {
    pub(super) running: Option<JobId>,
    /// Since when it ran.
    pub(super) running_since: Option<Moment>,
    pub(super) units: VecDeque<Unit>,
    /// What it has defined and not started; lost with it.
    pub(super) own_jobs: Vec<JobId>,
    pub(super) killed: Option<Killed>,
    /// The outcome of what it ran, if its result may have been lost on the way.
    pub(super) unreported: Option<ExampleFinished>,
    pub(super) expected: bool,
    pub(super) did_something: bool,
    /// Whether it had been asked to end.
    pub(super) ending: bool,
}

impl EndedWorker {
    /// The link has ended the worker because what it ran had exceeded its time limit; its result may have come all the same.
    pub(super) fn ended_by_time_limit(&mut self) {
        let timed_out = if self.running.is_some() { Killed::TimedOut } else { Killed::AfterResult };
        self.killed.get_or_insert(timed_out);
        self.expected = true;
    }

    /// Whether the worker ended unexpectedly: while it ran an example, or without having been asked to.
    pub(super) fn is_crash(&self, exit: &Exit) -> bool {
        let lost_result = self.unreported.is_some() && exit.status == Some(0);
        let running = self.running.is_some() && !lost_result;
        self.killed.is_none() && (running || (self.running.is_none() && !self.ending))
    }
}

/// What the clock demands of a slot.
#[derive(Debug, Default)]
pub(super) struct Overdue {
    pub(super) slow: Option<(JobId, u64)>,
    /// Kill it; true if it is of interest where it hangs.
    pub(super) kill: Option<bool>,
}

impl Slot {
    pub(super) fn new(pool: usize) -> Self {
        Self {
            pool,
            has_left: false,
            phase: Phase::Empty,
            generation: 0,
            units: VecDeque::new(),
            own_jobs: Vec::new(),
            running: None,
            count: 0,
            asked_back: UnrunRequest::No,
            counts_failures: false,
            unreadable: None,
            quiet_since: 0,
            killed: None,
        }
    }

    /// Begins a new generation.
    pub(super) fn start(&mut self) -> u32 {
        self.phase = Phase::Starting;
        self.generation += 1;
        (self.count, self.killed, self.asked_back) = (0, None, UnrunRequest::No);
        (self.counts_failures, self.unreadable) = (false, None);
        self.generation
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Ready && self.running.is_none() && !self.has_unstarted()
    }

    fn has_unstarted(&self) -> bool {
        !self.units.is_empty() || !self.own_jobs.is_empty()
    }

    /// The unit of this job has started: clears the suspicion that its hook killed a worker and returns the effect that reports it.
    pub(super) fn clear_suspicion(&mut self, job: JobId) -> Option<Effect> {
        let unit = self.units.iter_mut().find(|unit| unit.jobs.contains(&job))?;
        unit.suspect.take().map(|suspect| *suspect)
    }

    /// Whether a job was given and has not been started.
    pub(super) fn has_waiting(&self, job: JobId) -> bool {
        self.own_jobs.contains(&job) || self.units.iter().any(|unit| unit.jobs.contains(&job))
    }

    /// Takes out those of these jobs that its worker has defined and not started.
    pub(super) fn remove_own(&mut self, jobs: &[JobId]) -> Vec<JobId> {
        self.own_jobs.extract_if(.., |job| jobs.contains(job)).collect()
    }

    /// Moves a job from given to running.
    pub(super) fn begin(&mut self, job: JobId, now: Moment) {
        let place = self.units.iter().position(|unit| unit.jobs.contains(&job));
        if place.is_none() && self.remove_own(&[job]).is_empty() {
            return;
        }
        self.changed();
        if let Some(place) = place {
            let unit = &mut self.units[place];
            unit.jobs.retain(|waiting| *waiting != job);
            (unit.begun, unit.deaths) = (true, 0);
            if unit.jobs.is_empty() {
                self.units.remove(place);
            }
        }
        self.running = Some(Running { job, since: now, said_slow: false });
    }

    /// What was given before this job and has not been started. A worker keeps the order, so it will never run them;
    /// but what it was asked to give back may still arrive.
    pub(super) fn passed_over_by(&self, job: JobId) -> Vec<JobId> {
        if self.asked_back == UnrunRequest::Waiting || self.own_jobs.contains(&job) {
            return Vec::new();
        }
        let given = self.units.iter().flat_map(|unit| unit.jobs.iter().copied());
        given.take_while(|waiting| *waiting != job).collect()
    }

    /// It has done something: it may be asked to give jobs back again.
    fn changed(&mut self) {
        if self.asked_back == UnrunRequest::Refused {
            self.asked_back = UnrunRequest::No;
        }
    }

    /// The outcome of an example whose result did not arrive.
    pub(super) fn unreported(&self, how: &str) -> ExampleFinished {
        let what = self.unreadable.as_deref();
        let why = what.map(|what| format!(": {what}")).unwrap_or_default();
        ExampleFinished {
            status: Status::Errored,
            fault: Some(Fault::Harness),
            message: Some(format!("{how}{why}")),
            ..ExampleFinished::default()
        }
    }

    /// Ends the running job; returns since when it ran.
    pub(super) fn end(&mut self, job: JobId, now: Moment) -> Option<Moment> {
        let running = self.running.filter(|running| running.job == job)?;
        self.running = None;
        self.unreadable = None;
        self.changed();
        self.quiet_since = now;
        self.count += 1;
        if self.killed.is_some() {
            self.killed = Some(Killed::AfterResult);
        }
        Some(running.since)
    }

    /// Since when it has been at what it does: an example, or hooks.
    pub(super) fn busy_since(&self) -> Moment {
        self.running.map_or(self.quiet_since, |running| running.since)
    }

    /// The units that may be taken back: those that have not begun. While no example runs, the hooks of the
    /// first unit may.
    fn untouched_units(&self) -> impl Iterator<Item = &Unit> {
        let in_hooks = usize::from(self.running.is_none());
        self.units.iter().skip(in_hooks).filter(|unit| !unit.begun)
    }

    pub(super) fn untouched(&self) -> Vec<JobId> {
        self.untouched_units().flat_map(|unit| unit.jobs.iter().copied()).collect()
    }

    pub(super) fn has_untouched(&self) -> bool {
        self.untouched_units().next().is_some()
    }

    /// Takes out those of these jobs that have not been started, as units.
    pub(super) fn remove_unstarted(&mut self, jobs: &[JobId]) -> Vec<Unit> {
        let wanted: HashSet<JobId> = jobs.iter().copied().collect();
        let mut removed = Vec::new();
        self.units.retain_mut(|unit| {
            let (out, kept): (VecDeque<JobId>, _) =
                unit.jobs.iter().partition(|job| wanted.contains(job));
            if !out.is_empty() {
                removed.push(Unit {
                    jobs: out,
                    begun: false,
                    deaths: unit.deaths,
                    avoid: unit.avoid,
                    suspect: unit.suspect.take(),
                });
            }
            unit.jobs = kept;
            !unit.jobs.is_empty()
        });
        removed
    }

    pub(super) fn kill(&mut self, why: Killed) {
        self.phase = Phase::Killed;
        self.killed = Some(why);
    }

    /// The worker has ended; the slot is empty again.
    pub(super) fn leave(&mut self) -> EndedWorker {
        let ending = matches!(self.phase, Phase::Ending { .. });
        let expected = ending || self.killed.is_some();
        self.phase = Phase::Empty;
        let unreported = self.unreadable.is_some().then(|| {
            let how = "its result could not be read, and its worker has ended";
            self.unreported(how)
        });
        let mut units = std::mem::take(&mut self.units);
        for unit in &mut units {
            unit.begun = false;
        }
        let running = self.running.take();
        EndedWorker {
            running: running.map(|running| running.job),
            running_since: running.map(|running| running.since),
            units,
            own_jobs: std::mem::take(&mut self.own_jobs),
            killed: self.killed.take(),
            unreported,
            expected,
            did_something: self.count > 0,
            ending,
        }
    }

    pub(super) fn next_deadline(&self, policy: &Policy) -> Option<Moment> {
        if let Phase::Ending { kill_at } = self.phase
            && self.running.is_none()
        {
            return Some(kill_at);
        }
        if let Some(limit) = self.hook_limit(policy) {
            return Some(self.quiet_since + limit * 1000);
        }
        let running = self.running.filter(|_| self.phase != Phase::Killed)?;
        let slow = policy.slow_after.filter(|_| !running.said_slow);
        slow.map(|limit| running.since + limit * 1000)
    }

    /// How long it may take to start what it has, in milliseconds: hooks run in between.
    fn hook_limit(&self, policy: &Policy) -> Option<u64> {
        let waiting = self.phase == Phase::Ready && self.running.is_none() && self.has_unstarted();
        policy.hook_limit().filter(|_| waiting)
    }

    /// `stopping`: the whole run stops, so no dump of a hanging worker is made.
    pub(super) fn overdue(&mut self, now: Moment, policy: &Policy, stopping: bool) -> Overdue {
        let mut overdue = Overdue::default();
        if self.phase == Phase::Killed {
            return overdue;
        }
        if let Some(running) = &mut self.running {
            let taken = now.saturating_sub(running.since);
            if policy.slow_after.is_some_and(|limit| taken >= limit * 1000) && !running.said_slow {
                running.said_slow = true;
                overdue.slow = Some((running.job, taken));
            }
        } else if let Phase::Ending { kill_at } = self.phase
            && now >= kill_at
        {
            overdue.kill = Some(!stopping);
            self.kill(Killed::Cancelled);
        } else if self
            .hook_limit(policy)
            .is_some_and(|limit| now >= self.quiet_since + limit * 1000)
        {
            overdue.kill = Some(true);
            self.kill(Killed::TimedOut);
        }
        overdue
    }
}

/// How a worker ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Its exit status.
    pub(crate) status: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    /// What else is known.
    pub(crate) message: Option<String>,
    /// Whether its link ended it because what it ran had exceeded its time limit.
    pub(crate) timed_out: bool,
    /// The last lines it printed.
    pub(crate) output_tail: Vec<String>,
    /// Where it was when it was killed for taking too long.
    pub(crate) backtrace: Vec<String>,
    /// Whether it ended without a reply to the shutdown request, although its kind replies.
    pub(crate) unanswered: bool,
}

impl Exit {
    pub(super) fn not_started(message: String) -> Self {
        Self { message: Some(message), ..Self::default() }
    }

    /// For people.
    pub(super) fn describe(&self, slot: u32) -> String {
        let how = match (self.signal, self.status) {
            (Some(signal), _) => format!("was killed by signal {signal}{}", signal_name(signal)),
            (None, Some(status)) => format!("exited with status {status}"),
            (None, None) => "ended".to_owned(),
        };
        let more = self.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        format!("worker {slot} {how}{more}")
    }

    /// What became of the example that it ran.
    pub(super) fn outcome(&self, killed: Option<Killed>, slot: u32) -> ExampleFinished {
        let (status, message) = match killed {
            Some(Killed::TimedOut) => (Status::TimedOut, None),
            Some(Killed::Cancelled | Killed::AfterResult) => {
                (Status::Cancelled, Some("the run was stopped".to_owned()))
            }
            None => (Status::Crashed, Some(self.describe(slot))),
        };
        let died = killed.is_none();
        ExampleFinished {
            fault: (status == Status::Cancelled).then_some(Fault::Harness),
            status,
            message,
            exception: (!self.backtrace.is_empty()).then(|| Exception {
                message: "it was here when its time was up".to_owned(),
                backtrace: self.backtrace.clone(),
                ..Exception::default()
            }),
            exit_status: self.status.filter(|_| died),
            signal: self.signal.filter(|_| died),
            output_tail: self.output_tail.clone(),
            ..ExampleFinished::default()
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (HUP)",
        2 => " (INT)",
        3 => " (QUIT)",
        4 => " (ILL)",
        6 => " (ABRT)",
        7 => " (BUS)",
        8 => " (FPE)",
        9 => " (KILL)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        15 => " (TERM)",
        _ => "",
    }
}
