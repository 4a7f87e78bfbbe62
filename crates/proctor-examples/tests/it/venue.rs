//! `venue-agent audit`, which is given conversations by a scenario.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn audit(calls: &Value) -> (bool, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_venue-agent"))
        .arg("audit")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let conversation = json!({"tool_calls": calls});
    program.stdin.take().unwrap().write_all(conversation.to_string().as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bookings_are_compared_with_the_catalogue() {
    let booking = |guests: u32, total: u32| {
        json!([{"name": "book_venue", "arguments": {"venue_id": "b1", "guests": guests},
                "result": {"total": total}}])
    };
    assert_eq!(audit(&booking(50, 900)), (true, "1 bookings agree with the catalogue\n".into()));
    assert_eq!(
        audit(&booking(50, 1)),
        (false, "Spreespeicher costs €900, but €1 was asked\n".into())
    );
    assert_eq!(audit(&booking(61, 900)), (false, "Spreespeicher seats 60, not 61\n".into()));
}
