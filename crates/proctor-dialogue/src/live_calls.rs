//! Calls that an agent reports while it works, paired with those that its answer lists: each is told once.
//!
//! Two reports are about the same call if their ids are equal; where one of them has none, if name and arguments are equal, in the
//! order of the reports.

use crate::transcript::{DoneCall, ToolCall};

/// A report about a call that the agent makes itself.
#[derive(Debug, Clone, PartialEq)]
pub enum CallReport {
    /// It has begun.
    Started(ToolCall),
    /// It is over.
    Completed(DoneCall),
}

/// The calls that were reported since the agent was asked.
#[derive(Debug, Clone, Default)]
pub struct LiveCalls(Vec<LiveCall>);

#[derive(Debug, Clone)]
struct LiveCall {
    done: DoneCall,
    /// Whether the agent gave it an id.
    named: bool,
    completed: bool,
}

impl LiveCall {
    fn has_id(&self, id: &str) -> bool {
        self.named && self.done.call.id == id
    }

    fn has_words(&self, call: &ToolCall) -> bool {
        self.done.call.name == call.name && self.done.call.arguments == call.arguments
    }

    /// Adds what a later report says.
    fn learn(&mut self, later: DoneCall) {
        let done = &mut self.done;
        // A report that names the call need not repeat its arguments.
        if later.call.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
            done.call.arguments = later.call.arguments;
        }
        done.result = later.result.or(done.result.take());
        done.error = later.error.or(done.error.take());
        done.duration_ms = done.duration_ms.or(later.duration_ms);
        done.metadata = later.metadata.or(done.metadata.take());
    }
}

impl LiveCalls {
    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a report. Returns what is new, with ids from `new_id` for calls without one.
    pub fn report(
        &mut self,
        report: CallReport,
        new_id: impl FnMut() -> String,
    ) -> Vec<CallReport> {
        match report {
            CallReport::Started(call) => {
                if self.0.iter().any(|known| known.has_id(&call.id)) {
                    return Vec::new();
                }
                let done = DoneCall { call, ..DoneCall::default() };
                let place = self.add(done, false, new_id);
                vec![CallReport::Started(self.0[place].done.call.clone())]
            }
            CallReport::Completed(done) => {
                let told = |known: &LiveCall| known.completed && known.has_id(&done.call.id);
                if self.0.iter().any(told) {
                    return Vec::new();
                }
                if let Some(place) = self.position(&done.call, |known| !known.completed) {
                    return vec![self.complete(place, done)];
                }
                let place = self.add(done, true, new_id);
                let done = &self.0[place].done;
                vec![CallReport::Started(done.call.clone()), CallReport::Completed(done.clone())]
            }
        }
    }

    /// The agent has answered with this list of calls. Returns all calls that it made, and what has not been told of them.
    /// Calls that were reported and are not listed come first.
    pub fn settle(
        mut self,
        listed: Vec<DoneCall>,
        mut new_id: impl FnMut() -> String,
    ) -> (Vec<DoneCall>, Vec<CallReport>) {
        let (mut made, mut untold) = (Vec::new(), Vec::new());
        for done in listed {
            if let Some(place) = self.position(&done.call, |_| true) {
                let mut known = self.0.remove(place);
                known.learn(done);
                if !known.completed {
                    untold.push(CallReport::Completed(known.done.clone()));
                }
                made.push(known.done);
            } else {
                let mut single = Self::default();
                untold.extend(single.report(CallReport::Completed(done), &mut new_id));
                made.extend(single.0.into_iter().map(|live| live.done));
            }
        }
        // What came of a call that has only begun is not known.
        let open = self.0.iter().filter(|live| !live.completed);
        untold.extend(open.map(|live| CallReport::Completed(live.done.clone())));
        let unlisted = self.0.into_iter().map(|live| live.done);
        (unlisted.chain(made).collect(), untold)
    }

    /// The first of these that a report is about: the one with its id, else one of those that can only be told by their words.
    fn position(&self, call: &ToolCall, among: impl Fn(&LiveCall) -> bool) -> Option<usize> {
        let find = |wanted: &dyn Fn(&LiveCall) -> bool| {
            self.0.iter().position(|known| among(known) && wanted(known))
        };
        let unnamed = |known: &LiveCall| !known.named && known.has_words(call);
        if call.id.is_empty() {
            return find(&unnamed).or_else(|| find(&|known| known.has_words(call)));
        }
        find(&|known| known.has_id(&call.id)).or_else(|| find(&unnamed))
    }

    fn add(
        &mut self,
        mut done: DoneCall,
        completed: bool,
        mut new_id: impl FnMut() -> String,
    ) -> usize {
        let named = !done.call.id.is_empty();
        if !named {
            done.call.id = new_id();
        }
        self.0.push(LiveCall { done, named, completed });
        self.0.len() - 1
    }

    fn complete(&mut self, place: usize, done: DoneCall) -> CallReport {
        let known = &mut self.0[place];
        known.completed = true;
        known.learn(done);
        CallReport::Completed(known.done.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, n: u64) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: json!({"n": n}) }
    }

    fn done(call: ToolCall, result: &str) -> DoneCall {
        DoneCall { call, result: Some(json!(result)), ..DoneCall::default() }
    }

    /// Gives out the ids `i1`, `i2`, ….
    fn ids() -> impl FnMut() -> String {
        let mut last = 0;
        move || {
            last += 1;
            format!("i{last}")
        }
    }

    fn told(reports: &[CallReport]) -> Vec<String> {
        let text = |report: &CallReport| match report {
            CallReport::Started(call) => format!("{} started", call.id),
            CallReport::Completed(done) => {
                format!("{} completed {}", done.call.id, done.result.clone().unwrap_or_default())
            }
        };
        reports.iter().map(text).collect()
    }

    #[test]
    fn calls_are_paired_by_id_or_in_order() {
        let (mut live, mut new_id) = (LiveCalls::default(), ids());
        let started = |call| CallReport::Started(call);
        let completed = |call, result| CallReport::Completed(done(call, result));
        let mut report = |report| told(&live.report(report, &mut new_id));
        assert_eq!(report(started(call("a", "look", 1))), ["a started"]);
        assert_eq!(report(started(call("a", "look", 1))), [""; 0], "said before");
        assert_eq!(report(started(call("", "look", 1))), ["i1 started"]);
        assert_eq!(report(completed(call("a", "look", 1), "x")), ["a completed \"x\""]);
        assert_eq!(report(completed(call("a", "look", 1), "x")), [""; 0]);
        assert_eq!(report(completed(call("", "look", 1), "y")), ["i1 completed \"y\""]);
        assert_eq!(
            report(completed(call("", "look", 1), "z")),
            ["i2 started", "i2 completed \"z\""],
            "the same call once more"
        );
        assert_eq!(report(started(call("b", "wait", 0))), ["b started"]);
        let listed = vec![
            done(call("a", "look", 1), "x"),
            done(call("", "look", 1), "y"),
            done(call("", "look", 1), "z"),
            done(call("", "look", 1), "never reported"),
        ];
        let (made, untold) = live.settle(listed, new_id);
        assert_eq!(
            told(&untold),
            ["i3 started", "i3 completed \"never reported\"", "b completed null"]
        );
        let made: Vec<&str> = made.iter().map(|done| done.call.id.as_str()).collect();
        assert_eq!(made, ["b", "a", "i1", "i2", "i3"]);
    }

    fn reports() -> impl Strategy<Value = Vec<(bool, String, u64)>> {
        let id = prop_oneof![Just(String::new()), "[ab]"];
        prop::collection::vec((any::<bool>(), id, 0..2_u64), 0..12)
    }

    proptest! {
        /// Whatever is reported and listed, in whatever order: every call that was made has one start before one completion.
        #[test]
        fn every_call_is_told_once(reported in reports(), listed in reports()) {
            let (mut live, mut new_id) = (LiveCalls::default(), ids());
            let mut all = Vec::new();
            for (start, id, n) in reported {
                let call = call(&id, "look", n);
                let report = if start { CallReport::Started(call) } else { CallReport::Completed(done(call, "r")) };
                all.extend(live.report(report, &mut new_id));
            }
            let listed: Vec<DoneCall> =
                listed.into_iter().map(|(_, id, n)| done(call(&id, "look", n), "r")).collect();
            let least = listed.len();
            let (made, untold) = live.settle(listed, new_id);
            all.extend(untold);
            prop_assert!(made.len() >= least);
            let starts = all.iter().filter(|report| matches!(report, CallReport::Started(_))).count();
            prop_assert_eq!((starts, all.len()), (made.len(), 2 * made.len()));
            for (place, report) in all.iter().enumerate() {
                if let CallReport::Completed(done) = report {
                    let before = all[..place].iter().filter(|earlier| {
                        matches!(earlier, CallReport::Started(call) if call.id == done.call.id)
                    });
                    prop_assert!(before.count() >= 1, "{:?}", report);
                }
            }
        }
    }
}
