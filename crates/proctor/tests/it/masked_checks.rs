//! Checks on texts with secrets: what is live is seen as it is, what was masked when it was kept is not decided. Nothing is green because a key was masked.

use crate::env::TestEnv;

const KEY: &str = "hush-hush-7Qx2kkPq-91";

/// An agent that says its key and a word that is no secret.
const SCENARIO: &str =
    "describe: A\nagent: {script: [{say: \"visible hush-hush-7Qx2kkPq-91\"}]}\nexamples:\n";

fn project(examples: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("a.scenario.yaml", &format!("{SCENARIO}{examples}"));
    env
}

fn run(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let output = env.command().env("OPENAI_API_KEY", KEY).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!text.contains(KEY), "{text}");
    (output.status.code(), text)
}

const NEGATIVE: &str = "  - {it: n, steps: [{user: hi, expect: [{not: {match: \"7Qx2kkPq\"}}]}]}\n";
const VISIBLE: &str = "  - {it: v, steps: [{user: hi, expect: [{match: visible}]}]}\n";
const EXPRESSION: &str = "  - {it: e, steps: [{user: hi, expect: [{expression: \"!turn.agent.contains('7Qx2kkPq')\"}]}]}\n";
const COMMAND: &str =
    "  - {it: c, steps: [{user: hi, expect: [{command: [sh, -c, \"! grep -q 7Qx2kkPq\"]}]}]}\n";

#[test]
fn a_live_check_sees_the_key_that_is_masked_everywhere() {
    for check in [NEGATIVE, EXPRESSION, COMMAND] {
        let env = project(check);
        let (code, said) = run(&env, &["run"]);
        assert_eq!(code, Some(1), "{check}{said}");
        assert!(said.contains("1 failed"), "{check}{said}");
        let recording = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
        assert!(recording.contains("visible [redacted]") && !recording.contains(KEY), "{check}");
    }
}

/// Judged again, the same check must not turn green because the recording holds no key.
#[test]
fn a_check_on_masked_text_is_errored_when_it_is_judged_again_or_replayed() {
    for check in [NEGATIVE, EXPRESSION, COMMAND] {
        let env = project(&format!("{check}{VISIBLE}"));
        let (code, said) = run(&env, &["run", "--record", "all.cassette"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(!env.read("all.cassette").contains(KEY));
        for again in [&["rejudge", "last"][..], &["run", "--replay", "all.cassette"]] {
            let (code, said) = run(&env, again);
            assert!(
                said.contains("1 errored") && said.contains("1 passed"),
                "{check}{again:?}: {said}"
            );
            assert!(said.contains("in place of a secret"), "{check}{again:?}: {said}");
            assert_ne!(code, Some(0), "{said}");
        }
    }
}

#[test]
fn a_workspace_file_is_errored_where_a_mask_may_hide_what_it_asserts() {
    let env = TestEnv::new();
    let file = |assertion: &str| {
        format!(
            "name: It hides its key\nsetup:\n  fixtures: {{loop.sh: \"#!/bin/sh\\necho visible $OPENAI_API_KEY\\n\"}}\n  orchestrator: {{kind: generic, command: [./loop.sh]}}\nrun: {{task: t, env: {{OPENAI_API_KEY: null}}}}\nassert: [{assertion}]\n"
        )
    };
    let masks = r#"{type: stdout_contains, pattern: "\\[redacted\\]"}"#;
    let visible = "{type: stdout_contains, pattern: visible}";
    let wrong = "{type: stdout_contains, pattern: visible}, {type: exit_code, expected: 7}";
    env.write("a.workspace.yaml", &file(masks));
    let (code, said) = run(&env, &["run"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("1 errored") && said.contains("file of its own"), "{said}");
    env.write("a.workspace.yaml", &file(&format!("{masks}, {wrong}")));
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("1 failed"), "{said}");
    env.write("a.workspace.yaml", &file(visible));
    let (code, said) = run(&env, &["run"]);
    assert_eq!(code, Some(0), "{said}");
}
