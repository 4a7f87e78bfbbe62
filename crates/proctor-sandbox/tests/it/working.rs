//! What must work inside, with every layer and for every user.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Output, Stdio};

use crate::stage::{Inherited, PROGRAM, Stage, launcher, users};

fn confined(stage: &Stage, argv: &[&str]) -> Output {
    let wrapped = launcher().wrap(&stage.confinement(), argv);
    stage.run(&wrapped, Stdio::null(), Inherited::new())
}

fn assert_prints(stage: &Stage, argv: &[&str], expected: &str) {
    let output = confined(stage, argv);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{argv:?}: {} {errors}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected, "{argv:?} {errors}");
}

#[test]
fn checks_of_the_test_program_pass() {
    for user in users() {
        let stage = Stage::new(user).unwrap();
        let names = [
            "threads",
            "fork",
            "socket_pair",
            "loopback",
            "temporary_files",
            "own_processes",
            "devices",
            "session",
        ];
        for name in names {
            assert_prints(&stage, &[PROGRAM, "check", name], "");
        }
        assert_prints(&stage, &[PROGRAM, "check", "descriptors", "0", "1", "2"], "");
    }
}

#[test]
fn interpreters_run() {
    for user in users() {
        let stage = Stage::new(user).unwrap();
        assert_prints(&stage, &["/usr/bin/ruby", "-rjson", "-e", "puts JSON.dump([1 + 1])"], "[2]");
        let threads = "puts 4.times.map { |n| Thread.new { n } }.sum(&:value)";
        assert_prints(&stage, &["/usr/bin/ruby", "-e", threads], "6");
        let processes = "puts IO.popen(%w[echo hello], &:read)";
        assert_prints(&stage, &["/usr/bin/ruby", "-e", processes], "hello");
        let files = "require 'tempfile'; Tempfile.create { |f| f.write('x') }; puts Dir.pwd == File.realpath('.')";
        assert_prints(&stage, &["/usr/bin/ruby", "-e", files], "true");
        let python = "import json, subprocess, threading; print(json.dumps([1, 2]))";
        assert_prints(&stage, &["/usr/bin/python3", "-c", python], "[1, 2]");
        assert_prints(&stage, &["sh", "-c", "git --version | cut -c1-11"], "git version");
    }
}

#[test]
fn the_project_is_read_and_the_copy_written() {
    for user in users() {
        let stage = Stage::new(user).unwrap();
        let victim = stage.base.join("project/victim.txt");
        assert_prints(&stage, &["cat", victim.to_str().unwrap()], "as it was");
        let script = "mkdir -p a/b && echo one > a/b/c && mv a/b/c d && chmod 755 d && touch d && ln -s d e && cat e";
        assert_prints(&stage, &["sh", "-c", script], "one");
        assert_eq!(fs::read_to_string(stage.base.join("copy/d")).unwrap(), "one\n");
    }
}

#[test]
fn the_rpc_socket_survives_and_closes_with_the_program() {
    for user in users() {
        let stage = Stage::new(user).unwrap();
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut argv: Vec<OsString> = vec!["env".into(), "RPC_SOCKET_FD=7".into()];
        argv.extend(launcher().wrap(&stage.confinement(), [PROGRAM, "check", "rpc"]));
        ours.write_all(b"hello\n").unwrap();
        let output = stage.run(&argv, Stdio::null(), vec![(theirs.into(), 7)]);
        assert!(output.status.success(), "{output:?}");
        let mut answer = String::new();
        ours.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "HELLO\n");
    }
}

/// A program may close a stream early; nobody else may hold it open.
#[test]
fn streams_close_when_the_program_closes_them() {
    use std::process::Command;
    let stage = Stage::new(users()[0]).unwrap();
    let argv = launcher().wrap(&stage.confinement(), ["sh", "-c", "exec >&- 2>&-; sleep 20"]);
    let mut child = Command::new(&argv[0])
        .args(&argv[1..])
        .current_dir(stage.base.join("copy"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = std::time::Instant::now();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(text, "");
    child.kill().unwrap();
    child.wait().unwrap();
}
