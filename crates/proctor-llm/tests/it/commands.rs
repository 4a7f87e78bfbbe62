//! Models that are commands: real children, real signals.

use std::time::{Duration, Instant};

use proctor_llm::{
    CommandConfig, CommandInput, CommandModel, CommandOutput, Cost, ErrorKind, Message, Model,
    ModelError, Purpose, Request,
};
use proctor_process::Guard;
use proctor_redact::Secret;

fn shell(script: &str) -> CommandConfig {
    CommandConfig::new(["sh", "-c", script], Guard::None)
}

fn request() -> Request {
    Request::ask(Purpose::Judge, "good?").with_system("Judge.")
}

async fn ask(config: CommandConfig, request: &Request) -> Result<proctor_llm::Answer, ModelError> {
    CommandModel::new(config).unwrap().ask(request).await
}

#[tokio::test]
async fn the_prompt_goes_in_and_the_answer_comes_out() {
    let answer = ask(shell("cat; echo '  yes'; echo noise >&2"), &request()).await.unwrap();
    assert_eq!(answer.text, "Judge.\n\ngood?\n  yes");
    assert_eq!((answer.model.as_str(), answer.usage, answer.cost), ("sh", None, None));
    let mut talk = request();
    talk.messages.extend([Message::assistant("Yes."), Message::user("Sure?")]);
    let answer = ask(shell("cat"), &talk).await.unwrap();
    assert_eq!(answer.text, "Judge.\n\n[user] good?\n[assistant] Yes.\n[user] Sure?");
}

#[tokio::test]
async fn json_goes_both_ways() {
    let script = r#"read line; test "${line#*\"purpose\":\"judge\"}" != "$line" || exit 9
        echo '{"result":"fine","usage":{"input_tokens":5,"output_tokens":6},"total_cost_usd":0.25}'"#;
    let config = CommandConfig {
        input: CommandInput::Json,
        output: CommandOutput::Json("/result".into()),
        model: "claude".into(),
        ..shell(script)
    };
    let answer = ask(config, &request()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("fine", "claude"));
    assert_eq!((answer.usage.unwrap().total(), answer.cost), (11, Some(Cost::from_dollars(0.25))));
}

#[tokio::test]
async fn failures_say_what_the_command_said_last() {
    let secret = ("TOKEN".to_owned(), Secret::new("very-secret-token"));
    let config = CommandConfig {
        env: vec![secret],
        ..shell("for i in 1 2 3 4 5; do echo line $i >&2; done; echo bad key $TOKEN >&2; exit 3")
    };
    let error = ask(config, &request()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::CommandFailed);
    assert_eq!(
        error.message,
        "the command `sh` failed (exit code 3): line 4 line 5 bad key [redacted]"
    );
    let error = ask(shell("exit 1"), &request()).await.unwrap_err();
    assert_eq!(error.message, "the command `sh` failed (exit code 1) without output");
    let error = ask(shell("kill -9 $$"), &request()).await.unwrap_err();
    assert!(error.message.contains("signal 9"), "{error}");
    let error =
        ask(CommandConfig::new(["/no/such/program"], Guard::None), &request()).await.unwrap_err();
    assert!(
        error.message.starts_with("the command `/no/such/program` cannot be started: No such file"),
        "{error}"
    );
    let error =
        CommandModel::new(CommandConfig::new(Vec::<String>::new(), Guard::None)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
}

#[tokio::test]
async fn answers_that_are_none_are_malformed() {
    let json = || CommandOutput::Json("/result".into());
    for (config, words) in [
        (shell("echo"), "answered with nothing"),
        (
            CommandConfig { output: json(), ..shell("echo oops") },
            "answered with text that is not JSON: oops",
        ),
        (
            CommandConfig { output: json(), ..shell("echo '{}'") },
            "answered without a text at `/result`",
        ),
        (CommandConfig { max_bytes: 1000, ..shell("yes") }, "wrote more than 1000 bytes"),
    ] {
        let error = ask(config, &request()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{error}");
        assert_eq!(error.message, format!("the command `sh` {words}"));
    }
    let config =
        CommandConfig { output: json(), ..shell(r#"echo '{"result":"limit","is_error":true}'"#) };
    let error = ask(config, &request()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::CommandFailed, "the command `sh` reported an error: limit")
    );
}

/// Whether a process of this number runs (a zombie does not).
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

async fn until(mut condition: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn time_over_ends_the_command_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let config = CommandConfig {
        folder: Some(folder.path().to_owned()),
        timeout: Duration::from_secs(1),
        ..shell("sleep 60 & echo $! > child.part; mv child.part child; wait")
    };
    let error = ask(config, &request()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert_eq!(error.message, "the command `sh` did not finish within 1 s");
    let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
    assert!(until(|| !lives(&child)).await, "the grandchild outlives the time");
}

#[tokio::test]
async fn nobody_waiting_ends_the_command_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let config = CommandConfig {
        folder: Some(folder.path().to_owned()),
        ..shell("sleep 60 & echo $! > child.part; mv child.part child; wait")
    };
    let asking = tokio::spawn(async move { ask(config, &request()).await });
    let file = folder.path().join("child");
    assert!(until(|| file.exists()).await);
    let child = std::fs::read_to_string(&file).unwrap();
    assert!(lives(&child));
    asking.abort();
    assert!(until(|| !lives(&child)).await, "the grandchild outlives its asker");
}

#[tokio::test]
async fn a_command_that_reads_nothing_is_no_failure() {
    let long = Request::ask(Purpose::Judge, "x".repeat(1 << 20));
    assert_eq!(ask(shell("echo done"), &long).await.unwrap().text, "done");
}

#[tokio::test]
async fn a_child_left_behind_does_not_hold_up_the_answer() {
    let began = Instant::now();
    assert_eq!(ask(shell("sleep 600 & echo done"), &request()).await.unwrap().text, "done");
    assert!(began.elapsed() < Duration::from_mins(2), "{:?}", began.elapsed());
}
