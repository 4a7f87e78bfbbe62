//! The outline of a file: classes, modules, methods with visibility, constants, and what cannot be analysed.

mod calls;
mod connect;
mod digest;
mod docs;
mod params;

use ruby_prism::{CallNode, ClassNode, DefNode, Node, Visit as _};

use self::calls::{Calls, Mentions};
use self::connect::connect;
use self::digest::digest;
use self::docs::Docs;
use self::params::parameters;
use crate::branches::{Surroundings, study};
use crate::facts::{
    ClassFacts, ClassKind, ConstantName, FileFacts, Limit, MethodFacts, Nesting, Scope,
    SyntaxError, Visibility,
};
use crate::probes::ProbeMap;
use crate::source::{Source, constant, listed, name, owned, statements, text};
use crate::usage::{Learned, learn};

/// Reads a file. Errors are all places where it is not Ruby.
pub fn analyze(bytes: &[u8]) -> Result<FileFacts, Vec<SyntaxError>> {
    let parsed = ruby_prism::parse(bytes);
    let source = Source::new(bytes);
    let errors: Vec<SyntaxError> = parsed
        .errors()
        .map(|error| {
            let start = error.location().start();
            SyntaxError {
                line: source.line(start),
                column: source.column(start) + 1,
                message: owned(error.message()),
            }
        })
        .collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let root = parsed.node();
    let probes = ProbeMap::of(&root);
    let docs = Docs::of(&parsed, &source);
    let mut reader = Reader {
        source: &source,
        probes: &probes,
        docs: &docs,
        facts: FileFacts {
            probes: probes.count,
            place_probes: probes.marks(),
            loc: source.loc(),
            ..FileFacts::default()
        },
        learned: Vec::new(),
        nesting: Vec::new(),
        open: Vec::new(),
        conditional: 0,
        words: Vec::new(),
    };
    if let Some(program) = root.as_program_node() {
        for statement in &program.statements().body() {
            reader.statement(&statement);
        }
    }
    let mut facts = reader.facts;
    connect(&mut facts, reader.learned);
    let mut mentions = Mentions::default();
    mentions.visit(&root);
    facts.mentions = mentions.into_names();
    Ok(facts)
}

/// An open class or module.
struct Open {
    index: usize,
    visibility: Visibility,
    module_function: bool,
    singleton: bool,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    probes: &'a ProbeMap,
    docs: &'a Docs<'a>,
    facts: FileFacts,
    /// What was learned, for each method of each class.
    learned: Vec<Vec<Learned>>,
    nesting: Vec<Nesting>,
    open: Vec<Open>,
    conditional: u32,
    /// Room for the words of a digest.
    words: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn limit(&mut self, node: &Node<'_>, reason: &str) {
        let line = self.source.line(node.location().start());
        self.facts.limits.push(Limit { line, reason: reason.to_owned() });
    }

    fn full_name(&self, own: &str) -> String {
        let outer: usize = self.nesting.iter().map(|level| level.name.len() + 2).sum();
        let mut full = String::with_capacity(outer + own.len());
        for level in &self.nesting {
            full.push_str(&level.name);
            full.push_str("::");
        }
        full.push_str(own);
        full
    }

    fn statement(&mut self, node: &Node<'_>) {
        if let Some(class) = node.as_class_node() {
            self.class(&class);
        } else if let Some(module) = node.as_module_node() {
            let Some(own) = constant(&module.constant_path()) else {
                return self.limit(node, "module with a computed name");
            };
            self.scope(&own, ClassKind::Module, None, node, &statements(module.body()));
        } else if let Some(singleton) = node.as_singleton_class_node() {
            if singleton.expression().as_self_node().is_some() && !self.open.is_empty() {
                self.singleton(&statements(singleton.body()));
            } else {
                self.limit(node, "singleton class of an object");
            }
        } else if let Some(def) = node.as_def_node() {
            self.def(&def, None);
        } else if let Some(write) = node.as_constant_write_node() {
            self.constant_write(&name(write.name().as_slice()), &write.value(), node);
        } else if let Some(call) = node.as_call_node() {
            self.call(&call);
        } else if let Some(begin) = node.as_begin_node() {
            for inner in &listed(begin.statements()) {
                self.statement(inner);
            }
        } else if let Some(branch) = node.as_if_node() {
            self.conditional += 1;
            for inner in &listed(branch.statements()) {
                self.statement(inner);
            }
            self.conditional -= 1;
        } else if let Some(branch) = node.as_unless_node() {
            self.conditional += 1;
            for inner in &listed(branch.statements()) {
                self.statement(inner);
            }
            self.conditional -= 1;
        }
    }

    fn class(&mut self, class: &ClassNode<'_>) {
        let node = class.as_node();
        let Some(own) = constant(&class.constant_path()) else {
            return self.limit(&node, "class with a computed name");
        };
        let superclass = class.superclass();
        let members =
            superclass.as_ref().and_then(Node::as_call_node).map(|call| struct_members(&call));
        let index = self.scope(
            &own,
            ClassKind::Class,
            superclass.as_ref().map(|class| text(class).into_owned()),
            &node,
            &statements(class.body()),
        );
        if let Some(members) = members {
            self.facts.classes[index].readers.extend(members.clone());
            self.facts.classes[index].members = members;
        }
    }

    /// Opens a class or module, once per full name.
    fn scope(
        &mut self,
        own: &str,
        kind: ClassKind,
        superclass: Option<String>,
        node: &Node<'_>,
        body: &[Node<'_>],
    ) -> usize {
        let full = if node.location().as_slice().is_empty() {
            own.to_owned()
        } else {
            self.full_name(own)
        };
        let keyword = if kind == ClassKind::Class { "class" } else { "module" };
        self.nesting.push(Nesting { keyword: keyword.to_owned(), name: own.to_owned() });
        let index = self.index_of(&full, kind, superclass, node);
        self.open.push(Open {
            index,
            visibility: Visibility::Public,
            module_function: false,
            singleton: false,
        });
        for statement in body {
            self.statement(statement);
        }
        self.open.pop();
        self.nesting.pop();
        index
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
        });
        self.learned.push(Vec::new());
        self.facts.classes.len() - 1
    }

    fn singleton(&mut self, body: &[Node<'_>]) {
        let Some(index) = self.open.last().map(|open| open.index) else { return };
        self.open.push(Open {
            index,
            visibility: Visibility::Public,
            module_function: false,
            singleton: true,
        });
        for statement in body {
            self.statement(statement);
        }
        self.open.pop();
    }

    /// `Name = Struct.new(:a) do … end` and `Name = Class.new(Base) do … end` are classes.
    fn constant_write(&mut self, own: &str, value: &Node<'_>, node: &Node<'_>) {
        let call = value.as_call_node();
        let maker = call.as_ref().and_then(|call| {
            let class = constant(&call.receiver()?)?;
            matches!(
                (class.as_ref(), call.name().as_slice()),
                ("Struct" | "Class" | "Module", b"new") | ("Data", b"define")
            )
            .then(|| class.into_owned())
        });
        let (Some(call), Some(maker)) = (call, maker) else {
            let full = self.full_name(own);
            self.facts.constants.push(ConstantName { name: full });
            return;
        };
        let body = call
            .block()
            .and_then(|block| block.as_block_node())
            .map(|block| statements(block.body()));
        let kind = if maker == "Module" { ClassKind::Module } else { ClassKind::Class };
        let index = self.scope(own, kind, Some(maker.clone()), node, &body.unwrap_or_default());
        if maker == "Struct" || maker == "Data" {
            let members = struct_members(&call);
            self.facts.classes[index].readers.extend(members.clone());
            self.facts.classes[index].members = members;
        }
    }

    fn call(&mut self, call: &CallNode<'_>) {
        let method = name(call.name().as_slice());
        let arguments: Vec<Node<'_>> =
            call.arguments().map(|list| list.arguments().iter().collect()).unwrap_or_default();
        if call.receiver().is_some_and(|receiver| receiver.as_self_node().is_none()) {
            return self.class_method_call(call);
        }
        let symbols: Vec<String> = arguments
            .iter()
            .filter_map(|argument| {
                argument.as_symbol_node().map(|symbol| owned(symbol.unescaped()))
            })
            .collect();
        let Some(index) = self.open.last().map(|open| open.index) else { return };
        match method.as_ref() {
            "private"
            | "public"
            | "protected"
            | "module_function"
            | "private_class_method"
            | "public_class_method" => {
                self.visibility(&method, &arguments, &symbols);
            }
            "attr_reader" | "attr_accessor" | "attr" => {
                self.facts.classes[index].readers.extend(symbols);
            }
            "include" | "extend" | "prepend" => {
                let mixins =
                    arguments.iter().filter_map(constant).map(std::borrow::Cow::into_owned);
                self.facts.classes[index].mixins.extend(mixins);
                if method == "extend"
                    && arguments.iter().any(|argument| argument.as_self_node().is_some())
                {
                    if let Some(open) = self.open.last_mut() {
                        open.module_function = true;
                    }
                    self.facts.classes[index]
                        .methods
                        .iter_mut()
                        .for_each(|method| method.module_function = true);
                }
            }
            "define_method"
            | "class_eval"
            | "instance_eval"
            | "module_eval"
            | "method_missing"
            | "define_singleton_method" => {
                self.limit(&call.as_node(), &format!("{method}: made while running, not analysed"));
            }
            "delegate" | "def_delegators" | "def_delegator" | "def_instance_delegators" => {
                self.limit(&call.as_node(), &format!("{method}: delegation, not analysed"));
            }
            _ => {
                if call.block().is_some() {
                    self.limit(&call.as_node(), &format!("block of {method}: not analysed"));
                }
            }
        }
    }

    fn class_method_call(&mut self, call: &CallNode<'_>) {
        let method = name(call.name().as_slice());
        if matches!(
            method.as_ref(),
            "class_eval" | "instance_eval" | "define_method" | "module_eval" | "send"
        ) {
            self.limit(&call.as_node(), &format!("{method}: made while running, not analysed"));
        }
    }

    fn visibility(&mut self, word: &str, arguments: &[Node<'_>], symbols: &[String]) {
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
            }
        }
        let scope = if singleton || word.ends_with("_class_method") {
            Scope::Class
        } else {
            Scope::Instance
        };
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

    fn def(&mut self, def: &DefNode<'_>, given: Option<(Visibility, bool)>) {
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
        let (index, in_singleton) = (open.index, open.singleton);
        if own == "method_missing" {
            self.limit(
                &node,
                "method_missing: answers names that are not written anywhere, not covered",
            );
        }
        let location = def.location();
        let lines = self.source.lines(&location);
        let params = parameters(def, self.docs.above(lines.0).as_deref());
        let class = &self.facts.classes[index];
        let body = study(
            def.body(),
            &Surroundings { source: self.source, probes: self.probes, class: &class.name },
        );
        let names = params.iter().map(|param| param.name.as_str());
        let mut learned = learn(def.body(), names, &class.readers);
        let calls = Calls::of(def);
        let probes = self.probes.method(location.start());
        let is_query = scope == Scope::Instance
            && visibility == Visibility::Public
            && params.is_empty()
            && body.side_effects.is_empty()
            && calls.only_answer(&own);
        let raises = calls.raise_offsets.iter().map(|offset| self.source.line(*offset));
        let raise_lines = raises.chain(body.raise_lines).collect();
        let yields = calls.yields;
        let (self_calls, constants) = calls.into_names();
        let method = MethodFacts {
            is_query,
            name: own,
            scope,
            visibility,
            params,
            lines,
            span: (location.start(), location.end()),
            module_function,
            in_singleton,
            yields,
            digest: digest(&node, &mut self.words),
            self_calls,
            constants,
            stores: std::mem::take(&mut learned.stores),
            characteristics: body.characteristics,
            side_effects: body.side_effects,
            outcome: body.outcome,
            raise_lines,
            entry_probe: probes.map(|probes| probes.0),
            probes: probes.map_or((0, 0), |probes| (probes.1, probes.2)),
        };
        self.keep(index, method, learned);
    }

    /// A later definition replaces an earlier one, unless a condition chooses between them.
    fn keep(&mut self, index: usize, method: MethodFacts, learned: Learned) {
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

fn struct_members(call: &CallNode<'_>) -> Vec<String> {
    let Some(list) = call.arguments() else { return Vec::new() };
    list.arguments()
        .iter()
        .filter_map(|argument| argument.as_symbol_node().map(|symbol| owned(symbol.unescaped())))
        .collect()
}
