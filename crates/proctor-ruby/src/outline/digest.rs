//! A fingerprint of a method's syntax tree.

use std::hash::{Hash as _, Hasher};

use ruby_prism::{Node, Visit};
use sha2::{Digest as _, Sha256};

/// Hash over the kinds of nodes, the names that belong to them and the text of their leaves: comments and layout leave
/// it unchanged. `words` is room to work in.
pub(super) fn digest(node: &Node<'_>, words: &mut Vec<u8>) -> String {
    words.clear();
    Tree(words).visit(node);
    let mut code = String::with_capacity(16);
    for byte in Sha256::digest(&words).iter().take(8) {
        code.extend(
            [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
        );
    }
    code
}

/// Writes a tree down: brackets around every node, its kind, and what belongs to the node itself.
struct Tree<'a>(&'a mut Vec<u8>);

impl Tree<'_> {
    fn open(&mut self, node: &Node<'_>) {
        self.0.extend_from_slice(&[b'(', kind(node)]);
        node_details(node, self.0);
    }

    fn close(&mut self) {
        self.0.push(b')');
    }

    fn leaf(&mut self, node: &Node<'_>) {
        self.0.extend_from_slice(&[b'.', kind(node)]);
        match node.as_string_node() {
            Some(string) => self.0.extend_from_slice(string.unescaped()),
            None => self.0.extend_from_slice(node.location().as_slice()),
        }
        // So that two leaves are not one longer one.
        self.0.push(0);
    }
}

/// Parts that a visitor is handed by their own type, without the hooks around them: without brackets it could not be
/// told where the statements of a branch end and its `else` begins.
macro_rules! bracketed {
    ($($visit:ident: $node:ident),+ $(,)?) => {
        $(fn $visit(&mut self, node: &ruby_prism::$node<'pr>) {
            self.open(&node.as_node());
            ruby_prism::$visit(self, node);
            self.close();
        })+
    };
}

impl<'pr> Visit<'pr> for Tree<'_> {
    fn visit_branch_node_enter(&mut self, node: Node<'pr>) {
        self.open(&node);
    }

    fn visit_branch_node_leave(&mut self) {
        self.close();
    }

    fn visit_leaf_node_enter(&mut self, node: Node<'pr>) {
        self.leaf(&node);
    }

    bracketed! {
        visit_statements_node: StatementsNode,
        visit_arguments_node: ArgumentsNode,
        visit_parameters_node: ParametersNode,
        visit_else_node: ElseNode,
        visit_rescue_node: RescueNode,
        visit_ensure_node: EnsureNode,
        visit_block_node: BlockNode,
        visit_block_argument_node: BlockArgumentNode,
        visit_splat_node: SplatNode,
        visit_constant_path_node: ConstantPathNode,
    }

    fn visit_match_write_node(&mut self, node: &ruby_prism::MatchWriteNode<'pr>) {
        self.visit(&node.call().as_node());
        for target in &node.targets() {
            self.visit(&target);
        }
    }

    fn visit_local_variable_target_node(
        &mut self,
        node: &ruby_prism::LocalVariableTargetNode<'pr>,
    ) {
        self.leaf(&node.as_node());
    }
}

/// Names, operators and flags that are no nodes of their own.
fn node_details(node: &Node<'_>, words: &mut Vec<u8>) {
    macro_rules! names {
        (
            named { $($variant:ident $as:ident $name:ident,)+ }
            operated { $($write:ident $as_write:ident $own:ident,)+ }
        ) => {
            match node {
                $(Node::$variant { .. } => if let Some(node) = node.$as() {
                    words.extend_from_slice(node.$name().as_slice());
                    words.push(0);
                },)+
                // `+=` or `-=`
                $(Node::$write { .. } => if let Some(node) = node.$as_write() {
                    words.extend_from_slice(node.$own().as_slice());
                    words.push(0);
                    words.extend_from_slice(node.binary_operator().as_slice());
                },)+
                _ => flags(node, words),
            }
        };
    }
    names! {
        named {
        DefNode as_def_node name,
        CallTargetNode as_call_target_node name,
        CallOrWriteNode as_call_or_write_node read_name,
        CallAndWriteNode as_call_and_write_node read_name,
        LocalVariableWriteNode as_local_variable_write_node name,
        LocalVariableOrWriteNode as_local_variable_or_write_node name,
        LocalVariableAndWriteNode as_local_variable_and_write_node name,
        InstanceVariableWriteNode as_instance_variable_write_node name,
        InstanceVariableOrWriteNode as_instance_variable_or_write_node name,
        InstanceVariableAndWriteNode as_instance_variable_and_write_node name,
        ClassVariableWriteNode as_class_variable_write_node name,
        ClassVariableOrWriteNode as_class_variable_or_write_node name,
        ClassVariableAndWriteNode as_class_variable_and_write_node name,
        GlobalVariableWriteNode as_global_variable_write_node name,
        GlobalVariableOrWriteNode as_global_variable_or_write_node name,
        GlobalVariableAndWriteNode as_global_variable_and_write_node name,
        ConstantWriteNode as_constant_write_node name,
        ConstantOrWriteNode as_constant_or_write_node name,
        ConstantAndWriteNode as_constant_and_write_node name,
        OptionalParameterNode as_optional_parameter_node name,
        OptionalKeywordParameterNode as_optional_keyword_parameter_node name,
        RangeNode as_range_node operator_loc,
        FlipFlopNode as_flip_flop_node operator_loc,
        InterpolatedRegularExpressionNode as_interpolated_regular_expression_node closing_loc,
        }
        operated {
        CallOperatorWriteNode as_call_operator_write_node read_name,
        LocalVariableOperatorWriteNode as_local_variable_operator_write_node name,
        InstanceVariableOperatorWriteNode as_instance_variable_operator_write_node name,
        ClassVariableOperatorWriteNode as_class_variable_operator_write_node name,
        GlobalVariableOperatorWriteNode as_global_variable_operator_write_node name,
        ConstantOperatorWriteNode as_constant_operator_write_node name,
        }
    }
}

fn flags(node: &Node<'_>, words: &mut Vec<u8>) {
    match node {
        Node::CallNode { .. } => {
            let Some(call) = node.as_call_node() else { return };
            words.extend_from_slice(call.name().as_slice());
            let safe = u8::from(call.is_safe_navigation()) << 2;
            let receiver = u8::from(call.receiver().is_some()) << 1;
            words.push(8 | safe | receiver | u8::from(call.is_attribute_write()));
        }
        Node::ConstantPathNode { .. } => {
            let Some(path) = node.as_constant_path_node() else { return };
            words.extend_from_slice(path.name().map(|name| name.as_slice()).unwrap_or_default());
            words.push(u8::from(path.parent().is_some()));
        }
        Node::IndexOperatorWriteNode { .. } => {
            let Some(write) = node.as_index_operator_write_node() else { return };
            words.extend_from_slice(write.binary_operator().as_slice());
        }
        Node::ConstantPathOperatorWriteNode { .. } => {
            let Some(write) = node.as_constant_path_operator_write_node() else { return };
            words.extend_from_slice(write.binary_operator().as_slice());
        }
        // `begin … end while` or `while … end`
        Node::WhileNode { .. } => {
            words.extend(node.as_while_node().map(|repeat| u8::from(repeat.is_begin_modifier())));
        }
        Node::UntilNode { .. } => {
            words.extend(node.as_until_node().map(|repeat| u8::from(repeat.is_begin_modifier())));
        }
        _ => {}
    }
}

/// The number of a node's kind; there are fewer than 256.
fn kind(node: &Node<'_>) -> u8 {
    struct Capture(u8);
    impl Hasher for Capture {
        fn finish(&self) -> u64 {
            self.0.into()
        }
        fn write(&mut self, bytes: &[u8]) {
            // The lowest byte of a number in this machine's order.
            let lowest = if cfg!(target_endian = "little") { bytes.first() } else { bytes.last() };
            self.0 = lowest.copied().unwrap_or_default();
        }
    }
    let mut number = Capture(0);
    std::mem::discriminant(node).hash(&mut number);
    number.0
}
