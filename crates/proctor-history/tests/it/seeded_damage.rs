//! A real database is damaged in many ways, each known by its number; the answers stay those of a fresh one.

use std::fs;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use proctor_history::{History, SearchQuery, search_runs};

use crate::project::{Project, all_answers, wait_for_clock_tick};

const PAGE: usize = 4096;

/// The longest time that one question may take with any damage. A lock that is held is waited for 5 s.
const LIMIT: Duration = Duration::from_secs(20);

fn filled() -> Project {
    let project = Project::new();
    let ids: Vec<String> = (0..40).map(|number| format!("example-{number:02}")).collect();
    for run in 0..6_usize {
        let results: Vec<(&str, &[&str])> = (0..)
            .zip(&ids)
            .map(|(number, id): (usize, &String)| {
                let statuses: &[&str] = match (number + run) % 7 {
                    0 => &["failed"],
                    1 => &["failed", "passed"],
                    _ => &["passed"],
                };
                (id.as_str(), statuses)
            })
            .collect();
        project.record(&format!("{run:02}"), Some("c1"), &results);
    }
    project
}

fn answers(history: &mut History, project: &Project) -> String {
    let searched = search_runs(&project.store, &SearchQuery::parse("example-07").unwrap(), 100);
    format!("{}{searched:?}", all_answers(history))
}

/// Numbers that look random (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % limit as u64).unwrap()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }
}

/// Changes the bytes of the database in the way that has this number.
fn damaged(database: &[u8], number: u64) -> Vec<u8> {
    let random = &mut Random(number);
    let mut bytes = database.to_vec();
    let at = random.below(bytes.len());
    match number % 5 {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => {
            let page = at / PAGE * PAGE;
            let garbage = random.bytes(PAGE);
            bytes[page..page + PAGE].copy_from_slice(&garbage);
        }
        2 => bytes.truncate(at),
        3 => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            let garbage = random.bytes(end - at);
            bytes[at..end].copy_from_slice(&garbage);
        }
        _ => {
            // A page in the place of another: each is sound by itself.
            let (from, to) = (at / PAGE * PAGE, random.below(bytes.len()) / PAGE * PAGE);
            bytes.copy_within(from..from + PAGE, to);
        }
    }
    bytes
}

fn put_back(project: &Project, database: &[u8], seal: &[u8]) {
    for name in ["history.db", "history.db-wal", "history.db-shm", "history.db-journal"] {
        let _ = fs::remove_file(project.path(name));
    }
    fs::write(project.path("history.db"), database).unwrap();
    fs::write(project.path("history.seal"), seal).unwrap();
    for number in 1..10 {
        let _ = fs::remove_file(project.path(&format!("history.db.damaged-{number}")));
    }
}

#[test]
fn the_answers_survive_240_seeded_damages_and_the_loss_of_each_page() {
    let project = filled();
    let right = answers(&mut History::open(&project.store).unwrap(), &project);
    let path = project.path("history.db");
    // The second look, after the clock ticked, makes the seal that is believed by the times of the file.
    wait_for_clock_tick();
    assert_eq!(answers(&mut History::open(&project.store).unwrap(), &project), right);
    let (database, seal) =
        (fs::read(&path).unwrap(), fs::read(project.path("history.seal")).unwrap());
    let pages = database.len() / PAGE;
    assert!(pages > 10, "{pages} pages");
    let each_page = (0..pages).map(|page| {
        let mut bytes = database.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
        (format!("page {page} overwritten"), bytes)
    });
    let seeded = (0..240).map(|number| (format!("damage {number}"), damaged(&database, number)));
    let (mut rebuilt, mut slowest) = (0, Duration::ZERO);
    for (name, bytes) in each_page.chain(seeded) {
        put_back(&project, &database, &seal);
        fs::write(&path, &bytes).unwrap();
        let started = Instant::now();
        let mut history = History::open(&project.store).unwrap();
        assert_eq!(answers(&mut history, &project), right, "{name}");
        slowest = slowest.max(started.elapsed());
        let changed = bytes != database;
        assert_eq!(!history.notes().is_empty(), changed, "{name}: {:?}", history.notes());
        rebuilt += u32::from(changed);
    }
    assert!(rebuilt >= 200, "{rebuilt}");
    assert!(slowest < LIMIT, "{slowest:?}");
}

#[test]
fn damage_under_an_open_history_is_noticed_by_the_next_question() {
    let project = filled();
    let mut history = History::open(&project.store).unwrap();
    let right = answers(&mut history, &project);
    let path = project.path("history.db");
    for number in 0..20 {
        let bytes = damaged(&fs::read(&path).unwrap(), number);
        fs::write(&path, bytes).unwrap();
        assert_eq!(answers(&mut history, &project), right, "damage {number}");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(answers(&mut history, &project), right, "removed");
    drop(History::rebuild(&project.store).unwrap());
    assert_eq!(answers(&mut history, &project), right, "replaced by another process");
}

/// In whichever way it was damaged, the next one to ask finds it sound.
fn assert_healed(project: &Project, right: &str, how: &str) {
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(answers(&mut history, project), right, "{how}");
    let mut again = History::open(&project.store).unwrap();
    assert_eq!(again.notes(), [] as [String; 0], "{how}");
    assert_eq!(answers(&mut again, project), right, "{how}");
}

#[test]
fn what_lies_beside_the_database_does_not_change_an_answer() {
    let project = filled();
    let right = answers(&mut History::open(&project.store).unwrap(), &project);
    let database = fs::read(project.path("history.db")).unwrap();
    for name in ["history.db-wal", "history.db-shm", "history.db-journal", "history.seal"] {
        for garbage in [Random(1).bytes(9000), Vec::new(), database.clone()] {
            fs::write(project.path(name), garbage).unwrap();
            assert_healed(&project, &right, name);
        }
    }
    for name in ["history.seal", "history.db-wal"] {
        let _ = fs::remove_file(project.path(name));
        fs::create_dir(project.path(name)).unwrap();
        assert_healed(&project, &right, &format!("{name} is a folder"));
    }
    // A version that is not in the file.
    for version in ["1", "3", "99", "-1"] {
        let seal = fs::read_to_string(project.path("history.seal")).unwrap();
        let seal = seal.replacen('4', version, 1);
        fs::write(project.path("history.seal"), seal).unwrap();
        assert_healed(&project, &right, &format!("seal of version {version}"));
    }
    let file = fs::OpenOptions::new().write(true).open(project.path("history.db")).unwrap();
    file.write_all_at(&[0, 0, 0, 1], 60).unwrap();
    assert_healed(&project, &right, "an earlier version");
}

fn assert_from_memory(project: &Project, right: &str, reason: &str) {
    let started = Instant::now();
    let mut history = History::open(&project.store).unwrap();
    assert_eq!(answers(&mut history, project), right, "{reason}");
    assert!(started.elapsed() < LIMIT, "{reason}: {:?}", started.elapsed());
    let notes = history.notes().join("\n");
    assert!(notes.contains("is not used") && notes.contains(reason), "{reason}: {notes}");
}

fn make_fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_not_a_file_is_named_and_left_alone() {
    let project = filled();
    let right = answers(&mut History::open(&project.store).unwrap(), &project);
    let path = project.path("history.db");
    for (kind, make) in
        [("a folder", (|path| fs::create_dir(path).unwrap()) as fn(&Path)), ("a FIFO", make_fifo)]
    {
        fs::remove_file(&path).unwrap();
        make(&path);
        assert_from_memory(&project, &right, &format!("it is {kind}, not a file"));
        assert_from_memory(&project, &right, "history.db");
        let _ = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
        drop(History::open(&project.store).unwrap());
    }
    // A link in `.proctor` may lead anywhere: all of the folder is refused.
    fs::remove_file(&path).unwrap();
    symlink("/dev/null", &path).unwrap();
    let refused = History::open(&project.store).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("history.db"), "{refused}");
    fs::remove_file(&path).unwrap();
    drop(History::open(&project.store).unwrap());
    fs::remove_file(project.path("history.lock")).unwrap();
    make_fifo(&project.path("history.lock"));
    assert_from_memory(&project, &right, "it is a FIFO, not a file");
}

#[test]
fn a_lock_that_is_not_given_back_is_waited_for_and_done_without() {
    let project = filled();
    let right = answers(&mut History::open(&project.store).unwrap(), &project);
    let held = fs::File::open(project.path("history.lock")).unwrap();
    held.lock().unwrap();
    assert_from_memory(&project, &right, "another process has held it for 5 s");
    drop(held);
    let other = rusqlite::Connection::open(project.path("history.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_from_memory(&project, &right, "database is locked");
    drop(other);
    assert_healed(&project, &right, "given back");
}
