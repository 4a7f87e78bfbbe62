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

#[test]
fn a_broken_configuration_is_shown_in_its_place() {
    let env = TestEnv::new();
    env.write("proctor.toml", "events = 7\n");
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("1 | events = 7"), "{}", ran.stdout);
}
