//! `proctor cover` from outside: a run like any other, tools for agents, models that fill what is left.

use serde_json::{Value, json};

use crate::env::TestEnv;

/// The word that opens it cannot be found by trying.
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

fn vault() -> TestEnv {
    let env = TestEnv::new();
    env.write("lib/vault.rb", VAULT);
    env
}

impl TestEnv {
    fn called(&self, name: &str, parameters: &Value) -> Result<Value, Value> {
        let ran = self.run(&["tool", name, &parameters.to_string()]);
        match ran.code {
            Some(0) => Ok(serde_json::from_str(&ran.stdout).unwrap()),
            _ => Err(serde_json::from_str::<Value>(&ran.stderr).unwrap()["error"].clone()),
        }
    }

    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.events_path().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn a_cover_run_is_recorded_shown_and_filled_by_an_agent() {
    let env = vault();
    let early = env.called("cover_plan", &json!({})).unwrap_err();
    assert_eq!(early["kind"], "refused");
    assert!(early["hints"][0].as_str().unwrap().contains("proctor cover"), "{early}");
    let ran = env.run(&[
        "cover",
        "all",
        "--yes",
        "--effort",
        "5",
        "--progress",
        "--html",
        "out.html",
        "--json",
        "out.json",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("pending: Vault#open"), "{}", ran.stdout);
    for stage in ["discover", "analyze", "isolate", "architect", "factories", "implement", "review"]
    {
        assert!(ran.stderr.contains(&format!("{stage:<9} ")), "{stage} in {}", ran.stderr);
    }
    assert!(env.read("out.html").contains("Vault#open"));
    let report: Value = serde_json::from_str(&env.read("out.json")).unwrap();
    assert_eq!(report["totals"]["pending"], 1, "{report}");

    // The run is there for every view.
    env.assert_complete();
    let events = env.lines();
    let of =
        |kind: &str| events.iter().filter(|event| event["event_type"] == kind).collect::<Vec<_>>();
    let stages: Vec<&Value> =
        of("ExampleStarted").into_iter().filter(|event| event["suite"] == "cover").collect();
    assert_eq!(stages.len(), 7, "each stage is an example");
    let specs = of("ExampleStarted").into_iter().filter(|event| event["suite"] == "rspec");
    assert!(specs.count() >= 2, "our own runner ran the specs");
    assert_eq!((of("SuiteStarted").len(), of("SuiteFinished").len()), (1, 1));
    assert_eq!(of("SuiteFinished")[0]["exit_code"], 0);
    assert!(env.run(&["runs"]).stdout.contains("cover"), "{}", env.run(&["runs"]).stdout);
    let shown = env.run(&["show", "last"]);
    assert!(shown.code == Some(0) && shown.stdout.contains("review"), "{}", shown.terminal());
    assert!(!env.events_path().unwrap().with_file_name("control.sock").exists());

    // An agent fills what is left.
    let left = env.called("cover_plan", &json!({ "limit": 1 })).unwrap();
    assert_eq!((&left["total"], &left["next"]), (&json!(1), &Value::Null), "{left}");
    let item = &left["items"][0];
    let id = item["id"].clone();
    assert!(item["missing"].as_str().unwrap().contains("a value for `word` such that"), "{left}");
    assert_eq!((&item["required"], &item["details"]), (&json!(["word"]), &Value::Null), "{left}");
    assert!(item.to_string().len() < 500, "a few words: {item}");
    let detailed = env.called("cover_plan", &json!({ "details": true })).unwrap();
    assert_eq!(detailed["items"][0]["details"]["conditions"][0]["lines"], "7-11", "{detailed}");
    let wrong = env.called("cover_submit", &json!({ "id": id, "body": "expect(described_class.new.open(\"a\")).to eq({ state: :closed })" })).unwrap_err();
    assert_eq!(
        (&wrong["kind"], &wrong["details"]["reason"]),
        (&json!("refused"), &json!("path")),
        "{wrong}"
    );
    let unknown = env.called("cover_submit", &json!({ "id": "none", "body": GOOD })).unwrap_err();
    assert_eq!(unknown["details"]["reason"], "unknown");
    let values = json!({ "word": "\"open sesame 7\"" });
    let kept = env
        .called(
            "cover_submit",
            &json!({ "id": id, "values": values, "description": "opens with the right word" }),
        )
        .unwrap();
    assert_eq!((&kept["kept"], &kept["left"]), (&json!(true), &json!(0)), "{kept}");
    let spec = env.read("spec/vault_spec.rb");
    assert!(spec.contains("opens with the right word") && spec.contains(GOOD), "{spec}");
    assert_eq!(env.called("cover_plan", &json!({})).unwrap()["total"], 0);
    let passed = env.run(&["run", "spec/vault_spec.rb"]);
    assert_eq!(passed.code, Some(0), "{}", passed.terminal());
    env.assert_no_process_left();
}

#[test]
fn models_of_the_project_fill_what_is_left_and_can_be_replayed() {
    let env = vault();
    let good = json!({ "description": "opens", "body": GOOD }).to_string();
    let bad =
        json!({ "body": "expect(described_class.new.open(\"a\")).to eq({ state: :closed })" })
            .to_string();
    let script = format!(
        "[models.writer]\nscript = [{{ say = [{bad:?}, {good:?}] }}]\n[models.shell]\ncommand = [\"sh\", \"answer.sh\"]\n"
    );
    env.write("proctor.toml", &script);
    env.write("answer.sh", &format!("cat > asked.txt\ncat <<'END'\n{good}\nEND\n"));
    let unknown = env.run(&["cover", "all", "--yes", "--model", "nobody"]);
    assert!(
        unknown.code == Some(2) && unknown.stderr.contains("there are: shell, writer"),
        "{}",
        unknown.terminal()
    );
    let ran = env.run(&[
        "cover",
        "all",
        "--yes",
        "--effort",
        "5",
        "--model",
        "writer",
        "--record",
        "tape.jsonl",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(
        ran.stdout.contains("1 filled in") && !ran.stdout.contains("pending:"),
        "{}",
        ran.stdout
    );
    let calls = env
        .lines()
        .into_iter()
        .filter(|event| event["event_type"] == "ModelCall")
        .collect::<Vec<_>>();
    assert_eq!(calls.len(), 2, "one answer was refused");
    assert_eq!((&calls[0]["purpose"], &calls[0]["backend"]), (&json!("cover"), &json!("scripted")));
    env.assert_complete();
    let first = env.read("spec/vault_spec.rb");
    assert!(first.contains(GOOD), "{first}");

    let fresh = || {
        std::fs::remove_dir_all(env.project.join("spec")).unwrap();
        std::fs::remove_dir_all(env.project.join("tmp")).unwrap();
    };
    fresh();
    let replayed = env.run(&[
        "cover",
        "all",
        "--yes",
        "--effort",
        "5",
        "--model",
        "writer",
        "--replay",
        "tape.jsonl",
    ]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.terminal());
    assert_eq!(env.read("spec/vault_spec.rb"), first, "the same answers, the same spec");
    fresh();
    let shell = env.run(&["cover", "all", "--yes", "--effort", "5", "--model", "shell"]);
    assert_eq!(shell.code, Some(0), "{}", shell.terminal());
    assert!(env.read("spec/vault_spec.rb").contains(GOOD));
    let asked = env.read("asked.txt");
    assert!(asked.contains("Vault#open") && asked.contains("Path: "), "{asked}");
}

#[test]
fn selection_answers_formats_and_mistakes() {
    let env = vault();
    env.write("lib/other.rb", "class Other\n  def twice(n)\n    n * 2\n  end\nend\n");
    let asked = env.run(&["cover", "all"]);
    assert!(
        asked.code == Some(2) && asked.stderr.contains("--answers FILE"),
        "{}",
        asked.terminal()
    );
    env.write("answers.yml", "select: cancel\n");
    let cancelled = env.run(&["cover", "all", "--answers", "answers.yml", "--format", "yaml"]);
    assert_eq!(cancelled.code, Some(2));
    assert!(cancelled.stdout.contains("reason: user_cancelled"), "{}", cancelled.stdout);
    env.write("answers.yml", "only: ['Other#*']\ninstruction: the rest is later\n");
    let static_only = env.run(&[
        "cover",
        "all",
        "--answers",
        "answers.yml",
        "--stage",
        "discover",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_str(&static_only.stdout).unwrap();
    let summary = &report["answers"]["discover"]["summary"];
    assert_eq!(
        (&summary["total_methods"], &summary["selected_methods"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    let yaml = env.run(&["cover", "lib/other.rb", "--stage", "analyze", "--format", "yaml"]);
    assert!(yaml.code == Some(0) && yaml.stdout.contains("slug: lib_other"), "{}", yaml.terminal());
    assert!(!env.project.join("spec").exists(), "nothing was executed or written");
    let later =
        env.run(&["cover", "lib/vault.rb", "--from", "review", "--yes", "--format", "yaml"]);
    assert_eq!(later.code, Some(2));
    assert!(
        later.stdout.contains("status: error") && later.stdout.contains("suggestion:"),
        "{}",
        later.stdout
    );
    let stage = env.run(&["cover", "all", "--stage", "polish", "--yes"]);
    assert!(
        stage
            .stderr
            .contains("discover, analyze, isolate, architect, factories, implement, review"),
        "{}",
        stage.stderr
    );
    let branch = env.run(&["cover", "--yes"]);
    assert!(
        branch.code == Some(2) && branch.stderr.contains("not a git repository"),
        "{}",
        branch.terminal()
    );
}

#[test]
fn the_review_runs_specs_with_our_runner_and_repairs_what_is_safe() {
    let env = TestEnv::new();
    env.write("lib/other.rb", "class Other\n  def twice(n)\n    n * 2\n  end\nend\n");
    env.write(
        "spec/other_spec.rb",
        "require \"other\"\n\nRSpec.describe Other do\n  it \"should double\" do\n    expect(described_class.new.twice(2)).to eq(4)\n  end\nend\n",
    );
    let ran = env.run(&["cover", "all", "--yes", "--effort", "3", "--fix"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(ran.stdout.contains("repaired: rule 19"), "{}", ran.stdout);
    let spec = env.read("spec/other_spec.rb");
    assert!(spec.contains("it \"doubles\" do") || spec.contains("it \"double\" do"), "{spec}");
    assert!(env.run(&["cover", "all", "--yes"]).stdout.contains("unchanged since the last run"));
    // A spec that fails is found by our runner, with its place.
    let broken = spec.replace("to eq(4)", "to eq(5)");
    env.write("spec/other_spec.rb", &broken);
    let ran = env.run(&["cover", "all", "--yes", "--effort", "3"]);
    assert!(ran.stdout.contains("spec/other_spec.rb:4 failed"), "{}", ran.terminal());
    let failed: Vec<Value> = env
        .lines()
        .into_iter()
        .filter(|event| event["event_type"] == "ExampleFinished" && event["status"] == "failed")
        .collect();
    assert!(failed.len() >= 2, "the example and the review: {failed:?}");
    env.assert_no_process_left();
}

#[test]
fn an_interrupted_run_ends_in_order_and_the_next_goes_on() {
    let env = vault();
    let mut child = env.spawn(&["cover", "all", "--yes", "--effort", "5"]);
    env.wait_for("the implementation", |recorded| {
        recorded.of("ExampleStarted").any(|event| event["description"] == "implement")
    });
    crate::env::signal(&child, rustix::process::Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    env.assert_complete();
    let finished = env.lines().into_iter().find(|event| event["event_type"] == "SuiteFinished");
    assert_eq!(finished.unwrap()["exit_code"], 130);
    let ran = env.run(&["cover", "all", "--yes", "--effort", "5"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.assert_no_process_left();
}
