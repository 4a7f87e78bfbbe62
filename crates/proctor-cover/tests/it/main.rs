//! The pipeline on real projects with real Ruby.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod document;
mod factories;
mod fill;
mod golden;
mod hostile;
mod objects;
mod ordinary_code;
mod pipeline;
mod pollution;
mod reach;
mod records;
mod rules;
mod samples;
mod schema;
mod search;
mod truth;
mod waves;
mod written_at_8d3abcc;

use std::fs;
use std::path::{Path, PathBuf};

use proctor_cover::{Choice, Effort, Mode, Options, Report};
use proctor_sandbox::Launcher;

/// A project with these files.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Whether all that was written passes, whatever could not be reached.
fn holds(report: &Report) -> bool {
    report.errors.is_empty()
        && report.files.iter().all(|file| file.error.is_none() && file.passed == Some(true))
}

/// The program that confines Ruby.
fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_proctor-test-cover-launcher"), [] as [&str; 0])
}

fn options(root: &Path) -> Options {
    Options {
        root: root.to_path_buf(),
        mode: Mode::All,
        choice: Choice::default(),
        from: None,
        to: None,
        ruby: PathBuf::from("ruby"),
        launcher: Some(launcher()),
        require_confinement: true,
        effort: Effort { tries: 150, seconds: 5.0, mutation_seconds: 10.0, ..Effort::default() },
        again: false,
    }
}
