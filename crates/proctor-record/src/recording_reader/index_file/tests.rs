//! What a reader answers must not depend on the index, whatever happened to the index or to the recording.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;

use super::super::{EventBatch, EventFilter, Growth, IndexState, RecordingReader, StreamEvent};
use super::*;
use crate::{Example, RunData, RunInfo, RunStore};

const ALWAYS: IndexRules = IndexRules { smallest: 0, quiet: Duration::ZERO };
const NEVER: IndexRules = IndexRules { smallest: u64::MAX, quiet: Duration::ZERO };

/// A run whose process is gone.
struct DeadRun {
    _project: tempfile::TempDir,
    recording: PathBuf,
    index: PathBuf,
}

impl DeadRun {
    fn new(text: &[u8]) -> Self {
        let project = tempfile::tempdir().unwrap();
        let time = "2026-01-22T10:30:00Z".parse().unwrap();
        let info = RunInfo::new("r".into(), time, Vec::new());
        let (folder, recorder) = RunStore::new(project.path()).create(&info).unwrap();
        drop(recorder);
        let (recording, index) = (folder.events_path(), folder.index_path());
        std::fs::write(&recording, text).unwrap();
        Self { _project: project, recording, index }
    }

    /// A run that has an index.
    fn indexed(text: &[u8]) -> Self {
        let run = Self::new(text);
        assert_eq!(run.read(ALWAYS).index_state, IndexState::Settled);
        assert!(run.index.is_file());
        run
    }

    fn read(&self, rules: IndexRules) -> RecordingReader {
        let mut reader = RecordingReader::with_index_rules(&self.recording, rules);
        read_all(&mut reader);
        reader
    }

    /// Makes a change after the clock of the file system has moved on, as an hour later it would have.
    fn later(&self, change: impl FnOnce()) {
        let changed = |path: &Path| {
            let metadata = std::fs::metadata(path).unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let before = changed(&self.recording);
        let probe = self.recording.with_file_name("probe");
        loop {
            std::fs::write(&probe, "x").unwrap();
            if changed(&probe) > before {
                break;
            }
        }
        change();
    }
}

fn read_all(reader: &mut RecordingReader) {
    while reader.read().unwrap() != Growth::Nothing {}
}

/// Everything a reader can be asked.
#[derive(Debug, PartialEq)]
struct Answers {
    run: RunData,
    counts: (u64, usize, u64),
    events: Vec<Vec<StreamEvent>>,
    places: Vec<(usize, Option<u64>)>,
    examples: Vec<bool>,
    whole: Vec<Example>,
}

fn answers(reader: &RecordingReader) -> Answers {
    let filters = [
        EventFilter::default(),
        EventFilter { examples: vec!["e1".into(), "e5".into()], types: Vec::new() },
        EventFilter { examples: Vec::new(), types: vec!["ExampleFinished".into()] },
    ];
    Answers {
        run: reader.run().clone(),
        counts: (reader.unusable_lines(), reader.event_count(), reader.last_seq()),
        events: filters.iter().map(|filter| events(reader, filter)).collect(),
        places: (0..20)
            .zip(0..)
            .map(|(n, seq)| (reader.place_after(seq * 3), reader.seq_at(n)))
            .collect(),
        examples: (0..9).map(|n| reader.has_example(&format!("e{n}"))).collect(),
        whole: (0..9)
            .map(|n| reader.example(&format!("e{n}"), 0..reader.event_count()).unwrap())
            .collect(),
    }
}

fn events(reader: &RecordingReader, filter: &EventFilter) -> Vec<StreamEvent> {
    let (mut from, mut all) = (0, Vec::new());
    while from < reader.event_count() {
        let (events, next) = match reader.batch(from, filter, 7) {
            EventBatch::InMemory(events, next) => (events, next),
            EventBatch::OnDisk(spans, next) => (spans.read().unwrap(), next),
        };
        all.extend(events);
        from = next;
    }
    all
}

/// A recording with events of every kind that an outline keeps something of, unusable lines, and perhaps a torn last line.
fn recording() -> impl Strategy<Value = Vec<u8>> {
    let line = (0_usize..BODIES.len(), 0_u64..9, 1_u32..4, 0_u64..3, 0_u64..40);
    let torn = prop::sample::select(vec![
        "",
        r#"{"v":1,"seq":900,"event_type":"Progress","completed":1,"total":2,"failures":0}"#,
        r#"{"v":1,"seq":900,"event_ty"#,
    ]);
    (prop::collection::vec(line, 1..60), torn).prop_map(|(lines, torn)| {
        let mut text = Vec::new();
        for (number, (body, example, attempt, gap, nanosecond)) in (1_u64..).zip(lines) {
            let body = BODIES[body];
            if body.starts_with('{') || body.is_empty() {
                text.extend_from_slice(body.as_bytes());
            } else {
                let seq = number * 2 + gap;
                let line = format!(
                    r#"{{"v":1,"seq":{seq},"run_id":"r","time":"2026-01-22T10:30:00.{nanosecond:09}Z","example_id":"e{example}","attempt":{attempt},"worker":{gap},{body},"digest":"0123456789abcdef"}}"#
                );
                text.extend_from_slice(line.as_bytes());
            }
            text.push(b'\n');
        }
        text.extend_from_slice(torn.as_bytes());
        text
    })
}

/// Fields of events, or whole lines.
const BODIES: &[&str] = &[
    r#""event_type":"SuiteStarted","seed":7,"example_count":3,"repetition_count":6,"policy":{"flaky_fails":true}"#,
    r#""event_type":"SuiteFinished","example_count":3,"failure_count":1,"exit_code":1,"duration_ms":0.125,"state":"finished","counts":{"passed":2,"new":[1.50]}"#,
    r#""event_type":"ExampleStarted","path":["A","ü"],"suite":"rspec","file":"./a.rb","tags":["slow"],"pass_rate":0.7"#,
    r#""event_type":"ExampleFinished","status":"failed","fault":"agent","final":true,"duration_ms":1.5,"exception":{"class":"E","message":"no","backtrace":["a"]}"#,
    r#""event_type":"ExampleFinished","status":"from the future","final":false,"signal":9,"message":"m""#,
    r#""event_type":"UserMessage","turn_number":1,"text":"hi","source":"simulator","metadata":{"a":1.10}"#,
    r#""event_type":"AgentResponse","turn_number":1,"text":"ho","duration_ms":3,"tool_calls":[{"name":"t","arguments":{"b":1e400}}]"#,
    r#""event_type":"ToolCallStarted","turn_number":2,"tool_name":"t","tool_call_id":"i","arguments":[1]"#,
    r#""event_type":"ToolCallCompleted","turn_number":2,"tool_name":"t","tool_call_id":"i","result":2"#,
    r#""event_type":"TopicChanged","turn_number":1,"to_topic":"booking","trigger":"tool""#,
    r#""event_type":"SimulationStarted","goal":"g","max_turns":4"#,
    r#""event_type":"SimulationEnded","turn_count":2,"termination_reason":"max_turns""#,
    r#""event_type":"EvaluationRecorded","mode":"soft","name":"polite","passed":null,"score":0.25"#,
    r#""event_type":"InvariantEvaluated","passed":true,"description":"d""#,
    r#""event_type":"ModelCall","backend":"b","purpose":"agent","input_tokens":3,"cost_usd":0.1"#,
    r#""event_type":"WorkerStarted","pid":17"#,
    r#""event_type":"WorkerExited","expected":false"#,
    r#""event_type":"WorkerLog","line":"l""#,
    r#""event_type":"ErrorOutsideExample","phase":"load","message":"m","exception":{"message":"x","code":1}"#,
    r#""event_type":"FromTheFuture","x":1"#,
    r#"{"event_type":"UserMessage","example_id":"e1","turn_number":3,"text":"without number"}"#,
    r#"{"event_type":"#,
    "",
];

/// What may happen to an index or to its recording.
#[derive(Debug, Clone)]
enum Change {
    FlipInIndex(prop::sample::Index, u8),
    TruncateIndex(prop::sample::Index),
    AppendToIndex(Vec<u8>),
    /// The index of the same recording in another run's folder.
    ForeignIndex,
    OtherFormat,
    RemoveIndex,
    /// Another byte in its place; the time of the last write is put back.
    EditRecording(prop::sample::Index, u8),
    TruncateRecording(prop::sample::Index),
    AppendToRecording(&'static str),
    /// Another file with the same bytes but one takes the place of the recording.
    ReplaceRecording(prop::sample::Index, u8),
    RewriteRecording,
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    let tail = prop::sample::select(vec!["x", "\n", "{\"event_type\":\"A\"}\n"]);
    prop_oneof![
        8 => (place(), 1_u8..).prop_map(|(place, bits)| Change::FlipInIndex(place, bits)),
        4 => place().prop_map(Change::TruncateIndex),
        1 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Change::AppendToIndex),
        1 => Just(Change::ForeignIndex),
        1 => Just(Change::OtherFormat),
        1 => Just(Change::RemoveIndex),
        4 => (place(), 1_u8..).prop_map(|(place, bits)| Change::EditRecording(place, bits)),
        2 => place().prop_map(Change::TruncateRecording),
        2 => tail.prop_map(Change::AppendToRecording),
        2 => (place(), 0_u8..).prop_map(|(place, bits)| Change::ReplaceRecording(place, bits)),
        1 => Just(Change::RewriteRecording),
    ]
}

fn flipped(mut bytes: Vec<u8>, place: prop::sample::Index, bits: u8) -> Vec<u8> {
    let place = place.index(bytes.len());
    bytes[place] ^= bits;
    bytes
}

fn with_checksum(mut body: Vec<u8>) -> Vec<u8> {
    let checksum = Sha256::digest(&body);
    body.extend_from_slice(&checksum);
    body
}

fn apply(run: &DeadRun, change: &Change) {
    let (recording, index) = (&run.recording, &run.index);
    let read = |path: &Path| std::fs::read(path).unwrap();
    let write = |path: &Path, bytes: Vec<u8>| std::fs::write(path, bytes).unwrap();
    match change {
        Change::FlipInIndex(place, bits) => write(index, flipped(read(index), *place, *bits)),
        Change::TruncateIndex(place) => {
            let mut bytes = read(index);
            bytes.truncate(place.index(bytes.len()));
            write(index, bytes);
        }
        Change::AppendToIndex(more) => write(index, [read(index), more.clone()].concat()),
        Change::ForeignIndex => {
            let other = DeadRun::indexed(&read(recording));
            write(index, read(&other.index));
        }
        Change::OtherFormat => {
            let mut bytes = read(index);
            bytes.truncate(bytes.len() - CHECKSUM);
            bytes[MAGIC.len()] ^= 1;
            write(index, with_checksum(bytes));
        }
        Change::RemoveIndex => std::fs::remove_file(index).unwrap(),
        Change::EditRecording(place, bits) => {
            let bytes = flipped(read(recording), *place, *bits);
            let file = OpenOptions::new().write(true).open(recording).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            run.later(|| {
                file.write_all_at(&bytes, 0).unwrap();
                file.set_modified(written).unwrap();
            });
        }
        Change::TruncateRecording(place) => {
            let file = OpenOptions::new().write(true).open(recording).unwrap();
            let size = file.metadata().unwrap().len();
            let size = usize::try_from(size).unwrap();
            run.later(|| file.set_len(place.index(size) as u64).unwrap());
        }
        Change::AppendToRecording(tail) => {
            let mut file = OpenOptions::new().append(true).open(recording).unwrap();
            run.later(|| file.write_all(tail.as_bytes()).unwrap());
        }
        Change::ReplaceRecording(place, bits) => {
            let other = recording.with_extension("other");
            write(&other, flipped(read(recording), *place, *bits));
            std::fs::rename(&other, recording).unwrap();
        }
        Change::RewriteRecording => {
            let bytes = read(recording);
            run.later(|| write(recording, bytes));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// An index that fits is used and answers as the recording does.
    #[test]
    fn an_index_answers_as_its_recording_does(text in recording()) {
        // The index of a tiny recording may be longer than the recording and is then not written.
        let padding = format!("{}\n", " ".repeat(1 << 14));
        let run = DeadRun::indexed(&[padding.as_bytes(), &text].concat());
        let reader = run.read(ALWAYS);
        prop_assert_eq!(reader.index_state, IndexState::Used);
        prop_assert_eq!(answers(&reader), answers(&run.read(NEVER)));
    }

    /// What an outline says of where an attempt stands leads to the whole attempt, as one pass over the recording has it.
    #[test]
    fn an_attempt_is_found_by_the_places_of_its_events(text in recording()) {
        let run = DeadRun::new(&text);
        let reader = run.read(NEVER);
        for example in reader.run().examples.iter().filter(|example| example.id.is_some()) {
            let id = example.id.as_ref().unwrap().as_str();
            for attempt in &example.attempts {
                let Some(end) = attempt.end_event else { continue };
                let places = usize::try_from(attempt.first_event).unwrap()
                    ..usize::try_from(end).unwrap() + 1;
                let upto = reader.example(id, 0..places.end).unwrap();
                let found = reader.example(id, places).unwrap();
                let own = |example: &Example| {
                    let mut attempts = example.attempts.iter();
                    let own = attempts.find(|one| one.number() == attempt.number()).unwrap();
                    // Whether an earlier attempt failed is not in these places; places count from the first.
                    crate::Attempt { flaky: false, first_event: 0, end_event: None, ..own.clone() }
                };
                prop_assert_eq!(own(&found), own(&upto));
            }
        }
    }

    /// An index that was damaged, or whose recording was changed, is not used.
    #[test]
    fn no_damage_and_no_change_gives_a_wrong_answer(text in recording(), change in change()) {
        let padding = format!("{}\n", " ".repeat(1 << 14));
        let run = DeadRun::indexed(&[padding.as_bytes(), &text].concat());
        apply(&run, &change);
        let reader = run.read(ALWAYS);
        prop_assert_ne!(reader.index_state, IndexState::Used);
        let without = answers(&run.read(NEVER));
        prop_assert_eq!(&answers(&reader), &without);
        let again = run.read(ALWAYS);
        // A recording of which little is left is shorter than its index would be.
        let is_cut = std::fs::metadata(&run.recording).unwrap().len() < 1 << 14;
        prop_assert!(again.index_state == IndexState::Used || is_cut, "it was written again");
        prop_assert_eq!(&answers(&again), &without);
    }

    /// A reader that began with an index follows the recording like any other.
    #[test]
    fn a_reader_that_began_with_an_index_reads_on(
        text in recording(),
        more in prop::collection::vec(prop::sample::select(vec![
            "\n", "{\"v\":1,\"seq\":950,\"event_type\":\"A\",\"example_id\":\"e8\"}\n", "oops\n",
        ]), 0..4),
    ) {
        let padding = format!("{}\n", " ".repeat(1 << 14));
        let run = DeadRun::indexed(&[padding.as_bytes(), &text].concat());
        let mut reader = run.read(ALWAYS);
        prop_assert_eq!(reader.index_state, IndexState::Used);
        for tail in more {
            let mut file = OpenOptions::new().append(true).open(&run.recording).unwrap();
            file.write_all(tail.as_bytes()).unwrap();
            read_all(&mut reader);
        }
        prop_assert_eq!(answers(&reader), answers(&run.read(NEVER)));
        std::fs::write(&run.recording, "").unwrap();
        read_all(&mut reader);
        prop_assert_eq!(reader.event_count(), 0);
    }

    /// Bytes with the right checksum may hold anything; restoring them never panics and gives no place outside the recording.
    #[test]
    fn forged_contents_give_no_place_outside_the_recording(
        text in recording(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..4),
    ) {
        let run = DeadRun::new(&text);
        let reader = run.read(NEVER);
        let mut stored = Vec::new();
        reader.follower.position().store(&mut stored);
        reader.contents.store(&mut stored);
        for (place, bits) in flips {
            stored = flipped(stored, place, bits);
        }
        let state = *reader.follower.file().opened().unwrap().1;
        if let Some((contents, position)) = decode(&stored, &state) {
            prop_assert!(position.offset <= state.size);
            for row in &contents.index.rows {
                prop_assert!(row.end().unwrap() <= state.size);
            }
            let file = std::sync::Arc::new(File::open(&run.recording).unwrap());
            let all = EventFilter::default();
            let batch = contents.index.batch(0, &all, usize::MAX, Some(&file));
            if let EventBatch::OnDisk(spans, _) = batch {
                // An error is an answer.
                let _ = spans.read();
            }
        }
    }
}

fn one_run(lines: &[&str]) -> Vec<u8> {
    let padding = format!("{}\n", " ".repeat(1 << 14));
    (padding + &lines.join("\n")).into_bytes()
}

/// The outline of an index is that of [`crate::load_outline`] without one, or none.
#[test]
fn an_outline_comes_from_an_index_only_where_it_is_that_of_one_whole_run() {
    let a = r#"{"v":1,"seq":1,"run_id":"a","event_type":"SuiteStarted","example_count":1}"#;
    let end = r#"{"v":1,"seq":2,"run_id":"a","event_type":"SuiteFinished","example_count":1,"failure_count":0}"#;
    let b = r#"{"v":1,"seq":1,"run_id":"b","event_type":"SuiteStarted","seed":7}"#;
    let without_id = r#"{"v":1,"seq":3,"event_type":"WorkerLog","line":"x"}"#;
    let cases: [(&[&str], bool); 8] = [
        (&[a, end, ""], true),
        (&[a, end], true),
        (&[a, end, "", ""], true),
        (&[a, end, "oops", ""], false),
        (&[a, end, "{\"v\""], false),
        (&[a, end, b, ""], false),
        (&[a, without_id, end, ""], false),
        (&[without_id, a, end, ""], false),
    ];
    for (lines, expected) in cases {
        let run = DeadRun::indexed(&one_run(lines));
        let found = RecordingReader::indexed_outline(&run.recording, ALWAYS).unwrap();
        assert_eq!(found.is_some(), expected, "{lines:?}");
        // Too short to have an index by the usual rules.
        let loaded = crate::load_outline(&run.recording, &crate::RunChoice::Last).unwrap();
        if let Some((outline, id)) = found {
            assert_eq!((outline, vec![id.to_string()]), (loaded.run, loaded.runs));
            assert!(loaded.problems.is_empty());
        }
    }
}

fn large_recording() -> Vec<u8> {
    let line = |seq: u64| {
        format!(
            "{{\"v\":1,\"seq\":{seq},\"event_type\":\"WorkerLog\",\"line\":\"{}\"}}\n",
            "x".repeat(200)
        )
    };
    (1..200).map(line).collect::<String>().into_bytes()
}

#[test]
fn small_recent_and_growing_recordings_have_no_index() {
    let run = DeadRun::new(&large_recording());
    run.read(IndexRules { smallest: 1 << 20, quiet: Duration::ZERO });
    run.read(IndexRules { smallest: 0, quiet: Duration::from_hours(1) });
    let mut reader = RecordingReader::with_index_rules(&run.recording, ALWAYS);
    assert_eq!(reader.read().unwrap(), Growth::More);
    let mut file = OpenOptions::new().append(true).open(&run.recording).unwrap();
    file.write_all(b"{\"event_type\":\"A\"}\n").unwrap();
    read_all(&mut reader);
    assert!(!run.index.exists());
}

#[test]
fn a_recording_whose_writer_lives_has_no_index() {
    let run = DeadRun::new(&large_recording());
    let recorder = crate::JsonlRecorder::append(&run.recording).unwrap();
    run.read(ALWAYS);
    assert!(!run.index.exists());
    drop(recorder);
    run.read(ALWAYS);
    assert!(run.index.exists());
}

#[test]
fn a_file_that_is_in_no_folder_of_a_run_has_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    std::fs::write(&path, large_recording()).unwrap();
    let mut reader = RecordingReader::with_index_rules(&path, ALWAYS);
    read_all(&mut reader);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The first reader of an outline leaves an index under the rules of every other reader, and the next one uses it.
#[test]
fn an_outline_is_indexed_when_it_is_first_read() {
    let a = r#"{"v":1,"seq":1,"run_id":"a","event_type":"SuiteStarted","example_count":1}"#;
    let end = r#"{"v":1,"seq":2,"run_id":"a","event_type":"SuiteFinished","example_count":1,"failure_count":0}"#;
    let outline = |run: &DeadRun, rules| RecordingReader::indexed_outline(&run.recording, rules);
    let run = DeadRun::new(&one_run(&[a, end, ""]));
    for rules in [NEVER, IndexRules { smallest: 0, quiet: Duration::from_hours(1) }] {
        assert!(outline(&run, rules).unwrap().is_none() && !run.index.exists());
    }
    let recorder = crate::JsonlRecorder::append(&run.recording).unwrap();
    assert!(outline(&run, ALWAYS).unwrap().is_none() && !run.index.exists(), "its writer lives");
    drop(recorder);
    let first = outline(&run, ALWAYS).unwrap();
    assert!(first.is_some() && run.index.exists());
    assert_eq!(run.read(ALWAYS).index_state, IndexState::Used);
    assert_eq!(outline(&run, ALWAYS).unwrap(), first);
}

const FORGED_EVENT: &str = "WorkerLie";

/// How many events of a type a reader finds that the recording does not have.
fn forged_events(reader: &RecordingReader) -> usize {
    let types = vec![FORGED_EVENT.to_owned()];
    events(reader, &EventFilter { examples: Vec::new(), types }).len()
}

/// A run whose index names another type of events than its recording, with a checksum that fits.
fn forged_run(text: &[u8]) -> DeadRun {
    let run = DeadRun::indexed(text);
    let mut forged = std::fs::read(&run.index).unwrap();
    forged.truncate(forged.len() - CHECKSUM);
    let place = memchr::memmem::find(&forged, b"WorkerLog").unwrap();
    forged[place..place + FORGED_EVENT.len()].copy_from_slice(FORGED_EVENT.as_bytes());
    std::fs::write(&run.index, with_checksum(forged)).unwrap();
    run
}

/// A forged index answers wrongly, so it must not be used where others than the owner may have written it.
#[test]
fn an_index_that_others_may_have_forged_is_not_used() {
    let run = forged_run(&large_recording());
    assert_eq!(forged_events(&run.read(ALWAYS)), 199, "the forgery works");
    let forged = std::fs::read(&run.index).unwrap();
    for mode in [0o620, 0o602, 0o666] {
        std::fs::write(&run.index, &forged).unwrap();
        std::fs::set_permissions(&run.index, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(forged_events(&run.read(ALWAYS)), 0, "{mode:o}");
        assert_eq!(run.read(ALWAYS).index_state, IndexState::Used, "it was written again");
    }
    let metadata = std::fs::metadata(&run.index).unwrap();
    let (own, other) = (metadata.uid(), metadata.uid() + 1);
    assert!(is_trusted(&metadata, [other, own]) && is_trusted(&metadata, [own, other]));
    assert!(!is_trusted(&metadata, [other, other]));
}

/// What is validated is the recording, whatever an index says.
#[test]
fn a_validation_uses_no_index() {
    let text = large_recording().repeat(25);
    let run = forged_run(&text);
    let mut reader = RecordingReader::new(&run.recording);
    read_all(&mut reader);
    assert!(forged_events(&reader) > 0, "other readers would use this index");
    let beside_forgery = format!("{:?}", crate::validate_file(&run.recording).unwrap());
    std::fs::remove_file(&run.index).unwrap();
    let alone = format!("{:?}", crate::validate_file(&run.recording).unwrap());
    assert_eq!(beside_forgery, alone);
    assert!(!run.index.exists(), "a validation writes none");
}

#[test]
fn an_index_is_as_private_as_its_recording() {
    for (mode, expected) in [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o664, 0o644)] {
        let run = DeadRun::new(&large_recording());
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&run.recording, permissions).unwrap();
        run.read(ALWAYS);
        let metadata = std::fs::metadata(&run.index).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, expected);
        assert_eq!(run.read(ALWAYS).index_state, IndexState::Used);
    }
}

/// A folder that cannot be written to, a link, a pipe: the recording is read, and nothing is written through them.
#[test]
fn what_stands_in_the_place_of_an_index_does_no_harm() {
    let read = |run: &DeadRun| {
        let reader = run.read(ALWAYS);
        assert_ne!(reader.index_state, IndexState::Used);
        assert_eq!(reader.event_count(), 199);
    };
    let run = DeadRun::indexed(&large_recording());
    let elsewhere = run.index.with_file_name("elsewhere");
    std::fs::rename(&run.index, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &run.index).unwrap();
    let before = std::fs::read(&elsewhere).unwrap();
    read(&run);
    assert_eq!(std::fs::read(&elsewhere).unwrap(), before);
    std::fs::remove_file(&run.index).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &run.index, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    read(&run);
    std::fs::remove_file(&run.index).unwrap();
    std::fs::create_dir(&run.index).unwrap();
    read(&run);
    assert!(run.index.is_dir(), "an index that cannot be written is no error");
}

/// An index must never be larger than what it saves reading.
#[test]
fn an_index_is_smaller_than_its_recording() {
    let run = DeadRun::indexed(&large_recording());
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&run.index) * 10 < size(&run.recording));
}
