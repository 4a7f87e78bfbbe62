//! From groups to examples: inheritance, scenario sets, ids.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use proctor_events::StableIds;
use serde_json::Value;

use super::placeholders::{fill_placeholders, unfilled_placeholders};
use super::{Example, GroupKey, PartySpecs, ScenarioFile, check};
use crate::format::{
    Criterion, ExampleSpec, Group, JudgeSettings, Ordered, ScenarioSet, Simulator, Topic,
};
use crate::rows::{Row, RowsError, row_name, rows_finding};
use proctor_yaml::{At, Finding, Findings, Place, read_node, with_deep_stack};

/// Gives the rows of a file; nothing when they cannot be known yet.
pub(super) type Rows<'a> = &'a mut dyn FnMut(&str) -> Result<Option<Vec<Row>>, RowsError>;

struct Expansion<'a> {
    file: &'a ScenarioFile,
    ids: &'a mut StableIds,
    rows: Rows<'a>,
    /// How many rows of a set are used.
    most_rows: usize,
    findings: &'a mut Findings,
    /// How many groups have been begun.
    groups: usize,
    examples: Vec<Example>,
}

/// A row of a set, its place from 0, and the row as all its examples share it.
struct SetRow<'a> {
    row: &'a Row,
    index: usize,
    shared: &'a Arc<Value>,
}

/// What the groups around an example say, already merged. `repeat`, `skip` and the like are the nearest's.
#[derive(Clone, Default)]
struct InheritedSettings {
    path: Vec<String>,
    /// Where each of them begins.
    lines: Vec<u32>,
    settings: Group,
    /// The innermost group.
    key: GroupKey,
    // The same once more, in the form that all examples of the group share.
    parties: Arc<PartySpecs>,
    simulator: Arc<Simulator>,
    criteria: Arc<Ordered<Criterion>>,
    topics: Arc<Ordered<Topic>>,
}

pub(super) fn examples<'a>(
    file: &'a ScenarioFile,
    ids: &'a mut StableIds,
    rows: Rows<'a>,
    most_rows: usize,
    findings: &'a mut Findings,
) -> Vec<Example> {
    let mut expansion =
        Expansion { file, ids, rows, most_rows, findings, groups: 0, examples: Vec::new() };
    // Every row of a set is read as a tree of its own.
    with_deep_stack(|| expansion.group(&file.root, &InheritedSettings::default()));
    expansion.examples
}

impl Expansion<'_> {
    fn group(&mut self, group: &Group, outer: &InheritedSettings) {
        self.groups += 1;
        let key = GroupKey { file: self.file.name.clone(), number: self.groups };
        let inherited = outer.with(group, key);
        for example in &group.examples {
            self.example(&example.value, example.place, &inherited, None);
        }
        for set in &group.sets {
            self.set(set, &inherited);
        }
        for context in &group.contexts {
            self.group(context, &inherited);
        }
    }

    fn set(&mut self, set: &ScenarioSet, inherited: &InheritedSettings) {
        let rows = match (&set.rows, &set.file) {
            (Some(rows), _) => Cow::Borrowed(rows),
            (None, Some(file)) => match (self.rows)(&file.value) {
                Ok(Some(rows)) => Cow::Owned(rows),
                Ok(None) => return,
                Err(reason) => {
                    self.findings.push(rows_finding(file.place, &file.value, &reason));
                    return;
                }
            },
            (None, None) => return,
        };
        let rows: Vec<Arc<Value>> = rows
            .iter()
            .take(self.most_rows)
            .map(|row| Arc::new(Value::Object(row.clone())))
            .collect();
        let inherited = &inherited.within_set(&set.name);
        for node in &set.examples {
            for (index, shared) in rows.iter().enumerate() {
                let Value::Object(row) = &**shared else { continue };
                let filled = fill_placeholders(node, row);
                for (place, name) in unfilled_placeholders(node, row) {
                    let message = format!("row {} has no `{name}`", index + 1);
                    let keys = row.keys().map(String::as_str);
                    self.findings.push(Finding::new(place, message).nearest(name, keys));
                }
                if let Some(spec) = read_node::<ExampleSpec>(&filled, self.findings) {
                    let row = SetRow { row, index, shared };
                    self.example(&spec, node.place, inherited, Some(row));
                }
            }
        }
    }

    fn example(
        &mut self,
        spec: &ExampleSpec,
        place: Place,
        inherited: &InheritedSettings,
        row: Option<SetRow<'_>>,
    ) {
        let mut path = inherited.path.clone();
        path.push(spec.it.value.clone());
        path.extend(row.as_ref().map(|row| row_name(row.row, row.index)));
        let id = match self.ids.next(&self.file.name, &path) {
            Ok(id) => id,
            Err(collision) => {
                self.findings.push(Finding::new(place, collision.to_string()));
                return;
            }
        };
        let settings = &inherited.settings;
        check::check_example(spec, place, settings, self.findings);
        let (group, parties) = self.parties_of(spec, inherited);
        self.examples.push(Example {
            id,
            path,
            file: self.file.name.clone(),
            line: place.line,
            groups: inherited.lines.clone(),
            tags: joined(&settings.tags, &spec.tags),
            pending: spec
                .skip
                .clone()
                .or_else(|| spec.pending.clone())
                .or_else(|| settings.skip.clone()),
            repeat: spec.repeat.or(settings.repeat).map(NonZeroU32::get),
            pass_rate: spec
                .pass_rate
                .as_ref()
                .or(settings.pass_rate.as_ref())
                .map(|rate| rate.value),
            group,
            parties,
            simulator: Arc::clone(&inherited.simulator),
            criteria: Arc::clone(&inherited.criteria),
            topics: match &spec.topics {
                None => Arc::clone(&inherited.topics),
                chosen => Arc::new(used_topics(chosen.as_deref(), &settings.topics)),
            },
            steps: spec.steps.iter().map(|step| step.value.clone()).collect(),
            expect: spec.expect.clone(),
            evaluate: spec.evaluate.clone(),
            row: row.map(|row| Arc::clone(row.shared)),
        });
    }
}

impl Expansion<'_> {
    /// Those of the group. An example with a model of its own is a group of its own: its parties are not those of the others.
    fn parties_of(
        &mut self,
        spec: &ExampleSpec,
        inherited: &InheritedSettings,
    ) -> (GroupKey, Arc<PartySpecs>) {
        if spec.model.is_none() {
            return (inherited.key.clone(), Arc::clone(&inherited.parties));
        }
        self.groups += 1;
        let key = GroupKey { file: self.file.name.clone(), number: self.groups };
        let parties =
            PartySpecs { agent_model: spec.model.clone(), ..PartySpecs::clone(&inherited.parties) };
        (key, Arc::new(parties))
    }
}

impl InheritedSettings {
    /// A set says nothing but its name.
    fn within_set(&self, name: &At<String>) -> Self {
        let mut inside = self.clone();
        inside.lines.push(name.place.line);
        if !name.value.trim().is_empty() {
            inside.path.push(name.value.clone());
        }
        inside
    }

    /// What holds inside a group.
    fn with(&self, group: &Group, key: GroupKey) -> Self {
        let mut path = self.path.clone();
        path.push(group.describe.value.clone());
        let mut lines = self.lines.clone();
        lines.push(group.describe.place.line);
        let outer = &self.settings;
        let mut settings = outer.clone();
        settings.tags = joined(&outer.tags, &group.tags);
        settings.skip = group.skip.clone().or_else(|| outer.skip.clone());
        settings.repeat = group.repeat.or(outer.repeat);
        settings.pass_rate = group.pass_rate.clone().or_else(|| outer.pass_rate.clone());
        settings.agent = group.agent.clone().or_else(|| outer.agent.clone());
        settings.model = group.model.clone().or_else(|| outer.model.clone());
        settings.judge = merged_judge(outer.judge.as_ref(), group.judge.as_ref());
        settings.models.extend(group.models.clone());
        settings.tools.extend(&group.tools);
        if group.tools.none {
            settings.mcp.clear();
        } else if !group.mcp.is_empty() {
            settings.tools.none = false;
        }
        settings.mcp.extend(group.mcp.clone());
        settings.sandbox = group.sandbox.clone().or_else(|| outer.sandbox.clone());
        settings.simulator = group.simulator.inside(&outer.simulator);
        for (name, criterion) in &group.criteria.0 {
            settings.criteria.put(name.clone(), criterion.clone());
        }
        for (name, topic) in &group.topics.0 {
            settings.topics.put(name.clone(), topic.clone());
        }
        let parties = PartySpecs {
            agent: settings.agent.clone(),
            agent_model: settings.model.clone(),
            models: settings.models.clone(),
            judge: settings.judge.clone().unwrap_or_default(),
            simulator: settings.simulator.model.clone(),
            tools: settings.tools.stubs.clone(),
            no_tools: settings.tools.none,
            mcp: settings.mcp.clone(),
            sandbox: settings.sandbox.clone().map(|sandbox| sandbox.value),
        };
        Self {
            path,
            lines,
            key,
            parties: Arc::new(parties),
            simulator: Arc::new(settings.simulator.clone()),
            criteria: Arc::new(settings.criteria.clone()),
            topics: Arc::new(settings.topics.clone()),
            settings,
        }
    }
}

fn joined(outer: &[String], inner: &[String]) -> Vec<String> {
    let mut all = outer.to_vec();
    for tag in inner {
        if !all.contains(tag) {
            all.push(tag.clone());
        }
    }
    all
}

fn merged_judge(
    outer: Option<&JudgeSettings>,
    inner: Option<&JudgeSettings>,
) -> Option<JudgeSettings> {
    let (Some(outer), Some(inner)) = (outer, inner) else { return inner.or(outer).cloned() };
    Some(JudgeSettings {
        votes: inner.votes.clone().or_else(|| outer.votes.clone()),
        retries: inner.retries.or(outer.retries),
        model: inner.model.clone().or_else(|| outer.model.clone()),
    })
}

/// The topics of an example, in its order. Ways out of the chosen topics are left out with their targets.
pub(super) fn used_topics(chosen: Option<&[At<String>]>, all: &Ordered<Topic>) -> Ordered<Topic> {
    let Some(chosen) = chosen else { return all.clone() };
    let mut used = Ordered::default();
    for name in chosen {
        if let Some(topic) = all.get(name) {
            let mut topic = topic.clone();
            topic.next.0.retain(|next| chosen.iter().any(|name| name.value == next.value));
            used.put(name.clone(), topic);
        }
    }
    used
}
