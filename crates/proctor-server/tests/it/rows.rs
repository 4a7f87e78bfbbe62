//! The rows of the server and those of the page are held to the same file: `web/test/rows.test.ts` is the other half.

use proctor_events::Event;
use proctor_record::Aggregator;
use proctor_server::{Header, rows};
use serde_json::{Value, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/test");

fn seen(events: &str, mut fold: Aggregator) -> Value {
    for line in events.lines() {
        fold.apply(&Event::from_json(line).unwrap());
    }
    let all: Vec<_> = rows(fold.run(), fold.run().over).collect();
    json!({ "header": Header::of(fold.run()), "rows": all })
}

#[test]
fn the_page_and_the_server_see_the_same_run() {
    let events = std::fs::read_to_string(format!("{FOLDER}/sample.events.jsonl")).unwrap();
    let folded = seen(&events, Aggregator::outline());
    assert!(
        folded == seen(&events, Aggregator::default()),
        "an outline shows what the whole shows"
    );
    let path = format!("{FOLDER}/sample.rows.json");
    if std::env::var_os("PROCTOR_REGENERATE").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&folded).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(kept == folded, "run with PROCTOR_REGENERATE=1, and look at web/test/rows.test.ts");
}
