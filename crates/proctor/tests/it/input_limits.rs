//! Inputs of any depth and size: every reader answers with the place and the limit; none ends or hangs the process.

use crate::env::TestEnv;

fn with_check(check: &str) -> String {
    format!(
        "describe: D\nagent: {{script: [{{when: hi, say: Hello}}]}}\nexamples:\n  - it: x\n    steps: [{{user: hi, expect: [{check}]}}]\n"
    )
}

fn nested_contexts(levels: usize) -> String {
    let mut text = "describe: D\nagent: {script: [{when: hi, say: Hello}]}\n".to_owned();
    for level in 0..levels {
        let indent = " ".repeat(4 * level);
        text += &format!("{indent}contexts:\n{indent}  - describe: c{level}\n");
    }
    let indent = " ".repeat(4 * levels);
    text + &format!(
        "{indent}examples:\n{indent}  - it: x\n{indent}    steps: [{{user: hi, expect: [{{match: Hello}}]}}]\n"
    )
}

/// `depth` times `open`, `inside`, as many times `close`.
fn nested(depth: usize, open: &str, inside: &str, close: &str) -> String {
    format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
}

/// Audit S4: 23 nested contexts, 43 nested `not`, 41 nested `with` and a sum of 52 terms ended the process.
#[test]
fn s4_scenarios_of_any_depth_are_read_or_refused() {
    let env = TestEnv::new();
    let not = |depth| with_check(&nested(depth, "{not: ", "{match: Hello}", "}"));
    let with = |depth| {
        with_check(&format!(
            "{{call_tool: {{name: a, with: {}}}}}",
            nested(depth, "{a: ", "1", "}")
        ))
    };
    let sum =
        |terms: usize| with_check(&format!("{{expression: '{} > 0'}}", vec!["1"; terms].join("+")));
    let brackets =
        |depth| with_check(&format!("{{expression: '{}'}}", nested(depth, "(", "true", ")")));
    for (name, text, code) in [
        ("contexts-25", nested_contexts(25), 0),
        ("contexts-55", nested_contexts(55), 0),
        ("contexts-2000", nested_contexts(2000), 2),
        ("not-50", not(50), 0),
        ("not-5000", not(5000), 2),
        // An agent that reports no calls cannot be checked for them.
        ("with-50", with(50), 1),
        ("with-5000", with(5000), 2),
        ("sum-200", sum(200), 0),
        ("sum-20000", sum(20000), 2),
        ("brackets-50", brackets(50), 0),
        ("brackets-20000", brackets(20000), 2),
        ("lists", format!("describe: {}", nested(100_000, "[", "", "]")), 2),
        ("mappings", format!("describe: {}", nested(100_000, "{a: ", "1", "}")), 2),
    ] {
        let file = format!("{name}.scenario.yaml");
        let path = env.write(&file, &text);
        let ran = env.run(&["run", "--ui", "quiet", &file]);
        assert_eq!(
            ran.code,
            Some(code),
            "{name}: {}",
            proctor_text::truncate(&ran.terminal(), 2000)
        );
        if code == 2 {
            assert!(
                ran.stdout.contains(&file),
                "{name} is not named: {}",
                proctor_text::truncate(&ran.terminal(), 2000)
            );
            assert!(
                ["at most", "recursion limit"].iter().any(|limit| ran.stdout.contains(limit)),
                "{name}: no limit is named: {}",
                proctor_text::truncate(&ran.terminal(), 2000)
            );
        }
        std::fs::remove_file(path).unwrap();
    }
}
