//! Confined programs under the guard, started by `proctor-process` like any other.

use std::time::Duration;

use proctor_process::{
    ChildEnvironment, ExitStatus, Guard, GuardCommand, ProcessSpec, capture_output,
};
use proctor_sandbox::{Confinement, Layer};

use crate::stage::{PROGRAM, Stage, launcher, users};

fn spec(stage: &Stage, confinement: &Confinement, argv: &[String]) -> ProcessSpec {
    let guard = Guard::Program(GuardCommand::new(PROGRAM, ["guard"]));
    let environment = ChildEnvironment::empty().set("PATH", "/usr/bin:/bin");
    ProcessSpec::new(launcher().wrap(confinement, argv), environment, guard)
        .cwd(stage.base.join("copy"))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn input_output_and_exit_code_pass_through() {
    let stage = Stage::new(users()[0]).unwrap();
    let argv = words(&["sh", "-c", "tr a-z A-Z; echo said >&2; exit 7"]);
    let spec = spec(&stage, &stage.confinement(), &argv);
    let output = capture_output(spec, b"hello\n", 1000).await.unwrap();
    assert_eq!(output.status, ExitStatus::Code(7), "{output:?}");
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("HELLO\n", "said\n"));
}

/// Where there is no PID namespace, the guard does what init would do.
#[tokio::test]
async fn a_daemon_ends_with_its_program_with_and_without_namespaces() {
    let alone = [Layer::Landlock, Layer::SystemCallFilter, Layer::Limits];
    for layers in [Layer::ALL.to_vec(), alone.to_vec()] {
        let stage = Stage::new(users()[0]).unwrap();
        let mut argv = words(&[PROGRAM, "attempt", "daemon"]);
        argv.extend(stage.facts());
        let spec = spec(&stage, &stage.confinement().layers(layers), &argv);
        let output = capture_output(spec, b"", 1000).await.unwrap();
        assert_eq!(output.status, ExitStatus::Code(0), "{output:?}");
        tokio::time::sleep(Duration::from_millis(900)).await;
        assert!(!stage.base.join("copy/daemon.txt").exists());
    }
}

/// Dropping the future is how callers end a program; nothing of it may be left.
#[tokio::test]
async fn dropping_the_process_ends_everything() {
    let stage = Stage::new(users()[0]).unwrap();
    let script =
        "(setsid sh -c 'sleep 1; echo late > late.txt' &); echo early > early.txt; sleep 60";
    let spec = spec(&stage, &stage.confinement(), &words(&["sh", "-c", script]));
    let limit = Duration::from_millis(700);
    assert!(tokio::time::timeout(limit, capture_output(spec, b"", 1000)).await.is_err());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(stage.base.join("copy/early.txt").exists());
    assert!(!stage.base.join("copy/late.txt").exists());
}
