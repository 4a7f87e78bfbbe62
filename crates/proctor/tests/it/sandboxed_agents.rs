//! Agents with `sandbox:` in a scenario, through the binary: what they try outside of it fails and leaves nothing.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};

use crate::env::{Ran, TestEnv};

const AGENT: &str = include_str!("sandboxed_agent.py");
/// Every attempt of the agent, as it names them.
pub(crate) const ALL: &str = "write outside, write into the project, read a key, read another project, list recordings, \
                   connect to loopback, connect to a unix socket, signal a process, read an environment, \
                   change a mode, delete a file, leave a daemon";

/// A project beside things that it has no business with, and a host with sockets and a process.
pub(crate) struct Stage {
    pub(crate) env: TestEnv,
    process: Child,
    _loopback: TcpListener,
    _socket: UnixListener,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Stage {
    pub(crate) fn new(agent: &str) -> Self {
        Self::with_scenario(&scenario(agent))
    }

    pub(crate) fn with_scenario(scenario: &str) -> Self {
        let env = TestEnv::new();
        for (name, text) in [
            (".ssh/id_rsa", "a key"),
            ("other/secret.txt", "a secret"),
            ("other/doomed.txt", "still here"),
            ("project/.proctor/runs/0000/run.json", "{}"),
        ] {
            let path = env.home().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let loopback = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UnixListener::bind(env.home().join("host.sock")).unwrap();
        let process = Command::new("sleep").arg("600").env("ESCAPE_MARK", "1").spawn().unwrap();
        env.write("agent.py", AGENT);
        env.write("victim.txt", "untouched");
        env.write("talk.scenario.yaml", scenario);
        let port = loopback.local_addr().unwrap().port();
        let facts = serde_json::json!({"home": env.home(), "port": port, "pid": process.id()});
        env.write("facts.json", &facts.to_string());
        Self { env, process, _loopback: loopback, _socket: socket }
    }

    /// Runs the example at this line of the scenario.
    fn run(&self, line: u32) -> Ran {
        self.env.run(&["run", &format!("talk.scenario.yaml:{line}")])
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.env.home().join(name)).unwrap_or_default()
    }
}

impl Stage {
    /// Fails if something outside of the sandbox has changed.
    pub(crate) fn assert_untouched(&self) {
        for name in ["other/outside.txt", "other/daemon.txt", "private.txt"] {
            assert!(!self.env.home().join(name).exists(), "{name}");
        }
        assert_eq!(self.env.read("victim.txt"), "untouched");
        assert_eq!(self.text("other/doomed.txt"), "still here");
        let secret = self.env.home().join("other/secret.txt");
        assert_eq!(secret.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        self.env.assert_no_process_left();
    }
}

fn scenario(agent: &str) -> String {
    [
        "describe: Escapist",
        &format!("agent: {{name: escapist, {agent}}}"),
        "examples:",
        "  - {it: escapes, steps: [{user: escape, expect: [{match: '^escaped: $'}]}]}",
        "  - {it: works, steps: [{user: work, expect: [{match: private folders work}]}]}",
        "  - {it: dies, steps: [{user: die}]}",
        "  - {it: fills, steps: [{user: fill 6000, expect: [{match: made 6000 files}]}]}",
        "",
    ]
    .join("\n")
}

/// The positive control: without a sandbox every attempt succeeds.
#[test]
fn an_agent_without_a_sandbox_reaches_everything() {
    let stage = Stage::new("command: [python3, agent.py]");
    let ran = stage.run(4);
    let said = ran.terminal();
    assert_eq!(ran.code, Some(1), "{said}");
    assert!(said.contains(&format!("escaped: {ALL}")), "{said}");
    assert_eq!(stage.text("other/outside.txt"), "written by the agent");
    stage.env.assert_no_process_left();
}

#[test]
fn nothing_that_an_agent_tries_leaves_its_sandbox() {
    let stage = Stage::new("command: [python3, agent.py], sandbox: true");
    let ran = stage.run(4);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    stage.assert_untouched();
}

/// The size of each file is small; all of them together are too much.
#[test]
fn an_agent_that_fills_the_disk_is_ended() {
    let sandbox = "{write: [out], disk_mb: 8}";
    let stage = Stage::new(&format!("command: [python3, agent.py], sandbox: {sandbox}"));
    std::fs::create_dir(stage.env.project.join("out")).unwrap();
    let ran = stage.run(7);
    let said = ran.terminal();
    assert_eq!(ran.code, Some(1), "{said}");
    assert!(said.contains("disk limit of its sandbox"), "{said}");
    let event = stage.env.recorded().result("fills").event;
    assert_eq!((&event["status"], &event["fault"]), (&"errored".into(), &"agent".into()));
    stage.env.assert_no_process_left();
    // As much as the test needs is allowed.
    let stage = Stage::new("command: [python3, agent.py], sandbox: {write: [out]}");
    std::fs::create_dir(stage.env.project.join("out")).unwrap();
    let ran = stage.run(7);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
}

#[test]
fn a_confined_agent_has_private_folders_and_its_end_is_its_own() {
    let stage = Stage::new("command: [python3, agent.py], sandbox: true");
    let ran = stage.run(5);
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    assert!(!stage.env.home().join("private.txt").exists());
    assert!(!Path::new("/tmp/proctor-sandboxed-agent.txt").exists());
    // Exit code 126 of the agent itself is not taken for the launcher's.
    let ran = stage.run(6);
    let said = ran.terminal();
    assert_eq!(ran.code, Some(1), "{said}");
    assert!(said.contains("the agent `escapist` failed: it ended with"), "{said}");
    assert!(said.contains("the agent gives up"), "{said}");
    let event = stage.env.recorded().result("dies").event;
    assert_eq!((&event["status"], &event["fault"]), (&"errored".into(), &"agent".into()));
    stage.env.assert_no_process_left();
}

/// One line for each group, and the same in JSON.
#[test]
fn the_doctor_lists_what_sandboxes_have() {
    let env = TestEnv::new();
    let said = env.run(&["doctor"]).stdout;
    let (_, section) = said.split_once("Sandbox (for this user)\n").unwrap();
    for name in ["namespaces", "network", "Landlock", "call filter", "limits"] {
        assert!(
            section.lines().any(|line| line.trim_start_matches([' ', '✓', '·']).starts_with(name)),
            "{name}: {section}"
        );
    }
    let json: serde_json::Value =
        serde_json::from_str(&env.run(&["doctor", "--format", "json"]).stdout).unwrap();
    let sections = json["sections"].as_array().unwrap();
    let section = |title: &str| sections.iter().find(|section| section["title"] == title);
    let count = |title| section(title).map(|found| found["checks"].as_array().unwrap().len());
    assert_eq!(count("Sandbox (for this user)"), Some(5), "{json}");
    let is_root = rustix::process::getuid().is_root();
    let ordinary = count("Sandbox (for a user who is not root)");
    assert_eq!(ordinary, is_root.then_some(5), "{json}");
    assert_eq!(count("Sandbox (for root)"), (!is_root).then_some(1), "{json}");
}

/// What root says of an ordinary user is what that user finds out.
#[test]
fn the_doctor_knows_what_an_ordinary_user_has() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let env = TestEnv::new();
    let section = |json: &str, title: &str| {
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let sections = json["sections"].as_array().unwrap().clone();
        sections.into_iter().find(|section| section["title"] == title).unwrap()["checks"].clone()
    };
    let as_root = env.run(&["doctor", "--format", "json"]).stdout;
    crate::escape_host::give(env.home(), 65534);
    let mut command = env.command();
    command.args(["doctor", "--format", "json"]);
    let as_user = crate::escape_host::as_user(&mut command, 65534).output().unwrap();
    let as_user = env.ran(&as_user).stdout;
    assert_eq!(
        section(&as_root, "Sandbox (for a user who is not root)"),
        section(&as_user, "Sandbox (for this user)")
    );
    let for_root = section(&as_user, "Sandbox (for root)");
    let finding = for_root[0]["finding"].as_str().unwrap();
    assert!(finding.starts_with("none to add") || finding.starts_with("not tried"), "{finding}");
}

#[test]
fn a_program_that_the_sandbox_does_not_show_is_the_harness_fault() {
    let stage = Stage::new("command: [no-such-agent], sandbox: true");
    let said = stage.run(4).terminal();
    assert!(said.contains("is not visible in the sandbox: add its folder to `read`"), "{said}");
    let event = stage.env.recorded().result("escapes").event;
    assert_eq!((&event["status"], &event["fault"]), (&"errored".into(), &"harness".into()));
}
