//! Where values come from: what each local was made of, back to parameters, attributes and calls.

use std::borrow::Cow;

use ruby_prism::{BlockNode, CallNode, Node, Visit};

use super::MethodScope;
use crate::effects::{command, is_core};
use crate::facts::{Input, InputKind, Origin};
use crate::source::{FewNames, constant, has_name, name as text, owned};

/// A set of inputs, one bit for each that the method has been seen to use.
pub(super) type Inputs = u64;

/// What the locals of a method were made of so far.
pub(super) struct Flow<'a> {
    around: &'a MethodScope<'a>,
    locals: FewNames<'a, (Option<Origin>, Inputs)>,
    /// What the bits stand for: the kind, the class asked, the name.
    known: Vec<KnownInput<'a>>,
}

type KnownInput<'a> = (InputKind, Option<Cow<'a, str>>, &'a [u8]);

impl<'a> Flow<'a> {
    pub(super) fn new(around: &'a MethodScope<'a>) -> Self {
        Self { around, locals: FewNames::default(), known: Vec::new() }
    }

    /// A local gets a value.
    pub(super) fn write(&mut self, local: &'a [u8], value: &Node<'a>) {
        let made_of = (self.origin(value), self.inputs(value));
        self.locals.insert(local, made_of);
    }

    /// A local may get a value besides the one it had.
    pub(super) fn add(&mut self, local: &'a [u8], value: &Node<'a>) {
        let inputs = self.of_local(local) | self.inputs(value);
        let origin = self.locals.get(local).and_then(|(origin, _)| origin.clone());
        self.locals.insert(local, (origin, inputs));
    }

    /// The parameters of a block stand for what the receiver gives.
    pub(super) fn bind(&mut self, call: &CallNode<'a>, block: &BlockNode<'a>) {
        let (Some(params), Some(receiver)) = (block.parameters(), call.receiver()) else { return };
        let inputs = self.inputs(&receiver);
        let mut bind = |name: &'a [u8]| {
            self.locals.insert(name, (None, inputs));
        };
        if params.as_it_parameters_node().is_some() {
            bind(b"it");
        } else if params.as_numbered_parameters_node().is_some() {
            bind(b"_1");
            bind(b"_2");
        } else if let Some(params) = params.as_block_parameters_node()
            && let Some(params) = params.parameters()
        {
            for param in &params.requireds() {
                if let Some(param) = param.as_required_parameter_node() {
                    bind(param.name().as_slice());
                }
            }
        }
    }

    pub(super) fn of_local(&mut self, local: &'a [u8]) -> Inputs {
        if let Some((_, known)) = self.locals.get(local) {
            return *known;
        }
        let is_param = self.around.params.iter().any(|param| param.as_bytes() == local);
        if is_param { self.input_bit(InputKind::Parameter, None, local) } else { 0 }
    }

    /// What an expression is made of.
    pub(super) fn inputs(&mut self, node: &Node<'a>) -> Inputs {
        let mut gatherer = InputCollector { flow: self, found: 0 };
        gatherer.visit(node);
        gatherer.found
    }

    fn input_bit(
        &mut self,
        kind: InputKind,
        class: Option<Cow<'a, str>>,
        name: &'a [u8],
    ) -> Inputs {
        let input = (kind, class, name);
        let place = self.known.iter().position(|known| *known == input).unwrap_or_else(|| {
            self.known.push(input);
            self.known.len() - 1
        });
        u32::try_from(place).ok().and_then(|place| 1u64.checked_shl(place)).unwrap_or_default()
    }

    /// The names of a set.
    pub(super) fn names(&self, inputs: Inputs) -> Vec<Input> {
        let chosen =
            self.known.iter().take(64).enumerate().filter(|(place, _)| inputs >> place & 1 == 1);
        let named = chosen.map(|(_, (kind, class, name))| {
            let name = match class {
                Some(class) => [class, ".", &text(name)].concat(),
                None => owned(name),
            };
            Input { kind: *kind, name }
        });
        let mut names = Vec::with_capacity(inputs.count_ones() as usize);
        names.extend(named);
        names
    }

    /// The other class that a value comes from.
    pub(super) fn origin(&self, node: &Node<'a>) -> Option<Origin> {
        if let Some(read) = node.as_local_variable_read_node() {
            let local = self.locals.get(read.name().as_slice());
            return local.and_then(|(origin, _)| origin.clone());
        }
        if node.as_x_string_node().is_some() || node.as_interpolated_x_string_node().is_some() {
            return Some(external("Kernel", "`"));
        }
        let call = node.as_call_node()?;
        let method = call.name().as_slice();
        let receiver = call.receiver();
        if command(receiver.as_ref(), method, self.around.own_commands) {
            let class = receiver.as_ref().and_then(constant).unwrap_or("Kernel".into());
            return Some(external(&class, &owned(method)));
        }
        let receiver = receiver?;
        if let Some(class) = constant(&receiver) {
            let around = self.around.class.strip_suffix(class.as_ref());
            let foreign = around.is_none_or(|outer| !outer.is_empty() && !outer.ends_with("::"));
            return (foreign && !is_core(&class)).then(|| external(&class, &owned(method)));
        }
        self.origin(&receiver)
    }
}

fn external(class: &str, method: &str) -> Origin {
    Origin {
        kind: "external".to_owned(),
        class: Some(class.to_owned()),
        method: Some(method.to_owned()),
    }
}

/// Collects what an expression is made of.
struct InputCollector<'s, 'a> {
    flow: &'s mut Flow<'a>,
    found: Inputs,
}

impl<'a> InputCollector<'_, 'a> {
    /// A call on the object itself: an attribute, or a method whose answer counts.
    fn own_call(&mut self, method: &'a [u8]) {
        let attribute = has_name(self.flow.around.readers, method);
        let kind = if attribute { InputKind::Attribute } else { InputKind::Call };
        self.found |= self.flow.input_bit(kind, None, method);
    }
}

impl<'a> Visit<'a> for InputCollector<'_, 'a> {
    fn visit_local_variable_read_node(&mut self, node: &ruby_prism::LocalVariableReadNode<'a>) {
        self.found |= self.flow.of_local(node.name().as_slice());
    }

    fn visit_it_local_variable_read_node(
        &mut self,
        _node: &ruby_prism::ItLocalVariableReadNode<'a>,
    ) {
        self.found |= self.flow.of_local(b"it");
    }

    fn visit_instance_variable_read_node(
        &mut self,
        node: &ruby_prism::InstanceVariableReadNode<'a>,
    ) {
        self.found |= self.flow.input_bit(InputKind::Attribute, None, node.name().as_slice());
    }

    fn visit_call_node(&mut self, node: &CallNode<'a>) {
        let method = node.name().as_slice();
        match node.receiver() {
            None => self.own_call(method),
            Some(receiver) if receiver.as_self_node().is_some() => self.own_call(method),
            Some(receiver) => {
                if let Some(class) = constant(&receiver) {
                    self.found |= self.flow.input_bit(InputKind::Call, Some(class), method);
                }
            }
        }
        ruby_prism::visit_call_node(self, node);
    }

    // What runs later is no part of the value.
    fn visit_block_node(&mut self, _node: &BlockNode<'a>) {}
    fn visit_lambda_node(&mut self, _node: &ruby_prism::LambdaNode<'a>) {}
    fn visit_def_node(&mut self, _node: &ruby_prism::DefNode<'a>) {}
}
