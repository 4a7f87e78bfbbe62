//! Reports that a command writes: files that are new or changed since it was started.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The report files of a command as they were before it was started. A file that stays as it was belongs to another run.
#[derive(Debug)]
pub struct ReportFiles {
    named: Vec<PathBuf>,
    before: Vec<(PathBuf, Option<SystemTime>)>,
}

/// The reports that a command wrote.
#[derive(Debug, Default)]
pub struct WrittenReports {
    /// The content of each report.
    pub contents: Vec<String>,
    /// Reports that are missing or cannot be read.
    pub problems: Vec<ReportProblem>,
}

/// A report that was named and is not there to be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportProblem {
    /// The file is new and cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// No file of this name, or in this folder, is new.
    #[error("the command did not write {}", .path.display())]
    NotWritten {
        /// The file or folder as it was named.
        path: PathBuf,
    },
}

impl ReportFiles {
    /// Looks at the files before the command is started. Each path is a report or a folder of reports (`*.xml`, `*.json`).
    #[must_use]
    pub fn before(named: &[PathBuf]) -> Self {
        let files = named.iter().flat_map(|path| files(path));
        let before = files.map(|path| (path.clone(), modified(&path))).collect();
        Self { named: named.to_vec(), before }
    }

    /// Reads the files that the command wrote.
    #[must_use]
    pub fn written(&self) -> WrittenReports {
        let mut written = WrittenReports::default();
        for named in &self.named {
            let mut is_written = false;
            for path in files(named).into_iter().filter(|path| self.is_new(path)) {
                is_written = true;
                match proctor_files::read(&path, proctor_files::limits::TOOL_REPORT) {
                    Ok(bytes) => {
                        written.contents.push(String::from_utf8_lossy(&bytes).into_owned());
                    }
                    Err(source) => written.problems.push(ReportProblem::NotRead { path, source }),
                }
            }
            if !is_written {
                written.problems.push(ReportProblem::NotWritten { path: named.clone() });
            }
        }
        written
    }

    fn is_new(&self, path: &Path) -> bool {
        let now = modified(path);
        now.is_some() && !self.before.iter().any(|(old, time)| old == path && *time == now)
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// The file itself, or the reports in a folder, in a fixed order.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let is_report =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "xml" || end == "json");
    let mut files: Vec<_> = folder.flatten().map(|entry| entry.path()).filter(is_report).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_new_and_changed_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["old.xml", "changed.xml"] {
            fs::write(path(name), name).unwrap();
        }
        let reports = ReportFiles::before(&[folder.path().to_owned()]);
        fs::write(path("b.json"), "new b").unwrap();
        fs::write(path("a.xml"), "new a").unwrap();
        fs::write(path("notes.txt"), "not a report").unwrap();
        let later = SystemTime::now() + Duration::from_secs(10);
        let changed = fs::File::options().write(true).open(path("changed.xml")).unwrap();
        changed.set_modified(later).unwrap();
        let written = reports.written();
        assert_eq!(written.contents, ["new a", "new b", "changed.xml"]);
        assert!(written.problems.is_empty(), "{:?}", written.problems);
    }

    #[test]
    fn a_report_that_was_not_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (old, none) = (folder.path().join("old.xml"), folder.path().join("none.xml"));
        fs::write(&old, "old").unwrap();
        let written = ReportFiles::before(&[old.clone(), none.clone()]).written();
        let problems: Vec<String> = written.problems.iter().map(ToString::to_string).collect();
        let expected = [&old, &none].map(|p| format!("the command did not write {}", p.display()));
        assert_eq!(problems, expected);
        assert!(written.contents.is_empty());
    }

    #[test]
    fn a_report_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let reports = ReportFiles::before(&[folder.path().to_owned()]);
        fs::create_dir(folder.path().join("a.xml")).unwrap();
        let written = reports.written();
        assert!(matches!(&written.problems[..], [ReportProblem::NotRead { .. }]), "{written:?}");
    }
}
