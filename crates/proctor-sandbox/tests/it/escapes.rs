//! Attempts to escape: each must succeed unconfined and fail confined, without a trace, for root and for another user.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use proctor_sandbox::{Confinement, Layer};

use crate::stage::{self, Inherited, PROGRAM, Stage, launcher, users};

/// Whether an attempt succeeds without a sandbox, which shows that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    /// For everybody.
    All,
    /// For root only; tried confined for others as well.
    Root,
    /// For others than root only: root has nothing to gain.
    Others,
    /// Nowhere here, with the reason.
    Never(&'static str),
}
use Control::{All, Never, Others, Root};

/// What stops an attempt where there are no namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// Landlock, the filter or the limits.
    Stopped,
    /// Nothing, with the reason.
    Open(&'static str),
}
use Alone::{Open, Stopped};

/// The names of the attempts (in `tests/program/attempts.rs`).
const TABLE: &[(&str, Control, Alone)] = &[
    ("write", All, Stopped),
    ("write_unseen", All, Stopped),
    ("append", All, Stopped),
    ("create", All, Stopped),
    ("delete", All, Stopped),
    ("delete_folder", All, Stopped),
    ("rename", All, Stopped),
    ("rename_into_copy", All, Stopped),
    ("rename_out_of_copy", All, Stopped),
    ("truncate", All, Stopped),
    ("chmod", All, Stopped),
    ("chmod_by_descriptor", All, Stopped),
    ("chown", All, Stopped),
    ("set_time", All, Stopped),
    ("set_attribute", All, Stopped),
    ("set_flags", All, Stopped),
    ("symlink", All, Stopped),
    ("hard_link", All, Stopped),
    ("hard_link_into_copy", All, Stopped),
    ("make_folder", All, Stopped),
    ("make_fifo", All, Stopped),
    ("write_through_own_root", All, Stopped),
    ("write_through_other_root", All, Stopped),
    ("write_through_own_folder", All, Stopped),
    ("inherited_folder", All, Stopped),
    ("inherited_file", All, Stopped),
    ("reopened_input", All, Stopped),
    ("symlink_in_copy", All, Stopped),
    ("symlink_race", All, Stopped),
    ("terminal_input", Root, Stopped),
    ("open_terminal", All, Stopped),
    ("path_socket", All, Stopped),
    ("datagram_socket", All, Stopped),
    ("datagram_pair", All, Stopped),
    ("abstract_socket", All, Stopped),
    ("tcp", All, Stopped),
    ("udp", All, Stopped),
    ("packet_socket", Root, Stopped),
    ("audit_socket", All, Stopped),
    ("vsock_socket", All, Stopped),
    ("trace", All, Stopped),
    ("signal", All, Stopped),
    ("see_process", All, Open("the host's /proc is visible")),
    ("read_environment", All, Stopped),
    ("read_all_environments", All, Stopped),
    ("open_memory", All, Stopped),
    ("read_memory", All, Stopped),
    ("take_descriptor", All, Stopped),
    ("change_limits", All, Stopped),
    ("shared_memory", All, Stopped),
    ("posix_memory", All, Stopped),
    ("make_posix_memory", All, Stopped),
    ("message_queue", All, Stopped),
    ("fork_bomb", All, Open("the kernel does not limit root without a PID namespace")),
    ("fill_file", All, Stopped),
    ("fill_temporary", All, Stopped),
    ("many_files", All, Open("the launcher watches where there is a PID namespace")),
    ("many_bytes", All, Open("the launcher watches where there is a PID namespace")),
    ("removed_files", All, Open("the launcher watches where there is a PID namespace")),
    ("deep_folders", All, Open("the launcher watches where there is a PID namespace")),
    ("memory", All, Stopped),
    ("open_files", All, Stopped),
    ("processor_time", All, Stopped),
    ("raise_limit", Never("this root has no CAP_SYS_RESOURCE"), Stopped),
    ("daemon", All, Open("the guard ends daemons where there is no PID namespace")),
    ("read_key", All, Stopped),
    ("read_hidden_file", All, Stopped),
    ("read_hidden_folder", All, Stopped),
    ("list_unseen", All, Stopped),
    ("read_shadow", Root, Stopped),
    ("mount", Root, Stopped),
    ("remount_writable", Never("the project is no mount outside"), Stopped),
    ("new_mount_interface", Root, Stopped),
    ("unshare", All, Stopped),
    ("clone", All, Stopped),
    ("clone3", All, Stopped),
    ("join_namespace", Root, Stopped),
    ("chroot", Root, Stopped),
    ("make_device", Root, Stopped),
    ("open_device", Root, Stopped),
    ("set_user_id_program", Others, Stopped),
    ("make_set_user_id", All, Stopped),
    ("create_set_user_id", All, Stopped),
    ("keyring", All, Stopped),
    ("open_by_handle", Root, Stopped),
    ("kernel_setting", Root, Stopped),
    ("kernel_request", Never("this kernel has no such file"), Stopped),
    ("system_setting", Root, Stopped),
    ("host_name", Root, Stopped),
    ("personality", All, Stopped),
    ("ring", All, Stopped),
    ("bpf", Root, Stopped),
    ("page_faults", All, Stopped),
    ("capabilities", Root, Stopped),
    ("foreign_call", Never("this kernel has no x32 interface"), Stopped),
];

/// Runs an attempt on a new stage; its output, and whether it left a trace.
fn attempt(
    name: &str,
    user: u32,
    confined: impl Fn(&Stage) -> Option<Confinement>,
) -> (Output, Option<String>) {
    let mut stage = Stage::new(user).unwrap();
    let mut argv: Vec<OsString> = vec![PROGRAM.into(), "attempt".into(), name.into()];
    argv.extend(stage.facts().into_iter().map(OsString::from));
    if let Some(mut confinement) = confined(&stage) {
        if name != "processor_time" {
            // On a slow machine the others must not be stopped by this limit.
            confinement.limits.processor_seconds = Some(60);
        }
        argv = launcher().wrap(&confinement, argv);
    }
    let before = stage.trace();
    let answering = (name == "udp").then(|| stage.answer_datagrams());
    let output = perform(&stage, name, &argv);
    if name == "daemon" {
        std::thread::sleep(Duration::from_millis(900));
    }
    let after = stage.trace();
    if let Some(thread) = answering {
        thread.join().unwrap();
    }
    let trace = (before != after).then(|| format!("before:\n{before}\nafter:\n{after}"));
    (output, trace)
}

fn perform(stage: &Stage, name: &str, argv: &[OsString]) -> Output {
    let victim = stage.base.join("hidden/victim.txt");
    let inherited: Inherited = match name {
        "inherited_folder" => vec![(stage::open(&stage.base.join("hidden"), false), 9)],
        "inherited_file" => vec![(stage::open(&victim, true), 8)],
        _ => Vec::new(),
    };
    match name {
        "reopened_input" => stage.run(argv, Stdio::from(stage::open(&victim, false)), inherited),
        "terminal_input" | "open_terminal" => {
            let (_host, child) = stage::terminal();
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]).current_dir(stage.base.join("copy")).stdin(child).env_clear();
            stage::take_terminal(&mut command);
            stage::output_of(std::mem::replace(
                stage::as_user(&mut command, stage.user),
                Command::new("true"),
            ))
        }
        _ => stage.run(argv, Stdio::null(), inherited),
    }
}

fn escaped(output: &Output) -> bool {
    output.status.success()
}

fn explain(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{} {}{}", output.status, text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_attempt_succeeds_without_a_sandbox() {
    let mut wrong = Vec::new();
    for user in users() {
        for (name, control, _) in TABLE {
            let expected = match control {
                All => true,
                Root => user == 0,
                Others => user != 0,
                Never(_) => continue,
            };
            if !expected {
                continue;
            }
            let (output, trace) = attempt(name, user, |_| None);
            if !escaped(&output) {
                wrong.push(format!("{name} as {user}: {}", explain(&output)));
            }
            let changes = ["write", "create", "delete", "chmod", "symlink", "tcp", "udp", "daemon"];
            if changes.contains(name) && trace.is_none() {
                wrong.push(format!("{name} as {user} leaves no trace, so none would be seen"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_attempt_succeeds_in_the_sandbox() {
    let held = |stage: &Stage| Some(stage.confinement());
    assert_none_escapes(held, |_, _| true);
}

#[test]
fn hardly_any_attempt_succeeds_without_namespaces() {
    let layers = [Layer::Landlock, Layer::SystemCallFilter, Layer::Limits];
    let held = move |stage: &Stage| Some(stage.confinement().layers(layers));
    assert_none_escapes(held, |alone, _| alone == Stopped);
}

/// Mounts and the filter hold by themselves: Landlock is a second line.
#[test]
fn hardly_any_attempt_succeeds_without_landlock() {
    let layers: BTreeSet<Layer> =
        Layer::ALL.into_iter().filter(|layer| *layer != Layer::Landlock).collect();
    let held = move |stage: &Stage| Some(stage.confinement().layers(layers.clone()));
    // A descriptor that was handed in leads to its file, past all mounts.
    assert_none_escapes(held, |_, name| name != "reopened_input");
}

fn assert_none_escapes(
    confined: impl Fn(&Stage) -> Option<Confinement>,
    expected: impl Fn(Alone, &str) -> bool,
) {
    let mut wrong = Vec::new();
    for user in users() {
        for (name, control, alone) in TABLE {
            if !expected(*alone, name) || (*control == Others && user == 0) {
                continue;
            }
            let (output, trace) = attempt(name, user, &confined);
            // The processor's time and the daemon's parent end as they should.
            let stopped_by_kernel = output.status.code().is_none();
            let refused_by_launcher = output.stderr.starts_with(b"proctor sandbox");
            let failed = output.status.code() == Some(1) || stopped_by_kernel;
            // Those four are stopped by nothing else.
            let fills = ["many_files", "many_bytes", "removed_files", "deep_folders"];
            let limited = output.status.signal() == Some(proctor_sandbox::DISK_LIMIT_SIGNAL);
            if fills.contains(name) && !limited {
                wrong.push(format!("{name} as {user} was not ended: {}", explain(&output)));
            }
            if refused_by_launcher || !(failed || *name == "daemon") {
                wrong.push(format!("{name} as {user}: {}", explain(&output)));
            }
            if let Some(trace) = trace {
                wrong.push(format!("{name} as {user} left a trace: {trace}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_is_long_and_names_every_attempt_once() {
    let names: BTreeSet<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), TABLE.len());
    assert!(names.len() >= 80, "{}", names.len());
}
