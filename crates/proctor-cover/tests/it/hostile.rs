//! Code that loops, forks, exits, writes, reads standard input and opens sockets while observed.

use std::collections::BTreeSet;
use std::fs;

use proctor_cover::{Sandbox, run};

use crate::{options, project};

const HOSTILE: &str = "\
require 'socket'
class Hostile
  def forever; loop { }; end
  def busy; while true; end; end
  def forks; fork { sleep 100 }; end
  def exits; exit!(3); end
  def leaves; exit 4; end
  def writes; File.write('written.txt', 'x'); end
  def removes; Dir.glob('*').each { |path| File.delete(path) if File.file?(path) }; end
  def runs; `touch shell.txt`; end
  def reads; $stdin.read; end
  def connects; TCPSocket.new('127.0.0.1', 9); end
  def random; rand; end
  def now; Time.now; end
  def eats; 'x' * (1 << 40); end
  def good(a); a.to_s.upcase; end
end
";

#[test]
fn nothing_of_it_reaches_the_tree_and_the_rest_is_covered() {
    let folder = project(&[("lib/hostile.rb", HOSTILE), ("keep.txt", "keep")]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let names: BTreeSet<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let expected: BTreeSet<String> = ["keep.txt", "lib", "spec", "tmp"].map(str::to_owned).into();
    assert_eq!(names, expected);
    let spec = fs::read_to_string(folder.path().join("spec/hostile_spec.rb")).unwrap();
    assert!(spec.contains(".good("), "{spec}");
    for name in
        [".forever", ".forks", ".exits", ".writes", ".runs", ".connects", ".random)", ".reads"]
    {
        assert!(!spec.contains(name), "{name} in {spec}");
    }
}

/// Whatever runs, and whenever: files outside of the copy stay as they are.
#[test]
fn writes_to_absolute_paths_reach_nothing_even_while_loading() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("reached.txt");
    let source = format!(
        "begin\n  File.write({target:?}, 'x')\nrescue SystemCallError\n  nil\nend\nclass Loader\n  def self.save\n    File.write({target:?}, 'y')\n  rescue SystemCallError\n    :refused\n  end\n\n  def self.twice(a)\n    a * 2\n  end\nend\n"
    );
    let folder = project(&[("lib/loader.rb", &source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    if Sandbox::new("ruby").confines_writes() {
        assert!(!target.exists());
    } else {
        assert!(Sandbox::new("ruby").shortcomings().iter().any(|text| text.contains("Landlock")));
    }
    let spec = fs::read_to_string(folder.path().join("spec/loader_spec.rb")).unwrap();
    assert!(spec.contains(".twice("), "{spec}");
}
