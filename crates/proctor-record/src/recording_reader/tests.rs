use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use proctor_events::Event;
use proptest::prelude::*;

use super::recording_file::CHUNK;
use super::*;
use crate::reader::{Entry, ProblemKind, Reader};

fn event(seq: u64, example: &str, kind: &str, filling: usize) -> String {
    format!(
        r#"{{"v":1,"seq":{seq},"event_type":"{kind}","example_id":"{example}","line":"{}"}}"#,
        "x".repeat(filling)
    )
}

fn reader_of(text: &[u8]) -> (tempfile::NamedTempFile, RecordingReader) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let mut reader = RecordingReader::new(file.path());
    while reader.read().unwrap() != Growth::Nothing {}
    (file, reader)
}

fn batch_of(
    reader: &RecordingReader,
    from: usize,
    filter: &EventFilter,
    limit: usize,
) -> (Vec<StreamEvent>, usize) {
    match reader.batch(from, filter, limit) {
        EventBatch::InMemory(events, next) => (events, next),
        EventBatch::OnDisk(spans, next) => (spans.read().unwrap(), next),
    }
}

/// Everything a client gets from a place on, in batches.
fn read_all(
    reader: &RecordingReader,
    mut from: usize,
    filter: &EventFilter,
    limit: usize,
) -> Vec<u64> {
    let mut seqs = Vec::new();
    while from < reader.event_count() {
        let (events, next) = batch_of(reader, from, filter, limit);
        assert!(next > from, "every batch makes progress");
        for sent in events {
            assert_eq!(Event::from_json(&sent.text).unwrap().seq, Some(sent.seq));
            seqs.push(sent.seq);
        }
        from = next;
    }
    seqs
}

#[test]
fn unusable_blank_and_torn_lines_cost_nothing_but_themselves() {
    let text = format!("{}\noops\n\n{}\n{{\"torn\"", event(1, "a", "A", 0), event(2, "a", "B", 0));
    let (_file, reader) = reader_of(text.as_bytes());
    assert_eq!((reader.event_count(), reader.unusable_lines()), (2, 1));
    assert_eq!(read_all(&reader, 0, &EventFilter::default(), 10), [1, 2]);
}

#[test]
fn older_forms_are_put_into_todays() {
    let (_file, reader) = reader_of(b"{\"event_type\":\"UserMessage\",\"example_id\":\"a\",\"turn_number\":1,\"text\":\"hi\"}\n");
    let (events, _) = batch_of(&reader, 0, &EventFilter::default(), 10);
    assert!(events[0].text.contains("\"seq\":1"), "{}", events[0].text);
}

/// Streams carry no digest, whether an event comes from memory or from the file.
#[test]
fn digests_stay_in_the_file() {
    let line = event(1, "a", "A", 0).replace('}', ",\"digest\":\"0123456789abcdef\"}");
    let (_file, mut reader) = reader_of(format!("{line}\n").as_bytes());
    let all = EventFilter::default();
    let in_memory = batch_of(&reader, 0, &all, 10).0;
    assert_eq!(&*in_memory[0].text, event(1, "a", "A", 0));
    reader.contents.index.recent.forget_oldest();
    assert_eq!(batch_of(&reader, 0, &all, 10).0, in_memory);
}

/// As in [`crate::load`].
#[test]
fn a_last_line_without_line_feed_counts_once_its_writer_is_gone() {
    let (mut file, mut reader) = reader_of(event(1, "a", "A", 0).as_bytes());
    assert_eq!(reader.event_count(), 1);
    assert_eq!(reader.read().unwrap(), Growth::Nothing);
    file.write_all(b"\n").unwrap();
    assert_eq!((reader.read().unwrap(), reader.event_count()), (Growth::More, 1));
    file.write_all(event(2, "a", "A", 0).as_bytes()).unwrap();
    while reader.read().unwrap() != Growth::Nothing {}
    assert_eq!(reader.event_count(), 2);
    file.write_all(b"more").unwrap();
    assert_eq!((reader.read().unwrap(), reader.event_count()), (Growth::Restarted, 0));
    while reader.read().unwrap() != Growth::Nothing {}
    assert_eq!(reader.event_count(), 1, "the second line is no event any more");
}

#[test]
fn a_line_that_is_being_written_waits_for_its_line_feed() {
    let project = tempfile::tempdir().unwrap();
    let time = "2026-01-22T10:30:00Z".parse().unwrap();
    let info = crate::RunInfo::new("r".into(), time, Vec::new());
    let (folder, _recorder) = crate::RunStore::new(project.path()).create(&info).unwrap();
    let mut file = OpenOptions::new().append(true).open(folder.events_path()).unwrap();
    file.write_all(event(1, "a", "A", 0).as_bytes()).unwrap();
    let mut reader = RecordingReader::new(&folder.events_path());
    while reader.read().unwrap() != Growth::Nothing {}
    assert_eq!(reader.event_count(), 0, "its writer lives");
    file.write_all(b"\n").unwrap();
    assert_eq!((reader.read().unwrap(), reader.event_count()), (Growth::More, 1));
}

#[test]
fn a_truncated_file_restarts() {
    let (file, mut reader) = reader_of(format!("{}\n", event(1, "a", "A", 0)).as_bytes());
    std::fs::write(file.path(), "").unwrap();
    assert_eq!((reader.read().unwrap(), reader.event_count()), (Growth::Restarted, 0));
}

#[test]
fn a_line_longer_than_a_chunk_is_read_whole() {
    let text = format!("{}\n{}\n", event(1, "a", "A", 3 * CHUNK), event(2, "a", "A", 0));
    let (_file, reader) = reader_of(text.as_bytes());
    assert_eq!(read_all(&reader, 0, &EventFilter::default(), 10), [1, 2]);
}

#[test]
fn a_file_that_is_created_written_or_replaced_ends_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let other = folder.path().join("other");
    std::fs::write(&other, "{\"event_type\":\"C\"}\n").unwrap();
    let changes: [&dyn Fn(); 3] = [
        &|| std::fs::write(&path, "{\"event_type\":\"A\"}\n").unwrap(),
        &|| {
            let mut file = OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(b"{\"event_type\":\"B\"}\n").unwrap();
        },
        &|| std::fs::rename(&other, &path).unwrap(),
    ];
    let mut follower = RecordingFollower::new(&path);
    follower.wait(Duration::ZERO).unwrap();
    let mut names = Vec::new();
    for change in changes {
        while follower.read(|_| {}).unwrap() != Growth::Nothing {}
        follower.wait(Duration::ZERO).unwrap();
        change();
        let begun = std::time::Instant::now();
        follower.wait(Duration::from_secs(30)).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20), "notified, not timed out");
        while follower.read(|line| names.push(line.event.unwrap().type_name().to_owned())).unwrap()
            != Growth::Nothing
        {}
    }
    assert_eq!(names, ["A", "B", "C"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However batches fall, and wherever memory begins: each wanted event once, in order.
    #[test]
    fn every_wanted_event_exactly_once(
        kinds in prop::collection::vec((0u8..3, 0u8..4, 0usize..200), 1..300),
        since in 0u64..320,
        limit in 1usize..50,
        forgotten in 0usize..300,
        by_example in any::<bool>(),
        by_type in any::<bool>(),
    ) {
        let text: String = (1u64..).zip(&kinds)
            .map(|(seq, (example, kind, filling))| event(seq, &format!("e{example}"), &format!("K{kind}"), *filling) + "\n")
            .collect();
        let (_file, mut reader) = reader_of(text.as_bytes());
        let recent = &mut reader.contents.index.recent;
        for _ in 0..forgotten.min(recent.len()) {
            recent.forget_oldest();
        }
        let filter = EventFilter {
            examples: if by_example { vec!["e1".into()] } else { Vec::new() },
            types: if by_type { vec!["K0".into(), "K3".into()] } else { Vec::new() },
        };
        let expected: Vec<u64> = (1u64..).zip(&kinds)
            .filter(|(seq, (example, kind, _))| {
                *seq > since && (!by_example || *example == 1) && (!by_type || [0, 3].contains(kind))
            })
            .map(|(seq, _)| seq)
            .collect();
        prop_assert_eq!(read_all(&reader, reader.place_after(since), &filter, limit), expected);
    }
}

/// Something that happens to a recording.
#[derive(Debug, Clone)]
enum Change {
    /// So many bytes of further lines are appended; the last line may be torn.
    Append(usize),
    /// A line feed, as a recorder writes that finds a torn line.
    EndLine,
    /// Bytes that are no event.
    Damage,
    TruncateTo(usize),
    /// Another file takes the place of this one.
    Replace(usize),
    /// The file is emptied and written again.
    Rewrite(usize),
    Remove,
    /// The reader reads one chunk.
    Read,
    /// The reader reads everything, a torn last line included.
    ReadAll,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let size = 0usize..600;
    let change = prop_oneof![
        4 => size.clone().prop_map(Change::Append),
        1 => Just(Change::EndLine),
        1 => Just(Change::Damage),
        1 => size.clone().prop_map(Change::TruncateTo),
        1 => size.clone().prop_map(Change::Replace),
        1 => size.prop_map(Change::Rewrite),
        1 => Just(Change::Remove),
        3 => Just(Change::Read),
        2 => Just(Change::ReadAll),
    ];
    prop::collection::vec(change, 1..40)
}

/// The writers of a recording that nothing is spared.
struct Writer {
    path: PathBuf,
    /// How many lines were made so far: no two are the same.
    made: u64,
}

impl Writer {
    /// Lines of so many bytes, the last one cut off.
    fn lines(&mut self, bytes: usize) -> Vec<u8> {
        let mut text = String::new();
        while text.len() < bytes {
            self.made += 1;
            let n = self.made;
            let body = match n % 4 {
                0 => r#""event_type":"SuiteStarted","example_count":3"#,
                1 => r#""event_type":"ExampleStarted","path":["a"]"#,
                2 => r#""event_type":"UserMessage","turn_number":1,"text":"hi""#,
                _ => r#""event_type":"ExampleFinished","status":"passed""#,
            };
            let mark = format!("{n:010}").repeat(3);
            text += &format!(
                r#"{{"v":1,"seq":{n},"a":"{mark}",{body},"example_id":"e{}","z":"{mark}"}}"#,
                n % 7
            );
            text.push('\n');
        }
        let mut text = text.into_bytes();
        text.truncate(bytes);
        text
    }

    fn apply(&mut self, change: &Change) {
        let append = |bytes: &[u8]| {
            let file = OpenOptions::new().create(true).append(true).open(&self.path);
            file.unwrap().write_all(bytes).unwrap();
        };
        match *change {
            Change::Append(size) => {
                let lines = self.lines(size);
                let file = OpenOptions::new().create(true).append(true).open(&self.path);
                file.unwrap().write_all(&lines).unwrap();
            }
            Change::EndLine => append(b"\n"),
            Change::Damage => append(b"\xffoops\n"),
            Change::TruncateTo(size) => {
                let text = std::fs::read(&self.path).unwrap_or_default();
                let file = OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
                file.set_len(text.len().min(size) as u64).unwrap();
            }
            Change::Replace(size) => {
                let other = self.path.with_extension("other");
                std::fs::write(&other, self.lines(size)).unwrap();
                std::fs::rename(&other, &self.path).unwrap();
            }
            Change::Rewrite(size) => {
                let lines = self.lines(size);
                std::fs::write(&self.path, lines).unwrap();
            }
            Change::Remove => {
                let _ = std::fs::remove_file(&self.path);
            }
            Change::Read | Change::ReadAll => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever happens to a file while it is followed, in the end the reader holds what one pass over the file gives.
    #[test]
    fn following_comes_to_what_reading_the_finished_file_comes_to(changes in changes()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut writer = Writer { path: path.clone(), made: 0 };
        let mut reader = RecordingReader::new(&path);
        for change in &changes {
            writer.apply(change);
            match change {
                Change::Read => { reader.read().unwrap(); }
                Change::ReadAll => while reader.read().unwrap() != Growth::Nothing {},
                _ => {}
            }
        }
        // A file that is gone leaves what was read; compare with one that is there.
        writer.apply(&Change::Append(0));
        while reader.read().unwrap() != Growth::Nothing {}
        let (mut outline, mut seqs, mut problems) = (Aggregator::outline(), Vec::new(), 0);
        for entry in Reader::open(&path).unwrap() {
            match entry {
                Entry::Event { event, .. } => {
                    outline.apply(&event);
                    seqs.push(event.seq.unwrap());
                }
                // A torn line may still become an event.
                Entry::Problem(problem) => problems += u64::from(problem.kind != ProblemKind::Torn),
            }
        }
        prop_assert_eq!(reader.run(), outline.run());
        prop_assert_eq!(reader.unusable_lines(), problems);
        prop_assert_eq!(read_all(&reader, 0, &EventFilter::default(), 7), seqs);
    }
}
