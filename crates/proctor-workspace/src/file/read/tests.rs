use super::*;

const GOOD: &str = "\
name: Planner creates build.task on task.start
setup:
  scratchpad: |
    ## Plan
mock:
  - hat: planner
    output: <event topic=\"build.task\">x</event>
run:
  task: Implement user authentication
  max_iterations: 1
assert:
  - {type: exit_code, expected: 2}
  - type: event_sequence
    topics: [task.start, build.task]
";

fn problems(text: &str) -> String {
    let problems = read("a.workspace.yaml", text).unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn a_good_file_is_read() {
    let file = read("a", GOOD).unwrap();
    assert_eq!(file.mock[0].hat.as_deref(), Some("planner"));
    assert_eq!(file.run.max_iterations, Some(1));
    assert_eq!(file.assertions.len(), 2);
    assert_eq!(file.setup.scratchpad.as_deref(), Some("## Plan\n"));
}

#[test]
fn mistakes_have_their_place() {
    let text = GOOD
        .replace("expected: 2", "expectd: 2")
        .replace("hat: planner", "hat: painter")
        .replace("topics: [task.start, build.task]", "topics: []");
    insta::assert_snapshot!(problems(&text), @r#"
    a.workspace.yaml:6:5: mock: hat: no hat "painter" is configured (configured hats: builder, planner, ralph)
     6 |   - hat: painter
       |     ^
    a.workspace.yaml:12:5: unknown key `expectd`
     12 |   - {type: exit_code, expectd: 2}
        |     ^
       hint: did you mean `expected`?
    a.workspace.yaml:13:5: assert: topics: it is empty
     13 |   - type: event_sequence
        |     ^
    "#);
}

/// The reader of scenario files reads on after a mistake; workspace files were told only the first unknown key.
#[test]
fn all_mistakes_are_told_at_once_with_what_was_probably_meant() {
    let text = GOOD.replace("setup:", "stup:").replace("max_iterations: 1", "max_iteratons: one");
    insta::assert_snapshot!(problems(&text), @r"
    a.workspace.yaml:2:1: unknown key `stup`
     2 | stup:
       | ^
       hint: did you mean `setup`?
    a.workspace.yaml:10:3: unknown key `max_iteratons`
     10 |   max_iteratons: one
        |   ^
       hint: did you mean `max_iterations`?
    ");
}

#[test]
fn broken_yaml_unknown_keys_and_missing_ones_are_told() {
    assert!(problems("name: [").contains("a.workspace.yaml:"));
    let unknown = problems(&GOOD.replace("run:", "runn:"));
    assert!(unknown.contains("a.workspace.yaml:8:1") && unknown.contains("runn"), "{unknown}");
    assert!(problems("name: x\n").contains("run"));
    let no_mock = problems("name: x\nrun: {task: t}\nassert: [{type: exit_code, expected: 0}]\n");
    assert!(no_mock.contains("needs responses"), "{no_mock}");
    let bad_path = GOOD.replace("setup:\n", "setup:\n  fixtures: {../x: y}\n");
    assert!(problems(&bad_path).contains("contains `..`"));
    let bad_pattern =
        GOOD.replace("type: exit_code, expected: 2", "type: stdout_contains, pattern: '('");
    assert!(
        problems(&bad_pattern).contains(":12:5: assert: pattern"),
        "{}",
        problems(&bad_pattern)
    );
}
