//! One method: everything that can be read off its definition.

use ruby_prism::{BlockNode, CallNode, DefNode, LambdaNode, Node, ParametersNode};

use super::Reader;
use super::calls::Calls;
use super::digest::digest;
use super::params::parameters;
use super::records::lambda_parameters;
use crate::branches::{MethodScope, analyze_body};
use crate::facts::{MethodFacts, Scope, Visibility};
use crate::source::{constant, name, owned};
use crate::usage::{MethodUsage, SelfCalls, collect_usage};

/// How a method is written.
pub(super) enum WrittenMethod<'a, 'pr> {
    Def(&'a DefNode<'pr>),
    /// `define_method(:name) do … end`
    Block(&'a CallNode<'pr>, BlockNode<'pr>),
    /// `scope :name, -> { … }`
    Lambda(&'a CallNode<'pr>, LambdaNode<'pr>),
    /// `validates :name, …`: no code of its own.
    Rule(&'a CallNode<'pr>),
}

impl<'pr> WrittenMethod<'_, 'pr> {
    fn node(&self) -> Node<'pr> {
        match self {
            Self::Def(def) => def.as_node(),
            Self::Block(call, _) | Self::Lambda(call, _) | Self::Rule(call) => call.as_node(),
        }
    }

    fn body(&self) -> Option<Node<'pr>> {
        match self {
            Self::Def(def) => def.body(),
            Self::Block(_, block) => block.body(),
            Self::Lambda(_, lambda) => lambda.body(),
            Self::Rule(_) => None,
        }
    }

    fn parameters(&self) -> Option<ParametersNode<'pr>> {
        match self {
            Self::Def(def) => def.parameters(),
            Self::Block(_, block) => block.parameters()?.as_block_parameters_node()?.parameters(),
            Self::Lambda(_, lambda) => lambda_parameters(lambda),
            Self::Rule(_) => None,
        }
    }
}

/// A method to be read.
pub(super) struct Definition<'a, 'pr> {
    pub(super) written: WrittenMethod<'a, 'pr>,
    pub(super) name: String,
    /// What must be evaluated to define it: the node itself, or the loop around it.
    pub(super) span: (u32, u32),
    pub(super) scope: Scope,
    pub(super) visibility: Visibility,
    pub(super) module_function: bool,
}

impl Reader<'_> {
    /// A definition; `given` is what stands before it, as in `private def x`.
    pub(super) fn def(&mut self, def: &DefNode<'_>, given: Option<(Visibility, bool)>) {
        let node = def.as_node();
        let Some(open) = self.open.last() else {
            return self.limit(&node, "method outside of any class");
        };
        let on_self = def.receiver().is_some_and(|receiver| {
            receiver.as_self_node().is_some()
                || constant(&receiver)
                    .is_some_and(|name| self.nesting.last().is_some_and(|level| level.name == name))
        });
        if def.receiver().is_some() && !on_self {
            return self.limit(&node, "method of a single object");
        }
        let scope = if open.singleton || on_self { Scope::Class } else { Scope::Instance };
        let own = owned(def.name().as_slice());
        let own_visibility = if on_self { Visibility::Public } else { open.visibility };
        let visibility = given.map_or(own_visibility, |given| given.0);
        let module_function = given.is_some_and(|given| given.1)
            || (open.module_function && scope == Scope::Instance);
        let location = def.location();
        self.method(Definition {
            written: WrittenMethod::Def(def),
            name: own,
            span: (location.start(), location.end()),
            scope,
            visibility,
            module_function,
        });
    }

    /// Everything that can be read off a definition.
    pub(super) fn method(&mut self, definition: Definition<'_, '_>) {
        let Some(open) = self.open.last() else { return };
        let Definition { written, name: own, span, scope, visibility, module_function } =
            definition;
        let (node, list) = (written.node(), written.parameters());
        let (index, in_singleton) = (open.index, open.singleton);
        let location = node.location();
        let lines = self.source.lines(&location);
        let params = parameters(list.as_ref(), self.docs.above(lines.0).as_deref());
        let class = &self.facts.classes[index];
        let names = || params.iter().map(|param| param.name.as_str());
        let body = analyze_body(
            written.body(),
            &MethodScope {
                source: self.source,
                probes: self.probes,
                class: &class.name,
                params: names().collect(),
                readers: &class.readers,
                own_commands: &open.commands,
            },
            &mut self.found,
        );
        let mut learned = collect_usage(
            written.body(),
            names(),
            SelfCalls { readers: &class.readers, delegated: class.may_delegate() },
        );
        let calls = Calls::of(list.as_ref(), written.body().as_ref());
        let probes = self.probes.method(location.start());
        let is_query = scope == Scope::Instance
            && visibility == Visibility::Public
            && params.is_empty()
            && body.side_effects.is_empty()
            && calls.is_query(&own);
        let raises = calls.raise_offsets.iter().map(|offset| self.source.line(*offset));
        let raise_lines = raises.chain(body.raise_lines).collect();
        self.add_created_classes(&own, &calls);
        let (yields, acts) = (calls.yields, calls.acts);
        let mut rescues = calls.rescues.clone();
        rescues.sort();
        rescues.dedup();
        let (self_calls, constants) = calls.into_names();
        let method = MethodFacts {
            is_query,
            name: own,
            scope,
            visibility,
            params,
            lines,
            span,
            module_function,
            in_singleton,
            yields,
            digest: digest(&node, &mut self.words),
            self_calls,
            constants,
            stores: std::mem::take(&mut learned.stores),
            characteristics: body.characteristics,
            side_effects: body.side_effects,
            own_calls: body.own_calls,
            outcome: body.outcome,
            acts,
            raise_lines,
            rescues,
            doors: std::mem::take(&mut learned.doors),
            entry_probe: probes.map(|probes| probes.0),
            probes: probes.map_or((0, 0), |probes| (probes.1, probes.2)),
        };
        if method.name == "method_missing" {
            self.limit(
                &node,
                "method_missing: answers names that are not written anywhere, not covered",
            );
        }
        self.keep(index, method, learned);
    }

    /// Lists what a method makes while running.
    fn add_created_classes(&mut self, own: &str, calls: &Calls<'_>) {
        for (offset, made) in &calls.made {
            let made = name(made);
            self.limit_at(*offset, format!("{made} in {own}: made while running, not analysed"));
        }
    }

    /// A later definition replaces an earlier one, unless a condition chooses between them.
    fn keep(&mut self, index: usize, method: MethodFacts, learned: MethodUsage) {
        let methods = &mut self.facts.classes[index].methods;
        let same = |other: &MethodFacts| other.name == method.name && other.scope == method.scope;
        if let Some(place) = methods.iter().position(same) {
            if self.conditional == 0 {
                methods[place] = method;
                self.learned[index][place] = learned;
            }
            return;
        }
        methods.push(method);
        self.learned[index].push(learned);
    }
}
