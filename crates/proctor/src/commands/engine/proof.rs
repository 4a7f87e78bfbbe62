//! What this checkout would run, as facts that machines compare.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use proctor_process::git::Git;
use proctor_runner::CodeProof;
use sha2::{Digest as _, Sha256};

use crate::commands::run::fingerprint;
use crate::config::Config;
use crate::error::CommandError;

/// Files that say which versions of libraries are used. Git may not know them.
const LOCK_FILES: &[&str] = &[
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "gems.locked",
    "go.sum",
    "mix.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "requirements.txt",
    "uv.lock",
    "yarn.lock",
];

/// The facts about the checkout of this project.
pub(crate) fn of_checkout(root: &Path, config: &Config) -> Result<CodeProof, CommandError> {
    let git = Git::with_user_settings(root);
    let query = |arguments: &[&str]| {
        git.query(arguments)
            .map_err(|error| CommandError::system(format_args!("git does not answer: {error}")))
    };
    let unknown = || {
        CommandError::refused(format_args!(
            "{} is in no git repository with a commit: machines show by it that they run the same code",
            root.display()
        ))
    };
    let commit = query(&["rev-parse", "HEAD"])?.ok_or_else(unknown)?;
    let top = query(&["rev-parse", "--show-toplevel"])?.ok_or_else(unknown)?;
    let top = PathBuf::from(String::from_utf8_lossy(&top).trim());
    let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
    let status = query(&status)?.ok_or_else(unknown)?;
    Ok(CodeProof::default()
        .with("proctor", env!("CARGO_PKG_VERSION"))
        .with("commit", String::from_utf8_lossy(&commit).trim())
        .with("uncommitted changes", changes(&status, &top)?)
        .with("lock files", lock_files(root)?)
        .with("proctor.toml", fingerprint::of_configuration(config)))
}

/// The uncommitted changes in short: how many files, and a digest of their names and contents.
fn changes(status: &[u8], top: &Path) -> Result<String, CommandError> {
    let status = String::from_utf8_lossy(status);
    let entries = status.split('\0').filter_map(|entry| entry.get(3..));
    let ours = |path: &&str| path.split('/').any(|part| part == ".proctor");
    let files: BTreeSet<&str> = entries.filter(|path| !ours(path)).collect();
    if files.is_empty() {
        return Ok("none".to_owned());
    }
    let mut digest = Sha256::new();
    for file in &files {
        add_file(&mut digest, top, file)?;
    }
    Ok(format!("{} with digest {}", files.len(), short(digest)))
}

fn lock_files(root: &Path) -> Result<String, CommandError> {
    let present: Vec<&str> =
        LOCK_FILES.iter().copied().filter(|name| root.join(name).is_file()).collect();
    if present.is_empty() {
        return Ok("none".to_owned());
    }
    let mut digest = Sha256::new();
    for name in &present {
        add_file(&mut digest, root, name)?;
    }
    Ok(format!("{} with digest {}", present.join(", "), short(digest)))
}

/// Adds the name of a file and what stands in it; a file that is gone has another mark than an empty one.
fn add_file(digest: &mut Sha256, folder: &Path, name: &str) -> Result<(), CommandError> {
    digest.update(name);
    digest.update([0xff]);
    let path = folder.join(name);
    match std::fs::symlink_metadata(&path) {
        Err(_) => digest.update("gone"),
        Ok(found) if found.is_symlink() => {
            let target = std::fs::read_link(&path).unwrap_or_default();
            digest.update(target.to_string_lossy().as_bytes());
        }
        Ok(found) if found.is_file() => {
            let mut file = std::fs::File::open(&path)
                .map_err(|error| CommandError::io("read", &path, error))?;
            let mut piece = vec![0; 64 * 1024];
            loop {
                let read = file.read(&mut piece);
                let read = read.map_err(|error| CommandError::io("read", &path, error))?;
                if read == 0 {
                    break;
                }
                digest.update(&piece[..read]);
            }
        }
        Ok(_) => digest.update("other"),
    }
    digest.update([0xfe]);
    Ok(())
}

fn short(digest: Sha256) -> String {
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
