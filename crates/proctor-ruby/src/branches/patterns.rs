//! Patterns as clauses: regular expressions, ranges, the values of `when` and the patterns of `in`.

use ruby_prism::{HashPatternNode, Node};

use super::conditions::answered;
use super::wording::{self, literal_words, with_article};
use crate::source::{constant, listed, literal_code, name, nodes, owned};
use crate::words::humanize;

/// Longer sentences say less than that a pattern matches.
const MAX_SENTENCE: usize = 80;

/// What it means that a text matches, and that it does not: "starts with …", "does not start with …".
pub(super) fn matched(pattern: &Node<'_>) -> (String, String) {
    let Some(regex) = pattern.as_regular_expression_node() else {
        let words = wording::operand(pattern);
        return (format!("matches {words}"), format!("does not match {words}"));
    };
    let code = owned(regex.unescaped());
    let front = code.strip_prefix("\\A").or_else(|| code.strip_prefix('^'));
    let inner = front.unwrap_or(&code);
    let back = inner.strip_suffix("\\z").or_else(|| inner.strip_suffix("\\Z"));
    let back = back.or_else(|| inner.strip_suffix('$'));
    let inner = back.unwrap_or(inner);
    let whole = front.is_some() && back.is_some();
    let either = |yes: &str, no: &str| (yes.to_owned(), no.to_owned());
    match (whole, inner) {
        (true, "\\d+" | "[0-9]+") => {
            return either("consists of digits", "does not consist of digits");
        }
        (true, "\\s*" | "[[:space:]]*") => return either("is blank", "is not blank"),
        (true, "[a-z]+" | "[A-Z]+" | "[a-zA-Z]+" | "[[:alpha:]]+") => {
            return either("consists of letters", "does not consist of letters");
        }
        (false, "\\s" | "\\s+") if front.or(back).is_none() => {
            return either("contains a space", "contains no space");
        }
        (false, "\\d" | "\\d+") if front.or(back).is_none() => {
            return either("contains a digit", "contains no digit");
        }
        _ => {}
    }
    let plain = !inner.is_empty()
        && inner.chars().all(|letter| letter.is_alphanumeric() || "_-/ :@,;=%\"'".contains(letter));
    if !plain {
        return either("matches the pattern", "does not match the pattern");
    }
    let text = crate::source::string_code(inner);
    let (yes, no) = match (front.is_some(), back.is_some()) {
        (true, true) => ("is", "is not"),
        (true, false) => ("starts with", "does not start with"),
        (false, true) => ("ends with", "does not end with"),
        (false, false) => ("contains", "does not contain"),
    };
    (format!("{yes} {text}"), format!("{no} {text}"))
}

/// A range: "between 1 and 5", "at least 1".
pub(super) fn ranged(node: &Node<'_>) -> Option<String> {
    let range = node.as_range_node()?;
    let below = range.is_exclude_end();
    let [left, right] = [range.left(), range.right()];
    Some(match (left, right) {
        (Some(left), Some(right)) if below => {
            format!("from {} to below {}", wording::operand(&left), wording::operand(&right))
        }
        (Some(left), Some(right)) => {
            format!("between {} and {}", wording::operand(&left), wording::operand(&right))
        }
        (Some(left), None) => format!("at least {}", wording::operand(&left)),
        (None, Some(right)) if below => format!("less than {}", wording::operand(&right)),
        (None, Some(right)) => format!("at most {}", wording::operand(&right)),
        (None, None) => "anything".to_owned(),
    })
}

/// What the values of a `when` say of their subject.
pub(super) fn one_of(word: &str, values: &[Node<'_>]) -> String {
    let clauses: Vec<String> = values.iter().map(clause).collect();
    let is: Option<Vec<&str>> = clauses.iter().map(|one| one.strip_prefix("is ")).collect();
    match is {
        Some(is) if is.len() <= 4 => format!("{word} is {}", is.join(" or ")),
        Some(is) => format!("{word} is one of {} values", is.len()),
        None => format!("{word} {}", clauses.join(" or ")),
    }
}

fn clause(value: &Node<'_>) -> String {
    if value.as_regular_expression_node().is_some() {
        return matched(value).0;
    }
    if let Some(range) = ranged(value) {
        return format!("is {range}");
    }
    if let Some(splat) = value.as_splat_node().and_then(|splat| splat.expression()) {
        return format!("is one of the {}", wording::operand(&splat));
    }
    if value.as_lambda_node().is_some() {
        return "meets the condition".to_owned();
    }
    match constant(value).filter(|name| name.to_uppercase() != *name) {
        Some(class) => format!("is {}", with_article(&class)),
        None => format!("is {}", wording::operand(value)),
    }
}

/// What a `case … in` pattern says of its subject: "is GET and items", "has type created and payload".
pub(super) fn pattern(word: &str, node: &Node<'_>) -> Option<String> {
    let guarded = |list, condition: &Node<'_>, turned: bool| {
        let inner = pattern(word, listed(list).first()?)?;
        let (yes, no) = answered(condition);
        Some(format!("{inner} and {}", if turned { no } else { yes }))
    };
    if let Some(guard) = node.as_if_node() {
        return guarded(guard.statements(), &guard.predicate(), false);
    }
    if let Some(guard) = node.as_unless_node() {
        return guarded(guard.statements(), &guard.predicate(), true);
    }
    if node.as_regular_expression_node().is_some() {
        return Some(format!("{word} {}", matched(node).0));
    }
    let accepted = pattern_words(node)?;
    let has = node
        .as_hash_pattern_node()
        .is_some_and(|table| table.constant().is_none() && !table.elements().is_empty());
    let sentence = format!("{word} {} {accepted}", if has { "has" } else { "is" });
    (sentence.chars().count() <= MAX_SENTENCE).then_some(sentence)
}

fn pattern_words(node: &Node<'_>) -> Option<String> {
    if let Some(list) = node.as_array_pattern_node() {
        let parts: Vec<Node<'_>> = list.requireds().iter().chain(list.posts().iter()).collect();
        return list_words(&parts, list.rest().is_some(), list.constant().as_ref());
    }
    if let Some(find) = node.as_find_pattern_node() {
        let words: Vec<String> =
            find.requireds().iter().map(|part| pattern_words(&part)).collect::<Option<_>>()?;
        return Some(format!("a list with {}", words.join(" and ")));
    }
    if let Some(table) = node.as_hash_pattern_node() {
        return table_words(&table);
    }
    if let Some(either) = node.as_alternation_pattern_node() {
        let (left, right) = (pattern_words(&either.left())?, pattern_words(&either.right())?);
        return Some(format!("{left} or {right}"));
    }
    if let Some(capture) = node.as_capture_pattern_node() {
        return pattern_words(&capture.value());
    }
    if let Some(group) = node.as_parentheses_node() {
        return pattern_words(&group.body()?.as_statements_node()?.body().first()?);
    }
    if let Some(target) = node.as_local_variable_target_node() {
        let own = name(target.name().as_slice()).into_owned();
        return Some(if own.starts_with('_') { "anything".to_owned() } else { humanize(&own) });
    }
    if let Some(pinned) = node.as_pinned_variable_node() {
        return Some(wording::operand(&pinned.variable()));
    }
    if let Some(pinned) = node.as_pinned_expression_node() {
        return Some(wording::operand(&pinned.expression()));
    }
    if let Some(range) = ranged(node) {
        return Some(range);
    }
    if node.as_regular_expression_node().is_some() {
        return Some(format!("a text that {}", matched(node).0));
    }
    if let Some(code) = literal_code(node) {
        return Some(literal_words(node, &code));
    }
    let class = constant(node)?;
    let is_value = class.to_uppercase() == class;
    Some(if is_value { humanize(&class) } else { with_article(&class) })
}

/// Whether a pattern takes anything and only gives it a name.
fn binds(node: &Node<'_>) -> bool {
    node.as_local_variable_target_node().is_some() || node.as_implicit_node().is_some()
}

fn list_words(parts: &[Node<'_>], more: bool, class: Option<&Node<'_>>) -> Option<String> {
    let class = class.and_then(constant).map(|class| format!("{} of ", with_article(&class)));
    let class = class.unwrap_or_default();
    if parts.is_empty() {
        let words = if more { "a list" } else { "an empty list" };
        return Some(class + words);
    }
    if parts.iter().all(binds) {
        let least = if more { "at least " } else { "" };
        let plural = if parts.len() == 1 { "" } else { "s" };
        let list = if class.is_empty() { "a list of " } else { "" };
        return Some(format!("{class}{list}{least}{} element{plural}", parts.len()));
    }
    let mut words: Vec<String> = parts.iter().map(pattern_words).collect::<Option<_>>()?;
    words.extend(more.then(|| "more".to_owned()));
    Some(class + &words.join(" and "))
}

fn table_words(table: &HashPatternNode<'_>) -> Option<String> {
    let class = table.constant().as_ref().and_then(constant);
    let class = class.map(|class| with_article(&class));
    let pairs = nodes(&table.elements());
    if pairs.is_empty() {
        return Some(class.unwrap_or_else(|| "an empty hash".to_owned()));
    }
    let words: Vec<String> = pairs.iter().map(pair_words).collect::<Option<_>>()?;
    let only = table.rest().is_some_and(|rest| rest.as_no_keywords_parameter_node().is_some());
    let words = [if only { "only " } else { "" }, &words.join(" and ")].concat();
    Some(match class {
        Some(class) => format!("{class} with {words}"),
        None => words,
    })
}

fn pair_words(pair: &Node<'_>) -> Option<String> {
    let pair = pair.as_assoc_node()?;
    let key = humanize(&owned(pair.key().as_symbol_node()?.unescaped()));
    let value = pair.value();
    let value = value.as_capture_pattern_node().map_or(value, |capture| capture.value());
    if binds(&value) {
        return Some(key);
    }
    if value.as_nil_node().is_some() {
        return Some(format!("no {key}"));
    }
    if let Some(inner) = value.as_hash_pattern_node().filter(|inner| inner.constant().is_none()) {
        return Some(format!("{key} with {}", table_words(&inner)?));
    }
    match constant(&value).filter(|class| class.to_uppercase() != *class) {
        Some(class) => Some(format!("{} as {key}", with_article(&class))),
        None => Some(format!("{key} {}", pattern_words(&value)?)),
    }
}
