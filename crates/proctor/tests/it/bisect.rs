//! `proctor bisect` from outside, against suites with planted dependencies.

use serde_json::Value;

use crate::env::{TestEnv, assert_code, repository};

/// Twelve examples in three files; `culprits` leave a mark, `victim` fails when `bad` holds.
fn suite(culprits: &[usize], victim: usize, bad: &str) -> TestEnv {
    let env = TestEnv::new();
    for file in 0..3 {
        let mut text = format!("$marks ||= []\nRSpec.describe('F{file}') do\n");
        for number in 0..4 {
            let place = file * 4 + number;
            let body = match culprits.iter().position(|culprit| *culprit == place) {
                Some(mark) => format!("$marks << {mark}"),
                None if place == victim => format!("expect({bad}).to eq false"),
                None => String::new(),
            };
            text += &format!("  it('e{place}') {{ {body} }}\n");
        }
        env.write(&format!("spec/f{file}_spec.rb"), &(text + "end\n"));
    }
    env
}

fn bisect(env: &TestEnv, more: &[&str]) -> (Option<i32>, Value) {
    let ran = env.run(&[&["bisect", "--format", "json"], more].concat());
    let report = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.terminal()));
    env.assert_no_process_left();
    (ran.code, report)
}

fn ids(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|example| example["id"].as_str().unwrap()).collect()
}

#[test]
fn two_culprits_are_found_verified_and_named_in_commands_that_fail() {
    let env = suite(&[1, 6], 10, "$marks == [0, 1]");
    let (code, report) = bisect(&env, &[]);
    let failure = &report["failures"][0];
    assert_eq!((code, &failure["finding"]), (Some(0), &"found".into()), "{report:#}");
    assert_eq!(ids(&failure["culprits"]), ["./spec/f0_spec.rb[1:2]", "./spec/f1_spec.rb[1:3]"]);
    assert_eq!(failure["example"]["id"], "./spec/f2_spec.rb[1:3]");
    assert_eq!(failure["with"]["failed"], failure["with"]["runs"], "{report:#}");
    assert_eq!(failure["alone"]["failed"], 0);
    let in_words = env.run(&["bisect"]);
    let command = report["commands"][0]["rspec"].as_str().unwrap();
    assert!(in_words.stdout.contains(command), "{}", in_words.terminal());
    assert!(in_words.stdout.contains("fails after these examples, in this order:"));
    assert!(
        in_words.stderr.contains("bisect: run 1 of everything: 1 failed"),
        "{}",
        in_words.stderr
    );
    let shell = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).current_dir(&env.project).output().unwrap().status.code()
    };
    assert_eq!(shell(command), Some(1), "{command}");
    let without_one = command.replacen("'./spec/f0_spec.rb[1:2]' ", "", 1);
    assert_eq!(shell(&without_one), Some(0), "{without_one}");
}

#[test]
fn the_sample_of_the_documentation_is_what_is_printed() {
    let env = TestEnv::new();
    env.write(
        "spec/basket_spec.rb",
        "$items ||= []\nRSpec.describe('Basket') do\n  it('is made') { }\n  it('keeps its items') { $items << 'tea' }\nend\n",
    );
    env.write(
        "spec/cart_spec.rb",
        "$items ||= []\nRSpec.describe('Cart') do\n  it('has a price') { }\n  it('is empty') { expect($items).to eq [] }\nend\n",
    );
    let page = std::fs::read_to_string(repository().join("docs/bisect.md")).unwrap();
    let sample = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let ran = env.run(&["bisect"]);
    assert_code(&ran, 0);
    assert!(ran.stdout.contains(sample), "{}", ran.terminal());
}

#[test]
fn what_needs_no_other_example_or_does_not_fail_is_said_so() {
    let alone = suite(&[], 5, "true");
    let (code, report) = bisect(&alone, &[]);
    assert_eq!((code, &report["failures"][0]["finding"]), (Some(0), &"fails_alone".into()));
    assert!(alone.run(&["bisect"]).stdout.contains("no other example is to blame"));
    let clean = suite(&[1], 0, "$marks.any?");
    let (code, report) = bisect(&clean, &["--attempts", "2"]);
    assert_eq!(
        (code, &report["failures"], &report["attempts"]),
        (Some(1), &Value::Array(vec![]), &2.into())
    );
    assert!(clean.run(&["bisect", "--attempts", "1"]).stdout.contains("nothing failed in 1 run"));
    // Once in a file that outlives the processes, and never again.
    let once = suite(&[1], 7, "$marks.any? && !File.exist?('seen') && File.write('seen', '') == 0");
    let (code, report) = bisect(&once, &["--attempts", "3"]);
    assert_eq!((code, &report["failures"][0]["finding"]), (Some(1), &"not_reproduced".into()));
    assert_eq!(report["failures"][0]["with"]["runs"], 3);
}

#[test]
fn a_crash_of_the_victim_is_a_failure_and_a_suite_that_does_not_load_an_error() {
    let env = suite(&[3], 8, "$marks.any? ? exit!(3) : false");
    let (code, report) = bisect(&env, &[]);
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(ids(&report["failures"][0]["culprits"]), ["./spec/f0_spec.rb[1:4]"], "{report:#}");
    env.write("spec/z_spec.rb", "raise 'at load'\n");
    let ran = env.run(&["bisect"]);
    assert_code(&ran, 2);
    assert!(ran.stderr.contains("at load"), "{}", ran.terminal());
    assert_code(&env.run(&["bisect", "--no-preload"]), 2);
}

/// The order of the seed counts, and the command names it.
#[test]
fn the_order_is_that_of_the_seed() {
    let env = suite(&[11], 0, "$marks.any?");
    let seeds = 1..40;
    let failing = seeds.map(|seed: u32| seed.to_string()).find_map(|seed| {
        let (code, report) = bisect(&env, &["--attempts", "1", "--", "--seed", &seed]);
        (code == Some(0)).then_some((seed, report))
    });
    let (seed, report) = failing.unwrap();
    let command = report["commands"][0]["rspec"].as_str().unwrap();
    assert!(command.ends_with(&format!("--seed {seed}")), "{command}");
    assert_eq!(ids(&report["failures"][0]["culprits"]), ["./spec/f2_spec.rb[1:4]"]);
}

#[test]
fn generated_suites_are_explained() {
    let mut bench = std::process::Command::new(repository().join("bench/bisect/run"));
    bench.arg("--short").env("PROCTOR", env!("CARGO_BIN_EXE_proctor"));
    let output = bench.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.ends_with("6 found, 0 wrong\n"), "{text}");
}
