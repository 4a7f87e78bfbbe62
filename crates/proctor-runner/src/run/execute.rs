//! A run from beginning to end: suites are opened, what they have is gathered, the loop runs it, they are closed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proctor_events::{Bus, Millis, SuiteFinished, SuiteStarted};
use proctor_verdict::{Counts, Facts, RunVerdict, StopCause};
use tokio::sync::{mpsc, watch};

use super::driver::{Crew, RunDriver, WantedCrew};
use super::outputs::RunOutputs;
use super::publish::Publisher;
use super::repeat_plan::RepeatPlanner;
use super::{Control, Problem, RunOptions, RunResult, RunSetup, RunStatus, Shared};
use crate::example::{Example, FailureExit, OutsideError, duplicate_titles};
use crate::machines::MachineOptions;
use crate::plan::times;
use crate::suite::ruby::ObserverProcess;
use crate::suite::{
    LoadNotices, OpenedSuite, Suite, SuiteEnd, SuiteEnvironment, SuiteError, unchecked_is_unknown,
};
use crate::worker_link::{BoxFuture, LinkFactory, WorkerLink};

/// Makes a run from beginning to end.
pub(super) async fn execute(
    setup: RunSetup,
    machines: Option<MachineOptions>,
    mut orders: mpsc::UnboundedReceiver<Control>,
    shared: &Arc<Shared>,
) -> RunResult {
    let started = Instant::now();
    let mut publisher = Publisher::new(setup.bus.clone());
    // Where other machines serve the slots, the suites are opened for their examples and for what they do at the end.
    let own_slots = if machines.is_some() { 0 } else { setup.options.workers };
    let mut suites = match open_unless_stopped(&setup, own_slots, &mut orders).await {
        Ok(suites) => suites,
        Err((error, stopped)) => return ended_early(&setup, publisher, started, error, stopped),
    };
    let machines = machines.map(|machines| WantedCrew::new(machines, &suites));
    let mut gathered = OpenedSuites::new(&mut suites);
    if setup.options.verdict_policy().unchecked_fails {
        gathered.notes.extend(setup.suites.iter().filter_map(unchecked_is_unknown));
    }
    gathered.errors.extend(check_plan_size(&gathered.examples, &setup.options));
    let mut examples = setup.options.selection.apply(std::mem::take(&mut gathered.examples));
    let planner = set_repeats(&mut examples, &setup.options);
    gathered
        .errors
        .extend(planner.as_ref().and_then(|planner| check_repeats_decidable(planner, &examples)));
    let loaded = gathered.errors.is_empty();
    if !loaded {
        examples.clear();
    }
    let observers = match &shared.outputs {
        Some(outputs) if loaded => start_observers(&mut suites, &mut gathered, outputs, &setup.bus),
        _ => Vec::new(),
    };
    let mut crew = match machines.filter(|_| loaded) {
        None => None,
        Some(crew) => match crew.announce(gathered.seed).await {
            Ok(crew) => Some(crew),
            Err(error) => return ended_early(&setup, publisher, started, Some(error), None),
        },
    };
    let (links, endings) = split_suites(suites, own_slots, crew.is_some());
    // Conversations need none: they are conducted in this process.
    let mut all_links = links.iter().flat_map(|suite| &suite.links);
    let has_workers =
        all_links.any(|link| link.has_process()) || crew.as_ref().is_some_and(Crew::has_workers);
    publisher.publish(SuiteStarted {
        seed: gathered.seed,
        workers: has_workers.then_some(setup.options.workers),
        load_time_ms: Some(Millis::new(gathered.load_ms)),
        ..announcement(&examples, &setup.options)
    });
    for error in std::mem::take(&mut gathered.errors) {
        publisher.error(error);
    }
    let planned = Planned { examples, planner: planner.filter(|_| loaded) };
    let mut run =
        RunDriver::new(&setup, planned, gathered.fail_fast, links, publisher, started, shared);
    match &mut crew {
        Some(crew) => run.run_over_machines(&mut orders, crew).await,
        None if loaded => run.run_all(&mut orders).await,
        None => {}
    }
    drop(crew);
    let grace = Duration::from_millis(setup.options.grace);
    for finish in endings {
        let at_once = run.killed || !loaded;
        let finished = finish_unless_stopped(finish(at_once), &mut orders, grace, &mut run).await;
        run.suite_ended(finished);
    }
    observers.iter().for_each(ObserverProcess::run_ends);
    let grace = (run.killed || run.is_stopped()).then_some(grace);
    let mut result = run.result(gathered, loaded, &setup);
    let notices = &setup.environment.load_notices;
    result.notes.extend(finish_observers(observers, &mut orders, grace, notices).await);
    result
}

/// Starts what the code of the project wants besides workers: observers and further destinations of events.
fn start_observers(
    suites: &mut [OpenedSuite],
    gathered: &mut OpenedSuites,
    outputs: &Arc<dyn RunOutputs>,
    bus: &Bus,
) -> Vec<ObserverProcess> {
    let destinations = std::mem::take(&mut gathered.destinations);
    gathered.notes.extend(outputs.add_destinations(&destinations));
    let observers = suites.iter_mut().filter_map(|suite| suite.observers.take());
    observers.map(|those| ObserverProcess::start(those, Arc::clone(outputs), bus)).collect()
}

/// When a person gets to know what is waited for.
const OBSERVERS_NOTICE_AFTER: Duration = Duration::from_secs(2);

/// Waits for the observers to have had everything. Who is told to stop meanwhile waits no longer.
async fn finish_observers(
    observers: Vec<ObserverProcess>,
    orders: &mut mpsc::UnboundedReceiver<Control>,
    mut grace: Option<Duration>,
    notices: &LoadNotices,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut is_quiet = true;
    let mut long = Box::pin(tokio::time::sleep(OBSERVERS_NOTICE_AFTER));
    for process in observers {
        let (stop, stopped) = watch::channel(false);
        let finishing = process.finish(grace, stopped);
        tokio::pin!(finishing);
        loop {
            tokio::select! {
                noted = &mut finishing => {
                    notes.extend(noted);
                    break;
                }
                Some(_) = orders.recv() => {
                    grace = Some(Duration::ZERO);
                    stop.send_replace(true);
                }
                () = &mut long, if is_quiet => {
                    is_quiet = false;
                    notices.notify("waiting for the project's observers, which have not had all events yet (Ctrl-C waits no longer)");
                }
            }
        }
    }
    notes
}

/// Waits for a suite to end. Who is told to stop meanwhile gives it the grace; what is then still waited for is dropped,
/// and so killed.
async fn finish_unless_stopped(
    mut finishing: BoxFuture<SuiteEnd>,
    orders: &mut mpsc::UnboundedReceiver<Control>,
    grace: Duration,
    run: &mut RunDriver<'_>,
) -> SuiteEnd {
    let mut end_at = None;
    loop {
        let graced = async {
            match end_at {
                Some(end_at) => tokio::time::sleep_until(end_at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            finished = &mut finishing => return finished,
            () = graced => return SuiteEnd::default(),
            Some(control) = orders.recv() => {
                run.stopped_by(control);
                let now = tokio::time::Instant::now();
                end_at = Some(if run.killed { now } else { *end_at.get_or_insert(now + grace) });
            }
        }
    }
}

/// Opens the suites of a run; or says why not: an error, or a request to stop.
async fn open_unless_stopped(
    setup: &RunSetup,
    slots: u32,
    orders: &mut mpsc::UnboundedReceiver<Control>,
) -> Result<Vec<OpenedSuite>, (Option<SuiteError>, Option<StopCause>)> {
    let mut environment = setup.environment.clone();
    if slots == 0 {
        environment.workers = 0;
    }
    tokio::select! {
        opened = open_all(&setup.suites, &environment, slots) => {
            opened.map_err(|error| (Some(error), None))
        }
        order = orders.recv() => {
            Err((None, Some(order.map_or(StopCause::Request, Control::cause))))
        }
    }
}

/// Opens suites that have so many slots each, if they leave their number to the run.
pub(crate) async fn open_all(
    suites: &[Suite],
    environment: &SuiteEnvironment,
    slots: u32,
) -> Result<Vec<OpenedSuite>, SuiteError> {
    let mut environment = environment.clone();
    let mut all = Vec::new();
    for suite in suites {
        let opened = suite.open(&environment).await?;
        environment.first_slot += opened.slots.unwrap_or(slots);
        all.push(opened);
    }
    Ok(all)
}

/// The links of one suite's slots, and what makes those of further slots.
pub(super) struct SuiteLinks {
    pub(super) links: Vec<Arc<dyn WorkerLink>>,
    pub(super) make_link: LinkFactory,
}

type SuiteEnding = Box<dyn FnOnce(bool) -> BoxFuture<SuiteEnd> + Send>;

/// The slots of the suites, and what ends the suites. Slots of other machines join later.
fn split_suites(
    suites: Vec<OpenedSuite>,
    workers: u32,
    elsewhere: bool,
) -> (Vec<SuiteLinks>, Vec<SuiteEnding>) {
    let split = |suite: OpenedSuite| {
        let make_link = suite.links;
        let count = if elsewhere { 0 } else { suite.slots.unwrap_or(workers) };
        let links = (0..count).map(&make_link).collect();
        (SuiteLinks { links, make_link }, suite.finish)
    };
    suites.into_iter().map(split).unzip()
}

/// So many attempts fit one run: each is a job in memory and a result in the recording.
const MAX_PLANNED_ATTEMPTS: u64 = 1_000_000;

/// Refuses a plan that would fill the memory.
fn check_plan_size(examples: &[Example], options: &RunOptions) -> Option<OutsideError> {
    let times = |example: &Example| match options.adaptive {
        // Further ones are decided on as the run goes.
        Some(_) => 1,
        None => u64::from(times(example, options.repeats)),
    };
    let count: u64 = examples.iter().map(times).sum();
    (count > MAX_PLANNED_ATTEMPTS).then(|| OutsideError {
        phase: "plan".to_owned(),
        message: Some(format!(
            "{} examples with their repetitions are {count} attempts; one run may have {MAX_PLANNED_ATTEMPTS}: lower --repeat, \
             or select fewer examples",
            examples.len()
        )),
        ..OutsideError::default()
    })
}

/// Refuses to let results decide on repetitions where no result could.
fn check_repeats_decidable(planner: &RepeatPlanner, examples: &[Example]) -> Option<OutsideError> {
    (!examples.is_empty() && !planner.has_questions()).then(|| OutsideError {
        phase: "plan".to_owned(),
        message: Some(
            "--repeat auto has nothing to decide by: none of these examples has a `pass_rate`, and none is in a baseline; \
             name a run to compare with (--against last, or `proctor baseline bless`), set a pass_rate, or give a number (--repeat 5)"
                .to_owned(),
        ),
        ..OutsideError::default()
    })
}

/// The examples of a run, and what decides on their repetitions if results do.
pub(super) struct Planned {
    pub(super) examples: Vec<Example>,
    pub(super) planner: Option<RepeatPlanner>,
}

/// Writes into every example how often it is to run, or how often it may; in the second case the planner decides.
pub(super) fn set_repeats(examples: &mut [Example], options: &RunOptions) -> Option<RepeatPlanner> {
    let planner = options.adaptive.as_ref().map(|adaptive| adaptive.planner(examples));
    for (place, example) in examples.iter_mut().enumerate() {
        example.repeats = Some(match &planner {
            Some(planner) => planner.limit_of(place),
            None => times(example, options.repeats),
        });
    }
    planner
}

/// What a run says of itself at its beginning, as far as examples and options tell.
pub(super) fn announcement(examples: &[Example], options: &RunOptions) -> SuiteStarted {
    let adaptive = options.adaptive.as_ref();
    let baseline = adaptive.and_then(|adaptive| adaptive.baseline.as_ref());
    let planned = |example: &Example| match adaptive {
        Some(_) => 1,
        None => u64::from(example.repeats.unwrap_or(1)),
    };
    SuiteStarted {
        example_count: Some(examples.len() as u64),
        repetition_count: Some(examples.iter().map(planned).sum()),
        policy: Some(options.verdict_policy().to_event()),
        repeats: (options.repeats > 1 && adaptive.is_none()).then_some(options.repeats),
        repeat_limit: adaptive.map(|adaptive| adaptive.limit),
        repeat_against: baseline.map(|baseline| baseline.name.clone()),
        ..SuiteStarted::default()
    }
}

/// What all suites together have.
pub(super) struct OpenedSuites {
    pub(super) examples: Vec<Example>,
    pub(super) errors: Vec<OutsideError>,
    pub(super) notes: Vec<String>,
    pub(super) seed: Option<u64>,
    pub(super) load_ms: f64,
    pub(super) fail_fast: Option<u32>,
    destinations: Vec<String>,
    pub(super) failure_exit: FailureExit,
}

impl OpenedSuites {
    fn new(suites: &mut [OpenedSuite]) -> Self {
        let mut all = Self {
            examples: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            seed: None,
            load_ms: 0.0,
            fail_fast: None,
            destinations: Vec::new(),
            failure_exit: FailureExit::default(),
        };
        for (suite_index, suite) in suites.iter_mut().enumerate() {
            // Moved, not copied: of thousands of examples a second copy would be most of the memory of a run.
            let mut found = std::mem::take(&mut suite.discovery);
            for example in &mut found.examples {
                example.suite_index = suite_index;
            }
            if all.examples.is_empty() {
                all.examples = found.examples;
            } else {
                all.examples.extend(found.examples);
            }
            all.errors.extend(found.errors);
            all.notes.extend(found.notes);
            all.destinations.extend(found.destinations);
            all.seed = all.seed.or(found.seed);
            all.load_ms += found.load_ms;
            all.fail_fast = all.fail_fast.or(found.fail_fast);
            let FailureExit { failure, error } = found.failure_exit;
            all.failure_exit.failure = all.failure_exit.failure.or(failure);
            all.failure_exit.error = all.failure_exit.error.or(error);
        }
        all.notes.extend(duplicate_titles(&all.examples));
        all
    }
}

pub(super) fn nothing_found(setup: &RunSetup) -> Problem {
    let names: Vec<&str> = setup.suites.iter().map(super::Suite::name).collect();
    Problem { message: format!("no example was found ({})", names.join(", ")), output: Vec::new() }
}

/// The last event of a run.
pub(super) fn finish(
    publisher: &Publisher,
    facts: &Facts,
    verdict: &RunVerdict,
    taken: Duration,
    late_count: u64,
) {
    let counts = &facts.counts;
    publisher.publish(SuiteFinished {
        example_count: counts.examples,
        failure_count: counts.failures,
        pending_count: Some(counts.pending),
        counts: Some(counts.to_event()),
        error_count: Some(counts.errors),
        duration_ms: Some(taken.into()),
        exit_code: verdict.exit_code().map(i32::from),
        state: verdict.ending(),
        stopped_by: verdict.stopped_by().cloned(),
        verdict: verdict.final_word().map(ToOwned::to_owned),
        repetition_count: Some(counts.repetitions),
        late_count: (late_count > 0).then_some(late_count),
    });
    publisher.flush();
}

/// The run ends before there was anything to run.
fn ended_early(
    setup: &RunSetup,
    mut publisher: Publisher,
    started: Instant,
    error: Option<SuiteError>,
    stopped: Option<StopCause>,
) -> RunResult {
    publisher.publish(SuiteStarted { workers: Some(setup.options.workers), ..Default::default() });
    if let Some(error) = &error {
        publisher.error(OutsideError {
            phase: "load".to_owned(),
            message: Some(error.message.clone()),
            ..OutsideError::default()
        });
    }
    let counts = Counts { errors: publisher.errors, ..Counts::default() };
    let facts = Facts { loaded: false, counts, accounted: true, stopped };
    let verdict = RunVerdict::conclude(&facts, setup.options.verdict_policy());
    finish(&publisher, &facts, &verdict, started.elapsed(), 0);
    RunResult {
        status: RunStatus::of(&verdict),
        verdict,
        counts,
        failure_exit: FailureExit::default(),
        problem: error.map(|error| Problem { message: error.message, output: error.output }),
        notes: Vec::new(),
        repeats: None,
        durations: HashMap::new(),
        failed: Vec::new(),
    }
}
