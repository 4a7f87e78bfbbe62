//! `proctor cover`: arguments in, the pipeline, a report out.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use proctor_cover::{Choice, Effort, Mode, Options, Project, Stop, discover};

use crate::cli::Cli;
use crate::cli::cover::{CoverArguments, CoverFormat};
use crate::error::CommandError;
use crate::project;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &CoverArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    let root = project::root(cli)?;
    let mode = mode(&arguments.what);
    let choice = Choice {
        only: arguments.only.clone(),
        without: arguments.without.clone(),
        instruction: arguments.instruction.clone(),
    };
    let executes =
        arguments.stage.as_deref().is_none_or(|stage| matches!(stage, "implement" | "review"));
    if executes && !arguments.yes && !agreed(&root, &mode, &choice, terminal)? {
        let stop = Stop {
            status: "stop".to_owned(),
            reason: Some("user_cancelled".to_owned()),
            error: "cancelled".to_owned(),
            details: "nothing was executed or written".to_owned(),
            suggestion: "use --yes to take the proposal, --only and --without to choose".to_owned(),
        };
        return refused(&stop, arguments.format, terminal);
    }
    let options = Options {
        root,
        mode,
        choice,
        from: arguments.stage.clone().or_else(|| arguments.from.clone()),
        to: arguments.stage.clone(),
        ruby: arguments.ruby.clone(),
        effort: Effort { seconds: f64::from(arguments.effort), ..Effort::default() },
        again: arguments.again,
    };
    let shows = std::io::stderr().is_terminal();
    let mut notes = Vec::new();
    let result = proctor_cover::run(&options, &mut |progress| {
        if shows {
            notes.push(format!("{}: {}", progress.stage, progress.what));
            if let Some(note) = notes.last() {
                terminal.note(note);
            }
        }
    });
    let report = match result {
        Ok(report) => report,
        Err(stop) => return refused(&stop, arguments.format, terminal),
    };
    if let Some(path) = &arguments.html {
        std::fs::write(path, proctor_cover::html(&report)).map_err(|error| {
            CommandError::unusable(format_args!("cannot write {}: {error}", path.display()))
        })?;
    }
    match arguments.format {
        CoverFormat::Text => terminal.print(&proctor_cover::text(&report))?,
        CoverFormat::Json => terminal.json(&report)?,
        CoverFormat::Yaml => terminal.print(&proctor_cover::yaml(&report.answers))?,
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn mode(what: &[String]) -> Mode {
    match what {
        [only] if only == "branch" => Mode::Branch,
        [only] if only == "staged" => Mode::Staged,
        [only] if only == "all" => Mode::All,
        paths => Mode::Paths(
            paths
                .iter()
                .map(|path| std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)))
                .collect(),
        ),
    }
}

/// Shows the proposal and asks, if there is somebody to ask.
fn agreed(
    root: &std::path::Path,
    mode: &Mode,
    choice: &Choice,
    terminal: &mut Terminal,
) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::unusable("nobody is there to confirm the selection")
            .hint("add --yes to take the proposed methods, or --stage analyze to look only"));
    }
    // The same error is reported by the run itself.
    let Ok(found) = discover(&Project::open(root), mode, choice) else { return Ok(true) };
    for target in &found.targets {
        terminal.line(&format!("{} ({} zone)", target.source.path, target.complexity.zone))?;
        for method in target.methods.iter().filter(|method| method.selected) {
            terminal.line(&format!("  {} [{}]", method.method_id, method.method_mode))?;
        }
    }
    terminal.print("Cover these methods? Their code will be executed in a scratch copy. [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn refused(
    stop: &Stop,
    format: CoverFormat,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    match format {
        CoverFormat::Text => Err(CommandError::unusable(stop).hint(stop.suggestion.clone())),
        CoverFormat::Json => {
            terminal.json(stop)?;
            Ok(ExitCode::from(2))
        }
        CoverFormat::Yaml => {
            terminal.print(&proctor_cover::yaml(stop))?;
            Ok(ExitCode::from(2))
        }
    }
}
