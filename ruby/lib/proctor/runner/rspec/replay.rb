# frozen_string_literal: true

require "time"
require_relative "recorded_run"
require_relative "replayed_examples"

module Proctor
  module Runner
    module RspecFramework
      # Reports a recorded run as RSpec would have: to the formatters that the project or the command line asks for, and into the
      # file of statuses. The project is loaded and has run nothing.
      class Replay
        # Serves the formatters. One that raises is left out from then on, and named.
        class Reporter < RSpec::Core::Reporter
          attr_reader :problems

          def initialize(configuration, load_seconds, run_seconds)
            super(configuration)
            @load_seconds = load_seconds
            @run_seconds = run_seconds
            @problems = []
            @failing = {}.compare_by_identity
          end

          def start(expected_example_count, time = RSpec::Core::Time.now)
            super
            @load_time = @load_seconds
          end

          # As in the original, with the time that the run took.
          def stop
            @duration = @run_seconds
            notify :stop, RSpec::Core::Notifications::ExamplesNotification.new(self)
          end

          def notify(event, notification)
            ensure_listeners_ready
            registered_listeners(event).each do |listener|
              next if @failing[listener]

              begin
                listener.__send__(event, notification)
              rescue StandardError, ScriptError => error
                @failing[listener] = true
                @problems << Replay.problem(listener.class.name, error)
              end
            end
          end

          # What failed is known already.
          def fail_fast_limit_met?
            false
          end
        end

        def self.problem(name, error)
          place = error.backtrace&.first
          "the RSpec formatter #{name} failed: #{error.class}: #{error.message}#{" (#{place})" if place}"
        end

        def initialize(loader, recording, output, terminal)
          @loader = loader
          @recording = recording
          @output = output
          @terminal = terminal
          @configuration = RSpec.configuration
          @errors = []
          @notes = []
        end

        def call
          run = RecordedRun.read(@recording)
          @expected = @loader.manifest.entries.size
          @examples = ReplayedExamples.new(@loader.manifest, run).fill
          report(run) unless @loader.formatters.empty?
          persist
          { errors: @errors, notes: @notes }
        end

        private

        def report(run)
          direct_standard_output
          @loader.restore_colour
          reporter = Reporter.new(@configuration, @loader.load_ms / 1000, run.duration)
          formatters = install(reporter)
          @loader.formatters.each { |name, outputs| add(formatters, name, outputs) }
          reporter.prepare_default(formatters, $stdout, @configuration.deprecation_stream)
          replay(reporter, run)
          @errors.concat(reporter.problems)
          $stdout.flush
        end

        # Formatters keep streams, so the descriptor itself is redirected.
        def direct_standard_output
          target = @loader.formats_to_stdout? ? @output : File::NULL
          STDOUT.reopen(File.open(target, File::WRONLY | File::CREAT | File::TRUNC, 0o600))
          $stdout = STDOUT
          STDOUT.sync = false
          terminal = @terminal
          STDOUT.define_singleton_method(:tty?) { terminal }
          STDOUT.define_singleton_method(:isatty) { terminal }
        end

        def install(reporter)
          formatters = RSpec::Core::Formatters::Loader.new(reporter)
          formatters.default_formatter = @configuration.default_formatter
          @configuration.instance_variable_set(:@formatter_loader, formatters)
          @configuration.instance_variable_set(:@reporter, reporter)
          @configuration.instance_variable_set(:@reporter_buffer, nil)
          formatters
        end

        def add(formatters, name, outputs)
          formatters.add(name, *outputs)
        rescue StandardError, ScriptError => error
          @errors << Replay.problem(name, error)
        end

        def replay(reporter, run)
          @loader.messages.each { |text| reporter.message(text) }
          reporter.report(@expected) do
            outside(reporter, run.errors) { |error| error["phase"] == "before_suite" }
            RSpec.world.ordered_example_groups.each { |group| replay_group(group, reporter, run) }
            outside(reporter, run.errors) { true }
          end
        end

        def replay_group(group, reporter, run)
          return unless reported?(group)

          reporter.example_group_started(group)
          strategy = group.ordering_strategy
          strategy.order(group.filtered_examples).each { |example| replay_example(example, reporter) }
          strategy.order(group.children).each { |child| replay_group(child, reporter, run) }
          outside(reporter, run.errors) { |error| error.dig("group", "location") == group.metadata[:location] }
          reporter.example_group_finished(group)
        end

        def reported?(group)
          group.filtered_examples.any? { |example| @examples.result(example) } ||
            group.children.any? { |child| reported?(child) }
        end

        def replay_example(example, reporter)
          return unless @examples.result(example)

          reporter.example_started(example)
          reporter.example_finished(example)
          case example.execution_result.status
          when :passed then reporter.example_passed(example)
          when :pending then reporter.example_pending(example)
          else reporter.example_failed(example)
          end
        end

        # Each is told once, where RSpec would.
        def outside(reporter, errors, &here)
          errors.select(&here).each do |event|
            errors.delete(event)
            error = RecordedException.build(event["exception"]) ||
                    RecordedException.of_message("Proctor::RunError", event["message"].to_s)
            reporter.notify_non_example_exception(error, event["description"] || "An error occurred outside of examples.")
          end
        end

        # RSpec merges with what the file has.
        def persist
          path = @configuration.example_status_persistence_file_path
          return if path.nil? || @configuration.dry_run?

          RSpec::Core::ExampleStatusPersister.persist(RSpec.world.all_examples, path)
        rescue SystemCallError => error
          @notes << "the statuses of examples could not be written to #{path} " \
                    "(`config.example_status_persistence_file_path`): #{error.message}"
        end
      end
    end
  end
end
