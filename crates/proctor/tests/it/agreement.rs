//! Whatever happens in a run, every surface tells the same verdicts: those of `proctor-verdict`, and for the run the controller's own.
//!
//! Runs are played in the dispatcher's simulated world: workers crash, hang, die between examples or cannot be started; examples are
//! retried, repeated, held to pass rates; somebody stops the run. Every surface is read back as its reader would read it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proctor_compare::Side;
use proctor_events::{
    Body, BoxedError, Bus, BusConfig, Event, ExampleFinished, Fault, Published, Recorder, RunId,
    Status, Timestamp,
};
use proctor_history::History;
use proctor_record::{
    Aggregator, Reader, RecordingState, RunData, RunInfo, RunStore, Severity, validate,
};
use proctor_report::{
    AgentLines, Detail, Grouped, Interleaved, Quiet, Reporter, Style, SummaryOptions, Terse,
    github_annotations, junit, markdown, run_json, summary, transcript,
};
use proctor_runner::{
    AdaptiveRepeats, Fate, PastOutcome, PastRun, PlayedRun, RunOptions, SimulatedExample,
    SimulatedRun,
};
use proctor_tui::{App, CanRunAgain, Input, Setup, draw};
use proctor_verdict::{
    AttemptKey, AttemptNumber, Counts, ExampleVerdict, Observation, Policy, RunVerdict,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use regex::Regex;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::serve::Served;

const PLAIN: Style = Style { color: false };

/// What a surface says of a run; what it does not say is absent.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    /// Whether the run passed.
    passed: Option<bool>,
    /// `passed` or `failed` for a run that finished, else its state.
    word: Option<String>,
    exit_code: Option<u8>,
    /// Examples that fail the run.
    failures: Option<u64>,
    /// Examples by verdict, without what did not occur.
    counts: Option<BTreeMap<String, u64>>,
    /// The verdict of each example, by id.
    examples: Option<BTreeMap<String, String>>,
}

/// A run that was played, as a recording has it.
struct Played {
    events: Vec<Arc<Published>>,
    run: RunData,
    expected: Answer,
    /// What a surface that has words for people says.
    phrase: &'static str,
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<Arc<Published>>>>);

impl Recorder for Memory {
    fn record(&mut self, batch: &[Arc<Published>]) -> Result<(), BoxedError> {
        self.0.lock().unwrap().extend(batch.iter().cloned());
        Ok(())
    }
}

impl Played {
    fn new(simulated: &SimulatedRun, run_id: &str) -> Self {
        Self::recorded(simulated, run_id, |_| {})
    }

    fn recorded(simulated: &SimulatedRun, run_id: &str, add: impl FnOnce(&Bus)) -> Self {
        let bus = Bus::new(BusConfig {
            run_id: RunId::new(run_id),
            clock: Box::new(|| "2026-11-16T10:30:00Z".parse().unwrap()),
            on_warning: Box::new(|warning| panic!("{warning}")),
        });
        let memory = Memory::default();
        bus.add_recorder(memory.clone());
        add(&bus);
        let played = simulated.play(&bus);
        drop(bus);
        let events = std::mem::take(&mut *memory.0.lock().unwrap());
        let mut fold = Aggregator::default();
        for event in &events {
            fold.apply(event);
        }
        let expected = expected(simulated, &played, &events);
        let phrase = played.verdict.phrase();
        Self { events, run: fold.into_run(), expected, phrase }
    }

    fn text(&self) -> String {
        self.events.iter().map(|event| format!("{}\n", event.json())).collect()
    }
}

/// What `proctor-verdict` says, asked with the raw results and with what was demanded, past every reader of recordings.
fn expected(simulated: &SimulatedRun, played: &PlayedRun, events: &[Arc<Published>]) -> Answer {
    let policy = Policy {
        flaky_fails: simulated.options.flaky_fails,
        inconclusive_fails: simulated.options.inconclusive_fails,
        ..Policy::default()
    };
    let results: Vec<(AttemptKey, &ExampleFinished)> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::ExampleFinished(result) => Some((AttemptKey::of(event)?, result)),
            _ => None,
        })
        .collect();
    let mut counts = Counts { errors: played.counts.errors, ..Counts::default() };
    let mut examples = BTreeMap::new();
    for (id, example) in played.ids.iter().zip(&simulated.examples) {
        let own = results.iter().filter(|(key, _)| key.example == *id);
        let attempts: Vec<Observation<'_>> = own
            .map(|(key, result)| Observation {
                number: key.number,
                status: Some(&result.status),
                fault: result.fault.as_ref(),
                is_final: result.r#final == Some(true),
                flaky: result.flaky == Some(true),
                checks: result.checks,
            })
            .collect();
        let verdict = ExampleVerdict::of(&attempts, example.pass_rate, true);
        counts.count(verdict, policy);
        examples.insert(id.to_string(), verdict.word().to_owned());
    }
    let told = Counts { repetitions: 0, ..played.counts };
    assert_eq!(told, counts, "the runner's own counts are those of its results");
    Answer {
        passed: Some(played.verdict.is_passed()),
        word: Some(played.verdict.word().to_owned()),
        exit_code: played.verdict.exit_code(),
        failures: Some(counts.failures),
        counts: Some(by_word(&counts)),
        examples: Some(examples),
    }
}

const WORDS: [&str; 11] = [
    "passed",
    "failed",
    "pending",
    "inconclusive",
    "errored",
    "crashed",
    "timed_out",
    "cancelled",
    "not_run",
    "flaky",
    "within_rate",
];

fn by_word(counts: &Counts) -> BTreeMap<String, u64> {
    numbers(&serde_json::to_value(counts).unwrap(), &WORDS)
}

/// The numbers of an object that have these names and are not 0.
fn numbers(object: &Value, words: &[&str]) -> BTreeMap<String, u64> {
    let number = |word: &&str| Some(((*word).to_owned(), object[*word].as_u64()?));
    words.iter().filter_map(number).filter(|(_, count)| *count > 0).collect()
}

/// What differs between what a surface says and what is so.
fn disagreement(said: &Answer, so: &Answer) -> Option<String> {
    fn differs<T: PartialEq + std::fmt::Debug>(
        name: &str,
        said: Option<&T>,
        so: Option<&T>,
    ) -> Option<String> {
        let said = said?;
        (Some(said) != so).then(|| format!("{name}: {said:?} instead of {so:?}"))
    }
    differs("passed", said.passed.as_ref(), so.passed.as_ref())
        .or_else(|| differs("word", said.word.as_ref(), so.word.as_ref()))
        .or_else(|| differs("exit code", said.exit_code.as_ref(), so.exit_code.as_ref()))
        .or_else(|| differs("failures", said.failures.as_ref(), so.failures.as_ref()))
        .or_else(|| differs("counts", said.counts.as_ref(), so.counts.as_ref()))
        .or_else(|| differs("examples", said.examples.as_ref(), so.examples.as_ref()))
}

type Surface = (&'static str, fn(&Played) -> Answer);

/// Every surface that needs no files.
const SURFACES: [Surface; 18] = [
    ("fold", fold),
    ("outline", outline),
    ("validate", validation),
    ("junit", junit_cases),
    ("markdown", markdown_sign),
    ("github annotations", annotations),
    ("json", json_document),
    ("transcript", transcript_line),
    ("summary", summary_text),
    ("terse", |played| live(played, &mut Terse::new(PLAIN, SummaryOptions::default()))),
    ("agent lines", agent_lines),
    ("quiet", |played| live(played, &mut Quiet::new(PLAIN, SummaryOptions::default(), 80))),
    ("grouped", |played| live(played, &mut Grouped::new(PLAIN, SummaryOptions::default()))),
    ("interleaved", |played| {
        live(played, &mut Interleaved::new(PLAIN, SummaryOptions::default(), true))
    }),
    ("comparison", side),
    ("rows of the page", page_rows),
    ("screen", screen),
    ("the end alone", end_alone),
];

fn of_run(run: &RunData) -> Answer {
    let (verdict, counts) = (run.verdict(), run.summary());
    let word = |example: &proctor_record::Example| {
        (example.id.as_ref().unwrap().to_string(), example.verdict(run.over).word().to_owned())
    };
    Answer {
        passed: Some(verdict.is_passed()),
        word: Some(verdict.word().to_owned()),
        exit_code: verdict.exit_code(),
        failures: Some(counts.failures),
        counts: Some(by_word(&counts)),
        examples: Some(run.examples.iter().map(word).collect()),
    }
}

fn fold(played: &Played) -> Answer {
    of_run(&played.run)
}

fn outline(played: &Played) -> Answer {
    let mut fold = Aggregator::outline();
    for event in &played.events {
        fold.apply(event);
    }
    of_run(fold.run())
}

/// A recording that says what was concluded has nothing wrong; a stopped one is told apart.
fn validation(played: &Played) -> Answer {
    let found = validate(Reader::new(played.text().as_bytes()));
    let errors: Vec<_> =
        found.findings.iter().filter(|it| it.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{}", played.text());
    let stopped = played.expected.word.as_deref() == Some("stopped");
    let state = if stopped { RecordingState::Interrupted } else { RecordingState::Complete };
    assert_eq!(found.state, state);
    Answer::default()
}

fn junit_cases(played: &Played) -> Answer {
    let text = junit(&played.run, "suite");
    let report = quick_junit::Report::deserialize_from_str(&text).unwrap();
    let bad = report.failures + report.errors;
    let cases = report.test_suites.iter().flat_map(|suite| &suite.test_cases);
    // Errors outside examples have cases of their own, and a run that fails without a failed example has one.
    let own = cases.filter(|case| !case.name.as_str().contains("example ")).count();
    Answer { passed: Some(bad == 0), failures: Some((bad - own) as u64), ..Answer::default() }
}

fn markdown_sign(played: &Played) -> Answer {
    Answer { passed: Some(markdown(&played.run).contains('✅')), ..Answer::default() }
}

fn annotations(played: &Played) -> Answer {
    let text = github_annotations(&played.run, 1000);
    let own = text.lines().filter(|line| line.starts_with("::error") && line.contains("example "));
    Answer { failures: Some(own.count() as u64), ..Answer::default() }
}

fn json_document(played: &Played) -> Answer {
    let told = serde_json::to_value(run_json(&played.run)).unwrap();
    let word = told["verdict"].as_str().or(told["state"].as_str());
    let all = told["verdicts"].as_array().unwrap();
    let failures = all.iter().filter(|one| one["failure"] == true).count();
    Answer {
        word: word.map(ToOwned::to_owned),
        exit_code: exit_code(&told["exit_code"]),
        failures: Some(failures as u64),
        counts: Some(numbers(&told["summary"], &WORDS)),
        examples: Some(verdicts_by_id(all)),
        ..Answer::default()
    }
}

fn exit_code(value: &Value) -> Option<u8> {
    u8::try_from(value.as_u64()?).ok()
}

fn verdicts_by_id(all: &[Value]) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.iter().map(|one| (text(&one["id"]), text(&one["verdict"]))).collect()
}

fn transcript_line(played: &Played) -> Answer {
    let text = transcript(&played.run, Detail::Brief, PLAIN);
    let first = text.lines().next().unwrap();
    assert!(first.contains(played.phrase), "{first} instead of {}", played.phrase);
    Answer::default()
}

/// The numbers in a line for people.
fn in_line(line: &str) -> BTreeMap<String, u64> {
    let words = Regex::new(
        r"(\d+) (passed|failed|errored|crashed|timed out|inconclusive|pending|cancelled|not run|flaky|within)",
    )
    .unwrap();
    let mut found = BTreeMap::new();
    for part in words.captures_iter(line) {
        let word = part[2].replace(' ', "_").replace("within", "within_rate");
        found.insert(word, part[1].parse().unwrap());
    }
    found
}

fn counts_line(text: &str) -> BTreeMap<String, u64> {
    let line = text.lines().rev().find(|line| line.contains(" example")).unwrap_or_default();
    in_line(line)
}

fn summary_text(played: &Played) -> Answer {
    let text = summary(&played.run, &SummaryOptions::default(), PLAIN);
    let failures = played.expected.failures.unwrap();
    assert_eq!(text.contains("Failures:"), failures > 0, "{text}");
    Answer { counts: Some(counts_line(&text)), ..Answer::default() }
}

fn live(played: &Played, reporter: &mut dyn Reporter) -> Answer {
    for event in &played.events {
        reporter.event(event);
    }
    Answer { counts: Some(counts_line(&reporter.finish(&played.run))), ..Answer::default() }
}

/// The last line says what became of the run; one line for each example that fails it.
fn agent_lines(played: &Played) -> Answer {
    let text = AgentLines::new().finish(&played.run);
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = lines.pop().unwrap();
    assert_eq!(told["type"], "summary");
    let word = told["verdict"].as_str().or(told["state"].as_str());
    let failures = lines.iter().filter(|line| line["type"] == "failure").count();
    assert_eq!(told["counts"]["failures"], failures, "{text}");
    Answer {
        word: word.map(ToOwned::to_owned),
        exit_code: exit_code(&told["exit_code"]),
        failures: Some(failures as u64),
        counts: Some(numbers(&told["counts"], &WORDS)),
        ..Answer::default()
    }
}

fn side(played: &Played) -> Answer {
    let side = Side::of(&played.run, "run");
    let examples = side.examples.iter().map(|one| (one.id.clone(), one.status.clone()));
    Answer { examples: Some(examples.collect()), ..Answer::default() }
}

fn page_rows(played: &Played) -> Answer {
    let rows = proctor_server::rows(&played.run, true);
    let rows: Vec<Value> = rows.map(|row| serde_json::to_value(row).unwrap()).collect();
    Answer { examples: Some(verdicts_by_id(&rows)), ..Answer::default() }
}

fn screen(played: &Played) -> Answer {
    let began: Timestamp = "2026-11-16T10:30:00Z".parse().unwrap();
    let setup = Setup {
        style: PLAIN,
        controls_run: false,
        exit_when_done: false,
        can_run_again: CanRunAgain::No,
        began,
    };
    let mut app = App::new(setup);
    app.update(Input::Resize(200, 40));
    for event in &played.events {
        app.update(Input::Event(Arc::clone(event)));
    }
    app.update(Input::Ended);
    let mut terminal = Terminal::new(TestBackend::new(200, 40)).unwrap();
    terminal.draw(|frame| draw(&app, frame)).unwrap();
    let text = terminal.backend().to_string();
    let sign = if played.expected.passed == Some(true) { '✓' } else { '✗' };
    let told = format!("{sign} {} in ", played.phrase);
    assert!(text.contains(&told), "no `{told}` in\n{text}");
    Answer::default()
}

/// Readers that look only at the last event, such as lists of runs.
fn end_alone(played: &Played) -> Answer {
    let last = played.events.last().unwrap();
    let Body::SuiteFinished(end) = &last.body else { panic!("{last:?}") };
    let liveness = proctor_verdict::Liveness::Gone;
    let verdict = RunVerdict::recorded(true, Some(end), liveness, false);
    let counts = serde_json::to_value(end.counts.clone().unwrap_or_default()).unwrap();
    Answer {
        passed: Some(verdict.is_passed()),
        word: Some(verdict.word().to_owned()),
        exit_code: end.exit_code.and_then(|code| u8::try_from(code).ok()),
        failures: Some(end.failure_count),
        counts: Some(numbers(&counts, &WORDS)),
        ..Answer::default()
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Pass),
        4 => Just(Fate::Fail),
        3 => Just(Fate::Flaky),
        1 => Just(Fate::Pending),
        1 => Just(Fate::Inconclusive),
        1 => Just(Fate::ToolBreaks),
        2 => Just(Fate::Crash),
        1 => Just(Fate::CrashAfterResult),
        1 => Just(Fate::Hang),
        1 => Just(Fate::TooLate),
        1 => Just(Fate::DieBefore),
        1 => Just(Fate::HangBefore),
        1 => Just(Fate::LostOnce),
        1 => Just(Fate::Lost),
    ]
}

fn example() -> impl Strategy<Value = SimulatedExample> {
    let fates = prop_oneof![
        2 => Just(vec![Fate::Pass]),
        3 => prop::collection::vec(fate(), 1..4),
    ];
    let unit = prop::option::weighted(0.3, 0_u32..3);
    let pass_rate = prop::option::weighted(0.4, prop::sample::select(vec![0.2, 0.5, 0.75, 1.0]));
    let repeats = prop::option::weighted(0.5, 1_u32..6);
    (fates, unit, pass_rate, repeats).prop_map(|(fates, unit, pass_rate, repeats)| {
        SimulatedExample { fates, unit, pass_rate, repeats }
    })
}

fn options() -> impl Strategy<Value = RunOptions> {
    let fail_fast = prop::option::weighted(0.2, 1_u32..4);
    let max_per_worker = prop::option::weighted(0.3, 1_u32..6);
    let limit = prop::option::weighted(0.4, 2_u32..9);
    (1_u32..5, 0_u32..3, 0_u32..4, fail_fast, max_per_worker, limit, any::<[bool; 2]>()).prop_map(
        |(workers, retries, repeats, fail_fast, max_per_worker, limit, [flaky, inconclusive])| {
            RunOptions {
                adaptive: limit.map(|limit| AdaptiveRepeats { limit, baseline: None }),
                workers,
                retries,
                repeats,
                fail_fast,
                max_per_worker,
                timeout: Some(200),
                grace: 20,
                flaky_fails: flaky,
                inconclusive_fails: inconclusive,
                ..RunOptions::default()
            }
        },
    )
}

/// What some of the examples did in an earlier run.
fn past_run() -> impl Strategy<Value = PastRun> {
    let outcome = (prop::bool::weighted(0.8), prop::bool::weighted(0.8));
    let outcome = outcome.prop_map(|(passed, may_vary)| PastOutcome { passed, may_vary });
    let outcomes = prop::collection::vec(outcome, 0..10);
    prop::collection::vec(outcomes, 0..10).prop_map(|all| {
        let id = |number: usize| SimulatedExample::id(u32::try_from(number).unwrap());
        let outcomes = all.into_iter().enumerate().map(|(place, all)| (id(place + 1), all));
        PastRun { name: "before".to_owned(), outcomes: outcomes.collect() }
    })
}

fn with_baseline(mut options: RunOptions, past: PastRun) -> RunOptions {
    if let Some(adaptive) = &mut options.adaptive {
        adaptive.baseline = (!past.outcomes.is_empty()).then(|| Arc::new(past));
    }
    options
}

fn simulated() -> impl Strategy<Value = SimulatedRun> {
    let stop_at = prop::option::weighted(0.2, 0_u64..60_000);
    let kill_at = prop::option::weighted(0.1, 0_u64..60_000);
    let bad_starts = prop::collection::btree_set(1_u32..20, 0..4);
    let examples = prop::collection::vec(example(), 0..10);
    (options(), examples, bad_starts, stop_at, kill_at, past_run()).prop_map(
        |(options, examples, bad_starts, stop_at, kill_at, past)| SimulatedRun {
            options: with_baseline(options, past),
            examples,
            bad_starts,
            stop_at,
            kill_at,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// V4, V5, V6: one verdict per example and per run, whatever happened and whoever tells it.
    #[test]
    fn v4_v5_v6_every_surface_tells_the_verdicts_of_the_owner(simulated in simulated()) {
        let played = Played::new(&simulated, "simulated");
        for (name, surface) in SURFACES {
            let differs = disagreement(&surface(&played), &played.expected);
            prop_assert!(differs.is_none(), "{}: {}\n{}", name, differs.unwrap_or_default(), played.text());
        }
    }
}

/// So many runs, the same every time.
fn some_runs(count: usize) -> Vec<SimulatedRun> {
    let mut random = TestRunner::deterministic();
    let mut draw = || simulated().new_tree(&mut random).unwrap().current();
    (0..count).map(|_| draw()).collect()
}

/// The check finds a surface that is wrong: these count as the places of audit V4 and V5 did.
#[test]
fn a_surface_that_decides_by_itself_is_found() {
    /// JUnit as it was: every failed repetition is a failure.
    fn repetitions(played: &Played) -> Answer {
        let failed = |event: &&Arc<Published>| match &event.body {
            Body::ExampleFinished(it) => it.r#final == Some(true) && it.status == Status::Failed,
            _ => false,
        };
        Answer { passed: Some(!played.events.iter().any(|it| failed(&it))), ..Answer::default() }
    }
    /// The run list as it was: whatever the exit code is, no counted failure is a pass.
    fn without_exit_code(played: &Played) -> Answer {
        Answer { passed: Some(played.run.summary().failures == 0), ..Answer::default() }
    }
    /// A rate that holds a broken tool against what was tested.
    fn faults_ignored(played: &Played) -> Answer {
        let mut blamed = Aggregator::default();
        for event in &played.events {
            let mut event = Event::clone(event);
            if let Body::ExampleFinished(result) = &mut event.body {
                result.fault = result.fault.take().filter(|fault| *fault != Fault::Tool);
            }
            blamed.apply(&event);
        }
        let of = of_run(blamed.run());
        Answer { examples: of.examples, ..Answer::default() }
    }
    /// A reader that takes the last attempt for the verdict of its example.
    fn last_attempt(played: &Played) -> Answer {
        let mut examples = BTreeMap::new();
        let mut seen: BTreeMap<String, AttemptNumber> = BTreeMap::new();
        for event in &played.events {
            if let (Body::ExampleFinished(it), Some(key)) = (&event.body, AttemptKey::of(event)) {
                let id = key.example.to_string();
                if seen.get(&id).is_none_or(|earlier| *earlier < key.number) {
                    seen.insert(id.clone(), key.number);
                    examples.insert(id, it.status.to_string());
                }
            }
        }
        Answer { examples: Some(examples), ..Answer::default() }
    }
    let planted: [Surface; 4] = [
        ("repetitions", repetitions),
        ("without the exit code", without_exit_code),
        ("faults ignored", faults_ignored),
        ("last attempt", last_attempt),
    ];
    let played: Vec<Played> =
        some_runs(200).iter().map(|simulated| Played::new(simulated, "planted")).collect();
    for (name, surface) in planted {
        let found = played.iter().filter(|it| disagreement(&surface(it), &it.expected).is_some());
        assert!(found.count() > 0, "nothing tells that `{name}` is wrong");
    }
}

/// Runs in the store of a project, by name.
struct Stored {
    env: TestEnv,
    store: RunStore,
    runs: BTreeMap<String, Played>,
}

impl Stored {
    fn new(count: usize) -> Self {
        let env = TestEnv::new();
        let store = RunStore::new(&env.project);
        let record = |(number, simulated): (usize, &SimulatedRun)| {
            let name = format!("simulated-{number:02}");
            let started = "2026-11-16T10:30:00Z".parse().unwrap();
            let argv = vec!["proctor".to_owned()];
            let info = RunInfo::new(RunId::new(name.as_str()), started, argv);
            let (_, recorder) = store.create(&info).unwrap();
            let played = Played::recorded(simulated, &name, |bus| bus.add_recorder(recorder));
            (name, played)
        };
        let runs = some_runs(count).iter().enumerate().map(record).collect();
        Self { env, store, runs }
    }

    fn check(&self, surface: &str, name: &str, said: &Answer) {
        let differs = disagreement(said, &self.runs[name].expected);
        assert_eq!(differs, None, "{surface}: {name}\n{}", self.runs[name].text());
    }

    fn check_list(&self, served: &Served, surface: &str) {
        let listed = served.get("/api/runs");
        let listed = listed["runs"].as_array().unwrap();
        assert_eq!(listed.len(), self.runs.len());
        for one in listed {
            self.check(surface, one["id"].as_str().unwrap(), &of_json(one, &one["counts"]));
        }
    }
}

/// A run as the API, the tools and the commands describe it.
fn of_json(run: &Value, counts: &Value) -> Answer {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    Answer {
        word: text(&run["verdict"]).or_else(|| text(&run["state"])),
        exit_code: exit_code(&run["exit_code"]),
        counts: Some(numbers(counts, &WORDS)),
        ..Answer::default()
    }
}

#[test]
fn v4_v6_server_and_history_tell_the_verdicts_of_the_owner() {
    let stored = Stored::new(12);
    let served = Served::start(&stored.env);
    stored.check_list(&served, "list of runs from their ends");
    for name in stored.runs.keys() {
        let one = served.get(&format!("/api/runs/{name}"));
        stored.check("page of a run", name, &of_json(&one, &one["counts"]));
        let rows = served.get(&format!("/api/runs/{name}/examples"));
        let examples = Some(verdicts_by_id(rows["rows"].as_array().unwrap()));
        stored.check("rows of a run", name, &Answer { examples, ..Answer::default() });
    }
    let mut history = History::open(&stored.store).unwrap();
    for row in history.runs().unwrap() {
        let told = row.counts.into_iter();
        let counts = told.filter(|(word, count)| *count > 0 && WORDS.contains(&word.as_str()));
        let said = Answer {
            word: row.verdict.or(row.state),
            exit_code: row.exit_code.and_then(|code| u8::try_from(code).ok()),
            counts: Some(counts.collect()),
            ..Answer::default()
        };
        stored.check("history", &row.name, &said);
    }
    stored.check_list(&served, "list of runs from the index");
    served.end();
}

#[test]
fn v4_v6_tools_and_commands_tell_the_verdicts_of_the_owner() {
    let stored = Stored::new(12);
    for name in stored.runs.keys() {
        let asked = json!({"run_id": name, "statuses": ["all"], "limit": 100}).to_string();
        let ran = stored.env.run(&["tool", "run_results", &asked]);
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        let run = &told["run"];
        let mut counts = numbers(&run["counts"], &WORDS);
        counts.extend(numbers(run, &["flaky", "within_rate"]));
        let said = Answer {
            failures: Some(run["failures"].as_u64().unwrap_or_default()),
            counts: Some(counts),
            examples: Some(verdicts_by_id(told["results"].as_array().unwrap())),
            ..of_json(run, &run["counts"])
        };
        stored.check("run_results", name, &said);
        let shown = stored.env.run(&["show", name, "--format", "json"]);
        let told: Value = serde_json::from_str(&shown.stdout).unwrap();
        let examples = Some(verdicts_by_id(told["verdicts"].as_array().unwrap()));
        let said = Answer { examples, ..of_json(&told, &told["summary"]) };
        stored.check("show", name, &said);
        let validated = stored.env.run(&["validate", name]);
        assert_eq!(validated.code, Some(0), "{name}: {}", validated.stdout);
    }
}
