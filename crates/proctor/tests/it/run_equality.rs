//! `proctor run` against plain `rspec`: the same examples, the same results, the same exit code.

use std::process::Command;

use serde_json::Value;

use crate::env::TestEnv;
use crate::recorded::Recorded;

/// What must be equal: place, description, status, class, message, first line of the project.
type Result = (String, String, String, Option<(String, String, Option<String>)>);

struct Plain {
    code: Option<i32>,
    report: Value,
}

fn plain(env: &TestEnv, arguments: &[&str], variables: &[(&str, &str)]) -> Plain {
    let out = env.home().join("plain.json");
    let output = Command::new("rspec")
        .args(["--format", "json", "--out"])
        .arg(&out)
        .args(arguments)
        .current_dir(&env.project)
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&out).unwrap_or_default();
    Plain { code: output.status.code(), report: serde_json::from_str(&text).unwrap_or(Value::Null) }
}

/// Class, message and first project line; addresses of objects differ from process to process.
fn exception(env: &TestEnv, value: &Value) -> Option<(String, String, Option<String>)> {
    value.as_object()?;
    let below = format!("{}/", env.project.display());
    // Plain `rspec` has the whole in its report.
    let all = value["full_backtrace"].as_array().or(value["backtrace"].as_array());
    let lines = all.into_iter().flatten().filter_map(Value::as_str);
    // RSpec 3.13 writes paths relative to the folder, as it shows them; 3.12 writes them whole.
    let whole = |line: &str| {
        line.strip_prefix("./").map_or_else(|| line.to_owned(), |rest| below.clone() + rest)
    };
    let first = lines.map(whole).find(|line| line.starts_with(&below));
    let class = value["class"].as_str().unwrap_or_default().to_owned();
    Some((class, without_addresses(value["message"].as_str().unwrap_or_default()), first))
}

fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean += "0x…";
        clean += part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    clean
}

impl Plain {
    fn examples(&self) -> impl Iterator<Item = &Value> {
        self.report["examples"].as_array().expect("a report").iter()
    }

    fn results(&self, env: &TestEnv) -> Vec<Result> {
        let result = |example: &Value| {
            let text = |key: &str| example[key].as_str().unwrap().to_owned();
            let place = format!("{}:{}", text("file_path"), example["line_number"]);
            (place, text("full_description"), text("status"), exception(env, &example["exception"]))
        };
        sorted(self.examples().map(result).collect())
    }

    fn order(&self) -> Vec<String> {
        let place = |example: &Value| {
            format!("{}:{}", example["file_path"].as_str().unwrap(), example["line_number"])
        };
        self.examples().map(place).collect()
    }
}

fn ours(env: &TestEnv, recorded: &Recorded) -> Vec<Result> {
    let starts = recorded.starts();
    let result = |event: &Value| {
        let start = starts[event["example_id"].as_str().unwrap()];
        let title = event["full_description"].as_str().or(start["full_description"].as_str());
        (
            start["location"].as_str().unwrap().to_owned(),
            title.unwrap().to_owned(),
            event["status"].as_str().unwrap().to_owned(),
            exception(env, &event["exception"]),
        )
    };
    let run = |event: &&Value| event["final"] == true && event["status"] != "not_run";
    sorted(recorded.of("ExampleFinished").filter(run).map(result).collect())
}

fn sorted(mut results: Vec<Result>) -> Vec<Result> {
    results.sort();
    results
}

/// Runs a fixture under both and compares.
fn compare(name: &str, arguments: &[&str], variables: &[(&str, &str)], no_preload: bool) {
    let env = TestEnv::with_fixture(name);
    let reference = plain(&env, arguments, variables);
    let mut ways = vec![vec!["-w", "1"], vec!["-w", "3"]];
    if no_preload {
        ways.push(vec!["-w", "2", "--no-preload"]);
    }
    for way in ways {
        let mut all = vec!["run"];
        all.extend(&way);
        all.push("--");
        all.extend(arguments);
        let output = env.command().args(&all).envs(variables.iter().copied()).output().unwrap();
        let ran = env.ran(&output);
        let recorded = env.recorded();
        assert_eq!(ours(&env, &recorded), reference.results(&env), "{way:?}\n{}", ran.terminal());
        assert_eq!(ran.code, reference.code, "{way:?}\n{}", ran.terminal());
        assert_eq!(recorded.exit_code(), ran.code.map(i64::from));
        let outside = reference.report["summary"]["errors_outside_of_examples_count"].as_u64();
        if way == ["-w", "1"] {
            let places: Vec<String> = recorded
                .of("ExampleStarted")
                .map(|event| event["location"].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(places, reference.order(), "the order of one worker");
            assert_eq!(Some(recorded.count("ErrorOutsideExample") as u64), outside);
        }
        env.assert_complete();
    }
}

#[test]
fn nested_shared_pending_aggregated_and_erroring_examples() {
    compare("broad", &[], &[], true);
}

#[test]
fn hooks_of_every_kind() {
    compare("hooks", &[], &[], true);
}

#[test]
fn focused_examples() {
    compare("focus", &[], &[], false);
}

#[test]
fn tags_of_the_dot_rspec_file() {
    compare("tags", &[], &[], false);
}

#[test]
fn random_order_with_a_seed() {
    compare("random", &["--seed", "4711"], &[], false);
}

#[test]
fn examples_that_print() {
    compare("output", &[], &[], false);
}

#[test]
fn examples_that_stub_the_world() {
    compare(
        "stubs",
        &["-e", "stubs the clock", "-e", "stubs JSON", "-e", "kills other"],
        &[],
        false,
    );
}

#[test]
fn options_of_the_project() {
    compare("options", &["--tag", "~quits"], &[("WHICH", "deprecations")], false);
}

#[test]
fn selections_on_the_command_line_of_rspec() {
    compare("broad", &["spec/nested_spec.rb:17", "spec/pending_spec.rb"], &[], false);
}

#[test]
fn a_suite_hook_that_fails() {
    compare("suite_error", &[], &[("WHICH", "none")], false);
    for which in ["before", "after"] {
        let env = TestEnv::with_fixture("suite_error");
        let variables = [("WHICH", which)];
        let reference = plain(&env, &[], &variables);
        for workers in ["1", "3"] {
            let output =
                env.command().args(["run", "-w", workers]).envs(variables).output().unwrap();
            let ran = env.ran(&output);
            let recorded = env.recorded();
            assert_eq!(ours(&env, &recorded), reference.results(&env), "{}", ran.terminal());
            assert_eq!((ran.code, reference.code), (Some(1), Some(1)), "{}", ran.terminal());
            assert!(recorded.count("ErrorOutsideExample") >= 1);
            let message = if which == "before" { "no suite" } else { "no end" };
            assert!(ran.stdout.contains(message), "{}", ran.terminal());
            recorded.assert_accounted(2);
        }
    }
}

/// Plain rspec's JSON cannot carry these, so only what must hold is checked.
#[test]
fn exceptions_that_cannot_be_told_in_utf8() {
    let env = TestEnv::with_fixture("odd");
    for workers in ["1", "3"] {
        let ran = env.run(&["run", "-w", workers]);
        let recorded = env.recorded();
        recorded.assert_accounted(5);
        assert_eq!(
            recorded.statuses().into_iter().collect::<Vec<_>>(),
            [("failed".to_owned(), 4), ("passed".to_owned(), 1)],
            "{}",
            ran.terminal()
        );
        assert_eq!(ran.code, Some(1));
        env.assert_complete();
    }
}

/// A project may stub what a runner itself needs; whatever it does for good, every example has a result.
#[test]
fn a_project_that_breaks_the_world_for_good_is_still_reported() {
    let env = TestEnv::with_fixture("stubs");
    let ran = env.run(&["run", "-w", "1"]);
    let recorded = env.recorded();
    recorded.assert_accounted(10);
    assert_eq!(recorded.result("is still reported when it fails").status, "failed");
    assert_eq!(recorded.result("is still reported").status, "passed");
    assert_eq!(ran.code, Some(1));
}

/// RSpec's formatters load it, and suites use it without a `require` of their own.
#[test]
fn what_formatters_bring_is_there_although_none_is_loaded() {
    let env = TestEnv::with_spec(
        "RSpec.describe(1) { it('reads') { expect(StringIO.new('a').read).to eq('a') } }\n",
    );
    for options in [&["run", "-w", "1"][..], &["run", "-w", "1", "--no-preload"]] {
        let ran = env.run(options);
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    }
}
