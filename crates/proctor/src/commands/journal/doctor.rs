//! doctor: what is wrong with the journal's files, and repairing it.

use std::process::ExitCode;

use clap::Args;
use proctor_journal::Journal;
use proctor_journal::doctor::Finding;
use proctor_text::shorten;
use serde_json::{Value, json};

use super::context::{JournalContext, now};
use super::edit::changed_text;
use super::entry_text::Changed;
use crate::cli::Format;
use crate::commands::journal::values::Printed;
use crate::error::CommandError;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  proctor journal doctor
  proctor journal doctor --repair               moves, completes or closes; never deletes an entry
  proctor journal doctor --restore current_ghap.corrupted.1764772222

Exit code 0 if nothing is wrong, 1 if something is.")]
pub(crate) struct JournalDoctorArguments {
    /// Repair what can be repaired without loss
    #[arg(long)]
    pub(crate) repair: bool,

    /// Put a file that was set aside back as the active entry, once it can be read
    #[arg(long, value_name = "NAME", conflicts_with = "repair")]
    pub(crate) restore: Option<String>,

    #[command(flatten)]
    pub(crate) printed: Printed,
}

pub(super) fn run(
    arguments: &JournalDoctorArguments,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<ExitCode, CommandError> {
    if let Some(name) = &arguments.restore {
        restore(name, arguments.printed.format, context, terminal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut findings = Vec::new();
    for journal in journals_to_check(context)? {
        // Repairing makes what is missing; there is nothing to repair where there is nothing.
        findings.extend(if arguments.repair && journal.dir().is_dir() {
            JournalContext::value_of(journal.repair(&now()), terminal)?
        } else {
            journal.examine()?
        });
    }
    match arguments.printed.format {
        Format::Json => {
            let data: Vec<Value> = findings.iter().map(data).collect();
            terminal.json(&json!({ "healthy": findings.is_empty(), "findings": data }))?;
        }
        Format::Text => terminal.print(&text(&findings, context))?,
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The lane that was named, else the journal and all its lanes.
fn journals_to_check(context: &JournalContext) -> Result<Vec<Journal>, CommandError> {
    let journal = &context.journal;
    let mut journals_to_check = vec![journal.clone()];
    if journal.lane_name().is_none() {
        for lane in journal.lanes()? {
            journals_to_check.push(journal.clone().lane(&lane)?);
        }
    }
    Ok(journals_to_check)
}

fn restore(
    name: &str,
    format: Format,
    context: &JournalContext,
    terminal: &mut Terminal,
) -> Result<(), CommandError> {
    let entry = JournalContext::value_of(context.journal.restore(name, &now()), terminal)?;
    let changed = Changed::new(&entry, context.journal.lane_name(), &[]);
    match format {
        Format::Json => terminal.json(&changed),
        Format::Text => terminal.print(&changed_text(&changed, "restored")),
    }
}

fn data(finding: &Finding) -> Value {
    json!({
        "problem": format!("{:?}", finding.problem),
        "path": finding.path,
        "line": finding.line,
        "detail": finding.detail,
        "repairable": finding.problem.is_repairable(),
    })
}

fn text(findings: &[Finding], context: &JournalContext) -> String {
    if findings.is_empty() {
        return format!("{}: nothing is wrong\n", context.journal.dir().display());
    }
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.problem.is_repairable() { " (can be repaired)" } else { "" };
        text += &format!("{}{mark}\n", shorten(&finding.to_string(), 400));
    }
    if findings.iter().any(|finding| finding.problem.is_repairable()) {
        text += "`proctor journal doctor --repair` repairs what can be repaired without loss\n";
    }
    text
}
