//! Asking a worker for its examples.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use proctor_events::Exception;
use proctor_process::protocol::{HostInfo, Notification, kind};
use proctor_process::{Channel, ManagedProcess, Notifications, RequestError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{LoadNotices, SuiteError};
use crate::example::{Discovery, FailureExit, Listed, OutsideError, Register};

/// How long a worker may take to say hello: it has to boot an interpreter on a busy machine.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);
/// So much of what a program prints is quoted while it is waited for.
const LAST_LINES: usize = 5;
/// After this time without a reply, the user gets a notice.
const NOTICE_AFTER: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Part {
    examples: Vec<Listed>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    /// How many examples were listed, by the worker's own count.
    count: Option<u64>,
    errors: Vec<ListedError>,
    messages: Vec<Value>,
    load_ms: f64,
    seed: Option<u64>,
    seed_used: Option<bool>,
    ruby: Option<String>,
    /// Versions of what the worker has loaded, by name.
    versions: BTreeMap<String, Value>,
    fail_fast: Value,
    failure_exit_code: Value,
    error_exit_code: Value,
    /// Whether formatters or a file of statuses wait for the end of the run.
    final_report: bool,
    threads: Vec<Value>,
    fork_unsafe: Vec<String>,
    observers: u32,
    observers_within_ms: u64,
    destinations: Vec<String>,
    mutation: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedError {
    phase: Option<String>,
    description: Option<String>,
    file: Option<String>,
    exception: Option<Exception>,
    presented: Option<String>,
}

/// Sends `hello`; a notice quotes what the program prints while it does not reply.
pub(crate) async fn hello_with_notice(
    what: &str,
    channel: &Channel,
    process: &ManagedProcess,
    notices: &LoadNotices,
) -> Result<(), RequestError> {
    let mut greeting = pin!(hello(channel));
    if let Ok(greeted) = tokio::time::timeout(NOTICE_AFTER, greeting.as_mut()).await {
        return greeted;
    }
    let printed = match process.last_lines(LAST_LINES).as_slice() {
        [] => "it has printed nothing so far".to_owned(),
        lines => format!("it has printed so far: {}", lines.join(" | ")),
    };
    notices.notify(&format!(
        "{what} has not said hello for {} s and is waited for up to {} s; {printed}",
        NOTICE_AFTER.as_secs(),
        HELLO_TIMEOUT.as_secs(),
    ));
    greeting.await
}

/// Says hello.
pub(crate) async fn hello(channel: &Channel) -> Result<(), RequestError> {
    let host =
        HostInfo { name: "proctor".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    channel.hello(host, HELLO_TIMEOUT).await.map(drop)
}

/// Lists the examples of a suite. The parts come as notifications, ahead of the answer; `other` gets those that are not about
/// the list.
pub(crate) async fn list(
    suite: &str,
    channel: &Channel,
    notifications: &mut Notifications,
    args: &[String],
    root: &str,
    mut other: impl FnMut(&Notification),
) -> Result<Discovery, RequestError> {
    let request_body = json!({"args": args, "root": root});
    let request = channel.request("list", &request_body, None);
    tokio::pin!(request);
    let mut register = Register::default();
    let mut notes = Vec::new();
    let answer = loop {
        tokio::select! {
            biased;
            Some(notification) = notifications.next() => {
                if !take(suite, &notification.kind, notification.body.as_str(), &mut register, &mut notes) {
            other(&notification);
        }
            }
            answer = &mut request => break answer?,
        }
    };
    // Everything before the answer has been read; some of it may still wait in the queue.
    while let Some(notification) = notifications.try_next() {
        if !take(suite, &notification.kind, notification.body.as_str(), &mut register, &mut notes) {
            other(&notification);
        }
    }
    let answer: Answer = answer.body.parse().unwrap_or_else(|error| {
        register.errors.push(mistake(format!(
            "the answer of suite {suite} to `list` cannot be read: {error}"
        )));
        Answer::default()
    });
    register.errors.extend(miscounted(suite, &register, &answer));
    Ok(discovery(register, notes, answer))
}

/// An error if fewer examples arrived than were announced: the missing ones would silently not run.
fn miscounted(suite: &str, register: &Register, answer: &Answer) -> Option<OutsideError> {
    let (listed, announced) = (register.listed, answer.count?);
    (listed != announced).then(|| {
        mistake(format!("suite {suite} announced {announced} examples, but {listed} were listed: nothing was run"))
    })
}

fn mistake(message: String) -> OutsideError {
    OutsideError {
        phase: "discovery".to_owned(),
        message: Some(message),
        ..OutsideError::default()
    }
}

/// Says whether it was about the list.
fn take(
    suite: &str,
    what: &str,
    body: &str,
    register: &mut Register,
    notes: &mut Vec<String>,
) -> bool {
    match what {
        "examples" => match serde_json::from_str::<Part>(body) {
            Ok(part) => part.examples.into_iter().for_each(|listed| register.add(suite, listed)),
            Err(error) => register
                .errors
                .push(mistake(format!("suite {suite} listed a malformed example: {error}"))),
        },
        kind::UNREADABLE => {
            let value: Value = serde_json::from_str(body).unwrap_or_default();
            let line = value["message"].as_str().unwrap_or("a line could not be read");
            register.errors.push(mistake(format!("while suite {suite} was listed: {line}")));
        }
        "log" => {
            let value: Value = serde_json::from_str(body).unwrap_or_default();
            notes.extend(value["message"].as_str().and_then(note));
        }
        _ => return false,
    }
    true
}

/// Whether a notification is about the list that a suite was asked for.
pub(crate) fn is_about_list(notification: &Notification) -> bool {
    matches!(&*notification.kind, "examples" | "log" | kind::UNREADABLE)
}

/// What a suite says to people, without the empty lines that set it apart on a terminal.
fn note(message: &str) -> Option<String> {
    let message = message.trim();
    (!message.is_empty()).then(|| message.to_owned())
}

fn discovery(mut register: Register, mut notes: Vec<String>, answer: Answer) -> Discovery {
    let mut errors = register.errors;
    errors.extend(answer.errors.into_iter().map(outside));
    notes.extend(answer.messages.iter().filter_map(|message| note(message.as_str()?)));
    if !answer.fork_unsafe.is_empty() {
        notes.push(format!(
            "forking this suite may be unsafe ({}); --no-preload avoids it",
            answer.fork_unsafe.join("; ")
        ));
    } else if !answer.threads.is_empty() {
        notes.push(
            "the suite has started threads while loading; they do not exist in forked workers"
                .into(),
        );
    }
    let mut versions: BTreeMap<String, String> = answer
        .versions
        .into_iter()
        .filter_map(|(name, version)| Some((name, version.as_str()?.to_owned())))
        .collect();
    versions.extend(answer.ruby.map(|version| ("ruby".to_owned(), version)));
    // They stay for the whole run.
    register.examples.shrink_to_fit();
    Discovery {
        examples: register.examples,
        errors,
        notes,
        seed: answer.seed.filter(|_| answer.seed_used != Some(false)),
        load_ms: answer.load_ms,
        versions,
        fail_fast: match answer.fail_fast {
            Value::Bool(true) => Some(1),
            Value::Number(limit) => {
                limit.as_u64().map(|limit| u32::try_from(limit).unwrap_or(u32::MAX))
            }
            _ => None,
        },
        observers: answer.observers,
        observers_within_ms: answer.observers_within_ms,
        destinations: answer.destinations,
        failure_exit: FailureExit {
            failure: exit_code(&answer.failure_exit_code),
            error: exit_code(&answer.error_exit_code),
        },
        has_final_report: answer.final_report,
        mutation: answer.mutation,
    }
}

/// What the kernel would make of it: the low eight bits.
fn exit_code(value: &Value) -> Option<u8> {
    value.as_i64().map(|code| code.to_le_bytes()[0])
}

fn outside(error: ListedError) -> OutsideError {
    let exception = error.exception.map(|mut exception| {
        if let Some(presented) = error.presented {
            exception.extra.push(("presented".into(), Value::from(presented).into()));
        }
        exception
    });
    OutsideError {
        phase: error.phase.unwrap_or_else(|| "load".to_owned()),
        place: error.file,
        exception,
        message: error.description,
    }
}

/// Why a worker did not list, with what it printed.
pub(crate) async fn failed(
    what: &str,
    error: &RequestError,
    process: &ManagedProcess,
) -> SuiteError {
    let mut output: Vec<String> = Vec::new();
    let message = if let RequestError::Failed { error, .. } = error {
        // The message is complete by itself; the request it belongs to is left out.
        format!("{what}: {}", error.message)
    } else if let Ok(report) = process.wait_timeout(Duration::from_millis(500)).await {
        format!("{what}: it ended with {} before it was through", report.status)
    } else {
        format!("{what}: {error}")
    };
    for stream in [process.stdout(), process.stderr()] {
        output.extend(stream.tail(40).iter().map(|line| line.text.to_string()));
    }
    SuiteError { message, output }
}
