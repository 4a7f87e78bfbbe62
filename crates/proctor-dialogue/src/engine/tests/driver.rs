//! A driver whose agent, simulator, judge and tools are lists of answers.

use std::collections::VecDeque;
use std::sync::Arc;

use proctor_events::{Event, StableIds};
use serde_json::{Value, json};

use crate::capabilities::AgentReports;
use crate::engine::{
    AgentAnswer, ConversationOutcome, Effect, Engine, Input, RequestId, ToolOutcome,
};
use crate::judge::{JudgeQuestion, JudgeRequest, judge_prompt};
use crate::scenario::{Example, parse};
use crate::transcript::{DoneCall, ToolCall};

pub(super) type Judge = Box<dyn FnMut(&JudgeRequest) -> Result<String, String>>;

pub(super) struct Driver {
    pub(super) agent: VecDeque<Result<AgentAnswer, String>>,
    pub(super) simulator: VecDeque<Result<String, String>>,
    pub(super) judge: Judge,
    pub(super) check: Result<bool, String>,
    pub(super) tool: Result<Result<Value, String>, String>,
    /// Deadlines are reached when the agent is called for the n-th time.
    pub(super) late_at_call: Option<usize>,
    /// What the agent can report.
    pub(super) reports: Arc<AgentReports>,
}

pub(super) struct Ran {
    pub(super) verdict: ConversationOutcome,
    pub(super) events: Vec<Value>,
    pub(super) judge_prompts: Vec<String>,
    pub(super) judge_requests: Vec<JudgeRequest>,
    pub(super) simulator_prompts: Vec<String>,
    pub(super) agent_calls: Vec<Value>,
    /// What commands were shown.
    pub(super) checked: Vec<Value>,
}

impl Default for Driver {
    fn default() -> Self {
        Self {
            agent: VecDeque::new(),
            simulator: VecDeque::new(),
            judge: judge(true),
            check: Ok(true),
            tool: Ok(Ok(json!({"ok": true}))),
            late_at_call: None,
            reports: Arc::default(),
        }
    }
}

pub(super) fn answer(text: &str) -> AgentAnswer {
    AgentAnswer { text: text.into(), duration_ms: Some(10.0), ..AgentAnswer::default() }
}

pub(super) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: String::new(), name: name.into(), arguments }
}

pub(super) fn done(name: &str, arguments: Value, result: Value) -> DoneCall {
    DoneCall { call: call(name, arguments), result: Some(result), ..DoneCall::default() }
}

/// A judge that says the same about everything.
pub(super) fn judge(satisfied: bool) -> Judge {
    Box::new(move |request| Ok(verdicts(request, |_| satisfied)))
}

/// A judge that gives these answers one after the other, then refuses.
pub(super) fn judge_says(answers: &[bool]) -> Judge {
    let mut answers: VecDeque<bool> = answers.iter().copied().collect();
    Box::new(move |request| {
        let satisfied = answers.pop_front().ok_or("asked too often")?;
        Ok(verdicts(request, |_| satisfied))
    })
}

pub(super) fn verdicts(request: &JudgeRequest, says: impl Fn(&JudgeQuestion) -> bool) -> String {
    let answers: Vec<Value> = request
        .items
        .iter()
        .map(|item| match &item.question {
            JudgeQuestion::Topic(choices) => {
                json!({"id": item.id, "reasoning": "it fits", "topic": choices.last().unwrap().name})
            }
            question => {
                json!({"id": item.id, "reasoning": "as seen", "satisfied": says(question)})
            }
        })
        .collect();
    json!({"mark": request.mark, "answers": answers}).to_string()
}

pub(super) fn example(yaml: &str) -> Arc<Example> {
    let text = format!("describe: Agent\n{yaml}");
    let file = parse(&text, "./a.scenario.yaml").unwrap_or_else(|problems| {
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", shown.join("\n"))
    });
    let examples = file.examples(&mut StableIds::default(), &mut |_| Ok(Vec::new())).unwrap();
    Arc::new(examples.into_iter().next().unwrap())
}

/// An example with these steps and no more.
pub(super) fn steps(steps: &Value) -> Arc<Example> {
    example(&format!("examples: [{{it: works, steps: {steps}}}]\n"))
}

impl Driver {
    pub(super) fn answering(texts: &[&str]) -> Self {
        Self { agent: texts.iter().map(|text| Ok(answer(text))).collect(), ..Self::default() }
    }

    pub(super) fn with_agent(answers: Vec<AgentAnswer>) -> Self {
        Self { agent: answers.into_iter().map(Ok).collect(), ..Self::default() }
    }

    pub(super) fn saying(mut self, texts: &[&str]) -> Self {
        self.simulator = texts.iter().map(|text| Ok((*text).to_owned())).collect();
        self
    }

    pub(super) fn judged(mut self, judge: Judge) -> Self {
        self.judge = judge;
        self
    }

    pub(super) fn run(mut self, example: Arc<Example>) -> Ran {
        let mut engine = Engine::new(example).with_reports(Arc::clone(&self.reports));
        let mut inputs = VecDeque::from([Input::Begin { marks: crate::MarkKey::new([1; 32]) }]);
        let mut deadline = None;
        let mut ran = Ran {
            verdict: ConversationOutcome::pending("never finished".into()),
            events: Vec::new(),
            judge_prompts: Vec::new(),
            judge_requests: Vec::new(),
            simulator_prompts: Vec::new(),
            agent_calls: Vec::new(),
            checked: Vec::new(),
        };
        while let Some(input) = inputs.pop_front() {
            for effect in engine.step(input) {
                inputs.extend(self.carry_out(effect, &mut ran, &mut deadline));
            }
        }
        assert!(engine.is_finished(), "nobody is asked and nothing is decided");
        ran
    }

    fn carry_out(
        &mut self,
        effect: Effect,
        ran: &mut Ran,
        deadline: &mut Option<RequestId>,
    ) -> Option<Input> {
        Some(match effect {
            Effect::Emit(body) => {
                ran.events.push(serde_json::to_value(Event::new(body)).unwrap());
                return None;
            }
            Effect::AskSimulator { id, request } => {
                let prompt = &request.prompt;
                ran.simulator_prompts.push(format!("{}\n{}", prompt.system, prompt.user));
                match self.simulator.pop_front().unwrap_or_else(|| Ok("And then?".into())) {
                    Ok(text) => Input::SimulatorAnswered { id, text },
                    Err(message) => Input::SimulatorFailed { id, message },
                }
            }
            Effect::CallAgent { id, messages, .. } => {
                ran.agent_calls.push(serde_json::to_value(messages).unwrap());
                if self.late_at_call == Some(ran.agent_calls.len()) {
                    return deadline.map(|id| Input::DeadlineReached { id });
                }
                match self.agent.pop_front().unwrap_or_else(|| Ok(answer("Well."))) {
                    Ok(answer) => Input::AgentAnswered { id, answer },
                    Err(message) => Input::AgentFailed { id, class: None, message },
                }
            }
            Effect::ExecuteTool { id, .. } => match self.tool.clone() {
                Ok(result) => Input::ToolResult {
                    id,
                    outcome: ToolOutcome { result, duration_ms: None, metadata: None },
                },
                Err(message) => Input::ToolFailed { id, message },
            },
            Effect::AskJudge { id, request } => {
                ran.judge_prompts.push(judge_prompt(&request).user);
                let answer = (self.judge)(&request);
                ran.judge_requests.push(*request);
                match answer {
                    Ok(text) => Input::JudgeAnswered { id, text },
                    Err(message) => Input::JudgeFailed { id, message },
                }
            }
            Effect::RunCheck { id, conversation, .. } => {
                ran.checked.push(conversation);
                match self.check.clone() {
                    Ok(passed) => Input::CheckResult { id, passed, message: Some("looked".into()) },
                    Err(message) => Input::CheckFailed { id, message },
                }
            }
            Effect::SetDeadline { id, .. } => {
                *deadline = Some(id);
                return None;
            }
            Effect::ClearDeadline { id } => {
                assert_eq!(deadline.take(), Some(id));
                return None;
            }
            Effect::Pause(verdict) | Effect::Finish(verdict) => {
                ran.verdict = verdict;
                return None;
            }
        })
    }
}

impl Ran {
    pub(super) fn status(&self) -> String {
        let fault = self.verdict.fault.as_ref().map(|fault| format!(" ({fault})"));
        format!("{}{}", self.verdict.status, fault.unwrap_or_default())
    }

    pub(super) fn message(&self) -> &str {
        self.verdict.message.as_deref().unwrap_or_default()
    }

    pub(super) fn of_type(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event_type"] == name).collect()
    }

    pub(super) fn lines(&self) -> String {
        let mut lines: Vec<String> = self.events.iter().map(Value::to_string).collect();
        lines.push(format!("verdict: {} {}", self.status(), self.message()).trim().to_owned());
        lines.join("\n")
    }

    pub(super) fn reason(&self) -> &str {
        let ended = self.of_type("SimulationEnded");
        assert_eq!(ended.len(), 1);
        ended[0]["termination_reason"].as_str().unwrap()
    }
}
