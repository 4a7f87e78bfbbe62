//! Examples whose steps are given one by one: what holds for them is described as in a scenario file, but the
//! description is made by a program.

use std::sync::Arc;

use proctor_events::StableId;
use serde_json::Value;

use super::{Example, GroupKey, PartySpecs, check};
use crate::format::{Criterion, Group, Ordered, Simulator, Topic};
use proctor_yaml::{Finding, Findings, read_node, read_yaml};

/// What holds for open-ended conversations: who takes part, criteria, topics, the simulated user.
#[derive(Debug, Clone)]
pub struct OpenEnded {
    parties: Arc<PartySpecs>,
    simulator: Arc<Simulator>,
    criteria: Arc<Ordered<Criterion>>,
    topics: Arc<Ordered<Topic>>,
}

/// Which example a conversation belongs to.
#[derive(Debug, Clone, Default)]
pub struct ExampleOrigin {
    /// The file it stands in.
    pub file: String,
    /// The line it stands on.
    pub line: u32,
    /// The chain of descriptions, outermost first.
    pub path: Vec<String>,
    /// The row of a scenario set.
    pub row: Option<Value>,
}

impl OpenEnded {
    /// Reads a description in JSON with the keys of a scenario's group, and checks its topics.
    pub fn read(text: &str) -> Result<Self, Vec<String>> {
        let mut findings = Findings::default();
        let node = read_yaml(text).map_err(|problem| vec![problem.message])?;
        let group = read_node::<Group>(&node, &mut findings);
        if let Some(group) = &group {
            check::check_topics(group, &mut findings);
        }
        match group {
            Some(group) if findings.is_empty() => Ok(Self::new(group)),
            _ => Err(findings.into_sorted().iter().map(Finding::text).collect()),
        }
    }

    fn new(group: Group) -> Self {
        let parties = PartySpecs {
            agent: group.agent,
            agent_model: group.model,
            models: group.models,
            judge: group.judge.unwrap_or_default(),
            simulator: group.simulator.model.clone(),
            tools: group.tools.stubs,
            no_tools: group.tools.none,
            mcp: group.mcp,
            sandbox: group.sandbox.map(|sandbox| sandbox.value),
        };
        Self {
            parties: Arc::new(parties),
            simulator: Arc::new(group.simulator),
            criteria: Arc::new(group.criteria),
            topics: Arc::new(group.topics),
        }
    }

    /// Who takes part.
    pub fn parties(&self) -> &Arc<PartySpecs> {
        &self.parties
    }

    /// The example for one conversation.
    pub fn example(&self, about: ExampleOrigin) -> Example {
        Example {
            id: StableId::new(&about.file, &about.path, 1),
            file: about.file,
            line: about.line,
            groups: Vec::new(),
            path: about.path,
            tags: Vec::new(),
            pending: None,
            repeat: None,
            pass_rate: None,
            group: GroupKey::default(),
            parties: Arc::clone(&self.parties),
            simulator: Arc::clone(&self.simulator),
            criteria: Arc::clone(&self.criteria),
            topics: Arc::clone(&self.topics),
            steps: Vec::new(),
            expect: Vec::new(),
            evaluate: Vec::new(),
            row: about.row.map(Arc::new),
        }
    }
}
