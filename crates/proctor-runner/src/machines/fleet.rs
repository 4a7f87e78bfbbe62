//! Which machines take part in a run, and which slots are theirs, as a pure step function.
//!
//! | machine | what happened | next |
//! |---|---|---|
//! | unknown | it joins and would run the same thing | joined: welcome, its slots are added, up to the limit of each suite |
//! | unknown | it joins and would run something else | refused, with what differs |
//! | joined | reports of one of its slots | handed on |
//! | joined | it leaves | leaving: its slots finish what they run |
//! | joined, leaving | its lease has expired | lost: what its slots ran is run elsewhere |
//! | joined, leaving | its suites have ended | ended |
//! | refused, lost, ended, unknown | anything else | nothing: what comes back from the dead changes nothing |
//!
//! Slots that are more than a suite may use wait, and take the places of slots that go.

use std::collections::{BTreeMap, VecDeque};

use super::CodeProof;
use super::wire::{FromMachine, SuitesEnd, ToMachine};
use crate::worker_link::reports::ReportBatch;

/// A place at a machine that can serve a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) boot: String,
    pub(crate) suite: usize,
    pub(crate) place: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FleetInput {
    Said {
        boot: String,
        message: FromMachine,
    },
    /// Something that cannot be read: it may have been a result.
    Unreadable {
        boot: String,
        why: String,
    },
    Lost {
        boot: String,
    },
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FleetAction {
    Send {
        boot: String,
        message: ToMachine,
    },
    /// There is one more slot; its number follows on those there are.
    AddSlot(Seat),
    /// The slot finishes what it runs.
    RemoveSlot(u32),
    /// The slot is gone with all it had.
    LoseSlot {
        slot: u32,
        message: String,
    },
    /// Reports of a slot that is served.
    Handle(ReportBatch),
    /// The suites of a machine have ended.
    SuitesEnded(SuitesEnd),
    /// Something that a person should know at the end of the run too.
    Note(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Joined,
    Leaving,
    /// Refused, lost, or properly ended.
    Out,
}

#[derive(Debug, Clone)]
struct Machine {
    name: String,
    standing: Standing,
}

/// A slot of the run.
#[derive(Debug, Clone)]
struct FleetSlot {
    seat: Seat,
    /// Whether it can still get work.
    in_use: bool,
}

/// The machines of one run.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    proof: CodeProof,
    /// How many slots each suite may use.
    limits: Vec<Option<u32>>,
    machines: BTreeMap<String, Machine>,
    slots: Vec<FleetSlot>,
    spare: VecDeque<Seat>,
}

impl Fleet {
    pub(crate) fn new(proof: CodeProof, limits: Vec<Option<u32>>) -> Self {
        Self { proof, limits, machines: BTreeMap::new(), slots: Vec::new(), spare: VecDeque::new() }
    }

    /// How many slots there are that can get work.
    pub(crate) fn slots_in_use(&self) -> usize {
        self.slots.iter().filter(|slot| slot.in_use).count()
    }

    /// The machines whose suites have not ended.
    pub(crate) fn present(&self) -> Vec<String> {
        let present = self.machines.iter().filter(|(_, it)| it.standing != Standing::Out);
        present.map(|(boot, _)| boot.clone()).collect()
    }

    /// What people call a machine.
    pub(crate) fn name<'n>(&'n self, boot: &'n str) -> &'n str {
        self.machines.get(boot).map_or(boot, |machine| &machine.name)
    }

    /// The machine that serves a slot.
    pub(crate) fn machine_of(&self, slot: u32) -> Option<&str> {
        self.slots.get(slot as usize).map(|slot| self.name(&slot.seat.boot))
    }

    #[must_use]
    pub(crate) fn step(&mut self, input: FleetInput) -> Vec<FleetAction> {
        let mut actions = Vec::new();
        match input {
            FleetInput::Said { boot, message } => self.said(&boot, message, &mut actions),
            FleetInput::Unreadable { boot, why } => {
                if self.is_present(&boot) {
                    let why = format!("sent a message that cannot be read ({why})");
                    self.lose(&boot, &why, &mut actions);
                }
            }
            FleetInput::Lost { boot } => {
                if self.is_present(&boot) {
                    self.lose(&boot, "was lost: its lease has expired", &mut actions);
                }
            }
        }
        actions
    }

    fn is_present(&self, boot: &str) -> bool {
        self.machines.get(boot).is_some_and(|machine| machine.standing != Standing::Out)
    }

    fn said(&mut self, boot: &str, message: FromMachine, actions: &mut Vec<FleetAction>) {
        match message {
            FromMachine::Join { name, offer, proof } => {
                if !self.machines.contains_key(boot) {
                    self.join(boot, name, &offer, &proof, actions);
                }
            }
            _ if !self.is_present(boot) => {}
            FromMachine::Reports(batch) => {
                let slot = self.slots.get(batch.slot as usize);
                if slot.is_some_and(|slot| slot.seat.boot == boot) {
                    actions.push(FleetAction::Handle(batch));
                }
            }
            FromMachine::Leaving => {
                self.set_standing(boot, Standing::Leaving);
                self.remove_slots(boot, &mut |slot| FleetAction::RemoveSlot(slot), actions);
                let boot = boot.to_owned();
                actions.push(FleetAction::Send { boot, message: ToMachine::LeaveNoted });
            }
            FromMachine::Ended(end) => {
                self.set_standing(boot, Standing::Out);
                let message = format!("machine {} has ended its suites", self.name(boot));
                let lost = |slot| FleetAction::LoseSlot { slot, message: message.clone() };
                self.remove_slots(boot, &mut { lost }, actions);
                actions.push(FleetAction::SuitesEnded(end));
            }
        }
    }

    fn join(
        &mut self,
        boot: &str,
        name: String,
        offer: &[u32],
        proof: &CodeProof,
        actions: &mut Vec<FleetAction>,
    ) {
        let mut differences = self.proof.differences(proof);
        if offer.len() != self.limits.len() {
            differences.push(format!(
                "suites: {} at the controller, {} at the machine",
                self.limits.len(),
                offer.len()
            ));
        }
        let send = |message| FleetAction::Send { boot: boot.to_owned(), message };
        if !differences.is_empty() {
            let why = differences.join("; ");
            actions.push(FleetAction::Note(format!(
                "machine {name} was refused, because it would not run the same thing: {why}"
            )));
            actions.push(send(ToMachine::Refused { differences }));
            let machine = Machine { name, standing: Standing::Out };
            self.machines.insert(boot.to_owned(), machine);
            return;
        }
        actions.push(send(ToMachine::Welcome));
        self.machines.insert(boot.to_owned(), Machine { name, standing: Standing::Joined });
        let mut place = 0;
        for (suite, count) in offer.iter().enumerate() {
            for _ in 0..*count {
                self.spare.push_back(Seat { boot: boot.to_owned(), suite, place });
                place += 1;
            }
        }
        self.fill(actions);
    }

    /// Puts spare seats to use, as far as the limits of their suites allow.
    fn fill(&mut self, actions: &mut Vec<FleetAction>) {
        let mut used = vec![0_u32; self.limits.len()];
        for slot in self.slots.iter().filter(|slot| slot.in_use) {
            used[slot.seat.suite] += 1;
        }
        for seat in std::mem::take(&mut self.spare) {
            if self.limits[seat.suite].is_some_and(|limit| used[seat.suite] >= limit) {
                self.spare.push_back(seat);
                continue;
            }
            used[seat.suite] += 1;
            self.slots.push(FleetSlot { seat: seat.clone(), in_use: true });
            actions.push(FleetAction::AddSlot(seat));
        }
    }

    fn set_standing(&mut self, boot: &str, standing: Standing) {
        if let Some(machine) = self.machines.get_mut(boot) {
            machine.standing = standing;
        }
    }

    fn lose(&mut self, boot: &str, how: &str, actions: &mut Vec<FleetAction>) {
        self.set_standing(boot, Standing::Out);
        let message = format!("machine {} {how}", self.name(boot));
        actions
            .push(FleetAction::Note(format!("{message}; what it had not finished ran elsewhere")));
        // Also those that leave: what they still run is gone too.
        for slot in &mut self.slots {
            if slot.seat.boot == boot {
                slot.in_use = true;
            }
        }
        let lost = |slot| FleetAction::LoseSlot { slot, message: message.clone() };
        self.remove_slots(boot, &mut { lost }, actions);
    }

    /// Takes the slots of a machine out of use, and fills their places.
    fn remove_slots(
        &mut self,
        boot: &str,
        action: &mut dyn FnMut(u32) -> FleetAction,
        actions: &mut Vec<FleetAction>,
    ) {
        self.spare.retain(|seat| seat.boot != boot);
        for (number, slot) in (0..).zip(&mut self.slots) {
            if slot.seat.boot == boot && slot.in_use {
                slot.in_use = false;
                actions.push(action(number));
            }
        }
        self.fill(actions);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn proof(commit: &str) -> CodeProof {
        CodeProof::default().with("commit", commit)
    }

    fn said(boot: &str, message: FromMachine) -> FleetInput {
        FleetInput::Said { boot: boot.to_owned(), message }
    }

    fn join(boot: &str, offer: Vec<u32>) -> FleetInput {
        let name = format!("machine-{boot}");
        said(boot, FromMachine::Join { name, offer, proof: proof("a") })
    }

    fn batch(slot: u32) -> FromMachine {
        FromMachine::Reports(ReportBatch {
            version: 1,
            number: 1,
            slot,
            generation: 1,
            last_order: 0,
            reports: Vec::new(),
        })
    }

    fn slots(actions: &[FleetAction]) -> Vec<(usize, u32)> {
        let added = actions.iter().filter_map(|action| match action {
            FleetAction::AddSlot(seat) => Some((seat.suite, seat.place)),
            _ => None,
        });
        added.collect()
    }

    #[test]
    fn a_machine_that_would_run_something_else_is_refused_with_what_differs() {
        let mut fleet = Fleet::new(proof("a"), vec![None]);
        let other = FromMachine::Join { name: "m".to_owned(), offer: vec![4], proof: proof("b") };
        let actions = fleet.step(said("1", other));
        let differences = vec!["commit: a at the controller, b at the machine".to_owned()];
        assert!(actions.contains(&FleetAction::Send {
            boot: "1".to_owned(),
            message: ToMachine::Refused { differences }
        }));
        assert_eq!((slots(&actions), fleet.slots_in_use()), (Vec::new(), 0));
        assert_eq!(fleet.step(said("1", batch(0))), [], "it has no slot to report from");
        let actions = fleet.step(join("2", vec![1, 1]));
        assert!(slots(&actions).is_empty(), "it has other suites");
    }

    #[test]
    fn spare_slots_take_the_places_of_lost_ones() {
        let mut fleet = Fleet::new(proof("a"), vec![Some(3), None]);
        assert_eq!(slots(&fleet.step(join("1", vec![2, 1]))), [(0, 0), (0, 1), (1, 2)]);
        assert_eq!(slots(&fleet.step(join("2", vec![2, 1]))), [(0, 0), (1, 2)]);
        let actions = fleet.step(FleetInput::Lost { boot: "1".to_owned() });
        let lost = actions.iter().filter(|it| matches!(it, FleetAction::LoseSlot { .. })).count();
        assert_eq!((lost, slots(&actions)), (3, vec![(0, 1)]));
        assert_eq!(fleet.slots_in_use(), 3);
        assert_eq!(fleet.step(FleetInput::Lost { boot: "1".to_owned() }), []);
        assert_eq!(fleet.step(said("1", batch(0))), [], "what comes back from the dead");
    }

    #[test]
    fn a_machine_that_leaves_may_still_be_lost() {
        let mut fleet = Fleet::new(proof("a"), vec![None]);
        let _ = fleet.step(join("1", vec![1]));
        let actions = fleet.step(said("1", FromMachine::Leaving));
        assert_eq!(actions[0], FleetAction::RemoveSlot(0));
        assert_eq!(fleet.step(said("1", batch(0))).len(), 1, "it reports what it still runs");
        let actions = fleet.step(FleetInput::Lost { boot: "1".to_owned() });
        assert!(matches!(actions[1], FleetAction::LoseSlot { slot: 0, .. }), "{actions:?}");
    }

    #[derive(Debug, Clone)]
    enum Move {
        Join(u8, u32),
        JoinWrong(u8),
        Report(u8, u32),
        Leave(u8),
        End(u8),
        Lose(u8),
        Garble(u8),
    }

    fn any_move() -> impl Strategy<Value = Move> {
        let boot = || 0_u8..6;
        prop_oneof![
            4 => (boot(), 0_u32..4).prop_map(|(boot, count)| Move::Join(boot, count)),
            1 => boot().prop_map(Move::JoinWrong),
            6 => (boot(), 0_u32..20).prop_map(|(boot, slot)| Move::Report(boot, slot)),
            1 => boot().prop_map(Move::Leave),
            1 => boot().prop_map(Move::End),
            2 => boot().prop_map(Move::Lose),
            1 => boot().prop_map(Move::Garble),
        ]
    }

    proptest! {
        /// Whatever machines do: the limit holds, only who serves a slot is heard about it, and nobody is heard after the end.
        #[test]
        fn only_present_machines_are_heard_and_only_about_their_slots(
            moves in prop::collection::vec(any_move(), 0..60),
            limit in prop::option::of(1_u32..5),
        ) {
            let mut fleet = Fleet::new(proof("a"), vec![limit]);
            let mut owners: Vec<String> = Vec::new();
            let (mut open, mut out) = (BTreeSet::new(), BTreeSet::new());
            for step in moves {
                let (boot, input) = match step {
                    Move::Join(boot, count) => (boot, join(&boot.to_string(), vec![count])),
                    Move::JoinWrong(boot) => {
                        let (name, offer) = ("w".to_owned(), vec![3]);
                        let wrong = FromMachine::Join { name, offer, proof: proof("b") };
                        (boot, said(&boot.to_string(), wrong))
                    }
                    Move::Report(boot, slot) => (boot, said(&boot.to_string(), batch(slot))),
                    Move::Leave(boot) => (boot, said(&boot.to_string(), FromMachine::Leaving)),
                    Move::End(boot) => {
                        (boot, said(&boot.to_string(), FromMachine::Ended(SuitesEnd::default())))
                    }
                    Move::Lose(boot) => (boot, FleetInput::Lost { boot: boot.to_string() }),
                    Move::Garble(boot) => {
                        let (boot_id, why) = (boot.to_string(), "x".to_owned());
                        (boot, FleetInput::Unreadable { boot: boot_id, why })
                    }
                };
                let boot = boot.to_string();
                let ends = matches!(
                    input,
                    FleetInput::Lost { .. }
                        | FleetInput::Unreadable { .. }
                        | FleetInput::Said { message: FromMachine::Ended(_), .. }
                );
                let known = fleet.machines.contains_key(&boot);
                for action in fleet.step(input) {
                    prop_assert!(!out.contains(&boot), "{action:?} after the end of {boot}");
                    match action {
                        FleetAction::AddSlot(seat) => {
                            open.insert(owners.len());
                            owners.push(seat.boot);
                        }
                        FleetAction::RemoveSlot(slot) => {
                            prop_assert!(open.remove(&(slot as usize)));
                        }
                        FleetAction::LoseSlot { slot, .. } => {
                            open.remove(&(slot as usize));
                            prop_assert_eq!(&owners[slot as usize], &boot);
                        }
                        FleetAction::Handle(batch) => {
                            prop_assert_eq!(&owners[batch.slot as usize], &boot);
                        }
                        _ => {}
                    }
                }
                if ends && known {
                    out.insert(boot);
                }
                prop_assert_eq!(open.len(), fleet.slots_in_use());
                prop_assert!(limit.is_none_or(|limit| open.len() <= limit as usize));
                let of_the_dead = open.iter().any(|slot| out.contains(&owners[*slot]));
                prop_assert!(!of_the_dead, "a slot of a machine that is gone");
            }
        }
    }
}
