//! Code that loops, forks, exits, writes, reads standard input and opens sockets while observed.

use std::collections::BTreeSet;
use std::fs;

use proctor_cover::run;

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
