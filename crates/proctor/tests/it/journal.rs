//! `proctor journal` from outside: every subcommand once as it should be, and once refused.

use serde_json::Value;

use crate::env::{Ran, TestEnv};

/// A project with a journal.
pub(crate) struct JournalProject {
    pub(crate) env: TestEnv,
}

pub(crate) const CACHE: &[&str] = &[
    "--domain",
    "debugging",
    "--strategy",
    "check-assumptions",
    "--goal",
    "fix the flaky cache test",
    "--hypothesis",
    "an earlier test leaves its cache behind",
    "--action",
    "clear the cache after every test",
    "--prediction",
    "test_cache passes ten times in random order",
];

impl JournalProject {
    pub(crate) fn new() -> Self {
        Self { env: TestEnv::new() }
    }

    /// Runs `proctor journal …`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.env.run(&[&["journal"], arguments].concat())
    }

    /// Runs it; it must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}\n{}", ran.terminal());
        ran.stdout
    }

    /// Runs it for programs; it must succeed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.ok(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Runs it; it must be refused with these words.
    pub(crate) fn refused(&self, arguments: &[&str], words: &[&str]) {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}\n{}", ran.terminal());
        for word in words {
            assert!(ran.stderr.contains(word), "{word} is not in {}", ran.stderr);
        }
    }

    /// Creates an entry and returns its id.
    pub(crate) fn create(&self, more: &[&str]) -> String {
        let created = self.json(&[&["create"], CACHE, more].concat());
        created["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn entry(&self, id: &str) -> Value {
        self.json(&["show", id])["entry"].clone()
    }
}

#[test]
fn help_of_every_journal_command_teaches_with_an_example() {
    let book = JournalProject::new();
    let all = book.ok(&["--help"]);
    assert!(all.contains("proctor journal run --expect pass"), "{all}");
    for command in [
        "create", "update", "resolve", "abandon", "annotate", "current", "list", "show", "orphan",
        "session", "stats", "search", "timeline", "retro", "export", "import", "doctor", "hook",
        "run",
    ] {
        assert!(all.contains(&format!("\n  {command} ")), "{command} is not in {all}");
        let help = book.ok(&[command, "--help"]);
        assert!(help.contains("Example"), "{command}: {help}");
        assert!(help.contains(&format!("proctor journal {command}")), "{command}: {help}");
    }
}

#[test]
fn create_answers_with_an_id_and_refuses_a_second_entry_by_naming_the_first() {
    let book = JournalProject::new();
    let created = book.ok(&[&["create"], CACHE].concat());
    let id = created.trim().strip_prefix("created ").unwrap().to_owned();
    assert!(book.env.project.join(".claude/journal/current_ghap.json").exists());
    book.refused(
        &[&["create"], CACHE].concat(),
        &[&id, "already active", "proctor journal current", "proctor journal abandon", "--lane"],
    );
    let blank = [&["create"], CACHE, &["--lane", "b", "--goal", " "]].concat();
    assert_eq!(book.run(&blank).code, Some(2), "clap refuses the second --goal");
}

#[test]
fn blank_texts_wrong_words_and_wrong_probabilities_are_refused_with_the_alternatives() {
    let book = JournalProject::new();
    let with = |name: &str, value: &str| {
        let mut arguments: Vec<String> = CACHE.iter().map(ToString::to_string).collect();
        let at = arguments.iter().position(|word| word == name).unwrap();
        arguments[at + 1] = value.to_owned();
        arguments
    };
    let refused = |changed: Vec<String>, words: &[&str]| {
        let arguments: Vec<&str> = changed.iter().map(String::as_str).collect();
        book.refused(&[&["create"], &arguments[..]].concat(), words);
    };
    refused(with("--goal", "  "), &["the goal is blank"]);
    refused(with("--domain", "debuging"), &["debuging", "debugging", "refactoring"]);
    let confident = [&["create"], CACHE, &["--confidence", "80"]].concat();
    book.refused(&confident, &["80 is not a probability", "from 0 to 1"]);
    let expecting = [&["create"], CACHE, &["--expect", "green"]].concat();
    book.refused(&expecting, &["use pass, fail, exit:N or match:RE"]);
    assert!(!book.env.project.join(".claude").exists(), "nothing is made by a refusal");
}

#[test]
fn create_recalls_at_most_three_similar_entries_falsified_first_and_once_per_session() {
    let book = JournalProject::new();
    for number in 0..5 {
        book.create(&[]);
        let status = if number == 2 { "falsified" } else { "confirmed" };
        book.ok(&["resolve", status, "--result", "seen", "--lesson", "look at the order"]);
    }
    // The first creations have shown some already; a new session may show them again.
    book.ok(&["session", "start"]);
    let created = book.json(&[&["create"], CACHE].concat());
    let similar = created["similar"].as_array().unwrap();
    assert_eq!(similar.len(), 3, "{created}");
    assert_eq!(similar[0]["status"], "falsified");
    assert_eq!(similar[0]["lesson"], "look at the order");
    book.ok(&["abandon", "again"]);
    let again = book.json(&[&["create"], CACHE].concat());
    assert!(again["similar"].as_array().unwrap().len() <= 3);
    let shown = similar.iter().map(|entry| &entry["id"]).collect::<Vec<_>>();
    let repeated = again["similar"].as_array().unwrap().iter().any(|e| shown.contains(&&e["id"]));
    assert!(!repeated, "{again}");
}

#[test]
fn too_long_a_text_is_cut_with_a_warning_on_standard_error() {
    let book = JournalProject::new();
    book.create(&[]);
    let ran = book.run(&["update", "--note", &"x".repeat(10_001)]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("warning: note had 10001 characters"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("warning"));
}

#[test]
fn update_makes_an_iteration_only_of_what_was_believed() {
    let book = JournalProject::new();
    book.refused(&["update", "--note", "n"], &["no entry is active", "proctor journal create"]);
    let id = book.create(&[]);
    assert_eq!(book.json(&["update", "--note", "seen in the log"])["iteration"], 1);
    let updated = book.ok(&["update", "--hypothesis", "the clock is wrong", "--expect", "pass"]);
    assert_eq!(updated, format!("updated {id} (iteration 2)\n"));
    book.refused(&["update"], &["nothing was given to change"]);
    book.refused(&["update", "--action", ""], &["the action is blank"]);
    let entry = book.entry(&id);
    assert_eq!(entry["history"][0]["hypothesis"], "an earlier test leaves its cache behind");
    assert_eq!(entry["expectation"]["expect"], "pass");
}

#[test]
fn resolve_keeps_what_was_learned_and_needs_an_entry() {
    let book = JournalProject::new();
    book.refused(&["resolve", "confirmed", "--result", "r"], &["no entry is active"]);
    let id = book.create(&["--confidence", "0.8"]);
    book.refused(
        &["resolve", "falsified", "--result", "r", "--root-cause", "oversight"],
        &["--because"],
    );
    let resolved = book.json(&[
        "resolve",
        "falsified",
        "--result",
        "still red",
        "--surprise",
        "it is the clock",
        "--root-cause",
        "wrong-assumption",
        "--because",
        "the cache is per process",
        "--lesson",
        "freeze the time",
        "--takeaway",
        "look at the wire first",
    ]);
    assert_eq!((&resolved["status"], &resolved["tier"]), (&"falsified".into(), &"silver".into()));
    let text = book.ok(&["show", &id]);
    for words in
        ["wrong-assumption: the cache is per process", "freeze the time", "confidence  0.8"]
    {
        assert!(text.contains(words), "{words} is not in {text}");
    }
}

#[test]
fn abandon_ends_an_entry_and_needs_one() {
    let book = JournalProject::new();
    book.refused(&["abandon", "why"], &["no entry is active"]);
    let id = book.create(&[]);
    assert!(book.ok(&["abandon", "dropped"]).starts_with(&format!("abandoned {id}")));
    assert_eq!(book.entry(&id)["confidence_tier"], "abandoned");
    assert_eq!(book.ok(&["current"]), "no entry is active\n");
}

#[test]
fn annotate_explains_an_entry_afterwards() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    let resolved = book.ok(&["resolve", "falsified", "--result", "red"]);
    assert!(resolved.contains(&format!("proctor journal annotate {id}")), "{resolved}");
    assert_eq!(book.json(&["list", "--needs-annotation"]).as_array().unwrap().len(), 1);
    let end = &id[id.len() - 6..];
    let because = ["--root-cause", "oversight", "--because", "not read"];
    book.ok(&[&["annotate", end, "--surprise", "two caches", "--note", "n"][..], &because].concat());
    assert_eq!(book.entry(&id)["surprise"], "two caches");
    assert_eq!(book.json(&["list", "--needs-annotation"]), Value::Array(Vec::new()));
    book.refused(&["annotate", end], &["nothing was given to change"]);
    book.refused(&["annotate", "nothing", "--note", "n"], &["no entry `nothing`", "list"]);
}

#[test]
fn current_shows_the_active_entry_or_none() {
    let book = JournalProject::new();
    assert_eq!(book.json(&["current"])["entry"], Value::Null);
    assert!(!book.env.project.join(".claude").exists(), "looking makes nothing");
    let id = book.create(&["--expect", "exit:0"]);
    let current = book.json(&["current"]);
    assert_eq!((&current["entry"]["id"], &current["orphan"]), (&id.into(), &false.into()));
    assert!(book.ok(&["current"]).contains("expects     exit:0 (said "));
    book.refused(&["current", "--lane", "../x"], &["cannot be a lane"]);
}

#[test]
fn list_filters_and_says_what_it_left_out() {
    let book = JournalProject::new();
    assert_eq!(book.ok(&["list"]), "no entries\n");
    for status in ["confirmed", "falsified", "confirmed"] {
        book.create(&[]);
        book.ok(&["resolve", status, "--result", "r"]);
    }
    book.create(&["--lane", "other"]);
    let count =
        |arguments: &[&str]| book.json(&[&["list"], arguments].concat()).as_array().unwrap().len();
    assert_eq!(count(&[]), 4);
    assert_eq!(count(&["--lane", "other"]), 1);
    assert_eq!(count(&["--status", "confirmed"]), 2);
    assert_eq!(count(&["--active"]), 1);
    assert_eq!(count(&["--ended", "--session", "current"]), 3);
    assert_eq!(count(&["--domain", "testing"]), 0);
    assert_eq!((count(&["--since", "1h"]), count(&["--until", "1h"])), (4, 0));
    let ran = book.run(&["list", "--limit", "1"]);
    assert!(
        ran.stdout.contains("1 entry") && ran.stderr.contains("3 older ones"),
        "{}",
        ran.stderr
    );
    book.refused(&["list", "--since", "yesterday"], &["--since yesterday", "7d"]);
}

#[test]
fn show_takes_part_of_an_id_if_only_one_entry_has_it() {
    let book = JournalProject::new();
    let id = book.create(&["--lane", "a"]);
    book.create(&["--lane", "b"]);
    assert_eq!(book.entry(&id[id.len() - 6..])["id"], *id);
    assert_eq!(book.json(&["show", &id])["lane"], "a");
    book.refused(&["show", "ghap_"], &["matches 2 entries", "give more of the id"]);
    book.refused(&["show", "zzz"], &["no entry `zzz`"]);
}

#[test]
fn what_an_agent_wrote_cannot_steer_the_terminal() {
    let book = JournalProject::new();
    book.create(&[]);
    book.ok(&["update", "--note", "\u{1b}[2Jgone\u{7}"]);
    let text = book.ok(&["current"]);
    assert!(text.contains("[2Jgone") && !text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn an_orphan_is_shown_adopted_or_abandoned() {
    let book = JournalProject::new();
    assert_eq!(book.ok(&["orphan"]), "no earlier session left an entry active\n");
    book.refused(&["orphan", "adopt"], &["no earlier session left an entry active"]);
    book.refused(&["orphan", "abandon"], &["no earlier session left an entry active"]);
    let id = book.create(&[]);
    let started = book.run(&["session", "start"]);
    assert!(started.stderr.contains(&format!("left {id} active")), "{}", started.stderr);
    book.refused(&["update", "--note", "n"], &[&id, "proctor journal orphan adopt"]);
    book.refused(&["run", "--expect", "pass", "--", "true"], &[&id, "orphan abandon"]);
    assert_eq!(book.json(&["orphan", "show"])["orphan"]["id"], *id);
    assert!(book.ok(&["orphan", "adopt"]).starts_with(&format!("adopted {id}")));
    book.ok(&["session", "start"]);
    assert_eq!(book.json(&["orphan", "abandon", "a crash"])["status"], "abandoned");
    assert_eq!(book.entry(&id)["outcome"]["result"], "a crash");
}

#[test]
fn sessions_start_count_check_in_reset_and_end() {
    let book = JournalProject::new();
    assert_eq!(book.ok(&["session", "id"]), "no session is open\n");
    assert_eq!(book.ok(&["session", "start", "--id", "s-1"]), "s-1\n");
    assert_eq!(book.ok(&["session", "id"]), "s-1\n");
    book.create(&[]);
    for count in 1..=3 {
        assert_eq!(book.json(&["session", "count", "--add"])["count"], count);
    }
    assert_eq!(book.json(&["session", "check-in", "--every", "4"])["due"], false);
    assert_eq!(book.json(&["session", "check-in", "--every", "3"])["due"], true);
    assert_eq!(book.ok(&["session", "reset"]), "0\n");
    assert_eq!(book.ok(&["session", "count"]), "0\n");
    assert_eq!(book.ok(&["session", "entries"]), "no entries\n");
    book.refused(&["session", "check-in", "--every", "0"], &["use 1 or more"]);
    book.refused(&["session", "start", "--id", "a/b"], &["cannot be a session id"]);
    book.refused(&["session", "end", "--id", "s-2"], &["s-2 is not the open session"]);
    assert_eq!(book.json(&["session", "end"])["entries"].as_array().unwrap().len(), 1);
    assert_eq!(book.json(&["session", "end"])["entries"].as_array().unwrap().len(), 0);
}

#[test]
fn the_host_names_the_session_of_a_first_entry() {
    let book = JournalProject::new();
    let mut command = book.env.command();
    command.args(["journal", "create"]).args(CACHE).env("CLAUDE_CODE_SESSION_ID", "host-1");
    assert!(command.output().unwrap().status.success());
    assert_eq!(book.json(&["current"])["entry"]["session_id"], "host-1");
}

#[test]
fn stats_say_how_few_there_are() {
    let book = JournalProject::new();
    assert!(book.ok(&["stats"]).contains("0 entries"));
    book.create(&["--confidence", "0.9"]);
    book.ok(&["resolve", "confirmed", "--result", "r"]);
    let text = book.ok(&["stats"]);
    assert!(
        text.contains("n = 1, too few to tell") && text.contains("Brier score 0.010"),
        "{text}"
    );
    assert_eq!(book.json(&["stats", "--domain", "debugging"])["total"]["confirmed"], 1);
    book.refused(&["stats", "--until", "tomorrow"], &["--until tomorrow"]);
}

#[test]
fn search_finds_by_words() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    book.ok(&["resolve", "confirmed", "--result", "r"]);
    assert!(book.ok(&["search", "flaky", "cache"]).contains(&id));
    assert_eq!(book.json(&["search", "cache"])[0]["entry"]["id"], *id);
    assert_eq!(book.ok(&["search", "zeppelin"]), "no entry has `zeppelin` in it\n");
    book.refused(&["search"], &["WORD"]);
}

#[test]
fn timeline_and_retro_are_written_as_text_markdown_html_and_data() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    book.ok(&["resolve", "falsified", "--result", "<b>red</b>", "--surprise", "two caches"]);
    for command in ["timeline", "retro"] {
        let text = book.ok(&[command]);
        assert!(text.contains("fix the flaky cache test"), "{text}");
        assert!(book.ok(&[command, "--format", "markdown"]).starts_with("# "));
        let path = book.env.project.join(format!("{command}.html"));
        let ran = book.run(&[command, "--format", "html", "--output", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.starts_with("<!doctype html>") && !page.contains("<b>red"), "{page}");
        book.refused(
            &[command, "--output", "no/such/folder/x"],
            &["cannot write no/such/folder/x"],
        );
    }
    assert_eq!(book.json(&["timeline"])[0]["entry"]["id"], *id);
    assert_eq!(book.json(&["retro", "--all"])["title"], "everything");
    assert!(book.ok(&["retro", "--session", "current"]).contains("session session_"));
    assert_eq!(book.json(&["retro", "--until", "7d"])["entries"], Value::Array(Vec::new()));
}

#[test]
fn an_export_is_imported_once() {
    let book = JournalProject::new();
    let id = book.create(&[]);
    book.ok(&["resolve", "confirmed", "--result", "r"]);
    book.ok(&["export", "--output", "out.jsonl"]);
    assert_eq!(book.ok(&["export"]).lines().count(), 2);
    let other = JournalProject::new();
    let path = book.env.project.join("out.jsonl");
    let path = path.to_str().unwrap();
    assert_eq!(other.ok(&["import", path]), "added 1, already here 0\n");
    assert_eq!(other.json(&["import", path])["known"][0], *id);
    assert_eq!(other.entry(&id), book.entry(&id));
    other.refused(&["import", "missing.jsonl"], &["cannot read missing.jsonl"]);
    other.env.write("notes.txt", "not an entry\n");
    other.refused(&["import", "notes.txt"], &["notes.txt holds no entry", "export"]);
}

#[test]
fn doctor_reports_repairs_and_restores() {
    let book = JournalProject::new();
    assert!(book.ok(&["doctor"]).ends_with("nothing is wrong\n"));
    assert!(!book.env.project.join(".claude").exists());
    let id = book.create(&["--lane", "a"]);
    book.env.write(".claude/journal/lanes/a/x.proctor-tmp", "");
    let current = book.env.project.join(".claude/journal/lanes/a/current_ghap.json");
    let whole = std::fs::read_to_string(&current).unwrap();
    std::fs::write(&current, &whole[..40]).unwrap();
    let ran = book.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.stdout.contains("(can be repaired)") && ran.stdout.contains("--repair"));
    let repaired = book.run(&["doctor", "--repair", "--format", "json"]);
    assert_eq!(repaired.code, Some(1), "{}", repaired.terminal());
    let report: Value = serde_json::from_str(&repaired.stdout).unwrap();
    assert_eq!(report["findings"][0]["problem"], "SetAside", "{report}");
    let aside = report["findings"][0]["path"].as_str().unwrap();
    let aside = book.env.home().join(aside.trim_start_matches("[HOME]/"));
    std::fs::write(&aside, whole).unwrap();
    let name = aside.file_name().unwrap().to_str().unwrap();
    let restored = book.ok(&["doctor", "--lane", "a", "--restore", name]);
    assert!(restored.starts_with(&format!("restored {id}")), "{restored}");
    assert_eq!(book.run(&["doctor"]).code, Some(0));
    book.refused(&["doctor", "--restore", "x"], &["cannot be restored"]);
}

#[test]
fn the_folder_comes_from_flag_environment_file_or_root() {
    let book = JournalProject::new();
    book.env.write("proctor.toml", "[journal]\ndir = \"notes/in-file\"\n");
    std::fs::create_dir_all(book.env.project.join("deep/er")).unwrap();
    let create = |folder: &str, flags: &[&str], variable: Option<&str>| {
        let mut command = book.env.command();
        command.current_dir(book.env.project.join(folder)).args(["journal", "create"]);
        command.args(CACHE).args(flags);
        if let Some(value) = variable {
            command.env("PROCTOR_JOURNAL_DIR", value);
        }
        let ran = book.env.ran(&command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    };
    create("deep/er", &[], None);
    create("deep", &[], Some("from-environment"));
    create("deep", &["--dir", "from-flag"], Some("from-environment"));
    for folder in ["notes/in-file", "deep/from-environment", "deep/from-flag"] {
        let current = book.env.project.join(folder).join("current_ghap.json");
        assert!(current.exists(), "{}", current.display());
    }
    assert!(!book.env.project.join(".claude").exists());
}

#[test]
fn the_home_folder_gets_no_journal() {
    let book = JournalProject::new();
    let mut command = book.env.command();
    command.current_dir(book.env.home()).args(["journal", "create"]).args(CACHE);
    let ran = book.env.ran(&command.output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.terminal());
    assert!(ran.stderr.contains("is the home folder") && ran.stderr.contains("--dir"));
    assert!(!book.env.home().join(".claude").exists());
}

#[test]
fn a_lane_of_the_environment_is_beaten_by_the_flag() {
    let book = JournalProject::new();
    let lane = |flags: &[&str]| {
        let mut command = book.env.command();
        command.args(["journal", "create", "--format", "json"]).args(CACHE).args(flags);
        let ran = book.env.ran(&command.env("PROCTOR_LANE", "a").output().unwrap());
        let created: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        created["lane"].clone()
    };
    assert_eq!(lane(&[]), "a");
    assert_eq!(lane(&["--lane", "b"]), "b");
}

#[test]
fn text_that_begins_with_a_hyphen_or_is_not_utf8_is_taken() {
    use std::os::unix::ffi::OsStrExt as _;
    let book = JournalProject::new();
    let id = book.create(&[]);
    book.ok(&["update", "--note", "-Wall stays", "--hypothesis", "--release is the cause"]);
    let entry = book.entry(&id);
    assert_eq!(entry["notes"][0], "-Wall stays");
    assert_eq!(entry["hypothesis"], "--release is the cause");
    let mut command = book.env.command();
    command.args(["journal", "update", "--note"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"a\xffb")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(book.entry(&id)["notes"][1], "a\u{fffd}b");
    book.ok(&[
        "resolve",
        "falsified",
        "--result",
        "- none of it",
        "--surprise",
        "-1",
        "--format",
        "json",
    ]);
    assert_eq!(book.entry(&id)["outcome"]["result"], "- none of it");
    let id = book.create(&[]);
    book.ok(&["abandon", "-- gave up", "--format", "json"]);
    assert_eq!(book.entry(&id)["outcome"]["result"], "-- gave up");
}
