//! How the index could show what is no longer true, and does not: recordings that are added, rewritten, exchanged, moved and removed.

use std::fs::{self, File, FileTimes};
use std::path::Path;

use proctor_history::{ComparisonCache, History, Recording, Window};

use crate::project::{Project, all_answers, wait_for_clock_tick};

fn filled() -> Project {
    let project = Project::new();
    project.record("01", Some("c1"), &[("a", &["passed"]), ("b", &["failed", "passed"])]);
    project.record("02", Some("c1"), &[("a", &["failed"]), ("b", &["passed"])]);
    wait_for_clock_tick();
    project
}

/// Answers of an index that has been there before, which must be those of a new one.
fn answers(project: &Project) -> String {
    let answers = all_answers(&mut History::open(&project.store).unwrap());
    fs::remove_file(project.path("history.db")).unwrap();
    assert_eq!(all_answers(&mut History::open(&project.store).unwrap()), answers);
    answers
}

/// Puts another text of the same length into a file, without a trace in its size and its time of writing.
fn rewrite(path: &Path, change: impl Fn(&str) -> String) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let old = fs::read_to_string(path).unwrap();
    let new = change(&old);
    assert!(new.len() == old.len() && new != old);
    fs::write(path, new).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
}

#[test]
fn t14_what_is_known_is_not_read_again() {
    let project = filled();
    assert_eq!(History::open(&project.store).unwrap().sync_summary().read, 2);
    let again = History::open(&project.store).unwrap();
    assert_eq!((again.sync_summary().read, again.sync_summary().runs), (0, 2));
}

/// The times of files come from a clock that ticks: what is written twice within a tick has one time.
#[test]
fn a_recording_rewritten_in_the_moment_it_was_read_is_read_again() {
    for _ in 0..20 {
        let project = Project::new();
        project.record("01", None, &[("a", &["passed"])]);
        let sides = ComparisonCache::default();
        let folder = project.store.find("01").unwrap();
        let points = |history: &mut History| history.example("a").unwrap()[0].passed;
        assert_eq!(points(&mut History::open(&project.store).unwrap()), 1);
        assert_eq!(sides.of(&folder).unwrap().examples[0].tally(), (1, 1));
        let swap = |text: &str| text.replace("\"passed\"", "\"failed\"");
        rewrite(&folder.events_path(), swap);
        assert_eq!(points(&mut History::open(&project.store).unwrap()), 0);
        assert_eq!(sides.of(&folder).unwrap().examples[0].tally(), (0, 1));
    }
}

#[test]
fn a_recording_exchanged_for_one_with_its_size_and_time_is_read_again() {
    let project = filled();
    let before = answers(&project);
    let path = project.path("runs/02/events.jsonl");
    rewrite(&path, |text| {
        let (first, second) = (text.replacen("\"failed\"", "\"PASSED\"", 1), "\"failed\"");
        first.replacen("\"passed\"", second, 1).replacen("\"PASSED\"", "\"passed\"", 1)
    });
    wait_for_clock_tick();
    let after = answers(&project);
    assert_ne!(after, before);
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.example("a").unwrap()[0].passed, 1);
    assert_eq!(history.example("b").unwrap()[0].passed, 0);
}

#[test]
fn a_title_that_only_a_removed_run_had_is_forgotten() {
    let project = filled();
    project.record("03", None, &[("a", &["passed"]), ("late", &["passed"])]);
    wait_for_clock_tick();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.find("late works").unwrap().len(), 1);
    assert_eq!(history.example("a").unwrap().len(), 3);
    fs::remove_dir_all(project.path("runs/03")).unwrap();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.sync_summary().removed, 1);
    assert!(history.find("late works").unwrap().is_empty());
    assert_eq!(history.example("a").unwrap().len(), 2);
    answers(&project);
}

/// The description of an example is that of the newest run that has it, whatever became of the runs around it.
#[test]
fn the_newest_run_names_an_example() {
    let project = filled();
    project.record("03", None, &[("a", &["failed", "passed"])]);
    let path = project.path("runs/03/events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("a works", "a is renamed")).unwrap();
    wait_for_clock_tick();
    let named = |history: &mut History| {
        let flaky = history.flaky(Window::default()).unwrap();
        let flaky = flaky.into_iter().find(|it| it.example.id == "a").unwrap();
        (history.find("a").unwrap()[0].title.clone(), flaky.example.title)
    };
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(named(&mut history), ("Cart > a is renamed".into(), "Cart > a is renamed".into()));
    fs::remove_dir_all(project.path("runs/03")).unwrap();
    history.sync().unwrap();
    assert_eq!(named(&mut history), ("Cart > a works".into(), "Cart > a works".into()));
}

#[test]
fn a_run_moved_under_another_name_is_another_run() {
    let project = filled();
    let before = answers(&project);
    fs::rename(project.path("runs/02"), project.path("runs/00")).unwrap();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!((history.sync_summary().removed, history.sync_summary().runs), (1, 2));
    let runs: Vec<String> = history.example("a").unwrap().into_iter().map(|it| it.run).collect();
    assert_eq!(runs, ["01", "00"]);
    assert_ne!(answers(&project), before);
}

#[test]
fn a_tag_given_to_a_run_is_noticed() {
    let project = filled();
    answers(&project);
    let folder = project.store.find("01").unwrap();
    folder.change_tags(|tags| tags.push("good".to_owned())).unwrap();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(history.sync_summary().read, 1);
    assert_eq!(history.runs().unwrap()[1].tags, ["good"]);
}

/// What somebody else has read already is taken for the recording only while the recording is as it was.
#[test]
fn a_recording_at_hand_is_used_while_it_is_true() {
    let project = filled();
    let folder = project.store.find("02").unwrap();
    let at_hand = [Recording::read(&folder).unwrap()];
    let with = |at_hand: &[Recording]| {
        let mut history = History::open_with(&project.store, at_hand).unwrap();
        let answers = all_answers(&mut history);
        drop(history);
        assert_eq!(all_answers(&mut History::rebuild(&project.store).unwrap()), answers);
        fs::remove_file(project.path("history.db")).unwrap();
        answers
    };
    let before = with(&at_hand);
    assert_eq!(with(&[]), before);
    rewrite(&folder.events_path(), |text| text.replace("a works", "a moved"));
    let after = with(&at_hand);
    assert!(after.contains("a moved") && !before.contains("a moved"));
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(!with(&at_hand).contains("a moved"), "nor is it there when its run is gone");
}

/// One that is at hand and damaged is named, as if it had been read for the index.
#[test]
fn a_damaged_recording_at_hand_is_left_out() {
    let project = filled();
    let folder = project.store.find("01").unwrap();
    let text = fs::read_to_string(folder.events_path()).unwrap();
    fs::write(folder.events_path(), text.replacen("{\"event_type\"", "{\"event_ty", 1)).unwrap();
    wait_for_clock_tick();
    let at_hand = [Recording::read(&folder).unwrap()];
    let history = History::open_with(&project.store, &at_hand).unwrap();
    let plain = History::rebuild(&project.store).unwrap();
    assert_eq!(history.sync_summary().skipped, plain.sync_summary().skipped);
    assert_eq!(history.sync_summary().skipped.len(), 1);
}

#[test]
fn a_recording_that_cannot_be_read_now_is_left_out_and_read_again_next_time() {
    let project = Project::new();
    project.record("01", Some("c1"), &[("a", &["passed"])]);
    wait_for_clock_tick();
    let path = project.path("runs/01/run.json");
    let right = format!("{:?}", History::open(&project.store).unwrap().runs().unwrap());
    let info = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let mut history = History::open(&project.store).unwrap();
    let skipped = &history.sync_summary().skipped;
    assert!(skipped.len() == 1 && skipped[0].problem.contains("run.json"), "{skipped:?}");
    assert!(history.runs().unwrap().is_empty());
    assert_eq!(history.sync().unwrap().read, 1, "nothing has changed, and it is tried again");
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, info).unwrap();
    history.sync().unwrap();
    assert_eq!(format!("{:?}", history.runs().unwrap()), right);
}

/// The newest runs as they are listed without looking at all others, which must be those of an index that looked at everything.
fn assert_newest(project: &Project, limit: usize) {
    let mut kept = History::open_without_sync(&project.store).unwrap();
    let rows = kept.newest_runs(limit).unwrap();
    let (total, skipped) = (kept.sync_summary().runs, kept.sync_summary().skipped.clone());
    fs::remove_file(project.path("history.db")).unwrap();
    let mut fresh = History::open(&project.store).unwrap();
    let all = fresh.runs().unwrap();
    assert_eq!(rows, all.iter().take(limit).cloned().collect::<Vec<_>>(), "the newest {limit}");
    assert_eq!((total, skipped), (all.len() as u64, fresh.sync_summary().skipped.clone()));
}

/// Whatever happens to a run that is listed, or to how many there are, is seen.
#[test]
fn the_newest_runs_are_listed_as_they_are() {
    let project = filled();
    project.record("03", None, &[("a", &["failed"])]);
    project.record("04", None, &[("a", &["passed"])]);
    wait_for_clock_tick();
    for limit in [0, 1, 2, 10] {
        assert_newest(&project, limit);
    }
    let events = |run: &str| project.path(&format!("runs/{run}/events.jsonl"));
    // The newest is damaged: an older one moves up, which was not looked at before.
    fs::write(events("04"), "no event\n").unwrap();
    assert_newest(&project, 1);
    rewrite(&events("03"), |old| old.replace("\"failed\"", "\"passed\""));
    assert_newest(&project, 1);
    fs::remove_file(events("03")).unwrap();
    assert_newest(&project, 1);
    // One that is not listed is gone, one that is older than all others is new, one is empty.
    fs::remove_dir_all(project.path("runs/01")).unwrap();
    project.record("00", None, &[("a", &["passed"])]);
    project.record("05", None, &[]);
    fs::write(events("05"), "").unwrap();
    assert_newest(&project, 1);
    fs::remove_dir_all(project.path("runs")).unwrap();
    fs::create_dir(project.path("runs")).unwrap();
    assert_newest(&project, 1);
}
