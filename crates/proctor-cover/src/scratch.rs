//! Scratch copies of a project: what runs there never reaches the user's tree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

/// Copies a project. Links are followed only inside of it.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let root = from.canonicalize()?;
    copy_folder(&root, &root, to, 0)
}

fn copy_folder(root: &Path, from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    fs::create_dir_all(to)?;
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
    fs::create_dir_all(folder)?;
    for (name, text) in PROGRAMS {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder.to_path_buf())
}

macro_rules! programs {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../ruby/", $name)))),*] };
}

const PROGRAMS: &[(&str, &str)] = programs![
    "keep.rb",
    "shared.rb",
    "settle.rb",
    "probe.rb",
    "guard.rb",
    "clock.rb",
    "world.rb",
    "double.rb",
    "sample.rb",
    "render.rb",
    "values.rb",
    "finders.rb",
    "wish.rb",
    "hint.rb",
    "vary.rb",
    "children.rb",
    "faults.rb",
    "execute.rb",
    "explore.rb",
    "observe.rb",
    "load.rb",
    "verify.rb",
    "review.rb",
];
