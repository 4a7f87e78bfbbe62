//! A cassette that version 8d3abcc recorded can still be played. (How it was made: `proctor-record/tests/fixtures/8d3abcc`.)

use std::path::Path;

use proctor_llm::{Player, ReplayMode};
use proctor_redact::Redactor;
use serde_json::Value;

#[test]
fn a_cassette_of_8d3abcc_gives_the_recorded_answers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/8d3abcc/cassette.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let entries: Vec<Value> =
        text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 4);
    let player = Player::load(&path, ReplayMode::Sequence, Redactor::default()).unwrap();
    for entry in &entries {
        let kind = serde_json::from_value(entry["kind"].clone()).unwrap();
        let outcome =
            player.take_outcome(kind, entry["lane"].as_str().unwrap(), &entry["request"]).unwrap();
        assert_eq!(serde_json::to_value(outcome).unwrap(), entry["outcome"]);
    }
    assert!(player.leftover().is_empty());
}
