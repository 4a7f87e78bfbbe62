use super::*;
use crate::reader::Reader;

fn checked(text: &str) -> Validation {
    validate(Reader::new(text.as_bytes()))
}

fn found(text: &str) -> Vec<String> {
    let shown = |finding: &Finding| {
        let line = finding.line.map_or_else(|| "run".to_owned(), |line| line.to_string());
        format!("{line}: {}", finding.message)
    };
    checked(text).findings.iter().map(shown).collect()
}

/// Lines of a numbered run: each is an event's type and its other fields.
fn run(events: &[&str]) -> String {
    let line = |(seq, event): (usize, &&str)| {
        let (kind, fields) = event.split_once(' ').unwrap_or((event, ""));
        let fields = if fields.is_empty() { String::new() } else { format!(",{fields}") };
        format!(
            "{{\"v\":1,\"seq\":{},\"run_id\":\"a\",\"time\":\"2026-01-22T10:30:00Z\",\"event_type\":\"{kind}\"{fields}}}\n",
            seq + 1
        )
    };
    events.iter().enumerate().map(line).collect()
}

const START: &str = r#"SuiteStarted "example_count":1"#;
const BEGIN: &str = r#"ExampleStarted "example_id":"x","path":["A","x"]"#;
const PASS: &str = r#"ExampleFinished "example_id":"x","status":"passed","final":true"#;
const END: &str =
    r#"SuiteFinished "example_count":1,"failure_count":0,"counts":{"passed":1},"exit_code":0"#;

#[test]
fn a_whole_run_is_complete() {
    // The sample shows one of twelve examples; as it stands, eleven are missing.
    let sample = include_str!("../../tests/seed_flow.jsonl");
    assert_eq!(checked(sample).state, RecordingState::Damaged);
    let sample = sample.replace(
        r#""example_count":12,"failure_count":1"#,
        r#""example_count":1,"failure_count":0"#,
    );
    let validation = checked(&sample);
    assert_eq!((validation.state, validation.events), (RecordingState::Complete, 12));
    let validation = checked(&run(&[START, BEGIN, PASS, END]));
    assert_eq!(validation.findings, []);
    let run = CheckedRun {
        run: "a".into(),
        state: RecordingState::Complete,
        digest: DigestState::Absent,
        announced: Some(1),
        finished: 1,
        not_run: 0,
    };
    assert_eq!((validation.state, validation.runs), (RecordingState::Complete, vec![run]));
}

#[test]
fn gaps_repeats_and_open_ends_are_found() {
    let text = r#"{"v":1,"seq":1,"run_id":"a","time":"2026-01-22T10:30:00Z","event_type":"SuiteStarted"}
{"v":1,"seq":3,"run_id":"a","time":"2026-01-22T10:30:00Z","event_type":"ExampleStarted","example_id":"x"}
garbage
{"v":1,"seq":3,"run_id":"a","time":"2026-01-22T10:30:00Z","event_type":"ExampleStarted","example_id":"y"}
{"v":1,"seq":4,"run_id":"a","time":"2026-01-22T10:30:00Z","event_type":"ExampleFinished","example_id":"y","status":"passed"}
{"v":1,"seq":5,"run_id":"a","time":"2026-01-22T10:30:00Z","event_type":"SuiteFinished","example_count":2,"failure_count":0}
{"v":1,"seq":1,"run_id":"b","time":"2026-01-22T10:30:00Z","event_type":"SuiteStarted"}
{"v":1,"seq":2,"run_id":"b","ev"#;
    assert_eq!(
        found(text),
        [
            "2: event 3 follows 1: events are missing",
            "3: not a JSON object: expected value at line 1 column 1",
            "4: event 3 follows 3: events are repeated or out of order",
            "8: incomplete: the writer stopped in the middle of the line; it is ignored",
            "2: example x, repetition 1, attempt 1 never finished",
            "run: 2 results were announced, 1 are recorded: the run was cut off",
            "run: the run has no SuiteFinished: it was cut off",
        ]
    );
    let states: Vec<_> = checked(text).runs.iter().map(|run| run.state).collect();
    assert_eq!(states, [RecordingState::Damaged, RecordingState::CutOff]);
}

/// V8: 21 examples were announced, 2 have a result, and the run says that it is over.
#[test]
fn v8_fewer_results_than_announced_are_cut_off() {
    let start = r#"SuiteStarted "example_count":21"#;
    let end = r#"SuiteFinished "example_count":21,"failure_count":0,"counts":{"passed":1}"#;
    let validation = checked(&run(&[start, BEGIN, PASS, end]));
    assert_eq!(validation.state, RecordingState::CutOff);
    assert_eq!(
        found(&run(&[start, BEGIN, PASS, end])),
        ["run: 21 results were announced, 1 are recorded: the run was cut off"]
    );
}

/// T11: two examples with one id became one, and the recording was called complete.
#[test]
fn t11_duplicate_ids_are_damage() {
    let other = r#"ExampleStarted "example_id":"x","path":["B","y"]"#;
    let start = r#"SuiteStarted "example_count":2"#;
    let end = r#"SuiteFinished "example_count":2,"failure_count":0,"counts":{"passed":2}"#;
    let text = run(&[start, BEGIN, PASS, other, PASS, end]);
    assert_eq!(checked(&text).state, RecordingState::Damaged);
    assert_eq!(found(&text)[0], "4: the id x stands for `::A > x` and for `::B > y`");
    assert!(found(&text)[1].contains("two examples have this id"), "{:?}", found(&text));
    let repeated = r#"ExampleStarted "example_id":"x","repeat":2,"path":["B","y"]"#;
    assert_eq!(checked(&run(&[start, BEGIN, PASS, repeated])).state, RecordingState::Damaged);
}

#[test]
fn events_that_do_not_fit_each_other_are_damage() {
    let retry = r#"ExampleStarted "example_id":"x","attempt":2,"path":["A","x"]"#;
    let said = r#"UserMessage "example_id":"x","turn_number":1,"text":"hi""#;
    let skipped = r#"ExampleFinished "example_id":"x","status":"not_run","description":"x""#;
    let zero = r#"ExampleStarted "example_id":"x","repeat":0"#;
    let slow = r#"ExampleFinished "example_id":"x","status":"passed","duration_ms":-3"#;
    let odd = r#"ExampleFinished "example_id":"x","status":"pazzed""#;
    let unfinal = r#"ExampleFinished "example_id":"x","status":"failed","final":false"#;
    let progress = r#"Progress "completed":3,"total":2,"failures":0"#;
    let failed = r#"SuiteFinished "example_count":1,"failure_count":1,"counts":{"failed":1}"#;
    let all = r#"SuiteFinished "example_count":2,"failure_count":0,"counts":{"passed":1}"#;
    let green =
        r#"SuiteFinished "example_count":1,"failure_count":1,"counts":{"failed":1},"exit_code":0"#;
    let fail = r#"ExampleFinished "example_id":"x","status":"failed","final":true"#;
    for (events, message) in [
        (vec![START, BEGIN, PASS, PASS, END], "4: ends example x, repetition 1, attempt 1 again"),
        (vec![START, PASS, END], "2: ends example x, repetition 1, attempt 1, which never started"),
        (
            vec![START, BEGIN, skipped],
            "3: says that example x, repetition 1, attempt 1 was not run",
        ),
        (vec![START, BEGIN, BEGIN], "3: starts again, without an end, what line 2 started"),
        (
            vec![START, BEGIN, PASS, retry],
            "4: starts example x, repetition 1, attempt 2 after its final",
        ),
        (
            vec![START, BEGIN, retry],
            "3: starts example x, repetition 1, attempt 2 before the attempt",
        ),
        (vec![START, said], "2: UserMessage about example x, repetition 1, attempt 1, which never"),
        (
            vec![START, BEGIN, PASS, said],
            "4: UserMessage about example x, repetition 1, attempt 1, which line 3",
        ),
        (
            vec![START, BEGIN, unfinal, failed],
            "3: example x, repetition 1, attempt 1 is the last one",
        ),
        (vec![START, zero], "2: repetitions and attempts are counted from 1"),
        (vec![START, BEGIN, slow], "3: ExampleFinished has a negative `duration_ms`"),
        (vec![START, BEGIN, odd], "3: `pazzed` is not a status"),
        (vec![START, progress], "2: 3 of 2 examples cannot have ended"),
        (vec![START, BEGIN, PASS, failed], "4: counts 0 passed, but 1 are recorded"),
        (
            vec![START, BEGIN, PASS, all],
            "4: says that 2 results were planned, but 1 were announced",
        ),
        (vec![START, BEGIN, fail, green], "4: says exit code 0, but 1 did not pass"),
        (vec![START, BEGIN, PASS, END, progress], "5: Progress after the run's end in line 4"),
        (vec![START, BEGIN, PASS, END, END], "5: SuiteFinished after the run's end in line 4"),
        (vec![BEGIN, PASS, END], "run: the run has no SuiteStarted: its beginning is missing"),
        (vec![START, START], "2: a second SuiteStarted in one run; the first is in line 1"),
    ] {
        let text = run(&events);
        assert!(
            found(&text).iter().any(|it| it.starts_with(message)),
            "{message}: {:?}",
            found(&text)
        );
        assert_eq!(checked(&text).state, RecordingState::Damaged, "{message}");
    }
}

#[test]
fn an_envelope_is_on_every_line_or_on_none() {
    let whole = run(&[START, BEGIN, PASS, END]);
    for (from, message) in [
        ("\"v\":1,\"seq\":3", "3: has another format version than the lines before it"),
        (
            "\"run_id\":\"a\",\"time\":\"2026-01-22T10:30:00Z\",\"event_type\":\"ExampleF",
            "3: names no run",
        ),
        ("\"time\":\"2026-01-22T10:30:00Z\",\"event_type\":\"ExampleF", "3: has no time"),
    ] {
        let to = from.replace("\"v\":1,", "\"v\":2,").replace("\"run_id\":\"a\",", "");
        let to = if to == from { to.replace("\"time\":\"2026-01-22T10:30:00Z\",", "") } else { to };
        let text = whole.replace(from, &to);
        assert!(
            found(&text).iter().any(|it| it.starts_with(message)),
            "{message}: {:?}",
            found(&text)
        );
    }
}

#[test]
fn a_time_that_goes_back_is_damage_unless_the_digest_vouches_for_it() {
    let text = run(&[START, BEGIN, PASS, END]);
    let back = text.replacen("10:30:00Z", "11:30:00Z", 2);
    assert_eq!(found(&back), ["3: the time goes back by 3600 s"]);
    assert_eq!(checked(&back).state, RecordingState::Damaged);
    assert_eq!(found(&text.replacen("10:30:00Z", "10:30:04Z", 2)), [""; 0]);
    let validation = checked(&mutations::with_digests(&back));
    assert_eq!((validation.state, validation.findings.len()), (RecordingState::Complete, 1));
}

#[test]
fn a_file_without_events_is_not_complete() {
    for text in ["", "\n", "[[[["] {
        let validation = checked(text);
        assert_eq!((validation.state, validation.events), (RecordingState::CutOff, 0), "{text:?}");
    }
}

#[test]
fn a_run_that_was_stopped_says_so() {
    let start = r#"SuiteStarted "example_count":2"#;
    let left_out = r#"ExampleFinished "example_id":"y","status":"not_run","path":["A","y"]"#;
    let end = r#"SuiteFinished "example_count":2,"failure_count":0,"counts":{"passed":1,"not_run":1},"exit_code":130"#;
    let validation = checked(&run(&[start, BEGIN, PASS, left_out, end]));
    assert_eq!(validation.findings, []);
    assert_eq!(validation.state, RecordingState::Interrupted);
    assert_eq!((validation.runs[0].finished, validation.runs[0].not_run), (2, 1));
}

/// Two runs that write to one file at once are two runs, not one for every change between them.
#[test]
fn b7_runs_that_are_mixed_in_one_file_are_told_apart() {
    let one = mutations::with_digests(&run(&[START, BEGIN, PASS, END]));
    let other = run(&[START, BEGIN, PASS, END]).replace("\"run_id\":\"a\"", "\"run_id\":\"b\"");
    let other = mutations::with_digests(&other);
    let mixed: String =
        one.lines().zip(other.lines()).map(|(one, other)| format!("{one}\n{other}\n")).collect();
    let validation = checked(&mixed);
    assert_eq!(validation.findings, []);
    assert_eq!(validation.runs.len(), 2);
    assert!(validation.runs.iter().all(|run| run.digest == DigestState::Matches));
}

#[test]
fn digests_name_the_line_that_was_changed() {
    let text = mutations::with_digests(&run(&[START, BEGIN, PASS, END]));
    assert_eq!(checked(&text).runs[0].digest, DigestState::Matches);
    assert_eq!(
        found(&text.replace("[\"A\",\"x\"]", "[\"A\",\"y\"]")),
        ["2: was changed after it was written"]
    );
    // A digest that was changed is a line that was changed; the line after it is as it was.
    let (_, digest) = crate::line_digest::split(text.lines().nth(1).unwrap().as_bytes()).unwrap();
    let digest = String::from_utf8(digest.to_vec()).unwrap();
    assert_eq!(
        found(&text.replace(&digest, "0123456789abcdef")),
        ["2: was changed after it was written"]
    );
    let without = text.replace(&format!(",\"digest\":\"{digest}\""), "");
    assert_eq!(
        found(&without),
        ["2: was changed after it was written: it has no digest, and the lines before it do"]
    );
    assert_eq!(checked(&without).runs[0].digest, DigestState::Differs);
    let bare: String =
        text.lines().map(|line| format!("{}\n", crate::without_digest(line))).collect();
    assert_eq!(
        (checked(&bare).state, checked(&bare).runs[0].digest),
        (RecordingState::Complete, DigestState::Absent)
    );
    assert_eq!(checked(&text.replace('\n', "\r\n")).runs[0].digest, DigestState::Matches);
}

/// A run of one example that says how many checks it made, what the run refuses, and how it ended.
fn with_checks(policy: &str, checks: &str, end: &str) -> Vec<String> {
    let start = format!(r#"SuiteStarted "example_count":1,"repetition_count":1,"policy":{policy}"#);
    let pass =
        format!(r#"ExampleFinished "example_id":"x","status":"passed","final":true{checks}"#);
    let end =
        format!(r#"SuiteFinished "example_count":1,"repetition_count":1,"state":"finished",{end}"#);
    found(&run(&[&start, BEGIN, &pass, &end]))
}

#[test]
fn an_end_must_count_what_checked_nothing() {
    let (warn, fail) = (r#"{"unchecked_fails":false}"#, r#"{"unchecked_fails":true}"#);
    let none = r#","checks":0"#;
    let counted = r#""failure_count":0,"counts":{"passed":1,"unchecked":1},"exit_code":0"#;
    let silent = r#""failure_count":0,"counts":{"passed":1},"exit_code":0"#;
    let refused = r#""failure_count":1,"counts":{"passed":1,"unchecked":1},"exit_code":1"#;
    let nothing: Vec<String> = Vec::new();
    assert_eq!(with_checks(warn, none, counted), nothing);
    assert_eq!(with_checks(fail, none, refused), nothing);
    assert_eq!(with_checks(warn, none, silent), ["4: counts 0 unchecked, but 1 are recorded"]);
    assert_eq!(
        with_checks(fail, none, counted),
        [
            "4: counts 0 failures, but 1 are recorded",
            "4: says exit code 0, but the recorded run failed"
        ]
    );
    assert_eq!(
        with_checks(warn, r#","checks":2"#, counted),
        ["4: counts 1 unchecked, but 0 are recorded"]
    );
    // Older streams and suites that do not count say nothing about it, and are not held to it.
    assert_eq!(with_checks(fail, "", silent), nothing);
    assert_eq!(with_checks("{}", none, counted), nothing);
}

#[test]
fn a_run_that_decides_on_repetitions_may_have_more_than_it_announced() {
    let with = |start: &str, repetitions: u32| {
        let start = format!(r#"SuiteStarted "example_count":1,"repetition_count":1{start}"#);
        let pass = r#"ExampleFinished "example_id":"x","status":"passed","final":true"#;
        let again = [
            r#"ExampleStarted "example_id":"x","repeat":2"#,
            r#"ExampleFinished "example_id":"x","repeat":2,"status":"passed","final":true"#,
        ];
        let end = format!(
            r#"SuiteFinished "example_count":1,"repetition_count":{repetitions},"state":"finished","failure_count":0,"counts":{{"passed":1}},"exit_code":0"#
        );
        found(&run(&[&start, BEGIN, pass, again[0], again[1], &end]))
    };
    let adaptive = r#","repeat_limit":20"#;
    assert_eq!(with(adaptive, 2), Vec::<String>::new());
    let cut = "3 results were announced, 2 are recorded: the run was cut off";
    assert!(with(adaptive, 3).iter().any(|found| found.ends_with(cut)), "{:?}", with(adaptive, 3));
    assert_eq!(with("", 2)[0], "6: says that 2 results were planned, but 1 were announced");
}
