//! Constructs with several clauses: `case … when`, `case … in`, `begin … rescue`, `x rescue y`.

use ruby_prism::{BeginNode, CaseMatchNode, CaseNode, ElseNode, Node, RescueModifierNode};

use super::conditions::{answered, phrase, plain_value, setup};
use super::continuation::Continuation;
use super::decisions::arm;
use super::{BodyAnalysis, Parent, patterns};
use crate::effects::is_lifecycle;
use crate::facts::{Arm, CharacteristicKind};
use crate::source::{constant, nodes, text};
use crate::words::{identifier, short};

/// The clauses of one construct: their values, and what happens under each.
#[derive(Default)]
struct Clauses<'a> {
    arms: Vec<Arm>,
    bodies: Vec<Continuation<'a>>,
}

impl<'a> Clauses<'a> {
    fn add(&mut self, value: Arm, way: Continuation<'a>) {
        self.arms.push(value);
        self.bodies.push(way);
    }
}

impl<'a> BodyAnalysis<'a> {
    pub(super) fn begin(&mut self, begin: &BeginNode<'a>, parent: &Parent) {
        let body = Continuation::listed(begin.statements());
        if begin.else_clause().is_some() {
            self.aside(|study| study.block(&body, parent));
        } else {
            self.block(&body, parent);
        }
        let mut clauses = Clauses::default();
        let other = begin.else_clause().and_then(|other| other.statements());
        clauses.add(arm("none", "nothing is raised", None), Continuation::listed(other));
        let mut clause = begin.rescue_clause();
        let first = clause.as_ref().map(|clause| clause.location().start());
        while let Some(rescue) = clause {
            let errors: Vec<_> = rescue.exceptions().iter().map(|error| text(&error)).collect();
            let error =
                if errors.is_empty() { "StandardError".to_owned() } else { errors.join(" or ") };
            let named = rescue.exceptions().iter().all(|error| constant(&error).is_some());
            let words = if named { error.as_str() } else { "one of the expected errors" };
            let words = [words, " is raised"].concat();
            clauses.add(
                arm(error, words, self.reached(rescue.location().start())),
                Continuation::listed(rescue.statements()),
            );
            clause = rescue.subsequent();
        }
        if let Some(first) = first {
            let line = self.around.source.line(first);
            self.raised(clauses, parent, (line, line));
        }
        if let Some(ensure) = begin.ensure_clause() {
            self.aside(|study| study.block(&Continuation::listed(ensure.statements()), parent));
        }
    }

    /// `expression rescue other`
    pub(super) fn rescue_modifier(&mut self, rescue: &RescueModifierNode<'a>, parent: &Parent) {
        self.aside(|study| study.statement(&rescue.expression(), parent));
        let keyword = rescue.keyword_loc().start();
        let mut clauses = Clauses::default();
        clauses.add(arm("none", "nothing is raised", None), Continuation::Nothing);
        clauses.add(
            arm("StandardError", "StandardError is raised", self.reached(keyword)),
            Continuation::One(rescue.rescue_expression()),
        );
        let line = self.around.source.line(keyword);
        self.raised(clauses, parent, (line, line));
    }

    /// What happens after an error of each kind, and without one.
    fn raised(&mut self, clauses: Clauses<'a>, parent: &Parent, lines: (u32, u32)) {
        let words = ("error".to_owned(), "error".to_owned());
        let index = self.push(words, CharacteristicKind::Boolean, clauses.arms, parent, lines);
        for (place, way) in clauses.bodies.iter().enumerate() {
            // Without an error and an `else`, the body itself has decided.
            if place > 0 || !matches!(way, Continuation::Nothing) {
                self.arm_body(index, place, way);
            }
        }
    }

    pub(super) fn case(&mut self, case: &CaseNode<'a>, parent: &Parent) {
        let subject = case.predicate();
        if let Some(subject) = &subject {
            self.aside(|study| study.statement(subject, parent));
        }
        let word = subject.as_ref().map_or_else(|| "condition".to_owned(), phrase);
        let mut clauses = Clauses::default();
        for condition in &case.conditions() {
            let Some(when) = condition.as_when_node() else { continue };
            let values = when.conditions();
            let values = nodes(&values);
            let plain: Vec<String> = values.iter().map(plain_value).collect();
            let description = if subject.is_some() {
                patterns::one_of(&word, &values)
            } else {
                values.iter().map(|value| answered(value).0).collect::<Vec<_>>().join(" or ")
            };
            let probe = self.reached(when.location().start());
            clauses.add(
                arm(plain.join(", "), description, probe),
                Continuation::listed(when.statements()),
            );
        }
        let otherwise = match &subject {
            Some(_) => format!("{word} is something else"),
            None => "none of the conditions holds".to_owned(),
        };
        self.otherwise(case.else_clause().as_ref(), otherwise, &mut clauses);
        let lines = self.around.source.lines(&case.location());
        self.enumerate(&word, clauses, subject.as_ref(), parent, lines);
    }

    pub(super) fn case_match(&mut self, case: &CaseMatchNode<'a>, parent: &Parent) {
        let subject = case.predicate();
        if let Some(subject) = &subject {
            self.aside(|study| study.statement(subject, parent));
        }
        let word = subject.as_ref().map_or_else(|| "value".to_owned(), phrase);
        let mut clauses = Clauses::default();
        for condition in &case.conditions() {
            let Some(pattern) = condition.as_in_node() else { continue };
            let code = short(&text(&pattern.pattern())).into_owned();
            let words = patterns::pattern(&word, &pattern.pattern()).unwrap_or_else(|| {
                [&word, " matches pattern ", &(clauses.arms.len() + 1).to_string()].concat()
            });
            let probe = self.reached(pattern.location().start());
            clauses.add(arm(code, words, probe), Continuation::listed(pattern.statements()));
        }
        let otherwise = format!("{word} is something else");
        self.otherwise(case.else_clause().as_ref(), otherwise, &mut clauses);
        let lines = self.around.source.lines(&case.location());
        self.enumerate(&word, clauses, subject.as_ref(), parent, lines);
    }

    fn otherwise(&self, other: Option<&ElseNode<'a>>, words: String, clauses: &mut Clauses<'a>) {
        let Some(other) = other else { return };
        let probe = self.reached(other.location().start());
        clauses.add(arm("other", words, probe), Continuation::listed(other.statements()));
    }

    /// The probe of the clause whose keyword is here.
    fn reached(&self, keyword: u32) -> Option<(u32, Option<bool>)> {
        self.around.probes.place(keyword).map(|id| (id, None))
    }

    fn enumerate(
        &mut self,
        word: &str,
        clauses: Clauses<'a>,
        subject: Option<&Node<'a>>,
        parent: &Parent,
        lines: (u32, u32),
    ) {
        let origin = subject.and_then(|subject| self.flow.origin(subject));
        let inputs = subject.map_or(0, |subject| self.flow.inputs(subject));
        let inputs = self.flow.names(inputs);
        let setup = setup(subject, origin.as_ref());
        let kind = if is_lifecycle(clauses.arms.iter().map(|arm| arm.value.as_str())) {
            CharacteristicKind::Sequential
        } else {
            CharacteristicKind::Enum
        };
        let words = (identifier(word, 40), word.to_owned());
        let index = self.push(words, kind, clauses.arms, parent, lines);
        let found = &mut self.found[index];
        found.origin = origin;
        found.setup = setup;
        found.inputs = inputs;
        for (place, way) in clauses.bodies.iter().enumerate() {
            self.arm_body(index, place, way);
        }
    }
}
