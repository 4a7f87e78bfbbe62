//! The orchestrator's hook: keeps what it says, and restores the scratchpad that a fresh loop deletes.

use std::io::Read as _;
use std::process::ExitCode;

use serde_json::Value;

use super::script::Script;
use super::{Arguments, notes_folder};
use crate::contained_path::{RelPath, Root};
use crate::disk;

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(1024 * 1024).read_to_string(&mut text);
    let Ok(document) = serde_json::from_str::<Value>(&text) else { return ExitCode::FAILURE };
    if document["phase_event"] == "pre.loop.start" {
        restore_scratchpad(arguments);
    }
    let kept = disk::append_line(&notes_folder(&arguments.state).join("hooks.jsonl"), &document);
    if read.is_ok() && kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn restore_scratchpad(arguments: &Arguments) {
    let script = disk::read_json::<Script>(&arguments.state.join("script.json"));
    let Ok(Some(Script { scratchpad: Some((path, text)), workspace, .. })) = script else { return };
    if let (Ok(path), Ok(root)) = (RelPath::parse(&path), Root::open(&workspace)) {
        let _ = root.write(&path, text.as_bytes(), 0o644);
    }
}
