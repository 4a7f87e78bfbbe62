//! What is left, and the gate: only answers that prove themselves are kept.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use proctor_cover::{
    Answer, FillError, FillRequest, Filler, Helpers, Report, plan, run_with, submit,
};

use crate::{options, project};

/// The word that opens it cannot be found by trying: only its hash is known.
const VAULT: &str = "\
require \"digest\"

class Vault
  KEY = \"7115a8b16c101d6dd7ef7f6bda47398a566b284a7359c2a375c0c888419e0153\"

  def open(word)
    if Digest::SHA256.hexdigest(word) == KEY
      { state: :open, length: word.length }
    else
      { state: :closed }
    end
  end
end
";

const GOOD: &str =
    "expect(described_class.new.open(\"open sesame 7\")).to eq({ state: :open, length: 13 })";

/// Says prepared answers, one after the other.
struct ScriptedFiller {
    answers: RefCell<Vec<&'static str>>,
    asked: RefCell<Vec<Option<&'static str>>>,
}

impl ScriptedFiller {
    fn new(answers: &[&'static str]) -> Self {
        let answers = answers.iter().rev().copied().collect();
        Self { answers: RefCell::new(answers), asked: RefCell::default() }
    }
}

impl Filler for ScriptedFiller {
    fn fill(&self, request: &FillRequest<'_>) -> Result<Answer, FillError> {
        self.asked.borrow_mut().push(request.before.map(|(_, refusal)| refusal.reason));
        let next = self
            .answers
            .borrow_mut()
            .pop()
            .ok_or_else(|| FillError { source: "nothing left to say".into() })?;
        Ok(Answer::body(next))
    }

    fn name(&self) -> String {
        "scripted".to_owned()
    }
}

fn filled(root: &Path, filler: Option<&ScriptedFiller>, again: bool) -> Report {
    let mut options = options(root);
    options.again = again;
    let filler = filler.map(|filler| filler as &dyn Filler);
    let helpers =
        Helpers { on_step: &mut |_| {}, runner: None, filler, fix: false, stopped: &|| false };
    run_with(&options, helpers).unwrap()
}

fn spec(root: &Path) -> String {
    fs::read_to_string(root.join("spec/vault_spec.rb")).unwrap()
}

#[test]
fn a_model_is_asked_again_with_the_reason_until_an_answer_proves_itself() {
    let folder = project(&[("lib/vault.rb", VAULT)]);
    let script = ScriptedFiller::new(&[
        "expect(described_class.new.open(\"x\").to eq(1)",
        "expect(described_class.new.open(\"x\")).to eq({ state: :closed })",
        GOOD,
    ]);
    let report = filled(folder.path(), Some(&script), false);
    assert_eq!(*script.asked.borrow(), [None, Some("parse"), Some("path")]);
    let file = &report.files[0];
    assert_eq!((file.filled, file.pending.len()), (1, 0), "{file:?}");
    assert_eq!(file.after.taken, file.after.branches, "{file:?}");
    let text = spec(folder.path());
    assert!(
        text.contains(GOOD) && text.contains("# Filled in:") && !text.contains("skip '"),
        "{text}"
    );
    // It stays, byte for byte, even when everything is done again without the model.
    assert!(filled(folder.path(), None, false).files[0].cached);
    let again = filled(folder.path(), None, true);
    assert_eq!((again.files[0].kept.len(), again.files[0].filled), (0, 1), "{again:?}");
    assert_eq!(spec(folder.path()), text);
}

#[test]
fn a_model_that_never_proves_itself_leaves_the_situation_open() {
    let folder = project(&[("lib/vault.rb", VAULT)]);
    let vague = "expect(described_class.new.open(\"open sesame 7\")).to be_a(Hash)";
    let script = ScriptedFiller::new(&[
        "expect(described_class.new.open(\"open sesame 7\")).to eq(:wide)",
        vague,
        "File.write(\"mine.txt\", \"x\")\nexpect(described_class.new.open(\"open sesame 7\")).to eq({ state: :open, length: 13 })",
    ]);
    let report = filled(folder.path(), Some(&script), false);
    assert_eq!(*script.asked.borrow(), [None, Some("fails"), Some("fault")]);
    assert_eq!(report.files[0].refused.len(), 3);
    assert!(report.files[0].refused[2].contains("`File.write`"));
    let file = &report.files[0];
    assert_eq!((file.filled, file.pending.len()), (0, 1), "{file:?}");
    assert!(file.refused[0].contains("expected: :wide"), "{file:?}");
    assert!(spec(folder.path()).contains("skip '"));
    assert!(!folder.path().join("mine.txt").exists());
    // Later, another model fills what is left; nothing else is done again.
    let better = ScriptedFiller::new(&[GOOD]);
    let later = filled(folder.path(), Some(&better), false);
    assert_eq!((later.files[0].filled, later.files[0].cached), (1, false), "{later:?}");
    assert!(spec(folder.path()).contains(GOOD));
    assert!(filled(folder.path(), Some(&ScriptedFiller::new(&[])), false).files[0].cached);
}

#[test]
fn an_agent_sees_what_is_left_and_submits_through_the_same_gate() {
    let folder = project(&[("lib/vault.rb", VAULT)]);
    let root = folder.path();
    assert!(plan(root, &[]).unwrap_err().suggestion.contains("proctor cover"));
    filled(root, None, false);
    let left = plan(root, &[]).unwrap();
    assert_eq!((left.items.len(), left.files), (1, 1), "{left:?}");
    let item = &left.items[0];
    assert_eq!((item.method_id.as_str(), item.signature.as_str()), ("Vault#open", "#open(word)"));
    assert_eq!(item.receiver.as_deref(), Some("Vault.new()"));
    assert_eq!(item.conditions.len(), 1, "{item:?}");
    assert_eq!(item.conditions[0].lines, "7-11");
    assert!(item.source.contains("   7     if Digest"), "{}", item.source);
    let line = spec(root).lines().nth(item.line as usize - 1).unwrap().to_owned();
    assert!(line.trim_start().starts_with("it '"), "{line}");
    assert!(plan(root, &["lib/other.rb".to_owned()]).unwrap().items.is_empty());

    let project = proctor_cover::CoveredProject {
        root: root.to_owned(),
        ruby: "ruby".into(),
        launcher: Some(crate::launcher()),
    };
    let give = |body: &str| submit(&project, &item.id, &Answer::body(body));
    let before = spec(root);
    for (body, reason) in [
        ("end\nend", "parse"),
        ("skip \"later\"", "place"),
        ("expect(described_class.new.open(\"open sesame 7\")).to eq(1)", "fails"),
        ("expect(described_class.new.open(\"y\")).to eq({ state: :closed })", "path"),
        ("expect(described_class.new.open(\"open sesame 7\")).not_to be_nil", "fault"),
    ] {
        let refusal = give(body).unwrap_err();
        assert_eq!(refusal.reason, reason, "{refusal:?}");
        assert!(!refusal.message.is_empty() && !refusal.hint.is_empty());
    }
    assert_eq!(spec(root), before, "what is refused leaves no trace");
    let kept = give(GOOD).unwrap();
    assert!(kept.faults_noticed > 0 && kept.left == 0, "{kept:?}");
    assert!(spec(root).contains(GOOD));
    assert!(filled(root, None, false).files[0].cached, "the cache knows the new spec");
    assert_eq!(give(GOOD).unwrap_err().reason, "unknown");
    fs::write(root.join("lib/vault.rb"), VAULT.replace(":closed", ":shut")).unwrap();
    let stale = plan(root, &[]).unwrap();
    assert!(stale.notes[0].contains("changed since it was covered"), "{stale:?}");
    assert_eq!(give(GOOD).unwrap_err().reason, "stale");
}

/// The door asks a keeper whom it cannot make, and a word that only its hash tells.
const DOOR: &str = "\
require \"digest\"

class Door
  class Shut < StandardError; end

  KEY = \"7115a8b16c101d6dd7ef7f6bda47398a566b284a7359c2a375c0c888419e0153\"

  attr_reader :state

  def initialize(keeper)
    @keeper = keeper
    @state = :closed
  end

  def open(word, loudly: false)
    return unless Digest::SHA256.hexdigest(word) == KEY

    raise Shut, \"#{@keeper.name} sleeps\" if @keeper.name == \"Sam\"

    @state = loudly ? :wide : :open
    nil
  end
end
";

#[test]
fn an_agent_supplies_values_and_the_expectation_is_what_the_call_does() {
    let folder = project(&[("lib/door.rb", DOOR)]);
    let root = folder.path();
    filled(root, None, false);
    let spec = || fs::read_to_string(root.join("spec/door_spec.rb")).unwrap();
    let project = proctor_cover::CoveredProject {
        root: root.to_owned(),
        ruby: "ruby".into(),
        launcher: Some(crate::launcher()),
    };
    let open = || plan(root, &[]).unwrap().items;
    let give = |id: &str, pairs: &[(&str, &str)]| {
        let values = pairs.iter().map(|(name, code)| ((*name).into(), (*code).into())).collect();
        submit(&project, id, &Answer { values, ..Answer::default() })
    };
    let keeper = ("keeper", "Struct.new(:name).new(\"Ann\")");
    let word = ("word", "\"open sesame 7\"");
    let first = open().into_iter().find(|item| item.missing.contains("`keeper`")).unwrap();
    assert!(first.missing.starts_with("a value for `keeper` such that"), "{first:?}");
    let before = spec();
    for (pairs, reason, words) in [
        (&[word][..], "values", "keeper"),
        (&[keeper, word, ("key", "1")], "values", "no `key`"),
        (&[keeper, ("word", "\"a\"; 1")], "values", "one expression"),
        (&[keeper, ("word", "File.write(\"mine.txt\", \"x\")")], "place", "File.write"),
        (&[keeper, ("word", "nil")], "values", "by accident: TypeError"),
        (&[keeper, ("word", "\"y\"")], "path", "another path"),
    ] {
        let refused = give(&first.id, pairs).unwrap_err();
        assert_eq!(refused.reason, reason, "{refused:?}");
        assert!(format!("{} {}", refused.message, refused.hint).contains(words), "{refused:?}");
    }
    assert_eq!(spec(), before, "what is refused leaves no trace");
    let both = Answer {
        body: GOOD.to_owned(),
        values: [("word".into(), "1".into())].into(),
        description: None,
    };
    assert_eq!(submit(&project, &first.id, &both).unwrap_err().reason, "values");

    while let Some(item) = open().into_iter().next() {
        let name = if item.missing.contains("`keeper`") { "Sam" } else { "Ann" };
        let keeper = format!("Struct.new(:name).new({name:?})");
        let loudly = item.missing.contains("loudly is present").to_string();
        let pairs = [("keeper", keeper.as_str()), word, ("loudly", &loudly)];
        give(&item.id, &pairs).unwrap_or_else(|refusal| panic!("{item:?}: {refusal:?}"));
    }
    let text = spec();
    for line in [
        "keeper = Struct.new(:name).new(\"Ann\")",
        "object.open(\"open sesame 7\", loudly: true)",
        "expect(object).to have_attributes(state: :wide)",
        ".to raise_error(Door::Shut, \"Sam sleeps\")",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!root.join("mine.txt").exists());
}
