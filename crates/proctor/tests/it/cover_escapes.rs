//! Hostile projects under `proctor cover`: code of the project runs in every stage (loading, observing, verifying, reviewing), and none of it
//! may reach anything outside of the scratch copy. Each attempt is first made unconfined, where it must succeed.

use std::process::Command;

use crate::env::TestEnv;
use crate::escape_host::{Host, names, own_user};

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

/// Audit S1: the review stage ran code of the project without Landlock and among the host's processes.
#[test]
fn s1_hostile_projects_reach_nothing_in_any_stage_of_cover() {
    // The positive control: unconfined, every attempt succeeds.
    let mut host = Host::new(own_user());
    let control = tempfile::tempdir().unwrap();
    std::fs::write(control.path().join("evil.rb"), host.fill(ATTEMPTS)).unwrap();
    let status =
        Command::new("ruby").args(["-r./evil.rb", "-e", "1"]).current_dir(control.path()).status();
    assert!(status.unwrap().success());
    let all = names(
        "write shell method send mkdir symlink hardlink fifo delete rename truncate chmod utime root_link tmp link_in_copy \
         secret environ kill tcp unix abstract daemon at_exit",
    );
    let missed: Vec<_> = all.difference(&host.traces()).cloned().collect();
    assert!(missed.is_empty(), "not possible even unconfined: {missed:?}");

    let mut host = Host::new(own_user());
    let env = TestEnv::new();
    env.write("evil.rb", &host.fill(ATTEMPTS));
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
