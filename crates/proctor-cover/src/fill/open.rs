//! Situations that wait in a spec: skipped examples of managed blocks, with what is known about each. Pure.

use proctor_ruby::{
    Characteristic, ClassFacts, ClassKind, InputKind, MethodFacts, Param, ParamKind, Scope,
};
use ruby_prism::{CallNode, Node, Visit};
use schemars::JsonSchema;
use serde::Serialize;

use super::supplied::{CallShape, ReceiverShape};
use crate::blocks::{self, Block};
use crate::metadata::{Metadata, hash};
use crate::project::SourceFile;
use crate::syntax::{Lines, arguments, block_statements, name, plain, span};

/// How many lines of a method are shown.
const SHOWN: usize = 120;

/// A situation that waits for an example.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenItem {
    /// Give this to `cover_submit`.
    pub id: String,
    /// The source.
    pub file: String,
    /// The spec.
    pub spec: String,
    /// The line of the skipped example in the spec.
    pub line: u32,
    /// `Class#name`
    pub method_id: String,
    /// The method as it is called: `#add(name, price:)`.
    pub signature: String,
    /// How an object is made: `Cart.new(items)`; absent where the method is the class's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Descriptions of the contexts around the example.
    pub contexts: Vec<String>,
    /// The example's description.
    pub description: String,
    /// Why it waits.
    pub reason: String,
    /// What is missing, in a few words: a value for `word` such that the word is the key (line 7).
    pub missing: String,
    /// The decisions on the way, outermost first: all must come out as stated.
    pub conditions: Vec<Condition>,
    /// Results of other classes that the path depends on; stub them with verified doubles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<String>,
    /// Factories that exist and fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factories: Vec<String>,
    /// The method's source, with line numbers.
    pub source: String,
    /// The probe and the answer that show the path was taken.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) path: Option<u64>,
    /// Where the skipped example stands in the spec.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) span: (usize, usize),
    /// How the method is called, for answers that give values.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) call: CallShape,
}

/// One decision on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Condition {
    /// What is decided.
    pub name: String,
    /// How it must come out.
    pub value: String,
    /// In words.
    pub description: String,
    /// Lines of the source.
    pub lines: String,
}

/// The situations that wait in a spec. Blocks that were edited by hand are not ours to fill.
pub(crate) fn open_items(
    source: &SourceFile,
    spec_path: &str,
    spec: &str,
    metadata: &Metadata,
) -> Vec<OpenItem> {
    let parsed = ruby_prism::parse(spec.as_bytes());
    if !parsed.is_success() {
        return Vec::new();
    }
    let intact: Vec<Block> =
        blocks::find(spec).into_iter().filter(|block| block.is_intact(spec)).collect();
    let mut finder =
        Finder { lines: Lines::new(spec), blocks: &intact, groups: Vec::new(), found: Vec::new() };
    finder.visit(&parsed.node());
    let spots = finder.found;
    spots.into_iter().filter_map(|spot| item(source, spec_path, metadata, spot)).collect()
}

struct SkippedExample {
    method_id: String,
    contexts: Vec<String>,
    description: String,
    reason: String,
    line: u32,
    span: (usize, usize),
}

struct Finder<'a> {
    lines: Lines,
    blocks: &'a [Block],
    groups: Vec<String>,
    found: Vec<SkippedExample>,
}

impl<'pr> Visit<'pr> for Finder<'_> {
    fn visit_call_node(&mut self, node: &CallNode<'pr>) {
        let word = name(node);
        let words = arguments(node).first().and_then(plain);
        match word.as_str() {
            "it" if node.receiver().is_none() => self.example(node, words),
            "describe" | "context" => {
                // Class and method come first; what follows are situations.
                self.groups.push(words.unwrap_or_default());
                ruby_prism::visit_call_node(self, node);
                self.groups.pop();
            }
            _ => ruby_prism::visit_call_node(self, node),
        }
    }
}

impl Finder<'_> {
    fn example(&mut self, node: &CallNode<'_>, words: Option<String>) {
        let place = span(&node.location());
        let within = |block: &&Block| (block.body.0..block.body.1).contains(&place.0);
        let Some(block) = self.blocks.iter().find(within) else { return };
        let first = block_statements(node).into_iter().next();
        let Some(skip) = first
            .as_ref()
            .and_then(Node::as_call_node)
            .filter(|call| call.receiver().is_none() && name(call) == "skip")
        else {
            return;
        };
        self.found.push(SkippedExample {
            method_id: block.id.clone(),
            contexts: self.groups.iter().skip(2).cloned().collect(),
            description: words.unwrap_or_default(),
            reason: arguments(&skip).first().and_then(plain).unwrap_or_default(),
            line: self.lines.of(node.location().start()),
            span: place,
        });
    }
}

fn item(
    source: &SourceFile,
    spec: &str,
    metadata: &Metadata,
    spot: SkippedExample,
) -> Option<OpenItem> {
    let (class, method) =
        source.facts.methods().find(|(class, method)| method.id(&class.name) == spot.method_id)?;
    let arm = arm_of(method, &spot);
    let name =
        [source.path.as_str(), &spot.method_id, &spot.contexts.join(" > "), &spot.description]
            .join("\n");
    Some(OpenItem {
        id: hash(name.as_bytes())[..12].to_owned(),
        file: source.path.clone(),
        spec: spec.to_owned(),
        line: spot.line,
        signature: signature(method),
        receiver: receiver(class, method),
        missing: missing(class, method, arm),
        call: call_shape(class, method),
        conditions: arm.map(|place| conditions(method, place)).unwrap_or_default(),
        external: external(method, arm),
        factories: metadata
            .factories
            .iter()
            .filter(|one| one.exists && one.method == spot.method_id)
            .map(|one| one.code.clone())
            .collect(),
        source: method_source(source, method),
        path: arm
            .and_then(|(one, value)| method.characteristics[one].arms[value].probe)
            .map(|(probe, answer)| (u64::from(probe) << 1) + u64::from(answer.unwrap_or(true))),
        method_id: spot.method_id,
        contexts: spot.contexts,
        description: spot.description,
        reason: spot.reason,
        span: spot.span,
    })
}

type ArmPlace = (usize, usize);

/// The value of a characteristic that a spot stands for: by its context and behaviour, then by context, then by lines.
fn arm_of(method: &MethodFacts, spot: &SkippedExample) -> Option<ArmPlace> {
    let all = || {
        method.characteristics.iter().enumerate().flat_map(|(one, characteristic)| {
            characteristic
                .arms
                .iter()
                .enumerate()
                .map(move |(place, arm)| (one, place, characteristic, arm))
        })
    };
    let last = spot.contexts.last().map_or("", String::as_str);
    let by_context = |description: &str| !description.is_empty() && last.ends_with(description);
    let behaves = |arm: &proctor_ruby::Arm| {
        arm.behavior.as_ref().is_some_and(|behavior| behavior.description == spot.description)
    };
    let in_lines = |(from, to): (u32, u32)| {
        let words =
            if from == to { format!("(line {from})") } else { format!("(lines {from}-{to})") };
        spot.reason.contains(&words)
    };
    let found = all()
        .find(|(_, _, one, arm)| {
            by_context(&arm.description) && behaves(arm) && in_lines(one.lines)
        })
        .or_else(|| all().find(|(_, _, _, arm)| by_context(&arm.description) && behaves(arm)))
        .or_else(|| all().find(|(_, _, _, arm)| by_context(&arm.description)));
    found.map(|(one, place, _, _)| (one, place))
}

fn conditions(method: &MethodFacts, (one, value): ArmPlace) -> Vec<Condition> {
    let mut found = Vec::new();
    let mut next = Some((one, method.characteristics[one].arms[value].value.clone()));
    while let Some((place, wanted)) = next {
        let characteristic = &method.characteristics[place];
        let arm = characteristic.arms.iter().find(|arm| arm.value == wanted);
        let (from, to) = characteristic.lines;
        found.push(Condition {
            name: characteristic.name.clone(),
            value: wanted,
            description: arm.map(|arm| arm.description.clone()).unwrap_or_default(),
            lines: if from == to { from.to_string() } else { format!("{from}-{to}") },
        });
        let parent = characteristic.parent.zip(characteristic.when_parent.first().cloned());
        next = parent.filter(|_| found.len() < 12);
    }
    found.reverse();
    found
}

fn external(method: &MethodFacts, arm: Option<ArmPlace>) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = arm.map(|(one, _)| one);
    while let Some(place) = next.filter(|_| found.len() < 12) {
        let one = &method.characteristics[place];
        if let Some(origin) = one.origin.as_ref().filter(|origin| origin.kind == "external") {
            found.push(format!(
                "{}.{}",
                origin.class.as_deref().unwrap_or("?"),
                origin.method.as_deref().unwrap_or("?")
            ));
        }
        next = one.parent;
    }
    found
}

fn signature(method: &MethodFacts) -> String {
    format!("{}({})", method.label(), parameters(&method.params))
}

fn parameters(params: &[Param]) -> String {
    let words = params.iter().map(|param| {
        let default = param.default.as_deref().unwrap_or("…");
        match param.kind {
            ParamKind::Required => param.name.clone(),
            ParamKind::Optional => format!("{} = {default}", param.name),
            ParamKind::Rest => format!("*{}", param.name),
            ParamKind::Key => format!("{}:", param.name),
            ParamKind::OptionalKey => format!("{}: {default}", param.name),
            ParamKind::KeyRest => format!("**{}", param.name),
            ParamKind::Block => format!("&{}", param.name),
            ParamKind::Forward => "...".to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

fn receiver(class: &ClassFacts, method: &MethodFacts) -> Option<String> {
    match receiver_shape(class, method) {
        ReceiverShape::Class | ReceiverShape::Unknown => None,
        ReceiverShape::New(params) => Some(format!("{}.new({})", class.name, parameters(&params))),
    }
}

fn call_shape(class: &ClassFacts, method: &MethodFacts) -> CallShape {
    CallShape {
        name: method.name.clone(),
        params: method.params.clone(),
        yields: method.yields,
        receiver: receiver_shape(class, method),
    }
}

fn receiver_shape(class: &ClassFacts, method: &MethodFacts) -> ReceiverShape {
    if method.scope == Scope::Class || method.module_function {
        return ReceiverShape::Class;
    }
    if class.kind == ClassKind::Module {
        return ReceiverShape::Unknown;
    }
    let made = class.methods.iter().find(|one| one.name == "initialize");
    // Members of a struct may all be left out.
    let member = |name: &String| Param {
        name: name.clone(),
        kind: ParamKind::Optional,
        default: Some("nil".to_owned()),
        types: Vec::new(),
        usage: proctor_ruby::Usage::default(),
    };
    ReceiverShape::New(
        made.map_or_else(|| class.members.iter().map(member).collect(), |made| made.params.clone()),
    )
}

/// What would have to be given, and what must be so with it.
fn missing(class: &ClassFacts, method: &MethodFacts, arm: Option<ArmPlace>) -> String {
    let Some((one, value)) = arm else {
        return "values for which the example's description holds".to_owned();
    };
    let characteristic = &method.characteristics[one];
    let description = &characteristic.arms[value].description;
    let (line, _) = characteristic.lines;
    format!("{} such that {description} (line {line})", deciding(class, characteristic))
}

/// What a condition depends on: at most two things, the answer of another class before all.
fn deciding(class: &ClassFacts, characteristic: &Characteristic) -> String {
    let external = characteristic.origin.as_ref().filter(|origin| origin.kind == "external");
    if let Some(origin) = external {
        let class = origin.class.as_deref().unwrap_or("another class");
        let asked = origin.method.as_deref().map(|name| format!(".{name}")).unwrap_or_default();
        return format!("an answer of `{class}{asked}`");
    }
    let named: Vec<String> = characteristic
        .inputs
        .iter()
        .take(2)
        .map(|input| match input.kind {
            InputKind::Parameter => format!("a value for `{}`", input.name),
            InputKind::Attribute => attribute(class, &input.name),
            InputKind::Call => format!("an answer of `{}`", input.name),
        })
        .collect();
    if named.is_empty() { "values".to_owned() } else { named.join(" and ") }
}

/// A variable of the object: by the constructor's parameter of its name, where there is one.
fn attribute(class: &ClassFacts, name: &str) -> String {
    let plain = name.trim_start_matches('@');
    let mut made = class.methods.iter().filter(|one| one.name == "initialize");
    if made.any(|one| one.params.iter().any(|param| param.name == plain)) {
        return format!("a value for `{plain}`");
    }
    format!("an object with `{name}`")
}

fn method_source(source: &SourceFile, method: &MethodFacts) -> String {
    let text = String::from_utf8_lossy(&source.bytes);
    let first = method.lines.0 as usize;
    let count = (method.lines.1 as usize + 1).saturating_sub(first);
    let lines = text.lines().enumerate().skip(first.saturating_sub(1)).take(count.min(SHOWN));
    let shown: Vec<String> =
        lines.map(|(number, line)| format!("{:>4} {line}", number + 1)).collect();
    let cut = if count > SHOWN {
        format!("\n     … {} more lines", count - SHOWN)
    } else {
        String::new()
    };
    shown.join("\n") + &cut
}
