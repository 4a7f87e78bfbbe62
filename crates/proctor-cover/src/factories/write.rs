//! Text of factories that a project lacks, and its place in files that people wrote. Pure.
//!
//! Files are only ever added to: every byte that was there stays, in its order.

use ruby_prism::{BlockNode, CallNode, Visit};
use serde::Deserialize;

use crate::syntax::{arguments, name, plain, text};

/// One line of a factory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct AttributeLine {
    /// value, sequence or association
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Ruby code with texts in double quotes; a sequence uses `n`.
    pub(crate) code: String,
    /// The factory of an association.
    pub(crate) factory: String,
}

/// A state of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TraitDefinition {
    pub(crate) name: String,
    pub(crate) attributes: Vec<AttributeLine>,
}

/// A factory, or traits for one that exists (`attributes` is `None`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct FactoryDefinition {
    pub(crate) class: String,
    pub(crate) factory: String,
    /// The name of its file, without folder and extension.
    pub(crate) plural: String,
    pub(crate) attributes: Option<Vec<AttributeLine>>,
    pub(crate) traits: Vec<TraitDefinition>,
}

/// Names that mean something else inside of a factory.
const RESERVED: &[&str] = &[
    "factory",
    "trait",
    "transient",
    "sequence",
    "association",
    "after",
    "before",
    "callback",
    "method",
    "class",
    "initialize_with",
    "to_create",
    "skip_create",
    "send",
    "alias",
    "end",
    "object_id",
    "hash",
    "display",
    "freeze",
    "then",
    "in",
    "next",
];

/// How the project writes texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    Single,
    Double,
}

impl Quotes {
    /// The style of these texts; single where nothing tells, as `RuboCop` wants it.
    pub(crate) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let (mut single, mut double) = (0, 0);
        for text in texts {
            single += text.matches('\'').count();
            double += text.matches('"').count();
        }
        if double > single { Self::Double } else { Self::Single }
    }

    /// Code with its texts in this style, where that changes nothing.
    fn written(self, code: &str) -> String {
        let inner = code.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match inner {
            Some(inner) if self == Self::Single && !inner.contains(['"', '\'', '\\', '#']) => {
                format!("'{inner}'")
            }
            _ => code.to_owned(),
        }
    }
}

/// A new file with these factories.
pub(crate) fn new_file(definitions: &[&FactoryDefinition], quotes: Quotes) -> String {
    let blocks: Vec<String> =
        definitions.iter().map(|one| factory_text(one, quotes, "  ")).collect();
    format!("# frozen_string_literal: true\n\nFactoryBot.define do\n{}end\n", blocks.join("\n"))
}

/// The file with a factory added, or traits added to the factory that is there. `None` if there is no place for them.
pub(crate) fn extended(
    file: &str,
    definition: &FactoryDefinition,
    quotes: Quotes,
) -> Option<String> {
    let place = if definition.attributes.is_some() {
        find_block(file, &|call| {
            matches!(
                call.receiver().map(|one| text(&one)).as_deref(),
                Some("FactoryBot" | "::FactoryBot")
            ) && name(call) == "define"
        })?
    } else {
        find_block(file, &|call| {
            name(call) == "factory"
                && call.receiver().is_none()
                && arguments(call).first().and_then(plain).as_deref() == Some(&definition.factory)
        })?
    };
    let indent = format!("{}  ", place.indent);
    let addition = if definition.attributes.is_some() {
        factory_text(definition, quotes, &indent)
    } else {
        traits_text(&definition.traits, quotes, &indent)
    };
    let blank = if place.is_empty { "" } else { "\n" };
    let mut added = format!("{blank}{addition}");
    if file.contains("\r\n") {
        added = added.replace('\n', "\r\n");
    }
    Some(format!("{}{added}{}", &file[..place.end_line], &file[place.end_line..]))
}

fn factory_text(definition: &FactoryDefinition, quotes: Quotes, indent: &str) -> String {
    let usual = proctor_ruby::constant_for(&definition.factory) == definition.class;
    let class = if usual {
        String::new()
    } else {
        format!(", class: {}", quotes.written(&proctor_ruby::string_code(&definition.class)))
    };
    let inner = format!("{indent}  ");
    let attributes = definition.attributes.iter().flatten();
    let lines: String =
        attributes.map(|line| format!("{inner}{}\n", attribute_text(line, quotes))).collect();
    let traits = traits_text(&definition.traits, quotes, &inner);
    let blank = if lines.is_empty() || traits.is_empty() { "" } else { "\n" };
    format!(
        "{indent}factory :{}{class} do\n{lines}{blank}{traits}{indent}end\n",
        definition.factory
    )
}

fn traits_text(traits: &[TraitDefinition], quotes: Quotes, indent: &str) -> String {
    let blocks: Vec<String> = traits
        .iter()
        .map(|one| {
            let lines: String = one
                .attributes
                .iter()
                .map(|line| format!("{indent}  {}\n", attribute_text(line, quotes)))
                .collect();
            format!("{indent}trait :{} do\n{lines}{indent}end\n", one.name)
        })
        .collect();
    blocks.join("\n")
}

fn attribute_text(line: &AttributeLine, quotes: Quotes) -> String {
    let code = quotes.written(&line.code);
    match line.kind.as_str() {
        "association" if line.name == line.factory && !RESERVED.contains(&line.name.as_str()) => {
            line.name.clone()
        }
        "association" => format!("association :{}, factory: :{}", line.name, line.factory),
        "sequence" => format!("sequence(:{}) {{ |n| {code} }}", line.name),
        _ if RESERVED.contains(&line.name.as_str()) => {
            format!("add_attribute(:{}) {{ {code} }}", line.name)
        }
        _ => format!("{} {{ {code} }}", line.name),
    }
}

/// Where something can be added at the end of a block.
struct BlockEnd {
    /// Offset of the line on which the block ends.
    end_line: usize,
    indent: String,
    is_empty: bool,
}

/// The first block with `do` and `end` on lines of their own whose call is the one.
fn find_block(file: &str, wanted: &dyn Fn(&CallNode<'_>) -> bool) -> Option<BlockEnd> {
    struct Finder<'a> {
        file: &'a str,
        wanted: &'a dyn Fn(&CallNode<'_>) -> bool,
        found: Option<BlockEnd>,
    }
    impl<'pr> Visit<'pr> for Finder<'_> {
        fn visit_call_node(&mut self, node: &CallNode<'pr>) {
            let block = node.block().and_then(|block| block.as_block_node());
            if let (None, true, Some(block)) = (&self.found, (self.wanted)(node), block) {
                self.found = block_end(self.file, node, &block);
            }
            ruby_prism::visit_call_node(self, node);
        }
    }
    let parsed = ruby_prism::parse(file.as_bytes());
    if parsed.errors().next().is_some() {
        return None;
    }
    let mut finder = Finder { file, wanted, found: None };
    finder.visit(&parsed.node());
    finder.found
}

fn block_end(file: &str, call: &CallNode<'_>, block: &BlockNode<'_>) -> Option<BlockEnd> {
    let start_of_line = |offset: usize| file[..offset].rfind('\n').map_or(0, |place| place + 1);
    let begin = call.location().start() as usize;
    let end = block.closing_loc().start() as usize;
    let end_line = start_of_line(end);
    let alone = block.opening_loc().as_slice() == b"do" && file[end_line..end].trim().is_empty();
    let indent = &file[start_of_line(begin)..begin];
    (alone && indent.trim().is_empty() && end_line > begin).then(|| BlockEnd {
        end_line,
        indent: indent.to_owned(),
        is_empty: block.body().is_none(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, name: &str, code: &str, factory: &str) -> AttributeLine {
        let [kind, name, code, factory] = [kind, name, code, factory].map(str::to_owned);
        AttributeLine { kind, name, code, factory }
    }

    fn order() -> FactoryDefinition {
        FactoryDefinition {
            class: "Shop::Order".to_owned(),
            factory: "order".to_owned(),
            plural: "orders".to_owned(),
            attributes: Some(vec![
                line("association", "customer", "", "customer"),
                line("association", "seller", "", "user"),
                line("value", "currency", "\"EUR\"", ""),
                line("value", "note", "\"it's\"", ""),
                line("sequence", "number", "\"N#{n}\"", ""),
                line("value", "sequence", "1", ""),
            ]),
            traits: vec![TraitDefinition {
                name: "paid".to_owned(),
                attributes: vec![line("value", "status", ":paid", "")],
            }],
        }
    }

    #[test]
    fn a_new_file() {
        insta::assert_snapshot!(new_file(&[&order()], Quotes::Single), @r#"
        # frozen_string_literal: true

        FactoryBot.define do
          factory :order, class: 'Shop::Order' do
            customer
            association :seller, factory: :user
            currency { 'EUR' }
            note { "it's" }
            sequence(:number) { |n| "N#{n}" }
            add_attribute(:sequence) { 1 }

            trait :paid do
              status { :paid }
            end
          end
        end
        "#);
    }

    /// Comments, odd indentation, windows line ends and a missing last line break are the user's.
    #[test]
    fn what_people_wrote_stays_byte_for_byte() {
        let traits = FactoryDefinition { attributes: None, ..order() };
        for file in [
            "# mine\nFactoryBot.define do\n   factory :order do # odd\n      total { 1 }\n   end\nend # last",
            "FactoryBot.define do\r\n  factory :order do\r\n    total { 1 }\r\n  end\r\nend\r\n",
            "FactoryBot.define do\n  factory :order do\n  end\n\n  factory(:other) { a { 1 } }\nend\n",
        ] {
            for definition in [&traits, &order()] {
                let changed = extended(file, definition, Quotes::Double).unwrap();
                let parsed = ruby_prism::parse(changed.as_bytes());
                assert!(parsed.errors().next().is_none(), "{changed}");
                let added = changed.len() - file.len();
                let start = changed.bytes().zip(file.bytes()).take_while(|(a, b)| a == b).count();
                let kept = (0..=start)
                    .any(|at| changed[..at] == file[..at] && changed[at + added..] == file[at..]);
                assert!(kept, "{changed}");
                assert_eq!(file.contains("\r\n"), !changed.replace("\r\n", "").contains('\n'));
            }
        }
    }

    #[test]
    fn where_there_is_no_place_nothing_is_written() {
        let traits = FactoryDefinition { attributes: None, ..order() };
        for file in [
            "FactoryBot.define { factory(:order) { total { 1 } } }\n",
            "FactoryBot.define do\n  factory :other do\n  end\nend\n",
            "FactoryBot.define do\n  factory :order do\n",
        ] {
            assert_eq!(extended(file, &traits, Quotes::Single), None, "{file}");
        }
    }
}
