//! What the analysis says about every Ruby file below some folders: `cargo run --release -p proctor-ruby --example facts -- FOLDER…`.
//!
//! Prints a fingerprint of the facts of each file, sorted by path, so that two versions of the analysis can be
//! compared (`--json` prints the facts themselves).
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let whole = arguments.iter().any(|argument| argument == "--json");
    let mut folders: Vec<PathBuf> =
        arguments.iter().filter(|argument| *argument != "--json").map(PathBuf::from).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rb") {
                files.push(path);
            }
        }
    }
    files.sort();
    for path in files {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let facts = serde_json::to_string(&proctor_ruby::analyze(&bytes)).unwrap_or_default();
        if whole {
            println!("{} {facts}", path.display());
        } else {
            let sum: String =
                Sha256::digest(&facts).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            println!("{sum} {}", path.display());
        }
    }
}
