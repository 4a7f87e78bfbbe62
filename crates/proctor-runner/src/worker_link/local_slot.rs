//! A slot whose examples run in this process, as a pure step function.
//!
//! | state | input | next state |
//! |---|---|---|
//! | idle | `Run`, unless paused | running the first example |
//! | idle, running | `Run` | the examples wait, in order |
//! | any | `GiveBack` | those that wait are returned |
//! | idle | `Shutdown`, `Kill`, the link closes | ended |
//! | running | `Shutdown` | ends when what runs has ended |
//! | running | `Kill`, its time is up, the link closes | stopping: what runs is asked to stop, and ends the slot |
//! | running | it has ended | running the next, or idle, or ended |
//!
//! What always holds: an example is performed at most once, and never after it was returned; nothing is performed after
//! `Shutdown` or `Kill`; the slot ends once.

use std::collections::VecDeque;

use super::orders::{ExampleRun, OrderAction};
use super::reports::{Report, ReturnedExample};

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlotInput {
    Order(OrderAction),
    /// What was performed has ended, or has stopped as it was asked to.
    Performed,
    /// What is performed has exceeded its time limit.
    TimeIsUp,
    /// The run is over: no further orders arrive, and reports have no receiver.
    LinkClosed,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SlotAction {
    Send(Report),
    Perform(ExampleRun),
    /// Ask what is performed to stop.
    Stop(StopCause),
    End,
}

/// Why an example that runs in this process has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// It has exceeded its time limit.
    TimedOut,
    /// The run stops.
    Cancelled,
    /// The run is over.
    LinkClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
    /// Asked to stop; the slot ends when it has.
    Stopping,
    Ended,
}

/// The state of the slot.
#[derive(Debug)]
pub(super) struct LocalSlot {
    queue: VecDeque<ExampleRun>,
    phase: Phase,
    /// Whether nothing more is to be started.
    ending: bool,
}

impl LocalSlot {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), phase: Phase::Idle, ending: false }
    }

    /// Takes one input. While the suite is `paused`, what waits is not started, but may be given back.
    #[must_use]
    pub(super) fn step(&mut self, input: SlotInput, paused: bool) -> Vec<SlotAction> {
        if self.phase == Phase::Ended {
            return Vec::new();
        }
        let mut actions = Vec::new();
        match input {
            SlotInput::Order(order) => self.follow(order, &mut actions),
            SlotInput::Performed => {
                self.ending |= self.phase == Phase::Stopping;
                self.phase = Phase::Idle;
            }
            SlotInput::TimeIsUp => self.stop(StopCause::TimedOut, &mut actions),
            SlotInput::LinkClosed => self.stop(StopCause::LinkClosed, &mut actions),
        }
        self.advance(paused, &mut actions);
        actions
    }

    fn follow(&mut self, order: OrderAction, actions: &mut Vec<SlotAction>) {
        match order {
            OrderAction::Run { units, .. } => self.queue.extend(units.into_iter().flatten()),
            OrderAction::GiveBack { examples } => {
                let wanted = |run: &ExampleRun| {
                    examples.iter().any(|each| each.key == run.key && each.repeat == run.repeat)
                };
                let (returned, kept): (VecDeque<ExampleRun>, _) =
                    std::mem::take(&mut self.queue).into_iter().partition(wanted);
                self.queue = kept;
                let examples = returned
                    .into_iter()
                    .map(|ExampleRun { key, repeat, .. }| ReturnedExample { key, repeat })
                    .collect();
                actions.push(SlotAction::Send(Report::Returned { examples }));
            }
            // The slot runs one example at a time and is given no more than may fail.
            // Only worker processes of RSpec are prepared.
            OrderAction::ChangeFailuresLeft { .. } | OrderAction::Prepare { .. } => {}
            OrderAction::Shutdown { .. } => self.ending = true,
            OrderAction::Kill { timed_out } => {
                let cause = if timed_out { StopCause::TimedOut } else { StopCause::Cancelled };
                self.stop(cause, actions);
            }
        }
    }

    fn stop(&mut self, cause: StopCause, actions: &mut Vec<SlotAction>) {
        self.ending = true;
        if self.phase == Phase::Running {
            self.phase = Phase::Stopping;
            actions.push(SlotAction::Stop(cause));
        }
    }

    fn advance(&mut self, paused: bool, actions: &mut Vec<SlotAction>) {
        if self.phase != Phase::Idle {
            return;
        }
        if self.ending {
            self.phase = Phase::Ended;
            actions.push(SlotAction::End);
        } else if !paused && let Some(run) = self.queue.pop_front() {
            self.phase = Phase::Running;
            actions.push(SlotAction::Perform(run));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn run(number: u32) -> ExampleRun {
        ExampleRun { key: number.to_string(), repeat: 1, attempt: 1, limit_ms: None }
    }

    /// What the property test does next; examples are numbered as they are given.
    #[derive(Debug, Clone)]
    enum Move {
        Give(u32),
        TakeBack(Vec<u32>),
        Order(OrderAction),
        EndExample,
        Close,
    }

    fn any_move() -> impl Strategy<Value = Move> {
        prop_oneof![
            4 => (1_u32..4).prop_map(Move::Give),
            2 => prop::collection::vec(0_u32..12, 0..5).prop_map(Move::TakeBack),
            1 => any::<i32>().prop_map(|by| Move::Order(OrderAction::ChangeFailuresLeft { by })),
            1 => Just(Move::Order(OrderAction::Shutdown { stopped: false })),
            1 => any::<bool>().prop_map(|timed_out| Move::Order(OrderAction::Kill { timed_out })),
            4 => Just(Move::EndExample),
            1 => Just(Move::Close),
        ]
    }

    proptest! {
        #[test]
        fn every_example_is_performed_or_returned_at_most_once(
            moves in prop::collection::vec((any_move(), prop::bool::weighted(0.2)), 0..40),
        ) {
            let mut slot = LocalSlot::new();
            let (mut given, mut running, mut ended, mut ending) = (0, false, false, false);
            let mut settled = HashSet::new();
            for (step, paused) in moves {
                let input = match step {
                    Move::Give(count) => {
                        let units = (0..count).map(|n| vec![run(given + n)]).collect();
                        given += count;
                        SlotInput::Order(OrderAction::Run { units, failures_left: None })
                    }
                    Move::TakeBack(numbers) => {
                        let examples = numbers.into_iter().map(run).collect();
                        SlotInput::Order(OrderAction::GiveBack { examples })
                    }
                    Move::Order(order) => {
                        ending |= !matches!(order, OrderAction::ChangeFailuresLeft { .. });
                        SlotInput::Order(order)
                    }
                    Move::EndExample if running => {
                        running = false;
                        SlotInput::Performed
                    }
                    Move::EndExample => continue,
                    Move::Close => {
                        ending = true;
                        SlotInput::LinkClosed
                    }
                };
                for action in slot.step(input, paused) {
                    prop_assert!(!ended, "{action:?} after the end");
                    match action {
                        SlotAction::Perform(run) => {
                            prop_assert!(!paused && !running && !ending);
                            prop_assert!(settled.insert(run.key), "performed twice, or after it was returned");
                            running = true;
                        }
                        SlotAction::Send(Report::Returned { examples }) => {
                            for example in examples {
                                prop_assert!(settled.insert(example.key));
                            }
                        }
                        SlotAction::Send(other) => prop_assert!(false, "{other:?}"),
                        SlotAction::Stop(_) => prop_assert!(running && ending),
                        SlotAction::End => {
                            prop_assert!(ending && !running);
                            ended = true;
                        }
                    }
                }
                prop_assert!(ended || !ending || running, "it ends as soon as nothing runs");
            }
        }
    }

    #[test]
    fn only_the_repetition_that_is_asked_for_is_returned() {
        let mut slot = LocalSlot::new();
        let twice = vec![vec![run(1), ExampleRun { repeat: 2, ..run(1) }]];
        let order = OrderAction::Run { units: twice, failures_left: None };
        assert_eq!(slot.step(SlotInput::Order(order), true), []);
        let back = OrderAction::GiveBack { examples: vec![ExampleRun { repeat: 2, ..run(1) }] };
        let examples = vec![ReturnedExample { key: "1".to_owned(), repeat: 2 }];
        assert_eq!(
            slot.step(SlotInput::Order(back), false),
            [SlotAction::Send(Report::Returned { examples }), SlotAction::Perform(run(1))]
        );
    }
}
