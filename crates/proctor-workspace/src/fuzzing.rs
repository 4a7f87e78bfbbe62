//! Entry points of fuzz targets. Not part of the public interface.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::assertion::check_all;
use crate::cassette::Cassette;
use crate::mock::prompt::Prompt;
use crate::mock::{script, tags};
use crate::orchestrator::ralph::{self, config};
use crate::orchestrator::{Backend, Collected};
use crate::session::{self, SessionRecord, merge, view};
use crate::{
    AssertParams, CleanupParams, DiffParams, FilePatterns, InspectParams, MockBackendParams,
    RunParams, SetupParams, SnapshotParams,
};

/// The configuration of an orchestrator that the fixtures of a test bring along.
pub fn ralph_configuration(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(file) = config::read_file("ralph.yml", &text) else { return };
    let Ok(configured) = config::configured(file, &Value::Null) else { return };
    for backend in [Backend::Mock, Backend::Claude] {
        drop(config::limits(&configured, backend));
        let document = config::merged(configured.clone(), backend);
        drop(config::scratchpad_path(&document));
        let topology = config::topology(&document);
        drop((topology.hat_names(), topology.trigger_warnings(), topology.targets("build.done")));
    }
}

/// What an orchestrator left behind, merged into one session: its recording, its events file and the log of its hooks, each ended by a
/// line `---`.
pub fn ralph_outputs(data: &[u8]) {
    let mut parts = split_documents(data);
    let mut next = || parts.next().unwrap_or_default();
    let mut collected = Collected::default();
    ralph::read_recording(next(), &mut collected);
    ralph::read_events_file(next(), &mut collected);
    ralph::read_hooks(next(), &mut collected);
    let records = merge::merge(&collected.sources);
    let text = session::to_text(&records);
    let again = session::from_text(text.as_bytes(), "session.jsonl");
    assert!(again.is_ok_and(|again| again == records), "it is not read again as the same");
    view_session(&records);
}

fn split_documents(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    const SEPARATOR: &[u8] = b"---\n";
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let place = text.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let Some(place) = place else { return Some(text) };
        rest = Some(&text[place + SEPARATOR.len()..]);
        Some(&text[..place])
    })
}

/// A session file that may have been changed after the run.
pub fn session(data: &[u8]) {
    if let Ok(records) = session::from_text(data, "session.jsonl") {
        view_session(&records);
    }
}

fn view_session(records: &[SessionRecord]) {
    let filter = crate::Filter::default();
    drop((view::summary(records), view::hats(records)));
    if let Ok(filter) = filter.check() {
        drop(view::timeline(records, &filter));
    }
}

/// A cassette that is replayed instead of a model.
pub fn workspace_cassette(data: &[u8]) {
    let Ok(cassette) = serde_json::from_slice::<Cassette>(data) else { return };
    if cassette.check().is_ok() {
        drop(script::check(&cassette.responses(), None));
    }
}

/// A prompt and an answer of the scripted model: sections and event tags.
pub fn model_texts(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let (events, rest) = tags::split(&text);
    assert!(rest.len() <= text.len(), "{} events", events.len());
    drop(Prompt::of(text));
}

/// Arguments of the test tools, up to where they would do something. The first byte chooses the tool.
pub fn tool_arguments(data: &[u8]) {
    let Some((choice, json)) = data.split_first() else { return };
    match choice % 8 {
        0 => drop(read::<SetupParams>(json)),
        1 => {
            if let Some(params) = read::<MockBackendParams>(json) {
                drop(script::check(&params.responses, None));
            }
        }
        2 => drop(read::<RunParams>(json)),
        3 => {
            if let Some(params) = read::<AssertParams>(json) {
                drop(check_all(&params.assertions));
            }
        }
        4 => drop(read::<InspectParams>(json)),
        5 => {
            if let Some(params) = read::<SnapshotParams>(json) {
                drop(FilePatterns::new(&params.include_patterns));
            }
        }
        6 => drop(read::<DiffParams>(json)),
        _ => drop(read::<CleanupParams>(json)),
    }
}

fn read<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    // As a server gets them: first any JSON, then the parameters of one tool.
    let value: Value = serde_json::from_slice(json).ok()?;
    serde_json::from_value(value).ok()
}
