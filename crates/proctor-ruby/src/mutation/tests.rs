use super::*;

/// Each mutant as `line operator: changed line`.
fn shown(source: &str) -> Vec<String> {
    let file = file_mutants(source.as_bytes()).unwrap();
    let show = |mutant: &SourceMutant| {
        let changed = String::from_utf8(mutant.apply(source.as_bytes())).unwrap();
        let line = changed.lines().nth(mutant.line as usize - 1).unwrap_or_default();
        format!("{} {}: {}", mutant.line, mutant.operator, line.trim())
    };
    file.mutants.iter().map(show).collect()
}

#[test]
fn conditions_operators_literals_returns_and_exceptions_are_changed() {
    let found = shown(
        "def a(n)\n  return nil if n < 10 && n != 2\n  raise ArgumentError, 'x'\nrescue KeyError\n  n.b(1, 2)\nend\n",
    );
    for expected in [
        "2 exchange operator: return nil if n <= 10 && n != 2",
        "2 exchange operator: return nil if n < 10 || n != 2",
        "2 exchange operator: return nil if n < 10 && n == 2",
        "2 drop condition: return nil if (n < 10)",
        "2 negate condition: return nil if !(n < 10 && n != 2)",
        "2 force condition: return nil if false",
        "2 change number: return nil if n < 11 && n != 2",
        "2 change nil: return true if n < 10 && n != 2",
        "2 remove return: (nil) if n < 10 && n != 2",
        "3 remove raise: nil",
        "3 change string: raise ArgumentError, \"\"",
        "4 change rescue: rescue NoMemoryError",
        "5 drop call: (n)",
        "5 drop argument: n.b(1)",
        "5 remove statement: nil",
    ] {
        assert!(found.iter().any(|it| it == expected), "{expected}\n{}", found.join("\n"));
    }
}

#[test]
fn heredocs_comments_requires_and_labels_stay() {
    let found =
        shown("require 'a'\ndef a\n  b(<<~X, 1)\n    hello \"you\"\n  X\n  c(d: 1) # == 2\nend\n");
    assert!(found.iter().all(|it| !it.starts_with("1 ") && !it.starts_with("4 ")), "{found:?}");
    assert!(found.iter().all(|it| !it.contains("remove statement: nil, 1")), "{found:?}");
    assert!(found.iter().any(|it| it == "3 change number: b(<<~X, 2)"), "{found:?}");
    assert!(!found.iter().any(|it| it.starts_with("3 remove")), "{found:?}");
}

#[test]
fn no_two_mutants_make_the_same_file_and_all_parse() {
    let source = "class A\n  B = [1, :x].freeze\n  def a(x = nil) = x ? !x : (x || -1)\n  def self.b\n    @c ||= {a: 1}\n    while @c\n      break\n    end\n  end\nend\n";
    let file = file_mutants(source.as_bytes()).unwrap();
    let all: Vec<Vec<u8>> = file.mutants.iter().map(|it| it.apply(source.as_bytes())).collect();
    let unique: BTreeSet<&Vec<u8>> = all.iter().collect();
    assert_eq!(all.len(), unique.len());
    assert!(all.iter().all(|it| ruby_prism::parse(it).is_success() && it != source.as_bytes()));
    assert!(all.len() > 15, "{}", all.len());
}

#[test]
fn places_say_how_a_method_can_be_evaluated_again() {
    let source = "module A\n  class B::C < D\n    def self.a = 1\n    private def b = 2\n    memo def c = 3\n    class << self\n      def d = 4\n    end\n    scope :x, -> { 5 }\n    E = 6\n  end\nend\n";
    let file = file_mutants(source.as_bytes()).unwrap();
    let place = |text: &str| {
        let at = source.find(text).unwrap();
        let mutant = file
            .mutants
            .iter()
            .find(|it| it.start as usize == at && it.operator == "change number");
        file.places[mutant.unwrap().place].clone()
    };
    let method = |text: &str| place(text).method.unwrap();
    assert_eq!(method("1\n").nesting, ["module A", "class B::C"]);
    assert_eq!(method("1\n").receiver, Some((4, 9)));
    assert_eq!((method("1\n").obstacle, method("2\n").obstacle), (None, None));
    assert!(method("3\n").obstacle.is_some());
    assert_eq!(method("4\n").nesting, ["module A", "class B::C", "class << self"]);
    assert_eq!(place("5 }"), CodePlace { method: None, in_block: true });
    assert_eq!(place("6\n"), CodePlace { method: None, in_block: false });
}

#[test]
fn a_mark_with_a_reason_sets_its_line_apart() {
    let source = "def a\n  1 # proctor:equivalent nobody reads it\nend\ndef b\n  # proctor:equivalent(change string): logged only\n  x(\"a\", 2)\nend\ndef c\n  3 # proctor:equivalent\nend\n";
    let file = file_mutants(source.as_bytes()).unwrap();
    let marked: Vec<(u32, &str, &str)> = file
        .mutants
        .iter()
        .filter_map(|it| Some((it.line, it.operator.as_str(), it.equivalent.as_deref()?)))
        .collect();
    assert!(marked.contains(&(2, "change number", "nobody reads it")), "{marked:?}");
    assert!(marked.contains(&(6, "change string", "logged only")), "{marked:?}");
    assert!(!marked.iter().any(|it| it.1 != "change string" && it.0 == 6), "{marked:?}");
    assert_eq!(file.mistakes.len(), 1);
    assert_eq!(file.mistakes[0].line, 9);
}

#[test]
fn sources_that_are_not_utf8_keep_their_bytes() {
    let source = b"# encoding: iso-8859-1\ndef a(x)\n  x == '\xe9' ? 1 : 2\nend\n";
    let file = file_mutants(source).unwrap();
    let negated = file.mutants.iter().find(|it| it.operator == "negate condition").unwrap();
    assert!(contains(&negated.apply(source), b"!(x == '\xe9')"));
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[ -~\n]{0,80}") {
        let _ = file_mutants(text.as_bytes());
    }
}
