//! Spec text always parses; hand-written parts are never lost.

use proctor_ruby::analyze;
use proctor_ruby::spec::{
    ClassPlan, ContextPlan, ExampleBody, ExamplePlan, MethodPlan, Observed, SpecPlan, file, merge,
};
use proptest::prelude::*;

fn plan(description: &str, argument: &str) -> SpecPlan {
    let observed = Observed {
        method: "add".to_owned(),
        receiver: "Cart.new".to_owned(),
        args: vec![format!("{argument:?}").replace('#', "\\#")],
        keys: Vec::new(),
        block: None,
        setup: Vec::new(),
        kind: "return".to_owned(),
        matcher: "eq(1)".to_owned(),
        index: None,
    };
    let example = ExamplePlan {
        description: description.to_owned(),
        body: ExampleBody::Observed(observed),
        kills: true,
    };
    let context =
        ContextPlan { name: Some(format!("when {description}")), examples: vec![example] };
    let method = MethodPlan {
        id: "Cart#add".to_owned(),
        label: "#add".to_owned(),
        contexts: vec![context],
        ..MethodPlan::default()
    };
    SpecPlan {
        requires: vec!["require \"cart\"".to_owned()],
        classes: vec![ClassPlan { name: "Cart".to_owned(), methods: vec![method] }],
        ..SpecPlan::default()
    }
}

proptest! {
    #[test]
    fn emitted_ruby_always_parses(description in ".{0,40}", argument in "[a-z#{}\"]{0,10}") {
        let text = file(&plan(&description, &argument));
        prop_assert!(analyze(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn merging_twice_changes_nothing_and_keeps_what_people_wrote() {
    let hand = "require \"cart\"\n\nRSpec.describe Cart do\n  it \"is mine\" do\n    expect(1).to eq(1)\n  end\nend\n";
    let plan = plan("returns 1", "x");
    let once = merge(Some(hand), &plan).unwrap();
    assert!(once.text.contains("it \"is mine\" do"));
    assert!(once.text.contains("proctor:begin Cart#add"));
    let twice = merge(Some(&once.text), &plan).unwrap();
    assert_eq!(once.text, twice.text);
}

#[test]
fn an_edited_block_is_kept() {
    let first = merge(None, &plan("returns 1", "x")).unwrap().text;
    let edited = first.replace("eq(1)", "eq(2)");
    let merged = merge(Some(&edited), &plan("returns 3", "y")).unwrap();
    assert_eq!(merged.kept, ["Cart#add"]);
    assert_eq!(merged.text, edited);
}

#[test]
fn windows_line_ends_survive() {
    let hand = "RSpec.describe Cart do\r\n  it(\"x\") { expect(1).to eq(1) }\r\nend\r\n";
    let merged = merge(Some(hand), &plan("returns 1", "x")).unwrap();
    assert_eq!(merged.text.matches('\n').count(), merged.text.matches("\r\n").count());
}

#[test]
fn answers_of_the_world_stand_before_the_call_and_are_expected() {
    let mut plan = plan("asks File.read", "x");
    let example = &mut plan.classes[0].methods[0].contexts[0].examples[0];
    let ExampleBody::Observed(observed) = &mut example.body else { unreachable!() };
    observed.setup = vec!["allow(File).to receive(:read).and_return(\"a\")".to_owned()];
    observed.kind = "call".to_owned();
    observed.matcher = "File).to have_received(:read).with(\"x\"".to_owned();
    let text = file(&plan);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let place = lines.iter().position(|line| line.starts_with("allow(File)")).unwrap();
    assert_eq!(lines[place + 1], "described_class.new.add('x')");
    assert_eq!(lines[place + 2], "expect(File).to have_received(:read).with('x')");
    let ExampleBody::Observed(observed) =
        &mut plan.classes[0].methods[0].contexts[0].examples[0].body
    else {
        unreachable!()
    };
    observed.kind = "kind".to_owned();
    observed.matcher = "Cart".to_owned();
    assert!(
        file(&plan)
            .contains("expect(described_class === described_class.new.add('x')).to be(true)")
    );
}
