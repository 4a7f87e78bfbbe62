//! What goes wrong: errors while loading, hooks that break, workers that die, examples that hang.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use proctor_record::RecordingFollower;
use rustix::process::Signal;
use serde_json::Value;

use crate::env::{TestEnv, kill, repository};
use crate::recorded::Recorded;

fn count(statuses: &[(&str, usize)]) -> BTreeMap<String, usize> {
    statuses.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect()
}

/// Nothing runs, the reason is shown and recorded, and the exit code says so.
fn assert_load_error(fixture: &str, shown: &[&str]) {
    for options in [&["run"][..], &["run", "--no-preload"], &["run", "--ui", "terse"]] {
        let env = TestEnv::with_fixture(fixture);
        let ran = env.run(options);
        assert_eq!(ran.code, Some(2), "{options:?} {}", ran.terminal());
        for text in shown {
            let all = ran.terminal();
            assert!(all.contains(text), "{options:?}: {text} is not in {all}");
        }
        let recorded = env.recorded();
        assert!(recorded.count("ErrorOutsideExample") >= 1, "{options:?}");
        assert_eq!(recorded.count("ExampleStarted"), 0);
        assert_eq!(recorded.exit_code(), Some(2));
        env.assert_no_process_left();
        let listed = env.run(&["list"]);
        assert_eq!(listed.code, Some(2), "{}", listed.terminal());
    }
}

#[test]
fn a_load_error_is_shown_and_nothing_runs() {
    assert_load_error("load_error", &["broken while loading", "bad_spec.rb"]);
}

#[test]
fn a_syntax_error_is_shown_and_nothing_runs() {
    assert_load_error("syntax_error", &["syntax_spec.rb", "no/such/file"]);
}

#[test]
fn an_exit_while_loading_is_shown_and_nothing_runs() {
    assert_load_error("exit_in_load", &["exit"]);
}

#[test]
fn with_on_crash_stop_a_crash_ends_the_whole_run() {
    let spec = r#"RSpec.describe "crash" do
             it("crashes") { sleep 0.01 until File.exist?("hangs"); exit!(3) }
             it("hangs") { File.write("hangs", ""); sleep 60 }
             50.times { |n| it("waits #{n}") { expect(File.exist?("stopped")).to be(true) } }
           end"#;
    let env = TestEnv::with_spec(spec);
    let ran = env.run(&[
        "run",
        "-w",
        "2",
        "--schedule",
        "round-robin",
        "--on-crash",
        "stop",
        "--retries",
        "2",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let expected = count(&[("crashed", 1), ("cancelled", 1), ("not_run", 50)]);
    let recorded = env.recorded();
    assert_eq!(recorded.statuses(), expected, "{}", ran.terminal());
    let reason = |event: &&Value| event["message"] == "the run stopped at a crash";
    assert_eq!(recorded.of("ExampleFinished").filter(reason).count(), 50);
    env.assert_no_process_left();
}

#[test]
fn an_after_context_error_fails_the_run_though_every_example_passes() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "hooked" do
             after(:context) { raise "cannot clean up" }
             it("passes") { expect(1).to eq(1) }
           end"#,
    );
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("cannot clean up"), "{}", ran.terminal());
    let recorded = env.recorded();
    let error = recorded.of("ErrorOutsideExample").next().unwrap();
    assert_eq!(error["exception"]["message"], "cannot clean up");
    assert_eq!(recorded.statuses(), count(&[("passed", 1)]));
    env.assert_complete();
}

#[test]
fn a_missing_ruby_is_named() {
    let env = TestEnv::with_fixture("focus");
    env.write("proctor.toml", "[tools]\nruby = \"no-such-ruby\"\n");
    for options in [&["run"][..], &["run", "--no-preload"], &["list"]] {
        let ran = env.run(options);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.stderr.contains("no-such-ruby"), "{}", ran.terminal());
    }
}

#[test]
fn a_ruby_without_rspec_or_one_that_dies_is_shown_with_its_words() {
    let env = TestEnv::with_fixture("focus");
    let path = env.write("dying-ruby", "#!/bin/sh\necho 'out of luck' >&2\nexit 9\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.write("proctor.toml", &format!("[tools]\nruby = {:?}\n", path.to_string_lossy()));
    for options in [&["run"][..], &["run", "--no-preload"], &["list"]] {
        let ran = env.run(options);
        assert_eq!(ran.code, Some(2), "{}", ran.terminal());
        assert!(ran.terminal().contains("out of luck"), "{options:?} {}", ran.terminal());
    }
}

/// Suite f of the benchmark, in a project of its own.
fn suite_f() -> TestEnv {
    let env = TestEnv::new();
    let suites = env.home().join("suites");
    let made = Command::new("ruby")
        .arg(repository().join("bench/rspec/generate.rb"))
        .arg(&suites)
        .status()
        .unwrap();
    assert!(made.success());
    let text = std::fs::read_to_string(suites.join("f/spec/f_spec.rb")).unwrap();
    env.write("spec/f_spec.rb", &text);
    env
}

#[test]
fn sixty_examples_of_which_four_misbehave_are_all_accounted_for() {
    for options in [&[][..], &["--no-preload"]] {
        let env = suite_f();
        let output = env
            .command()
            .args(["run", "-w", "4", "--timeout", "1s", "--retries", "1"])
            .args(options)
            .env("PROCTOR_BENCH_STATE", env.home())
            .output()
            .unwrap();
        let ran = env.ran(&output);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(60);
        assert_eq!(
            recorded.statuses(),
            count(&[("crashed", 1), ("passed", 58), ("timed_out", 1)]),
            "{}",
            ran.terminal()
        );
        let killed = recorded.result("kills its process");
        assert_eq!((killed.status.as_str(), &killed.event["signal"]), ("crashed", &9.into()));
        assert_eq!(recorded.result("hangs").status, "timed_out");
        // F6: what was ended from outside took its time as well.
        for title in ["kills its process", "hangs"] {
            let event = &recorded.result(title).event;
            assert!(event["duration_ms"].as_f64().is_some_and(|taken| taken > 0.0), "{event}");
        }
        assert_eq!(recorded.result("fails once").event["flaky"], true);
        let leaked = recorded.result("leaks a daemonised child");
        assert_eq!(leaked.event["leaked"][0]["command"], "sleep 3607", "{}", leaked.event);
        for text in ["kills its process", "hangs", "leaks a daemonised child", "fails once", "3607"]
        {
            assert!(ran.stdout.contains(text), "{text} is not in {}", ran.stdout);
        }
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn every_way_to_end_a_process_costs_one_example() {
    for options in [&["-w", "1"][..], &["-w", "3"], &["-w", "2", "--no-preload"]] {
        let env = TestEnv::with_fixture("crashes");
        let mut all = vec!["run", "--timeout", "1s"];
        all.extend(options);
        let ran = env.run(&all);
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(11);
        let status = |ending: &str| recorded.result(ending).status;
        assert_eq!(status("is fine before"), "passed");
        assert_eq!(status("is fine after"), "passed");
        assert_eq!(status("forks and returns"), "passed");
        assert_eq!(status("hangs"), "timed_out");
        for (ending, code) in [("exits now", 7), ("crash exits", 8), ("never starts", 9)] {
            let ended = recorded.result(ending);
            assert_eq!(ended.status, "crashed", "{ending} {}", ran.terminal());
            assert_eq!(ended.event["exit_status"], code, "{ending} {}", ended.event);
        }
        assert_eq!(recorded.result("aborts").event["exit_status"], 1);
        assert_eq!(recorded.result("kills").event["signal"], 9);
        assert_eq!(recorded.result("interrupts").event["signal"], 15);
        assert_eq!(recorded.result("crash exits").event["output_tail"][0], "leaving");
        assert_eq!(recorded.result("aborts").event["output_tail"][0], "no more");
        assert!(ran.stdout.contains("leaving") && ran.stdout.contains("no more"), "{}", ran.stdout);
        env.assert_complete();
        env.assert_no_process_left();
    }
}

#[test]
fn running_out_of_memory_costs_one_example() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "memory" do
             it("is fine") { expect(1).to eq(1) }
             it("runs out") { Process.setrlimit(:AS, 400 << 20); a = []; loop { a << ("x" * (8 << 20)) } }
             it("is fine too") { expect(1).to eq(1) }
           end"#,
    );
    let ran = env.run(&["run", "-w", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(3);
    assert_eq!(recorded.statuses()["passed"], 2, "{}", ran.terminal());
    assert!(["crashed", "failed"].contains(&recorded.result("runs out").status.as_str()));
}

#[test]
fn a_context_hook_that_kills_its_process_costs_its_group_only() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "doomed" do
             before(:context) { puts "last words"; $stdout.flush; Process.kill(:KILL, Process.pid) }
             3.times { |n| it("example #{n}") { expect(1).to eq(1) } }
           end
           RSpec.describe "fine" do
             before(:context) { @value = 1 }
             3.times { |n| it("example #{n}") { expect(@value).to eq(1) } }
           end"#,
    );
    let ran = env.run(&["run", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(6);
    for (title, ended) in recorded.finals() {
        let wanted = if title.starts_with("doomed") { "crashed" } else { "passed" };
        assert_eq!(ended.status, wanted, "{title} {}", ran.terminal());
    }
    env.assert_complete();
}

#[test]
fn a_context_hook_that_hangs_is_ended_and_costs_its_group_only() {
    let env = TestEnv::with_spec(
        r#"RSpec.describe "hung" do
             before(:context) { sleep }
             3.times { |n| it("example #{n}") { expect(1).to eq(1) } }
           end
           RSpec.describe "fine" do
             3.times { |n| it("example #{n}") { expect(1).to eq(1) } }
           end"#,
    );
    let ran = env.run(&["run", "-w", "2", "--timeout", "1s"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(6);
    for (title, ended) in recorded.finals() {
        let wanted = if title.starts_with("hung") { "timed_out" } else { "passed" };
        assert_eq!(ended.status, wanted, "{title} {}", ran.terminal());
    }
    let error = recorded.of("ErrorOutsideExample").next().unwrap();
    assert!(error["message"].as_str().unwrap().contains("a hook hangs"), "{error}");
    let trace = error["exception"]["backtrace"].to_string();
    assert!(trace.contains("a_spec.rb:2"), "where it hangs is said: {error}");
    env.assert_no_process_left();
}

#[test]
fn a_hook_that_dies_or_hangs_after_the_last_example_fails_the_run() {
    let ends = [
        ("RSpec.configure { |c| c.after(:suite) { exit!(3) } }", "exited with status 3"),
        ("RSpec.configure { |c| c.after(:suite) { sleep } }", "did not end within"),
        (r#"RSpec.describe("x") { after(:context) { exit!(4) }; it("passes") { 1 } }"#, "status 4"),
    ];
    std::thread::scope(|scope| {
        for (text, shown) in ends {
            scope.spawn(move || {
                let env = TestEnv::with_spec(text);
                env.write("spec/b_spec.rb", "RSpec.describe('y') { it('passes') { 1 } }");
                let ran = env.run(&["run", "-w", "2"]);
                assert_eq!(ran.code, Some(1), "{text} {}", ran.terminal());
                assert!(ran.stdout.contains(shown), "{text} {}", ran.terminal());
                let recorded = env.recorded();
                assert!(recorded.count("ErrorOutsideExample") >= 1);
                assert!(recorded.finals().values().all(|ended| ended.status == "passed"));
                env.assert_complete();
                env.assert_no_process_left();
            });
        }
    });
}

const SLEEPERS: &str = r#"RSpec.describe "sleepers" do
  24.times { |n| it("example #{n}") { sleep(n < 2 ? 1 : 0.05); expect(1).to eq(1) } }
end"#;

fn first_worker(recorded: &Recorded) -> i32 {
    let pid = recorded.of("WorkerStarted").next().unwrap()["pid"].as_i64();
    i32::try_from(pid.unwrap()).unwrap()
}

#[test]
fn a_worker_killed_from_outside_costs_one_example() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15)] {
        let env = TestEnv::with_spec(SLEEPERS);
        let child = env.spawn(&["run", "-w", "2"]);
        let seen = env.wait_for("a start", |run| run.count("ExampleStarted") >= 2);
        kill(first_worker(&seen), signal);
        let ran = env.ran(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(1), "{}", ran.terminal());
        let recorded = env.recorded();
        recorded.assert_accounted(24);
        assert_eq!(
            recorded.statuses(),
            count(&[("crashed", 1), ("passed", 23)]),
            "{}",
            ran.terminal()
        );
        let crashed = recorded.finals().into_values().find(|ended| ended.status == "crashed");
        let ended = &crashed.unwrap().event;
        assert_eq!(ended["signal"], number, "{ended}");
        env.assert_complete();
    }
}

/// Between the event of its start and the time that RSpec notes for it: RSpec's `ensure` then fails for want of that time.
const TERMINATED_AT_ITS_START: &str = r#"class RSpec::Core::Example
  prepend(Module.new do
    def start(reporter)
      return super unless description == "terminated"
      reporter.example_started(self)
      Process.kill(:TERM, $$)
      sleep
    end
  end)
end
RSpec.describe "starts" do
  it("terminated") { expect(1).to eq(1) }
  it("other") { expect(1).to eq(1) }
end"#;

#[test]
fn a_signal_at_the_start_of_an_example_is_named() {
    let env = TestEnv::with_spec(TERMINATED_AT_ITS_START);
    let ran = env.run(&["run", "-w", "1"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(2);
    let crashed = recorded.finals().into_values().find(|ended| ended.status == "crashed");
    let ended = &crashed.unwrap().event;
    assert_eq!(ended["signal"], 15, "{ended}");
    env.assert_complete();
}

fn parent_of(pid: i32) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("PPid:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_run_outlives_its_preloading_parent() {
    let env = TestEnv::with_spec(SLEEPERS);
    let child = env.spawn(&["run", "-w", "2"]);
    let seen = env.wait_for("a start", |run| run.count("ExampleStarted") >= 2);
    kill(parent_of(first_worker(&seen)), Signal::KILL);
    let ran = env.ran(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(24);
    let statuses = recorded.statuses();
    let crashed = statuses.get("crashed").copied().unwrap_or(0);
    assert!((1..=2).contains(&crashed), "{}", ran.terminal());
    assert_eq!(statuses["passed"] + crashed, 24, "{}", ran.terminal());
    env.assert_complete();
    env.assert_no_process_left();
}

#[test]
fn workers_that_never_start_end_the_run_with_their_reason() {
    let env = TestEnv::with_fixture("options");
    let output =
        env.command().args(["run", "-w", "2"]).env("WHICH", "hook_error").output().unwrap();
    let ran = env.ran(&output);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(5);
    assert!(ran.terminal().contains("no connection"), "{}", ran.terminal());
    assert!(!recorded.statuses().contains_key("passed"), "{}", ran.terminal());
}

/// Kills workers at random while a run goes on, until so many are dead.
fn kill_at_random(env: &TestEnv, events: &Path, wanted: usize) -> usize {
    let mut follower = RecordingFollower::new(events);
    let mut alive: Vec<i32> = Vec::new();
    let mut dice = 20_260_122_u64;
    let mut kills = 0;
    let deadline = Instant::now() + Duration::from_secs(80);
    while kills < wanted {
        assert!(Instant::now() < deadline, "only {kills} kills");
        let mut lines = Vec::new();
        follower.read(|line| lines.push(String::from_utf8_lossy(line.bytes).into_owned())).unwrap();
        for line in lines.iter().filter(|line| line.contains("Worker") || line.contains("Suite")) {
            let event: Value = serde_json::from_str(line).unwrap();
            let pid = event["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
            match (event["event_type"].as_str().unwrap(), pid) {
                ("WorkerStarted", Some(pid)) => alive.push(pid),
                ("WorkerExited", Some(pid)) => alive.retain(|other| *other != pid),
                ("SuiteFinished", _) => return kills,
                _ => {}
            }
        }
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = usize::try_from(dice >> 33).unwrap();
        if alive.is_empty() {
            follower.wait(Duration::from_millis(5)).unwrap();
            continue;
        }
        let pid = alive.swap_remove(random % alive.len());
        // A number may have been given to somebody else since; that process is none of ours.
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if String::from_utf8_lossy(&variables).contains(&*env.home().to_string_lossy()) {
            kill(pid, Signal::KILL);
            kills += 1;
        }
        std::thread::sleep(Duration::from_millis(random as u64 % 16));
    }
    kills
}

#[test]
fn five_hundred_kills_lose_nothing_and_run_nothing_twice() {
    const EXAMPLES: usize = 1500;
    let env = TestEnv::with_spec(&format!(
        r#"LOG = File.open(File.expand_path("../ran.log", __dir__), "a")
            RSpec.describe "kills" do
              {EXAMPLES}.times do |n|
                it("example #{{n}}") {{ LOG.syswrite("kills example #{{n}}\n"); sleep(File.exist?("enough") ? 0.001 : 0.03) }}
              end
            end"#
    ));
    let child = env.spawn(&["run", "-w", "4", "--ui", "terse", "--max-idle-exits", "100000"]);
    env.wait_for("the first worker", |run| run.count("WorkerStarted") > 0);
    let kills = kill_at_random(&env, &env.events_path().unwrap(), 500);
    env.write("enough", "");
    let ran = env.ran(&child.wait_with_output().unwrap());
    assert_eq!(kills, 500, "the run ended before");
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    let recorded = env.recorded();
    recorded.assert_accounted(EXAMPLES);
    let mut times: HashMap<String, usize> = HashMap::new();
    for line in env.read("ran.log").lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    let mut crashed = 0;
    for (title, ended) in recorded.finals() {
        let times = times.get(&title).copied().unwrap_or(0);
        match ended.status.as_str() {
            "passed" => assert_eq!(times, 1, "{title}"),
            "crashed" => {
                assert!(times <= 1, "{title} ran {times} times");
                crashed += 1;
            }
            other => panic!("{title} is {other}"),
        }
    }
    assert!((1..=500).contains(&crashed), "{crashed} crashed");
    env.assert_complete();
    env.assert_no_process_left();
}
