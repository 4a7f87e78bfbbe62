# frozen_string_literal: true

require_relative "../leak_check"
require_relative "../output_marks"

module Proctor
  module Runner
    module MinitestFramework
      # Runs single tests of the loaded suite, on the thread that calls it. It does not know where items come from.
      class ExampleRunner
        NAMED = 5

        # Minitest did not run a test that it was asked to run.
        NotRun = Class.new(StandardError)

        # Runs tests of `parallelize_me!` classes at once: workers are what runs side by side here.
        class DirectExecutor
          def start; end

          def shutdown; end

          def <<((test_class, method_name, reporter))
            reporter.prerecord(test_class, method_name)
            reporter.record(::Minitest.run_one_method(test_class, method_name))
          end
        end

        # Keeps the result of one test that is run through its class.
        class OneResult < ::Minitest::AbstractReporter
          attr_reader :results

          def initialize
            super
            @results = []
          end

          def record(result)
            @results << result
          end
        end

        attr_reader :marks, :leaks

        def initialize(events:, manifest:, seeds:)
          @events = events
          @manifest = manifest
          @seeds = seeds
          @pid = $$
          @marks = OutputMarks.new
          @leaks = LeakCheck.new
          ::Minitest.parallel_executor = DirectExecutor.new
        end

        # Returns the status of the test, nil if it was not run.
        def run(item)
          if @refusal
            @events.example_not_run(item, @refusal)
            return
          end

          # The marks go first: when the host reads the event, the boundary is already in the stream.
          @marks.open(item)
          @events.example_started(item)
          execute(item)
        end

        # The worker could not be set up: it runs nothing.
        def set_up_failed(error, description)
          @refusal = "the worker could not be set up"
          @events.outside_error(Exceptions.outside(error, description, phase: "outside"))
          @events.flush
        end

        # Tests of one class have nothing in common that would have to be closed.
        def unit_done; end

        # Nothing to do for now: let go of everything held back.
        def idle
          @marks.settle
          @events.flush
        end

        # Returns the processes that outlived the suite, or nil.
        def finish
          report_late_tests
          idle
          @leaks.end_all
        end

        private

        def execute(item)
          @seeds.apply(item.entry.key)
          started = Native.nanoseconds
          outcome = outcome_of(item.entry)
          elapsed = Native.nanoseconds - started
          Native::EXIT_NOW.call(0) if $$ != @pid # a fork inside the test came back here
          leaked = @leaks.after_example
          @marks.close
          return @events.example_broken(item, elapsed, outcome) if Exception === outcome

          @events.example_finished(item, elapsed, leaked, outcome)
        end

        # The result, or what was raised where Minitest does not catch it.
        def outcome_of(entry)
          result_of(entry)
        rescue StandardError, ScriptError => error
          error
        end

        def result_of(entry)
          test = entry.test
          return ::Minitest.run_one_method(test.test_class, test.method_name) unless entry.own_run

          reporter = OneResult.new
          test.test_class.run(reporter, { filter: /\A#{Regexp.escape(test.method_name)}\z/, seed: 0 })
          results = reporter.results
          return results.first if results.size == 1

          raise NotRun, "#{test.test_class}.run gave #{results.size} results for #{test.name} instead of one"
        end

        # They were never listed, so nobody runs them; under plain Minitest it depends on the order whether they run.
        def report_late_tests
          late = @manifest.late_tests
          return if late.empty?

          named = late.first(NAMED).map { |test| "#{test.file}:#{test.line} (#{test.name})" }
          named << "…" if late.size > NAMED
          count = late.size == 1 ? "1 test was" : "#{late.size} tests were"
          text = "#{count} defined while the suite ran and never ran: #{named.join(", ")}"
          @events.outside_error({ phase: "late_example", place: Plain.text("#{late.first.file}:#{late.first.line}"),
                                  message: Plain.limited(text, 16_384) })
        end
      end
    end
  end
end
