//! What a public method does through private methods of its class: their decisions and side effects belong to it, since
//! nobody else can bring them about.
//!
//! Each private method counts once, at the place of the first call. What only leaves the private method does not end the
//! public one, unless its answer is the result; an error ends both.

use crate::facts::{
    Arm, Behavior, BehaviorKind, Characteristic, ClassFacts, Ending, MethodFacts, OwnCall, Place,
    SideEffect,
};

/// More decisions than this are not one method's any more.
const MAX_DECISIONS: usize = 400;

/// Everything that a method does, with its private methods.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WholeMethod {
    /// The decisions of the method, then those of its private methods. Parents are indices into this list.
    pub characteristics: Vec<Characteristic>,
    /// Side effects, with places in this list.
    pub side_effects: Vec<SideEffect>,
    /// Names of the private methods, in the order of their first calls.
    pub absorbed: Vec<String>,
}

/// A method together with the private methods of its class that it calls, directly or through others.
#[must_use]
pub fn absorb(class: &ClassFacts, method: &MethodFacts) -> WholeMethod {
    let mut whole = WholeMethod {
        characteristics: method.characteristics.clone(),
        side_effects: method.side_effects.clone(),
        absorbed: Vec::new(),
    };
    let mut open: Vec<OwnCall> = method.own_calls.clone();
    let mut next = 0;
    while next < open.len() && whole.characteristics.len() < MAX_DECISIONS {
        let call = open[next].clone();
        next += 1;
        let callee = class
            .methods
            .iter()
            .find(|one| one.name == call.name && one.scope == method.scope && !one.is_testable());
        let Some(callee) = callee.filter(|one| !whole.absorbed.contains(&one.name)) else {
            continue;
        };
        whole.absorbed.push(callee.name.clone());
        open.extend(whole.add(callee, &call, &method.outcome));
    }
    whole
}

impl WholeMethod {
    /// Adds a private method that is called at a place; gives back the calls that it makes itself.
    fn add(&mut self, callee: &MethodFacts, call: &OwnCall, outcome: &Behavior) -> Vec<OwnCall> {
        let offset = self.characteristics.len();
        for one in &callee.characteristics {
            let moved = self.moved(one, call, offset, outcome);
            self.characteristics.push(moved);
        }
        if let Some(place) = call.place.as_ref().filter(|_| self.characteristics.len() > offset) {
            self.decided_later(place);
        }
        let at = |place: &Option<Place>| match place {
            Some(place) => Some(Place { decision: place.decision + offset, ..place.clone() }),
            None => call.place.clone(),
        };
        for effect in &callee.side_effects {
            let moved = SideEffect { place: at(&effect.place), ..effect.clone() };
            let known =
                |one: &SideEffect| one.description == moved.description && one.place == moved.place;
            if !self.side_effects.iter().any(known) {
                self.side_effects.push(moved);
            }
        }
        let calls = callee.own_calls.iter().map(|inner| OwnCall {
            name: inner.name.clone(),
            place: at(&inner.place),
            is_result: inner.is_result && call.is_result,
        });
        calls.collect()
    }

    fn moved(
        &self,
        one: &Characteristic,
        call: &OwnCall,
        offset: usize,
        outcome: &Behavior,
    ) -> Characteristic {
        let mut moved = one.clone();
        moved.name = self.unique(&one.name);
        match (one.parent, &call.place) {
            (Some(parent), _) => moved.parent = Some(parent + offset),
            (None, Some(place)) => {
                moved.parent = Some(place.decision);
                moved.when_parent.clone_from(&place.values);
            }
            (None, None) => {}
        }
        moved.level = moved.parent.map_or(1, |parent| self.characteristics[parent].level + 1);
        for arm in &mut moved.arms {
            arm.side_effects.clear();
            if !call.is_result {
                go_on(arm, outcome);
            }
        }
        moved
    }

    /// Values under which a private method decides are no leaves any more.
    fn decided_later(&mut self, place: &Place) {
        for arm in &mut self.characteristics[place.decision].arms {
            if !arm.terminal && place.values.contains(&arm.value) {
                arm.behavior = None;
            }
        }
    }

    fn unique(&self, name: &str) -> String {
        let taken = |name: &str| self.characteristics.iter().any(|one| one.name == name);
        if !taken(name) {
            return name.to_owned();
        }
        let mut numbered = (2..).map(|number| format!("{name}_{number}"));
        numbered.find(|name| !taken(name)).unwrap_or_default()
    }
}

/// The private method ends here, and its caller goes on.
fn go_on(arm: &mut Arm, outcome: &Behavior) {
    if matches!(arm.ending, Ending::Raise) {
        return;
    }
    arm.terminal = false;
    arm.ending = Ending::GoesOn;
    let sets = |one: &Behavior| one.description.starts_with("sets ");
    if let Some(behavior) = &mut arm.behavior {
        if !sets(behavior) {
            outcome.description.clone_into(&mut behavior.description);
        }
        behavior.kind = BehaviorKind::Success;
    }
}
