//! The loop of a run whose slots are served by other machines.
//!
//! The messages of machines take the place of the reports of links; all else is as in a run of this machine alone.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::{ExitFacts, RunDriver, SuiteEnd};
use crate::dispatch::{Exit, Input, JobId};
use crate::example::OutsideError;
use crate::machines::wire::{self, SuitesEnd, ToMachine};
use crate::machines::{
    Fleet, FleetAction, FleetInput, MachineEvent, MachineLink, MachineMessage, MachineOptions,
    MachinesPort, RunFacts, Seat,
};
use crate::run::Control;
use crate::suite::{OpenedSuite, SuiteError};

/// How long the suites of machines may take to end.
const SUITES_END_WITHIN: Duration = Duration::from_mins(1);
/// So many messages of machines are handled before their events are published.
const BATCH: usize = 64;

/// The machines of a run, and the way to them.
pub(in crate::run) struct Crew {
    fleet: Fleet,
    port: MachinesPort,
    /// Whether worker processes serve the slots, by suite.
    has_process: Vec<bool>,
    wait_for: u32,
    patience: Duration,
    /// What happened to slots before the run began.
    early: Vec<Input>,
    begun: bool,
    /// Since when there has been no machine, or not enough of them.
    absent_since: Option<Instant>,
    /// How often a job was given to a machine that was lost.
    lost_deliveries: BTreeMap<JobId, u32>,
    notes: Vec<String>,
}

/// The machines that a run wants, before it has announced itself.
pub(in crate::run) struct WantedCrew {
    options: MachineOptions,
    limits: Vec<Option<u32>>,
    has_process: Vec<bool>,
}

impl WantedCrew {
    /// Takes note of what the suites say before their examples are taken out of them.
    pub(in crate::run) fn new(options: MachineOptions, suites: &[OpenedSuite]) -> Self {
        let proof = options.proof.clone().with_suites(suites.iter().map(|suite| &suite.discovery));
        let most = options.most_slots;
        Self {
            options: MachineOptions { proof, ..options },
            limits: suites.iter().map(|suite| most.filter(|_| suite.slots.is_none())).collect(),
            has_process: suites.iter().map(|suite| (suite.links)(0).has_process()).collect(),
        }
    }

    /// Announces the run.
    pub(in crate::run) async fn announce(self, seed: Option<u64>) -> Result<Crew, SuiteError> {
        let MachineOptions { transport, proof, wait_for, patience, .. } = self.options;
        let port = transport.announce(RunFacts { seed }).await;
        let port = port.map_err(|message| SuiteError { message, output: Vec::new() })?;
        Ok(Crew {
            fleet: Fleet::new(proof, self.limits),
            port,
            has_process: self.has_process,
            wait_for,
            patience,
            early: Vec::new(),
            begun: false,
            absent_since: None,
            lost_deliveries: BTreeMap::new(),
            notes: Vec::new(),
        })
    }
}

impl Crew {
    pub(in crate::run) fn has_workers(&self) -> bool {
        self.has_process.contains(&true)
    }

    fn send(&self, boot: String, message: &ToMachine) {
        // The receiver is dropped when nothing can be sent any more; the events tell.
        let _ = self.port.messages.send(MachineMessage { boot, text: wire::write(message) });
    }

    /// Whether it is time to go on without further machines.
    fn gives_up_at(&mut self) -> Option<Instant> {
        let slots = self.fleet.slots_in_use();
        let enough = if self.begun { 1 } else { self.wait_for.max(1) as usize };
        // A machine that leaves may still be running something.
        if slots >= enough || (self.begun && !self.fleet.present().is_empty()) {
            self.absent_since = None;
            return None;
        }
        Some(*self.absent_since.get_or_insert_with(Instant::now) + self.patience)
    }
}

impl RunDriver<'_> {
    /// Runs everything on other machines, to the end of their suites.
    pub(in crate::run) async fn run_over_machines(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Control>,
        crew: &mut Crew,
    ) {
        self.tracker.publisher.flush();
        while !self.ended {
            self.begin_with_enough_slots(crew);
            self.turn(orders, crew).await;
            self.publish_progress(false);
            self.tracker.publisher.flush();
        }
        self.publish_progress(true);
        self.tracker.publisher.flush();
        self.finish_machines(orders, crew).await;
        self.notes.append(&mut crew.notes);
    }

    fn begin_with_enough_slots(&mut self, crew: &mut Crew) {
        if crew.begun || crew.fleet.slots_in_use() < crew.wait_for.max(1) as usize {
            return;
        }
        self.begin(crew);
    }

    fn begin(&mut self, crew: &mut Crew) {
        if !std::mem::replace(&mut crew.begun, true) {
            self.step(Input::Begin);
            for input in std::mem::take(&mut crew.early) {
                self.step(input);
            }
        }
    }

    /// Waits for the next thing to happen, and handles it.
    async fn turn(&mut self, orders: &mut mpsc::UnboundedReceiver<Control>, crew: &mut Crew) {
        let deadline = self.dispatcher.next_deadline();
        let wait = deadline.map(|at| Duration::from_micros(at.saturating_sub(self.now())));
        let gives_up = crew.gives_up_at().map(|at| at.saturating_duration_since(Instant::now()));
        let mut events = Vec::new();
        tokio::select! {
            biased;
            Some(control) = orders.recv() => self.handle_control(control),
            count = crew.port.events.recv_many(&mut events, BATCH) => {
                for event in events {
                    self.handle_machine_event(event, crew);
                }
                if count == 0 {
                    self.lose_all("the connection to the machines was closed", crew);
                }
            }
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                self.step(Input::Tick);
            }
            () = tokio::time::sleep(gives_up.unwrap_or_default()), if gives_up.is_some() => {
                let seconds = crew.patience.as_secs();
                let why = if crew.begun {
                    format!("all machines are gone, and for {seconds} s none came")
                } else {
                    let (slots, wanted) = (crew.fleet.slots_in_use(), crew.wait_for.max(1));
                    format!("for {seconds} s not enough machines came: {slots} of {wanted} slots")
                };
                self.go_on_without(why, crew);
            }
        }
    }

    fn handle_machine_event(&mut self, event: MachineEvent, crew: &mut Crew) {
        let input = match event {
            MachineEvent::Message { boot, text } => match wire::read(&text) {
                Ok(message) => FleetInput::Said { boot, message },
                Err(why) => FleetInput::Unreadable { boot, why },
            },
            MachineEvent::Lost { boot } => FleetInput::Lost { boot },
            MachineEvent::Gone { message } => return self.lose_all(&message, crew),
        };
        for action in crew.fleet.step(input) {
            self.apply_fleet_action(action, crew);
        }
    }

    fn apply_fleet_action(&mut self, action: FleetAction, crew: &mut Crew) {
        match action {
            FleetAction::Send { boot, message } => crew.send(boot, &message),
            FleetAction::AddSlot(seat) => self.add_machine_slot(seat, crew),
            FleetAction::RemoveSlot(slot) => self.step_once_begun(Input::SlotLeft { slot }, crew),
            FleetAction::LoseSlot { slot, message } => self.lose_slot(slot, message, crew),
            FleetAction::Handle(batch) => self.handle_batch(batch),
            FleetAction::SuitesEnded(end) => self.machine_suites_ended(end),
            FleetAction::Note(text) => {
                self.tracker.publisher.printed(None, None, true, &format!("proctor: {text}"));
                crew.notes.push(text);
            }
        }
    }

    fn add_machine_slot(&mut self, seat: Seat, crew: &mut Crew) {
        let suite = seat.suite;
        let (messages, has_process) = (crew.port.messages.clone(), crew.has_process[suite]);
        let link = MachineLink { seat, messages, has_process };
        let slot = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if let Some(name) = crew.fleet.machine_of(slot).filter(|_| has_process) {
            self.publish_log(slot, &format!("proctor: worker {slot} is at machine {name}"));
        }
        self.slots.push((suite, std::sync::Arc::new(link)));
        self.step_once_begun(Input::SlotJoined { pool: suite }, crew);
    }

    /// Tells the dispatcher of slots, when the run has begun.
    fn step_once_begun(&mut self, input: Input, crew: &mut Crew) {
        if crew.begun {
            self.step(input);
        } else {
            crew.early.push(input);
        }
    }

    /// A slot is gone with its machine.
    fn lose_slot(&mut self, slot: u32, message: String, crew: &mut Crew) {
        let generation = self.workers.get(&slot).map_or(0, |worker| worker.generation);
        if self.dispatcher.is_served(slot) {
            let pid = self.workers.get(&slot).and_then(|worker| worker.pid);
            if self.link(slot).has_process() && pid.is_some() {
                let facts = ExitFacts { message: Some(message.clone()), ..ExitFacts::default() };
                let exit: Exit = facts.into_exit(Vec::new());
                self.tracker.publisher.worker_exited(slot, generation, pid, &exit, false);
            }
            if let Some(assigned) = self.dispatcher.running(slot, generation) {
                let lost = crew.lost_deliveries.entry(assigned.job).or_default();
                *lost += 1;
                let next = *lost + 1;
                let attempt = self.tracker.attempt(assigned, self.worker_number(slot));
                let line = format!("proctor: {message} while it ran this; delivery {next} follows");
                self.tracker.publisher.printed(Some(attempt), None, true, &line);
            }
        }
        self.step_once_begun(Input::SlotLost { slot, message }, crew);
    }

    /// Nothing more will come from any machine.
    fn lose_all(&mut self, why: &str, crew: &mut Crew) {
        for boot in crew.fleet.present() {
            for action in crew.fleet.step(FleetInput::Lost { boot }) {
                self.apply_fleet_action(action, crew);
            }
        }
        self.go_on_without(why.to_owned(), crew);
    }

    /// What has no slot will not run.
    fn go_on_without(&mut self, why: String, crew: &mut Crew) {
        self.begin(crew);
        self.tracker.publisher.error(OutsideError {
            phase: "machines".to_owned(),
            message: Some(why.clone()),
            ..OutsideError::default()
        });
        self.step(Input::NoMoreSlots { why });
    }

    fn machine_suites_ended(&mut self, end: SuitesEnd) {
        let SuitesEnd { output, notes, errors } = end;
        let errors = errors.into_iter().map(Into::into).collect();
        self.suite_ended(SuiteEnd { output, notes, errors, ..SuiteEnd::default() });
    }

    /// Tells all machines that the run is over, and waits for their suites to end.
    async fn finish_machines(
        &mut self,
        orders: &mut mpsc::UnboundedReceiver<Control>,
        crew: &mut Crew,
    ) {
        let at_once = self.killed;
        for boot in crew.fleet.present() {
            crew.send(boot, &ToMachine::Finish { at_once });
        }
        let mut within = SUITES_END_WITHIN;
        let since = Instant::now();
        while !crew.fleet.present().is_empty() {
            if self.is_stopped() {
                within = within
                    .min(Duration::from_millis(self.options.grace).max(Duration::from_secs(5)));
            }
            tokio::select! {
                Some(control) = orders.recv() => self.stopped_by(control),
                event = crew.port.events.recv() => match event {
                    Some(event) => self.handle_machine_event(event, crew),
                    None => break,
                },
                () = tokio::time::sleep(within.saturating_sub(since.elapsed())) => break,
            }
        }
        for boot in crew.fleet.present() {
            let name = crew.fleet.name(&boot);
            self.tracker.publisher.error(OutsideError {
                phase: "machines".to_owned(),
                place: Some(name.to_owned()),
                message: Some(format!("machine {name} did not say how its suites ended")),
                ..OutsideError::default()
            });
        }
    }
}
