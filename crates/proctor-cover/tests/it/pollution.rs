//! Calls that leave something behind for others: what can be put back is put back by their specs, what cannot is not emitted,
//! and those who would see it are kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::run;

use crate::{holds, options, project};

const SETTINGS: &str = "\
class Settings
  KINDS = %w[round square]
  @@level = 1
  @style = 'plain'

  class << self
    attr_accessor :style

    def add_kind(kind)
      KINDS << kind
      :added
    end

    def kinds
      KINDS.map(&:upcase)
    end

    def raise_level(by)
      @@level += Integer(by).abs + 1
      :raised
    end

    def level
      @@level > 1 ? 'high' : 'low'
    end

    def square(number)
      @squares ||= {}
      @squares[number] ||= number * number
    end
  end

  def loud!
    self.class.style = 'loud'
    :done
  end

  def show(text)
    self.class.style == 'plain' ? text.to_s : text.to_s.upcase
  end
end
";

const AMBIENT_STATE: &str = "\
module Surroundings
  def self.remember(value)
    $remembered_value = value
    :remembered
  end

  def self.remembered?
    !$remembered_value.nil?
  end

  def self.mark
    ENV['PROCTOR_TEST_MARK'] = 'x'
    :marked
  end

  def self.marked?
    ENV.key?('PROCTOR_TEST_MARK')
  end

  def self.enter
    Dir.chdir('/')
    :entered
  end

  def self.here?
    File.exist?('lib/surroundings.rb')
  end

  def self.seed(number)
    srand(Integer(number))
    :seeded
  end

  def self.teach
    define_singleton_method(:lesson) { true }
    :taught
  end

  def self.taught?
    respond_to?(:lesson)
  end
end
";

fn passes(root: &Path, arguments: &[&str]) {
    let output = Command::new("rspec").args(arguments).current_dir(root).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}\n{said}");
}

#[test]
fn settings_are_put_back_and_other_polluters_left_out() {
    let folder = project(&[("lib/settings.rb", SETTINGS), ("lib/surroundings.rb", AMBIENT_STATE)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(holds(&report), "{report:?}");
    // What we write passes our own review.
    assert!(report.files.iter().all(|file| file.violations.is_empty()), "{report:?}");
    let spec = |name: &str| fs::read_to_string(folder.path().join("spec").join(name)).unwrap();
    let (settings, surroundings) = (spec("settings_spec.rb"), spec("surroundings_spec.rb"));
    // What can be put back is: a constant's content, a variable of the class, an attribute, the environment.
    for kept in [
        "kinds = Settings::KINDS.dup\n      example.run\n      Settings::KINDS.replace(kinds)",
        "described_class.class_variable_set(:@@level, level)",
        "style = described_class.style.dup\n      example.run\n      described_class.style = style",
    ] {
        assert!(settings.contains(kept), "{kept}\n{settings}");
    }
    assert!(surroundings.contains("ENV.replace(environment)"), "{surroundings}");
    // And it may stand before another call, whose branches depend on it.
    for before in ["described_class.style = ", "described_class.raise_level("] {
        assert!(settings.contains(before), "{before}\n{settings}");
    }
    let both_ways = ["returns \"high\"", "returns \"low\"", ".show("];
    for seen in both_ways.iter().chain(&[".kinds", ".level", ".square(", ".add_kind(", ".loud!"]) {
        assert!(settings.contains(seen), "{seen}\n{settings}");
    }
    // A memory that nobody notices needs no such care.
    let square = settings.split("proctor:begin Settings.square").nth(1).unwrap();
    assert!(!square.split("proctor:end").next().unwrap().contains("around"), "{settings}");
    // What cannot be put back is left out.
    for polluter in [".remember(", ".enter", "expect(described_class.seed(", ".teach)"] {
        assert!(!surroundings.contains(polluter), "{polluter}\n{surroundings}");
    }
    for victim in [".remembered?", ".marked?", ".here?", ".taught?"] {
        assert!(surroundings.contains(victim), "{victim}\n{surroundings}");
    }
    for seed in 1..=10 {
        passes(folder.path(), &["--order", &format!("random:{seed}")]);
    }
    for name in ["settings_spec.rb", "surroundings_spec.rb"] {
        passes(folder.path(), &[&format!("spec/{name}")]);
    }
}

const READER: &str = "\
class Reader
  attr_reader :values

  def initialize(path)
    @values = {}
    open(path) do |file|
      file.each_line do |line|
        next if line.start_with?('#')
        raise ArgumentError, 'bad line' unless line =~ /\\A(\\w+)\\s*=\\s*(.*)$/

        @values[$1] = $2
      end
    end
  end

  def self.load(name)
    return nil unless File.exist?(name)
    raise 'not a conf' unless File.extname(name) == '.conf'

    new(name).values
  end
end
";

#[test]
fn code_that_opens_files_is_given_files() {
    let folder = project(&[("lib/reader.rb", READER)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    let file = &report.files[0];
    assert_eq!((file.after.taken, file.pending.len()), (file.after.branches, 0), "{report:?}");
    assert!(file.violations.is_empty(), "{report:?}");
    let spec = fs::read_to_string(folder.path().join("spec/reader_spec.rb")).unwrap();
    for part in [
        "def file_named(name, text)",
        ".load(file_named('name.conf'",
        "raise_error(ArgumentError, 'bad line')",
    ] {
        assert!(spec.contains(part), "{part}\n{spec}");
    }
    for seed in 1..=3 {
        passes(folder.path(), &["--order", &format!("random:{seed}")]);
    }
    // Nothing is left behind beside the specs and their metadata.
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["lib", "spec", "tmp"]);
}
