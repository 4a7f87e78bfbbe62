//! What is known about a Ruby file after reading it: plain data.

mod uses;

use serde::{Deserialize, Serialize};

pub use self::uses::Uses;

/// A place where the parser could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What the parser says.
    pub message: String,
}

/// Something that is there but cannot be analysed; listed rather than guessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Line, from 1.
    pub line: u32,
    /// What was found, for people.
    pub reason: String,
}

/// A constant that a file defines, with its full name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstantName {
    /// Full name, `A::B`.
    pub name: String,
}

/// Everything about one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Classes and modules in order of appearance.
    pub classes: Vec<ClassFacts>,
    /// What cannot be analysed.
    pub limits: Vec<Limit>,
    /// Lines that are neither blank nor comments.
    pub loc: u32,
    /// Constants that are defined here.
    pub constants: Vec<ConstantName>,
    /// Constants that are mentioned anywhere in the file.
    pub mentions: Vec<String>,
    /// How many probes [`crate::instrument`] places.
    pub probes: u32,
    /// Probes that mark a place rather than ask a condition.
    pub place_probes: Vec<u32>,
}

impl FileFacts {
    /// All methods with their classes.
    pub fn methods(&self) -> impl Iterator<Item = (&ClassFacts, &MethodFacts)> {
        self.classes
            .iter()
            .flat_map(|class| class.methods.iter().map(move |method| (class, method)))
    }

    /// The class with the most public methods: the one the file is about.
    #[must_use]
    pub fn main_class(&self) -> Option<&ClassFacts> {
        let weight = |class: &ClassFacts| class.public_methods().count();
        let most = self.classes.iter().map(weight).max()?;
        self.classes.iter().find(|class| weight(class) == most)
    }
}

/// Class or module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassKind {
    /// `class`, `Class.new` or `Struct.new`
    Class,
    /// `module`
    Module,
}

/// One level of lexical nesting, enough to reopen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nesting {
    /// `class` or `module`
    pub keyword: String,
    /// The name as written.
    pub name: String,
}

/// One class or module of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassFacts {
    /// Full name, `A::B`.
    pub name: String,
    /// Class or module.
    pub kind: ClassKind,
    /// Superclass as written.
    pub superclass: Option<String>,
    /// First and last line.
    pub lines: (u32, u32),
    /// How to reopen it with the same constant lookup; empty where it cannot be reopened by name.
    pub nesting: Vec<Nesting>,
    /// Modules that are included.
    pub mixins: Vec<String>,
    /// Readers made by `attr_reader`, `attr_accessor` and `Struct.new`.
    pub readers: Vec<String>,
    /// Members of a `Struct.new`, in order.
    pub members: Vec<String>,
    /// Methods in order of appearance.
    pub methods: Vec<MethodFacts>,
    /// What is asked of the object that a delegator stands for: calls on itself of methods that it does not define.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub delegated: Usage,
    /// How the methods use attributes with a reader, by name.
    #[serde(default, skip_serializing_if = "Uses::is_empty")]
    pub attributes: Uses,
}

impl ClassFacts {
    /// Whether calls of unknown methods may go to an object that was given: `SimpleDelegator`, or a class called like those
    /// that usually descend from it. Only loading tells for certain.
    #[must_use]
    pub fn may_delegate(&self) -> bool {
        let ends = ["Decorator", "Presenter", "Wrapper", "ViewModel"];
        self.superclass.as_ref().is_some_and(|parent| {
            parent.contains("Delegat") || ends.iter().any(|end| parent.ends_with(end))
        })
    }

    /// Methods that callers can use, constructors included.
    pub fn public_methods(&self) -> impl Iterator<Item = &MethodFacts> {
        self.methods.iter().filter(|method| method.is_testable())
    }
}

/// On what a method is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// On an instance.
    Instance,
    /// On the class or module itself.
    Class,
}

/// Who may call a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Anyone.
    Public,
    /// Instances of the same class.
    Protected,
    /// Only itself.
    Private,
}

/// The kinds of Ruby parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamKind {
    /// `a`
    Required,
    /// `a = 1`
    Optional,
    /// `*a`
    Rest,
    /// `a:`
    Key,
    /// `a: 1`
    OptionalKey,
    /// `**a`
    KeyRest,
    /// `&a`
    Block,
    /// `...`
    Forward,
}

/// One parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its kind.
    pub kind: ParamKind,
    /// Its default, as written.
    pub default: Option<String>,
    /// Types named in the documentation.
    pub types: Vec<String>,
    /// How the method uses it.
    pub usage: Usage,
}

/// How a value is used: what is called on it, what it is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Methods called on it, with how their results are used.
    #[serde(default, skip_serializing_if = "Uses::is_empty")]
    pub calls: Uses,
    /// Values read from it by a literal key (the key as Ruby code).
    #[serde(default, skip_serializing_if = "Uses::is_empty")]
    pub keys: Uses,
    /// Its elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Box<Usage>>,
    /// Literals it is compared with, as Ruby code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equals: Vec<String>,
    /// Numbers it is ordered against.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<String>,
    /// Regular expressions it is matched with, as Ruby code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Classes it is tested for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Whether its truth is tested.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truth: bool,
    /// Whether it is the answer to a call with a block; what the block is given is its element.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block: bool,
    /// Where it goes: `method:position` of the same class, or `Const.method:position`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
}

impl Usage {
    /// Whether nothing is known.
    fn is_nothing(&self) -> bool {
        *self == Self::nothing()
    }

    /// Nothing is known.
    const fn nothing() -> Self {
        Self {
            calls: Uses::nothing(),
            keys: Uses::nothing(),
            element: None,
            equals: Vec::new(),
            bounds: Vec::new(),
            patterns: Vec::new(),
            classes: Vec::new(),
            truth: false,
            block: false,
            flows: Vec::new(),
        }
    }
}

/// One method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodFacts {
    /// Its name.
    pub name: String,
    /// On what it is called.
    pub scope: Scope,
    /// Who may call it.
    pub visibility: Visibility,
    /// Its parameters.
    pub params: Vec<Param>,
    /// First and last line.
    pub lines: (u32, u32),
    /// Byte range of the definition.
    pub span: (u32, u32),
    /// Whether the module has it as a module function too.
    pub module_function: bool,
    /// Whether it stands in `class << self`.
    pub in_singleton: bool,
    /// Whether it yields or takes a block.
    pub yields: bool,
    /// Hash over its syntax tree: comments and layout do not count.
    pub digest: String,
    /// Methods of the same object that it calls.
    pub self_calls: Vec<String>,
    /// The same with their places, each name once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_calls: Vec<OwnCall>,
    /// Constants it mentions.
    pub constants: Vec<String>,
    /// Instance variables it sets from parameters: variable, parameter.
    pub stores: Vec<(String, String)>,
    /// What its behaviour depends on.
    pub characteristics: Vec<Characteristic>,
    /// What it does besides returning.
    pub side_effects: Vec<SideEffect>,
    /// What happens when no characteristic applies: the last expression.
    pub outcome: Behavior,
    /// Whether it only answers: no parameters, nothing that is seen to change the object or the world.
    pub is_query: bool,
    /// Whether it is seen to change the object or the world by itself.
    #[serde(default)]
    pub acts: bool,
    /// Lines on which it raises by itself.
    pub raise_lines: Vec<u32>,
    /// Errors that it rescues, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rescues: Vec<String>,
    /// Calls that reach the world outside through a class (`PaymentGateway.charge`), with how their answers are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doors: Vec<(String, Usage)>,
    /// The probe at its entry.
    pub entry_probe: Option<u32>,
    /// Its probes, first and one past the last.
    pub probes: (u32, u32),
}

impl MethodFacts {
    /// Whether callers can use it. A constructor is seen through `new`, a method for unknown messages through any message.
    #[must_use]
    pub fn is_testable(&self) -> bool {
        matches!(self.name.as_str(), "initialize" | "method_missing" | "respond_to_missing?")
            || (self.visibility == Visibility::Public
                && !matches!(
                    self.name.as_str(),
                    "inherited"
                        | "included"
                        | "extended"
                        | "prepended"
                        | "method_added"
                        | "const_missing"
                        | "initialize_copy"
                        | "initialize_dup"
                        | "initialize_clone"
                ))
    }

    /// `#name` or `.name`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.scope {
            Scope::Instance => format!("#{}", self.name),
            Scope::Class => format!(".{}", self.name),
        }
    }

    /// `Class#name` or `Class.name`.
    #[must_use]
    pub fn id(&self, class: &str) -> String {
        format!("{class}{}", self.label())
    }
}

/// The kinds of characteristics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CharacteristicKind {
    /// True or false.
    Boolean,
    /// There or not.
    Presence,
    /// One of several values.
    Enum,
    /// Above or below a threshold.
    Range,
    /// One of several states that follow each other.
    Sequential,
}

/// Where a condition's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `internal` or `external`
    pub kind: String,
    /// The class asked.
    pub class: Option<String>,
    /// The method asked.
    pub method: Option<String>,
}

/// What a value may be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A parameter of the method.
    Parameter,
    /// A variable or attribute of the object.
    Attribute,
    /// The answer of another method.
    Call,
}

/// Something that a condition's value is made of, followed back through local variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its kind.
    pub kind: InputKind,
    /// `amount`, `@rate`, `rate_for`, `Rates.find`
    pub name: String,
}

/// How a test brings a characteristic about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetupKind {
    /// A stored object.
    Model,
    /// A plain value.
    Data,
    /// Something that is done first.
    Action,
}

/// How a test brings a characteristic about, and with which class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The kind.
    pub kind: SetupKind,
    /// The class, if one is known.
    pub class: Option<String>,
}

/// Something a method's behaviour depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Characteristic {
    /// Unique in its method.
    pub name: String,
    /// For people.
    pub description: String,
    /// Its kind.
    pub kind: CharacteristicKind,
    /// Its values in source order, the passing one of a pair first.
    pub arms: Vec<Arm>,
    /// First and last line.
    pub lines: (u32, u32),
    /// Where the value comes from, if it is another class.
    pub origin: Option<Origin>,
    /// How to bring it about.
    pub setup: Setup,
    /// What its value is made of: parameters, attributes and calls, through locals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Depth, from 1.
    pub level: u32,
    /// Index of the characteristic it depends on, within the method.
    pub parent: Option<usize>,
    /// The values of the parent under which it matters.
    pub when_parent: Vec<String>,
    /// Threshold and operator of a range.
    pub threshold: Option<(String, String)>,
}

/// One value of a characteristic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// The value.
    pub value: String,
    /// For people: completes "when …".
    pub description: String,
    /// Whether the method ends here.
    pub terminal: bool,
    /// What the method does here, if nothing else decides.
    pub behavior: Option<Behavior>,
    /// How it ends.
    #[serde(default)]
    pub ending: Ending,
    /// Side effects that happen only here (indices into the method's).
    pub side_effects: Vec<usize>,
    /// The probe that tells this arm, and the answer it gives there (`None`: being reached).
    pub probe: Option<(u32, Option<bool>)>,
}

/// How a value of a characteristic ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// What follows decides.
    #[default]
    GoesOn,
    /// Its last expression is the method's result.
    Result,
    /// It leaves the iteration, or begins again.
    Next,
    /// It leaves the method.
    Exit,
    /// It raises an error.
    Raise,
}

/// The decision under which something happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index of the characteristic, within the method.
    pub decision: usize,
    /// Its values that lead there.
    pub values: Vec<String>,
}

/// A call on the object itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCall {
    /// The method called.
    pub name: String,
    /// Where it stands; `None` outside of all decisions.
    pub place: Option<Place>,
    /// Whether its answer is the result of the method.
    pub is_result: bool,
}

/// The kinds of behaviours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BehaviorKind {
    /// The method ends early.
    Terminal,
    /// The method does its work.
    Success,
    /// Something outside changes.
    SideEffect,
}

/// What a method does, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behavior {
    /// Its kind.
    pub kind: BehaviorKind,
    /// Present tense, third person.
    pub description: String,
}

/// Something done besides returning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideEffect {
    /// webhook, email, cache, event, `external_api`
    pub kind: String,
    /// Present tense, third person.
    pub description: String,
    /// The line.
    pub line: u32,
    /// The decision under which it happens; `None` if it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}
