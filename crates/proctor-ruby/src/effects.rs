//! Tables about the world outside a class: what is core Ruby, what is a side effect.

use ruby_prism::Node;

/// Classes and modules that come with Ruby, sorted: using them is no dependency.
const CORE: &[&str] = &[
    "ARGV",
    "Array",
    "Base64",
    "BasicObject",
    "Benchmark",
    "BigDecimal",
    "CGI",
    "Class",
    "Comparable",
    "Complex",
    "Data",
    "Date",
    "DateTime",
    "Digest",
    "Dir",
    "ENV",
    "ERB",
    "Encoding",
    "Enumerable",
    "Enumerator",
    "Etc",
    "Exception",
    "FalseClass",
    "Fiber",
    "File",
    "FileUtils",
    "Float",
    "Forwardable",
    "GC",
    "Gem",
    "Hash",
    "IO",
    "Integer",
    "JSON",
    "Kernel",
    "Logger",
    "Marshal",
    "MatchData",
    "Math",
    "Method",
    "Module",
    "Monitor",
    "Mutex",
    "NilClass",
    "Numeric",
    "Object",
    "ObjectSpace",
    "OpenStruct",
    "Pathname",
    "Proc",
    "Process",
    "Psych",
    "Queue",
    "RUBY_PLATFORM",
    "RUBY_VERSION",
    "Ractor",
    "Random",
    "Range",
    "Rational",
    "RbConfig",
    "Regexp",
    "STDERR",
    "STDIN",
    "STDOUT",
    "SecureRandom",
    "Set",
    "Shellwords",
    "Signal",
    "Singleton",
    "String",
    "StringIO",
    "StringScanner",
    "Struct",
    "Symbol",
    "Tempfile",
    "Thread",
    "Time",
    "Timeout",
    "TrueClass",
    "URI",
    "Warning",
    "YAML",
    "Zlib",
];

/// Whether a constant comes with Ruby. Errors do too, as far as a dependency goes.
pub(crate) fn is_core(name: &str) -> bool {
    let first = name.split("::").next().unwrap_or(name);
    CORE.binary_search(&first).is_ok() || first.ends_with("Error") || first.ends_with("Exception")
}

/// Whether a method of every object reaches outside of Ruby.
pub(crate) fn is_command(method: &[u8]) -> bool {
    matches!(method, b"system" | b"exec" | b"spawn" | b"open" | b"`")
}

/// Whether a call runs a program or opens what may be one. `own` are methods of that name that the class has itself.
pub(crate) fn command(receiver: Option<&Node<'_>>, method: &[u8], own: &[Vec<u8>]) -> bool {
    let Some(receiver) = receiver else {
        return is_command(method) && !own.iter().any(|name| name == method);
    };
    if !matches!(receiver, Node::ConstantReadNode { .. }) {
        return false;
    }
    let class = receiver.location();
    match class.as_slice() {
        b"Kernel" => is_command(method),
        b"Open3" | b"PTY" => true,
        b"IO" => method == b"popen",
        b"Process" => method == b"spawn",
        b"URI" => method == b"open",
        _ => false,
    }
}

/// What names say about what stands behind them.
#[derive(Clone, Copy, Default)]
struct EffectHints {
    mail: bool,
    hook: bool,
    event: bool,
    cache: bool,
    http: bool,
}

impl EffectHints {
    /// Adds what a name says, in capitals or not. `calls`: something else is called on it.
    fn add(&mut self, name: &[u8], calls: bool) {
        // No word is shorter than four letters.
        for place in 0..name.len().saturating_sub(3) {
            let rest = &name[place..];
            let is = |word: &[u8]| {
                rest.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word))
            };
            match rest[0].to_ascii_lowercase() {
                b'm' => self.mail |= is(b"mailer") || (calls && rest.len() == 4 && is(b"mail")),
                b'w' => self.hook |= is(b"webhook"),
                b'n' => {
                    self.hook |= is(b"notifier") || is(b"notification");
                    self.http |= is(b"net::http");
                }
                b'e' => {
                    self.event |= is(b"eventbus") || is(b"event_bus") || is(b"events");
                    self.http |= is(b"excon");
                }
                b'p' => self.event |= is(b"publisher"),
                b'c' => self.cache |= is(b"cache"),
                b'f' => self.http |= is(b"faraday"),
                b'h' => self.http |= is(b"httparty") || is(b"http_client"),
                b'r' => self.http |= is(b"restclient"),
                b't' => self.http |= is(b"typhoeus"),
                _ => {}
            }
        }
    }
}

/// The names of a receiver from its end to its beginning: `UserMailer.welcome(user)` has `welcome` and `UserMailer`.
/// What stands in arguments and blocks says nothing about it.
pub(crate) fn names<'a>(node: &Node<'a>, each: &mut dyn FnMut(&'a [u8])) {
    match node {
        Node::CallNode { .. } => {
            let Some(call) = node.as_call_node() else { return };
            each(call.name().as_slice());
            if let Some(receiver) = call.receiver() {
                names(&receiver, each);
            }
        }
        Node::ConstantReadNode { .. }
        | Node::ConstantPathNode { .. }
        | Node::LocalVariableReadNode { .. }
        | Node::InstanceVariableReadNode { .. }
        | Node::ClassVariableReadNode { .. }
        | Node::GlobalVariableReadNode { .. } => each(node.location().as_slice()),
        _ => {}
    }
}

/// The kind of side effect that a call is, if it is one.
pub(crate) fn side_effect(receiver: Option<&Node<'_>>, method: &[u8]) -> Option<&'static str> {
    let mut hints = EffectHints::default();
    let mut last = true;
    if let Some(receiver) = receiver {
        names(receiver, &mut |name| hints.add(name, !std::mem::take(&mut last)));
    }
    if hints.mail || method.starts_with(b"deliver") {
        Some("email")
    } else if hints.hook {
        Some("webhook")
    } else if hints.event
        || method.starts_with(b"perform_")
        || matches!(method, b"enqueue" | b"publish" | b"instrument")
    {
        Some("event")
    } else if hints.cache
        && matches!(method, b"write" | b"delete" | b"clear" | b"fetch" | b"increment")
    {
        Some("cache")
    } else if hints.http {
        Some("external_api")
    } else {
        None
    }
}

/// Words at the end of a class's name that say that it stands for something outside of the program.
const DOORS: &[&str] =
    &["API", "Api", "Client", "Gateway", "Mailer", "Notifier", "Provider", "Publisher", "Webhook"];

/// Libraries that are doors to other machines, whatever is called on them.
const DOOR_LIBRARIES: &[&str] =
    &["Excon", "Faraday", "HTTP", "HTTParty", "Net::HTTP", "RestClient", "Typhoeus"];

/// Whether a call of a class leaves the program: it is answered by a stand-in, and never made for real.
pub(crate) fn is_door(class: &str, method: &[u8]) -> bool {
    let class = class.trim_start_matches("::");
    if DOOR_LIBRARIES.contains(&class) {
        return true;
    }
    let last = class.rsplit("::").next().unwrap_or(class);
    method != b"new"
        && method.first().is_some_and(u8::is_ascii_lowercase)
        && DOORS.iter().any(|word| last.ends_with(word))
}

/// Words that name a state in a life: such values follow each other.
const LIFECYCLE: &[&str] = &[
    "draft",
    "submitted",
    "approved",
    "published",
    "archived",
    "shipped",
    "delivered",
    "started",
    "finished",
];

/// Whether values read like states that follow each other.
pub(crate) fn is_lifecycle<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    values.filter(|value| LIFECYCLE.contains(value)).count() >= 2
}
