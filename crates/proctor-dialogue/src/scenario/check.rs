//! What can be wrong with a scenario although each of its values is well formed.

use std::num::NonZeroU32;

use crate::engine::DEFAULT_MAX_TURNS;
use crate::format::{
    AgentSpec, Assertion, Criterion, EmptyAssertion, ExampleSpec, Group, ModelEndpoint, ModelSpec,
    Ordered, Sandbox, ScenarioSet, Simulate, Step, StopWhen, TimeSpan, Topic, Trigger,
};
use proctor_yaml::{At, Finding, Findings, Place};

use super::expand::used_topics;

/// Checks what a group says on its own.
pub(super) fn check_group(group: &Group, is_root: bool, findings: &mut Findings) {
    if group.describe.value.trim().is_empty() {
        let place = if is_root { Place { line: 1, column: 1 } } else { group.describe.place };
        let message = if is_root { "`describe` is missing" } else { "a context needs `describe`" };
        let finding = Finding::new(place, message).absent(["describe"]);
        findings.push(finding.hint("say what the examples are about"));
    }
    if let Some(votes) = group.judge.as_ref().and_then(|judge| judge.votes.as_ref())
        && votes.value.get() % 2 == 0
    {
        let finding = Finding::new(votes.place, format!("`votes` is {}", votes.value));
        findings.push(finding.hint("an odd number always has a majority"));
    }
    if group.examples.is_empty() && group.sets.is_empty() && group.contexts.is_empty() {
        let finding = Finding::new(group.describe.place, "the group has no `examples`")
            .absent(["examples", "sets", "contexts"]);
        findings.push(finding.hint("add `examples`, `sets` or `contexts`, or leave out the group"));
    }
    let place = group.describe.place;
    check_blank("tags", group.tags.iter().map(String::as_str), place, findings);
    check_blank("skip", group.skip.as_deref(), place, findings);
    check_rate(group.pass_rate.as_ref(), findings);
    check_participants(group, findings);
    check_tools(group, findings);
    check_criteria(group, findings);
    for set in &group.sets {
        check_scenario_set(set, findings);
    }
    for context in &group.contexts {
        check_group(context, false, findings);
    }
}

/// Texts that must say something.
fn check_blank<'a>(
    key: &str,
    texts: impl IntoIterator<Item = &'a str>,
    place: Place,
    findings: &mut Findings,
) {
    if texts.into_iter().any(|text| text.trim().is_empty()) {
        findings.push(Finding::new(place, format!("`{key}` holds an empty text")));
    }
}

/// A tool gives one kind of answer, and at least one.
fn check_tools(group: &Group, findings: &mut Findings) {
    for (name, stubs) in &group.tools.stubs {
        let mut wrong = |message: &str| {
            let message = format!("tool `{name}`: {message}");
            findings.push(Finding::new(group.describe.place, message).absent([name.as_str()]));
        };
        if name.trim().is_empty() {
            wrong("the name is empty");
        }
        if stubs.0.is_empty() {
            wrong("there is no answer; write `{}` for an answer without a result");
        }
        for stub in &stubs.0 {
            let answers = [stub.result.is_some(), stub.error.is_some(), stub.command.is_some()];
            if answers.iter().filter(|given| **given).count() > 1 {
                wrong("`result`, `error` and `command` exclude each other");
            }
            if stub.parameters.as_ref().is_some_and(|schema| !schema.is_object()) {
                wrong("`parameters` is not a mapping; it is the JSON Schema of the arguments");
            }
            if stub.sandbox.is_some() && stub.command.is_none() {
                wrong("`sandbox` is for a `command`");
            } else if let Some(problem) = stub.sandbox.as_ref().and_then(Sandbox::problem) {
                wrong(problem);
            }
        }
    }
}

/// A criterion says what must hold, and its answers say on which side they are.
fn check_criteria(group: &Group, findings: &mut Findings) {
    for (name, criterion) in &group.criteria.0 {
        let mut wrong = |message: &str| {
            let message = format!("criterion `{}`: {message}", name.value);
            findings.push(Finding::new(name.place, message));
        };
        let Criterion { description, good, bad, edge } = criterion;
        if description.trim().is_empty() {
            wrong("`description` is empty");
        }
        if good.iter().chain(bad).chain(edge).any(|answer| answer.text.trim().is_empty()) {
            wrong("an answer under `good`, `bad` or `edge` is empty");
        }
        if good.iter().any(|answer| answer.satisfied == Some(false)) {
            wrong("an answer under `good` has `satisfied: false`");
        }
        if bad.iter().any(|answer| answer.satisfied == Some(true)) {
            wrong("an answer under `bad` has `satisfied: true`");
        }
        if edge.iter().any(|answer| answer.satisfied.is_none()) {
            wrong("an answer under `edge` needs `satisfied: true` or `satisfied: false`");
        }
    }
}

/// The model behind an agent says in one way who answers.
fn check_endpoint(model: Option<&At<ModelEndpoint>>, findings: &mut Findings) {
    if let Some(model) = model
        && let Some(problem) = model.value.problem()
    {
        let keys = ["script", "record", "replay", "forward"];
        findings.push(Finding::new(model.place, problem).absent(keys));
    }
}

/// An agent or a model says in exactly one way how it is reached.
fn check_participants(group: &Group, findings: &mut Findings) {
    if let Some(agent) = &group.agent
        && let AgentSpec::Named(name) = &agent.value
    {
        check_blank("agent", [name.as_str()], agent.place, findings);
    }
    if let Some(agent) = &group.agent
        && let AgentSpec::Given(fields) = &agent.value
        && let Some(problem) = fields.problem()
    {
        let keys = ["command", "chat", "http", "script"];
        findings.push(Finding::new(agent.place, problem).absent(keys));
    }
    check_endpoint(group.model.as_ref(), findings);
    if group.tools.none
        && let Some(server) = group.mcp.values().next()
    {
        let finding = Finding::new(server.place, "`tools: none`, but there is a tool server");
        findings.push(finding.hint("leave out `tools` or `mcp`"));
    }
    if let Some(sandbox) = &group.sandbox
        && let Some(problem) = sandbox.problem()
    {
        findings.push(Finding::new(sandbox.place, problem));
    }
    for server in group.mcp.values() {
        if let Some(problem) = server.problem() {
            findings.push(Finding::new(server.place, problem).absent(["command", "url"]));
        }
    }
    let judge = group.judge.as_ref().and_then(|judge| judge.model.as_ref());
    let models = group.models.values().chain(judge).chain(group.simulator.model.as_ref());
    for model in models {
        match &model.value {
            ModelSpec::Named(name) => check_blank("model", [name.as_str()], model.place, findings),
            ModelSpec::Given(fields) => {
                if let Some(problem) = fields.problem() {
                    let keys = ["anthropic", "openai", "command", "script", "verdicts"];
                    findings.push(Finding::new(model.place, problem).absent(keys));
                }
            }
        }
    }
}

fn check_rate(rate: Option<&At<f64>>, findings: &mut Findings) {
    if let Some(rate) = rate
        && !(rate.value > 0.0 && rate.value <= 1.0)
    {
        let finding = Finding::new(rate.place, format!("`pass_rate` is {}", rate.value));
        findings.push(finding.hint("write a share such as 0.8"));
    }
}

fn check_scenario_set(set: &ScenarioSet, findings: &mut Findings) {
    let mut wrong = |message: &str| {
        let message = format!("set `{}`: {message}", set.name.value);
        let finding = Finding::new(set.name.place, message);
        findings.push(finding.absent(["rows", "file", "examples"]));
    };
    match (&set.rows, &set.file) {
        (Some(_), Some(_)) => wrong("`rows` and `file` exclude each other"),
        (None, None) => wrong("needs `rows` or `file`"),
        (Some(rows), None) if rows.is_empty() => wrong("`rows` is empty"),
        _ => {}
    }
    if set.examples.is_empty() {
        wrong("has no `examples`");
    }
}

/// Checks an example within what the groups around it say.
pub(super) fn check_example(
    spec: &ExampleSpec,
    place: Place,
    settings: &Group,
    findings: &mut Findings,
) {
    let mut checker = ExampleChecker { settings, findings };
    if spec.it.value.trim().is_empty() {
        let finding = Finding::new(place, "`it` is missing").absent(["it"]);
        checker.findings.push(finding.hint("say what the agent is expected to do"));
    }
    let reasons = spec.skip.iter().chain(&spec.pending).map(String::as_str);
    check_blank("tags", spec.tags.iter().map(String::as_str), place, checker.findings);
    check_blank("skip` or `pending", reasons, place, checker.findings);
    check_rate(spec.pass_rate.as_ref(), checker.findings);
    check_endpoint(spec.model.as_ref(), checker.findings);
    if spec.steps.is_empty() && spec.skip.is_none() && spec.pending.is_none() {
        let finding = Finding::new(place, format!("`{}` has no `steps`", spec.it.value))
            .absent(["steps", "skip", "pending"]);
        checker
            .findings
            .push(finding.hint("add `- user: …` or `- simulate: …`, or `pending: reason`"));
    }
    checker.check_chosen_topics(spec.topics.as_deref().unwrap_or_default());
    checker.check_topic_graph(&used_topics(spec.topics.as_deref(), &settings.topics));
    for name in settings.simulator.during_topic.keys() {
        checker.check_topic(name, place);
    }
    for step in &spec.steps {
        checker.check_step(step);
    }
    checker.check_assertions(spec.expect.iter().chain(&spec.evaluate));
}

/// Checks what a group says about topics, for examples that have no steps of their own.
pub(super) fn check_topics(settings: &Group, findings: &mut Findings) {
    let mut checker = ExampleChecker { settings, findings };
    checker.check_topic_graph(&settings.topics);
    if settings.topics.0.is_empty() {
        return;
    }
    for name in settings.simulator.during_topic.keys() {
        checker.check_topic(name, Place::default());
    }
}

struct ExampleChecker<'a> {
    settings: &'a Group,
    findings: &'a mut Findings,
}

impl ExampleChecker<'_> {
    fn check_step(&mut self, step: &At<Step>) {
        match (&step.user, &step.simulate) {
            (Some(_), None) => {}
            (None, Some(simulate)) => self.check_simulate(simulate, step.place),
            _ => {
                let finding = Finding::new(step.place, "a step needs either `user` or `simulate`")
                    .absent(["user", "simulate"]);
                self.findings.push(finding.hint("write each as its own list item"));
            }
        }
        if step.metadata.is_some() && step.simulate.is_some() {
            let finding = Finding::new(step.place, "`metadata` goes with `user`");
            self.findings.push(finding.hint("a simulated user sends no metadata"));
        }
        self.check_assertions(step.expect.iter().chain(&step.evaluate));
    }

    fn check_simulate(&mut self, simulate: &Simulate, place: Place) {
        let user = simulate.user_within(&self.settings.simulator);
        let max = user.max_turns.map_or(DEFAULT_MAX_TURNS, NonZeroU32::get);
        if simulate.min_turns > max {
            let message = format!("`min_turns` is {}, `max_turns` {max}", simulate.min_turns);
            self.findings.push(Finding::new(place, message));
        }
        check_blank("goal", [simulate.goal.as_str()], place, self.findings);
        if simulate.timeout.is_some_and(TimeSpan::is_zero) {
            let message = "`timeout` is 0: the simulation would end before its first turn";
            self.findings.push(Finding::new(place, message));
        }
        for stop in user.stop_when.iter().flatten() {
            match stop {
                StopWhen::Topic(name) => self.check_topic(name, name.place),
                StopWhen::Response(pattern) | StopWhen::User(pattern) => {
                    check_blank("stop_when", [pattern.source()], place, self.findings);
                }
                StopWhen::CallTool(tool) => {
                    check_blank("stop_when", [tool.name.as_str()], place, self.findings);
                }
                StopWhen::GoalReached | StopWhen::Condition(_) | StopWhen::Block(_) => {}
            }
        }
        for name in simulate.during_topic.keys() {
            self.check_topic(name, place);
        }
        self.check_assertions(
            simulate.every_turn.expect.iter().chain(&simulate.every_turn.evaluate),
        );
    }

    fn check_assertions<'a>(&mut self, assertions: impl Iterator<Item = &'a At<Assertion>>) {
        for assertion in assertions {
            if let Some(problem) = assertion.problem() {
                let finding = Finding::new(assertion.place, problem.to_string());
                self.findings.push(match problem {
                    EmptyAssertion::List(key) => finding.absent([key]),
                    EmptyAssertion::Text(_) => finding,
                });
            }
            match assertion.unwrapped().0 {
                Assertion::Satisfy(criteria) => {
                    for criterion in &criteria.0 {
                        self.check_criterion(&criterion.value, criterion.place);
                    }
                }
                Assertion::Topic(name) | Assertion::ReachedTopic(name) => {
                    self.check_topic(&name.value, name.place);
                }
                Assertion::TopicHistory(names) => {
                    for name in names {
                        self.check_topic(&name.value, name.place);
                    }
                }
                _ => {}
            }
        }
    }

    /// A word that looks like a name must be one; a sentence is its own criterion.
    fn check_criterion(&mut self, name: &str, place: Place) {
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if is_name && self.settings.criteria.get(name).is_none() {
            let finding = Finding::new(place, format!("criterion `{name}` is not defined"))
                .absent([name, "criteria"]);
            self.findings.push(finding.nearest(name, self.settings.criteria.names()));
        }
    }

    fn check_topic(&mut self, name: &str, place: Place) {
        if self.settings.topics.get(name).is_none() {
            let finding = Finding::new(place, format!("topic `{name}` is not defined"))
                .absent([name, "topics"]);
            self.findings.push(finding.nearest(name, self.settings.topics.names()));
        }
    }

    fn check_chosen_topics(&mut self, chosen: &[At<String>]) {
        for (index, name) in chosen.iter().enumerate() {
            self.check_topic(&name.value, name.place);
            if chosen[..index].contains(name) {
                let message = format!("topic `{}` is listed twice", name.value);
                self.findings.push(Finding::new(name.place, message));
            }
        }
    }

    fn check_topic_graph(&mut self, topics: &Ordered<Topic>) {
        for (name, topic) in &topics.0 {
            for next in &topic.next.0 {
                let place = next.place;
                self.check_topic(&next.value, place);
                if next.value == name.value {
                    let message = format!("topic `{}` leads to itself", name.value);
                    let finding = Finding::new(place, message);
                    self.findings.push(finding.hint("staying in a topic needs no edge"));
                }
            }
            for trigger in &topic.triggers {
                match trigger {
                    Trigger::TurnsIn(turns) => {
                        self.check_topic(&turns.topic.value, turns.topic.place);
                    }
                    Trigger::Response(pattern) | Trigger::User(pattern) => {
                        check_blank("triggers", [pattern.source()], name.place, self.findings);
                    }
                    Trigger::CallTool(tool) => {
                        check_blank("triggers", [tool.name.as_str()], name.place, self.findings);
                    }
                    Trigger::Condition(_) | Trigger::Block(_) => {}
                }
            }
            self.check_assertions(topic.expect.iter().chain(&topic.evaluate));
        }
        self.check_reachability(topics);
    }

    fn check_reachability(&mut self, topics: &Ordered<Topic>) {
        let Some((first, _)) = topics.0.first() else { return };
        let mut reached = vec![first.value.as_str()];
        let mut open = reached.clone();
        while let Some(name) = open.pop() {
            for next in topics.get(name).into_iter().flat_map(|topic| &topic.next.0) {
                if !reached.contains(&next.value.as_str()) {
                    reached.push(&next.value);
                    open.push(&next.value);
                }
            }
        }
        for (name, _) in &topics.0 {
            if !reached.contains(&name.value.as_str()) {
                let message = format!("topic `{}` cannot be reached", name.value);
                let hint =
                    format!("the conversation begins in `{}`; add it to some `next`", first.value);
                let finding = Finding::new(name.place, message).absent(["topics", "next"]);
                self.findings.push(finding.hint(hint));
            }
        }
    }
}
