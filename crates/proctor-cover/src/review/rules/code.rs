//! Rules about the code of examples and setup: 1, 2, 3, 10, 11, 15, 22, 24, 26, 27, 28.

use super::{Checker, Scope};
use crate::review::tree::{Body, Call, Example, Expectation, Group, Item};

/// Calls that hold time still or set it.
const TIME_CALLS: &[&str] =
    &["freeze_time", "travel_to", "travel", "freeze", "at_time", "with_frozen_time", "stub_time"];
/// Calls that print or stop a run.
const DEBUG_CALLS: &[&str] =
    &["puts", "p", "pp", "byebug", "debugger", "save_and_open_page", "save_and_open_screenshot"];
/// Matchers that say only yes or no.
const BOOLEAN_MATCHERS: &[&str] = &["be_truthy", "be_falsey", "be_falsy"];
/// Questions that have a matcher of their own, which says more when it fails.
const METHODS_WITH_MATCHER: &[&str] = &[
    "==",
    "!=",
    ">",
    "<",
    ">=",
    "<=",
    "include?",
    "nil?",
    "empty?",
    "is_a?",
    "kind_of?",
    "instance_of?",
    "respond_to?",
    "match?",
    "key?",
    "has_key?",
    "member?",
    "start_with?",
    "end_with?",
    "eql?",
    "equal?",
    "=~",
    "any?",
];

pub(super) fn freezes_time(item: &Item) -> bool {
    match item {
        Item::Hook { body, .. }
        | Item::Let { body, .. }
        | Item::Other { body }
        | Item::Subject { body } => body_freezes_time(body),
        _ => false,
    }
}

pub(super) fn is_time_tag(tag: &str) -> bool {
    tag.contains("freeze") || tag.contains("travel") || tag.contains("time")
}

fn body_freezes_time(body: &Body) -> bool {
    body.calls.iter().any(|call| {
        TIME_CALLS.contains(&call.name.as_str())
            || (call.name == "receive"
                && call.arguments.first().is_some_and(|first| {
                    matches!(
                        first.as_str(),
                        ":now" | ":today" | ":current" | ":rand" | ":hex" | ":uuid"
                    )
                }))
            || call.name == "srand"
    })
}

impl Checker<'_> {
    pub(super) fn group_code(&mut self, group: &Group) {
        if group.word.starts_with('f') && group.word != "feature" || is_focused(&group.tags) {
            self.add_fixable(28, group.line, "the group is focused", "remove the focus");
        }
        if group.word.starts_with('x') {
            self.add(
                28,
                group.line,
                "the group is switched off",
                "remove it, or say why with skip",
            );
        }
        let is_controller = group.tags.iter().any(|tag| tag.replace(' ', "") == "type::controller");
        let outermost = self.path.contains("/controllers/")
            && group.constant.as_ref().is_some_and(|name| name.ends_with("Controller"));
        if is_controller || outermost {
            self.add(
                26,
                group.line,
                "the spec tests a controller directly",
                "write a request spec",
            );
        }
    }

    pub(super) fn example_code(&mut self, example: &Example, scope: &Scope<'_>) {
        let body = &example.body;
        if matches!(example.word.as_str(), "fit" | "fspecify" | "fexample")
            || is_focused(&example.tags)
        {
            self.add_fixable(28, example.line, "the example is focused", "remove the focus");
        }
        if matches!(example.word.as_str(), "xit" | "xspecify" | "xexample") {
            self.add(
                28,
                example.line,
                "the example is switched off",
                "remove it, or say why with skip",
            );
        }
        if !example.has_block || example.word == "pending" || example.word == "skip" {
            return;
        }
        let waits = body.calls.iter().any(|call| {
            call.receiver.is_none() && matches!(call.name.as_str(), "skip" | "pending")
        });
        if body.statements == 0 {
            self.add(
                28,
                example.line,
                "the example is empty",
                "add an expectation, or remove the block",
            );
        } else if body.expectations.is_empty() && !waits && !has_other_expectation(body) {
            self.add(
                2,
                example.line,
                "the example has no expectation, so it cannot fail",
                "expect what the code does",
            );
        }
        self.check_single_expectation(example);
        let frozen = scope.frozen
            || body_freezes_time(body)
            || example.tags.iter().any(|tag| is_time_tag(tag));
        self.expectations(example, scope);
        self.calls(body, frozen, true);
        for (line, word) in &body.decisions {
            self.add(
                15,
                *line,
                &format!("the example has a branch ({word})"),
                "one example for each case",
            );
        }
        for line in &body.expecting_loops {
            self.add(
                15,
                *line,
                "the example has an expectation in a loop",
                "expect the whole collection, or one example for each case",
            );
        }
        let implicit =
            body.calls.iter().any(|call| call.receiver.is_none() && call.name == "is_expected");
        if implicit && !scope.subject && !scope.shared {
            self.add(10, example.line, "the subject is implicit", "define a named subject");
        }
    }

    /// More than one demand in an example.
    fn check_single_expectation(&mut self, example: &Example) {
        let body = &example.body;
        let together = example.tags.iter().any(|tag| tag.starts_with("aggregate_failures"))
            || body.calls.iter().any(|call| call.name == "aggregate_failures");
        // A message that is allowed first and demanded later is one demand.
        if body.expectations.len() > 1 && !together && body.expecting_loops.is_empty() {
            self.add(
                3,
                example.line,
                "the example has several expectations",
                "one behaviour per example, or aggregate_failures",
            );
        }
    }

    fn expectations(&mut self, example: &Example, scope: &Scope<'_>) {
        let label = scope.groups.iter().rev().find_map(|group| {
            group.words.as_ref()?.text.strip_prefix(['#', '.']).map(str::to_owned)
        });
        let labels: Vec<String> = scope
            .groups
            .iter()
            .filter_map(|group| {
                group.words.as_ref()?.text.strip_prefix(['#', '.']).map(str::to_owned)
            })
            .chain(label)
            .collect();
        let all = &example.body.expectations;
        for one in all {
            if one.negated && one.matcher == "raise_error" && all.len() == 1 {
                self.add(
                    1,
                    one.line,
                    "the example only expects that nothing is raised",
                    "expect what happens instead",
                );
            }
            if is_tautology(one) {
                self.add(
                    2,
                    one.line,
                    "the expectation always holds, whatever the code does",
                    "expect what the code does",
                );
            }
            if one.matcher == "receive" && is_subject(&one.subject) && !one.is_block {
                self.add(
                    1,
                    one.line,
                    "the expectation is on a message to the object under test",
                    "expect the result of the call",
                );
            }
            self.check_boolean_matcher(one, &labels);
        }
        for line in &example.body.bare_expects {
            self.add(2, *line, "`expect` has no matcher", "add `.to` and a matcher");
        }
    }

    /// `expect(a == b).to be(true)`: a failure says "expected true, got false".
    fn check_boolean_matcher(&mut self, one: &Expectation, labels: &[String]) {
        let boolean = BOOLEAN_MATCHERS.contains(&one.matcher.as_str())
            || (matches!(one.matcher.as_str(), "be" | "eq" | "eql" | "equal")
                && matches!(one.wanted.as_str(), "true" | "false"));
        let Some((_, asked)) = &one.call else { return };
        // The method that is being described is asked on purpose.
        if boolean && METHODS_WITH_MATCHER.contains(&asked.as_str()) && !labels.contains(asked) {
            self.add(
                28,
                one.line,
                "a failure message would only show true or false",
                "use the matcher for this predicate",
            );
        }
    }

    /// Calls that do not belong into a spec.
    fn calls(&mut self, body: &Body, frozen: bool, in_example: bool) {
        for call in &body.calls {
            let bare = call.receiver.is_none();
            match call.name.as_str() {
                "allow_any_instance_of" | "expect_any_instance_of" if bare => {
                    self.any_instance(call);
                }
                "any_instance" if !bare => self.any_instance(call),
                "double" | "spy" if bare => self.add(
                    24,
                    call.line,
                    "the double is not verified",
                    "use instance_double, class_double or object_double",
                ),
                "as_null_object" => {}
                "sleep" if bare || call.receiver.as_deref() == Some("Kernel") => self.add(
                    27,
                    call.line,
                    "the spec sleeps",
                    "control the clock, or wait for a condition",
                ),
                "instance_variable_get" | "instance_variable_set" if in_example => self.add(
                    1,
                    call.line,
                    "the spec reads the internal state of an object",
                    "use the public methods of the object",
                ),
                "send" | "__send__"
                    if in_example
                        && is_subject(call.receiver.as_deref().unwrap_or_default())
                        && !call.arguments.is_empty() =>
                {
                    self.add(
                        1,
                        call.line,
                        "the spec calls a method that may be private",
                        "test it through a public method",
                    );
                }
                "pry" if call.receiver.as_deref() == Some("binding") => self.check_debug_call(call),
                name if bare && DEBUG_CALLS.contains(&name) && in_example => {
                    self.check_debug_call(call);
                }
                _ => {}
            }
            if !frozen && is_unstable(call) {
                self.add(
                    27,
                    call.line,
                    "the spec depends on the clock or on chance",
                    "freeze the time, or use fixed values",
                );
            }
        }
    }

    fn any_instance(&mut self, call: &Call) {
        self.add(
            22,
            call.line,
            "any_instance is used",
            "inject the object, or stub the constructor",
        );
    }

    fn check_debug_call(&mut self, call: &Call) {
        self.add(28, call.line, &format!("`{}` was left behind", call.name), "remove it");
    }

    /// Setup: hooks, `let`, `subject`.
    pub(super) fn setup(&mut self, body: &Body, scope: &Scope<'_>, word: &str) {
        self.calls(body, scope.frozen || body_freezes_time(body), false);
        for (line, keyword) in &body.decisions {
            self.add(
                15,
                *line,
                &format!("the setup has a branch ({keyword})"),
                "one context for each case",
            );
        }
        if matches!(word, "before" | "let" | "background" | "prepend_before") {
            let messages =
                |one: &&Expectation| one.matcher != "receive" && one.matcher != "have_received";
            for one in body.expectations.iter().filter(messages) {
                self.add(
                    11,
                    one.line,
                    "the setup has an expectation",
                    "move the expectation to the example",
                );
            }
        }
    }

    /// Statements between examples.
    pub(super) fn check_other_statements(&mut self, body: &Body, _scope: &Scope<'_>) {
        for call in &body.calls {
            if call.name == "any_instance" || call.name == "allow_any_instance_of" {
                self.any_instance(call);
            }
        }
    }
}

fn is_focused(tags: &[String]) -> bool {
    tags.iter().any(|tag| tag == "focus" || tag == "focus: true")
}

/// Demands that are not made by `expect`: helpers with telling names.
fn has_other_expectation(body: &Body) -> bool {
    body.calls.iter().any(|call| {
        let name = call.name.as_str();
        name.starts_with("assert")
            || name.starts_with("expect") && name != "expect"
            || name.starts_with("verify")
            || name.starts_with("refute")
            || name.starts_with("should")
            || name.starts_with("check_")
            || name == "is_expected"
            || name == "have_enqueued_job"
    })
}

fn is_tautology(one: &Expectation) -> bool {
    if one.negated || one.is_block {
        return false;
    }
    let same = matches!(one.matcher.as_str(), "eq" | "be" | "eql" | "equal")
        && !one.subject.is_empty()
        && one.subject == one.wanted
        && (one.is_literal || one.call.as_ref().is_none_or(|(_, name)| !name.ends_with('!')));
    let literal = one.is_literal
        && (one.wants_literal
            || BOOLEAN_MATCHERS.contains(&one.matcher.as_str())
            || one.matcher == "be_nil"
            || one.wanted.is_empty());
    same || literal
}

/// Whether an expression is the object under test.
fn is_subject(receiver: &str) -> bool {
    receiver == "subject"
        || receiver.starts_with("subject.") && !receiver.contains('(')
        || receiver.starts_with("described_class")
}

/// The clock or chance.
fn is_unstable(call: &Call) -> bool {
    let receiver = call.receiver.as_deref().unwrap_or_default();
    match call.name.as_str() {
        "now" | "current" => {
            matches!(receiver, "Time" | "DateTime" | "Time.zone" | "Date" | "::Time")
                && call.arguments.is_empty()
        }
        "today" | "yesterday" | "tomorrow" => matches!(receiver, "Date" | "Time.zone" | "::Date"),
        "ago" | "from_now" => {
            receiver.chars().next().is_some_and(|first| first.is_ascii_digit())
                && call.arguments.is_empty()
        }
        "rand" => receiver.is_empty() || matches!(receiver, "Kernel" | "Random"),
        "hex" | "uuid" | "random_number" | "alphanumeric" => receiver == "SecureRandom",
        "sample" | "shuffle" => {
            receiver.starts_with('[') && !call.has_block && call.arguments.is_empty()
        }
        _ => false,
    }
}
