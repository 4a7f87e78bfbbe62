//! A run of the dispatcher's simulated world, published as a real run is.
//!
//! Plan, dispatcher, verdicts and publisher are the real ones; only the workers and the time are made up.

use std::collections::BTreeSet;
use std::time::Duration;

use proctor_events::{Bus, ExampleId, StableId};
use proctor_verdict::{Counts, RunVerdict, StopCause};

use super::RunOptions;
use super::execute::{Planned, announcement, set_repeats};
use super::publish::Publisher;
use super::tracker::JobTracker;
use crate::dispatch::world::{Fate, World};
use crate::dispatch::{Input, StopReason};
use crate::example::Example;

const SIGINT: u8 = 2;
const FILE: &str = "./simulated";

/// An example and what it does.
#[derive(Debug, Clone, Default)]
pub struct SimulatedExample {
    /// What each repetition does, over and over; one that passes if there are none.
    pub fates: Vec<Fate>,
    /// Examples next to each other with the same unit run in one worker, in order.
    pub unit: Option<u32>,
    /// The share of repetitions that must pass.
    pub pass_rate: Option<f64>,
    /// How often it is run, where the options leave that to it.
    pub repeats: Option<u32>,
}

/// A run and what happens in it.
#[derive(Debug, Clone, Default)]
pub struct SimulatedRun {
    /// How it is made.
    pub options: RunOptions,
    /// Its examples.
    pub examples: Vec<SimulatedExample>,
    /// Which workers, counted from 1 in the order of their start, cannot be started.
    pub bad_starts: BTreeSet<u32>,
    /// Time of the first Ctrl-C, in microseconds.
    pub stop_at: Option<u64>,
    /// Time of the second Ctrl-C.
    pub kill_at: Option<u64>,
}

/// What the controller of a simulated run concludes.
#[derive(Debug, Clone)]
pub struct PlayedRun {
    /// The ids of its examples, in their order.
    pub ids: Vec<ExampleId>,
    /// The verdicts of its examples, counted.
    pub counts: Counts,
    /// Its verdict and exit code.
    pub verdict: RunVerdict,
}

impl SimulatedRun {
    /// Plays the run; its events are published.
    pub fn play(&self, bus: &Bus) -> PlayedRun {
        let options = &self.options;
        let mut examples: Vec<Example> =
            self.examples.iter().zip(1..).map(|(one, number)| example(one, number)).collect();
        let planner = set_repeats(&mut examples, options);
        let ids = examples.iter().map(|example| example.id.clone()).collect();
        let publisher = Publisher::new(bus.clone());
        publisher.publish(announcement(&examples, options));
        let policy = options.policy(vec![options.workers], None);
        let planned = Planned { examples, planner };
        let most_slots = policy.slots.iter().copied().max().unwrap_or(1);
        let (tracker, specs) = JobTracker::plan(planned, options, most_slots, publisher);
        let fates: Vec<Vec<Fate>> = self.examples.iter().map(|one| one.fates.clone()).collect();
        let mut world = World::of_run(policy, specs, tracker, fates);
        world.bad_starts.clone_from(&self.bad_starts);
        if let Some(at) = self.stop_at {
            world.plan(at, Input::Stop(StopReason::Cancelled));
        }
        if let Some(at) = self.kill_at {
            world.plan(at, Input::KillNow);
        }
        world.run();
        let asked = [self.stop_at, self.kill_at].into_iter().flatten().min();
        let stopped = asked.filter(|at| *at <= world.now).map(|_| StopCause::Signal(SIGINT));
        let taken = Duration::from_micros(world.now);
        let Some(mut tracker) = world.tracker.take() else { unreachable!("it was set above") };
        let policy = options.verdict_policy();
        let (facts, verdict) = tracker.conclude(true, stopped, policy, taken);
        PlayedRun { ids, counts: facts.counts, verdict }
    }
}

impl SimulatedExample {
    /// The id of the n-th example of a simulated run, from 1.
    pub fn id(number: u32) -> ExampleId {
        StableId::new(FILE, &path(number), 1).id
    }
}

fn path(number: u32) -> Vec<String> {
    vec!["simulated".to_owned(), format!("example {number}")]
}

fn example(simulated: &SimulatedExample, number: u32) -> Example {
    let file = FILE.to_owned();
    Example {
        id: SimulatedExample::id(number),
        key: number.to_string(),
        suite: "simulated".to_owned(),
        suite_index: 0,
        location: Some(format!("{file}:{number}")),
        description: format!("example {number}"),
        full_description: format!("simulated example {number}"),
        tags: Vec::new(),
        unit: simulated.unit,
        scenario: None,
        repeats: simulated.repeats,
        pass_rate: simulated.pass_rate,
        deterministic: None,
        scripted: false,
        file,
        path: path(number),
    }
}
