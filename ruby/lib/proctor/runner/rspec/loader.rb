# frozen_string_literal: true

require_relative "reporter"
require_relative "manifest"
require_relative "events"
require_relative "exceptions"

module Proctor
  module Runner
    module RspecFramework
      # Loads a suite the way `rspec ARGS` would and stops where that would start to run it.
      class Loader
        OTHER_COMMANDS = [RSpec::Core::Invocations::InitializeProject, RSpec::Core::Invocations::Bisect,
                          RSpec::Core::Invocations::PrintVersion, RSpec::Core::Invocations::PrintHelp].freeze

        attr_reader :errors, :messages, :manifest, :reporter

        def initialize(args, error_stream: $stderr, output_stream: $stdout)
          @args = args
          @error_stream = error_stream
          @output_stream = output_stream
          @errors = []
          @messages = []
        end

        def call
          started = Native.monotonic
          options = parse
          @configuration = RSpec.configuration
          @reporter = Reporter.install(@configuration, self)
          own = Regexp.union(Serializer::OWN_FRAMES, Serializer::OWN_PROGRAMS)
          @configuration.backtrace_exclusion_patterns << /\A#{own}/
          load_with(options)
          @load_ms = ((Native.monotonic - started) * 1000).round(3)
          self
        end

        def reply
          { count: manifest.entries.size, total_loaded: manifest.total, errors: errors, messages: messages + notes,
            units: manifest.units, load_ms: @load_ms, ruby: RUBY_VERSION, versions: versions }.merge(settings)
        end

        # What a worker tells about examples and groups.
        def events(writer)
          Events.new(writer)
        end

        # Runs examples of the loaded suite in this process.
        def runner(events, seeds)
          require_relative "example_runner"
          runner = ExampleRunner.new(events: events, reporter: reporter, seeds: seeds)
          reporter.sink = runner
          runner
        end

        # Sink of the reporter while loading.
        def message(text)
          @messages << Plain.text(text)
        end

        def deprecation(text)
          @messages << "Deprecation: #{Plain.text(text)}"
        end

        def outside_error(error, description)
          @errors << Exceptions.outside(error, description, phase: "load")
        end

        private

        # What was asked for and is done in another way, or not at all.
        def notes
          found = []
          missed = reporter.missed_formatters
          unless missed.empty?
            found << "not used: RSpec #{missed.size == 1 ? "formatter" : "formatters"} #{missed.join(", ")} " \
                     "(instead: --ui, --json, --junit, --html, --markdown)"
          end
          found << "dry run: no example is run, so each is pending (`proctor list` shows them without a run)" if RSpec.configuration.dry_run?
          found
        end

        def parse
          options = RSpec::Core::ConfigurationOptions.new(@args)
          command = options.options[:runner]
          if OTHER_COMMANDS.any? { |kind| kind === command }
            raise Loading::Refused, "this rspec option runs no examples: #{@args.join(" ")}"
          end

          options
        rescue SystemExit => error
          raise Loading::Refused, error.message
        end

        # The same steps in the same order as RSpec's runner; filters are announced even after errors.
        def load_with(options)
          world = RSpec.world
          begin
            # Formatters bring it, and we load none: those that are asked for before the specs are loaded, the
            # usual one afterwards. Many suites use it without a word.
            require "stringio" if options.options[:formatters]
            configure(options)
            @configuration.load_spec_files unless world.wants_to_quit
            require "stringio"
          rescue SystemExit
            nil # already reported as an error outside of examples
          end
          @manifest = Manifest.new(world)
          world.announce_filters
          @manifest.select if @errors.empty?
        rescue Reporter::Aborted => error
          @errors << { phase: "configuration", description: Plain.text(error.message) }
          @manifest ||= Manifest.new(world)
        end

        def configure(options)
          @configuration.error_stream = @error_stream
          @configuration.output_stream = @output_stream if @configuration.output_stream == $stdout
          options.configure(@configuration)
          # Text travels without colour; views add their own.
          @configuration.force(color_mode: :off, color: false)
        end

        def settings
          { seed: @configuration.seed, seed_used: @configuration.seed_used? ? true : false, order: order,
            fail_fast: @configuration.fail_fast, dry_run: @configuration.dry_run? ? true : false,
            fail_if_no_examples: @configuration.fail_if_no_examples ? true : false,
            failure_exit_code: @configuration.failure_exit_code,
            error_exit_code: error_exit_code }
        end

        def error_exit_code
          @configuration.error_exit_code if @configuration.respond_to?(:error_exit_code)
        end

        def order
          case @configuration.ordering_registry.fetch(:global)
          when RSpec::Core::Ordering::Identity then "defined"
          when RSpec::Core::Ordering::Random then "random"
          when RSpec::Core::Ordering::Custom then "custom"
          else "recently-modified"
          end
        end

        def versions
          %i[Core Expectations Mocks Rails].each_with_object({}) do |name, found|
            next unless RSpec.const_defined?(name, false)

            part = RSpec.const_get(name, false)
            found["rspec-#{name.to_s.downcase}"] = part::Version::STRING if part.const_defined?(:Version)
          end
        end
      end
    end
  end
end
