# frozen_string_literal: true

module Proctor
  module RspecAgentsCompat
    # How many times a tool was called: a number that a check cannot take for true when it is 0.
    class CallCount < Numeric
      def initialize(count)
        super()
        @count = count
      end

      def to_i
        @count
      end
      alias to_int to_i

      def <=>(other)
        @count <=> (other.is_a?(CallCount) ? other.to_i : other)
      end

      def coerce(other)
        [other, @count]
      end

      def zero?
        @count.zero?
      end

      %i[+ - * /].each { |operator| define_method(operator) { |other| @count.public_send(operator, other) } }

      def hash
        @count.hash
      end

      def inspect
        @count.inspect
      end
      alias to_s inspect
    end

    # What the gem says otherwise of a conversation.
    module GemConversation
      # A number, as the gem has it; with `count:`, whether it is that.
      def called_tool?(name, count: nil)
        found = find_tool_calls(name).size
        count ? found == count : CallCount.new(found)
      end

      def find_tool_calls(name, arguments = {}, params: nil, **named)
        super(name, arguments.merge(params || {}), **named)
      end

      # A block that ends in `called_tool?(:x)` means whether it was called.
      def call_block(code, *arguments)
        value = super
        value.is_a?(CallCount) ? !value.zero? : value
      end

      # `around` of an adapter of the gem wraps the example.
      def wrap_example(&example)
        return yield unless adapter.is_a?(AgentBase)

        @around_example = true
        ran = false
        adapter.around do
          ran = true
          example.call
        end
        raise UsageError, "`around` of #{adapter.class} has to yield" unless ran
      end

      private

      def agent_role
        :agent
      end

      def wrapped(&block)
        @around_example ? yield : super
      end
    end

    # Messages go to adapters with the roles "user" and "agent".
    module GemChat
      ROLES = { assistant: "agent" }.freeze

      private

      def ask(messages)
        super(messages.map { |message| message.merge(role: ROLES.fetch(message[:role], message[:role].to_s)) })
      end
    end

    Specs::Conversation.prepend(GemConversation)
    Specs::Chat.prepend(GemChat)

    # The adapter is built before the example only where one has an `around`.
    ::RSpec.configuration.around(:each, type: :agent) do |example|
      next example.run unless AgentBase.wraps_examples?

      proctor_begin(example.example)
      conversation.wrap_example { example.run }
    end
  end
end
