//! hook: answers an agent's hook, whatever happens.
//!
//! Hosts take exit codes as commands (2 forbids the tool call), so this one exits 0 even when its own command line is
//! wrong, and writes its troubles to `hook.log` in the journal's folder.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use proctor_journal::hook::{LOCK_WAIT, Options, folder_of, read_input};
use proctor_journal::{CHECK_IN, Journal, Moment};

use super::context::{JournalContext, now};
use super::recorded_runs::{recent_result, usable_folder};
use crate::cli::Cli;
use crate::commands::journal::JournalArguments;
use crate::secrets;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Example, in .claude/settings.json (docs/journal.md has the whole of it):
  {\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"proctor journal hook\"}]}]}}

One command for SessionStart, SessionEnd, PreToolUse, PostToolUse and PostToolUseFailure. It always exits 0 and never \
holds up the agent; its own troubles go to hook.log in the journal's folder.

To see it work:
  echo '{\"hook_event_name\": \"SessionStart\", \"session_id\": \"s1\"}' | proctor journal hook")]
pub(crate) struct HookArguments {
    /// Tool calls between two check-ins
    #[arg(long, value_name = "N", default_value_t = CHECK_IN)]
    pub(crate) every: u64,
}

/// The log's name in the journal's folder.
const LOG: &str = "hook.log";

/// Beyond this the log is set aside, replacing the one set aside before.
const LOG_LIMIT: u64 = 256 * 1024;

/// A host sends the output of tools; nothing sensible is longer.
const INPUT_LIMIT: u64 = 64 * 1024 * 1024;

pub(super) fn run(
    arguments: &HookArguments,
    journal: &JournalArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) -> ExitCode {
    let answered = catch_unwind(AssertUnwindSafe(|| answer(arguments, journal, cli, terminal)));
    if answered.is_err() {
        terminal.note("the hook broke; the agent goes on");
    }
    ExitCode::SUCCESS
}

/// Whether a command line that could not be understood was meant to be a hook.
pub(crate) fn is_meant(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let mut words = arguments.into_iter().skip(1);
    let mut command = || {
        loop {
            let word = words.next()?;
            let word = word.to_string_lossy();
            match &*word {
                "--dir" | "--lane" | "--root" | "--color" => drop(words.next()),
                flag if flag.starts_with('-') => {}
                command => return Some(command.to_owned()),
            }
        }
    };
    command().as_deref() == Some("journal") && command().as_deref() == Some("hook")
}

fn answer(
    arguments: &HookArguments,
    journal: &JournalArguments,
    cli: &Cli,
    terminal: &mut Terminal,
) {
    let mut input = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_LIMIT).read_to_end(&mut input);
    // What the host reports is kept: commands and their output.
    let input = secrets::redactor().redact_json_line(&input);
    let parsed = read_input(&input);
    // The host may have started us anywhere; it says where its agent works.
    let place = usable_folder(parsed.as_ref().ok().and_then(folder_of));
    let context = match JournalContext::open_from(place.as_deref(), journal, cli, terminal) {
        Ok(context) => context,
        Err(error) => {
            terminal.report(&error);
            let _ = terminal.line("{}");
            return;
        }
    };
    let options = Options { frequency: arguments.every.max(1) };
    let moment = now();
    let hurried = context.journal.clone().lock_wait(LOCK_WAIT);
    let mut reply = match &parsed {
        Ok(parsed) => hurried.hook_with(parsed, options, &moment, |run| {
            recent_result(run, context.project.as_deref()?)
        }),
        Err(_) => hurried.hook(&input, options, &moment),
    };
    if let Err(error) = read {
        reply.log.push(format!("standard input: {error}"));
    }
    // The host may have closed standard output; ignore.
    let _ = terminal.line(&reply.stdout);
    if !reply.log.is_empty() {
        let text: String =
            reply.log.iter().map(|line| format!("{} {line}\n", moment.now)).collect();
        if let Err(error) = log(&context.root, &text, &moment) {
            terminal.note(&format!("cannot write {LOG}: {error}\n{text}"));
        }
    }
}

fn log(root: &Path, text: &str, moment: &Moment) -> std::io::Result<()> {
    let path = root.join(LOG);
    if !path.exists() {
        // A folder must be marked as a journal before a file of ours makes it look like somebody else's; a change
        // of nothing does that. Should the lock be held, it is one already.
        let _ = Journal::at(root)
            .with_filter(secrets::filter_bytes)
            .lock_wait(LOCK_WAIT)
            .import(b"", moment);
    }
    if std::fs::metadata(&path).is_ok_and(|about| about.len() > LOG_LIMIT) {
        std::fs::rename(&path, root.join(format!("{LOG}.old")))?;
    }
    let mut file = proctor_files::append_private(&path)?;
    file.write_all(secrets::without(text).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::is_meant;

    #[test]
    fn a_hook_is_known_by_its_words() {
        let meant = |line: &str| is_meant(line.split(' ').map(Into::into));
        assert!(meant("proctor journal --lane a hook --evry 3"));
        assert!(meant("proctor --root /a journal hook"));
        assert!(!meant("proctor journal search hook --bogus"));
        assert!(!meant("proctor run journal"));
    }
}
