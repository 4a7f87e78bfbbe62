# frozen_string_literal: true

module Proctor
  module RspecAgentsCompat
    # Adapters that were written for the gem: `initialize` takes `context:`, messages say "user" and "agent", and
    # `around` wraps the whole example.
    class AgentBase < Agent
      class << self
        def build(context = {})
          new(context: context)
        end

        # Whether an adapter of the project has an `around` of its own.
        def wraps_examples?
          adapters.any? { |adapter| adapter.instance_method(:around).owner != Agent }
        end

        def adapters
          @adapters ||= []
        end

        def inherited(adapter)
          super
          AgentBase.adapters << adapter
        end
      end

      def initialize(context: {})
        super(context)
      end

      # The notes of the adapter, recorded with every answer.
      def metadata
        Metadata.new
      end

      protected

      # Messages as plain hashes, whatever they were.
      def normalize_messages(messages)
        messages.map { |message| message.to_h.transform_keys(&:to_sym).slice(:role, :content) }
      end
    end
  end
end
