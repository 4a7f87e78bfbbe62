//! Calls that leave something behind for others: they are not emitted, those who would see it are.

use std::fs;
use std::path::Path;
use std::process::Command;

use proctor_cover::run;

use crate::{options, project};

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

const SURROUNDINGS: &str = "\
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
fn polluters_are_left_out_and_their_victims_kept() {
    let folder = project(&[("lib/settings.rb", SETTINGS), ("lib/surroundings.rb", SURROUNDINGS)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spec = |name: &str| fs::read_to_string(folder.path().join("spec").join(name)).unwrap();
    let (settings, surroundings) = (spec("settings_spec.rb"), spec("surroundings_spec.rb"));
    for polluter in [".add_kind(", "expect(described_class.raise_level(", ".loud!", ".style = "] {
        assert!(!settings.contains(polluter), "{polluter}\n{settings}");
    }
    for victim in [".kinds", ".level", ".show(", ".square("] {
        assert!(settings.contains(victim), "{victim}\n{settings}");
    }
    for polluter in
        [".remember(", "described_class.mark)", ".enter", "expect(described_class.seed(", ".teach)"]
    {
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
