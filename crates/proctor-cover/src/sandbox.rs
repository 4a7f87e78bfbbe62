//! Ruby processes that are confined: every stage that runs code of the project starts it through one [`Sandbox`].
//!
//! State: what this machine allows, found out once. It does not know what the processes are for. How a process is confined is decided by
//! `proctor-sandbox`; here stands what Ruby needs to see: itself, its gems, and the scratch copy, which is all it may change.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_process::{ChildEnvironment, ShortCommand, ShortCommandError, ShortOutput};
use proctor_sandbox::{Abilities, Confinement, Launcher, Limits, PathError};

/// How Ruby is started.
#[derive(Debug, Clone)]
pub struct Sandbox {
    ruby: PathBuf,
    launcher: Option<Launcher>,
    abilities: Abilities,
    /// Where Ruby and its gems are.
    ruby_folders: Vec<PathBuf>,
}

/// What a process left behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Whether it ended by itself with code 0.
    pub success: bool,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// The beginning of its standard output.
    pub stdout: String,
    /// The beginning of its standard error.
    pub stderr: String,
}

/// How many bytes of each output are kept.
const MAX_OUTPUT_BYTES: usize = 8 << 20;
/// Files that code of the project may add to its copy: many more than specs make.
const MAX_NEW_FILES: u64 = 50_000;
/// How long a question about Ruby may take.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// Prints the folders that Ruby loads from.
const RUBY_FOLDERS: &str =
    "puts RbConfig::CONFIG['prefix'], RbConfig::CONFIG['libdir'], Gem.path, $LOAD_PATH";
/// Folders that are visible in every confinement.
const SYSTEM: [&str; 3] = ["/usr", "/lib", "/var/lib/gems"];

impl Sandbox {
    /// Finds out what this machine allows. `ruby` is the program to run; without a launcher nothing is confined, and
    /// [`Self::missing_isolation`] says so.
    pub fn new(ruby: impl Into<PathBuf>, launcher: Option<Launcher>) -> Self {
        let ruby = ruby.into();
        let abilities = match &launcher {
            None => Abilities::none("no launcher was given"),
            Some(launcher) => Abilities::probe(launcher)
                .unwrap_or_else(|error| Abilities::none(&error.to_string())),
        };
        let ruby_folders = ruby_folders(&ruby);
        Self { ruby, launcher, abilities, ruby_folders }
    }

    /// What cannot be had on this machine, in words; empty if Ruby is confined completely.
    #[must_use]
    pub fn missing_isolation(&self) -> Vec<String> {
        self.abilities.shortcomings()
    }

    /// Whether Ruby is confined completely.
    #[must_use]
    pub fn is_isolated(&self) -> bool {
        self.abilities.is_complete()
    }

    /// The launcher, and the confinement for a program that works in `folder`, the scratch copy: it may change what is in the folder
    /// above, and reach no network. `None` where nothing can be had.
    pub fn confinement(
        &self,
        folder: &Path,
    ) -> Result<Option<(&Launcher, Confinement)>, PathError> {
        let Some(launcher) = self.launcher.as_ref().filter(|_| !self.abilities.layers().is_empty())
        else {
            return Ok(None);
        };
        let mut confinement = Confinement::new()
            .writable(folder.parent().unwrap_or(folder))?
            .limits(Limits {
                processor_seconds: None,
                written_files: Some(MAX_NEW_FILES),
                ..Limits::default()
            })
            .with(&self.abilities);
        for folder in &self.ruby_folders {
            confinement = confinement.readable(folder)?;
        }
        Ok(Some((launcher, confinement)))
    }

    /// Runs Ruby and waits, at most for `limit`. Nothing of it is left running.
    pub fn run(
        &self,
        arguments: &[OsString],
        folder: &Path,
        variables: &[(&str, &str)],
        limit: Duration,
    ) -> io::Result<Finished> {
        let environment = environment(folder).set_all(variables.iter().copied());
        let command =
            [self.ruby.clone().into_os_string()].into_iter().chain(arguments.iter().cloned());
        let argv: Vec<OsString> = match self.confinement(folder).map_err(io::Error::other)? {
            Some((launcher, confinement)) => launcher.wrap(&confinement, command),
            None => command.collect(),
        };
        let output = ShortCommand::new(&argv[0], environment, limit)
            .args(&argv[1..])
            .folder(folder)
            .output_limit(MAX_OUTPUT_BYTES)
            .output();
        match output {
            Ok(output) if output.status.code() == Some(proctor_sandbox::NOT_CONFINED.into()) => {
                let text = String::from_utf8_lossy(&output.stderr);
                let refusal =
                    text.lines().find_map(|line| line.strip_prefix(proctor_sandbox::ERROR_PREFIX));
                match refusal {
                    Some(reason) => {
                        Err(io::Error::other(format!("Ruby could not be confined: {reason}")))
                    }
                    None => Ok(Finished::new(&output, false)),
                }
            }
            Ok(output) => {
                let mut finished = Finished::new(&output, false);
                if output.status.signal() == Some(proctor_sandbox::DISK_LIMIT_SIGNAL) {
                    finished.stderr.push_str("\nended: it wrote more than its sandbox allows\n");
                }
                Ok(finished)
            }
            Err(ShortCommandError::TimedOut { output, .. }) => Ok(Finished::new(&output, true)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The variables of Ruby that works in this folder: what Ruby itself needs to be found and to run, since code that is observed may return any
/// of them.
pub(crate) fn environment(folder: &Path) -> ChildEnvironment {
    let allowed = ChildEnvironment::allowed().variables().into_iter();
    let needed = allowed.filter(|(name, _)| name.to_str().is_some_and(is_needed));
    ChildEnvironment::empty()
        .set_all(needed)
        .set("TMPDIR", folder)
        .set("HOME", folder)
        .set("LC_ALL", "C.UTF-8")
}

fn is_needed(name: &str) -> bool {
    const NAMES: [&str; 5] = ["PATH", "TZ", "LLVM_PROFILE_FILE", "RACK_ENV", "RAILS_ENV"];
    const BEGINNINGS: [&str; 9] =
        ["ASDF_", "BUNDLE", "DYLD_", "GEM_", "LD_", "MISE_", "NIX_", "RBENV_", "RUBY"];
    const CHANGES_RUBY: [&str; 3] = ["RUBYOPT", "RUBYLIB", "BUNDLE_GEMFILE"];
    let is_known = NAMES.contains(&name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    is_known && !CHANGES_RUBY.contains(&name)
}

impl Finished {
    fn new(output: &ShortOutput, timed_out: bool) -> Self {
        Self {
            success: output.status.success() && !timed_out,
            timed_out,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Folders outside of the system's that Ruby loads from, and the folder of the program. Asked without the project.
fn ruby_folders(ruby: &Path) -> Vec<PathBuf> {
    let environment = ["RUBYOPT", "RUBYLIB", "BUNDLE_GEMFILE"]
        .into_iter()
        .fold(ChildEnvironment::allowed(), ChildEnvironment::remove);
    let output =
        ShortCommand::new(ruby, environment, PROBE_LIMIT).args(["-e", RUBY_FOLDERS]).output();
    // A Ruby that does not answer is reported by the first stage that uses it.
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let program = ruby.is_absolute().then(|| ruby.parent().map(Path::to_owned)).flatten();
    let mut folders: Vec<PathBuf> = text.lines().map(PathBuf::from).chain(program).collect();
    folders.retain(|folder| {
        let is_system = SYSTEM.iter().any(|system| folder.starts_with(system));
        folder.is_absolute() && !is_system && folder.components().count() > 2 && folder.is_dir()
    });
    folders.sort();
    folders.dedup();
    folders
}
