# frozen_string_literal: true

module Proctor
  # Publishes what RSpec does in this process on a bus of a program's own, and says in each example's thread which example runs
  # (`Thread.current[:rspec_agents_example_id]`).
  #
  # The bus of the run (`EventBus.instance`) gets the same and more from the host, so nothing is published on it here.
  module RSpecIntegration
    THREAD_KEY = :rspec_agents_example_id

    class << self
      def install!(event_bus)
        configuration = ::RSpec.configuration
        mark_threads(configuration)
        return if event_bus.equal?(EventBus.instance)

        configuration.before(:suite) { RSpecIntegration.attend(event_bus, ::RSpec.configuration) }
      end

      # @private
      def attend(event_bus, configuration)
        event_bus.publish(Events::SuiteStarted.new(time: ::Time.now, seed: configuration.seed))
        configuration.reporter.register_listener(Listener.new(event_bus), *Listener::NOTIFICATIONS)
        configuration.after(:suite) { RSpecIntegration.conclude(event_bus) }
      end

      # @private
      def conclude(event_bus)
        world = ::RSpec.world
        failed = world.all_examples.count { |example| example.execution_result.status == :failed }
        event_bus.publish(Events::SuiteFinished.new(time: ::Time.now, example_count: world.example_count, failure_count: failed))
      end

      private

      def mark_threads(configuration)
        return if @marks

        @marks = true
        configuration.prepend_before(:each) { |example| Thread.current[THREAD_KEY] = StableExampleId.new(example.metadata).to_hash }
        configuration.append_after(:each) { Thread.current[THREAD_KEY] = nil }
      end
    end

    # Hears of the examples of this process.
    class Listener
      NOTIFICATIONS = %i[example_started example_passed example_failed example_pending].freeze

      def initialize(event_bus)
        @event_bus = event_bus
      end

      def example_started(notification)
        @event_bus.publish(Events::ExampleStarted.from_rspec(notification.example))
      end

      def example_passed(notification)
        @event_bus.publish(Events::ExampleFinished.from_rspec(notification.example))
      end
      alias example_failed example_passed
      alias example_pending example_passed
    end
  end
end
