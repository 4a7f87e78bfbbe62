//! RSpec's own formatters: where their output goes, and what that means for the view of the run.
//!
//! The suite runs them at the end, over the recording. What they write to standard output is collected in a file of the run's folder and
//! printed when the view has said its last word. If the command line names a formatter without a file, standard output is theirs
//! alone, and the view goes to standard error.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use proctor_runner::FinalReport;

use crate::error::CommandError;
use crate::terminal::Terminal;

/// What the suites need to run formatters over the recording of this run.
pub(super) fn final_report(folder: &Path, recording: PathBuf, terminal: &Terminal) -> FinalReport {
    FinalReport {
        recording,
        output: output_path(folder),
        is_terminal: std::io::stdout().is_terminal() && terminal.style().color,
    }
}

fn output_path(folder: &Path) -> PathBuf {
    folder.join("formatters.out")
}

/// Prints what formatters have written to standard output, if they have, and removes the file.
pub(super) fn print_output(folder: &Path, terminal: &mut Terminal) -> Result<(), CommandError> {
    let path = output_path(folder);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = std::fs::remove_file(&path) {
        terminal.warn(&format!("cannot remove {}: {error}", path.display()));
    }
    terminal.print_bytes_if_read(&bytes)
}

/// Whether RSpec's options name a formatter that writes to standard output: one that no `--out` follows.
pub(super) fn take_stdout(options: &[String]) -> bool {
    let mut open = false;
    let mut words = options.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if let Some(attached) = option(word, 'f', &["--format", "--forma", "--form"]) {
            if open {
                return true;
            }
            open = true;
            if attached.is_empty() {
                words.next();
            }
        } else if let Some(attached) = option(word, 'o', &["--out", "--ou"]) {
            open = false;
            if attached.is_empty() {
                words.next();
            }
        }
    }
    open
}

/// The value that is attached to an option, empty if it is the next word; `None` if this is another option.
fn option<'a>(word: &'a str, short: char, long: &[&str]) -> Option<&'a str> {
    if let Some(name) = word.strip_prefix("--") {
        let (name, value) = name.split_once('=').unwrap_or((name, ""));
        return long.iter().any(|known| known[2..] == *name).then_some(value);
    }
    word.strip_prefix('-')?.strip_prefix(short)
}

#[cfg(test)]
mod tests {
    use super::take_stdout;

    #[test]
    fn a_formatter_without_a_file_takes_standard_output() {
        let takes = |line: &str| {
            take_stdout(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        for line in [
            "--format doc",
            "-f d",
            "-fd",
            "--format=doc",
            "--form doc",
            "--format json --out a.json -f doc",
            "-f doc --format json --out a.json",
            "-f doc --out a -f -o",
        ] {
            assert!(takes(line), "{line}");
        }
        for line in [
            "",
            "--seed 1",
            "--format json --out a.json",
            "-fj -oa.json",
            "-f j -o a.json --format=html --out=b.html",
            "--force-color --fail-fast",
            "--failure-exit-code 3 --only-failures --order defined",
        ] {
            assert!(!takes(line), "{line}");
        }
    }
}
