//! Confining the programs of a scenario: from `sandbox:` to the words that are put before a command line.
//!
//! The launcher is a hidden command of the program that is the guard. What this machine allows is found out once in a run, with
//! the first program that asks for it. A program whose sandbox lacks a layer is not started, unless it allows that.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use proctor_dialogue::{Sandbox, SandboxFields, SandboxNetwork};
use proctor_llm::LauncherWords;
use proctor_process::{Guard, ManagedProcess};
use proctor_sandbox::{
    Abilities, Confinement, ERROR_PREFIX, Launcher, Layer, Limits, NOT_CONFINED, Network,
    PROGRAM_NOT_FOUND, ProgramSearch,
};

use crate::failure::Failure;
use crate::party_registry::PlaceholderValues;

/// The hidden command of this program that confines.
const LAUNCHER_COMMAND: &str = "__sandbox";
/// Address space of a process where the scenario sets none. Runtimes such as V8 reserve much more than they use.
const MEMORY_MB: u64 = 16 << 10;
/// Recordings of other conversations: nothing that a program under test should read.
const HIDDEN_FOLDER: &str = ".proctor";

/// How a program is used, which decides the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramUse {
    /// It is spoken to over a channel for as long as the run lasts.
    Lasting,
    /// It is a server that is reached over the network.
    Server,
    /// It answers once.
    Once,
}

/// A program that is to be confined.
#[derive(Debug)]
pub(crate) struct ConfinedProgram<'a> {
    /// What messages call it, such as "the agent `x`".
    pub(crate) name: String,
    pub(crate) argv: &'a [String],
    /// The value of `PATH` that the program gets instead of ours.
    pub(crate) path: Option<&'a str>,
    pub(crate) used: ProgramUse,
}

/// Confines programs, and remembers what this machine allows. Clones share what they remember.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sandboxes(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    abilities: OnceLock<Result<Abilities, String>>,
    /// What sandboxes lacked that were used all the same.
    notes: Mutex<BTreeSet<String>>,
}

impl Sandboxes {
    /// The words that start a program confined; none if it is not to be confined.
    pub(crate) fn launcher_words(
        &self,
        sandbox: Option<&Sandbox>,
        program: &ConfinedProgram<'_>,
        placeholders: &PlaceholderValues,
        guard: &Guard,
    ) -> Result<Option<LauncherWords>, Failure> {
        let Some(fields) = sandbox.and_then(Sandbox::fields) else { return Ok(None) };
        self.wrap(fields, program, placeholders, guard).map(Some).map_err(|problem| {
            Failure::harness(format!("{} cannot be confined: {problem}", program.name))
        })
    }

    fn wrap(
        &self,
        fields: &SandboxFields,
        program: &ConfinedProgram<'_>,
        placeholders: &PlaceholderValues,
        guard: &Guard,
    ) -> Result<LauncherWords, String> {
        let Guard::Program(guard) = guard else {
            return Err("there is no launcher for the sandbox".into());
        };
        let launcher = Launcher::new(guard.program.clone(), [LAUNCHER_COMMAND]);
        let confinement = confinement(fields, program, placeholders)?;
        let confinement = self.with_layers(confinement, fields, &program.name, &launcher)?;
        let wrapped = launcher.wrap(&confinement, [] as [&OsStr; 0]);
        let words = wrapped.into_iter().map(OsString::into_string).collect::<Result<_, _>>();
        let words = words.map_err(|word| format!("{} is not UTF-8", word.display()))?;
        Ok(LauncherWords { words, error_prefix: ERROR_PREFIX })
    }

    /// All layers; those that there are if the scenario allows others to be missing.
    fn with_layers(
        &self,
        confinement: Confinement,
        fields: &SandboxFields,
        name: &str,
        launcher: &Launcher,
    ) -> Result<Confinement, String> {
        let probe = || Abilities::probe(launcher).map_err(|error| error.to_string());
        let abilities = self.0.abilities.get_or_init(probe).clone();
        let abilities = match abilities {
            Err(reason) if fields.allow_missing => Abilities::none(&reason),
            abilities => abilities?,
        };
        let missing = missing_layers(&abilities, confinement.network);
        if missing.is_empty() {
            return Ok(confinement);
        }
        let missing = missing.join("; ");
        if !fields.allow_missing {
            return Err(format!(
                "this machine lacks {missing}. `sandbox: {{allow_missing: true}}` runs it without; `proctor doctor` shows what there is"
            ));
        }
        let mut notes = self.0.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert(format!("the sandbox of {name} lacks {missing}"));
        Ok(confinement.with(&abilities))
    }

    /// What sandboxes lacked that were used all the same.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = self.0.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().cloned().collect()
    }
}

/// The sandbox of a program: its own, or else that of its group.
pub(crate) fn effective(
    own: Option<&Sandbox>,
    group: Option<&Sandbox>,
    used: ProgramUse,
) -> Option<Sandbox> {
    let inherited = || {
        let mut sandbox = group?.clone();
        // What the group says about the network is meant for programs that work without one.
        if let (Sandbox::On(fields), ProgramUse::Server) = (&mut sandbox, used) {
            fields.network = None;
        }
        Some(sandbox)
    };
    own.cloned().or_else(inherited)
}

/// Missing layers with reason and consequence, without those that do not apply.
fn missing_layers(abilities: &Abilities, network: Network) -> Vec<String> {
    let applies = |layer: Layer| layer != Layer::NetworkNamespace || network == Network::None;
    let missing = abilities.missing.iter().filter(|(layer, _)| applies(**layer));
    missing.map(|(layer, why)| format!("the {} ({why})", layer.name())).collect()
}

fn confinement(
    fields: &SandboxFields,
    program: &ConfinedProgram<'_>,
    placeholders: &PlaceholderValues,
) -> Result<Confinement, String> {
    let variable = |name: &str| (placeholders.environment)(name);
    let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let root = placeholders.root.canonicalize().unwrap_or_else(|_| placeholders.root.clone());
    if home.as_ref().is_some_and(|home| home.starts_with(&root)) {
        return Err(format!(
            "the project's root {} contains the home folder, which would be readable",
            root.display()
        ));
    }
    let network = match (fields.network, program.used) {
        (Some(SandboxNetwork::Host), _) | (None, ProgramUse::Server) => Network::Host,
        (Some(SandboxNetwork::None) | None, _) => Network::None,
    };
    let text = |error: proctor_sandbox::PathError| error.to_string();
    let mut confinement = Confinement::new()
        .network(network)
        .limits(limits(fields, program.used))
        .readable(&placeholders.root)
        .map_err(text)?;
    if root.join(HIDDEN_FOLDER).is_dir() {
        confinement = confinement.hidden(root.join(HIDDEN_FOLDER)).map_err(text)?;
    }
    for path in &fields.read {
        confinement = confinement.readable(filled(path, placeholders)?).map_err(text)?;
    }
    for path in &fields.write {
        confinement = confinement.writable(filled(path, placeholders)?).map_err(text)?;
    }
    let temporary = variable("TMPDIR").map(PathBuf::from).and_then(|path| path.canonicalize().ok());
    for folder in home.iter().cloned().chain(temporary) {
        // A folder that is shown keeps what it holds.
        if folder.is_dir() && folder != Path::new("/") && !lists(&confinement, &folder) {
            confinement = confinement.fresh(folder);
        }
    }
    let path = program.path.map(str::to_owned).or_else(|| variable("PATH")).unwrap_or_default();
    let search = ProgramSearch {
        folder: &placeholders.root,
        path: OsStr::new(&path),
        home: home.as_deref(),
    };
    confinement.showing_program(program.argv, &search).map_err(|error| error.to_string())
}

fn lists(confinement: &Confinement, folder: &Path) -> bool {
    let lists = [&confinement.readable, &confinement.writable];
    lists.into_iter().flatten().any(|path| path == folder)
}

fn filled(path: &str, placeholders: &PlaceholderValues) -> Result<PathBuf, String> {
    let path = placeholders.text(path).map_err(|failure| failure.message)?;
    Ok(placeholders.root.join(path))
}

fn limits(fields: &SandboxFields, used: ProgramUse) -> Limits {
    let memory_mb = fields.memory_mb.map_or(MEMORY_MB, std::num::NonZeroU64::get);
    let usual = Limits::default();
    Limits {
        address_space: Some(memory_mb.saturating_mul(1 << 20)),
        written_bytes: fields
            .disk_mb
            .map(|disk_mb| disk_mb.get().saturating_mul(1 << 20))
            .or(usual.written_bytes),
        processes: fields.processes.map(|count| count.get().into()).or(usual.processes),
        // A program that lasts for the whole run has no bound that is known in advance.
        processor_seconds: usual.processor_seconds.filter(|_| used == ProgramUse::Once),
        ..usual
    }
}

/// Why the launcher ran nothing, if it is the launcher that ended this process.
pub(crate) fn launcher_error(process: &ManagedProcess, status: Option<i32>) -> Option<String> {
    let code = status.and_then(|code| u8::try_from(code).ok())?;
    if ![NOT_CONFINED, PROGRAM_NOT_FOUND].contains(&code) {
        return None;
    }
    let lines = process.stderr().tail(1);
    lines.last()?.text.strip_prefix(ERROR_PREFIX).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(text: &str) -> Sandbox {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_a_program_says_itself_comes_before_its_group() {
        let group = sandbox(r#"{"network": "none", "processes": 9}"#);
        let own = sandbox("false");
        assert_eq!(effective(Some(&own), Some(&group), ProgramUse::Once), Some(Sandbox::Off));
        assert_eq!(effective(None, Some(&group), ProgramUse::Once), Some(group.clone()));
        let server = effective(None, Some(&group), ProgramUse::Server).unwrap();
        assert_eq!(server, sandbox(r#"{"processes": 9}"#));
        assert_eq!(effective(None, None, ProgramUse::Once), None);
    }

    #[test]
    fn layers_that_do_not_apply_are_not_missed() {
        let mut abilities = Abilities::none("no");
        abilities.missing.retain(|layer, _| *layer == Layer::NetworkNamespace);
        assert_eq!(missing_layers(&abilities, Network::None), ["the network namespace (no)"]);
        assert!(missing_layers(&abilities, Network::Host).is_empty());
    }

    #[test]
    fn a_missing_layer_is_refused_or_noted() {
        let sandboxes = Sandboxes::default();
        let mut abilities = Abilities::none("no");
        abilities.missing.retain(|layer, _| *layer == Layer::Landlock);
        sandboxes.0.abilities.set(Ok(abilities)).unwrap();
        let launcher = Launcher::new("/nowhere", [LAUNCHER_COMMAND]);
        let with = |fields: &SandboxFields| {
            sandboxes.with_layers(Confinement::new(), fields, "the agent `x`", &launcher)
        };
        let refused = with(&SandboxFields::default()).unwrap_err();
        assert!(refused.starts_with("this machine lacks the Landlock (no)."), "{refused}");
        assert!(sandboxes.notes().is_empty());
        let fields = SandboxFields { allow_missing: true, ..SandboxFields::default() };
        assert!(!with(&fields).unwrap().layers.contains(&Layer::Landlock));
        assert_eq!(sandboxes.notes(), ["the sandbox of the agent `x` lacks the Landlock (no)"]);
    }
}
