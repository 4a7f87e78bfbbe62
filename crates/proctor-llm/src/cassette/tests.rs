use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use proctor_redact::{Redactor, Secret};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::drift::{differences, distance};
use super::*;
use crate::testing::{FakeModel, now_or_never};
use crate::{Answer, ErrorKind, Model, ModelError, Purpose, Request};

struct TestCassette {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl TestCassette {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { path: folder.path().join("run.cassette.jsonl"), _folder: folder }
    }

    fn recorder(&self) -> Arc<Recorder> {
        let about = json!({"run": "r1"});
        Arc::new(
            Recorder::create(&self.path, about.as_object().unwrap(), Redactor::default()).unwrap(),
        )
    }

    fn player(&self, mode: ReplayMode) -> Arc<Player> {
        Arc::new(Player::load(&self.path, mode, Redactor::default()).unwrap())
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap()
    }
}

fn ask(model: &impl Model, request: &Request) -> Result<String, ModelError> {
    now_or_never(model.ask(request)).map(|answer| answer.text)
}

fn judge(text: &str) -> Request {
    Request::ask(Purpose::Judge, text).in_conversation("ex1")
}

fn answers(texts: &[&str]) -> FakeModel {
    FakeModel::new(texts.iter().map(|text| Ok(Answer::text(*text))))
}

/// A judge asked twice in one conversation and once in another, and a tool.
fn recorded() -> TestCassette {
    let cassette = TestCassette::new();
    let recorder = cassette.recorder();
    let model = RecordedModel::new(answers(&["one", "two", "other"]), Arc::clone(&recorder));
    ask(&model, &judge("Is the reply polite?")).unwrap();
    ask(&model, &judge("Was the venue booked?")).unwrap();
    ask(&model, &judge("Is the reply polite?").in_conversation("ex2")).unwrap();
    let ticket = recorder.begin(Purpose::Tool, "ex1");
    let call = json!({"tool": "find", "arguments": {"town": "Ulm"}});
    recorder.record_outcome(ticket, &call, Outcome::Answer(json!({"venues": 2}))).unwrap();
    cassette
}

#[test]
fn a_cassette_is_readable_and_for_its_owner_only() {
    let cassette = recorded();
    insta::assert_snapshot!(cassette.text(), @r#"
    {"cassette":2,"about":{"run":"r1"}}
    {"seq":0,"kind":"judge","lane":"ex1","n":0,"hash":"2a2d089d4582f38d99579f5911ebcf1d6b7cca277b863b5c4ef554d34ec9a403","request":{"messages":[{"role":"user","text":"Is the reply polite?"}],"model":"gpt-4o"},"outcome":{"answer":{"cached":false,"model":"","stop":"end","text":"one","timings":{"first_token_ms":null,"total_ms":0},"tries":1,"usage":null}}}
    {"seq":1,"kind":"judge","lane":"ex1","n":1,"hash":"00d2c062b46487e0f7858bd1de2cdc66ab849fd6c2341caa1f6b5b86d8202f6b","request":{"messages":[{"role":"user","text":"Was the venue booked?"}],"model":"gpt-4o"},"outcome":{"answer":{"cached":false,"model":"","stop":"end","text":"two","timings":{"first_token_ms":null,"total_ms":0},"tries":1,"usage":null}}}
    {"seq":2,"kind":"judge","lane":"ex2","n":0,"hash":"2a2d089d4582f38d99579f5911ebcf1d6b7cca277b863b5c4ef554d34ec9a403","request":{"messages":[{"role":"user","text":"Is the reply polite?"}],"model":"gpt-4o"},"outcome":{"answer":{"cached":false,"model":"","stop":"end","text":"other","timings":{"first_token_ms":null,"total_ms":0},"tries":1,"usage":null}}}
    {"seq":3,"kind":"tool","lane":"ex1","n":0,"hash":"3f0b4c95b5fdcf481b252aa92c588a6bde6640ddccb89e967780853b5bec8cc4","request":{"arguments":{"town":"Ulm"},"tool":"find"},"outcome":{"answer":{"venues":2}}}
    "#);
    assert_eq!(cassette.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn by_sequence_answers_come_in_order_per_conversation_and_drift_is_reported() {
    let player = recorded().player(ReplayMode::Sequence);
    let model = ReplayedModel::new(Arc::clone(&player), "gpt-4o");
    assert_eq!(
        ask(&model, &judge("Is the reply polite?").in_conversation("ex2")).unwrap(),
        "other"
    );
    assert_eq!(ask(&model, &judge("Is the reply very polite?")).unwrap(), "one");
    assert_eq!(ask(&model, &judge("Was the venue booked?")).unwrap(), "two");
    let drift: Vec<_> = player.drift().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(drift.join("\n"), @"
    judge call 1 in `ex1` changed
      /messages/0/text: recorded “Is the reply polite?”, now “Is the reply very polite?”
    ");
    assert_eq!(player.leftover(), [((Purpose::Tool, "ex1".to_owned()), 1)].into());
    let error = ask(&model, &judge("Was the venue booked?")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CassetteMiss);
    insta::assert_snapshot!(error.message.replace(&player_name(&error), "TAPE"), @"the cassette TAPE has no answer to this request: it has 2 judge calls of conversation `ex1`, and this is call 3. The same request is recorded in line 3 (judge call 2 in `ex1`). Record the cassette again if the change is intended");
}

/// The path in a message, which is another one each time.
fn player_name(error: &ModelError) -> String {
    error.message.split(' ').nth(2).unwrap().to_owned()
}

#[test]
fn keyed_answers_are_found_by_what_is_asked() {
    let model = ReplayedModel::new(recorded().player(ReplayMode::Keyed), "gpt-4o");
    for _ in 0..2 {
        assert_eq!(ask(&model, &judge("Was the venue booked?")).unwrap(), "two");
    }
    assert_eq!(ask(&model, &judge("Is the reply polite?")).unwrap(), "one");
    assert_eq!(
        ask(&model, &judge("Is the reply polite?").in_conversation("ex2")).unwrap(),
        "other"
    );
    // A conversation that was not recorded is served by one that asked the same.
    assert_eq!(ask(&model, &judge("Was the venue booked?").in_conversation("new")).unwrap(), "two");
}

#[test]
fn a_keyed_miss_is_loud_and_says_what_changed() {
    let model = ReplayedModel::new(recorded().player(ReplayMode::Keyed), "gpt-4o");
    let changed = Request { temperature: Some(0.0), ..judge("Was the venue cancelled?") };
    let error = ask(&model, &changed).unwrap_err();
    assert_eq!(error.kind, ErrorKind::CassetteMiss);
    insta::assert_snapshot!(error.message.replace(&player_name(&error), "TAPE"), @"
    the cassette TAPE has no answer to this request: no judge call in it asked the same. The nearest is in line 3 (judge call 2 in `ex1`) and differs at
      /messages/0/text: recorded “Was the venue booked?”, now “Was the venue cancelled?”
      /temperature: recorded nothing, now 0.0
    Record the cassette again if the change is intended
    ");
    let other_kind = Request { purpose: Purpose::Simulator, ..judge("Was the venue booked?") };
    let error = ask(&model, &other_kind).unwrap_err();
    assert!(error.message.contains("no simulator call in it asked the same"), "{error}");
    let other_model = ReplayedModel::new(recorded().player(ReplayMode::Keyed), "gpt-5");
    let error = ask(&other_model, &judge("Was the venue booked?")).unwrap_err();
    assert!(error.message.contains("/model: recorded “gpt-4o”, now “gpt-5”"), "{error}");
}

#[test]
fn tools_are_recorded_beside_the_models() {
    let player = recorded().player(ReplayMode::Keyed);
    let call = json!({"arguments": {"town": "Ulm"}, "tool": "find"});
    assert_eq!(
        player.take_outcome(Purpose::Tool, "ex1", &call),
        Ok(Outcome::Answer(json!({"venues": 2})))
    );
    let other = json!({"arguments": {"town": "Bonn"}, "tool": "find"});
    let error = player.take_outcome(Purpose::Tool, "ex1", &other).unwrap_err();
    assert!(error.message.contains("/arguments/town: recorded “Ulm”, now “Bonn”"), "{error}");
}

#[test]
fn failures_of_the_peer_are_played_back_our_own_are_not_recorded() {
    let cassette = TestCassette::new();
    let fake = FakeModel::new([
        Err(ModelError {
            status: Some(529),
            ..ModelError::new(ErrorKind::Overloaded, "is overloaded")
        }),
        Err(ModelError::new(ErrorKind::BudgetExhausted, "no money")),
    ]);
    let model = RecordedModel::new(fake, cassette.recorder());
    let live = ask(&model, &judge("?")).unwrap_err();
    ask(&model, &judge("?")).unwrap_err();
    assert_eq!(cassette.text().lines().count(), 2);
    let replay = ReplayedModel::new(cassette.player(ReplayMode::Sequence), "gpt-4o");
    assert_eq!(ask(&replay, &judge("?")).unwrap_err(), live);
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_are_played_in_the_order_of_asking() {
    let cassette = TestCassette::new();
    let recorder = cassette.recorder();
    let (first, second) =
        (recorder.begin(Purpose::Judge, "l"), recorder.begin(Purpose::Judge, "l"));
    recorder.record_outcome(second, &json!(2), Outcome::Answer(json!("second"))).unwrap();
    recorder.record_outcome(first, &json!(1), Outcome::Answer(json!("first"))).unwrap();
    let player = cassette.player(ReplayMode::Sequence);
    let take = |asked: Value| player.take_outcome(Purpose::Judge, "l", &asked).unwrap();
    assert_eq!(take(json!(1)), Outcome::Answer(json!("first")));
    assert_eq!(take(json!(2)), Outcome::Answer(json!("second")));
    assert!(player.drift().is_empty() && player.leftover().is_empty());
}

#[test]
fn a_call_that_was_given_up_leaves_a_gap() {
    let cassette = TestCassette::new();
    let recorder = cassette.recorder();
    drop(recorder.begin(Purpose::Agent, "l"));
    let second = recorder.begin(Purpose::Agent, "l");
    recorder.record_outcome(second, &json!(2), Outcome::Answer(json!("second"))).unwrap();
    let player = cassette.player(ReplayMode::Sequence);
    let missing = player.take_outcome(Purpose::Agent, "l", &json!(1)).unwrap_err();
    assert_eq!(missing.kind, ErrorKind::CassetteMiss);
    let second = player.take_outcome(Purpose::Agent, "l", &json!(2)).unwrap();
    assert_eq!(second, Outcome::Answer(json!("second")));
}

#[test]
fn secrets_are_not_written_and_do_not_change_what_is_found() {
    let secret = "correct-horse-battery";
    let cassette = TestCassette::new();
    let redactor = || Redactor::new([Secret::new(secret)]);
    let about = json!({"argv": [format!("--key={secret}")], "api_key": "zzz"});
    let recorder =
        Recorder::create(&cassette.path, about.as_object().unwrap(), redactor()).unwrap();
    let leaky = Answer { raw: secret.into(), ..Answer::text(format!("your key is {secret}")) };
    let fake = FakeModel::new([
        Ok(leaky),
        Err(ModelError::new(ErrorKind::Refused, format!("bad key {secret}"))),
    ]);
    let model = RecordedModel::new(fake, Arc::new(recorder));
    let request =
        judge(&format!("my key: {secret}, sk-ant-api03-abcdefghijklmnop")).in_conversation(secret);
    ask(&model, &request).unwrap();
    ask(&model, &request).unwrap_err();
    let text = cassette.text();
    for hidden in [secret, "sk-ant", "zzz"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
    let player = Player::load(&cassette.path, ReplayMode::Keyed, redactor()).unwrap();
    let replay = ReplayedModel::new(Arc::new(player), "gpt-4o");
    assert_eq!(ask(&replay, &request).unwrap(), "your key is [redacted]");
}

#[test]
fn files_that_are_no_cassettes_are_refused_and_torn_ends_forgiven() {
    let cassette = recorded();
    let load = || Player::load(&cassette.path, ReplayMode::Keyed, Redactor::default());
    let again = Recorder::create(&cassette.path, &Map::new(), Redactor::default()).unwrap_err();
    assert!(again.message.ends_with("exists; replay it, or delete it to record again"), "{again}");
    let whole = cassette.text();
    std::fs::write(&cassette.path, &whole[..whole.len() - 20]).unwrap();
    assert_eq!(load().unwrap().leftover().values().sum::<usize>(), 3);
    for (text, expected) in [
        ("", "is not a cassette: the first line is not JSON"),
        ("{}\n", "is not a cassette: the first line has no version"),
        ("{\"cassette\":3}\n", "is a cassette of version 3"),
        ("{\"cassette\":1}\nx\n{}\n", "line 2: malformed entry"),
        ("{\"cassette\":1}\nx\n", "line 2: malformed entry"),
    ] {
        std::fs::write(&cassette.path, text).unwrap();
        let error = load().unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    std::fs::remove_file(&cassette.path).unwrap();
    assert!(load().unwrap_err().message.contains("record the cassette first"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c/~]{1,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// No difference means equal, a difference has weight and names a place that exists.
    #[test]
    fn differences_are_complete(left in any_json(), right in any_json()) {
        let found = differences(&left, &right);
        prop_assert_eq!(found.is_empty(), left == right);
        prop_assert_eq!(distance(&left, &right) == 0, left == right);
        for one in found {
            prop_assert_eq!(one.recorded.is_some(), left.pointer(&one.path).is_some());
            prop_assert_eq!(one.now.is_some(), right.pointer(&one.path).is_some());
        }
    }
}
