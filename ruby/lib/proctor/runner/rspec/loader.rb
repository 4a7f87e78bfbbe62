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

        # Our views take the place of these on a terminal.
        REPLACED_FORMATTERS = %w[p progress d doc documentation].freeze

        attr_reader :errors, :messages, :manifest, :reporter, :load_ms

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
            units: manifest.units, load_ms: @load_ms, ruby: RUBY_VERSION, versions: versions }.merge(settings, observation)
        end

        # The formatters to run over the recording, as pairs of a formatter and its outputs. Those with a file are always run. Those that
        # write to standard output are run if the command line names one of that kind: then they are what the user wants to see.
        def formatters
          chosen = reporter.requested_formatters
          chosen = chosen.select(&:to_file?) unless formats_to_stdout?
          chosen.map { |request| [request.formatter, request.outputs] }
        end

        def formats_to_stdout?
          @formats_to_stdout ||= named_formatters.any? { |_, file| file.nil? } ? :yes : :no
          @formats_to_stdout == :yes
        end

        # As the project would have it; off while workers run.
        def restore_colour
          @configuration.instance_variable_get(:@preferred_options).replace(@preferred_options)
        end

        # Reports a recorded run; see Replay.
        def replay(request)
          require_relative "replay"
          Replay.new(self, request.fetch("recording"), request.fetch("output"), request["terminal"] ? true : false).call
        end

        # What a worker tells about examples and groups.
        def events(writer)
          Events.new(writer)
        end

        # Runs examples of the loaded suite in this process.
        def runner(events, seeds)
          require_relative "example_runner"
          runner = ExampleRunner.new(events: events, reporter: reporter, seeds: seeds, manifest: manifest)
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
          missed = missed_formatters
          unless missed.empty?
            found << "not used: RSpec #{missed.size == 1 ? "formatter" : "formatters"} #{missed.join(", ")} " \
                     "(it would write to standard output: give it a file with `--out`, or name it after `--`)"
          end
          found << "dry run: no example is run, so each is pending (`proctor list` shows them without a run)" if RSpec.configuration.dry_run?
          found
        end

        def missed_formatters
          return [] if formats_to_stdout?

          reporter.requested_formatters.reject(&:to_file?).map(&:name).uniq - REPLACED_FORMATTERS
        end

        # What the command line itself asks for: pairs of a name and a file.
        def named_formatters
          RSpec::Core::Parser.parse(@args.dup)[:formatters] || []
        rescue SystemExit
          []
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
          @preferred_options = @configuration.instance_variable_get(:@preferred_options).dup
          # Text travels without colour; views add their own.
          @configuration.force(color_mode: :off, color: false)
        end

        def settings
          { seed: @configuration.seed, seed_used: @configuration.seed_used? ? true : false, order: order,
            fail_fast: @configuration.fail_fast, dry_run: @configuration.dry_run? ? true : false,
            fail_if_no_examples: @configuration.fail_if_no_examples ? true : false,
            failure_exit_code: @configuration.failure_exit_code,
            error_exit_code: error_exit_code, final_report: final_report? }
        end

        def final_report?
          return false unless @errors.empty?

          !formatters.empty? || !@configuration.example_status_persistence_file_path.nil?
        end

        # What the project's code wants of events, where it uses the library.
        def observation
          return {} unless defined?(Proctor::Observation)

          settings = Proctor.configuration
          return {} unless settings.enable_events

          { observers: Observation.subscriptions.size, observers_within_ms: (settings.observers_within * 1000).to_i,
            destinations: settings.destinations }
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
