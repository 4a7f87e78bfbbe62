//! Calls in class bodies that mean something: visibility, attributes, mixins, and what makes methods while running.

use ruby_prism::{CallNode, DefNode, Node, Visit};

use super::Reader;
use crate::facts::{Scope, Visibility};
use crate::source::{constant, name, nodes, owned, text};

impl Reader<'_> {
    pub(super) fn call(&mut self, call: &CallNode<'_>) {
        let arguments: Vec<Node<'_>> =
            call.arguments().map(|list| nodes(&list.arguments())).unwrap_or_default();
        if call.receiver().is_some_and(|receiver| receiver.as_self_node().is_none()) {
            return self.foreign_call(call);
        }
        let Some((index, singleton)) = self.open.last().map(|open| (open.index, open.singleton))
        else {
            return self.block_of(call);
        };
        match call.name().as_slice() {
            b"private"
            | b"public"
            | b"protected"
            | b"module_function"
            | b"private_class_method"
            | b"public_class_method" => self.visibility(&name(call.name().as_slice()), &arguments),
            b"attr_reader" | b"attr_accessor" | b"attr" => {
                // Attributes of the class itself are no attributes of its instances.
                if !singleton {
                    self.facts.classes[index].readers.extend(named(&arguments));
                }
            }
            b"include" | b"extend" | b"prepend" => self.mixin(call, &arguments, index),
            b"alias_method" => {
                if let [new, old] = arguments.as_slice() {
                    self.alias(&call.as_node(), new, old);
                }
            }
            b"undef_method" | b"remove_method" => {
                for argument in &arguments {
                    self.remove(argument);
                }
            }
            b"refine" => self.limit(
                &call.as_node(),
                format!(
                    "refinement of {}: seen only where it is used, not analysed",
                    words(&arguments)
                ),
            ),
            b"define_method" if self.define_method(call, &arguments) => {}
            b"scope" if self.scope_method(call, &arguments) => {}
            _ if self.record_rule(call, &arguments) => {}
            method if makes_methods(method) => self.made_later(call),
            method if delegates(method) => {
                self.limit(&call.as_node(), format!("{}: delegation, not analysed", name(method)));
            }
            _ => self.block_of(call),
        }
    }

    fn mixin(&mut self, call: &CallNode<'_>, arguments: &[Node<'_>], index: usize) {
        let mixins = arguments.iter().filter_map(constant).map(std::borrow::Cow::into_owned);
        self.facts.classes[index].mixins.extend(mixins);
        let on_itself = arguments.iter().any(|argument| argument.as_self_node().is_some());
        if call.name().as_slice() == b"extend" && on_itself {
            if let Some(open) = self.open.last_mut() {
                open.module_function = true;
            }
            for method in &mut self.facts.classes[index].methods {
                method.module_function = true;
            }
        }
    }

    /// A call on something else.
    fn foreign_call(&mut self, call: &CallNode<'_>) {
        let method = call.name().as_slice();
        if makes_methods(method) || method == b"send" {
            self.made_later(call);
        } else if self.loop_over_names(call) {
            // Its statements were read, once for each name.
        } else if call.block().is_some_and(|block| holds_methods(&block)) {
            self.limit(&call.as_node(), format!("block of {}: not analysed", name(method)));
        }
    }

    fn made_later(&mut self, call: &CallNode<'_>) {
        let method = name(call.name().as_slice());
        self.limit(&call.as_node(), format!("{method}: made while running, not analysed"));
    }

    /// A block in a class body, or one that holds methods anywhere else.
    fn block_of(&mut self, call: &CallNode<'_>) {
        let Some(block) = call.block() else { return };
        if !self.open.is_empty() || holds_methods(&block) {
            let method = name(call.name().as_slice());
            self.limit(&call.as_node(), format!("block of {method}: not analysed"));
        }
    }

    /// Another name for a method is the same code.
    pub(super) fn alias(&mut self, node: &Node<'_>, new: &Node<'_>, old: &Node<'_>) {
        let [new, old] = [new, old].map(|one| named(std::slice::from_ref(one)));
        if let ([new], [old]) = (new.as_slice(), old.as_slice()) {
            self.limit(node, format!("{new}: another name for {old}, covered under that one"));
        } else {
            self.limit(node, "alias with a computed name: not analysed");
        }
    }

    /// A method that is taken away again.
    pub(super) fn remove(&mut self, name: &Node<'_>) {
        let Some(open) = self.open.last() else { return };
        let scope = if open.singleton { Scope::Class } else { Scope::Instance };
        let names = named(std::slice::from_ref(name));
        let methods = &mut self.facts.classes[open.index].methods;
        let place =
            methods.iter().position(|method| method.scope == scope && names.contains(&method.name));
        if let Some(place) = place.filter(|_| self.conditional == 0) {
            methods.remove(place);
            self.learned[open.index].remove(place);
        }
    }

    fn visibility(&mut self, word: &str, arguments: &[Node<'_>]) {
        let visibility = match word {
            "private" | "private_class_method" => Visibility::Private,
            "protected" => Visibility::Protected,
            _ => Visibility::Public,
        };
        let Some(open) = self.open.last_mut() else { return };
        let (index, singleton) = (open.index, open.singleton);
        if arguments.is_empty() {
            if word == "module_function" {
                open.module_function = true;
            } else if !word.ends_with("_class_method") {
                open.visibility = visibility;
            }
            return;
        }
        for argument in arguments {
            if let Some(def) = argument.as_def_node() {
                self.def(&def, Some((visibility, word == "module_function")));
            } else if let Some(call) = argument.as_call_node() {
                // `private attr_reader :x`
                self.call(&call);
            }
        }
        let symbols = named(arguments);
        let on_class = singleton || word.ends_with("_class_method");
        let scope = if on_class { Scope::Class } else { Scope::Instance };
        for method in &mut self.facts.classes[index].methods {
            if symbols.contains(&method.name) && method.scope == scope {
                if word == "module_function" {
                    method.module_function = true;
                } else {
                    method.visibility = visibility;
                }
            }
        }
    }
}

/// Names given as symbols or strings, alone or in lists.
pub(super) fn named(arguments: &[Node<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for argument in arguments {
        if let Some(symbol) = argument.as_symbol_node() {
            found.push(owned(symbol.unescaped()));
        } else if let Some(string) = argument.as_string_node() {
            found.push(owned(string.unescaped()));
        } else if let Some(array) = argument.as_array_node() {
            found.extend(named(&array.elements().iter().collect::<Vec<_>>()));
        } else if let Some(inner) = argument.as_splat_node().and_then(|splat| splat.expression()) {
            found.extend(named(&[inner]));
        }
    }
    found
}

fn words(arguments: &[Node<'_>]) -> String {
    arguments.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Calls that make methods while the program runs.
pub(super) fn makes_methods(method: &[u8]) -> bool {
    matches!(
        method,
        b"define_method"
            | b"define_singleton_method"
            | b"class_eval"
            | b"class_exec"
            | b"module_eval"
            | b"module_exec"
            | b"instance_eval"
            | b"instance_exec"
            | b"method_missing"
            | b"eval"
    )
}

/// Calls that hand methods on to another object.
fn delegates(method: &[u8]) -> bool {
    matches!(
        method,
        b"delegate"
            | b"delegate_missing_to"
            | b"instance_delegate"
            | b"def_delegator"
            | b"def_delegators"
            | b"def_instance_delegator"
            | b"def_instance_delegators"
            | b"def_single_delegator"
            | b"def_single_delegators"
    )
}

/// Whether methods are defined or made somewhere inside.
fn holds_methods(node: &Node<'_>) -> bool {
    struct Finder(bool);
    impl<'pr> Visit<'pr> for Finder {
        fn visit_def_node(&mut self, _node: &DefNode<'pr>) {
            self.0 = true;
        }

        fn visit_call_node(&mut self, node: &CallNode<'pr>) {
            self.0 |= makes_methods(node.name().as_slice());
            ruby_prism::visit_call_node(self, node);
        }
    }
    let mut finder = Finder(false);
    finder.visit(node);
    finder.0
}
