//! What the class body of a stored object (`ActiveRecord`, `ActiveModel`) says: scopes are class methods, rules are seen through
//! `valid?`, callbacks through `save` and `destroy`.

use ruby_prism::{CallNode, LambdaNode, Node};

use super::Reader;
use super::digest::digest;
use super::methods::{Definition, WrittenMethod};
use super::words::named;
use crate::facts::{Behavior, BehaviorKind, ClassKind, Scope, Visibility};

/// The method through which callers see what a word of a class body sets up.
pub(crate) fn seen_through(word: &[u8]) -> Option<&'static str> {
    match word {
        b"validate" | b"validates" | b"validates!" | b"validates_with" | b"validates_each"
        | b"before_validation" | b"after_validation" => Some("valid?"),
        b"before_save"
        | b"after_save"
        | b"around_save"
        | b"before_create"
        | b"after_create"
        | b"around_create"
        | b"before_update"
        | b"after_update"
        | b"around_update"
        | b"after_commit"
        | b"after_save_commit"
        | b"after_create_commit"
        | b"after_update_commit" => Some("save"),
        b"before_destroy" | b"after_destroy" | b"around_destroy" | b"after_destroy_commit" => {
            Some("destroy")
        }
        word if word.starts_with(b"validates_") && word.ends_with(b"_of") => Some("valid?"),
        _ => None,
    }
}

impl Reader<'_> {
    /// `scope :open, -> { … }`. Says whether it was one.
    pub(super) fn scope_method(&mut self, call: &CallNode<'_>, arguments: &[Node<'_>]) -> bool {
        let [first, second] = arguments else { return false };
        let mut names = named(std::slice::from_ref(first));
        let (Some(lambda), Some(own)) = (second.as_lambda_node(), names.pop()) else {
            return false;
        };
        self.written_by_call(call, WrittenMethod::Lambda(call, lambda), own, Scope::Class);
        true
    }

    /// A rule or callback. Says whether the class may have such.
    pub(super) fn record_rule(&mut self, call: &CallNode<'_>, arguments: &[Node<'_>]) -> bool {
        let Some(own) = seen_through(call.name().as_slice()) else { return false };
        let Some(index) = self.open.last().filter(|open| !open.singleton).map(|open| open.index)
        else {
            return false;
        };
        if !self.is_stored_class(index) {
            return false;
        }
        let called = named(arguments);
        let is_known = |method: &&mut crate::facts::MethodFacts| {
            method.name == own && method.scope == Scope::Instance
        };
        if let Some(method) = self.facts.classes[index].methods.iter_mut().find(is_known) {
            let more = digest(&call.as_node(), &mut self.words);
            method.digest = format!("{:.8}{more:.8}", method.digest);
            method.self_calls.extend(called);
            method.self_calls.sort();
            method.self_calls.dedup();
            return true;
        }
        self.written_by_call(call, WrittenMethod::Rule(call), own.to_owned(), Scope::Instance);
        let Some(method) = self.facts.classes[index].methods.last_mut() else { return true };
        method.self_calls = called;
        method.is_query = false;
        method.acts = own != "valid?";
        method.outcome = Behavior {
            kind: BehaviorKind::Success,
            description: match own {
                "valid?" => "is valid",
                "save" => "is saved",
                _ => "is destroyed",
            }
            .to_owned(),
        };
        true
    }

    /// Whether a class inherits from something that stores objects, or has their rules by a module.
    fn is_stored_class(&self, index: usize) -> bool {
        let class = &self.facts.classes[index];
        let inherits = class.superclass.as_deref().is_some_and(|parent| {
            parent.ends_with("Record")
                || parent == "ActiveRecord::Base"
                || parent == "::ActiveRecord::Base"
        });
        let includes = |name: &String| name.trim_start_matches("::").starts_with("ActiveModel::");
        class.kind == ClassKind::Class && (inherits || class.mixins.iter().any(includes))
    }

    fn written_by_call<'a, 'pr>(
        &mut self,
        call: &'a CallNode<'pr>,
        written: WrittenMethod<'a, 'pr>,
        name: String,
        scope: Scope,
    ) {
        let location = call.location();
        self.method(Definition {
            written,
            name,
            span: (location.start(), location.end()),
            scope,
            visibility: Visibility::Public,
            module_function: false,
        });
    }
}

/// The parameters of a lambda.
pub(super) fn lambda_parameters<'pr>(
    lambda: &LambdaNode<'pr>,
) -> Option<ruby_prism::ParametersNode<'pr>> {
    lambda.parameters()?.as_block_parameters_node()?.parameters()
}
