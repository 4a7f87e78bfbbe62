//! Tables about the world outside a class: what is core Ruby, what is a side effect.

/// Classes and modules that come with Ruby: using them is no dependency.
const CORE: &[&str] = &[
    "Array",
    "BasicObject",
    "Class",
    "Comparable",
    "Complex",
    "Data",
    "Dir",
    "ENV",
    "Encoding",
    "Enumerable",
    "Enumerator",
    "Exception",
    "FalseClass",
    "Fiber",
    "File",
    "FileUtils",
    "Float",
    "GC",
    "Hash",
    "IO",
    "Integer",
    "Kernel",
    "Marshal",
    "MatchData",
    "Math",
    "Method",
    "Module",
    "Mutex",
    "NilClass",
    "Numeric",
    "Object",
    "ObjectSpace",
    "Proc",
    "Process",
    "Queue",
    "Random",
    "Range",
    "Rational",
    "Regexp",
    "RUBY_VERSION",
    "Set",
    "Signal",
    "String",
    "StringIO",
    "StringScanner",
    "Struct",
    "Symbol",
    "Thread",
    "Time",
    "TrueClass",
    "URI",
    "JSON",
    "YAML",
    "Date",
    "DateTime",
    "BigDecimal",
    "Forwardable",
    "Singleton",
    "OpenStruct",
    "Logger",
    "Pathname",
    "Tempfile",
    "ERB",
    "CGI",
    "SecureRandom",
    "Digest",
    "Base64",
    "Benchmark",
    "Timeout",
    "Shellwords",
    "Psych",
    "Zlib",
    "Etc",
    "RbConfig",
    "Warning",
    "Ractor",
    "Monitor",
    "ObjectSpace",
    "Gem",
    "STDOUT",
    "STDERR",
    "STDIN",
    "ARGV",
    "RUBY_PLATFORM",
];

/// Whether a constant comes with Ruby. Errors do too, as far as a dependency goes.
pub(crate) fn is_core(name: &str) -> bool {
    let first = name.split("::").next().unwrap_or(name);
    CORE.contains(&first) || first.ends_with("Error") || first.ends_with("Exception")
}

/// The kind of side effect that a call is, if it is one.
pub(crate) fn side_effect(receiver: &str, method: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| contains(receiver.as_bytes(), word));
    if method.starts_with("deliver") || has(&["mailer", "mail."]) {
        return Some("email");
    }
    if has(&["webhook", "notifier", "notification"]) {
        return Some("webhook");
    }
    if method.starts_with("perform_")
        || method == "enqueue"
        || has(&["eventbus", "event_bus", "events", "publisher"])
        || method == "publish"
        || method == "instrument"
    {
        return Some("event");
    }
    if matches!(method, "write" | "delete" | "clear" | "fetch" | "increment") && has(&["cache"]) {
        return Some("cache");
    }
    if has(&["net::http", "faraday", "httparty", "restclient", "http_client", "excon", "typhoeus"])
    {
        return Some("external_api");
    }
    None
}

/// Whether a text has a word in it, in capitals or not.
fn contains(text: &[u8], word: &str) -> bool {
    let word = word.as_bytes();
    let mut places = text.windows(word.len());
    places.any(|place| place[0].to_ascii_lowercase() == word[0] && place.eq_ignore_ascii_case(word))
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
