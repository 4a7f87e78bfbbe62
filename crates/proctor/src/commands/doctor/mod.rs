//! `proctor doctor`: what is installed, what each kind of suite needs, what is wrong.

mod engine;
mod probe;
mod sandbox;

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proctor_report::{Paint, Style};
use serde::Serialize;

use self::probe::{Found, at_least};
use crate::cli::{Cli, Format};
use crate::commands::engine::EngineArguments;
use crate::commands::{own_launcher, suites};
use crate::config::{self, Config, Setting};
use crate::error::CommandError;
use crate::terminal::Terminal;
use crate::{env_vars, project};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 0 if nothing is wrong, 1 if something that this project needs is missing or broken."
)]
pub(crate) struct DoctorArguments {
    /// List every environment variable that Proctor reads or sets, and do nothing else
    #[arg(long)]
    pub(crate) environment: bool,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) engine: EngineArguments,
}

/// How a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckResult {
    /// As it should be.
    Ok,
    /// Missing or old, but nothing here needs it.
    Note,
    /// This project needs it.
    Wrong,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    verdict: CheckResult,
    finding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    way_out: Option<String>,
}

#[derive(Debug, Serialize)]
struct Section {
    title: &'static str,
    checks: Vec<Check>,
}

impl Section {
    fn is_wrong(&self) -> bool {
        self.checks.iter().any(|check| check.verdict == CheckResult::Wrong)
    }
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    version: &'static str,
    root: String,
    healthy: bool,
    sections: Vec<Section>,
}

pub(crate) fn run(
    arguments: &DoctorArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if arguments.environment {
        terminal.print(&env_vars::page())?;
        return Ok(ExitCode::SUCCESS);
    }
    let root = project::locate_root(cli)?;
    let mut diagnosis = diagnose(&root);
    if let Some(section) = engine::section(&arguments.engine) {
        diagnosis.healthy &= !section.is_wrong();
        diagnosis.sections.push(section);
    }
    match arguments.format {
        Format::Json => terminal.json(&diagnosis)?,
        Format::Text => terminal.print(&text(&diagnosis, terminal.style()))?,
    }
    Ok(if diagnosis.healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn diagnose(root: &Path) -> Diagnosis {
    let (config, configuration) = configuration(root);
    let sections = match config {
        None => vec![configuration],
        Some(config) => {
            let mut sections = vec![
                configuration,
                ruby_suites(root, &config),
                conversations(),
                workspaces(root, &config),
                machine(root),
            ];
            sections.extend(sandbox::sections(own_launcher().ok().as_ref()));
            sections
        }
    };
    Diagnosis {
        version: env!("CARGO_PKG_VERSION"),
        root: root.display().to_string(),
        healthy: !sections.iter().any(Section::is_wrong),
        sections,
    }
}

fn check(name: &str, verdict: CheckResult, finding: impl Into<String>) -> Check {
    Check { name: name.to_owned(), verdict, finding: finding.into(), way_out: None }
}

impl Check {
    fn way_out(mut self, way_out: impl Into<String>) -> Self {
        self.way_out = Some(way_out.into());
        self
    }
}

fn configuration(root: &Path) -> (Option<Config>, Section) {
    let title = "Configuration";
    match config::load(root) {
        Err(error) => {
            let broken = check(config::FILE_NAME, CheckResult::Wrong, error.to_string())
                .way_out("`proctor schema config` prints what it may hold");
            (None, Section { title, checks: vec![broken] })
        }
        Ok((config, warnings)) => {
            let place = config.path.as_ref().map_or_else(
                || "none; defaults apply".to_owned(),
                |path| path.display().to_string(),
            );
            let mut checks = vec![check(config::FILE_NAME, CheckResult::Ok, place)];
            checks.extend(
                warnings.into_iter().map(|warning| check("key", CheckResult::Wrong, warning)),
            );
            checks.push(events(&config.events));
            checks.push(setting("tools.ruby", &config.ruby));
            checks.push(setting("tools.ralph", &config.ralph));
            checks.push(journal(&config.journal_dir));
            (Some(config), Section { title, checks })
        }
    }
}

fn setting(name: &str, setting: &Setting<String>) -> Check {
    check(name, CheckResult::Ok, format!("{} ({})", setting.value, setting.origin))
}

fn journal(dir: &Setting<Option<String>>) -> Check {
    let place = dir.value.as_deref().unwrap_or(".claude/journal");
    check("journal.dir", CheckResult::Ok, format!("{place} ({})", dir.origin))
}

fn events(events: &Setting<Option<String>>) -> Check {
    match &events.value {
        None => check("events", CheckResult::Ok, "to the recording only"),
        Some(list) => match proctor_record::destinations::parse(list) {
            Ok(_) => check("events", CheckResult::Ok, format!("{list} ({})", events.origin)),
            Err(error) => {
                check("events", CheckResult::Wrong, format!("{error} ({})", events.origin))
            }
        },
    }
}

/// What suites in Ruby need. Something is wrong only if `proctor run` would run one and cannot.
fn ruby_suites(root: &Path, config: &Config) -> Section {
    let files = suites::files(&[], config, root, root);
    let has_specs = files.rspec.is_some() || root.join(".rspec").is_file();
    let has_tests = files.minitest.is_some();
    let title = match (has_specs, has_tests) {
        (true, true) => "Ruby suites (this project has specs and tests)",
        (true, false) => "Ruby suites (this project has specs)",
        (false, true) => "Ruby suites (this project has tests)",
        (false, false) => "Ruby suites",
    };
    let missing = |is_needed: bool| if is_needed { CheckResult::Wrong } else { CheckResult::Note };
    let name = &config.ruby.value;
    let (ruby, usable) = ruby(name, missing(has_specs || has_tests));
    let mut checks = vec![ruby];
    if usable {
        checks.push(rspec_core(root, name, missing(has_specs)));
        checks.push(minitest(root, name, missing(has_tests)));
    }
    Section { title, checks }
}

/// The Ruby of this name, and whether it can be asked for more.
fn ruby(name: &str, missing: CheckResult) -> (Check, bool) {
    match probe::version(name, &["--version"]) {
        Found::Version(version) if at_least(&version, (3, 0)) => {
            (check("ruby", CheckResult::Ok, version), true)
        }
        Found::Version(version) => {
            (check("ruby", missing, format!("{version}; 3.0 or newer is needed")), true)
        }
        Found::No(reason) => {
            let absent = check("ruby", missing, format!("`{name}`: {reason}"));
            let way_out = "install Ruby, or set tools.ruby in proctor.toml or PROCTOR_RUBY";
            (absent.way_out(way_out), false)
        }
    }
}

fn rspec_core(root: &Path, ruby: &str, missing: CheckResult) -> Check {
    let script = "require 'rspec/core/version'; print RSpec::Core::Version::STRING";
    match gem_version(root, ruby, script) {
        Found::Version(version) if at_least(&version, (3, 10)) => {
            check("rspec-core", CheckResult::Ok, version)
        }
        Found::Version(version) => {
            check("rspec-core", missing, format!("{version}; 3.10 or newer is needed"))
        }
        Found::No(reason) => check("rspec-core", missing, reason)
            .way_out("gem install rspec, or `bundle install` where there is a Gemfile"),
    }
}

/// Other versions than 5 are refused by `ruby/lib/proctor/runner/minitest/framework.rb`.
fn minitest(root: &Path, ruby: &str, missing: CheckResult) -> Check {
    match gem_version(root, ruby, "require 'minitest'; print Minitest::VERSION") {
        Found::Version(version) if at_least(&version, (5, 0)) && !at_least(&version, (6, 0)) => {
            check("minitest", CheckResult::Ok, version)
        }
        Found::Version(version) => check(
            "minitest",
            missing,
            format!("{version} is not supported: Proctor runs Minitest 5"),
        )
        .way_out("gem \"minitest\", \"~> 5.0\" in the Gemfile, then `bundle install`"),
        Found::No(reason) => check("minitest", missing, reason).way_out(
            "gem install minitest -v '~> 5.0', or `bundle install` where there is a Gemfile",
        ),
    }
}

/// What a script prints about a gem, under Bundler where there is a Gemfile.
fn gem_version(root: &Path, ruby: &str, script: &str) -> Found {
    let mut arguments = vec!["-e", script];
    if root.join("Gemfile").is_file() {
        arguments.insert(0, "-rbundler/setup");
    }
    probe::version_in(ruby, &arguments, root)
}

fn conversations() -> Section {
    let checks = vec![check("nothing", CheckResult::Ok, "scenario files need nothing but proctor")];
    Section { title: "Conversations", checks }
}

fn workspaces(root: &Path, config: &Config) -> Section {
    let ralph = &config.ralph.value;
    let needed = config.ralph.origin != config::Origin::Default;
    let missing = if needed { CheckResult::Wrong } else { CheckResult::Note };
    let ralph = match probe::version_in(ralph, &["--version"], root) {
        Found::Version(version) => check("ralph", CheckResult::Ok, version),
        Found::No(reason) => check("ralph", missing, format!("`{ralph}`: {reason}"))
            .way_out("cargo install ralph-cli --locked, or set tools.ralph or PROCTOR_RALPH"),
    };
    Section { title: "Orchestrator workspaces", checks: vec![ralph] }
}

fn machine(root: &Path) -> Section {
    let git = match probe::version("git", &["--version"]) {
        Found::Version(version) => check("git", CheckResult::Ok, version),
        Found::No(reason) => check("git", CheckResult::Note, reason)
            .way_out("without git, recordings do not say which commit they belong to"),
    };
    let processes = if Path::new("/proc/self/task").is_dir() {
        check("/proc", CheckResult::Ok, "process trees can be followed")
    } else {
        check("/proc", CheckResult::Wrong, "not mounted: left-over processes cannot be found")
    };
    let home = env_vars::HOME.get_os();
    let home = match home {
        Some(_) => check("HOME", CheckResult::Ok, "set"),
        None => check(
            "HOME",
            CheckResult::Note,
            "not set: any marked folder above may be taken for the project",
        ),
    };
    Section { title: "Machine", checks: vec![git, processes, probe::writable(root), home] }
}

fn text(diagnosis: &Diagnosis, style: Style) -> String {
    let mut text = format!("proctor {} in {}\n", diagnosis.version, diagnosis.root);
    for section in &diagnosis.sections {
        text += &format!("\n{}\n", style.paint(Paint::Bold, section.title));
        for check in &section.checks {
            let mark = match check.verdict {
                CheckResult::Ok => style.paint(Paint::Good, "✓"),
                CheckResult::Note => style.paint(Paint::Warn, "·"),
                CheckResult::Wrong => style.paint(Paint::Bad, "✗"),
            };
            let finding = check.finding.replace('\n', "\n                 ");
            text += &format!("  {mark} {:<12} {finding}\n", check.name);
            if let (Some(way_out), false) = (&check.way_out, check.verdict == CheckResult::Ok) {
                text += &format!("    {:<12} → {way_out}\n", "");
            }
        }
    }
    let verdict = if diagnosis.healthy {
        style.paint(Paint::Good, "Nothing is wrong.")
    } else {
        style.paint(Paint::Bad, "Something is wrong: see ✗ above.")
    };
    text + &format!("\n{verdict}\n")
}
