//! RSpec to the letter: what plain `rspec` runs, prints, writes and exits with, `proctor run` does too.

use std::process::Command;

use serde_json::Value;

use crate::env::{Ran, TestEnv, assert_code};

fn rspec(env: &TestEnv, arguments: &[&str]) -> Ran {
    let mut command = Command::new("rspec");
    command.args(arguments).current_dir(&env.project).env_clear().env("HOME", env.home());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    env.ran(&command.output().unwrap())
}

fn of_type(env: &TestEnv, name: &str) -> Vec<Value> {
    env.recorded().of(name).cloned().collect()
}

/// V7: what plain rspec runs is run and counts; what it would silently leave out is an error of the run.
#[test]
fn v7_late_examples_are_run_where_rspec_runs_them() {
    let top = "RSpec.describe('late') { it('l') { BODY } }";
    let nested = "self.class.describe('late') { it('l') { BODY } }";
    let outer = "OUTER.describe('late') { it('l') { BODY } }";
    let own = "self.class.it('l') { BODY }";
    let in_example = |late: &str| {
        format!(
            "RSpec.describe('A') do\n OUTER = self\n it('x') {{ }}\n describe('B') {{ it('y') {{ {late} }} }}\n it('z') {{ }}\nend\n"
        )
    };
    let in_hook = |hook: &str, late: &str| {
        format!("RSpec.describe('A') do\n {hook} {{ {late} }}\n it('x') {{ }}\nend\n")
    };
    let cases = [
        (in_example(top), "defined", true),
        (in_example(top), "random", false),
        (in_example(nested), "defined", true),
        (in_example(nested), "random", true),
        (in_example(outer), "defined", true),
        (in_example(outer), "random", false),
        (in_example(own), "defined", false),
        (in_hook("before(:context)", top), "defined", true),
        (in_hook("before(:context)", nested), "random", true),
        (in_hook("after(:context)", top), "defined", true),
        (in_hook("after(:context)", nested), "defined", false),
    ];
    let (fails, passes) = ("raise 'no'", "expect(1).to eq 1");
    let others = [(in_example(top), "defined", true), (in_example(own), "defined", false)];
    let cases = cases.into_iter().map(|case| (case, fails));
    for ((spec, order, runs), body) in cases.chain(others.into_iter().map(|case| (case, passes))) {
        let env = TestEnv::with_spec(&spec.replace("BODY", body));
        let fails = runs && body == fails;
        let plain = rspec(&env, &["--order", order]);
        assert_eq!(plain.stdout.contains("1 failure"), fails, "{}", plain.terminal());
        let ran = env.run(&["run", "-w", "2", "--ui", "grouped", "--", "--order", order]);
        let what = format!("{order} {spec}\n{}", ran.terminal());
        assert_eq!(ran.code == Some(0), runs && !fails, "{what}");
        assert_eq!(ran.stdout.contains("too late to be run"), !runs, "{what}");
        let starts = of_type(&env, "ExampleStarted");
        let late = starts.iter().find(|event| event["description"] == "l");
        assert_eq!(late.is_some(), runs, "{what}");
        if let Some(late) = late {
            let finished = of_type(&env, "ExampleFinished");
            let result = finished.iter().find(|event| event["example_id"] == late["example_id"]);
            let status = if fails { "failed" } else { "passed" };
            assert_eq!(result.unwrap()["status"], status, "{what}");
            env.assert_complete();
        }
    }
}

/// A worker that is lost takes what only it could run along; that is no success.
#[test]
fn v7_late_examples_of_a_worker_that_died_are_errored() {
    let env = TestEnv::with_spec(
        "RSpec.describe('A') { it('x') { RSpec.describe('late') { it('dies') { exit!(0) }; it('never') { } } } }\n",
    );
    for more in [&[][..], &["--no-preload"], &["--retries", "2"]] {
        let ran = env.run(&[&["run", "--ui", "grouped"], more].concat());
        assert_code(&ran, 1);
        let statuses: Vec<Value> =
            of_type(&env, "ExampleFinished").iter().map(|event| event["status"].clone()).collect();
        assert_eq!(statuses, ["passed", "crashed", "errored"], "{}", ran.terminal());
        assert!(
            ran.stdout.contains("that worker has ended before it ran it"),
            "{}",
            ran.terminal()
        );
        env.assert_complete();
    }
}

#[test]
fn r11_exit_codes_are_those_that_rspec_was_given() {
    let failing = "RSpec.describe('A') { it('x') { raise } }\n";
    let error = "RSpec.describe('A') { after(:context) { raise }; it('x') { } }\n";
    let passing = "RSpec.describe('A') { it('x') { } }\n";
    let cases = [
        (failing, "--failure-exit-code 7"),
        (failing, "--failure-exit-code 0 --error-exit-code 9"),
        (error, "--failure-exit-code 7"),
        (error, "--failure-exit-code 7 --error-exit-code 9"),
        (passing, "--failure-exit-code 7"),
    ];
    for (spec, options) in cases {
        let env = TestEnv::with_spec(spec);
        let words: Vec<&str> = options.split_whitespace().collect();
        let plain = rspec(&env, &words).code;
        assert_eq!(env.run(&[&["run", "--"], &*words].concat()).code, plain, "{spec} {options}");
        env.write(".rspec", options);
        assert_eq!(env.run(&["run"]).code, plain, "{spec} {options}");
        // The recording keeps the verdict.
        let end = of_type(&env, "SuiteFinished").pop().unwrap();
        assert_eq!(end["exit_code"], i32::from(spec != passing), "{end}");
    }
    let env = TestEnv::with_spec("raise 'at load'\n");
    assert_code(&env.run(&["run", "--", "--failure-exit-code", "7"]), 2);
}

#[test]
fn r14_a_failing_suite_hook_is_told_once_and_names_what_it_keeps_from_running() {
    let env = TestEnv::with_spec(
        "RSpec.configure { |c| c.before(:suite) { raise IOError, 'no database' } }\n\
         RSpec.describe('A') { 8.times { |n| it(\"x#{n}\") { sleep 0.01 } } }\n",
    );
    for more in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run", "-w", "4", "--ui", "grouped"], more].concat());
        assert_code(&ran, 1);
        let errors = of_type(&env, "ErrorOutsideExample");
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0]["exception"]["message"], "no database");
        let finished = of_type(&env, "ExampleFinished");
        assert_eq!(finished.len(), 8);
        for event in &finished {
            assert_eq!(event["status"], "not_run");
            let reason = event["message"].as_str().unwrap();
            assert_eq!(
                reason,
                "a `before(:suite)` hook failed: IOError: no database (./spec/a_spec.rb:1)"
            );
            assert_eq!(
                (&event["file"], &event["path"][0]),
                (&"./spec/a_spec.rb".into(), &"A".into())
            );
            assert_eq!(event["location"], "./spec/a_spec.rb:2");
        }
        env.assert_complete();
    }
}

/// Decimal numbers are durations and shares of time.
fn without_durations(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(place) = rest.find(|c: char| c.is_ascii_digit()) {
        kept += &rest[..place];
        let number = &rest[place..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, behind) = number.split_at(end);
        let exponent = behind
            .strip_prefix("e-")
            .map(|digits| digits.trim_start_matches(|c: char| c.is_ascii_digit()));
        kept += if number.trim_end_matches('.').contains('.') { "N" } else { number };
        rest = exponent.unwrap_or(behind);
    }
    kept + rest
}

/// What two runs of the same examples must have in common.
fn comparable(formatter: &str, text: &str) -> String {
    let text = without_durations(text);
    match formatter {
        "json" => {
            let mut report: Value =
                serde_json::from_str(&text.replace('N', "0")).unwrap_or_default();
            for example in report["examples"].as_array_mut().into_iter().flatten() {
                let lines = example["exception"]["backtrace"].as_array_mut().into_iter();
                // The frames of the runner itself differ.
                lines.for_each(|lines| {
                    lines.retain(|line| !line.as_str().unwrap_or_default().contains("rspec-core"));
                    lines.retain(|line| !line.as_str().unwrap_or_default().contains("bin/rspec"));
                });
            }
            format!("{report:#}")
        }
        "RspecJunitFormatter" => {
            let keep = |line: &&str| !line.contains("name=\"seed\"");
            let without_time = |line: &str| line.split(" time=").next().map(str::to_owned);
            text.lines().filter(keep).filter_map(without_time).collect::<Vec<_>>().join("\n")
        }
        // How often a bar is drawn depends on the clock.
        "Fuubar" => {
            let lines = text.split(['\n', '\r']).map(str::trim_end);
            lines
                .filter(|line| !line.is_empty() && !line.contains('|'))
                .collect::<Vec<_>>()
                .join("\n")
        }
        _ => text,
    }
}

#[test]
fn formatters_say_over_the_recording_what_they_say_under_rspec() {
    let env = TestEnv::with_fixture("formatters");
    let options = ["--order", "defined", "--no-color"];
    for formatter in
        ["documentation", "progress", "failures", "json", "html", "RspecJunitFormatter", "Fuubar"]
    {
        let plain = rspec(&env, &[&["--format", formatter], &options[..]].concat());
        assert!(plain.stdout.len() > 100, "{}", plain.terminal());
        let ran =
            env.run(&[&["run", "-w", "3", "--", "--format", formatter], &options[..]].concat());
        assert_eq!(ran.code, plain.code, "{}", ran.terminal());
        let (expected, got) =
            (comparable(formatter, &plain.stdout), comparable(formatter, &ran.stdout));
        assert!(expected == got, "{formatter}:\n{expected}\n----\n{got}\n----\n{}", ran.stderr);
        // Standard output is theirs; ours goes to standard error.
        assert!(ran.stderr.contains("24 examples: 6 passed, 14 failed"), "{}", ran.stderr);
    }
    // Ids and statuses; the third column is the time.
    let kept = |text: &str| {
        let columns =
            |line: &str| line.split('|').take(2).map(str::trim).collect::<Vec<_>>().join(" ");
        text.lines().map(columns).collect::<Vec<_>>()
    };
    let ours = env.read("tmp/status.txt");
    std::fs::remove_file(env.project.join("tmp/status.txt")).unwrap();
    assert_code(&rspec(&env, &options), 1);
    assert_eq!(kept(&ours), kept(&env.read("tmp/status.txt")));
}

#[test]
fn formatters_with_a_file_are_run_from_everywhere_and_those_without_only_by_name() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {}; it('c') { raise } }\n");
    env.write(
        ".rspec",
        "--format documentation --format json --out out/a.json --failure-exit-code 3\n",
    );
    env.write("spec/b_spec.rb", "RSpec.configure { |c| c.add_formatter('html', 'b.html') }\n");
    for more in [&[][..], &["--no-preload"]] {
        let ran = env.run(&[&["run", "--ui", "terse"], more].concat());
        assert_code(&ran, 3);
        assert!(ran.stdout.contains("2 examples: 1 passed, 1 failed"), "{}", ran.terminal());
        assert!(!ran.stdout.contains("Failed examples"), "{}", ran.terminal());
        let report: Value = serde_json::from_str(&env.read("out/a.json")).unwrap();
        assert_eq!(report["summary_line"], "2 examples, 1 failure");
        assert!(env.read("b.html").contains("moveProgressBar"));
        std::fs::remove_dir_all(env.project.join("out")).unwrap();
    }
    // The command line replaces those of `.rspec`, as for RSpec.
    let ran = env.run(&["run", "--", "--format", "documentation"]);
    assert!(ran.stdout.starts_with("\nA\n  b\n  c (FAILED - 1)\n"), "{}", ran.terminal());
    assert!(!env.project.join("out").exists());
    let left = std::fs::read_dir(env.events_path().unwrap().parent().unwrap()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name != "formatters.out"), "{left:?}");
}

#[test]
fn a_formatter_that_fails_or_does_not_exist_fails_the_run_and_no_other_formatter() {
    let env = TestEnv::with_spec("RSpec.describe('A') { it('b') {} }\n");
    env.write(
        "lib/bad.rb",
        "class Bad\n RSpec::Core::Formatters.register self, :example_passed, :close\n \
         def initialize(output) = @output = output\n def example_passed(_) = raise('no ink')\n def close(_) = exit!(0)\nend\n",
    );
    for (name, words) in [("Bad", "Bad failed: RuntimeError: no ink"), ("NoSuch", "NoSuch")] {
        let arguments =
            ["-I", "lib", "-r", "bad", "-f", name, "-o", "x", "-f", "json", "-o", "j.json"];
        let ran = env.run(&[&["run", "--"], &arguments[..]].concat());
        assert_code(&ran, 1);
        assert!(ran.terminal().contains(words), "{}", ran.terminal());
        assert!(env.read("j.json").contains("1 example, 0 failures"), "{}", ran.terminal());
    }
}

#[test]
fn statuses_serve_only_failures_of_both() {
    let env = TestEnv::with_spec(
        "RSpec.configure { |c| c.example_status_persistence_file_path = 'tmp/status' }\n\
         RSpec.describe('A') { it('b') {}; it('c') { raise unless File.exist?('mended') }; it('d') { raise unless File.exist?('mended') } }\n",
    );
    for more in [&[][..], &["--no-preload"]] {
        assert_code(&env.run(&[&["run"], more].concat()), 1);
        let plain = rspec(&env, &["--only-failures", "--dry-run"]);
        assert!(plain.stdout.contains("2 examples, 0 failures"), "{}", plain.terminal());
        let plain = rspec(&env, &["--next-failure", "--dry-run"]);
        assert!(plain.stdout.contains("2 examples"), "{}", plain.terminal());
    }
    let ran = env.run(&["run", "--", "--only-failures"]);
    assert!(ran.stdout.contains("2 examples: 2 failed"), "{}", ran.terminal());
    // What was not run keeps its status.
    assert!(env.read("tmp/status").contains("[1:1] | passed"), "{}", env.read("tmp/status"));
    env.write("mended", "");
    assert_code(&env.run(&["run", "--", "--only-failures"]), 0);
    assert!(!env.read("tmp/status").contains("failed"), "{}", env.read("tmp/status"));
    assert!(rspec(&env, &["--only-failures"]).stdout.contains("0 examples"));
}
