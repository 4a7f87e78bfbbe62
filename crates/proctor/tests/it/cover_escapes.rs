//! Hostile projects under `proctor cover`: code of the project runs in every stage (loading, observing, verifying, reviewing), and none of it
//! may reach anything outside of the scratch copy. Each attempt is first made unconfined, where it must succeed.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::env::TestEnv;

/// What is tried. `OUT` is a folder of the host, `PORT` a server, `PID` a process with a secret in its environment.
const ATTEMPTS: &str = r##"
require "socket"
require "fileutils"
require "fiddle"
module Evil
  OUT = "@OUT@"
  def self.try(name)
    yield
  rescue Exception
    nil
  end
  def self.seen(name, value)
    File.write("#{OUT}/seen-#{name}", value) if value
  end
  try(:write) { File.write("#{OUT}/write", "x") }
  try(:shell) { system("touch", "#{OUT}/shell") }
  try(:method) { method(:system).call("touch #{OUT}/method") }
  try(:send) { Kernel.send(:system, "touch #{OUT}/send") }
  try(:mkdir) { Dir.mkdir("#{OUT}/mkdir") }
  try(:symlink) { File.symlink("/", "#{OUT}/symlink") }
  try(:hardlink) { File.link("#{OUT}/kept", "#{OUT}/hardlink") }
  try(:fifo) { File.mkfifo("#{OUT}/fifo") }
  try(:delete) { File.delete("#{OUT}/doomed") }
  try(:rename) { File.rename("#{OUT}/moved", "#{OUT}/moved-away") }
  try(:truncate) { File.truncate("#{OUT}/cut", 0) }
  try(:chmod) { File.chmod(0o777, "#{OUT}/mode") }
  try(:utime) { File.utime(1, 1, "#{OUT}/time") }
  try(:root_link) { File.write("/proc/self/root#{OUT}/root_link", "x") }
  try(:tmp) { File.write("/tmp/#{File.basename(OUT)}-tmp", "x") }
  try(:link_in_copy) { File.symlink(OUT, "out"); File.write("out/link_in_copy", "x") }
  try(:secret) { seen(:secret, File.read("#{OUT}/secret")) }
  try(:environ) { seen(:environ, File.read("/proc/@PID@/environ")[/marker-environment/]) }
  try(:kill) { Process.kill(:TERM, @PID@) }
  try(:tcp) { TCPSocket.new("127.0.0.1", @PORT@).write("tcp\n") }
  try(:unix) { UNIXSocket.new("#{OUT}/socket").write("unix\n") }
  try(:abstract) { UNIXSocket.new("\0@ABSTRACT@").write("abstract\n") }
  try(:daemon) { Process.detach(spawn({ "LC_MARK" => "@ABSTRACT@" }, "sleep", "300", pgroup: true)) }
  at_exit { Evil.try(:at_exit) { File.write("#{OUT}/at_exit", "x") } }
end
"##;

/// A place of the host that can be attacked.
struct Host {
    folder: tempfile::TempDir,
    victim: Child,
    mark: String,
    port: u16,
    heard: Arc<Mutex<BTreeSet<String>>>,
}

impl Host {
    fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("proctor-escape-").tempdir_in("/var/tmp").unwrap();
        for name in ["kept", "doomed", "moved", "cut", "mode", "time"] {
            std::fs::write(folder.path().join(name), "content").unwrap();
        }
        std::fs::set_permissions(folder.path().join("mode"), PermissionsExt::from_mode(0o600))
            .unwrap();
        std::fs::write(folder.path().join("secret"), "marker-secret").unwrap();
        let mark =
            format!("proctor-escape-{}", folder.path().file_name().unwrap().to_string_lossy());
        let victim = Command::new("sleep")
            .arg("300")
            .env("SECRET", "marker-environment")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let heard = Arc::new(Mutex::new(BTreeSet::new()));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let name = SocketAddr::from_abstract_name(&mark).unwrap();
        listen(Arc::clone(&heard), move || Some(tcp.accept().ok()?.0));
        let unix = UnixListener::bind(folder.path().join("socket")).unwrap();
        listen(Arc::clone(&heard), move || Some(unix.accept().ok()?.0));
        let unnamed = UnixListener::bind_addr(&name).unwrap();
        listen(Arc::clone(&heard), move || Some(unnamed.accept().ok()?.0));
        Self { folder, victim, mark, port, heard }
    }

    fn attack(&self) -> String {
        ATTEMPTS
            .replace("@OUT@", &self.folder.path().to_string_lossy())
            .replace("@PORT@", &self.port.to_string())
            .replace("@PID@", &self.victim.id().to_string())
            .replace("@ABSTRACT@", &self.mark)
    }

    /// What the attack has left, by the names of the attempts.
    fn traces(&mut self) -> BTreeSet<String> {
        let out = self.folder.path();
        let exists = |name: &str| std::fs::symlink_metadata(out.join(name)).is_ok();
        let mut found = self.heard.lock().unwrap().clone();
        let made = [
            "write",
            "shell",
            "method",
            "send",
            "mkdir",
            "symlink",
            "hardlink",
            "fifo",
            "root_link",
            "link_in_copy",
            "at_exit",
        ];
        found.extend(made.into_iter().filter(|name| exists(name)).map(str::to_owned));
        let mut note = |name: &str, happened: bool| {
            if happened {
                found.insert(name.to_owned());
            }
        };
        let base = out.file_name().unwrap().to_string_lossy();
        let tmp = format!("/tmp/{base}-tmp");
        note("tmp", Path::new(&tmp).exists());
        let _ = std::fs::remove_file(tmp);
        note("secret", exists("seen-secret"));
        note("environ", exists("seen-environ"));
        note("delete", !exists("doomed"));
        note("rename", !exists("moved"));
        note("truncate", std::fs::metadata(out.join("cut")).unwrap().len() == 0);
        let mode = std::fs::metadata(out.join("mode")).unwrap().permissions().mode();
        note("chmod", mode & 0o777 != 0o600);
        let time = std::fs::metadata(out.join("time")).unwrap().modified().unwrap();
        note(
            "utime",
            time < std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(1),
        );
        note("kill", self.victim.try_wait().unwrap().is_some());
        note("daemon", end_daemons(&self.mark) > 0);
        found
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        end_daemons(&self.mark);
    }
}

/// Notes the first line that each client sends. The thread ends with the test's process.
fn listen<S: std::io::Read + Send + 'static>(
    heard: Arc<Mutex<BTreeSet<String>>>,
    mut accept: impl FnMut() -> Option<S> + Send + 'static,
) {
    std::thread::spawn(move || {
        while let Some(mut client) = accept() {
            let mut text = String::new();
            let _ = client.read_to_string(&mut text);
            heard.lock().unwrap().insert(text.trim().to_owned());
        }
    });
}

/// Ends the processes that the attack has left and counts them.
fn end_daemons(mark: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let mut variables = Vec::new();
        let read = std::fs::File::open(entry.path().join("environ"));
        let _ = read.and_then(|mut file| file.read_to_end(&mut variables));
        let wanted = format!("LC_MARK={mark}");
        if variables.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes()) {
            found += 1;
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    found
}

fn names(words: &str) -> BTreeSet<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

/// Audit S1: the review stage ran code of the project without Landlock and among the host's processes.
#[test]
fn s1_hostile_projects_reach_nothing_in_any_stage_of_cover() {
    // The positive control: unconfined, every attempt succeeds.
    let mut host = Host::new();
    let control = tempfile::tempdir().unwrap();
    std::fs::write(control.path().join("evil.rb"), host.attack()).unwrap();
    let status =
        Command::new("ruby").args(["-r./evil.rb", "-e", "1"]).current_dir(control.path()).status();
    assert!(status.unwrap().success());
    let all = names(
        "write shell method send mkdir symlink hardlink fifo delete rename truncate chmod utime root_link tmp link_in_copy \
         secret environ kill tcp unix abstract daemon at_exit",
    );
    let missed: Vec<_> = all.difference(&host.traces()).cloned().collect();
    assert!(missed.is_empty(), "not possible even unconfined: {missed:?}");

    let mut host = Host::new();
    let env = TestEnv::new();
    env.write("evil.rb", &host.attack());
    env.write(".rspec", "--require ./evil.rb\n");
    env.write("spec/spec_helper.rb", "require_relative '../evil'\n");
    env.write("lib/calculator.rb", "require_relative '../evil'\nclass Calculator\n  def self.twice(number)\n    number * 2\n  end\nend\n");
    let ran = env.run(&["cover", "--yes", "--require-confinement", "lib/calculator.rb"]);
    let traces = host.traces();
    assert!(traces.is_empty(), "{traces:?}\n{}", ran.terminal());
    assert_eq!(ran.code, Some(0), "{}", ran.terminal());
    let spec = env.read("spec/calculator_spec.rb");
    assert!(spec.contains(".twice("), "{spec}");
    assert!(!ran.terminal().contains("marker-") && !spec.contains("marker-"), "{}", ran.terminal());
    env.assert_no_process_left();
}
