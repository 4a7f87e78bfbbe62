//! Scenario files as a user writes them, and what is said about their mistakes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const BOOKING: &str = r#"
describe: Booking agent
tags: [booking]
agent: {script: [Hello]}
judge: {votes: 3}
simulator:
  role: A guest
  personality: [calm]
criteria:
  polite: The agent is polite
  clear:
    description: The agent is clear
    good: [{text: Booked., why: short}]
topics:
  greeting: {characteristic: says hello, next: booking}
  booking:
    characteristic: books
    triggers: [{call_tool: {name: book, with: {guests: {at_least: 1}}}}]
    expect: [{not: {match: sorry}}]
examples:
  - it: answers
    steps:
      - user: yes
        expect: [{satisfy: [polite, clear]}, {match: Hello}]
contexts:
  - describe: large groups
    tags: [large]
    agent: {command: ./agent}
    simulator: {personality: [in a hurry]}
    examples:
      - it: books
        steps:
          - simulate: {goal: a venue for 50, max_turns: 4, stop_when: [goal_reached, {response: bye}]}
    sets:
      - name: cities
        rows: [{name: Rome, guests: 5}, {name: Bern, guests: 7}]
        examples:
          - it: books in {{name}}
            steps:
              - user: for {{guests}}
                expect: [{call_tool: {name: book, with: {guests: "{{guests}}"}}}]
"#;

fn no_file() -> crate::RowsError {
    std::io::Error::from(std::io::ErrorKind::NotFound).into()
}

fn read(text: &str) -> Vec<Example> {
    let file = parse(text, "./a.scenario.yaml").unwrap_or_else(|problems| panic!("{problems:#?}"));
    file.examples(&mut StableIds::default(), &mut |_| Err(no_file())).unwrap()
}

fn mistakes(text: &str) -> String {
    let problems = parse(text, "a.yaml").unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

#[test]
fn groups_hand_down_and_inner_ones_win() {
    let examples = read(BOOKING);
    let paths: Vec<String> = examples.iter().map(|example| example.path.join(" > ")).collect();
    assert_eq!(
        paths,
        [
            "Booking agent > answers",
            "Booking agent > large groups > books",
            "Booking agent > large groups > cities > books in Rome > Rome",
            "Booking agent > large groups > cities > books in Bern > Bern",
        ]
    );
    let agent = |index: usize| match &examples[index].parties.agent.as_ref().unwrap().value {
        AgentSpec::Given(fields) => fields.clone(),
        AgentSpec::Named(name) => panic!("{name}"),
    };
    assert_eq!(agent(0).script.unwrap()[0].say[0].text, "Hello");
    assert_eq!(agent(1).command.unwrap().argv(), ["./agent"]);
    assert_eq!(examples[1].group, examples[2].group, "they stand in one group");
    assert_ne!(examples[0].group, examples[1].group);
    assert_eq!(examples[1].tags, ["booking", "large"]);
    assert_eq!(examples[1].simulator.role.as_deref(), Some("A guest"));
    let personality = examples[1].simulator.personality.as_ref().unwrap();
    assert_eq!(personality.lines(), ["calm", "in a hurry"]);
    assert_eq!(examples[1].parties.judge.votes.as_ref().unwrap().value.get(), 3);
    assert_eq!(examples[2].steps[0].user.as_deref(), Some("for 5"));
    assert_eq!(examples[0].location(), "./a.scenario.yaml:21");
    assert_eq!(examples[0].groups, [2]);
    assert_eq!(examples[2].groups, [2, 26, 35], "the file, the context, the set");
    assert_eq!(examples[0].steps[0].user.as_deref(), Some("yes"));
}

#[test]
fn ids_follow_the_published_rule_and_tell_duplicates_apart() {
    let examples =
        read("describe: A\nexamples: [{it: x, steps: [{user: a}]}, {it: x, skip: later}]");
    let expected = StableId::new("./a.scenario.yaml", &["A", "x"], 1);
    assert_eq!(examples[0].id, expected);
    assert_eq!(examples[1].id.text, "./a.scenario.yaml::A > x #2");
    assert_eq!(examples[1].pending.as_deref(), Some("later"));
}

#[test]
fn rows_of_a_file_are_asked_of_the_caller() {
    let text = "describe: A\nsets:\n  - name: s\n    file: rows.csv\n    examples:\n      - it: says {{n}}\n        steps: [{user: '{{n}}'}]\n";
    let file = parse(text, "a.yaml").unwrap();
    let mut rows = |name: &str| {
        assert_eq!(name, "rows.csv");
        crate::parse_rows("n\none\ntwo\n", crate::RowFormat::Csv)
    };
    let examples = file.examples(&mut StableIds::default(), &mut rows).unwrap();
    assert_eq!(examples[1].path, ["A", "s", "says two", "row 2"]);
    let problems = file.examples(&mut StableIds::default(), &mut |_| Err(no_file()));
    assert_eq!(problems.unwrap_err()[0].message, "rows of `rows.csv`: entity not found");
}

#[test]
fn mistakes_are_shown_with_place_and_way_out() {
    insta::assert_snapshot!(mistakes(
        r"
describe: A
topcis: {}
topics:
  one: {next: [two, tow, one]}
  two: {}
  three: {}
criteria: {polite: be polite}
judge: {votes: 2}
examples:
  - it: x
    steps:
      - user: hi
        expct: []
        expect: [{satisfy: polit}, {topic: four}]
      - expect: []
  - it: y
"
    ));
}

#[test]
fn values_of_the_wrong_kind_are_shown() {
    insta::assert_snapshot!(mistakes(
        "describe: A\nexamples:\n  - it: x\n    steps:\n      - user: a\n        expect: [{mtach: b}]\n"
    ));
    insta::assert_snapshot!(mistakes(
        "describe: A\nexamples:\n  - it: x\n    steps:\n      - user: a\n        expect: [{match: 'a('}]\n"
    ));
    insta::assert_snapshot!(mistakes("describe: A\n  examples: [\n"));
}

/// U10: the first mistake of an example hides no other, neither there nor elsewhere.
#[test]
fn u10_all_mistakes_of_a_file_are_shown_at_once() {
    let text = mistakes(
        r"
describe: A
judge: {votes: many}
criteria: {polite: [1]}
topics:
  one: {next: two}
  two: {triggers: [{turns_inn: 2}]}
examples:
  - it: x
    steps:
      - user: a
        expect: [{mtach: b}, {match: 'a('}, {expression: turn_cout > 1}, {satisfy: polite}]
      - user: [1, 2]
      - user: c
        expct: []
        expect: [{topic: tow}, {topic: two}]
  - it: [y]
    repeat: 0
    steps: [{user: d, expect: [{call_tool: {nmae: q}}]}]
  - it: z
  - it: ok
    steps: [{user: e}]
sets:
  - name: s
    rows: [{n: 1}]
    examples:
      - it: w
        pass_rate: often
        steps: [{user: f, expect: [{expression: row.n == trun}, {equal: {}}]}]
",
    );
    insta::assert_snapshot!(text);
    for part in [
        "3:16",
        "4:",
        "unknown word `turns_inn`",
        "unknown word `mtach`",
        "a(",
        "`turn_cout` is unknown",
        "13:15",
        "unknown key `expct`",
        "topic `tow` is not defined",
        "16:",
        "17:",
        "nmae",
        "`z` has no `steps`",
        "`trun` is unknown",
        "28:",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for part in [
        "`polite` is not",
        "`two` is not defined",
        "`s`:",
        "an empty list",
        "either `user`",
        "`it` is missing",
    ] {
        assert!(!text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_group_without_description_and_a_set_without_rows() {
    let text =
        mistakes("examples: []\nsets: [{name: s}]\ncontexts: [{tags: [x]}]\npass_rate: 80\n");
    for part in
        ["`describe` is missing", "a context needs", "needs `rows` or `file`", "`pass_rate` is 80"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_placeholder_without_value_is_a_mistake() {
    let text = mistakes(
        "describe: A\nsets:\n  - name: s\n    rows: [{city: Rome}]\n    examples: [{it: x, steps: [{user: 'in {{ctiy}}'}]}]\n",
    );
    assert!(
        text.contains("row 1 has no `ctiy`") && text.contains("did you mean `city`?"),
        "{text}"
    );
}

/// The first example of a set with these rows (JSON) and this step.
fn filled(rows: &str, step: &str) -> Example {
    let set = format!("{{name: s, rows: {rows}, examples: [{{it: x, steps: [{step}]}}]}}");
    read(&format!("describe: A\nsets: [{set}]\n")).remove(0)
}

#[test]
fn d16_a_row_may_hold_braces() {
    let example = filled(r#"[{"say": "use {{name}} here"}]"#, r#"{user: "{{say}}"}"#);
    assert_eq!(example.steps[0].user.as_deref(), Some("use {{name}} here"));
    let example = filled(r#"[{"say": "{{say}}"}]"#, r#"{user: "Say {{say}} again"}"#);
    assert_eq!(example.steps[0].user.as_deref(), Some("Say {{say}} again"));
}

#[test]
fn d16_a_number_of_a_row_is_a_text_where_a_text_is_wanted() {
    for (value, text) in [
        ("50", "50"),
        ("2.5", "2.5"),
        ("true", "true"),
        ("123456789012345678901", "123456789012345678901"),
    ] {
        let step = r#"{user: "{{n}}", expect: [{match: "{{n}}"}, {call_tool: {name: b, with: {n: "{{n}}"}}}]}"#;
        let example = filled(&format!(r#"[{{"n": {value}}}]"#), step);
        assert_eq!(example.steps[0].user.as_deref(), Some(text));
        let Assertion::CallTool(tool) = &example.steps[0].expect[1].value else { panic!() };
        assert_eq!(tool.with["n"].to_string(), value, "an argument stays what it was");
    }
    let number = mistakes("describe: A\nexamples: [{it: x, steps: [{user: 50}]}]\n");
    assert!(number.contains("expected a string"), "{number}");
}

#[test]
fn d6_long_numbers_reach_the_matchers_of_files_and_sets() {
    let (wanted, other) = ("123456789012345678901234567890", "123456789012345678901234567891");
    let expect =
        format!("{{user: x, expect: [{{call_tool: {{name: b, with: {{n: {wanted}}}}}}}]}}");
    let plain = read(&format!("describe: A\nexamples: [{{it: x, steps: [{expect}]}}]\n")).remove(0);
    for example in [plain, filled("[{name: r}]", &expect)] {
        let Assertion::CallTool(tool) = &example.steps[0].expect[0].value else { panic!() };
        let accepts =
            |text: &str| tool.with["n"].accepts(Some(&serde_json::from_str(text).unwrap()));
        assert!(accepts(wanted));
        assert!(!accepts(other));
    }
}

#[test]
fn tools_answer_by_their_arguments() {
    let text = "describe: A\ntools:\n  book:\n    - {with: {guests: {above: 99}}, error: too many}\n    - {result: {ok: true}}\nexamples: [{it: x, steps: [{user: a}]}]";
    let example = &read(text)[0];
    let call = |guests: u32| ToolCall {
        id: "1".into(),
        name: "book".into(),
        arguments: json!({"guests": guests}),
    };
    assert_eq!(example.stub(&call(100)).unwrap().error.as_deref(), Some("too many"));
    assert_eq!(example.stub(&call(5)).unwrap().result, Some(json!({"ok": true})));
}

proptest! {
    /// A file that is being edited is broken most of the time; the reader must bear it.
    #[test]
    fn no_damage_makes_the_reader_panic(start in 0..BOOKING.len(), length in 0..40usize, put in "\\PC{0,6}") {
        let end = (start + length).min(BOOKING.len());
        if let (Some(before), Some(after)) = (BOOKING.get(..start), BOOKING.get(end..))
            && let Err(problems) = parse(&format!("{before}{put}{after}"), "a.yaml")
        {
            prop_assert!(problems.iter().all(|problem| !problem.message.is_empty()));
            prop_assert!(!problems.is_empty());
        }
    }
}

#[test]
fn agents_and_models_say_in_one_way_how_they_are_reached() {
    insta::assert_snapshot!(mistakes(
        "describe: A\nagent:\n  timeout: 3s\nmodels:\n  judge: {openai: a, script: [b]}\nsimulator:\n  model: {}\nexamples: [{it: x, steps: [{user: a}]}]\n"
    ));
    insta::assert_snapshot!(mistakes(
        "describe: A\nagent:\n  chatt: {url: x}\n  command: []\nexamples: [{it: x, steps: [{user: a}]}]\n"
    ));
}
