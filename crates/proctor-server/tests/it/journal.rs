//! `/api/journal`: a real journal over HTTP.

use proctor_journal::{
    Domain, Draft, Evidence, Filter, Journal, Moment, OutcomeStatus, Resolution, Strategy,
};
use serde_json::{Value, json};

use crate::test_server::TestServer;

struct Book<'a> {
    journal: Journal,
    fixture: &'a TestServer,
    moments: std::cell::Cell<u64>,
}

impl<'a> Book<'a> {
    fn new(fixture: &'a TestServer) -> Self {
        let journal = Journal::open(fixture.folder.path().join(".claude/journal")).unwrap();
        Self { journal, fixture, moments: std::cell::Cell::new(1) }
    }

    fn now(&self) -> Moment {
        let step = self.moments.get();
        self.moments.set(step + 1);
        let start: jiff::Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let nonce = step.wrapping_mul(6_364_136_223_846_793_005) >> 8;
        Moment::new(start + jiff::SignedDuration::from_mins(i64::try_from(step).unwrap()), nonce)
    }

    fn tell(&self, goal: &str, domain: Domain, status: Option<OutcomeStatus>) -> String {
        let draft = Draft {
            goal: goal.to_owned(),
            hypothesis: format!("{goal} because of the cache"),
            action: "clear it".to_owned(),
            prediction: "it passes".to_owned(),
            confidence: Some(0.7),
            ..Draft::new(domain, Strategy::CheckAssumptions)
        };
        let entry = self.journal.create(draft, &self.now()).unwrap().value;
        if let Some(status) = status {
            self.journal.resolve(Resolution::new(status, "seen"), &self.now()).unwrap();
        }
        entry.id
    }

    fn get(&self, path: &str) -> Value {
        let answer = self.fixture.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }
}

fn goals(rows: &Value) -> Vec<&str> {
    rows["entries"].as_array().unwrap().iter().map(|row| row["goal"].as_str().unwrap()).collect()
}

#[test]
fn entries_are_listed_chosen_found_and_paged() {
    let fixture = TestServer::new();
    let none = fixture.get("/api/journal/entries").json();
    assert_eq!((&none["entries"], &none["total"]), (&json!([]), &json!(0)));
    assert!(!fixture.folder.path().join(".claude").exists(), "looking makes nothing");
    let book = Book::new(&fixture);
    book.tell("slow queue", Domain::Performance, Some(OutcomeStatus::Confirmed));
    book.tell("flaky queue test", Domain::Testing, Some(OutcomeStatus::Falsified));
    book.tell("rewrite", Domain::Refactoring, Some(OutcomeStatus::Abandoned));
    book.tell("open question", Domain::Debugging, None);
    let rows = book.get("/api/journal/entries");
    assert_eq!(goals(&rows), ["open question", "rewrite", "flaky queue test", "slow queue"]);
    let falsified = &rows["entries"][2];
    assert_eq!(
        (&falsified["status"], &falsified["tier"], &falsified["needs_annotation"]),
        (&json!("falsified"), &json!("silver"), &json!(true))
    );
    assert_eq!(rows["entries"][0]["place"], "active");
    for (query, wanted) in [
        ("status=active", vec!["open question"]),
        ("status=confirmed", vec!["slow queue"]),
        ("domain=testing", vec!["flaky queue test"]),
        ("tier=abandoned", vec!["rewrite"]),
        ("unexplained=true", vec!["flaky queue test"]),
        ("strategy=ask-user", vec![]),
        ("since=2026-03-02", vec![]),
        ("until=2026-03-02&limit=1", vec!["open question"]),
        ("offset=1&limit=2", vec!["rewrite", "flaky queue test"]),
        ("q=flaky+queue", vec!["flaky queue test", "slow queue"]),
        ("q=flaky+queue&limit=1", vec!["flaky queue test"]),
        ("lane=nobody", vec![]),
    ] {
        let rows = book.get(&format!("/api/journal/entries?{query}"));
        assert_eq!(goals(&rows), wanted, "{query}");
        assert_eq!(rows["more"], json!(query.contains("limit") && query != "offset=3"), "{query}");
    }
    for (query, word) in [
        ("status=solved", "confirmed"),
        ("domain=gardening", "debugging"),
        ("tier=", "gold"),
        ("since=tuesday", "time"),
        ("limit=x", "limit"),
        ("sort=goal", "sort"),
    ] {
        let refused = fixture.get(&format!("/api/journal/entries?{query}"));
        assert_eq!(refused.status, 400, "{query}");
        assert!(refused.json()["error"].as_str().unwrap().contains(word), "{}", refused.body);
    }
}

#[test]
fn one_entry_comes_with_all_its_evidence() {
    let fixture = TestServer::new();
    let book = Book::new(&fixture);
    let id = book.tell("try and try", Domain::Debugging, None);
    for number in 0..30 {
        let piece = json!({"captured_at": "2026-03-01T10:00:00Z", "reason": number.to_string()});
        let piece: Evidence = serde_json::from_value(piece).unwrap();
        book.journal.attach(piece, &book.now()).unwrap();
    }
    let one = book.get(&format!("/api/journal/entries/{id}"));
    assert_eq!((&one["place"], &one["lane"]), (&json!("active"), &Value::Null));
    let evidence = one["entry"]["evidence"].as_array().unwrap();
    let reasons: Vec<&str> =
        evidence.iter().map(|piece| piece["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, (0..30).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(book.get("/api/journal/entries")["entries"][0]["evidence"], 30);
    let part = book.get(&format!("/api/journal/entries/{}", &id[id.len() - 6..]));
    assert_eq!(part["entry"]["id"], json!(id));
    for name in ["nobody", "..", "%2e%2e%2f%2e%2e", "%00", "ghap%2F..%2F"] {
        let missing = fixture.get(&format!("/api/journal/entries/{name}"));
        assert_eq!(missing.status, 404, "{name}: {}", missing.body);
    }
    let bytes = fixture.get("/api/journal/entries/%ff%fe");
    assert_eq!((bytes.status, bytes.json()["error"].is_string()), (400, true));
}

#[test]
fn numbers_are_those_of_the_library() {
    let fixture = TestServer::new();
    let book = Book::new(&fixture);
    for number in 0..12 {
        let status =
            if number % 3 == 0 { OutcomeStatus::Falsified } else { OutcomeStatus::Confirmed };
        book.tell(&format!("goal {number}"), Domain::Testing, Some(status));
    }
    let numbers = book.get("/api/journal/stats");
    let expected = book.journal.stats(&Filter::default()).unwrap().value;
    assert_eq!(numbers, serde_json::to_value(expected).unwrap());
    assert_eq!(numbers["total"]["confirmed_rate"]["hits"], 8);
    assert!(numbers["total"]["confirmed_rate"]["low"].as_f64().unwrap() < 0.5);
    assert_eq!(numbers["calibration"]["n"], 12);
    assert_eq!(book.get("/api/journal/stats?status=falsified")["total"]["confirmed"], 0);
    assert_eq!(
        fixture.post("/api/journal/entries", "{}").status,
        405,
        "nothing is written from here"
    );
}
