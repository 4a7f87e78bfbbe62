# frozen_string_literal: true

module Proctor
  module Observers
    # An observer with a hook for every type of event, none of which does anything. It subscribes itself.
    class Base
      def initialize(event_bus: EventBus.instance)
        event_bus.add_observer(self)
      end

      Events::TYPES.each_key { |type| define_method(EventBus.hook(type)) { |event| } }

      # No event of this version leads here; they are part of the design that observers are written for.
      def on_conversation_started(event); end
      def on_conversation_ended(event); end
    end
  end
end
