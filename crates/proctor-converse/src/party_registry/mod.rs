//! The parties of a run: made from the descriptions of its examples, shared between them, and ended with the run.
//!
//! Owns every process, server, model, limit and cassette of the conversations. Parties that are described alike
//! are made once. A party that cannot be made does not stop the others: its conversations fail with the
//! reason.

mod agents;
mod endpoints;
mod made_parties;
mod mentions_folder;
mod models;
mod placeholder_values;
mod settings;
mod shared;
mod single_model;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proctor_dialogue::{
    AgentFields, AgentReports, AgentSpec, At, Example, GroupKey, ModelFields, ModelSpec,
    PartySpecs, Sandbox, ServerSpec,
};
use proctor_llm::{Budget, Jitter, Price, PriceTable, ReplayMode};
use proctor_process::Guard;
use proctor_redact::Secret;
use serde_json::Value;

use self::agents::AgentParts;
use self::made_parties::MadeParties;
use self::models::{MadeModel, SharedModelParts};
pub use self::placeholder_values::Environment;
pub(crate) use self::placeholder_values::PlaceholderValues;
pub use self::shared::SharedResources;
pub use self::single_model::{SingleModel, SingleModelSetup};
use crate::agent::{Agent, AgentOutput, NoAgent};
use crate::check::CommandChecks;
use crate::conversation::Parties;
use crate::failure::Failure;
use crate::judge::{Judge, NoJudge};
use crate::judge_marks::MarkSource;
use crate::open_cassette::{OpenCassette, PartySettings};
use crate::sandbox::{ConfinedProgram, ProgramUse, Sandboxes, effective};
use crate::saved_conversation::SavedConversations;
use crate::simulator::{NoSimulator, Simulator};
use crate::tools::{
    ConfineCommand, FillPlaceholders, McpProgramSpec, McpServer, McpTransport, ProgramEnv,
    ScenarioTools,
};

/// How long a call to a tool server may take unless it says otherwise.
const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// What the project says about conversations.
#[derive(Clone)]
pub struct Settings {
    /// The project's root: where programs run.
    pub root: PathBuf,
    /// The folder of the `proctor` program, for `${bin}`.
    pub bin: PathBuf,
    /// What ends the programs of a conversation when this process ends.
    pub guard: Guard,
    /// Where the programs that are embedded in this one are unpacked.
    pub unpacked: PathBuf,
    /// Looks variables of the environment up.
    pub environment: Environment,
    /// Variables that agents, tool servers, commands of tools and models, and checks get, if they are set.
    pub pass_env: Vec<String>,
    /// Agents by name.
    pub agents: BTreeMap<String, AgentFields>,
    /// Models by name.
    pub models: BTreeMap<String, ModelFields>,
    /// The agent of scenarios that name none.
    pub agent: Option<String>,
    /// Overrides the agent of all scenarios.
    pub agent_for_all: Option<String>,
    /// Conversations that are judged again; then no agent, user or tool is asked.
    pub saved: Option<Arc<SavedConversations>>,
    /// Whether answers are recorded or replayed.
    pub cassette: Cassette,
    /// Where answers of models are kept between runs.
    pub cache: Option<PathBuf>,
    /// What judge and simulator may cost, in US dollars.
    pub budget_usd: Option<f64>,
    /// Whether tapes of `model: {replay: …}` are recorded anew instead of being replayed.
    pub record_tapes: bool,
    /// The seed of back-off.
    pub seed: u64,
    /// Resources that all registries of a run share; clones refer to the same ones.
    pub shared: SharedResources,
}

impl Settings {
    /// The agent that takes part, where it is described.
    fn described_agent<'a>(&'a self, specs: &'a PartySpecs) -> Option<(String, &'a AgentFields)> {
        let named = |name: &String| Some((name.clone(), self.agents.get(name)?));
        match (&self.agent_for_all, specs.agent.as_ref().map(|at| &at.value)) {
            (None, Some(AgentSpec::Given(fields))) => {
                let name = fields.name.clone().unwrap_or_else(|| default_agent_name(fields));
                Some((name, &**fields))
            }
            (None, Some(AgentSpec::Named(name))) => named(name),
            (for_all, _) => for_all.as_ref().or(self.agent.as_ref()).and_then(named),
        }
    }

    /// What the project declares of that agent: whether it answers the same every time.
    pub fn declares_deterministic(&self, specs: &PartySpecs) -> Option<bool> {
        self.described_agent(specs)?.1.deterministic
    }

    /// Whether the answers of that agent are a script.
    pub fn has_scripted_agent(&self, specs: &PartySpecs) -> bool {
        self.described_agent(specs).is_some_and(|(_, agent)| agent.script.is_some())
    }
}

impl std::fmt::Debug for Settings {
    /// Without the environment, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("root", &self.root)
            .field("agents", &self.agents.keys())
            .field("models", &self.models.keys())
            .field("cassette", &self.cassette)
            .finish_non_exhaustive()
    }
}

/// What becomes of the answers of all parties.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cassette {
    /// Nothing.
    #[default]
    Off,
    /// They are recorded here.
    Record(PathBuf),
    /// They are taken from here.
    Replay(PathBuf, ReplayMode),
}

/// Why the parties of a run cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PartySetupError {
    /// Where, as `file:line:column`, if the mistake is in a scenario file.
    pub place: Option<String>,
    /// What is wrong, and the way out.
    pub message: String,
}

/// What is reported after a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndReport {
    /// Remarks for people: drift, what a cassette had left, what was spent.
    pub notes: Vec<String>,
}

/// The parties of a run, by the group that describes them.
pub struct PartyRegistry {
    settings: Settings,
    parties_by_group: HashMap<GroupKey, Arc<Parties>>,
    agents: Vec<Arc<dyn Agent>>,
    servers: Vec<Arc<McpServer>>,
    budget: Option<Arc<Budget>>,
    printed: Arc<AgentOutput>,
}

impl PartyRegistry {
    /// Makes the parties of these examples.
    pub fn open(
        settings: Settings,
        examples: &[Arc<Example>],
    ) -> Result<Self, Vec<PartySetupError>> {
        let mut maker = PartyBuilder::new(&settings).map_err(|error| vec![error])?;
        let mut made = Vec::new();
        for example in examples {
            if maker.seen.insert(example.group.clone()) {
                made.push((example.group.clone(), maker.parties(example)));
            }
            maker.report_missing_parties(example);
        }
        if !maker.errors.is_empty() {
            return Err(maker.errors);
        }
        // Only now is it sure that there is anything to record.
        let cassette = settings.shared.cassette(&settings).map_err(|error| vec![error])?;
        let parties_by_group = made.into_iter().map(|(key, parties)| {
            (key, Arc::new(Parties { cassette: cassette.clone(), ..parties }))
        });
        Ok(Self {
            parties_by_group: parties_by_group.collect(),
            agents: maker.agents.into_made().filter_map(Result::ok).collect(),
            servers: maker.servers.into_made().filter_map(Result::ok).collect(),
            budget: maker.common.budget,
            printed: maker.printed,
            settings,
        })
    }

    /// The parties of an example, or of another example of its group, that was given to [`Self::open`].
    pub fn parties_of(&self, example: &Example) -> Option<&Arc<Parties>> {
        self.parties_by_group.get(&example.group)
    }

    /// What the programs of agents print.
    pub fn agent_output(&self) -> &Arc<AgentOutput> {
        &self.printed
    }

    /// Whether the budget has refused a call: nothing more should be begun.
    pub fn is_budget_exhausted(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.is_exhausted())
    }

    /// Ends all processes; `at_once` kills instead of asking.
    pub async fn end(&self, at_once: bool) -> EndReport {
        let agents = self.agents.iter().map(|agent| agent.end(at_once));
        futures_util::future::join_all(agents).await;
        futures_util::future::join_all(self.servers.iter().map(|server| server.end())).await;
        EndReport { notes: self.settings.shared.notes() }
    }
}

/// Makes each party once.
struct PartyBuilder<'a> {
    settings: &'a Settings,
    seen: HashSet<GroupKey>,
    agents: MadeParties<AgentFields, Result<Arc<dyn Agent>, Failure>>,
    servers: MadeParties<ServerSpec, Result<Arc<McpServer>, Failure>>,
    common: SharedModelParts,
    marks: MarkSource,
    printed: Arc<AgentOutput>,
    /// The parties that neither scenario nor project describes, by the group that lacks them; each is reported once.
    missing: HashMap<GroupKey, Vec<MissingParty>>,
    errors: Vec<PartySetupError>,
}

/// What a model is asked for.
#[derive(Clone, Copy)]
enum Role {
    Judge,
    Simulator,
    /// The model behind the agent under test.
    Agent,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Simulator => "simulator",
            Self::Agent => "agent",
        }
    }

    fn needed(self) -> fn(&Example) -> bool {
        match self {
            Self::Judge => Example::needs_judge,
            Self::Simulator => Example::needs_simulator,
            Self::Agent => Example::needs_agent,
        }
    }
}

/// A party that neither scenario nor project describes. That is a mistake only where an example needs it.
struct MissingParty {
    needed: fn(&Example) -> bool,
    message: String,
}

impl<'a> PartyBuilder<'a> {
    fn new(settings: &'a Settings) -> Result<Self, PartySetupError> {
        let prices = settings.models.values().filter_map(price).collect();
        let budget = settings.shared.budget(settings);
        let cache = settings.shared.cache(settings)?;
        let prices = Arc::new(PriceTable::with_overrides(prices));
        let jitter = Jitter::seeded(settings.seed);
        Ok(Self {
            settings,
            seen: HashSet::new(),
            agents: MadeParties::default(),
            servers: MadeParties::default(),
            common: SharedModelParts {
                prices,
                budget,
                cache,
                jitter,
                guard: settings.guard.clone(),
                sandboxes: settings.shared.sandboxes().clone(),
            },
            marks: settings.shared.marks()?,
            printed: Arc::new(AgentOutput::new(settings.shared.redactor().clone())),
            missing: HashMap::new(),
            errors: Vec::new(),
        })
    }

    /// Tells which parties this example needs and its group lacks.
    fn report_missing_parties(&mut self, example: &Example) {
        let Some(missing) = self.missing.get_mut(&example.group) else { return };
        for lack in missing.extract_if(.., |lack| (lack.needed)(example)) {
            self.errors
                .push(PartySetupError { place: Some(example.location()), message: lack.message });
        }
    }

    /// Remembers that the group of this example lacks a party.
    fn remember_missing_party(
        &mut self,
        example: &Example,
        needed: fn(&Example) -> bool,
        failure: &Failure,
    ) {
        let lack = MissingParty { needed, message: failure.message.clone() };
        self.missing.entry(example.group.clone()).or_default().push(lack);
    }

    fn checks(
        &self,
        env: &ProgramEnv,
        fill: FillPlaceholders,
        confine: ConfineCommand,
    ) -> CommandChecks {
        CommandChecks::new(&self.settings.root, self.settings.guard.clone())
            .with_env(Arc::clone(env))
            .with_placeholders(fill)
            .with_sandbox(confine)
    }

    /// Confines the commands of tools and checks: as they say themselves, or else as their group does.
    fn confine_commands(
        &self,
        specs: &PartySpecs,
        placeholders: &PlaceholderValues,
    ) -> ConfineCommand {
        let group = specs.sandbox.clone();
        let placeholders = placeholders.clone();
        let guard = self.settings.guard.clone();
        let sandboxes = self.settings.shared.sandboxes().clone();
        Arc::new(move |own, name, argv| {
            let used = ProgramUse::Once;
            let sandbox = effective(own, group.as_ref(), used);
            let program = ConfinedProgram { name, argv, path: None, used };
            sandboxes.launcher_words(sandbox.as_ref(), &program, &placeholders, &guard)
        })
    }

    /// The parties of a group, which a first example of it stands for.
    fn parties(&mut self, example: &Example) -> Parties {
        let specs = &example.parties;
        let placeholders = self.placeholders(&example.file);
        let (judge, judge_settings) = self.judge(specs, example, &placeholders);
        let filled = placeholders.clone();
        let fill: FillPlaceholders =
            Arc::new(move |words: &proctor_dialogue::CommandWords| filled.words(words));
        let env: ProgramEnv = placeholders.passed_env().into();
        let confine = self.confine_commands(specs, &placeholders);
        if let Some(saved) = &self.settings.saved {
            return Parties {
                agent: saved.clone(),
                simulator: saved.clone(),
                judge,
                tools: saved.clone(),
                checks: Arc::new(self.checks(&env, fill, confine)),
                cassette: OpenCassette::Off,
                settings: Arc::default(),
                redactor: self.settings.shared.redactor().clone(),
                marks: self.marks.clone(),
                reports: Arc::new(self.reports_of_saved(specs)),
            };
        }
        let (simulator, simulator_settings) = self.simulator(specs, example, &placeholders);
        let servers = self.servers(specs, &placeholders);
        let (agent, agent_settings, reports) = self.agent(specs, example, &placeholders);
        let folder = self.settings.root.clone();
        let checks = self.checks(&env, Arc::clone(&fill), Arc::clone(&confine));
        let guard = self.settings.guard.clone();
        let tools = ScenarioTools::new(Arc::clone(specs), servers, folder, guard, fill)
            .with_env(env)
            .with_sandbox(confine);
        Parties {
            agent,
            simulator,
            judge,
            tools: Arc::new(tools),
            checks: Arc::new(checks),
            cassette: OpenCassette::Off,
            settings: Arc::new(PartySettings {
                agent: agent_settings,
                simulator: simulator_settings,
                judge: judge_settings,
            }),
            redactor: self.settings.shared.redactor().clone(),
            marks: self.marks.clone(),
            reports: Arc::new(reports),
        }
    }

    /// What the agent of conversations that are judged again could report. It need not be there any more.
    fn reports_of_saved(&self, specs: &PartySpecs) -> AgentReports {
        let described = self.settings.described_agent(specs);
        described.map_or_else(AgentReports::default, |(name, fields)| {
            AgentReports::of(&name, fields, specs)
        })
    }

    fn placeholders(&self, file: &str) -> PlaceholderValues {
        let root = self.settings.root.clone();
        let here = root.join(file).parent().map_or_else(|| root.clone(), Path::to_path_buf);
        let environment: Environment = Arc::clone(&self.settings.environment);
        PlaceholderValues {
            here,
            root,
            bin: self.settings.bin.clone(),
            port: None,
            model: None,
            environment,
            pass_env: self.settings.pass_env.clone(),
            redactor: self.settings.shared.redactor().clone(),
            short_secrets: self.settings.shared.short_secrets(),
        }
    }

    /// The agent, and what beside the conversation decides what it answers.
    fn agent(
        &mut self,
        specs: &PartySpecs,
        example: &Example,
        placeholders: &PlaceholderValues,
    ) -> (Arc<dyn Agent>, Value, AgentReports) {
        let found = self.find_agent(specs, example).and_then(|(fields, name)| {
            Ok((endpoints::with_endpoint(self, fields, specs, example)?, name))
        });
        let described = found
            .as_ref()
            .map(|(fields, name)| settings::of_agent(name, fields, specs, placeholders));
        let described = described.unwrap_or_default();
        let reports = found.as_ref().map(|(fields, name)| AgentReports::of(name, fields, specs));
        let reports = reports.unwrap_or_default();
        let group = specs.sandbox.as_ref();
        match found.and_then(|(fields, name)| self.make_agent(&fields, &name, group, placeholders))
        {
            Ok(agent) => (agent, described, reports),
            Err(failure) => (Arc::new(NoAgent(failure)), described, reports),
        }
    }

    fn find_agent<'x>(
        &mut self,
        specs: &'x PartySpecs,
        example: &Example,
    ) -> Result<(&'x AgentFields, String), Failure>
    where
        'a: 'x,
    {
        let settings = self.settings;
        Ok(match (&settings.agent_for_all, &specs.agent) {
            (Some(name), _) => (self.named_agent(name, None)?, name.clone()),
            (None, Some(At { value: AgentSpec::Given(fields), .. })) => {
                let name = fields.name.clone().unwrap_or_else(|| default_agent_name(fields));
                (&**fields, name)
            }
            (None, Some(At { value: AgentSpec::Named(name), place })) => {
                let place = format!("{}:{}:{}", example.file, place.line, place.column);
                (self.named_agent(name, Some(place))?, name.clone())
            }
            (None, None) => {
                let Some(name) = &settings.agent else {
                    let failure = Failure::harness(
                        "no agent is configured: set `agent:` in the scenario or `agent` in proctor.toml",
                    );
                    self.remember_missing_party(example, Example::needs_agent, &failure);
                    return Err(failure);
                };
                (self.named_agent(name, None)?, name.clone())
            }
        })
    }

    fn make_agent(
        &mut self,
        fields: &AgentFields,
        name: &str,
        group: Option<&Sandbox>,
        placeholders: &PlaceholderValues,
    ) -> Result<Arc<dyn Agent>, Failure> {
        let mut fields = fields.clone();
        if fields.starts_program() {
            let used = agents::program_use(&fields);
            fields.sandbox = effective(fields.sandbox.as_ref(), group, used);
        }
        let fields = &fields;
        let endpoint = match &fields.model {
            // What is wrong with the description is said when the agent is made.
            Some(model) if fields.problem().is_none() => {
                Some(endpoints::endpoint_parts(self, model, placeholders)?)
            }
            _ => None,
        };
        let parts = AgentParts {
            endpoint,
            placeholders: placeholders.clone(),
            guard: self.settings.guard.clone(),
            printed: Arc::clone(&self.printed),
            sandboxes: self.settings.shared.sandboxes().clone(),
            unpacked: self.settings.unpacked.clone(),
            traces: Arc::clone(self.settings.shared.traces()),
            prices: Arc::clone(&self.common.prices),
            jitter: self.common.jitter.clone(),
            waits: Arc::clone(self.settings.shared.waits()),
        };
        let make = || agents::agent(fields, name, &Arc::new(parts));
        self.agents.get(name, fields, &placeholders.here, make)
    }

    fn named_agent(
        &mut self,
        name: &str,
        place: Option<String>,
    ) -> Result<&'a AgentFields, Failure> {
        let settings = self.settings;
        settings.agents.get(name).ok_or_else(|| {
            let known: Vec<&str> = settings.agents.keys().map(String::as_str).collect();
            let message = format!("there is no agent `{name}` in proctor.toml; {}", listed(&known));
            self.errors.push(PartySetupError { place, message: message.clone() });
            Failure::harness(message)
        })
    }

    fn judge(
        &mut self,
        specs: &PartySpecs,
        example: &Example,
        placeholders: &PlaceholderValues,
    ) -> (Arc<dyn Judge>, Value) {
        let spec = specs.judge.model.as_ref();
        let (made, described) = self.model(spec, Role::Judge, specs, example, placeholders);
        let made = made.and_then(|made| made.judge(&placeholders.redactor));
        (made.unwrap_or_else(|failure| Arc::new(NoJudge(failure))), described)
    }

    fn simulator(
        &mut self,
        specs: &PartySpecs,
        example: &Example,
        placeholders: &PlaceholderValues,
    ) -> (Arc<dyn Simulator>, Value) {
        let spec = specs.simulator.as_ref();
        let (made, described) = self.model(spec, Role::Simulator, specs, example, placeholders);
        let made = made.and_then(|made| made.simulator(&placeholders.redactor));
        (made.unwrap_or_else(|failure| Arc::new(NoSimulator(failure))), described)
    }

    /// A model, and what beside the question decides what it answers.
    fn model(
        &mut self,
        spec: Option<&At<ModelSpec>>,
        role: Role,
        specs: &PartySpecs,
        example: &Example,
        placeholders: &PlaceholderValues,
    ) -> (Result<MadeModel, Failure>, Value) {
        match self.find_model(spec, role, specs, example) {
            Ok((fields, name)) => {
                let described = settings::of_model(fields, placeholders);
                let mut fields = fields.clone();
                if fields.command.is_some() {
                    let group = specs.sandbox.as_ref();
                    fields.sandbox = effective(fields.sandbox.as_ref(), group, ProgramUse::Once);
                }
                (self.make_model(&fields, &name, placeholders), described)
            }
            Err(failure) => (Err(failure), Value::Null),
        }
    }

    /// The model that is given, or that is named, or that has the name of its role.
    fn find_model<'x>(
        &mut self,
        spec: Option<&'x At<ModelSpec>>,
        role: Role,
        specs: &'x PartySpecs,
        example: &Example,
    ) -> Result<(&'x ModelFields, String), Failure>
    where
        'a: 'x,
    {
        let settings = self.settings;
        let mut name = role.name().to_owned();
        let mut spec = spec;
        // A name may refer to another name, but not in a cycle.
        for _ in 0..8 {
            match spec {
                Some(At { value: ModelSpec::Given(fields), .. }) => {
                    return Ok((&**fields, name));
                }
                Some(At { value: ModelSpec::Named(wanted), place }) => {
                    name.clone_from(wanted);
                    if let Some(fields) = settings.models.get(wanted)
                        && !specs.models.contains_key(wanted)
                    {
                        return Ok((fields, name));
                    }
                    spec = specs.models.get(wanted);
                    if spec.is_none() {
                        let known: Vec<&str> = specs
                            .models
                            .keys()
                            .chain(settings.models.keys())
                            .map(String::as_str)
                            .collect();
                        let message = format!("there is no model `{wanted}`; {}", listed(&known));
                        let place = format!("{}:{}:{}", example.file, place.line, place.column);
                        self.errors
                            .push(PartySetupError { place: Some(place), message: message.clone() });
                        return Err(Failure::harness(message));
                    }
                }
                None => {
                    spec = specs.models.get(&name);
                    if spec.is_none() {
                        let fields = settings.models.get(&name);
                        return fields.map(|fields| (fields, name)).ok_or_else(|| {
                            let failure = no_model(role.name());
                            self.remember_missing_party(example, role.needed(), &failure);
                            failure
                        });
                    }
                }
            }
        }
        let message = format!("the model `{name}` refers to itself");
        self.errors
            .push(PartySetupError { place: Some(example.location()), message: message.clone() });
        Err(Failure::harness(message))
    }

    /// What all models share, with the price that this description states.
    fn common_with_price(&self, fields: &ModelFields) -> SharedModelParts {
        let mut common = self.common.clone();
        if let Some((model, own)) = price(fields) {
            let all = self.settings.models.values().filter_map(price).chain([(model, own)]);
            common.prices = Arc::new(PriceTable::with_overrides(all.collect()));
        }
        common
    }

    fn make_model(
        &mut self,
        fields: &ModelFields,
        name: &str,
        placeholders: &PlaceholderValues,
    ) -> Result<MadeModel, Failure> {
        let common = self.common_with_price(fields);
        let make = || models::model(fields, name, placeholders, &common);
        self.settings.shared.model(name, fields, &placeholders.here, make)
    }

    fn servers(
        &mut self,
        specs: &PartySpecs,
        placeholders: &PlaceholderValues,
    ) -> Vec<Arc<McpServer>> {
        let mut servers = Vec::new();
        let guard = self.settings.guard.clone();
        let sandboxes = self.settings.shared.sandboxes();
        for (name, spec) in &specs.mcp {
            let mut spec = spec.value.clone();
            if spec.command.is_some() {
                let group = specs.sandbox.as_ref();
                spec.sandbox = effective(spec.sandbox.as_ref(), group, ProgramUse::Lasting);
            }
            let make = || {
                let timeout = spec.timeout.map_or(TOOL_TIMEOUT, |span| span.0);
                let way = mcp_transport(name, &spec, placeholders, &guard, sandboxes)?;
                Ok(Arc::new(McpServer::new(name.clone(), way, timeout, spec.only.clone())))
            };
            match self.servers.get(name, &spec, &placeholders.here, make) {
                Ok(server) => servers.push(server),
                Err(failure) => {
                    let message = format!("the tool server `{name}`: {}", failure.message);
                    self.errors.push(PartySetupError { place: None, message });
                }
            }
        }
        servers
    }
}

fn mcp_transport(
    name: &str,
    spec: &ServerSpec,
    placeholders: &PlaceholderValues,
    guard: &Guard,
    sandboxes: &Sandboxes,
) -> Result<McpTransport, Failure> {
    if let Some(url) = &spec.url {
        let headers = placeholders.map(&spec.headers)?.into_iter();
        let headers = headers.map(|(name, value)| (name, Secret::new(value))).collect();
        return Ok(McpTransport::Address { url: placeholders.text(url)?, headers });
    }
    let words = placeholders.words(&spec.command.clone().unwrap_or_default())?;
    let (env, folder) = (placeholders.program_env(&spec.env)?, placeholders.root.clone());
    let argv = words.argv();
    let confined = ConfinedProgram {
        name: format!("the tool server `{name}`"),
        argv: &argv,
        path: env.get("PATH").map(String::as_str),
        used: ProgramUse::Lasting,
    };
    let sandbox = spec.sandbox.as_ref();
    let launcher = sandboxes.launcher_words(sandbox, &confined, placeholders, guard)?;
    let program = McpProgramSpec { argv, launcher, env, folder, guard: guard.clone() };
    Ok(McpTransport::Program(program))
}

fn no_model(role: &str) -> Failure {
    let message = format!(
        "there is no model for the {role}: describe one as `models: {{{role}: …}}` in the scenario, as [models.{role}] in proctor.toml, \
         or in RSpec with `Proctor.configure {{ |config| config.{role} = … }}`"
    );
    Failure::party("NotConfigured", message)
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() {
        "none is described".into()
    } else {
        format!("there are: {}", known.join(", "))
    }
}

fn price(fields: &ModelFields) -> Option<(String, Price)> {
    let model = fields.anthropic.as_ref().or(fields.openai.as_ref())?;
    let price = fields.price?;
    Some((model.clone(), Price::new(price.input, price.output)))
}

/// The program's name; of a program that an interpreter runs, the name of its file.
fn default_agent_name(fields: &AgentFields) -> String {
    if let Some(target) = fields.python.as_ref().or(fields.node.as_ref()) {
        return target.rsplit('/').next().unwrap_or(target).trim().to_owned();
    }
    let Some(command) = &fields.command else { return "agent".into() };
    let words: Vec<&str> = match command.0.as_slice() {
        [line] => line.split_whitespace().collect(),
        words => words.iter().map(String::as_str).collect(),
    };
    let name = |word: &&str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let program = words.first().map(name).unwrap_or_default();
    let plain = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if INTERPRETERS.contains(&plain)
        && let Some(file) = words.iter().skip(1).find(|word| !word.starts_with('-'))
    {
        return name(file);
    }
    program
}

/// Programs whose first argument says more than they do.
const INTERPRETERS: [&str; 12] =
    ["python", "ruby", "node", "deno", "bun", "perl", "php", "java", "sh", "bash", "npx", "tsx"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_called_by_what_they_are() {
        let named = |command: &str| {
            let fields = format!(r#"{{"command": {command}}}"#);
            default_agent_name(&serde_json::from_str(&fields).unwrap())
        };
        assert_eq!(named(r#"["./bin/my-agent", "--fast"]"#), "my-agent");
        assert_eq!(named(r#"["python3.11", "-u", "agents/mine.py", "8080"]"#), "mine.py");
        assert_eq!(named(r#""node server.js --port 1""#), "server.js");
        assert_eq!(named(r#"["bash"]"#), "bash");
    }
}
