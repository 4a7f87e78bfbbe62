//! What each kind of agent can report, as one table, and what follows for the checks of a conversation.
//!
//! A check on something that was not reported can be neither passed nor failed: an agent that runs its tools itself
//! and does not list the calls looks just like one that called nothing. [`AGENT_CAPABILITIES`] is the table;
//! [`AgentReports`] is the row of one agent with what its description and the scenario add.
//!
//! Pure data and decisions; who reaches the agent fills in [`AgentAnswer::calls_listed`](crate::AgentAnswer).

use crate::format::{AgentFields, MadeCalls};
use crate::scenario::PartySpecs;

/// How an agent is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentKind {
    /// A program that speaks the worker protocol.
    #[default]
    Command,
    /// A function or agent object in Python.
    Python,
    /// A function or agent object in JavaScript or TypeScript.
    Node,
    /// An endpoint in the shape of chat completions or Anthropic's messages.
    Chat,
    /// An HTTP interface of its own.
    Http,
    /// A script in the scenario.
    Script,
    /// An adapter in an RSpec suite.
    Rspec,
}

/// Whether an agent reports something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// With every answer.
    Always,
    /// With the answers that have this key.
    InAnswer(&'static str),
    /// If the agent's description has this key.
    WithKey(&'static str),
    /// Not at all.
    Never,
}

/// What one kind of agent can report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is named after what is reported")]
pub struct Capabilities {
    pub kind: AgentKind,
    pub text: Capability,
    /// Calls that the agent made by itself.
    pub made_calls: Capability,
    /// Calls that it asks the host to make; the host sees each of them.
    pub requested_calls: Capability,
    pub tokens: Capability,
    pub cost: Capability,
    pub first_token: Capability,
    /// OpenTelemetry spans, which tell calls that it made itself, tokens, cost and times.
    pub spans: Capability,
}

use Capability::{Always, InAnswer, Never, WithKey};

/// The table. `docs/conversations.md` shows it to users.
pub const AGENT_CAPABILITIES: [Capabilities; 7] = [
    Capabilities {
        kind: AgentKind::Command,
        text: Always,
        made_calls: InAnswer("tool_calls"),
        requested_calls: Always,
        tokens: Never,
        cost: InAnswer("cost_usd"),
        first_token: InAnswer("first_token_ms"),
        spans: WithKey("traces"),
    },
    in_language(AgentKind::Python),
    in_language(AgentKind::Node),
    Capabilities {
        kind: AgentKind::Chat,
        text: Always,
        made_calls: WithKey("made_calls"),
        requested_calls: Always,
        tokens: InAnswer("usage"),
        cost: InAnswer("usage"),
        first_token: WithKey("stream"),
        spans: WithKey("traces"),
    },
    Capabilities {
        kind: AgentKind::Http,
        text: Always,
        made_calls: WithKey("made_calls"),
        requested_calls: WithKey("tool_calls"),
        tokens: WithKey("input_tokens"),
        cost: Never,
        first_token: WithKey("delta"),
        spans: WithKey("traces"),
    },
    Capabilities {
        kind: AgentKind::Script,
        text: Always,
        made_calls: Always,
        requested_calls: Always,
        tokens: Never,
        cost: InAnswer("cost_usd"),
        first_token: Never,
        spans: Never,
    },
    Capabilities {
        kind: AgentKind::Rspec,
        text: Always,
        made_calls: InAnswer("tool_calls"),
        requested_calls: Always,
        tokens: Never,
        cost: Never,
        first_token: Never,
        spans: Never,
    },
];

/// An agent in the language of its program. What a framework's object did is read off it; a plain function says it in what it returns.
const fn in_language(kind: AgentKind) -> Capabilities {
    Capabilities {
        kind,
        text: Always,
        made_calls: InAnswer("tool_calls"),
        requested_calls: Always,
        tokens: InAnswer("metadata"),
        cost: InAnswer("cost_usd"),
        first_token: InAnswer("first_token_ms"),
        spans: WithKey("traces"),
    }
}

impl AgentKind {
    /// The row of the table.
    pub fn capabilities(self) -> Capabilities {
        let row = AGENT_CAPABILITIES.iter().find(|row| row.kind == self);
        *row.unwrap_or(&AGENT_CAPABILITIES[0])
    }
}

/// What one agent reports in the conversations of a scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentReports {
    /// The agent; nothing for conversations of tests, about which everything is known.
    agent: Option<AgentDescription>,
    /// The tools that the host calls for it.
    offered: OfferedTools,
    /// Whether the scenario says that there are no tools, or the agent's description that it has none of its own.
    no_tools: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct AgentDescription {
    name: String,
    kind: AgentKind,
    made_calls: Option<MadeCalls>,
    /// Whether its spans are evidence.
    traced: bool,
    requests_calls: bool,
    /// Whether the agent's own description says that it has no tools.
    has_no_own_tools: bool,
    /// Whether its model is behind an endpoint of ours.
    has_model_endpoint: bool,
}

/// The tools that the host offers to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OfferedTools {
    /// None.
    #[default]
    Nothing,
    /// Exactly these.
    Tools(Vec<String>),
    /// Some, whose names only a tool server knows.
    Unlisted,
}

impl OfferedTools {
    /// What the parties of a group offer.
    pub fn of_parties(parties: &PartySpecs) -> Self {
        if parties.tools.is_empty() && parties.mcp.is_empty() {
            return Self::Nothing;
        }
        let mut names: Vec<String> = parties.tools.keys().cloned().collect();
        for server in parties.mcp.values() {
            match &server.only {
                Some(only) => names.extend(only.iter().cloned()),
                None => return Self::Unlisted,
            }
        }
        Self::Tools(names)
    }

    /// Whether this tool is offered, where that is known.
    fn offers(&self, tool: &str) -> Option<bool> {
        match self {
            Self::Nothing => Some(false),
            Self::Tools(names) => Some(names.iter().any(|name| name == tool)),
            Self::Unlisted => None,
        }
    }
}

impl AgentReports {
    /// What an agent that is described like this reports.
    pub fn of(name: &str, fields: &AgentFields, parties: &PartySpecs) -> Self {
        let has_no_own_tools = fields.tools.is_some();
        let agent = AgentDescription {
            name: name.to_owned(),
            kind: fields.kind(),
            made_calls: fields.made_calls().cloned(),
            traced: fields.traces().is_some(),
            requests_calls: match fields.kind().capabilities().requested_calls {
                Always => true,
                _ => fields.http.as_ref().is_some_and(|http| http.tool_calls.is_some()),
            },
            has_no_own_tools,
            has_model_endpoint: fields.model.is_some() || parties.agent_model.is_some(),
        };
        let no_tools = parties.no_tools || has_no_own_tools;
        Self { agent: Some(agent), offered: OfferedTools::of_parties(parties), no_tools }
    }

    /// What an adapter of an RSpec suite reports. The tools that it asks for are the suite's.
    pub fn rspec(parties: &PartySpecs) -> Self {
        let agent = AgentDescription {
            name: "agent".into(),
            kind: AgentKind::Rspec,
            made_calls: None,
            traced: false,
            requests_calls: true,
            has_no_own_tools: false,
            has_model_endpoint: parties.agent_model.is_some(),
        };
        Self { agent: Some(agent), offered: OfferedTools::Nothing, no_tools: parties.no_tools }
    }

    /// Whether an answer is evidence that no other calls were made than those it lists.
    pub fn knows_calls(&self, calls_listed: bool) -> bool {
        let Some(agent) = &self.agent else { return true };
        if self.no_tools {
            return true;
        }
        match agent.kind.capabilities().made_calls {
            Always => true,
            InAnswer(_) => calls_listed,
            WithKey(_) if agent.made_calls.is_some() || agent.traced => calls_listed,
            // Only calls that the host makes are visible.
            WithKey(_) => agent.requests_calls && self.offered != OfferedTools::Nothing,
            Never => false,
        }
    }

    /// Why nothing is known of the agent's prompts; `None` if they are seen.
    pub(crate) fn no_prompts_reason(&self) -> Option<String> {
        let seen = self.agent.as_ref().is_some_and(|agent| agent.has_model_endpoint);
        (!seen).then(|| {
            format!(
                "the prompts of {} are not seen: its model is not behind an endpoint of Proctor; add `model:` with `script`, `record`, `replay` or `forward`",
                self.name()
            )
        })
    }

    /// Whether it depends on each answer if all calls are known.
    pub(crate) fn depends_on_answer(&self) -> bool {
        self.knows_calls(true) && !self.knows_calls(false)
    }

    /// Whether calls are known only because the host makes them: of other tools nothing is known.
    fn knows_offered_tools_only(&self) -> bool {
        let Some(agent) = &self.agent else { return false };
        let own_calls = agent.kind.capabilities().made_calls;
        let is_told = agent.made_calls.is_some() || agent.traced;
        !self.no_tools && matches!(own_calls, WithKey(_)) && !is_told
    }

    /// Why it is unknown whether this tool was called; `None` if it is known.
    ///
    /// `unlisted` is whether an answer in question did not list its calls.
    pub(crate) fn unknown_call_reason(&self, tool: &str, unlisted: bool) -> Option<String> {
        if unlisted {
            return (self.offered.offers(tool) != Some(true)).then(|| self.how_to_report_calls());
        }
        if self.knows_offered_tools_only() && self.offered.offers(tool) == Some(false) {
            return Some(self.not_offered(tool));
        }
        None
    }

    fn not_offered(&self, tool: &str) -> String {
        format!(
            "`{tool}` is not among the tools that the scenario offers to {}, and calls that it makes itself are not reported",
            self.name()
        )
    }

    fn name(&self) -> String {
        self.agent
            .as_ref()
            .map_or_else(|| "the agent".into(), |agent| format!("agent `{}`", agent.name))
    }

    /// Why calls are not known, and what the user can do.
    pub(crate) fn how_to_report_calls(&self) -> String {
        let name = self.name();
        let Some(agent) = &self.agent else { return format!("{name} does not report its calls") };
        if agent.traced {
            return format!(
                "the spans of {name} that arrived do not show which tools it called (`traces`)"
            );
        }
        match (agent.kind, &agent.made_calls) {
            (_, Some(made)) => format!(
                "{name} answered without anything at `{}`, where it lists the calls it made; if it leaves the list out when there are none, say `made_calls: {{list: {}, absent: none}}`",
                made.list, made.list
            ),
            (AgentKind::Http, None) => format!(
                "{name} answers over HTTP and does not say where it lists the calls it made; add `made_calls: /pointer` or `tools: none`"
            ),
            (AgentKind::Chat, None) => format!(
                "{name} is given no tools by the scenario and may call tools of its own, which chat completions do not list; add `tools:`, `made_calls: /pointer` or `tools: none`"
            ),
            (AgentKind::Rspec, None) => "the agent answered without `tool_calls`, so the tools that it called are unknown; return `Proctor::AgentResponse.new(text, tool_calls: [])` (with the calls, if there were any) or call `on_tool_call`".to_owned(),
            (AgentKind::Python | AgentKind::Node, None) => format!(
                "{name} returned a text alone, so the tools that it called are unknown; return `{{\"text\": …, \"tool_calls\": [{{\"name\": …, \"arguments\": {{…}}, \"result\": …}}]}}` (an empty list if there were none) or the result of its framework, or say `tools: none`"
            ),
            (AgentKind::Command | AgentKind::Script, None) => format!(
                "{name} answered without `tool_calls`, so the tools that it called are unknown; answer with `\"tool_calls\": []` (and the calls, if there were any), or say `tools: none`"
            ),
        }
    }

    /// What is wrong with an answer that has these calls, if the agent is said to have no tools.
    pub(crate) fn contradiction(&self, made: Option<&str>, asked: Option<&str>) -> Option<String> {
        let own = self.agent.as_ref().is_some_and(|agent| agent.has_no_own_tools);
        let offered = self.offered != OfferedTools::Nothing;
        let (what, tool) = match (made, asked) {
            (Some(tool), _) if self.no_tools => ("reports a call of", tool),
            (None, Some(tool)) if self.no_tools && !(own && offered) => {
                ("asks for a call of", tool)
            }
            _ => return None,
        };
        Some(format!(
            "{} is configured without tools (`tools: none`), but it {what} `{tool}`",
            self.name()
        ))
    }
}

#[cfg(test)]
mod tests;
