//! Parameters of a method: kinds, defaults, documented types and keys.

use ruby_prism::{Node, NodeList, ParametersNode};

use crate::facts::{Param, ParamKind, Usage};
use crate::source::{owned, text};

/// The parameters of a method, with what its documentation says about them.
pub(super) fn parameters(list: Option<&ParametersNode<'_>>, doc: Option<&str>) -> Vec<Param> {
    let Some(list) = list else { return Vec::new() };
    let named = [list.requireds(), list.optionals(), list.posts(), list.keywords()];
    let count = named.iter().map(NodeList::len).sum::<usize>()
        + [list.rest(), list.keyword_rest()].iter().flatten().count()
        + usize::from(list.block().is_some());
    let mut params = Vec::with_capacity(count);
    let mut add = |own: String, kind: ParamKind, default: Option<String>| {
        let types = doc.map(|doc| documented(doc, &own)).unwrap_or_default();
        let usage = doc.map(|doc| documented_options(doc, &own)).unwrap_or_default();
        params.push(Param { name: own, kind, default, types, usage });
    };
    let required = |node: &Node<'_>| {
        node.as_required_parameter_node()
            .map(|param| owned(param.name().as_slice()))
            .unwrap_or_default()
    };
    for param in &list.requireds() {
        add(required(&param), ParamKind::Required, None);
    }
    for param in &list.optionals() {
        if let Some(param) = param.as_optional_parameter_node() {
            add(
                owned(param.name().as_slice()),
                ParamKind::Optional,
                Some(text(&param.value()).into_owned()),
            );
        }
    }
    if let Some(rest) = list.rest() {
        let own = rest
            .as_rest_parameter_node()
            .and_then(|rest| rest.name())
            .map(|own| owned(own.as_slice()));
        add(own.unwrap_or_default(), ParamKind::Rest, None);
    }
    for param in &list.posts() {
        add(required(&param), ParamKind::Required, None);
    }
    for param in &list.keywords() {
        if let Some(key) = param.as_required_keyword_parameter_node() {
            add(owned(key.name().as_slice()), ParamKind::Key, None);
        } else if let Some(key) = param.as_optional_keyword_parameter_node() {
            add(
                owned(key.name().as_slice()),
                ParamKind::OptionalKey,
                Some(text(&key.value()).into_owned()),
            );
        }
    }
    match list.keyword_rest() {
        Some(rest) if rest.as_forwarding_parameter_node().is_some() => {
            add(String::new(), ParamKind::Forward, None);
        }
        Some(rest) if rest.as_no_keywords_parameter_node().is_none() => {
            let own = rest.as_keyword_rest_parameter_node().and_then(|rest| rest.name());
            add(own.map(|own| owned(own.as_slice())).unwrap_or_default(), ParamKind::KeyRest, None);
        }
        _ => {}
    }
    if let Some(block) = list.block() {
        let own = block
            .as_block_parameter_node()
            .and_then(|block| block.name())
            .map(|own| owned(own.as_slice()));
        add(own.unwrap_or_default(), ParamKind::Block, None);
    }
    params
}

/// Types that the documentation gives for a parameter: `@param [String, nil] name`.
fn documented(doc: &str, param: &str) -> Vec<String> {
    let mut types = Vec::new();
    for line in doc.lines().filter(|line| line.contains("@param")) {
        let mentions = line
            .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .any(|word| word == param);
        let inside = line
            .split_once('[')
            .and_then(|(_, rest)| rest.rsplit_once(']'))
            .map(|(inside, _)| inside);
        if let (true, Some(inside)) = (mentions, inside) {
            types.extend(
                inside
                    .split([',', '|'])
                    .map(|word| word.trim().to_owned())
                    .filter(|word| !word.is_empty()),
            );
        }
    }
    types
}

/// Keys that the documentation gives for a parameter: `@option options [Integer] :limit`.
fn documented_options(doc: &str, param: &str) -> Usage {
    let mut usage = Usage::default();
    for line in doc.lines() {
        let Some((_, rest)) = line.split_once("@option") else { continue };
        let key = rest.split_whitespace().find(|word| word.starts_with(':') && word.len() > 1);
        let (Some(key), Some(true)) =
            (key, rest.split_whitespace().next().map(|first| first == param))
        else {
            continue;
        };
        let types = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let key = key.trim_end_matches(',');
        usage.keys.add_name(key);
        if let Some(entry) = usage.keys.get_mut(key) {
            entry.classes.extend(
                types
                    .into_iter()
                    .flat_map(|(inside, _)| inside.split([',', '|']))
                    .map(|word| word.trim().to_owned())
                    .filter(|word| !word.is_empty()),
            );
        }
    }
    usage
}
