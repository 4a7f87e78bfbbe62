//! The screens as a reader sees them, and what keys do to them. No terminal, no clock.

use std::sync::Arc;

use proctor_events::Published;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::*;
use crate::draw::draw;
use crate::input::Key;

const BEGAN: &str = "2026-01-22T10:30:00Z";

struct Fixture {
    app: App,
}

impl Fixture {
    fn new(width: u16, height: u16) -> Self {
        Self::with(width, height, |_| {})
    }

    fn with(width: u16, height: u16, change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup {
            style: Style { color: false },
            controls_run: true,
            exit_when_done: false,
            can_run_again: CanRunAgain::No,
            began: BEGAN.parse().unwrap(),
        };
        change(&mut setup);
        let mut app = App::new(setup);
        app.update(Input::Resize(width, height));
        Self { app }
    }

    fn events(&mut self, lines: &[&str]) -> &mut Self {
        for line in lines {
            let event = Event::from_json(line).unwrap();
            self.app.update(Input::Event(Arc::new(Published::new(event))));
        }
        self
    }

    fn keys(&mut self, keys: &str) -> Vec<Command> {
        keys.chars().flat_map(|key| self.key(Key::Char(key))).collect()
    }

    fn key(&mut self, key: Key) -> Vec<Command> {
        self.app.update(Input::Key(key.into()))
    }

    fn control_c(&mut self) -> Vec<Command> {
        self.app.update(Input::Key(KeyPress { key: Key::Char('c'), ctrl: true }))
    }

    fn at(&mut self, millis: u64) -> Vec<Command> {
        self.app.update(Input::Tick(Duration::from_millis(millis)))
    }

    fn drawn(&mut self) -> Terminal<TestBackend> {
        let backend = TestBackend::new(self.app.size.width, self.app.size.height);
        let mut terminal = Terminal::new(backend).unwrap();
        terminal.draw(|frame| draw(&self.app, frame)).unwrap();
        self.app.drawn();
        terminal
    }

    fn screen(&mut self) -> String {
        let terminal = self.drawn();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut hidden = 0;
            for x in 0..buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                if hidden == 0 {
                    text += symbol;
                    hidden = proctor_text::display_width(symbol).saturating_sub(1);
                } else {
                    hidden -= 1;
                }
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }

    fn shown(&self) -> String {
        self.app.model.workers.shown().unwrap().label()
    }
}

const SUITE: &[&str] = &[
    r#"{"event_type":"SuiteStarted","run_id":"0199-run","time":"2026-01-22T10:29:57Z","example_count":8,"workers":3}"#,
    r#"{"event_type":"WorkerStarted","worker":0,"pid":4240}"#,
    r#"{"event_type":"WorkerStarted","worker":1,"pid":4241}"#,
    r#"{"event_type":"ExampleStarted","worker":1,"example_id":"b1","path":["Cart","adds an item"],"location":"./spec/cart_spec.rb:7"}"#,
    r#"{"event_type":"WorkerLog","worker":1,"example_id":"b1","line":"connecting to \u001b[32mdb\u001b[0m"}"#,
    r#"{"event_type":"WorkerLog","worker":1,"example_id":"b1","line":"warning: slow","stream":"stderr"}"#,
    r#"{"event_type":"ExampleFinished","worker":1,"example_id":"b1","status":"passed","duration_ms":120}"#,
    r#"{"event_type":"ExampleStarted","worker":1,"example_id":"b2","path":["Cart","removes an item"],"location":"./spec/cart_spec.rb:12"}"#,
    r#"{"event_type":"WorkerLog","worker":1,"example_id":"b2","line":"removing 漢字 item"}"#,
    r#"{"event_type":"ExampleFinished","worker":1,"example_id":"b2","status":"failed","duration_ms":34,"exception":{"class":"RSpec::Expectations::ExpectationNotMetError","message":"\nexpected: 0\n     got: 1\n","backtrace":["./spec/cart_spec.rb:15:in `block'","./lib/cart.rb:3","./lib/cart.rb:9","./lib/x.rb:1"]}}"#,
    r#"{"event_type":"ExampleStarted","worker":0,"example_id":"a1","path":["Booking agent","books a venue","for fifty people"],"location":"./spec/booking.scenario.yaml:3"}"#,
    r#"{"event_type":"SimulationStarted","worker":0,"example_id":"a1","goal":"Book a venue","max_turns":15}"#,
    r#"{"event_type":"UserMessage","worker":0,"example_id":"a1","turn_number":1,"text":"Hi, I need a venue for 50 people","source":"simulator"}"#,
    r#"{"event_type":"TopicChanged","worker":0,"example_id":"a1","turn_number":1,"to_topic":"greeting","trigger":"initial"}"#,
    r#"{"event_type":"ToolCallStarted","worker":0,"example_id":"a1","turn_number":1,"tool_call_id":"t1","tool_name":"search_venues","arguments":{"people":50}}"#,
    r#"{"event_type":"ToolCallCompleted","worker":0,"example_id":"a1","turn_number":1,"tool_call_id":"t1","tool_name":"search_venues","result":["Town Hall"],"duration_ms":12}"#,
    r#"{"event_type":"AgentResponse","worker":0,"example_id":"a1","turn_number":1,"text":"The Town Hall has room for fifty people and is free on Friday evening. Shall I book it for you?\nIt costs 120 euros."}"#,
    r#"{"event_type":"EvaluationRecorded","worker":0,"example_id":"a1","mode":"soft","evaluation_type":"quality","name":"polite","passed":true,"score":0.9}"#,
];

const END: &[&str] = &[
    r#"{"event_type":"ExampleFinished","worker":0,"example_id":"a1","status":"passed","duration_ms":2300}"#,
    r#"{"event_type":"ErrorOutsideExample","phase":"after_suite","message":"the database is gone"}"#,
    r#"{"event_type":"SuiteFinished","example_count":3,"failure_count":1,"duration_ms":4523,"exit_code":1}"#,
];

fn watching(width: u16, height: u16) -> Fixture {
    let mut fixture = Fixture::new(width, height);
    fixture.events(SUITE);
    fixture
}

#[test]
fn before_anything_happened() {
    insta::assert_snapshot!(Fixture::new(80, 24).screen());
}

#[test]
fn a_conversation_at_80_by_24() {
    let mut fixture = watching(80, 24);
    fixture.keys("0");
    insta::assert_snapshot!(fixture.screen());
}

#[test]
fn a_failure_is_followed_at_120_by_40() {
    let mut fixture = watching(120, 40);
    assert_eq!(fixture.shown(), "1");
    insta::assert_snapshot!(fixture.screen());
}

#[test]
fn a_small_screen_and_smaller_ones() {
    let mut all = String::new();
    for (width, height) in [(30, 8), (20, 3), (12, 1)] {
        all += &format!("{width}x{height}\n{}\n", watching(width, height).screen());
    }
    insta::assert_snapshot!(all);
}

#[test]
fn no_size_makes_it_panic() {
    for width in [0, 1, 2, 3, 7, 9, 24, 30, 60, 200] {
        for height in [0, 1, 2, 3, 6, 8, 16, 100] {
            let mut fixture = watching(width, height);
            for keys in ["", "kg", "F", "/x", "?"] {
                fixture.keys(keys);
                fixture.key(Key::Enter);
                fixture.key(Key::PageUp);
                fixture.drawn();
            }
        }
    }
}

#[test]
fn the_end_of_the_run() {
    let mut fixture = watching(80, 24);
    fixture.events(END).keys("r");
    insta::assert_snapshot!(fixture.screen());
}

#[test]
fn the_failures_and_one_of_them() {
    let mut fixture = watching(80, 24);
    fixture.events(END);
    fixture.keys("Fj");
    insta::assert_snapshot!("failures", fixture.screen());
    fixture.key(Key::Enter);
    insta::assert_snapshot!("failure", fixture.screen());
    assert_eq!(fixture.keys("y"), [Command::CopyText("proctor run ./spec/cart_spec.rb:12".into())]);
    fixture.key(Key::Left);
    assert!(fixture.screen().contains("the database is gone"));
    fixture.key(Key::Esc);
    fixture.keys("e");
    insta::assert_snapshot!("examples", fixture.screen());
}

#[test]
fn the_help_over_the_screen() {
    let mut fixture = watching(80, 24);
    fixture.keys("?");
    insta::assert_snapshot!(fixture.screen());
    assert!(fixture.keys("q").is_empty(), "it only closes the help");
    assert!(!fixture.screen().contains(" keys "));
}

#[test]
fn many_workers_scroll_their_tabs() {
    let mut fixture = Fixture::new(80, 24);
    fixture.events(&[r#"{"event_type":"SuiteStarted","workers":24}"#]);
    for _ in 0..13 {
        fixture.keys("l");
    }
    insta::assert_snapshot!(fixture.screen().lines().nth(4).unwrap());
}

#[test]
fn a_search_marks_and_jumps() {
    let mut fixture = watching(80, 24);
    fixture.keys("0/VENUE");
    fixture.key(Key::Enter);
    assert!(fixture.screen().contains("not found"), "capitals matter");
    fixture.keys("/venue");
    fixture.key(Key::Enter);
    let terminal = fixture.drawn();
    let buffer = terminal.backend().buffer();
    let marked: String = buffer
        .content()
        .iter()
        .skip(80 * 6)
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .map(ratatui::buffer::Cell::symbol)
        .collect();
    assert_eq!(marked, "venuevenuevenuevenuevenue");
    assert!(fixture.screen().contains("/venue: on 5 lines"));
    fixture.key(Key::Esc);
    assert!(!fixture.screen().contains("/venue"));
}

#[test]
fn scrolling_stops_following_until_the_end_is_reached() {
    let mut fixture = watching(80, 16);
    fixture.at(10_000);
    fixture.keys("0kk");
    fixture.at(20_000);
    let failure =
        r#"{"event_type":"ExampleFinished","worker":1,"example_id":"b9","status":"failed"}"#;
    fixture.events(&[failure]);
    assert_eq!(fixture.shown(), "0");
    assert!(fixture.screen().contains("following waits"));
    fixture.keys("G");
    fixture.at(20_050);
    assert_eq!(fixture.shown(), "1", "the failure is still worth seeing");
}

#[test]
fn when_the_run_is_over_the_reader_is_left_in_peace() {
    let mut fixture = watching(80, 24);
    fixture.events(END).keys("2");
    fixture.at(60_000);
    assert_eq!(fixture.shown(), "2");
}

#[test]
fn rotation_goes_round() {
    let mut fixture = watching(80, 24);
    let start = r#"{"event_type":"ExampleStarted","worker":2,"example_id":"c1","path":["C"]}"#;
    fixture.events(&[start]).keys("0a");
    fixture.at(2_000);
    assert_eq!(fixture.shown(), "2", "the second worker is idle");
    fixture.at(4_000);
    assert_eq!(fixture.shown(), "0");
    assert!(fixture.screen().contains("rotating"));
}

#[test]
fn q_stops_then_kills_then_leaves() {
    let mut fixture = watching(80, 24);
    assert_eq!(fixture.keys("q"), [Command::StopRun]);
    assert!(fixture.screen().contains("stopping: what runs may finish · q again kills it"));
    assert_eq!(fixture.control_c(), [Command::KillRun]);
    assert_eq!(fixture.keys("q"), [Command::Quit]);
    let mut over = watching(80, 24);
    over.events(END);
    assert_eq!(over.keys("q"), [Command::Quit]);
}

#[test]
fn q_only_leaves_a_run_of_others() {
    let mut fixture = Fixture::with(80, 24, |setup| setup.controls_run = false);
    fixture.events(SUITE).keys("F");
    assert!(fixture.keys("q").is_empty(), "back first");
    assert_eq!(fixture.keys("q"), [Command::Quit]);
}

#[test]
fn control_l_draws_anew() {
    let mut fixture = watching(80, 24);
    let press = KeyPress { key: Key::Char('l'), ctrl: true };
    assert_eq!(fixture.app.update(Input::Key(press)), [Command::Redraw]);
    assert!(fixture.app.has_changed());
}

#[test]
fn control_c_works_while_searching() {
    let mut fixture = watching(80, 24);
    fixture.keys("/q");
    assert_eq!(fixture.control_c(), [Command::StopRun]);
}

#[test]
fn it_leaves_by_itself_only_when_told_to() {
    let mut stays = watching(80, 24);
    stays.events(END);
    assert!(stays.at(1_000).is_empty());
    let mut leaves = Fixture::with(80, 24, |setup| setup.exit_when_done = true);
    leaves.events(SUITE);
    assert!(leaves.at(1_000).is_empty());
    leaves.events(END);
    assert_eq!(leaves.at(1_100), [Command::Quit]);
}

#[test]
fn it_is_drawn_again_only_when_something_changed() {
    let mut fixture = watching(80, 24);
    fixture.drawn();
    fixture.at(50);
    assert!(!fixture.app.has_changed());
    fixture.at(200);
    assert!(fixture.app.has_changed(), "the spinner turned");
    fixture.drawn();
    fixture.app.update(Input::Dropped(0));
    assert!(!fixture.app.has_changed());
    fixture.app.update(Input::Dropped(7));
    assert!(fixture.screen().contains("! 7 events missed"));
    fixture.events(END).drawn();
    fixture.at(60_000);
    assert!(!fixture.app.has_changed(), "nothing runs any more");
}

#[test]
fn a_run_that_was_cut_off_says_so() {
    let mut fixture = watching(80, 24);
    fixture.app.update(Input::Ended);
    assert!(fixture.screen().contains("! died after"));
    assert_eq!(fixture.keys("q"), [Command::Quit]);
}

#[test]
fn another_run_begins_with_a_clean_screen() {
    let mut fixture = watching(80, 24);
    fixture.keys("F");
    fixture.app.update(Input::Restarted);
    assert_eq!(fixture.screen(), Fixture::new(80, 24).screen());
}

#[test]
fn colours_only_where_they_are_wanted() {
    let coloured = |color: bool| {
        let mut fixture = Fixture::with(80, 24, |setup| setup.style = Style { color });
        fixture.events(SUITE).keys("F");
        let terminal = fixture.drawn();
        terminal.backend().buffer().content().iter().filter(|cell| cell.fg != Color::Reset).count()
    };
    assert_eq!(coloured(false), 0);
    assert!(coloured(true) > 20);
}

/// Conversations as a run on a terminal tells them: no worker, several at once, repeats, a failure, a cost.
fn conversations() -> Vec<String> {
    let mut lines = vec![
        r#"{"event_type":"SuiteStarted","run_id":"0199-talk","time":"2026-01-22T10:29:50Z","example_count":5,"repetition_count":16}"#.to_owned(),
    ];
    let mut say = |line: &str| lines.push(line.to_owned());
    say(
        r#"{"event_type":"ExampleStarted","example_id":"a","time":"2026-01-22T10:29:51Z","path":["Booking","books a venue for fifty people in the old town"],"location":"./booking.scenario.yaml:4"}"#,
    );
    say(
        r#"{"event_type":"ExampleStarted","example_id":"b","time":"2026-01-22T10:29:52Z","path":["Booking","greets"],"repeats":3,"repeat":1,"location":"./booking.scenario.yaml:9"}"#,
    );
    say(
        r#"{"event_type":"ExampleStarted","example_id":"b","time":"2026-01-22T10:29:53Z","path":["Booking","greets"],"repeats":3,"repeat":2,"location":"./booking.scenario.yaml:9"}"#,
    );
    say(
        r#"{"event_type":"ExampleStarted","example_id":"c","time":"2026-01-22T10:29:54Z","path":["Refunds","refuses without a receipt"],"location":"./refunds.scenario.yaml:3"}"#,
    );
    say(
        r#"{"event_type":"UserMessage","example_id":"a","turn_number":1,"text":"Hi, I need a venue"}"#,
    );
    say(r#"{"event_type":"ModelCall","example_id":"a","purpose":"simulator","cost_usd":0.0042}"#);
    say(
        r#"{"event_type":"ToolCallStarted","example_id":"a","turn_number":1,"tool_call_id":"t","tool_name":"search","arguments":{"people":50}}"#,
    );
    say(
        r#"{"event_type":"UserMessage","example_id":"b","repeat":1,"turn_number":1,"text":"Hello"}"#,
    );
    say(
        r#"{"event_type":"AgentResponse","example_id":"b","repeat":1,"turn_number":1,"text":"Hello! How can I help?\nWe are open."}"#,
    );
    say(
        r#"{"event_type":"ExampleFinished","example_id":"b","repeat":1,"status":"passed","final":true,"checks":1,"duration_ms":120}"#,
    );
    say(r#"{"event_type":"UserMessage","example_id":"c","turn_number":2,"text":"No receipt"}"#);
    say(
        r#"{"event_type":"AgentResponse","example_id":"c","turn_number":2,"text":"I have refunded it."}"#,
    );
    say(
        r#"{"event_type":"EvaluationRecorded","example_id":"c","turn_number":2,"mode":"soft","description":"be brief","passed":false}"#,
    );
    say(
        r#"{"event_type":"ExampleFinished","example_id":"c","status":"failed","fault":"agent","final":true,"duration_ms":2300,"exception":{"class":"Proctor::ExpectationNotMet","message":"turn 2: expected not to call tool refund, but it was called\nwith 1","backtrace":["./refunds.scenario.yaml:7"]}}"#,
    );
    for repeat in 1..=12 {
        say(&format!(
            r#"{{"event_type":"ExampleStarted","example_id":"d","time":"2026-01-22T10:29:55Z","path":["Refunds","often"],"repeats":12,"repeat":{repeat}}}"#
        ));
    }
    for (repeat, status) in [(1, "passed"), (2, "failed"), (3, "passed")] {
        say(&format!(
            r#"{{"event_type":"ExampleFinished","example_id":"d","repeat":{repeat},"status":"{status}","final":true,"checks":1,"duration_ms":10}}"#
        ));
    }
    lines
}

fn talking(width: u16, height: u16) -> Fixture {
    let mut fixture = Fixture::new(width, height);
    for line in conversations() {
        fixture.events(&[&line]);
    }
    fixture.at(3_000);
    fixture
}

#[test]
fn conversations_have_a_row_each_at_80_by_24() {
    insta::assert_snapshot!(talking(80, 24).screen());
}

#[test]
fn conversations_have_a_row_each_at_200_by_50() {
    let screen = talking(200, 50).screen();
    let filled: Vec<&str> = screen.lines().filter(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(filled.join("\n"));
}

#[test]
fn a_row_opens_the_conversation_as_it_grows() {
    let mut fixture = talking(80, 24);
    fixture.keys("jj");
    fixture.key(Key::Enter);
    let say = |text: &str| {
        format!(
            r#"{{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"{text}"}}"#
        )
    };
    fixture.events(&[&say("The Town Hall is free.")]);
    let screen = fixture.screen();
    assert!(screen.contains("books a venue for fifty people"), "{screen}");
    assert!(screen.contains("The Town Hall is free."), "{screen}");
    for number in 0..40 {
        fixture.events(&[&say(&format!("answer {number}"))]);
    }
    assert!(fixture.screen().contains("answer 39"), "its end stays in view");
    fixture.key(Key::Esc);
    assert!(fixture.screen().contains("─ 4 conversations"), "{}", fixture.screen());
}

#[test]
fn the_rows_can_be_searched_and_their_commands_copied() {
    let mut fixture = talking(80, 24);
    fixture.keys("/greets");
    fixture.key(Key::Enter);
    let copied = fixture.keys("y");
    assert_eq!(copied, [Command::CopyText("proctor run ./booking.scenario.yaml:9".to_owned())]);
}

#[test]
fn five_hundred_conversations_are_rows_too() {
    let mut fixture = Fixture::new(80, 24);
    for number in 0..500 {
        let line = format!(
            r#"{{"event_type":"ExampleStarted","example_id":"{number}","path":["Many","talks {number}"]}}"#
        );
        fixture.events(&[&line]);
    }
    let screen = fixture.screen();
    assert!(screen.contains("500 conversations · 500 running"), "{screen}");
    assert!(screen.contains("talks 0"), "{screen}");
    fixture.keys("G");
    assert!(fixture.screen().contains("talks 499"), "{}", fixture.screen());
}

#[test]
fn a_huge_answer_costs_one_row() {
    let mut fixture = talking(80, 24);
    let text = "long ".repeat(400_000);
    fixture.events(&[&format!(
        r#"{{"event_type":"AgentResponse","example_id":"a","turn_number":1,"text":"{text}"}}"#
    )]);
    assert!(fixture.screen().contains("Agent long lo"), "{}", fixture.screen());
    let kept = fixture.app.model.conversations.longest_line();
    assert!(kept < 10_000, "{kept}");
}

#[test]
fn failures_are_walked_through_after_the_run() {
    let mut fixture = talking(80, 24);
    assert!(fixture.keys("X").is_empty(), "not while it runs");
    assert!(fixture.screen().contains("still going"), "{}", fixture.screen());
    fixture.events(&[
        r#"{"event_type":"SuiteFinished","example_count":5,"failure_count":2,"duration_ms":4523,"exit_code":1}"#,
    ]);
    assert!(fixture.keys("X").is_empty(), "nobody could run them");
    fixture.app.begin_review(CanRunAgain::Yes);
    assert!(fixture.screen().contains("Enter opens · Esc back"), "{}", fixture.screen());
    assert_eq!(fixture.keys("x"), [Command::RunAgain(vec!["c".into()])]);
    assert_eq!(fixture.keys("X"), [Command::RunAgain(vec!["c".into(), "d".into()])]);
    fixture.keys("]");
    assert!(fixture.screen().contains("refuses without a receipt"), "{}", fixture.screen());
    fixture.keys("]");
    assert!(fixture.screen().contains("Refunds > often"), "{}", fixture.screen());
    fixture.keys("[");
    assert!(fixture.screen().contains("refuses without a receipt"), "{}", fixture.screen());
    assert_eq!(fixture.keys("x"), [Command::RunAgain(vec!["c".into()])]);
}

#[test]
fn workers_and_conversations_stand_side_by_side() {
    let mut fixture = watching(80, 24);
    for line in conversations().iter().skip(1) {
        fixture.events(&[line]);
    }
    fixture.keys("c");
    assert!(fixture.screen().contains("─ 4 conversations"), "{}", fixture.screen());
    fixture.keys("1");
    assert!(fixture.screen().contains("─ worker 1"), "{}", fixture.screen());
}

#[test]
fn rows_are_narrowed_to_what_was_searched_for() {
    let mut fixture = Fixture::new(80, 24);
    let start = |id: &str, name: &str| {
        format!(r#"{{"event_type":"ExampleStarted","example_id":"{id}","path":["Shop","{name}"]}}"#)
    };
    let failed = |id: &str| {
        format!(
            r#"{{"event_type":"ExampleFinished","example_id":"{id}","status":"failed","final":true}}"#
        )
    };
    let lines = [
        start("a", "sells cakes"),
        start("b", "greets"),
        start("c", "sells tea"),
        failed("b"),
        failed("c"),
    ];
    fixture.events(&lines.each_ref().map(String::as_str)).keys("t");
    assert!(fixture.screen().contains("search first"), "{}", fixture.screen());
    fixture.keys("/sells");
    fixture.key(Key::Enter);
    fixture.keys("t");
    let shown = fixture.screen();
    assert!(shown.contains("sells cakes") && shown.contains("sells tea"), "{shown}");
    assert!(
        !shown.contains("Shop > greets") && shown.contains("only rows with “sells”"),
        "{shown}"
    );
    // What is opened and copied is what is shown; failures are walked through among the rows that are shown.
    fixture.keys("]");
    assert!(fixture.screen().contains("Shop > sells tea"), "{}", fixture.screen());
    assert!(fixture.screen().contains("1 of 1"), "{}", fixture.screen());
    fixture.key(Key::Esc);
    fixture.key(Key::Esc);
    assert!(fixture.screen().contains("greets"), "{}", fixture.screen());
    fixture.keys("/nothing");
    fixture.key(Key::Enter);
    fixture.keys("t");
    assert!(fixture.screen().contains("no row has what is filtered for"), "{}", fixture.screen());
    fixture.keys("t");
    assert!(fixture.screen().contains("sells tea"));
}
