//! Attempts and what they come to, for the tests of the other languages: every pair of statuses and faults, and the mixtures of
//! repetitions, retries and rates that decide.

use std::path::{Path, PathBuf};

use proctor_events::{Fault, Status};
use proctor_verdict::{AttemptNumber, Evidence, ExampleVerdict, Observation, Policy, evidence};
use serde_json::{Value, json};

/// The file with all vectors.
pub(crate) fn file() -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors.json");
    let lines = |all: Vec<Value>| {
        all.iter()
            .map(|one| format!("    {}", crate::generator::line(one)))
            .collect::<Vec<_>>()
            .join(",\n")
    };
    let text = format!(
        "{{\n  \"evidence\": [\n{}\n  ],\n  \"verdicts\": [\n{}\n  ]\n}}\n",
        lines(single()),
        lines(mixtures())
    );
    (path, text)
}

const FAULTS: [Option<&str>; 7] = [
    None,
    Some("agent"),
    Some("simulator"),
    Some("judge"),
    Some("tool"),
    Some("harness"),
    Some("new"),
];

fn single() -> Vec<Value> {
    let statuses = Status::KNOWN.iter().copied().chain(["new"]);
    let pairs = statuses.flat_map(|status| FAULTS.map(|fault| (status, fault)));
    let said = |status: &str, fault: Option<&str>| match evidence(
        &Status::from(status),
        fault.map(Fault::from).as_ref(),
    ) {
        Evidence::For => "for",
        Evidence::Against => "against",
        Evidence::Nothing => "nothing",
    };
    pairs
        .map(|(status, fault)| json!({"status": status, "fault": fault, "evidence": said(status, fault)}))
        .collect()
}

/// A small generator of numbers, so that the file is the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit as u64).expect("below a usize")
    }
}

fn mixtures() -> Vec<Value> {
    let mut numbers = Numbers(7);
    let rates = [
        None,
        None,
        Some(0.5),
        Some(0.8),
        Some(1.0),
        Some(0.0),
        Some(0.056),
        Some(0.67),
        Some(1.5),
    ];
    (0..600).map(|_| mixture(&mut numbers, &rates)).collect()
}

fn mixture(numbers: &mut Numbers, rates: &[Option<f64>]) -> Value {
    let statuses =
        ["passed", "passed", "passed", "failed", "failed", "pending", "inconclusive", "errored"];
    let rare = ["crashed", "timed_out", "cancelled", "not_run", "new"];
    let mut attempts: Vec<Value> = Vec::new();
    for repeat in 1..=numbers.below(5) + 1 {
        let tries = 1 + numbers.below(8) / 6;
        for attempt in 1..=tries {
            let status = match numbers.below(12) {
                0 => Value::Null,
                1 | 2 => json!(rare[numbers.below(rare.len())]),
                _ => json!(statuses[numbers.below(statuses.len())]),
            };
            let fault = FAULTS[if numbers.below(4) == 0 { numbers.below(FAULTS.len()) } else { 0 }];
            let last = attempt == tries || numbers.below(5) == 0;
            let check_count = [Some(0), Some(0), Some(2), None][numbers.below(4)];
            attempts.push(json!({
                "repeat": repeat, "attempt": attempt, "status": status, "fault": fault, "final": last, "flaky": numbers.below(20) == 0,
                "check_count": check_count,
            }));
        }
    }
    let (pass_rate, over) = (rates[numbers.below(rates.len())], numbers.below(2) == 0);
    let verdict = verdict(&attempts, pass_rate, over);
    let (rate, policy) = (verdict.rate(), Policy::default());
    let strict = Policy { flaky_fails: true, unchecked_fails: true, ..policy };
    json!({
        "attempts": attempts, "pass_rate": pass_rate, "over": over, "verdict": verdict.word(),
        "passed": rate.passed, "valid": rate.valid, "failure": verdict.is_failure(policy),
        "unchecked": verdict.is_unchecked(), "strict_failure": verdict.is_failure(strict),
    })
}

fn verdict(attempts: &[Value], pass_rate: Option<f64>, over: bool) -> ExampleVerdict {
    let statuses: Vec<Option<Status>> =
        attempts.iter().map(|it| it["status"].as_str().map(Status::from)).collect();
    let faults: Vec<Option<Fault>> =
        attempts.iter().map(|it| it["fault"].as_str().map(Fault::from)).collect();
    let number = |value: &Value| u32::try_from(value.as_u64().expect("a number")).expect("small");
    let all: Vec<Observation<'_>> = attempts
        .iter()
        .zip(statuses.iter().zip(&faults))
        .map(|(it, (status, fault))| Observation {
            number: AttemptNumber {
                repeat: number(&it["repeat"]),
                attempt: number(&it["attempt"]),
            },
            status: status.as_ref(),
            fault: fault.as_ref(),
            is_final: it["final"] == true,
            flaky: it["flaky"] == true,
            checks: it["check_count"].as_u64(),
        })
        .collect();
    ExampleVerdict::of(&all, pass_rate, over)
}
