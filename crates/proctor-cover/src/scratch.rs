//! Scratch copies of a project: what runs there never reaches the user's tree.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Folders that are not needed to run a library's code.
const SKIPPED_FOLDERS: &[&str] = &[
    ".git",
    ".proctor",
    "node_modules",
    "tmp",
    "log",
    "coverage",
    "target",
    ".bundle",
    "pkg",
    "doc",
];
/// Larger files are left out.
const FILE_LIMIT: u64 = 5 << 20;

/// A new folder that only this user can enter, in `parent` or where temporary files go. It is removed when it is dropped.
pub(crate) fn private_folder(prefix: &str, parent: Option<&Path>) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    }
}

/// Copies a project. Links are followed only inside of it.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let root = from.canonicalize()?;
    copy_folder(&root, &root, to, 0)
}

fn copy_folder(root: &Path, from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    proctor_files::create_private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let path = entry.path();
        let Ok(real) = path.canonicalize() else { continue };
        if depth > 24
            || !real.starts_with(root)
            || SKIPPED_FOLDERS.iter().any(|left_out| name == *left_out)
        {
            continue;
        }
        let target = to.join(&name);
        let about = fs::metadata(&path)?;
        if about.is_dir() {
            // A link to a folder above would never end.
            if entry.file_type()?.is_dir() {
                copy_folder(root, &path, &target, depth + 1)?;
            }
        } else if about.is_file() && about.len() <= FILE_LIMIT {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// The Ruby programs, written to a folder.
pub(crate) fn unpack(folder: &Path) -> io::Result<PathBuf> {
    proctor_files::create_private_folder(folder)?;
    for (name, text) in PROGRAMS {
        proctor_files::write_private(&folder.join(name), text)?;
    }
    Ok(folder.to_path_buf())
}

macro_rules! programs {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../ruby/", $name)))),*] };
}

const PROGRAMS: &[(&str, &str)] = programs![
    "database.rb",
    "records.rb",
    "form_values.rb",
    "queries.rb",
    "record_values.rb",
    "keep.rb",
    "record_sights.rb",
    "factories.rb",
    "factory_values.rb",
    "write_factories.rb",
    "rails_effects.rb",
    "shared.rb",
    "settle.rb",
    "probe.rb",
    "guard.rb",
    "clock.rb",
    "world.rb",
    "code.rb",
    "names.rb",
    "tables.rb",
    "stand_ins.rb",
    "double.rb",
    "reach.rb",
    "hosts.rb",
    "delegators.rb",
    "requests.rb",
    "states.rb",
    "sample.rb",
    "render.rb",
    "values.rb",
    "finders.rb",
    "wish.rb",
    "hint.rb",
    "vary.rb",
    "case_lines.rb",
    "children.rb",
    "faults.rb",
    "execute.rb",
    "explore.rb",
    "observe.rb",
    "load.rb",
    "verify.rb",
    "plain_formatter.rb",
    "shifted_clock.rb",
    "review.rb",
    "supplied.rb",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// `proctor-cover-*` had the mode 0755.
    #[test]
    fn s8_scratch_folders_are_private() {
        let folder = private_folder("proctor-cover-", None).unwrap();
        let programs = unpack(&folder.path().join("programs")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(folder.path()), mode(&programs)], [0o700; 2]);
        assert_eq!(mode(&programs.join("load.rb")), 0o600);
    }
}
