# frozen_string_literal: true

require_relative "interrupt_watch"
require_relative "../runner/rspec/events" unless defined?(Proctor::Runner::RspecFramework::Events)
require_relative "../runner/rspec/manifest" unless defined?(Proctor::Runner::RspecFramework::Manifest)
require_relative "../runner/work_queue" unless defined?(Proctor::Runner::Item)

module Proctor
  module Specs
    # Tells the host what plain `rspec` does: which examples there are, when each begins and how it ends. It says the
    # same as a worker of `proctor run`, so that the events are the same. At the end it waits for the project's observers.
    class RunReporter
      NOTIFICATIONS = %i[example_group_started example_group_finished example_started example_passed example_failed
                 example_pending dump_summary].freeze

      # How many seconds observers get after Ctrl-C.
      STOPPED_WITHIN = 2

      # `delivery` is nil where there are no observers.
      def initialize(line, delivery)
        @line = line
        @delivery = delivery
        @events = Runner::RspecFramework::Events.new(line)
        @ended = {}.compare_by_identity
      end

      def begin(configuration)
        @error_at_begin = $! # under `rspec/autorun` this may be an exit that is no news
        introduce(configuration)
        InterruptWatch.begin
        configuration.reporter.register_listener(self, *NOTIFICATIONS)
      end

      def example_group_started(notification)
        @events.group_started(notification.group)
      end

      def example_group_finished(notification)
        @events.group_finished(notification.group)
      end

      def example_started(notification)
        @began = Native.nanoseconds
        @running = true
        @events.example_started(Observation.item = item(notification.example))
      end

      def example_passed(notification)
        finished(notification.example)
      end
      alias example_failed example_passed
      alias example_pending example_passed

      def dump_summary(summary)
        errors = summary.respond_to?(:errors_outside_of_examples_count) ? summary.errors_outside_of_examples_count : 0
        torn_down? ? @line.notify({ type: "suite_broken_off" }) : report_end(errors)
        finish_delivery
        Host.finish
      end

      private

      def introduce(configuration)
        manifest = Runner::RspecFramework::Manifest.new(::RSpec.world)
        manifest.select
        @entries = manifest.entries.to_h { |entry| [entry.example, entry] }.compare_by_identity
        manifest.each_batch { |line| @line.send_line(line) }
        seed = configuration.seed if configuration.seed_used?
        @line.notify({ type: "suite_started", seed: seed, load_ms: load_time(configuration), count: manifest.entries.size }.compact)
      end

      # Who has pressed Ctrl-C wants the end, but not to lose it; who presses it now does not want to wait.
      def finish_delivery
        stopped = InterruptWatch.seen?
        within = Proctor.configuration.observers_within
        @delivery&.finish(stopped ? [within, STOPPED_WITHIN].min : within) { !stopped && InterruptWatch.seen? }
      end

      # RSpec sums up even while `exit` or a signal takes it down. The run did not come to its end then, and does not say so.
      def torn_down?
        @running || (!$!.nil? && !$!.equal?(@error_at_begin))
      end

      def report_end(errors)
        report_left_out
        @line.notify({ type: "suite_finished", errors: errors, interrupted: InterruptWatch.seen? })
      end

      # What was announced and did not run is said, so that nothing is missing from the recording.
      def report_left_out
        reason = nil
        @entries.each_value do |entry|
          next if @ended[entry.example]

          reason ||= why_left_out
          @events.example_not_run(Runner::Item.new(entry, 1, 1), reason)
        end
      end

      def why_left_out
        reporter = ::RSpec.configuration.reporter
        if InterruptWatch.seen? then "the run was interrupted"
        elsif reporter.respond_to?(:fail_fast_limit_met?) && reporter.fail_fast_limit_met? then "the run was stopped by --fail-fast"
        else "RSpec ended the run before it"
        end
      end

      def load_time(configuration)
        taken = configuration.reporter.instance_variable_get(:@load_time)
        taken.is_a?(Numeric) ? (taken * 1000).round(3) : nil
      end

      def item(example)
        entry = @entries[example] || Runner::RspecFramework::Manifest::Entry.new(example, example.id, Native.json(Plain.text(example.id)))
        Runner::Item.new(entry, 1, 1)
      end

      def finished(example)
        elapsed = Native.nanoseconds - @began
        @ended[example] = true
        @running = false
        @events.example_finished(item(example), elapsed, nil, nil)
        @events.flush # what has ended is not lost with what comes after it
        Observation.item = nil
      end
    end
  end
end
