# frozen_string_literal: true

module Proctor
  module Specs
    # `triggers do … end` of a topic.
    class TriggerBuilder
      include Delegating

      attr_reader :all

      def initialize(around)
        @around = around
        @all = []
      end

      def on_tool_call(name, with_params: {}, **params)
        pattern = ToolPattern.new(name, with_params.merge(params))
        @all << lambda do |talk|
          pattern.plain? ? { "call_tool" => pattern.to_wire } : Assertions.tool_call(talk, pattern, ->(turn) { [turn] })
        end
      end

      def on_response_match(pattern)
        @all << ->(talk) { talk.block("response #{pattern.inspect}") { |turn| Assertions.occurs?(pattern, turn.agent) } }
      end

      def on_user_match(pattern)
        @all << ->(talk) { talk.block("user #{pattern.inspect}") { |turn| Assertions.occurs?(pattern, turn.user) } }
      end

      def after_turns_in(topic, count:)
        @all << ->(_) { { "turns_in" => { "topic" => topic.to_s, "count" => count } } }
      end

      def on_condition(code = nil, &block)
        condition = code || block
        @all << ->(talk) { talk.block("condition") { |turn| talk.call_block(condition, turn, talk) } }
      end
    end
  end
end
