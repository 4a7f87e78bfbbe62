//! What is checked within one run.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use proctor_events::{Body, Event, FORMAT_VERSION, Status, SuiteFinished, SuiteStarted, Timestamp};

use proctor_verdict::{Liveness, Policy, RunState, RunVerdict};

use super::attempts::CheckedAttempts;
use super::chain::Chain;
use super::counts::ResultCounts;
use super::verdicts::CheckedVerdicts;
use super::{CheckedRun, DigestState, Findings, RecordingState};

/// How far the time may go back from one event to the next. Several threads take the time before they get their number.
const CLOCK_TOLERANCE_MS: i64 = 5_000;

/// What must hold within one run.
#[derive(Debug)]
pub(super) struct RunCheck {
    name: String,
    /// Whether its writer numbers its events; others promise less.
    numbered: bool,
    version: Option<u32>,
    has_id: bool,
    last_seq: Option<u64>,
    latest: Option<Timestamp>,
    /// Lines at which the time goes back, and by how many milliseconds.
    set_back: Vec<(u64, i64)>,
    chain: Chain,
    attempts: CheckedAttempts,
    counts: ResultCounts,
    verdicts: CheckedVerdicts,
    started: Option<u64>,
    announced: Option<u64>,
    /// Whether the run decides on repetitions as it goes: what it announces is the least that it will have.
    may_grow: bool,
    finished: Option<(u64, SuiteFinished)>,
    damaged: bool,
    newer: bool,
}

impl RunCheck {
    pub(super) fn new(name: String, first: &Event) -> Self {
        Self {
            name,
            numbered: first.v.is_some(),
            version: first.v,
            has_id: first.run_id.is_some(),
            last_seq: None,
            latest: None,
            set_back: Vec::new(),
            chain: Chain::default(),
            attempts: CheckedAttempts::default(),
            counts: ResultCounts::default(),
            verdicts: CheckedVerdicts::default(),
            started: None,
            announced: None,
            may_grow: false,
            finished: None,
            damaged: false,
            newer: false,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// A line that belongs here and is no event.
    pub(super) fn unreadable(&mut self, bytes: &[u8]) {
        self.damaged = true;
        self.chain.unreadable(bytes);
    }

    pub(super) fn event(
        &mut self,
        line: u64,
        event: &Event,
        bytes: &[u8],
        findings: &mut Findings,
    ) {
        let in_place = self.sequence(line, event, findings);
        let unchanged = self.chain.line(line, bytes, in_place, findings);
        let fits = self.envelope(line, event, findings);
        let possible = self.values(line, event, bytes, findings);
        let alive = self.lifecycle(line, event, findings);
        self.damaged |= !(in_place && unchanged && fits && possible && alive);
    }

    /// Numbers must go up by one. Lines without envelope are numbered by their line, which says nothing.
    fn sequence(&mut self, line: u64, event: &Event, findings: &mut Findings) -> bool {
        let Some(seq) = event.seq.filter(|_| self.numbered) else { return true };
        let expected = self.last_seq.map_or(1, |last| last.saturating_add(1));
        self.last_seq = Some(seq);
        if seq == expected {
            return true;
        }
        let problem = if seq > expected {
            "events are missing"
        } else {
            "events are repeated or out of order"
        };
        let message = format!("event {seq} follows {}: {problem}", expected - 1);
        findings.error(Some(line), message);
        false
    }

    /// A writer that writes envelopes writes one on every line.
    fn envelope(&mut self, line: u64, event: &Event, findings: &mut Findings) -> bool {
        if event.v > Some(FORMAT_VERSION) && !std::mem::replace(&mut self.newer, true) {
            findings.note(Some(line), "was written by a newer version of Proctor");
        }
        let problem = if event.v != self.version {
            "has another format version than the lines before it"
        } else if self.has_id && event.run_id.is_none() {
            "names no run, but the lines before it do"
        } else if self.numbered && event.time.is_none() {
            "has no time"
        } else {
            return true;
        };
        findings.error(Some(line), problem);
        false
    }

    /// Values that no writer can have meant.
    fn values(&mut self, line: u64, event: &Event, bytes: &[u8], findings: &mut Findings) -> bool {
        self.time(line, event);
        let problem = if event.repeat == Some(0) || event.attempt == Some(0) {
            "repetitions and attempts are counted from 1".to_owned()
        } else if let Some(field) = negative_duration(bytes) {
            format!("{} has a negative `{field}`", event.type_name())
        } else {
            match &event.body {
                Body::Progress(it) if it.completed > it.total => {
                    format!("{} of {} examples cannot have ended", it.completed, it.total)
                }
                Body::ExampleFinished(it) if self.numbered && !self.newer => match &it.status {
                    Status::Other(word) => format!("`{word}` is not a status"),
                    _ => return true,
                },
                _ => return true,
            }
        };
        findings.error(Some(line), problem);
        false
    }

    fn time(&mut self, line: u64, event: &Event) {
        let Some(time) = event.time else { return };
        let back = self.latest.map_or(0, |latest| latest.as_millisecond() - time.as_millisecond());
        if back > CLOCK_TOLERANCE_MS {
            self.set_back.push((line, back));
            // From here on the new time counts: one step back is one finding.
            self.latest = Some(time);
        }
        self.latest = self.latest.max(Some(time));
    }

    fn lifecycle(&mut self, line: u64, event: &Event, findings: &mut Findings) -> bool {
        let mut right = true;
        if self.numbered
            && let Some((end, _)) = &self.finished
        {
            let kind = event.type_name();
            findings.error(Some(line), format!("{kind} after the run's end in line {end}"));
            right = false;
        }
        right
            & match &event.body {
                Body::SuiteStarted(payload) => self.suite_started(line, payload, findings),
                Body::SuiteFinished(payload) => self.suite_finished(line, payload, findings),
                Body::ExampleStarted(payload) => {
                    self.counts.pass_rates |= payload.pass_rate.is_some();
                    self.verdicts.started(event, payload);
                    self.attempts.started(line, event, payload, findings)
                }
                Body::ExampleFinished(payload) => {
                    self.counts.pass_rates |= payload.pass_rate.is_some();
                    self.counts.add(payload);
                    self.verdicts.finished(event, payload);
                    self.attempts.finished(line, event, payload, self.numbered, findings)
                }
                Body::ErrorOutsideExample(_) => {
                    self.counts.errors += 1;
                    self.verdicts.errors += 1;
                    true
                }
                // What an example has printed may be read after its end.
                Body::WorkerLog(_) => true,
                _ if self.numbered && event.example_id.is_some() => {
                    self.attempts.check_running(line, event, findings)
                }
                _ => true,
            }
    }

    fn suite_started(
        &mut self,
        line: u64,
        payload: &SuiteStarted,
        findings: &mut Findings,
    ) -> bool {
        self.announced = self.announced.or(payload.repetition_count).or(payload.example_count);
        self.may_grow = payload.repeat_limit.is_some();
        self.verdicts.policy = Policy::of_event(payload.policy.as_ref());
        if let Some(earlier) = self.started {
            let message =
                format!("a second SuiteStarted in one run; the first is in line {earlier}");
            findings.error(Some(line), message);
            return false;
        }
        self.started = Some(line);
        true
    }

    fn suite_finished(
        &mut self,
        line: u64,
        payload: &SuiteFinished,
        findings: &mut Findings,
    ) -> bool {
        if self.finished.is_some() {
            findings.error(Some(line), "a second SuiteFinished in one run");
            return false;
        }
        self.finished = Some((line, payload.clone()));
        let results = payload.repetition_count.unwrap_or(payload.example_count);
        let mut right = match payload.repetition_count {
            Some(_) => self.verdicts.compare(line, payload, findings),
            None => self.counts.compare(line, payload, findings),
        };
        let late = payload.late_count.unwrap_or_default();
        self.announced = self.announced.map(|announced| announced.saturating_add(late));
        if self.may_grow && self.announced.is_some_and(|announced| announced <= results) {
            self.announced = Some(results);
        }
        if let Some(announced) = self.announced.filter(|count| *count != results) {
            let message =
                format!("says that {results} results were planned, but {announced} were announced");
            findings.error(Some(line), message);
            right = false;
        }
        right
    }

    /// What the whole of it is worth.
    pub(super) fn end(mut self, findings: &mut Findings) -> CheckedRun {
        let digest = self.chain.state();
        self.clock(digest, findings);
        if self.numbered && self.started.is_none() {
            findings.error(None, "the run has no SuiteStarted: its beginning is missing");
            self.damaged = true;
        }
        let cut_off = self.is_cut_off(findings);
        let state = match &self.finished {
            _ if self.damaged => RecordingState::Damaged,
            _ if cut_off => RecordingState::CutOff,
            Some((_, end))
                if RunVerdict::recorded(true, Some(end), Liveness::Gone, false).state()
                    == RunState::Stopped =>
            {
                RecordingState::Interrupted
            }
            _ => RecordingState::Complete,
        };
        CheckedRun {
            run: self.name,
            state,
            digest,
            announced: self.announced,
            finished: self.attempts.final_count(),
            not_run: self.counts.not_run(),
        }
    }

    /// A clock may be set back during a run. Only digests distinguish that from edited times.
    fn clock(&mut self, digest: DigestState, findings: &mut Findings) {
        for (line, back) in std::mem::take(&mut self.set_back) {
            let message = format!("the time goes back by {} s", back / 1000);
            if digest == DigestState::Matches {
                findings.note(Some(line), format!("{message}: the clock was set"));
            } else {
                findings.error(Some(line), message);
                self.damaged = true;
            }
        }
    }

    /// Whether something that was announced has no result.
    fn is_cut_off(&mut self, findings: &mut Findings) -> bool {
        let finals = self.attempts.final_count();
        let Some((_, end)) = &self.finished else {
            let running = match self.attempts.open_count() {
                0 => String::new(),
                1 => ", with 1 example running".to_owned(),
                several => format!(", with {several} examples running"),
            };
            let so_far = self.announced.map_or_else(String::new, |announced| {
                format!("; {finals} of {announced} announced results are there")
            });
            findings.error(
                None,
                format!("the run has no SuiteFinished: it was cut off{running}{so_far}"),
            );
            return true;
        };
        let announced = end.repetition_count.unwrap_or(end.example_count);
        let announced = self.announced.unwrap_or(announced);
        for (line, message) in self.attempts.left_open() {
            findings.error(Some(line), message);
            self.damaged = true;
        }
        if finals > announced {
            findings
                .error(None, format!("{announced} results were announced, {finals} are recorded"));
            self.damaged = true;
        }
        if finals < announced {
            findings.error(
                None,
                format!(
                    "{announced} results were announced, {finals} are recorded: the run was cut off"
                ),
            );
        }
        finals < announced
    }
}

/// The name of a field that says how long something took, and says less than nothing. Reading an event makes that zero, so the
/// text itself is looked at.
fn negative_duration(bytes: &[u8]) -> Option<String> {
    static SIGN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_ms\":-"));
    SIGN.find(bytes)?;
    let line: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(bytes).ok()?;
    let negative = |value: &serde_json::Value| value.as_f64().is_some_and(|value| value < 0.0);
    line.into_iter().find(|(name, value)| name.ends_with("_ms") && negative(value)).map(|it| it.0)
}
