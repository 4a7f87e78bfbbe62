//! The reviewer's precision and recall on specs with seeded violations and on clean ones.
//!
//! A violation is marked where it stands: `# !3 !15` at the end of a line. The fixtures were written before the checker
//! was run on them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proctor_cover::review::branches::BRANCH_RULES;
use proctor_cover::review::fix::fix;
use proctor_cover::review::rules::{RULES, check};

type Place = (String, u32, u32);

fn folder(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules").join(name);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn expected(name: &str, text: &str) -> BTreeSet<Place> {
    let mut all = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((_, marks)) = line.split_once("# !") else { continue };
        for mark in marks.split_whitespace() {
            all.insert((name.to_owned(), number, mark.trim_start_matches('!').parse().unwrap()));
        }
    }
    all
}

fn found(name: &str, text: &str) -> BTreeSet<Place> {
    let path = format!("spec/{name}");
    check(&path, text).iter().map(|one| (name.to_owned(), one.line, one.rule)).collect()
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn seeded_violations_are_found_and_nothing_else() {
    let (mut hits, mut wrong, mut missed) = (0, Vec::new(), Vec::new());
    for (name, text) in folder("seeded").into_iter().chain(folder("clean")) {
        let (expected, found) = (expected(&name, &text), found(&name, &text));
        hits += expected.intersection(&found).count();
        wrong.extend(found.difference(&expected).cloned());
        missed.extend(expected.difference(&found).cloned());
    }
    let precision = hits as f64 / (hits + wrong.len()) as f64;
    let recall = hits as f64 / (hits + missed.len()) as f64;
    let figures = format!(
        "hits {hits}, precision {precision:.3}, recall {recall:.3}, wrong {wrong:?}, missed {missed:?}"
    );
    assert!(hits >= 80, "{figures}");
    assert!(precision >= 0.95, "{figures}");
    assert!(recall >= 0.9, "{figures}");
}

#[test]
fn clean_specs_have_no_findings() {
    for (name, text) in folder("clean") {
        assert_eq!(found(&name, &text), BTreeSet::new(), "{name}");
    }
}

#[test]
fn every_rule_of_the_list_is_seeded_and_documented() {
    let seeded: BTreeSet<u32> = folder("seeded")
        .iter()
        .flat_map(|(name, text)| expected(name, text))
        .map(|(_, _, rule)| rule)
        .collect();
    let listed: BTreeSet<u32> = RULES.iter().map(|(number, _)| *number).collect();
    assert_eq!(seeded, listed);
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cover.md"))
            .unwrap();
    for (number, words) in RULES.iter().chain(BRANCH_RULES) {
        assert!(page.contains(&format!("| {number} | {words}")), "rule {number} in docs/cover.md");
    }
}

#[test]
fn repairs_leave_fewer_findings_and_the_same_expectations() {
    let demands = |text: &str| {
        let mut all: Vec<String> = text
            .lines()
            .filter(|line| line.contains("expect"))
            .map(|line| line.trim().to_owned())
            .collect();
        all.retain(|line| !line.starts_with("it ") && !line.starts_with("it("));
        all.sort();
        all
    };
    let mut repaired = 0;
    for (name, text) in folder("seeded") {
        let fixed = fix(&name, &text);
        if fixed.applied.is_empty() {
            continue;
        }
        repaired += fixed.applied.len();
        assert!(check(&name, &fixed.text).len() < check(&name, &text).len(), "{name}");
        assert_eq!(demands(&text), demands(&fixed.text), "{name}");
        assert!(
            fix(&name, &fixed.text).applied.is_empty(),
            "{name} is repaired at once\n{}",
            fixed.text
        );
    }
    assert!(repaired >= 25, "{repaired}");
    for (name, text) in folder("clean") {
        assert_eq!(fix(&name, &text).text, text, "{name}");
    }
}

#[test]
fn a_repair_says_the_same_in_better_words_and_order() {
    let text = "\
RSpec.describe Cart do
  # Nothing to pay.
  context \"when it is empty\" do
    it \"should raise an error\" do
      expect { Cart.new.pay }.to raise_error(Cart::Empty)
    end
  end

  fcontext \"if it is full\" do
    it \"Pays.\" do
      expect(Cart.new(1).pay).to eq(1)
    end
  end
end
";
    let fixed = fix("spec/cart_spec.rb", text);
    insta::assert_snapshot!(fixed.text, @r#"
    RSpec.describe Cart do
      context "when it is full" do
        it "pays" do
          expect(Cart.new(1).pay).to eq(1)
        end
      end

      # Nothing to pay.
      context "when it is empty" do
        it "raises an error" do
          expect { Cart.new.pay }.to raise_error(Cart::Empty)
        end
      end
    end
    "#);
    let rules: Vec<u32> = fixed.applied.iter().map(|one| one.rule).collect();
    assert_eq!(rules, [7, 19, 20, 28, 17]);
}
