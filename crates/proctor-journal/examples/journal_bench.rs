//! Measures the journal against bare code that does the same writes, syncs and renames.
//!
//! Run by `bench/journal/run`. The two take turns in the same run, so that a busy disk hurts both.

#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first thing that goes wrong")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use proctor_journal::hook;
use proctor_journal::{
    Change, Domain, Draft, Entry, Filter, Journal, Moment, OutcomeStatus, Resolution, Strategy,
};

/// Entries per session in the specification's largest session.
const SESSION: u64 = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let base = arguments.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds: u64 = arguments.get(2).map_or(300, |text| text.parse().unwrap());
    let dir = base.join(format!("proctor-journal-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    println!("folder {}, {rounds} rounds", base.display());
    durable_operations(&dir, rounds);
    counting(&dir);
    hooks(&dir);
    reading(&dir);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Moments with a real clock; the numbers need only differ.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Moment {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Moment::new(Timestamp::now(), self.0 >> 16)
    }
}

fn draft(number: u64) -> Draft {
    const WORDS: &[&str] = &[
        "cache", "queue", "parser", "socket", "timer", "index", "schema", "worker", "retry",
        "token", "buffer", "lock", "cursor", "batch", "shard", "leader", "replica", "snapshot",
        "journal", "lease",
    ];
    let word =
        |step: u64| WORDS[usize::try_from((number * 7 + step * 13 + number / 20) % 20).unwrap()];
    Draft {
        goal: format!("Fix the flaky {} test of the {} in module {number}", word(1), word(2)),
        hypothesis: format!(
            "The {} is shared between tests and the {} is read before the {} has been written, so \
             the second test sees what the first one left behind in the {}",
            word(3),
            word(4),
            word(5),
            word(6)
        ),
        action: format!("Adding a teardown that clears the {} between tests", word(7)),
        prediction: format!("The {} suite passes ten times in a row in random order", word(8)),
        ..Draft::new(
            Domain::ALL[usize::try_from(number % 9).unwrap()],
            Strategy::ALL[usize::try_from(number % 7).unwrap()],
        )
    }
}

/// What the journal does to the disk, with nothing around it.
struct BareDisk {
    dir: PathBuf,
}

impl BareDisk {
    fn replace(&self, text: &str) {
        let temp = self.dir.join("current.tmp");
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temp).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.sync_data().unwrap();
        std::fs::rename(&temp, self.dir.join("current")).unwrap();
        File::open(&self.dir).unwrap().sync_all().unwrap();
    }

    fn resolve(&self, line: &str) {
        let path = self.dir.join("lines");
        let is_new = !path.exists();
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
        file.sync_data().unwrap();
        if is_new {
            File::open(&self.dir).unwrap().sync_all().unwrap();
        }
        std::fs::remove_file(self.dir.join("current")).unwrap();
    }
}

#[derive(Default)]
struct Times {
    ours: Vec<Duration>,
    bare: Vec<Duration>,
}

impl Times {
    /// Runs both, alternating which is first.
    fn run_alternately<T>(
        &mut self,
        ours_first: bool,
        ours: impl FnOnce() -> T,
        bare: impl FnOnce(),
    ) -> T {
        if ours_first {
            let value = timed(&mut self.ours, ours);
            timed(&mut self.bare, bare);
            value
        } else {
            timed(&mut self.bare, bare);
            timed(&mut self.ours, ours)
        }
    }

    fn report(mut self, name: &str) {
        let ours = [percentile(&mut self.ours, 50), percentile(&mut self.ours, 95)];
        let bare = [percentile(&mut self.bare, 50), percentile(&mut self.bare, 95)];
        println!(
            "{name:<10} p50 {:>7.3} ms, p95 {:>7.3} ms   bare p50 {:>7.3} ms, p95 {:>7.3} ms   ratio p50 {:.2}, p95 {:.2}",
            ours[0],
            ours[1],
            bare[0],
            bare[1],
            ours[0] / bare[0],
            ours[1] / bare[1]
        );
    }
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = work();
    times.push(start.elapsed());
    value
}

/// A percentile in milliseconds.
fn percentile(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1000.0
}

fn durable_operations(dir: &Path, rounds: u64) {
    let journal = Journal::open(dir.join("journal")).unwrap();
    let bare = BareDisk { dir: dir.join("bare") };
    std::fs::create_dir_all(&bare.dir).unwrap();
    let mut moments = Moments(42);
    let [mut create, mut update, mut resolve] =
        [Times::default(), Times::default(), Times::default()];
    let pretty = |entry: &Entry| serde_json::to_string_pretty(entry).unwrap();
    // What the bare code writes is made beforehand: it is the disk that is compared.
    let (example, updated, line) = examples(&dir.join("example"));
    for round in 0..rounds {
        if round % SESSION == 0 {
            journal.start_session(None, &moments.next()).unwrap();
            let _gone = std::fs::remove_file(bare.dir.join("lines"));
        }
        let first = round % 2 == 0;
        let (moment, made) = (moments.next(), draft(round));
        create.run_alternately(
            first,
            || journal.create(made, &moment).unwrap(),
            || bare.replace(&pretty(&example)),
        );
        let change =
            Change { hypothesis: Some(format!("second thought {round}")), ..Change::default() };
        let moment = moments.next();
        update.run_alternately(
            first,
            || journal.update(change, &moment).unwrap(),
            || bare.replace(&pretty(&updated)),
        );
        let done = Resolution::new(OutcomeStatus::Confirmed, "ten runs in random order passed");
        let moment = moments.next();
        resolve.run_alternately(
            first,
            || journal.resolve(done, &moment).unwrap(),
            || bare.resolve(&line),
        );
    }
    create.report("create");
    update.report("update");
    resolve.report("resolve");
}

/// An entry as created, as updated, and its line.
fn examples(dir: &Path) -> (Entry, Entry, String) {
    let journal = Journal::open(dir).unwrap();
    let mut moments = Moments(7);
    let created = journal.create(draft(1), &moments.next()).unwrap().value;
    let change = Change { hypothesis: Some("second thought 1".into()), ..Change::default() };
    let updated = journal.update(change, &moments.next()).unwrap().value;
    let done = Resolution::new(OutcomeStatus::Confirmed, "ten runs in random order passed");
    let resolved = journal.resolve(done, &moments.next()).unwrap().value;
    (created, updated, format!("{}\n", serde_json::to_string(&resolved).unwrap()))
}

fn counting(dir: &Path) {
    let journal = Journal::open(dir.join("count")).unwrap();
    let mut moments = Moments(1);
    let mut times = Vec::new();
    for _ in 0..1000 {
        let moment = moments.next();
        timed(&mut times, || journal.increment_tool_count(&moment).unwrap());
    }
    println!(
        "tool count p50 {:>7.3} ms, p95 {:>7.3} ms   (aim: under 1 ms)",
        percentile(&mut times, 50),
        percentile(&mut times, 95)
    );
}

/// A hook's first call in a process is what counts: every hook is a process of its own.
fn hooks(dir: &Path) {
    let journal = Journal::open(dir.join("hooks")).unwrap().lock_wait(hook::LOCK_WAIT);
    let mut moments = Moments(3);
    journal.create(draft(3), &moments.next()).unwrap();
    let count = br#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let tests = br#"{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"pytest"},"tool_response":{"stdout":"3 failed, 42 passed in 1.2s"}}"#;
    for (name, input) in [("tool hook", &count[..]), ("test hook", &tests[..])] {
        let mut times = Vec::new();
        let moment = moments.next();
        let reply = timed(&mut times, || journal.hook(input, hook::Options::default(), &moment));
        assert!(reply.log.is_empty(), "{:?}", reply.log);
        println!(
            "{name:<10} {:>7.3} ms, first call, process start not included (aim: under 20 ms)",
            percentile(&mut times, 50)
        );
    }
}

fn reading(dir: &Path) {
    let journal = Journal::open(dir.join("large")).unwrap();
    fill(&journal, &dir.join("large"));
    let [mut list, mut numbers, mut found, mut alike] =
        [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let mut moments = Moments(11);
    let entry = journal.create(draft(77), &moments.next()).unwrap().value;
    journal.abandon("only an example", &moments.next()).unwrap();
    std::fs::remove_file(dir.join("large/session_entries.jsonl")).unwrap();
    for _ in 0..100 {
        timed(&mut list, || journal.list(&Filter::default()).unwrap());
        timed(&mut numbers, || {
            assert_eq!(journal.stats(&Filter::default()).unwrap().value.total.all(), 10_000);
        });
        timed(&mut found, || {
            let words = "flaky replica test snapshot";
            assert_eq!(journal.search(words, &Filter::default(), 20).unwrap().value.len(), 20);
        });
        let moment = moments.next();
        timed(&mut alike, || journal.take_unshown_similar(&entry, 3, &moment).unwrap());
    }
    for (name, times) in [
        ("list", &mut list),
        ("stats", &mut numbers),
        ("search", &mut found),
        ("recall", &mut alike),
    ] {
        println!(
            "{name:<10} p50 {:>7.1} ms, p95 {:>7.1} ms   over 10,000 entries, reading included (aim: under 100 ms)",
            percentile(times, 50),
            percentile(times, 95)
        );
    }
}

/// Fifty archives of two hundred entries.
fn fill(journal: &Journal, dir: &Path) {
    let mut moments = Moments(9);
    let template = {
        journal.create(draft(0), &moments.next()).unwrap();
        let change =
            Change { hypothesis: Some("an earlier thought about it".into()), ..Change::default() };
        journal.update(change, &moments.next()).unwrap();
        let entry = journal
            .resolve(
                Resolution::new(OutcomeStatus::Falsified, "it failed again in the third run"),
                &moments.next(),
            )
            .unwrap()
            .value;
        journal.end_session(&moments.next()).unwrap();
        std::fs::remove_dir_all(dir.join("archive")).unwrap();
        entry
    };
    std::fs::create_dir_all(dir.join("archive")).unwrap();
    for session in 0..50_u64 {
        let session_id = format!("session_202511{:02}_{session:06}_abcdef", session % 28 + 1);
        let mut text = String::new();
        for number in session * SESSION..(session + 1) * SESSION {
            let draft = draft(number);
            let entry = Entry {
                id: format!("ghap_20251101_000000_{number:06}"),
                session_id: session_id.clone(),
                domain: draft.domain,
                strategy: draft.strategy,
                goal: draft.goal,
                hypothesis: draft.hypothesis,
                action: draft.action,
                prediction: draft.prediction,
                ..template.clone()
            };
            text.push_str(&serde_json::to_string(&entry).unwrap());
            text.push('\n');
        }
        let name = format!("{}_{session_id}.jsonl", &session_id[8..16]);
        std::fs::write(dir.join("archive").join(name), text).unwrap();
    }
}
