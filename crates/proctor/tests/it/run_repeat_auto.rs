//! `--repeat auto`: results decide how often an example is run.

use rustix::process::Signal;
use serde_json::Value;

use crate::conversations::costly_judge;
use crate::env::{Ran, TestEnv, signal};
use crate::recorded::Recorded;

const AGENT: &str = r#"
import json, os, socket, sys
channel = socket.socket(fileno=int(os.environ["RPC_SOCKET_FD"]))
name = sys.argv[1]
signs, count = open(name + ".signs").read(), 0
for line in channel.makefile():
    message = json.loads(line)
    action = message.get("action")
    if action is None:
        continue
    reply = {"reply_to": message["id"]}
    if action == "hello":
        reply.update(protocol=1, name="x", version="1", pid=os.getpid(), capabilities=[])
    elif action == "agent.chat":
        good = signs[min(count, len(signs) - 1)] == "+"
        count += 1
        reply.update(text="I can help" if good else "Go away")
    channel.sendall((json.dumps(reply) + "\n").encode())
    if action == "__shutdown__":
        break
"#;

/// A project of conversations with an agent program whose answers are known: the n-th answer of the agent NAME is good if the n-th sign in
/// the file NAME.signs is `+`; the last sign stands for all that follow.
fn project(agents: &[(&str, &str)], more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("agent.py", AGENT);
    env.write("proctor.toml", "[conversations]\nconcurrency = 1\n");
    for (name, signs) in agents {
        env.write(&format!("{name}.signs"), signs);
        env.write(
            &format!("{name}.scenario.yaml"),
            &format!(
                "describe: Agents\n{more}\nagent: {{command: [python3, agent.py, {name}]}}\nexamples: [{{it: {name}, steps: [{{user: Hello, expect: [{{match: help}}]}}]}}]\n"
            ),
        );
    }
    env
}

fn auto(env: &TestEnv, more: &[&str]) -> Ran {
    let mut arguments = vec!["run", "--repeat", "auto", "--ui", "terse"];
    arguments.extend(more);
    env.run(&arguments)
}

fn start(recorded: &Recorded) -> Value {
    recorded.of("SuiteStarted").next().unwrap().clone()
}

/// How often an example was run.
fn times(recorded: &Recorded, name: &str) -> usize {
    let results = recorded.of("ExampleFinished").filter(|event| event["final"] == true);
    results.filter(|event| recorded.title(event).ends_with(name)).count()
}

#[test]
fn repeats_go_where_it_is_open_whether_something_got_worse() {
    let env = project(&[("steady", "+"), ("broken", "+"), ("shaky", "+-+++-++")], "");
    let before = env.run(&["run", "--repeat", "20", "--ui", "terse"]);
    assert_eq!(before.code, Some(1), "{}", before.terminal());
    assert_eq!(env.run(&["baseline", "bless", "last"]).code, Some(0));
    env.write("broken.signs", "-");
    let ran = auto(&env, &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    // Three examples: `broken` needs an e-value of 200, which eleven pairs that got worse give.
    assert_eq!(times(&recorded, "broken"), 11, "{}", ran.terminal());
    assert_eq!(times(&recorded, "steady"), times(&recorded, "shaky"));
    assert!(times(&recorded, "steady") < 10, "the suite was known to be worse before");
    assert!(
        ran.stdout.contains("regression shown in 1 (Agents broken)")
            && ran.stdout.contains("baseline: the suite got worse"),
        "{}",
        ran.terminal()
    );
    // What was not needed leaves no trace, and nothing is missing.
    assert!(recorded.of("ExampleFinished").all(|event| event["status"] != "not_run"));
    env.assert_complete();
    let start = start(&recorded);
    assert_eq!((&start["repeat_limit"], &start["repetition_count"]), (&20.into(), &3.into()));
    assert_eq!(start["repeats"], Value::Null);
    assert!(start["repeat_against"].is_string(), "{start}");
    let made = recorded.of("ExampleStarted").count();
    let end = recorded.of("SuiteFinished").next().unwrap();
    assert_eq!(end["repetition_count"], made);
    let last = recorded.of("Progress").last().unwrap();
    assert_eq!((&last["completed"], &last["total"]), (&made.into(), &made.into()));
    let shown = env.run(&["show", "last"]);
    assert!(!shown.stdout.contains("never heard of"), "{}", shown.terminal());
}

#[test]
fn what_does_as_before_is_run_three_times() {
    let env = project(&[("one", "+"), ("two", "-")], "");
    let _ = env.run(&["run", "--repeat", "6", "--ui", "terse"]);
    let ran = auto(&env, &["--against", "last"]);
    let recorded = env.recorded();
    assert_eq!((times(&recorded, "one"), times(&recorded, "two")), (3, 3), "{}", ran.terminal());
    assert!(
        ran.stdout.contains("repeats: 2 examples × 3\nbaseline: no change seen"),
        "{}",
        ran.terminal()
    );
}

#[test]
fn a_pass_rate_is_repeated_until_it_is_shown() {
    let env = project(&[("good", "+"), ("bad", "+-"), ("middling", "++++-")], "pass_rate: 0.5");
    let ran = auto(&env, &["--junit", "out.xml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    assert_eq!(times(&recorded, "good"), 7, "{}", ran.terminal());
    assert_eq!(times(&recorded, "bad"), 11, "one pass, then failures: {}", ran.terminal());
    assert!(
        ran.stdout.contains("shown to be reached in 1, shown to be missed in 2"),
        "{}",
        ran.terminal()
    );
    let event = recorded.of("ExampleStarted").next().unwrap();
    assert_eq!((&event["pass_rate"], &event["repeats"]), (&0.5.into(), &20.into()));
    assert!(recorded.of("ExampleFinished").all(|event| event["status"] != "not_run"));
    assert!(!env.read("out.xml").contains("skipped=\"1\""), "{}", env.read("out.xml"));
    env.assert_complete();
}

#[test]
fn a_limit_that_is_reached_leaves_a_rate_open_and_says_so() {
    let env = project(&[("near", "++++-+++-+")], "pass_rate: 0.8");
    let ran = env.run(&["run", "--repeat", "auto:10", "--ui", "terse"]);
    assert!(
        ran.stdout.contains("pass rates: still open within the limit of 10 in 1 (Agents near)"),
        "{}",
        ran.terminal()
    );
}

#[test]
fn without_anything_to_decide_by_it_is_refused() {
    let env = project(&[("one", "+")], "");
    let ran = auto(&env, &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    let told = ran.terminal();
    assert!(told.contains("--against last") && told.contains("pass_rate"), "{told}");
    assert_eq!(env.recorded().count("ExampleStarted"), 0);
    for (arguments, expected) in [
        (&["run", "--against", "last"][..], "--repeat"),
        (&["run", "--repeat", "3", "--against", "last"], "only with --repeat auto"),
        (&["run", "--repeat", "auto", "--against", "nowhere"], "nowhere"),
        (&["run", "--repeat", "auto:1"], "auto:MAX"),
        (&["run", "--repeat", "0"], "auto:MAX"),
    ] {
        let ran = env.run(arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.stderr.contains(expected), "{}", ran.terminal());
    }
}

#[test]
fn rspec_examples_that_do_as_before_are_run_once_and_others_until_it_is_clear() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "plain" do
             before(:context) { @value = 1 }
             it("stays") { expect(@value).to eq(1) }
             it("breaks") { expect(File.exist?("broken")).to be(false) }
           end"#,
    );
    assert_eq!(env.run(&["run", "--repeat", "5"]).code, Some(0));
    env.write("broken", "");
    let ran = auto(&env, &["--against", "last", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    assert_eq!(
        (times(&recorded, "stays"), times(&recorded, "breaks")),
        (1, 3),
        "{}",
        ran.terminal()
    );
    assert!(ran.stdout.contains("regression shown in 1 (plain breaks)"), "{}", ran.terminal());
    env.assert_complete();
    env.assert_no_process_left();
}

#[test]
fn a_stop_ends_the_rounds() {
    let env = project(&[("slow", "+")], "pass_rate: 0.5");
    env.write(
        "agent.py",
        &AGENT.replace("count += 1", "count += 1; time.sleep(0.3)").replace("sys\n", "sys, time\n"),
    );
    let child = env.spawn(&["run", "--repeat", "auto", "--ui", "terse"]);
    env.wait_for("a second round", |recorded| recorded.count("ExampleStarted") >= 2);
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let recorded = env.recorded();
    assert!(times(&recorded, "slow") < 7);
    assert_eq!(recorded.exit_code(), Some(130));
    env.assert_complete();
    env.assert_no_process_left();
}

/// The budget ends the rounds as it ends any run: what was judged stands, what was planned and could not be is not run.
#[test]
fn a_budget_that_is_spent_ends_the_rounds() {
    let env = TestEnv::new();
    env.write(
        "a.scenario.yaml",
        &format!(
            "describe: A\npass_rate: 0.9\nagent: {{script: [{{say: Hi, then: repeat}}]}}\nmodels: {{judge: {{openai: m, url: \"http://{}/v1\", price: {{input: 1.0, output: 9.0}}}}}}\nexamples: [{{it: x, steps: [{{user: Hello, expect: [{{satisfy: Is kind}}]}}]}}]\n",
            costly_judge()
        ),
    );
    let ran = auto(&env, &["--budget", "0.05", "--concurrency", "1"]);
    let recorded = env.recorded();
    let made = times(&recorded, "x");
    assert!((2..10).contains(&made), "{made} made: {}", ran.terminal());
    assert!(ran.stderr.contains("the budget is used up"), "{}", ran.terminal());
    assert!(ran.stdout.contains("still open within the limit of 20 in 1"), "{}", ran.terminal());
    env.assert_complete();
}

#[test]
fn a_tool_starts_such_a_run_and_reads_its_end() {
    let env = project(&[("good", "+")], "pass_rate: 0.5");
    let tool = |name: &str, given: &str| {
        let ran = env.run(&["tool", name, given]);
        serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.terminal()))
    };
    tool("run_start", r#"{"repeat_up_to": 20}"#);
    let ended = tool("run_wait", "{}")["run"].clone();
    assert_eq!(
        (&ended["state"], &ended["verdict"]),
        (&"finished".into(), &"passed".into()),
        "{ended}"
    );
    assert_eq!(times(&env.recorded(), "good"), 7);
    let results = tool("run_results", "{}");
    assert!(!results.to_string().contains("not_run\":1"), "{results}");
    for (given, expected) in [
        (r#"{"repeat_up_to": 20, "repeat": 3}"#, "not both"),
        (r#"{"against": "last"}"#, "needs `repeat_up_to`"),
        (r#"{"repeat_up_to": 20, "against": "/etc/passwd"}"#, "passwd"),
    ] {
        let ran = env.run(&["tool", "run_start", given]);
        assert_ne!(ran.code, Some(0), "{}", ran.terminal());
        assert!(ran.terminal().contains(expected), "{}", ran.terminal());
    }
    env.assert_no_process_left();
}
