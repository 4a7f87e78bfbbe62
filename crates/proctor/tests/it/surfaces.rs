//! Help, completions, doctor, errors: what a stranger meets first.

use crate::env::TestEnv;

#[test]
fn help_of_every_command() {
    let env = TestEnv::new();
    let mut all = String::new();
    for command in [
        &["--help"][..],
        &["show", "--help"],
        &["watch", "--help"],
        &["validate", "--help"],
        &["doctor", "--help"],
    ] {
        let ran = env.run(command);
        assert_eq!(ran.code, Some(0));
        all += &format!("$ proctor {}\n{}\n", command.join(" "), ran.stdout);
    }
    insta::assert_snapshot!(all);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = TestEnv::new().run(&["completions", shell]);
        assert!(ran.code == Some(0) && ran.stdout.contains("validate"), "{shell}");
    }
}

#[test]
fn a_typo_gets_a_suggestion_and_exit_2() {
    let ran = TestEnv::new().run(&["valdate"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("similar subcommand exists: 'validate'"), "{}", ran.stderr);
}

#[test]
fn doctor_names_what_is_missing_and_the_way_out() {
    let env = TestEnv::new();
    env.write("spec/a_spec.rb", "");
    env.write("proctor.toml", "evnts = []\n[tools]\nruby = \"no-such-ruby\"\n");
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("unknown key `evnts`; did you mean `events`?"), "{}", ran.stdout);
    assert!(ran.stdout.contains("✗ ruby         `no-such-ruby`: not found"), "{}", ran.stdout);
    assert!(ran.stdout.contains("→ install Ruby, or set tools.ruby"), "{}", ran.stdout);
}

#[test]
fn doctor_speaks_json_and_finds_a_healthy_project() {
    let ran = TestEnv::new().run(&["doctor", "--format", "json"]);
    let diagnosis: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &diagnosis["healthy"]), (Some(0), &true.into()), "{}", ran.stdout);
}

#[test]
fn doctor_does_not_wait_for_a_program_that_hangs() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    env.write("spec/a_spec.rb", "");
    let ruby = env.write("bin/ruby", "#!/bin/sh\nexec sleep 1000\n");
    std::fs::set_permissions(&ruby, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = env.command().arg("doctor").env("PROCTOR_RUBY", &ruby).output().unwrap();
    let ran = env.ran(&output);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("did not answer within"), "{}", ran.stdout);
}

/// A project with a `bin/ruby` that has this version of Minitest, or none.
fn with_minitest(version: Option<&str>) -> TestEnv {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let minitest = version.map_or_else(
        || "echo 'cannot load such file -- minitest' >&2; exit 1".to_owned(),
        |version| format!("echo {version}"),
    );
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*minitest*) {minitest};;\n*rspec*) echo 3.12.0;;\n*) echo ruby 3.1.2;;\nesac\n"
    );
    let ruby = env.write("bin/ruby", &script);
    std::fs::set_permissions(&ruby, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.write("proctor.toml", &format!("[tools]\nruby = {:?}\n", ruby.display().to_string()));
    env
}

#[test]
fn doctor_says_which_minitest_there_is_and_that_only_version_5_runs() {
    let refused = "6.0.1 is not supported: Proctor runs Minitest 5";
    let absent = "cannot load such file -- minitest";
    for (version, has_tests, code, line) in [
        (Some("5.15.0"), true, 0, "✓ minitest     5.15.0".to_owned()),
        (Some("6.0.1"), true, 1, format!("✗ minitest     {refused}")),
        (Some("6.0.1"), false, 0, format!("· minitest     {refused}")),
        (Some("4.7.5"), true, 1, "✗ minitest     4.7.5 is not supported".to_owned()),
        (None, true, 1, format!("✗ minitest     {absent}")),
        (None, false, 0, format!("· minitest     {absent}")),
    ] {
        let env = with_minitest(version);
        if has_tests {
            env.write("test/cart_test.rb", "");
        }
        let ran = env.run(&["doctor"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stdout);
        assert!(ran.stdout.contains(&line), "no {line:?} in:\n{}", ran.stdout);
        assert_eq!(ran.stdout.contains("(this project has tests)"), has_tests, "{}", ran.stdout);
    }
}

/// Tests that `run.paths` leaves out are not run, so nothing is wrong with them.
#[test]
fn doctor_asks_only_for_what_a_run_needs() {
    let env = with_minitest(Some("6.0.1"));
    env.write("test/cart_test.rb", "");
    env.write("spec/cart_spec.rb", "");
    let settings = env.read("proctor.toml");
    env.write("proctor.toml", &format!("run.paths = [\"spec\"]\n{settings}"));
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("Ruby suites (this project has specs)"), "{}", ran.stdout);
}

#[test]
fn doctor_asks_the_real_ruby_for_minitest() {
    let env = TestEnv::new();
    env.write("test/cart_test.rb", "");
    let ran = env.run(&["doctor"]);
    assert!(ran.stdout.contains("✓ minitest     5."), "{}", ran.stdout);
}

#[test]
fn a_broken_configuration_is_shown_in_its_place() {
    let env = TestEnv::new();
    env.write("proctor.toml", "events = 7\n");
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("1 | events = 7"), "{}", ran.stdout);
}
