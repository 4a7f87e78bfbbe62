//! A proposed example before it is run: does it parse, and does it stay in its place? Pure.

use ruby_prism::{CallNode, Node, Visit};

use super::{Answer, OpenItem, Refusal};
use crate::review::rules;
use crate::syntax::{Lines, arguments, block_statements, name, text, word};
use proctor_ruby::string_code;

/// How much an example may be.
const MAX_EXAMPLE_BYTES: usize = 8 << 10;
/// Rules that an accepted example may not break.
const BINDING_RULES: &[u32] = &[1, 2, 22, 27];

/// Words that would reach beyond one example.
const FORBIDDEN_CALLS: &[&str] = &[
    "describe",
    "context",
    "it",
    "specify",
    "example",
    "feature",
    "scenario",
    "before",
    "after",
    "around",
    "let",
    "let!",
    "subject",
    "shared_examples",
    "shared_context",
    "include_examples",
    "include_context",
    "it_behaves_like",
    "require",
    "require_relative",
    "load",
    "autoload",
    "eval",
    "exit",
    "exit!",
    "abort",
    "fork",
    "system",
    "spawn",
    "exec",
    "at_exit",
    "trap",
    "binding",
    "skip",
    "pending",
    "alias_method",
    "define_method",
    "remove_const",
    "const_set",
    "srand",
];
/// Methods that reach beyond an example whatever they are called on.
const FORBIDDEN_METHODS: &[&str] = &[
    "eval",
    "instance_eval",
    "class_eval",
    "module_eval",
    "remove_const",
    "const_set",
    "class_variable_set",
    "define_method",
    "exit!",
    "remove_method",
    "undef_method",
];

/// What is outside of the program, and the questions that may be asked of it.
const OUTSIDE_CONSTANTS: &[&str] = &[
    "File",
    "IO",
    "Dir",
    "FileUtils",
    "Pathname",
    "Socket",
    "TCPSocket",
    "TCPServer",
    "UDPSocket",
    "UNIXSocket",
    "Net::HTTP",
    "URI",
    "Open3",
    "PTY",
    "Signal",
    "Thread",
    "Ractor",
    "GC",
];
const ALLOWED_QUERIES: &[&str] = &[
    "join",
    "basename",
    "dirname",
    "extname",
    "expand_path",
    "exist?",
    "file?",
    "directory?",
    "read",
    "readlines",
    "parse",
    "glob",
];

/// An answer in the form in which it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedAnswer {
    pub(super) description: String,
    pub(super) lines: Vec<String>,
}

/// Looks at an answer.
pub(super) fn check_answer(item: &OpenItem, answer: &Answer) -> Result<CheckedAnswer, Refusal> {
    let lines = lines(&answer.body)?;
    let given = answer.description.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let description = given.unwrap_or(&item.description).to_owned();
    if description.contains('\n') || description.chars().count() > 200 {
        return Err(Refusal::new(
            "place",
            "the description is not one short line",
            "give one sentence without line breaks",
        ));
    }
    let wrapped = format!("it {} do\n{}\nend\n", string_code(&description), lines.join("\n"));
    let parsed = ruby_prism::parse(wrapped.as_bytes());
    if let Some(error) = parsed.errors().next() {
        let line = Lines::new(&wrapped).of(error.location().start()).saturating_sub(1);
        return Err(Refusal::new(
            "parse",
            format!("the body is not valid Ruby: line {line}: {}", word(error.message())),
            "send only the lines between `do` and `end` of the example",
        ));
    }
    check_scope(&parsed.node())?;
    check_rules(&description, &lines)?;
    Ok(CheckedAnswer { description, lines })
}

/// The lines with their common indentation taken away.
fn lines(body: &str) -> Result<Vec<String>, Refusal> {
    if body.len() > MAX_EXAMPLE_BYTES {
        return Err(Refusal::new(
            "place",
            format!("the body has {} bytes", body.len()),
            format!("keep an example below {MAX_EXAMPLE_BYTES} bytes"),
        ));
    }
    if body.contains("proctor:begin")
        || body.contains("proctor:end")
        || body.lines().any(|line| line.trim_end() == "__END__")
    {
        return Err(Refusal::new(
            "place",
            "the body holds marks that separate examples",
            "remove comments with `proctor:` and `__END__`",
        ));
    }
    let all: Vec<&str> = body.lines().map(str::trim_end).collect();
    let filled = || all.iter().filter(|line| !line.is_empty());
    if filled().next().is_none() {
        return Err(Refusal::new(
            "parse",
            "the body is empty",
            "send the lines between `do` and `end` of the example",
        ));
    }
    let margin = filled().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let mut lines: Vec<String> =
        all.iter().map(|line| line.get(margin..).unwrap_or_default().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let start = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    Ok(lines.split_off(start))
}

fn check_scope(program: &Node<'_>) -> Result<(), Refusal> {
    let beyond = || {
        Refusal::new(
            "place",
            "the body does not stay within its example",
            "send only the lines between `do` and `end`: setup, one call, one expectation",
        )
    };
    let program = program.as_program_node().ok_or_else(beyond)?;
    let all: Vec<Node<'_>> = program.statements().body().iter().collect();
    let [only] = all.as_slice() else { return Err(beyond()) };
    let call = only.as_call_node().ok_or_else(beyond)?;
    let mut looker = ForbiddenCallFinder { problem: None, demands: 0 };
    for statement in block_statements(&call) {
        looker.visit(&statement);
    }
    if let Some(problem) = looker.problem {
        return Err(Refusal::new(
            "place",
            format!("{problem} is not allowed in an example"),
            "build what is needed with plain objects, verified doubles and stubs inside the body",
        ));
    }
    if looker.demands == 0 {
        return Err(Refusal::new(
            "place",
            "the body has no expectation",
            "end with `expect(…).to …`",
        ));
    }
    Ok(())
}

fn check_rules(description: &str, lines: &[String]) -> Result<(), Refusal> {
    let text = format!(
        "RSpec.describe Object do\n  it {} do\n    {}\n  end\nend\n",
        string_code(description),
        lines.join("\n    ")
    );
    let broken =
        rules::check("", &text).into_iter().find(|finding| BINDING_RULES.contains(&finding.rule));
    match broken {
        Some(finding) => Err(Refusal::new(
            "rule",
            format!("rule {}: {}", finding.rule, finding.message),
            finding.fix,
        )),
        None => Ok(()),
    }
}

struct ForbiddenCallFinder {
    problem: Option<String>,
    demands: u32,
}

impl ForbiddenCallFinder {
    fn refuse(&mut self, what: impl Into<String>) {
        self.problem.get_or_insert(what.into());
    }
}

impl<'pr> Visit<'pr> for ForbiddenCallFinder {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let word = name(node);
        let receiver = node.receiver().map(|receiver| text(&receiver));
        if receiver.is_none() && FORBIDDEN_CALLS.contains(&word.as_str())
            || FORBIDDEN_METHODS.contains(&word.as_str())
        {
            self.refuse(format!("`{word}`"));
        }
        if receiver.as_deref().is_some_and(|receiver| {
            matches!(
                receiver,
                "RSpec"
                    | "Kernel"
                    | "Process"
                    | "ObjectSpace"
                    | "ProctorProbe"
                    | "ProctorGuard"
                    | "Coverage"
            )
        }) {
            self.refuse(format!("`{}.{word}`", receiver.as_deref().unwrap_or_default()));
        }
        if receiver.as_deref().is_some_and(|receiver| {
            OUTSIDE_CONSTANTS.contains(&receiver.trim_start_matches("::"))
                && !ALLOWED_QUERIES.contains(&word.as_str())
        }) {
            self.refuse(format!("`{}.{word}`", receiver.as_deref().unwrap_or_default()));
        }
        if matches!(word.as_str(), "send" | "__send__" | "public_send") {
            let hidden = arguments(node).first().and_then(crate::syntax::plain);
            if hidden.is_some_and(|hidden| {
                FORBIDDEN_METHODS.contains(&hidden.as_str())
                    || matches!(hidden.as_str(), "exit" | "fork" | "system" | "exec" | "spawn")
            }) {
                self.refuse(format!("`{word}` of a forbidden method"));
            }
        }
        if matches!(word.as_str(), "to" | "not_to" | "to_not")
            && node
                .receiver()
                .and_then(|receiver| receiver.as_call_node())
                .is_some_and(|call| name(&call) == "expect")
        {
            self.demands += 1;
        }
        ruby_prism::visit_call_node(self, node);
    }

    fn visit_def_node(&mut self, _: &ruby_prism::DefNode<'pr>) {
        self.refuse("a method definition");
    }

    fn visit_class_node(&mut self, _: &ruby_prism::ClassNode<'pr>) {
        self.refuse("a class definition");
    }

    fn visit_module_node(&mut self, _: &ruby_prism::ModuleNode<'pr>) {
        self.refuse("a module definition");
    }

    fn visit_singleton_class_node(&mut self, _: &ruby_prism::SingletonClassNode<'pr>) {
        self.refuse("`class <<`");
    }

    fn visit_x_string_node(&mut self, _: &ruby_prism::XStringNode<'pr>) {
        self.refuse("a shell command");
    }

    fn visit_interpolated_x_string_node(&mut self, _: &ruby_prism::InterpolatedXStringNode<'pr>) {
        self.refuse("a shell command");
    }

    fn visit_global_variable_write_node(&mut self, _: &ruby_prism::GlobalVariableWriteNode<'pr>) {
        self.refuse("a global variable");
    }

    fn visit_constant_write_node(&mut self, _: &ruby_prism::ConstantWriteNode<'pr>) {
        self.refuse("a constant");
    }

    fn visit_constant_path_write_node(&mut self, _: &ruby_prism::ConstantPathWriteNode<'pr>) {
        self.refuse("a constant");
    }

    fn visit_class_variable_write_node(&mut self, _: &ruby_prism::ClassVariableWriteNode<'pr>) {
        self.refuse("a class variable");
    }

    fn visit_pre_execution_node(&mut self, _: &ruby_prism::PreExecutionNode<'pr>) {
        self.refuse("`BEGIN`");
    }

    fn visit_post_execution_node(&mut self, _: &ruby_prism::PostExecutionNode<'pr>) {
        self.refuse("`END`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> OpenItem {
        OpenItem {
            id: "x".to_owned(),
            file: "lib/a.rb".to_owned(),
            spec: "spec/a_spec.rb".to_owned(),
            line: 1,
            method_id: "A#x".to_owned(),
            signature: "#x()".to_owned(),
            receiver: None,
            contexts: Vec::new(),
            description: "returns 1".to_owned(),
            reason: String::new(),
            missing: String::new(),
            call: super::super::supplied::CallShape::default(),
            conditions: Vec::new(),
            external: Vec::new(),
            factories: Vec::new(),
            source: String::new(),
            path: None,
            span: (0, 0),
        }
    }

    fn reason(body: &str) -> Result<Vec<String>, &'static str> {
        let answer = Answer::body(body);
        check_answer(&item(), &answer)
            .map(|checked| checked.lines)
            .map_err(|refusal| refusal.reason)
    }

    #[test]
    fn a_plain_body_is_taken_with_its_margin_cut() {
        let lines = reason("\n    a = A.new\n\n    expect(a.x).to eq(1)\n\n").unwrap();
        assert_eq!(lines, ["a = A.new", "", "expect(a.x).to eq(1)"]);
    }

    #[test]
    fn what_does_not_parse_or_leaves_its_place_is_refused() {
        for (body, expected) in [
            ("", "parse"),
            ("expect(1.to eq(1)", "parse"),
            ("expect(A.x).to eq(1)\nend\nit \"more\" do\n  expect(A.y).to eq(2)", "place"),
            ("describe(\"x\") { }\nexpect(A.x).to eq(1)", "place"),
            ("def helper = 1\nexpect(A.x).to eq(helper)", "place"),
            ("class A; def x = 1; end\nexpect(A.new.x).to eq(1)", "parse"),
            ("`rm -rf x`\nexpect(A.x).to eq(1)", "place"),
            ("A::LIMIT = 3\nexpect(A.x).to eq(1)", "parse"),
            ("$stdout = nil\nexpect(A.x).to eq(1)", "place"),
            ("Object.send(:remove_const, :A)\nexpect(1).to eq(A)", "place"),
            ("File.write('x', 'y')\nexpect(A.x).to eq(1)", "place"),
            ("::FileUtils.rm_rf('.')\nexpect(A.x).to eq(1)", "place"),
            ("A.new.x", "place"),
            ("skip \"later\"\nexpect(A.x).to eq(1)", "place"),
            ("expect { A.x }.not_to raise_error", "rule"),
            ("expect(true).to be(true)", "rule"),
            ("allow_any_instance_of(A).to receive(:x)\nexpect(A.new.x).to be_nil", "rule"),
            ("expect(A.x).to eq(1) # proctor:end A#x", "place"),
            ("expect(A.x).to eq(1)\n__END__", "place"),
        ] {
            let found = reason(body).unwrap_err();
            assert!(
                found == expected || (expected == "parse" && found == "place"),
                "{body}: {found}"
            );
        }
    }

    proptest::proptest! {
        /// Whatever is sent, an accepted body is one example and nothing else.
        #[test]
        fn nothing_that_is_accepted_adds_a_statement(body in "(expect\\(a\\)\\.to eq\\(1\\)|end|do|it \"x\" do|\\n|\"|#| |x){1,12}") {
            if let Ok(lines) = reason(&body) {
                let wrapped = format!("it \"d\" do\n{}\nend\nmarker\n", lines.join("\n"));
                let parsed = ruby_prism::parse(wrapped.as_bytes());
                proptest::prop_assert!(parsed.is_success());
                let node = parsed.node();
                let count = node.as_program_node().unwrap().statements().body().iter().count();
                proptest::prop_assert_eq!(count, 2);
            }
        }
    }
}
