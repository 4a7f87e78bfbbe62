//! Conversations in RSpec: the same specs under plain `rspec` and under `proctor run`, with the same results and events.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::env::{TestEnv, repository};

/// Plain `rspec` with the library of this repository and the binary under test.
pub(crate) fn rspec(env: &TestEnv, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new("rspec")
        .arg("-I")
        .arg(repository().join("ruby/lib"))
        .args(arguments)
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROCTOR_BIN", env!("CARGO_BIN_EXE_proctor"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn events(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What must be equal of an event: everything but times, numbers of workers and our own lines in backtraces.
fn comparable(mut event: Value) -> Value {
    let fields = event.as_object_mut().unwrap();
    for name in ["v", "seq", "run_id", "time", "worker", "duration_ms", "digest"] {
        fields.remove(name);
    }
    if let Some(exception) = fields.get_mut("exception") {
        *exception = json!([exception["class"], exception["message"], exception["project_line"]]);
    }
    event
}

/// The events of every example, in order.
fn by_example(events: Vec<Value>) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events {
        if let Some(id) = event["example_id"].as_str().map(str::to_owned) {
            all.entry(id).or_default().push(comparable(event));
        }
    }
    all
}

fn run(env: &TestEnv, arguments: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let ran = env.run(&[&["run", "--events", "ours.jsonl"], arguments].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let events = events(&env.project.join("ours.jsonl"));
    std::fs::remove_file(env.project.join("ours.jsonl")).unwrap();
    by_example(events)
}

/// Events as text, without the marks of judges' questions: those are random.
fn without_marks(story: &[Value]) -> String {
    let text = serde_json::to_string(story).unwrap();
    let mut parts = text.split("mark");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mark = part.find(|letter: char| letter.is_ascii_hexdigit()).unwrap_or(part.len());
        let long = part[mark..].chars().take_while(char::is_ascii_hexdigit).count();
        let end = if long == 16 { mark + long } else { 0 };
        kept += "mark";
        kept += &part[end..];
    }
    kept
}

/// Runs a fixture under plain `rspec` and in three ways under `proctor run`: groups end as named, results and events are equal.
fn equal_either_way(fixture: &str, groups: &[(&str, &str)]) {
    let env = TestEnv::with_fixture(fixture);
    let output = rspec(&env, &["spec"], &[("PROCTOR_EVENTS", "plain.jsonl")]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}: {shown}{errors}", output.status);
    let plain = by_example(events(&env.project.join("plain.jsonl")));
    for (group, status) in groups {
        let mut seen = 0;
        for story in plain.values().filter(|story| story[0]["path"][0] == *group) {
            let ended = story.last().unwrap()["status"].as_str().unwrap();
            let as_named = ended == *status || (ended == "inconclusive" && *status == "failed");
            assert!(as_named, "{}: {ended}\n{shown}", story[0]["path"]);
            seen += 1;
        }
        assert!(seen >= 2, "{group}: {shown}");
    }
    for arguments in [&["-w", "1"][..], &["-w", "3"], &["-w", "2", "--no-preload"]] {
        let ours = run(&env, arguments);
        assert_eq!(ours.keys().collect::<Vec<_>>(), plain.keys().collect::<Vec<_>>());
        for (id, story) in &plain {
            let (ours, plain) = (without_marks(&ours[id]), without_marks(story));
            assert_eq!(ours, plain, "{arguments:?}: {}", story[0]["path"]);
        }
    }
    env.assert_no_process_left();
}

#[test]
fn every_word_and_matcher_gives_the_same_results_and_events_either_way() {
    equal_either_way(
        "conversations",
        &[("Passing", "passed"), ("Failing", "failed"), ("Ordinary", "passed")],
    );
}

/// Every construct that the documents of rspec-agents show, and a failing twin of each check.
#[test]
fn a_suite_of_rspec_agents_runs_unchanged_either_way() {
    equal_either_way("moved", &[("Passing", "passed"), ("Failing", "failed")]);
}

#[test]
fn failures_name_the_line_of_the_spec_and_show_the_turn() {
    let env = TestEnv::with_fixture("conversations");
    let output = rspec(&env, &["spec/failing_spec.rb:36"], &[]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "turn 1: expected to match /Bye/, but the agent said \"Hello, how can I help?\"",
        "         user:  Hi",
        "# ./spec/failing_spec.rb:38:in",
        "# ./spec/failing_spec.rb:39:in",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains("/lib/proctor/"), "no line of the library: {shown}");
}

const SECTION_TEN: &str = r#"
require "proctor/rspec"
Proctor.configure do |config|
  config.judge = { verdicts: [{ about: "criterion", satisfied: true, because: "it is kind" }] }
  config.simulator = { script: ["Hi, I need a venue", "For 50 people"] }
end
RSpec.describe "BookingAgent", type: :agent do
  agent do
    lambda do |messages|
      search = { id: "tc_1", name: "search_venues", arguments: { city: "Rome" } }
      first = { text: "Let me search...", pending_tool_calls: [search], ends_turn: true, metadata: { tracing: { id: 1 } } }
      messages.size > 1 ? "The Grand Hall fits" : first
    end
  end
  tool(:search_venues) { "Found 3 venues" }
  topic(:greeting) { expect_agent to_satisfy: ["The agent is kind"] }
  it "books venue" do
    expect_conversation_to { use_topic :greeting }
    user.simulate do
      goal "Book a venue"
      stop_when { |turn, _| turn.number == 2 }
    end
  end
end
"#;

/// The complete flow of the observer design, event for event.
#[test]
fn the_flow_of_the_observer_design_is_reproduced() {
    let env = TestEnv::with_spec(SECTION_TEN);
    let output = rspec(&env, &[], &[("RSPEC_AGENTS_EVENTS", "flow.jsonl")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let told: Vec<Value> = events(&env.project.join("flow.jsonl"))
        .into_iter()
        .filter(|event| {
            !["ModelCall", "GroupStarted", "GroupFinished", "Progress"]
                .iter()
                .any(|kind| event["event_type"] == *kind)
        })
        .collect();
    let types: Vec<&str> = told.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "SuiteStarted",
            "ExampleStarted",
            "SimulationStarted",
            "UserMessage",
            "AgentResponse",
            "ToolCallStarted",
            "ToolCallCompleted",
            "TopicChanged",
            "UserMessage",
            "AgentResponse",
            "InvariantEvaluated",
            "SimulationEnded",
            "ExampleFinished",
            "SuiteFinished",
        ]
    );
    let holds = |place: usize, fields: Value| {
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&told[place][name], value, "{name} of {}", told[place]);
        }
    };
    holds(1, json!({"path": ["BookingAgent", "books venue"], "location": "./spec/a_spec.rb:17"}));
    holds(2, json!({"goal": "Book a venue", "max_turns": 15}));
    holds(3, json!({"turn_number": 1, "text": "Hi, I need a venue", "source": "simulator"}));
    holds(
        4,
        json!({"turn_number": 1, "text": "Let me search...", "metadata": {"tracing": {"id": 1}},
        "pending_tool_calls": [{"id": "tc_1", "name": "search_venues", "arguments": {"city": "Rome"}}]}),
    );
    holds(5, json!({"turn_number": 1, "tool_call_id": "tc_1", "tool_name": "search_venues"}));
    holds(6, json!({"tool_call_id": "tc_1", "result": "Found 3 venues"}));
    holds(
        7,
        json!({"turn_number": 1, "from_topic": null, "to_topic": "greeting", "trigger": "initial"}),
    );
    holds(10, json!({"topic": "greeting", "invariant_type": "quality", "passed": true}));
    holds(11, json!({"turn_count": 2, "termination_reason": "stop_condition"}));
    holds(12, json!({"status": "passed", "example_id": told[1]["example_id"]}));
    holds(13, json!({"example_count": 1, "failure_count": 0}));
}

#[test]
fn ordinary_specs_send_their_events_where_they_are_told_to() {
    let env = TestEnv::with_spec(
        "require \"proctor/rspec\"\nRSpec.describe(\"A\") { it(\"b\") {}; it(\"c\") { raise \"no\" }; xit(\"d\") {} }\n",
    );
    let output = rspec(&env, &[], &[("PROCTOR_EVENTS", "events.jsonl")]);
    assert_eq!(output.status.code(), Some(1));
    let told = events(&env.project.join("events.jsonl"));
    let statuses: Vec<&Value> = told
        .iter()
        .filter(|e| e["event_type"] == "ExampleFinished")
        .map(|e| &e["status"])
        .collect();
    assert_eq!(statuses, ["passed", "failed", "pending"]);
    assert_eq!(told.last().unwrap()["counts"], json!({"passed": 1, "failed": 1, "pending": 1}));
    env.assert_complete();
    // Without a destination and without conversations nobody starts anything.
    let quiet = rspec(&env, &[], &[("PROCTOR_BIN", "/nonexistent")]);
    assert_eq!(quiet.status.code(), Some(1));
    assert!(quiet.stderr.is_empty(), "{}", String::from_utf8_lossy(&quiet.stderr));
}

#[test]
fn a_missing_program_is_said_with_the_way_out() {
    let env = TestEnv::with_fixture("conversations");
    let output = rspec(&env, &["spec/passing_spec.rb"], &[("PROCTOR_BIN", "/nonexistent/proctor")]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success());
    assert!(
        shown.contains("/nonexistent/proctor cannot be started") && shown.contains("PROCTOR_BIN"),
        "{shown}"
    );
}

/// `examples/rspec_agents`, as its page says to run it: under `proctor run`, and under plain `rspec`.
#[test]
fn the_example_suite_runs_either_way() {
    let env = TestEnv::new();
    env.copy("examples/rspec_agents");
    let ran = env.run(&["run", "--events", "ours.jsonl", "examples/rspec_agents"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("8 examples: 8 passed"), "{}", ran.terminal());
    let output = rspec(&env, &["examples/rspec_agents"], &[("PROCTOR_EVENTS", "plain.jsonl")]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.contains("8 examples, 0 failures"), "{shown}");
    let (ours, plain) = (
        by_example(events(&env.project.join("ours.jsonl"))),
        by_example(events(&env.project.join("plain.jsonl"))),
    );
    assert_eq!(ours, plain);
    env.assert_complete();
    env.assert_no_process_left();
}

/// Recorded once, the specs need neither agent nor judge; examples that are described alike keep their own lanes.
#[test]
fn a_cassette_replays_the_conversations_of_specs() {
    let env = TestEnv::with_fixture("conversations");
    let selection = [
        "spec/doubles_spec.rb",
        "spec/passing_spec.rb",
        "-e",
        "says hello",
        "-e",
        "satisfies criteria",
    ];
    let run = |more: &[&str]| env.run(&[&["run"], &selection[..], more].concat());
    let ran = run(&["--record", "tape.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let helper = env.read("spec/support/helper.rb");
    env.write(
        "spec/support/helper.rb",
        &helper.replace("Booked for", "Lost").replace("satisfied: true", "satisfied: false"),
    );
    let ran = run(&["--replay", "tape.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let ran = run(&[]);
    assert_eq!(ran.code, Some(1), "without the cassette it would fail: {}", ran.terminal());
}

/// The gem is built from what is there, needs nothing but RSpec, and conversations work with it alone.
#[test]
fn the_gem_is_built_and_works_without_the_repository() {
    let env = TestEnv::new();
    let built = Command::new("gem")
        .args(["build", "proctor-rspec.gemspec", "--output"])
        .arg(env.project.join("proctor-rspec.gem"))
        .current_dir(repository().join("ruby"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let home = env.home().join("gems");
    let installed = Command::new("gem")
        .args(["install", "--local", "--ignore-dependencies", "--no-document", "--install-dir"])
        .arg(&home)
        .arg(env.project.join("proctor-rspec.gem"))
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    env.write(
        "spec/a_spec.rb",
        "gem 'proctor-rspec'\nrequire 'proctor/rspec'\nRSpec.describe('A', type: :agent) { agent { ->(m) { m.last[:content].upcase } }\nit('b') { user.says 'hi'; expect(agent).to match(/HI/) } }\n",
    );
    let output = Command::new("rspec")
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GEM_PATH", format!("{}:{}", home.display(), default_gems()))
        .env("PROCTOR_BIN", env!("CARGO_BIN_EXE_proctor"))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
}

/// Where Ruby itself looks for gems.
fn default_gems() -> String {
    let asked = Command::new("ruby").args(["-e", "puts Gem.path.join(':')"]).output().unwrap();
    String::from_utf8_lossy(&asked.stdout).trim().to_owned()
}

/// An adapter that breaks fails the example with its own error, from its own line, and is an `AgentError` in the recording.
#[test]
fn an_adapters_error_stays_what_it_is() {
    let env = TestEnv::with_fixture("conversations");
    let output = rspec(&env, &["spec/failing_spec.rb", "-e", "agent's own error"], &[]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "IOError:",
        "the line is dead",
        "./spec/support/helper.rb:16:in `chat'",
        "./spec/failing_spec.rb:107:in",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let recorded = env.recorded();
    let error = recorded.of("AgentError").next().unwrap();
    assert_eq!(
        (&error["error_class"], &error["message"]),
        (&json!("IOError"), &json!("the line is dead"))
    );
    let finished = recorded.of("ExampleFinished").next().unwrap();
    assert_eq!((&finished["status"], &finished["fault"]), (&json!("failed"), &json!("agent")));
}

/// The agent lives in the worker. When it brings the worker down, that costs the conversation that the worker was conducting, which is
/// known, so that it is not run again; the others go on in a new worker.
#[test]
fn an_agent_that_kills_its_worker_costs_its_own_conversation_alone() {
    let env = TestEnv::with_fixture("conversations");
    env.write(
        "spec/deadly_spec.rb",
        r#"require_relative "support/helper"
class DeadlyAgent < Proctor::Agent
  def chat(messages, on_tool_call: nil)
    Process.kill(:KILL, Process.pid) if messages.last[:content] == "die"
    "Hello"
  end
end
RSpec.describe "Deadly", type: :agent do
  agent DeadlyAgent
  12.times do |n|
    it "talks #{n}" do
      user.says(n == 5 ? "die" : "hi")
      expect(agent).to match(/Hello/)
    end
  end
end
"#,
    );
    let ran = env.run(&["run", "spec/deadly_spec.rb", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(12);
    for number in 0..12 {
        let expected = if number == 5 { "crashed" } else { "passed" };
        let result = recorded.result(&format!("talks {number}"));
        assert_eq!(result.status, expected, "{}", ran.terminal());
    }
    assert_eq!(recorded.count("ExampleFinished"), 12, "none is run again");
    env.assert_no_process_left();
    env.assert_complete();
}

/// The first page of the documentation, as it is printed there.
#[test]
fn the_five_minutes_of_the_page_work() {
    let env = TestEnv::new();
    let files = write_samples(&env, "docs/rspec.md");
    assert_eq!(
        files,
        ["spec/booking_agent_spec.rb", "spec/desk_agent_spec.rb", "spec/spec_helper.rb"]
    );
    let ran = env.run(&["run", "spec"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let output = rspec(&env, &[], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let shown = env.run(&["show", "last", "--full"]);
    assert!(shown.stdout.contains("A room for 50, please"), "{}", shown.terminal());
}

#[test]
fn the_page_about_moving_from_rspec_agents_works() {
    let env = TestEnv::new();
    env.write(".rspec", "--require agents_helper\n");
    let files = write_samples(&env, "docs/moving-from-rspec-agents.md");
    assert_eq!(files, ["spec/agents_helper.rb", "spec/desk_spec.rb"]);
    let ran = env.run(&["run", "spec", "-w", "4"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("2 examples: 2 passed"), "{}", ran.terminal());
    let output = rspec(&env, &[], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // And they can fail: an agent that lends too early, and a judge that was not told about the goal.
    for (file, from, to) in [
        ("spec/agents_helper.rb", "/lend me (\\w+)/, 1", "/(\\w+)/, 1"),
        ("spec/agents_helper.rb", "config.llm.set_evaluation(\"borrow\"", "[].push(\"borrow\""),
    ] {
        let sound = env.read(file);
        let broken = sound.replace(from, to);
        assert_ne!(broken, sound, "{from}");
        env.write(file, &broken);
        let ran = env.run(&["run", "spec"]);
        assert_eq!(ran.code, Some(1), "{from}: {}", ran.terminal());
        env.write(file, &sound);
    }
}

/// Writes the samples of a page: a Ruby block is the file that its first line names. Returns their names.
fn write_samples(env: &TestEnv, page: &str) -> Vec<String> {
    let page = std::fs::read_to_string(repository().join(page)).unwrap();
    let mut files = Vec::new();
    for block in page.split("```ruby\n").skip(1) {
        let text = block.split("```").next().unwrap();
        // Blocks of a list are indented.
        let indent = &text[..text.len() - text.trim_start_matches(' ').len()];
        let lines: Vec<&str> =
            text.lines().map(|line| line.strip_prefix(indent).unwrap_or(line)).collect();
        let Some(name) = lines[0].strip_prefix("# spec/") else { continue };
        files.push(format!("spec/{name}"));
        env.write(&format!("spec/{name}"), &lines.join("\n"));
    }
    files
}
