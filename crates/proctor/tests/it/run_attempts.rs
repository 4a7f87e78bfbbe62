//! How often, in which order and where examples run: retries, repetitions, schedules, groups, workers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::env::TestEnv;
use crate::recorded::Recorded;

/// Fails as often as it is told, by example, over all processes.
const FLAKY: &str = r#"
def failures_before(name, wanted)
  path = File.expand_path("../#{name}.count", __dir__)
  count = File.exist?(path) ? File.read(path).to_i : 0
  File.write(path, (count + 1).to_s)
  raise "failure #{count + 1} of #{name}" if count < wanted
end

RSpec.describe "flaky" do
  it("passes") { expect(1).to eq(1) }
  it("fails once") { puts "attempt"; failures_before("once", 1) }
  it("fails twice") { failures_before("twice", 2) }
  it("crashes once") { File.exist?("crashed") ? nil : (File.write("crashed", ""); exit!(3)) }
end
"#;

#[test]
fn a_pass_after_a_failure_is_flaky() {
    for workers in ["1", "3"] {
        let env = TestEnv::with_spec(FLAKY);
        let ran = env.run(&["run", "-w", workers, "--retries", "2"]);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        assert!(ran.stdout.contains("flaky"), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(4);
        assert_eq!(recorded.statuses()["passed"], 4);
        let counts = &recorded.of("SuiteFinished").next().unwrap()["counts"];
        assert_eq!((&counts["passed"], &counts["flaky"]), (&4.into(), &3.into()));
        let twice = attempts(&recorded, "fails twice");
        assert_eq!(
            twice,
            [(1, "failed", false, false), (2, "failed", false, false), (3, "passed", true, true)]
                .map(|(n, status, last, flaky)| (n, status.to_owned(), last, flaky))
        );
        let crashed = attempts(&recorded, "crashes once");
        assert_eq!(crashed[0].1, "crashed");
        assert_eq!(crashed[1], (2, "passed".to_owned(), true, true));
        // Each attempt has its own output. The attempts may run in different workers, whose output has no common order.
        let mut printed: Vec<(u64, u64)> = recorded
            .of("WorkerLog")
            .filter(|event| event["line"] == "attempt")
            .map(|event| (event["repeat"].as_u64().unwrap(), event["attempt"].as_u64().unwrap()))
            .collect();
        printed.sort_unstable();
        assert_eq!(printed, [(1, 1), (1, 2)]);
        env.assert_complete();
    }
}

/// Attempt number, status, final, flaky.
fn attempts(recorded: &Recorded, ending: &str) -> Vec<(u64, String, bool, bool)> {
    recorded
        .of("ExampleFinished")
        .filter(|event| recorded.title(event).ends_with(ending))
        .map(|event| {
            (
                event["attempt"].as_u64().unwrap(),
                event["status"].as_str().unwrap().to_owned(),
                event["final"].as_bool().unwrap(),
                event["flaky"].as_bool().unwrap_or(false),
            )
        })
        .collect()
}

#[test]
fn flaky_examples_can_be_made_to_fail_the_run() {
    let env = TestEnv::with_spec(FLAKY);
    let ran = env.run(&["run", "--retries", "2", "--flaky", "fail"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
}

#[test]
fn retries_that_are_used_up_leave_a_failure() {
    let env = TestEnv::with_spec(FLAKY);
    let ran = env.run(&["run", "-w", "2", "--retries", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    assert_eq!(recorded.result("fails twice").status, "failed");
    assert_eq!(recorded.result("fails twice").event["attempt"], 2);
    assert_eq!(recorded.result("fails once").status, "passed");
    assert_eq!(attempts(&recorded, "flaky passes").len(), 1);
}

#[test]
fn a_group_with_context_hooks_is_retried_example_by_example() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "hooked" do
             before(:context) { @path = "again"; @value = 1 }
             it("passes") { expect(@value).to eq(1) }
             it("fails once") { first = !File.exist?(@path); File.write(@path, ""); expect(first).to be(false) }
             it("passes too") { expect(@value).to eq(1) }
           end"#,
    );
    let ran = env.run(&["run", "-w", "2", "--retries", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(3);
    assert_eq!(recorded.count("ExampleStarted"), 4);
}

#[test]
fn every_example_is_repeated_with_its_number_and_its_output() {
    for workers in ["1", "3"] {
        let env = TestEnv::with_spec(
            r#"RSpec.describe "repeated" do
                 3.times { |n| it("example #{n}") { puts "said #{n}" } }
                 context "hooked" do
                   before(:context) { @value = 1 }
                   it("too") { expect(@value).to eq(1) }
                 end
               end"#,
        );
        let ran = env.run(&["run", "-w", workers, "--repeat", "3"]);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(12);
        let mut repeats: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for event in recorded.of("ExampleFinished") {
            let title = recorded.title(event);
            assert!(repeats.entry(title).or_default().insert(event["repeat"].as_u64().unwrap()));
        }
        assert_eq!(repeats.len(), 4);
        assert!(repeats.values().all(|numbers| *numbers == BTreeSet::from([1, 2, 3])));
        let printed: BTreeSet<(String, u64)> = recorded
            .of("WorkerLog")
            .filter(|event| event["line"].as_str().unwrap().starts_with("said"))
            .map(|event| (recorded.title(event), event["repeat"].as_u64().unwrap()))
            .collect();
        assert_eq!(printed.len(), 9, "each repetition has its own output: {printed:?}");
        assert_eq!(recorded.of("SuiteStarted").next().unwrap()["repeats"], 3);
        env.assert_complete();
    }
}

const NUMBERED: &str = r#"RSpec.describe "numbered" do
  12.times { |n| it("example #{n}") { sleep(0.02) } }
end"#;

fn worker_of_examples(recorded: &Recorded) -> Vec<(String, u64)> {
    recorded
        .of("ExampleStarted")
        .map(|event| (recorded.title(event), event["worker"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_worker_is_replaced_after_its_share() {
    let env = TestEnv::with_spec(NUMBERED);
    let ran = env.run(&["run", "-w", "2", "--max-examples-per-worker", "3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(12);
    let pids: BTreeSet<u64> =
        recorded.of("WorkerStarted").map(|event| event["pid"].as_u64().unwrap()).collect();
    assert!(pids.len() >= 4, "{pids:?}");
    // No process ran more than three.
    let mut pid_of: HashMap<u64, u64> = HashMap::new();
    let mut ran_by: HashMap<u64, usize> = HashMap::new();
    for event in &recorded.events {
        let worker = event["worker"].as_u64();
        match (event["event_type"].as_str().unwrap(), worker) {
            ("WorkerStarted", Some(worker)) => {
                pid_of.insert(worker, event["pid"].as_u64().unwrap());
            }
            ("ExampleStarted", Some(worker)) => {
                *ran_by.entry(pid_of[&worker]).or_default() += 1;
            }
            _ => {}
        }
    }
    assert!(ran_by.values().all(|count| *count <= 3), "{ran_by:?}");
    assert!(recorded.of("WorkerExited").all(|event| event["expected"] == true));
}

#[test]
fn round_robin_deals_examples_out_beforehand() {
    let env = TestEnv::with_spec(NUMBERED);
    for _ in 0..2 {
        let ran = env.run(&["run", "-w", "3", "--schedule", "round-robin"]);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
        for (title, worker) in worker_of_examples(&env.recorded()) {
            let number: u64 = title.rsplit(' ').next().unwrap().parse().unwrap();
            assert_eq!(worker, number % 3, "{title}");
        }
    }
}

#[test]
fn listed_keeps_the_order_of_the_suite() {
    let env = TestEnv::with_spec(NUMBERED);
    // Durations are known the second time, and change nothing.
    for _ in 0..2 {
        assert_eq!(env.run(&["run", "-w", "1", "--schedule", "listed"]).code, Some(0));
        let expected: Vec<String> = (0..12).map(|n| format!("numbered example {n}")).collect();
        assert_eq!(env.recorded().started(), expected);
    }
    assert_eq!(env.run(&["run", "-w", "2", "--schedule", "listed"]).code, Some(0));
    let started = env.recorded().started();
    assert!(started[..4].contains(&"numbered example 0".to_owned()), "{started:?}");
}

#[test]
fn the_longest_comes_first_once_durations_are_known() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "timed" do
             8.times { |n| it("short #{n}") { sleep(0.01) } }
             it("longest") { sleep(0.4) }
             it("long") { sleep(0.2) }
           end"#,
    );
    assert_eq!(env.run(&["run", "-w", "2"]).code, Some(0));
    assert_eq!(env.run(&["run", "-w", "2"]).code, Some(0));
    // A worker may be late, but none does a short one before a long one.
    let mut by_worker: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (title, worker) in worker_of_examples(&env.recorded()) {
        by_worker.entry(worker).or_default().push(title);
    }
    for titles in by_worker.values() {
        let long = |title: &&String| title.starts_with("timed long");
        let last_long = titles.iter().rposition(|title| long(&title)).map_or(0, |at| at + 1);
        assert!(titles[..last_long].iter().all(|title| long(&title)), "{by_worker:?}");
    }
}

/// Groups whose hooks leave a line for every run.
const GROUPS: &str = r#"
NOTES = File.open(File.expand_path("../hooks.log", __dir__), "a")
4.times do |group|
  RSpec.describe "group #{group}" do
    before(:context) { NOTES.syswrite("before #{group}\n"); @value = group }
    after(:context) { NOTES.syswrite("after #{group}\n") }
    8.times { |n| it("example #{n}") { sleep(0.01); expect(@value).to eq(group) } }
  end
end
"#;

fn hook_runs(env: &TestEnv) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    for line in env.read("hooks.log").lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    runs
}

#[test]
fn groups_with_context_hooks_stay_whole() {
    let env = TestEnv::with_spec(GROUPS);
    let ran = env.run(&["run", "-w", "4"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let runs = hook_runs(&env);
    assert_eq!(runs.len(), 8);
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    let workers: HashMap<String, BTreeSet<u64>> =
        worker_of_examples(&env.recorded()).into_iter().fold(HashMap::new(), |mut all, (t, w)| {
            all.entry(t[..7].to_owned()).or_default().insert(w);
            all
        });
    assert!(workers.values().all(|workers| workers.len() == 1), "{workers:?}");
}

#[test]
fn split_groups_doubles_hooks_at_most() {
    let env = TestEnv::with_spec(GROUPS);
    let ran = env.run(&["run", "-w", "4", "--split-groups"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.recorded().assert_accounted(32);
    let runs = hook_runs(&env);
    assert!(runs.values().all(|count| (1..=2).contains(count)), "{runs:?}");
    assert!(runs.values().any(|count| *count == 2), "{runs:?}");
}

#[test]
fn workers_know_their_number() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "environment" do
             6.times do |n|
               it("example #{n}") { puts "env=" + ENV.values_at("WORKER_INDEX", "PROCTOR_WORKER", "TEST_ENV_NUMBER").inspect }
             end
           end"#,
    );
    // Dealt out beforehand, so that no worker can be late.
    let dealt = ["run", "-w", "3", "--schedule", "round-robin"];
    for options in [&[][..], &["--no-preload"]] {
        assert_eq!(env.run(&[&dealt, options].concat()).code, Some(0));
        let recorded = env.recorded();
        let mut seen = BTreeSet::new();
        for event in recorded.of("WorkerLog") {
            let Some(text) = event["line"].as_str().unwrap().strip_prefix("env=") else { continue };
            let worker = event["worker"].as_u64().unwrap();
            let values: Vec<Value> = serde_json::from_str(text).unwrap();
            let number = if worker == 0 { String::new() } else { (worker + 1).to_string() };
            let expected = [worker.to_string(), worker.to_string(), number];
            assert_eq!(values, expected);
            seen.insert(worker);
        }
        assert_eq!(seen.len(), 3, "{options:?} {seen:?}");
    }
}

#[test]
fn examples_do_not_see_how_garbage_is_collected_and_the_users_settings_count() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "garbage" do
             it("is collected") do
               expect(ENV.keys.grep(/RUBY_GC/)).to eq(ENV.fetch("OWN", "").split)
               expect(GC.stat(:malloc_increase_bytes_limit)).to be_between(*ENV.fetch("LIMITS").split.map(&:to_i))
             end
           end"#,
    );
    for (own, limits) in [(&[][..], "33554431 99000000"), (&["20000000"], "20000000 33000000")] {
        let mut command = env.command();
        command.args(["run", "-w", "1"]).env("LIMITS", limits);
        for value in own {
            command.env("RUBY_GC_MALLOC_LIMIT", value).env("OWN", "RUBY_GC_MALLOC_LIMIT");
        }
        let ran = env.ran(&command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{limits} {}", ran.terminal());
    }
}
