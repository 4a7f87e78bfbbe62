//! Hostile programs in mock runs of workspaces, through the binary: an orchestrator, and a hook of the real one. None of what they try may
//! leave a trace outside of the workspace. Each attempt is first made unconfined, where it must succeed.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::env::{Ran, TestEnv, repository};
use crate::escape_host::{Host, as_user, give, names, users};

const ATTACK: &str = include_str!("workspace_attack.py");
/// What the attack names by itself.
const TOLD: &str = "write shell mkdir symlink hardlink hardlink_in fifo delete rename truncate chmod utime root_link other_root_link \
                    link_in_workspace inherited secret environ memory shared_memory trace tcp unix abstract terminal fork_bomb kill";
/// What is found on the host afterwards.
const FOUND: &str = "write shell mkdir symlink hardlink fifo delete rename truncate chmod utime root_link other_root_link \
                     link_in_workspace inherited shared_memory tcp unix abstract kill tmp daemon";

const ORCHESTRATOR: &str = "name: A hostile orchestrator\n\
    setup:\n  orchestrator: {kind: generic, command: [python3, attack.py]}\n  fixtures: {attack.py: @ATTACK@}\n\
    run: {task: t, require_confinement: true}\n\
    assert: [{type: exit_code, expected: 0}]\n";
const HOOK: &str = "name: A hostile hook\n\
    setup:\n  fixtures: {attack.py: @ATTACK@}\n  config:\n    hooks:\n      enabled: true\n      events:\n        pre.loop.start:\n          \
    - {name: evil, command: [sh, -c, 'cat > /dev/null; python3 attack.py > attack.txt'], on_error: warn, timeout_seconds: 120}\n\
    mock: [{output: LOOP_COMPLETE}]\n\
    run: {task: t, require_confinement: true}\n\
    assert: [{type: exit_code, expected: 0}, {type: file_contains, path: attack.txt, pattern: 'worked: \\n'}]\n";

/// Starts a command as the leader of a new terminal, with descriptor 9 open on a file of the host: both are inherited.
const WRAPPER: &str = "import fcntl, os, pty, sys, termios
os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), 9)
host, terminal = pty.openpty()
os.set_inheritable(host, True)
os.setsid()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[2], sys.argv[2:])
";

fn run(host: &Host, user: u32, folder: &Path, command: &[&OsStr]) -> Output {
    let file = host.folder.path().join("inherited");
    let mut wrapped = Command::new("python3");
    wrapped.args(["-c", WRAPPER]).arg(file).args(command).current_dir(folder).env_clear();
    wrapped.env("PATH", std::env::var_os("PATH").unwrap()).env("TERM", "dumb");
    // Of the project that the command is run in; a control has none.
    if let Some(home) = folder.parent().filter(|_| folder.ends_with("project")) {
        wrapped.env("HOME", home).env("TMPDIR", home.join("temp"));
    }
    as_user(&mut wrapped, user).stdin(Stdio::null()).output().unwrap()
}

fn traces(host: &mut Host) -> std::collections::BTreeSet<String> {
    let mut traces = host.traces();
    let inherited = host.folder.path().join("inherited");
    if std::fs::metadata(inherited).is_ok_and(|about| about.len() == 0) {
        traces.remove("inherited");
    }
    traces
}

/// The positive control.
#[test]
fn an_unconfined_orchestrator_reaches_everything() {
    for user in users() {
        let mut host = Host::new(user);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("attack.py"), host.fill(ATTACK)).unwrap();
        give(folder.path(), user);
        let command = ["python3", "attack.py"].map(OsStr::new);
        let output = run(&host, user, folder.path(), &command);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let (_, worked) = said.split_once("worked: ").unwrap_or_else(|| panic!("{said}{errors}"));
        let missed: Vec<_> = names(TOLD).difference(&names(worked)).cloned().collect();
        assert!(missed.is_empty(), "not possible even unconfined, as {user}: {missed:?}");
        let missed: Vec<_> = names(FOUND).difference(&traces(&mut host)).cloned().collect();
        assert!(missed.is_empty(), "no trace, as {user}: {missed:?}");
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn nothing_that_a_hostile_orchestrator_tries_leaves_the_workspace() {
    for user in users() {
        assert_harmless(ORCHESTRATOR, user);
    }
}

#[test]
fn nothing_that_a_hook_of_the_real_orchestrator_tries_leaves_the_workspace() {
    for user in users() {
        assert_harmless(HOOK, user);
    }
}

fn assert_harmless(file: &str, user: u32) {
    let mut host = Host::new(user);
    let env = TestEnv::new();
    let attack = serde_json::to_string(&host.fill(ATTACK)).unwrap();
    env.write("evil.workspace.yaml", &file.replace("@ATTACK@", &attack));
    let ran = run_as(&env, &host, user, &["run"]);
    let found = traces(&mut host);
    assert!(found.is_empty(), "as {user}: {found:?}\n{}", ran.terminal());
    assert_eq!(ran.code, Some(0), "as {user}: {}", ran.terminal());
    assert!(!ran.terminal().contains("marker-"), "{}", ran.terminal());
    env.assert_no_process_left();
}

fn run_as(env: &TestEnv, host: &Host, user: u32, arguments: &[&str]) -> Ran {
    let ralph = repository().join("target/tools/ralph-2.10.1/bin/ralph");
    let configured = std::env::var_os("PROCTOR_RALPH").map_or(ralph, Into::into);
    env.write("proctor.toml", &format!("[tools]\nralph = \"{}\"\n", configured.display()));
    let temp = env.home().join("temp");
    let _ = std::fs::create_dir(&temp);
    give(env.home(), user);
    let own = env.command();
    let mut command = vec![own.get_program()];
    command.extend(arguments.iter().map(OsStr::new));
    env.ran(&run(host, user, &env.project, &command))
}

/// A program that is not on the system's path is shown, its neighbours are not, unless `read` names them.
#[test]
fn a_run_sees_its_program_and_what_read_names() {
    let env = TestEnv::new();
    let tool =
        env.write("tools/orchestrator", "#!/bin/sh\ncat \"$(dirname \"$0\")/data\" > copy\n");
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    env.write("tools/data", "some data");
    let file = |read: &str| {
        format!(
            "name: It reads\nsetup: {{orchestrator: {{kind: generic, command: [{}]}}{read}}}\n\
             run: {{task: t, require_confinement: true}}\n\
             assert: [{{type: file_contains, path: copy, pattern: some data}}]\n",
            tool.display()
        )
    };
    env.write("a.workspace.yaml", &file(""));
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    env.write("a.workspace.yaml", &file(", read: [tools]"));
    let ran = env.run(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    env.write("a.workspace.yaml", &file(", read: [no-such-folder]"));
    let ran = env.run(&["run"]);
    assert!(ran.terminal().contains("no-such-folder"), "{}", ran.terminal());
    assert_ne!(ran.code, Some(0));
}

/// Where a layer is missing, the run says so, and one that requires confinement is refused.
#[test]
fn a_machine_without_namespaces_is_told_of_and_refused_where_required() {
    let file = |required: &str| {
        format!(
            "name: It runs\nsetup: {{orchestrator: {{kind: generic, command: [sh, -c, 'echo done > done']}}}}\n\
             run: {{task: t{required}}}\nassert: [{{type: file_exists, path: done}}]\n"
        )
    };
    let env = TestEnv::new();
    env.write("a.workspace.yaml", &file(""));
    let without_namespaces = |arguments: &[&str]| {
        // Inside of a user namespace that may hold no others.
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
        let own = env.command();
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]);
        command.arg(own.get_program()).args(arguments).current_dir(&env.project).env_clear();
        command.env("HOME", env.home()).env("PATH", std::env::var_os("PATH").unwrap());
        env.ran(&command.output().unwrap())
    };
    let ran = without_namespaces(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let recorded = std::fs::read_to_string(env.events_path().unwrap()).unwrap();
    assert!(
        recorded.contains("the run was not confined completely: no user namespace"),
        "{recorded}"
    );
    env.write("a.workspace.yaml", &file(", require_confinement: true"));
    let ran = without_namespaces(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.terminal());
    assert!(ran.terminal().contains("cannot be confined as required"), "{}", ran.terminal());
    assert_eq!(env.recorded().result("It runs").event["status"], "errored");
}
