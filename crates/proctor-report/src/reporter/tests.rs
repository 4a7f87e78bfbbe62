use super::*;
use crate::summary::SummaryOptions;
use crate::testing::{COLOR, EVERYTHING, NO_COLOR, events, folded, printed, visible};

/// What a reporter shows before its summary.
fn live(reporter: &mut dyn Reporter, text: &str) -> String {
    events(text).map(|event| reporter.event(&event)).collect()
}

fn options() -> SummaryOptions {
    SummaryOptions::default()
}

#[test]
fn interleaved() {
    insta::assert_snapshot!(live(&mut Interleaved::new(NO_COLOR, options(), false), EVERYTHING));
}

#[test]
fn interleaved_in_colour() {
    let text = live(&mut Interleaved::new(COLOR, options(), false), EVERYTHING);
    insta::assert_snapshot!(visible(&text));
}

#[test]
fn interleaved_verbose_shows_every_start_once() {
    let text = live(&mut Interleaved::new(NO_COLOR, options(), true), EVERYTHING);
    assert_eq!(text.matches("○ Cart > is empty").count(), 1);
    assert_eq!(text.matches("○ Agent > books a venue").count(), 1);
}

#[test]
fn interleaved_ends_with_the_summary() {
    let text = printed(&mut Interleaved::new(NO_COLOR, options(), false), EVERYTHING);
    assert!(text.ends_with("finished in 31.50 s (load 400 ms), 4 workers, seed 4711\n"), "{text}");
}

#[test]
fn a_silent_example_is_mentioned_less_and_less_often() {
    let mut view = Interleaved::new(NO_COLOR, options(), false);
    let start = r#"{"event_type":"ExampleStarted","time":"2026-01-22T10:00:00Z","example_id":"a","worker":0,"path":["Slow"]}"#;
    assert_eq!(live(&mut view, start), "");
    let begin: Timestamp = "2026-01-22T10:00:00Z".parse().unwrap();
    let mut shown = String::new();
    for second in 0..100 {
        shown += &view.tick(begin + std::time::Duration::from_secs(second));
    }
    insta::assert_snapshot!(shown, @r"
    [0] ○ Slow  running for 10.00 s
    [0] ○ Slow  running for 30.00 s
    [0] ○ Slow  running for 1 min 10 s
    ");
}

/// What an agent says, calls and prints may have megabytes: every view shows a little of it and says where the rest is.
#[test]
fn megabytes_cost_nothing_in_any_view() {
    let long = "x".repeat(2_000_000);
    let text = format!(
        r#"{{"event_type":"ExampleStarted","example_id":"a","path":["A"],"location":"./a.scenario.yaml:3"}}
{{"event_type":"UserMessage","example_id":"a","turn_number":1,"text":"{long}"}}
{{"event_type":"WorkerLog","example_id":"a","line":"{long}"}}
{{"event_type":"ToolCallStarted","example_id":"a","turn_number":1,"tool_call_id":"t","tool_name":"look","arguments":{{"q":"{long}"}}}}
{{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_call_id":"t","tool_name":"look","result":"{long}"}}
{{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"{long}"}}
{{"event_type":"EvaluationRecorded","example_id":"a","turn_number":1,"mode":"soft","description":"be short","passed":false,"failure_message":"{long}"}}
{{"event_type":"ExampleFinished","example_id":"a","status":"failed","fault":"agent","final":true,"message":"{long}","exception":{{"class":"E","message":"no {long}","backtrace":["{long}"]}},"output_tail":["{long}"]}}
"#
    );
    let views: [(&str, Box<dyn Reporter>); 7] = [
        ("interleaved", Box::new(Interleaved::new(NO_COLOR, options(), true))),
        ("by conversation", Box::new(Interleaved::by_conversation(NO_COLOR, options(), false))),
        ("grouped", Box::new(Grouped::new(NO_COLOR, options()))),
        ("in colour", Box::new(Grouped::new(COLOR, options()))),
        ("quiet", Box::new(Quiet::new(NO_COLOR, options(), Quiet::DEFAULT_WIDTH))),
        ("terse", Box::new(Terse::new(NO_COLOR, options()))),
        ("agent", Box::new(AgentLines::new())),
    ];
    for (name, mut view) in views {
        let shown = printed(&mut *view, &text);
        assert!(shown.len() < 40_000, "{name}: {}", shown.len());
        assert!(shown.contains('…'), "{name}: a cut keeps a mark");
        if !matches!(name, "terse" | "agent") {
            assert!(shown.contains("more: `proctor show --full`"), "{name}: {shown}");
        }
    }
}

#[test]
fn in_ci_the_lines_of_a_conversation_stand_together() {
    let text = r#"{"event_type":"ExampleStarted","example_id":"A","path":["Shop","greets"]}
{"event_type":"ExampleStarted","example_id":"B","path":["Shop","sells"]}
{"event_type":"ExampleStarted","example_id":"R","worker":0,"path":["Cart","adds up"]}
{"event_type":"UserMessage","example_id":"A","turn_number":1,"text":"Hi there"}
{"event_type":"UserMessage","example_id":"B","turn_number":1,"text":"A cake, please"}
{"event_type":"WorkerLog","example_id":"R","worker":0,"line":"from the spec"}
{"event_type":"AgentResponse","example_id":"A","turn_number":1,"text":"Welcome!"}
{"event_type":"ExampleFinished","example_id":"A","status":"passed"}
{"event_type":"WorkerLog","example_id":"A","line":"late words"}
{"event_type":"AgentResponse","example_id":"B","turn_number":1,"text":"Here it is"}
{"event_type":"ExampleFinished","example_id":"B","status":"failed","message":"no cake"}
{"event_type":"ExampleFinished","example_id":"R","worker":0,"status":"passed"}
{"event_type":"ExampleStarted","example_id":"C","path":["Shop","waits"]}
{"event_type":"UserMessage","example_id":"C","turn_number":1,"text":"Hello?"}
"#;
    let mut view = Interleaved::by_conversation(NO_COLOR, options(), false);
    insta::assert_snapshot!(live(&mut view, text), @r"
    [0] ○ Cart > adds up
    [0]     │ from the spec
    ✓ Shop > greets  
        User: Hi there
        Agent: Welcome!
        greets │ │ late words
    ✗ Shop > sells  failed
        User: A cake, please
        Agent: Here it is
        no cake
    [0] ✓ Cart > adds up  
    ");
    let end = view.finish(&folded(text));
    let expected = "○ Shop > waits  never finished\n    User: Hello?\n";
    assert!(end.starts_with(expected), "what is held is not lost: {end}");
}

#[test]
fn conversations_of_the_same_name_are_told_apart() {
    let started = |id: &str, path: &str, repeat: u32| {
        format!(
            r#"{{"event_type":"ExampleStarted","example_id":"{id}","repeat":{repeat},"path":[{path}]}}
{{"event_type":"UserMessage","example_id":"{id}","repeat":{repeat},"turn_number":1,"text":"Hi"}}
"#
        )
    };
    let long = format!(r#""{}", "asks""#, "x".repeat(200));
    let text = [
        started("a", r#""Shop", "asks""#, 1),
        started("b", r#""Desk", "asks""#, 1),
        started("c", r#""Town", "Desk", "asks""#, 1),
        started("d", r#""Desk", "asks""#, 1),
        started("e", r#""Desk", "asks""#, 2),
        started("f", &long, 1),
    ]
    .concat();
    let shown = live(&mut Interleaved::new(NO_COLOR, options(), false), &text);
    let said = r#"{"event_type":"UserMessage","example_id":"a","turn_number":2,"text":"Bye"}"#;
    let mut owners: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_once(" │ "))
        .map(|(owner, _)| owner.trim())
        .collect();
    let count = owners.len();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(owners.len(), count, "{shown}");
    assert!(owners.contains(&"Desk > asks") && owners.contains(&"asks (2)"), "{shown}");
    // One that has ended gives its name back.
    let mut view = Interleaved::new(NO_COLOR, options(), false);
    live(&mut view, &started("a", r#""Shop", "asks""#, 1));
    live(
        &mut view,
        r#"{"event_type":"ExampleFinished","example_id":"a","repeat":1,"status":"passed"}"#,
    );
    live(&mut view, &started("b", r#""Desk", "asks""#, 1));
    live(&mut view, &started("c", r#""Other", "waits""#, 1));
    let said = said.replace("\"a\"", "\"b\",\"repeat\":1");
    assert!(live(&mut view, &said).contains("    asks │ User: Bye"));
}

#[test]
fn two_thousand_fast_examples_are_two_thousand_lines() {
    let text: String = (0..2000)
        .map(|n| {
            format!(
                r#"{{"event_type":"ExampleStarted","example_id":"{n}","worker":0,"path":["A","{n}"]}}
{{"event_type":"ExampleFinished","example_id":"{n}","worker":0,"status":"passed"}}
"#
            )
        })
        .collect();
    let shown = live(&mut Interleaved::new(NO_COLOR, options(), false), &text);
    assert_eq!(shown.lines().count(), 2000);
}

#[test]
fn grouped() {
    insta::assert_snapshot!(live(&mut Grouped::new(NO_COLOR, options()), EVERYTHING));
}

#[test]
fn grouped_in_colour() {
    let text = live(&mut Grouped::new(COLOR, options()), EVERYTHING);
    insta::assert_snapshot!(visible(&text));
}

/// Blocks are held for a moment; on a busy machine the moment may be over before the worker ends.
#[test]
fn the_end_of_a_worker_stands_below_its_results_however_quickly_it_came() {
    let shown = |exit_at: &str| {
        let text = format!(
            r#"{{"event_type":"ExampleStarted","time":"2026-01-22T10:00:00Z","example_id":"A","worker":0,"path":["Cart","adds up"]}}
{{"event_type":"ExampleFinished","time":"2026-01-22T10:00:00Z","example_id":"A","worker":0,"status":"passed"}}
{{"event_type":"ExampleStarted","time":"2026-01-22T10:00:00Z","example_id":"B","worker":1,"path":["Order","sums"]}}
{{"event_type":"ExampleFinished","time":"2026-01-22T10:00:00Z","example_id":"B","worker":1,"status":"passed"}}
{{"event_type":"WorkerExited","time":"2026-01-22T{exit_at}Z","worker":0,"exit_status":3,"expected":false}}
"#
        );
        live(&mut Grouped::new(NO_COLOR, options()), &text)
    };
    let at_once = shown("10:00:00");
    insta::assert_snapshot!(at_once, @"
    ▼ Cart
      ✓ adds up  
    [0] worker exited with 3
    ");
    assert!(shown("10:00:01").contains("adds up"));
    let place = |text: &str, part: &str| text.find(part).unwrap();
    for text in [at_once, shown("10:00:01")] {
        assert!(place(&text, "adds up") < place(&text, "worker exited"), "{text}");
    }
}

#[test]
fn the_interleaving_of_the_seed_is_taken_apart() {
    let text = r#"{"event_type":"ExampleStarted","example_id":"A","path":["BookingAgent","greeting","welcomes user"]}
{"event_type":"ExampleStarted","example_id":"B","path":["SearchAgent","filters","by location"]}
{"event_type":"UserMessage","example_id":"A","turn_number":1,"text":"Hi there"}
{"event_type":"UserMessage","example_id":"B","turn_number":1,"text":"Find venues in Berlin"}
{"event_type":"AgentResponse","example_id":"A","turn_number":1,"text":"Welcome! How can I help?"}
{"event_type":"ExamplePassed","example_id":"A","duration":0.234}
{"event_type":"AgentResponse","example_id":"B","turn_number":1,"text":"Here are some options..."}
{"event_type":"ExampleFailed","example_id":"B","message":"wrong city"}
"#;
    insta::assert_snapshot!(live(&mut Grouped::new(NO_COLOR, options()), text), @r"
    ▼ BookingAgent > greeting
      ✓ welcomes user  234 ms
          User: Hi there
          Agent: Welcome! How can I help?
    ▼ SearchAgent > filters
      ✗ by location  failed
          User: Find venues in Berlin
          Agent: Here are some options...
          wrong city
    ");
}

#[test]
fn lines_of_conversations_that_run_at_once_name_their_owner() {
    let text = r#"{"event_type":"ExampleStarted","example_id":"A","path":["Agent","greets"]}
{"event_type":"UserMessage","example_id":"A","turn_number":1,"text":"Hello"}
{"event_type":"ExampleStarted","example_id":"B","repeat":2,"path":["Agent","looks for a venue that is open until late"]}
{"event_type":"UserMessage","example_id":"B","repeat":2,"turn_number":1,"text":"Find one"}
{"event_type":"AgentResponse","example_id":"A","turn_number":1,"text":"Hi"}
{"event_type":"AgentResponse","example_id":"B","repeat":2,"turn_number":1,"text":"Here"}
{"event_type":"ExampleFinished","example_id":"A","status":"passed"}
{"event_type":"UserMessage","example_id":"B","repeat":2,"turn_number":2,"text":"Thanks"}
{"event_type":"AgentResponse","example_id":"B","repeat":2,"turn_number":2,"text":"Bye"}
{"event_type":"ExampleFinished","example_id":"B","repeat":2,"status":"passed"}
"#;
    insta::assert_snapshot!(live(&mut Interleaved::new(NO_COLOR, options(), false), text), @"
    ○ Agent > greets
        User: Hello
    ○ Agent > looks for a venue that is open until late
        looks for a venue that is o… (2) │ User: Find one
        greets │ Agent: Hi
        looks for a venue that is o… (2) │ Agent: Here
    ✓ Agent > greets  
        looks for a venue that is o… (2) │ User: Thanks
        Agent: Bye
    ✓ Agent > looks for a venue that is open until late  repeat 2
    ");
}

/// Two examples without descriptions of their own: their names come with their results.
#[test]
fn generated_descriptions_are_shown() {
    let text = r#"{"event_type":"ExampleStarted","example_id":"A","path":["Stack","new"],"description":"example at ./a:3","full_description":"Stack new "}
{"event_type":"ExampleStarted","example_id":"B","path":["Stack","new"],"description":"example at ./a:4","full_description":"Stack new "}
{"event_type":"ExampleStarted","example_id":"C","path":["Stack","new","named"],"description":"named","full_description":"Stack new named"}
{"event_type":"ExampleFinished","example_id":"A","status":"passed","description":"is expected to be empty","full_description":"Stack new is expected to be empty"}
{"event_type":"ExampleFinished","example_id":"B","status":"pending","message":"later"}
{"event_type":"ExampleFinished","example_id":"C","status":"passed","description":"named","full_description":"Stack new named"}
"#;
    insta::assert_snapshot!(live(&mut Grouped::new(NO_COLOR, options()), text), @r"
    ▼ Stack > new
      ✓ is expected to be empty  
    ▼ Stack
      ⏸ new  pending: later
    ▼ Stack > new
      ✓ named  
    ");
    insta::assert_snapshot!(live(&mut Interleaved::new(NO_COLOR, options(), false), text), @r"
    ✓ Stack > new > is expected to be empty  
    ⏸ Stack > new  pending: later
    ✓ Stack > new > named  
    ");
}

#[test]
fn grouped_keeps_little_of_an_example_that_prints_without_end() {
    let mut view = Grouped::new(NO_COLOR, options());
    let long = "x".repeat(10_000);
    let mut text = String::from(
        r#"{"event_type":"ExampleStarted","example_id":"a","path":["Loud","shouts"]}"#,
    );
    for n in 0..1000 {
        text += &format!(
            "\n{{\"event_type\":\"WorkerLog\",\"example_id\":\"a\",\"line\":\"{n} {long}\"}}"
        );
    }
    assert_eq!(live(&mut view, &text), "");
    let shown = view.finish(&folded(&text));
    assert!(shown.contains("… 800 lines left out"), "{}", &shown[..500]);
    assert!(
        shown.contains("│ 0 x") && shown.contains("│ 999 x") && shown.contains("never finished")
    );
    assert!(shown.lines().count() < 240 && shown.len() < 150_000);
}

#[test]
fn quiet() {
    let text = printed(&mut Quiet::new(NO_COLOR, options(), 6), EVERYTHING);
    let dots: Vec<&str> = text.lines().take(3).collect();
    insta::assert_snapshot!(dots.join("\n"), @r"
    .*FCF.
    EET.-
    ");
    assert!(text.contains("Failures:"));
}

#[test]
fn quiet_wraps_without_an_empty_line() {
    let finished = r#"{"event_type":"ExampleFinished","example_id":"a","status":"passed"}"#;
    let mut view = Quiet::new(COLOR, options(), 2);
    let text = live(&mut view, &[finished; 4].join("\n"));
    assert_eq!(visible(&text), "␛[32m.␛[0m␛[32m.␛[0m\n".repeat(2));
    assert!(view.finish(&folded("")).starts_with("\n0 examples"));
}

#[test]
fn terse() {
    insta::assert_snapshot!(printed(&mut Terse::new(NO_COLOR, options()), EVERYTHING));
}

#[test]
fn terse_stays_small_whatever_happens() {
    let message = (0..500).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\\n");
    let text: String = (0..300)
        .map(|n| {
            format!(
                r#"{{"event_type":"ExampleStarted","example_id":"{n}","path":["A","{n}"],"location":"./a_spec.rb:{n}"}}
{{"event_type":"ExampleFinished","example_id":"{n}","status":"failed","exception":{{"class":"E","message":"{message}","backtrace":["./a.rb:1"]}}}}
"#
            )
        })
        .collect();
    let shown = printed(&mut Terse::new(NO_COLOR, options()), &text);
    assert!(shown.lines().count() <= 20 * 12 + 2, "{}", shown.lines().count());
    assert!(shown.contains("… 280 more failures not shown"), "{shown}");
}

#[test]
fn no_view_lets_an_agent_drive_the_terminal() {
    let evil = r"\u001b[2J\u0007\u202e";
    let text = [
        format!(r#"{{"event_type":"ExampleStarted","example_id":"a","path":["{evil}"],"location":"{evil}:1"}}"#),
        format!(r#"{{"event_type":"UserMessage","example_id":"a","turn_number":1,"text":"{evil}"}}"#),
        format!(r#"{{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"{evil}","tool_calls":[{{"name":"{evil}"}}]}}"#),
        format!(r#"{{"event_type":"ToolCallCompleted","example_id":"a","turn_number":1,"tool_name":"{evil}","arguments":"{evil}","error":"{evil}"}}"#),
        format!(r#"{{"event_type":"TopicChanged","example_id":"a","turn_number":1,"from_topic":"{evil}","to_topic":"{evil}"}}"#),
        format!(r#"{{"event_type":"EvaluationRecorded","example_id":"a","mode":"hard","name":"{evil}","passed":false,"reasoning":"{evil}","failure_message":"{evil}"}}"#),
        format!(r#"{{"event_type":"AgentError","example_id":"a","error_class":"{evil}","message":"{evil}"}}"#),
        format!(r#"{{"event_type":"WorkerLog","example_id":"a","line":"{evil}"}}"#),
        format!(r#"{{"event_type":"ErrorOutsideExample","phase":"{evil}","place":"{evil}","exception":{{"class":"{evil}","message":"{evil}","backtrace":["{evil}"],"presented":"{evil}"}}}}"#),
        format!(r#"{{"event_type":"ExampleFinished","example_id":"a","status":"{evil}","fault":"{evil}","message":"{evil}","exception":{{"class":"{evil}","message":"{evil}","backtrace":["{evil}"]}},"output_tail":["{evil}"],"leaked":[{{"pid":1,"command":"{evil}"}}]}}"#),
        format!(r#"{{"event_type":"ExampleFinished","example_id":"{evil}","status":"pending","message":"{evil}"}}"#),
    ]
    .join("\n");
    for view in &mut every_view() {
        let shown = printed(&mut **view, &text);
        assert!(!shown.contains(drives_a_terminal), "{shown:?}");
    }
}

fn every_view() -> [Box<dyn Reporter>; 5] {
    [
        Box::new(Interleaved::new(NO_COLOR, options(), true)),
        Box::new(Grouped::new(NO_COLOR, options())),
        Box::new(Quiet::new(NO_COLOR, options(), 50)),
        Box::new(Terse::new(NO_COLOR, options())),
        Box::new(AgentLines::new()),
    ]
}

fn drives_a_terminal(c: char) -> bool {
    (c.is_control() && c != '\n') || c == '\u{202e}'
}

proptest::proptest! {
    /// Streams are cut off, reordered and incomplete in every way when things go wrong.
    #[test]
    fn any_mixture_of_events_can_be_shown(order in proptest::collection::vec(0_usize..200, 0..80)) {
        let lines: Vec<&str> = EVERYTHING.lines().collect();
        let mixed: Vec<&str> = order.iter().map(|place| lines[place % lines.len()]).collect();
        let text = mixed.join("\n");
        for view in &mut every_view() {
            let shown = printed(&mut **view, &text);
            proptest::prop_assert!(!shown.contains(drives_a_terminal), "{shown:?}");
            proptest::prop_assert!(shown.ends_with('\n'));
        }
        let run = folded(&text);
        let annotations = crate::github_annotations(&run, 10);
        proptest::prop_assert!(annotations.lines().count() <= 11);
        proptest::prop_assert!(!crate::junit(&run, "mixed").is_empty());
    }
}
