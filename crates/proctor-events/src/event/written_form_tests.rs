//! The quick reader against the complete one: on every line, whole, torn or changed, both must give the same.

use proptest::prelude::*;

use super::*;

/// Lines of every kind of event, with all fields and with few, in the written form and in others.
const LINES: &[&str] = &[
    r#"{"v":1,"seq":1,"run_id":"r-1","time":"2026-01-22T10:30:00.000137Z","event_type":"SuiteStarted","seed":7,"example_count":9,"workers":4,"load_time_ms":12.5,"repetition_count":9,"policy":{"flaky_fails":true},"digest":"387253be08091c00"}"#,
    r#"{"v":1,"seq":2,"run_id":"r-1","time":"2026-01-22T10:30:00.137Z","event_type":"ExampleStarted","example_id":"00aa","repeat":1,"attempt":1,"worker":0,"file":"./a_spec.rb","path":["A","ö \"b\""],"location":"./a_spec.rb:1","description":"b","full_description":"A b","tags":["slow","x"],"suite":"rspec","scenario":{"a":[1,2.50,null,{"b":"\u00e9"}]},"pass_rate":0.9,"deterministic":true,"scripted":false,"repeats":3}"#,
    r#"{"v":1,"seq":3,"run_id":"r-1","time":"2026-01-22T10:30:00.000137Z","event_type":"ExampleFinished","example_id":"00aa","repeat":1,"attempt":1,"worker":0,"status":"failed","fault":"agent","duration_ms":12.345,"exception":{"class":"E","message":"no\n","backtrace":["a.rb:1"]},"message":"m","final":true,"flaky":false,"checks":2,"exit_status":-1,"signal":9,"output_tail":["x"],"leaked":[{"pid":7,"command":"sleep"}],"digest":"387253be08091c00"}"#,
    r#"{"v":1,"seq":4,"event_type":"ExampleFinished","status":"passed","output_tail":[],"leaked":[]}"#,
    r#"{"v":1,"seq":5,"event_type":"AgentResponse","turn_number":1,"text":"a\tb\\","tool_calls":[{"n":1}],"pending_tool_calls":[],"metadata":null,"duration_ms":812,"cost_usd":0.0042,"ends_turn":true}"#,
    r#"{"event_type":"UserMessage","turn_number":1,"text":"hi","source":"simulator"}"#,
    r#"{"event_type":"ToolCallCompleted","turn_number":1,"tool_name":"t","arguments":{"n":12345678901234567890.10,"big":1e400},"result":[],"duration_ms":3.25}"#,
    r#"{"event_type":"EvaluationRecorded","mode":"soft","name":"polite","passed":true,"score":0.9,"metadata":{"votes":{"passed":2,"failed":1}}}"#,
    r#"{"event_type":"WorkerLog","line":"x","stream":"stderr"}"#,
    r#"{"event_type":"ModelCall","backend":"b","input_tokens":900,"output_tokens":120,"cost_usd":0.0042,"cached":false,"tries":1}"#,
    r#"{"event_type":"Progress","completed":1,"total":2,"failures":0}"#,
    r#"{"event_type":"SuiteFinished","example_count":1,"failure_count":0,"counts":{"passed":1},"duration_ms":185.3,"exit_code":0,"state":"finished","verdict":"passed"}"#,
    r#"{"event_type":"ExampleFailed","id":"a","duration":2.5,"message":"m","backtrace":[]}"#,
    r#"{"event":"progress","data":{"completed":5,"total":20,"failures":1}}"#,
    r#"{"v":1,"event_type":"MoodChanged","mood":1.50}"#,
];

/// Pieces that a change puts into a line.
const PIECES: &[&str] = &[
    "\"",
    "\\",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\n",
    "-",
    "0",
    "00",
    "1",
    ".",
    "e5",
    "null",
    "true",
    "\u{1}",
    "é",
    "\\u00e9",
    "\\ud800",
    "\\x",
    "18446744073709551616",
    "4294967296",
    ",\"v\":2",
    ",\"worker_index\":3",
    ",\"id\":\"z\"",
    ",\"text\":\"again\"",
    ",\"x\":1",
    ",\"digest\":\"0123456789abcdef\"",
    ",\"digest\":1",
    ",\"status\":\"passed\"",
    "\"final\":null,",
];

#[derive(Debug, Clone)]
enum Change {
    Cut(usize),
    Remove(usize, usize),
    Insert(usize, usize),
    Replace(usize, usize),
    Copy(usize, usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let (place, piece, length) = (0..500_usize, 0..PIECES.len(), 1..40_usize);
    prop_oneof![
        1 => place.clone().prop_map(Change::Cut),
        3 => (place.clone(), length.clone()).prop_map(|(at, length)| Change::Remove(at, length)),
        4 => (place.clone(), piece.clone()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        4 => (place.clone(), piece).prop_map(|(at, piece)| Change::Replace(at, piece)),
        2 => (place.clone(), length, place).prop_map(|(at, length, to)| Change::Copy(at, length, to)),
    ]
}

fn changed(line: &str, change: &Change) -> String {
    let place = |at: usize| line.floor_char_boundary(at % (line.len() + 1));
    let span = |at: usize, length: usize| place(at)..line.floor_char_boundary(place(at) + length);
    let mut line = line.to_owned();
    match *change {
        Change::Cut(at) => line.truncate(place(at)),
        Change::Remove(at, length) => line.replace_range(span(at, length), ""),
        Change::Insert(at, piece) => line.insert_str(place(at), PIECES[piece]),
        Change::Replace(at, piece) => line.replace_range(span(at, 1), PIECES[piece]),
        Change::Copy(at, length, to) => {
            let copied = line[span(at, length)].to_owned();
            line.insert_str(place(to), &copied);
        }
    }
    line
}

/// Both readers give the same; where the quick one gives nothing, that is no difference.
fn agree(line: &str) -> Result<bool, String> {
    let Some(quick) = Event::from_written_form(line) else { return Ok(false) };
    match Event::from_any_form(line) {
        // Text as well: `==` of floats does not tell 0 from -0.
        Ok(complete) if complete == quick && complete.to_json() == quick.to_json() => Ok(true),
        complete => Err(format!("{line}\nquick: {quick:?}\ncomplete: {complete:?}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_quick_reader_never_says_something_else(
        line in prop::sample::select(LINES),
        changes in prop::collection::vec(change(), 0..4),
    ) {
        let line = changes.iter().fold(line.to_owned(), |line, change| changed(&line, change));
        prop_assert!(agree(&line).is_ok(), "{}", agree(&line).unwrap_err());
    }
}

/// Every line with each single byte left out, doubled, or replaced by each piece, and every prefix.
#[test]
fn no_single_change_makes_a_difference() {
    let (mut tried, mut quick) = (0_u32, 0_u32);
    for line in LINES {
        for at in (0..=line.len()).filter(|at| line.is_char_boundary(*at)) {
            let pieces = (0..PIECES.len())
                .flat_map(|piece| [Change::Insert(at, piece), Change::Replace(at, piece)]);
            let all = [Change::Cut(at), Change::Remove(at, 1), Change::Copy(at, 1, at)];
            for change in pieces.chain(all) {
                let line = changed(line, &change);
                tried += 1;
                quick +=
                    u32::from(agree(&line).unwrap_or_else(|difference| panic!("{difference}")));
            }
        }
    }
    // The comparison is worth something only if the quick reader takes many changed lines.
    assert!(quick > 5000, "{quick} of {tried}");
}

/// What the writer writes is read by the quick reader, so that it is the one that is used.
#[test]
fn the_written_form_is_read_quickly() {
    let quick = LINES.iter().filter(|line| Event::from_written_form(line).is_some()).count();
    assert_eq!(quick, LINES.len() - 4);
}
