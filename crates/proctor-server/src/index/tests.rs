use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn event(seq: u64, example: &str, kind: &str, filling: usize) -> String {
    format!(
        r#"{{"v":1,"seq":{seq},"event_type":"{kind}","example_id":"{example}","line":"{}"}}"#,
        "x".repeat(filling)
    )
}

fn index_of(text: &[u8]) -> (tempfile::NamedTempFile, Index) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let mut index = Index::new(file.path());
    while index.grow().unwrap() != Growth::Nothing {}
    (file, index)
}

/// Everything a reader gets from a place on, in portions.
fn read_all(index: &Index, mut from: usize, wanted: &Wanted, limit: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    while from < index.len() {
        let (events, next) = match index.batch(from, wanted, limit) {
            Batch::Events(events, next) => (events, next),
            Batch::OnDisk(spans, next) => (spans.read().unwrap(), next),
        };
        assert!(next > from, "a reader gets on");
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
    let (_file, index) = index_of(text.as_bytes());
    assert_eq!((index.len(), index.problems), (2, 1));
    assert_eq!(read_all(&index, 0, &Wanted::default(), 10), [1, 2]);
}

#[test]
fn older_forms_are_put_into_todays() {
    let (_file, index) = index_of(b"{\"event_type\":\"UserMessage\",\"example_id\":\"a\",\"turn_number\":1,\"text\":\"hi\"}\n");
    let Batch::Events(events, _) = index.batch(0, &Wanted::default(), 10) else { panic!() };
    assert!(events[0].text.contains("\"seq\":1"), "{}", events[0].text);
}

#[test]
fn a_file_that_grows_and_one_that_is_replaced() {
    let (mut file, mut index) = index_of(event(1, "a", "A", 0).as_bytes());
    assert_eq!(index.len(), 0, "the line is not whole yet");
    file.write_all(b"\n").unwrap();
    assert_eq!((index.grow().unwrap(), index.len()), (Growth::More, 1));
    std::fs::write(file.path(), "").unwrap();
    assert_eq!((index.grow().unwrap(), index.len()), (Growth::Replaced, 0));
}

#[test]
fn a_line_longer_than_a_portion_is_read_whole() {
    let text = format!("{}\n{}\n", event(1, "a", "A", 3 * CHUNK), event(2, "a", "A", 0));
    let (_file, index) = index_of(text.as_bytes());
    assert_eq!(read_all(&index, 0, &Wanted::default(), 10), [1, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However portions fall, and wherever memory begins: each wanted event once, in order.
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
        let (_file, mut index) = index_of(text.as_bytes());
        for _ in 0..forgotten.min(index.recent.len()) {
            index.recent.pop_front();
        }
        let wanted = Wanted {
            examples: if by_example { vec!["e1".into()] } else { Vec::new() },
            types: if by_type { vec!["K0".into(), "K3".into()] } else { Vec::new() },
        };
        let expected: Vec<u64> = (1u64..).zip(&kinds)
            .filter(|(seq, (example, kind, _))| {
                *seq > since && (!by_example || *example == 1) && (!by_type || [0, 3].contains(kind))
            })
            .map(|(seq, _)| seq)
            .collect();
        prop_assert_eq!(read_all(&index, index.after(since), &wanted, limit), expected);
    }
}
