//! Conversations in RSpec: what an agent reports while it works is published at that time, under `proctor run` and plain `rspec`.

use std::process::Command;

use serde_json::{Value, json};

use crate::env::{TestEnv, repository};

/// The agent looks into the recording of the run before it answers: what it reported is there.
const SPEC: &str = r##"
require "proctor/rspec"

class Recorded
  def self.wait_for(type)
    recording = Dir[File.join(Dir.pwd, ".proctor/runs/*/events.jsonl")].max
    sleep(0.005) until File.readlines(recording).any? { |line| line.include?(%("event_type":"#{type}")) && line.include?(%("t1")) }
  end
end

class SearchAgent
  def chat(messages, on_tool_call:, on_first_token:)
    case messages.last[:content]
    when "search"
      on_first_token.call
      on_tool_call.started(name: :search, arguments: { n: 1 }, id: "t1")
      Recorded.wait_for("ToolCallStarted")
      on_tool_call.call(name: :search, arguments: { n: 1 }, id: "t1", result: "3 halls", metadata: { rows: 3 })
      Recorded.wait_for("ToolCallCompleted")
      { text: "found", tool_calls: [{ id: "t1", name: :search, arguments: { n: 1 }, result: "3 halls" }] }
    when "twice"
      2.times { on_tool_call.run(name: :look, arguments: { n: 2 }) { "seen" } }
      "looked"
    when "broken"
      on_tool_call.run(name: :look, arguments: { n: 3 }) { raise ArgumentError, "no such thing" }
    end
  end
end

RSpec.describe "Search", type: :agent do
  agent { SearchAgent.new }

  it "calls" do
    user.says "search"
    expect(agent).to call_tool(:search).with(n: 1).once
    user.says "twice"
    expect(agent).to call_tool(:look).twice
  end

  it("breaks") { user.says "broken" }
end
"##;

fn of_example<'a>(events: &'a [Value], title: &str) -> Vec<&'a Value> {
    let started = events
        .iter()
        .find(|event| event["event_type"] == "ExampleStarted" && event["path"][1] == title)
        .unwrap();
    events.iter().filter(|event| event["example_id"] == started["example_id"]).collect()
}

fn check(events: &[Value]) {
    let calls = of_example(events, "calls");
    let wanted = ["UserMessage", "ToolCallStarted", "ToolCallCompleted", "AgentResponse"];
    let story: Vec<&Value> = calls
        .into_iter()
        .filter(|event| wanted.iter().any(|name| event["event_type"] == *name))
        .collect();
    let names: Vec<&str> =
        story.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            &wanted[..],
            &["UserMessage", "ToolCallStarted", "ToolCallCompleted", "ToolCallStarted"],
            &["ToolCallCompleted", "AgentResponse"],
        ]
        .concat()
    );
    let completed = story[2];
    assert_eq!(
        (&completed["tool_call_id"], &completed["result"], &completed["metadata"]),
        (&json!("t1"), &json!("3 halls"), &json!({"rows": 3}))
    );
    assert!(story[3]["first_token_ms"].is_number(), "{}", story[3]);
    for pair in [&story[5..7], &story[7..9]] {
        assert_eq!(pair[0]["tool_call_id"], pair[1]["tool_call_id"]);
        assert_eq!((&pair[1]["tool_name"], &pair[1]["result"]), (&json!("look"), &json!("seen")));
        assert!(pair[1]["duration_ms"].is_number(), "{}", pair[1]);
    }
    assert_ne!(story[5]["tool_call_id"], story[7]["tool_call_id"]);
    let broken = of_example(events, "breaks");
    let of = |name: &str| broken.iter().find(|event| event["event_type"] == name).unwrap();
    assert_eq!(of("ToolCallCompleted")["error"], "ArgumentError: no such thing");
    assert_eq!(
        of("AgentError")["context"],
        json!({"messages_count": 1, "turn": 1, "asked": "broken", "tool_rounds": 0, "reported_calls": 1})
    );
}

#[test]
fn r6_calls_are_published_when_they_happen() {
    let env = TestEnv::with_spec(SPEC);
    let ran = env.run(&["run", "--ui", "terse"]);
    assert!(
        ran.stdout.contains("1 passed") && ran.stdout.contains("ArgumentError"),
        "{}",
        ran.terminal()
    );
    check(&env.recorded().events);
}

#[test]
fn r6_calls_are_published_when_they_happen_under_plain_rspec_too() {
    let env = TestEnv::with_spec(SPEC);
    let output = Command::new("rspec")
        .arg("-I")
        .arg(repository().join("ruby/lib"))
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("PROCTOR_BIN", env!("CARGO_BIN_EXE_proctor"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("2 examples, 1 failure"), "{printed}");
    let events = env.recorded().events;
    check(&events);
    // R9: progress, the last of which is complete, comes before the end.
    let last = events.iter().rfind(|event| event["event_type"] == "Progress").unwrap();
    let counts = (&last["completed"], &last["total"], &last["failures"]);
    assert_eq!(counts, (&json!(2), &json!(2), &json!(1)));
    assert_eq!(events.last().unwrap()["event_type"], "SuiteFinished");
}

/// The lines that RSpec would show for this project; all of them in a field of their own.
#[test]
fn backtraces_are_cut_as_the_project_has_it() {
    let env = TestEnv::with_spec(
        r#"
        require_relative "../lib/shop"
        RSpec.configure { |config| config.backtrace_exclusion_patterns << %r{/lib/hidden} }
        RSpec.describe "Shop" do
          it("fails") { Shop.new.sell }
          it("shows all", :full_backtrace) { Shop.new.sell }
          it("is hidden") { raise(RuntimeError.new("x").tap { |error| error.set_backtrace(["/lib/hidden:1"]) }) }
        end
        "#,
    );
    env.write(
        "lib/shop.rb",
        "require_relative 'hidden'\nclass Shop\n  def sell = Hidden.sell\nend\n",
    );
    env.write("lib/hidden.rb", "module Hidden\n  def self.sell = raise(\"sold out\")\nend\n");
    let ran = env.run(&["run", "--ui", "terse"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    let exception = |title: &str| {
        let events = of_example(&recorded.events, title);
        let finished = events.into_iter().find(|event| event["event_type"] == "ExampleFinished");
        finished.unwrap()["exception"].clone()
    };
    let cut = exception("fails");
    assert_eq!(
        cut["backtrace"],
        json!([
            "./lib/shop.rb:3:in `sell'",
            "./spec/a_spec.rb:5:in `block (2 levels) in <top (required)>'"
        ])
    );
    let full: Vec<&str> = cut["full_backtrace"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert!(full[0].ends_with("lib/hidden.rb:2:in `sell'") && full.len() > 3, "{full:?}");
    let whole = exception("shows all");
    assert!(whole["backtrace"][0].as_str().unwrap().ends_with("lib/hidden.rb:2:in `sell'"));
    assert_eq!(
        exception("is hidden")["backtrace"],
        json!(["/lib/hidden:1"]),
        "as RSpec: better than none"
    );
    let shown = env.run(&["run", "--ui", "quiet", "--backtrace"]).terminal();
    assert!(shown.contains("lib/hidden.rb:2"), "{shown}");
}
