# frozen_string_literal: true

module Proctor
  module Runner
    module RspecFramework
      # Forwards what the rspec-agents gem publishes on its event bus, when the project has loaded it.
      # The gem keeps its bus and the id of the running example in variables of the thread that runs
      # the examples. Its own suite, group and example events are left out: those are ours.
      class AgentsBridge
        BUS = :rspec_agents_event_bus
        EXAMPLE = :rspec_agents_example_id
        OURS = /\A(?:Suite|Group|Example)/

        def self.install(events)
          return unless defined?(RSpec::Agents)

          candidates = %i[IsolatedEventBus EventBus].map { |name| constant(name) }.compact
          bus_class = candidates.find { |candidate| candidate.respond_to?(:new) }
          new(bus_class.new, events) if bus_class
        end

        def self.constant(name)
          RSpec::Agents.const_get(name, false) if RSpec::Agents.const_defined?(name, false)
        end

        # Must be called on the thread that runs the examples.
        def initialize(bus, events)
          @events = events
          bus.subscribe { |event| forward(event) }
          Thread.current[BUS] = bus
        end

        # The example's key stands in for the gem's own id until the host replaces it.
        def example_started(item)
          @item = item
          Thread.current[EXAMPLE] = item.key
        end

        private

        def forward(event)
          type = event.class.name.to_s.split("::").last.to_s
          return if OURS.match?(type)

          payload = Plain.value(event.to_h)
          if @item
            payload["key"] = @item.key
            payload["repeat"] = @item.repeat
            payload["attempt"] = @item.attempt
          end
          @events.event(type, payload)
          @events.flush
        end
      end
    end
  end
end
