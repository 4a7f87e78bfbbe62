//! Which methods: flags, a file of answers, or a person at the terminal.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;

use proctor_cover::{Choice, Mode, Project, PromptAnswer, Stop, discover, parse_prompt_answer};

use crate::commands::cover::arguments::CoverArguments;
use crate::error::CommandError;
use crate::terminal::Terminal;

/// The choice, or why there is none.
pub(super) fn choose(
    arguments: &CoverArguments,
    root: &Path,
    mode: &Mode,
    executes: bool,
    terminal: &mut Terminal,
) -> Result<Result<Choice, Stop>, CommandError> {
    if let Some(path) = &arguments.answers {
        let text = std::fs::read_to_string(path).map_err(|error| {
            CommandError::input(format_args!("--answers {}: {error}", path.display()))
                .with_source(error)
        })?;
        return Ok(Choice::from_answers(&text, &path.display().to_string()));
    }
    let choice = Choice {
        only: arguments.only.clone(),
        without: arguments.without.clone(),
        instruction: arguments.instruction.clone(),
    };
    if arguments.yes || !executes {
        return Ok(Ok(choice));
    }
    if !std::io::stdin().is_terminal() {
        return Err(CommandError::usage("the selection cannot be confirmed: standard input is not a terminal")
            .hint("add --yes to take the proposed methods, --answers FILE to choose by a file, or --stage analyze to look only"));
    }
    ask(root, mode, choice, terminal)
}

/// Shows the proposal, grouped by file, and asks until the answer means something.
fn ask(
    root: &Path,
    mode: &Mode,
    choice: Choice,
    terminal: &mut Terminal,
) -> Result<Result<Choice, Stop>, CommandError> {
    // The same error is reported by the run itself.
    let Ok(found) = discover(&Project::open(root), mode, &choice) else { return Ok(Ok(choice)) };
    let mut ids: Vec<String> = Vec::new();
    for target in &found.targets {
        terminal.line(&format!(
            "{} ({} zone, {} lines)",
            target.source.path, target.complexity.zone, target.complexity.loc
        ))?;
        for method in target.methods.iter().filter(|method| method.selected) {
            ids.push(method.method_id.clone());
            terminal.line(&format!(
                "  {:>3}  {} [{}]",
                ids.len(),
                method.method_id,
                method.method_mode
            ))?;
        }
    }
    for warning in &found.warnings {
        terminal.line(&format!("warning: {warning}"))?;
    }
    loop {
        terminal.print("Cover these? Their code is executed in a scratch copy. [y]es, [n]o, numbers (1 3-5) or a pattern (Cart#*): ")?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            line.push('n');
        }
        match parse_prompt_answer(line.trim(), &ids) {
            PromptAnswer::All => return Ok(Ok(choice)),
            PromptAnswer::Cancel => {
                return Ok(Err(Stop::cancelled("nothing was executed or written")));
            }
            PromptAnswer::These(only) => return Ok(Ok(Choice { only, ..choice })),
            PromptAnswer::Again(problem) => terminal.line(&problem)?,
        }
    }
}
