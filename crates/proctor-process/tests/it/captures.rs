//! Programs that are given their input, run to their end and read.

use crate::support::*;
use proctor_process::{
    CaptureError, ChildEnvironment, ExitStatus, ManagedProcess, ProcessSpec, RpcMode,
    capture_output,
};

fn shell(script: &str) -> ProcessSpec {
    ProcessSpec::new(["sh", "-c", script], ChildEnvironment::inherited(), guard())
}

const MUCH: usize = 4 << 20;

#[tokio::test]
async fn much_input_and_much_output_do_not_wait_for_each_other() {
    let input = "a line of input\n".repeat(100_000) + "the last one";
    let output =
        within_timeout(capture_output(shell("tee /dev/stderr"), input.as_bytes(), MUCH)).await;
    let output = output.unwrap();
    assert_eq!((output.status, output.stdout.as_str()), (ExitStatus::Code(0), input.as_str()));
    assert!(output.stderr.strip_prefix('…').is_some_and(|end| input.ends_with(end)));
}

#[tokio::test]
async fn bytes_that_are_not_text_and_long_lines_are_kept() {
    let script = "printf 'a\\r\\n\\n\\377'; head -c 200000 /dev/zero | tr '\\0' x; exit 3";
    let output = within_timeout(capture_output(shell(script), b"", MUCH)).await.unwrap();
    assert_eq!(output.status, ExitStatus::Code(3));
    assert_eq!(output.stdout, format!("a\r\n\n\u{fffd}{}", "x".repeat(200_000)));
}

#[tokio::test]
async fn too_much_output_and_a_missing_program_are_errors() {
    let flood = within_timeout(capture_output(shell("exec yes"), b"", 1000)).await;
    assert!(matches!(flood, Err(CaptureError::TooMuchOutput { limit: 1000 })), "{flood:?}");
    let exact = within_timeout(capture_output(shell("echo 123"), b"", 4)).await.unwrap();
    assert_eq!(exact.stdout, "123\n");
    let argv = ["/no/such/program"];
    let missing = ProcessSpec::new(argv, ChildEnvironment::inherited(), guard());
    let error = within_timeout(capture_output(missing, b"", 1)).await.unwrap_err();
    assert!(matches!(error, CaptureError::NotStarted(_)), "{error:?}");
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_open_is_ended_and_not_waited_for() {
    let token = token();
    let script = format!("setsid sh -c 'sleep 600; : {token}' & echo done");
    let output = within_timeout(capture_output(shell(&script), b"unread", MUCH)).await.unwrap();
    assert_eq!(output.stdout, "done\n");
    assert_eq!(alive_with(&token), [0; 0]);
}

#[tokio::test]
async fn who_stops_waiting_ends_the_tree() {
    let token = token();
    let script = format!("setsid sh -c 'sleep 600; : {token}' & sleep 600; : {token}");
    let waiting = tokio::spawn(async move { capture_output(shell(&script), b"", MUCH).await });
    eventually("both stand", || alive_with(&token).len() >= 2).await;
    waiting.abort();
    eventually("nothing is left", || alive_with(&token).is_empty()).await;
}

#[tokio::test]
async fn closing_the_input_is_its_end() {
    let process = ManagedProcess::spawn(shell("cat; echo end").rpc(RpcMode::RawStdin));
    let process = process.await.unwrap();
    let mut lines = process.stdout().lines();
    let mut stdin = process.take_stdin().unwrap();
    assert!(process.take_stdin().is_none(), "it can be taken once");
    stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(&*within_timeout(lines.next()).await.unwrap().text, "one");
    drop(stdin);
    assert_eq!(&*within_timeout(lines.next()).await.unwrap().text, "end");
    assert_eq!(within_timeout(process.wait()).await.status, ExitStatus::Code(0));
}
