//! Rules about descriptions: 17, 19 and 20, and how to put them right.

use super::{Checker, Scope};
use crate::review::tree::{Description, Example, Group, Item};

const MODALS: &[&str] = &[
    "should",
    "shouldn't",
    "must",
    "mustn't",
    "can",
    "can't",
    "cannot",
    "could",
    "couldn't",
    "will",
    "won't",
    "would",
    "wouldn't",
    "shall",
    "may",
    "might",
    "ought",
];

/// Verbs that examples begin with, in their plain form.
const VERBS: &[&str] = &[
    "accept",
    "add",
    "allow",
    "answer",
    "append",
    "apply",
    "archive",
    "assign",
    "authenticate",
    "authorize",
    "be",
    "block",
    "build",
    "cache",
    "calculate",
    "call",
    "cancel",
    "change",
    "charge",
    "check",
    "clear",
    "close",
    "compute",
    "configure",
    "convert",
    "copy",
    "count",
    "create",
    "deactivate",
    "decode",
    "decrease",
    "decrement",
    "define",
    "delegate",
    "delete",
    "deliver",
    "deny",
    "destroy",
    "disable",
    "display",
    "do",
    "drop",
    "emit",
    "enable",
    "encode",
    "enqueue",
    "ensure",
    "escape",
    "evaluate",
    "exclude",
    "execute",
    "expire",
    "expose",
    "extract",
    "fail",
    "fetch",
    "fill",
    "filter",
    "find",
    "format",
    "forward",
    "generate",
    "get",
    "give",
    "handle",
    "have",
    "hide",
    "ignore",
    "import",
    "include",
    "increase",
    "increment",
    "initialize",
    "insert",
    "invoke",
    "keep",
    "leave",
    "list",
    "load",
    "log",
    "make",
    "map",
    "mark",
    "match",
    "merge",
    "move",
    "normalize",
    "notify",
    "open",
    "order",
    "parse",
    "pass",
    "perform",
    "persist",
    "prevent",
    "print",
    "process",
    "produce",
    "provide",
    "publish",
    "raise",
    "read",
    "receive",
    "record",
    "redirect",
    "refund",
    "refuse",
    "register",
    "reject",
    "release",
    "remove",
    "rename",
    "render",
    "replace",
    "require",
    "reset",
    "resolve",
    "respond",
    "restore",
    "retrieve",
    "retry",
    "return",
    "round",
    "run",
    "sanitize",
    "save",
    "search",
    "send",
    "set",
    "show",
    "skip",
    "sort",
    "split",
    "start",
    "stop",
    "store",
    "strip",
    "subtract",
    "succeed",
    "take",
    "throw",
    "transform",
    "trigger",
    "trim",
    "truncate",
    "update",
    "use",
    "validate",
    "verify",
    "wait",
    "warn",
    "work",
    "wrap",
    "write",
    "yield",
];

/// Words that name a situation in which something goes wrong.
const UNHAPPY: &[&str] = &[
    "invalid",
    "missing",
    "fails",
    "failed",
    "failing",
    "failure",
    "error",
    "errors",
    "raises",
    "not",
    "cannot",
    "can't",
    "isn't",
    "doesn't",
    "without",
    "empty",
    "blank",
    "nil",
    "expired",
    "denied",
    "unauthorized",
    "unauthenticated",
    "forbidden",
    "insufficient",
    "exceeds",
    "exceeded",
    "unknown",
    "wrong",
    "bad",
    "broken",
    "declined",
    "rejected",
    "malformed",
    "unavailable",
    "no",
    "negative",
    "zero",
    "absent",
    "locked",
    "blocked",
    "closed",
    "cancelled",
    "unsupported",
    "corrupt",
];

impl Checker<'_> {
    pub(super) fn group_words(&mut self, group: &Group, scope: &Scope<'_>) {
        let Some(words) = &group.words else { return };
        let plain = group.word.trim_start_matches(['f', 'x']);
        if group.is_shared || words.span.is_none() && words.text == "…" {
            return;
        }
        let nested = scope.groups.iter().any(|outer| outer.word.ends_with("context"));
        if plain == "context" && !has_context_word(&words.text, nested) {
            let fixable = words.span.is_some() && corrected_context(&words.text).is_some();
            let (message, fix) = (
                "the context does not begin with when, with or without",
                "begin with one of these words",
            );
            self.found.push(super::finding(20, group.line, message, fix, fixable));
        } else if plain == "describe" && has_context_word(&words.text, false) {
            self.add_fixable(20, group.line, "`describe` names a situation", "use `context`");
        }
    }

    pub(super) fn example_words(&mut self, example: &Example) {
        let Some(words) = &example.words else { return };
        let fixable = words.span.is_some();
        let trimmed = words.text.trim();
        if example.has_block && trimmed.is_empty() {
            self.add(17, example.line, "the description is empty", "say what happens");
            return;
        }
        if let Some(problem) = self.sentence(trimmed) {
            self.found.push(super::finding(
                17,
                example.line,
                problem,
                "write it as the end of a sentence that begins with the group",
                fixable,
            ));
        }
        if let Some(problem) = grammar(trimmed) {
            let fixable = fixable && corrected_example(trimmed).is_some();
            self.found.push(super::finding(
                19,
                example.line,
                problem,
                "say what happens: present tense, third person",
                fixable,
            ));
        }
    }

    fn sentence(&self, text: &str) -> Option<&'static str> {
        if text.ends_with('.') && !text.ends_with("..") && !text.ends_with("etc.") {
            return Some("the description ends with a full stop");
        }
        let first: &str = text.split_whitespace().next()?;
        let mut letters = first.chars();
        let capital = letters.next().is_some_and(char::is_uppercase);
        let rest: String = letters.collect();
        let is_word = !rest.is_empty() && rest.chars().all(char::is_lowercase);
        let is_name = self.constants.iter().any(|name| name == first);
        (capital && is_word && !is_name).then_some("the description begins with a capital letter")
    }
}

/// `and` and `but` go on where a context around has begun.
fn has_context_word(text: &str, nested: bool) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    matches!(first, "when" | "with" | "without") || (nested && matches!(first, "and" | "but"))
}

fn grammar(text: &str) -> Option<&'static str> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.trim_matches([',', ';', ':']).to_lowercase())
        .collect();
    if words.iter().any(|word| MODALS.contains(&word.as_str())) {
        return Some("the description uses a modal verb");
    }
    let first = words.first()?;
    let second = words.get(1).map(String::as_str);
    if VERBS.contains(&first.as_str())
        && !matches!(second, Some("is" | "are" | "has" | "does" | "of" | "for"))
    {
        return Some("the description is not in the third person");
    }
    if is_gerund(first)
        && !matches!(second, Some("is" | "are" | "does" | "has"))
        && !words
            .iter()
            .any(|word| matches!(word.as_str(), "is" | "does" | "raises" | "returns" | "has"))
    {
        return Some("the description is not in the present tense");
    }
    None
}

fn is_gerund(word: &str) -> bool {
    let Some(stem) = word.strip_suffix("ing") else { return false };
    VERBS.iter().any(|verb| {
        *verb == stem
            || verb.strip_suffix('e') == Some(stem)
            || without_doubled_letter(stem) == Some(verb)
    })
}

/// `get` of `gett`.
fn without_doubled_letter(stem: &str) -> Option<&str> {
    let mut letters = stem.chars().rev();
    let last = letters.next()?;
    (letters.next() == Some(last)).then(|| &stem[..stem.len() - last.len_utf8()])
}

/// The same situation with the right first word, where the change is certain.
pub(crate) fn corrected_context(text: &str) -> Option<String> {
    for (from, to) in [
        ("if ", "when "),
        ("If ", "when "),
        ("When ", "when "),
        ("With ", "with "),
        ("Without ", "without "),
        ("given ", "with "),
        ("Given ", "with "),
        ("having ", "with "),
        ("where ", "when "),
        ("in case ", "when "),
        ("whenever ", "when "),
        ("once ", "when "),
        ("WHEN ", "when "),
    ] {
        if let Some(rest) = text.strip_prefix(from) {
            return Some(format!("{to}{rest}"));
        }
    }
    None
}

/// The same behaviour in the third person, without modal verb, capital or full stop; `None` if nothing changes.
pub(crate) fn corrected_example(text: &str) -> Option<String> {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let modal = words
        .first()
        .map(|word| word.to_lowercase())
        .filter(|word| MODALS.contains(&word.as_str()));
    if let Some(modal) = modal {
        let denies = modal.ends_with("n't")
            || modal == "cannot"
            || words.get(1).is_some_and(|word| word == "not");
        if words.get(1).is_some_and(|word| word == "not") {
            words.remove(1);
        }
        words.remove(0);
        let verb = words.first()?.clone();
        if denies {
            match verb.as_str() {
                "be" => words.splice(0..1, ["is".to_owned(), "not".to_owned()]).count(),
                _ => words.splice(0..1, ["does".to_owned(), "not".to_owned(), verb]).count(),
            };
        } else {
            words[0] = third_person(&verb)?;
        }
    } else if words.first().is_some_and(|word| VERBS.contains(&word.to_lowercase().as_str())) {
        words[0] = third_person(&words[0].to_lowercase())?;
    }
    let joined = words.join(" ");
    // What still breaks a rule was not understood.
    (joined != text && grammar(&joined).is_none()).then_some(joined)
}

fn third_person(verb: &str) -> Option<String> {
    let verb = verb.to_lowercase();
    if !verb.chars().all(|letter| letter.is_ascii_lowercase()) || verb.is_empty() {
        return None;
    }
    Some(match verb.as_str() {
        "be" => "is".to_owned(),
        "have" => "has".to_owned(),
        "do" => "does".to_owned(),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| verb.ends_with(end)) => {
            format!("{verb}es")
        }
        _ if verb.ends_with('y')
            && !verb.ends_with(['a', 'e', 'i', 'o', 'u'])
            && !["ay", "ey", "oy", "uy"].iter().any(|end| verb.ends_with(end)) =>
        {
            format!("{}ies", &verb[..verb.len() - 1])
        }
        _ => format!("{verb}s"),
    })
}

/// Whether a context is about something going wrong: by what it expects, else by its words.
pub(crate) fn is_failure_context(group: &Group) -> bool {
    let mut examples = Vec::new();
    collect(&group.items, &mut examples);
    let demands: Vec<bool> = examples
        .iter()
        .flat_map(|example| &example.body.expectations)
        .map(|one| one.matcher == "raise_error" && !one.negated)
        .collect();
    if !demands.is_empty() && demands.iter().all(|raises| *raises) {
        return true;
    }
    let by_words = |words: &Option<Description>| {
        words.as_ref().is_some_and(|words| {
            words
                .text
                .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
                .any(|word| UNHAPPY.contains(&word.to_lowercase().as_str()))
        })
    };
    by_words(&group.words)
}

fn collect<'t>(items: &'t [Item], found: &mut Vec<&'t Example>) {
    for item in items {
        match item {
            Item::Example(example) => found.push(example),
            Item::Group(group) => collect(&group.items, found),
            Item::Loop { items, .. } => collect(items, found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_put_into_the_third_person() {
        for (before, after) in [
            ("should return nil", Some("returns nil")),
            ("should be valid", Some("is valid")),
            ("should not be valid", Some("is not valid")),
            ("shouldn't raise an error", Some("does not raise an error")),
            ("return nil", Some("returns nil")),
            ("have two items", Some("has two items")),
            ("notify the owner", Some("notifies the owner")),
            ("publish the event", Some("publishes the event")),
            ("must be saved and should be sent", None),
            ("returns nil", None),
        ] {
            assert_eq!(corrected_example(before).as_deref(), after, "{before}");
        }
    }

    #[test]
    fn only_sure_contexts_are_renamed() {
        assert_eq!(
            corrected_context("if the cart is empty").as_deref(),
            Some("when the cart is empty")
        );
        assert_eq!(corrected_context("given a user").as_deref(), Some("with a user"));
        assert_eq!(corrected_context("the cart is empty"), None);
    }
}
