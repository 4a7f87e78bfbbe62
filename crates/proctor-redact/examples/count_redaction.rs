//! A hot path of the redactor, for counting instructions: `count_redaction redact LINES [--slower]`.
//!
//! `bench/instructions/run` calls it below callgrind and counts what happens in [`measured_work`] only. `--slower` does a tenth of the
//! work twice, by which the guard is tested.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::hint::black_box;

use proctor_redact::{Redactor, Secret};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["redact", lines, more @ ..] = &words[..] else {
        return println!("usage: count_redaction redact LINES [--slower]");
    };
    let lines: usize = lines.parse().unwrap();
    let extra = if more.contains(&"--slower") { lines / 10 } else { 0 };
    let redactor = Redactor::new((0..50).map(|number| Secret::new(secret(number))));
    let lines: Vec<String> = (0..lines + extra).map(line).collect();
    // The search is compiled on the first line.
    redactor.redact_text("compile");
    measured_work(&mut || {
        for line in &lines {
            black_box(redactor.redact_json_line(black_box(line.as_bytes())));
        }
    });
}

/// Instructions are counted between the beginning and the end of this function.
#[inline(never)]
fn measured_work(work: &mut dyn FnMut()) {
    work();
}

/// A key without any pattern that two keys share.
fn secret(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x2545_F491_4F6C_DD1D);
    let mut character = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefgh"[(state >> 40) as usize % 32])
    };
    (0..40).map(&mut character).collect()
}

/// A line of a recording; one in twenty holds a secret.
fn line(number: usize) -> String {
    let key = if number.is_multiple_of(20) { secret(7) } else { "no key".to_owned() };
    format!(
        r#"{{"seq":{number},"time":"2026-11-18T10:20:30.123456Z","event_type":"AgentResponse","text":"I looked at order {number} in https://example.com/orders/4711 and said \"yes\" to it.\nThe disk-space is fine; 42 tests passed. {key}"}}"#
    )
}
