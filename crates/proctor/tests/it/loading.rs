//! What is found while suites load: before an agent is paid for, and all of it at once.

use crate::env::{TestEnv, assert_code};

/// U10: nothing is run, every mistake of every file is named with its place, and `list` says the same.
#[test]
fn u10_all_mistakes_of_all_files_are_shown_at_once() {
    let env = TestEnv::new();
    env.write(
        "a.scenario.yaml",
        "describe: A\nagent: {script: [Hi]}\nexamples:\n  - it: x\n    repeat: often\n    steps: [{user: a, expect: [{mtach: b}, {expression: turn_cout > 1}]}]\n",
    );
    env.write("b.scenario.yaml", "describe: B\nexamples:\n  - it: y\n    steps: [{user: a}]\n");
    env.write(
        "c.scenario.yaml",
        "describe: C\nagent: {script: [Hi]}\nexamples:\n  - it: z\n    steps: [{simulate: {goal: g}}]\n",
    );
    env.write(
        "d.scenario.yaml",
        "describe: D\nagent: nobody\nexamples: [{it: w, steps: [{user: a}]}]\n",
    );
    let expected = [
        "a.scenario.yaml:5:13",
        "unknown word `mtach`",
        "`turn_cout` is unknown",
        "b.scenario.yaml:3",
        "no agent is configured",
        "c.scenario.yaml:4",
        "there is no model for the judge",
        "there is no model for the simulator",
        "d.scenario.yaml:2:8",
        "there is no agent `nobody`",
    ];
    for arguments in [&["run"] as &[&str], &["list"]] {
        let ran = env.run(arguments);
        assert_code(&ran, 2);
        let shown = ran.terminal();
        for part in expected {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }
    env.recorded().assert_accounted(0);
}

#[test]
fn u10_titles_that_several_examples_have_are_warned_about() {
    let env = TestEnv::new();
    let example = "  - it: x\n    steps: [{user: a, expect: [{match: Hi}]}]\n";
    let text = format!("describe: A\nagent: {{script: [Hi]}}\nexamples:\n{example}{example}");
    env.write("a.scenario.yaml", &text);
    for arguments in [&["run"] as &[&str], &["list"]] {
        let ran = env.run(arguments);
        assert_code(&ran, 0);
        let warned = "`A x` (./a.scenario.yaml:4, ./a.scenario.yaml:6)";
        assert!(ran.stderr.contains(warned) || ran.stdout.contains(warned), "{}", ran.terminal());
    }
}

/// U11: after two seconds, with what the program prints; here it goes away after four.
#[test]
fn u11_a_suite_that_does_not_say_hello_is_reported_with_its_words() {
    let env = TestEnv::new();
    env.write(
        "proctor.toml",
        "[[suite]]\nname = \"mine\"\ncommand = [\"sh\", \"-c\", \"echo I serve tea >&2; sleep 4; exit 3\"]\n",
    );
    for arguments in [&["run", "--suite", "mine"] as &[&str], &["list", "--suite", "mine"]] {
        let ran = env.run(arguments);
        assert_code(&ran, 2);
        let shown = ran.terminal();
        assert!(
            ran.stderr.contains("has not said hello for 2 s")
                && ran.stderr.contains("it has printed so far: I serve tea"),
            "{shown}"
        );
        assert!(shown.contains("it ended with exit code 3"), "{shown}");
    }
}
