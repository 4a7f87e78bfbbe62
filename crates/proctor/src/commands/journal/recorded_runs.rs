//! What the recordings of Proctor's own runs say, for the journal.
//!
//! `proctor journal run` names a file in the environment, to which every run below it appends the path of its folder. A
//! hook comes too late for that and looks for the newest recordings of its project. Either way there must be one
//! recording for each `proctor run` of the command line; else its output is read like that of any other command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proctor_journal::Counts;
use proctor_journal::capture::{
    CommandReading, CommandResult, Program, RecordedResult, StartedProgram,
};
use proctor_record::{RunChoice, RunFolder, RunStore, load_outline};
use proctor_verdict::{RunState, RunVerdict};
use tempfile::NamedTempFile;

use crate::env_vars;

/// How long before a hook a run can have ended.
const RECENT: Duration = Duration::from_secs(30);

/// How many of the newest runs a hook looks at.
const NEWEST: usize = 8;

/// The file that runs write their folders to.
pub(super) struct RunList(Option<NamedTempFile>);

impl RunList {
    /// Without a temporary file the command's output is read instead.
    pub(super) fn new() -> Self {
        Self(NamedTempFile::with_prefix("proctor-runs-").ok())
    }

    /// What the command is to find in its environment.
    pub(super) fn variable(&self) -> Option<(&'static str, &Path)> {
        self.0.as_ref().map(|file| (env_vars::PROCTOR_RUN_LIST.name, file.path()))
    }

    /// What the recordings of a command's runs say.
    pub(super) fn result(&self, run: &CommandResult) -> Option<RecordedResult> {
        let wanted = own_runs(&CommandReading::of_words(&run.argv))?.len();
        let listed = std::fs::read_to_string(self.0.as_ref()?.path()).ok()?;
        let folders: Vec<RunFolder> =
            listed.lines().filter_map(|path| RunFolder::at(Path::new(path))).collect();
        if folders.len() != wanted || listed.lines().count() != wanted {
            return None;
        }
        result_of(&folders)
    }
}

/// Adds a run's folder to the file that the environment names. Whoever asked for it can read the output instead.
pub(in crate::commands) fn list_run(folder: &Path) {
    let Some(path) = env_vars::PROCTOR_RUN_LIST.get_os() else { return };
    let file = std::fs::OpenOptions::new().append(true).open(path);
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{}\n", folder.display()).as_bytes());
    }
}

/// What the recordings say of a command that has just ended in this project.
pub(super) fn recent_result(run: &CommandResult, root: &Path) -> Option<RecordedResult> {
    let command = CommandReading::of_words(&run.argv);
    let wanted = own_runs(&command)?;
    let mut there = RunStore::new(root).list().ok()?;
    let mut newest = there.split_off(there.len().saturating_sub(NEWEST));
    let mut found = Vec::new();
    // The last command made the newest recording.
    for started in wanted.iter().rev() {
        let place = newest.iter().rposition(|folder| is_recent_run_of(folder, started))?;
        found.push(newest.swap_remove(place));
        newest.truncate(place);
    }
    result_of(&found)
}

fn is_recent_run_of(folder: &RunFolder, started: &StartedProgram) -> bool {
    let written = std::fs::metadata(folder.events_path()).and_then(|about| about.modified());
    let is_recent = written.is_ok_and(|time| time.elapsed().map_or(true, |since| since < RECENT));
    is_recent && folder.info().is_ok_and(|info| info.argv.get(1..) == started.words.get(1..))
}

/// The commands of a line, if all that runs tests in it is Proctor.
fn own_runs(command: &CommandReading) -> Option<Vec<&StartedProgram>> {
    let is_own = |started: &&StartedProgram| started.program == Program::Runner("proctor");
    let own: Vec<&StartedProgram> = command.started.iter().filter(is_own).collect();
    (!own.is_empty() && own.len() == command.started.len()).then_some(own)
}

/// All of these runs together: the sum of their numbers, the worst of their exit codes.
fn result_of(folders: &[RunFolder]) -> Option<RecordedResult> {
    let mut all = RecordedResult { counts: Counts::new(0, 0, 0, 0), exit: Some(0), finished: true };
    for folder in folders {
        if folder.is_live() {
            return None;
        }
        let loaded = load_outline(&folder.events_path(), &RunChoice::default()).ok()?;
        let run = loaded.run.closed();
        let one = result(&run.verdict(), &run.summary());
        let (sum, more) = (&all.counts, &one.counts);
        all = RecordedResult {
            counts: Counts::new(
                sum.passed + more.passed,
                sum.failed + more.failed,
                sum.errors + more.errors,
                sum.skipped + more.skipped,
            ),
            exit: all.exit.zip(one.exit).map(|(first, second)| first.max(second)),
            finished: all.finished && one.finished,
        };
    }
    Some(all)
}

/// One run in the journal's four kinds, however it ended.
///
/// What stayed inconclusive is neither passed nor failed, and an error outside examples is no test: both are left to
/// the exit code to object to, which then decides nothing.
pub(super) fn result(verdict: &RunVerdict, counts: &proctor_verdict::Counts) -> RecordedResult {
    RecordedResult {
        counts: Counts::new(
            counts.passed,
            counts.failed,
            counts.errored + counts.crashed + counts.timed_out,
            counts.examples.saturating_sub(
                counts.passed + counts.failed + counts.errored + counts.crashed + counts.timed_out,
            ),
        ),
        exit: verdict.exit_code().map(i32::from),
        finished: verdict.state() == RunState::Finished,
    }
}

/// The folder a hook's host works in, if it is one.
pub(super) fn usable_folder(folder: Option<PathBuf>) -> Option<PathBuf> {
    folder.filter(|folder| folder.is_absolute() && folder.is_dir())
}
