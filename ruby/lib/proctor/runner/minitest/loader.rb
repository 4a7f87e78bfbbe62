# frozen_string_literal: true

require_relative "defined_tests"
require_relative "events"
require_relative "exceptions"
require_relative "manifest"
require_relative "test_paths"

module Proctor
  module Runner
    module MinitestFramework
      # Loads test files the way `ruby -Ilib -Itest` would and stops where Minitest would start to run them.
      #
      # The arguments are files, folders and `FILE:LINE`, then `--`, then options of Minitest itself.
      class Loader
        attr_reader :errors, :messages, :manifest

        def initialize(args)
          split = args.index("--") || args.size
          @paths = TestPaths.new(args.first(split))
          @options = args.drop(split + 1)
          @errors = []
          @messages = []
        end

        def call
          started = Native.monotonic
          options = parse
          MinitestFramework.loading = true
          replaced = DefinedTests.while_loading { load_files }
          @messages.concat(replaced)
          @manifest = Manifest.new(options)
          @manifest.select(@paths) if @errors.empty?
          complain_of_nothing if @errors.empty? && @manifest.total.zero?
          @load_ms = ((Native.monotonic - started) * 1000).round(3)
          self
        ensure
          MinitestFramework.loading = false
        end

        def reply
          { count: manifest.entries.size, total_loaded: manifest.total, errors: errors, messages: messages, units: manifest.units,
            load_ms: @load_ms, ruby: RUBY_VERSION, versions: { minitest: ::Minitest::VERSION }, seed: @seed, seed_used: true }
        end

        # What a worker tells about tests.
        def events(writer)
          Events.new(writer)
        end

        # Runs tests of the loaded suite in this process.
        def runner(events, seeds)
          require_relative "example_runner"
          ExampleRunner.new(events: events, manifest: manifest, seeds: seeds)
        end

        private

        # Minitest prints and ends the process where an option is wrong.
        def parse
          rest = @options.dup
          printed = StringIO.new
          stdout = $stdout
          $stdout = printed
          options = ::Minitest.process_args(rest)
          raise Loading::Refused, "minitest does not know #{rest.join(" ")}" unless rest.empty?

          @seed = options[:seed]
          # Since 5.16 classes ask for the seed when they list their tests.
          ::Minitest.seed = @seed if ::Minitest.respond_to?(:seed=)
          options
        rescue SystemExit, OptionParser::ParseError => error
          text = printed.string.strip.lines.first&.chomp
          raise Loading::Refused, "this minitest option runs no tests: #{@options.join(" ")} (#{text || error.message})"
        ensure
          $stdout = stdout
        end

        # A file that cannot be loaded does not hide what is wrong with the next.
        def load_files
          @paths.files.each do |file|
            require File.expand_path(file)
          rescue SystemExit => error
            add_error(error, "An `exit` was called while loading #{file}.", file)
          rescue StandardError, ScriptError, NoMemoryError, SecurityError, SystemStackError => error
            add_error(error, "An error occurred while loading #{file}.", file)
          end
        end

        def add_error(error, description, file)
          @errors << Exceptions.outside(error, description, phase: "load").merge(file: Plain.text(file))
        end

        def complain_of_nothing
          count = @paths.files.size
          @messages << "minitest: no test is defined in #{count} #{count == 1 ? "file" : "files"} " \
                       "(#{@paths.files.first(3).join(", ")}#{", …" if count > 3})"
        end
      end
    end
  end
end
