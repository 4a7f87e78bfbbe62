//! What a run shows and writes: output of examples, views, reports, event destinations.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::Value;

use crate::env::{Ran, TestEnv, repository};
use crate::recorded::Recorded;

#[test]
fn output_belongs_to_the_example_that_printed_it() {
    for options in [&["-w", "1"][..], &["-w", "3"], &["-w", "2", "--no-preload"]] {
        let env = TestEnv::with_fixture("output");
        let mut all = vec!["run"];
        all.extend(options);
        let ran = env.run(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        let recorded = env.recorded();
        let out = |ending: &str| recorded.output(ending, "stdout");
        let err = |ending: &str| recorded.output(ending, "stderr");
        assert_eq!(out("output prints"), ["one", "no newline"], "{options:?}");
        assert_eq!(
            (out("to both"), err("to both")),
            (vec!["two out".into()], vec!["two err".into()])
        );
        assert_eq!(out("has a child that prints"), ["mine hi"]);
        assert_eq!(err("has a child that prints"), ["oops"]);
        assert_eq!(out("replaces stdout"), ["constant"]);
        assert_eq!(out("still counts"), ["five"]);
        assert!(out("is silent").is_empty() && err("is silent").is_empty());
    }
}

const NOISY: &str = r#"
RSpec.describe "noisy" do
  it("prints a megabyte") { 10_000.times { |n| puts format("%06d %s", n, "x" * 98) } }
  it("prints one long line") { print("y" * 1_000_000) }
  it("prints garbage") { $stdout.binmode; $stdout.write("\xFF\xFE\x00 garbage\e[31m\n\r\n"); $stderr.write("\xC3(\n") }
  it("speaks like a worker") do
    puts '{"type":"event","event_type":"ExampleFinished","payload":{"key":"./spec/a_spec.rb[1:1]","status":"failed"}}'
    puts '{"id":"1","action":"__shutdown__"}'
    $stderr.puts '{"reply_to":"r1","error":"no"}'
  end
  it("starts a thread") { Thread.new { sleep(0.05); puts "late" }; expect(1).to eq(1) }
  it("waits for it") { sleep(0.2) }
end
"#;

#[test]
fn much_output_garbage_and_imitations_of_the_protocol_do_no_harm() {
    for options in [&["-w", "1"][..], &["-w", "1", "--no-preload"]] {
        let env = TestEnv::with_spec(NOISY);
        let mut all = vec!["run"];
        all.extend(options);
        let ran = env.run(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let recorded = env.recorded();
        recorded.assert_accounted(6);
        assert_eq!(recorded.statuses()["passed"], 6);
        let lines = recorded.output("prints a megabyte", "stdout");
        assert_eq!(lines.len(), 10_000, "{options:?}");
        assert!(lines.iter().enumerate().all(|(n, line)| line.starts_with(&format!("{n:06} xxx"))));
        let long = recorded.output("prints one long line", "stdout").concat();
        assert!(long.len() >= 60_000 && long.starts_with("yyy"), "{}", long.len());
        assert!(recorded.output("prints garbage", "stdout")[0].contains("garbage"));
        assert_eq!(recorded.output("speaks like a worker", "stdout").len(), 2);
        let late = recorded.of("WorkerLog").filter(|event| event["line"] == "late").count();
        assert_eq!(late, 1);
        assert!(!ran.stdout.contains('\u{0}'), "control characters are not passed on");
        env.assert_complete();
    }
}

/// Two examples without descriptions, which get them from their matchers; the second is tried twice.
#[test]
fn generated_descriptions_are_the_names_of_their_examples() {
    let env = TestEnv::with_spec(
        "RSpec.describe(\"Stack\") do\n  subject { [] }\n  it { is_expected.to be_empty }\n  it { is_expected.to eq [1] }\nend\n",
    );
    let both = ["Stack > is expected to be empty", "Stack > is expected to eq [1]"];
    for view in ["interleaved", "grouped", "quiet", "terse"] {
        let ran = env.run(&["run", "--ui", view, "-w", "1", "--retries", "1"]);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        assert!(ran.stdout.contains(both[1]), "{}", ran.terminal());
        match view {
            "interleaved" => {
                assert_eq!(ran.stdout.matches("✗ Stack > is expected to eq").count(), 2);
                assert!(ran.stdout.contains("✓ Stack > is expected to be empty"));
            }
            "grouped" => assert!(ran.stdout.contains("  ✓ is expected to be empty")),
            "quiet" => assert!(ran.stdout.contains("# Stack > is expected to eq [1]")),
            _ => assert!(ran.stdout.starts_with("FAILED Stack > is expected to eq [1] (")),
        }
    }
    let show = |how: &[&str]| env.run(&[&["show", "last"], how].concat()).stdout;
    for how in [&[][..], &["--junit", "-"], &["--markdown", "-"]] {
        let shown = show(how).replace("&gt;", ">").replace("&#91;", "[").replace("&#93;", "]");
        let wanted = if how.contains(&"--markdown") { &both[1..] } else { &both[..] };
        for title in wanted {
            assert!(shown.replace('\\', "").contains(title), "{how:?}: {shown}");
        }
    }
    let json: Value = serde_json::from_str(&show(&["--json", "-"])).unwrap();
    let examples = json["run"]["examples"].as_array().unwrap();
    let mut names: Vec<&str> =
        examples.iter().map(|it| it["description"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["is expected to be empty", "is expected to eq [1]"]);
    let compared = env.run(&["compare", "last~1", "last", "--format", "json"]);
    assert!(compared.stdout.contains(both[1]), "{}", compared.terminal());
    let history = env.run(&["history", "be empty"]);
    assert!(history.stdout.contains(both[0]), "{}", history.terminal());
}

/// What RSpec has to say about filters comes before the summary, which is the last word.
#[test]
fn notes_come_before_the_summary() {
    let env = TestEnv::with_spec("RSpec.describe(\"a\") { it(\"b\", :focus) {}; it(\"c\") {} }\n");
    env.write(".rspec", "--tag focus\n");
    let line = format!("{} run --ui terse 2>&1", env.command().get_program().to_str().unwrap());
    let mut shell = std::process::Command::new("sh");
    for (name, value) in env.command().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let folder = env.command().get_current_dir().map(std::path::Path::to_owned).unwrap();
    let ran = env.ran(&shell.args(["-c", &line]).current_dir(folder).output().unwrap());
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("warning: Run options: include {"), "{}", ran.terminal());
    assert!(lines.last().unwrap().starts_with("1 example: 1 passed"), "{}", ran.terminal());
}

const SHOWN: &str = r#"RSpec.describe "shown" do
  it("passes") { puts "said by pass"; sleep(0.05) }
  it("fails") { puts "said by fail"; expect(1).to eq(2) }
  it("waits") { skip "later" }
end
"#;

const SUMMARY: &str = "3 examples: 1 passed, 1 failed, 1 pending";

fn shown(variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let env = TestEnv::with_spec(SHOWN);
    let mut all = vec!["run", "-w", "2"];
    all.extend(arguments);
    let output = env.command().args(all).envs(variables.iter().copied()).output().unwrap();
    env.ran(&output)
}

fn assert_shows(ran: &Ran, texts: &[&str]) {
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    for text in texts {
        assert!(ran.stdout.contains(text), "{text:?} is not in {}", ran.terminal());
    }
}

#[test]
fn each_view_has_its_lines() {
    let interleaved = shown(&[], &["--ui", "interleaved"]);
    let lines =
        ["▶ 3 examples, 2 workers", "✓ shown > passes", "│ said by pass", "Failures:", SUMMARY];
    assert_shows(&interleaved, &lines);
    assert_shows(&interleaved, &["Re-run:", "proctor run ./spec/a_spec.rb:3", "pending: later"]);
    assert_shows(&shown(&[], &["--ui", "grouped"]), &["▼ shown", "✓ passes", "✗ fails", SUMMARY]);
    let quiet = shown(&[], &["--ui", "quiet"]);
    assert_shows(&quiet, &["Failures:", "expected: 2", SUMMARY]);
    let dots = quiet.stdout.lines().next().unwrap();
    assert!(dots.len() == 3 && ['.', 'F', '*'].iter().all(|c| dots.contains(*c)), "{dots}");
    let terse = shown(&[], &["--ui", "terse"]);
    assert_shows(&terse, &["FAILED shown > fails (./spec/a_spec.rb:3)", SUMMARY]);
    assert!(!terse.stdout.contains("passes"), "{}", terse.terminal());
    // A pipe gets lines.
    assert_shows(&shown(&[], &[]), &["✓ shown > passes", SUMMARY]);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let plain = |ran: &Ran| !ran.stdout.contains('\u{1b}');
    assert!(plain(&shown(&[], &[])), "a pipe has no colours");
    assert!(plain(&shown(&[("NO_COLOR", "1")], &[])));
    assert!(!plain(&shown(&[], &["--color", "always"])));
    assert!(!plain(&shown(&[("NO_COLOR", "1")], &["--color", "always"])), "the flag wins");
    assert!(plain(&shown(&[], &["--color", "never"])));
}

#[test]
fn a_coding_agent_gets_failures_and_summary_only() {
    for variable in ["CLAUDECODE", "CURSOR_AGENT", "GEMINI_CLI"] {
        let ran = shown(&[(variable, "1")], &[]);
        assert_shows(&ran, &["FAILED shown > fails", SUMMARY]);
        assert!(!ran.stdout.contains("passes"), "{}", ran.terminal());
    }
}

#[test]
fn github_gets_annotations_and_tests_cannot_forge_them() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "annotated" do
             it("forges") { puts "::error::forged"; raise "real" }
           end"#,
    );
    let output = env.command().arg("run").env("GITHUB_ACTIONS", "true").output().unwrap();
    let ran = env.ran(&output);
    assert_eq!(ran.code, Some(1));
    let commands: Vec<&str> =
        ran.stdout.lines().filter(|line| line.trim_start().starts_with("::")).collect();
    assert_eq!(commands.len(), 1, "{}", ran.terminal());
    assert!(commands[0].starts_with("::error file=spec/a_spec.rb,line=2"), "{}", commands[0]);
}

#[test]
fn reports_agree_with_the_run() {
    let env = TestEnv::with_fixture("crashes");
    let ran = env.run(&["run", "--timeout", "1s", "--junit", "out.xml", "--json", "out.json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let statuses = env.recorded().statuses();
    let json: Value = serde_json::from_str(&env.read("out.json")).unwrap();
    for (status, count) in &statuses {
        assert_eq!(json["summary"][status], *count, "{status}");
    }
    assert_eq!(json["summary"]["examples"], 11);
    assert_eq!(json["exit_code"], 1);
    let xml = env.read("out.xml");
    assert_eq!(xml.matches("<testcase ").count(), 11);
    let bad = 11 - statuses["passed"];
    assert_eq!(xml.matches("<failure").count() + xml.matches("<error").count(), bad, "{xml}");
    assert_well_formed(&xml);
    let printed = shown(&[], &["--ui", "terse", "--json", "-"]);
    let start = printed.stdout.find('{').unwrap();
    let json: Value = serde_json::from_str(&printed.stdout[start..]).unwrap();
    assert_eq!(json["summary"]["failed"], 1);
    let refused = shown(&[], &["--junit", "no/such/folder/out.xml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.terminal());
}

/// Python's parser is at hand and strict.
fn assert_well_formed(xml: &str) {
    let mut child = std::process::Command::new("python3")
        .args(["-c", "import sys, xml.dom.minidom as m; m.parseString(sys.stdin.buffer.read())"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), xml.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn events_go_to_a_file_as_well() {
    let env = TestEnv::with_spec(SHOWN);
    let _ = env.run(&["run", "--events", "copy.jsonl"]);
    let recorded = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
    assert_eq!(env.read("copy.jsonl"), recorded);
    // A second run is appended, by the variable this time.
    let output = env.command().arg("run").env("PROCTOR_EVENTS", "copy.jsonl").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let both = Recorded::open(&env.project.join("copy.jsonl"));
    assert_eq!(both.count("SuiteStarted"), 2);
}

#[test]
fn events_go_to_whoever_connects() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "served" do
             it("waits") { 1000.times { break if File.exist?("go"); sleep(0.02) } }
             it("passes") { expect(1).to eq(1) }
           end"#,
    );
    let mut child = env.spawn(&["run", "-w", "1", "--events", "ws://127.0.0.1:0"]);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("events at ").expect("an address").to_owned();
    let mut socket = connect(&address);
    env.wait_for("a start", |run| run.count("ExampleStarted") > 0);
    env.write("go", "");
    let mut kinds = Vec::new();
    while let Ok(message) = socket.read() {
        if let Ok(text) = message.to_text()
            && let Ok(event) = serde_json::from_str::<Value>(text)
        {
            kinds.push(event["event_type"].clone());
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let recorded: Vec<Value> =
        env.recorded().events.iter().map(|event| event["event_type"].clone()).collect();
    assert_eq!(kinds, recorded, "the same events in the same order, from the beginning");
}

type Socket = tokio_tungstenite::tungstenite::WebSocket<std::net::TcpStream>;

fn connect(address: &str) -> Socket {
    let host = address.strip_prefix("ws://").unwrap();
    let stream = std::net::TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(40))).unwrap();
    let (socket, _) =
        tokio_tungstenite::tungstenite::client(format!("{address}/"), stream).unwrap();
    socket
}

#[test]
fn a_reader_that_leaves_does_not_end_the_run() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("long") { 60.times { |n| it("example #{n}") { puts "x" * 4000; sleep(0.01) } } }"#,
    );
    let mut child = env.spawn(&["run", "-w", "2"]);
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 16]).unwrap();
    drop(out);
    let ran = env.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(60);
    assert_eq!(env.recorded().statuses()["passed"], 60);
    env.assert_complete();
}

#[test]
fn slow_examples_and_the_slowest_are_named() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe("pace") { it("dawdles") { sleep(0.6) }; it("runs") { expect(1).to eq(1) } }"#,
    );
    let ran = env.run(&["run", "--slow", "200ms", "--profile", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let said = env.recorded().output("dawdles", "stderr");
    assert!(said.iter().any(|line| line.contains("still running")), "{said:?}");
    assert!(ran.stdout.contains("lowest"), "{}", ran.terminal());
}

const CART: &str = r#"RSpec.describe "Cart" do
  it("adds up") { expect(1 + 1).to eq(3) }
  it("is empty") { expect([]).to be_empty }
end
"#;

/// The sample of docs/running.md is what a run prints, and standard output holds nothing but JSON lines.
#[test]
fn programs_get_a_line_of_json_for_each_failure_and_one_for_the_run() {
    let env = TestEnv::new();
    env.write("spec/cart_spec.rb", CART);
    let ran = env.run(&["run", "--ui", "agent"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [failure, summary] = lines.as_slice() else { panic!("{}", ran.terminal()) };
    let page = std::fs::read_to_string(repository().join("docs/running.md")).unwrap();
    let sample = page.lines().find(|line| line.starts_with(r#"{"type":"failure""#)).unwrap();
    assert_eq!(ran.stdout.lines().next(), Some(sample));
    assert_eq!(summary["verdict"], "failed");
    assert_eq!(summary["exit_code"], 1);
    assert_eq!(summary["counts"]["passed"], 1);
    let again = failure["rerun"].as_str().unwrap().strip_prefix("proctor ").unwrap();
    let again: Vec<&str> = again.split(' ').collect();
    assert!(env.run(&again).stdout.contains("1 example: 1 failed"));
}

/// Nothing ran that could be trusted: the only line says so, and that there is no pass.
#[test]
fn programs_are_told_that_nothing_could_be_loaded() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') { }");
    let ran = env.run(&["run", "--ui", "agent"]);
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "error", "{}", ran.terminal());
    let summary = lines.last().unwrap();
    assert_eq!((&summary["type"], &summary["exit_code"]), (&"summary".into(), &2.into()));
    assert_ne!(summary["verdict"], "passed");
}
