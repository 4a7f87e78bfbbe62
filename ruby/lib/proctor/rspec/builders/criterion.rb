# frozen_string_literal: true

module Proctor
  module Specs
    # `criterion :name do … end`.
    class CriterionBuilder
      include Delegating

      def initialize(name, text, around, code)
        @name = name
        @text = text
        @around = around
        @examples = { "good" => [], "bad" => [], "edge" => [] }
        instance_exec(&code) if code
        return if @text || code?

        raise UsageError, "criterion :#{name} says nothing: give a text, a `description`, or a `match` block"
      end

      def description(text)
        @text = text
      end

      def good_example(text, explanation: nil)
        @examples["good"] << { "text" => text, "why" => explanation }.compact
      end

      def bad_example(text, explanation: nil)
        @examples["bad"] << { "text" => text, "why" => explanation }.compact
      end

      def edge_case(text, verdict:, explanation: nil)
        satisfied = [true, :pass, :passed, :good, :satisfied, "pass"].include?(verdict)
        @examples["edge"] << { "text" => text, "why" => explanation, "satisfied" => satisfied }.compact
      end

      # Decided by Ruby: the block gets the conversation.
      def match(&code)
        decide(:conversation, code)
      end

      # Decided by Ruby: the block gets the messages, with `role` and `content`.
      def match_messages(&code)
        decide(:messages, code)
      end

      def code?
        !@match.nil?
      end

      def to_wire
        { "description" => @text }.merge(@examples.reject { |_, all| all.empty? })
      end

      def to_block(conversation, _where)
        what, code = @match
        conversation.block("satisfy #{@name}#{" (#{@text})" if @text}", kind: "quality", name: @name) do
          conversation.call_block(code, what == :messages ? conversation.messages : conversation)
        end
      end

      # @private
      attr_reader :text

      private

      def decide(what, code)
        raise UsageError, "criterion :#{@name} has more than one of `match` and `match_messages`" if @match

        @match = [what, code]
      end
    end
  end
end
