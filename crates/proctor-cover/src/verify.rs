//! Runs emitted specs with plain RSpec in a clean copy, under changed circumstances, and says which examples do not hold.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::Sandbox;

/// One run of a spec file.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Spec and line of examples that failed.
    pub failed: BTreeSet<(String, u64)>,
    /// How many passed.
    pub passed: usize,
    /// How many are pending.
    pub pending: usize,
    /// Why nothing could be run.
    pub error: Option<String>,
}

/// The circumstances of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    /// RSpec's seed.
    pub seed: u32,
    /// Seconds by which the clock is moved.
    pub shift: u32,
    /// The time zone.
    pub zone: &'static str,
}

/// Different enough to show what depends on time, order or place.
pub(crate) const CIRCUMSTANCES: &[Circumstances] = &[
    Circumstances { seed: 1, shift: 0, zone: "UTC" },
    Circumstances { seed: 4242, shift: 3_481_217, zone: "Asia/Tokyo" },
    Circumstances { seed: 77, shift: 34_560_003, zone: "America/New_York" },
];

/// Once more in other orders, when everything held.
pub(crate) const OTHER_ORDERS: &[Circumstances] = &[
    Circumstances { seed: 3, shift: 0, zone: "UTC" },
    Circumstances { seed: 90, shift: 0, zone: "UTC" },
    Circumstances { seed: 511, shift: 0, zone: "UTC" },
    Circumstances { seed: 20_011, shift: 0, zone: "UTC" },
];

/// Runs spec files (relative to `root`).
pub(crate) fn run(
    sandbox: &Sandbox,
    programs: &Path,
    root: &Path,
    specs: &[&str],
    how: Circumstances,
) -> io::Result<Verdict> {
    let out = root.join(format!(".proctor-verify-{}.json", how.seed));
    let mut arguments: Vec<OsString> = vec![
        "-r".into(),
        programs.join("verify.rb").into(),
        "-e".into(),
        "require 'rspec/core'; exit RSpec::Core::Runner.run(ARGV, $stderr, $stdout)".into(),
        "--".into(),
        "--format".into(),
        "json".into(),
        "--out".into(),
        out.clone().into(),
        "--order".into(),
        format!("random:{}", how.seed).into(),
    ];
    arguments.extend(specs.iter().map(|spec| OsString::from(*spec)));
    let shift = how.shift.to_string();
    let environment = [("PROCTOR_COVER_SHIFT", shift.as_str()), ("TZ", how.zone)];
    let finished = sandbox.run(&arguments, root, &environment, Duration::from_mins(5))?;
    let text = fs::read_to_string(&out).unwrap_or_default();
    let _ = fs::remove_file(&out);
    let Ok(report) = serde_json::from_str::<Value>(&text) else {
        let words =
            if finished.timed_out { "the specs take too long" } else { "rspec gave no report" };
        let first: Vec<&str> =
            finished.stderr.lines().chain(finished.stdout.lines()).take(5).collect();
        return Ok(Verdict {
            error: Some(format!("{words}: {}", first.join(" / "))),
            ..Verdict::default()
        });
    };
    let mut verdict = Verdict::default();
    if report["summary"]["errors_outside_of_examples_count"].as_u64().unwrap_or(0) > 0 {
        let messages = report["messages"]
            .as_array()
            .map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"));
        verdict.error = Some(
            messages.unwrap_or_else(|| "an error outside of examples".to_owned()).trim().to_owned(),
        );
    }
    for example in report["examples"].as_array().into_iter().flatten() {
        match example["status"].as_str() {
            Some("failed") => {
                let path =
                    example["file_path"].as_str().unwrap_or_default().trim_start_matches("./");
                verdict
                    .failed
                    .extend(example["line_number"].as_u64().map(|line| (path.to_owned(), line)));
            }
            Some("pending") => verdict.pending += 1,
            _ => verdict.passed += 1,
        }
    }
    Ok(verdict)
}
