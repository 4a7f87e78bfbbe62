//! What the index says.

use proctor_compare::Streak;
use proctor_history::{History, Window};

use crate::project::{Project, wait_for_clock_tick};

#[test]
fn without_recordings_there_is_nothing_and_nothing_is_made() {
    let project = Project::new();
    let mut history = History::open(&project.store).unwrap();
    assert!(history.runs().unwrap().is_empty());
    assert!(!project.path("").exists());
}

#[test]
fn runs_are_listed_newest_first_with_what_is_known_of_them() {
    let project = Project::new();
    project.record("01", Some("abc"), &[("a", &["passed"])]);
    project.record("02", None, &[("a", &["failed", "passed"]), ("b", &["failed"])]);
    let mut history = History::open(&project.store).unwrap();
    let runs = history.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["02", "01"]);
    assert_eq!((runs[0].counts["passed"], runs[0].counts["failed"]), (1, 1));
    assert_eq!(
        (runs[0].counts["flaky"], runs[0].exit_code),
        (1, Some(1)),
        "an exit code that its examples contradict is not believed"
    );
    assert!((runs[0].cost_usd.unwrap() - 0.75).abs() < 1e-9);
    assert_eq!(runs[1].commit.as_deref(), Some("abc"));
    assert_eq!(runs[1].argv, ["proctor", "run"]);
}

#[test]
fn an_example_and_a_tag_over_the_runs() {
    let project = Project::new();
    project.record("01", None, &[("a", &["passed"]), ("b", &["failed"])]);
    project.record("02", None, &[("a", &["failed"])]);
    let mut history = History::open(&project.store).unwrap();
    let found = history.find("A WORKS").unwrap();
    assert_eq!((found.len(), found[0].id.as_str()), (1, "a"));
    let points = history.example("a").unwrap();
    let told: Vec<_> =
        points.iter().map(|point| (point.run.as_str(), point.passed, point.attempts)).collect();
    assert_eq!(told, [("02", 0, 1), ("01", 1, 1)]);
    assert_eq!(points[0].status.as_deref(), Some("failed"));
    let tagged = history.tag("slow").unwrap();
    assert_eq!((tagged[1].examples, tagged[1].passed, tagged[1].attempts), (2, 1, 2));
    assert!((tagged[1].duration_ms.unwrap() - 40.0).abs() < 1e-9);
    assert!(history.tag("fast").unwrap().is_empty());
    assert_eq!(history.suite().unwrap().len(), 2);
}

#[test]
fn flaky_is_both_outcomes_with_nothing_changed() {
    let project = Project::new();
    // Retried; torn on one commit; broken by a commit and mended by the next.
    project.record(
        "01",
        Some("c1"),
        &[("a", &["failed", "passed"]), ("b", &["passed"]), ("c", &["passed"])],
    );
    project.record("02", Some("c1"), &[("a", &["passed"]), ("b", &["failed"]), ("c", &["passed"])]);
    project.record("03", Some("c2"), &[("a", &["passed"]), ("b", &["passed"]), ("c", &["failed"])]);
    project.record("04", Some("c3"), &[("a", &["passed"]), ("b", &["passed"]), ("c", &["passed"])]);
    let mut history = History::open(&project.store).unwrap();
    let flaky = history.flaky(Window::default()).unwrap();
    let told: Vec<_> = flaky
        .iter()
        .map(|row| {
            (row.example.id.as_str(), row.mixed_runs, row.torn_commits, row.last_seen.as_str())
        })
        .collect();
    assert_eq!(told, [("b", 0, 1, "02"), ("a", 1, 0, "01")]);
    assert!(history.flaky(Window(2)).unwrap().is_empty(), "not in the newest two");
    let past = history.past(Some("04"), None).unwrap();
    let c = &past.records["c"];
    assert_eq!((c.attempts, c.passed, c.flaky.as_deref()), (3, 2, None));
    assert_eq!(c.passed_in_a_row, Streak { attempts: 2, runs: 2 }, "before it failed");
    assert!(past.records["a"].flaky.as_deref().unwrap().contains("run 01"));
    assert!(past.records["b"].flaky.as_deref().unwrap().contains("commit c1"));
    assert_eq!(past.runs.len(), 3);
    let all = history.past(None, None).unwrap();
    assert_eq!((all.records["b"].passed_in_a_row.runs, all.runs.len()), (2, 4));
}

/// T13: what alternates on every commit is learned to be flaky.
#[test]
fn t13_alternation_on_every_commit_is_flaky() {
    let project = Project::new();
    for (run, outcome) in [("01", "passed"), ("02", "failed"), ("03", "passed"), ("04", "failed")] {
        project.record(run, Some(run), &[("a", &[outcome]), ("b", &["passed"])]);
    }
    let mut history = History::open(&project.store).unwrap();
    let flaky = history.flaky(Window::default()).unwrap();
    let told: Vec<_> = flaky
        .iter()
        .map(|row| (row.example.id.as_str(), row.changes, row.last_seen.as_str()))
        .collect();
    assert_eq!(told, [("a", 3, "04")]);
}

#[test]
fn what_was_recorded_since_is_taken_in_and_what_is_gone_forgotten() {
    let project = Project::new();
    project.record("01", None, &[("a", &["passed"])]);
    wait_for_clock_tick();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!((history.sync_summary().read, history.sync_summary().runs), (1, 1));
    assert_eq!(history.sync().unwrap().read, 0, "nothing is read twice");
    project.record("02", None, &[("a", &["failed"])]);
    assert_eq!(history.sync().unwrap().read, 1);
    std::fs::remove_dir_all(project.path("runs/01")).unwrap();
    let synced = history.sync().unwrap().clone();
    assert_eq!((synced.removed, synced.runs), (1, 1));
    assert_eq!(history.example("a").unwrap().len(), 1);
}

#[test]
fn a_run_that_is_cut_off_counts_with_what_it_has() {
    let project = Project::new();
    project.record("01", None, &[("a", &["passed"]), ("b", &["passed"])]);
    let path = project.path("runs/01/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 160]).unwrap();
    let mut history = History::open(&project.store).unwrap();
    assert!(history.sync_summary().skipped.is_empty(), "a torn tail is not damage");
    assert_eq!(history.runs().unwrap()[0].finished_at, None);
    assert_eq!(history.example("a").unwrap()[0].passed, 1);
}
