//! Code that loops, forks, exits, writes, reads standard input and opens sockets while observed.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use proctor_cover::{Sandbox, run};

use crate::{holds, options, project};

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
    assert!(holds(&report), "{report:?}");
    // What could not be shown is named, with what stands in the way.
    let reasons: Vec<(&str, &str)> = report.files[0].unreached().collect();
    let of = |id: &str| reasons.iter().find(|one| one.0 == id).map_or("", |one| one.1);
    assert!(!report.is_clean() && of("Hostile#forks").contains("uses fork"), "{reasons:?}");
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

/// Ways to write, each with a place of its own: `PLACE` is replaced by a path outside of the copy.
const WRITE_ATTEMPTS: &[&str] = &[
    "File.write(PLACE, 'x')",
    "File.open(PLACE, 'w') { |file| file.print('x') }",
    "File.new(PLACE, File::CREAT | File::WRONLY).close",
    "IO.write(PLACE, 'x')",
    "open(PLACE, 'w') { |file| file.print('x') }",
    "Kernel.open(PLACE, 'a') { |file| file.print('x') }",
    "IO.binwrite(PLACE, 'x')",
    "`touch #{PLACE}`",
    "system('touch', PLACE)",
    "system(\"echo x > #{PLACE}\")",
    "Process.wait(spawn('touch', PLACE))",
    "IO.popen(['touch', PLACE]).read",
    "open(\"|touch #{PLACE}\").read",
    "Process.wait(fork { File.write(PLACE, 'x') })",
    "Dir.mkdir(PLACE)",
    "File.symlink('/', PLACE)",
    "File.mkfifo(PLACE)",
    "FileUtils.touch(PLACE)",
    "FileUtils.cp(__FILE__, PLACE)",
    "Pathname.new(PLACE).write('x')",
    "IO.copy_stream(StringIO.new('x'), PLACE)",
];

/// Whether the kernel has Landlock, asked without any of our own code.
fn kernel_has_landlock() -> bool {
    let question = "$VERBOSE = nil; exit(syscall(444, 0, 0, 1) >= 1)";
    Command::new("ruby").args(["-e", question]).stderr(Stdio::null()).status().unwrap().success()
}

/// Whatever runs, and whenever: files outside of the copy stay as they are.
#[test]
fn writes_to_absolute_paths_reach_nothing_even_while_loading() {
    let outside = tempfile::tempdir().unwrap();
    let kept = outside.path().join("kept.txt");
    fs::write(&kept, "kept").unwrap();
    let mut source = String::from("require 'fileutils'\nrequire 'pathname'\nrequire 'stringio'\n");
    let mut methods = String::new();
    for (number, way) in WRITE_ATTEMPTS.iter().enumerate() {
        let at = |when: &str| format!("{:?}", outside.path().join(format!("{when}{number}")));
        source += &format!(
            "begin\n  {}\nrescue Exception\n  nil\nend\n",
            way.replace("PLACE", &at("load"))
        );
        methods += &format!(
            "  def self.way{number}\n    {}\n  rescue SystemCallError\n    :refused\n  end\n\n",
            way.replace("PLACE", &at("call"))
        );
    }
    source += &format!(
        "[->() {{ File.delete({kept:?}) }}, ->() {{ File.truncate({kept:?}, 0) }}, ->() {{ File.rename({kept:?}, {kept:?} + 'x') }}].each {{ |way| way.call rescue nil }}\n"
    );
    source += &format!("class Loader\n{methods}  def self.twice(a)\n    a * 2\n  end\nend\n");
    let folder = project(&[("lib/loader.rb", &source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(holds(&report), "{report:?}");
    let sandbox = Sandbox::new("ruby", Some(crate::launcher()));
    if kernel_has_landlock() {
        let missing = sandbox.missing_isolation();
        assert!(!missing.iter().any(|text| text.contains("Landlock")), "{missing:?}");
        let names: Vec<_> = fs::read_dir(outside.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["kept.txt"]);
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    } else {
        assert!(sandbox.missing_isolation().iter().any(|text| text.contains("Landlock")));
    }
    let spec = fs::read_to_string(folder.path().join("spec/loader_spec.rb")).unwrap();
    assert!(spec.contains(".twice("), "{spec}");
}

/// Each is small, and all together are too many.
#[test]
fn many_small_files_end_the_process() {
    let folder = project(&[("copy/keep", "")]);
    let copy = folder.path().join("copy");
    let sandbox = Sandbox::new("ruby", Some(crate::launcher()));
    let made = |count: u32| {
        let script = format!("{count}.times {{ |n| File.write(\"f#{{n}}\", 'x') }}; puts 'done'");
        let arguments = ["-e".into(), script.into()];
        sandbox.run(&arguments, &copy, &[], std::time::Duration::from_mins(5)).unwrap()
    };
    let few = made(100);
    assert!(few.success, "{few:?}");
    let many = made(60_000);
    assert!(!many.success && !many.timed_out, "{many:?}");
    assert!(many.stderr.contains("it wrote more than its sandbox allows"), "{many:?}");
}
