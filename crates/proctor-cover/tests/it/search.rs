//! What the search without a model must reach: one small library for each kind of condition, every branch of it taken.

use std::fs;
use std::path::Path;

use proctor_cover::{Report, run};

use crate::{holds, options, project};

/// File, and a class whose branches need one kind of knowledge about inputs.
const LIBRARIES: &[(&str, &str)] = &[
    (
        "lib/tables.rb",
        "class Tables
  UNITS = { 'kilometre' => 1000, 'furlong' => 201 }.freeze
  KINDS = %i[walking riding].freeze

  def metres(amount, unit)
    raise ArgumentError, \"unknown unit: #{unit}\" unless UNITS.key?(unit)

    amount * UNITS[unit]
  end

  def speed(kind)
    return nil unless KINDS.include?(kind)

    kind == :riding ? 15 : 5
  end
end
",
    ),
    (
        "lib/route.rb",
        "class Route
  def initialize(prefix)
    @prefix = prefix
  end

  def match(path)
    found = path.match(/\\A#{Regexp.escape(@prefix)}-(?<id>\\d{3})(?<tail>\\.json)?\\z/)
    return :none unless found

    found[:tail] ? [:json, found[:id]] : [:plain, found[:id]]
  end
end
",
    ),
    (
        "lib/scanner.rb",
        "require 'strscan'
class Scanner
  def tokens(text)
    scanner = StringScanner.new(text)
    list = []
    until scanner.eos?
      if scanner.scan(/\\s+/) then next
      elsif scanner.scan(/<<=/) then list << :shift
      elsif scanner.scan(/@@[a-z]+/) then list << [:global, scanner.matched]
      elsif scanner.scan(/\\d+/) then list << Integer(scanner.matched)
      else raise ArgumentError, \"unexpected #{scanner.getch.inspect}\"
      end
    end
    list
  end
end
",
    ),
    (
        "lib/settings.rb",
        "class Settings
  def initialize(options = {})
    @options = options
  end

  def describe
    server = @options[:server]
    return 'nothing' unless server
    return 'secure' if server[:scheme] == 'https' && server[:port].to_i > 1023

    helper(server)
  end

  private

  def helper(server)
    case server[:mode]
    when :standby then 'waiting'
    when 'primary' then 'leading'
    else 'unknown'
    end
  end
end
",
    ),
    (
        "lib/limits.rb",
        "class Limits
  def grade(points)
    raise ArgumentError, 'points must be a number' unless points.is_a?(Integer)
    return :excellent if points >= 9173
    return :good if points.between?(812, 9172)

    points.negative? ? :impossible : :poor
  end

  def long?(word)
    word.length > 17
  end
end
",
    ),
    (
        "lib/host.rb",
        "module Host
  def greeting
    return 'hello' if visitor_name.nil?

    \"hello #{visitor_name}\"
  end
end
",
    ),
    (
        "lib/builder_block.rb",
        "class BuilderBlock
  class Fields
    attr_reader :list

    def initialize
      @list = []
    end

    def text(name)
      list << [:text, name]
    end
  end

  def self.define(&block)
    fields = Fields.new
    fields.instance_eval(&block) if block
    fields.list.empty? ? 'empty' : \"#{fields.list.length} fields\"
  end
end
",
    ),
    (
        "lib/collaborator.rb",
        "class Collaborator
  def initialize(gateway)
    @gateway = gateway
  end

  def pay(amount)
    return :refused unless @gateway.accepts_card?(amount)

    @gateway.charge_card(amount) == :settled ? :done : :waiting
  end
end
",
    ),
    (
        "lib/world_facts.rb",
        "class WorldFacts
  def source(path)
    return 'missing' unless File.exist?(path)

    File.read(path).start_with?('#!') ? 'script' : 'text'
  end

  def season
    Time.now.month > 6 ? 'late' : 'early'
  end

  def colour?
    ENV['NO_COLOUR_PLEASE'].nil?
  end
end
",
    ),
    (
        "lib/chain.rb",
        "class Chain
  class Link
    attr_reader :weight

    def initialize(weight)
      raise TypeError, 'weight must be numeric' unless weight.is_a?(Numeric)

      @weight = weight
    end
  end

  def initialize(first, second)
    raise TypeError, 'links wanted' unless first.is_a?(Link) && second.is_a?(Link)

    @links = [first, second]
  end

  def heavy?
    @links.sum(&:weight) > 4711 ? true : false
  end
end
",
    ),
    (
        // Messages without a method of their own.
        "lib/ghosts.rb",
        "class Ghosts
  COLOURS = %i[crimson teal].freeze

  def initialize
    @known = { 'depth' => 3 }
  end

  private

  def method_missing(name, *args)
    if COLOURS.include?(name)
      args.empty? ? \"plain #{name}\" : \"#{name} #{args.length}\"
    elsif name.to_s.end_with?('?')
      @known.key?(name.to_s.chomp('?'))
    else
      super
    end
  end

  def respond_to_missing?(name, include_private = false)
    COLOURS.include?(name) || super
  end
end
",
    ),
    (
        // Attributes without a written method, options that a constructor keeps, a block that it is given.
        "lib/gauge.rb",
        "class Gauge
  DEFAULTS = { quiet: false, unit: 'mm' }.freeze
  attr_accessor :fixed, :lower
  attr_reader :options

  def initialize(label, **options, &formatter)
    @label = label
    @options = DEFAULTS.merge(options)
    @formatter = formatter
  end

  def reading(value)
    return fixed if fixed
    return lower if lower && value < lower
    return @formatter.call(value) if @formatter

    options[:quiet] ? value.to_s : \"#{@label} #{value} #{options[:unit]}\"
  end
end
",
    ),
    (
        // A module that belongs into a collection.
        "lib/merging.rb",
        "module Merging
  def merged(other)
    result = dup
    other.each_key do |key|
      if result[key].is_a?(Array)
        result[key] += [other[key]]
      else
        result[key] = other[key]
      end
    end
    result
  end
end
",
    ),
];

fn covered_branches(report: &Report, root: &Path) -> Vec<String> {
    report
        .files
        .iter()
        .filter(|file| file.error.is_some() || file.after.taken < file.after.branches)
        .map(|file| {
            let spec = fs::read_to_string(root.join(&file.spec)).unwrap_or_default();
            format!("{} {:?} {:?}\n{spec}", file.source, file.after, file.error)
        })
        .collect()
}

#[test]
fn every_kind_of_condition_is_met() {
    let folder = project(LIBRARIES);
    let mut options = options(folder.path());
    options.effort.tries = 1500;
    let report = run(&options, &mut |_| {}).unwrap();
    assert_eq!(report.files.len(), LIBRARIES.len());
    // What we write passes our own review.
    for file in &report.files {
        assert!(file.violations.is_empty(), "{} {:#?}", file.spec, file.violations);
    }
    let missing = covered_branches(&report, folder.path());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let spec = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(spec("spec/world_facts_spec.rb").contains("allow(File).to receive(:exist?)"));
    let collaborator = spec("spec/collaborator_spec.rb");
    assert!(collaborator.contains("let(:gateway) { instance_double('Gateway', "), "{collaborator}");
    assert!(
        collaborator.contains("expect(gateway).to have_received(:charge_card).with("),
        "{collaborator}"
    );
    assert!(spec("spec/limits_spec.rb").contains("9172"), "{}", spec("spec/limits_spec.rb"));
}

#[test]
fn a_run_from_nothing_writes_the_same_bytes() {
    let folder = project(&LIBRARIES[..4]);
    let specs = || -> Vec<Vec<u8>> {
        let mut paths: Vec<_> = fs::read_dir(folder.path().join("spec"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    };
    run(&options(folder.path()), &mut |_| {}).unwrap();
    let first = specs();
    assert_eq!(first.len(), 4);
    for path in ["spec", "tmp"] {
        fs::remove_dir_all(folder.path().join(path)).unwrap();
    }
    run(&options(folder.path()), &mut |_| {}).unwrap();
    assert_eq!(specs(), first);
}

/// A machine that is too busy, or too little time given, costs depth: what was found until then is kept.
#[test]
fn a_budget_that_is_spent_does_not_cost_everything() {
    let folder = project(&LIBRARIES[..3]);
    let mut options = options(folder.path());
    options.effort.seconds = 0.01;
    options.effort.mutation_seconds = 0.0;
    let report = run(&options, &mut |_| {}).unwrap();
    assert!(holds(&report), "{report:?}");
    for file in &report.files {
        assert!(file.examples > 0 && file.after.taken > 0, "{file:?}");
    }
}

/// Where a project happens to lie says nothing about its code.
#[test]
fn folders_around_the_project_are_in_no_spec() {
    let source = "class Around\n  def self.above(levels)\n    path = Dir.pwd\n    levels.to_i.abs.times { path = File.dirname(path) }\n    path\n  end\n\n  \
                  def self.deep?(path)\n    path.to_s.count('/') > 2\n  end\nend\n";
    let folder = project(&[("lib/around.rb", source)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spec = fs::read_to_string(folder.path().join("spec/around_spec.rb")).unwrap();
    assert!(spec.contains(".deep?("), "{spec}");
    for path in std::env::temp_dir().canonicalize().unwrap().ancestors() {
        let text = format!("{path:?}");
        assert!(text == "\"/\"" || !spec.contains(&text), "{text}\n{spec}");
    }
}

const SAME: &str = "\
module Same
  def ==(other)
    other.is_a?(self.class) && parts == other.parts
  end

  def parts
    [a, b]
  end
end
";

#[test]
fn a_module_meets_another_object_of_its_host() {
    let folder = project(&[("lib/same.rb", SAME)]);
    let report = run(&options(folder.path()), &mut |_| {}).unwrap();
    assert!(report.is_clean() && report.files[0].pending.is_empty(), "{report:?}");
    let spec = fs::read_to_string(folder.path().join("spec/same_spec.rb")).unwrap();
    for part in
        ["let(:host) { Struct.new(:a, :b) { include Same } }", "expect(same == host.new(1, "]
    {
        assert!(spec.contains(part), "{part} in {spec}");
    }
}
