//! The outline of a file: classes, modules, methods with visibility, constants, and what cannot be analysed.
//!
//! Here the statements of class bodies are walked. `scopes` has what opens a class, `words` the calls in class bodies
//! that mean something (`private`, `attr_reader`, `include` …), `methods` the methods themselves, `made` those made by
//! `define_method`, `records` what the class bodies of stored objects set up.

mod calls;
mod connect;
mod digest;
mod docs;
mod made;
mod methods;
mod params;
pub(crate) mod records;
mod scopes;
mod words;

use ruby_prism::Node;

use self::connect::connect;
use self::docs::Docs;
use self::made::NameLoop;
use crate::deep_stack::with_deep_stack;
use crate::facts::{Characteristic, FileFacts, Limit, Nesting, SyntaxError, Visibility};
use crate::probes::ProbeMap;
use crate::source::{Source, constant, listed, owned, statements};
use crate::usage::MethodUsage;

/// Reads a file. Errors are all places where it is not Ruby.
pub fn analyze(bytes: &[u8]) -> Result<FileFacts, Vec<SyntaxError>> {
    with_deep_stack(bytes, || analyze_here(bytes))
}

fn analyze_here(bytes: &[u8]) -> Result<FileFacts, Vec<SyntaxError>> {
    let parsed = ruby_prism::parse(bytes);
    let source = Source::of(&parsed);
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
    let (probes, mentions) = ProbeMap::of(&root);
    let docs = Docs::of(&parsed, &source);
    let mut reader = Reader {
        source: &source,
        probes: &probes,
        docs: &docs,
        facts: FileFacts {
            probes: probes.count,
            place_probes: probes.marks(),
            loc: docs.loc(&source),
            ..FileFacts::default()
        },
        learned: Vec::new(),
        nesting: Vec::new(),
        open: Vec::new(),
        conditional: 0,
        words: Vec::new(),
        found: Vec::new(),
        listed: Vec::new(),
        loops: Vec::new(),
    };
    if let Some(program) = root.as_program_node() {
        for statement in &program.statements().body() {
            reader.statement(&statement);
        }
    }
    let mut facts = reader.facts;
    connect(&mut facts, reader.learned);
    facts.limits.sort_by_key(|limit| limit.line);
    facts.mentions = mentions.into_names();
    Ok(facts)
}

/// An open class or module.
struct OpenScope {
    index: usize,
    visibility: Visibility,
    module_function: bool,
    singleton: bool,
    /// Its own methods that hide those of every object which reach outside.
    commands: Vec<Vec<u8>>,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    probes: &'a ProbeMap,
    docs: &'a Docs<'a>,
    facts: FileFacts,
    /// What was learned, for each method of each class.
    learned: Vec<Vec<MethodUsage>>,
    nesting: Vec<Nesting>,
    open: Vec<OpenScope>,
    /// How many conditions stand around the statement.
    conditional: u32,
    /// Room for the words of a digest.
    words: Vec<u8>,
    /// Room for the decisions of a method.
    found: Vec<Characteristic>,
    /// Names and texts that constants of the file list.
    listed: Vec<(String, Vec<String>)>,
    /// The loops around a statement whose values are known.
    loops: Vec<NameLoop>,
}

impl Reader<'_> {
    fn limit(&mut self, node: &Node<'_>, reason: impl Into<String>) {
        self.limit_at(node.location().start(), reason.into());
    }

    fn limit_at(&mut self, offset: u32, reason: String) {
        let line = self.source.line(offset);
        self.facts.limits.push(Limit { line, reason });
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
        if let Some(def) = node.as_def_node() {
            self.def(&def, None);
        } else if let Some(call) = node.as_call_node() {
            self.call(&call);
        } else if let Some(class) = node.as_class_node() {
            self.class(&class);
        } else if let Some(module) = node.as_module_node() {
            self.module(&module);
        } else if let Some(singleton) = node.as_singleton_class_node() {
            if singleton.expression().as_self_node().is_some() && !self.open.is_empty() {
                self.singleton(&statements(singleton.body()));
            } else {
                self.limit(node, "singleton class of an object");
            }
        } else if let Some(write) = node.as_constant_write_node() {
            self.constant_write(&owned(write.name().as_slice()), &write.value(), node);
        } else if let Some(write) = node.as_constant_or_write_node() {
            self.constant_write(&owned(write.name().as_slice()), &write.value(), node);
        } else if let Some(write) = node.as_constant_path_write_node() {
            if let Some(own) = constant(&write.target().as_node()) {
                self.constant_write(&own, &write.value(), node);
            }
        } else if let Some(alias) = node.as_alias_method_node() {
            self.alias(node, &alias.new_name(), &alias.old_name());
        } else if let Some(undef) = node.as_undef_node() {
            for name in &undef.names() {
                self.remove(&name);
            }
        } else {
            self.wrapped(node);
        }
    }

    /// Statements inside of others: conditions choose between them.
    fn wrapped(&mut self, node: &Node<'_>) {
        if let Some(begin) = node.as_begin_node() {
            self.all(&listed(begin.statements()));
            self.conditional += 1;
            let mut clause = begin.rescue_clause();
            while let Some(rescue) = clause {
                self.all(&listed(rescue.statements()));
                clause = rescue.subsequent();
            }
            self.conditional -= 1;
        } else if let Some(branch) = node.as_if_node() {
            self.conditional += 1;
            self.all(&listed(branch.statements()));
            if let Some(other) = branch.subsequent() {
                self.statement(&other);
            }
            self.conditional -= 1;
        } else if let Some(branch) = node.as_unless_node() {
            self.conditional += 1;
            self.all(&listed(branch.statements()));
            self.all(&listed(branch.else_clause().and_then(|other| other.statements())));
            self.conditional -= 1;
        } else if let Some(other) = node.as_else_node() {
            self.all(&listed(other.statements()));
        } else if let Some(case) = node.as_case_node() {
            self.conditional += 1;
            for condition in &case.conditions() {
                let when = condition.as_when_node();
                self.all(&listed(when.and_then(|when| when.statements())));
            }
            self.all(&listed(case.else_clause().and_then(|other| other.statements())));
            self.conditional -= 1;
        } else if let Some(inner) = crate::probes::grouped(node) {
            self.statement(&inner);
        }
    }

    fn all(&mut self, list: &[Node<'_>]) {
        for statement in list {
            self.statement(statement);
        }
    }
}
