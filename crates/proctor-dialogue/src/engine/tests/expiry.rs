//! Being cut short: a verdict that stands is not taken back, soft checks never decide, and a time-out is the fault of the
//! party that was waited for (D2 to D5 of the audit).

use proctor_events::{Body, Status};
use serde_json::{Value, json};

use super::driver::{Driver, answer, call, example, judge, steps, verdicts};
use crate::engine::{
    AgentAnswer, ConversationOutcome, Effect, Engine, Input, RequestId, ToolOutcome,
};
use crate::judge::JudgeRequest;

/// A conversation that is driven by hand, question by question.
struct SteppedConversation {
    engine: Engine,
    open: Vec<Effect>,
    events: Vec<Body>,
    verdict: Option<ConversationOutcome>,
}

impl SteppedConversation {
    fn begin(example: std::sync::Arc<crate::scenario::Example>) -> Self {
        let engine = Engine::new(example);
        let mut conversation = Self { engine, open: Vec::new(), events: Vec::new(), verdict: None };
        conversation.put(Input::Begin { marks: crate::MarkKey::new([1; 32]) });
        conversation
    }

    fn steps(written: &Value) -> Self {
        Self::begin(steps(written))
    }

    fn put(&mut self, input: Input) {
        for effect in self.engine.step(input) {
            match effect {
                Effect::Emit(body) => self.events.push(body),
                Effect::Finish(verdict) => self.verdict = Some(verdict),
                Effect::ClearDeadline { id } => self.open.retain(
                    |open| !matches!(open, Effect::SetDeadline { id: set, .. } if *set == id),
                ),
                other => self.open.push(other),
            }
        }
    }

    fn deadline(&self) -> Option<RequestId> {
        self.open.iter().find_map(|open| match open {
            Effect::SetDeadline { id, .. } => Some(*id),
            _ => None,
        })
    }

    /// Takes the last question; deadlines stay.
    fn asked(&mut self) -> Effect {
        let last = self.open.iter().rposition(|open| !matches!(open, Effect::SetDeadline { .. }));
        self.open.remove(last.expect("somebody is asked"))
    }

    fn answers(mut self, text: &str) -> Self {
        match self.asked() {
            Effect::CallAgent { id, .. } => {
                self.put(Input::AgentAnswered { id, answer: answer(text) });
            }
            Effect::AskSimulator { id, .. } => {
                self.put(Input::SimulatorAnswered { id, text: text.into() });
            }
            other => panic!("{other:?}"),
        }
        self
    }

    fn judges(mut self, satisfied: bool) -> Self {
        let Effect::AskJudge { id, request } = self.asked() else { panic!("no judge is asked") };
        self.put(Input::JudgeAnswered { id, text: verdicts(&request, |_| satisfied) });
        self
    }

    fn request(&self) -> &JudgeRequest {
        match self.open.last() {
            Some(Effect::AskJudge { request, .. }) => request,
            other => panic!("{other:?}"),
        }
    }

    fn with(mut self, input: Input) -> Self {
        self.put(input);
        self
    }

    fn status(&self) -> String {
        let verdict = self.verdict.as_ref().unwrap_or_else(|| panic!("open: {:?}", self.open));
        let fault = verdict.fault.as_ref().map(|fault| format!(" ({fault})"));
        format!("{}{}", verdict.status, fault.unwrap_or_default())
    }

    fn recorded(&self) -> Vec<(String, Option<bool>)> {
        let recorded = |event: &Body| match event {
            Body::EvaluationRecorded(recorded) => {
                Some((recorded.mode.as_str().to_owned(), recorded.passed))
            }
            _ => None,
        };
        self.events.iter().filter_map(recorded).collect()
    }
}

fn broken(status: Status, message: &str) -> Input {
    Input::PartyUnavailable {
        status,
        fault: Some(proctor_events::Fault::Harness),
        message: message.into(),
    }
}

fn every_end() -> [(&'static str, Input); 4] {
    [
        ("time-out", Input::TimedOut),
        ("cancel", Input::Cancel),
        ("budget", broken(Status::Inconclusive, "spent")),
        ("cassette", broken(Status::Errored, "no entry")),
    ]
}

/// A hard check has failed in the same batch in which the judge or a program is still asked.
#[test]
fn d3_failed_assertions_outweigh_what_comes_later() {
    for open in [
        json!({"expect": [{"match": "bye"}, {"satisfy": "It is polite"}]}),
        json!({"expect": [{"match": "bye"}], "evaluate": [{"satisfy": "It is polite"}]}),
        json!({"expect": [{"match": "bye"}, {"command": ["look"]}]}),
        json!({"expect": [{"match": "bye"}], "evaluate": [{"command": ["look"]}]}),
    ] {
        for (name, end) in every_end() {
            let mut step = open.clone();
            step["user"] = json!("Hi");
            let mut conversation =
                SteppedConversation::steps(&json!([step])).answers("Hello").with(end.clone());
            while conversation.verdict.is_none() {
                conversation.put(end.clone());
            }
            assert_eq!(conversation.status(), "failed (agent)", "{name}: {open}");
            let failures = conversation.verdict.as_ref().map(|verdict| verdict.failures.len());
            assert_eq!(failures, Some(1), "{name}: {open}");
        }
    }
}

#[test]
fn d3_a_missing_check_program_does_not_hide_a_failure() {
    let written = json!([{"user": "Hi", "expect": [{"command": ["no-such"]}, {"match": "bye"}]}]);
    let driver = Driver { check: Err("no such program".into()), ..Driver::answering(&["Hello"]) };
    let ran = driver.run(steps(&written));
    assert_eq!(ran.status(), "failed (agent)");
    assert_eq!(ran.of_type("EvaluationRecorded").len(), 2);
    let alone = json!([{"user": "Hi", "expect": [{"command": ["no-such"]}]}]);
    let driver = Driver { check: Err("no such program".into()), ..Driver::answering(&["Hello"]) };
    let ran = driver.run(steps(&alone));
    assert_eq!(ran.status(), "errored (harness)");
    assert!(ran.message().contains("no such program"), "{}", ran.message());
}

/// The failure of a simulation's turn stands although the judge of a soft check lets the time run out.
#[test]
fn d3_a_late_soft_check_does_not_hide_a_failure() {
    let simulate = json!({"goal": "g", "timeout": "1s", "every_turn": {
        "expect": [{"match": "bye"}], "evaluate": [{"satisfy": "It is polite"}]}});
    let conversation =
        SteppedConversation::steps(&json!([{"simulate": simulate}])).answers("Hi").answers("Hello");
    let id = conversation.deadline().unwrap();
    let conversation = conversation.with(Input::DeadlineReached { id });
    assert_eq!(conversation.status(), "failed (agent)");
    assert_eq!(conversation.recorded(), [("hard".into(), Some(false)), ("soft".into(), None)]);
}

#[test]
fn d4_soft_checks_never_decide() {
    let written = json!([{"user": "Hi", "expect": [{"match": "Hello"}],
        "evaluate": [{"command": ["no-such"]}, {"expression": "turns[9].agent == ''"},
            {"cost_usd": {"below": 1}}, {"satisfy": "It is polite"}]}]);
    let driver = Driver { check: Err("no such program".into()), ..Driver::answering(&["Hello"]) };
    let ran = driver.judged(Box::new(|_| Err("no judge".into()))).run(steps(&written));
    assert_eq!(ran.status(), "passed");
    let passed: Vec<Option<bool>> =
        ran.of_type("EvaluationRecorded").iter().map(|event| event["passed"].as_bool()).collect();
    assert_eq!(passed, [Some(true), None, None, None, None]);
    let failing =
        json!([{"user": "Hi", "evaluate": [{"match": "bye"}, {"satisfy": "It is kind"}]}]);
    let ran = Driver::answering(&["Hello"]).judged(judge(false)).run(steps(&failing));
    assert_eq!(ran.status(), "passed");
}

/// Everything that decides is known when only soft checks are waited for.
#[test]
fn d4_what_ends_a_soft_check_does_not_decide_either() {
    for soft in [json!({"satisfy": "It is polite"}), json!({"command": ["look"]})] {
        for (name, end) in every_end() {
            let written =
                json!([{"user": "Hi", "expect": [{"match": "Hello"}], "evaluate": [soft]}]);
            let conversation = SteppedConversation::steps(&written).answers("Hello").with(end);
            assert_eq!(conversation.status(), "passed", "{name}: {soft}");
            assert_eq!(
                conversation.recorded(),
                [("hard".into(), Some(true)), ("soft".into(), None)]
            );
        }
    }
}

/// Where more was to come, nobody knows how it would have ended, and it was not the agent that kept us waiting.
#[test]
fn d4_a_conversation_that_is_not_over_does_not_pass() {
    let written = json!([
        {"user": "Hi", "evaluate": [{"satisfy": "It is polite"}]},
        {"user": "And?", "expect": [{"match": "more"}]},
    ]);
    let conversation = SteppedConversation::steps(&written).answers("Hello").with(Input::TimedOut);
    assert_eq!(conversation.status(), "inconclusive (judge)");
    let judged_later = json!([{"user": "Hi", "evaluate": [{"satisfy": "It is polite"}]}]);
    let rest = example(&format!(
        "examples: [{{it: x, steps: {judged_later}, expect: [{{satisfy: The agent is kind}}]}}]\n"
    ));
    let conversation = SteppedConversation::begin(rest).answers("Hello").with(Input::TimedOut);
    assert_eq!(conversation.status(), "inconclusive (judge)");
    let conversation = SteppedConversation::steps(&written).answers("Hello").with(Input::Cancel);
    assert_eq!(conversation.status(), "cancelled");
}

#[test]
fn d4_a_spent_budget_of_a_soft_check_lets_the_conversation_go_on() {
    let written = json!([
        {"user": "Hi", "evaluate": [{"satisfy": "It is polite"}]},
        {"user": "And?", "expect": [{"match": "more"}]},
    ]);
    let spent = broken(Status::Inconclusive, "spent");
    let conversation =
        SteppedConversation::steps(&written).answers("Hello").with(spent).answers("no more");
    assert_eq!(conversation.status(), "passed");
}

#[test]
fn d5_a_time_out_is_the_fault_of_the_party_that_was_waited_for() {
    let goal = json!([{"simulate": {"goal": "g", "timeout": "1s"}}]);
    let hard = json!([{"user": "Hi", "expect": [{"satisfy": "It is kind"}]}]);
    let check = json!([{"user": "Hi", "expect": [{"command": ["look"]}]}]);
    let pending_request =
        || AgentAnswer { pending_tool_calls: vec![call("a", json!({}))], ..answer("") };
    let with_tool = || {
        let mut conversation = SteppedConversation::steps(&json!([{"user": "Hi"}]));
        let Effect::CallAgent { id, .. } = conversation.asked() else { panic!() };
        conversation.with(Input::AgentAnswered { id, answer: pending_request() })
    };
    for (conversation, status, party) in [
        (SteppedConversation::steps(&hard), "timed_out (agent)", "the agent"),
        (SteppedConversation::steps(&hard).answers("Hello"), "inconclusive (judge)", "the judge"),
        (SteppedConversation::steps(&goal), "inconclusive (simulator)", "the simulator"),
        (SteppedConversation::steps(&goal).answers("Hi"), "timed_out (agent)", "the agent"),
        (
            SteppedConversation::steps(&goal).answers("Hi").answers("Hello"),
            "inconclusive (judge)",
            "the judge",
        ),
        (SteppedConversation::steps(&check).answers("Hello"), "timed_out (harness)", "a check"),
        (with_tool(), "timed_out (tool)", "a tool"),
    ] {
        let conversation = conversation.with(Input::TimedOut);
        assert_eq!(conversation.status(), status);
        let message = conversation.verdict.and_then(|verdict| verdict.message).unwrap_or_default();
        assert!(message.contains(&format!("waiting for {party}")), "{message}");
    }
    for (conversation, status) in [
        (SteppedConversation::steps(&goal), "inconclusive (simulator)"),
        (SteppedConversation::steps(&goal).answers("Hi"), "errored (agent)"),
        (SteppedConversation::steps(&goal).answers("Hi").answers("Hello"), "inconclusive (judge)"),
    ] {
        let id = conversation.deadline().unwrap();
        assert_eq!(conversation.with(Input::DeadlineReached { id }).status(), status);
    }
}

/// A tool that answers late does not change whose fault it was.
#[test]
fn a_late_answer_after_a_time_out_does_nothing() {
    let mut conversation = SteppedConversation::steps(&json!([{"user": "Hi"}]));
    let Effect::CallAgent { id, .. } = conversation.asked() else { panic!() };
    conversation.put(Input::TimedOut);
    let outcome = ToolOutcome { result: Ok(json!(1)), duration_ms: None, metadata: None };
    assert!(conversation.engine.step(Input::ToolResult { id, outcome }).is_empty());
    assert_eq!(conversation.status(), "timed_out (agent)");
}

#[test]
fn d2_the_time_limit_of_a_simulation_ends_with_it() {
    let written = json!([
        {"simulate": {"goal": "g", "timeout": "1s"}},
        {"user": "One more thing", "expect": [{"match": "Sure"}]},
    ]);
    let conversation = SteppedConversation::steps(&written).answers("Hi").answers("Hello");
    let id = conversation.deadline().unwrap();
    let conversation = conversation.judges(true);
    assert_eq!(conversation.deadline(), None, "cleared with the simulation");
    let late = conversation.with(Input::DeadlineReached { id });
    assert!(late.verdict.is_none(), "a deadline that was cleared says nothing");
    assert_eq!(late.answers("Sure").status(), "passed");
}

/// The time of the simulation is up while only a soft check is waited for: a stop rule that holds ends it all the same.
#[test]
fn d4_a_simulation_that_is_complete_but_for_a_soft_check_passes() {
    let simulate = |stop: Value| {
        json!([{"simulate": {"goal": "g", "timeout": "1s", "stop_when": stop,
            "every_turn": {"evaluate": [{"satisfy": "It is polite"}]}}}])
    };
    let run = |stop: Value| {
        let conversation = SteppedConversation::steps(&simulate(stop)).answers("Hi").answers("bye");
        let id = conversation.deadline().unwrap();
        conversation.with(Input::DeadlineReached { id })
    };
    assert_eq!(run(json!([{"response": "bye"}])).status(), "passed");
    assert_eq!(run(json!(["goal_reached"])).status(), "inconclusive (judge)");
    assert_eq!(run(json!([{"response": "never"}])).status(), "inconclusive (judge)");
}

#[test]
fn votes_that_were_cast_before_the_end_count_only_if_they_are_a_majority() {
    let voted = |cast: &[bool]| {
        let example = example(
            "judge: {votes: 3}\nexamples: [{it: x, steps: [{user: Hi, expect: [{satisfy: It is kind}]}]}]\n",
        );
        let mut conversation = SteppedConversation::begin(example).answers("Hello");
        for vote in cast {
            assert_eq!(conversation.request().items.len(), 1);
            conversation = conversation.judges(*vote);
        }
        if conversation.verdict.is_some() {
            conversation.status()
        } else {
            conversation.with(Input::TimedOut).status()
        }
    };
    assert_eq!(voted(&[false]), "inconclusive (judge)");
    assert_eq!(voted(&[false, false]), "failed (agent)");
    assert_eq!(voted(&[true]), "passed");
}
