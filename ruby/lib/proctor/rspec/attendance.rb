# frozen_string_literal: true

require_relative "../runner/events" unless defined?(Proctor::Runner::Events)
require_relative "../runner/manifest" unless defined?(Proctor::Runner::Manifest)
require_relative "../runner/work_queue" unless defined?(Proctor::Runner::Item)

module Proctor
  module Specs
    # Tells the host what plain `rspec` does: which examples there are, when each begins and how it ends. It says the
    # same as a worker of `proctor run`, so that the events are the same. Also tells the project's observers.
    class Attendance
      HEARD = %i[example_group_started example_group_finished example_started example_passed example_failed
                 example_pending dump_summary].freeze

      # `line` is nil where the run is somebody else's and only observers listen.
      def initialize(line, observers)
        @line = line
        @observers = observers
        @events = line && Runner::Events.new(line)
      end

      def begin(configuration)
        introduce(configuration) if @line
        configuration.reporter.register_listener(self, *HEARD)
      end

      def example_group_started(notification)
        @events&.group_started(notification.group)
      end

      def example_group_finished(notification)
        @events&.group_finished(notification.group)
      end

      def example_started(notification)
        @began = Native.nanoseconds
        @events&.example_started(item(notification.example))
        tell(notification.example, "ExampleStarted")
      end

      def example_passed(notification)
        finished(notification.example)
      end
      alias example_failed example_passed
      alias example_pending example_passed

      def dump_summary(summary)
        errors = summary.respond_to?(:errors_outside_of_examples_count) ? summary.errors_outside_of_examples_count : 0
        if @line
          @line.notify({ type: "suite_finished", errors: errors })
          Host.finish
        end
        @observers.finish
      end

      private

      def introduce(configuration)
        manifest = Runner::Manifest.new(::RSpec.world)
        manifest.select
        @entries = manifest.entries.to_h { |entry| [entry.example, entry] }.compare_by_identity
        manifest.each_batch { |batch| @line.notify({ type: "examples", examples: batch }) }
        seed = configuration.seed if configuration.seed_used?
        @line.notify({ type: "suite_started", seed: seed, load_ms: load_time(configuration) }.compact)
      end

      def load_time(configuration)
        taken = configuration.reporter.instance_variable_get(:@load_time)
        taken.is_a?(Numeric) ? (taken * 1000).round(3) : nil
      end

      def item(example)
        entry = @entries[example] || Runner::Manifest::Entry.new(example, example.id, Native.json(Plain.text(example.id)))
        Runner::Item.new(entry, 1, 1)
      end

      def finished(example)
        elapsed = Native.nanoseconds - @began
        @events&.example_finished(item(example), elapsed, nil, nil)
        tell(example, "ExampleFinished", "status" => example.execution_result.status.to_s,
                                         "duration_ms" => elapsed / 1_000_000.0)
      end

      def tell(example, type, fields = {})
        return unless @observers.any?

        metadata = example.metadata
        @observers.tell({ "event_type" => type, "key" => example.id, "location" => metadata[:location],
                          "description" => example.description,
                          "full_description" => example.full_description }.merge(fields))
      end
    end
  end
end
