//! Suites that measure themselves with `SimpleCov`: the counts of all workers make one report and one verdict.

use serde_json::Value;

use crate::env::TestEnv;

const HELPER: &str = r#"
require "simplecov"
SimpleCov.formatter SimpleCov::Formatter::SimpleFormatter
SimpleCov.start do
  add_filter "spec/"
  track_files "lib/**/*.rb"
  minimum_coverage WANTED
end
"#;

/// Four files of five lines that count: loading runs three of each, the example of each file a fourth. So 80 % is what
/// all workers together have, and 60 % what the process has that loads.
fn project(wanted: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("spec/spec_helper.rb", &HELPER.replace("WANTED", wanted));
    env.write(".rspec", "--require spec_helper\n");
    for n in 1..=4 {
        let code = format!("class A{n}\n  def go\n    1\n  end\n\n  def rest\n    2\n  end\nend\n");
        env.write(&format!("lib/a{n}.rb"), &code);
        let spec = format!(
            "require_relative '../lib/a{n}'\nRSpec.describe(A{n}) {{ it('goes') {{ expect(A{n}.new.go).to eq(1) }} }}\n"
        );
        env.write(&format!("spec/a{n}_spec.rb"), &spec);
    }
    env
}

#[test]
fn the_counts_of_all_workers_are_one_report() {
    let env = project("70");
    for options in [&["-w", "2", "--no-preload"][..], &["-w", "3"], &["-w", "1"]] {
        let ran = env.run(&[&["run"], options].concat());
        assert_eq!(ran.code, Some(0), "{options:?}: {}", ran.terminal());
        let kept: Value = serde_json::from_str(&env.read("coverage/.resultset.json")).unwrap();
        let names: Vec<&String> = kept.as_object().unwrap().keys().collect();
        let workers = names.iter().filter(|name| name.contains("proctor worker")).count();
        assert!(workers > 0, "{names:?}");
        if options == ["-w", "1"] {
            assert_eq!(workers, 1, "those of the run before are gone: {names:?}");
        }
    }
    let last: Value = serde_json::from_str(&env.read("coverage/.last_run.json")).unwrap();
    assert_eq!(last["result"]["line"], 80.0);
}

#[test]
fn too_little_coverage_fails_the_run_as_it_fails_rspec() {
    let env = project("90");
    let ran = env.run(&["run", "-w", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.terminal().contains("below the expected minimum coverage"), "{}", ran.terminal());
    assert!(ran.terminal().contains("exit status 2"), "{}", ran.terminal());
    assert!(ran.stdout.contains("4 passed"), "{}", ran.stdout);
}
