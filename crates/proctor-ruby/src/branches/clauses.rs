//! Constructs with several clauses: `case … when`, `case … in`, `begin … rescue`.

use ruby_prism::{BeginNode, CaseMatchNode, CaseNode, ElseNode, Node};

use super::decisions::{arm, leaf};
use super::questions::{phrase, plain_value};
use super::{Parent, Study};
use crate::effects::is_lifecycle;
use crate::facts::{Arm, CharacteristicKind};
use crate::source::{listed, text};
use crate::words::{identifier, short};

/// The clauses of one construct: their values, and what happens under each.
#[derive(Default)]
struct Clauses<'a> {
    arms: Vec<Arm>,
    bodies: Vec<(String, Vec<Node<'a>>)>,
}

impl<'a> Clauses<'a> {
    fn add(&mut self, mut value: Arm, list: Vec<Node<'a>>) {
        leaf(&mut value, &list);
        self.bodies.push((value.value.clone(), list));
        self.arms.push(value);
    }
}

impl<'a> Study<'a> {
    pub(super) fn begin(&mut self, begin: &BeginNode<'a>, parent: &Parent) {
        self.block(&listed(begin.statements()), parent);
        let mut clauses = Clauses::default();
        clauses.arms.push(arm("none", "nothing is raised", None));
        let mut clause = begin.rescue_clause();
        let first = clause.as_ref().map(|clause| clause.location().start());
        while let Some(rescue) = clause {
            let errors: Vec<_> = rescue.exceptions().iter().map(|error| text(&error)).collect();
            let error =
                if errors.is_empty() { "StandardError".to_owned() } else { errors.join(" or ") };
            let words = format!("{error} is raised");
            clauses.add(
                arm(error, words, self.reached(rescue.location().start())),
                listed(rescue.statements()),
            );
            clause = rescue.subsequent();
        }
        if let Some(first) = first {
            let line = self.around.source.line(first);
            let index = self.push(
                "error".to_owned(),
                CharacteristicKind::Boolean,
                clauses.arms,
                parent,
                (line, line),
            );
            for (value, list) in clauses.bodies {
                self.block(&list, &Some((index, vec![value])));
            }
        }
        if let Some(ensure) = begin.ensure_clause() {
            self.block(&listed(ensure.statements()), parent);
        }
    }

    pub(super) fn case(&mut self, case: &CaseNode<'a>, parent: &Parent) {
        let subject = case.predicate();
        let word = subject.as_ref().map_or_else(|| "condition".to_owned(), phrase);
        let mut clauses = Clauses::default();
        for condition in &case.conditions() {
            let Some(when) = condition.as_when_node() else { continue };
            let values = when.conditions();
            let plain: Vec<String> = values.iter().map(|value| plain_value(&value)).collect();
            let codes = values.iter().map(|value| short(&text(&value)));
            let description = if subject.is_some() {
                format!("{word} is {}", codes.collect::<Vec<_>>().join(" or "))
            } else {
                codes.map(|code| format!("{code} holds")).collect::<Vec<_>>().join(" or ")
            };
            let probe = self.reached(when.location().start());
            clauses.add(arm(plain.join(", "), description, probe), listed(when.statements()));
        }
        let otherwise = format!("{word} is something else");
        self.otherwise(case.else_clause().as_ref(), otherwise, &mut clauses);
        let lines = self.around.source.lines(&case.location());
        self.enumerate(&word, clauses, subject.as_ref(), parent, lines);
    }

    pub(super) fn case_match(&mut self, case: &CaseMatchNode<'a>, parent: &Parent) {
        let subject = case.predicate();
        let word = subject.as_ref().map_or_else(|| "value".to_owned(), phrase);
        let mut clauses = Clauses::default();
        for condition in &case.conditions() {
            let Some(pattern) = condition.as_in_node() else { continue };
            let code = short(&text(&pattern.pattern()));
            let words = format!("{word} matches {code}");
            let probe = self.reached(pattern.location().start());
            clauses.add(arm(code, words, probe), listed(pattern.statements()));
        }
        let otherwise = format!("{word} matches nothing else");
        self.otherwise(case.else_clause().as_ref(), otherwise, &mut clauses);
        let lines = self.around.source.lines(&case.location());
        self.enumerate(&word, clauses, subject.as_ref(), parent, lines);
    }

    fn otherwise(&self, other: Option<&ElseNode<'a>>, words: String, clauses: &mut Clauses<'a>) {
        let Some(other) = other else { return };
        let probe = self.reached(other.location().start());
        clauses.add(arm("other", words, probe), listed(other.statements()));
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
        let origin = subject.and_then(|subject| self.origin(subject));
        let setup = Self::setup(subject, origin.as_ref());
        let kind = if is_lifecycle(clauses.arms.iter().map(|arm| arm.value.as_str())) {
            CharacteristicKind::Sequential
        } else {
            CharacteristicKind::Enum
        };
        let index = self.push(identifier(word, 40), kind, clauses.arms, parent, lines);
        let found = &mut self.found[index];
        word.clone_into(&mut found.description);
        found.origin = origin;
        found.setup = setup;
        for (value, list) in clauses.bodies {
            self.arm_body(index, &value, &list);
        }
    }
}
