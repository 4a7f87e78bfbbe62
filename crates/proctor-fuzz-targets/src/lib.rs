//! What fuzzing feeds arbitrary bytes to: one function for each reader of files, lines and streams that somebody else may have written.
//!
//! A target must return for any input, and may assert what holds for any input. `fuzz/` calls them under libFuzzer (`bench/fuzz/run`);
//! the corpora in `fuzz/corpus/NAME` are replayed by the test below.

use proctor_compare::{Assessment, EarlierRuns, Rules, Side};
use proctor_dialogue::{Expression, RowFormat, RowsError, Scope, Transcript};
use proctor_events::StableIds;
use proctor_llm::sse::SseDecoder;
use proctor_llm::wire::Dialect;
use proctor_record::RunInfo;
use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;

/// A reader that is given any bytes.
pub type Target = fn(&[u8]);

/// All targets by name; the name is that of the corpus, too.
pub const TARGETS: &[(&str, Target)] = &[
    ("baseline", baseline),
    ("cassette", proctor_llm::fuzzing::cassette),
    ("command_line", proctor_journal::fuzzing::command_line),
    ("configuration", configuration),
    ("destinations", proctor_record::fuzzing::destinations),
    ("event_reader", proctor_record::fuzzing::event_reader),
    ("expression", expression),
    ("hook_input", proctor_journal::fuzzing::hook_input),
    ("host", host),
    ("journal", proctor_journal::fuzzing::entries),
    ("journal_import", proctor_journal::fuzzing::journal_import),
    ("mcp_line", mcp_line),
    ("model_stream", model_stream),
    ("model_texts", proctor_workspace::fuzzing::model_texts),
    ("ralph_configuration", proctor_workspace::fuzzing::ralph_configuration),
    ("ralph_outputs", proctor_workspace::fuzzing::ralph_outputs),
    ("recording_index", proctor_record::fuzzing::recording_index),
    ("rows", rows),
    ("rpc_line", proctor_process::fuzzing::check_framer),
    ("ruby", ruby),
    ("run_info", run_info),
    ("scenario", scenario),
    ("session", proctor_workspace::fuzzing::session),
    ("test_output", proctor_journal::fuzzing::test_output),
    ("test_report", proctor_journal::fuzzing::test_report),
    ("tool_arguments", proctor_workspace::fuzzing::tool_arguments),
    ("workspace_cassette", proctor_workspace::fuzzing::workspace_cassette),
    ("workspace_file", workspace_file),
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

fn with_text(data: &[u8], read: impl FnOnce(&str)) {
    if let Ok(text) = std::str::from_utf8(data) {
        read(text);
    }
}

/// A scenario file; problems are written out with their place.
fn scenario(data: &[u8]) {
    with_text(data, |text| match proctor_dialogue::parse(text, "a.scenario.yaml") {
        Ok(scenario) => {
            let mut no_files = |_: &str| Err(RowsError::UnknownEnding);
            drop(scenario.examples(&mut StableIds::default(), &mut no_files));
        }
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            for problem in &problems {
                drop((problem.place(), problem.details()));
            }
        }
    });
}

fn workspace_file(data: &[u8]) {
    with_text(data, |text| match proctor_workspace::file::read("a.workspace.yaml", text) {
        Ok(_) => {}
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            for problem in &problems {
                drop((problem.place(), problem.details()));
            }
        }
    });
}

/// The first byte chooses the format.
fn rows(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let format = match choice % 3 {
        0 => RowFormat::Csv,
        1 => RowFormat::Json,
        _ => RowFormat::Yaml,
    };
    with_text(data, |text| drop(proctor_dialogue::parse_rows(text, format)));
}

/// A CEL expression, compiled and evaluated over a conversation without turns.
fn expression(data: &[u8]) {
    with_text(data, |text| {
        if let Ok(expression) = Expression::new(text) {
            let transcript = Transcript::default();
            drop(proctor_dialogue::evaluate(&expression, &transcript, &Scope::Conversation));
        }
    });
}

/// `proctor.toml`.
fn configuration(data: &[u8]) {
    with_text(data, |text| {
        if let Err(error) = proctor_config::parse(text, "proctor.toml") {
            assert!(!error.to_string().is_empty());
        }
    });
}

/// The header Host. A name that is taken for this machine is spelled like one, with nothing but a port behind it.
fn host(data: &[u8]) {
    with_text(data, |text| {
        let Some(name) = proctor_text::host_name(text) else { return };
        let bracketed = format!("[{name}]");
        let rest = text.strip_prefix(&bracketed).or_else(|| text.strip_prefix(name));
        let rest = rest.unwrap_or_else(|| panic!("{name:?} does not begin {text:?}"));
        let port = rest.strip_prefix(':').unwrap_or(rest);
        assert!(port.bytes().all(|byte| byte.is_ascii_digit()), "{rest:?} follows the host");
        if proctor_text::is_loopback_name(name) {
            let is_known = name.eq_ignore_ascii_case("localhost")
                || name.starts_with("127.")
                || name.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.is_loopback());
            assert!(is_known, "{name:?} is taken for this machine");
        }
    });
}

/// A line of a client of MCP, as the server reads it.
fn mcp_line(data: &[u8]) {
    proctor_process::fuzzing::check_json_rpc_line::<RxJsonRpcMessage<RoleServer>>(data);
}

/// A stored baseline, compared with itself: nothing is worse than itself.
fn baseline(data: &[u8]) {
    with_text(data, |text| {
        let Ok(side) = Side::from_json(text) else { return };
        let compared =
            proctor_compare::compare(&side, &side, &EarlierRuns::default(), &Rules::default());
        assert!(
            !matches!(compared.verdict, Assessment::Regression | Assessment::Improvement),
            "it differs from itself"
        );
    });
}

fn run_info(data: &[u8]) {
    if let Ok(info) = serde_json::from_slice::<RunInfo>(data) {
        let text = serde_json::to_vec(&info).unwrap_or_default();
        let again = serde_json::from_slice::<RunInfo>(&text);
        assert!(again.is_ok_and(|again| again == info), "it is not read again as the same");
    }
}

/// The longest event of a stream here.
const EVENT_LIMIT: usize = 1 << 16;

/// A streamed answer of a model. The first byte chooses the dialect, the second the size of the pieces in which it arrives.
fn model_stream(data: &[u8]) {
    let (head, stream) = data.split_at(data.len().min(2));
    let &[choice, size] = head else { return };
    let dialect = if choice % 2 == 0 { Dialect::Anthropic } else { Dialect::OpenAi };
    let (mut events, mut answer) = (SseDecoder::new(EVENT_LIMIT), dialect.stream_decoder());
    for piece in stream.chunks(usize::from(size).max(1)) {
        if events.push(piece).is_err() {
            return;
        }
        while let Some(event) = events.next_event() {
            if answer.event(&event).is_err() {
                return;
            }
        }
    }
    if let Some(event) = events.finish()
        && answer.event(&event).is_err()
    {
        return;
    }
    drop(answer.finish());
}

/// Ruby source through everything that reads it.
fn ruby(data: &[u8]) {
    drop(proctor_ruby::analyze(data));
    drop(proctor_ruby::collect_literals(data));
    drop(proctor_ruby::collect_usage_literals(data));
    drop(proctor_ruby::mutants(data));
    drop(proctor_ruby::instrument(data, 1));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_corpus_is_read() {
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        for (name, target) in TARGETS {
            let files = std::fs::read_dir(corpora.join(name)).unwrap();
            let count =
                files.map(|file| target(&std::fs::read(file.unwrap().path()).unwrap())).count();
            assert!(count >= 3, "{name} has {count} seeds");
        }
        for folder in std::fs::read_dir(&corpora).unwrap() {
            let name = folder.unwrap().file_name().into_string().unwrap();
            assert!(target(&name).is_some(), "no target reads the corpus {name}");
        }
    }
}
