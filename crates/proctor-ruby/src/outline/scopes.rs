//! What opens a class or module: `class`, `module`, `class << self`, and constants made by `Struct.new` and its kin.

use ruby_prism::{CallNode, ClassNode, ModuleNode, Node};

use super::{OpenScope, Reader};
use crate::effects::is_command;
use crate::facts::{ClassFacts, ClassKind, ConstantName, Nesting, Usage, Uses, Visibility};
use crate::source::{constant, owned, statements, text};

impl Reader<'_> {
    pub(super) fn class(&mut self, class: &ClassNode<'_>) {
        let node = class.as_node();
        let Some(own) = constant(&class.constant_path()) else {
            return self.limit(&node, "class with a computed name");
        };
        let superclass = class.superclass();
        // `class Point < Struct.new(:x, :y)`
        let members =
            superclass.as_ref().and_then(maker).map(|(maker, call)| members(&maker, &call));
        let superclass = superclass.map(|class| text(&class).into_owned());
        let made = (ClassKind::Class, superclass, members.unwrap_or_default());
        self.scope(&own, made, &node, &statements(class.body()));
    }

    pub(super) fn module(&mut self, module: &ModuleNode<'_>) {
        let node = module.as_node();
        match constant(&module.constant_path()) {
            Some(own) => {
                let body = statements(module.body());
                self.scope(&own, (ClassKind::Module, None, Vec::new()), &node, &body);
            }
            None => self.limit(&node, "module with a computed name"),
        }
    }

    /// Opens a class or module, once per full name; with its kind, its superclass and its members.
    fn scope(
        &mut self,
        own: &str,
        (kind, superclass, members): (ClassKind, Option<String>, Vec<String>),
        node: &Node<'_>,
        body: &[Node<'_>],
    ) {
        let full = self.full_name(own);
        let keyword = if kind == ClassKind::Class { "class" } else { "module" };
        self.nesting.push(Nesting { keyword: keyword.to_owned(), name: own.to_owned() });
        let index = self.index_of(&full, kind, superclass, node);
        if !members.is_empty() {
            self.facts.classes[index].readers.extend(members.iter().cloned());
            self.facts.classes[index].members = members;
        }
        self.inside(index, false, body);
        self.nesting.pop();
    }

    fn inside(&mut self, index: usize, singleton: bool, body: &[Node<'_>]) {
        let defs = || body.iter().filter_map(Node::as_def_node);
        self.facts.classes[index].methods.reserve_exact(defs().count());
        let defs = defs().map(|def| def.name().as_slice());
        self.open.push(OpenScope {
            index,
            visibility: Visibility::Public,
            module_function: false,
            singleton,
            commands: defs.filter(|name| is_command(name)).map(<[u8]>::to_vec).collect(),
        });
        self.all(body);
        self.open.pop();
    }

    fn index_of(
        &mut self,
        full: &str,
        kind: ClassKind,
        superclass: Option<String>,
        node: &Node<'_>,
    ) -> usize {
        if let Some(index) = self.facts.classes.iter().position(|class| class.name == full) {
            return index;
        }
        self.facts.constants.push(ConstantName { name: full.to_owned() });
        self.facts.classes.push(ClassFacts {
            name: full.to_owned(),
            kind,
            superclass,
            lines: self.source.lines(&node.location()),
            nesting: self.nesting.clone(),
            mixins: Vec::new(),
            readers: Vec::new(),
            members: Vec::new(),
            methods: Vec::new(),
            delegated: Usage::default(),
            attributes: Uses::default(),
        });
        self.learned.push(Vec::new());
        self.facts.classes.len() - 1
    }

    /// `class << self`
    pub(super) fn singleton(&mut self, body: &[Node<'_>]) {
        if let Some(index) = self.open.last().map(|open| open.index) {
            self.inside(index, true, body);
        }
    }

    /// `Name = Struct.new(:a) do … end` and `Name = Class.new(Base) do … end` are classes.
    pub(super) fn constant_write(&mut self, own: &str, value: &Node<'_>, node: &Node<'_>) {
        let Some((class, call)) = maker(value) else {
            self.remember_list(own, value);
            let full = self.full_name(own);
            self.facts.constants.push(ConstantName { name: full });
            return;
        };
        let body = call
            .block()
            .and_then(|block| block.as_block_node())
            .map(|block| statements(block.body()))
            .unwrap_or_default();
        let kind = if class == "Module" { ClassKind::Module } else { ClassKind::Class };
        let parent = call.arguments().and_then(|list| list.arguments().first());
        let superclass = match class.as_str() {
            "Class" => Some(parent.map_or("Object".into(), |parent| text(&parent).into_owned())),
            "Module" => None,
            _ => Some(class.clone()),
        };
        self.scope(own, (kind, superclass, members(&class, &call)), node, &body);
    }
}

/// The call that makes a class, and what makes it.
fn maker<'pr>(value: &Node<'pr>) -> Option<(String, CallNode<'pr>)> {
    let call = value.as_call_node()?;
    let class = constant(&call.receiver()?)?;
    let makes = matches!(
        (class.as_ref(), call.name().as_slice()),
        ("Struct" | "Class" | "Module", b"new") | ("Data", b"define")
    );
    makes.then(|| (class.into_owned(), call))
}

/// Members of a `Struct` or `Data`: they are attributes.
fn members(maker: &str, call: &CallNode<'_>) -> Vec<String> {
    let list = call.arguments().filter(|_| matches!(maker, "Struct" | "Data"));
    let Some(list) = list else { return Vec::new() };
    list.arguments()
        .iter()
        .filter_map(|argument| argument.as_symbol_node().map(|symbol| owned(symbol.unescaped())))
        .collect()
}
