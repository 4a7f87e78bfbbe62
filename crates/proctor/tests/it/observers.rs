//! Observers of a project: the events of the run, whatever they do, under plain `rspec` and `proctor run` alike.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::rspec_conversations::rspec;

/// The ways of running a suite.
const RUNS: &[&[&str]] = &[&["-w", "3"], &["-w", "2", "--no-preload"]];

/// An observer that writes down everything it gets.
const WRITES: &str = r##"
require "proctor/rspec"
require "json"
class Writes < Proctor::Observers::Base
  def initialize(name)
    @path = File.join(Dir.pwd, name)
    super()
  end
  def on_event(event)
    File.write(@path, "#{event.to_json}\n", mode: "a")
  end
end
Writes.new("seen.jsonl")
"##;

fn many_examples(count: u32) -> String {
    format!(
        r#"{WRITES}
RSpec.describe "Many" do
  {count}.times do |n|
    it("example #{{n}}") {{ raise "broken" if n % 50 == 7; skip "later" if n % 50 == 9 }}
  end
  describe("inner") {{ it("is nested") {{ expect(1).to eq(1) }} }}
end
"#
    )
}

/// The lines that observers have written, which are then forgotten.
fn seen(env: &TestEnv, name: &str) -> Vec<Value> {
    let path = env.project.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(&path);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

/// What must be equal under both runners.
#[derive(Debug, PartialEq)]
struct Observed {
    examples: BTreeMap<String, Vec<Value>>,
    suite: Vec<Value>,
    groups: BTreeSet<String>,
}

fn observed(events: Vec<Value>) -> Observed {
    let mut all =
        Observed { examples: BTreeMap::new(), suite: Vec::new(), groups: BTreeSet::new() };
    let mut last = 0;
    for mut event in events {
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last, "in order and once: {event}");
        last = seq;
        let fields = event.as_object_mut().unwrap();
        let moment = ["seq", "run_id", "time", "worker", "duration_ms", "load_time_ms", "workers"];
        for name in moment {
            fields.remove(name);
        }
        if let Some(exception) = fields.get_mut("exception") {
            *exception =
                json!([exception["class"], exception["message"], exception["project_line"]]);
        }
        let kind = event["event_type"].as_str().unwrap().to_owned();
        match (event["example_id"].as_str(), kind.as_str()) {
            (Some(id), _) => all.examples.entry(id.to_owned()).or_default().push(event),
            (None, "SuiteStarted" | "SuiteFinished") => all.suite.push(event),
            (None, "GroupStarted" | "GroupFinished") => {
                all.groups.insert(format!("{kind} {}", event["path"]));
            }
            (None, _) => {}
        }
    }
    all
}

#[test]
fn an_observer_gets_the_same_events_under_both_runners() {
    let env = TestEnv::with_spec(&many_examples(500));
    let output = rspec(&env, &[], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let plain = observed(seen(&env, "seen.jsonl"));
    assert_eq!(plain.examples.len(), 501);
    assert_eq!(plain.suite.len(), 2, "{:?}", plain.suite);
    assert_eq!(plain.suite[1]["example_count"], 501);
    assert_eq!(plain.suite[1]["failure_count"], 10);
    assert_eq!(plain.groups.len(), 4, "{:?}", plain.groups);
    let path = json!(["Many", "example 7"]);
    let failed = plain.examples.values().find(|story| story[0]["path"] == path).unwrap();
    assert_eq!(failed[0]["file"], "./spec/a_spec.rb");
    assert_eq!(failed[1]["status"], "failed");
    assert_eq!(failed[1]["exception"][1], "broken");
    for arguments in RUNS {
        let ran = env.run(&[&["run"], *arguments].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let ours = observed(seen(&env, "seen.jsonl"));
        assert_eq!(ours.suite, plain.suite, "{arguments:?}");
        assert_eq!(ours.groups, plain.groups, "{arguments:?}");
        assert_eq!(ours.examples.len(), plain.examples.len(), "{arguments:?}");
        for (id, story) in &plain.examples {
            assert_eq!(&ours.examples[id], story, "{arguments:?}");
        }
    }
    env.assert_no_process_left();
}

/// The suite is over long before the observer has had its events.
#[test]
fn a_slow_observer_loses_nothing() {
    let slow =
        many_examples(100).replace("def on_event(event)", "def on_event(event)\n    sleep 0.02");
    let env = TestEnv::with_spec(&slow);
    let output = rspec(&env, &[], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let plain = observed(seen(&env, "seen.jsonl"));
    assert_eq!((plain.examples.len(), plain.suite.len()), (101, 2), "{}", text(&output));
    let ran = env.run(&["run", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert_eq!(observed(seen(&env, "seen.jsonl")).examples, plain.examples);
}

const MISBEHAVIOUR: &str = r#"
OWNER = Process.pid
misbehave = {
  not_implemented: -> { raise NotImplementedError, "no" },
  system_exit: -> { raise SystemExit },
  interrupt: -> { raise Interrupt },
  no_memory: -> { raise NoMemoryError },
  exit: -> { exit 3 },
  exit_now: -> { exit! 4 },
  process_exit: -> { Process.exit!(5) },
  abort: -> { abort "aborted" },
  thrown: -> { throw :out },
  thread: -> { Thread.exit },
  hang: -> { sleep },
}
misbehave.each do |name, action|
  Proctor::EventBus.instance.subscribe do |event|
    action.call if event.event_type == "ExampleFinished"
  end
end
Proctor.configure { |config| config.observers_within = 20 }
"#;

#[test]
fn whatever_an_observer_does_changes_no_result_and_no_other_observer() {
    let quiet = many_examples(30).replace("Writes.new(\"seen.jsonl\")", "");
    let env = TestEnv::with_spec(&quiet);
    let expected = rspec(&env, &[], &[]);
    let summary = |output: &Output| {
        let text = text(output);
        text.lines().find(|line| line.contains("examples, ")).map(str::to_owned)
    };
    assert_eq!(summary(&expected).as_deref(), Some("31 examples, 1 failure, 1 pending"));
    env.write(
        "spec/a_spec.rb",
        &many_examples(30).replace(
            "RSpec.describe \"Many\"",
            &format!("{MISBEHAVIOUR}\nRSpec.describe \"Many\""),
        ),
    );
    let output = rspec(&env, &[], &[]);
    let shown = text(&output);
    assert_eq!(summary(&output), summary(&expected), "{shown}");
    assert_eq!(output.status.code(), expected.status.code(), "{shown}");
    for part in [
        "NotImplementedError: no",
        "SystemExit",
        "Interrupt",
        "it called exit!",
        "its thread was ended",
        "busy with one for",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let plain = observed(seen(&env, "seen.jsonl"));
    assert_eq!((plain.examples.len(), plain.suite.len()), (31, 2), "{shown}");
    let ran = env.run(&["run", "-w", "2"]);
    let shown = ran.terminal();
    assert_eq!(ran.code, Some(1), "{shown}");
    for part in ["31 examples", "NotImplementedError: no", "it called exit!", "busy with one for"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let ours = observed(seen(&env, "seen.jsonl"));
    assert_eq!(ours.examples, plain.examples, "{shown}");
    assert_eq!(ours.suite, plain.suite, "{shown}");
    env.assert_no_process_left();
}

#[test]
fn observers_that_kill_their_process_are_a_note_and_no_result() {
    let killing = "Proctor::EventBus.instance.subscribe(Proctor::Events::ExampleStarted) { Process.kill(:KILL, Process.pid) }";
    let spec = format!(
        "require \"proctor/rspec\"\n{killing}\nRSpec.describe('a') {{ 5.times {{ |n| it(n) {{ expect(n).to eq(n) }} }} }}"
    );
    let env = TestEnv::with_spec(&spec);
    for arguments in RUNS {
        let ran = env.run(&[&["run"], *arguments].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        assert!(
            ran.terminal().contains("their process was ended by signal 9"),
            "{}",
            ran.terminal()
        );
    }
    env.assert_no_process_left();
}

/// Printing an event makes an event; an observer that prints must not see its own output.
#[test]
fn what_observers_print_is_shown_and_recorded_but_not_observed() {
    let spec = r#"
require "proctor/rspec"
Proctor::EventBus.instance.subscribe { |event| puts "got #{event.event_type}" }
RSpec.describe("a") { it("is") { expect(1).to eq(1) } }
"#;
    let env = TestEnv::with_spec(spec);
    let ran = env.run(&["run", "-w", "1", "--events", "all.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let events = seen(&env, "all.jsonl");
    let printed = |text: &str| {
        let line = format!("got {text}");
        events.iter().filter(|event| event["line"] == *line.as_str()).count()
            + ran.terminal().matches(&format!("observers: {line}")).count()
    };
    for kind in ["SuiteStarted", "ExampleStarted", "ExampleFinished", "SuiteFinished"] {
        assert_eq!(printed(kind), 1, "{kind}: {}\n{events:#?}", ran.terminal());
    }
    assert_eq!(printed("WorkerLog"), 0, "{events:#?}");
    assert_eq!(env.run(&["validate"]).code, Some(0));
}

/// A failing `at_exit` block still fails the run, although the process waits for the observers.
#[test]
fn at_exit_blocks_keep_their_say_while_observers_wait() {
    let spec = many_examples(3) + "\nat_exit { exit 3 } if $PROGRAM_NAME == 'rspec'\n";
    let env = TestEnv::with_spec(&spec);
    let ran = env.run(&["run", "-w", "1"]);
    assert!(
        ran.terminal()
            .contains("at_exit block of the project ended the process with exit status 3"),
        "{}",
        ran.terminal()
    );
    assert_ne!(ran.code, Some(0));
    let ours = observed(seen(&env, "seen.jsonl"));
    assert_eq!((ours.examples.len(), ours.suite.len()), (4, 2), "{}", ran.terminal());
}

/// Code, command line, both variables and proctor.toml: every destination gets the same events, each once.
#[test]
fn destinations_add_up_and_fail_one_by_one() {
    let spec = r#"
require "proctor/rspec"
Proctor.configure do |config|
  config.events = "code.jsonl"
  config.observers << Observers::JsonlFileObserver.new(path: "observer.jsonl")
  config.add_observer(:jsonl, path: "code.jsonl")
  config.add_observer(:jsonl, path: "missing/x.jsonl")
  config.add_observer(:websocket, port: Integer(ENV.fetch("TAKEN")))
end
RSpec.describe("a") { 3.times { |n| it(n) { expect(n).to eq(n) } } }
"#;
    let env = TestEnv::with_spec(spec);
    env.write("proctor.toml", "events = [\"file.jsonl\", \"code.jsonl\"]\n");
    env.write("missing", "a file where a folder would have to be");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let variables = [
        ("PROCTOR_EVENTS", "new.jsonl"),
        ("RSPEC_AGENTS_EVENTS", "old.jsonl,new.jsonl"),
        ("TAKEN", port.as_str()),
    ];
    let output = rspec(&env, &[], &variables);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let check = |shown: &str, names: &[&str]| {
        for name in names {
            // How often progress is told depends on time.
            let events = seen(&env, name);
            let told = events.iter().filter(|event| event["event_type"] != "Progress").count();
            assert_eq!(told, 10, "{name}: {shown}");
        }
        let port = format!("no events go to ws://localhost:{port}: ");
        for part in [port.as_str(), "missing/x.jsonl: Not a directory"] {
            assert_eq!(shown.matches(part).count(), 1, "{part}: {shown}");
        }
    };
    check(
        &text(&output),
        &["code.jsonl", "observer.jsonl", "new.jsonl", "old.jsonl", "file.jsonl"],
    );
    let ran = env.ran(
        &env.command()
            .args(["run", "-w", "1", "--events", "line.jsonl"])
            .envs(variables)
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    for name in
        ["code.jsonl", "observer.jsonl", "new.jsonl", "old.jsonl", "file.jsonl", "line.jsonl"]
    {
        let events = seen(&env, name);
        let ends = events.iter().filter(|event| event["event_type"] == "SuiteFinished").count();
        let examples =
            events.iter().filter(|event| event["event_type"] == "ExampleFinished").count();
        assert_eq!((ends, examples), (1, 3), "{name}: {}", ran.terminal());
    }
    assert!(ran.terminal().contains("no events go to ws://localhost:"), "{}", ran.terminal());
}

/// Without the binary the suite runs as it is, with one warning.
#[test]
fn a_missing_binary_costs_a_warning() {
    let env = TestEnv::with_spec(&many_examples(3));
    for binary in ["/nowhere/proctor", "/bin/false"] {
        let output = rspec(&env, &[], &[("PROCTOR_BIN", binary), ("PROCTOR_EVENTS", "e.jsonl")]);
        let shown = text(&output);
        assert_eq!(output.status.code(), Some(0), "{shown}");
        assert!(shown.contains("4 examples, 0 failures"), "{shown}");
        assert!(shown.contains("proctor: "), "{shown}");
    }
}

/// What a program publishes on the bus of the run is recorded with its example, and observed once.
#[test]
fn published_events_are_recorded_and_observed_once() {
    let spec = many_examples(0)
        + r#"
RSpec.describe "Publishes" do
  it "tells" do
    heard = []
    bus = Proctor::EventBus.instance
    bus.subscribe(Proctor::Events::UserMessage) { |event| heard << event.text }
    bus.publish(RspecAgents::Events::UserMessage.new(turn_number: 1, text: "hello", source: :script, time: Time.now))
    expect(heard).to eq(["hello"])
  end
end
"#;
    let env = TestEnv::with_spec(&spec);
    let check = |how: &str| {
        let events = seen(&env, "seen.jsonl");
        let said: Vec<&Value> =
            events.iter().filter(|event| event["event_type"] == "UserMessage").collect();
        assert_eq!(said.len(), 1, "{how}: {events:#?}");
        let started =
            events.iter().find(|event| event["path"] == json!(["Publishes", "tells"])).unwrap();
        assert_eq!(said[0]["example_id"], started["example_id"]);
        assert_eq!(said[0]["text"], "hello");
    };
    let output = rspec(&env, &[], &[]);
    assert!(output.status.success(), "{}", text(&output));
    check("rspec");
    for arguments in RUNS {
        let ran = env.run(&[&["run"], *arguments].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        check("proctor run");
    }
}

/// The types of the events of each example, by the last part of its path, as a destination has them.
fn types_by_example(events: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in events {
        let Some(id) = event["example_id"].as_str() else { continue };
        if let Some(title) = event["path"].as_array().and_then(|path| path.last()?.as_str()) {
            names.insert(id.to_owned(), title.to_owned());
        }
        let kind = event["event_type"].as_str().unwrap().to_owned();
        all.entry(names[id].clone()).or_default().push(kind);
    }
    all
}

/// The code of the design, as it is printed there.
#[test]
fn the_code_of_the_design_runs_as_it_is_printed() {
    let env = TestEnv::with_fixture("observer_design");
    let check = |shown: &str| {
        let events = seen(&env, "events.jsonl");
        let types = types_by_example(&events);
        let expected = [
            (
                "publishes what a conversation says",
                &["UserMessage", "AgentResponse", "TopicChanged"][..],
            ),
            ("publishes errors of an agent and raises them", &["AgentError"]),
            ("serves a bus of one's own, without the run's", &[]),
        ];
        for (title, told) in expected {
            let all = [&["ExampleStarted"], told, &["ExampleFinished"]].concat();
            assert_eq!(types[title], all, "{title}: {shown}");
        }
    };
    let output = rspec(&env, &[], &[]);
    assert!(output.status.success(), "{}", text(&output));
    check(&text(&output));
    let ran = env.run(&["run", "-w", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    check(&ran.terminal());
    let own = |shown: &str| {
        let types: Vec<Value> =
            seen(&env, "own.jsonl").iter().map(|event| event["event_type"].clone()).collect();
        let of = |kind: &str| types.iter().filter(|name| *name == kind).count();
        let counts =
            ["SuiteStarted", "ExampleStarted", "UserMessage", "AgentResponse", "SuiteFinished"]
                .map(of);
        assert_eq!(counts, [1, 3, 1, 1, 1], "{types:?} {shown}");
    };
    let output = rspec(&env, &[], &[("OWN_OBSERVER", "1")]);
    assert!(output.status.success(), "{}", text(&output));
    own(&text(&output));
    let ran =
        env.ran(&env.command().args(["run", "-w", "2"]).env("OWN_OBSERVER", "1").output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    own(&ran.terminal());
}

/// The sample of the page.
#[test]
fn the_observers_of_the_page_work() {
    let page = std::fs::read_to_string(crate::env::repository().join("docs/rspec.md")).unwrap();
    let sample = page.split("## Observers").nth(1).unwrap().split("```ruby\n").nth(1).unwrap();
    let env = TestEnv::new();
    env.write("spec/spec_helper.rb", sample.split("```").next().unwrap());
    env.write(
        "spec/a_spec.rb",
        "require_relative 'spec_helper'\nRSpec.describe('a') { it('fails') { raise 'no' } }",
    );
    let output = rspec(&env, &[], &[]);
    let ran = env.run(&["run"]);
    for shown in [text(&output), ran.terminal()] {
        for part in ["./spec/a_spec.rb:2: no", "1 failed"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}

/// A run that an example ends: observers get what there is.
#[test]
fn a_run_that_breaks_off_is_observed_to_its_end() {
    let spec = many_examples(0)
        + r#"
RSpec.describe("x") { 9.times { |n| it(n) { exit 5 if n == 8 } } }
"#;
    let env = TestEnv::with_spec(
        &spec.replace("def on_event(event)", "def on_event(event)\n    sleep 0.01"),
    );
    let output = rspec(&env, &["--order", "defined"], &[]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    let seen = observed(seen(&env, "seen.jsonl"));
    let ends = seen.examples.values().filter(|story| story.len() == 2).count();
    assert_eq!((ends, seen.suite.len()), (10, 1), "{}", text(&output));
    assert!(seen.examples.values().any(|story| story[1]["status"] == "crashed"));
}
