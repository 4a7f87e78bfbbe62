//! Parts of written code: the arguments of a constructor, the items of a list. Pure.

use ruby_prism::{Node, NodeList};

use crate::source::{first_of, owned, text};

/// Positional and keyword arguments, as code.
pub type Arguments = (Vec<String>, Vec<(String, String)>);

/// The arguments of `A.new(…)`, the first call of the code.
#[must_use]
pub fn constructor_arguments(code: &str) -> Option<Arguments> {
    read(code, |node| {
        let mut call = node.as_call_node()?;
        while call.name().as_slice() != b"new" {
            call = call.receiver()?.as_call_node()?;
        }
        let list = call.arguments()?.arguments();
        Some(split(&list))
    })
}

/// The items of an array.
#[must_use]
pub fn list_items(code: &str) -> Option<Vec<String>> {
    read(code, |node| {
        let array = node.as_array_node()?;
        Some(array.elements().iter().map(|item| text(&item).into_owned()).collect())
    })
}

fn read<T>(code: &str, look: impl FnOnce(&Node<'_>) -> Option<T>) -> Option<T> {
    let parsed = ruby_prism::parse(code.as_bytes());
    if !parsed.is_success() {
        return None;
    }
    let root = parsed.node();
    let statements = root.as_program_node()?.statements();
    look(&first_of(Some(&statements))?)
}

fn split(list: &NodeList<'_>) -> Arguments {
    let (mut positional, mut keywords) = (Vec::new(), Vec::new());
    for argument in list {
        let Some(pairs) = argument.as_keyword_hash_node() else {
            positional.push(text(&argument).into_owned());
            continue;
        };
        for pair in pairs.elements().iter().filter_map(|pair| pair.as_assoc_node()) {
            if let Some(key) = pair.key().as_symbol_node() {
                keywords.push((owned(key.unescaped()), text(&pair.value()).into_owned()));
            }
        }
    }
    (positional, keywords)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_constructor_are_found_behind_other_calls() {
        let found =
            constructor_arguments("A::B.new(1, [2, 3], c: \"d\").tap { |x| x.y(4) }").unwrap();
        assert_eq!(found.0, ["1", "[2, 3]"]);
        assert_eq!(found.1, [("c".to_owned(), "\"d\"".to_owned())]);
        assert_eq!(constructor_arguments("A"), None);
        assert_eq!(list_items("[1, \"a\"]").unwrap(), ["1", "\"a\""]);
        assert_eq!(list_items("{ a: 1 }"), None);
    }
}
