//! Nanoseconds for each line, beside a search for one literal and the pattern that stood here before. Ways take turns; medians of rounds.
#![expect(clippy::print_stdout, reason = "prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use memchr::memmem::Finder;
use proctor_redact::{Redactor, Secret};
use regex::bytes::Regex;

const ROUNDS: usize = 21;

/// Fifty keys as providers make them.
fn secrets() -> Vec<String> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut character = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let count = alphabet.len() as u64;
        char::from(alphabet[usize::try_from(state % count).unwrap_or(0)])
    };
    (0..50).map(|_| (0..40).map(|_| character()).collect()).collect()
}

/// The pattern of all spellings that `proctor-llm` used, and its pattern of key shapes.
fn patterns(secrets: &[String]) -> [Regex; 2] {
    let shapes = r"\b(?:sk|rk|pk|gsk|xai)-[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}|\bgh[opsu]_[A-Za-z0-9]{30,}|(?:Bearer|Basic) [A-Za-z0-9._~+/=-]{12,}";
    [&secrets.join("|"), shapes].map(|pattern| Regex::new(pattern).expect("a valid pattern"))
}

fn line(length: usize) -> String {
    let start = r#"{"seq":184,"time":"2026-11-18T10:20:30.123456Z","event":"AgentMessage","example":"0198c0de-7d3f-7cc2-9d0a-3a7b1c2d4e5f","worker":3,"text":""#;
    let words = r#"I looked at the task in https://example.com/orders/4711 and said \"yes\" to it.\nThe disk-space is fine; 42 tests passed. "#;
    let filler = words.repeat(length / words.len() + 1);
    let room = length - start.len() - 2;
    let end = (0..=room).rev().find(|end| !filler[..*end].ends_with('\\')).unwrap_or(0);
    format!("{start}{}\"}}", &filler[..end])
}

/// Nanoseconds for each call, of one round.
fn measure(calls: u32, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        work();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let secrets = secrets();
    let redactor = Redactor::new(secrets.iter().map(Secret::new));
    let start = Instant::now();
    redactor.redact_text("compile");
    println!("compiling 50 secrets: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let [known, shapes] = patterns(&secrets);
    let finder = Finder::new(secrets[0].as_bytes());
    println!(
        "| line | redactor, ns | memmem of one literal, ns | ratio | patterns of before, ns | ratio |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, length, calls) in [("400 B", 400, 4000), ("4 KB", 4096, 400), ("1 MB", 1 << 20, 2)] {
        let plain = line(length);
        let middle = plain.len() * 3 / 4;
        let middle = middle + plain[middle..].find(' ').unwrap_or(0);
        let hit = format!("{}{}{}", &plain[..middle], secrets[17], &plain[middle..]);
        let escapes = plain.replace("the", "\\u0074he");
        for (kind, text) in [("no hit", plain), ("no hit, `\\u0074`", escapes), ("one hit", hit)] {
            let text = text.as_bytes();
            let (mut ours, mut literal, mut before) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(measure(calls, || {
                    drop(black_box(redactor.redact_json_line(black_box(text))));
                }));
                literal.push(measure(calls, || {
                    let _ = black_box(finder.find(black_box(text)));
                }));
                before.push(measure(calls, || {
                    let clean = known.replace_all(black_box(text), &b"[redacted]"[..]);
                    drop(black_box(shapes.replace_all(&clean, &b"[redacted]"[..])));
                }));
            }
            let [ours, literal, before] = [ours, literal, before].map(median);
            println!(
                "| {name}, {kind} | {ours:.0} | {literal:.0} | {:.1} | {before:.0} | {:.2} |",
                ours / literal,
                ours / before
            );
        }
    }
}
