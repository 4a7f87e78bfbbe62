//! Which examples run: paths, lines, ids, text, tags, shards, earlier failures; and `proctor list`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::env::TestEnv;

const CART: &str = r#"RSpec.describe "Cart" do
  it("adds") { expect(1).to eq(1) }
  it("removes", :slow) { expect(1).to eq(1) }
  context "empty" do
    it("is free") { expect(1).to eq(1) }
    it("breaks", level: 3) { raise "broken" unless File.exist?("fixed") }
  end
end
"#;

const USER: &str = r#"RSpec.describe "User" do
  it("has a name") { expect(1).to eq(1) }
  2.times { it("twice") { expect(1).to eq(1) } }
end
"#;

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("spec/cart_spec.rb", CART);
    env.write("spec/models/user_spec.rb", USER);
    env
}

/// What a run started, sorted; and its exit code.
fn ran(env: &TestEnv, arguments: &[&str]) -> (Vec<String>, Option<i32>) {
    let mut all = vec!["run", "-w", "2"];
    all.extend(arguments);
    let ran = env.run(&all);
    let mut started = env.recorded().started();
    started.sort();
    (started, ran.code)
}

fn titles(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn listed(env: &TestEnv, arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["list", "--format", "json"];
    all.extend(arguments);
    let ran = env.run(&all);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error} {}", ran.terminal()))
}

fn ids(examples: &[Value]) -> BTreeSet<String> {
    examples.iter().map(|example| example["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn by_file_line_id_and_folder() {
    let env = project();
    let all = ran(&env, &[]);
    assert_eq!(all.0.len(), 7);
    assert_eq!(all.1, Some(1));
    assert_eq!(ran(&env, &["spec/cart_spec.rb:3"]), (titles(&["Cart removes"]), Some(0)));
    assert_eq!(
        ran(&env, &["spec/cart_spec.rb:4"]),
        (titles(&["Cart empty breaks", "Cart empty is free"]), Some(1))
    );
    assert_eq!(ran(&env, &["spec/cart_spec.rb[1:2]"]), (titles(&["Cart removes"]), Some(0)));
    assert_eq!(
        ran(&env, &["./spec/cart_spec.rb[1:1,1:3:1]"]),
        (titles(&["Cart adds", "Cart empty is free"]), Some(0))
    );
    let user = titles(&["User has a name", "User twice", "User twice"]);
    assert_eq!(ran(&env, &["spec/models"]), (user.clone(), Some(0)));
    assert_eq!(ran(&env, &["spec/models/"]), (user.clone(), Some(0)));
    let absolute = env.project.join("spec/models/user_spec.rb");
    assert_eq!(ran(&env, &[absolute.to_str().unwrap()]), (user, Some(0)));
}

#[test]
fn by_text_regex_and_tag() {
    let env = project();
    assert_eq!(ran(&env, &["-e", "Cart adds"]), (titles(&["Cart adds"]), Some(0)));
    assert_eq!(
        ran(&env, &["-e", "adds", "-e", "has a"]),
        (titles(&["Cart adds", "User has a name"]), Some(0))
    );
    assert_eq!(
        ran(&env, &["-e", "/^Cart (a|r)/"]),
        (titles(&["Cart adds", "Cart removes"]), Some(0))
    );
    assert_eq!(ran(&env, &["--tag", "slow"]), (titles(&["Cart removes"]), Some(0)));
    assert_eq!(ran(&env, &["--tag", "level:3"]), (titles(&["Cart empty breaks"]), Some(1)));
    let (without, _) = ran(&env, &["--tag", "~slow", "spec/cart_spec.rb"]);
    assert_eq!(without, titles(&["Cart adds", "Cart empty breaks", "Cart empty is free"]));
}

#[test]
fn focus_is_honoured_where_the_project_asks_for_it() {
    let env = TestEnv::with_fixture("focus");
    let (started, code) = ran(&env, &[]);
    assert_eq!(
        started,
        titles(&["focus a chosen group comes along", "focus is chosen", "focus same"])
    );
    assert_eq!(code, Some(1));
}

#[test]
fn by_stable_id_and_its_beginning() {
    let env = project();
    let examples = listed(&env, &[]);
    let adds = examples.iter().find(|each| each["description"] == "adds").unwrap();
    let id = adds["id"].as_str().unwrap();
    assert_eq!(ran(&env, &["--stable-id", id]), (titles(&["Cart adds"]), Some(0)));
    assert_eq!(ran(&env, &["--stable-id", &id[..8]]), (titles(&["Cart adds"]), Some(0)));
    // The same id whatever else is chosen, and from whichever path.
    assert_eq!(ids(&listed(&env, &["spec/cart_spec.rb:2"])), BTreeSet::from([id.to_owned()]));
}

#[test]
fn duplicates_are_told_apart_whatever_is_selected() {
    let env = project();
    let twice = listed(&env, &["-e", "twice"]);
    assert_eq!((twice.len(), ids(&twice).len()), (2, 2));
    let second = listed(&env, &["spec/models/user_spec.rb[1:3]"]);
    assert_eq!(second.len(), 1);
    assert_eq!(second[0]["id"], twice[1]["id"], "its number is counted before any filter");
    let id = second[0]["id"].as_str().unwrap();
    assert_eq!(ran(&env, &["--stable-id", id]).0.len(), 1);
}

#[test]
fn only_what_failed_last_time() {
    let env = project();
    let early = env.run(&["run", "--only-failures"]);
    assert_eq!(early.code, Some(2), "{}", early.terminal());
    assert!(early.stderr.contains("earlier run"), "{}", early.terminal());
    ran(&env, &[]);
    assert_eq!(ran(&env, &["--only-failures"]), (titles(&["Cart empty breaks"]), Some(1)));
    env.write("fixed", "");
    assert_eq!(ran(&env, &["--only-failures"]), (titles(&["Cart empty breaks"]), Some(0)));
    assert_eq!(ran(&env, &["--only-failures"]), (titles(&[]), Some(2)));
    assert_eq!(ran(&env, &["--only-failures", "--allow-empty"]), (titles(&[]), Some(0)));
}

#[test]
fn a_crash_is_among_the_failures_of_last_time() {
    let env = TestEnv::with_fixture("crashes");
    ran(&env, &["--timeout", "1s"]);
    let failed: BTreeSet<String> = env
        .recorded()
        .finals()
        .into_iter()
        .filter(|(_, ended)| ended.status != "passed")
        .map(|(title, _)| title)
        .collect();
    let again = listed(&env, &["--only-failures"]);
    let titles: BTreeSet<String> = again
        .iter()
        .map(|example| example["full_description"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(titles, failed);
    assert!(failed.contains("crash in a hook never starts"));
}

#[test]
fn shards_are_disjoint_complete_and_the_same_every_time() {
    let env = TestEnv::with_fixture("broad");
    let all = ids(&listed(&env, &[]));
    let mut seen = BTreeSet::new();
    for part in ["1/3", "2/3", "3/3"] {
        let mine = ids(&listed(&env, &["--shard", part]));
        assert_eq!(mine, ids(&listed(&env, &["--shard", part])));
        assert!(mine.len() * 4 > all.len(), "{part} has {} of {}", mine.len(), all.len());
        assert!(seen.is_disjoint(&mine));
        seen.extend(mine);
    }
    assert_eq!(seen, all);
    let _ = env.run(&["run", "--shard", "2/3"]);
    let ran: BTreeSet<String> = env.recorded().starts().keys().map(|id| (*id).to_owned()).collect();
    assert_eq!(ran, ids(&listed(&env, &["--shard", "2/3"])));
    for wrong in ["0/3", "4/3", "1", "1/0", "a/b"] {
        assert_eq!(env.run(&["run", "--shard", wrong]).code, Some(2), "{wrong}");
    }
}

#[test]
fn a_list_names_what_a_run_runs() {
    let env = project();
    let examples = listed(&env, &[]);
    let _ = env.run(&["run"]);
    let recorded = env.recorded();
    let ran: BTreeSet<String> = recorded.starts().keys().map(|id| (*id).to_owned()).collect();
    assert_eq!(ids(&examples), ran);
    assert_eq!(ids(&listed(&env, &["--no-preload"])), ran);
    let text = env.run(&["list"]);
    assert_eq!(text.code, Some(0));
    assert_eq!(text.stdout.lines().count(), 7);
    let first = &examples[0];
    let line = format!("{}  ./spec/cart_spec.rb:2  Cart > adds", first["id"].as_str().unwrap());
    assert_eq!(text.stdout.lines().next(), Some(&*line));
    assert_eq!(first["file"], "./spec/cart_spec.rb");
    assert_eq!(first["path"], serde_json::json!(["Cart", "adds"]));
    env.assert_no_process_left();
}

#[test]
fn paths_are_seen_from_the_folder_one_stands_in() {
    let env = project();
    let from = |folder: &str, arguments: &[&str]| {
        let output = env
            .command()
            .current_dir(env.project.join(folder))
            .args(["run", "-w", "2"])
            .args(arguments)
            .output()
            .unwrap();
        let ran = env.ran(&output);
        let mut started = env.recorded().started();
        started.sort();
        (started, ran.code)
    };
    assert_eq!(from("spec", &["cart_spec.rb:2"]), (titles(&["Cart adds"]), Some(0)));
    assert_eq!(from("spec", &["models"]).0.len(), 3);
    assert_eq!(from("spec/models", &["user_spec.rb[1:1]"]).0, titles(&["User has a name"]));
    assert_eq!(from("spec/models", &["../cart_spec.rb:2"]).0, titles(&["Cart adds"]));
    assert_eq!(from("spec/models", &["."]).0.len(), 3);
    assert_eq!(from("spec/models", &[]).0.len(), 7, "without paths the project's own");
}

#[test]
fn finding_nothing_is_not_success() {
    let env = project();
    let none = env.run(&["run", "-e", "no such example"]);
    assert_eq!(none.code, Some(2), "{}", none.terminal());
    assert!(none.stderr.contains("no example"), "{}", none.terminal());
    let allowed = env.run(&["run", "-e", "no such example", "--allow-empty"]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.terminal());
    let missing = env.run(&["run", "spec/no_such_spec.rb"]);
    assert_eq!(missing.code, Some(2), "{}", missing.terminal());
    assert!(missing.terminal().contains("no_such_spec.rb"), "{}", missing.terminal());
    assert_eq!(env.run(&["list", "-e", "no such example"]).code, Some(2));
    let empty = TestEnv::new();
    let nothing = empty.run(&["run"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.terminal());
}

#[test]
fn the_configuration_gives_paths_and_the_number_of_workers() {
    let env = project();
    env.write("proctor.toml", "[run]\npaths = [\"spec/models\"]\nworkers = 3\n");
    let (started, code) = {
        let ran = env.run(&["run"]);
        (env.recorded().started(), ran.code)
    };
    assert_eq!((started.len(), code), (3, Some(0)));
    let recorded = env.recorded();
    assert_eq!(recorded.of("SuiteStarted").next().unwrap()["workers"], 3);
}

const COUNTED: &str = r#"
Proctor.after_fork { |slot| File.open("forks", "a") { |file| file.puts(slot) } } if defined?(Proctor)
RSpec.describe("counted") do
  2.times { |n| it("runs #{n}") { File.write("/dev/stdout", "by name\n") } }
end
"#;

#[test]
fn no_more_workers_are_forked_than_there_is_work_for() {
    let env = TestEnv::with_spec(COUNTED);
    let listed = env.run(&["list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.terminal());
    assert!(!env.project.join("forks").exists(), "nothing is forked to list examples");
    let ran = env.run(&["run", "-w", "8"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let mut slots: Vec<String> = env.read("forks").lines().map(str::to_owned).collect();
    slots.sort();
    assert_eq!(slots, ["0", "1"]);
    assert_eq!(env.recorded().output("runs 1", "stdout"), ["by name"]);
}

#[test]
fn a_worker_that_ends_while_the_list_is_made_is_missed_by_nobody() {
    let many: String = (0..2000).map(|n| format!("it('runs {n}') {{}}\n")).collect();
    let env = TestEnv::with_spec(&format!(
        "Proctor.after_fork {{ Process.exit!(3) if ENV['PROCTOR_GENERATION'] == '1' }} if defined?(Proctor)\nRSpec.describe('many') {{\n{many}}}\n"
    ));
    let ran = env.run(&["run", "-w", "2", "--ui", "quiet"]);
    assert!(ran.stdout.contains("2000 passed"), "{}", ran.terminal());
}

#[test]
fn a_path_that_leads_nowhere_is_named_and_nothing_is_loaded() {
    let env = TestEnv::with_spec("RSpec.describe(1) { it('is') { expect(1).to eq(1) } }\n");
    for path in ["spec/nope_spec.rb", "spec/nope_spec.rb:3", "spec/nope_spec.rb[1:1]", "nope"] {
        let ran = env.run(&["run", path]);
        assert_eq!(ran.code, Some(2), "{path}: {}", ran.terminal());
        assert!(
            ran.stderr.contains(&format!("there is no file or folder `{path}`")),
            "{}",
            ran.stderr
        );
        assert!(!ran.terminal().contains("LoadError"), "{}", ran.terminal());
    }
    for path in [
        "spec",
        "spec/a_spec.rb",
        "spec/a_spec.rb:1",
        "spec/a_spec.rb[1:1]",
        "./spec/a_spec.rb:1:2",
    ] {
        assert_eq!(env.run(&["run", path]).code, Some(0), "{path}");
    }
}
