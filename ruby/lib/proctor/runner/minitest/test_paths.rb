# frozen_string_literal: true

module Proctor
  module Runner
    module MinitestFramework
      # The test files that the arguments name, and the lines of each that were asked for.
      class TestPaths
        PATTERNS = %w[**/*_test.rb **/test_*.rb].freeze
        HELPER = "test_helper.rb"
        # `test_case_spec.rb` is RSpec's.
        SPEC = "_spec.rb"
        # Folders with build output and other people's code.
        SKIPPED = %r{(?:\A|/)(?:target|node_modules|vendor)/}.freeze
        DEFAULT = ["test"].freeze

        attr_reader :files

        class << self
          # The project's folder: tests may change the current one, or remove it.
          attr_accessor :root

          # A path of the project as it is shown everywhere: `./test/a_test.rb`.
          def relative(path)
            full = File.expand_path(path, root)
            full.start_with?("#{root}/") ? "./#{full.delete_prefix("#{root}/")}" : full
          end
        end

        def initialize(args)
          TestPaths.root = Dir.pwd
          @lines = {}
          @files = (args.empty? ? DEFAULT : args).flat_map { |path| expand(path) }.uniq
        end

        # Those of the tests that the lines ask for; all tests of files without lines.
        def select(tests)
          starts = tests.group_by(&:file).transform_values { |all| all.map(&:line).uniq.sort }
          wanted = @lines.compact.to_h { |file, lines| [file, lines.map { |line| start_of(file, line, starts[file]) }] }
          tests.select { |test| wanted[test.file].nil? || wanted[test.file].include?(test.line) }
        end

        private

        # The line where the test begins that stands at a line.
        def start_of(file, line, starts)
          starts&.reverse_each&.find { |start| start <= line } || raise(Loading::Refused, "there is no test at #{file}:#{line}")
        end

        def expand(path)
          return in_folder(path) if File.directory?(path)

          name, lines = split(path)
          file = TestPaths.relative(name)
          # A file that is named without a line is meant whole, whatever else is said of it.
          whole = lines.empty? || (@lines.key?(file) && @lines[file].nil?)
          @lines[file] = whole ? nil : [*@lines[file], *lines]
          [file]
        end

        def in_folder(folder)
          found = PATTERNS.flat_map { |pattern| Dir.glob(pattern, base: folder) }.uniq.sort
          found.reject! { |name| File.basename(name) == HELPER || name.end_with?(SPEC) || SKIPPED.match?(name) }
          found.map { |name| TestPaths.relative(File.join(folder, name)).tap { |file| @lines[file] = nil } }
        end

        # `FILE:3:7` is lines 3 and 7.
        def split(path)
          return [path, []] if File.file?(path)

          file, lines = path.match(/\A(.+?)((?::\d+)+)\z/m)&.captures
          file ? [file, lines.delete_prefix(":").split(":").map(&:to_i)] : [path, []]
        end
      end
    end
  end
end
