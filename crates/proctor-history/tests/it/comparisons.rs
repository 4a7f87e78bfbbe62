//! Sides for comparisons: read once, read again when the recording has changed, found by the same names.

use std::fs;
use std::sync::Arc;

use proctor_compare::{Assessment, Rules};
use proctor_history::{ComparisonCache, SideError, baseline_name, baseline_path, baselines};

use crate::project::{Project, wait_for_clock_tick};

/// A run in which no model takes part.
fn record(project: &Project, run: &str, examples: &[(&str, &[&str])]) {
    project.record(run, None, examples);
    let path = project.store.find(run).unwrap().events_path();
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("ModelCall")).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
}

fn two_runs() -> Project {
    let project = Project::new();
    record(&project, "r1", &[("a", &["passed"])]);
    record(&project, "r2", &[("a", &["failed"])]);
    wait_for_clock_tick();
    project
}

#[test]
fn a_side_is_kept_until_its_recording_changes() {
    let project = two_runs();
    let (sides, folder) = (ComparisonCache::default(), project.store.find("r2").unwrap());
    let first = sides.of(&folder).unwrap();
    assert!(Arc::ptr_eq(&first, &sides.of(&folder).unwrap()), "from memory");
    let text = fs::read_to_string(folder.events_path()).unwrap();
    fs::write(folder.events_path(), text.replace("\"failed\"", "\"passed\"")).unwrap();
    let second = sides.of(&folder).unwrap();
    assert_eq!((first.examples[0].tally(), second.examples[0].tally()), ((0, 1), (1, 1)));
    // More runs than are kept, in turns: each is right.
    for n in 3..12 {
        record(&project, &format!("s{n:02}"), &[("a", &["passed"]), ("b", &["failed"])]);
        let newest = sides.of(&project.store.find("last").unwrap()).unwrap();
        assert_eq!(newest.examples.len(), 2);
        assert_eq!(sides.of(&folder).unwrap().examples.len(), 1);
    }
}

#[test]
fn runs_and_baselines_are_compared_by_name() {
    let (project, sides) = (two_runs(), ComparisonCache::default());
    let store = &project.store;
    let judged = sides.compare(store, "last~1", "last", &Rules::default()).unwrap();
    assert_eq!(judged.comparison.verdict, Assessment::Regression);
    assert_eq!(
        (&*judged.comparison.before.label, &*judged.comparison.after.label),
        ("last~1", "last")
    );
    assert_eq!(judged.after.unwrap().name(), "r2");
    assert_eq!(judged.without_history, None);
    let none = sides.compare(store, "baseline", "last", &Rules::default()).unwrap_err();
    assert!(none.to_string().contains("no baseline `default`; there is none yet"), "{none}");
    let path = baseline_path(store, "main");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let side = sides.of(&store.find("r1").unwrap()).unwrap();
    fs::write(&path, serde_json::to_string(&*side).unwrap()).unwrap();
    let judged = sides.compare(store, "baseline:main", "r2", &Rules::default()).unwrap();
    assert_eq!(judged.comparison.before.label, "baseline:main");
    assert_eq!(judged.comparison.verdict, Assessment::Regression);
    assert_eq!(baselines(store).into_keys().collect::<Vec<_>>(), ["main"]);
    for elsewhere in ["baseline:../runs/r1/run", "baseline:", "baseline:main.json"] {
        let error = sides.compare(store, elsewhere, "last", &Rules::default()).unwrap_err();
        assert!(matches!(error, SideError::Baseline(_)), "{elsewhere}: {error}");
    }
    fs::write(&path, "{}").unwrap();
    let broken = sides.compare(store, "baseline:main", "r2", &Rules::default()).unwrap_err();
    assert!(broken.to_string().contains("main.json: not a baseline"), "{broken}");
    assert!(matches!(sides.compare(store, "r", "r2", &Rules::default()), Err(SideError::Name(_))));
}

#[test]
fn only_these_names_mean_baselines() {
    assert_eq!(baseline_name("baseline"), Some("default"));
    assert_eq!(baseline_name("baseline:main"), Some("main"));
    for other in ["baselines", "last", "", "baseline-2"] {
        assert_eq!(baseline_name(other), None, "{other}");
    }
}
