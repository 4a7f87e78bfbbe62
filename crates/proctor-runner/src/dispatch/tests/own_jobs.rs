//! Jobs that workers define while they run others.

use std::collections::HashMap;

use super::*;

const FIRST: (u32, u32) = (0, 1);

fn own(count: usize) -> Input {
    let (slot, generation) = FIRST;
    Input::OwnJobs { slot, generation, jobs: vec![job(None, None); count] }
}

fn started(job: u32) -> Input {
    let (slot, generation) = FIRST;
    Input::Started { slot, generation, job: JobId(job) }
}

fn finished(job: u32, status: Status) -> Input {
    let (slot, generation) = FIRST;
    let outcome = Box::new(ExampleFinished { status, ..ExampleFinished::default() });
    Input::Finished { slot, generation, job: JobId(job), outcome }
}

fn exited(status: i32) -> Input {
    let (slot, generation) = FIRST;
    Input::Exited { slot, generation, exit: Exit { status: Some(status), ..Exit::default() } }
}

#[test]
fn the_run_waits_for_what_its_last_example_has_defined() {
    let mut dispatcher = ready(1);
    let _ = dispatcher.step(2, started(0));
    assert_eq!(dispatcher.step(3, own(2)), []);
    assert_eq!(reported(&dispatcher.step(4, finished(0, Status::Passed)))[0].1, Status::Passed);
    // In an order of its own, and nothing is passed over.
    let effects = dispatcher.step(5, started(2));
    assert!(matches!(effects[..], [Effect::Announce { .. }]), "{effects:?}");
    let _ = dispatcher.step(6, finished(2, Status::Passed));
    let _ = dispatcher.step(7, started(1));
    let effects = dispatcher.step(8, finished(1, Status::Failed));
    assert_eq!(reported(&effects)[0].1, Status::Failed);
    assert!(effects.contains(&Effect::Shutdown { slot: 0 }), "{effects:?}");
    assert_eq!(dispatcher.step(9, exited(0)), [Effect::Done]);
}

#[test]
fn nobody_else_runs_them_not_even_again() {
    let policy = Policy { retries: 3, ..slots(2) };
    let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); 1]);
    let _ = dispatcher.step(0, Input::Begin);
    let _ = dispatcher.step(1, Input::Ready { slot: 0, generation: 1 });
    let _ = dispatcher.step(2, started(0));
    let _ = dispatcher.step(3, own(3));
    let _ = dispatcher.step(4, finished(0, Status::Passed));
    let _ = dispatcher.step(5, started(1));
    let effects = dispatcher.step(6, finished(1, Status::Failed));
    assert!(
        matches!(&effects[..], [Effect::Report { outcome, .. }] if outcome.r#final == Some(true))
    );
    let _ = dispatcher.step(7, started(2));
    let effects = dispatcher.step(8, exited(1));
    let statuses: Vec<Status> =
        reported(&effects).into_iter().map(|(_, status, _)| status).collect();
    assert_eq!(statuses, [Status::Crashed, Status::Errored]);
    assert!(effects.ends_with(&[Effect::Done]), "{effects:?}");
}

#[test]
fn a_stop_leaves_them_out_and_late_hooks_get_time() {
    let mut stopped = ready(1);
    let _ = stopped.step(2, started(0));
    let _ = stopped.step(3, own(1));
    let _ = stopped.step(4, Input::Stop(StopReason::Cancelled));
    let _ = stopped.step(5, finished(0, Status::Passed));
    let effects = stopped.step(6, exited(0));
    assert_eq!(reported(&effects)[0].1, Status::NotRun);

    let mut ending = ready(1);
    let _ = ending.step(2, started(0));
    let _ = ending.step(3, finished(0, Status::Passed));
    // Nine of ten seconds have passed when a last hook defines one.
    let _ = ending.step(9_000_000, own(1));
    let _ = ending.step(12_000_000, Input::Tick);
    let effects = ending.step(12_000_001, started(1));
    assert!(matches!(effects[..], [Effect::Announce { .. }]), "{effects:?}");
    let _ = ending.step(30_000_000, finished(1, Status::Passed));
    assert_eq!(ending.step(30_000_001, exited(0)), [Effect::Done]);
}

/// A worker as the world plays it.
#[derive(Default)]
struct Model {
    generation: u32,
    is_there: bool,
    waiting: VecDeque<JobId>,
    own: Vec<JobId>,
    running: Option<JobId>,
    is_ending: bool,
}

proptest! {
    /// Whatever workers define, run, drop and take along when they die: every job has one final result, and the run ends.
    #[test]
    fn every_job_is_settled_once(
        count in 1_usize..12,
        workers in 1_u32..4,
        retries in 0_u32..3,
        choices in prop::collection::vec(any::<u8>(), 1..60),
        stop_at in prop::option::of(0_usize..40),
    ) {
        let policy = Policy { retries, idle_deaths: 1000, ..slots(workers) };
        let mut dispatcher = Dispatcher::new(policy, vec![job(None, None); count]);
        let mut models: Vec<Model> = (0..workers).map(|_| Model::default()).collect();
        let mut finals: HashMap<JobId, u32> = HashMap::new();
        let mut jobs = count;
        let mut inputs = vec![Input::Begin];
        let mut is_done = false;
        for step in 0..20_000_usize {
            let now = step as u64 * 10;
            let mut effects = Vec::new();
            for input in inputs.drain(..) {
                effects.extend(dispatcher.step(now, input));
            }
            for effect in effects {
                match effect {
                    Effect::Start { slot, generation } => {
                        models[slot as usize] = Model { generation, is_there: true, ..Model::default() };
                        inputs.push(Input::Ready { slot, generation });
                    }
                    Effect::Assign { slot, units, .. } => {
                        let given = units.into_iter().flatten().map(|assigned| assigned.job);
                        models[slot as usize].waiting.extend(given);
                    }
                    Effect::TakeBack { slot, jobs } => {
                        let model = &mut models[slot as usize];
                        let (back, kept): (Vec<_>, Vec<_>) = model.waiting.drain(..).partition(|job| jobs.contains(job));
                        model.waiting = kept.into();
                        inputs.push(Input::Returned { slot, generation: model.generation, jobs: back });
                    }
                    Effect::Shutdown { slot } => models[slot as usize].is_ending = true,
                    Effect::Kill { slot, .. } if models[slot as usize].is_there => {
                        models[slot as usize].is_there = false;
                        let generation = models[slot as usize].generation;
                        inputs.push(Input::Exited { slot, generation, exit: by_signal(9) });
                    }
                    Effect::Report { assigned, outcome, .. } if outcome.r#final == Some(true) => {
                        *finals.entry(assigned.job).or_default() += 1;
                    }
                    Effect::Odd { what, .. } => prop_assert!(false, "{}", what),
                    Effect::Done => is_done = true,
                    _ => {}
                }
            }
            if is_done {
                break;
            }
            if stop_at == Some(step) {
                inputs.push(Input::Stop(StopReason::Cancelled));
            }
            if !inputs.is_empty() {
                continue;
            }
            let choice = choices[step % choices.len()].wrapping_add(u8::try_from(step % 251).unwrap());
            let there: Vec<usize> = (0..models.len()).filter(|slot| models[*slot].is_there).collect();
            let Some(number) = there.get(usize::from(choice) % there.len().max(1)).copied() else {
                inputs.push(Input::Tick);
                continue;
            };
            let model = &mut models[number];
            let (slot, generation) = (index(number), model.generation);
            if choice % 29 == 0 {
                model.is_there = false;
                inputs.push(Input::Exited { slot, generation, exit: by_signal(11) });
            } else if let Some(job) = model.running.take() {
                if choice % 5 == 0 && jobs < 40 {
                    let added = usize::from(choice % 3);
                    model.own.extend((jobs..jobs + added).map(|job| JobId(index(job))));
                    jobs += added;
                    inputs.push(Input::OwnJobs { slot, generation, jobs: vec![super::job(None, None); added] });
                }
                let status = if choice % 7 == 0 { Status::Failed } else { Status::Passed };
                let outcome = Box::new(ExampleFinished { status, ..ExampleFinished::default() });
                inputs.push(Input::Finished { slot, generation, job, outcome });
            } else if model.is_ending && (model.own.is_empty() || choice % 2 == 0) {
                model.is_there = false;
                inputs.push(Input::Exited { slot, generation, exit: Exit { status: Some(0), ..Exit::default() } });
            } else if let Some(job) = model.waiting.pop_front().filter(|_| !model.is_ending).or_else(|| model.own.pop()) {
                model.running = Some(job);
                inputs.push(Input::Started { slot, generation, job });
            } else {
                inputs.push(Input::Tick);
            }
        }
        prop_assert!(is_done, "the run does not end");
        prop_assert_eq!(finals.len(), jobs);
        prop_assert!(finals.values().all(|count| *count == 1), "{:?}", finals);
    }
}
