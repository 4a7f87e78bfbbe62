//! The program of the runner's tests: the guard of process trees, and a worker that does what a script says.
//!
//! `worker SCRIPT` reads a [`Script`] and speaks the worker protocol over `RPC_SOCKET_FD`. One thread answers requests, another runs
//! examples, as in a real worker. It shares no protocol code with the runner: every line is written here as the protocol page has it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|word| word.to_str()) {
        Some("guard") => proctor_process::guard::main(),
        Some("worker") => {
            arguments.next().map_or(ExitCode::from(2), |script| serve(&script.into()))
        }
        _ => ExitCode::from(2),
    }
}

/// What the worker does.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Script {
    /// The examples of `list`, as they are sent.
    examples: Vec<Value>,
    /// What the reply to `list` says instead of the true count.
    count: Option<u64>,
    /// Errors in the reply to `list`.
    errors: Vec<Value>,
    /// By key: what each attempt does; the last entry holds for all further attempts. Examples without an entry pass.
    attempts: BTreeMap<String, Vec<Vec<Step>>>,
    /// What the reply to `run` says instead of the true count.
    accepted: Option<u64>,
    /// The error that `run` is refused with.
    refuses_run: Option<String>,
    /// Whether `unrun` gives examples back.
    gives_back: bool,
    /// The fields of the reply to `__shutdown__`.
    farewell: BTreeMap<String, Value>,
    /// Whether the process ends at `__shutdown__` without a reply.
    ends_without_reply: bool,
    /// Exit code after `__shutdown__`.
    exit_code: u8,
    /// Whether the process ends before it has said hello, in every generation but the first.
    later_generations_die: bool,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "snake_case")]
enum Step {
    Print(String),
    Warn(String),
    /// An event of the example: its type and its payload.
    Event(String, Value),
    /// The result: a status and further fields.
    Finish(String, Value),
    /// A line that is sent as it is.
    Line(String),
    Exit(i32),
    Abort,
    Hang,
    /// Ends the attempt without a result.
    NoResult,
    WaitFor(PathBuf),
}

#[derive(Deserialize, Clone)]
struct Item {
    key: String,
    repeat: u32,
    attempt: u32,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    marks: String,
    is_over: bool,
}

struct Worker {
    script: Script,
    output: Mutex<File>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn variable(name: &str) -> Option<i32> {
    std::env::var(name).ok()?.parse().ok()
}

#[expect(unsafe_code, reason = "the socket is inherited by number")]
fn socket() -> Option<OwnedFd> {
    let number = variable("RPC_SOCKET_FD")?;
    // SAFETY: the host has left this descriptor open for us, and it is taken once.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

fn serve(script: &PathBuf) -> ExitCode {
    let read = std::fs::read_to_string(script).ok();
    let Some(script) = read.and_then(|text| serde_json::from_str::<Script>(&text).ok()) else {
        return ExitCode::from(3);
    };
    if script.later_generations_die && variable("PROCTOR_GENERATION") != Some(1) {
        return ExitCode::from(4);
    }
    let Some(input) = socket() else { return ExitCode::from(5) };
    let Ok(output) = input.try_clone() else { return ExitCode::from(6) };
    let exit_code = script.exit_code;
    let worker = Arc::new(Worker {
        script,
        output: Mutex::new(output.into()),
        queue: Mutex::default(),
        changed: Condvar::new(),
    });
    let running = Arc::clone(&worker);
    let examples = std::thread::spawn(move || running.run_examples());
    for line in BufReader::new(File::from(input)).lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if worker.answer(&message) {
            lock(&worker.queue).is_over = true;
            worker.changed.notify_all();
            let _ = examples.join();
            return ExitCode::from(exit_code);
        }
    }
    ExitCode::SUCCESS
}

impl Worker {
    fn send(&self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn send_line(&self, line: &str) {
        let _ = lock(&self.output).write_all(format!("{line}\n").as_bytes());
    }

    /// Answers a request; true if it was the last.
    fn answer(&self, message: &Value) -> bool {
        let (Some(id), Some(action)) = (message["id"].as_str(), message["action"].as_str()) else {
            return false;
        };
        let mut reply = match action {
            "hello" => {
                json!({"protocol": 1, "name": "scripted", "version": "1", "capabilities": []})
            }
            "list" => self.list(),
            "run" => self.take(message),
            "unrun" => self.give_back(message),
            "cancel" => {
                lock(&self.queue).items.clear();
                json!({"status": "cancelling"})
            }
            "__shutdown__" if self.script.ends_without_reply => return true,
            "__shutdown__" => {
                let mut reply = json!({"status": "shutting_down"});
                for (name, value) in &self.script.farewell {
                    reply[name] = value.clone();
                }
                reply
            }
            _ => json!({"error": {"code": "unknown_action", "message": format!("no {action}")}}),
        };
        reply["reply_to"] = id.into();
        self.send(&reply);
        action == "__shutdown__"
    }

    fn list(&self) -> Value {
        let examples = &self.script.examples;
        self.send(&json!({"type": "examples", "examples": examples}));
        let count = self.script.count.unwrap_or(examples.len() as u64);
        json!({"count": count, "errors": self.script.errors})
    }

    fn take(&self, message: &Value) -> Value {
        if let Some(reason) = &self.script.refuses_run {
            return json!({"error": {"code": "failed", "message": reason}});
        }
        let units: Vec<Vec<Item>> =
            serde_json::from_value(message["units"].clone()).unwrap_or_default();
        let mut queue = lock(&self.queue);
        message["marks"].as_str().unwrap_or_default().clone_into(&mut queue.marks);
        let count = units.iter().map(Vec::len).sum::<usize>() as u64;
        queue.items.extend(units.into_iter().flatten());
        drop(queue);
        self.changed.notify_all();
        json!({"accepted": self.script.accepted.unwrap_or(count)})
    }

    fn give_back(&self, message: &Value) -> Value {
        let keys: Vec<String> = serde_json::from_value(message["keys"].clone()).unwrap_or_default();
        let mut returned = Vec::new();
        if self.script.gives_back {
            lock(&self.queue).items.retain(|item| {
                let wanted = keys.contains(&item.key);
                if wanted {
                    returned.push(
                        json!({"key": item.key, "repeat": item.repeat, "attempt": item.attempt}),
                    );
                }
                !wanted
            });
        }
        json!({"items": returned})
    }

    fn run_examples(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let (item, marks) = loop {
                if let Some(item) = queue.items.pop_front() {
                    break (item, queue.marks.clone());
                }
                if queue.is_over {
                    return;
                }
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            self.run(&item, &marks);
        }
    }

    fn event(&self, item: &Item, kind: &str, mut payload: Value) {
        payload["key"] = item.key.clone().into();
        payload["repeat"] = item.repeat.into();
        self.send(&json!({"type": "event", "event_type": kind, "payload": payload}));
    }

    fn run(&self, item: &Item, marks: &str) {
        let Item { key, repeat, attempt } = item;
        print_line(&format!("{marks} {key}\t{repeat}\t{attempt}"), true);
        self.event(item, "ExampleStarted", json!({"attempt": attempt}));
        let attempts = self.script.attempts.get(key).map_or(&[][..], Vec::as_slice);
        let place = (*attempt as usize - 1).min(attempts.len().saturating_sub(1));
        let mut result = Some(("passed".to_owned(), json!({"duration_ms": 1.5})));
        for step in attempts.get(place).into_iter().flatten() {
            match step.clone() {
                Step::Print(text) => print_line(&text, false),
                Step::Warn(text) => eprint_line(&text),
                Step::Event(kind, payload) => self.event(item, &kind, payload),
                Step::Finish(status, fields) => result = Some((status, fields)),
                Step::Line(line) => self.send_line(&line),
                Step::Exit(code) => std::process::exit(code),
                Step::Abort => std::process::abort(),
                Step::Hang => loop {
                    std::thread::sleep(Duration::from_hours(1));
                },
                Step::NoResult => result = None,
                Step::WaitFor(path) => wait_for(&path),
            }
        }
        print_line(marks, true);
        if let Some((status, mut fields)) = result {
            fields["status"] = status.into();
            self.event(item, "ExampleFinished", fields);
        }
    }
}

fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A line on standard output, and on standard error too where it is a mark.
fn print_line(line: &str, is_mark: bool) {
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    let _ = std::io::stdout().flush();
    if is_mark {
        eprint_line(line);
    }
}

fn eprint_line(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
