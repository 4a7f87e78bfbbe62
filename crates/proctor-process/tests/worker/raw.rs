//! Programs that do one thing without the helper, most of them badly.

use crate::LIFE;
use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) fn run(args: &[&str]) {
    match args {
        ["exit", code] => std::process::exit(code.parse().unwrap()),
        ["sleep"] | ["sleeper", _] => std::thread::sleep(LIFE),
        ["descend", kind, token] => descend(kind, token),
        ["tree", token] => tree(token),
        ["fork-storm", token] => fork_storm(token),
        ["print", count] => print_lines(count.parse().unwrap()),
        ["print-raw", text] => write_raw(text),
        ["stdin"] => print_stdin(),
        ["deaf"] => deaf(),
        ["script", lines @ ..] => script(lines),
        ["connect", path, line] => connect(path, line),
        other => panic!("no such mode: {other:?}"),
    }
}

#[expect(clippy::zombie_processes, reason = "who reaps them is what is tested")]
pub(crate) fn spawn_self(args: &[&str]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    // Silent, so that nothing but its parent's end can tell it to go.
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    if args[0] == "descend" && args[1] == "daemon" {
        // The intermediate process ends at once: what it started is an orphan by then.
        child.wait().unwrap();
    }
}

/// A grandchild: `plain` in our group, `session` in one of its own, `daemon` an orphan in one.
fn descend(kind: &str, token: &str) {
    if kind != "plain" {
        // A group leader cannot start a session; a child of ours never is one.
        rustix::process::setsid().unwrap();
    }
    if kind == "daemon" {
        spawn_self(&["sleeper", token]);
    } else {
        std::thread::sleep(LIFE);
    }
}

/// A whole tree of all kinds, then a line to say that it stands.
fn tree(token: &str) {
    for kind in ["plain", "session", "daemon"] {
        spawn_self(&["descend", kind, token]);
    }
    println!("tree stands");
    std::thread::sleep(LIFE);
}

/// Starts new short-lived processes as fast as it can, each in a session of its own.
fn fork_storm(token: &str) {
    println!("storm rises");
    let end = std::time::Instant::now() + Duration::from_secs(20);
    while std::time::Instant::now() < end {
        spawn_self(&["descend", "daemon", token]);
    }
}

fn print_lines(count: u32) {
    for number in 0..count {
        println!("out {number}");
        eprintln!("err {number}");
    }
}

/// Writes text with Rust escapes (`\n`, `\xff`) as raw bytes.
fn write_raw(text: &str) {
    std::io::stdout().write_all(&unescape(text)).unwrap();
    std::io::stdout().flush().unwrap();
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match (byte, byte == b'\\') {
            (_, true) => match rest.next().unwrap() {
                b'n' => bytes.push(b'\n'),
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    let digits = std::str::from_utf8(&digits).unwrap().to_owned();
                    bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                }
                other => bytes.push(other),
            },
            (byte, _) => bytes.push(byte),
        }
    }
    bytes
}

fn print_stdin() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    println!("stdin: {text:?}");
}

/// Never reads, never ends by itself while it is asked to.
fn deaf() {
    println!("deaf");
    std::thread::sleep(LIFE);
}

pub(crate) fn echo_lines() {
    let mut line = String::new();
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    while input.read_line(&mut line).unwrap() > 0 {
        output.write_all(line.as_bytes()).unwrap();
        output.flush().unwrap();
        line.clear();
    }
}

/// A scripted peer on standard streams. Each word is a step: `read` waits for a line and remembers its
/// id; `write:TEXT` writes TEXT with `ID` replaced and escapes resolved; `fill:N` writes N bytes
/// without line feed; `close` closes standard output; `sleep:MS`; `wait-eof`; `exit:CODE`.
fn script(steps: &[&str]) {
    let mut id = String::new();
    let mut input = std::io::stdin().lock();
    for step in steps {
        let (verb, rest) = step.split_once(':').unwrap_or((step, ""));
        match verb {
            "read" => {
                let mut line = String::new();
                input.read_line(&mut line).unwrap();
                let message: serde_json::Value = serde_json::from_str(&line).unwrap();
                message["id"].as_str().unwrap_or_default().clone_into(&mut id);
            }
            "write" => write_raw(&rest.replace("ID", &id)),
            "fill" => fill(rest.parse().unwrap()),
            "close" => drop(rustix::io::dup2(devnull(), &mut stdout_fd())),
            "sleep" => std::thread::sleep(Duration::from_millis(rest.parse().unwrap())),
            "wait-eof" => {
                std::io::copy(&mut input, &mut std::io::sink()).unwrap();
            }
            "exit" => std::process::exit(rest.parse().unwrap()),
            other => panic!("no such step: {other}"),
        }
    }
}

fn fill(mut count: usize) {
    let block = vec![b'x'; 64 * 1024];
    while count > 0 {
        let part = count.min(block.len());
        std::io::stdout().write_all(&block[..part]).unwrap();
        count -= part;
    }
    std::io::stdout().flush().unwrap();
}

fn devnull() -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap()
}

#[expect(unsafe_code, reason = "replacing standard output needs its number")]
fn stdout_fd() -> std::mem::ManuallyDrop<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: never dropped, and standard output is open for the whole life of the program.
    std::mem::ManuallyDrop::new(unsafe { std::os::fd::OwnedFd::from_raw_fd(1) })
}

/// Connects to a socket path, sends bytes, and says what came back.
fn connect(path: &str, line: &str) {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.write_all(&unescape(line)).unwrap();
    let mut answer = Vec::new();
    let outcome = stream.read_to_end(&mut answer);
    println!("closed after {} bytes, {}", answer.len(), outcome.is_ok());
}
