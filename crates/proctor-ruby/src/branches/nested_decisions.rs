//! Decisions within expressions: in arguments, lists, tables, texts with code in them, lambdas.

use ruby_prism::{Node, Visit};

use super::continuation::Continuation;
use super::{BodyAnalysis, Parent};

/// Walks an expression and hands whatever may decide something back to the study.
pub(super) struct NestedDecisions<'s, 'a> {
    study: &'s mut BodyAnalysis<'a>,
    parent: &'s Parent,
}

impl<'s, 'a> NestedDecisions<'s, 'a> {
    pub(super) fn new(study: &'s mut BodyAnalysis<'a>, parent: &'s Parent) -> Self {
        Self { study, parent }
    }

    /// Looks into a node that decides nothing itself.
    pub(super) fn look(mut self, node: &Node<'a>) {
        self.visit(node);
    }

    fn found(&mut self, node: &Node<'a>) {
        self.study.statement(node, self.parent);
    }
}

/// What the study knows how to treat.
macro_rules! handed_back {
    ($($visit:ident: $node:ident),+ $(,)?) => {
        $(fn $visit(&mut self, node: &ruby_prism::$node<'a>) {
            self.found(&node.as_node());
        })+
    };
}

/// What is known not to run here.
macro_rules! left_alone {
    ($($visit:ident: $node:ident),+ $(,)?) => {
        $(fn $visit(&mut self, _node: &ruby_prism::$node<'a>) {})+
    };
}

impl<'a> Visit<'a> for NestedDecisions<'_, 'a> {
    handed_back! {
        visit_return_node: ReturnNode,
        visit_call_node: CallNode,
        visit_if_node: IfNode,
        visit_unless_node: UnlessNode,
        visit_and_node: AndNode,
        visit_or_node: OrNode,
        visit_while_node: WhileNode,
        visit_until_node: UntilNode,
        visit_case_node: CaseNode,
        visit_case_match_node: CaseMatchNode,
        visit_begin_node: BeginNode,
        visit_rescue_modifier_node: RescueModifierNode,
        visit_local_variable_write_node: LocalVariableWriteNode,
        visit_x_string_node: XStringNode,
        visit_interpolated_x_string_node: InterpolatedXStringNode,
        visit_local_variable_or_write_node: LocalVariableOrWriteNode,
        visit_local_variable_and_write_node: LocalVariableAndWriteNode,
        visit_instance_variable_or_write_node: InstanceVariableOrWriteNode,
        visit_instance_variable_and_write_node: InstanceVariableAndWriteNode,
        visit_class_variable_or_write_node: ClassVariableOrWriteNode,
        visit_class_variable_and_write_node: ClassVariableAndWriteNode,
        visit_global_variable_or_write_node: GlobalVariableOrWriteNode,
        visit_global_variable_and_write_node: GlobalVariableAndWriteNode,
        visit_constant_or_write_node: ConstantOrWriteNode,
        visit_constant_and_write_node: ConstantAndWriteNode,
        visit_index_or_write_node: IndexOrWriteNode,
        visit_index_and_write_node: IndexAndWriteNode,
        visit_call_or_write_node: CallOrWriteNode,
        visit_call_and_write_node: CallAndWriteNode,
    }

    left_alone! {
        visit_def_node: DefNode,
        visit_class_node: ClassNode,
        visit_module_node: ModuleNode,
        visit_singleton_class_node: SingletonClassNode,
        visit_defined_node: DefinedNode,
    }

    fn visit_block_node(&mut self, node: &ruby_prism::BlockNode<'a>) {
        self.study.closure(node.body(), self.parent);
    }

    fn visit_lambda_node(&mut self, node: &ruby_prism::LambdaNode<'a>) {
        self.study.closure(node.body(), self.parent);
    }

    /// Several statements in parentheses, the body of a `for`, code within a text: guards count among them.
    fn visit_statements_node(&mut self, node: &ruby_prism::StatementsNode<'a>) {
        self.study.block(&Continuation::List(node.body()), self.parent);
    }
}
