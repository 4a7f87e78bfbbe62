//! Exit statuses, signals, refusals, and what a probe finds.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proctor_process::{ChildEnvironment, ShortCommand, ShortCommandError};
use proctor_sandbox::{Abilities, Confinement, LaunchReport, Layer, Network};

use crate::stage::{self, Inherited, PROGRAM, Stage, launcher, users};

const FALLBACK: [Layer; 3] = [Layer::Landlock, Layer::SystemCallFilter, Layer::Limits];

fn shell(confinement: &Confinement, script: &str) -> Vec<OsString> {
    launcher().wrap(confinement, ["sh", "-c", script])
}

fn run(argv: &[OsString]) -> std::process::Output {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir("/").stdin(Stdio::null());
    stage::output_of(command)
}

fn start(argv: &[OsString]) -> Child {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn exit_codes_and_signals_are_exact() {
    for confinement in [Confinement::new(), Confinement::new().layers(FALLBACK)] {
        for code in [0, 1, 77, 126, 255] {
            let output = run(&shell(&confinement, &format!("exit {code}")));
            assert_eq!(output.status.code(), Some(code), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
        for number in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGPIPE, libc::SIGINT] {
            let output = run(&shell(&confinement, &format!("kill -{number} $$")));
            assert_eq!(output.status.signal(), Some(number), "{output:?}");
        }
    }
}

#[test]
fn signals_reach_the_program() {
    for confinement in [Confinement::new(), Confinement::new().layers(FALLBACK)] {
        for number in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
            let script =
                format!("trap 'exit 42' {number}; echo ready; while :; do sleep 0.02; done");
            let mut child = start(&shell(&confinement, &script));
            wait_until_ready(&mut child);
            signal(&child, number);
            assert_eq!(wait(&mut child).code(), Some(42), "signal {number}");
        }
    }
}

/// A program without a handler ends by the signal, and so does the launcher.
#[test]
fn signals_end_the_program_and_the_launcher_alike() {
    let mut child = start(&shell(&Confinement::new(), "echo ready; sleep 60"));
    wait_until_ready(&mut child);
    signal(&child, libc::SIGTERM);
    assert_eq!(wait(&mut child).signal(), Some(libc::SIGTERM));
}

#[test]
fn everything_ends_with_the_launcher() {
    let stage = Stage::new(users()[0]).unwrap();
    let marker = format!("{}", 100_000 + std::process::id());
    let script = format!("(setsid sleep {marker} &) ; echo ready; sleep {marker}");
    let mut child = start(&shell(&stage.confinement(), &script));
    wait_until_ready(&mut child);
    wait_for_sleepers(&marker, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for_sleepers(&marker, 0);
}

fn wait_for_sleepers(marker: &str, expected: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while sleepers(marker) != expected {
        assert!(Instant::now() < deadline, "{} processes sleep", sleepers(marker));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How many processes of the host sleep for that long.
fn sleepers(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(format!("sleep\0{marker}").as_bytes())).count()
}

/// The time limit of a short command ends what is confined.
#[test]
fn a_short_command_is_started_and_ended_confined() {
    let argv = shell(&Confinement::new(), "echo inside; sleep 60");
    let limit = Duration::from_secs(2);
    let command =
        ShortCommand::new(&argv[0], ChildEnvironment::inherited(), limit).args(&argv[1..]);
    match command.folder(Path::new("/")).output() {
        Err(ShortCommandError::TimedOut { output, .. }) => assert_eq!(output.stdout, b"inside\n"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_launcher_that_cannot_do_what_it_is_told_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("real")).unwrap();
    let given = Confinement::new().readable(root.join("real")).unwrap();
    fs::rename(root.join("real"), root.join("moved")).unwrap();
    let gone = given.clone();
    assert_refuses(&gone, "/", "cannot show ");
    std::os::unix::fs::symlink("moved", root.join("real")).unwrap();
    assert_refuses(&given, "/", "a symbolic link appeared in it");
    let alone = Confinement::new().layers([Layer::NetworkNamespace]);
    assert_refuses(
        &alone,
        "/",
        "no network namespace: cannot make it alone: it needs a user namespace",
    );
    assert_refuses(
        &Confinement::new(),
        root.to_str().unwrap(),
        "which the confinement does not show",
    );
}

fn assert_refuses(confinement: &Confinement, folder: &str, why: &str) {
    let argv = shell(confinement, "echo ran");
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).current_dir(folder).stdin(Stdio::null());
    let output = stage::output_of(command);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(126), "{error}");
    assert!(output.stdout.is_empty());
    assert!(error.starts_with("proctor sandbox: ") && error.contains(why), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn a_folder_as_standard_input_is_refused() {
    let stage = Stage::new(users()[0]).unwrap();
    let input = stage::open(&stage.base.join("hidden"), false);
    let output =
        stage.run(&shell(&stage.confinement(), "true"), Stdio::from(input), Inherited::new());
    assert_eq!(output.status.code(), Some(126));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("cannot hand on descriptor 0"), "{error}");
}

#[test]
fn a_missing_program_is_told_from_a_refusal() {
    let output = run(&launcher().wrap(&Confinement::new(), ["no-such-program"]));
    assert_eq!(output.status.code(), Some(127));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("proctor sandbox: cannot run no-such-program: "), "{error}");
}

#[test]
fn a_probe_finds_what_works() {
    let abilities = Abilities::probe(&launcher()).unwrap();
    let output = run(&shell(&Confinement::new().with(&abilities), "echo ran"));
    assert_eq!(output.stdout, b"ran\n", "{abilities:?} {output:?}");
    assert_eq!(abilities.is_complete(), abilities.shortcomings().is_empty());
    assert!(!abilities.kernel.is_empty());
}

#[test]
fn a_probe_says_why_a_layer_is_missing() {
    // Inside, no namespace can be made: what a container without the right to do so is like.
    let confinement = Confinement::new().readable(PROGRAM).unwrap();
    let output = run(&launcher().wrap(&confinement, [PROGRAM, "launch", "probe"]));
    let abilities: Abilities = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        abilities.missing[&Layer::UserNamespace].starts_with("cannot make it: "),
        "{abilities:?}"
    );
    assert!(abilities.missing[&Layer::PidNamespace].starts_with("it needs a user namespace"));
    assert!(abilities.layers().contains(&Layer::Landlock), "{abilities:?}");
    assert!(abilities.layers().contains(&Layer::SystemCallFilter), "{abilities:?}");
    assert!(abilities.shortcomings()[0].starts_with("no user namespace (cannot make it: "));
}

#[test]
fn a_probe_that_is_no_launcher_is_an_error() {
    let no_launcher = proctor_sandbox::Launcher::new("/bin/echo", ["hello"]);
    let error = Abilities::probe(&no_launcher).unwrap_err().to_string();
    assert_eq!(error, "the sandbox launcher answered \"hello probe\\n\"");
}

/// A project may live below a folder that is fresh inside, or be named through a link.
#[test]
fn folders_below_fresh_ones_and_names_through_links_work() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let root = folder.path();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file"), "text").unwrap();
    fs::write(root.join("beside"), "text").unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    let confinement = Confinement::new().readable(root.join("link")).unwrap();
    let script =
        format!("cat {0}/real/file {0}/link/file; ls {0}; ls -A /tmp | wc -l", root.display());
    let output = run(&shell(&confinement, &script));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "texttextlink\nreal\n1\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_host_network_can_be_had() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "require 'socket'; TCPSocket.new('127.0.0.1', {port}); UNIXSocket.pair; UNIXServer.new('/tmp/s'); puts 1"
    );
    let connect =
        |confinement| run(&launcher().wrap(&confinement, ["/usr/bin/ruby", "-e", &script]));
    let output = connect(Confinement::new().network(Network::Host));
    assert_eq!(output.stdout, b"1\n", "{output:?}");
    assert!(!connect(Confinement::new()).status.success());
}

/// With the host's network, sockets that are visible can be reached, and nothing else.
#[test]
fn the_host_network_opens_nothing_else() {
    for user in users() {
        for (attempt, succeeds) in [
            ("tcp", true),
            ("path_socket", true),
            ("abstract_socket", false),
            ("packet_socket", false),
            ("signal", false),
            ("write", false),
        ] {
            let stage = Stage::new(user).unwrap();
            let mut argv = vec![PROGRAM.to_owned(), "attempt".to_owned(), attempt.to_owned()];
            argv.extend(stage.facts());
            let confinement = stage.confinement().network(Network::Host);
            let wrapped = launcher().wrap(&confinement, argv);
            let output = stage.run(&wrapped, Stdio::null(), Inherited::new());
            let expected = i32::from(!succeeds);
            assert_eq!(output.status.code(), Some(expected), "{attempt} as {user}: {output:?}");
        }
    }
}

fn wait_until_ready(child: &mut Child) {
    use std::io::Read as _;
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"ready\n");
}

fn signal(child: &Child, number: i32) {
    let pid = rustix::process::Pid::from_child(child);
    let number = rustix::process::Signal::from_named_raw(number).unwrap();
    rustix::process::kill_process(pid, number).unwrap();
}

fn wait(child: &mut Child) -> std::process::ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The report is out of reach of the program, and says what the exit status does not.
#[test]
fn the_report_tells_of_refusals_limits_and_processes_left_behind() {
    for user in users() {
        let stage = Stage::new(user).unwrap();
        let path = stage.base.join("home/report.json");
        let report = |argv: &[&str]| {
            let mut confinement = stage.confinement().report(&path);
            confinement.limits.processor_seconds = None;
            let argv = launcher().wrap(&confinement, argv);
            let output = stage.run(&argv, Stdio::null(), Inherited::new());
            (output.status, LaunchReport::read(&path).unwrap())
        };
        let (status, said) = report(&["sh", "-c", "exit 3"]);
        assert_eq!((status.code(), said), (Some(3), LaunchReport::default()));
        let (status, said) = report(&["sh", "-c", "setsid sleep 77 & exit 4"]);
        assert_eq!(status.code(), Some(4));
        let commands: Vec<&str> =
            said.left_behind.iter().map(|process| process.command.as_str()).collect();
        assert_eq!(commands, ["sleep 77"], "{said:?}");
        let (status, said) = report(&["/no/such/program"]);
        assert_eq!(status.code(), Some(127));
        assert!(said.error.unwrap().starts_with("cannot run /no/such/program"));
        // The same words and code of a program are its own.
        let forged = "echo 'proctor sandbox: cannot run x' >&2; exit 126";
        let (status, said) = report(&["sh", "-c", forged]);
        assert_eq!((status.code(), said), (Some(126), LaunchReport::default()));
        let files = "i=0; while [ $i -lt 2500 ]; do : > f$i; i=$((i+1)); done; exit 0";
        let (status, said) = report(&["sh", "-c", files]);
        assert_eq!(status.signal(), Some(libc::SIGXFSZ), "{said:?}");
        assert_eq!(said.disk_limit.unwrap(), "it made more than 2000 files");
    }
}

/// Locks are held as long as something confined lives, with and without a PID namespace.
#[test]
fn locks_are_held_until_the_last_process_has_ended() {
    let stage = Stage::new(users()[0]).unwrap();
    let path = stage.base.join("home/lock");
    let is_free = || fs::File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
    for layers in [Layer::ALL.to_vec(), FALLBACK.to_vec()] {
        let confinement = Confinement::new().lock(&path).layers(layers);
        let mut child = start(&shell(&confinement, "echo ready; exec sleep 60"));
        wait_until_ready(&mut child);
        assert!(!is_free());
        child.kill().unwrap();
        child.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_free() {
            assert!(Instant::now() < deadline, "the lock is still held");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
