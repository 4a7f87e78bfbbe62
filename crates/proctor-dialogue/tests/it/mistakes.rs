//! One table of mistakes: what is written, where the problem is seen, what is said.

use proctor_dialogue::parse;

/// The example's body stands from line 4 on.
fn in_example(body: &str) -> String {
    format!("describe: A\nexamples:\n  - it: x\n    {body}\n")
}

/// An assertion that looks at nothing holds whatever was said.
#[test]
fn d17_empty_lists_are_mistakes() {
    for check in [
        "satisfy: []",
        "match: []",
        "match_any: []",
        "tool_order: []",
        "forbidden_claims: []",
        "topic_history: []",
        "command: []",
        "match: ''",
        "match: [a, '']",
        "forbidden_claims: ['']",
        "satisfy: ''",
        "call_tool: ''",
        "command: ' '",
        "call_tool: {name: a, with: {n: {any_of: []}}}",
        "turn_count: {any_of: []}",
        "turn_count: {}",
    ] {
        for body in [
            format!("steps: [{{user: a, expect: [{{{check}}}]}}]"),
            format!("steps: [{{user: a, evaluate: [{{not: {{{check}}}}}]}}]"),
            format!("steps: [{{simulate: {{goal: g, every_turn: {{expect: [{{{check}}}]}}}}}}]"),
            format!("steps: [{{user: a}}]\n    expect: [{{{check}}}]"),
        ] {
            let problems = parse(&in_example(&body), "a.yaml").expect_err(&body);
            assert!(problems[0].line >= 4, "{body}: {problems:?}");
        }
        let topics = format!("topics: {{a: {{expect: [{{{check}}}]}}}}");
        let topic = format!("describe: A\n{topics}\nexamples: [{{it: x, steps: [{{user: a}}]}}]\n");
        assert!(parse(&topic, "a.yaml").is_err(), "{topic}");
    }
}

#[test]
fn d17_numbers_that_cannot_be_are_mistakes() {
    for (text, line, message) in [
        (in_example("repeat: 0"), 4, "a whole number from 1 on"),
        ("describe: A\nrepeat: 0\n".to_owned(), 2, "a whole number from 1 on"),
        ("describe: A\njudge: {votes: 0}\n".to_owned(), 2, "a whole number from 1 on"),
        ("describe: A\nsimulator: {max_turns: 0}\n".to_owned(), 2, "a whole number from 1 on"),
        (in_example("steps: [{simulate: {goal: g, max_turns: 0}}]"), 4, "a whole number from 1 on"),
        (in_example("steps: [{simulate: {goal: g, min_turns: 99}}]"), 4, "`min_turns` is 99"),
        (in_example("steps: [{user: a, expect: [{latency_ms: -5}]}]"), 4, "below 0"),
        (in_example("steps: [{user: a, expect: [{cost_usd: {below: -0.5}}]}]"), 4, "below 0"),
        (in_example("steps: [{user: a, expect: [{turn_count: {any_of: [1, -1]}}]}]"), 4, "below 0"),
        (
            in_example("steps: [{user: a, expect: [{call_tool: {name: b, times: -1}}]}]"),
            4,
            "below 0",
        ),
        (in_example("steps: [{user: a, expect: [{turn_count: {equals: x}}]}]"), 4, "a number"),
        (
            "describe: A\ntopics: {a: {triggers: [{turns_in: {topic: a, count: 0}}]}}\n".to_owned(),
            2,
            "a whole number from 1 on",
        ),
    ] {
        let problems = parse(&text, "a.yaml").expect_err(&text);
        let found = problems.iter().any(|p| p.line == line && p.message.contains(message));
        assert!(found, "{text}: {problems:?}");
    }
}

#[test]
fn every_mistake_has_a_place_and_a_message() {
    for (text, line, message) in [
        ("describe: [a]\n".to_owned(), 1, "expected a string, found a list"),
        ("describe: A\nexamples: {}\n".to_owned(), 2, "expected a list, found a mapping"),
        ("describe: A\nexamples:\n  - it works\n".to_owned(), 3, "expected a mapping"),
        ("describe: A\nagent: {http: \"http://x\"}\n".to_owned(), 2, "expected a mapping"),
        ("describe: A\njudge: {votes: -1}\n".to_owned(), 2, "expected a whole number from 1 on"),
        ("describe: A\ncriteria: {a: {good: [x]}}\n".to_owned(), 2, "`description` is missing"),
        (
            "describe: A\ncriteria: {a: {description: x, goood: []}}\n".to_owned(),
            2,
            "unknown key `goood`",
        ),
        ("describe: A\ntools: {a: {reslt: 1}}\n".to_owned(), 2, "unknown key `reslt`"),
        ("describe: A\nsimulator: {rules: {shuold: []}}\n".to_owned(), 2, "unknown key `shuold`"),
        (
            "describe: A\nsimulator: {stop_when: [gaol_reached]}\n".to_owned(),
            2,
            "unknown word `gaol_reached`",
        ),
        (
            "describe: A\ntopics: {a: {triggers: [{respons: x}]}}\n".to_owned(),
            2,
            "unknown word `respons`",
        ),
        (
            "describe: A\ntopics: {a: {triggers: [{condition: 1 +}]}}\n".to_owned(),
            2,
            "is not a CEL expression",
        ),
        (in_example("steps: [{user: a, simulate: {goal: b}}]"), 4, "either `user` or `simulate`"),
        (in_example("steps: [{simulate: {}}]"), 4, "`goal` is missing"),
        (
            in_example("steps: [{simulate: {goal: g, timeout: soon}}]"),
            4,
            "`soon` is not a length of time",
        ),
        (
            in_example("steps: [{simulate: {goal: g, min_turns: 9, max_turns: 2}}]"),
            4,
            "`min_turns` is 9",
        ),
        (in_example("steps: [{user: a, expect: [{turn_count: many}]}]"), 4, "expected a number"),
        (
            in_example("steps: [{user: a, expect: [{match: a, intent: b}]}]"),
            4,
            "expected one key, found 2",
        ),
        (
            in_example("steps: [{user: a, expect: [{call_tool: {with: {}}}]}]"),
            4,
            "`name` is missing",
        ),
        (
            in_example(
                "steps: [{user: a, expect: [{call_tool: {name: b, with: {c: {matches: '('}}}}]}]",
            ),
            4,
            "regular",
        ),
        (
            in_example("steps: [{user: a, expect: [{not: {topic: gone}}]}]"),
            4,
            "topic `gone` is not defined",
        ),
        (in_example("topics: [gone]"), 4, "topic `gone` is not defined"),
        (in_example("pass_rate: 1.5\n    skip: later"), 4, "`pass_rate` is 1.5"),
    ] {
        let problems =
            parse(&text, "a.yaml").err().unwrap_or_else(|| panic!("no mistake in {text}"));
        let found = problems.iter().find(|problem| problem.message.contains(message));
        let problem = found.unwrap_or_else(|| panic!("{message} not in {problems:#?}"));
        assert_eq!(problem.line, line, "{problem}");
        assert!(problem.column > 0 && !problem.snippet.is_empty(), "{problem}");
    }
}

#[test]
fn a_file_may_be_json() {
    let text = r#"{"describe": "A", "examples": [{"it": "x", "steps": [{"user": "hi"}]}]}"#;
    assert!(parse(text, "a.scenario.json").is_ok());
}
